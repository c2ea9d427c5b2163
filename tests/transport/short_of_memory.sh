#!/usr/bin/env bash
# Shared memory that is scarce, lacking, or used up in the middle of a program: all operations work,
# and those for which there is none say so. In mount namespaces with a /dev/shm of our own; where
# there are none this is skipped.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export BUILD=${BUILD:-build}
for name in ${!GROVE_@}; do unset "$name"; done

fail() {
  echo "FAIL: $where: $*"
  exit 1
}

# works RANKS PROGRAM [ARGUMENT...]: what it says is in $said.
works() {
  local ranks=$1 program=$2
  shift 2
  said=$(tools/launch "$ranks" "$BUILD/tests/$program" --ranks "$ranks" "$@" 2>&1) || {
    echo "$said"
    fail "$program with $ranks ranks"
  }
}

# The largest and the smallest number of operations that went over shared memory, and of how many.
over_shm() {
  sed -n 's/.*: \([0-9]*\) of \([0-9]*\) over shared memory.*/\1 \2/p' <<<"$said" | sort -n
}

clean() {
  if compgen -G '/dev/shm/grove*' >/dev/null; then fail "$(ls /dev/shm) is left"; fi
  echo "ok: $where"
}

# MPI itself must do without: see tools/in_a_container.sh.
spare_shm() {
  export OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo
  export UCX_TLS=sysv,self
}

# As much as a container has: it is enough for everything but thousands of operations.
small() {
  where='a /dev/shm of 64 MiB'
  mount -t tmpfs -o size=64m none /dev/shm
  works 2 exec/alloc_in_place
  works 2 exec/alloc_lifetimes
  SAMPLES=500 works 4 exec/many_rounds
  SAMPLES=3000 works 3 exec/thousands_alive --print
  read -r shm all <<<"$(over_shm | sed -n 1p)"
  # MPI takes more or less of it for itself: 645 to 682 were seen.
  ((all == 3000 && shm > 500 && shm < all)) || fail "$shm of $all over shared memory"
  clean
}

# So little that even the first operations fall on both sides.
tiny() {
  where='a /dev/shm of 1 MiB'
  mount -t tmpfs -o size=1m none /dev/shm
  spare_shm
  SAMPLES=2 works 3 exec/matches_oracle
  SAMPLES=50 works 3 exec/thousands_alive
  works 2 exec/alloc_in_place
  SAMPLES=500 works 3 exec/many_rounds
  SAMPLES=6 works 5 exec/routes
  GROVE_ROUTE=3-step GROVE_NODE_SIZE=3 SAMPLES=50 works 5 exec/thousands_alive
  clean
}

full() {
  where='a full /dev/shm'
  mount -t tmpfs -o size=64k none /dev/shm
  head -c 100000 /dev/zero >/dev/shm/filler 2>/dev/null || true
  if (echo x >/dev/shm/more) 2>/dev/null; then fail 'there is room left'; fi
  rm -f /dev/shm/more
  spare_shm
  export MPIR_CVAR_NOLOCAL=1 # MPICH 4.0.2 dies in MPI_Init without
  SAMPLES=50 works 3 exec/thousands_alive --print
  read -r shm all <<<"$(over_shm | tail -1)"
  ((all == 50 && shm == 0)) || fail "$shm of $all over shared memory"
  works 2 exec/alloc_lifetimes
  SAMPLES=20 works 3 exec/runs_ahead
  SAMPLES=3 works 5 exec/routes
  clean
}

filling() {
  where='a /dev/shm that fills up'
  mount -t tmpfs -o size=64m none /dev/shm
  spare_shm
  works 3 transport/fills_up
  read -r shm all <<<"$(over_shm)"
  ((shm > 5 && shm < all)) || fail "$shm of $all over shared memory"
  clean
}

case ${1-} in
  small | tiny | full | filling) "$1" && exit 0 ;;
esac

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
for machine in small tiny full filling; do "${space[@]}" "$0" $machine; done
