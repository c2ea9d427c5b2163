#!/usr/bin/env bash
# MPI sees the hosts of tools/cluster as separate nodes, with the ranks where they were asked for.
. "$(dirname "$0")/common.bash"
need_probe
need_cluster

run() { "$CLUSTER" run --nodes 3 --ppn 3,1,2 --mpi "$MPI" "$@"; }
run_sh() { run -- "$TMP/probe" sh "$1"; }
count() { sort -u | wc -l; }

fact "ranks sit 3, 1 and 2 on hosts node1, node2, node3, and share memory only there" \
    same $'0 node1 3\n1 node1 3\n2 node1 3\n3 node2 1\n4 node3 2\n5 node3 2' \
    "$(run -- "$TMP/probe" where)"
fact "--map round-robin deals the ranks out" \
    same $'0 node1 2\n1 node2 2\n2 node1 2\n3 node2 2' \
    "$("$CLUSTER" run --nodes 2 --ppn 2 --mpi "$MPI" --map round-robin -- "$TMP/probe" where)"
for space in net uts ipc mnt; do
    fact "each host has its own $space namespace" \
        same 3 "$(run_sh "readlink /proc/self/ns/$space" | count)"
done
shm_size() { run "$@" -- "$TMP/probe" sh "stat -f -c '%b * %S / 1048576' /dev/shm" | sort -u; }
fact "/dev/shm has 64 MiB" test $(($(shm_size))) = 64
fact "and as many as asked for" test $(($(shm_size --shm 16m))) = 16

cd "$TMP"
export GROVE_TEST="a b'c"
fact "every rank has the caller's environment and directory" \
    same "6 $TMP a b'c" "$(run_sh 'echo "$(pwd) $GROVE_TEST"' | uniq -c | sed 's/^ *//')"
fact "hosts find each other by name" \
    same 3 "$(run_sh 'getent hosts node1 node2 node3' | count)"

"$CLUSTER" up --nodes 3 2>/dev/null
run_sh 'touch "/dev/shm/$(uname -n)"'
fact "what one host puts into /dev/shm the others do not see" \
    same $'node1 node1\nnode2 node2\nnode3 node3' \
    "$(run_sh 'echo "$(uname -n)" $(ls /dev/shm | grep ^node)' | sort -u)"
fact "status lists the hosts" same $'node1 10.77.0.1\nnode2 10.77.0.2\nnode3 10.77.0.3' \
    "$("$CLUSTER" status | grep -v '^#' | cut -d' ' -f1,2)"
echo PASS
