#!/usr/bin/env bash
# grove machine: list, show and compare, for people and for programs; what is wrong with a profile
# is one sentence with its line and column.
#
#   BUILD   the build directory (build)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs python3
limit=20
export XDG_CACHE_HOME=$work/cache # without profiles of the caller

# machine ARGUMENT...: grove machine with them.
machine() {
  run "$grove" machine "$@"
}

# good ARGUMENT...: must succeed, and say nothing on standard error.
good() {
  machine "$@"
  ((status == 0)) || fail 'it failed'
  [[ ! -s $work/err ]] || fail 'it complains'
}

# bad WORD ARGUMENT...: one sentence with the word in it, exit status 2.
bad() {
  local word=$1
  shift
  machine "$@"
  ((status == 2)) || fail 'the exit status is not 2'
  [[ ! -s $work/out ]] || fail 'it wrote to standard output'
  (($(wc -l <"$work/err") == 1)) || fail 'not one line'
  grep -q '^grove machine' "$work/err" || fail 'not a sentence of its own'
  grep -qFe "$word" "$work/err" || fail "the sentence does not name $word"
}

# json EXPRESSION: of Python, about the JSON on standard output, x.
json() {
  python3 - "$work/out" "$1" <<'END' || fail "not so: $1"
import json, math, sys
x = json.load(open(sys.argv[1]))
sys.exit(not eval("(" + sys.argv[2] + ")"))
END
}

# --- help ---

for page in --help -h 'list --help' 'show --help' 'compare -h' 'show lassen --help'; do
  # shellcheck disable=SC2086 # the words of the page
  good $page
  has 'usage: grove machine'
  has Example
done
good --help
for name in list show compare; do has "  $name "; done
bad 'grove machine --help'
bad "'sho'" sho

# --- list ---

readonly machines='beluga bluewaters dgx frontier infiniband lassen narval niagara pcie-box
  perlmutter slingshot summit tcp-10g tukey'
good list
for name in $machines; do
  grep -qE "^$name +[-0-9]+ +[-0-9]+ +[-0-9]+ +(complete|assumed|incomplete) +[^ ]" "$work/out" ||
    fail "no $name"
done
files=(machines/*.machine)
(($(wc -l <"$work/out") == 1 + ${#files[@]})) || fail 'not a line for each'
good list --json
json 'set(m["name"] for m in x["machines"]) == set("""'"$machines"'""".split())'
json 'all(m["about"] for m in x["machines"])'
json 'set(m["status"] for m in x["machines"]) == {"complete", "assumed", "incomplete"}'
json '[m for m in x["machines"] if m["name"] == "lassen"][0]["gpus"] == 4'
json '[m for m in x["machines"] if m["name"] == "tukey"][0]["ranks"] is None'
bad "'lassen'" list lassen
bad "'--jsn'" list --jsn

# --- show ---

good show lassen
has 'lassen (complete)'
grep -qE '^ *cpu +off-node +eager +256 +2\.440 +2\.639 +\[[0-9, ]+\]$' "$work/out" || fail 'eager?'
grep -qE '^ *gpu-nogdr +off-node +rend +16384 +87\.200 +12\.563 ' "$work/out" || fail 'no GDR?'
grep -qE '^ *gpu +off-node +any +no limit' "$work/out" || fail 'injection of GPUs?'
grep -qE '^ *h2d +4 +15\.200 +1\.812 ' "$work/out" || fail 'copies?'
has 'missing: gamma; delta; flag; shared; LogGP'
has 'Lockhart et al. 2023, Table 3'
good show bluewaters
grep -qE 'gamma\) +8\.40 ns' "$work/out" || fail 'gamma?'
good show tukey
grep -qE '^ *off-node +262144 +7\.404 +2\.536 +4\.873 +10\.664 +2\.012 ' "$work/out" ||
  fail 'LogGP?'

good compare beluga narval --json
json '{c["name"]: c["ratio"] for c in x["comparison"]}["link-beta 0-1"] == 0.5'
json 'x["parameters"]["count"] == 45'
good show dgx
has 'links inside a node, from the left to the top'
grep -qE '^ +2( +300){2} +\.( +300){5} +25$' "$work/out" || fail 'rates?'
grep -qE '^ +host( +5){8} +\.$' "$work/out" || fail 'latencies?'
grep -qE '^  out, peers( +300){8}  ' "$work/out" || fail 'ports?'
has 'slot-in-3       25 GB/s for 6-host 7-host'
good show dgx --json
json 'len(x["links"]) == 72 and len(x["ports"]) == 16 and len(x["link_shares"]) == 8'
json '{"from": 3, "to": "host", "alpha_seconds": 5e-06, "bytes_per_second": 25e9} in x["links"]'
json 'x["stops"][-1] == {"at": "host", "epsilon_seconds": 4e-06}'
json 'x["link_shares"][7]["links"] == [{"from": "host", "to": 6}, {"from": "host", "to": 7}]'
good show lassen
if grep -q 'links inside' "$work/out"; then fail 'Lassen has no links'; fi
good show lassen --json
json 'x["links"] == [] and x["ports"] == []'

for name in $machines; do
  good show "$name"
  if grep -q ' $' "$work/out"; then fail 'blanks at the end of a line'; fi
  # Every number of a source that is used is listed, and the other way round.
  grep -oE '\[[0-9, ]+\]$' "$work/out" | grep -oE '[0-9]+' | sort -un >"$work/used"
  sed -nE 's/^  \[([0-9]+)\] .*/\1/p' "$work/out" | sort -un | diff "$work/used" - ||
    fail 'sources do not match'
  good show "$name" --json
  json "x['name'] == '$name' and all(r['source'] and r['known'] for r in x['rows'])"
done
good show lassen --json
json 'x["ranks"] == 40 and x["gamma_seconds"] is None and x["missing"].startswith("gamma")'
json 'len(x["messages"]) == 21'
json '[m["alpha_seconds"] for m in x["messages"] if m["memory"] + m["protocol"] == "cpurend"]
      == [3.15e-06, 6.77e-06, 7.76e-06]'
json '[r["value"] for r in x["rows"] if r["term"] == "injection"] == [4.19e-11, "inf", "inf"]'
good show bluewaters --json
json 'x["injection"][0]["seconds_per_byte"] == 0 and x["gamma_seconds"] == 8.4e-9'

# --- files ---

cat >"$work/ours.machine" <<'END'
# Ours
name "ours" \ of 2026
gamma cpu any - 7e-9 s measured 2026-11-15
future cpu on-moon 7 1.5 parsec a later version
alpha cpu any any 1 s guess
end 4
END
machine show "$work/ours.machine" --json
((status == 0)) || fail 'it failed'
json 'x["name"] == "\"ours\" \\ of 2026" and [r["known"] for r in x["rows"]] == [True, False, True]'
grep -q "ours.machine, line 4: .*'future" "$work/err" || fail 'no warning of the row'
(($(wc -l <"$work/err") == 1)) || fail 'more than one warning'
machine show "$work/ours.machine"
has 'future cpu on-moon 7 1.5 parsec'

# A row added to a profile, behind its end or in the middle: kept, and warned of.
row='future cpu on-moon 7 1.5 parsec a later version'
(cat machines/lassen.machine && echo "$row") >"$work/behind.machine"
sed "21a $row" machines/lassen.machine >"$work/inside.machine"
for name in behind inside; do
  machine show "$work/$name.machine" --json
  ((status == 0)) || fail 'it failed'
  grep -q "$name.machine, line [0-9]*: .*'future" "$work/err" || fail 'no warning of the row'
  json 'x["name"] == "lassen" and [r["term"] for r in x["rows"] if not r["known"]] == ["future"]'
done
sed 21d machines/lassen.machine >"$work/less.machine"
bad '1 row is missing' show "$work/less.machine"

head -c 2000 machines/lassen.machine >"$work/half.machine"
bad 'half.machine, line ' show "$work/half.machine"
head -20 machines/lassen.machine >"$work/lines.machine"
bad "no row 'end 11'" show "$work/lines.machine"
grep -qF '.c:' "$work/err" && fail 'a place in the source of Grove tells a user nothing'
bad 'which machine' show ''
sed 's/ s  *measured/ us measured/' "$work/ours.machine" >"$work/unit.machine"
bad 'unit.machine, line 3, column 22: the unit' show "$work/unit.machine"
printf 'name x\0y\nend 1\n' >"$work/nul.machine"
bad 'nul.machine, line 1, column 7' show "$work/nul.machine"
bad "'lasen'" show lasen
grep -q 'bluewaters, .*lassen, .*tukey' "$work/err" || fail 'it does not name those there are'
bad "$work/none.machine" show "$work/none.machine"
bad "$work cannot be read" show "$work"
head -c 4000 "$grove" >"$work/binary"
bad 'this is not a profile' show "$work/binary"
bad '1 name' show
bad "'summit'" show lassen summit
bad "'--all'" show lassen --all

# The example of the manual is a profile.
sed -n '/^    # Ours, by hand/,/^    end /s/^    //p' docs/machines.md >"$work/example.machine"
good show "$work/example.machine"
has 'missing: gamma; delta; flag; shared; LogGP'

# What exchanges have corrected is shown, also if it is nothing.
awk '/^end / { print "factor cpu any latency 1.5 1 measured 2026-11-19, 9 samples"
               print "factor cpu any crowd-byte 0.5 1 measured 2026-11-19, 9 samples"
               $2 += 2 } { print }' machines/lassen.machine >"$work/corrected.machine"
good show "$work/corrected.machine"
has 'by exchanges of all ranks, prices multiply'
grep -qE '^ +latency +1\.500 ' "$work/out" || fail 'no factor of latency'
grep -qE '^ +crowd-byte +0\.500 ' "$work/out" || fail 'no factor of a part of a crowd'
good show "$work/corrected.machine" --json
json 'x["factors"]["latency"] == 1.5 and x["factors"]["crowd_byte"] == 0.5'
json 'len(x["factors"]) == 11 and x["factors"]["on_node"] == 1'
good compare lassen "$work/corrected.machine"
grep -qE '^ *factor latency +1 +1\.5 +1\.500$' "$work/out" || fail 'factors are not compared'
good show lassen
grep -q 'prices multiply' "$work/out" && fail 'factors of a machine that has none'

# --- compare ---

good compare lassen lassen
grep -qE '^messages: 36 .* 1\.000 apart in the median and 1\.000 ' "$work/out" || fail 'not equal'
tail -1 "$work/out" | grep -E '^parameters: .* a factor of 1\.000 .* 1\.000 at worst' >/dev/null ||
  fail 'a machine differs from itself'
good compare lassen summit
grep -qE '^ *alpha cpu off-node eager +2\.44 +1\.85 us +0\.758$' "$work/out" || fail 'eager?'
tail -1 "$work/out" | grep -F '1.985 at worst (beta cpu on-socket short)' >/dev/null ||
  fail 'the worst?'
good compare lassen summit --json
json 'x["a"] == "lassen" and x["b"] == "summit" and x["messages"]["count"] == 12'
json 'x["parameters"]["worst_name"] == "beta cpu on-socket short"'
json 'math.isclose(x["parameters"]["worst_factor"], 2.62 / 1.32)'
json 'all(c["ratio"] is None or math.isclose(c["ratio"], c["b"] / c["a"]) for c in x["comparison"])'
json 'any(c["name"] == "copy-beta h2d 4" and c["b"] is None for c in x["comparison"])'
good compare niagara frontier --json
json 'x["messages"]["count"] == 0 and x["messages"]["median_factor"] is None'
good compare tcp-10g tukey
has 'g off-node 262144..'
bad '2 names' compare lassen
bad "'lasen'" compare lassen lasen
bad "'x'" compare lassen summit x

echo 'grove machine says what it should'
