#!/usr/bin/env bash
# The programs of docs/when-it-hangs-or-is-slow.md compile, and Grove says of their mistakes what is
# written there.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/docs/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs python3

run_document when-it-hangs-or-is-slow 7 17
