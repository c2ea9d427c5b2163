"""A mesh that is migrated: examples/mesh on numbers of ranks, from three ways in which it lies before.

A row is a mesh, a start and a number of ranks, measured some times, each time in a job of its own.
All that is printed and drawn is computed from rows.
"""

import itertools
import json
import os
import shutil
import statistics
import subprocess

import origin
import routes
import rows as r

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIGURES = os.path.join(ROOT, "bench", "figures-mesh.txt")

STARTS = ["sequential", "chunked", "random"]
PLATES = "plates3d"
CUBE = ("cube", "32")  # 196608 cells, about as many as the plates have
RUNS, SECONDS = 7, 300  # of each row; for one of them

# Times in milliseconds; `share`: of all ranks' time, spent in Grove.
FIELDS = ("machine mesh start ranks cells vertices partitioner cut ghosts median low high share"
          " verified").split()
KEY = "machine mesh start ranks".split()


def run_once(program, words, ranks):
    """The document of one job."""
    done = subprocess.run(["tools/launch", str(ranks), program, *words, "--json"], cwd=ROOT,
                          env=dict(os.environ, MPI="openmpi"), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=SECONDS)
    if not done.stdout.startswith("{"):
        raise routes.Failed(done.stderr.strip().splitlines()[0] if done.stderr.strip()
                            else f"exit status {done.returncode}")
    return json.loads(done.stdout)


def row_of(name, documents):
    """What some jobs on the same mesh say together."""
    times = [1e3 * d["migration_seconds"] for d in documents]
    first = documents[0]
    return dict({field: first[field] for field in
                 ("start", "ranks", "cells", "vertices", "partitioner", "cut", "ghosts")},
                machine=r.machine(), mesh=name, median=statistics.median(times), low=min(times),
                high=max(times), share=statistics.median(d["grove_share"] for d in documents),
                verified="right" if all(d["verified"] for d in documents) else "WRONG")


def meshes(folder):
    """Names, and the words for the program."""
    return [r.at_hand(folder, PLATES, "msh"), CUBE]


def run_all(program, options):
    """All rows, sentences of what did not run, and whether all went well."""
    found, notes = [], [f"load before: {os.getloadavg()[0]:.2f}"]
    good = True
    ranks = [int(word) for word in options.ranks.split(",")]
    chosen = [mesh for mesh in meshes(options.meshes) if options.case in ("", mesh[0])]
    for (name, word), start, n in itertools.product(chosen, STARTS, ranks):
        routes.say(f"bench: {name}, {start}, {n} ranks")
        try:
            documents = [run_once(program, [word, start], n)
                         for _ in range(1 if options.quick else RUNS)]
            found.append(row_of(name, documents))
        except (routes.Failed, subprocess.TimeoutExpired) as failure:
            notes.append(f"{name}, {start}, {n} ranks: not run: {failure}")
            good = False
    notes += [f"WRONG values: {row['mesh']} {row['start']} {row['ranks']}" for row in found
              if row["verified"] != "right"]
    good = good and found and all(row["verified"] == "right" for row in found)
    return found, notes + [f"load after: {os.getloadavg()[0]:.2f}"], good


# ---- figures ----

def key(row):
    return tuple(f"{row[name]:g}" if name == "ranks" else row[name] for name in KEY)


def load():
    if not os.path.exists(FIGURES):
        return []
    with open(FIGURES, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return [dict(zip(FIELDS, map(r.number, words))) for words in lines]


def save(rows, made):
    """Replaces what the file has of the same machine, mesh, start and number of ranks."""
    new = {key(row) for row in rows}
    kept = [row for row in load() if key(row) not in new]
    run_of = lambda row: f"{row['machine']} {row['mesh']}"
    marks = origin.marks(FIGURES, map(run_of, rows), map(run_of, kept), made)
    with open(FIGURES, "w", encoding="utf-8") as file:
        file.write("# The committed figures: bench/METRICS.md defines the columns, bench/run"
                   f" --mesh --save writes them.\n{marks}# {' '.join(FIELDS)}\n")
        for row in kept + rows:
            file.write(" ".join(routes.word(row[name]) for name in FIELDS) + "\n")


def table(rows):
    lines = [["mesh", "start", "ranks", "cut", "ghosts", "ms", "least - most", "in Grove", ""]]
    for row in rows:
        lines.append([row["mesh"], row["start"], f"{row['ranks']:g}", f"{row['cut']:g}",
                      f"{row['ghosts']:g}", r.figure(row["median"]),
                      f"{r.figure(row['low'])} - {r.figure(row['high'])}",
                      f"{100 * row['share']:.0f} %", row["verified"]])
    return r.columns(lines)


def by_machine(rows):
    for machine in dict.fromkeys(row["machine"] for row in rows):
        yield machine, [row for row in rows if row["machine"] == machine]


def print_all(rows):
    for machine, part in by_machine(rows):
        print(f"\n== {machine}\n{table(part)}")


def draw(rows):
    """Time against ranks on the machine that was measured last, a line a mesh and a start."""
    if not shutil.which("gnuplot"):
        routes.say("bench: no gnuplot: no pictures")
        return
    machine, part = list(by_machine(rows))[-1]
    lines = dict.fromkeys((row["mesh"], row["start"]) for row in part)
    data = ["\n".join(f"{row['ranks']:g} {row['median']:g} {row['low']:g} {row['high']:g}"
                      for row in sorted(part, key=lambda row: row["ranks"])
                      if (row["mesh"], row["start"]) == line) for line in lines]
    plots = [f"$d{i} with yerrorlines pt {i + 1} title '{' '.join(line)}'"
             for i, line in enumerate(lines)]
    routes.plot("mesh", "set logscale xy 2\nset key outside\nset offsets graph 0.02, graph 0.02\n"
                "set xlabel 'ranks'\n"
                f"set ylabel 'migration, milliseconds, {machine}'\nplot {', '.join(plots)}\n", data)


def study(program, options, made):
    """bench/run --mesh; returns its exit status."""
    if options.figures:
        print_all(load())
        if options.save and load():
            draw(load())
        return 0
    found, notes, good = run_all(program, options)
    if options.json:
        print(json.dumps({"machine": r.machine(), "conditions": notes, "rows": found}, indent=1))
    else:
        print_all(found)
        print(f"\n== conditions\n{r.machine()}\n" + "\n".join(notes))
    if options.save and found:
        save(found, made)
        draw(found)
    return 0 if good else 1
