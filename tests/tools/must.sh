#!/usr/bin/env bash
# GROVE_MUST: a call that fails ends the whole job, and standard error tells rank, place, call,
# status and sentence. Without MPI it ends the process. Calls that succeed go on.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
program=$BUILD/tests/base/must_end

limit=60

# dies SENTENCE COMMAND...: it must fail, and say so.
dies() {
  local sentence=$1
  shift
  run "$@"
  ((status != 0 && status != 124)) || fail 'it did not die'
  grep -Eqe "$sentence" "$work/err" || fail "no '$sentence'"
  if grep -qF 'went on' "$work/out"; then fail 'a rank went on'; fi
}

where='[^ ]*must_end\.c:[0-9]+'
dies "grove: rank 2: $where: grove_wait\(NULL\) is GROVE_ERR_ARG: grove_wait: .* NULL" \
  tools/launch 3 "$program"
dies "^grove: $where: grove_test\(NULL, &done\) is GROVE_ERR_ARG: ." "$program" alone
echo passed
