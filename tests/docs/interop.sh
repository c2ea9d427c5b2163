#!/usr/bin/env bash
# The program of docs/interop.md compiles, and says what is written there. Tpetra's part is run by
# the tests bindings/interop/tpetra.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/docs/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

if [[ ! -e $BUILD/bin/grove_interop_hypre ]]; then
  echo 'skipped: no hypre for this MPI'
  exit 77
fi
mkdir "$work/here/build"
ln -s "$(realpath "$BUILD")/bin" "$work/here/build/bin"
# As of <_hypre_parcsr_mv.h>; what hypre's headers do is not warned of.
export C_INCLUDE_PATH=$(cached GROVE_HYPRE_INCLUDE)

run_document interop 1 3
