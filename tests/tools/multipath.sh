#!/usr/bin/env bash
# grove multipath: what it says is what a program says that was written from the paper alone; its
# JSON keeps its promises; pictures; what is wrong is one sentence. Nothing here compares times.
#
#   BUILD   the build directory (build)        SEED   of the random nodes
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs python3 gnuplot
limit=60
seed=${SEED:-20240613}
[[ $seed =~ ^[0-9]+$ ]] || seed=$(date +%s)
echo "seed $seed"

good() {
  run "$@"
  ((status == 0)) || fail 'it failed'
  [[ ! -s $work/err ]] || fail 'it complains'
}

# bad WORD ARGUMENT...: exit status 2, one sentence on standard error with the word in it.
bad() {
  local word=$1
  shift
  run "$grove" multipath "$@"
  ((status == 2)) || fail 'the exit status is not 2'
  [[ ! -s $work/out ]] || fail 'it wrote to standard output'
  (($(wc -l <"$work/err") == 1)) || fail 'not one sentence'
  grep -q '^grove multipath: ' "$work/err" || fail 'not a sentence of its own'
  grep -qFe "$word" "$work/err" || fail "the sentence does not name $word"
}

# json EXPRESSION: of Python, about the JSON on standard output, x.
json() {
  python3 - "$work/out" "$1" <<'END' || fail "not so: $1"
import json, sys
x = json.load(open(sys.argv[1]))
paths = x.get("paths", [])
used = [p for p in paths if p["share"] > 0]
def close(a, b): return abs(a - b) <= 1e-9 * abs(b)
sys.exit(not eval("(" + sys.argv[2] + ")"))
END
}

paper=tests/tools/multipath_paper.py
beluga=(--machine beluga --from 0 --to 1)

# --- every equation, as the paper has it ---

good "$BUILD/tests/model/multipath_numbers" 1000 "$seed"
cp "$work/out" "$work/numbers"
good python3 $paper numbers "$work/numbers"
cat "$work/out"

# --- whole answers: on Beluga, and on random nodes ---

# node FILE NUMBER: a profile with three or four GPUs of random links, nothing shared.
node() {
  python3 - "$1" "$2" "$seed" <<'END'
import random, sys
file, number, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
r = random.Random(seed * 1000 + number)
gpus = r.choice((3, 4))
def between(a, b): return a * (b / a) ** r.random()
rows = ["name random", "gpus - node - %d 1 made" % gpus]
ends = list(map(str, range(gpus))) + ["host"]
for a in ends:
    rows.append("link-epsilon gpu %s - %.17g s made" % (a, between(1e-7, 5e-6)))
    for b in ends:
        if a != b:
            rows.append("link-alpha gpu %s-%s - %.17g s made" % (a, b, between(5e-7, 1e-5)))
            rows.append("link-beta gpu %s-%s - %.17g B/s made" % (a, b, between(5e9, 2e11)))
open(file, "w").write("\n".join(rows + ["end %d" % len(rows), ""]))
END
}

answers=()
for bytes in 1 65536 2MiB 3000001 64MB 512MiB; do
  for solver in published exact; do
    good "$grove" multipath "${beluga[@]}" --bytes $bytes --solver $solver --json
    cp "$work/out" "$work/answer-$bytes-$solver"
    answers+=("$work/answer-$bytes-$solver")
  done
done
for i in 2 3 5 6 7 9 11 12; do
  node "$work/random.machine" "$i"
  for solver in published exact; do
    bytes=$((1000 * 3 ** i))
    good "$grove" multipath --machine "$work/random.machine" --from 0 --to 1 --bytes $bytes \
      --solver $solver --json
    cp "$work/out" "$work/answer-$i-$solver"
    answers+=("$work/answer-$i-$solver")
  done
done
good python3 $paper answer "${answers[@]}"
cat "$work/out"

# --- Beluga and the others ---

good "$grove" multipath "${beluga[@]}" --bytes 256MB --json
json 'set(x) >= set("machine from to bytes solver seconds single_path_seconds gain paths".split())'
json 'x["machine"] == "beluga" and x["from"] == 0 and x["to"] == 1 and x["bytes"] == 256000000'
json 'x["solver"] == "exact" and x["gain"] >= 2.9 and close(x["bound"], 3.24) and x["gain"] < 3.24'
json '[(p["kind"], p["via"]) for p in paths] ==
      [("direct", None), ("gpu", 2), ("gpu", 3), ("host", None)]'
json 'all(paths[0][k] is None for k in ("epsilon", "alpha2", "beta2", "phi"))'
json 'set(paths[1]) >= set("""kind via alpha beta epsilon alpha2 beta2 phi omega delta share bytes
      chunks seconds""".split()) and paths[1]["beta"] == 50e9 and paths[3]["beta2"] == 12e9'
json 'sum(p["bytes"] for p in paths) == 256000000 and len(used) == 4'
good "$grove" multipath "${beluga[@]}" --bytes=256MB --solver=published --json
json 'x["solver"] == "published" and x["gain"] >= 2.9'
good "$grove" multipath "${beluga[@]}" --bytes 1 --json
json 'len(used) == 1 and used[0]["bytes"] == 1 and x["gain"] == 1'
json 'paths[1]["omega"] is None and paths[1]["chunks"] == 0 and paths[1]["seconds"] == 0'

# Relays that share the port of a switch gain nothing, by any solver, at any size.
for solver in exact published search; do
  for bytes in 1MB 20MB 1GB; do
    good "$grove" multipath --machine dgx --from 2 --to 5 --bytes $bytes --solver $solver --json \
      --paths direct,gpu0,gpu1,gpu7
    json 'close(x["gain"], 1) and len(used) == 1 and x["bound"] == 1'
    json 'paths[1]["limited_by"] == "the port out of GPU 2" and "port out of GPU 2" in x["says"]'
  done
done
good "$grove" multipath --machine dgx --from 0 --to 1 --bytes 1GB --json
json 'len(paths) == 8 and [p["kind"] for p in used] == ["direct", "host"]'
good "$grove" multipath --machine pcie-box --from 0 --to 1 --bytes 1GB --json
json 'x["gain"] == 1 and len(used) == 1'

# Both ways: as fast as each other, and no faster than one way; who knows of nothing shared loses.
good "$grove" multipath "${beluga[@]}" --bytes 256MB --json
one=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["seconds"])' "$work/out")
good "$grove" multipath "${beluga[@]}" --bytes 256MB --both --json
json "x['both'] and x['seconds'] > $one * (1 + 1e-6)"
json 'x["checked_seconds"] <= x["seconds"] * 1.000001'
json 'x["others"][0]["from"] == 1 and close(x["others"][0]["seconds"], x["seconds"])'
json 'paths[3]["limited_by"].startswith("uplink") and "uplink" in x["says"]'
good "$grove" multipath "${beluga[@]}" --bytes 256MB --both --as-published --solver published --json
json 'x["checked_seconds"] > 1.5 * x["seconds"]'
good "$grove" multipath "${beluga[@]}" --bytes 256MB --also 2-3 --json
json 'len(x["others"]) == 1 and 1.8 < x["gain"] < 2.5'

# A threshold.
good "$grove" multipath "${beluga[@]}" --bytes 512KiB --json
json '1 < x["gain"] < 1.1 and len(used) == 2'
good "$grove" multipath "${beluga[@]}" --bytes 512KiB --threshold 1.1 --json
json 'x["gain"] == 1 and len(used) == 1 and used[0]["bytes"] == 524288 and "threshold" in x["says"]'
good "$grove" multipath "${beluga[@]}" --bytes 512KiB --threshold 9 --paths gpu2,gpu3 --json
json 'x["gain"] == 1 and len(used) == 1 and close(x["seconds"], x["single_path_seconds"])'

# For people.
good "$grove" multipath "${beluga[@]}" --bytes 256MB
grep -qE '^gpu2 +3\.00 +50\.0 +2\.00 +3\.00 +50\.0 +29\.899 +76541440 +18 +1711\.87$' "$work/out" ||
  fail 'no such row'
has 'a gain of 2.993 (the rates: 3.240)'
has 'The links bind'
good "$grove" multipath "${beluga[@]}" --sweep
(($(wc -l <"$work/out") == 3 + 15)) || fail 'not 15 sizes'
good "$grove" multipath "${beluga[@]}" --sweep --bytes 1000000 --json
json '[s["bytes"] for s in x["sizes"]] == [65536, 131072, 262144, 524288, 1000000]'
json 'all(a["seconds"] < b["seconds"] for a, b in zip(x["sizes"], x["sizes"][1:]))'
good "$grove" multipath --help
has Examples

good "$grove" multipath "${beluga[@]}" --cost --json
json 'x["solver"] == "exact" and 0 < x["cached_seconds"] < x["uncached_seconds"]'
good "$grove" multipath "${beluga[@]}" --cost
has 'from the cache'

# Pictures.
good "$grove" multipath "${beluga[@]}" --bytes 64MB --picture "$work/pictures/one"
good "$grove" multipath "${beluga[@]}" --sweep --both --picture "$work/pictures/sweep"
for name in one sweep; do
  [[ $(head -c 4 "$work/pictures/$name.png") == $'\x89PNG' ]] || fail "$name.png is no PNG"
  grep -q 'gnuplot_plot_2' "$work/pictures/$name.svg" || fail "$name.svg has no lines"
done
(($(wc -l <"$work/pictures/one.dat") == 4)) || fail 'not four bars'

# --- figures ---

good "$grove" model figure multipath-4 -o "$work/figures"
awk 'NF > 2 && $1 + 0 > 0 {n = (NF - 1) / 3; s = 0; for (i = 2; i <= n + 1; i++) s += $i
  if (s < 0.9999 || s > 1.0001) exit 1; rows++} END {exit rows != 27}' \
  "$work/figures/figure-multipath-4.dat" || fail 'shares do not add up'
good "$grove" model figure multipath-6 -o "$work/figures"
has '3 paths and host: 1.58 at 2 MiB, 2.39 at 16 MiB, 2.91 at 256 MiB; '
has 'if nothing shared is known 1.73'
good "$grove" model figure multipath-7 --machine narval -o "$work/figures"
has 'alltoall, Bruck: 2 paths'
run "$grove" model figure multipath-5 --machine lassen -o "$work/figures"
((status == 2)) || fail 'Lassen has no links'
grep -q 'links between' "$work/err" || fail 'no word of links'

# --- what is wrong ---

bad '--machine is missing' --from 0 --to 1 --bytes 1
bad '--from is missing' --machine beluga --to 1 --bytes 1
bad '--to is missing' --machine beluga --from 0 --bytes 1
bad '--bytes is missing' "${beluga[@]}"
bad 'no GPU 4' --machine beluga --from 0 --to 4 --cost
bad 'no GPU 4' --machine beluga --from 0 --to 4 --bytes 1
bad 'no GPU 99' --machine beluga --from 99 --to 1 --bytes 1
bad "'-1'" --machine beluga --from -1 --to 1 --bytes 1
bad "'zero'" --machine beluga --from zero --to 1 --bytes 1
bad 'to itself' --machine beluga --from 1 --to 1 --bytes 1
bad "'0'" "${beluga[@]}" --bytes 0
bad "'-5'" "${beluga[@]}" --bytes -5
bad "'1.5'" "${beluga[@]}" --bytes 1.5
bad "'gpu9'" "${beluga[@]}" --bytes 1 --paths direct,gpu9
bad "'gpu1'" "${beluga[@]}" --bytes 1 --paths direct,gpu1
bad "'nvlink'" "${beluga[@]}" --bytes 1 --paths nvlink
bad 'twice' "${beluga[@]}" --bytes 1 --paths host,host
bad 'no path' "${beluga[@]}" --bytes 1 --paths ''
bad "'best'" "${beluga[@]}" --bytes 1 --solver best
bad "'0.5'" "${beluga[@]}" --bytes 1 --threshold 0.5
bad "'2'" "${beluga[@]}" --bytes 1 --also 2
bad 'no GPU 7' "${beluga[@]}" --bytes 1 --also 2-7
bad "'--frm'" "${beluga[@]}" --bytes 1 --frm 0
bad "--picture is ''" "${beluga[@]}" --bytes 1 --picture ''
bad 'has no links' --machine lassen --from 0 --to 1 --bytes 1
bad "no machine 'belugo'" --machine belugo --from 0 --to 1 --bytes 1
bad 'at most 6 paths' --machine dgx --from 0 --to 1 --bytes 1MB --as-published --solver search
printf 'name x\nlink-alpha gpu 0-1 - 1e-6 s x\nlink-beta gpu 0-x - 1e9 B/s x\nend 3\n' \
  >"$work/bad.machine"
bad 'bad.machine, line 3, column 15' --machine "$work/bad.machine" --from 0 --to 1 --bytes 1

echo 'grove multipath keeps to the paper, and to its own words'
