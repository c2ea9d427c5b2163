#!/usr/bin/env bash
# The ports of docs/coming-from-petscsf.md compile and say what is written there; the programs that
# they were ported from say the same, for which there must be a PETSc for this MPI.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/docs/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

run_document coming-from-petscsf 4 4
if [[ -s $work/without ]]; then
  echo 'skipped: there is no PETSc for this MPI, which would have to say the same'
  exit 77
fi

# same OLD NEW: a program of PETSc's and its port, but for what the port says of mistakes.
same() {
  # shellcheck disable=SC2046 # words
  run mpicc "$1.c" -o "$1" $(pkg-config --cflags --libs "$petsc")
  ((status == 0)) || fail "$1.c cannot be linked"
  mpirun -n 3 "./$2" | sed '/^refused/d' | sort >"$work/new"
  run mpirun -n 3 "./$1"
  diff "$work/new" <(sort "$work/out") || fail "$1 (>) says something else"
}

petsc=$(pkg-config --exists PETSc && echo PETSc || echo petsc)
cd "$work/here"
same before after
same position slot
echo 'PETSc says the same'
