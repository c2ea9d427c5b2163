"""The grid with a core for each rank: tables and pictures by number of ranks.

bench/run --cores measures; all that is here is computed from the figures that it saved.
"""

import os

import grids
import rows as r
import study

GRID = os.path.join(study.BENCH, "grid.txt")
BY_SIZE = {"pair": "arrays from malloc", "alloc": "arrays from grove_alloc"}  # pictures of sizes


def grid():
    """The size, measure and peers of each case."""
    return {name: {"size": float(words[5]), "measure": words[8],
                   "peers": {word.split("/")[1].split(":")[0] for word in words[9:]}}
            for name, words in r.grid(GRID).items()}


def another(peer):
    """Comparisons of Grove with itself, and single figures, cannot win."""
    return not peer.startswith(("grove", "value"))


def of_others(rows):
    return [row for row in rows if another(row["peer"])]


def numbers(rows, field, *names):
    return ", ".join(str(sum(row[field] == name for row in rows)) for name in names)


def counts(rows):
    """One line per run."""
    peers = sorted({row["peer"] for row in of_others(rows)})
    lines = [["MPI", "ranks", *(f"wins, ties, losses against {peer}" for peer in peers),
              "targets met, within, missed"]]
    for mpi, ranks, part in r.by_run(rows):
        against = [[row for row in part if row["peer"] == peer] for peer in peers]
        lines.append([mpi, str(ranks),
                      *(numbers(some, "outcome", "win", "tie", "loss") for some in against),
                      numbers(part, "judgement", "met", "within", "missed")])
    return lines


def cell(row):
    """The ratio, with its interval unless a win; a loss in bold, a missed target in words."""
    text = f"{row['ratio']:.3f}"
    if row["outcome"] != "win" and another(row["peer"]):
        text = f"**{text}**" if row["outcome"] == "loss" else text
        text += f" ({row['low']:.3f} - {row['high']:.3f})"
    return text + (" missed" if row["judgement"] == "missed" else "")


def ratios(rows):
    """One line per comparison with others or with a target, one column per run."""
    runs = [(mpi, ranks) for mpi, ranks, _ in r.by_run(rows)]
    lines = [["case", "here / there", "target", *(f"{mpi}, {ranks}" for mpi, ranks in runs)]]
    found = {}
    for row in rows:
        if row["target"] or another(row["peer"]):
            key = (row["case"], row["method"], row["peer"])
            found.setdefault(key, {})[row["mpi"], row["ranks"]] = row
    for (case, method, peer), line in found.items():
        target = next(iter(line.values()))["target"]
        lines.append([case, f"{method} / {peer}", f"{target:g}" if target else "-",
                      *(cell(line[run]) if run in line else "-" for run in runs)])
    return lines


def absent(rows):
    """Peers that are in the grid but not in the figures."""
    wanted = set().union(*(case["peers"] for case in grid().values()))
    return sorted(filter(another, wanted - {row["peer"] for row in rows}))


def page(name, rows):
    lines = [f"On {name}:", "", *r.markdown_table(counts(rows)), ""]
    if absent(rows):
        lines += [f"Not on that machine, and not counted: {', '.join(absent(rows))}.", ""]
    pictures = [study.picture(f"cores-{picture}", f"Grove over the better MPI by hand, {what}")
                for picture, what in {**BY_SIZE, "cases": "other exchanges"}.items()]
    return [*lines, *pictures, "", *r.markdown_table(ratios(rows)), ""]


# ---- pictures ----

def against_mpi(rows):
    """Exchanges compared with MPI by hand."""
    cases = grid()
    return [row for row in rows if row["peer"] == "mpi" and row["method"] == "grove"
            and cases[row["case"]]["measure"] == "exchange"]


def plots(rows, place):
    """Data and commands for gnuplot: ratios and intervals, one colour per number of ranks."""
    runs = list(r.by_run(rows))
    data = ["\n".join(f"{place(row, i / len(runs))} {row['ratio']:g} {row['low']:g} {row['high']:g}"
                      for row in part) for i, (_, _, part) in enumerate(runs)]
    titles = [f"{mpi}, {ranks} ranks" for mpi, ranks, _ in runs]
    return data, titles


def draw_sizes(family, what, rows):
    cases = grid()
    data, titles = plots(rows, lambda row, _: f"{cases[row['case']]['size']:g}")
    shown = [f"$d{i} with yerrorlines pt 7 ps 0.5 title '{title}'"
             for i, title in enumerate(titles)]
    marks = {f"'{row['case'].split('-')[1]}' {cases[row['case']]['size']:g}": None for row in rows}
    study.plot(f"cores-{family}", "set logscale xy 2\nset key outside\nset xlabel 'bytes'\n"
                f"set xtics ({', '.join(marks)})\nset offsets graph 0.02, graph 0.02\n"
                f"set ylabel 'Grove over the better MPI by hand, {what}' noenhanced\n"
                f"plot {', '.join(shown)}, 1 lc 'black' notitle\n", data)


def draw_cases(rows):
    names = list(dict.fromkeys(row["case"] for row in rows))
    place = lambda row, shift: f"{names.index(row['case']) + 0.8 * shift - 0.3:g}"
    data, titles = plots(rows, place)
    shown = [f"$d{i} with yerrorbars pt 7 ps 0.4 title '{title}'" for i, title in enumerate(titles)]
    marks = ", ".join(f"'{name}' {i}" for i, name in enumerate(names))
    study.plot("cores-cases", "set logscale y 2\nset key outside top horizontal\n"
                f"set xtics ({marks}) rotate by 90 right\nset xrange [-1:{len(names)}]\n"
                "set ylabel 'Grove over the better MPI by hand'\n"
                f"plot {', '.join(shown)}, 1 lc 'black' notitle\n", data)


def draw(rows):
    rows = against_mpi(rows)
    family = lambda row: row["case"].split("-")[0]
    for name, what in BY_SIZE.items():
        draw_sizes(name, what, [row for row in rows if family(row) == name])
    draw_cases([row for row in rows if family(row) not in BY_SIZE])


class Cores(grids.Study):
    """The numbers of ranks may be run and saved one by one."""

    name, ranks, saved_whole = "cores", "2,4,8,16", True

    def cases(self):
        return "grid"

    def crowded(self, ranks):
        return False

    def why_not(self, driver, mpi, ranks, setting):
        if driver is not None and ranks > r.cores():
            return f"there are {r.cores()} cores"
        return super().why_not(driver, mpi, ranks, setting)

    def load(self):
        return self.figures.load()

    def print_figures(self, rows):
        name, shown = grids.of_one_machine(rows)
        print(f"== {name}\n{r.columns(counts(shown))}\n\n{r.columns(ratios(shown))}")

    def publish(self):
        study.Study.publish(self)

    def page(self, rows):
        return page(*grids.of_one_machine(rows))

    def draw(self, rows):
        draw(grids.of_one_machine(rows)[1])
