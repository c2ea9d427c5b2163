#!/usr/bin/env bash
# bench/run --age: figures say from which commit and by which command they come, a run replaces
# what is said of itself alone, and what has changed since, or has no figures, is told. In a
# repository of its own, with files that are measured there.
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs python3 git
export PYTHONDONTWRITEBYTECODE=1

copy=$work/project
mkdir -p "$copy/bench" "$copy/src" "$copy/docs"
cp bench/*.py bench/run "$copy/bench/"
echo 'p-one pair contiguous bcast double 8 1 malloc exchange grove/mpi:-' >"$copy/bench/grid.txt"

in_copy() {
  git -C "$copy" -c user.name=nobody -c user.email=nobody@example.org "$@"
}

# commit FILE: with another line in it.
commit() {
  echo "# line $((++lines))" >>"$copy/$1"
  in_copy add -A
  in_copy commit -q -m "$1"
}
lines=0

# save CASE RANKS: a row, as bench/run --save would.
save() {
  (cd "$copy/bench" && python3 - "$@") <<'END'
import sys
import grids
import origin
import rows as r

case, ranks = sys.argv[1], int(sys.argv[2])
rows = r.parse([f"row {case} grove mpi mpi-send 1 2 0.5 0.4 0.6 0 win -"], "openmpi", ranks, "cma")
grids.figures("figures.txt").save([dict(row, machine="here") for row in rows],
                                  origin.here(f"bench/run --ranks {ranks} --save"))
END
}

# says REGEX: a line of standard output.
says() {
  grep -qE "$1" "$work/out" || fail "no line '$1'"
}

# age STATUS: keeps what --age says.
age() {
  run python3 "$copy/bench/run" --age
  ((status == $1)) || fail "--age: the exit status is $status, not $1"
}

in_copy init -q
commit src/some.c
first=$(in_copy rev-parse --short=10 HEAD)
mkdir "$copy/bench/results"
for page in overlap predictions; do
  printf 'by hand\n<!-- generated from here on -->\n\n`make it`, 2026-01-01, at %s, on this.\n' \
    "$first" >"$copy/bench/results/$page.md"
done
save p-one 2
age 0
says "up to date: .*, $first, bench/run --ranks 2 --save\$"
says '^    here openmpi 2$'

commit docs/some.md # which no figure depends on
age 0
commit src/some.c
commit bench/grid.txt
age 1
says '2 changes since: '
says '1 change since: 2026-01-01, '"$first"', make it, on this$'
echo change >>"$copy/src/some.c" # which is not committed, and counts
age 1
says '3 changes since: '

# Another number of ranks: made from a tree with changes; what is said of the first run stays.
save p-one 4
in_copy checkout -q src/some.c
age 1
says "2 changes since: .*, $first, bench/run --ranks 2 --save\$"
says 'up to date: .*\+, bench/run --ranks 4 --save$'

# A case that has no figures; those of a commit that nobody knows.
echo 'p-two pair contiguous bcast double 8 1 malloc exchange grove/mpi:-' >>"$copy/bench/grid.txt"
age 1
says 'no figures there: p-two$'
sed -i "s/$first/0123456789/" "$copy/bench/figures.txt"
sed -i "s/, at $first,/,/" "$copy"/bench/results/*.md
age 1
says 'of unknown age: '
says 'of unknown age$'

# All committed figures of the project say where they come from.
for figures in bench/figures*.txt; do
  PYTHONPATH=bench python3 - "$figures" <<'END' || fail "$figures: rows of unknown origin"
import sys
import origin

made = [run.split() for run in origin.load(sys.argv[1])]
with open(sys.argv[1], encoding="utf-8") as file:
    rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
sys.exit(not rows or any(all(row[:len(run)] != run for run in made) for row in rows))
END
done

echo 'figures say where they come from, and how old they are'
