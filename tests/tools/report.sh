#!/usr/bin/env bash
# grove report on results that were saved: every picture is there and shows the numbers of its file,
# every picture has a table, several results stand side by side, foreign text stays text; and broken
# files get one sentence. The browser's view of it is tests/tools/page.py.
#
#   BUILD   the build directory (build)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs python3
limit=20
saved=$PWD/tests/tools/reports
page=$work/page.html

# look FILE...: what standard input asserts in Python of the page, made from these results.
look() {
  run "$grove" report "$@" -o "$page" --title 'A title'
  ((status == 0)) || fail 'it failed'
  has "the page is $page"
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests/tools python3 - "$page" "$@" 2>"$work/err" ||
    fail 'the page is not as it should be'
}

# --- one result ---

look "$saved/elasticity.json" <<'END'
from report_page import *
d = results[0]
assert texts("h1") == ["A title"] and texts("title")[0] == "A title"
assert [e.get("id") for e in all("section")] == ["savings", "times", "price", "traffic", "machine"]
whole()

# Bars are as long as the numbers of the file.
for card, part in zip(cards("times"), (d, d["reduce"])):
    entrants = [*part["routes"], part["auto"], *part["baselines"]]
    bars = [e for e in shapes(card, "rect") if e.get("class") in ("grove", "choice", "baseline")]
    proportional([float(e.get("width")) for e in bars], [x["median_seconds"] for x in entrants])
    marks = [e for e in shapes(card, "line") if e.get("class") == "predicted"]
    assert len(marks) == len(part["routes"]) + 1
    proportional([float(e.get("x1")) - 2 for e in marks],
                 [x["predicted_seconds"] for x in [*part["routes"], part["auto"]]])
    intervals = [e for e in shapes(card, "line") if e.get("class") == "interval"]
    assert len(intervals) == 3 * len(entrants)
    chosen = [e for e in card.iter("tr") if e.get("class") == "chosen"]
    assert [text(e.find("th")) for e in chosen] == [part["auto"]["route"] + " *",
                                                    f"auto ({part['auto']['route']})"]
for card, part in zip(cards("price"), (d, d["reduce"])):
    terms = [s for x in part["routes"] for s in x["price"].values() if s > 0]
    bars = [e for e in shapes(card, "rect") if e.get("class") in {f"t{i}" for i in range(8)}]
    proportional([float(e.get("width")) for e in bars], terms, 0.02)
    assert "chosen" in text(card)

# A cell for each pair that has something to say to each other.
for card, flows in zip(cards("traffic"), (d["traffic"]["by_rank"], d["traffic"]["by_node"])):
    cells = [e for e in shapes(card, "rect") if (e.get("class") or "").startswith("heat")]
    assert len(cells) - 9 == len(flows), (len(cells), len(flows))  # nine are the scale
points = [p for p in d["profile"]["points"] if p["series"].startswith(("ping-pong", "stream"))]
assert len(shapes(cards("machine")[0], "circle")) == len(points) > 20
assert "all checked, all right" in text(root)
END

# --- several ---

look "$saved/elasticity.json" "$saved/random.json" <<'END'
from report_page import *
whole()
assert [text(c.find("h3")) for c in cards("times")] == [
    "bcast elasticity", "bcast random", "reduce elasticity"]
assert len(cards("traffic")) == 4 and len(cards("machine")) == 2
rows = cards("savings")[0].findall(".//tbody/tr")
assert len(rows) == 3
for row, part in zip(rows, (results[0], results[1], results[0]["reduce"])):
    cells = [text(e) for e in row]
    standard = part["routes"][0]["median_seconds"] / part["auto"]["median_seconds"]
    best = min(x["median_seconds"] for x in part["baselines"])
    assert cells[4] == f"{standard:.2f}×", cells
    assert cells[7] == f"{best / part['auto']['median_seconds']:.2f}×", cells
END
cp "$saved/random.json" "$work/again.json"
look "$saved/random.json" "$work/again.json" <<'END'
from report_page import *
assert len(cards("machine")) == 1  # the same machine once
END
run "$grove" report "$saved/random.json" -o "$page" --json
python3 - "$work/out" <<'END' || fail 'not the JSON of a report'
import json, sys
d = json.load(open(sys.argv[1]))
assert [x["result"] for x in d["operations"]] == ["random"] and d["page"].endswith("page.html")
assert d["operations"][0]["over_standard"] > 0
END

# --- what is foreign, old or odd ---

# change EXPRESSION: the saved result, changed by Python, in $work/changed.json.
change() {
  python3 - "$saved/random.json" "$work/changed.json" "$1" <<'END'
import json, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
exec(sys.argv[3])
json.dump(d, open(sys.argv[2], "w", encoding="utf-8"))
END
}

change 'd["pattern"] = d["auto"]["route"] = d["routes"][0]["route"] = "<b>&\"µ</b>"'
look "$work/changed.json" <<'END'
from report_page import *
whole()
assert '<b>&"µ</b> *' in [text(e) for e in root.iter("th")]
END
change 'for k in ("traffic", "profile", "date", "processor", "network", "mpi"): del d[k]
for r in d["routes"]: del r["price"]'
look "$work/changed.json" <<'END'
from report_page import *
assert "has no prices by term" in text(root) and "does not tell" in text(root)
assert "No result has the machine's profile" in text(root)
END
change 'd["auto"] = None; d["baselines"] = []; d["routes"] = d["routes"][1:]'
look "$work/changed.json" <<'END'
from report_page import *
assert "No result has both a choice" in text(root)
assert len(shapes(cards("times")[0], "rect")) == 3
END
change 'd["ranks"], d["nodes"] = 300, 150
d["traffic"] = {"node_of_rank": [r // 2 for r in range(300)],
                "by_rank": [[r, (r + 7) % 300, 1, 8 + r] for r in range(300)],
                "by_node": [[n, (n + 3) % 150, 2, 16 + n] for n in range(150)]}'
look "$work/changed.json" <<'END'
from report_page import *
whole()
for card in cards("traffic"):
    assert len(card.findall(".//tbody/tr")) == 10  # the largest
END
change 'd["profile"]["points"] = [
  {"x": 1024, "measured_seconds": 4e-5, "fitted_seconds": 3e-5, "series": "exchange far 3-step"},
  {"x": 64, "measured_seconds": 2e-5, "fitted_seconds": None, "series": "exchange next standard"}]'
look "$work/changed.json" <<'END'
from report_page import *
whole()
rows = [[text(e) for e in row] for row in cards("machine")[0].iter("tr")]
assert ["far 3-step", "1.02 kB", "40.0 µs", "30.0 µs", "0.75"] in rows, rows
assert ["next standard", "64 B", "20.0 µs", "-", "-"] in rows, rows
END
change 'd["routes"][0]["verified"] = False'
look "$work/changed.json" <<'END'
from report_page import *
assert "some are WRONG" in text(root)
END

# --- broken: one sentence, status 2, and no page ---

# bad WORDS ARGUMENT...
bad() {
  local words=$1
  shift
  rm -f "$page"
  run "$grove" report "$@" -o "$page"
  ((status == 2)) || fail 'the exit status is not 2'
  [[ ! -s $work/out && $(wc -l <"$work/err") == 1 ]] || fail 'not one sentence'
  grep -qFe "$words" "$work/err" || fail "the sentence does not say '$words'"
  [[ ! -e $page ]] || fail 'there is a page'
}

broken=$work/broken.json
head -c 1000 "$saved/random.json" >"$broken"
bad "$broken, line " "$broken"
printf '{"ranks": 4,\n "nodes": 2,}\n' >"$broken"
bad "$broken, line 2, column 13: '}' stands where a name in quotes should be" "$broken"
printf '{"routes": [], "ranks": 4, "nodes": 1e400}' >"$broken"
bad 'no result of grove bench' "$broken"
printf '[1, 2]' >"$broken"
bad 'no result of grove bench' "$saved/random.json" "$broken"
printf '{"routes": [{}], "ranks": 1, "nodes": 1}' >"$broken"
bad 'no entrant has a time' "$broken"
: >"$broken"
bad 'line 1, column 1: the file ends' "$broken"
change 'd["traffic"]["by_rank"][0][1] = d["ranks"]'
bad 'does not fit' "$work/changed.json"
bad 'cannot be read' "$work/no-such-file.json"
bad 'which results'
bad "--fast" "$saved/random.json" --fast
run "$grove" report "$saved/random.json" -o "$work/no/such/folder.html"
((status == 2)) || fail 'a page that cannot be written: the exit status is not 2'

echo 'pages show the numbers of their files'
