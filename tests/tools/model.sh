#!/usr/bin/env bash
# grove model, grove model figure and grove aggregate: their numbers by hand, through JSON; the
# table for people; pictures; and what they say to bad input.
#
#   BUILD   the build directory (build)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs python3 gnuplot
limit=60

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

# model ARGUMENT...: an exchange on Lassen, and what else is said.
exchange=(--messages-per-proc 8 --bytes-per-proc 1e6 --bytes-per-node 4MB
  --bytes-node-to-node 1500kB
  --nodes-per-proc 5 --messages-node-to-node=2)
model() {
  run "$grove" model --machine lassen "${exchange[@]}" "$@"
}

# python SCRIPT: with the JSON of standard output as d.
python() {
  python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
def close(a, b): assert abs(a - b) <= 1e-12 * abs(b), (a, b)
if "strategies" in d:
    t = {(x["route"], x["path"]): x for x in d["strategies"]}
    for x in t.values():
        close(x["seconds"], sum(x["terms"].values()))
'"$1" "$work/out" 2>"$work/err" || fail 'the JSON is not what it should be'
}

# --- help ---

for page in 'model --help' 'aggregate --help' 'model figure --help'; do
  # shellcheck disable=SC2086 # the words of the page
  good "$grove" $page
  has 'usage: grove'
  has 'Examples:'
done
good "$grove" --help
has '  model '
has '  aggregate '

# --- model ---

model --protocol rend --json
((status == 0)) || fail 'it failed'
python '
s, S, N = 1e6, 4e6, 1.5e6
copy = 1.27e-05 + 1.96e-11 * s + 1.30e-05 + 1.85e-11 * N
assert len(t) == 10 and d["machine"] == "lassen" and d["ppn"] == 4 and d["gpus_per_socket"] == 2
x = t["standard", "staged"]["terms"]
close(x["off_node"], 8 * 7.76e-06 + 4 * s * 4.19e-11)
close(x["copy"], 1.27e-05 + 1.96e-11 * s + 1.30e-05 + 1.85e-11 * s)
assert x["on_node"] == 0
close(t["standard", "device"]["seconds"], 8 * 1.10e-05 + 1.72e-10 * s)
x = t["3-step", "staged"]["terms"]
close(x["off_node"], 2 * 7.76e-06 + S * 4.19e-11)
close(x["on_node"], 2 * (3.15e-06 + 3.40e-11 * N + 2 * (6.77e-06 + 1.49e-10 * N)))
close(x["copy"], copy)
x = t["2-step", "device"]["terms"]
close(x["off_node"], 5 * 1.10e-05 + 1.72e-10 * s)
close(x["on_node"], 1.82e-05 + 1.46e-11 * s + 2 * (1.93e-05 + 2.39e-11 * s))
x = t["split-md", "staged"]["terms"]
close(x["off_node"], 5 * 7.76e-06 + S * 4.19e-11)
close(x["on_node"], 2 * (19 * (3.15e-06 + 3.40e-11 * S) + 20 * (6.77e-06 + 1.49e-10 * S)))
close(x["copy"], copy)
x = t["split-dd", "staged"]["terms"]
close(x["on_node"], 2 * (4 * (3.15e-06 + 3.40e-11 * S) + 5 * (6.77e-06 + 1.49e-10 * S)))
close(x["copy"], 1.47e-05 + 1.50e-10 * s + 1.52e-05 + 5.52e-10 * N)
least = min((x for k, x in t.items() if k[0] != "2-step-1"), key=lambda x: x["seconds"])
assert d["best"] == {"route": least["route"], "path": least["path"]}
'
model --protocol rend --as-published --json
python '
assert t["standard", "staged"]["terms"]["copy"] == 0 and d["as_published"] is True
close(t["2-step", "staged"]["terms"]["copy"],
      1.30e-05 + 1.85e-11 * 1e6 + 1.27e-05 + 1.96e-11 * 1.5e6)
'
model --protocol rend --ppn 2 --gpus-per-socket 1 --duplicates 0.5 --json
python '
close(t["standard", "staged"]["terms"]["off_node"], 8 * 7.76e-06 + 2 * 1e6 * 4.19e-11)
close(t["2-step", "device"]["terms"]["on_node"], 1.93e-05 + 2.39e-11 * 5e5)
close(t["2-step", "device"]["terms"]["off_node"], 5 * 1.10e-05 + 1.72e-10 * 5e5)
'
model --protocol short --json
python '
close(t["standard", "device"]["seconds"], 8 * 8.95e-06 + 1.72e-10 * 1e6)
assert any("no short protocol" in n for n in d["notes"]), d["notes"]
'
good "$grove" model --machine bluewaters "${exchange[@]}" --json
python '
assert set(t) == {(r, "staged") for r in ("standard", "2-step", "2-step-1", "3-step", "split-md")}
assert all(x["terms"]["copy"] == 0 for x in t.values()) and d["ppn"] == 16
assert len(d["notes"]) == 2
'
model
((status == 0)) || fail 'it failed'
has 'lassen: 8 messages and 1 MB per process to 5 nodes'
has '<- fastest'
has '(best case)'
grep -qE ' is the fastest; [0-9]+ % of its time is ' "$work/out" || fail 'what binds?'

for flag in messages-per-proc bytes-per-proc bytes-per-node bytes-node-to-node nodes-per-proc; do
  for value in -1 x '' 1.5 nan 0x10 1e30; do
    bad "--$flag" "$grove" model --machine lassen "${exchange[@]}" "--$flag" "$value"
  done
done
for flag in --machine --messages-per-proc --bytes-per-node --messages-node-to-node; do
  words=(--machine lassen "${exchange[@]//messages-node-to-node=2/messages-node-to-node 2}")
  kept=()
  for ((i = 0; i < ${#words[@]}; i += 2)); do
    if [[ ${words[i]%% *} != "$flag" ]]; then kept+=("${words[i]%% *}" "${words[i + 1]-2}"); fi
  done
  bad "$flag is missing" "$grove" model "${kept[@]}"
done
bad "'nowhere'" "$grove" model --machine nowhere "${exchange[@]}"
bad 'which machine' "$grove" model --machine '' "${exchange[@]}"
bad niagara "$grove" model --machine niagara "${exchange[@]}"
bad duplicates "$grove" model --machine lassen "${exchange[@]}" --duplicates 1.1
bad duplicates "$grove" model --machine lassen "${exchange[@]}" --duplicates -0.1
bad "'slow'" "$grove" model --machine lassen "${exchange[@]}" --protocol slow
bad ppn "$grove" model --machine lassen "${exchange[@]}" --ppn 0
bad "'--what'" "$grove" model --machine lassen "${exchange[@]}" --what
head -c 700 machines/lassen.machine >"$work/half.machine"
bad half.machine "$grove" model --machine "$work/half.machine" "${exchange[@]}"

# Half of a pair is none: no price, and never a number that JSON does not know.
printf 'name half\nalpha cpu off-node any 1e-6 s x\nend 2\n' >"$work/alone.machine"
bad 'no alpha and beta' "$grove" model --machine "$work/alone.machine" "${exchange[@]}" --ppn 2
printf '%s\n' 'name half' 'ranks - node - 4 1 x' 'alpha cpu any any 1e-6 s x' \
  'beta cpu any any 1e-9 s/B x' 'copy-alpha gpu d2h 1 1e-5 s x' 'copy-beta gpu d2h 1 1e-9 s/B x' \
  'copy-alpha gpu h2d 1 1e-5 s x' 'end 7' >"$work/copies.machine"
good "$grove" model --machine "$work/copies.machine" "${exchange[@]}" --json
grep -q nan "$work/out" && fail 'nan is no number of JSON'
python 'assert all(x["terms"]["copy"] == 0 for x in t.values()) and len(t) == 5'

# --- aggregate: Table I of the paper, all rows ---

while read -r size parts; do
  good "$grove" aggregate --machine niagara --bytes "$size" --parts 32 --delay 0.004 --json
  has "\"best\": $parts,"
  python '
assert [c["transport_parts"] for c in d["choices"]] == [1, 2, 4, 8, 16, 32]
p, k, D = d["parameters"], d["bytes"], 0.004
for c in d["choices"]:
    n = c["transport_parts"]
    close(c["seconds"], D + p["o_s"] + (n - 1) * max(p["g"], p["o_s"], p["o_r"]) +
          (k / n - 1) * p["G"] + p["L"] + p["o_r"])
assert d["best"] == min(d["choices"], key=lambda c: c["seconds"])["transport_parts"]
'
done <<'EOT'
64KiB 1
128KiB 1
256KiB 1
512KiB 2
1MiB 2
2MiB 4
4MiB 4
8MiB 8
16MiB 8
32MiB 16
64MiB 16
128MiB 32
256MiB 32
EOT
# Parts stay whole: of 8 messages for 12 parts the largest has two parts, as with 6.
good "$grove" aggregate --machine niagara --bytes 4MiB --parts 12 --delay 4ms --form drained --json
python '
assert [c["transport_parts"] for c in d["choices"]] == [1, 2, 4, 8] and d["form"] == "drained"
p, k, D = d["parameters"], d["bytes"], 0.004
assert d["where"] == "off-node" and p["derived"] is False
for c in d["choices"]:
    n = c["transport_parts"]
    part = -(-12 // n) * k / 12
    early = (n - 1) * ((part - 1) * p["G"] + max(p["g"], p["o_s"]))
    close(c["bytes"], part)
    close(c["seconds"], max(early, D) + p["o_s"] + (part - 1) * p["G"] + p["L"] + n * p["o_r"])
'
# Any number, beside the powers of two.
good "$grove" aggregate --machine niagara --bytes 6MB --parts 6 --delay 4ms --json
python '
assert [c["transport_parts"] for c in d["choices"]] == [1, 2, 4, 6] and d["best"] == 6
'
good "$grove" aggregate --machine niagara --bytes 4MB --parts 30 --delay 100us --form covered --json
python '
p, k, D = d["parameters"], d["bytes"], 1e-4
def price(n):
    tail = (-(-30 // n) * k / 30 - 1) * p["G"]
    return (max((n - 1) * tail, D) + p["o_s"] + (n - 1) * max(p["g"], p["o_s"], p["o_r"]) + tail +
            p["L"] + p["o_r"])
for c in d["choices"]:
    close(c["seconds"], price(c["transport_parts"]))
assert d["best"] == min(range(1, 31), key=price) == 2
'
# Without LogGP alpha and beta do.
good "$grove" aggregate --machine lassen --where on-node --bytes 1MiB --parts 12 --delay 50us --json
python '
p, k, D = d["parameters"], d["bytes"], 5e-5
assert p["derived"] is True and p["L"] == p["g"] and p["o_s"] is None and d["where"] == "on-node"
for c in d["choices"]:
    n = c["transport_parts"]
    close(c["seconds"], D + p["L"] + (n - 1) * p["g"] + (-(-12 // n) * k / 12 - 1) * p["G"])
'
good "$grove" aggregate --machine lassen --bytes 1MiB --parts 12 --delay 50us
has 'no LogGP off-node: L and g are its alpha, G is its beta'
grep -q 'does not tell' "$work/out" && fail 'both sentences'

# A table: what was measured beside what the model says.
printf '%s\n' '# made up' '32 1048576 4 0.00012' '32 4194304 4' >"$work/t.table"
good "$grove" aggregate --machine niagara --table "$work/t.table" --delay 4ms --json
python '
e = d["entries"]
assert [(x["parts"], x["bytes"], x["transport_parts"], x["best"]) for x in e] == \
    [(32, 1 << 20, 4, 2), (32, 4 << 20, 4, 4)]
close(e[0]["measured_seconds"], 0.00012)
assert e[1]["measured_seconds"] is None
close(e[0]["seconds"], 4e-3 + 1e-6 + 3 * 1.54e-5 + ((1 << 18) - 1) * 8.33e-11 + 1e-6 + 1.54e-5)
close(e[0]["best_seconds"], 4e-3 + 1e-6 + 1.54e-5 + ((1 << 19) - 1) * 8.33e-11 + 1e-6 + 1.54e-5)
assert e[1]["seconds"] == e[1]["best_seconds"]
assert [x["endpoints"] for x in e] == [None, None]
'
good "$grove" aggregate --machine niagara --table "$work/t.table" --delay 4ms
grep -qE '^ +32 +1 MiB +4 +120\.00 +85\.44 +2 +76\.47$' "$work/out" || fail 'not this line'
grep -qE '^ +32 +4 MiB +4 +- +150\.95 +4 +150\.95$' "$work/out" || fail 'nor this one'
grep -q 'endpoints' "$work/out" && fail 'endpoints, where nobody tells them'
has "table's opinion in 1 of 2 entries"
# One that tells endpoints for some.
printf '%s\n' '32 1048576 4 0.00012 8' '32 4194304 4' '32 65536 1 - 16' >"$work/e.table"
good "$grove" aggregate --machine niagara --table "$work/e.table" --delay 4ms --json
python '
e = d["entries"]
assert [x["endpoints"] for x in e] == [8, None, 16], e
assert e[0]["measured_seconds"] == 0.00012 and e[2]["measured_seconds"] is None
'
good "$grove" aggregate --machine niagara --table "$work/e.table" --delay 4ms
has 'messages  endpoints  measured us'
grep -qE '^ +32 +1 MiB +4 +8 +120\.00 ' "$work/out" || fail 'not 8 endpoints'
grep -qE '^ +32 +4 MiB +4 +- +- ' "$work/out" || fail 'not a dash'
printf '32 1048576 4 0.1 17\n' >"$work/bad.table"
bad 'bad.table, line 1, column 18' "$grove" aggregate --machine niagara --table "$work/bad.table" \
  --delay 0
printf '32 1048576 40\n' >"$work/bad.table"
bad 'bad.table, line 1, column 12' "$grove" aggregate --machine niagara --table "$work/bad.table" \
  --delay 0
bad 'none.table cannot be opened' "$grove" aggregate --machine niagara --table none.table --delay 0
bad 'leave out --bytes' "$grove" aggregate --machine niagara --table "$work/t.table" --delay 0 \
  --bytes 1
good "$grove" aggregate --machine niagara --bytes 4MiB --parts 32 --delay 4ms
has '<- best'
has 'Send 4 messages.'

printf '%s\n' 'name some' 'g cpu off-node 0.. 1e-6 s x' 'G cpu off-node 0.. 1e-9 s/B x' 'end 3' \
  >"$work/some.machine"
good "$grove" aggregate --machine "$work/some.machine" --bytes 4MiB --parts 32 --delay 4ms
has 'does not tell L, o_s, o_r: counted as 0'
grep -q nan "$work/out" && fail 'nan is no number'

aggregate=(aggregate --machine niagara --bytes 4MiB --parts 32 --delay 4ms)
bad "'-4'" "$grove" "${aggregate[@]}" --bytes -4
bad "'4Mib'" "$grove" "${aggregate[@]}" --bytes 4Mib
bad "'0'" "$grove" "${aggregate[@]}" --parts 0
bad "'-1'" "$grove" "${aggregate[@]}" --delay -1
bad "'4h'" "$grove" "${aggregate[@]}" --delay 4h
bad "'open'" "$grove" "${aggregate[@]}" --form open
bad "'nowhere'" "$grove" "${aggregate[@]}" --machine nowhere
printf 'name none\nranks - node - 4 1 x\nend 2\n' >"$work/none.machine"
bad 'none has neither LogGP' "$grove" "${aggregate[@]}" --machine "$work/none.machine"
bad "'far'" "$grove" "${aggregate[@]}" --where far
bad '--bytes is missing' "$grove" aggregate --machine niagara --parts 32 --delay 4ms
bad '--delay is missing' "$grove" aggregate --machine niagara --parts 32 --bytes 1

# --- figures ---

figures='2.5 2.6 3.1 4.2 4.3 3 4 5 7 9 parts-3'
figures+=' multipath-4 multipath-5 multipath-6 multipath-7'
readonly figures
good "$grove" model figure --list
for name in $figures; do grep -q "^$name " "$work/out" || fail "figure $name is not listed"; done

# Without gnuplot: data and script, and a sentence. The command needs nothing else of PATH.
mkdir "$work/empty"
good env PATH="$work/empty" "$grove" model figure all -o "$work/dry/run"
for name in $figures; do
  for ending in dat gp; do
    [[ -s $work/dry/run/figure-$name.$ending ]] || fail "no figure-$name.$ending"
  done
done
has 'gnuplot, which would draw them, is not on PATH'

good "$grove" model figure all -o "$work/pictures"
[[ ! -s $work/err ]] || fail 'gnuplot complains'
for name in $figures; do
  [[ $(head -c 4 "$work/pictures/figure-$name.png") == $'\x89PNG' ]] || fail "$name.png is no PNG"
  grep -q '</svg>' "$work/pictures/figure-$name.svg" || fail "$name.svg ends early"
  grep -q 'gnuplot_plot_1' "$work/pictures/figure-$name.svg" || fail "$name.svg has no lines"
done
python3 -c '
import sys, xml.dom.minidom
for file in sys.argv[1:]: xml.dom.minidom.parse(file)' "$work"/pictures/*.svg || fail 'no SVG'
# A name is a name: nothing in it is run, neither in a script nor in a picture.
for name in 'x`touch '"$work/run1"'`' "x\"; system(\"touch $work/run2\"); z=\"" \
  "x'; system('touch $work/run3'); z='" 'x\' '{/*9 x_y^z'; do
  sed "s|^name .*|name ${name//\\/\\\\}|" machines/lassen.machine >"$work/named.machine"
  good "$grove" model figure 2.5 --machine "$work/named.machine" -o "$work/named"
  [[ ! -s $work/err ]] || fail 'gnuplot complains'
  good "$grove" model figure 4.3 --machine "$work/named.machine" -o "$work/named"
  [[ ! -s $work/err ]] || fail 'gnuplot complains'
done
for name in run1 run2 run3; do [[ ! -e $work/$name ]] || fail "a name was run: $name"; done
# What a machine has no numbers for has no line: gnuplot has nothing to complain of.
for name in 2.5 2.6 4.2 4.3; do
  good "$grove" model figure $name --machine bluewaters -o "$work/few"
  [[ ! -s $work/err ]] || fail 'gnuplot complains'
done
head -1 "$work/few/figure-4.3.dat" | diff - <(echo 'bytes "standard staged" "3-step staged"' \
  '"2-step staged" "2-step-1 staged" "split-md staged" least') || fail 'not these strategies'
printf '%s\n' 'name host' 'alpha cpu on-node any 1e-6 s x' 'beta cpu on-node any 1e-9 s/B x' \
  'end 3' >"$work/host.machine"
for name in 2.5 3; do
  good "$grove" model figure $name --machine "$work/host.machine" -o "$work/few"
  [[ ! -s $work/err ]] || fail 'gnuplot complains'
  [[ $(head -1 "$work/few/figure-$name.dat") == 'bytes on-node' ]] || fail 'not this line'
done
# The script draws by itself, elsewhere.
mkdir "$work/moved"
mv "$work/pictures/figure-4.3".{dat,gp} "$work/moved"
(cd "$work/moved" && good gnuplot figure-4.3.gp)
[[ -s $work/moved/figure-4.3.svg && -s $work/moved/figure-4.3.png ]] || fail 'it drew nothing'
for machine in niagara frontier tukey; do
  for name in 2.5 2.6 4.2 4.3 3; do
    bad 'alpha and beta' "$grove" model figure $name --machine $machine -o "$work/none"
  done
done
[[ ! -e $work/none ]] || fail 'something was left of a figure that cannot be drawn'
good "$grove" model figure --list --json
python '
assert [f["name"] for f in d["figures"]] == "'"$figures"'".split()
assert all(f["about"] and f["machine"] for f in d["figures"])
'
good "$grove" model figure all -o "$work/json" --json
python '
import os
assert len(d["figures"]) == 15 and d["figures"][5]["machine"] == "bluewaters"
made, folder = [f for x in d["figures"] for f in x["files"]], "'"$work"'/json"
assert sorted(made) == sorted(os.path.join(folder, f) for f in os.listdir(folder))
'
good "$grove" model figure 2.5 --machine bluewaters -o "$work/other"
good "$grove" model figure parts-3 -o "$work/other"
has '1 to 256 KiB, 2 to 1 MiB, 4 to 4 MiB, 8 to 16 MiB, 16 to 64 MiB, 32 to 256 MiB'
[[ ! -s $work/err ]] || fail 'gnuplot complains'
bad 'LogGP' "$grove" model figure parts-3 --machine "$work/none.machine" -o "$work/other"
bad 'gamma' "$grove" model figure 5 --machine lassen -o "$work/other"
bad "'4.4'" "$grove" model figure 4.4 -o "$work/other"
bad 'which figure' "$grove" model figure -o "$work/other"
bad 'cannot be written' "$grove" model figure 2.5 -o /dev/null/here
bad "'nowhere'" "$grove" model figure 2.5 --machine nowhere -o "$work/other"

echo 'models, aggregation and figures are as they should be'
