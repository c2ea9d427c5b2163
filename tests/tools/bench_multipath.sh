#!/usr/bin/env bash
# The study of copies over several paths, small, on emulated links: every copy arrives, a wrong byte
# is found; and what bench/run --multipath makes of rows. Nothing here looks at a time.
#
#   BUILD   the build directory (build)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
# shellcheck source=tests/tools/grids.bash
source "$(dirname "${BASH_SOURCE[0]}")/grids.bash"
needs python3
limit=100

# --- all of it is right ---

BUILD=$BUILD run bench/run --multipath --check --no-build --json
((status == 0)) || fail 'a byte is wrong, or something did not run'
PYTHONPATH=bench PYTHONDONTWRITEBYTECODE=1 python3 - "$work/out" 2>"$work/err" <<'END' ||
import collections, json, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
lines = collections.Counter((row["rung"], row["line"]) for row in d["rows"])
loads = 2 * 2 * 2  # sizes, windows, ways
assert lines["emulated", "copies"] == 3 * loads * 5 + 2 * 3, lines
assert lines["emulated", "collectives"] == 5 * 4 and lines["emulated", "nodes"] == 5, lines
assert lines["host", "cost"] == 5 * 5 and lines["sm-links", "host"] == 2 + 6, lines
assert lines["sm-links", "copies"] == 6 * (4 + 3 + 3) and lines["gpu", "plain"] == 6 * 3, lines
assert all(row["median"] > 0 for row in d["rows"] if row["method"] not in ("slower", "split"))
# The clock is the device's own, so these are the same everywhere.
said = {line["target"].split(":")[0]: line["judgement"] for line in d["targets"]
        if line["where"] == "emulated"}
assert said["10 random nodes, 20 copies"] == "met", said
END
  fail 'the rows are not as they should be'

# --- a wrong byte is found ---

run tools/launch 1 "$BUILD/bin/grove_bench_multipath" --check --tries 1 --sabotage \
  --study hard,collectives,host
((status == 1)) || fail 'wrong bytes are not found'
lines $((5 * 3)) '^wrong emulated beluga ideal collectives '
lines 2 '^wrong sm-links beluga 1-block host '

# --- what rows mean ---

judge <<'END'
import multipath

study = multipath.Multipath()
study.gpus = [("A GPU", "1")]

def rows(*lines):
    run = multipath.Run("sweep", "emulated")
    return [dict(row, machine="some-4-cores") for row in
            study.parse([f"row {line} 0 0" for line in lines], run)]

mib = 1 << 20
one = "emulated beluga ideal copies 4-paths,w1,one-way"
both = "emulated beluga hard copies seed-1,both-ways"
mesh = "sm-links gpu 1-block copies direct+gpu2+w1+one-way"
host, nodes = "sm-links gpu 1-block host one-way", "emulated random any nodes random 500"
found = rows(
    f"{one} {256 * mib} direct 300", f"{one} {256 * mib} dynamic 100", f"{one} {256 * mib} best 98",
    f"{one} {256 * mib} predicted 102", f"{one} {256 * mib} static 101",
    f"{one} {2 * mib} dynamic 12", f"{one} {2 * mib} best 10", f"{one} {2 * mib} predicted 24",
    f"{both} {8 * mib} dynamic 100", f"{both} {8 * mib} predicted 90",
    f"{both} {16 * mib} dynamic 100", f"{both} {16 * mib} predicted 100",
    f"{nodes} copies 1000", f"{nodes} split 300", f"{nodes} slower 1", f"{nodes} worst 1.5",
    f"{nodes} mean 0.5",
    f"host beluga none cost 4-paths {8 * mib} decision 0.02",
    f"host beluga none cost 4-paths {8 * mib} call 0.3",
    f"host beluga none cost 4-paths {8 * mib} driver 0.1",
    f"host beluga none cost 4-paths {8 * mib} transfer 100",
    f"emulated beluga ideal collectives alltoall-bruck {512 * mib} direct 100",
    f"emulated beluga ideal collectives alltoall-bruck {512 * mib} alone 90",
    f"emulated beluga ideal collectives alltoall-bruck {512 * mib} together 55",
    f"emulated beluga ideal collectives alltoall-bruck {512 * mib} bound 50",
    f"{mesh} {512 * mib} direct 190", f"{mesh} {512 * mib} dynamic 100",
    f"{mesh} {512 * mib} predicted 95",
    f"{host} {256 * mib} dynamic 110", f"{host} {256 * mib} predicted 109",
    f"{host} {256 * mib} again 110", f"{host} {256 * mib} searched 100",
    f"sm-links gpu 1-block links pinned {256 * mib} d2h 99",
    f"sm-links gpu 1-block links pinned {256 * mib} h2d 100",
    "gpu gpu - plain inside 1024 ratio 1.01", "gpu gpu - plain inside 4096 ratio 1.03",
)
kept = study.parse([f"row {one} 8 dynamic 1 0 0", f"row {one} 8 direct 1 0 0",
                    f"wrong {one} 8 dynamic 3 wrong copies"], multipath.Run("sweep", "emulated"))
assert [row["method"] for row in kept] == ["direct"], kept
said = judgement(study, found, found[:9])
expected = {
    ("over the exact optimum, one-way, w1, from 8Mi, 1 cases: worst", "emulated"):
        ["<= 3 %", "+2.0 % (beluga, 4-paths,w1,one-way, 256Mi)", "met"],
    ("over the exact optimum, one-way, w1, below 8Mi, 1 cases: worst", "emulated"):
        ["<= 10 %", "+20.0 % (beluga, 4-paths,w1,one-way, 2Mi)", "missed"],
    ("direct / dynamic, 4 paths of Beluga, 256Mi", "emulated beluga ideal"):
        [">= 2.9", "3.00", "met"],
    ("predicted, ideal links, one copy, 1 cases: worst", "emulated"):
        ["<= 1 %", "+2.0 % (beluga, 4-paths,w1,one-way, 256Mi)", "missed"],
    ("predicted, hard links, 2 cases: mean", "emulated"): ["<= 6 %", "5.0 %", "met"],
    ("predicted, hard links, 2 cases: worst", "emulated"):
        ["<= 15 %", "+10.0 % (beluga, seed-1,both-ways, 8Mi)", "met"],
    ("dynamic / static, one-way, w1, 1 cases: mean", "emulated"):
        ["-", "0.990 (0.99)", "not judged"],
    ("500 random nodes, 1000 copies: slower than directly", "emulated"):
        ["none", "1 (worst 1.500, mean 0.50; 300 were split)", "missed"],
    ("a decision that is cached, us: worst", "host"): ["<= 0.05", "0.0200", "met"],
    ("decision of the transfer, 8Mi", "host"): ["<= 0.1 %", "0.0200 %", "met"],
    ("all but the driver's calls of the transfer, 8Mi", "host"): ["<= 0.1 %", "0.200 %", "missed"],
    ("alltoall-bruck, 512Mi: bound / together", "emulated beluga ideal"):
        [">= 0.9", "0.91", "met"],
    ("alltoall-bruck, 512Mi: direct / together", "emulated beluga ideal"):
        [">= 1.4", "1.82 (alone 1.11)", "met"],
    ("direct / dynamic, direct+gpu2, 512Mi", "sm-links A-GPU 1-block"):
        [">= 1.92", "1.90", "missed"],
    ("predicted, from 64Mi, 1 cases: mean", "sm-links A-GPU 1-block"): ["<= 6 %", "5.0 %", "met"],
    ("by the host alone, predicted, one-way, 1 cases: worst", "sm-links A-GPU 1-block"):
        ["<= 6 %", "+0.9 % (A-GPU, one-way, 256Mi)", "met"],
    ("by the host alone, over the best chunk count, 1 cases: worst", "sm-links A-GPU 1-block"):
        ["<= 5 %", "+10.0 % (A-GPU, one-way, 256Mi)", "missed"],
    ("by the host alone, 256Mi: rate / slower link", "sm-links A-GPU 1-block"):
        [">= 0.9", "0.91", "met"],
    ("one GPU, beside the driver's copy, 2 sizes: worst", "gpu A-GPU"):
        ["<= 1.02", "1.030 (4Ki)", "missed"],
}
assert expected == said, {key: (expected.get(key), said.get(key)) for key in {*expected, *said}
                          if expected.get(key) != said.get(key)}
assert "| alltoall-bruck | 512Mi | 100.0 | 90.00 | 55.00 | 50.00 | 1.82 | 0.91 |" in said.page
END

echo 'every copy of the study arrives, and its figures are judged'
