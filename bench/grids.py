"""Studies that run the driver on a grid of cases: each MPI, single-copy setting, number of ranks.

bench/driver runs the grids; petsc_compare, which makes forests from forests, prints the same rows.
"""

import os
import subprocess
import sys
import time

import origin
import rows as r
import study
from study import ROOT, say

# Single copy on and off, as environment variables; each Open MPI ignores those of the other
# generation. UCX: posix, not sysv, for the shared-memory transport that users have by default.
SETTINGS = {
    "openmpi": {
        "cma": {"OMPI_MCA_btl_vader_single_copy_mechanism": "cma", "OMPI_MCA_smsc": "cma"},
        "nocma": {"OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_smsc": "^cma"},
    },
    "mpich": {
        "cma": {"UCX_TLS": "posix,cma,self"},
        "nocma": {"UCX_TLS": "posix,self"},
    },
}
# Ranks with neighbouring numbers are on neighbouring cores; by default Open MPI spreads more than
# two ranks.
BIND = {
    "openmpi": {"OMPI_MCA_hwloc_base_binding_policy": "core",
                "OMPI_MCA_rmaps_base_mapping_policy": "core",
                "PRTE_MCA_hwloc_default_binding_policy": "core",
                "PRTE_MCA_rmaps_default_mapping_policy": "core"},
    "mpich": {"MPIEXEC": "mpiexec.mpich -bind-to core"},
}
NO_BIND = {
    "openmpi": {"OMPI_MCA_hwloc_base_binding_policy": "none",
                "PRTE_MCA_hwloc_default_binding_policy": "none"},
    "mpich": {},
}  # the driver pins its ranks


def figures(file):
    return study.Figures(file, " ".join(r.FIGURES), "machine mpi ranks", "bench/run",
                         ints=["ranks"],
                         order=lambda row: (row["machine"], row["mpi"], row["ranks"]))


def of_one_machine(rows):
    """Those of this machine; if there are none, those of the last machine in the file."""
    names = [row["machine"] for row in rows]
    name = r.machine() if r.machine() in names else names[-1]
    return name, [row for row in rows if row["machine"] == name]


class Study(study.Study):
    """The base of such studies."""

    ranks, places = "2,4", ["shm"]
    driver = ()  # arguments that the driver always gets
    crowded_target = None  # against MPI and PETSc, where ranks outnumber cores
    counts_instructions = targets_only = False  # targets_only: the page has no other rows

    def __init__(self):
        super().__init__()
        self.figures = figures(f"figures-{self.name}.txt")
        self.whole, self.started = True, time.time()

    def prepare(self, options):
        self.whole = not (options.case or options.mpi or options.ranks or options.places)
        super().prepare(options)

    # ---- running ----

    def crowded(self, ranks):
        """More than two ranks share two cores, however many there are."""
        return ranks > 2

    def launcher(self, mpi, ranks, place):
        """The words before the driver's command line."""
        words = []
        if self.crowded(ranks):
            two = sorted(os.sched_getaffinity(0))[:2]
            words = ["taskset", "-c", ",".join(map(str, two))]
        if place == "tcp":
            return words + ["tools/cluster", "run", "--nodes", str(ranks), "--ppn", "1", "--mpi",
                            mpi, "--"]
        return words + ["tools/launch", str(ranks)]

    def environment(self, mpi, ranks, setting, place):
        """One core per rank; where threads are measured, all cores in equal shares."""
        environment = dict(os.environ, MPI=mpi, **SETTINGS[mpi].get(setting, {}))
        if place == "mpi":
            environment["GROVE_TRANSPORT_ON_NODE"] = "mpi"
        if not self.crowded(ranks):
            pins = place == "tcp" or "--pin" in self.driver
            environment.update((NO_BIND if pins else BIND)[mpi])
        return environment

    def words(self, ranks, place):
        """Arguments of the driver, besides those of all runs of the study."""
        words = ["--grid", f"bench/{self.cases()}.txt"]
        if not self.crowded(ranks) and place == "tcp" and "--pin" not in self.driver:
            words.append("--pin")
        if self.crowded(ranks) and self.crowded_target:
            words += ["--crowded", self.crowded_target]
        if self.options.quick:
            words += ["--batches", "15", "--batch-seconds", "0.0003", "--case-seconds", "0.1"]
        return words

    def run_driver(self, driver, mpi, ranks, setting, place):
        """The lines of one run, and its exit status."""
        command = [*self.launcher(mpi, ranks, place), driver, *self.driver,
                   *self.words(ranks, place)]
        command += ["--case", self.options.case] if self.options.case else []
        begin, title = time.time(), f"bench: {mpi}, {ranks} ranks, {place}, {setting}"
        say(title)
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False,
                              env=self.environment(mpi, ranks, setting, place))
        say(f"{title}: {time.time() - begin:.0f} s")
        return done.stdout.splitlines(), done.returncode

    def why_not(self, driver, mpi, ranks, setting):
        """Why a run is left out, or nothing. MPICH's ranks spin, and take milliseconds where they
        share cores: too long for --quick."""
        if driver is None:
            return "it was not built"
        if self.options.quick and self.crowded(ranks) and (mpi != "openmpi" or setting == "cma"):
            return "not in the quick form"
        return None

    def all_runs(self):
        """MPI, ranks, setting and place of each run; there is no single copy between hosts."""
        for mpi in self.options.mpi.split(","):
            for ranks in map(int, self.options.ranks.split(",")):
                for place in self.options.places:
                    for setting in ["-"] if place == "tcp" else SETTINGS[mpi]:
                        yield mpi, ranks, setting, place

    def run_all(self):
        found, good, self.notes = [], True, [study.load_average("before")]
        drivers = {mpi: self.build(mpi) for mpi in self.options.mpi.split(",")}
        for mpi, ranks, setting, place in self.all_runs():
            run = f"{mpi} {place} {setting}"
            why = self.why_not(drivers[mpi], mpi, ranks, setting)
            if why:
                self.notes.append(f"{run}: {ranks} ranks, not run: {why}")
                continue
            lines, status = self.run_driver(drivers[mpi], mpi, ranks, setting, place)
            found += r.parse(lines, mpi, ranks, setting, place)
            self.notes += [f"{run}: {line.split(' ', 1)[1]}" for line in lines
                           if line.startswith("conditions ")]
            if status:
                self.notes.append(f"{run}: {ranks} ranks, exit status {status}")
                good = good and status == study.SKIPPED
        self.notes.append(study.load_average("after"))
        return self.choose(found + self.count_instructions()), good

    def choose(self, rows):
        return r.choose(rows)

    def count_instructions(self):
        if (not self.counts_instructions or self.options.no_instructions or self.options.case
                or "openmpi" not in self.options.mpi):
            return []
        say("bench: instructions, under callgrind")
        done = subprocess.run(["bench/instructions", *["--no-build"] * self.options.no_build],
                              cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        return r.parse(done.stdout.splitlines(), "openmpi", 2, "nocma")

    # ---- figures and what they say ----

    def load(self):
        """Includes what did not run, which the figures have notes on."""
        found = self.figures.load()
        for run, text in self.figures.notes():
            machine, *of_run = run.split()
            if of_run:
                found += [dict(row, machine=machine) for row in
                          r.parse([text], of_run[0], int(of_run[1]), "-")]
        return found

    def save(self, rows):
        """Keeps what did not run, in the driver's words; after a full run also the conditions."""
        machine, notes = r.machine(), []
        for row in rows:
            if row["ratio"] is None:
                words = [row["outcome"], row["case"], row["method"]]
                words += [row["peer"], f"{row['target']:g}"] * (row["outcome"] == "missing")
                notes.append((f"{machine} {row['mpi']} {row['ranks']}", " ".join(words)))
        notes += [(machine, note) for note in self.notes if self.whole]
        self.figures.save([dict(row, machine=machine) for row in rows if row["ratio"] is not None],
                          self.made(), notes)

    def publish(self):
        if not self.whole:
            sys.exit("bench: the page is written only after a run of everything")
        super().publish()

    def page(self, rows):
        name, shown = of_one_machine(rows)
        made = {how: None for run, how in origin.load(self.figures.path).items()
                if run.startswith(f"{name} ")}
        notes = [text for run, text in self.figures.notes() if run == name]
        return [*(origin.heading(how, name) for how in made), "", *(f"- {n}" for n in notes), "",
                *self.tables(shown)]

    def tables(self, rows):
        """The lines of a page that follow the conditions."""
        return r.sections(rows, self.targets_only)

    def print_all(self, rows):
        for mpi, ranks, part in r.by_run(rows):
            print(f"\n== {mpi}, {ranks} ranks{' on 2 cores' if self.crowded(ranks) else ''}")
            print(r.table(part))
            print(r.describe(r.counts(part)))

    def print_run(self, rows):
        super().print_run(rows)
        print("\n== difference to the committed figures")
        print("\n".join(r.compare(rows, self.figures, r.machine())))
        print(f"\n== in all, after {time.time() - self.started:.0f} s")
        print(r.describe(r.counts(rows)))

    def document(self, rows):
        return {"rows": rows, "counts": r.counts(rows)}


class Grid(Study):
    name, mpi = "grid", "openmpi,mpich"
    crowded_target, counts_instructions, targets_only = "1.05", True, True

    def __init__(self):
        super().__init__()
        self.figures = figures("figures.txt")


class Operations(Study):
    name, help = "operations", "fetch, gather, scatter, other reduces against PETSc's"


class Bundles(Study):
    name, help = "bundles", "several fields at once, over memory, MPI and TCP"
    places = ["shm", "mpi", "tcp"]


class Algebra(Study):
    name, help = "algebra", "making forests from forests, beside PETSc"
    program, driver = "bin/petsc_compare", ["--time"]

    def words(self, ranks, place):
        return ["--rounds", "11"] if self.options.quick else []


class Latency(Study):
    """Its page is a table with a column for each size."""

    name, help = "latency", "one message beside MPI's and PETSc's, inside a node and over TCP"
    ranks, places = "2", ["shm", "tcp"]

    def tables(self, rows):
        return [line for where, lines in r.by_size(rows)
                for line in [f"## {where}", "", *r.markdown_table(lines), ""]]

    def print_all(self, rows):
        for where, lines in r.by_size(rows):
            print(f"\n== {where}\n{r.columns(lines)}")

    def print_run(self, rows):
        study.Study.print_run(self, rows)


class Overlap(Study):
    """Its rows are hidden shares, and only its page keeps them."""

    name, help = "overlap", "how much of an exchange hides behind computing"
    ranks, places = "2", ["shm", "mpi", "tcp"]
    driver = ["--threads", "--pin", "--batch-seconds", "0.002"]

    def __init__(self):
        super().__init__()
        self.figures, self.found = None, []

    def choose(self, rows):
        return r.choose_hidden(rows)

    def load(self):
        return []

    def save(self, rows):
        """publish writes them."""
        self.found = rows

    def page(self, rows):
        return [origin.heading(self.made(), r.machine()), "", *(f"- {n}" for n in self.notes), "",
                *r.hidden_markdown(self.found)]

    def print_all(self, rows):
        for place, part in r.by_place(rows):
            print(f"\n== {place}\n{r.hidden_table(part)}")

    def print_run(self, rows):
        study.Study.print_run(self, rows)

    def document(self, rows):
        return {"rows": rows, "counts": {}}
