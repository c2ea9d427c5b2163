"""Rows of the benchmark: read from the driver, chosen, printed, compared with committed figures."""

import math
import os
import platform
import subprocess

# What the driver prints after the word 'row', and what figures.txt has for each machine.
FIELDS = "case method peer against value peer_value ratio low high target outcome judgement".split()
KEY = "mpi ranks case method peer".split()
FIGURES = ["machine", *KEY, "setting", *FIELDS[3:]]


def number(word):
    try:
        return float(word)
    except ValueError:
        return word


def parse(lines, mpi, ranks, setting):
    """The rows of one run of the driver; a comparison that could not be made has no ratio."""
    rows = []
    for words in map(str.split, lines):
        if words and words[0] == "row":
            row = dict(zip(FIELDS, map(number, words[1:])))
        elif words and words[0] == "missing":
            row = dict(zip(["case", "method", "peer", "target"], map(number, words[1:])))
            row.update(ratio=None, outcome="missing", judgement="missing" if row["target"] else "-")
        elif words and words[0] == "wrong":
            row = dict(case=words[1], method=words[2], peer="-", ratio=None, target=0.0,
                       outcome="wrong", judgement="-")
        else:
            continue
        row.update(mpi=mpi, ranks=ranks, setting=setting)
        rows.append(row)
    return rows


def key(row):
    return tuple(str(row[name]) for name in KEY)


def choose(rows):
    """Of each comparison the run in which the peer was fastest; the ratio is that of this run."""
    chosen = {}
    for row in rows:
        old = chosen.get(key(row))
        faster = old and old["ratio"] is not None and row["ratio"] is not None and (
            row["peer_value"] < old["peer_value"])
        if old is None or old["ratio"] is None or faster:
            chosen[key(row)] = row
    return list(chosen.values())


def by_run(rows):
    """The rows of each MPI and number of ranks, Open MPI first: it has the most peers."""
    runs = {(row["mpi"], row["ranks"]) for row in rows}
    for mpi, ranks in sorted(runs, key=lambda run: (run[0] != "openmpi", run[1])):
        yield mpi, ranks, [row for row in rows if (row["mpi"], row["ranks"]) == (mpi, ranks)]


def counts(rows):
    """Outcomes count only against others: a comparison of Grove with itself has a target alone."""
    peers = [r for r in rows if not r["peer"].startswith("grove")]
    count = lambda field, word, among: sum(1 for r in among if r[field] == word)
    result = {word: count("outcome", word, peers) for word in ("win", "tie", "loss", "missing")}
    for word in ("met", "within", "missed"):
        result[word] = count("judgement", word, rows)
    result["target_missing"] = count("judgement", "missing", rows)
    result["wrong"] = count("outcome", "wrong", rows)
    return result


def describe(c):
    text = (f"{c['win']} wins, {c['tie']} ties, {c['loss']} losses, {c['missing']} peer missing; "
            f"targets: {c['met']} met, {c['within']} within the interval, {c['missed']} missed, "
            f"{c['target_missing']} peer missing")
    return text + (f"; {c['wrong']} WRONG" if c["wrong"] else "")


def figure(value):
    """Four digits, whatever the size."""
    if not isinstance(value, float) or value == 0:
        return "-"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 3)}f}"


def table(rows):
    head = "case method peer here there ratio interval target outcome target? setting".split()
    lines = [head]
    for r in rows:
        if r["ratio"] is None:
            lines.append([r["case"], r["method"], r["peer"], "-", "-", "-", "-",
                          figure(r["target"]), r["outcome"], r["judgement"], "-"])
            continue
        peer = r["peer"] if r["against"] in (r["peer"], "-") or "@" in r["peer"] else r["against"]
        lines.append([r["case"], r["method"], peer, figure(r["value"]), figure(r["peer_value"]),
                      f"{r['ratio']:.3f}", f"{r['low']:.3f}-{r['high']:.3f}", figure(r["target"]),
                      r["outcome"], r["judgement"], r["setting"]])
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join("  ".join(w.ljust(n) for w, n in zip(line, widths)).rstrip()
                     for line in lines)


def machine():
    """A name for this machine, without blanks: architecture, processor, number of cores."""
    model = ""
    try:
        shown = subprocess.run(["lscpu"], capture_output=True, text=True, check=False).stdout
        model = next((line.split(":", 1)[1].strip() for line in shown.splitlines()
                      if line.startswith("Model name:")), "")
    except OSError:
        pass
    words = [platform.machine(), *model.split(), f"{len(os.sched_getaffinity(0))}-cores"]
    return "-".join(words)


# ---- committed figures ----

def load(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return [dict(zip(FIGURES, map(number, words))) for words in lines]


def save(path, rows, name, note):
    """Replaces what the file has for this machine, these MPIs and numbers of ranks."""
    new = [dict(row, machine=name) for row in rows if row["ratio"] is not None]
    runs = {(row["mpi"], str(row["ranks"])) for row in new}
    kept = [row for row in load(path) if row["machine"] != name
            or (row["mpi"], f"{row['ranks']:g}") not in runs]
    with open(path, "w", encoding="utf-8") as file:
        file.write("# The committed figures: bench/METRICS.md defines the columns, bench/run --save"
                   f" writes them.\n# {note}\n# {' '.join(FIGURES)}\n")
        for row in sorted(kept + new, key=lambda r: (r["machine"], r["mpi"], float(r["ranks"]))):
            file.write(" ".join(f"{v:g}" if isinstance(v, float) else str(v)
                                for v in (row[name] for name in FIGURES)) + "\n")


def markdown(rows):
    """A table of the rows that have a target."""
    lines = ["| case | here / there | us, us | ratio | interval | target | |",
             "|---|---|---|---|---|---|---|"]
    for row in rows:
        if not row["target"]:
            continue
        who = f"{row['method']} / {row['peer']}"
        if row["ratio"] is None:
            lines.append(f"| {row['case']} | {who} | - | - | - | {row['target']:g} | peer missing |")
            continue
        if row["against"] not in (row["peer"], "-") and "@" not in row["peer"]:
            who = f"{row['method']} / {row['against']}"
        lines.append(f"| {row['case']} | {who} | {figure(row['value'])}, "
                     f"{figure(row['peer_value'])} | {row['ratio']:.3f} | {row['low']:.3f} - "
                     f"{row['high']:.3f} | {row['target']:g} | {row['judgement']} |")
    return lines


def write_results(path, rows, heading, conditions):
    """Puts the tables between the two marks in the file."""
    begin, end = "<!-- figures: written by bench/run --save -->", "<!-- end of figures -->"
    with open(path, encoding="utf-8") as file:
        before, _, rest = file.read().partition(begin)
    after = rest.partition(end)[2]
    lines = [begin, "", heading + ".", "", *(f"- {line}" for line in conditions), "",
             f"In all: {describe(counts(rows))}.", ""]
    for mpi, ranks, part in by_run(rows):
        lines += [f"### {mpi}, {ranks} ranks{' on 2 cores' if ranks > 2 else ''}", "",
                  f"{describe(counts(part))}.", "", *markdown(part), ""]
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + "\n".join(lines) + end + after)


def compare(rows, path, name):
    """What has changed beyond both intervals, as lines."""
    old = load(path)
    mine = [row for row in old if row["machine"] == name]
    if not old:
        return [f"there are no committed figures in {os.path.basename(path)}"]
    lines = [] if mine else ["no figures were committed for this machine; compared with another's"]
    for row in mine or old:
        row["ranks"] = f"{row['ranks']:g}"
    before = {key(row): row for row in (mine or old)}
    now = {key(row): row for row in rows if row["ratio"] is not None}
    better = worse = same = 0
    for k in sorted(now.keys() & before.keys()):
        a, b = before[k], now[k]
        if b["high"] < a["low"] or b["low"] > a["high"]:
            better, worse = better + (b["high"] < a["low"]), worse + (b["low"] > a["high"])
            word = "better" if b["high"] < a["low"] else "worse"
            lines.append(f"  {word:6}  {' '.join(k)}: {a['ratio']:.3f} -> {b['ratio']:.3f}")
        else:
            same += 1
    lines.append(f"{better} better, {worse} worse, {same} the same within the intervals, "
                 f"{len(now.keys() - before.keys())} without a committed figure")
    return lines
