#!/usr/bin/env bash
# The program of docs/petsc.md compiles, and says what is written there with both types.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/docs/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

if [[ ! -e $lib/libgrove_petsc.so ]]; then
  echo 'skipped: there is no PETSc for this MPI'
  exit 77
fi
run_document petsc 1 5
