#!/usr/bin/env bash
# Every command in docs/reproduction.md and docs/multipath.md is run, and says what is written
# there.
#
# A block is indented by four blanks; a line of it that begins with "$ " is a command for the shell,
# and the lines up to the next command or the end of the block are all that it prints.
#
#   BUILD   the build directory (build)
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
BUILD=${BUILD:-build}
# shellcheck source=tests/tools/document.bash
source tests/tools/document.bash
PATH=$(cd "$BUILD/bin" && pwd):$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for name in ${!GROVE_@}; do unset "$name"; done
mkdir "$work/here"

# check COMMAND: its output against what is collected.
check() {
  local status=0
  (cd "$work/here" && timeout 60 bash -o pipefail -c "$1") >"$work/got" 2>&1 || status=$?
  if ((status)) || ! diff -u "$work/expected" "$work/got"; then
    echo "FAIL: '$1' (exit status $status) does not say what $document has:"
    cat "$work/got"
    exit 1
  fi
  commands=$((commands + 1))
}

for document in docs/reproduction.md docs/multipath.md; do
  commands=0
  each_command "$PWD/$document"
  ((commands >= 6)) || { echo "FAIL: only $commands commands were found in $document" && exit 1; }
  echo "$commands commands of $document say what is written there"
done
