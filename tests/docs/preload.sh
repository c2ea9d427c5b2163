#!/usr/bin/env bash
# The program of docs/preload.md compiles, and says what is written there, with Grove and without.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/docs/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

run_document preload 2 6
