#!/usr/bin/env bash
# grove machine measure and check: the profile is written where it is asked for, or where
# machine=auto finds it; it is completed from another machine; the picture is drawn; bad input is
# refused before anything is measured. Nothing here looks at a time.
#
#   BUILD   the build directory (build)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs python3 gnuplot
export XDG_CACHE_HOME=$work/cache

# machine RANKS ARGUMENT...: keeps what it says and its exit status.
machine() {
  local ranks=$1
  shift
  run tools/launch "$ranks" "$BUILD/bin/grove" machine "$@"
}

says() {
  grep -q -- "$1" "$work/err" || fail "standard error does not say '$1'"
}

# --- bad input -----------------------------------------------------------------------------------

# refuses ARGUMENT...
refuses() {
  machine 2 "$@"
  ((status == 2)) || fail "$*: exit status $status, not 2"
  [[ ! -s $work/out ]] || fail "$*: something on standard output"
}

refuses_what_is_measured() {
  export GROVE_NODE_SIZE=1
  refuses measure --off-node-from lassen
  says 'not needed'
}

for bad in 'measure --fast' 'measure -o' 'measure -o /no/such/folder/x' \
  'measure --off-node-from no-such-machine' 'measure --name=' 'measure lassen' 'check' \
  'check no-such-machine' 'check lassen -o x'; do
  # shellcheck disable=SC2086 # words
  later refuses $bad
done
later refuses_what_is_measured
now

# --- one node, completed -------------------------------------------------------------------------

# On a busy machine the time for a series may be over after a few points.
machine 2 measure --quick -o "$work/one.machine" --name one --off-node-from lassen --json \
  --picture "$work/fits"
((status == 0)) || fail "measure: exit status $status"
says 'left: ping-pong on-socket' # progress
says 'left out: on-node'
python3 - "$work/out" <<'EOP' || fail "not the JSON of a profile"
import json, sys
m = json.load(open(sys.argv[1]))
text = json.dumps(m)
assert m["name"] == "one", m["name"]
assert "taken from lassen" in text and "measured 20" in text
ping_pong = [p for p in m["points"] if p["series"] == "ping-pong on-socket"]
assert len(ping_pong) > 1 and all(p["fitted_seconds"] > 0 for p in ping_pong)
EOP
"$BUILD/bin/grove" machine show "$work/one.machine" --json >"$work/shown"
python3 - "$work/out" "$work/shown" <<'EOP' || fail "the file does not have the points"
import json, sys
measured, shown = (json.load(open(path))["points"] for path in sys.argv[1:])
assert measured == shown
EOP
"$BUILD/bin/grove" machine show "$work/one.machine" >/dev/null || fail "the file is no profile"
grep -q '^alpha *cpu *off-node *rend *7.76e-06 .*taken from lassen' "$work/one.machine" ||
  fail "Lassen's alpha off node is not in the profile"
[[ -s $work/fits.dat && -s $work/fits.gp ]] || fail "no data for the picture"
grep -q '<svg' "$work/fits.svg" || fail "no picture"

# --- beside other programs -----------------------------------------------------------------------

busy=()
for _ in 1 2 3 4; do
  timeout 300 bash -c 'while :; do :; done' &
  busy+=($!)
done
machine 2 measure --quick
((status == 1)) || fail "measured beside busy processes: exit status $status, not 1"
says 'other programs used [0-9]* % of the processors'
says 'not written'
compgen -G "$work/cache/grove/*.machine" >/dev/null && fail "a doubtful profile is in the cache"
machine 2 measure --quick --force
((status == 0)) || fail "measured with --force: exit status $status"
kill "${busy[@]}"
kept=("$work"/cache/grove/*.machine)
grep -q '^about .*; doubtful: .*other programs used' "${kept[0]}" || fail "the profile has no doubt"
"$BUILD/bin/grove" machine show "${kept[0]}" >"$work/out"
grep -q 'doubtful: ' "$work/out" || fail "show does not say so"
rm "${kept[0]}"

if [[ ${1-} != --more ]]; then
  echo 'all is well'
  exit
fi

# --- several nodes, kept where machine=auto looks ------------------------------------------------

GROVE_NODE_SIZE=1 machine 2 measure --quick --force # other tests run beside it
((status == 0)) || fail "measure for the cache: exit status $status"
kept=("$work"/cache/grove/*.machine)
[[ -s ${kept[0]} ]] || fail "no profile in the cache"
says "${kept[0]}"
# An operation between these two ranks is now priced with it, and with no other. Rows are counted,
# so the factors stay.
sed -i -e 's/^\(factor *[a-z]* *[a-z]* *[a-z_]* *\)[^ ]*/\11/' \
  -e 's/^\(alpha *cpu *off-node *[a-z]* *\)[^ ]*/\10.5/' "${kept[0]}"
status=0
GROVE_NODE_SIZE=1 tools/launch 2 "$BUILD/bin/grove" bench 7-point --size 2 --batch 1 --json \
  >"$work/out" 2>"$work/err" || status=$?
((status == 0)) || fail "grove bench: exit status $status"
python3 - "$work/out" <<'EOP' || fail "grove bench did not predict with the profile of the cache"
import json, sys
p = json.load(open(sys.argv[1]))["routes"][0]["predicted_seconds"]
assert 0.5 <= p < 0.6, p
EOP

# A damaged one was not asked for: programs go on without it.
head -c 500 "${kept[0]}" >"$work/cut" && mv "$work/cut" "${kept[0]}"
status=0
GROVE_NODE_SIZE=1 tools/launch 2 "$BUILD/bin/grove" bench 7-point --size 2 --batch 1 --json \
  >"$work/out" 2>"$work/err" || status=$?
((status == 0)) || fail "grove bench with a damaged profile in the cache: exit status $status"
grep -q '"machine": "[a-z0-9]*-\?[a-z0-9]*"' "$work/out" && ! grep -q '"measured"' "$work/out" ||
  fail "grove bench does not say with which machine it predicts"

# The option machine=measure does it at the first operation.
status=0
GROVE_MACHINE=measure tools/launch 2 "$BUILD/bin/grove" bench 7-point --size 2 --batch 1 --json \
  >"$work/out" 2>"$work/err" || status=$?
((status == 0)) || fail "grove bench with machine=measure: exit status $status"
grep -q '"machine": "measured"' "$work/out" || fail "machine=measure did not measure"

# --- check ---------------------------------------------------------------------------------------

machine 2 check "$work/one.machine" --json
((status == 0)) || fail "check: exit status $status"
python3 - "$work/out" <<'EOP' || fail "not the JSON of a check"
import json, sys
series = {s["series"]: s for s in json.load(open(sys.argv[1]))["series"]}
for name in "ping-pong on-socket", "stream on-socket", "messages in order", "messages reversed":
    assert series[name]["points"] > 1 and series[name]["median_factor"] >= 1, name
EOP

# Measured again and compared: every number that one has the other has too.
machine 2 measure --quick -o "$work/again.machine" --off-node-from lassen
"$BUILD/bin/grove" machine compare "$work/one.machine" "$work/again.machine" --json >"$work/out" ||
  fail "compare: exit status $?"
python3 - "$work/out" <<'EOP' || fail "a profile measured twice has not the same rows"
import json, sys
c = json.load(open(sys.argv[1]))
assert c["messages"]["count"] >= 8 and c["parameters"]["count"] > 10, c
EOP
echo 'all is well'
