"""Operations that leave by parts: bench/parts on matrices, and its results against the targets.

A run is an MPI, a shape (hosts x ranks of the test cluster, or this machine as emulated nodes or as
one), and a matrix; a case is a line of bench/parts/grid.txt with a size; a row is a method of a
case. All that is printed is computed from rows, so that the committed figures give the same again.
"""

import itertools
import os
import re

import judged
import routes
import rows as r
from judged import spread, verdict
from study import Figures, by

# Times in microseconds; `bytes` of a row; `messages` and `predicted` of the operation; `share`: see
# METRICS.md.
FIELDS = ("machine mpi shape setting matrix line parts bytes method messages median low high"
          " predicted share")

# 16 ranks of this machine: as four nodes that talk over TCP, or in one that shares memory.
MEMORY = "memory-16"
MATRICES = ["brack2", "elas3d_plates3d"]
STENCIL = "27pt:32"
MARKING = 21  # ranks of the lines `range`: a rank with 20 neighbours


def ranks_of(shape):
    hosts, _, ranks = shape.partition("x")
    return int(hosts) * int(ranks) if hosts.isdigit() else 16


def has_cores(case):
    """Whether there is one core per rank."""
    return ranks_of(case.shape) <= case.cores()


# ---- running ----

class Run(judged.Run):
    """Without a matrix it measures only marks."""

    def __init__(self, mpi, shape, name, matrix=None, setting="-"):
        super().__init__(mpi=mpi, shape=shape, setting=setting, matrix=name)
        self.path = matrix

    def title(self):
        return f"{self.mpi} {self.shape}, {self.matrix}, {self.setting}"

    def keeps(self):
        return self.shape

    def launcher(self):
        if self.path is None:
            return ["tools/launch", str(MARKING)]
        if self.shape in (routes.EMULATED, MEMORY):
            return ["tools/launch", "16"]
        hosts, ranks = self.shape.split("x")
        return ["tools/cluster", "run", "--nodes", hosts, "--ppn", ranks, "--shm", "256m", "--mpi",
                self.mpi, "--"]

    def is_for_routes(self):
        """With several ranks on each host and fewer cores than ranks, computing is late anyway, and
        only routes can be judged."""
        several = re.fullmatch(r"\d+x\d+", self.shape) and not self.shape.endswith("x1")
        return several and ranks_of(self.shape) > r.cores()

    def words(self, case):
        if self.path is None:
            words = ["--funneled"] if self.setting == "funneled" else []
        else:
            words = ["--matrix", self.path] + ["--off-node"] * (self.shape == routes.EMULATED)
        case = case or ("gatherer-" if self.is_for_routes() else "")
        return words + (["--case", case] if case else [])


# ---- what the rows say ----

def by_parts(case):
    """The times of starting by parts, with any options."""
    return [time for name, time in case.time.items() if name.partition(":")[0] == "parts"]


def against_end(all_cases):
    """Starting by parts over starting at the end, by default and with the best options of each
    case. The worst matrix of each size counts."""
    lines = []
    for line, what, most in (("late", "last mark to done", 0.4),
                             ("late-rows", "last mark to done, blocks by rows", 0.4),
                             ("even", "whole round, none late", 1.05)):
        some = [c for c in all_cases if c.line == line and {"end", "parts"} <= c.time.keys()]
        for (where, size), part in by(some, lambda case: (case.where(), case.bytes)):
            for name, time in (("", lambda case: case.time["parts"]),
                               (", best options", lambda case: min(by_parts(case)))):
                ratios = [time(case) / case.time["end"] for case in part]
                lines.append(verdict(f"{what}, {size} B a row: parts / end{name}", where,
                                     f"<= {most}", spread(ratios), max(ratios) <= most))
    return lines


def fits(case):
    """Whether there is enough work, and time for it: 1 ms, including the exchange."""
    return case.time["work"] >= 30 and case.time["wait"] <= 2000


def of_ghosts(all_cases):
    """Cases that do not fit have a separate line."""
    lines = []
    some = [c for c in all_cases if c.line == "ghosts" and {"wait", "arrivals", "work"}
            <= c.time.keys() and c.time["work"] >= 1]
    for (where, fit), part in by(some, lambda case: (case.where(), fits(case))):
        done = [case.share["arrivals"] for case in part]
        saved = [(case.time["wait"] - case.time["arrivals"]) / case.time["work"] for case in part]
        which = f"{len(part)} cases" + ("" if fit else " that do not fit")
        for what, shares in (("done before it came", done), ("time saved", saved)):
            well = min(shares) >= 0.9 if fit and has_cores(part[0]) else None
            lines.append(verdict(f"one rank late: of the work without it, {what}, {which}", where,
                                 ">= 0.9", spread(shares), well))
    return lines


def of_gatherers(all_cases):
    lines = []
    some = [c for c in all_cases if c.line == "gatherer-others"]
    for (where, size), part in by(some, lambda case: (case.where(), case.bytes)):
        for method in dict.fromkeys(name for case in part for name in case.time):
            share = spread([case.share[method] for case in part])
            time = spread([case.time[method] for case in part], ".0f")
            lines.append(verdict(f"gatherer late, {size} B a row, {method}", where, "-",
                                 f"{share} of the ghosts after {time} us", None))
    return lines


def of_marks(all_cases):
    lines = []
    for case in all_cases:
        if not case.line.startswith("range-"):
            continue
        threads = case.line.partition("-")[2]
        for method, time in case.time.items():
            lines.append(verdict(f"a range with 20 neighbours, {threads} threads, ns: {method}",
                                 case.where(), "<= 1000", f"{1e3 * time:.0f}", time <= 1))
    return lines


class Parts(judged.Study):
    name, help = "parts", "operations that leave by parts, beside whole ones"
    figures = Figures("figures-parts.txt", FIELDS, "machine mpi shape", "bench/run --parts",
                      ints=["parts", "bytes", "messages"])
    not_of_a_case = ["parts"]
    with_cores, shapes, seconds = True, "2x1,4x1,4x4", 1800
    measures = ["bench/parts", "bench/partitioned"]  # where its driver is
    judges = against_end, of_ghosts, of_gatherers, of_marks

    def prepare(self, options):
        if options.cores:
            self.shapes = f"{routes.EMULATED},{MEMORY}"
        super().prepare(options)

    def all_runs(self):
        """Every matrix on every shape, and only marks, on this machine."""
        files = [(STENCIL.replace(":", "-"), STENCIL)]
        files += [r.at_hand(self.options.matrices, name, "mtx") for name in MATRICES]
        for mpi in self.options.mpi.split(","):
            for shape, (name, path) in itertools.product(self.options.shapes.split(","), files):
                yield Run(mpi, shape, name, path)
            for setting in ("multiple", "funneled"):
                yield Run(mpi, "here", "-", setting=setting)

    def environment(self, run):
        return routes.TCP if run.shape == routes.EMULATED else {}

    def given(self, run):
        return self.profile(run) if run.path else {}

    def words(self, run):
        words = ["--grid", "bench/parts/grid.txt", "--pin", *run.words(self.options.case),
                 "--case-seconds", str(self.options.seconds)]
        return words + (["--samples", "5"] if self.options.quick else [])

    def rows_of(self, run):
        if run.path not in (None, STENCIL) and not os.path.exists(run.path):
            self.notes.append(f"{run.title()}: not run: {run.path} is not there")
            return [], False
        return super().rows_of(run)

    def table(self, some):
        """One line per case, one column per method."""
        names = judged.methods_of(some)
        cell = lambda case, name: r.figure(case.time[name]) if name in case.time else "-"
        return [["matrix", "bytes", "share", *names],
                *([case.matrix, str(case.bytes), r.figure(max(case.share.values())),
                   *(cell(case, name) for name in names)] for case in some)]
