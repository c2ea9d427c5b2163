#!/usr/bin/env bash
# The usual small message takes no more instructions than it may: a number without noise, which time
# would hide. If it has grown on purpose, the limit is in bench/instructions.
#
#   BUILD   the build directory (build)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs python3
bench/instructions --test "$BUILD/bin/grove_bench_instructions"
