#!/usr/bin/env bash
# The port of docs/coming-from-petscsf.md compiles and says what is written there; where there is a
# PETSc for this MPI, the program that it was ported from says the same.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/docs/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

run_document coming-from-petscsf 2 2

petsc=$(pkg-config --exists PETSc && echo PETSc || echo petsc)
if [[ ! -s $work/without ]]; then
  cd "$work/here"
  # shellcheck disable=SC2046 # words
  run mpicc before.c -o before $(pkg-config --cflags --libs "$petsc")
  ((status == 0)) || fail 'before.c cannot be linked'
  mpirun -n 3 ./after | sort >"$work/after"
  run mpirun -n 3 ./before
  diff "$work/after" <(sort "$work/out") || fail 'PETSc (>) says something else'
  echo 'PETSc says the same'
fi
