#!/usr/bin/env bash
# The driver of the benchmark on cases so small that they take no time: every method gives right
# values, a wrong one is found, a case that cannot run is counted as missing, and bench/run takes a
# comparison from the run in which the peer was faster. Nothing here looks at a time.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs python3 gnuplot

# bench RANKS ARGUMENT...: keeps what it says and its exit status.
bench() {
  local ranks=$1
  shift
  run tools/launch "$ranks" "$BUILD/bin/grove_bench" --batches 3 --batch-seconds 0.0001 \
    --case-seconds 0.01 "$@"
}

# lines N REGEX: so many lines of standard output match.
lines() {
  local n
  n=$(grep -cE "$2" "$work/out" || true)
  ((n == $1)) || fail "$n lines match '$2', not $1"
}

cat >"$work/grid" <<'EOG'
# every pattern, shape, operation and measure; sizes that are no multiple of anything
p-plain  pair contiguous bcast double 24 1 malloc exchange grove/mpi:0.5 grove/mpi-neighbor:-
p-begin  pair contiguous bcast double 8 3 malloc exchange grove-begin/grove@one:1 grove-begin/mpi:-
p-face   pair face bcast float 36 1 malloc exchange grove/mpi:-
p-runs   pair runs reduce int16 50 2 malloc exchange grove/mpi:-  # with a comment
p-same   pair contiguous bcast double 24 3 malloc unchanged grove/mpi:- grove-begin/mpi-neighbor:-
p-mixed  pair scattered reduce cdouble 160 1 malloc exchange grove/mpi:- grove/grove@double:1.3
g-random random contiguous reduce int8 31 1 malloc exchange grove/mpi:- grove/mpi-neighbor:-
g-mixed  random scattered bcast longdouble 31 1 malloc exchange grove/mpi:- grove-begin/mpi:-
g-ghost  ghost contiguous reduce double 20 1 malloc exchange grove/mpi:- grove/mpi-neighbor:-
h-face   halo face bcast double 10 1 malloc exchange grove/mpi:-
h-plain  halo contiguous reduce int 9 1 malloc exchange grove/mpi:- grove/mpi-neighbor:-
h-swap   swap contiguous bcast double 24 1 malloc exchange grove/mpi:-
k-fetch  random scattered fetch double 31 2 malloc exchange grove/grove-begin:-
k-gather random scattered gather 2int 31 2 malloc exchange grove/grove-begin:-
k-spread ghost contiguous scatter schar 31 1 malloc exchange grove/grove-begin:-
k-highest random contiguous fetch:max int 31 1 malloc exchange grove/grove-begin:-
r-prod   random contiguous reduce:prod double 31 1 malloc exchange grove/grove-begin:-
r-maxloc random contiguous reduce:maxloc 2int 31 1 malloc exchange grove/grove-begin:-
r-land   random contiguous reduce:land int 31 1 malloc exchange grove/grove-begin:-
r-last   random contiguous reduce:replace int64 31 1 malloc exchange grove/grove-begin:-
b-types  halo face bcast double*3+int32 10 1 malloc exchange grove-bundle/mpi-packed:-
b-ways   random contiguous bcast+reduce int8+double*3 31 1 malloc exchange grove-bundle/mpi-packed:-
b-kinds  ghost contiguous fetch+gather+scatter int 9 1 malloc exchange grove-bundle/grove-separate:-
g-setup  random contiguous bcast double 40 1 malloc setup grove/mpi:1
g-init   random contiguous bcast double 40 1 malloc init grove/mpi:-
g-memory random contiguous bcast double 40 1 malloc memory grove/value:12
g-growth random contiguous bcast double 40 1 malloc growth grove/value:-
p-nobody pair contiguous bcast double 8 1 malloc exchange grove/nobody:-
EOG

# rows N: so many, and nothing wrong.
rows() {
  ((status == 0)) || fail 'it failed'
  lines "$1" '^row '
  lines 0 '^wrong '
}

for ranks in 1 2; do
  bench "$ranks" --grid "$work/grid"
  rows 35
  lines 1 '^missing p-nobody grove nobody 0$'
  lines 1 "^conditions $ranks ranks, "
done
for case in p-mixed g-ghost h-plain; do # one rank of three has no partner in a pair
  bench 3 --grid "$work/grid" --case $case
  rows 2
done
bench 3 --grid "$work/grid" --case k-
rows 4
bench 3 --grid "$work/grid" --case b-
rows 3
bench 2 --grid "$work/grid" --case p-plain --crowded 1.05
rows 2
lines 1 '^row p-plain grove mpi mpi-(send|persistent) .* 1.05 (win|tie|loss) '

# One value is wrong on one rank: found, said, left out, and the exit status tells.
bench 2 --grid "$work/grid" --case g- --sabotage grove
((status == 1)) || fail 'wrong values: the exit status is not 1'
lines 7 '^wrong g-[a-z]+ grove 1$'
lines 9 '^missing g-[a-z]+ grove '
lines 1 '^row ' # grove-begin against MPI

for case in k-fetch k-gather k-spread r-last; do
  bench 2 --grid "$work/grid" --case $case --sabotage grove
  lines 1 "^wrong $case grove "
done
bench 2 --grid "$work/grid" --case b-ways --sabotage grove-bundle
lines 1 '^wrong b-ways grove-bundle '

# What hides behind computing: a line for each method, those with threads where MPI allows them.
echo 'o-swap swap contiguous bcast double 64 1 malloc overlap' \
  'grove/mpi-send:- grove-thread/mpi-thread:-' >"$work/overlap"
bench 2 --grid "$work/overlap"
((status == 0)) || fail 'overlap failed'
lines 2 '^hidden o-swap (grove|mpi-send) '
bench 2 --grid "$work/overlap" --threads
((status == 0)) || fail 'overlap with threads failed'
lines 4 '^hidden o-swap [a-z-]+ [0-9.e+-]+ [0-9.e+-]+ [0-9.e+-]+ '

# The grids of the project can be read; a wrong line is named.
for grid in grid operations bundles latency overlap; do
  bench 1 --grid "bench/$grid.txt" --case no-such-case
  ((status == 0)) || fail "bench/$grid.txt cannot be read"
done
echo 'p-bad pair contiguous bcast quadruple 8 1 malloc exchange grove/mpi:-' >>"$work/grid"
bench 1 --grid "$work/grid"
((status == 2)) || fail 'a bad grid: the exit status is not 2'
grep -q "^bench: $work/grid:30: quadruple$" "$work/err" || fail 'the line is not named'
bench 1 --no-such-flag
((status == 2)) || fail 'a bad flag: the exit status is not 2'

# bench/run: which run counts, what is counted, and the difference to figures.
(cd bench && PYTHONDONTWRITEBYTECODE=1 python3 - "$work/figures") <<'EOP'
import os
import sys
import cores, grids, study
import rows as r

slow = ["row c grove mpi mpi-send 5 10 0.5 0.4 0.6 0.7 win met", "missing c grove petsc 0.3"]
fast = ["row c grove mpi mpi-send 6 4 1.5 1.4 1.6 0.7 loss missed", "missing c grove petsc 0.3"]
rows = r.choose(r.parse(slow, "openmpi", 2, "cma") + r.parse(fast, "openmpi", 2, "nocma"))
assert len(rows) == 2 and rows[0]["setting"] == "nocma" and rows[0]["ratio"] == 1.5, rows
share = ["hidden 64 grove 2 2 3 0.5 0.4 0.6", "failed c petsc"]
shares = r.choose_hidden(r.parse(share[:1], "openmpi", 2, "cma", "tcp"))
assert [place for place, _ in r.by_place(shares)] == ["openmpi, 2 ranks, tcp"], shares
assert "0.50 (2.000, 3.000)" in r.hidden_markdown(shares)[4], r.hidden_markdown(shares)
elsewhere = r.parse(slow[:1] + share[1:], "openmpi", 2, "cma", "tcp")
assert elsewhere[0]["case"] == "c/tcp" and r.counts(elsewhere)["failed"] == 1, elsewhere
c = r.counts(rows)
assert (c["missed"], c["target_missing"]) == (1, 1), c
assert c["peers"] == {"mpi": {"win": 0, "tie": 0, "loss": 1, "missing": 0},
                      "petsc": {"win": 0, "tie": 0, "loss": 0, "missing": 1}}, c
assert r.describe(c).startswith("wins, ties, losses against mpi 0, 0, 1; petsc 0, 0, 0 and 1"), c
assert r.table(rows).count("\n") == 2

path = sys.argv[1]
note = ("2026-01-01", "-", "by hand")
figures = grids.figures(path)

def save(rows, name):
    figures.save([dict(row, machine=name) for row in rows if row["ratio"] is not None], note)

save(rows, "here")
assert r.compare(rows, figures, "here")[-1].startswith("0 better, 0 worse, 1 the same"), path
better = r.choose(r.parse(slow, "openmpi", 2, "cma"))
assert r.compare(better, figures, "here")[-1].startswith("1 better, 0 worse"), path
save(better, "here")
save(rows, "there")
assert sorted(row["machine"] for row in figures.load()) == ["here", "there"], figures.load()

# What did not run is kept in notes, and is there again.
grid = grids.Grid()
grid.figures, grid.notes = figures, ["load before: 0.00"]
grid.save(rows)
again = [row for row in grid.load() if row["machine"] == r.machine()]
assert r.counts(again) == c and figures.notes()[-1] == (r.machine(), "load before: 0.00"), again
assert "- grove / petsc, not run: c (0.3)" in grid.page(grid.load()), grid.page(grid.load())
grid.save(rows[:1])
assert r.counts(grid.load())["target_missing"] == 0, figures.notes()

# bench/run --cores: tables and pictures of made-up figures, by number of ranks.
def row(case, peer, ranks, ratio, outcome, target="0 win -"):
    line = f"row {case} grove {peer} mpi-send 1 1 {ratio} {ratio} {ratio} {target}"
    return r.parse([line.replace("win", outcome)], "openmpi", ranks, "cma")[0]

os.remove(path)
for ranks, ratio, outcome in ((2, 0.5, "win"), (16, 1.5, "loss")):
    save([row("pair-8", "mpi", ranks, ratio, outcome, "0.75 win missed"),
          row("alloc-8", "mpi", ranks, 1, "tie"), row("init-8", "mpi", ranks, 9, "loss"),
          row("face-8Ki", "mpi-neighbor", ranks, 0.5, "win"),
          row("face-8Ki", "mpi", ranks, 0.5, "win"),
          row("begin-8", "grove", ranks, 0.5, "win")], "there")
name, found = grids.of_one_machine(figures.load())
assert name == "there" and len(found) == 12, found
assert cores.counts(found)[1:] == [["openmpi", "2", "2, 1, 1", "1, 0, 0", "0, 0, 1"],
                                   ["openmpi", "16", "1, 1, 2", "1, 0, 0", "0, 0, 1"]], found
lines = cores.ratios(found)
assert lines[1][2:] == ["0.75", "0.500 missed", "**1.500** (1.500 - 1.500) missed"], lines
assert len(lines) == 6 and cores.absent(found) == ["hypre", "mpi-packed", "petsc", "tpetra"], lines
study.PICTURES = path + "-pictures"
cores.draw(found)
assert len(os.listdir(study.PICTURES)) == 3, os.listdir(study.PICTURES)
EOP

echo 'the driver finds what is wrong, and bench/run takes the better peer'
