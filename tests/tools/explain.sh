#!/usr/bin/env bash
# grove explain on matrices small enough to count by hand: the numbers, the help, the pictures, and
# what it says to bad input.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs python3 gnuplot

# explain ARGUMENT...: must succeed, and say nothing on standard error.
explain() {
  run "$grove" explain "$@"
  ((status == 0)) || fail 'it failed'
  [[ ! -s $work/err ]] || fail 'it complains'
}

# bad WORD ARGUMENT...: exit status 2, nothing on standard output, one sentence with the word in it.
bad() {
  local word=$1
  shift
  run "$grove" explain "$@"
  ((status == 2)) || fail 'the exit status is not 2'
  [[ ! -s $work/out ]] || fail 'it wrote to standard output'
  (($(wc -l <"$work/err") == 1)) || fail 'not one sentence'
  grep -q '^grove explain: ' "$work/err" || fail 'the sentence does not say who speaks'
  grep -qFe "$word" "$work/err" || fail "the sentence does not say '$word'"
}

# number NAME: the value of the first field of this name.
number() {
  grep -o "\"$1\": [^,}]*" "$work/out" | sed -n '1s/.*: //p'
}

counts() {
  while (($#)); do
    [[ $(number "$1") == "$2" ]] || fail "$1 is '$(number "$1")', not '$2'"
    shift 2
  done
}

# pattern MESSAGES OFF VALUES OFF_VALUES DEDUP MOST MOST_OFF NODES
pattern() {
  counts messages "$1" off_node_messages "$2" values "$3" off_node_values "$4" \
    off_node_values_dedup "$5" max_messages_per_rank "$6" max_off_node_messages_per_rank "$7" \
    max_nodes_per_node "$8"
}

# --- a matrix of 7 rows, with a zero that is written out and an entry that is there twice ---

cat >"$work/a.mtx" <<'END'
%%MatrixMarket matrix coordinate real general
% rows of four ranks: 1 | 2 3 | 4 5 | 6 7
7 7 11
1 1 1
1 2 1
1 3 1
1 2 5
1 4 0
2 4 1
3 7 1
4 1 1
6 1 1
7 6 1
5 5 1
END
a=$work/a.mtx
on=(--machine lassen --json)

# Rank 0 needs columns 2, 3 of rank 1 and 4 of rank 2; rank 1 column 4 of rank 2 and 7 of rank 3;
# ranks 2 and 3 column 1 of rank 0. Node 0 needs column 4 once, node 1 column 1.
explain "$a" --nodes 2 --ppn 2 "${on[@]}"
pattern 6 5 7 5 3 2 2 1
counts rows 7 entries 11 nodes 2 ppn 2 ranks 4 partition '"contiguous"' unit_bytes 8
counts route '"standard"' bytes $((7 * 8)) off_node_bytes $((5 * 8)) stages 1 \
  on_node_messages 1 on_node_bytes 16 choice '"standard"'

# The other routes: node 0 sends column 1 to node 1, node 1 columns 4 and 7 to node 0. 2-step: 0 to
# 2, 2 to 0, 3 to 1, then 2 to 3 and 0 to 1. 3-step: 0 to 1 and 2 to 3, then 1 to 2 and 3 to 0, then
# 2 to 3 and 0 to 1. In all of them 1 sends two values to 0.
python3 - "$work/out" <<'END' || fail 'not these messages'
import json, sys
found = json.load(open(sys.argv[1]))
assert found["candidates"] == found["routes"]
rows = {r["route"]: r for r in found["candidates"]}
assert list(rows) == ["standard", "2-step", "3-step", "split"], rows
expected = {"standard": (1, 1, 16, 5, 40), "2-step": (2, 3, 32, 3, 24), "3-step": (3, 5, 56, 2, 24)}
for route, numbers in expected.items():
    r = rows[route]
    got = tuple(r[n] for n in ("stages", "on_node_messages", "on_node_bytes", "off_node_messages",
                               "off_node_bytes"))
    assert got == numbers, (route, got)
    assert r["messages"] == got[1] + got[3] and r["bytes"] == got[2] + got[4], r
assert rows["split"]["off_node_bytes"] == 24, rows["split"]
order = sorted(rows.values(), key=lambda r: r["seconds"]) # by price, then as listed
standard, best = rows["standard"]["seconds"], order[0]
chosen = best["route"] if standard > 1.3 * best["seconds"] else "standard"
others = [r for r in order if r["seconds"] != rows[chosen]["seconds"]]
assert found["choice"] == chosen and found["runner_up"] == others[0]["route"], found
gain = others[0]["seconds"] / rows[chosen]["seconds"]
assert abs(found["gain"] - gain) < 1e-6 * gain, (found["gain"], gain)
assert found["gain_needed"] == 1.3 and found["measured"] is False
END

# All on one node; every rank a node; one rank; nine ranks, of which 0 and 4 own nothing.
explain "$a" --nodes 1 --ppn 4 "${on[@]}"
pattern 6 0 7 0 0 2 0 0
counts choice '"standard"' runner_up null gain null
if grep -q 2-step "$work/out"; then fail 'a route for nothing'; fi
explain "$a" --nodes 4 --ppn 1 "${on[@]}" --unit-bytes=24
pattern 6 6 7 7 7 2 2 2
counts bytes $((7 * 24)) off_node_bytes $((7 * 24))
explain "$a" --nodes 1 --ppn 1 "${on[@]}"
pattern 0 0 0 0 0 0 0 0
counts seconds 0
explain "$a" --nodes 3 --ppn 3 "${on[@]}"
pattern 8 6 8 6 5 2 2 2

# --- symmetric: a chain of 4 rows, and a star around row 1 ---

printf '%%%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n2 1\n3 2\n4 3\n' >"$work/chain"
explain "$work/chain" --nodes 2 --ppn 2 "${on[@]}"
pattern 6 2 6 2 2 2 1 1
counts entries 6
printf '%%%%MatrixMarket matrix coordinate integer skew-symmetric\r\n5 5 4\r\n2 1 3\r\n3 1 3\r\n' \
  >"$work/star"
printf '4 1 3\r\n5 1 3' >>"$work/star"
explain "$work/star" --nodes 5 --ppn 1 "${on[@]}"
pattern 8 8 8 8 8 4 4 4
gzip -c "$a" >"$work/packed" # known by its first bytes
run "$grove" explain "$work/packed" --nodes 2 --ppn 2 "${on[@]}"
if ((status == 0)); then
  pattern 6 5 7 5 3 2 2 1
else
  grep -q 'built without zlib' "$work/err" || fail 'gzip is not read'
fi
printf '%%%%MatrixMarket matrix coordinate real general\n0 0 0\n' >"$work/nothing"
explain "$work/nothing" --nodes 2 --ppn 2 "${on[@]}"
pattern 0 0 0 0 0 0 0 0
most=2147483647
printf '%%%%MatrixMarket matrix coordinate pattern general\n%d %d 1\n1 %d\n' $most $most $most \
  >"$work/wide"
explain "$work/wide" --nodes 1000 --ppn 10 "${on[@]}"
pattern 1 1 1 1 1 1 1 1

# --- METIS: two triangles that an entry joins, however their rows are named ---

cat >"$work/two" <<'END'
%%MatrixMarket matrix coordinate pattern general
6 6 7
1 3
3 5
5 1
2 4
4 6
6 2
1 2
END
run "$grove" explain "$work/two" --nodes 2 --ppn 1 "${on[@]}" --partition metis
if ((status == 0)); then
  pattern 1 1 1 1 1 1 1 1
  explain "$work/two" --nodes 2 --ppn 4 "${on[@]}" --partition metis # more ranks than rows
  explain "$work/two" --nodes 1 --ppn 1 "${on[@]}" --partition metis
  pattern 0 0 0 0 0 0 0 0
else
  grep -q 'built without METIS' "$work/err" || fail 'METIS fails'
fi

# --- for people ---

explain "$a" --nodes 2 --ppn 2 --machine lassen
for words in '7 rows, 11 entries' '2 nodes with 2 ranks each' 'contiguous blocks' 'once per node' \
  'The choice: standard' 'The runner-up, 2-step, would be 1.15 times as fast' 'What binds' \
  'more than 1.3 with a profile that was not measured' 'latency' 'published   sockets' \
  'a cell for each rank' 'a cell for each node' '@@'; do
  has "$words"
done
grep -qE '^  messages +6 ' "$work/out" || fail 'no count of messages'
# Everybody needs something of everybody: a message to each node instead of one to each rank. With
# large values it does not matter how many messages there are.
{
  printf '%%%%MatrixMarket matrix coordinate pattern general\n16 16 256\n'
  for ((i = 1; i <= 16; i++)); do for ((j = 1; j <= 16; j++)); do echo "$i $j"; done; done
} >"$work/dense"
explain "$work/dense" --nodes 4 --ppn 4 --machine tcp-10g --unit-bytes 64
has 'The choice: 3-step'
grep -qE 'It is [34]\.[0-9]+ times as fast as standard\.' "$work/out" || fail 'no gain'
has 'The runner-up, 2-step, would take 1.'
has 'What decides is latency: '
explain "$work/dense" --nodes 4 --ppn 4 --machine tcp-10g --unit-bytes 64 --json
counts choice '"3-step"' gain_needed 1.3 measured false
explain "$work/dense" --nodes 4 --ppn 4 --machine tcp-10g --unit-bytes 262144 --message-cap 262144
grep -qE 'The choice: (standard|2-step|split)' "$work/out" || fail 'large messages through one rank'
# A smaller gain is enough where somebody measured.
explain "$a" --nodes 2 --ppn 2 --machine tcp-10g --json
counts choice '"standard"' runner_up '"2-step"'
sed -E '/^(alpha|beta) .* off-node/s/assumed:/measured 2026-11-15,/' machines/tcp-10g.machine \
  >"$work/measured.machine"
explain "$a" --nodes 2 --ppn 2 --machine "$work/measured.machine" --json
counts choice '"2-step"' gain_needed 1.05 measured true
explain "$a" --nodes 2 --ppn 2 --machine "$work/measured.machine"
has '  measured    alpha, beta (6 numbers)'
# Vectors on devices: 12.7 us out of one and 13 us into one on Lassen, with some bytes.
explain "$a" --nodes 2 --ppn 2 --machine lassen --json
cp "$work/out" "$work/host.json"
explain "$a" --nodes 2 --ppn 2 --machine lassen --memory device --json
python3 - "$work/host.json" "$work/out" <<'EOP' || fail 'not the price of copies'
import json, sys
host, device = (json.load(open(path)) for path in sys.argv[1:])
assert host["memory"] == "host" and device["memory"] == "device"
for a, b in zip(host["candidates"], device["candidates"]):
    more = b["terms"]["copy"] - a["terms"]["copy"]
    assert 25.7e-6 <= more < 26e-6, (b["route"], more)
    assert 25.6e-6 < b["seconds"] - a["seconds"] < 26e-6, b["route"]
EOP
explain "$a" --nodes 2 --ppn 2 --machine lassen --memory device
has 'Arrays lie on devices'
explain "$a" --nodes 2 --ppn 2 --machine tcp-10g --memory device
has 'The profile lacks copies between host and device'
explain "$a" --nodes 2 --ppn 2 --machine tcp-10g --memory host
! grep -qF 'copies between host and device' "$work/out" || fail 'copies of what the host has'
explain "$a" --nodes 1 --ppn 1 --machine lassen
has 'nothing to send'
has 'No other route can help: all ranks are on one node.'
explain "$a" --nodes 4 --ppn 1 --machine tcp-10g
has 'No other route can help: every node has one rank.'
has '  assumed     sockets'
run "$grove" explain --help
for flag in nodes ppn machine partition unit-bytes message-cap topology picture json; do
  has "--$flag"
done
has Examples
run "$grove" --help
has '  explain '

# --- the price: the terms add up, inside a node too ---

for machine in lassen bluewaters tcp-10g; do
  explain "$a" --nodes 2 --ppn 2 --machine $machine --json
  python3 - "$work/out" <<'END' || fail 'the terms do not add up'
import json, sys
names = "latency bandwidth injection queue contention on_node copy cores".split()
for r in json.load(open(sys.argv[1]))["candidates"]:
    assert list(r["terms"]) == names, r
    assert min(r["terms"].values()) >= 0 and r["terms"]["latency"] > 0, r
    assert abs(sum(r["terms"].values()) - r["seconds"]) < 1e-6 * r["seconds"], r
END
done

# --- contention: who is joined to whom, by hand ---

# Bytes, of four nodes with a rank each: 1 to 0 16; 2 to 0, 2 to 1, 3 to 1, 0 to 2, 0 to 3 8 each.
far=(--nodes 4 --ppn 1 --machine bluewaters --json)
explain "$a" "${far[@]}"
counts topology null
has '"contention": null,'
# A ring: up from 3 and from 0, down from 1 go 16; 80 bytes times links, of 56 bytes.
explain "$a" "${far[@]}" --topology 4
counts topology '"4"' link_bytes 16 hops 1.42857143
has '"contention": 1.6e-09,'
# Two routers of two nodes: 24 from the second to the first.
explain "$a" "${far[@]}" --topology 2:2
counts link_bytes 24 hops 0.714285714
# Eq. 7: two routers of the cube of eight, h = 5/7 and b = 14: 2 h^3 b. Then one node a router.
explain "$a" "${far[@]}" --topology cube
counts topology '"cube"' link_bytes 10.2040816 hops 0.714285714
explain "$a" "${far[@]}" --topology cube:1
counts link_bytes 29.755102 hops 1.28571429
explain "$a" --nodes 2 --ppn 2 --machine bluewaters --topology 2x1x1x1x1 # 24 bytes back, 16 there
has 'On the torus: the busiest link carries 24 bytes; a byte travels 1 links on average.'
explain "$a" --nodes 2 --ppn 2 --machine lassen --topology cube
has 'Estimated on a cube of routers'
has 'the profile has no delta'
explain "$a" --nodes 2 --ppn 2 --machine bluewaters
has 'Contention is not counted'

# --- machines of which too little is known: counts, and no price ---

for machine in niagara frontier perlmutter tukey; do
  explain "$a" --nodes 2 --ppn 2 --machine $machine --json
  pattern 6 5 7 5 3 2 2 1
  counts seconds null terms null choice null contention null bytes $((7 * 8))
  grep -qE '"note": "the profile [a-z]+ lacks alpha and beta of messages between nodes and ins' \
    "$work/out" || fail 'what is missing?'
  python3 -c 'import json, sys; json.load(sys.stdin)' <"$work/out" || fail 'no JSON'
done
explain "$a" --nodes 2 --ppn 2 --machine frontier --picture "$work/unpriced/a"
has 'No price, and so no choice: the profile frontier lacks alpha and beta'
grep -qE '^  microseconds +- +- +- +-$' "$work/out" || fail 'a price?'
has 'a cell for each rank'
explain "$a" --nodes 1 --ppn 1 --machine frontier --json
counts seconds 0

# A row that no formula knows is warned of; the profile's own name is told.
(cat machines/lassen.machine && echo 'future cpu any - 1 s later') >"$work/more.machine"
run "$grove" explain "$a" --nodes 2 --ppn 2 --machine "$work/more.machine" --json
((status == 0)) || fail 'it failed'
counts machine '"lassen"'
grep -q "no formula knows the term 'future'" "$work/err" || fail 'no warning'
# A file name that is no UTF-8 does not make bad JSON.
cp "$a" "$work/$(printf 'no\377.mtx')"
explain "$work/$(printf 'no\377.mtx')" --nodes 2 --ppn 2 "${on[@]}"
python3 -c 'import json, sys; json.loads(sys.stdin.buffer.read().decode())' <"$work/out" ||
  fail 'no JSON'

# --- without MPI: also where it could not start ---

run env OMPI_MCA_pml=none-such OMPI_MCA_btl=none-such PMI_RANK=5 PMI_FD=77 \
  "$grove" explain "$a" --nodes 2 --ppn 2 "${on[@]}"
((status == 0)) || fail 'it needs MPI'

# --- grove bench sends on this matrix what is counted here ---

run env GROVE_NODE_SIZE=2 tools/launch 4 "$grove" bench "$a" --batch 1 --rounds 3 --reduce --json
((status == 0)) || fail 'it failed'
counts ranks 4 nodes 2 size 7 verified true on_node_messages 1 on_node_bytes 16 \
  off_node_messages 5 off_node_bytes 40
run env GROVE_NODE_SIZE=3 tools/launch 9 "$grove" bench "$a" --batch 1 --rounds 3 --json
((status == 0)) || fail 'it failed'
counts ranks 9 nodes 3 verified true on_node_messages 2 off_node_messages 6 off_node_bytes 48
run tools/launch 2 "$grove" bench "$work/no-such.mtx"
((status == 2)) || fail 'the exit status is not 2'
(($(grep -c '^grove bench: .*such.mtx: cannot be opened' "$work/err") == 1)) || fail 'no sentence'

# --- pictures ---

explain "$a" --nodes 2 --ppn 2 "${on[@]}" --picture "$work/new/a"
for part in ranks nodes; do
  for ending in dat gp svg png; do
    [[ -s $work/new/a-$part.$ending ]] || fail "no $part.$ending"
  done
done
grep -v '^#' "$work/new/a-ranks.dat" | diff - <(printf '0 0 8 8\n16 0 0 0\n8 8 0 0\n0 8 0 0\n') ||
  fail 'the picture shows something else'
grep -v '^#' "$work/new/a-nodes.dat" | diff - <(printf '0 16\n24 0\n') || fail 'not these nodes'

# --- bad input ---

good=(--nodes 2 --ppn 2 --machine lassen)
bad 'which matrix' "${good[@]}"
bad '--nodes is missing' "$a" --ppn 2 --machine lassen
bad '--ppn is missing' "$a" --nodes 2 --machine lassen
bad '--machine is missing' "$a" --nodes 2 --ppn 2
bad "--nodes cannot be '0'" "$a" "${good[@]}" --nodes 0
bad "--nodes cannot be '-3'" "$a" "${good[@]}" --nodes=-3
bad "--ppn cannot be 'many'" "$a" "${good[@]}" --ppn many
bad "--ppn cannot be '2x'" "$a" "${good[@]}" --ppn 2x
bad "--ppn cannot be ''" "$a" --nodes 2 --machine lassen --ppn
bad "--unit-bytes cannot be '0'" "$a" "${good[@]}" --unit-bytes 0
bad "--unit-bytes cannot be '-8'" "$a" "${good[@]}" --unit-bytes -8
bad "--message-cap cannot be '0'" "$a" "${good[@]}" --message-cap 0
bad "--message-cap cannot be 'auto'" "$a" "${good[@]}" --message-cap=auto
bad "--partition cannot be 'random'" "$a" "${good[@]}" --partition random
bad "--memory cannot be 'gpu'" "$a" "${good[@]}" --memory gpu
bad "--picture cannot be ''" "$a" "${good[@]}" --picture=
bad "'--jsn'" "$a" "${good[@]}" --jsn
bad 'one matrix' "$a" "$a" "${good[@]}"
bad 'more than 10000000 ranks' "$a" --nodes 1000000 --ppn 1000000 --machine lassen
bad 'no-such-machine' "$a" --nodes 2 --ppn 2 --machine no-such-machine
bad 'no-such.mtx: cannot be opened' no-such.mtx "${good[@]}"
bad "$work: cannot be read" "$work" "${good[@]}"
bad 'tools/lint:1: this is not a Matrix Market file' tools/lint "${good[@]}"
head -n 8 "$a" >"$work/cut"
bad "$work/cut:8: the file ends after 5 entries, and line 3 promises 11" "$work/cut" "${good[@]}"
head -c 120 "$a" >"$work/cut"
bad "$work/cut:8: a column from 1 to 7 is expected" "$work/cut" "${good[@]}"
printf '%%%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n' >"$work/oblong"
bad '2 rows and 3 columns; a square matrix is needed' "$work/oblong" "${good[@]}"
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n' >"$work/outside"
bad "$work/outside:3: a row from 1 to 2 is expected, and not '3'" "$work/outside" "${good[@]}"
printf '%%%%MatrixMarket matrix coordinate real general\n9999999999 9999999999 0\n' >"$work/huge"
bad '9999999999 rows' "$work/huge" "${good[@]}"
for how in '' x 4x 4x0 -4 4x4:0 4: cube:0 cube4 cubes 1x2x3x4x5x6 99999x99999 4x4x; do
  bad "--topology cannot be '$how'" "$a" "${good[@]}" "--topology=$how"
done
bad '--topology 3 has room for 3 nodes, and there are 4' "$a" --nodes 4 --ppn 1 --machine lassen \
  --topology 3
head -c 1500 machines/lassen.machine >"$work/half.machine"
bad half.machine "$a" --nodes 2 --ppn 2 --machine "$work/half.machine"

echo 'explain counts what one counts by hand'
