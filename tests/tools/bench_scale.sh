#!/usr/bin/env bash
# What bench/scale/run makes of simulated figures: speeds, regret, growth, what is a bad choice, the
# page; what it tells of the machines; and that the committed figures can be read.
# The simulation itself is run by tools/run-tests scale.
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs python3
limit=20

PYTHONPATH=bench/scale:bench PYTHONDONTWRITEBYTECODE=1 python3 - "$work/figures" 2>"$work/err" \
  <<'END' || fail 'the figures do not say what they should'
import sys
import machine as m
import results as s

figures = s.Scale().figures
figures.path = sys.argv[1]
assert figures.load() == []


def rows(ranks, case, chosen, seconds, init=2e-4, overhead="most"):
    """Those of a case, from the seconds of its routes."""
    times = {**seconds, "auto": seconds[chosen]}
    return [{"machine": "lassen", "overhead": overhead, "ranks": ranks, "case": case,
             "entrant": name, "route": chosen if name == "auto" else name, "seconds": times[name],
             "predicted": 1e-5, "forest": 1e-4, "init": init, "memory": 100.0 * ranks,
             "messages": 5.0, "bytes": 80.0, "wrong": 0.0, "context": 1e-3}
            for name in ["auto", *s.ROUTES]]


good = {"standard": 8e-5, "2-step": 4e-5, "3-step": 2e-5, "split": 2e-5}
slow = {"standard": 2e-5, "2-step": 4e-5, "3-step": 4e-5, "split": 4e-5}
small = rows(256, "near:50:16", "3-step", good)
large = rows(512, "near:50:16", "2-step", good, init=5e-4)
bad = rows(512, "random:50:16", "split", slow)

# A later save keeps what it did not run, and replaces what it did.
figures.save(small + rows(512, "near:50:16", "standard", good), ("2026-01-01", "-", "by hand"))
figures.save(large + bad, ("2026-01-01", "-", "by hand"))
saved = figures.load()
assert saved == small + large + bad, saved
cases = s.group(saved)
assert [c["regret"] for c in cases] == [1, 2, 2], cases
assert [c["speed"]["auto"] for c in cases] == [4, 2, 0.5], cases
assert len(s.bad_choices(cases)) == 2 and s.bad_choices(cases[:1]) == []
lines = dict(s.summary(cases))
assert lines["auto over standard, least (wanted 0.97)"].startswith("0.500, lassen"), lines
assert lines["regret, geometric mean (wanted 1.05)"].startswith("1.587 of 3"), lines
near = [line for line in s.growth(cases) if line[0] == "near:50:16"]
assert [line[7] for line in near] == ["1.00", "2.00"], near  # 600 us after 300
assert [line[9:] for line in near] == [["1.00", "1.00"], ["2.00", "1.12"]], near
section = "\n".join(s.page(cases))
assert "| near:50:16 | 4.00 3-step | 2.00 2-step (regret 2.00) |" in section, section
s.TARGETS = [("lassen", 512, "near:50:16", 3), ("lassen", 256, "near:50:16", 3)]
assert [text.split()[-1] for _, text in s.target_lines(cases)] == ["missed", "met"]

# What Grove is told of a machine: all that it needs, and of alpha what is not the sender's.
for name in m.PROFILES:
    about = m.Machine(name)
    for overhead in m.OVERHEADS:
        text = about.profile(overhead)
        assert text.count("\ng cpu ") == 9 and text.endswith(f"end {text.count(chr(10)) - 1}\n")
        g, _, travel = about.streams("off-node", "short", overhead)
        assert abs(g + travel - about.alpha["off-node", "short"]) < 1e-15
END

run python3 bench/scale/run --figures
((status == 0)) || fail 'the committed figures cannot be read'
for target in 'lassen, 2048 ranks' 'bluewaters, 512 ranks' '10gbe, 512 ranks'; do
  has "$target"
done
grep -q ' wanted .*: met$' "$work/out" || fail 'no target is met'
