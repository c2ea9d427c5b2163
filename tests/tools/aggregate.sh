#!/usr/bin/env bash
# grove aggregate --arrivals: a trace by hand gives the numbers that it has, one of a program is
# understood, there is a picture. grove aggregate --try: its table is one, and channels use it.
# Nothing here compares times that were measured.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs python3 gnuplot
limit=100

good() {
  run "$@"
  ((status == 0)) || fail 'it failed'
}

# bad WORD COMMAND...: exit status 2, one sentence on standard error with the word in it.
bad() {
  local word=$1
  shift
  run "$@"
  ((status == 2)) || fail 'the exit status is not 2'
  [[ ! -s $work/out ]] || fail 'it wrote to standard output'
  (($(wc -l <"$work/err") == 1)) || fail 'not one sentence'
  grep -qFe "$word" "$work/err" || fail "the sentence does not name $word"
}

# python SCRIPT: with the JSON of standard output as d.
python() {
  python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
def close(a, b): assert abs(a - b) <= 1e-12 + 1e-9 * abs(b), (a, b)
'"$1" "$work/out" 2>"$work/err" || fail 'the JSON is not what it should be'
}

# --- a trace by hand: four parts to two of the receiver; rounds 1 and 2 are whole, 3 is not ---

python3 - "$work/trace.json" <<'END'
import json, sys

events = [{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "grove"}}]

def event(rank, kind, start, ts, first=0, count=0):
    sends = rank == 0
    args = {"channel": "psend to 2, tag 7" if sends else "precv from 0, tag 7",
            "peer": 2 if sends else 0, "tag": 7, "number": 1, "parts": 4 if sends else 2,
            "part_bytes": 1000 if sends else 2000, "start": start}
    if count:
        args |= {"first": first, "count": count}
    events.append({"name": kind, "cat": kind, "ph": "i" if count else "X", "pid": 1,
                   "tid": rank + 1, "ts": ts, "dur": 1, "args": args})

rounds = (1, 1000, (10, 20, 50, 25)), (2, 2000, (30, 10, 14, 110)), (3, 3000, (1, 2))
for start, at, ready in rounds:
    event(0, "start", start, at)
    event(2, "start", start, at + 5)
    for part, time in enumerate(ready):
        event(0, "ready", start, at + time, part, 1)
        event(0, "sent", start, at + time + 1, part, 1)
event(2, "arrived", 1, 1000 + 21 + 9, 0, 1)
event(2, "arrived", 1, 1000 + 51 + 6, 1, 1)
event(2, "arrived", 2, 2000 + 111 + 40, 0, 2)
json.dump({"traceEvents": events}, open(sys.argv[1], "w"))
END

good "$grove" aggregate --arrivals "$work/trace.json" --json
python '
[c] = d["channels"]
assert [c[k] for k in ("rank", "peer", "tag", "number", "parts", "part_bytes", "rounds")] == \
    [0, 2, 7, 1, 4, 1000, 2], c
close(c["min_delta"], (15e-6 + 20e-6) / 2)
close(c["min_delta_most"], 20e-6)
close(c["late"], (25e-6 + 80e-6) / 2)
close(c["communication"], 6e-6)
for a, b in zip(c["ready"], (20e-6, 15e-6, 32e-6, 67.5e-6)): close(a, b)
'
good "$grove" aggregate --arrivals="$work/trace.json" --machine niagara --json
python '
assert d["machine"] == "niagara"
close(d["channels"][0]["communication"], 1e-6 + 999 * 8.33e-11 + 1e-6 + 1.54e-5)
'
good "$grove" aggregate --arrivals "$work/trace.json" -o "$work/a.svg"
grep -qE '^ +1 +0 +2 +7 +4 +1 kB +2 +17\.50 +20\.00 +52\.50 +6\.00$' "$work/out" ||
  fail 'no such row'
[[ $(head -c 5 "$work/a.svg") == '<?xml' ]] || fail 'no picture'
grep -q 'rank 0 to rank 2, tag 7: 4 parts, 2 rounds' "$work/a.svg" || fail 'no title'
grep -qx '3 67.5 6' "$work/a.dat" || fail 'no numbers'

echo '{"traceEvents": []}' >"$work/empty.json"
echo '{}' >"$work/other.json"
bad 'no channel of this trace' "$grove" aggregate --arrivals "$work/empty.json"
bad 'no trace of Grove' "$grove" aggregate --arrivals "$work/other.json"
bad 'none.json' "$grove" aggregate --arrivals none.json
bad 'the trace has 1' "$grove" aggregate --arrivals "$work/trace.json" --channel 2
bad "'0'" "$grove" aggregate --arrivals "$work/trace.json" --channel 0
bad "'--delay'" "$grove" aggregate --arrivals "$work/trace.json" --delay 0

# --- a trace of a program ---

good env GROVE_TRACE="$work/ring.json" tools/launch 3 "$BUILD/examples/parts"
good "$grove" aggregate --arrivals "$work/ring.json" --json
python '
assert [(c["rank"], c["peer"]) for c in d["channels"]] == [(0, 1), (1, 2), (2, 0)]
for c in d["channels"]:
    assert c["rounds"] == 3 and c["parts"] == 16 and c["part_bytes"] == 8000
    assert 0 <= c["min_delta"] <= c["min_delta_most"] and min(c["ready"]) >= 0
    assert c["communication"] is not None
'

# --- trying ---

bad 'two ranks' "$grove" aggregate --try -o "$work/t.table"
bad 'needs -o' "$grove" aggregate --try
bad "'4,x'" "$grove" aggregate --try -o "$work/t.table" --parts 4,x
bad "'0'" "$grove" aggregate --try -o "$work/t.table" --bytes 0
bad "'--machine'" "$grove" aggregate --try -o "$work/t.table" --machine niagara
[[ ! -e $work/t.table ]] || fail 'it made a table all the same'

good env GROVE_MACHINE=niagara GROVE_MAX_MESSAGES=1 tools/launch 3 "$grove" aggregate --try \
  --parts 6,16 --bytes 100,128000 --delay 100us -o "$work/t.table" --json
python '
got = [(e["parts"], e["bytes"]) for e in d["entries"]]
assert got == [(6, 96), (6, 127998), (16, 96), (16, 128000)], got
for e in d["entries"]:
    assert e["transport_parts"] in ((1, 2, 4, 6) if e["parts"] == 6 else (1, 2, 4, 8, 16)), e
    assert e["seconds"] > 0, e
'
messages=$(awk '$1 == 16 && $2 == 128000 { print $3 }' "$work/t.table")
good env GROVE_LOG=summary GROVE_AGGREGATOR=table GROVE_PART_TABLE="$work/t.table" \
  GROVE_TRANSPORT_PARTS=mpi tools/launch 2 "$BUILD/examples/parts"
grep -qE "^rank 0: psend to 1, tag 0 +psend +channel +8000 +3 +$((3 * messages)) +384000 " \
  "$work/err" || fail "not 3 rounds of $messages messages"

awk '!/^#/ && NF != 4' "$work/t.table" | grep . >/dev/null && fail 'endpoints, without libfabric'

# Over libfabric it also tries endpoints, as many as are open.
run "$grove" --version
if grep -q 'libfabric: built in (library [0-9]' "$work/out"; then
  export GROVE_TRANSPORT_PARTS=ofi GROVE_FABRIC=tcp@lo TMPDIR=$work
  good env GROVE_ENDPOINTS=2 tools/launch 3 "$grove" aggregate --try --parts 1,6 --bytes 96,12000 \
    -o "$work/e.table" --json
  python '
e = d["entries"]
assert [(x["parts"], x["bytes"]) for x in e] == [(1, 96), (1, 12000), (6, 96), (6, 12000)], e
for x in e:
    assert x["endpoints"] in ((1,) if x["transport_parts"] == 1 else (1, 2)), x
    assert x["seconds"] > 0, x
'
  awk '!/^#/ && NF != 5' "$work/e.table" | grep . >/dev/null && fail 'a line without endpoints'
  compgen -G "$work/grove-trial-*" >/dev/null && fail 'it left a file'
  good env GROVE_ENDPOINTS=2 GROVE_LOG=summary GROVE_AGGREGATOR=table \
    GROVE_PART_TABLE="$work/e.table" tools/launch 2 "$BUILD/examples/parts"
  good "$grove" aggregate --machine niagara --table "$work/e.table" --delay 0
  unset GROVE_TRANSPORT_PARTS GROVE_FABRIC TMPDIR
fi

echo 'the table and the picture of arrivals, and the table of trying, are what they should be'
