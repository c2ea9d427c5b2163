#!/usr/bin/env bash
# GROVE_MUST: a call that fails ends the whole job, and standard error tells rank, place, call,
# status and sentence. Without MPI it ends the process. Calls that succeed go on. With the option
# on_error=abort every call is like that, in a program that ignores all statuses; and the test that
# makes a mistake with every public function forgets none.
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
later dies "grove: rank 2: $where: grove_wait\(NULL\) is GROVE_ERR_ARG: grove_wait: .* NULL" \
  tools/launch 3 "$program"
later dies "^grove: $where: grove_test\(NULL, &done\) is GROVE_ERR_ARG: ." "$program" alone

ignores=$BUILD/tests/base/ignores_statuses

# goes_on COMMAND...: it must succeed.
goes_on() {
  run "$@"
  ((status == 0)) || fail 'it failed'
  grep -qF 'went on' "$work/out" || fail 'it did not go on'
  if grep -q '^grove:' "$work/err"; then fail 'it said something'; fi
}

aborts=GROVE_ON_ERROR=abort
goes_on tools/launch 2 "$ignores" wait
goes_on env GROVE_ON_ERROR=return tools/launch 2 "$ignores" wait
goes_on env $aborts tools/launch 2 "$ignores"
goes_on env GROVE_ON_ERROR=abrot tools/launch 2 "$ignores"
later dies '^grove: rank 1: GROVE_ERR_ARG: grove_wait: the operation is NULL' \
  env $aborts tools/launch 2 "$ignores" wait
later dies '^grove: rank 0: GROVE_ERR_OPTION: .*route: .4-step. is not' \
  env $aborts GROVE_ROUTE=4-step tools/launch 2 "$ignores"
for last in context forest op; do
  later dies '^grove: rank 0: GROVE_ERR_SYSTEM: .*/there/is/none' \
    env $aborts GROVE_TRACE=/there/is/none tools/launch 2 "$ignores" $last
done
now

# The frees fail above, and two functions never do.
never='grove_(version|machine_free|context_free|forest_free|op_free)'
for name in $(sed -n 's/^GROVE_API grove_status \([a-z0-9_]*\)(.*/\1/p' include/*.h); do
  if [[ ! $name =~ ^$never$ ]] && ! grep -q "MISTAKE(.*, $name(" tests/mistakes/end_the_job.c; then
    fail "tests/mistakes/end_the_job.c makes no mistake with $name"
  fi
done
echo passed
