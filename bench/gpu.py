"""Device memory: bench/gpu on a GPU, beside MPI by hand, and its results against the targets.

A run is a number of ranks that do some of the studies, with or without CUDA's multi-process service
(MPS); a case is a line, a name and a size; a row is a method of a case. All that is printed is
computed from rows, so that the committed figures give the same again. With --check everything runs
on the emulated device, small: values are verified, times mean nothing, and nothing is saved.
"""

import contextlib
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile

import judged
import routes
import rows as r
import study
from judged import Case, methods_of, spread, verdict
from study import ROOT, by, geometric_mean, say

# Times in microseconds; of `bits` and `instructions` counts. `traffic`: bytes that the device's
# memory moves, if every sector is moved once; 0: not counted.
FIELDS = "machine mpi gpu setting line case bytes method traffic median low high"
NONE = "-"  # of runs that need no GPU
EMULATED = "emulated"
MPS, ALONE = "mps", "no-mps"
STENCILS = ["27pt:16", "27pt:32"]  # where no matrix is at hand
FOLDER, WITHOUT = "build-gpu", "build-gpu-without"  # the first is that of tools/gpu-test
SECONDS = {True: 60, False: 300}  # for one run, quick or not

# The least DRAM rate over that of a copy; none: shown, not judged.
KERNELS = {"contiguous": 0.95, "rows-128": 0.9, "rows-8": 0.7, "rows-8-close": None, "sorted": 0.8,
           "random": 0.7}
PAIR = 0.9  # of the slower copy, from this size on:
PAIR_BYTES = 64 << 20
MATRICES = 1.5  # times as fast as by hand


class Run(judged.Run):
    """`name`: what --case may call it. `words`: the driver's."""

    def __init__(self, name, ranks, gpu, setting, *words, **environment):
        super().__init__(mpi="openmpi", gpu=gpu, setting=setting)
        self.name, self.ranks = name, ranks
        self.words, self.environment = list(words), environment

    def title(self):
        return f"{self.name}, {self.ranks} ranks, {self.gpu}, {self.setting}"

    def keeps(self):
        return f"gpu-{self.ranks}"

    def launcher(self):
        return ["tools/launch", str(self.ranks)]


# ---- the machine ----

def gpus():
    """The names and driver versions of the GPUs here."""
    smi = shutil.which("nvidia-smi")
    if not smi:
        return []
    done = subprocess.run([smi, "--query-gpu=name,driver_version", "--format=csv,noheader"],
                          capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines() if done.returncode == 0 else []
    return [tuple(word.strip() for word in line.split(",")) for line in lines if "," in line]


@contextlib.contextmanager
def own_mps():
    """A server in a folder of its own: its variables, or None where there is none."""
    control = shutil.which("nvidia-cuda-mps-control")
    if not control:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        variables = {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
        environment = dict(os.environ, **variables)
        up = subprocess.run([control, "-d"], env=environment, check=False,
                            stdin=subprocess.DEVNULL, stdout=sys.stderr).returncode == 0
        try:
            yield variables if up else None
        finally:
            if up:
                subprocess.run([control], input="quit\n", text=True, env=environment, check=False,
                               timeout=60, stdout=subprocess.DEVNULL)


# ---- what the rows say ----

def rate(case, method):
    """GB/s of DRAM traffic."""
    return case.traffic[method] / case.time[method] / 1e3


def useful(case, method):
    """GB/s of the message."""
    return case.bytes / case.time[method] / 1e3


def of_copy(case, method="grove"):
    """The DRAM rate over that of a copy in the same rounds."""
    return rate(case, method) / rate(case, "copy")


def against_copy(all_cases):
    lines = []
    for case in all_cases:
        if case.line in ("pack", "unpack") and case.has("grove", "copy"):
            target, found = KERNELS[case.case], of_copy(case)
            lines.append(verdict(f"{case.line}, {case.case}, {size(case.bytes)}: DRAM rate / copy",
                                 case.where(), "-" if target is None else f">= {target}",
                                 f"{found:.2f}", None if target is None else found >= target))
    return lines


def against_copies(all_cases):
    """The ping-pong at its largest size: overlapped, it takes as long as the slower copy."""
    limits = {(c.where(), c.bytes): max(c.time.values()) for c in all_cases
              if c.line == "copies" and c.has("d2h", "h2d")}
    lines = []
    for case in all_cases:
        limit = limits.get((case.where(), case.bytes))
        if case.line == "pair" and case.bytes >= PAIR_BYTES and case.has("grove") and limit:
            found = limit / case.time["grove"]
            lines.append(verdict(f"ping-pong, {case.case}, {size(case.bytes)}: rate / slower copy",
                                 case.where(), f">= {PAIR}", f"{found:.2f}", found >= PAIR))
    return lines


def against_hand(all_cases):
    lines = []
    some = [c for c in all_cases if c.line == "matrix" and c.has("hand")]
    for method in ("grove", "grove:route=3-step", "grove:route=standard"):
        for where, part in by([c for c in some if c.has(method)], Case.where):
            ratios = [case.ratio("hand", method) for case in part]
            mean, judge = geometric_mean(ratios), method != "grove:route=standard"
            lines.append(verdict(f"by hand / {method}, {len(part)} matrices: mean", where,
                                 f">= {MATRICES}" if judge else "-",
                                 f"{mean:.2f} ({spread(ratios)})",
                                 mean >= MATRICES if judge else None))
    return lines


def of_host(all_cases):
    """What is left of an exchange without a device bounds the gain: both ways pay for the device
    what the better of them pays."""
    host = {(c.where(), c.case): c for c in all_cases
            if c.line == "matrix-host" and c.has("grove", "hand")}
    both = [(c, host[c.where(), c.case]) for c in all_cases
            if c.line == "matrix" and c.has("grove", "hand") and (c.where(), c.case) in host]
    lines = []
    for where, part in by(both, lambda pair: pair[0].where()):
        without = [h.ratio("hand", "grove") for _, h in part]
        bounds = []
        for c, h in part:
            device = min(c.time[m] - h.time[m] for m in ("grove", "hand"))
            bounds.append((h.time["hand"] + device) / (h.time["grove"] + device))
        for title, ratios in (("on the host", without), ("with the cheaper device part", bounds)):
            lines.append(verdict(f"by hand / grove, {len(part)} matrices {title}: mean", where, "-",
                                 f"{geometric_mean(ratios):.2f} ({spread(ratios)})", None))
    return lines


def of_bits(all_cases):
    return [verdict("reduce, bits as on the host: types and operations", case.where(), "all",
                    f"{case.time['equal']:.0f} of {case.time['compared']:.0f}",
                    case.time["equal"] == case.time["compared"])
            for case in all_cases if case.line == "bits" and case.has("compared", "equal")]


def of_launches(all_cases):
    """How much of what the host would wait for is hidden, if the stream waits instead."""
    return [verdict("kernels behind an exchange: grove_wait_on_stream / grove_wait", case.where(),
                    "-", f"{case.ratio('wait-on-stream', 'wait'):.2f}", None)
            for case in all_cases if case.line == "launches" and case.has("wait-on-stream", "wait")]


def of_begun(all_cases):
    some = [c for c in all_cases if c.line == "begun" and c.has("grove")]
    return [verdict(f"an exchange, {part[-1].case[1:]} begun at once / {part[0].case[1:]}", where,
                    "-", f"{part[-1].time['grove'] / part[0].time['grove']:.2f}", None)
            for where, part in by(some, Case.where)]


def of_instructions(all_cases):
    return [verdict(f"instructions of a host program, {case.case}: with CUDA, without",
                    case.machine, "equal", f"{case.time['cuda']:.1f}, {case.time['without']:.1f}",
                    case.time["cuda"] <= case.time["without"])
            for case in all_cases if case.line == "instructions" and case.has("cuda", "without")]


def size(number):
    for unit, name in ((1 << 20, "Mi"), (1 << 10, "Ki")):
        if number >= unit and number % unit == 0:
            return f"{number // unit}{name}"
    return str(number)


# ---- tables of a line; a run that was ended in the middle lacks some methods ----

def cell(case, *methods, of, form=".2f"):
    return f"{of(case):{form}}" if case.has(*methods) else "-"


def rate_table(some):
    """Of kernels: what is useful, what the memory does, and beside it a copy and a list by hand."""
    lines = [["case", "bytes", "us", "useful GB/s", "DRAM GB/s", "of a copy", "by hand, of a copy"]]
    for c in some:
        lines.append([c.case, size(c.bytes), r.figure(c.time.get("grove")),
                      cell(c, "grove", of=lambda c: useful(c, "grove"), form=".1f"),
                      cell(c, "grove", of=lambda c: rate(c, "grove"), form=".0f"),
                      cell(c, "grove", "copy", of=of_copy, form=".3f"),
                      cell(c, "hand", "copy", of=lambda c: of_copy(c, "hand"), form=".3f")])
    return lines


def time_table(some):
    names = methods_of(some)
    return [["case", "bytes", *names],
            *([c.case, size(c.bytes), *(r.figure(c.time.get(name)) for name in names)]
              for c in some)]


def pair_table(some):
    """Times, rates, and both together."""
    head, *lines = time_table(some)
    return [head + ["grove GB/s", "by hand / grove"],
            *(line + [cell(c, "grove", of=lambda c: useful(c, "grove"), form=".3g"),
                      cell(c, "hand", "grove", of=lambda c: c.ratio("hand", "grove"))]
              for line, c in zip(lines, some))]


TABLES = {"pack": rate_table, "unpack": rate_table, "pair": pair_table}
UNITS = {"bits": "how many", "instructions": "how many"}


class Gpu(judged.Study):
    name, help = "gpu", "arrays in the memory of a GPU, beside MPI by hand"
    program, saved_whole = "bin/grove_bench_gpu", False
    figures = study.Figures("figures-gpu.txt", FIELDS, "machine mpi gpu setting line",
                            "bench/run --gpu", ints=["bytes", "traffic"])
    measures = ["bench/gpu"]
    judges = (against_copy, against_copies, against_hand, of_host, of_bits, of_launches, of_begun,
              of_instructions)

    def prepare(self, options):
        super().prepare(options)
        self.seconds = SECONDS[options.quick]
        if options.check and options.save:
            sys.exit("bench: --check has nothing to save")

    def parse(self, lines, run):
        """Without those whose values are wrong."""
        words = [line.split() for line in lines]
        wrong = [one[1:5] for one in words if one[:1] == ["wrong"]]
        right = [" ".join(one) for one in words if one[:1] == ["row"] and one[1:5] not in wrong]
        return super().parse(right, run)

    # ---- what is run ----

    def build(self, mpi="openmpi"):
        folder = os.environ.get("BUILD", "build") if self.options.check else FOLDER
        if not self.options.no_build:
            self.make(folder, "bench_gpu", *([] if self.options.check else ["-DGROVE_CUDA=ON"]))
        return os.path.join(ROOT, folder, self.program)

    def make(self, folder, target, *words):
        say(f"bench: building {target} in {folder}")
        subprocess.run(["tools/build", folder, "-DGROVE_TESTS=ON", *words], cwd=ROOT, check=True,
                       stdout=sys.stderr, env=dict(os.environ, TARGET=target))

    def effort(self):
        if self.options.check:
            return ["--driver", EMULATED, "--most", "8192", "--samples", "2", "--repeats", "2",
                    "--seconds", "0.01"]
        less = ["--samples", "15", "--seconds", "0.2"]
        return ["--driver", "cuda", "--pin", *(less if self.options.quick else [])]

    def matrices(self):
        """Paths of those at hand, unpacked once: the machine may have no zlib, and has 16 ranks."""
        found = [r.at_hand(self.options.matrices, name, "mtx") for name in routes.NAMES]
        folder = os.path.join(ROOT, FOLDER, "matrices")
        paths = []
        for name, packed in found:
            if os.path.exists(packed):
                os.makedirs(folder, exist_ok=True)
                paths.append(os.path.join(folder, f"{name}.mtx"))
                if not os.path.exists(paths[-1]):
                    with gzip.open(packed) as source, open(paths[-1], "wb") as target:
                        shutil.copyfileobj(source, target)
        if not paths:
            self.notes.append("matrices: none are at hand (--matrices): boxes of 27 points")
        return paths or STENCILS

    def halo(self, gpu, setting):
        """16 ranks as 4 x 4 that talk over TCP; four of the emulated device."""
        words = ["--study", "matrices", "--matrices"]
        if self.options.check:
            return Run("matrices", 4, gpu, setting, *words, "27pt:3", GROVE_NODE_SIZE="2")
        return Run("matrices", 16, gpu, setting, *words, ",".join(self.matrices()), **routes.TCP)

    def runs_alone(self, gpu):
        """Without MPS."""
        yield Run("kernels", 1, gpu, ALONE, "--study", "kernels,reduce")
        if not self.options.quick:
            yield Run("kernels", 1, gpu, ALONE, "--study", "kernels", "--most", str(256 << 20))
        yield Run("pair", 2, gpu, ALONE, "--study", "pair")

    def runs_shared(self, gpu, setting):
        yield Run("pair", 2, gpu, setting, "--study", "pair,begun")
        yield Run("launches", 2, gpu, setting, "--study", "launches")
        yield self.halo(gpu, setting)

    def runs_checked(self):
        """As few starts as can be."""
        yield Run("kernels", 1, EMULATED, ALONE, "--study", "kernels,reduce")
        yield Run("pair", 2, EMULATED, ALONE, "--study", "pair,begun,launches")
        yield self.halo(EMULATED, ALONE)

    def environment(self, run):
        device = EMULATED if run.gpu == EMULATED else "cuda"
        shared = {} if run.setting == MPS else {"CUDA_DEVICE_MAX_CONNECTIONS": "32"}
        return {"GROVE_DEVICE": device, **shared, **run.environment}

    def words(self, run):
        return [*self.effort(), *run.words]

    def given(self, run):
        """A profile for the choice of a route, where there is time for that."""
        if run.name != "matrices" or self.options.quick or self.options.check:
            return {}
        try:
            return self.profile(run)
        except subprocess.TimeoutExpired:
            self.notes.append(f"{run.title()}: no profile after {self.seconds} seconds")
            return {}

    def is_chosen(self, name):
        return self.options.case in ("", name)

    def rows_of_runs(self, runs):
        found, good = [], True
        for run in runs:
            if self.is_chosen(run.name):
                rows, well = self.rows_in_time(run)
                found += rows
                good = good and well
        return found, good

    def rows_on_gpu(self, names):
        gpu = "-".join(names[0][0].split())
        self.notes.append(f"{len(names)} x {names[0][0]}, driver {names[0][1]}")
        found, good = self.rows_of_runs(self.runs_alone(gpu))
        with own_mps() as variables:
            self.notes.append("MPS: a server of its own" if variables else "MPS: none")
            os.environ.update(variables or {})
            more, well = self.rows_of_runs(self.runs_shared(gpu, MPS if variables else ALONE))
            for name in variables or {}:
                del os.environ[name]
        return found + more, good and well

    def run_all(self):
        self.notes = [", ".join(self.made()), study.load_average("before")]
        if self.options.case == "instructions":
            found = self.rows_of_instructions()
            return found, bool(found)
        names = gpus()
        if not names and not self.options.check:
            sys.exit("bench: --gpu: there is no GPU here; --check takes the emulated device")
        self.drivers = {"openmpi": self.build()}
        if self.options.check:
            found, good = self.rows_of_runs(self.runs_checked())
        else:
            found, good = self.rows_on_gpu(names)
        self.notes.append(study.load_average("after"))
        if not self.options.quick and not self.options.check and self.is_chosen("instructions"):
            found += self.rows_of_instructions()
        return found, good and bool(found)

    # ---- a program without a GPU ----

    def count(self, folder, cuda):
        """Instructions of bench/instructions by case, in a build of this kind."""
        self.make(folder, "grove_bench_instructions", f"-DGROVE_CUDA={cuda}")
        program = os.path.join(folder, "bin", "grove_bench_instructions")
        done = subprocess.run(["bench/instructions", "--test", program], cwd=ROOT, check=False,
                              stdout=subprocess.PIPE, text=True)
        return {name: float(value) for name, value in
                re.findall(r"^row instructions-(\w+) grove value - (\S+)", done.stdout, re.M)}

    def rows_of_instructions(self):
        if not shutil.which("valgrind"):
            self.notes.append("instructions: not counted: there is no valgrind")
            return []
        run = Run("instructions", 2, NONE, NONE)
        rows = []
        for method, folder, cuda in (("cuda", FOLDER, "ON"), ("without", WITHOUT, "OFF")):
            for name, value in self.count(folder, cuda).items():
                words = ["row", "instructions", name, "8", method, "0", *[str(value)] * 3]
                rows += self.parse([" ".join(words)], run)
        return rows

    # ---- what is said ----

    def save(self, rows):
        """The conditions stay with the figures."""
        places = {" ".join(row[name] for name in ("machine", "mpi", "gpu")) for row in rows}
        self.figures.save(rows, self.made(),
                          [(place, text) for place in sorted(places) for text in self.notes])

    def print_run(self, rows):
        if not self.options.check:
            super().print_run(rows)
            return
        print("\n".join([f"{len(rows)} rows on the emulated device, whose times mean nothing",
                         *self.notes]))

    def targets(self, all_cases):
        return super().targets([c for c in all_cases if c.gpu != EMULATED or c.line == "bits"])

    def unit(self, line):
        return UNITS.get(line, "us")

    def table(self, some):
        return TABLES.get(some[0].line, time_table)(some)

    def page(self, rows):
        lines = super().page(rows)
        if any(row["line"] == "pack" for row in rows):
            lines += [study.picture("gpu-kernels", "DRAM rate of kernels over that of a copy")]
        if any(row["line"] == "pair" for row in rows):
            lines += [study.picture("gpu-pair", "Ping-pong between two ranks, by size")]
        if any(row["line"] == "begun" for row in rows):
            lines += [study.picture("gpu-begun", "Time of an exchange, by how many are begun")]
        return lines

    def draw(self, rows):
        for _, found in self.by_machine(rows):
            draw_kernels([c for c in found if c.line in ("pack", "unpack")
                          and c.has("grove", "copy")])
            draw_pair([c for c in found if c.line in ("pair", "copies")])
            draw_begun([c for c in found if c.line == "begun"])


# ---- pictures ----

def draw_kernels(some):
    """Of the smallest size."""
    some = [c for c in some if c.bytes == min(c.bytes for c in some)]
    names = [name for name in KERNELS if any(c.case == name for c in some)]
    if not names:
        return
    found = {(c.case, c.line): of_copy(c) for c in some}
    data = ["\n".join(f'"{name}" {found.get((name, line), 0):g}' for name in names)
            for line in ("pack", "unpack")]
    data.append("\n".join(f"{i} {KERNELS[name]}" for i, name in enumerate(names)
                          if KERNELS[name]))
    study.plot("gpu-kernels", "set style data histograms\nset style fill solid 0.6\n"
               "set yrange [0:1.2]\nset key left top\n"
               "set ylabel 'DRAM rate over that of a copy'\n"
               "plot $d0 using 2:xtic(1) title 'pack', $d1 using 2 title 'unpack', "
               "$d2 using 1:2 with points pt 7 lc 'black' title 'target'\n", data)


def draw_pair(some):
    where = [c.where() for c in some if c.line == "pair"][-1:]
    some = [c for c in some if c.where() in where]
    limit = [c for c in some if c.line == "copies"]
    curves = [(method, name) for method in ("grove", "hand") for name in ("contiguous", "list")]
    data = [study.points((c.bytes, useful(c, method)) for c in some
                         if c.line == "pair" and c.case == name and c.has(method))
            for method, name in curves]
    if not any(data):
        return
    plots = [f"$d{i} with linespoints pt {i + 1} title '{method}, {name}'"
             for i, (method, name) in enumerate(curves)]
    if limit:
        slower = limit[-1].bytes / max(limit[-1].time.values()) / 1e3
        plots.append(f"{slower:g} dt 2 lc 'black' title 'the slower copy'")
    study.plot("gpu-pair", "set logscale xy 2\nset key right bottom\nset format x '%.0b%B'\n"
               f"set xlabel 'bytes, {where[0]}'\nset ylabel 'GB/s'\nplot {', '.join(plots)}\n",
               data)


def draw_begun(some):
    methods = methods_of(some)
    data = [study.points((float(c.case[1:]), c.time[name]) for c in some if name in c.time)
            for name in methods]
    if not any(data):
        return
    plots = [f"$d{i} with linespoints pt {i + 1} title '{name}'" for i, name in enumerate(methods)]
    study.plot("gpu-begun", "set logscale x 2\nset yrange [0:]\n"
               "set xlabel 'exchanges of 4 KiB begun before one is waited for'\n"
               f"set ylabel 'microseconds of one'\nplot {', '.join(plots)}\n", data)
