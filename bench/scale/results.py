"""Results of simulated figures: tables, the page, pictures."""

import itertools
import math

import machine as m
import rows as r
import study

ROUTES = ["standard", "2-step", "3-step", "split"]
LEAST_SPEED, LARGEST_REGRET, MEAN_REGRET = 0.97, 1.3, 1.05
GROWTH = ["near:50:16", "random:50:16"]  # set-up against the number of ranks

# Seconds are simulated. The driver's own columns come after `ranks`.
FIELDS = ("machine overhead ranks case entrant route seconds predicted forest init memory messages"
          " bytes wrong context")
CASE = FIELDS.split()[:4]

SAYING = """These machines are built from the same parameters that the model uses: agreement here
shows the routes and the choice, not the truth of the parameters. Of alpha the sender is busy for
all but 0.6 us between nodes and for all of it inside ('most'), or for half ('half'). Inside nodes
data goes by messages, not through shared memory, and packing takes no time."""

# machine, ranks, case, and the speed-up of auto over standard that is required ('most').
TARGETS = [("lassen", 2048, "random:200:16", 2.8), ("bluewaters", 512, "random:50:16", 2),
           ("bluewaters", 512, "random:50:512", 2), ("10gbe", 512, "random:50:16", 9)]


def order(row):
    return (list(m.PROFILES).index(row["machine"]), m.OVERHEADS.index(row["overhead"]),
            row["ranks"])


# ---- what the rows say ----

def group(rows):
    """One dictionary per case: routes by name, auto, the best, speeds over standard, regret."""
    grouped = {}
    for row in sorted(rows, key=order):
        grouped.setdefault(tuple(row[name] for name in CASE), {})[row["entrant"]] = row
    cases = []
    for key, entrants in grouped.items():
        auto, standard = entrants["auto"], entrants["standard"]
        best = min((entrants[name] for name in ROUTES), key=lambda row: row["seconds"])
        cases.append({"key": key, "auto": auto, "best": best, "entrants": entrants,
                      "speed": {name: standard["seconds"] / row["seconds"]
                                for name, row in entrants.items()},
                      "regret": entrants[auto["route"]]["seconds"] / best["seconds"]})
    return cases


def table(cases):
    lines = [[*CASE, "standard us", *(f"{name} x" for name in ROUTES[1:]), "auto x", "chosen",
              "regret"]]
    for c in cases:
        machine, overhead, ranks, case = c["key"]
        speeds = [f"{c['speed'][name]:.2f}" for name in (*ROUTES[1:], "auto")]
        lines.append([machine, overhead, f"{ranks:g}", case,
                      f"{1e6 * c['entrants']['standard']['seconds']:.1f}", *speeds,
                      c["auto"]["route"], f"{c['regret']:.3f}"])
    return lines


def label(case):
    return " ".join(f"{part:g}" if isinstance(part, float) else str(part) for part in case["key"])


def target_lines(cases):
    for machine, ranks, case, wanted in TARGETS:
        for c in cases:
            if c["key"] == (machine, "most", ranks, case):
                speed = c["speed"]["auto"]
                yield (f"{machine}, {ranks} ranks, {case}: auto over standard",
                       f"{speed:.2f}, wanted {wanted}: {'met' if speed >= wanted else 'missed'}")


def summary(cases):
    regret = [c["regret"] for c in cases]
    worst = max(cases, key=lambda c: c["regret"])
    slowest = min(cases, key=lambda c: c["speed"]["auto"])
    mean = study.geometric_mean(regret)
    return [(f"auto over standard, least (wanted {LEAST_SPEED})",
             f"{slowest['speed']['auto']:.3f}, {label(slowest)}"),
            (f"regret, geometric mean (wanted {MEAN_REGRET})", f"{mean:.3f} of {len(cases)} cases"),
            (f"regret, worst (wanted {LARGEST_REGRET})",
             f"{worst['regret']:.3f}, {label(worst)}"),
            *target_lines(cases)]


def bad_choices(cases):
    return [f"BAD choice: {label(c)}: auto {c['speed']['auto']:.3f}, regret {c['regret']:.3f}"
            for c in cases
            if c["speed"]["auto"] < LEAST_SPEED or c["regret"] > LARGEST_REGRET]


def growth(cases):
    """Set-up with 50 neighbours against the number of ranks, and against its logarithm."""
    lines = [["case", "machine", "ranks", "context us", "forest us", "init us", "set-up us",
              "of the fewest", "bytes per rank", "of the fewest", "log P"]]
    for case, machine in itertools.product(GROWTH, m.PROFILES):
        shown = [c for c in cases if c["key"][:2] == (machine, "most") and c["key"][3] == case]
        for c in shown:
            auto, first, ranks = c["auto"], shown[0]["auto"], c["key"][2]
            lines.append([case, machine, str(ranks),
                          *(f"{1e6 * auto[name]:.0f}" for name in ("context", "forest", "init")),
                          f"{1e6 * set_up(auto):.0f}", f"{set_up(auto) / set_up(first):.2f}",
                          f"{auto['memory']:.0f}", f"{auto['memory'] / first['memory']:.2f}",
                          f"{math.log(ranks) / math.log(shown[0]['key'][2]):.2f}"])
    return lines


def set_up(row):
    return row["forest"] + row["init"]


# ---- the page ----

def choice(c):
    """How much faster auto is, and on which route; with its regret if noticeable."""
    text = f"{c['speed']['auto']:.2f} {c['auto']['route']}"
    return text + (f" (regret {c['regret']:.2f})" if c["regret"] > MEAN_REGRET else "")


def choices(machine, cases):
    """One line per pattern, one column per number of ranks."""
    shown = {c["key"]: c for c in cases if c["key"][0] == machine}
    columns = list(dict.fromkeys(key[1:3] for key in shown))
    lines = [["case", *(f"{ranks}{', half' if overhead == 'half' else ''}"
                        for overhead, ranks in columns)]]
    for case in dict.fromkeys(key[3] for key in shown):
        keys = [(machine, *column, case) for column in columns]
        lines.append([case, *(choice(shown[key]) if key in shown else "-" for key in keys)])
    return lines


def page(cases):
    lines = [*r.markdown_table([["what", "simulated"], *map(list, summary(cases))]), ""]
    for machine, of_machine in study.by(cases, lambda c: c["key"][0]):
        lines += [f"`{machine}`, times as fast as standard, by number of ranks:", "",
                  *r.markdown_table(choices(machine, cases)), "",
                  *(study.picture(f"scale-{machine}-{overhead}",
                                  f"every route, {machine}, {overhead}")
                    for overhead in dict.fromkeys(c["key"][1] for c in of_machine)), ""]
    lines += ["Set-up with 50 neighbours:", "", *r.markdown_table(growth(cases)), ""]
    return lines + [study.picture(f"scale-setup-{what}-{case.split(':')[0]}",
                                  f"set-up, {what}, {case}")
                    for case in GROWTH for what in ("time", "memory")]


# ---- pictures ----

def draw_speeds(machine, overhead, cases):
    """Every route over standard, each case at its place on the axis."""
    shown = [c for c in cases if c["key"][:2] == (machine, overhead)]
    names = [*ROUTES[1:], "auto"]
    data = [study.points((i, c["speed"][name]) for i, c in enumerate(shown)) for name in names]
    ticks = ", ".join(f"'{c['key'][2]} {c['key'][3]}' {i}" for i, c in enumerate(shown))
    plots = [f"$d{i} with points pt {7 if name == 'auto' else i + 1} title '{name}'"
             for i, name in enumerate(names)]
    study.plot(f"scale-{machine}-{overhead}", "set termoption noenhanced\n"
                "set logscale y 2\nset key outside\n"
                f"set xtics rotate by 90 right font ',7' ({ticks})\n"
                f"set ylabel 'times as fast as standard, simulated {machine}, {overhead}'\n"
                f"plot {', '.join(plots)}, 1 lc 'black' notitle\n", data)


def draw_growth(cases):
    """Set-up relative to the fewest ranks, against log P."""
    values = {"time": set_up, "memory": lambda row: row["memory"]}
    for case, (what, value) in itertools.product(GROWTH, values.items()):
        shown = [c for c in cases if c["key"][1] == "most" and c["key"][3] == case]
        names = list(dict.fromkeys(c["key"][0] for c in shown))
        parts = [[c for c in shown if c["key"][0] == name] for name in names]
        data = [study.points((c["key"][2], value(c["auto"]) / value(part[0]["auto"]))
                              for c in part) for part in parts]
        plots = [f"$d{i} with linespoints pt 7 ps 0.5 title '{name}'"
                 for i, name in enumerate(names)]
        fewest = min(c["key"][2] for c in shown)
        study.plot(f"scale-setup-{what}-{case.split(':')[0]}",
                    "set termoption noenhanced\nset logscale x 2\nset key left top\n"
                    f"set yrange [0:]\nset xlabel 'ranks'\nset ylabel 'set-up, {what}, {case}, "
                    f"over that of {fewest} ranks'\n"
                    f"plot {', '.join(plots)}, log(x) / log({fewest}) lc 'black' dt 2 "
                    "title 'log P'\n", data)


class Scale(study.Study):
    name = "scale"

    def __init__(self):
        super().__init__()
        self.command = "bench/scale/run"
        self.figures = study.Figures("figures-scale.txt", FIELDS, "machine overhead ranks", "",
                                     key=" ".join(CASE), ints=["ranks"], order=order)
        self.figures.head = ("# Simulated: bench/METRICS.md, Scale, defines the columns;"
                             " bench/scale/run --save writes them.\n")

    def print_all(self, rows):
        cases = group(rows)
        print(f"\n{SAYING}\n\n{r.columns(table(cases))}\n")
        print("\n".join(f"{what:60} {value}" for what, value in summary(cases)))
        print(f"\nset-up with 50 neighbours, auto, 'most'\n{r.columns(growth(cases))}")

    def page(self, rows):
        return page(group(rows))

    def draw(self, rows):
        cases = group(rows)
        for machine, overhead in dict.fromkeys(c["key"][:2] for c in cases):
            draw_speeds(machine, overhead, cases)
        if all(any(c["key"][1] == "most" and c["key"][3] == case for c in cases)
               for case in GROWTH):
            draw_growth(cases)
