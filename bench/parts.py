"""Operations that leave by parts: bench/parts on matrices, and what it says of the targets.

A run is an MPI, a shape (hosts x ranks of the test cluster, or this machine as emulated nodes or as
one), and a matrix; a case is a line of bench/parts/grid.txt with a size; a row is a method of a
case. All that is printed is computed from rows, so that the committed figures give the same again.
"""

import itertools
import json
import os
import re
import subprocess

import origin
import routes
import rows as r

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIGURES = os.path.join(ROOT, "bench", "figures-parts.txt")
SECONDS, SKIPPED = 1800, 77  # for one run; tools/cluster: this machine cannot do it

# Times in microseconds; `bytes` of a row; `messages` and `predicted` of the operation; `share`: see
# METRICS.md.
FIELDS = ("machine mpi shape setting matrix line parts bytes method messages median low high"
          " predicted share").split()
NUMBERS = "median low high predicted share".split()
RUN = "machine mpi shape".split()
CASE = "machine mpi shape setting matrix line bytes".split()

# 16 ranks of this machine: as four nodes that talk over TCP, or in one that shares memory.
MEMORY = "memory-16"
SHAPES = {("parts", False): "2x1,4x1,4x4", ("parts", True): f"{routes.EMULATED},{MEMORY}"}
MATRICES = ["brack2", "elas3d_plates3d"]
STENCIL = "27pt:32"
MARKING = 21  # ranks of the lines `range`: a rank with 20 neighbours


def ranks_of(shape):
    hosts, _, ranks = shape.partition("x")
    return int(hosts) * int(ranks) if hosts.isdigit() else 16


# ---- running ----

class Run:
    """One start of the driver."""

    def __init__(self, mpi, shape, name, matrix=None, setting="-"):
        self.mpi, self.shape, self.setting = mpi, shape, setting
        self.name, self.matrix = name, matrix  # of the matrix, and where it is

    def title(self):
        return f"{self.mpi} {self.shape}, {self.name}, {self.setting}"

    def launcher(self):
        if self.matrix is None:
            return ["tools/launch", str(MARKING)]
        if self.shape in (routes.EMULATED, MEMORY):
            return ["tools/launch", "16"]
        hosts, ranks = self.shape.split("x")
        return ["tools/cluster", "run", "--nodes", hosts, "--ppn", ranks, "--shm", "256m", "--mpi",
                self.mpi, "--"]

    def is_for_routes(self):
        """Hosts of several ranks have more of them than there are cores: what computes is late, and
        routes are all that there is to see."""
        several = re.fullmatch(r"\d+x\d+", self.shape) and not self.shape.endswith("x1")
        return several and ranks_of(self.shape) > r.cores()

    def words(self, case):
        if self.matrix is None:
            words = ["--funneled"] if self.setting == "funneled" else []
        else:
            words = ["--matrix", self.matrix] + ["--off-node"] * (self.shape == routes.EMULATED)
        case = case or ("gatherer-" if self.is_for_routes() else "")
        return words + (["--case", case] if case else [])


def all_runs(options):
    """Every matrix on every shape; and marks alone, on the first."""
    files = [(STENCIL.replace(":", "-"), STENCIL)]
    files += [r.at_hand(options.matrices, name, "mtx") for name in MATRICES]
    shapes = options.shapes.split(",")
    for mpi in options.mpi.split(","):
        for shape, (name, path) in itertools.product(shapes, files):
            yield Run(mpi, shape, name, path)
        for setting in ("multiple", "funneled"):
            yield Run(mpi, "here", "-", setting=setting)


class Bench:
    """Programs, options and environment of all runs."""

    def __init__(self, drivers, options, unbound):
        self.drivers, self.options, self.unbound = drivers, options, unbound
        self.notes = [f"load before: {os.getloadavg()[0]:.2f}"]

    def start(self, run, command, **more):
        environment = {"GROVE_TIMEOUT": "100", **os.environ, "MPI": run.mpi,
                       **self.unbound[run.mpi],
                       **(routes.TCP if run.shape == routes.EMULATED else {}), **more}
        return subprocess.run([*run.launcher(), *command], cwd=ROOT, check=False, text=True,
                              env=environment, timeout=SECONDS, stdout=subprocess.PIPE)

    def profile(self, run):
        """Of the shape, measured once for a build, as a variable; none where it cannot be."""
        if run.matrix is None:
            return {}
        folder = os.path.dirname(os.path.dirname(self.drivers[run.mpi]))
        quick = "-quick" if self.options.quick else ""
        path = os.path.join(folder, "profiles", f"{run.shape}{quick}.machine")
        if not os.path.exists(path):
            routes.say(f"bench: {run.shape}: measuring a profile")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            grove = os.path.join(os.path.dirname(self.drivers[run.mpi]), "grove")
            effort = ["--quick"] if self.options.quick else []
            if self.start(run, [grove, "machine", "measure", *effort, "-o", path]).returncode:
                self.notes.append(f"{run.title()}: no profile")
                return {}
        return {"GROVE_MACHINE": path}

    def words(self, run):
        words = ["--grid", "bench/parts/grid.txt", "--pin", *run.words(self.options.case),
                 "--case-seconds", str(self.options.seconds)]
        return words + (["--samples", "5"] if self.options.quick else [])

    def rows(self, run):
        """Rows of one run, and whether it went well."""
        routes.say(f"bench: {run.title()}")
        if run.matrix not in (None, STENCIL) and not os.path.exists(run.matrix):
            self.notes.append(f"{run.title()}: not run: {run.matrix} is not there")
            return [], False
        done = self.start(run, [self.drivers[run.mpi], *self.words(run)], **self.profile(run))
        lines = done.stdout.splitlines()
        self.notes += [f"{run.title()}: {line.split(' ', 1)[1]}" for line in lines
                       if line.startswith(("conditions ", "wrong "))]
        if done.returncode:
            self.notes.append(f"{run.title()}: exit status {done.returncode}")
        return parse(lines, run), done.returncode in (0, SKIPPED)

    def run_all(self):
        found, good = [], True
        for run in all_runs(self.options):
            if self.drivers.get(run.mpi) is None:
                self.notes.append(f"{run.title()}: not run: it was not built")
                continue
            rows, well = self.rows(run)
            found += rows
            good = good and well
        self.notes.append(f"load after: {os.getloadavg()[0]:.2f}")
        return found, good and bool(found)


def with_numbers(row):
    row.update({name: float(row[name]) for name in NUMBERS})
    row.update({name: int(row[name]) for name in ("parts", "bytes", "messages")})
    return row


def parse(lines, run):
    about = {"machine": r.machine(), "mpi": run.mpi, "shape": run.shape, "setting": run.setting,
             "matrix": run.name}
    return [with_numbers(dict(zip(FIELDS[5:], words[1:]), **about))
            for words in map(str.split, lines) if words and words[0] == "row"]


# ---- figures ----

def load():
    if not os.path.exists(FIGURES):
        return []
    with open(FIGURES, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return [with_numbers(dict(zip(FIELDS, words))) for words in lines]


def save(rows, made):
    """Replaces what the file has of the same machine, MPI and shape."""
    run_of = lambda row: " ".join(row[name] for name in RUN)
    new = {run_of(row) for row in rows}
    kept = [row for row in load() if run_of(row) not in new]
    marks = origin.marks(FIGURES, new, map(run_of, kept), made)
    with open(FIGURES, "w", encoding="utf-8") as file:
        file.write("# The committed figures: bench/METRICS.md defines the columns, bench/run"
                   f" --parts --save writes them.\n{marks}# {' '.join(FIELDS)}\n")
        for row in kept + rows:
            file.write(" ".join(routes.word(row[name]) for name in FIELDS) + "\n")


# ---- what the rows say ----

class Case:
    """The methods of one case, by name: times and shares."""

    def __init__(self, key):
        self.__dict__.update(zip(CASE, key))
        self.time, self.share = {}, {}

    def where(self):
        setting = "" if self.setting == "-" else f" {self.setting}"
        return f"{self.mpi} {self.shape}{setting}"

    def has_cores(self):
        """Whether there is one for each rank: the name of the machine ends in their number."""
        return ranks_of(self.shape) <= int(self.machine.split("-")[-2])

    def by_parts(self):
        """The times of what starts by parts, with any options."""
        return [time for name, time in self.time.items() if name.partition(":")[0] == "parts"]


def cases(rows):
    found = {}
    for row in rows:
        key = tuple(row[name] for name in CASE)
        case = found.setdefault(key, Case(key))
        case.time[row["method"]] = row["median"]
        case.share[row["method"]] = row["share"]
    return list(found.values())


def by(some, key):
    for name in dict.fromkeys(map(key, some)):
        yield name, [case for case in some if key(case) == name]


def judged(what, where, wanted, found, well):
    """A line of the table of targets; `well` None: measured only."""
    word = "not judged" if well is None else "met" if well else "missed"
    return [what, where, wanted, found, word]


def spread(values, form):
    low, high = (format(value, form) for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def against_end(all_cases):
    """By parts over starting at the end, for each size the worst matrix: as it is by default, and
    with whichever options were best for the case."""
    lines = []
    for line, what, most in (("late", "last mark to done", 0.4),
                             ("late-rows", "last mark to done, blocks by rows", 0.4),
                             ("even", "whole round, none late", 1.05)):
        some = [c for c in all_cases if c.line == line and {"end", "parts"} <= c.time.keys()]
        for (where, size), part in by(some, lambda case: (case.where(), case.bytes)):
            for name, time in (("", lambda case: case.time["parts"]),
                               (", best options", lambda case: min(case.by_parts()))):
                ratios = [time(case) / case.time["end"] for case in part]
                lines.append(judged(f"{what}, {size} B a row: parts / end{name}", where,
                                    f"<= {most}", spread(ratios, ".2f"), max(ratios) <= most))
    return lines


def fits(case):
    """Whether there is work to speak of, and time for it: 1 ms, in which the exchange is too."""
    return case.time["work"] >= 30 and case.time["wait"] <= 2000


def of_ghosts(all_cases):
    """Cases that do not fit are told, too, by themselves."""
    lines = []
    some = [c for c in all_cases if c.line == "ghosts" and {"wait", "arrivals", "work"}
            <= c.time.keys() and c.time["work"] >= 1]
    for (where, fit), part in by(some, lambda case: (case.where(), fits(case))):
        done = [case.share["arrivals"] for case in part]
        saved = [(case.time["wait"] - case.time["arrivals"]) / case.time["work"] for case in part]
        which = f"{len(part)} cases" + ("" if fit else " that do not fit")
        for what, shares in (("done before it came", done), ("time saved", saved)):
            well = min(shares) >= 0.9 if fit and part[0].has_cores() else None
            lines.append(judged(f"one rank late: of the work without it, {what}, {which}", where,
                                ">= 0.9", spread(shares, ".2f"), well))
    return lines


def of_gatherers(all_cases):
    lines = []
    some = [c for c in all_cases if c.line == "gatherer-others"]
    for (where, size), part in by(some, lambda case: (case.where(), case.bytes)):
        for method in dict.fromkeys(name for case in part for name in case.time):
            share = spread([case.share[method] for case in part], ".2f")
            time = spread([case.time[method] for case in part], ".0f")
            lines.append(judged(f"gatherer late, {size} B a row, {method}", where, "-",
                                f"{share} of the ghosts after {time} us", None))
    return lines


def of_marks(all_cases):
    lines = []
    for case in all_cases:
        if not case.line.startswith("range-"):
            continue
        threads = case.line.partition("-")[2]
        for method, time in case.time.items():
            lines.append(judged(f"a range with 20 neighbours, {threads} threads, ns: {method}",
                                case.where(), "<= 1000", f"{1e3 * time:.0f}", time <= 1))
    return lines


def targets(all_cases):
    return [line for part in (against_end, of_ghosts, of_gatherers, of_marks)
            for line in part(all_cases)]


HEAD = ["target", "where", "wanted", "found", ""]


def table(some):
    """A line a case, a column a method, all of one line of the grid and one run."""
    names = list(dict.fromkeys(name for case in some for name in case.time))
    cell = lambda case, name: r.figure(case.time[name]) if name in case.time else "-"
    share = lambda case: r.figure(max(case.share.values()))
    return [["matrix", "bytes", "share", *names],
            *([case.matrix, str(case.bytes), share(case), *(cell(case, name) for name in names)]
              for case in some)]


def titled(all_cases):
    """Heading and table of every line of every run."""
    for where, part in by(all_cases, Case.where):
        for line, some in by(part, lambda case: case.line):
            yield f"{where}: {line}, us", table(some)


def by_machine(rows):
    for machine in dict.fromkeys(row["machine"] for row in rows):
        yield machine, cases([row for row in rows if row["machine"] == machine])


def print_all(rows):
    for machine, found in by_machine(rows):
        print(f"\n== {machine}")
        for title, lines in titled(found):
            print(f"\n{title}\n{r.columns(lines)}")
        print(f"\n== targets, {machine}\n{r.columns([HEAD, *targets(found)])}")


def section(rows):
    """What RESULTS.md has between its marks."""
    lines = []
    for machine, found in by_machine(rows):
        lines += [f"### By parts, {machine}", "", *r.markdown_table([HEAD, *targets(found)]), ""]
        for title, some in titled(found):
            lines += [f"{title}:", "", *r.markdown_table(some), ""]
    return lines


def study(drivers, options, made, unbound, results):
    """bench/run --parts; returns its exit status."""
    if options.figures:
        print_all(load())
        if options.save and load():
            r.write_results(results, "parts", section(load()))
        return 0
    bench = Bench(drivers, options, unbound)
    found, good = bench.run_all()
    if options.json:
        lines = [dict(zip(["target", "where", "wanted", "found", "judgement"], line))
                 for _, some in by_machine(found) for line in targets(some)]
        print(json.dumps({"machine": r.machine(), "conditions": bench.notes, "rows": found,
                          "targets": lines}, indent=1))
    else:
        print_all(found)
        print(f"\n== conditions\n{r.machine()}\n" + "\n".join(bench.notes))
    if options.save and found:
        save(found, made)
        r.write_results(results, "parts", section(load()))
    return 0 if good else 1
