#!/usr/bin/env bash
# usage: tests/bindings/mpi.sh RANKS
#
# Programs of MPI that were compiled without Grove get what MPI brings, with libgrove_mpi.so before
# it: through Grove at once (always), as it decides (on), with threads, and not at all (off). What
# goes through Grove is told by its log. So do calls that return a request.
#
#   BUILD   the build directory (build)        MPI    its MPI (openmpi)
#   SEED    of the graphs (1)                  CASES  how many of them (2)
set -euo pipefail
cd "$(dirname "$0")/../.."

ranks=$1 build=${BUILD:-build} seed=${SEED:-1} cases=${CASES:-2}
if [[ $seed == random ]]; then seed=$RANDOM; fi
echo "seed $seed"
# Apart, for a launcher may put a line of one into the middle of a line of the other.
out=$(mktemp) log=$(mktemp)
trap 'rm -f "$out" "$log"' EXIT

fail() {
  cat "$out" "$log"
  echo "mpi.sh: $*; seed $seed, $ranks ranks" >&2
  exit 1
}

# agrees VALUE [NAME=VALUE...]: $program with this value of the option.
program=mpi_agrees rounds=40
agrees() {
  local value=$1
  shift
  env "$@" GROVE_PRELOAD="$value" LD_PRELOAD="$build/lib/libgrove_mpi.so" \
    tools/launch "$ranks" "$build/tests/bindings/$program" "$seed" "$cases" "$rounds" \
    >"$out" 2>"$log" || fail "$value $*: the program failed"
  grep -q "^$cases cases agree" "$out" || fail "$value $*: the program did not come to its end"
}

build=$(realpath "$build")
[[ -e $build/lib/libgrove_mpi.so ]] || fail 'there is no libgrove_mpi.so'

agrees always
for name in Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw Neighbor_allgather \
  Neighbor_allgatherv Alltoallv; do
  grep -qE "MPI_$name on $ranks ranks: [0-9]+ calls, [1-9][0-9]* through Grove.*; always" "$log" ||
    fail "no call of MPI_$name went through Grove"
done
if [[ $seed == 1 ]]; then
  grep -q 'of them with other blocks' "$log" || fail 'no call had other blocks than its pattern'
fi
echo 'always: every function, through Grove'

rounds=64 # a trial takes 48
agrees log GROVE_PRELOAD_AFTER=0
grep -q 'tried: MPI .* us, Grove .* us' "$log" || fail 'nothing was tried'
echo 'log: as it decides'

if ((ranks == 3)); then
  rounds=160 cases=1 # and this one 144
  agrees log GROVE_PRELOAD_AFTER=0 GROVE_NODE_SIZE=2 GROVE_LOG=summary
  for route in 3-step split; do
    grep -q " bcast  *$route " "$log" || fail "between nodes, $route was not tried"
  done
  agrees log GROVE_PRELOAD_AFTER=0 GROVE_NODE_SIZE=2 GROVE_LOG=summary GROVE_ROUTE=2-step
  ! grep -qE ' bcast  *(3-step|split) ' "$log" || fail 'another route was tried than the user wants'
  echo 'between nodes: several routes'
fi

rounds=40 cases=${CASES:-2}
# Calls that return a request. MPI's own crash if what they use is freed early, and with one rank
# some calls have nothing to send, which stay MPI's.
program=mpi_requests
if [[ -e $build/tests/bindings/$program ]]; then
  early=()
  if ((ranks > 1)); then early=(EARLY=1); fi
  agrees always GROVE_PRELOAD_REQUESTS=all "${early[@]}"
  for name in Ineighbor_alltoallv Ineighbor_allgatherv Neighbor_alltoallv_init; do
    [[ $seed != 1 ]] || grep -qE "MPI_$name on .* [1-9][0-9]* through Grove" "$log" ||
      fail "no call of MPI_$name went through Grove"
  done
  agrees always
  ! grep -q Ineighbor "$log" || fail 'calls that begin with MPI_I are not asked for'
  [[ $seed != 1 ]] || grep -qE "_init on .* [1-9][0-9]* through Grove.*; always" "$log" ||
    fail 'no call that ends with _init went through Grove'
  agrees log GROVE_PRELOAD_AFTER=0 GROVE_PRELOAD_REQUESTS=all
  [[ $seed != 1 ]] || grep -q 'neighbor.*tried: MPI .* us, Grove .* us' "$log" ||
    fail 'no request was tried'
  agrees always GROVE_PRELOAD_REQUESTS=off
  ! grep -q 'libgrove_mpi:' "$log" || fail 'requests are off, and something is said of them'
  echo 'requests: as asked for'
fi
program=mpi_agrees

# Partitioned messages: of an MPI that lacks them by the program's own library, else preloaded, if
# that is asked for.
parts() {
  env "$@" tools/launch "$ranks" "$build/tests/bindings/mpi_parts" "$seed" "$cases" \
    >"$out" 2>"$log" || fail "partitioned messages $*"
  grep -q "^$cases cases agree" "$out" || fail "partitioned messages $*: no end"
}
preloaded=()
if [[ $(ldd "$build/tests/bindings/mpi_parts") != *libgrove_mpi* ]]; then
  preloaded=(LD_PRELOAD="$build/lib/libgrove_mpi.so" GROVE_PRELOAD_PARTITIONED=on)
  # MPICH 4.0.2 aborts in some of these: what is looked at is that Grove has none of them.
  env LD_PRELOAD="$build/lib/libgrove_mpi.so" GROVE_LOG=summary tools/launch "$ranks" \
    "$build/tests/bindings/mpi_parts" "$seed" "$cases" >"$out" 2>"$log" || true
  ! grep -q ' psend ' "$log" || fail 'partitioned messages are not asked for'
fi
parts THREADS=1 "${preloaded[@]}"
parts GROVE_LOG=summary "${preloaded[@]}"
grep -q ' psend  *channel ' "$log" || fail 'nothing went by channels'
! grep -q 'not looked at' "$log" || fail "Grove takes the library's variables for slips"
echo 'partitioned messages come'

if ((ranks == 2)); then
  agrees log THREADS=1 GROVE_PRELOAD_AFTER=0
  grep -q ' 0 through Grove.*; MPI_THREAD_MULTIPLE' "$log" || fail 'threads are nothing for it'
  program=mpi_requests
  if [[ -e $build/tests/bindings/$program ]]; then
    agrees always THREADS=1 GROVE_PRELOAD_REQUESTS=all
    ! grep -E 'neighbor.* [1-9][0-9]* through Grove' "$log" ||
      fail 'threads are nothing for requests'
  fi
  program=mpi_agrees
  agrees off
  ! grep -q libgrove_mpi "$log" || fail 'it says something when it is off'
  echo 'with threads, and off: MPI'
elif ((ranks == 1)); then
  agrees wrong
  grep -q "GROVE_PRELOAD is 'wrong'; it takes on, off, log or always" "$log" ||
    fail 'a value that it does not take'
  echo 'with a wrong value: MPI'
fi
