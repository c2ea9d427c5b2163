#!/usr/bin/env bash
# The grove command: its help, what it says to wrong arguments, its tables and its JSON, and the
# messages and bytes of exchanges that can be counted by hand.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs python3

# good COMMAND...: must succeed.
good() {
  run "$@"
  ((status == 0)) || fail 'it failed'
}

# bad WORD COMMAND...: exit status 2, nothing on standard output, and one sentence, said once
# however many ranks there are, with the word in it. A launcher may add lines of its own.
bad() {
  local word=$1 sentences
  shift
  run "$@"
  ((status == 2)) || fail 'the exit status is not 2'
  [[ ! -s $work/out ]] || fail 'it wrote to standard output'
  sentences=$(grep -c '^grove' "$work/err" || true)
  ((sentences == 1)) || fail "$sentences sentences, not one"
  grep '^grove' "$work/err" | grep -Fe "$word" >/dev/null || fail "the sentence does not name $word"
}

launch() {
  tools/launch "$@"
}

# bench RANKS ARGUMENT...: a short one.
bench() {
  local ranks=$1
  shift
  good launch "$ranks" "$grove" bench "$@" --batch 1 --rounds 3
}

# valid_json: what standard output is.
valid_json() {
  python3 -c 'import json, sys; json.load(sys.stdin)' <"$work/out" 2>/dev/null || fail 'no JSON'
}

# number NAME [WHICH]: the value of the first, second, ... field of this name.
number() {
  grep -o "\"$1\": [^,}]*" "$work/out" | sed -n "${2:-1}s/.*: //p"
}

# counts NAME VALUE...: fields of the first route, or of what WHICH says.
counts() {
  local found
  while (($#)); do
    found=$(number "$1" "${WHICH:-1}")
    [[ $found == "$2" ]] || fail "$1 is '$found', not '$2'"
    shift 2
  done
}

# --- help and version ---

for page in --help -h help 'bench --help' 'bench 7-point --size 4 -h' 'options --help' \
  'fabric --help'; do
  # shellcheck disable=SC2086 # the words of the page
  good "$grove" $page
  (($(wc -c <"$work/out") > 100)) || fail 'that is no help'
  [[ ! -s $work/err ]] || fail 'help goes to standard output'
  has 'usage: '
  has Example
done
good "$grove" --help
for name in bench options; do has "  $name "; done
good "$grove" bench --help
for flag in size unit-bytes partition reduce off-node parts only variant rounds batch seed json; do
  has "--$flag"
done
for pattern in 7-point 27-point random; do has "  $pattern "; done

good "$grove" --version
version=$(sed -nE 's/.*project\(grove VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
has "grove $version ("
case ${MPI:-} in
  openmpi) has 'Open MPI' ;;
  mpich) has MPICH ;;
esac

run "$grove"
((status == 2)) || fail 'no argument: the exit status is not 2'
[[ ! -s $work/out ]] || fail 'no argument: it wrote to standard output'
grep -q '^usage: ' "$work/err" || fail 'no argument: no overview'
bad "'no-such-command'" "$grove" no-such-command
bad "'--no-such-flag'" "$grove" --no-such-flag

# Where standard output cannot be written, that is a failure.
if [[ -w /dev/full ]]; then
  for words in --help --version options 'options --json' 'machine list' \
    'machine show lassen --json' 'machine compare lassen summit' 'model figure --list' \
    'aggregate --machine niagara --bytes 4MiB --parts 32 --delay 4ms'; do
    what=$words status=0
    # shellcheck disable=SC2086 # the words of the command
    "$grove" $words >/dev/full 2>"$work/err" || status=$?
    ((status == 1)) || fail 'a full disk goes unnoticed'
    grep -q 'standard output could not be written' "$work/err" || fail 'no sentence'
  done
fi

# --- options ---

readonly options='route effort wisdom message_cap transport_on_node transport_off_node fabric
  p2p chunk deterministic order node_size node_map socket_size spin progress machine check timeout
  log trace aggregator delta laggard min_message max_messages part_table transport_parts
  fabric_writes endpoints alarm profile device device_number emulated_devices memory copy_paths
  copy_staging on_error'

good "$grove" options
[[ ! -s $work/err ]] || fail 'it complains'
for name in $options; do grep -qE "^$name +[^ ]+ +[^ ]+ +[^ ]" "$work/out" || fail "no $name"; done
awk '$1 ~ /^[a-z0-9_]+$/ && NR > 1 && /^[a-z]/ { print $1 }' "$work/out" >"$work/table"
good "$grove" options --json
valid_json
[[ ! -s $work/err ]] || fail 'it complains'
for name in $options; do has "\"name\": \"$name\""; done
grep -o '"name": "[^"]*"' "$work/out" | sed 's/.*"\(.*\)"/\1/' | diff - "$work/table" ||
  fail 'table and JSON have different options'

good env GROVE_TIMEOUT=2.5 GROVE_NODE_MAP=0,0,1 GROVE_CHECK=on "$grove" options
grep -qE '^timeout +2\.5 +0 ' "$work/out" || fail 'the timeout is not shown'
grep -qE '^node_map +0,0,1 +- ' "$work/out" || fail 'the map is not shown'
grep -qE '^check +on +off ' "$work/out" || fail 'check is not shown'
grep -qE '^spin +auto +auto ' "$work/out" || fail 'another option has changed'
good env GROVE_TIMEOUT=2.5 "$grove" options --json
valid_json
has '{"name": "timeout", "value": "2.5", "default": "0"'

good env GROVE_FOO=1 GROVE_TIMEOUTS=3 GROVE_CHECK=1 "$grove" options --json
valid_json
for name in GROVE_FOO GROVE_TIMEOUTS; do
  grep -qw "$name" "$work/err" || fail "$name is not warned of"
done
(($(wc -l <"$work/err") == 2)) || fail 'not one warning for each stranger'

bad "'perhaps'" env GROVE_CHECK=perhaps "$grove" options
bad timeout env GROVE_TIMEOUT=-1 "$grove" options --json
bad "'--jsn'" "$grove" options --jsn
bad "'all'" "$grove" options all

# --- bench: what it says, and that every value is right ---

for pattern in 7-point 27-point random; do
  for ranks in 1 2 4; do
    back=()
    if ((ranks < 4)); then back=(--reduce); fi # four are slow on two cores
    bench $ranks $pattern --size 5 "${back[@]}" --json
    valid_json
    counts pattern "\"$pattern\"" ranks $ranks route '"standard"' verified true size 5
    for name in median_seconds setup_seconds ${back:+reduce_median_seconds}; do
      number "$name" | grep -E '^[0-9.e+-]+$' >/dev/null || fail "$name is no number"
    done
    [[ $(number median_seconds) != 0 || $ranks == 1 ]] || fail 'an exchange took no time'
    counts off_node_messages 0 off_node_bytes 0 # one host
    case $pattern-$ranks in # faces of 25 points; with four ranks edges of 5 too
      *-point-1) counts on_node_messages 0 on_node_bytes 0 ;;
      *-point-2) counts on_node_messages 2 on_node_bytes $((2 * 25 * 8)) ;;
      7-point-4) counts on_node_messages 8 on_node_bytes $((4 * 2 * 25 * 8)) ;;
      27-point-4) counts on_node_messages 12 on_node_bytes $((4 * (2 * 25 + 5) * 8)) ;;
    esac
  done
done

bench 2 27-point --size 3 --reduce --parts
has '27-point, 2 ranks on 1 node, values of 8 bytes, 3 points along an edge'
(($(grep -cE '^(all|on node|off node) .* right$' "$work/out") == 3)) ||
  fail 'not all three rows are right'
grep -qE '^off node +standard +0 +0 +0 +0 ' "$work/out" || fail 'there are edges between nodes'
grep -q WRONG "$work/out" && fail 'something is wrong'

# What the library prints does not get into the JSON; options reach it.
export GROVE_LOG=summary GROVE_P2P=reposted GROVE_CHECK=1
bench 2 random --size 50 --json
unset GROVE_LOG GROVE_P2P GROVE_CHECK
valid_json
counts verified true
grep -q reduce "$work/out" && fail 'a reduction that nobody asked for'

# --- bench: counted by hand ---

# A box of 4 points a side on each of 2 x 2 x 2 ranks: 3 faces of 16, 3 edges of 4, a corner. Ranks
# 2k and 2k+1 share a face, and with a node size of 2 a node.
export GROVE_NODE_SIZE=2
bench 8 27-point --size 4 --json
valid_json
counts nodes 4 unit_bytes 8 verified true
counts on_node_messages 8 on_node_bytes $((8 * 16 * 8))
counts off_node_messages $((8 * 6)) off_node_bytes $((8 * (32 + 12 + 1) * 8))
# 2 x 2 ranks: two faces and an edge, one of the faces on the node.
bench 4 27-point --size 4 --parts --only standard --json
counts nodes 2 on_node_messages 4 on_node_bytes 512 off_node_messages 8 off_node_bytes 640
WHICH=2 counts edges '"on node"' on_node_messages 4 on_node_bytes 512 off_node_messages 0
WHICH=3 counts edges '"off node"' on_node_messages 0 off_node_messages 8 off_node_bytes 640
WHICH=3 counts verified true
export GROVE_NODE_SIZE=1
bench 2 7-point --size=3 --unit-bytes 24 --json
counts nodes 2 off_node_messages 2 off_node_bytes $((2 * 9 * 24)) on_node_messages 0
unset GROVE_NODE_SIZE

# The same seed is the same pattern, another is another.
bench 2 random --size 200 --seed 5 --json
first=$(number on_node_bytes)
bench 2 random --size 200 --seed 5 --json
counts on_node_bytes "$first" on_node_messages 2
bench 2 random --size 200 --seed 6 --json
[[ $(number on_node_bytes) != "$first" ]] || fail 'the seed does not matter'

# --- bench: bad input ---

later bad "'--bogus'" launch 2 "$grove" bench random --bogus
later bad "'9-point'" launch 4 "$grove" bench 9-point
later bad node_map env GROVE_NODE_MAP=0 tools/launch 2 "$grove" bench random
later bad "'scenic'" env GROVE_ROUTE=scenic tools/launch 2 "$grove" bench random
later bad pattern launch 1 "$grove" bench
later bad "'7-point'" launch 1 "$grove" bench random 7-point
later bad "'--unit-bytes'" launch 1 "$grove" bench random --unit-bytes 12
later bad "'--size'" launch 1 "$grove" bench random --size 0
later bad "'--size'" launch 1 "$grove" bench random --size
later bad "'--batch" launch 1 "$grove" bench random --batch=many
later bad "'--seed'" launch 1 "$grove" bench random --seed -1
later bad --size launch 1 "$grove" bench 7-point --size 100000
later bad "'--only'" launch 1 "$grove" bench random --only scenic
later bad "'--rounds'" launch 1 "$grove" bench random --rounds 0
later bad --partition launch 1 "$grove" bench random --partition metis
later bad "'--partition=x'" launch 1 "$grove" bench A.mtx --partition=x
later bad "'3-step'" launch 2 "$grove" bench random --variant 3-step
later bad "'pigeon'" launch 2 "$grove" bench random --variant 3-step,transport_on_node=pigeon
now

echo 'the command does what it says'
