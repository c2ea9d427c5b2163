"""The base of all studies: files of figures, pages, pictures, and their use."""

import functools
import json
import math
import os
import shutil
import statistics
import subprocess
import sys

import origin
import rows as r

ROOT = origin.ROOT
BENCH = os.path.join(ROOT, "bench")
PICTURES = os.path.join(BENCH, "pictures")
RESULTS = os.path.join(BENCH, "results")
MATRICES = os.path.join(ROOT, "..", "shared", "data", "matrices")
MESHES = os.path.join(ROOT, "..", "shared", "data", "meshes")
SKIPPED = 77  # tools/cluster: this machine cannot do it
BELOW = "<!-- generated from here on -->\n"
BUILD_OPTIONS = ["-DGROVE_BENCH=ON", "-DGROVE_TESTS=OFF", "-DGROVE_TOOLS=ON"]


class Failed(Exception):
    """Something did not run; the text says why."""


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def load_average(when):
    return f"load {when}: {os.getloadavg()[0]:.2f}"


# ---- figures ----

def word(value):
    """Six digits of a time, all of a count."""
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else f"{value:g}"
    return str(value)


class Figures:
    """A file of rows. `run`: the columns that name a run, at the beginning of each row. `key`: rows
    that agree in these columns replace each other. `notes` also belong to a run."""

    def __init__(self, file, fields, run, written_by, key=None, ints=(), order=None):
        self.path, self.fields = os.path.join(BENCH, file), fields.split()
        self.run, self.key = run.split(), (key or run).split()
        self.ints, self.order = ints, order
        self.head = (f"# The committed figures: bench/METRICS.md defines the columns, {written_by}"
                     " --save writes them.\n")

    def row(self, words, first=0, **about):
        """A row from words for the columns after the `first` ones."""
        row = dict(zip(self.fields[first:], map(r.number, words)), **about)
        row.update({name: int(row[name]) for name in self.ints})
        return row

    def load(self):
        return list(map(self.row, origin.rows(self.path)))

    def notes(self):
        """Pairs of a run, or of a machine alone, and a text."""
        return origin.notes(self.path)

    def save(self, new, made, notes=()):
        names = lambda row, columns: " ".join(word(row[name]) for name in columns)
        replaced = {names(row, self.key) for row in new}
        kept = [row for row in self.load() if names(row, self.key) not in replaced]
        runs = {names(row, self.run) for row in new}
        marks = origin.marks(self.path, runs, {names(row, self.run) for row in kept}, made)
        again = runs | {run for run, _ in notes}
        notes = [note for note in self.notes() if note[0] not in again] + list(notes)
        rows = sorted(kept + new, key=self.order) if self.order else kept + new
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(self.head + marks + "".join(map(origin.note, notes)))
            file.write(f"# {' '.join(self.fields)}\n")
            file.writelines(names(row, self.fields) + "\n" for row in rows)


# ---- what rows say ----

def by(some, key):
    """Groups of rows with the same key, in the order of their first rows."""
    for name in dict.fromkeys(map(key, some)):
        yield name, [one for one in some if key(one) == name]


def by_machine(rows):
    return by(rows, lambda row: row["machine"])


def geometric_mean(values):
    values = list(values)
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


# ---- pages and pictures ----

def page_path(name):
    return os.path.join(RESULTS, f"{name}.md")


def write_page(name, lines):
    """The text above the mark is written by hand, and stays."""
    head = f"# {name}\n\n"
    if os.path.exists(page_path(name)):
        with open(page_path(name), encoding="utf-8") as file:
            head = file.read().partition(BELOW)[0]
    os.makedirs(RESULTS, exist_ok=True)
    with open(page_path(name), "w", encoding="utf-8") as file:
        file.write(head + BELOW + "\n" + "\n".join(lines).strip("\n") + "\n")


def picture(name, what):
    return f"![{what}](../pictures/{name}.svg)"


@functools.lru_cache(None)
def has_gnuplot():
    found = shutil.which("gnuplot")
    if not found:
        say("bench: no gnuplot: no pictures")
    return found


def plot(name, text, data):
    """Draws bench/pictures/NAME.svg. gnuplot leaves blanks at the ends of lines; they go."""
    if not has_gnuplot():
        return
    path = os.path.join(PICTURES, f"{name}.svg")
    script = f"set terminal svg size 900,600 background 'white'\nset grid\nset output '{path}'\n"
    blocks = "".join(f"$d{i} << EOD\n{block}\nEOD\n" for i, block in enumerate(data))
    os.makedirs(PICTURES, exist_ok=True)
    subprocess.run(["gnuplot"], input=blocks + script + text, text=True, check=True)
    without_blanks(path)


def without_blanks(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip() for line in file]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def points(pairs):
    return "\n".join(f"{x:g} {y:g}" for x, y in pairs if not math.isnan(x + y))


# ---- studies ----

class Study:
    """One study of bench/run. Subclasses override at least run_all, print_all and page."""

    name, help = "", ""  # with help it has an option --NAME
    figures = None  # a Figures, where there is a file
    mpi, ranks, places, shapes = "openmpi", "", [], "4x4,2x1"  # by default
    program = "bin/grove_bench"
    measures = ()  # folders of bench that its figures depend on, besides origin.MEASURED
    with_cores = False  # --cores may be combined with its option
    saved_whole = False  # --case and --quick must not be saved: they would replace all figures

    def __init__(self):
        self.options, self.command = None, "bench/run"
        self.notes = []

    def prepare(self, options):
        """Fills in what the user left open."""
        self.options = options
        options.mpi = options.mpi or self.mpi
        options.ranks = options.ranks or self.ranks
        options.places = options.places.split(",") if options.places else self.places
        options.shapes = options.shapes or self.shapes

    def made(self):
        """Date, commit and command of this run."""
        return origin.here(" ".join([self.command, *sys.argv[1:]]))

    def build(self, mpi="openmpi"):
        """Returns the program, or None where there is none: no such MPI, or no PETSc."""
        directory = f"build-bench-{mpi}"
        if shutil.which(f"mpicc.{mpi}") is None and "MPICC" not in os.environ:
            return None
        if not self.options.no_build:
            say(f"bench: building {directory}")
            subprocess.run(["tools/build", directory, *BUILD_OPTIONS], cwd=ROOT, check=True,
                           stdout=sys.stderr, env=dict(os.environ, MPI=mpi))
        program = os.path.join(ROOT, directory, self.program)
        return program if os.path.exists(program) else None

    def build_here(self):
        """With Open MPI, which this study requires."""
        program = self.build()
        if program is None:
            sys.exit(f"bench: --{self.name} needs Open MPI")
        return program

    def run_all(self):
        """All rows, and whether all runs succeeded; self.notes gets the conditions."""
        raise NotImplementedError

    def load(self):
        return self.figures.load() if self.figures else []

    def save(self, rows):
        self.figures.save(rows, self.made())

    def publish(self):
        """The page and the pictures, from all figures."""
        rows = self.load()
        write_page(self.name, self.page(rows))
        self.draw(rows)

    def page(self, rows):
        """The lines of results/NAME.md."""
        raise NotImplementedError

    def draw(self, rows):
        """The pictures, if there are any."""

    def print_all(self, rows):
        raise NotImplementedError

    def print_figures(self, rows):
        self.print_all(rows)

    def print_run(self, rows):
        self.print_all(rows)
        print(f"\n== conditions\n{r.machine()}\n" + "\n".join(self.notes))

    def document(self, rows):
        """Output of --json besides machine and conditions."""
        return {"rows": rows}

    def show(self):
        """--figures: nothing is run. Returns the exit status."""
        rows = self.load()
        if not rows:
            say(f"bench: there are no figures of {self.name}")
            return 1
        self.print_figures(rows)
        if self.options.save:
            self.publish()
        return 0

    def main(self):
        """Returns the exit status."""
        if self.options.figures:
            return self.show()
        found, good = self.run_all()
        if self.options.json:
            print(json.dumps({"machine": r.machine(), "conditions": self.notes,
                              **self.document(found)}, indent=1))
        else:
            self.print_run(found)
        if self.options.save and found:
            self.save(found)
            self.publish()
        return 0 if good else 1

    def age(self):
        """Lines on the age of the figures, and whether all are up to date."""
        if not self.figures:
            lines, good = origin.of_page(page_path(self.name), BELOW, origin.MEASURED)
            return [f"bench/results/{self.name}.md", *lines], good
        if not os.path.exists(self.figures.path):
            return [], True
        grid = f"bench/{self.cases()}.txt"
        cases = list(r.grid(os.path.join(ROOT, grid)))
        paths = [*origin.MEASURED, *([grid] if cases else []), *self.measures]
        lines, good = origin.of_file(self.figures.path, cases, paths)
        return [f"bench/{os.path.basename(self.figures.path)}", *lines], good

    def cases(self):
        """The name of the file of its cases, if it has one."""
        return self.name
