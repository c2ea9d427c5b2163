#!/usr/bin/env bash
# Nothing of Grove's stays in /dev/shm: not of a program that ends, not of one that is killed, and
# what a program left that was killed in the one moment where it can is removed by the next. What
# others use, or what only looks like Grove's, stays. In a mount namespace with a /dev/shm of our
# own; where there is none this is skipped.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export BUILD=${BUILD:-build}
for name in ${!GROVE_@}; do unset "$name"; done

fail() {
  echo "FAIL: $*"
  exit 1
}

names() {
  (cd /dev/shm && compgen -G 'grove*') || true
}

# --- in the namespace ---

run_program() {
  tools/launch 2 "$BUILD/tests/context/nodes" --ranks 2 >"$work/log" 2>&1 || {
    cat "$work/log"
    fail 'a program that should work'
  }
}

killed() {
  local kills=4 seed
  if [[ ${SAMPLES-} == all ]]; then kills=40; fi
  for ((seed = 1; seed <= kills; seed++)); do
    if SEED=$seed timeout 60 tools/launch 3 "$BUILD/tests/transport/dies" --ranks 3 \
      >"$work/log" 2>&1; then
      fail 'a program that should die ends well'
    fi
    if grep -q 'not so' "$work/log"; then
      cat "$work/log"
      fail "with seed $seed it failed before it was killed"
    fi
    for _ in {1..100}; do # the launcher may be gone before the last rank is
      [[ $(names) ]] || break
      sleep 0.1
    done
    if [[ $(names) ]]; then fail "with seed $seed it left $(names)"; fi
  done
  echo 'ok: killed programs leave nothing'
}

# A name is stale when its maker's lock is gone with the maker.
swept() {
  stale=grove-99999-18af-0 used=grove-99998-18af-7
  others=(grove-notes.txt grove-1-18af grove-1-xyz-2 grove-1-18af-2-more grovel-1-18af-2 grove-)
  head -c 5000 /dev/zero >"/dev/shm/$stale"
  head -c 5000 /dev/zero >"/dev/shm/$used"
  for name in "${others[@]}"; do echo mine >"/dev/shm/$name"; done
  mkdir /dev/shm/grove-2-18af-0
  ln -s nowhere /dev/shm/grove-3-18af-0
  exec 9<>"/dev/shm/$used"
  flock --shared 9
  run_program
  [[ ! -e /dev/shm/$stale ]] || fail 'a stale name is not removed'
  [[ -e /dev/shm/$used ]] || fail 'a name in use is removed'
  for name in "${others[@]}"; do [[ -e /dev/shm/$name ]] || fail "$name is removed"; done
  [[ -d /dev/shm/grove-2-18af-0 && -L /dev/shm/grove-3-18af-0 ]] || fail 'a folder or link is gone'
  exec 9>&-
  run_program
  [[ ! -e /dev/shm/$used ]] || fail 'a name that is stale now is not removed'
  echo 'ok: stale names are removed, and nothing else'
}

case ${1-} in
  inside)
    mount -t tmpfs -o size=64m none /dev/shm
    run_program
    if [[ $(names) ]]; then fail "a program that ended left $(names)"; fi
    killed
    swept
    exit 0
    ;;
esac

# --- outside ---

export work
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
space=(unshare --mount)
if ! "${space[@]}" mount -t tmpfs none /dev/shm 2>/dev/null; then
  space=(unshare --user --map-root-user --mount)
fi
export TMPDIR=$work # Open MPI's own folder in /tmp may belong to the real root
if ! "${space[@]}" mount -t tmpfs none /dev/shm 2>/dev/null; then
  echo 'SKIP: no mount namespace is to be had'
  exit 77
fi
"${space[@]}" "$0" inside
