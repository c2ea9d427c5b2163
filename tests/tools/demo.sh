#!/usr/bin/env bash
# The demonstration on a small matrix, on hosts and on emulated nodes: it says which, all values are
# right, a choice is marked, the page is where it says, and no host is left behind.
#
#   BUILD   the build directory (build)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
limit=250
export XDG_RUNTIME_DIR=$work # where hosts are kept
cat >"$work/ring.mtx" <<'END'
%%MatrixMarket matrix coordinate pattern general
64 64 128
END
for ((i = 0; i < 64; i++)); do
  echo "$((i + 1)) $(((i + 1) % 64 + 1))"
  echo "$((i + 1)) $(((i + 37) % 64 + 1))"
done >>"$work/ring.mtx"

# demo EMULATE
demo() {
  rm -f "$work/page.html"
  run env EMULATE="$1" MATRIX="$work/ring.mtx" REPORT="$work/page.html" tools/demo "$BUILD"
  ((status == 0)) || fail 'it failed'
  has 'ring: bcast, 16 ranks on 4 nodes'
  has 'ring: reduce, 16 ranks on 4 nodes'
  # Each operation: what was chosen is compared with the standard route, unless it is that.
  local of_standard='^  auto \(standard\) is the same plan as the standard route'
  local of_others='^  auto \((2-step|3-step|split)\) is [0-9.]+ times as fast as the standard route'
  (($(grep -cE "$of_standard|$of_others" "$work/out") == 2)) || fail 'the choice is not compared'
  has "file://$(readlink -f "$work/page.html")"
  (($(grep -c '^\* [^ ]* .*right$' "$work/out") == 2)) || fail 'no choice is marked'
  ! grep -q WRONG "$work/out" || fail 'values are wrong'
  grep -q '</html>' "$work/page.html" || fail 'no whole page'
}

if [[ ${1-} == --more ]]; then
  demo yes
  has 'emulated nodes'
  grep -q 'emulated: ranks of a host' "$work/page.html" || fail 'the page does not say so'
  echo 'the demonstration demonstrates without hosts'
  exit
fi
demo ''
if ! grep -q 'four hosts of network namespaces' "$work/out"; then has 'emulated nodes'; fi
if compgen -G "$work/grove-cluster-*/*" >/dev/null; then fail 'hosts are left'; fi

run env MATRIX="$work/none.mtx" tools/demo "$BUILD"
((status == 2)) || fail 'a matrix that is not there: the exit status is not 2'
grep -q "there is no matrix" "$work/err" || fail 'no sentence about the matrix'

echo 'the demonstration demonstrates'
