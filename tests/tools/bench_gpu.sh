#!/usr/bin/env bash
# The study of device memory on the emulated device: every method of every line gives right values,
# a wrong one is found; and what bench/run --gpu makes of rows. Nothing here looks at a time.
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

BUILD=$BUILD run bench/run --gpu --check --no-build --json
((status == 0)) || fail 'a value is wrong, or something did not run'
PYTHONPATH=bench PYTHONDONTWRITEBYTECODE=1 python3 - "$work/out" 2>"$work/err" <<'END' ||
import collections, json, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
lines = collections.Counter(row["line"] for row in d["rows"])
sizes = 2  # 1 KiB and 4 KiB
assert lines == {"pack": 14, "unpack": 14, "bits": 2, "reduce": 6, "pair": 2 * 2 * sizes,
                 "copies": 2, "begun": 12, "launches": 7, "matrix": 4,
                 "matrix-host": 4}, lines
by_case = {(row["line"], row["case"], row["method"]): row for row in d["rows"]}
traffic = lambda case: by_case["pack", case, "grove"]["traffic"]
# 1024 doubles: a copy reads and writes 8 KiB, a sector has 32 bytes, an entry of a list 4, and a
# recipe itself 224.
assert traffic("contiguous") == by_case["pack", "random", "copy"]["traffic"] == 2 * 8192
assert traffic("rows-128") == 2 * 8192 + 224, traffic("rows-128")
assert traffic("rows-8") == traffic("rows-8-close") == 1024 * 32 + 8192 + 224
assert traffic("random") == 1024 * (32 + 4) + 8192 + 224
assert traffic("sorted") == 1024 * (16 + 4) + 8192 + 224
assert by_case["pack", "sorted", "hand"]["traffic"] == 1024 * (16 + 4) + 8192
assert by_case["bits", "all", "equal"]["median"] > 100
assert [line["judgement"] for line in d["targets"]] == ["met"], d["targets"]  # the bits alone
END
  fail 'the rows are not as they should be'

# --- a wrong value is found ---

# spoilt RANKS STUDIES N: so many wrong entrants are told.
spoilt() {
  GROVE_DEVICE=emulated run tools/launch "$1" "$BUILD/bin/grove_bench_gpu" --driver emulated \
    --study "$2" --most 1024 --samples 1 --repeats 1 --sabotage
  ((status == 1)) || fail "wrong values of $2 are not found"
  lines "$3" '^wrong '
}
later spoilt 1 kernels,reduce $((2 * 8 + 1 + 3))
later spoilt 2 pair,launches $((2 * 2 + 3))
now

# --- what rows mean ---

judge <<'END'
import gpu

study = gpu.Gpu()

def rows(setting, *lines):
    run = gpu.Run("pair", 2, "a-gpu", setting)
    return [dict(row, machine="some-4-cores") for row in
            study.parse([f"row {line}" for line in lines], run)]

big, mib = 64 << 20, 1 << 20
found = [
    *rows("no-mps", f"pack rows-128 {big} copy {2 * big} 30 0 0",
          f"pack rows-128 {big} grove {2 * big} 32 0 0",
          f"unpack rows-8-close {big} copy {2 * big} 30 0 0",
          f"unpack rows-8-close {big} grove {5 * big} 300 0 0",
          f"pack random {big} copy {2 * big} 30 0 0",
          f"pack random {big} grove {5 * big} 150 0 0",
          f"pack random {big} hand {5 * big} 100 0 0",
          "bits all 1000 compared 0 127 127 127", "bits all 1000 equal 0 126 126 126"),
    *rows("mps", f"pair list {mib} grove 0 100 0 0", f"pair list {mib} hand 0 50 0 0",
          f"pair list {big} grove 0 1300 0 0", f"pair list {big} hand 0 2600 0 0",
          f"pair contiguous {big} grove 0 1170 0 0",
          f"copies pinned {big} d2h 0 1170 0 0", f"copies pinned {big} h2d 0 1100 0 0",
          "matrix a 800 grove 0 100 0 0", "matrix a 800 hand 0 100 0 0",
          "matrix b 800 grove 0 100 0 0", "matrix b 800 hand 0 400 0 0",
          "matrix-host a 800 grove 0 20 0 0", "matrix-host a 800 hand 0 40 0 0",
          "matrix-host b 800 grove 0 50 0 0", "matrix-host b 800 hand 0 100 0 0",
          "begun x1 4096 grove 0 40 0 0", "begun x32 4096 grove 0 10 0 0",
          "launches A-B-C 4096 wait 0 100 0 0", "launches A-B-C 4096 wait-on-stream 0 80 0 0"),
    *rows("-", "instructions send 8 cuda 0 166.8 166.8 166.8",
          "instructions send 8 without 0 166.8 166.8 166.8"),
]
run = gpu.Run("pair", 2, "a-gpu", "mps")
kept = study.parse(["row pair list 8 grove 0 1 0 0", "row pair list 8 hand 0 1 0 0",
                    "wrong pair list 8 grove 3 wrong values"], run)
assert [row["method"] for row in kept] == ["hand"], kept
said = judgement(study, found, found[:9])
expected = {
    ("pack, rows-128, 64Mi: DRAM rate / copy", "openmpi a-gpu no-mps"): [">= 0.9", "0.94", "met"],
    ("unpack, rows-8-close, 64Mi: DRAM rate / copy", "openmpi a-gpu no-mps"):
        ["-", "0.25", "not judged"],
    ("pack, random, 64Mi: DRAM rate / copy", "openmpi a-gpu no-mps"): [">= 0.7", "0.50", "missed"],
    ("reduce, bits as on the host: types and operations", "openmpi a-gpu no-mps"):
        ["all", "126 of 127", "missed"],
    ("ping-pong, list, 64Mi: rate / slower copy", "openmpi a-gpu mps"): [">= 0.9", "0.90", "met"],
    ("ping-pong, contiguous, 64Mi: rate / slower copy", "openmpi a-gpu mps"):
        [">= 0.9", "1.00", "met"],
    ("by hand / grove, 2 matrices: mean", "openmpi a-gpu mps"):
        [">= 1.5", "2.00 (1.00 to 4.00)", "met"],
    ("by hand / grove, 2 matrices on the host: mean", "openmpi a-gpu mps"):
        ["-", "2.00 (2.00)", "not judged"],
    ("by hand / grove, 2 matrices with the cheaper device part: mean", "openmpi a-gpu mps"):
        ["-", "1.37 (1.25 to 1.50)", "not judged"],
    ("an exchange, 32 begun at once / 1", "openmpi a-gpu mps"): ["-", "0.25", "not judged"],
    ("kernels behind an exchange: grove_wait_on_stream / grove_wait", "openmpi a-gpu mps"):
        ["-", "0.80", "not judged"],
    ("instructions of a host program, send: with CUDA, without", "some-4-cores"):
        ["equal", "166.8, 166.8", "met"],
}
assert expected == said, said
assert "| random | 64Mi | 150.0 | 447.4 | 2237 | 0.500 | 0.750 |" in said.page, said.page
assert "| list | 64Mi | 1300 | 2600 | 51.6 | 2.00 |" in said.page, said.page
assert "| contiguous | 64Mi | 1170 | - | 57.4 | - |" in said.page, said.page
END

echo 'every method of the study of device memory is right, and its figures are judged'
