#!/usr/bin/env bash
# Between hosts data goes over their network interfaces, inside a host it does not, and --rate
# limits what it says.
. "$(dirname "$0")/common.bash"
need_probe
need_cluster
mib=$((1024 * 1024))

# moved FROM TO BYTES: how much more node1 has sent and received after that message.
moved() {
    local before after
    before=$(traffic)
    "$CLUSTER" run --nodes 2 --ppn 2 --mpi "$MPI" -- "$TMP/probe" send "$1" "$2" "$3" >/dev/null
    after=$(traffic)
    echo $((after - before))
}

traffic() {
    local host rx tx
    while read -r host _ _ _ rx _ tx _; do
        [[ $host != node1 ]] || echo $((rx + tx))
    done < <("$CLUSTER" status --counters)
}

at_least() { (($2 >= $1)) || same "at least $1" "$2"; }
less_than() { (($2 < $1)) || same "less than $1" "$2"; }

"$CLUSTER" up --nodes 2 2>/dev/null
fact "4 MiB between hosts move at least 4 MiB over the interface" \
    at_least $((4 * mib)) "$(moved 0 2 $((4 * mib)))"
fact "in the other direction too" at_least $((4 * mib)) "$(moved 3 1 $((4 * mib)))"
fact "4 MiB inside the first host move less than 1 MiB" less_than $mib "$(moved 0 1 $((4 * mib)))"
fact "nor inside the second" less_than $mib "$(moved 2 3 $((4 * mib)))"

# 8 MiB at 100 Mbit/s take 0.67 s; a slow machine only makes it longer.
for ranks in "0 1" "1 0"; do
    read -r from to <<<"$ranks"
    fact "at 100mbit 8 MiB from rank $from to rank $to take at least 0.5 s" at_least 500000 \
        "$("$CLUSTER" run --nodes 2 --ppn 1 --rate 100mbit --mpi "$MPI" -- \
            "$TMP/probe" send "$from" "$to" $((8 * mib)) 2>/dev/null)"
done
echo PASS
