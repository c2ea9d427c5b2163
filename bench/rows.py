"""Rows of the benchmark: read from the driver, chosen, printed, compared with committed figures.

Also what every study needs: numbers as text, tables, the name of this machine, grids of cases.
"""

import math
import os
import platform
import subprocess

# What the driver prints after the word 'row', and what figures.txt has per machine.
FIELDS = "case method peer against value peer_value ratio low high target outcome judgement".split()
HIDDEN = "case method exchange compute total share low high".split()
KEY = "mpi ranks case method peer".split()
FIGURES = ["machine", *KEY, "setting", *FIELDS[3:]]


def number(word):
    try:
        return float(word)
    except ValueError:
        return word


def parse(lines, mpi, ranks, setting, place="shm"):
    """The rows of one run of the driver. A comparison that could not be made has no ratio. The name
    of a case is followed by what carried its messages, unless that was memory."""
    rows = []
    for words in map(str.split, lines):
        if words and words[0] == "row":
            row = dict(zip(FIELDS, map(number, words[1:])))
        elif words and words[0] == "missing":
            row = dict(zip(["case", "method", "peer", "target"], map(number, words[1:])))
            row.update(ratio=None, outcome="missing", judgement="missing" if row["target"] else "-")
        elif words and words[0] in ("wrong", "failed"):
            row = dict(case=words[1], method=words[2], peer="-", ratio=None, target=0.0,
                       outcome=words[0], judgement="-")
        elif words and words[0] == "hidden":
            row = dict(zip(HIDDEN, map(number, words[1:])))
            row["case"] = words[1]
        else:
            continue
        row.update(mpi=mpi, ranks=ranks, setting=setting, place=place)
        if words[0] != "hidden" and place != "shm":
            row["case"] += f"/{place}"
        rows.append(row)
    return rows


def key(row):
    return tuple(str(row[name]) for name in KEY)


def choose(rows):
    """For each comparison, the row of the run with the fastest peer."""
    chosen = {}
    for row in rows:
        old = chosen.get(key(row))
        faster = old and old["ratio"] is not None and row["ratio"] is not None and (
            row["peer_value"] < old["peer_value"])
        if old is None or old["ratio"] is None or faster:
            chosen[key(row)] = row
    return list(chosen.values())


def by_run(rows):
    """Rows by MPI and number of ranks, Open MPI first: it has the most peers."""
    runs = {(row["mpi"], row["ranks"]) for row in rows}
    for mpi, ranks in sorted(runs, key=lambda run: (run[0] != "openmpi", run[1])):
        yield mpi, ranks, [row for row in rows if (row["mpi"], row["ranks"]) == (mpi, ranks)]


def counts(rows):
    """Outcomes by peer: wins over many slow ones do not make up for a loss. Comparisons of Grove
    with itself, and single figures, only have a target."""
    count = lambda field, word, among: sum(1 for r in among if r[field] == word)
    peers = sorted({r["peer"] for r in rows if not r["peer"].startswith(("grove", "value", "-"))})
    result = {"peers": {peer: {word: count("outcome", word, [r for r in rows if r["peer"] == peer])
                               for word in ("win", "tie", "loss", "missing")} for peer in peers}}
    for word in ("met", "within", "missed"):
        result[word] = count("judgement", word, rows)
    result["target_missing"] = count("judgement", "missing", rows)
    result["wrong"] = count("outcome", "wrong", rows)
    result["failed"] = count("outcome", "failed", rows)
    return result


def describe(c):
    against = [f"{peer} {n['win']}, {n['tie']}, {n['loss']}"
               + (f" and {n['missing']} not run" if n["missing"] else "")
               for peer, n in c["peers"].items()]
    text = (f"wins, ties, losses against {'; '.join(against) or 'nobody'}. "
            f"Targets: {c['met']} met, {c['within']} within the interval, {c['missed']} missed, "
            f"{c['target_missing']} not run")
    for word in ("failed", "wrong"):
        text += f"; {c[word]} {word.upper()}" if c[word] else ""
    return text


def figure(value):
    """Four digits, whatever the size."""
    if not isinstance(value, float) or value == 0 or math.isnan(value):
        return "-"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 3)}f}"


def there(row):
    """The peer; for `mpi` the faster way."""
    other = row["ratio"] is not None and row["against"] != "-" and "@" not in row["peer"]
    return row["against"] if other else row["peer"]


def table(rows):
    head = "case method peer here there ratio interval target outcome target? setting".split()
    lines = [head]
    for r in rows:
        if r["ratio"] is None:
            lines.append([r["case"], r["method"], r["peer"], "-", "-", "-", "-",
                          figure(r["target"]), r["outcome"], r["judgement"], "-"])
            continue
        lines.append([r["case"], r["method"], there(r), figure(r["value"]), figure(r["peer_value"]),
                      f"{r['ratio']:.3f}", f"{r['low']:.3f}-{r['high']:.3f}", figure(r["target"]),
                      r["outcome"], r["judgement"], r["setting"]])
    return columns(lines)


def columns(lines):
    """Lists of words as lines, aligned in columns."""
    widths = [max(map(len, words)) for words in zip(*lines)]
    return "\n".join("  ".join(w.ljust(n) for w, n in zip(line, widths)).rstrip()
                     for line in lines)


def markdown_table(lines):
    """A table from its head and rows."""
    head, *rest = (f"| {' | '.join(words)} |" for words in lines)
    return [head, "|---" * len(lines[0]) + "|", *rest]


def lscpu(*words):
    """The output lines; none where there is no such command."""
    try:
        shown = subprocess.run(["lscpu", *words], capture_output=True, text=True, check=False)
    except OSError:
        return []
    return shown.stdout.splitlines()


def machine():
    """A name for this machine, without blanks: architecture, processor, number of cores."""
    model = next((line.split(":", 1)[1].strip() for line in lscpu()
                  if line.startswith("Model name:")), "")
    words = [platform.machine(), *model.split(), f"{len(os.sched_getaffinity(0))}-cores"]
    return "-".join(words)


def cores():
    """Cores that this process may use; hardware threads count once, as in tools/launch."""
    usable = os.sched_getaffinity(0)
    words = [line.split(",") for line in lscpu("-p=CPU,CORE,SOCKET") if not line.startswith("#")]
    distinct = {(core, socket) for cpu, core, socket in words if int(cpu) in usable}
    return len(distinct) or len(usable)


def grid(path):
    """The words of each case of a grid, by name; none where there is no such file."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        lines = [line.partition("#")[0].split() for line in file]
    return {words[0]: words for words in lines if words}


def at_hand(folder, name, ending):
    """The name and path of a matrix or mesh, or of its stand-in (tools/stand-ins) if only that
    exists."""
    path = lambda word: os.path.abspath(os.path.join(folder, f"{word}.{ending}.gz"))
    other = f"like-{name}"
    chosen = other if not os.path.exists(path(name)) and os.path.exists(path(other)) else name
    return chosen, path(chosen)


# ---- pages ----

def markdown(rows, targets_only):
    """A table of the rows, or of those with a target."""
    lines = [["case", "here / there", "us, us", "ratio", "interval", "target", ""]]
    for row in rows:
        if row["ratio"] is not None and (row["target"] or not targets_only):
            lines.append([row["case"], f"{row['method']} / {there(row)}",
                          f"{figure(row['value'])}, {figure(row['peer_value'])}",
                          f"{row['ratio']:.3f}", f"{row['low']:.3f} - {row['high']:.3f}",
                          f"{row['target']:g}" if row["target"] else "-",
                          row["judgement"] if row["target"] else row["outcome"]])
    return markdown_table(lines)


def not_run(rows):
    """Rows without a ratio, as a paragraph: the cases of each comparison."""
    cases = {}
    for row in rows:
        if row["ratio"] is None:
            what = "not run" if row["outcome"] == "missing" else row["outcome"].upper()
            target = f" ({row['target']:g})" if row["target"] else ""
            whose = f"{row['method']} / {row['peer']}, {what}"
            cases.setdefault(whose, []).append(row["case"] + target)
    lines = [f"- {what}: {', '.join(names)}" for what, names in cases.items()]
    return ["Without a figure (in brackets their targets):", "", *lines, ""] if lines else []


def sections(rows, targets_only):
    """The tables of all runs, for a page."""
    lines = [f"In all: {describe(counts(rows))}.", ""]
    for mpi, ranks, part in by_run(rows):
        lines += [f"## {mpi}, {ranks} ranks{' on 2 cores' if ranks > 2 else ''}", "",
                  f"{describe(counts(part))}.", "", *markdown(part, targets_only), "",
                  *not_run(part)]
    return lines


# ---- latency ----

def by_size(rows):
    """For each MPI and carrier of messages, its name and a table: one column per size, one line per
    method."""
    split = lambda row: (row["mpi"], *row["case"].partition("/")[::2])
    for mpi, carrier in dict.fromkeys(split(row)[::2] for row in rows):
        of_this = [row for row in rows if split(row)[::2] == (mpi, carrier)]
        sizes = dict.fromkeys(split(row)[1] for row in of_this)
        us = {(row["method"], split(row)[1]): row["value"] for row in of_this if row["ratio"]}
        us |= {("mpi", split(row)[1]): row["peer_value"] for row in of_this if row["ratio"]}
        lines = [["us", *sizes]]
        for method in dict.fromkeys(["mpi", *(row["method"] for row in of_this)]):
            lines.append([method, *(figure(us.get((method, size), math.nan)) for size in sizes)])
        yield f"{mpi}, {carrier or 'shm'}", lines


# ---- hidden shares ----

def choose_hidden(rows):
    """For each place, case and method, the run with the fastest exchange and computing."""
    chosen = {}
    for row in rows:
        key_of_row = tuple(row[name] for name in ("mpi", "ranks", "place", "case", "method"))
        if key_of_row not in chosen or row["total"] < chosen[key_of_row]["total"]:
            chosen[key_of_row] = row
    return list(chosen.values())


def by_place(rows):
    for place in dict.fromkeys(f"{r['mpi']}, {r['ranks']} ranks, {r['place']}" for r in rows):
        yield place, [r for r in rows if f"{r['mpi']}, {r['ranks']} ranks, {r['place']}" == place]


def hidden_table(rows):
    lines = [f"{'bytes':8}{'method':14}{'exchange':>10}{'compute':>10}{'both':>10}{'hidden':>8}"
             f"   interval        setting"]
    for row in rows:
        lines.append(f"{row['case']:8}{row['method']:14}{row['exchange']:10.2f}"
                     f"{row['compute']:10.2f}{row['total']:10.2f}{row['share']:8.2f}"
                     f"   {row['low']:5.2f} - {row['high']:5.2f}   {row['setting']}")
    return "\n".join(lines)


def hidden_markdown(rows):
    """One line per size, one column per method: the hidden share, and the microseconds of an
    exchange and of both."""
    lines = []
    for place, part in by_place(rows):
        methods = list(dict.fromkeys(r["method"] for r in part))
        table_of_place = [["bytes", *methods]]
        for case in dict.fromkeys(r["case"] for r in part):
            found = {r["method"]: r for r in part if r["case"] == case}
            table_of_place.append([case, *(
                f"{r['share']:.2f} ({figure(r['exchange'])}, {figure(r['total'])})" if r else "-"
                for r in map(found.get, methods))])
        lines += [f"## {place}", "", *markdown_table(table_of_place), ""]
    return lines


def compare(rows, figures, name):
    """Lines about the rows whose interval does not overlap that of the committed figure."""
    old = figures.load()
    mine = [row for row in old if row["machine"] == name]
    if not old:
        return [f"there are no committed figures in {os.path.basename(figures.path)}"]
    lines = [] if mine else ["no figures were committed for this machine; compared with another's"]
    before = {key(row): row for row in (mine or old)}
    now = {key(row): row for row in rows if row["ratio"] is not None}
    seen = {"better": 0, "worse": 0, "same": 0}
    for k in sorted(now.keys() & before.keys()):
        a, b = before[k], now[k]
        word = "better" if b["high"] < a["low"] else "worse" if b["low"] > a["high"] else "same"
        seen[word] += 1
        if word != "same":
            lines.append(f"  {word:6}  {' '.join(k)}: {a['ratio']:.3f} -> {b['ratio']:.3f}")
    lines.append(f"{seen['better']} better, {seen['worse']} worse, {seen['same']} the same within "
                 "the intervals, "
                 f"{len(now.keys() - before.keys())} without a committed figure")
    return lines
