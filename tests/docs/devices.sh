#!/usr/bin/env bash
# The programs of docs/devices.md compile, and say on the emulated device what is written there; the
# first one also on one rank, and by every route between nodes.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/docs/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

run_document devices 3 8
cd "$work/here"
run env GROVE_DEVICE=emulated mpirun -n 1 ./ring
grep -qx 'rank 0: the last ghost is 63, root 7 is 7.5' "$work/out" || fail 'one rank says otherwise'
GROVE_DEVICE=emulated mpirun -n 3 ./ring | sort >"$work/expected"
for route in standard 2-step 3-step split; do
  run env GROVE_DEVICE=emulated-random GROVE_NODE_SIZE=2 GROVE_ROUTE=$route mpirun -n 3 ./ring
  diff "$work/expected" <(sort "$work/out") || fail "$route (>) says something else"
done
echo 'every route brings the same'
