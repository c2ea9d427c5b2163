#!/usr/bin/env bash
# The programs of docs/coming-from-mpi.md compile, and say what is written there, with one rank too:
# by hand and with Grove the same.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/docs/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

run_document coming-from-mpi 2 3
cd "$work/here"
for ranks in 1 3; do
  mpirun -n "$ranks" ./by_hand | sort >"$work/expected"
  run mpirun -n "$ranks" ./with_grove
  diff "$work/expected" <(sort "$work/out") || fail "with Grove (>) $ranks ranks say something else"
done
echo 'by hand and with Grove: the same'
