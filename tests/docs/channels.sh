#!/usr/bin/env bash
# The programs of docs/channels.md compile, and say what is written there; the one with threads
# also where messages carry its parts, and by every aggregator.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/docs/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

run_document channels 4 8
cd "$work/here"
for aggregator in none ploggp timer adaptive; do
  run env GROVE_TRANSPORT_PARTS=mpi GROVE_AGGREGATOR=$aggregator mpirun -n 2 ./fill
  grep -qx 'the sum of three rounds is 84000' "$work/out" || fail "$aggregator: another sum"
done
echo 'every aggregator brings all of it'
