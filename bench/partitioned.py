"""Channels: bench/partitioned on one node and between hosts, and what it says of the targets.

A run is an MPI, a place (what carries the messages) and a setting of the MPI; a case is a line of
bench/partitioned/grid.txt with a number of parts and a size; a row is a method of a case. All that
is printed is computed from rows, so that the committed figures give the same again.
"""

import itertools
import math
import os

import grids
import judged
import rows as r
import study
from judged import Case, from_to, methods_of, verdict
from study import by, geometric_mean, say

# Times in microseconds. `messages`: of a round, by its sender; 0: unknown. `predicted`: by the
# profile of the place; 0: none.
FIELDS = ("machine mpi place setting line parts bytes method messages median low high"
          " predicted")
KI, MI = 1 << 10, 1 << 20

# What carries messages: shared memory, MPI on the node, hosts of the test cluster, TCP through
# loopback; and libfabric between those hosts, with so many endpoints.
FABRIC = {"ofi": 1, "ofi2": 2, "ofi4": 4, "ofi8": 8}
BETWEEN = ("tcp", "lo", *FABRIC)
PLACE = {
    "shm": {},
    "mpi": {"GROVE_TRANSPORT_PARTS": "mpi"},
    "tcp": {},
    "lo": {"GROVE_NODE_SIZE": "1", "GROVE_TRANSPORT_PARTS": "mpi", "OMPI_MCA_pml": "ob1",
           "OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_if_include": "lo"},
    **{place: {"GROVE_TRANSPORT_PARTS": "ofi", "GROVE_FABRIC": "tcp",
               "GROVE_ENDPOINTS": str(endpoints)} for place, endpoints in FABRIC.items()},
}
# In the place `ofi` alone: libfabric beside MPI and with several endpoints, in one run.
FABRIC_GRID = ["--grid", "bench/partitioned/fabric.txt"]
OVER_MPI, EVERY_PART_OVER_MPI = ",transport_parts=mpi", "none:transport_parts=mpi"
BY_PRICE = ",transport_parts=auto"
# MPICH's partitioned calls depend on the transports given to UCX: all, as installed, or memory
# alone.
MPICH = {"installed": {"UCX_TLS": "all"}, "best": {"UCX_TLS": "sysv,self"}}


class Run(judged.Run):
    def __init__(self, mpi, place, setting, ranks=2, words=()):
        super().__init__(mpi=mpi, place=place, setting=setting)
        self.ranks, self.words = ranks, list(words)

    def title(self):
        return f"{self.mpi} {self.place} {self.setting}, {self.ranks} ranks"

    def measures(self):
        return ["--fabric"] if self.place in FABRIC else []

    def keeps(self):
        return f"parts-{self.place if self.place in BETWEEN else 'node'}"

    def launcher(self):
        if self.place == "tcp" or self.place in FABRIC:
            return ["tools/cluster", "run", "--nodes", str(self.ranks), "--ppn", "1", "--mpi",
                    self.mpi, "--"]
        return ["tools/launch", str(self.ranks)]


# ---- what the rows say ----

def size(number):
    """64Ki and so on."""
    for unit, name in ((MI, "Mi"), (KI, "Ki")):
        if number >= unit and number % unit == 0:
            return f"{number // unit}{name}"
    return str(number)


def against_psend(all_cases):
    lines = []
    for case in all_cases:
        if (case.line, case.parts, case.place) == ("overhead", 32, "shm") and case.has(
                "mpi-psend", "ploggp") and case.bytes in (64 * KI, MI):
            least = 1 if case.setting == "best" else {64 * KI: 2, MI: 10}[case.bytes]
            ratio = case.ratio("mpi-psend", "ploggp")
            lines.append(verdict(f"MPI's own calls / ploggp, 32 parts, {size(case.bytes)}",
                                 case.where(), f"> {least}" if least == 1 else f">= {least}",
                                 f"{ratio:.2f}", ratio > 1 and ratio >= least))
    return lines


def against_none(all_cases):
    lines = []
    for parts, least in ((32, 3), (128, 8)):
        some = [case for case in all_cases if case.line == "overhead" and case.parts == parts
                and case.place in BETWEEN and case.bytes <= 128 * KI and case.has("none", "ploggp")]
        for where, part in by(some, Case.where):
            ratios = [case.ratio("none", "ploggp") for case in part]
            lines.append(verdict(f"none / ploggp, {parts} parts, up to 128Ki", where, f">= {least}",
                                 from_to(ratios), min(ratios) >= least))
    return lines


def against_prediction(all_cases):
    """The profile's prediction for ploggp where it is compared with none."""
    lines = []
    some = [case for case in all_cases if case.line == "overhead" and case.parts in (32, 128)
            and case.place in BETWEEN and case.bytes <= 128 * KI
            and case.predicted.get("ploggp", 0) > 0]
    for where, part in by(some, Case.where):
        ratios = [case.time["ploggp"] / case.predicted["ploggp"] for case in part]
        well = min(ratios) >= 1 / 1.15 and max(ratios) <= 1.15
        lines.append(verdict("ploggp / predicted, 32 and 128 parts, up to 128Ki", where,
                             "0.87 to 1.15", from_to(ratios), well))
    return lines


def at_its_best(some, peer):
    """Of the runs in several settings, the one with the fastest peer."""
    best = {}
    for case in some:
        key = (case.mpi, case.place, case.parts, case.bytes)
        if case.has(peer) and (key not in best or case.time[peer] < best[key].time[peer]):
            best[key] = case
    return list(best.values())


def against_persistent(all_cases):
    """One part; the worst size counts."""
    lines = []
    wanted = [(BETWEEN, 0, MI, 1.05), (("shm",), 0, KI, 0.7), (("shm",), KI + 1, MI, 0.9)]
    some = at_its_best([c for c in all_cases if c.line == "one"], "mpi-persistent")
    for places, least, most, target in wanted:
        inside = [c for c in some if c.place in places and least <= c.bytes <= most]
        for where, part in by(inside, lambda case: f"{case.mpi} {case.place}"):
            ratios = [case.ratio("none", "mpi-persistent") for case in part]
            sizes = f"{size(part[0].bytes)} to {size(part[-1].bytes)}"
            lines.append(verdict(f"one part / mpi-persistent, {sizes}", where, f"<= {target}",
                                 from_to(ratios), max(ratios) <= target))
    return lines


def best_of_search(case):
    """Parts, bytes, messages and time of the fastest choice tried."""
    name = min((name for name in case.time if name.startswith("none:max_messages")),
               key=case.time.get)
    return case.parts, case.bytes, int(name.split("=")[1]), case.time[name]


def regret(case, method="ploggp"):
    """The model's choice over the best one that a search finds."""
    return case.time[method] / best_of_search(case)[3]


SEARCHES = (("groups", "ploggp", "all at once"), ("late", "ploggp", "one late"),
            ("late", "adaptive", "one late"))


def against_search(all_cases):
    lines = []
    for line, method, pattern in SEARCHES:
        some = [c for c in all_cases if c.line.startswith(line) and c.place != "shm"]
        for where, part in by([c for c in some if c.has(method)], Case.where):
            found = [regret(case, method) for case in part]
            mean, worst = geometric_mean(found), max(found)
            what = f"{method} / best by search, {pattern}"
            lines += [verdict(f"{what}, mean of {len(found)}", where, "<= 1.1", f"{mean:.3f}",
                              mean <= 1.1),
                      verdict(f"{what}, worst", where, "<= 1.3", f"{worst:.3f}", worst <= 1.3)]
    return lines


def against_limit(all_cases):
    lines = []
    some = [c for c in all_cases if c.line == "laggard" and 256 * KI <= c.bytes <= 4 * MI]
    for method in ("timer", "adaptive"):
        for where, part in by([c for c in some if c.has("limit", method)], Case.where):
            shares = [case.ratio("limit", method) for case in part]
            lines.append(verdict(f"perceived bandwidth of {method} / limit, 256Ki to 4Mi", where,
                                 ">= 0.7", from_to(shares),
                                 min(shares) >= 0.7))
    return lines


def over_delta(all_cases):
    lines = []
    for where, part in by([c for c in all_cases if c.line == "delta"], Case.where):
        spreads = []
        for case in part:
            times = [time for name, time in case.time.items() if name.startswith("timer")]
            spreads.append(1 - min(times) / max(times))
        lines.append(verdict("perceived bandwidth, delta of 10 to 100 us: spread", where, "<= 0.1",
                             from_to(spreads, ".3f"), max(spreads) <= 0.1))
    return lines


def of_sweeps(all_cases):
    lines = []
    some = [c for c in all_cases if c.line.startswith("sweep")]
    for method in ("ploggp", "timer", "adaptive"):
        for where, part in by([c for c in some if c.has("none", method)], Case.where):
            ratios = [case.ratio("none", method) for case in part]
            enough = part[0].cores() >= 16
            lines += [verdict(f"sweep, none / {method}, at its best", where, ">= 1.3",
                              f"{max(ratios):.2f}", max(ratios) >= 1.3 if enough else None),
                      verdict(f"sweep, none / {method}, never below", where, ">= 0.95",
                              f"{min(ratios):.2f}", min(ratios) >= 0.95 if enough else None)]
    return lines


def of_marks(all_cases):
    """Judged where threads only mark: a mark that sends costs what MPI costs."""
    lines = []
    some = [c for c in all_cases if c.line.startswith("ready") and c.place == "mpi"]
    for where, part in by(some, Case.where):
        ns = {case.line: 1e3 * next(iter(case.time.values())) for case in part}
        judge = part[0].cores() >= 16 and part[0].setting == "funneled"
        for line, what, most in (("ready-mark", "a mark", 60), ("ready-last", "the last of a group",
                                                                150)):
            one, many = ns.get(f"{line}-1", math.nan), ns.get(f"{line}-32", math.nan)
            lines += [verdict(f"{what}, ns", where, f"<= {most}", f"{one:.0f}",
                              one <= most if judge else None),
                      verdict(f"{what}, 32 threads / 1", where, "<= 4", f"{many / one:.2f}",
                              many <= 4 * one if judge else None)]
    return lines


# ---- over libfabric ----

def numbers_of(some, after=""):
    """The numbers of messages that were tried with these options, ascending."""
    words = [name.split("=", 1)[1] for name in methods_of(some)
             if name.startswith("none:max_messages=")]
    return sorted(int(word.removesuffix(after)) for word in words
                  if word.removesuffix(after).isdigit())


def over_mpi(case):
    """By number of messages: the time over libfabric divided by that over MPI."""
    names = {n: f"none:max_messages={n}" for n in numbers_of([case])}
    return {n: case.ratio(name, name + OVER_MPI) for n, name in names.items()
            if case.has(name + OVER_MPI)}


def chosen_over_mpi(case):
    """The same of what is chosen by price, as measured by itself: 1 where it is MPI. The choice is
    known by its prediction."""
    ratios = over_mpi(case)
    for n, ratio in ratios.items():
        name = f"none:max_messages={n}"
        price = {of: case.predicted.get(name + of) for of in ("", OVER_MPI, BY_PRICE)}
        over_fabric = price[BY_PRICE] == price[""] != price[OVER_MPI]
        ratios[n] = ratio if over_fabric else 1
    return {n: ratio for n, ratio in ratios.items()
            if case.has(f"none:max_messages={n}{BY_PRICE}")}


def against_mpi(all_cases):
    lines = []
    for where, part in by([c for c in all_cases if c.line == "carriers"], Case.where):
        for sizes, most, some in (("4Ki to 4Mi", 0.8, part),
                                  ("64Ki", 0.6, [c for c in part if c.bytes == 64 * KI])):
            ratios = [ratio for case in some for ratio in over_mpi(case).values()]
            mean = geometric_mean(ratios)
            if ratios:
                lines.append(verdict(f"libfabric / MPI, same groups, 32 parts, {sizes}, mean of "
                                     f"{len(ratios)}", where, f"<= {most}", f"{mean:.3f}",
                                     mean <= most))
        chosen = [ratio for case in part for ratio in chosen_over_mpi(case).values()]
        if chosen:
            lines.append(verdict(f"chosen by price / MPI, same groups, worst of {len(chosen)}",
                                 where, "<= 1.1", f"{max(chosen):.3f}", max(chosen) <= 1.1))
    return lines


def beside(case, method, other):
    """Microseconds, and how many times as long the other one takes."""
    if not case.has(method, other):
        return "-"
    return f"{r.figure(case.time[method])} ({case.ratio(other, method):.2f})"


def table_of_carriers(some):
    numbers = numbers_of(some)
    lines = [["bytes", *map(str, numbers), "mean"]]
    for case in some:
        ratios = over_mpi(case)
        lines.append([size(case.bytes),
                      *(f"{ratios[n]:.2f} ({r.figure(case.time[f'none:max_messages={n}'])})"
                        if n in ratios else "-" for n in numbers),
                      f"{geometric_mean(ratios.values()):.2f}"])
    return lines


def endpoints_of(some):
    return [name for name in methods_of(some) if name.startswith("none:endpoints=")]


def table_of_endpoints(some):
    names = endpoints_of(some)
    return [["parts", "bytes", "MPI", *(name.split("=")[1] for name in names)],
            *([str(case.parts), size(case.bytes), cell(case, EVERY_PART_OVER_MPI),
               *(beside(case, name, EVERY_PART_OVER_MPI) for name in names)] for case in some)]


def transports_of(some):
    return [f"none:max_messages={n},endpoints=2" for n in numbers_of(some, ",endpoints=2")]


def table_of_transport(some):
    names = transports_of(some)
    return [["bytes", "MPI", *(name.split("=")[1].split(",")[0] for name in names)],
            *([size(case.bytes), cell(case, EVERY_PART_OVER_MPI),
               *(beside(case, name, EVERY_PART_OVER_MPI) for name in names)] for case in some)]


def table_of_search(some):
    """What the model, and what adaptive, take beside the best of a search."""
    names = [name for name in ("ploggp", "adaptive") if name in methods_of(some)]
    lines = [["bytes", "best: messages", "us", *(word for name in names for word in
                                                 (f"{name}: messages", "us", "over best"))]]
    for case in some:
        _, _, messages, time = best_of_search(case)
        lines.append([size(case.bytes), str(messages), r.figure(time), *(
            word for name in names for word in (str(case.messages[name]), cell(case, name),
                                                f"{regret(case, name):.2f}"))])
    return lines


# Lines of fabric.txt: what their cells say, and how their tables are made.
FABRIC_LINES = {
    "carriers": ("by number of messages: time over libfabric / over MPI (us over libfabric)",
                 table_of_carriers),
    "endpoints": ("every part alone, by number of endpoints: us (MPI / this)", table_of_endpoints),
    "transport": ("two endpoints, by number of messages: us (MPI, every part alone / this)",
                  table_of_transport),
}


def is_search_over_fabric(case):
    return case.place in FABRIC and case.line.startswith(("groups", "late"))


def is_perceived(line):
    return line in ("laggard", "same", "uniform", "gauss", "delta")


def cell(case, method):
    """GB/s where bandwidth is perceived, else microseconds."""
    if method not in case.time:
        return "-"
    time = case.time[method]
    return r.figure(case.bytes / time / 1e3 if is_perceived(case.line) else time)


class Partitioned(judged.Study):
    name, help = "partitioned", "channels, beside MPI's own partitioned calls"
    figures = study.Figures("figures-partitioned.txt", FIELDS, "machine mpi place",
                            "bench/run --partitioned", ints=["parts", "bytes", "messages"])
    with_cores, mpi, places, seconds = True, "openmpi,mpich", ["shm", "mpi", "tcp"], 3600
    measures = ["bench/partitioned"]
    settings = dict(grids.SETTINGS, mpich=MPICH)
    judges = (against_psend, against_none, against_prediction, against_persistent, against_search,
              against_limit, over_delta, of_sweeps, of_marks, against_mpi)

    def prepare(self, options):
        if options.cores:  # nothing but Open MPI, and no hosts
            self.mpi, self.places = "openmpi", ["shm", "mpi", "lo"]
        super().prepare(options)

    def all_runs(self):
        """The pairs, in every setting where memory carries them; marks alone; and the waves."""
        for mpi, place in itertools.product(self.options.mpi.split(","), self.options.places):
            if place == "lo" and mpi != "openmpi":
                continue
            names = list(self.settings[mpi]) if place == "shm" else ["-"]
            for setting in names:
                yield Run(mpi, place, setting)
            if place == "ofi":
                yield Run(mpi, place, "-", words=FABRIC_GRID)
            if place == "mpi":
                yield Run(mpi, place, "funneled", words=["--funneled", "--case", "ready-"])
            if place != "mpi" and (mpi == "openmpi" or r.cores() >= 4):
                yield Run(mpi, place, names[-1], ranks=4)

    def environment(self, run):
        """A place has only the last setting, unless memory carries the messages."""
        settings = self.settings[run.mpi]
        setting = settings.get(run.setting, list(settings.values())[-1])
        return {**(setting if run.place in ("shm", "mpi") else {}), **PLACE[run.place]}

    def best_table(self, run, profile):
        """For the aggregator `table`: the best numbers of messages found by a search."""
        path = self.kept(run, "table")
        if not os.path.exists(path):
            say(f"bench: {run.title()}: making a table")
            words = ["--pin", "--samples", "3" if self.options.quick else "15", "--case", "groups-"]
            done = self.start(run, [self.drivers[run.mpi], *words], **profile)
            rows = self.parse(done.stdout.splitlines(), run)
            best = list(map(best_of_search, self.cases_of(rows)))
            if done.returncode or not best:
                self.notes.append(f"{run.title()}: no table")
                return {}
            with open(path, "w", encoding="utf-8") as file:
                file.write("".join(f"{parts} {size} {messages} {1e-6 * time:g}\n"
                                   for parts, size, messages, time in best))
        return {"GROVE_PART_TABLE": path}

    def given(self, run):
        """Found by two ranks in the same place. In memory there is nothing to try: the result with
        messages on the node is used."""
        pair = Run(run.mpi, "mpi" if run.place == "shm" else run.place, "-")
        profile = self.profile(pair)
        return dict(profile, **self.best_table(pair, profile))

    def words(self, run):
        words = ["--pin", *run.words, "--case-seconds", str(self.options.seconds), "--most",
                 str(self.options.most)]
        words += ["--spin"] if self.options.cores else []
        if self.options.quick:
            words += ["--samples", "3", "--most", str(MI)]
        if self.options.case and "--case" not in run.words:
            words += ["--case", self.options.case]
        return words

    def unit(self, line):
        if line in FABRIC_LINES:
            return FABRIC_LINES[line][0]
        return "GB/s" if is_perceived(line) else "us"

    def table(self, some):
        if some[0].line in FABRIC_LINES:
            return FABRIC_LINES[some[0].line][1](some)
        if is_search_over_fabric(some[0]):
            return table_of_search(some)
        names = methods_of(some)
        return [["parts", "bytes", *names],
                *([str(case.parts), size(case.bytes), *(cell(case, name) for name in names)]
                  for case in some)]

    # ---- the page and pictures ----

    def on_page(self, case):
        return (case.line in ("overhead", "laggard") or case.line in FABRIC_LINES
                or is_search_over_fabric(case))

    def page(self, rows):
        places = dict.fromkeys(case.place for case in self.pictured(rows))
        return super().page(rows) + [
            study.picture(f"partitioned-{place}", f"Perceived bandwidth by size, 32 parts, {place}")
            for place in places] + [study.picture(name, what)
                                    for name, what, *_ in self.speedups(rows)]

    def speedups(self, rows):
        """Of the lines `endpoints` and `transport`: name and title of each picture, its cases and
        methods, and how these are called."""
        found = self.last_of(rows, lambda c: c.line in ("endpoints", "transport"))
        for (place, line, parts), some in by(found, lambda c: (c.place, c.line, c.parts)):
            if line == "endpoints":
                yield (f"partitioned-{place}-endpoints-{parts}",
                       f"Speedup by endpoints, {parts} parts, {place}", some, endpoints_of(some),
                       "endpoints")
            else:
                yield (f"partitioned-{place}-transport",
                       f"Speedup by messages over two endpoints, {parts} parts, {place}", some,
                       transports_of(some), "messages")

    def pictured(self, rows):
        """The perceived bandwidth of 32 parts, with the first MPI and in the last setting of
        each."""
        return self.last_of(rows, lambda c: c.line == "laggard" and c.parts == 32)

    def last_of(self, rows, is_wanted):
        some = [c for _, found in self.by_machine(rows) for c in found if is_wanted(c)]
        last = {(c.place, c.line, c.parts, c.bytes): c for c in some if c.mpi == some[0].mpi}
        return list(last.values())

    def draw(self, rows):
        for place, some in by(self.pictured(rows), lambda case: case.place):
            names = methods_of(some)
            data = [study.points((case.bytes, case.bytes / case.time[name] / 1e3) for case in some
                                 if name in case.time) for name in names]
            plots = [f"$d{i} with linespoints pt {i + 1} {'dt 2 lw 2 ' * (name == 'limit')}"
                     f"title '{name}' noenhanced" for i, name in enumerate(names)]
            study.plot(f"partitioned-{place}", "set logscale xy 2\nset key outside\n"
                       "set xlabel 'bytes, in 32 parts, one of them 4 ms late'\n"
                       f"set ylabel 'perceived bandwidth, GB/s, {place}'\n"
                       f"plot {', '.join(plots)}\n", data)
        for name, _, some, methods, what in self.speedups(rows):
            data = [study.points((case.bytes, case.ratio(EVERY_PART_OVER_MPI, method))
                                 for case in some if case.has(method, EVERY_PART_OVER_MPI))
                    for method in methods]
            titles = [method.split("=")[1].split(",")[0] for method in methods]
            plots = [f"$d{i} with linespoints pt {i + 1} title '{title} {what}'"
                     for i, title in enumerate(titles)]
            study.plot(name, "set logscale x 2\nset key outside\n"
                       f"set xlabel 'bytes, in {some[0].parts} parts, all ready at once'\n"
                       "set ylabel 'speedup over MPI, a persistent message per part'\n"
                       f"plot {', '.join(plots)}, 1 dt 2 lc 'gray' notitle\n", data)
