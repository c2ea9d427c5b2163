"""Every route on real matrices: `grove bench` on each, its results as rows, and what they say.

A case is a matrix, a partition and an operation on one shape: hosts x ranks of the test cluster, or
this machine as emulated nodes. A row is one entrant of a case. All that is printed is computed from
rows, so that the committed figures give the same table again.
"""

import itertools
import json
import math
import os
import statistics
import subprocess

import rows as r
import study
from study import ROOT, Failed, geometric_mean, points, say

NAMES = ["4elt", "basker_circuit1", "bcsstk16", "brack2", "cage10", "cond-mat-2005",
         "elas3d_plates3d", "email-Enron", "mdual", "p1_crankshaft", "teko_nsjac"]
PARTITIONS = ["contiguous", "metis"]
OVER_MPI = "transport_on_node=mpi"  # 3-step is also run like this
SECONDS = 900  # for one run

# Traffic from an emulated node goes through TCP, as over a network.
EMULATED = "emulated-4x4"
TCP = {"GROVE_NODE_SIZE": "4", "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self",
       "OMPI_MCA_btl_tcp_if_include": "lo"}

# Times in microseconds. `route`: what it ran on; `mean`: mean bytes of standard's messages between
# nodes; `dedup`: bytes that leave nodes if each node gets a value once, counted without Grove.
FIELDS = ("machine shape matrix partition operation role name route median low high predicted setup"
          " messages bytes mean dedup verified")
CASE = "machine shape matrix partition operation".split()


# ---- running ----

def launcher(shape):
    """The launcher's words: hosts x ranks of the test cluster, or ranks here."""
    if shape == EMULATED:
        return ["tools/launch", "16"]
    hosts, ranks = shape.split("x")
    return ["tools/cluster", "run", "--nodes", hosts, "--ppn", ranks, "--shm", "256m", "--mpi",
            "openmpi", "--"]


def run(shape, grove, *words):
    """Standard output of the command on the shape, even if it found wrong values."""
    environment = dict(os.environ, MPI="openmpi", **(TCP if shape == EMULATED else {}))
    done = subprocess.run([*launcher(shape), grove, *words], cwd=ROOT, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          timeout=SECONDS)
    if done.returncode != 0 and not done.stdout.startswith("{"):
        lines = [line for line in done.stderr.splitlines() if line.startswith(("grove", "cluster"))]
        raise Failed(lines[0] if lines else done.stderr.strip()[-300:])
    return done.stdout


def profile(shape, grove, quick, *more):
    """The path of the profile of this shape, measured with these options once per build."""
    name = "-".join([shape, *(word.strip("-") for word in more), *(["quick"] if quick else [])])
    path = os.path.join(os.path.dirname(os.path.dirname(grove)), "profiles", f"{name}.machine")
    if not os.path.exists(path):
        say(f"bench: {shape}: measuring a profile")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        run(shape, grove, "machine", "measure", *more, *(["--quick"] if quick else []), "-o", path)
    return path


def bench(shape, grove, path, partition, quick):
    """The result of grove bench on one matrix, there and back."""
    if not os.path.exists(path):
        raise Failed(f"{path} is not there")
    effort = ["--rounds", "5", "--batch", "2"] if quick else ["--rounds", "41"]
    edges = ["--off-node"] if shape == EMULATED else []
    return json.loads(run(shape, grove, "bench", path, "--partition", partition, "--reduce",
                          "--json", "--machine", profile(shape, grove, quick),
                          "--variant", f"3-step,{OVER_MPI}", *effort, *edges))


def row_of(entrant, role, **case):
    us = lambda key: 1e6 * entrant[key] if entrant.get(key) is not None else math.nan
    route = entrant.get("route", "-")
    name = entrant.get("name") or ("auto" if role == "auto" else route)
    return dict(case, role=role, name=name, route=route, median=us("median_seconds"),
                low=us("low_seconds"), high=us("high_seconds"), predicted=us("predicted_seconds"),
                setup=us("setup_seconds"), messages=entrant.get("off_node_messages", math.nan),
                bytes=entrant.get("off_node_bytes", math.nan),
                verified="right" if entrant["verified"] else "WRONG")


def rows_of(document, **case):
    """The entrants of one document: those of bcast, then those of reduce."""
    found = []
    for part in (document, document["reduce"]):
        mean = part["mean_message_bytes"]
        mean = math.nan if mean is None else float(mean)
        about = dict(case, operation=part["operation"], mean=mean,
                     dedup=document["deduplicated_off_node_bytes"])
        for role, name in (("route", "routes"), ("variant", "variants"), ("baseline", "baselines")):
            found += [row_of(entrant, role, **about) for entrant in part[name]]
        found.append(row_of(part["auto"], "auto", **about))
    return found


# ---- what the rows say ----

def cases(rows):
    """One dictionary per case: auto; routes and baselines by name; 3-step over MPI on nodes."""
    grouped = {}
    for row in rows:
        case = grouped.setdefault(tuple(row[name] for name in CASE),
                                  {"routes": {}, "baselines": {}, "variant": None, "auto": None})
        if row["role"] in ("route", "baseline"):
            case[row["role"] + "s"][row["name"]] = row
        else:
            case[row["role"]] = row
    for case in grouped.values():
        case["peer"] = min(case["baselines"].values(), key=lambda row: row["median"])
        case["best"] = min(case["routes"].values(), key=lambda row: row["median"])
        case["chosen"] = case["routes"][case["auto"]["route"]]
        case["ratio"] = case["auto"]["median"] / case["peer"]["median"]
        case["regret"] = case["chosen"]["median"] / case["best"]["median"]
    return list(grouped.values())


def percentile(values, share):
    """The smallest value that is at least as large as this share of them."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else math.nan


def errors(all_cases):
    """The relative error of each prediction."""
    return [abs(row["predicted"] / row["median"] - 1) for case in all_cases
            for row in case["routes"].values() if not math.isnan(row["predicted"])]


def kendall(all_cases, apart=False):
    """Over all pairs of routes of a case, the share of orders that agree minus the share of those
    that do not. With `apart`, only over pairs whose intervals do not overlap."""
    agree = pairs = 0
    for case in all_cases:
        known = [x for x in case["routes"].values() if not math.isnan(x["predicted"])]
        for a, b in itertools.combinations(known, 2):
            if apart and a["low"] <= b["high"] and b["low"] <= a["high"]:
                continue
            product = (a["predicted"] - b["predicted"]) * (a["median"] - b["median"])
            agree += (product > 0) - (product < 0)
            pairs += 1
    return (agree / pairs if pairs else math.nan), pairs


def paid_back(case):
    """Exchanges after which the longer set-up of the chosen route has paid off; infinite: never."""
    standard, chosen = case["routes"]["standard"], case["auto"]
    more, less = chosen["setup"] - standard["setup"], standard["median"] - chosen["median"]
    return max(0, more / less) if less > 0 else math.inf


def label(case):
    return " ".join(str(case["auto"][name]) for name in CASE[2:])


def against_peers(all_cases):
    """Lines comparing the automatic choice with the best of hand-written MPI and PETSc."""
    small = [c for c in all_cases if c["auto"]["mean"] < 1024]
    slower = [c for c in all_cases if c["auto"]["low"] > c["peer"]["high"]]
    mean = lambda some: f"{geometric_mean(c['ratio'] for c in some):.3f} of {len(some)} cases"
    lines = [("auto / best baseline, geometric mean", mean(all_cases)),
             ("the same, mean message below 1 KiB", mean(small)),
             ("significantly slower than it", f"{len(slower)} cases")]
    return lines + [("", f"{label(c)}: {c['ratio']:.3f}") for c in slower]


def about_choice(all_cases):
    regret = [c["regret"] for c in all_cases]
    worst = max(all_cases, key=lambda c: c["regret"])
    other = [c for c in all_cases if c["auto"]["route"] != "standard"]
    lines = [("regret, geometric mean", f"{geometric_mean(regret):.3f}"),
             ("regret, worst", f"{worst['regret']:.3f}, {label(worst)}"),
             ("cases where auto left standard", f"{len(other)}")]
    if other:
        setups = [c["auto"]["setup"] / c["routes"]["standard"]["setup"] for c in other]
        paid = list(map(paid_back, other))
        lines += [("set-up of those over standard's, geometric mean, worst",
                   f"{geometric_mean(setups):.2f}, {max(setups):.2f}"),
                  ("exchanges until that is paid back, median, worst",
                   f"{statistics.median(paid):.0f}, {max(paid):.0f}")]
    return lines


def about_memory(all_cases):
    """3-step through shared memory and through MPI inside nodes, messages up to 4 KiB."""
    both = [c for c in all_cases
            if c["variant"] and "3-step" in c["routes"] and c["auto"]["mean"] <= 4096]
    ratios = [c["routes"]["3-step"]["median"] / c["variant"]["median"] for c in both]
    worst = max(ratios, default=math.nan)
    return [("3-step, shared memory / MPI inside nodes, geometric mean, worst",
             f"{geometric_mean(ratios):.3f}, {worst:.3f} of {len(both)} cases")]


def about_bytes(all_cases):
    """Routes that gather by node must send exactly the bytes counted without Grove."""
    aware = [row for c in all_cases if c["auto"]["operation"] == "reduce"
             for name, row in c["routes"].items() if name != "standard"]
    equal = [row for row in aware if row["bytes"] == row["dedup"]]
    return [("bytes off node of reduces by node-aware routes as counted from the edges",
             f"{len(equal)} of {len(aware)}")]


def about_predictions(all_cases):
    off = errors(all_cases)
    tau, pairs = kendall(all_cases)
    sure, known = kendall(all_cases, apart=True)
    return [("predicted against measured, median error", f"{percentile(off, 0.5):.2f}"),
            ("predicted against measured, 90th percentile", f"{percentile(off, 0.9):.2f}"),
            ("Kendall's tau over pairs of routes", f"{tau:.2f} of {pairs} pairs"),
            ("the same where intervals lie apart", f"{sure:.2f} of {known} pairs")]


def summary(all_cases):
    parts = (against_peers, about_choice, about_memory, about_bytes, about_predictions)
    return [line for part in parts for line in part(all_cases)]


def by_shape(rows):
    return study.by(rows, lambda row: (row["machine"], row["shape"]))


def case_table(all_cases):
    lines = [["matrix", "partition", "operation", "bytes/message", "auto", "us", "best baseline",
              "us", "ratio", "best route", "us", "regret"]]
    for c in all_cases:
        auto, peer, best = c["auto"], c["peer"], c["best"]
        lines.append([auto["matrix"], auto["partition"], auto["operation"], r.figure(auto["mean"]),
                      auto["route"], r.figure(auto["median"]), peer["name"],
                      r.figure(peer["median"]), f"{c['ratio']:.3f}", best["name"],
                      r.figure(best["median"]), f"{c['regret']:.3f}"])
    return lines


# ---- pictures ----

def draw_ratios(shape, found):
    """The automatic choice and every route over the best baseline, by message size."""
    names = ["auto", *dict.fromkeys(name for c in found for name in c["routes"])]
    entrant = lambda c, name: c["auto"] if name == "auto" else c["routes"].get(name)
    data = [points((c["auto"]["mean"], entrant(c, name)["median"] / c["peer"]["median"])
                   for c in found if entrant(c, name)) for name in names]
    shown = [(i, name) for i, name in enumerate(names) if data[i]]
    plots = [f"$d{i} with points pt {7 if name == 'auto' else 1 + i} title '{name}'"
             for i, name in shown]
    study.plot(f"routes-{shape}", "set logscale xy 2\nset key outside\n"
               "set xlabel 'mean message between nodes, standard route, bytes'\n"
               f"set ylabel 'time over the best baseline, {shape}'\n"
               f"plot {', '.join(plots)}, 1 lc 'black' notitle\n", data)


def draw_predictions(shape, found):
    names = list(dict.fromkeys(name for c in found for name in c["routes"]))
    data = [points((c["routes"][name]["predicted"], c["routes"][name]["median"])
                   for c in found if name in c["routes"]) for name in names]
    plots = [f"$d{i} with points pt {i + 1} title '{name}'" for i, name in enumerate(names)
             if data[i]]
    study.plot(f"routes-predicted-{shape}", "set logscale xy\nset key left top\n"
               "set xlabel 'predicted, microseconds'\n"
               f"set ylabel 'measured, microseconds, {shape}'\n"
               f"plot {', '.join(plots)}, x lc 'black' title 'as predicted'\n", data)


class Routes(study.Study):
    name, help, program = "routes", "every route on matrices, on the test cluster", "bin/grove"
    figures = study.Figures("figures-routes.txt", FIELDS, "machine shape", "bench/run --routes",
                            key=" ".join(CASE))

    def run_all(self):
        """A build without METIS skips its partitions, which is not a failure."""
        grove, options = self.build_here(), self.options
        found, self.notes, good = [], [study.load_average("before")], True
        shapes = [EMULATED] if options.emulated else options.shapes.split(",")
        matrices = [r.at_hand(options.matrices, name, "mtx") for name in NAMES]
        chosen = [matrix for matrix in matrices if options.case in ("", matrix[0])]
        for shape, (name, path), partition in itertools.product(shapes, chosen, PARTITIONS):
            say(f"bench: {shape}, {name}, {partition}")
            try:
                document = bench(shape, grove, path, partition, options.quick)
                found += rows_of(document, machine=r.machine(), shape=shape, matrix=name,
                                 partition=partition)
            except (Failed, subprocess.TimeoutExpired) as failure:
                self.notes.append(f"{shape}, {name}, {partition}: not run: {failure}")
                good = good and "without METIS" in str(failure)
        wrong = [row for row in found if row["verified"] != "right"]
        self.notes += [f"WRONG values: {' '.join(row[name] for name in CASE[1:])} {row['role']} "
                       f"{row['name']}" for row in wrong]
        self.notes.append(study.load_average("after"))
        return found, good and found and not wrong

    def print_all(self, rows):
        for (machine, shape), part in by_shape(rows):
            found = cases(part)
            print(f"\n== {shape}, {machine}\n{r.columns(case_table(found))}\n")
            print("\n".join(f"{what:73} {value}" for what, value in summary(found)))

    def page(self, rows):
        lines = []
        for (machine, shape), part in by_shape(rows):
            found = cases(part)
            said = [["what", "measured"], *map(list, summary(found))]
            lines += [f"## {shape}, {machine}", "", *r.markdown_table(said), "",
                      study.picture(f"routes-{shape}", f"Every route, {shape}"),
                      study.picture(f"routes-predicted-{shape}", f"Predicted, {shape}"), "",
                      *r.markdown_table(case_table(found)), ""]
        return lines

    def draw(self, rows):
        for (_, shape), part in by_shape(rows):
            found = cases(part)
            if any(c["auto"]["mean"] > 0 for c in found):
                draw_ratios(shape, found)
                draw_predictions(shape, found)
