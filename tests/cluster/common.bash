# What the tests of tools/cluster share; they source it. From the environment: MPI, openmpi or
# mpich (default openmpi); CLUSTER, the script under test; MPICC, a compiler (default mpicc.$MPI).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
MPI=${MPI:-openmpi}
CLUSTER=$(readlink -f "${CLUSTER:-$here/../../tools/cluster}")
TMP=$(mktemp -d)
# State of our own: other clusters of this user do not disturb us, nor we them. And every process
# we start can be told from all others by this name in its environment.
export XDG_RUNTIME_DIR=$TMP/state
mkdir "$XDG_RUNTIME_DIR"

clean() {
    "$CLUSTER" down >/dev/null 2>&1 || :
    rm -rf "$TMP"
}
trap clean EXIT

skip() {
    echo "SKIP: $1"
    exit 77
}

# fact SENTENCE COMMAND...: says whether it holds; the first that does not ends the test.
fact() {
    local sentence=$1
    shift
    if "$@"; then
        echo "ok: $sentence"
    else
        echo "FAILED: $sentence"
        exit 1
    fi
}

# same EXPECTED FOUND: for use with fact; shows both if they differ.
same() {
    [[ $1 == "$2" ]] || {
        printf 'expected: %s\nfound:    %s\n' "$1" "$2"
        return 1
    }
}

# Skips where there are no hosts to be had. Anything else that is wrong is for the test to find.
need_cluster() {
    local status=0
    "$CLUSTER" run --nodes 1 --ppn 1 --mpi "$MPI" -- true || status=$?
    ((status != 77)) || skip "no cluster or no $MPI on this machine"
}

# Compiles the program of these tests as $TMP/probe.
need_probe() {
    local mpicc=${MPICC:-mpicc.$MPI}
    type -P "${mpicc%% *}" >/dev/null || skip "no $mpicc on this machine"
    $mpicc -o "$TMP/probe" "$here/probe.c"
}
