"""The migration of a mesh: examples/mesh on numbers of ranks, from three starts.

A row is a mesh, a start and a number of ranks, measured some times, each time in a job of its own.
All that is printed and drawn is computed from rows.
"""

import itertools
import json
import os
import statistics
import subprocess

import rows as r
import study
from study import ROOT, Failed, by_machine, say

STARTS = ["sequential", "chunked", "random"]
PLATES = "plates3d"
CUBE = ("cube", "32")  # 196608 cells, about as many as the plates have
RUNS, SECONDS = 7, 300  # runs per row; seconds per run

# Times in milliseconds; `share`: of all ranks' time, spent in Grove.
FIELDS = ("machine mesh start ranks cells vertices partitioner cut ghosts median low high share"
          " verified")


def run_once(program, words, ranks):
    """The JSON document of one job."""
    done = subprocess.run(["tools/launch", str(ranks), program, *words, "--json"], cwd=ROOT,
                          env=dict(os.environ, MPI="openmpi"), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=SECONDS)
    if not done.stdout.startswith("{"):
        raise Failed(done.stderr.strip().splitlines()[0] if done.stderr.strip()
                     else f"exit status {done.returncode}")
    return json.loads(done.stdout)


def row_of(name, documents):
    """Combines several jobs on the same mesh."""
    times = [1e3 * d["migration_seconds"] for d in documents]
    first = documents[0]
    return dict({field: first[field] for field in
                 ("start", "ranks", "cells", "vertices", "partitioner", "cut", "ghosts")},
                machine=r.machine(), mesh=name, median=statistics.median(times), low=min(times),
                high=max(times), share=statistics.median(d["grove_share"] for d in documents),
                verified="right" if all(d["verified"] for d in documents) else "WRONG")


def table(rows):
    lines = [["mesh", "start", "ranks", "cut", "ghosts", "ms", "least - most", "in Grove", ""]]
    for row in rows:
        lines.append([row["mesh"], row["start"], f"{row['ranks']:g}", f"{row['cut']:g}",
                      f"{row['ghosts']:g}", r.figure(row["median"]),
                      f"{r.figure(row['low'])} - {r.figure(row['high'])}",
                      f"{100 * row['share']:.0f} %", row["verified"]])
    return lines


class Mesh(study.Study):
    name, help = "mesh", "the migration of a mesh, from three starts"
    figures = study.Figures("figures-mesh.txt", FIELDS, "machine mesh", "bench/run --mesh",
                            key="machine mesh start ranks")
    ranks, program = "1,2,4,8,16", "examples/mesh"

    def run_all(self):
        found, self.notes, good = [], [study.load_average("before")], True
        program = self.build_here()
        meshes = [r.at_hand(self.options.meshes, PLATES, "msh"), CUBE]
        chosen = [mesh for mesh in meshes if self.options.case in ("", mesh[0])]
        ranks = map(int, self.options.ranks.split(","))
        for (name, word), start, n in itertools.product(chosen, STARTS, ranks):
            say(f"bench: {name}, {start}, {n} ranks")
            try:
                documents = [run_once(program, [word, start], n)
                             for _ in range(1 if self.options.quick else RUNS)]
                found.append(row_of(name, documents))
            except (Failed, subprocess.TimeoutExpired) as failure:
                self.notes.append(f"{name}, {start}, {n} ranks: not run: {failure}")
                good = False
        wrong = [row for row in found if row["verified"] != "right"]
        self.notes += [f"WRONG values: {row['mesh']} {row['start']} {row['ranks']}"
                       for row in wrong]
        self.notes.append(study.load_average("after"))
        return found, good and found and not wrong

    def print_all(self, rows):
        for machine, part in by_machine(rows):
            print(f"\n== {machine}\n{r.columns(table(part))}")

    def page(self, rows):
        return [line for machine, part in by_machine(rows)
                for line in (f"## {machine}", "", *r.markdown_table(table(part)), "")] + [
                    study.picture("mesh", "Time by number of ranks")]

    def draw(self, rows):
        """Time against ranks on the last measured machine, one line per mesh and start."""
        machine, part = list(by_machine(rows))[-1]
        lines = dict(study.by(part, lambda row: f"{row['mesh']} {row['start']}"))
        data = ["\n".join(f"{row['ranks']:g} {row['median']:g} {row['low']:g} {row['high']:g}"
                          for row in sorted(line, key=lambda row: row["ranks"]))
                for line in lines.values()]
        plots = [f"$d{i} with yerrorlines pt {i + 1} title '{name}'"
                 for i, name in enumerate(lines)]
        study.plot("mesh", "set logscale xy 2\nset key outside\n"
                   "set offsets graph 0.02, graph 0.02\nset xlabel 'ranks'\n"
                   f"set ylabel 'migration, milliseconds, {machine}'\nplot {', '.join(plots)}\n",
                   data)
