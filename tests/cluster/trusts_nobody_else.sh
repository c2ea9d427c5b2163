#!/usr/bin/env bash
# What another user had a hand in is not read: no process that it names is killed or entered. Nor is
# a process that is not of the cluster, because its number was used anew.
. "$(dirname "$0")/common.bash"
((EUID == 0)) || skip "only root can do something as another user"

# As it is where XDG_RUNTIME_DIR is not set: everybody may write to the folder around ours.
unset XDG_RUNTIME_DIR
export TMPDIR=$TMP/shared MPIEXEC=$TMP/mpiexec
folder=$TMPDIR/grove-cluster-$UID
mkdir "$TMPDIR"
printf '#!/bin/sh\necho HYDRA\n' >"$MPIEXEC" # all that 'run' wants to know of a launcher
chmod 1777 "$TMPDIR"
chmod 755 "$TMP" "$MPIEXEC"

other=65534
name=$(id -nu $other 2>/dev/null || echo UNKNOWN)
as_other() { setpriv --reuid=$other --regid=$other --clear-groups "$@"; }
as_other true 2>/dev/null || skip "root cannot become another user here"
status_of() { "$@" >/dev/null 2>&1 && echo 0 || echo $?; }

umask 002
status=$(status_of "$CLUSTER" up --nodes 1)
((status != 77)) || skip "hosts cannot be made here"
fact "hosts of our own come up, also where our group may write to what we make" same 0 "$status"
fact "and have counters" same 0 "$(status_of "$CLUSTER" status --counters)"
fact "and go down" same 0 "$(status_of "$CLUSTER" down)"
fact "so that nothing is left" same '' "$(ls -A "$TMPDIR")"

# The other user's process, the first of namespaces where setpriv is a trap.
tool=$(readlink -f "$(type -P setpriv)")
cp "$tool" "$TMP/setpriv"
printf '#!/bin/sh\nid -u >"%s/trace"\n' "$TMP" >"$TMP/trap"
chmod 755 "$TMP/trap"
# shellcheck disable=SC2016  # for the inner shell
unshare --net --uts --ipc --mount --pid --fork -- bash -c '
    mount --bind "$1/trap" "$2"
    read -r pid _ </proc/self/stat
    echo "$pid" >"$1/pid"
    exec "$1/setpriv" --reuid="$3" --regid="$3" --clear-groups sleep infinity' \
    bash "$TMP" "$tool" $other 2>/dev/null &
maker=$!
sleep infinity &
mine=$!
trap 'kill "$mine"; kill -KILL ${theirs:-} 2>/dev/null || :; clean' EXIT
until [[ -s $TMP/pid && ! -O /proc/$(<"$TMP/pid") ]]; do
    kill -0 $maker 2>/dev/null || skip "namespaces cannot be made here"
    sleep 0.01
done
theirs=$(<"$TMP/pid")

# forge FOLDER PID: the files of a cluster whose process 1 is that one.
forge() {
    local words
    read -ra words <"/proc/$2/stat"
    mkdir -p "$1/default"
    chmod 700 "$1"
    echo "$2 ${words[21]} root 1 none 64m" >"$1/default/cluster"
    echo "node1 10.77.0.1 1" >"$1/default/nodes"
}

# Both processes are alive, and nothing was run where the other user can replace it.
unharmed() { [[ -e /proc/$theirs/exe && -e /proc/$mine/exe && ! -e $TMP/trace ]]; }

# refused CASE COMPLAINT COMMANDS...: each says so in one sentence, and leaves all as it is.
refused() {
    local command text status before
    before=$(find "$TMPDIR" "$TMP/elsewhere")
    for command in "${@:3}"; do
        status=0
        # shellcheck disable=SC2086  # words
        text=$("$CLUSTER" $command 2>&1) || status=$?
        fact "$1: '$command' is refused" \
            same "1 cluster: $2, so it is not used" "$status ${text%%;*}"
        fact "  and does no harm" unharmed
    done
    fact "  and all files are still there" same "$before" "$(find "$TMPDIR" "$TMP/elsewhere")"
    rm -rf "$folder"
}

every=(status 'status --counters' down 'up --nodes 1' 'run --nodes 1 --ppn 1 -- true')
some=(down 'up --nodes 1') # the one that reads first, and the one that writes first
belongs="belongs to $name (user id $other)"
forge "$TMP/elsewhere" "$theirs"

forge "$folder" "$theirs"
chown -R $other "$folder"
refused "a folder of another user's" "$folder $belongs" "${every[@]}"

as_other ln -s "$TMP/elsewhere" "$folder"
refused "another user's link to a folder of ours" "$folder $belongs" "${every[@]}"

ln -s "$TMP/elsewhere" "$folder"
refused "our link to a folder of ours" "$folder is a symbolic link" "${every[@]}"

ln -s "$TMP/nowhere" "$folder"
refused "a link to nothing" "$folder is a symbolic link" "${some[@]}"

(umask 077 && touch "$folder")
refused "a file" "$folder is no folder" "${some[@]}"

for mode in 770 701; do
    forge "$folder" "$theirs"
    chmod $mode "$folder"
    refused "a folder with mode $mode" "$folder is open to others (mode $mode)" "${some[@]}"
done

forge "$folder" "$theirs"
chmod 777 "$TMPDIR"
refused "a folder that everybody can replace" "$TMPDIR lets everybody replace what is in it" \
    "${some[@]}"
chmod 1777 "$TMPDIR"

mkdir -m 700 "$folder"
ln -s "$TMP/elsewhere/default" "$folder/default"
refused "in our folder, a link" "$folder/default is a symbolic link" "${some[@]}"

for file in cluster nodes; do
    forge "$folder" "$theirs"
    chown $other "$folder/default/$file"
    refused "another user's file '$file'" "$folder/default/$file $belongs" "${every[@]}"
done

forge "$folder" "$theirs"
chown $other "$folder/default"
refused "another user's folder in ours" "$folder/default $belongs" "${some[@]}"

forge "$folder" "$theirs"
ln -s "$TMP/nowhere" "$folder/default/agent"
chown -h $other "$folder/default/agent"
refused "another user's link 'agent'" "$folder/default/agent $belongs" "${some[@]}"

forge "$folder" "$theirs"
ln -sf "$TMP/elsewhere/default/cluster" "$folder/default/cluster"
refused "a link in place of a file" "$folder/default/cluster is a symbolic link" "${some[@]}"

forge "$folder" "$theirs"
ln -f "$TMP/elsewhere/default/cluster" "$folder/default/cluster"
refused "a file with two names" "$folder/default/cluster has 2 names, as hard links" "${some[@]}"

# A process that has the number and the start time, but is not process 1 of a cluster of ours.
for pid in "$theirs" "$mine"; do
    while read -r expected command; do
        forge "$folder" "$pid"
        # shellcheck disable=SC2086  # words
        fact "no process of the cluster: '$command' gives $expected" \
            same "$expected" "$(status_of "$CLUSTER" $command)"
        fact "  and does no harm" unharmed
    done <<'END'
1 status
1 status --counters
0 run --nodes 1 --ppn 1 -- true
0 down
0 up --nodes 1
END
    fact "and the hosts that 'up' then made go down" same 0 "$(status_of "$CLUSTER" down)"
done
fact "nothing is left" same '' "$(ls -A "$TMPDIR")"
echo PASS
