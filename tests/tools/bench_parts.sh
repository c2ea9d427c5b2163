#!/usr/bin/env bash
# The driver on forests by parts, on cases so small that they take no time: every mode and method
# gives right values, on a matrix from a file and on a made one, a wrong one is found, and the late
# block sends its share; and what bench/run --parts makes of rows. Nothing here looks at a time.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
# shellcheck source=tests/tools/grids.bash
source "$(dirname "${BASH_SOURCE[0]}")/grids.bash"
needs python3
limit=100

cat >"$work/grid" <<'EOG'
late late 8 8,24 parts fixed:1e-4:1e-4 end parts parts:aggregator=none,look=1 parts:progress=thread
late-rows late-rows 3 8 2 fixed:1e-4:1e-4 end parts:max_messages=4
even even 8 8 parts none:0:1e-4 end parts
ghosts ghosts 1 8,24 1 fixed:1e-4 wait arrivals work
others gatherer-others 1 8 1 fixed:1e-4 start:route=3-step parts:route=3-step
whole gatherer-whole 1 8 1 fixed:1e-4 start:route=2-step parts:route=split
range range 16 8 2 none parts parts:aggregator=none
channel whole 1 8 1 none none
EOG
cat >"$work/matrix.mtx" <<'EOM'
%%MatrixMarket matrix coordinate pattern general
5 5 9
1 1
1 5
2 1
2 2
3 4
4 3
5 5
5 1
5 3
EOM

for matrix in 27pt:3 "$work/matrix.mtx"; do
  bench 4 --matrix "$matrix"
  ((status == 0)) || fail 'it failed'
  lines $((8 + 2 + 2 + 6)) '^row '
  lines 0 '^(wrong|missing) '
  lines 0 '^row late.* 0\.(0|1[01]|12[0-4])[0-9]*$' # an eighth, or more
  export GROVE_NODE_SIZE=2
  bench 4 --matrix "$matrix" --off-node
  ((status == 0)) || fail 'it failed'
  lines $((8 + 2 + 2 + 6 + 4)) '^row '
  unset GROVE_NODE_SIZE
done
bench 2 --matrix 27pt:2 --case late-rows --sabotage parts:max_messages=4
((status == 1)) || fail 'a wrong value is not found'
lines 1 '^wrong late-rows 3 8 parts:max_messages=4 '
lines 1 '^row '
bench 2
lines 1 '^row '
bench 2 --matrix "$work/nothing.mtx"
((status != 0)) || fail 'a matrix that is not there is taken'
bench 21 --case range
((status == 0)) || fail 'it failed'
lines 2 '^row '

judge <<'END'
import parts

study = parts.Parts()

def rows(shape, matrix, *lines, setting="-"):
    run = parts.Run("openmpi", shape, matrix, matrix, setting)
    return [dict(row, machine="some-4-cores") for row in
            study.parse([f"row {line}" for line in lines], run)]

found = [
    *rows("4x1", "a", "late 8 8 end 6 100 0 0 0 .125", "late 8 8 parts 6 30 0 0 0 .125",
          "even 8 8 end 6 100 0 0 0 .125", "even 8 8 parts 6 106 0 0 0 .125",
          "even 8 8 parts:aggregator=none 6 101 0 0 0 .125",
          "ghosts 1 64 wait 6 1200 0 0 0 0", "ghosts 1 64 arrivals 6 1110 0 0 0 .8",
          "ghosts 1 64 work 6 100 0 0 0 0",
          "ghosts 1 8 wait 6 1200 0 0 0 0", "ghosts 1 8 arrivals 6 1200 0 0 0 0",
          "ghosts 1 8 work 6 10 0 0 0 0"),
    *rows("4x1", "b", "late 8 8 end 6 100 0 0 0 .125", "late 8 8 parts 6 41 0 0 0 .125",
          "late 8 8 parts:aggregator=none 6 40 0 0 0 .125"),
    *rows("memory-16", "a", "ghosts 1 64 wait 6 1200 0 0 0 0",
          "ghosts 1 64 arrivals 6 1110 0 0 0 .8", "ghosts 1 64 work 6 100 0 0 0 0"),
    *rows("4x4", "a", "gatherer-others 1 8 start:route=3-step 6 70 0 0 0 .75"),
    *rows("here", "-", "range-8 16 8 parts 20 .9 0 0 0 0",
          "range-8 16 8 parts:aggregator=none 20 1.1 0 0 0 0", setting="funneled"),
]
said = judgement(study, found, found[:11])
expected = {
    ("last mark to done, 8 B a row: parts / end", "openmpi 4x1"):
        ["<= 0.4", "0.30 to 0.41", "missed"],
    ("last mark to done, 8 B a row: parts / end, best options", "openmpi 4x1"):
        ["<= 0.4", "0.30 to 0.40", "met"],
    ("whole round, none late, 8 B a row: parts / end", "openmpi 4x1"):
        ["<= 1.05", "1.06", "missed"],
    ("whole round, none late, 8 B a row: parts / end, best options", "openmpi 4x1"):
        ["<= 1.05", "1.01", "met"],
    ("one rank late: of the work without it, done before it came, 1 cases", "openmpi 4x1"):
        [">= 0.9", "0.80", "missed"],
    ("one rank late: of the work without it, time saved, 1 cases", "openmpi 4x1"):
        [">= 0.9", "0.90", "met"],
    ("one rank late: of the work without it, done before it came, 1 cases that do not fit",
     "openmpi 4x1"): [">= 0.9", "0.00", "not judged"],
    ("one rank late: of the work without it, time saved, 1 cases that do not fit", "openmpi 4x1"):
        [">= 0.9", "0.00", "not judged"],
    ("one rank late: of the work without it, time saved, 1 cases", "openmpi memory-16"):
        [">= 0.9", "0.90", "not judged"],
    ("one rank late: of the work without it, done before it came, 1 cases", "openmpi memory-16"):
        [">= 0.9", "0.80", "not judged"],
    ("gatherer late, 8 B a row, start:route=3-step", "openmpi 4x4"):
        ["-", "0.75 of the ghosts after 70 us", "not judged"],
    ("a range with 20 neighbours, 8 threads, ns: parts", "openmpi here funneled"):
        ["<= 1000", "900", "met"],
    ("a range with 20 neighbours, 8 threads, ns: parts:aggregator=none", "openmpi here funneled"):
        ["<= 1000", "1100", "missed"],
}
assert expected == said, said
assert "| b | 8 | 0.125 | 100.0 | 41.00 | 40.00 |" in said.page, said.page
END

echo 'every method of forests by parts is right, and its figures are judged'
