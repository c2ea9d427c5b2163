#!/usr/bin/env bash
# The programs of docs/parts.md compile, and say what is written there; the one with threads also
# between nodes, by every route and some aggregators.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/docs/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

run_document parts 2 4
cd "$work/here"
for options in ROUTE=standard ROUTE=2-step ROUTE=3-step ROUTE=split AGGREGATOR=none; do
  run env GROVE_NODE_SIZE=2 "GROVE_$options" mpirun -n 3 ./blocks
  sums=$(grep -c 'the sum of three rounds is 84000$' "$work/out")
  ((sums == 3)) || fail "$options: another sum"
done
echo 'every route brings all of it'
