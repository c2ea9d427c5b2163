"""Operations on forests between nodes over libfabric, beside MPI: the matrices of --routes on the
standard route, with transport_off_node=p2p, =ofi, and =auto, which chooses by price.

A row is one of these in a case, which is a matrix, a partition and an operation on a shape. All
three take turns in one process. All that is printed is computed from rows.
"""

import itertools
import json
import os
import subprocess

import routes
import rows as r
import study
from study import Failed, geometric_mean, points, say

CARRIERS = ["p2p", "ofi", "auto"]
FIELDS = ("machine shape matrix partition operation carrier transport median low high messages mean"
          " verified")
CASE = "machine shape matrix partition operation".split()
WORST = 1.05  # what the choice may take, in times of the better one


def rows_of(document, **case):
    """Those of bcast, then those of reduce."""
    found = []
    for part in (document, document["reduce"]):
        entrants = dict(zip(CARRIERS, [*part["routes"], *part["variants"]]))
        for carrier, entrant in entrants.items():
            us = lambda key, of=entrant: 1e6 * of[key]
            found.append(dict(
                case, operation=part["operation"], carrier=carrier, transport=entrant["transport"],
                median=us("median_seconds"), low=us("low_seconds"), high=us("high_seconds"),
                messages=entrant["off_node_messages"], mean=float(part["mean_message_bytes"] or 0),
                verified="right" if entrant["verified"] else "WRONG"))
    return found


def cases(rows):
    """One dictionary per case that sends anything: rows by carrier; `ratio`: libfabric's time over
    MPI's; `regret`: that of the carrier which was chosen, over the better one's, both as measured
    by themselves."""
    found = []
    for _, some in study.by(rows, lambda row: tuple(row[name] for name in CASE)):
        case = {row["carrier"]: row for row in some}
        if set(case) != set(CARRIERS) or case["p2p"]["messages"] == 0:
            continue
        time = {name: case[name]["median"] for name in ("p2p", "ofi")}
        case["ratio"] = time["ofi"] / time["p2p"]
        case["regret"] = time[case["auto"]["transport"]] / min(time.values())
        found.append(case)
    return found


def label(case):
    return " ".join(str(case["auto"][name]) for name in CASE[2:])


def apart(case):
    """-1: libfabric is faster, and the intervals do not overlap; 1: MPI is; 0: nobody knows."""
    mpi, ofi = case["p2p"], case["ofi"]
    return (ofi["low"] > mpi["high"]) - (ofi["high"] < mpi["low"])


def summary(found):
    if not found:
        return [("cases that send anything", "0")]
    ratios = [case["ratio"] for case in found]
    worst = max(found, key=lambda case: case["regret"])
    chosen = [case for case in found if case["auto"]["transport"] == "ofi"]
    met = "met" if worst["regret"] <= WORST else "missed"
    counts = [sum(apart(case) == side for case in found) for side in (-1, 1)]
    return [("libfabric / MPI, geometric mean", f"{geometric_mean(ratios):.3f} of {len(found)} cases"),
            ("least, most", f"{min(ratios):.3f}, {max(ratios):.3f}"),
            ("libfabric faster, MPI faster, intervals apart", f"{counts[0]}, {counts[1]}"),
            ("libfabric chosen by price", f"{len(chosen)}"),
            ("chosen / better, geometric mean",
             f"{geometric_mean(case['regret'] for case in found):.3f}"),
            (f"chosen / better, worst (wanted: {WORST} at most)",
             f"{worst['regret']:.3f}, {label(worst)}: {met}")]


def table(found):
    lines = [["matrix", "partition", "operation", "messages", "bytes/message", "MPI us",
              "libfabric us", "ratio", "chosen", "us", "chosen / better"]]
    for case in found:
        mpi, ofi, auto = (case[name] for name in CARRIERS)
        lines.append([mpi["matrix"], mpi["partition"], mpi["operation"], f"{mpi['messages']:.0f}",
                      r.figure(mpi["mean"]), r.figure(mpi["median"]), r.figure(ofi["median"]),
                      f"{case['ratio']:.3f}", auto["transport"], r.figure(auto["median"]),
                      f"{case['regret']:.3f}"])
    return lines


class Fabric(study.Study):
    name, help, program = "fabric", "operations over libfabric, on the test cluster", "bin/grove"
    figures = study.Figures("figures-fabric.txt", FIELDS, "machine shape", "bench/run --fabric",
                            key=" ".join(CASE))

    def bench(self, shape, grove, path, partition):
        """The result of grove bench on one matrix, there and back."""
        quick = self.options.quick
        effort = ["--rounds", "5", "--batch", "2"] if quick else ["--rounds", "15"]
        profile = routes.profile(shape, grove, quick, "--fabric")
        variants = [word for name in CARRIERS[1:]
                    for word in ("--variant", f"standard,transport_off_node={name}")]
        return json.loads(routes.run(shape, grove, "bench", path, "--partition", partition,
                                     "--reduce", "--json", "--machine", profile, "--only",
                                     "standard", *variants, *effort))

    def run_all(self):
        """A build without METIS skips its partitions, which is not a failure."""
        grove, options = self.build_here(), self.options
        os.environ.setdefault("GROVE_FABRIC", "tcp")
        found, self.notes, good = [], [study.load_average("before")], True
        matrices = [r.at_hand(options.matrices, name, "mtx") for name in routes.NAMES]
        chosen = [matrix for matrix in matrices if options.case in ("", matrix[0])]
        for shape, (name, path), partition in itertools.product(options.shapes.split(","), chosen,
                                                                routes.PARTITIONS):
            say(f"bench: {shape}, {name}, {partition}")
            try:
                if not os.path.exists(path):
                    raise Failed(f"{path} is not there")
                found += rows_of(self.bench(shape, grove, path, partition), machine=r.machine(),
                                 shape=shape, matrix=name, partition=partition)
            except (Failed, subprocess.TimeoutExpired) as failure:
                self.notes.append(f"{shape}, {name}, {partition}: not run: {failure}")
                good = good and "without METIS" in str(failure)
        wrong = [row for row in found if row["verified"] != "right"]
        self.notes += [f"WRONG values: {' '.join(row[name] for name in CASE[1:])} {row['carrier']}"
                       for row in wrong]
        self.notes.append(study.load_average("after"))
        return found, good and found and not wrong

    def print_all(self, rows):
        for (machine, shape), part in routes.by_shape(rows):
            found = cases(part)
            print(f"\n== {shape}, {machine}\n{r.columns(table(found))}\n")
            print("\n".join(f"{what:57} {value}" for what, value in summary(found)))

    def page(self, rows):
        lines = []
        for (machine, shape), part in routes.by_shape(rows):
            found = cases(part)
            lines += [f"## {shape}, {machine}", "",
                      *r.markdown_table([["what", "measured"], *map(list, summary(found))]), "",
                      study.picture(f"fabric-{shape}", f"Libfabric beside MPI, {shape}"), "",
                      *r.markdown_table(table(found)), ""]
        return lines

    def draw(self, rows):
        for (_, shape), part in routes.by_shape(rows):
            found = cases(part)
            data = [points((case["p2p"]["mean"], case["ratio"]) for case in found
                           if case["p2p"]["operation"] == operation)
                    for operation in ("bcast", "reduce")]
            study.plot(f"fabric-{shape}", "set logscale xy 2\nset key outside\n"
                       "set xlabel 'mean message between nodes, bytes'\n"
                       f"set ylabel 'time over libfabric / over MPI, {shape}'\n"
                       "plot $d0 with points pt 7 title 'bcast', $d1 with points pt 6 title "
                       "'reduce', 1 lc 'black' notitle\n", data)
