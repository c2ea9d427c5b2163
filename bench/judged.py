"""The base of --partitioned and --parts: one driver, started run by run, and targets.

A row is a method of a case. A case is what the columns before `method` name. Targets are judged
from the cases alone, so that the committed figures give the same judgement again.
"""

import os
import subprocess

import grids
import rows as r
import study
from study import ROOT, by, by_machine, say

HEAD = ["target", "where", "wanted", "found", ""]


def verdict(what, where, wanted, found, well):
    """A line of the table of targets; `well` None: this machine cannot tell."""
    word = "not judged" if well is None else "met" if well else "missed"
    return [what, where, wanted, found, word]


def from_to(values, form=".2f"):
    return f"{min(values):{form}} to {max(values):{form}}"


def spread(values, form=".2f"):
    """The same, but only one number where both print alike."""
    low, _, high = from_to(values, form).partition(" to ")
    return low if low == high else f"{low} to {high}"


class Case:
    """The methods of one case, by name: times, shares, predictions, traffic, messages."""

    def __init__(self, names, key):
        self.__dict__.update(zip(names, key))
        self.place = key[2]
        self.time, self.share, self.predicted, self.traffic = {}, {}, {}, {}
        self.messages = {}

    def add(self, row):
        for what, column in ((self.time, "median"), (self.share, "share"),
                             (self.predicted, "predicted"), (self.traffic, "traffic"),
                             (self.messages, "messages")):
            what[row["method"]] = row.get(column)

    def has(self, *methods):
        return all(name in self.time for name in methods)

    def ratio(self, method, other):
        return self.time[method] / self.time[other]

    def where(self):
        setting = "" if self.setting == "-" else f" {self.setting}"
        return f"{self.mpi} {self.place}{setting}"

    def cores(self):
        """The number of cores, from the machine's name."""
        words = self.machine.split("-")
        return int(words[-2]) if words[-1] == "cores" and words[-2].isdigit() else 0


def methods_of(some):
    return list(dict.fromkeys(name for case in some for name in case.time))


class Run:
    """One start of the driver, in one setting; `about` has its columns, in their order."""

    def __init__(self, **about):
        self.about = dict(machine=r.machine(), **about)
        self.__dict__.update(about)

    def measures(self):
        """What `grove machine measure` is to measure besides, as options."""
        return []


class Study(study.Study):
    program, saved_whole = "bin/grove_bench_parts", True
    seconds = 0  # for one run
    not_of_a_case = ()  # columns before `method` that may differ within a case
    judges = ()  # functions that make lines of the table of targets from all cases

    def __init__(self):
        super().__init__()
        self.drivers = {}

    # ---- running ----

    def all_runs(self):
        raise NotImplementedError

    def environment(self, run):
        """In addition to that of all runs."""
        raise NotImplementedError

    def words(self, run):
        """The driver's arguments."""
        raise NotImplementedError

    def start(self, run, command, **more):
        environment = {"GROVE_TIMEOUT": "100", **os.environ, "MPI": run.mpi,
                       **self.environment(run), **grids.NO_BIND[run.mpi], **more}
        return subprocess.run([*run.launcher(), *command], cwd=ROOT, check=False, text=True,
                              env=environment, timeout=self.seconds, stdout=subprocess.PIPE)

    def kept(self, run, ending):
        """The path of something that is made once per build and place."""
        folder = os.path.join(os.path.dirname(os.path.dirname(self.drivers[run.mpi])), "profiles")
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, run.keeps() + "-quick" * self.options.quick + "." + ending)

    def rows_in_time(self, run):
        """Of a run that does not end, those that it had made."""
        try:
            return self.rows_of(run)
        except subprocess.TimeoutExpired as late:
            self.notes.append(f"{run.title()}: not done after {self.seconds} seconds")
            return self.parse((late.stdout or b"").decode().splitlines()[:-1], run), False

    def profile(self, run):
        """The profile of the place, as a variable; none where it cannot be measured."""
        path = self.kept(run, "machine")
        if not os.path.exists(path):
            say(f"bench: {run.title()}: measuring a profile")
            grove = os.path.join(os.path.dirname(self.drivers[run.mpi]), "grove")
            effort = [*run.measures(), *(["--quick"] if self.options.quick else [])]
            if self.start(run, [grove, "machine", "measure", *effort, "-o", path]).returncode:
                self.notes.append(f"{run.title()}: no profile")
                return {}
        return {"GROVE_MACHINE": path}

    def given(self, run):
        """Variables for Grove."""
        return self.profile(run)

    def parse(self, lines, run):
        return [self.figures.row(words[1:], len(run.about), **run.about)
                for words in map(str.split, lines) if words and words[0] == "row"]

    def rows_of(self, run):
        """The rows of one run, and whether it succeeded."""
        say(f"bench: {run.title()}")
        done = self.start(run, [self.drivers[run.mpi], *self.words(run)], **self.given(run))
        lines = done.stdout.splitlines()
        self.notes += [f"{run.title()}: {line.split(' ', 1)[1]}" for line in lines
                       if line.startswith(("conditions ", "wrong "))]
        if done.returncode:
            self.notes.append(f"{run.title()}: exit status {done.returncode}")
        return self.parse(lines, run), done.returncode in (0, study.SKIPPED)

    def run_all(self):
        self.drivers = {mpi: self.build(mpi) for mpi in self.options.mpi.split(",")}
        found, good, self.notes = [], True, [study.load_average("before")]
        for run in self.all_runs():
            if self.drivers.get(run.mpi) is None:
                self.notes.append(f"{run.title()}: not run: it was not built")
                continue
            rows, well = self.rows_of(run)
            found += rows
            good = good and well
        self.notes.append(study.load_average("after"))
        return found, good and bool(found)

    # ---- what the rows say ----

    def cases_of(self, rows):
        names = [name for name in self.figures.fields[:self.figures.fields.index("method")]
                 if name not in self.not_of_a_case]
        found = {}
        for row in rows:
            key = tuple(row[name] for name in names)
            found.setdefault(key, Case(names, key)).add(row)
        return list(found.values())

    def targets(self, all_cases):
        return [line for judge in self.judges for line in judge(all_cases)]

    def unit(self, line):
        """The unit in the table of a grid line."""
        return "us"

    def titled(self, all_cases):
        """Headings and tables of all lines of all runs."""
        for where, part in by(all_cases, Case.where):
            for line, some in by(part, lambda case: case.line):
                yield f"{where}: {line}, {self.unit(line)}", self.table(some)

    def by_machine(self, rows):
        for machine, part in by_machine(rows):
            yield machine, self.cases_of(part)

    def print_all(self, rows):
        for machine, found in self.by_machine(rows):
            print(f"\n== {machine}")
            for title, lines in self.titled(found):
                print(f"\n{title}\n{r.columns(lines)}")
            print(f"\n== targets, {machine}\n{r.columns([HEAD, *self.targets(found)])}")

    def document(self, rows):
        names = [*HEAD[:4], "judgement"]
        return {"rows": rows, "targets": [dict(zip(names, line))
                                          for _, some in self.by_machine(rows)
                                          for line in self.targets(some)]}

    def on_page(self, case):
        """Whether its table is there; the targets of all runs are."""
        return True

    def page(self, rows):
        lines = []
        for machine, found in self.by_machine(rows):
            lines += [f"## {machine}", "", *r.markdown_table([HEAD, *self.targets(found)]), ""]
            for title, some in self.titled(list(filter(self.on_page, found))):
                lines += [f"{title}:", "", *r.markdown_table(some), ""]
        return lines
