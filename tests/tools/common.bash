# What the scripts that test the command begin with; they source it. It goes to the root of the
# project, and sets BUILD and grove (with whole paths) and work, a folder that is removed at the end.
# shellcheck shell=bash

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
BUILD=$(readlink -f "${BUILD:-build}")
# shellcheck disable=SC2034 # for those who source it
grove=$BUILD/bin/grove
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for name in ${!GROVE_@}; do unset "$name"; done # the caller's options are not the test's
what='' status=0 limit=''

# fail SENTENCE: ends the test, and shows what the command did that was run last.
fail() {
  echo "FAIL: $*"
  echo "--- '$what', exit status $status; standard output:"
  head -200 "$work/out"
  echo "--- standard error:"
  cat "$work/err"
  exit 1
}

# run COMMAND...: keeps what it says and its exit status. With `limit` a program may take so many
# seconds; without, it may be a function.
run() {
  what="$*" status=0
  ${limit:+timeout "$limit"} "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# later TEST...: in the background, with output of its own: Open MPI takes two seconds to end a job
# that failed, and there are many. now: waits for them all, and fails if one does.
jobs=()
later() {
  (
    work=$work/${#jobs[@]}
    mkdir "$work"
    "$@"
  ) &
  jobs+=($!)
}
now() {
  local job
  for job in "${jobs[@]}"; do wait "$job"; done
  jobs=()
}

# data FILE: the path of matrices/NAME.mtx.gz or meshes/NAME.msh.gz in DATA (../shared/data); or of
# one that stands in for it, made the first time.
data() {
  local name=${1##*/} real=${DATA:-../shared/data}/$1
  local other=$BUILD/stand-ins/${1%/*}/like-$name
  if [[ -r $real ]]; then
    echo "$real"
    return
  fi
  [[ -r $other ]] || tools/stand-ins "$BUILD/stand-ins" "${name%%.*}" 2>/dev/null
  echo "$other"
}

# has TEXT: on standard output.
has() {
  grep -qFe "$1" "$work/out" || fail "no '$1'"
}

# needs PROGRAM...: without one of them some would not be checked, and that is not a test passed.
needs() {
  local program
  for program; do
    command -v "$program" >/dev/null && continue
    echo "skipped: there is no $program"
    exit 77
  done
}
