#!/usr/bin/env bash
# However a run ends, nothing of it is left, its exit status is passed on, and the machine's own
# network and files are as before.
. "$(dirname "$0")/common.bash"
need_cluster

run() { "$CLUSTER" run --nodes 2 --ppn 2 --mpi "$MPI" "$@"; }
status_of() { "$@" >/dev/null 2>&1 && echo 0 || echo $?; }

machine() {
    ip -br link
    ip -br addr
    ip route
    uname -n
    cat /etc/hosts
    grep -e "$TMP" -e /dev/shm -e /etc/hosts /proc/self/mounts || :
}

# Processes that have our state folder in their environment: all we have started, but this shell.
ours() {
    local file
    for file in /proc/[0-9]*/environ; do
        if [[ $(tr '\0' '\n' 2>/dev/null <"$file") == *"$XDG_RUNTIME_DIR"* ]]; then
            tr '\0' ' ' <"${file%environ}cmdline" && echo
        fi
    done 2>/dev/null
}

left() { { ls -A "$XDG_RUNTIME_DIR" && ours; } 2>/dev/null; }

# What was killed may still be on its way out where others want the processors.
left_for_long() {
    local tries
    for ((tries = 0; tries < 100; tries++)); do
        [[ -n $(left) ]] || return 0
        sleep 0.1
    done
    left
}
nothing_left() { fact "$1: nothing is left" same '' "$(left_for_long)"; }

before=$(machine)
fact "a run that succeeds gives 0, and the command's output alone" \
    same $'x\nx\nx\nx 0' "$(run -- echo x 2>/dev/null) $?"
nothing_left "after success"
fact "a command that exits 3 gives 3" same 3 "$(status_of run -- sh -c 'exit 3')"
nothing_left "after failure"
fact "a crash adds nothing to standard output" \
    same 'failed' "$(run -- sh -c 'kill -SEGV $$' 2>/dev/null || echo failed)"
nothing_left "after a crash"
fact "a command that does not exist gives 127" same 127 "$(status_of run -- no-such-command)"

# interrupt SIGNAL: as the terminal or a time limit would do it, to the whole process group.
interrupt() {
    local pid status=0
    rm -f "$TMP/started"
    set -m # or background processes ignore SIGINT
    "$CLUSTER" run --nodes 2 --ppn 2 --mpi "$MPI" -- \
        sh -c 'touch "$0"; exec sleep 60' "$TMP/started" >/dev/null 2>&1 &
    pid=$!
    set +m
    until [[ -e $TMP/started ]]; do sleep 0.05; done
    kill -"$1" -- -"$pid"
    wait "$pid" 2>/dev/null || status=$?
    return "$status"
}

for signal in TERM=143 INT=130; do
    fact "SIG${signal%=*} gives ${signal#*=}" same "${signal#*=}" \
        "$(status_of interrupt "${signal%=*}")"
    nothing_left "after SIG${signal%=*}"
done

# Nobody can clean up after SIGKILL but the kernel, and the next command.
gone() {
    local tries
    for ((tries = 0; tries < 100; tries++)); do
        "$CLUSTER" down 2>/dev/null
        [[ -n $(left) ]] || return 0
        sleep 0.1
    done
    left
    return 1
}
fact "SIGKILL gives 137" same 137 "$(status_of interrupt KILL)"
fact "after SIGKILL the next command leaves nothing" gone

# Processes on the hosts of 'up', but for those that hold them.
guests() {
    local line
    while read -r line; do
        [[ -z $line || $line == *'sleep infinity'* || $line == *' _switch '* ]] || echo "$line"
    done <<<"$(ours)"
}

"$CLUSTER" up --nodes 2 2>/dev/null
read -r holder _ <"$XDG_RUNTIME_DIR/grove-cluster-$UID/default/cluster"
fact "a second 'up' is refused" same 1 "$(status_of "$CLUSTER" up --nodes 2)"
kill -KILL "$holder"
until [[ $(status_of "$CLUSTER" status) == 1 ]]; do sleep 0.1; done
fact "after the holder was killed, 'up' works again" same 0 "$(status_of "$CLUSTER" up --nodes 2)"
fact "a run that is interrupted ends its ranks" same 143 "$(status_of interrupt TERM)"
fact "and leaves the hosts of 'up' up" same 0 "$(status_of "$CLUSTER" status)"
fact "where none of its processes runs" same '' "$(guests)"
fact "'down' gives 0" same 0 "$(status_of "$CLUSTER" down)"
nothing_left "after 'down'"
fact "'down' of nothing gives 0" same 0 "$(status_of "$CLUSTER" down)"

three() {
    local i
    for i in 1 2 3; do
        "$CLUSTER" run --nodes 2 --ppn 1 --mpi "$MPI" -- uname -n >"$TMP/out.$i" 2>/dev/null &
    done
    wait
    sort "$TMP"/out.[123] | uniq -c | tr -d ' '
}
fact "three runs at the same time do not disturb each other" same $'3node1\n3node2' "$(three)"
nothing_left "after them"

while read -r -a words; do
    fact "bad arguments give 2 and one sentence: cluster ${words[*]}" same '2 1' \
        "$(status_of "$CLUSTER" "${words[@]}") $("$CLUSTER" "${words[@]}" 2>&1 | wc -l)"
done <<'END'
--nodes 2
up
up --nodes 0
up --nodes 251
up --nodes 2 --rate fast
up --nodes 2 --shm much
up --nodes 2 --unknown
run --nodes 2 --ppn 1 true
run --nodes 2 --ppn 1 --
run --nodes 2 --ppn 0 -- true
run --nodes 3 --ppn 1,2 -- true
run --nodes 2 --ppn 1 --mpi other -- true
END
fact "the machine's own network, mounts and hosts file are as before" \
    diff <(echo "$before") <(machine)
echo PASS
