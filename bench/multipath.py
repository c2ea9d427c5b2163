"""Copies over several paths: bench/multipath on emulated links, on links of a GPU, and its results
against the targets.

A run is one start of the driver with one study; a case is a line, a name and a size at one place; a
row is a method of a case. Times of emulated links are those of a clock of their own, and the same
on every machine. All that is printed is computed from rows, so that the committed figures give the
same again. With --check emulated links only, small: bytes are verified, and nothing is saved.
"""

import os
import statistics
import subprocess
import sys

import gpu
import judged
import rows as r
import study
from gpu import size
from judged import methods_of, verdict
from study import ROOT, by

# Times in microseconds; counts and ratios as they are.
FIELDS = "machine rung node links line case bytes method median low high"
EMULATED, GPU = "emulated", "gpu"
FOLDERS = {EMULATED: "build", GPU: gpu.FOLDER}  # the latter is that of tools/gpu-test
SECONDS = {True: 120, False: 600}  # for one run, quick or not
MIB = 1 << 20

# Percent over the exact optimum: from 8 MiB on, and below.
FROM_8, BELOW_8 = 3, 10
BELUGA = 2.9  # times as fast as the direct link, 256 MiB
IDEAL, MEAN, WORST = 1, 6, 15  # percent, of predictions above 4 MiB
DECISION, SHARE = 0.05, 0.1  # us; percent of the transfer
COLLECTIVE, PUBLISHED = 0.9, 1.4  # of the bound; times as fast
COLLECTIVE_BYTES = 128 * MIB
# Of links of one block, by the list of paths: times as fast as the direct link, at two sizes.
SM_LINKS = {"direct+gpu2": (1.8, 1.92), "direct+gpu2+gpu3": (2.4, 2.75),
            "direct+gpu2+gpu3+host": (2.8, 3.3), "direct+host": (1.8, 2.0)}
SM_SIZES = (64 * MIB, 512 * MIB)
HOST_ONE, HOST_BOTH, CHUNKS, HOST_RATE = 6, 10, 5, 0.9
PLAIN = 1.02


class Case(judged.Case):
    def where(self):
        return " ".join(word for word in (self.rung, self.node, self.links) if word != "-")

    def words(self):
        """Of the case's name: how many paths, which window, which way."""
        return self.case.replace("+w", ",w").replace("+one", ",one").replace("+both",
                                                                             ",both").split(",")

    def name(self):
        return f"{self.node}, {self.case}, {size(self.bytes)}"


class Run(judged.Run):
    """`name`: what --case may call it. `words`: the driver's."""

    def __init__(self, name, place, *words):
        super().__init__()
        self.name, self.place, self.mpi, self.words = name, place, "openmpi", list(words)

    def title(self):
        return " ".join(["multipath", self.name, *self.words])

    def launcher(self):
        return ["tools/launch", "1"]


# ---- what the rows say ----

def percent(value):
    return f"{100 * value:+.1f} %"


def off(case, method="predicted", of="dynamic"):
    return case.time[method] / case.time[of] - 1


def of_links(all_cases, links, line="copies"):
    return [c for c in all_cases if c.line == line and c.links == links and c.rung == EMULATED
            and c.has("dynamic", "predicted")]


def worst_line(what, where, some, value, most):
    """Of the case with the greatest value."""
    worst = max(some, key=value)
    return verdict(f"{what}, {len(some)} cases: worst", where, f"<= {most} %",
                   f"{percent(value(worst))} ({worst.name()})", 100 * value(worst) <= most)


def near_best(all_cases):
    lines = []
    some = [c for c in of_links(all_cases, "ideal") if c.has("best")]
    groups = by(some, lambda c: (*c.words()[1:], c.bytes >= 8 * MIB))
    for (window, ways, is_large), part in sorted(groups, key=lambda one: one[0], reverse=True):
        lines.append(worst_line(f"over the exact optimum, {ways}, {window}, "
                                f"{'from' if is_large else 'below'} 8Mi", EMULATED, part,
                                lambda c: off(c, "dynamic", "best"),
                                FROM_8 if is_large else BELOW_8))
    return lines


def of_beluga(all_cases):
    return [verdict("direct / dynamic, 4 paths of Beluga, 256Mi", c.where(), f">= {BELUGA}",
                    f"{c.ratio('direct', 'dynamic'):.2f}", c.ratio("direct", "dynamic") >= BELUGA)
            for c in of_links(all_cases, "ideal")
            if (c.node, c.case, c.bytes) == ("beluga", "4-paths,w1,one-way", 256 * MIB)]


def mean_lines(what, where, some, mean, worst=None):
    errors = [abs(off(c)) for c in some]
    found = statistics.fmean(errors)
    lines = [verdict(f"predicted, {what}, {len(some)} cases: mean", where, f"<= {mean} %",
                     f"{100 * found:.1f} %", 100 * found <= mean)]
    if worst:
        lines.append(worst_line(f"predicted, {what}", where, some, lambda c: abs(off(c)), worst))
    return lines


def predictions(all_cases):
    lines = []
    large = [c for c in of_links(all_cases, "ideal") if c.bytes > 4 * MIB]
    alone = [c for c in large if c.words()[1:] == ["w1", "one-way"]]
    others = [c for c in large if c not in alone]
    hard = [c for c in of_links(all_cases, "hard") if c.bytes > 4 * MIB]
    if alone:
        lines.append(worst_line("predicted, ideal links, one copy", EMULATED, alone,
                                lambda c: abs(off(c)), IDEAL))
    if others:
        lines += mean_lines("ideal links, both ways or windows", EMULATED, others, MEAN, WORST)
    if hard:
        lines += mean_lines("hard links", EMULATED, hard, MEAN, WORST)
    return lines


def beside_static(all_cases):
    """What the search has found is not the best there is, and takes hundreds of tries."""
    some = [c for c in all_cases if c.line == "copies" and c.has("static", "dynamic")]
    return [verdict(f"dynamic / static, {ways}, {window}, {len(part)} cases: mean", rung, "-",
                    f"{study.geometric_mean(c.ratio('dynamic', 'static') for c in part):.3f} "
                    f"({judged.spread([c.ratio('dynamic', 'static') for c in part])})", None)
            for (rung, window, ways), part in by(some, lambda c: (c.rung, *c.words()[-2:]))]


def of_nodes(all_cases):
    return [verdict(f"{c.bytes} random nodes, {c.time['copies']:.0f} copies: slower than directly",
                    c.rung, "none", f"{c.time['slower']:.0f} (worst {c.time['worst']:.3f}, mean "
                    f"{c.time['mean']:.2f}; {c.time['split']:.0f} were split)",
                    c.time["slower"] == 0)
            for c in all_cases if c.line == "nodes" and c.has("copies", "slower", "worst")]


def of_cost(all_cases):
    some = [c for c in all_cases if c.line == "cost" and c.has("decision", "call", "driver")]
    if not some:
        return []
    slowest = max(c.time["decision"] for c in some)
    lines = [verdict("a decision that is cached, us: worst", "host", f"<= {DECISION}",
                     f"{slowest:.4f}", slowest <= DECISION)]
    for c in (c for c in some if c.bytes >= 8 * MIB):
        part = 100 * c.time["decision"] / c.time["transfer"]
        rest = 100 * (c.time["call"] - c.time["driver"]) / c.time["transfer"]
        lines += [verdict(f"decision of the transfer, {size(c.bytes)}", "host", f"<= {SHARE} %",
                          f"{part:.4f} %", part <= SHARE),
                  verdict(f"all but the driver's calls of the transfer, {size(c.bytes)}", "host",
                          f"<= {SHARE} %", f"{rest:.3f} %", rest <= SHARE)]
    return lines


def of_collectives(all_cases):
    """The paper's 1.4 where the links allow it."""
    lines = []
    for c in all_cases:
        if c.line != "collectives" or c.bytes < COLLECTIVE_BYTES or not c.has("together", "bound"):
            continue
        found, gain = c.ratio("bound", "together"), c.ratio("direct", "together")
        lines.append(verdict(f"{c.case}, {size(c.bytes)}: bound / together", c.where(),
                             f">= {COLLECTIVE}", f"{found:.2f}", found >= COLLECTIVE))
        if c.ratio("direct", "bound") >= PUBLISHED:
            lines.append(verdict(f"{c.case}, {size(c.bytes)}: direct / together", c.where(),
                                 f">= {PUBLISHED}",
                                 f"{gain:.2f} (alone {c.ratio('direct', 'alone'):.2f})",
                                 gain >= PUBLISHED))
    return lines


def of_sm_links(all_cases):
    lines = []
    some = [c for c in all_cases if c.line == "copies" and c.rung != EMULATED
            and c.has("direct", "dynamic", "predicted")]
    for c in some:
        paths, window, ways = c.words()
        if (window, ways) != ("w1", "one-way"):
            continue
        gain = c.ratio("direct", "dynamic")
        wanted = dict(zip(SM_SIZES, SM_LINKS[paths])).get(c.bytes) if c.links == "1-block" else None
        lines.append(verdict(f"direct / dynamic, {paths}, {size(c.bytes)}", c.where(),
                             f">= {wanted}" if wanted else "-",
                             f"{gain:.2f}" + (f" (static {c.ratio('direct', 'static'):.2f})"
                                              if c.has("static") else ""),
                             gain >= wanted if wanted else None))
    for where, part in by([c for c in some if c.bytes >= SM_SIZES[0]], Case.where):
        lines += mean_lines("from 64Mi", where, part, MEAN)
    return lines


def of_host(all_cases):
    lines = []
    some = [c for c in all_cases if c.line == "host" and c.has("dynamic", "predicted")]
    for (where, ways), part in by(some, lambda c: (c.where(), c.case)):
        lines.append(worst_line(f"by the host alone, predicted, {ways}", where, part,
                                lambda c: abs(off(c)),
                                HOST_ONE if ways == "one-way" else HOST_BOTH))
        found = [c for c in part if c.has("again", "searched")]
        if found:
            lines.append(worst_line("by the host alone, over the best chunk count", where, found,
                                    lambda c: off(c, "again", "searched"), CHUNKS))
    for link in (c for c in all_cases if c.line == "links" and c.has("d2h", "h2d")):
        for c in some:
            if (c.where(), c.bytes, c.case) == (link.where(), link.bytes, "one-way"):
                found = max(link.time.values()) / c.time["dynamic"]
                lines.append(verdict(f"by the host alone, {size(c.bytes)}: rate / slower link",
                                     c.where(), f">= {HOST_RATE}", f"{found:.2f}",
                                     found >= HOST_RATE))
    return lines


def of_plain(all_cases):
    some = [c for c in all_cases if c.line == "plain" and c.has("ratio")]
    if not some:
        return []
    worst = max(some, key=lambda c: c.time["ratio"])
    return [verdict(f"one GPU, beside the driver's copy, {len(some)} sizes: worst", worst.where(),
                    f"<= {PLAIN}", f"{worst.time['ratio']:.3f} ({size(worst.bytes)})",
                    worst.time["ratio"] <= PLAIN)]


# ---- tables of a line; a run that was ended in the middle lacks some methods ----

def cell(case, over, under, form=".2f"):
    return f"{case.ratio(over, under):{form}}" if case.has(over, under) else "-"


def copies_table(some):
    names = [name for name in ("direct", "static", "predicted", "dynamic", "best")
             if name in methods_of(some)]
    lines = [["case", "bytes", *names, "GB/s", "direct / dynamic", "predicted / dynamic"]]
    for c in some:
        window, ways = int(c.words()[-2][1:]) if c.links != "hard" else 1, 1 + ("both" in c.case)
        rate = (f"{window * ways * c.bytes / c.time['dynamic'] / 1e3:.1f}" if c.has("dynamic")
                else "-")
        lines.append([c.case, size(c.bytes), *(r.figure(c.time.get(name)) for name in names), rate,
                      cell(c, "direct", "dynamic"), cell(c, "predicted", "dynamic", ".3f")])
    return lines


def collectives_table(some):
    names = ["direct", "alone", "together", "bound"]
    return [["algorithm", "bytes", *names, "direct / together", "bound / together"],
            *([c.case, size(c.bytes), *(r.figure(c.time.get(name)) for name in names),
               cell(c, "direct", "together"), cell(c, "bound", "together")] for c in some)]


TABLES = {"copies": copies_table, "collectives": collectives_table}
UNITS = {"nodes": "how many, and ratios"}
SHOWN = [2, 8, 64, 256, 512]  # MiB, on the page


class Multipath(judged.Study):
    name, help = "multipath", "copies over several paths, on emulated links and those of a GPU"
    program, saved_whole = "bin/grove_bench_multipath", False
    figures = study.Figures("figures-multipath.txt", FIELDS, "machine rung node links line",
                            "bench/run --multipath", ints=["bytes"])
    measures = ["bench/multipath", "bench/links"]
    judges = (near_best, of_beluga, predictions, beside_static, of_nodes, of_cost, of_collectives,
              of_sm_links, of_host, of_plain)

    def prepare(self, options):
        super().prepare(options)
        self.seconds = SECONDS[options.quick]
        if options.check and options.save:
            sys.exit("bench: --check has nothing to save")
        if options.check:
            options.places = [EMULATED]
        self.gpus = gpu.gpus() if not options.places or GPU in options.places else []

    # ---- what is run ----

    def make(self, place):
        """Only what is needed."""
        folder = os.environ.get("BUILD", "build") if place == EMULATED else FOLDERS[place]
        if not self.options.no_build:
            study.say(f"bench: building grove_bench_multipath in {folder}")
            words = ["-DGROVE_TESTS=ON", *(["-DGROVE_CUDA=ON"] if place == GPU else [])]
            subprocess.run(["tools/build", folder, *words], cwd=ROOT, check=True, stdout=sys.stderr,
                           env=dict(os.environ, TARGET="grove_bench_multipath"))
        return os.path.join(ROOT, folder, self.program)

    def effort(self):
        words = []
        if self.options.check:
            words += ["--check", "--tries", "5"]
        if self.options.quick:
            words += ["--quick", "--samples", "9", "--tries", "60"]
        return words

    def runs_emulated(self):
        """Each alone: what fails does not take others with it."""
        if self.options.check:
            yield Run("emulated", EMULATED, "--study",
                      "sweep,hard,nodes,cost,collectives,mesh,host,plain,gpus")
            return
        for name in ("sweep", "hard", "nodes", "cost", "collectives"):
            yield Run(name, EMULATED, "--study", name)

    def runs_on_gpu(self):
        for blocks, lists in ((1, SM_LINKS), (2, list(SM_LINKS)[:2])):
            for paths in lists:
                yield Run("mesh", GPU, "--study", "mesh", "--blocks", str(blocks), "--paths",
                          paths.replace("+", ","))
        for name in ("host", "plain", "gpus"):
            yield Run(name, GPU, "--study", name)

    def environment(self, run):
        return {"CUDA_DEVICE_MAX_CONNECTIONS": "32"}

    def given(self, run):
        return {}

    def words(self, run):
        return [*self.effort(), *run.words]

    def parse(self, lines, run):
        """Without those whose bytes are wrong; a GPU has its name."""
        words = [line.split() for line in lines]
        wrong = [one[1:8] for one in words if one[:1] == ["wrong"]]
        right = [" ".join(one) for one in words if one[:1] == ["row"] and one[1:8] not in wrong]
        found = super().parse(right, run)
        name = "-".join(self.gpus[0][0].split()) if self.gpus else "gpu"
        for row in found:
            row["node"] = name if row["node"] == "gpu" else row["node"]
        return found

    def chosen_places(self):
        """Those that are asked for; else those that are here."""
        if not self.gpus:
            self.notes.append("links of a GPU: not run: there is none here")
        here = [EMULATED, *([GPU] if self.gpus else [])]
        return [place for place in here if place in (self.options.places or here)]

    def run_all(self):
        self.notes = [", ".join(self.made()), study.load_average("before")]
        self.notes += [f"{name}, driver {driver}" for name, driver in self.gpus]
        found, good = [], True
        for place in self.chosen_places():
            self.drivers = {"openmpi": self.make(place)}
            for run in self.runs_emulated() if place == EMULATED else self.runs_on_gpu():
                if self.options.case in ("", run.name):
                    rows, well = self.rows_in_time(run)
                    found += rows
                    good = good and well
        self.notes.append(study.load_average("after"))
        return found, good and bool(found)

    # ---- what is said ----

    def save(self, rows):
        """The conditions stay with the figures."""
        places = {" ".join(row[name] for name in ("machine", "rung")) for row in rows}
        self.figures.save(rows, self.made(),
                          [(place, text) for place in sorted(places) for text in self.notes])

    def cases_of(self, rows):
        names, found = FIELDS.split()[:7], {}
        for row in rows:
            key = tuple(row[name] for name in names)
            found.setdefault(key, Case(names, key)).add(row)
        return list(found.values())

    def titled(self, all_cases):
        for where, part in by(all_cases, Case.where):
            for line, some in by(part, lambda case: case.line):
                yield f"{where}: {line}, {UNITS.get(line, 'us')}", self.table(some)

    def table(self, some):
        return TABLES.get(some[0].line, gpu.time_table)(some)

    def on_page(self, case):
        if case.rung == EMULATED and case.line == "copies":
            return case.links == "ideal" and case.bytes // MIB in SHOWN
        return True

    def print_run(self, rows):
        if not self.options.check:
            super().print_run(rows)
            return
        print("\n".join([f"{len(rows)} rows on emulated links", *self.notes]))

    def page(self, rows):
        lines = super().page(rows)
        for name, what in PICTURES.items():
            if os.path.exists(os.path.join(study.PICTURES, f"{name}.svg")):
                lines.append(study.picture(name, what))
        return lines

    def publish(self):
        """Pictures first: the page shows those that there are."""
        rows = self.load()
        self.draw(rows)
        study.write_page(self.name, self.page(rows))

    def draw(self, rows):
        for _, found in self.by_machine(rows):
            for node in ("beluga", "narval"):
                for ways in ("one-way", "both-ways"):
                    draw_copies(f"multipath-{node}-{ways}", [
                        c for c in of_links(found, "ideal")
                        if c.node == node and c.words()[1:] == ["w1", ways]])
            draw_copies("multipath-sm-links", [
                c for c in found if c.line == "copies" and c.links == "1-block"
                and c.words()[1:] == ["w1", "one-way"]])
            draw_collectives([c for c in found if c.line == "collectives"
                              and c.has("direct", "together", "bound")])


# ---- pictures ----

PICTURES = {
    "multipath-beluga-one-way": "One copy on Beluga's links, by size (the paper's Fig. 5)",
    "multipath-beluga-both-ways": "A copy each way on Beluga's links, by size (Fig. 6)",
    "multipath-narval-one-way": "One copy on Narval's links, by size (Fig. 5)",
    "multipath-narval-both-ways": "A copy each way on Narval's links, by size (Fig. 6)",
    "multipath-sm-links": "One copy on links of an SM each, by size",
    "multipath-collectives": "Collectives of four devices, times as fast as directly (Fig. 7)",
}


def draw_copies(name, some):
    """GB/s by size: lines are what was done, points what was predicted and what a search found."""
    if not some:
        return
    ways = 1 + ("both" in some[0].case)
    lists = list(dict.fromkeys(c.words()[0] for c in some))
    curves = [(lists[-1], "direct", "with lines dt 2 lc 'black'")]
    for i, paths in enumerate(lists, 1):
        curves += [(paths, "dynamic", f"with lines lw 2 lc {i}"),
                   (paths, "predicted", f"with points pt 6 lc {i}"),
                   (paths, "static", f"with points pt 2 lc {i}")]
    data, plots = [], []
    for paths, method, style in curves:
        block = study.points((c.bytes, ways * c.bytes / c.time[method] / 1e3) for c in some
                             if c.words()[0] == paths and c.has(method))
        if block:
            title = method if method == "direct" else f"{method}, {paths}"
            plots.append(f"$d{len(data)} {style} title '{title}'")
            data.append(block)
    study.plot(name, "set logscale x 2\nset key left top\nset yrange [0:]\n"
               "set format x '%.0b%B'\n"
               f"set xlabel 'bytes, {some[0].where()}'\nset ylabel 'GB/s'\n"
               f"plot {', '.join(plots)}\n", data)


def draw_collectives(some):
    some = [c for c in some if c.bytes == max(c.bytes for c in some)]
    if not some:
        return
    label = lambda c: f'"{c.node}\\n{c.case}"'
    data = ["\n".join(f"{label(c)} {c.ratio('direct', method):g}" for c in some)
            for method in ("alone", "together", "bound")]
    study.plot("multipath-collectives", "set style data histograms\nset style fill solid 0.6\n"
               "set yrange [0:]\nset xtics rotate by -30 font ',9'\nset bmargin 8\n"
               f"set ylabel 'times as fast as by direct links, {size(some[0].bytes)} a device'\n"
               "plot $d0 using 2:xtic(1) title 'each decided alone', "
               "$d1 using 2 title 'decided together', $d2 using 2 title 'bound'\n", data)
