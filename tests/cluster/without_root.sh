#!/usr/bin/env bash
# All of it works for a user without privileges, by a user namespace.
. "$(dirname "$0")/common.bash"
need_probe

user=()
if ((EUID == 0)); then
    # The user must reach the script, which may be in a folder that only root can enter.
    cp "$CLUSTER" "$TMP/cluster"
    CLUSTER=$TMP/cluster
    chmod 755 "$TMP"
    chown -R 65534:65534 "$TMP"
    user=(setpriv --reuid=65534 --regid=65534 --clear-groups env "HOME=$TMP" "TMPDIR=$TMP")
    cd "$TMP"
fi
"${user[@]}" unshare --user --map-root-user --net true 2>/dev/null ||
    skip "user namespaces are not permitted here"

cluster() { "${user[@]}" "$CLUSTER" "$@"; }
status=0
cluster up --nodes 1 2>/dev/null || status=$?
((status != 77)) || skip "hosts cannot be made here"
cluster down 2>/dev/null

fact "we are not root" test "$("${user[@]}" id -u)" != 0
fact "ranks sit on the hosts asked for" \
    same $'0 node1 3\n1 node1 3\n2 node1 3\n3 node2 1\n4 node3 2\n5 node3 2' \
    "$(cluster run --nodes 3 --ppn 3,1,2 --mpi "$MPI" -- "$TMP/probe" where 2>/dev/null)"
status=0
cluster run --nodes 2 --ppn 1 --mpi "$MPI" -- sh -c 'exit 3' 2>/dev/null || status=$?
fact "the exit status is passed on" same 3 "$status"
fact "nothing is left" same '' "$(ls -A "$XDG_RUNTIME_DIR")"

fact "hosts stay up" cluster up --nodes 2 --rate 1gbit
fact "data crosses the interface" \
    test "$(cluster run --nodes 2 --ppn 1 --mpi "$MPI" -- "$TMP/probe" send 0 1 4194304)" -gt 0
moved=$(cluster status --counters | while read -r host _ _ _ rx _; do
    [[ $host != node2 ]] || echo "$rx"
done)
fact "4 MiB at least" test "$moved" -ge 4194304
fact "and go down" cluster down
fact "nothing is left then either" same '' "$(ls -A "$XDG_RUNTIME_DIR")"
echo PASS
