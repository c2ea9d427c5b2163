#!/usr/bin/env bash
# The programs of docs/tutorial.md compile without a warning, its commands say what is written
# there, and the programs run on one rank and on three.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/docs/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

run_document tutorial 3 10
for program in first spmv build/spmv; do
  for ranks in 1 3; do
    run mpirun -n "$ranks" "$work/here/$program"
    ((status == 0)) || fail "$program fails on $ranks ranks"
    [[ -s $work/out ]] || fail "$program says nothing"
  done
done
echo 'the programs run on 1 and 3 ranks'
