#!/usr/bin/env bash
# What the grove command says to a new user: every bad value with what is allowed, machines that are
# one's own, one output under mpirun, figures that are skipped, the same plan called so, and JSON
# with the names that the manual page has.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs python3
export XDG_CACHE_HOME=$work/cache
export PYTHONDONTWRITEBYTECODE=1

good() {
  run "$@"
  ((status == 0)) || fail 'it failed'
}

# bad TEXT ARGUMENT...: exit status 2, and one sentence of the command with the text in it.
bad() {
  local text=$1
  shift
  run "$grove" "$@"
  ((status == 2)) || fail 'the exit status is not 2'
  [[ ! -s $work/out ]] || fail 'it wrote to standard output'
  (($(grep -c '^grove' "$work/err") == 1)) || fail 'not one sentence'
  grep -qFe "$text" "$work/err" || fail "the sentence does not say '$text'"
}

# --- bad values, and what is allowed ---

bad "there is no command 'benhc'; there are machine, model, explain, bench" benhc
bad "there is no 'sho'; there are list, show, measure, check, compare" machine sho
bad 'it takes 1 name or file, and --json' machine show lassen --all
bad "'--jsn' is not understood; there are --json, --help" options --jsn
bad "'--bogus' is not understood; there are --size, --unit-bytes, --partition" bench random --bogus
bad "'--size' cannot be '0': it must be a whole number from 1 to 1000000000" bench random --size 0
bad "'--size' cannot be '': it must be a whole number" bench random --size
bad "'--seed' cannot be 'x': it must be a whole number, 0 or more" bench random --seed x
bad "cannot be '12': it must be a multiple of 8, from 8 to" bench random --unit-bytes 12
bad 'it must be standard, 2-step, 3-step, split or auto' bench random --only scenic
bad 'it must be contiguous or metis' bench elasticity --partition rows
bad "there is no pattern '9-point': it must be 7-point, 27-point, random" bench 9-point
bad 'at most 1000 points along an edge' bench 7-point --size 5000
bad '--machine cannot be' explain a.mtx --machine=
bad "it must be auto, a name of grove machine list, or a file" explain a.mtx --machine=
bad "--nodes cannot be 'x': it must be a whole number from 1 to" explain a.mtx --nodes x
bad '--memory cannot be '"'gpu': it must be host or device" explain a.mtx --memory gpu
bad 'it must be 1 to 5 numbers such as 4x4x2' explain a.mtx --topology round
bad "'--node' is not understood; there are --nodes, --ppn, --machine" explain a.mtx --node 2
bad "--picture cannot be '': it must be the beginning" machine measure --picture
bad "'--fast' is not understood; there are -o, --force, --quick, --thorough" machine measure --fast
bad 'which profile? auto, a name' machine check
bad '--quick or --thorough, not both' machine measure --thorough --quick
bad "there is no figure '9.9'; there are all, " model figure 9.9
bad 'there are --list, -o, --machine' model figure 4.3 --size
bad "'--mesages' is not understood; there are --machine, --messages-per-proc" model --mesages 3
bad 'must be a whole number, 1 or more' model --ppn 0
bad 'must be a whole number, 0 or more' model --nodes-per-proc -1
bad 'must be a whole number from 1 to 2147483647' aggregate --parts 0
bad "'--part' is not understood; there are --machine, --bytes, --parts" aggregate --part 3
bad "'--size' is not understood; there are --machine, --from, --to, --bytes" multipath --size 3
bad '--sweep or --cost, not both' multipath --sweep --cost
copy=(multipath --machine beluga --from 0 --to 1 --bytes 1MB)
bad "no path 'gpu9' from GPU 0 to GPU 1; it has direct, gpu2, gpu3, host" "${copy[@]}" --paths gpu9
bad 'it must be standard, 2-step, 3-step or split, a comma,' bench random --variant scenic,chunk=64
bad "'--fast' is not understood; there are -o, --title, --json" report --fast
bad "-o cannot be '': it must be a file" report x.json -o
bad 'no-such.json' report "$work/no-such.json"

bad '--machine is missing: it must be auto, a name of grove' explain a.mtx --nodes 2 --ppn 2
bad '--ppn is missing: it must be a whole number, 1 or more' explain a.mtx --nodes 2
bad '--machine is missing: it must be auto, a name of grove' model
bad '--messages-per-proc is missing: it must be a whole number' model --machine lassen
bad '--machine is missing: it must be auto, a name of grove' aggregate
bad '--bytes is missing: it must be a number of bytes such as' aggregate --machine niagara
bad '--machine is missing: it must be auto, a name of grove' multipath
bad '--from is missing: it must be the number of a GPU, from 0' multipath --machine beluga
bad "machine 'lassen' has no links between GPUs; these have: beluga, dgx, narval, pcie-box;" \
  multipath --machine lassen --from 0 --to 1 --bytes 1

# --- the machine at hand, and one's own ---

matrix=tests/tools/matrices/symmetric.mtx
explain=(explain "$matrix" --nodes 2 --ppn 2)
good "$grove" "${explain[@]}" --machine auto
grep -q 'has not been measured, and auto is ' "$work/err" || fail 'it does not say what auto is'
good "$grove" machine compare auto auto
(($(grep -c 'has not been measured' "$work/err") == 1)) || fail 'it says what auto is, and not once'
good tools/launch 2 "$grove" machine measure --quick --force --name mine
own=("$work"/cache/grove/*.machine)
[[ -s ${own[0]} ]] || fail 'no profile of its own'
cp machines/lassen.machine "$work/cache/grove/other.machine"
echo 'no profile' >"$work/cache/grove/broken.machine"
good "$grove" machine list
grep -q '^mine ' "$work/out" || fail 'the list lacks what was measured'
has "    ${own[0]} (auto)"
grep -q 'other.machine$' "$work/out" || fail 'the list lacks another profile, or takes it for auto'
grep -q 'broken.machine' "$work/err" || fail 'no warning of a broken file'
good "$grove" machine list --json
python3 - "$work/out" "${own[0]}" <<'END' || fail 'not the list'
import json, sys
machines = json.load(open(sys.argv[1]))["machines"]
assert [m["name"] for m in machines if m["auto"]] == ["mine"]
assert [m["file"] for m in machines if m["auto"]] == [sys.argv[2]]
assert [m["file"] for m in machines if m["name"] == "summit"] == [None]
END
rm "$work/cache/grove/"{other,broken}.machine
good "$grove" machine show AUTO --json
python3 - "$work/out" <<'END' || fail 'auto is another machine, or has no points'
import json, sys
m = json.load(open(sys.argv[1]))
assert m["name"] == "mine" and len(m["points"]) > 10
END
good "$grove" machine compare auto lassen
has 'A: mine   B: lassen'
good "$grove" "${explain[@]}" --machine auto --json
has '"machine": "mine"'
[[ ! -s $work/err ]] || fail 'it complains of a machine that was measured'
good "$grove" aggregate --machine auto --bytes 1MiB --parts 4 --delay 1ms --where on-socket
has 'mine, on-socket'
bad 'links' multipath --machine auto --from 0 --to 1 --bytes 1MB

# --- under mpirun ---

for words in --version --help 'options' 'machine list' 'bench --help' 'machine show lassen'; do
  # shellcheck disable=SC2086 # the words of the command
  good "$grove" $words
  cp "$work/out" "$work/once"
  # shellcheck disable=SC2086
  good tools/launch 3 "$grove" $words
  diff "$work/once" "$work/out" >/dev/null || fail 'under mpirun it prints something else'
done
run tools/launch 3 "$grove" machine show no-such
((status == 2)) || fail 'a bad value under mpirun: the exit status is not 2'
(($(grep -c '^grove' "$work/err") == 1)) || fail 'the sentence does not come once'

# --- version, options ---

good "$grove" --version
for word in compiler: MPI: 'built with: hwloc' 'not found: ' CUDA:; do
  grep -qE "^$word ?[^ ]" "$work/out" || fail "no $word"
done
compiler=$(sed -nE 's/^set\(CMAKE_C_COMPILER_VERSION "(.*)"\)/\1/p' \
  "$BUILD"/CMakeFiles/*/CMakeCCompiler.cmake)
has "$compiler, "
good env GROVE_FOO='a "b"' GROVE_CHECK=1 "$grove" options
has 'set in the environment, and no option:'
grep -qx '  GROVE_FOO=a "b"' "$work/out" || fail 'the stranger is not listed'
if grep -q '^  GROVE_CHECK' "$work/out"; then fail 'an option is taken for a stranger'; fi
if grep -q 'meant' "$work/err"; then fail 'it takes a stranger for a slip'; fi
if grep -qE '^.{101}' "$work/out"; then fail 'a line is too long'; fi
good env GROVE_ROUT=3-step "$grove" options
grep -q "GROVE_ROUT is set, but there is no such option; is 'route' meant?" "$work/err" ||
  fail 'it does not say which option is meant'
good "$grove" options
if grep -q 'no option:' "$work/out"; then fail 'there are no strangers'; fi

# --- figures ---

good "$grove" model figure all --machine bluewaters -o "$work/figures"
grep -q '^figure 4.3: ' "$work/out" || fail 'no figure 4.3'
grep -q 'skipped: the profile bluewaters lacks what figure multipath-4 needs: ' "$work/err" ||
  fail 'it does not say what it skips'
[[ -s $work/figures/figure-4.3.dat && ! -e $work/figures/figure-multipath-4.dat ]] || fail 'files?'
bad 'lacks what figure multipath-4 needs' model figure multipath-4 --machine bluewaters

# --- routes ---

good "$grove" "${explain[@]}" --machine lassen
has 'Who sends to whom by the route standard'
short=(--size 50 --batch 1 --rounds 3)
good tools/launch 2 "$grove" bench random "${short[@]}"
if grep -qE '^. (2-step|3-step|split)' "$work/out"; then fail 'routes that cannot help'; fi
has 'auto (the plan of standard)'
has 'no other route than standard can help: all ranks are on one node'
good tools/launch 2 "$grove" bench random "${short[@]}" --only 2-step
grep -q '^  2-step ' "$work/out" || fail 'a route that is asked for is not measured'

python3 - tests/tools/reports/random.json "$work/same.json" <<'END'
import json, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
d["auto"]["route"] = "standard"
d["auto"]["median_seconds"] = 4 * d["routes"][0]["median_seconds"]
d["machine"] = d["profile"]["name"] = "measured"
json.dump(d, open(sys.argv[2], "w", encoding="utf-8"))
END
good "$grove" report "$work/same.json" -o "$work/page.html"
has 'auto (standard) is the same plan as the standard route, '
if grep -q '0\.25 times' "$work/out"; then fail 'a plan is compared with itself'; fi
grep -q '<b>same plan</b>' "$work/page.html" || fail 'the page does not call it the same plan'
if grep -q '0\.25×' "$work/page.html"; then fail 'the page compares a plan with itself'; fi
if grep -q '<h3>measured' "$work/page.html"; then fail 'a machine without a name'; fi
python3 - "$work/page.html" <<'END' || fail 'facts come before results'
import sys
page = open(sys.argv[1], encoding="utf-8").read()
assert 0 < page.index('id="savings"') < page.index('id="machine"') < page.index('id="facts"')
END

# --- JSON: the names of the manual page are those that are printed ---

# names COMMAND...: under this heading, what the last command printed has the documented names.
names() {
  python3 - docs/man/grove.1 "$work/out" "$*" "${optional:-}" <<'END' || fail "names of $*"
import json, re, sys
page = open(sys.argv[1], encoding="utf-8").read()
section = page[page.index(".SH JSON"):page.index(".SH ENVIRONMENT")].replace("\\-", "-")
text = re.search(r"^\.TP\n\.B " + re.escape(sys.argv[3]) + r"\n((?:[^.].*\n)+)", section, re.M)
documented = set(re.findall(r"\w+", re.sub(r"\band\b", "", text.group(1))))
printed = set()
def walk(v):
    for k, x in v.items() if isinstance(v, dict) else ((None, x) for x in v):
        if k:
            printed.add(k)
        if k != "profile" and isinstance(x, (dict, list)):
            walk(x)
for line in open(sys.argv[2], encoding="utf-8").read().split("\n--\n"):
    walk(json.loads(line))
for k in sorted(printed - documented): print("printed, not documented:", k)
for k in sorted(documented - printed - set(sys.argv[4].split())): print("documented only:", k)
sys.exit(bool(printed - documented or documented - printed - set(sys.argv[4].split())))
END
}

good "$grove" machine list --json
names machine list
for name in lassen dgx tukey summit; do
  "$grove" machine show $name --json
  [[ $name == summit ]] || printf -- '--\n'
done >"$work/out"
names machine show
# A profile that says 0 is off by a factor that is not finite, for which JSON has no number.
mv "${own[0]}" "$work/own"
printf '%s\n' 'name zero' 'alpha cpu any any 0 s assumed' 'beta cpu any any 0 s/B assumed' 'end 2' \
  >"${own[0]}"
good tools/launch 2 "$grove" machine check auto --quick --json
has '"median_factor": "inf"'
names machine check
mv "$work/own" "${own[0]}"
good "$grove" machine compare lassen summit --json
names machine compare
good env GROVE_FOO=1 "$grove" options --json
names options
# Where the manual page has all values of an option, they are the library's.
python3 - docs/man/grove.1 "$work/out" <<'END' || fail 'grove.1 has other values'
import json, re, sys
library = {o["name"]: o["values"] for o in json.load(open(sys.argv[2]))["options"]}
page = open(sys.argv[1], encoding="utf-8").read()
found = re.findall(r"GROVE_([A-Z_]+)=([a-z0-9-]+(?: \| [a-z0-9-]+)+)", page.replace("\\-", "-"))
assert len(found) >= 8, found
for name, values in found:
    assert library[name.lower()] == values.replace(" ", ""), (name, library[name.lower()], values)
END
good "$grove" model --machine lassen --messages-per-proc 64 --bytes-per-proc 64KiB --json \
  --bytes-per-node 256KiB --bytes-node-to-node 16KiB --nodes-per-proc 16 --messages-node-to-node 1
names model
good "$grove" model figure all --machine bluewaters -o "$work/figures" --json
names model figure
good "$grove" model figure --list --json
names model figure --list
good "$grove" aggregate --machine niagara --bytes 4MiB --parts 32 --delay 4ms --json
names aggregate
good tools/launch 2 "$grove" aggregate --try -o "$work/parts.table" --parts 2 --bytes 4KiB --json
names aggregate --try
good "$grove" aggregate --machine niagara --table "$work/parts.table" --delay 1ms --json
names aggregate --table
good env GROVE_TRACE="$work/ring.json" tools/launch 2 "$BUILD/examples/parts"
good "$grove" aggregate --arrivals "$work/ring.json" --json
names aggregate --arrivals
good "$grove" multipath --machine beluga --from 0 --to 1 --bytes 256MB --json
names multipath
good "$grove" multipath --machine beluga --from 0 --to 1 --cost --json
names multipath --cost
good "$grove" --version
if grep -q 'libfabric: built in (library [0-9]' "$work/out"; then
  good "$grove" fabric --json
  names fabric
  good tools/launch 2 "$grove" fabric --try --provider 'tcp;ofi_rxm' --json
  names fabric --try
fi
good "$grove" report tests/tools/reports/random.json -o "$work/page.html" --json
names report
good "$grove" "${explain[@]}" --machine lassen --topology cube --json
optional=note names explain
export GROVE_NODE_SIZE=2
good tools/launch 4 "$grove" bench elasticity --size 4 --batch 1 --rounds 3 --machine lassen \
  --reduce --parts --variant 2-step,chunk=4096 --json
unset GROVE_NODE_SIZE
names bench

echo 'a new user is told what is allowed'
