"""Channels: bench/partitioned on one node and between hosts, and what it says of the targets.

A run is an MPI, a place (what carries the messages) and a setting of the MPI; a case is a line of
bench/partitioned/grid.txt with a number of parts and a size; a row is a method of a case. All that
is printed is computed from rows, so that the committed figures give the same again.
"""

import itertools
import json
import math
import os
import shutil
import subprocess

import origin
import routes
import rows as r

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIGURES = os.path.join(ROOT, "bench", "figures-partitioned.txt")
SECONDS, SKIPPED = 3600, 77  # for one run; tools/cluster: this machine cannot do it

# Times in microseconds. `messages`: of a round, by its sender; 0: nobody knows. `predicted`: by the
# profile of the place; 0: nobody says.
FIELDS = ("machine mpi place setting line parts bytes method messages median low high"
          " predicted").split()
TIMES = ("median", "low", "high", "predicted")
RUN = "machine mpi place".split()
CASE = "machine mpi place setting line parts bytes".split()
KI, MI = 1 << 10, 1 << 20

# What carries messages: memory, MPI on the node, hosts of the test cluster, TCP through loopback.
PLACES, PLACES_OF_CORES = ["shm", "mpi", "tcp"], ["shm", "mpi", "lo"]
BETWEEN = ("tcp", "lo")
PLACE = {
    "shm": {},
    "mpi": {"GROVE_TRANSPORT_PARTS": "mpi"},
    "tcp": {},
    "lo": {"GROVE_NODE_SIZE": "1", "GROVE_TRANSPORT_PARTS": "mpi", "OMPI_MCA_pml": "ob1",
           "OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_if_include": "lo"},
}
# MPICH's partitioned calls depend on what UCX is given: all it has, as installed, or memory alone.
MPICH = {"installed": {"UCX_TLS": "all"}, "best": {"UCX_TLS": "sysv,self"}}


# ---- running ----

class Run:
    """One start of the driver."""

    def __init__(self, mpi, place, setting, ranks=2, words=()):
        self.mpi, self.place, self.setting = mpi, place, setting
        self.ranks, self.words = ranks, list(words)

    def name(self):
        return f"{self.mpi} {self.place} {self.setting}, {self.ranks} ranks"

    def launcher(self):
        if self.place == "tcp":
            return ["tools/cluster", "run", "--nodes", str(self.ranks), "--ppn", "1", "--mpi",
                    self.mpi, "--"]
        return ["tools/launch", str(self.ranks)]


def all_runs(options, settings):
    """The pairs, in every setting where memory carries them; then marks alone, and the waves."""
    for mpi, place in itertools.product(options.mpi.split(","), options.places):
        if place == "lo" and mpi != "openmpi":
            continue
        names = list(settings[mpi]) if place == "shm" else ["-"]
        for setting in names:
            yield Run(mpi, place, setting)
        if place == "mpi":
            yield Run(mpi, place, "funneled", words=["--funneled", "--case", "ready-"])
        if place != "mpi" and (mpi == "openmpi" or r.cores() >= 4):
            yield Run(mpi, place, names[-1], ranks=4)


class Bench:
    """Programs, options and environment of all runs."""

    def __init__(self, drivers, options, settings, unbound):
        self.drivers, self.options = drivers, options
        self.settings, self.unbound = settings, unbound
        self.notes = [f"load before: {os.getloadavg()[0]:.2f}"]

    def environment(self, run, **more):
        """A place has one setting, the last, unless memory carries the messages."""
        settings = self.settings[run.mpi]
        setting = settings.get(run.setting, list(settings.values())[-1])
        return {"GROVE_TIMEOUT": "100", **os.environ, "MPI": run.mpi,
                **(setting if run.place in ("shm", "mpi") else {}), **PLACE[run.place],
                **self.unbound[run.mpi], **more}

    def kept(self, run, name):
        """Where something is kept that is made once for a build and a place."""
        where = run.place if run.place in BETWEEN else "node"
        quick = "-quick" if self.options.quick else ""
        folder = os.path.dirname(os.path.dirname(self.drivers[run.mpi]))
        os.makedirs(os.path.join(folder, "profiles"), exist_ok=True)
        return os.path.join(folder, "profiles", f"parts-{where}{quick}.{name}")

    def start(self, run, command, **more):
        return subprocess.run([*run.launcher(), *command], cwd=ROOT, check=False, text=True,
                              env=self.environment(run, **more), timeout=SECONDS,
                              stdout=subprocess.PIPE)

    def profile(self, run):
        """Of the place, as a variable; none where it cannot be measured."""
        path = self.kept(run, "machine")
        if not os.path.exists(path):
            routes.say(f"bench: {run.name()}: measuring a profile")
            grove = os.path.join(os.path.dirname(self.drivers[run.mpi]), "grove")
            effort = ["--quick"] if self.options.quick else []
            if self.start(run, [grove, "machine", "measure", *effort, "-o", path]).returncode:
                self.notes.append(f"{run.name()}: no profile")
                return {}
        return {"GROVE_MACHINE": path}

    def table(self, run, profile):
        """The best numbers of messages by trying, for the aggregator `table`, as a variable."""
        path = self.kept(run, "table")
        if not os.path.exists(path):
            routes.say(f"bench: {run.name()}: making a table")
            words = ["--pin", "--samples", "3" if self.options.quick else "15", "--case", "groups-"]
            done = self.start(run, [self.drivers[run.mpi], *words], **profile)
            best = list(map(best_of_search, cases(parse(done.stdout.splitlines(), run))))
            if done.returncode or not best:
                self.notes.append(f"{run.name()}: no table")
                return {}
            with open(path, "w", encoding="utf-8") as file:
                file.write("".join(f"{parts} {size} {messages} {1e-6 * time:g}\n"
                                   for parts, size, messages, time in best))
        return {"GROVE_PART_TABLE": path}

    def given(self, run):
        """What Grove is given: found out in the same place by two ranks. In memory there is nothing
        to try, so that of messages on the node will do."""
        pair = Run(run.mpi, "mpi" if run.place == "shm" else run.place, "-")
        profile = self.profile(pair)
        return dict(profile, **self.table(pair, profile))

    def words(self, run):
        words = ["--pin", *run.words, "--case-seconds", str(self.options.seconds), "--most",
                 str(self.options.most)]
        words += ["--spin"] if self.options.cores else []
        if self.options.quick:
            words += ["--samples", "3", "--most", str(MI)]
        if self.options.case and not run.words:
            words += ["--case", self.options.case]
        return words

    def rows(self, run):
        """Rows of one run, and whether it went well."""
        routes.say(f"bench: {run.name()}")
        done = self.start(run, [self.drivers[run.mpi], *self.words(run)], **self.given(run))
        lines = done.stdout.splitlines()
        self.notes += [f"{run.name()}: {line.split(' ', 1)[1]}" for line in lines
                       if line.startswith(("conditions ", "wrong "))]
        if done.returncode:
            self.notes.append(f"{run.name()}: exit status {done.returncode}")
        return parse(lines, run), done.returncode in (0, SKIPPED)

    def run_all(self):
        found, good = [], True
        for run in all_runs(self.options, self.settings):
            if self.drivers.get(run.mpi) is None:
                self.notes.append(f"{run.name()}: not run: it was not built")
                continue
            rows, well = self.rows(run)
            found += rows
            good = good and well
        self.notes.append(f"load after: {os.getloadavg()[0]:.2f}")
        return found, good and bool(found)


def parse(lines, run):
    rows = []
    for words in map(str.split, lines):
        if words and words[0] == "row":
            row = dict(zip(FIELDS[4:], words[1:]))
            row.update({name: float(row[name]) for name in TIMES})
            row.update({name: int(row[name]) for name in ("parts", "bytes", "messages")})
            rows.append(dict(row, machine=r.machine(), mpi=run.mpi, place=run.place,
                             setting=run.setting))
    return rows


# ---- figures ----

def load():
    if not os.path.exists(FIGURES):
        return []
    with open(FIGURES, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    found = [dict(zip(FIELDS, words)) for words in lines]
    for row in found:
        row.update({name: float(row[name]) for name in TIMES})
        row.update({name: int(row[name]) for name in ("parts", "bytes", "messages")})
    return found


def save(rows, made):
    """Replaces what the file has of the same machine, MPI and place."""
    run_of = lambda row: " ".join(row[name] for name in RUN)
    new = {run_of(row) for row in rows}
    kept = [row for row in load() if run_of(row) not in new]
    marks = origin.marks(FIGURES, new, map(run_of, kept), made)
    with open(FIGURES, "w", encoding="utf-8") as file:
        file.write("# The committed figures: bench/METRICS.md defines the columns, bench/run"
                   f" --partitioned --save writes them.\n{marks}# {' '.join(FIELDS)}\n")
        for row in kept + rows:
            file.write(" ".join(routes.word(row[name]) for name in FIELDS) + "\n")


# ---- what the rows say ----

class Case:
    """The methods of one case, by name: times."""

    def __init__(self, key):
        self.__dict__.update(zip(CASE, key))
        self.time, self.predicted = {}, {}

    def has(self, *methods):
        return all(name in self.time for name in methods)

    def ratio(self, method, other):
        return self.time[method] / self.time[other]

    def where(self):
        setting = "" if self.setting == "-" else f" {self.setting}"
        return f"{self.mpi} {self.place}{setting}"


def cases(rows):
    found = {}
    for row in rows:
        key = tuple(row[name] for name in CASE)
        case = found.setdefault(key, Case(key))
        case.time[row["method"]] = row["median"]
        case.predicted[row["method"]] = row["predicted"]
    return list(found.values())


def size(number):
    """64Ki and so on."""
    for unit, name in ((MI, "Mi"), (KI, "Ki")):
        if number >= unit and number % unit == 0:
            return f"{number // unit}{name}"
    return str(number)


def cores_of(some):
    """The cores of their machine, from its name."""
    words = some[0].machine.split("-")
    return int(words[-2]) if words[-1] == "cores" and words[-2].isdigit() else 0


def judged(what, where, wanted, found, well):
    """A line of the table of targets; `well` None: for some other machine."""
    word = "not judged" if well is None else "met" if well else "missed"
    return [what, where, wanted, found, word]


def by_where(some, key=Case.where):
    for name in dict.fromkeys(map(key, some)):
        yield name, [case for case in some if key(case) == name]


def against_psend(all_cases):
    lines = []
    for case in all_cases:
        if (case.line, case.parts, case.place) == ("overhead", 32, "shm") and case.has(
                "mpi-psend", "ploggp") and case.bytes in (64 * KI, MI):
            least = 1 if case.setting == "best" else {64 * KI: 2, MI: 10}[case.bytes]
            ratio = case.ratio("mpi-psend", "ploggp")
            lines.append(judged(f"MPI's own calls / ploggp, 32 parts, {size(case.bytes)}",
                                case.where(), f"> {least}" if least == 1 else f">= {least}",
                                f"{ratio:.2f}", ratio > 1 and ratio >= least))
    return lines


def against_none(all_cases):
    lines = []
    for parts, least in ((32, 3), (128, 8)):
        some = [case for case in all_cases if case.line == "overhead" and case.parts == parts
                and case.place in BETWEEN and case.bytes <= 128 * KI and case.has("none", "ploggp")]
        for where, part in by_where(some):
            ratios = [case.ratio("none", "ploggp") for case in part]
            lines.append(judged(f"none / ploggp, {parts} parts, up to 128Ki", where, f">= {least}",
                                f"{min(ratios):.2f} to {max(ratios):.2f}", min(ratios) >= least))
    return lines


def against_prediction(all_cases):
    """What the profile predicts of ploggp where it is compared with none."""
    lines = []
    some = [case for case in all_cases if case.line == "overhead" and case.parts in (32, 128)
            and case.place in BETWEEN and case.bytes <= 128 * KI
            and case.predicted.get("ploggp", 0) > 0]
    for where, part in by_where(some):
        ratios = [case.time["ploggp"] / case.predicted["ploggp"] for case in part]
        well = min(ratios) >= 1 / 1.15 and max(ratios) <= 1.15
        lines.append(judged("ploggp / predicted, 32 and 128 parts, up to 128Ki", where,
                            "0.87 to 1.15", f"{min(ratios):.2f} to {max(ratios):.2f}", well))
    return lines


def at_its_best(some, peer):
    """Of runs in several settings that in which the peer was fastest."""
    best = {}
    for case in some:
        key = (case.mpi, case.place, case.parts, case.bytes)
        if case.has(peer) and (key not in best or case.time[peer] < best[key].time[peer]):
            best[key] = case
    return list(best.values())


def against_persistent(all_cases):
    """One part; the most of all sizes counts."""
    lines = []
    wanted = [(BETWEEN, 0, MI, 1.05), (("shm",), 0, KI, 0.7), (("shm",), KI + 1, MI, 0.9)]
    some = at_its_best([c for c in all_cases if c.line == "one"], "mpi-persistent")
    for places, least, most, target in wanted:
        inside = [c for c in some if c.place in places and least <= c.bytes <= most]
        for where, part in by_where(inside, lambda case: f"{case.mpi} {case.place}"):
            ratios = [case.ratio("none", "mpi-persistent") for case in part]
            sizes = f"{size(part[0].bytes)} to {size(part[-1].bytes)}"
            lines.append(judged(f"one part / mpi-persistent, {sizes}", where, f"<= {target}",
                                f"{min(ratios):.2f} to {max(ratios):.2f}", max(ratios) <= target))
    return lines


def best_of_search(case):
    """Parts, bytes, messages and time of the fastest that was tried."""
    name = min((name for name in case.time if name.startswith("none:max_messages")),
               key=case.time.get)
    return case.parts, case.bytes, int(name.split("=")[1]), case.time[name]


def regret(case, method="ploggp"):
    """The model's choice over the best that a search finds."""
    return case.time[method] / best_of_search(case)[3]


SEARCHES = (("groups", "ploggp", "all at once"), ("late", "ploggp", "one late"),
            ("late", "adaptive", "one late"))


def against_search(all_cases):
    lines = []
    for line, method, pattern in SEARCHES:
        some = [c for c in all_cases if c.line.startswith(line) and c.place != "shm"]
        for where, part in by_where([c for c in some if c.has(method)]):
            found = [regret(case, method) for case in part]
            mean, worst = routes.geometric_mean(found), max(found)
            what = f"{method} / best by search, {pattern}"
            lines += [judged(f"{what}, mean of {len(found)}", where, "<= 1.1", f"{mean:.3f}",
                             mean <= 1.1),
                      judged(f"{what}, worst", where, "<= 1.3", f"{worst:.3f}", worst <= 1.3)]
    return lines


def against_limit(all_cases):
    lines = []
    some = [c for c in all_cases if c.line == "laggard" and 256 * KI <= c.bytes <= 4 * MI]
    for method in ("timer", "adaptive"):
        for where, part in by_where([c for c in some if c.has("limit", method)]):
            shares = [case.ratio("limit", method) for case in part]
            lines.append(judged(f"perceived bandwidth of {method} / limit, 256Ki to 4Mi", where,
                                ">= 0.7", f"{min(shares):.2f} to {max(shares):.2f}",
                                min(shares) >= 0.7))
    return lines


def over_delta(all_cases):
    lines = []
    for where, part in by_where([c for c in all_cases if c.line == "delta"]):
        spreads = []
        for case in part:
            times = [time for name, time in case.time.items() if name.startswith("timer")]
            spreads.append(1 - min(times) / max(times))
        lines.append(judged("perceived bandwidth, delta of 10 to 100 us: spread", where, "<= 0.1",
                            f"{min(spreads):.3f} to {max(spreads):.3f}", max(spreads) <= 0.1))
    return lines


def of_sweeps(all_cases):
    lines = []
    some = [c for c in all_cases if c.line.startswith("sweep")]
    for method in ("ploggp", "timer", "adaptive"):
        for where, part in by_where([c for c in some if c.has("none", method)]):
            ratios = [case.ratio("none", method) for case in part]
            enough = cores_of(part) >= 16
            lines += [judged(f"sweep, none / {method}, at its best", where, ">= 1.3",
                             f"{max(ratios):.2f}", max(ratios) >= 1.3 if enough else None),
                      judged(f"sweep, none / {method}, never below", where, ">= 0.95",
                             f"{min(ratios):.2f}", min(ratios) >= 0.95 if enough else None)]
    return lines


def of_marks(all_cases):
    """Judged where the others only mark: with the send the figure is that of the MPI."""
    lines = []
    some = [c for c in all_cases if c.line.startswith("ready") and c.place == "mpi"]
    for where, part in by_where(some):
        ns = {case.line: 1e3 * next(iter(case.time.values())) for case in part}
        judge = cores_of(part) >= 16 and part[0].setting == "funneled"
        for line, what, most in (("ready-mark", "a mark", 60), ("ready-last", "the last of a group",
                                                                150)):
            one, many = ns.get(f"{line}-1", math.nan), ns.get(f"{line}-32", math.nan)
            lines += [judged(f"{what}, ns", where, f"<= {most}", f"{one:.0f}",
                             one <= most if judge else None),
                      judged(f"{what}, 32 threads / 1", where, "<= 4", f"{many / one:.2f}",
                             many <= 4 * one if judge else None)]
    return lines


def targets(all_cases):
    parts = (against_psend, against_none, against_prediction, against_persistent, against_search, against_limit,
             over_delta, of_sweeps, of_marks)
    return [line for part in parts for line in part(all_cases)]


HEAD = ["target", "where", "wanted", "found", ""]


def methods_of(some):
    return list(dict.fromkeys(name for case in some for name in case.time))


def is_perceived(line):
    return line in ("laggard", "same", "uniform", "gauss", "delta")


def cell(case, method):
    """GB/s where bandwidth is perceived, else microseconds."""
    if method not in case.time:
        return "-"
    time = case.time[method]
    return r.figure(case.bytes / time / 1e3 if is_perceived(case.line) else time)


def table(some):
    """A line a case, a column a method, all of one line of the grid and one run."""
    names = methods_of(some)
    return [["parts", "bytes", *names],
            *([str(case.parts), size(case.bytes), *(cell(case, name) for name in names)]
              for case in some)]


def titled(all_cases):
    """Heading and table of every line of every run."""
    for where, part in by_where(all_cases):
        for line, some in by_where(part, lambda case: case.line):
            unit = "GB/s" if is_perceived(line) else "us"
            yield f"{where}: {line}, {unit}", table(some)


def by_machine(rows):
    for machine in dict.fromkeys(row["machine"] for row in rows):
        yield machine, cases([row for row in rows if row["machine"] == machine])


def print_all(rows):
    for machine, found in by_machine(rows):
        print(f"\n== {machine}")
        for title, lines in titled(found):
            print(f"\n{title}\n{r.columns(lines)}")
        print(f"\n== targets, {machine}\n{r.columns([HEAD, *targets(found)])}")


# ---- pages and pictures ----

def section(rows):
    """What RESULTS.md has between its marks: targets of every machine, and the two main tables."""
    lines = []
    for machine, found in by_machine(rows):
        lines += [f"### {machine}", "", *r.markdown_table([HEAD, *targets(found)]), ""]
        for title, some in titled([c for c in found if c.line in ("overhead", "laggard")]):
            lines += [f"{title}:", "", *r.markdown_table(some), ""]
    places = dict.fromkeys(case.place for case in pictured(rows))
    return lines + [line for place in places for line in (
        f"![Perceived bandwidth by size, 32 parts, {place}](pictures/partitioned-{place}.svg)", "")]


def pictured(rows):
    """The perceived bandwidth of 32 parts, with the first MPI and in the last setting of each."""
    some = [c for _, found in by_machine(rows) for c in found
            if c.line == "laggard" and c.parts == 32]
    last = {}
    for case in some:
        if case.mpi == some[0].mpi:
            last[case.place, case.bytes] = case
    return list(last.values())


def draw(rows):
    if not shutil.which("gnuplot"):
        routes.say("bench: no gnuplot: no pictures")
        return
    for place, some in by_where(pictured(rows), lambda case: case.place):
        names = methods_of(some)
        data = [routes.points((case.bytes, case.bytes / case.time[name] / 1e3) for case in some
                              if name in case.time) for name in names]
        plots = [f"$d{i} with linespoints pt {i + 1} {'dt 2 lw 2 ' * (name == 'limit')}"
                 f"title '{name}' noenhanced" for i, name in enumerate(names)]
        routes.plot(f"partitioned-{place}", "set logscale xy 2\nset key outside\n"
                    "set xlabel 'bytes, in 32 parts, one of them 4 ms late'\n"
                    f"set ylabel 'perceived bandwidth, GB/s, {place}'\nplot {', '.join(plots)}\n",
                    data)


def keep(rows, results):
    r.write_results(results, "partitioned", section(rows))
    draw(rows)


def study(drivers, options, made, settings, unbound, results):
    """bench/run --partitioned; returns its exit status."""
    if options.figures:
        print_all(load())
        if options.save and load():
            keep(load(), results)
        return 0
    bench = Bench(drivers, options, dict(settings, mpich=MPICH), unbound)
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
        keep(load(), results)
    return 0 if good else 1
