#!/usr/bin/env bash
# grove bench on four ranks as two nodes: every route and every baseline is there with the fields
# that programs rely on, bytes are those that can be counted, every value is right; and what
# bench/run --routes makes of such results. Nothing here looks at how long something took.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs python3
limit=60

# bench ARGUMENT...: four ranks, two nodes, as little as can be.
bench() {
  run env GROVE_NODE_SIZE=2 tools/launch 4 "$grove" bench "$@" --rounds 3 --batch 1
  ((status == 0)) || fail 'it failed'
}

# look: what standard input asserts in Python of the JSON document `d` that was printed last.
look() {
  {
    cat <<'END'
import json, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
routes = {x["route"]: x for x in d["routes"]}
baselines = {x["name"]: x for x in d["baselines"]}
every = lambda part: [*part["routes"], *part["variants"], *part["baselines"],
                      *([part["auto"]] if part["auto"] else [])]
END
    cat
  } | PYTHONPATH=bench PYTHONDONTWRITEBYTECODE=1 python3 - "$work/out" 2>"$work/err" ||
    fail 'the document is not as it should be'
}

# --- what every result has ---

bench random --size 60 --reduce --json
look <<'END'
assert d["operation"] == "bcast" and d["reduce"]["operation"] == "reduce"
assert (d["rounds"], d["ranks"], d["nodes"], d["parts"]) == (3, 4, 2, [])
assert d["routes"][0]["route"] == "standard" and d["machine"]
assert {"mpi-persistent", "mpi-neighbor"} <= set(baselines), baselines
for part in d, d["reduce"]:
    assert {x["route"] for x in part["routes"]} <= {"standard", "2-step", "3-step", "split"}
    assert part["auto"]["route"] in {x["route"] for x in part["routes"]}, part["auto"]
    standard = part["routes"][0]
    assert part["mean_message_bytes"] == standard["off_node_bytes"] / standard["off_node_messages"]
    for x in every(part):
        assert x["verified"] is True, x
        assert 0 < x["low_seconds"] <= x["median_seconds"] <= x["high_seconds"], x
        assert x["setup_seconds"] > 0, x
    for x in [*part["routes"], part["auto"]]:
        assert x["predicted_seconds"] > 0 and x["edges"] == "all", x
        assert x["off_node_messages"] > 0, x
for x in d["routes"]:
    assert x["reduce_median_seconds"] > 0 and x["reduce_predicted_seconds"] > 0, x
END

# --- what the page of grove report needs ---

bench elasticity --size 5 --partition contiguous --json
look <<'END'
assert (d["pattern"], d["size"], d["partition"]) == ("elasticity", 5, "contiguous")
assert d["date"].endswith("Z") and d["processor"] and d["mpi"] and d["emulated_nodes"] is True
assert d["profile"]["name"] == d["machine"] and d["profile"]["rows"]
for x in [*d["routes"], d["auto"]]:
    assert list(x["price"]) == ["latency", "bandwidth", "injection", "queue", "contention",
                                "on_node", "copy", "cores"]
    assert abs(sum(x["price"].values()) - x["predicted_seconds"]) <= 1e-6 * x["predicted_seconds"]
chosen = routes[d["auto"]["route"]]
assert d["auto"]["predicted_seconds"] == chosen["predicted_seconds"], "one price, told or chosen"
cheapest = min(d["routes"], key=lambda x: x["predicted_seconds"])
assert chosen["predicted_seconds"] <= 1.3 * cheapest["predicted_seconds"], d["why"]
assert d["why"].startswith("The choice: " + chosen["route"]), d["why"]
assert chosen is cheapest or "a gain of" in d["why"], d["why"]
# 375 rows in blocks of 93 or 94; a vertex is coupled to those of its plane and of the next ones,
# and so each block to the next blocks on either side: all edges are known.
traffic = d["traffic"]
assert traffic["node_of_rank"] == [0, 0, 1, 1]
owner = lambda row: next(r for r in range(4) if row < (r + 1) * 375 // 4)
coupled = lambda i, j: all(abs(i // s % 5 - j // s % 5) <= 1 for s in (1, 5, 25))
needs = {(owner(3 * j + c), owner(3 * i + k), 3 * j + c) for i in range(125) for j in range(125)
         if coupled(i, j) for c in range(3) for k in range(3)}
flows = {}
for source, target, _ in needs:
    if source != target:
        flows[source, target] = flows.get((source, target), 0) + 8
assert {(a, b): n for a, b, m, n in traffic["by_rank"]} == flows, (traffic, flows)
assert all(m == 1 for _, _, m, _ in traffic["by_rank"])
nodes = {}
for (a, b), n in flows.items():
    nodes[a // 2, b // 2] = nodes.get((a // 2, b // 2), 0) + n
assert {(a, b): n for a, b, m, n in traffic["by_node"]} == nodes
crossing = sum(m for a, b, m, _ in traffic["by_node"] if a != b)
assert routes["standard"]["off_node_messages"] == crossing
END
cp "$work/out" "$work/elasticity.json"
run "$grove" report "$work/elasticity.json" -o "$work/page.html"
((status == 0)) || fail 'there is no page'
grep -q 'The choice: ' "$work/page.html" || fail 'the page does not say why'

# --- bytes: a root that both ranks of a node need leaves its own node once ---

# Ranks 0, 1 | 2, 3 have a row each: 2 and 3 need columns 0 and 1, 0 needs column 2.
cat >"$work/a.mtx" <<'END'
%%MatrixMarket matrix coordinate pattern general
4 4 7
3 1
4 1
3 2
4 2
1 3
2 1
4 3
END
bench "$work/a.mtx" --reduce --json
look <<'END'
assert d["partition"] == "contiguous" and d["deduplicated_off_node_bytes"] == 3 * 8
for part in d, d["reduce"]:
    for x in part["routes"]:
        bytes = 5 * 8 if x["route"] == "standard" else 3 * 8
        assert x["off_node_bytes"] == bytes, x
    assert part["routes"][0]["off_node_messages"] == 5 and part["mean_message_bytes"] == 8
assert d["routes"][0]["on_node_messages"] == 2 and d["routes"][0]["on_node_bytes"] == 2 * 8
END
bench "$work/a.mtx" --off-node --json
look <<'END'
assert all(x["edges"] == "off node" for x in d["routes"]), d
assert d["routes"][0]["on_node_messages"] == 0 and d["routes"][0]["off_node_bytes"] == 5 * 8
assert "reduce" not in d and all(x["verified"] is True for x in every(d))
END

# --- one route, another one with other options, wide units, parts ---

bench random --size 40 --unit-bytes 24 --only standard --reduce --parts --json \
  --variant standard,p2p=reposted --variant 3-step,transport_on_node=mpi
look <<'END'
assert list(routes) == ["standard"] and d["auto"] is None
assert d["variants"][0]["options"] == "p2p=reposted", d["variants"]
assert [x["edges"] for x in d["parts"]] == ["on node", "off node"], d["parts"]
assert all(x["verified"] is True for part in (d, d["reduce"]) for x in every(part))
assert all(x["verified"] is True for x in d["parts"])
END
bench 7-point --size 3 --only auto --json
look <<'END'
assert d["routes"] == [] and d["auto"]["verified"] is True and d["mean_message_bytes"] is None
END

# --- METIS, where this build has it: another partition, the same values ---

# The five-point stencil of a square of 8 x 8 points: the upper triangle is enough.
awk 'BEGIN {
  print "%%MatrixMarket matrix coordinate pattern symmetric\n64 64 112"
  for (i = 1; i <= 64; i++) {
    if (i % 8) print i + 1, i
    if (i <= 56) print i + 8, i
  }
}' >"$work/grid.mtx"
run env GROVE_NODE_SIZE=2 tools/launch 4 "$grove" bench "$work/grid.mtx" --partition metis \
  --reduce --rounds 3 --batch 1 --json
if grep -q 'without METIS' "$work/err"; then
  ((status == 2)) || fail 'the exit status is not 2'
else
  ((status == 0)) || fail 'it failed'
  look <<'END'
assert d["partition"] == "metis"
assert all(x["verified"] is True for part in (d, d["reduce"]) for x in every(part))
END
fi

# --- the table for people ---

bench 27-point --size 3 --reduce
(($(grep -cE '^[* ] standard .* right$' "$work/out") == 2)) || fail 'standard is not there twice'
(($(grep -cE '^  mpi-(persistent|neighbor) .* right$' "$work/out") == 4)) || fail 'no baselines'
(($(grep -c '^\* .* right$' "$work/out") == 2)) || fail 'the choice is not marked'
grep -q WRONG "$work/out" && fail 'something is wrong'

# --- bench/run --routes: what it computes, of documents made up ---

echo '{"routes": [], "baselines": []}' >"$work/out"
look <<'END'
import math
import routes as study

def entrant(us, low=None, high=None, **more):
    return dict(dict(median_seconds=us * 1e-6, low_seconds=(low or us) * 1e-6,
                     high_seconds=(high or us) * 1e-6, setup_seconds=1e-3, verified=True), **more)

def route(name, us, predicted, bytes, **more):
    return entrant(us, route=name, predicted_seconds=predicted * 1e-6, off_node_messages=4,
                   off_node_bytes=bytes, **more)

def part(operation, chosen):
    return {"operation": operation, "mean_message_bytes": 512,
            "routes": [route("standard", 20, 25, 2048), route("3-step", 10, 12, 1024)],
            "variants": [route("3-step", 16, 12, 1024)],
            "auto": route(chosen, 10.5 if chosen == "3-step" else 20, 12, 1024,
                          setup_seconds=3e-3),
            "baselines": [entrant(14, 13, 15, name="mpi-persistent"),
                          entrant(12, 11, 13, name="mpi-neighbor")]}

document = dict(part("bcast", "3-step"), deduplicated_off_node_bytes=1024,
                reduce=part("reduce", "standard"))
rows = study.rows_of(document, machine="here", shape="4x4", matrix="a", partition="contiguous")
assert len(rows) == 12 and rows[0]["median"] == 20, rows
there, back = study.cases(rows)
assert there["peer"]["name"] == "mpi-neighbor" and math.isclose(there["ratio"], 10.5 / 12), there
assert there["regret"] == 1 and math.isclose(back["regret"], 2), back
assert math.isclose(study.paid_back(there), 2000 / 9.5) and study.paid_back(back) == math.inf
said = dict(study.summary([there, back]))
assert said["significantly slower than it"] == "1 cases", said
assert said["regret, worst"].startswith("2.000, a contiguous reduce"), said
assert said["Kendall's tau over pairs of routes"] == "1.00 of 2 pairs", said
assert said["predicted against measured, median error"] == "0.20", said
assert any(value == "1 of 1" for value in said.values()), said
assert "0.625, 0.625 of 2 cases" in said.values(), said
assert study.percentile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.9) == 9

figures = study.Routes.figures
figures.path = sys.argv[1] + "-figures"
figures.save(rows, ("2026-01-01", "-", "by hand"))
again = figures.load()
assert len(again) == 12 and study.summary(study.cases(again)) == list(
    study.summary([there, back])), again
figures.save([dict(row, shape="2x1") for row in rows], ("2026-01-01", "-", "by hand"))
figures.save(rows, ("2026-01-01", "-", "by hand"))
assert len(figures.load()) == 24
END

# --- bench/run --fabric: the same carriers of every case, and what is chosen of them ---

fabric=(--variant standard,transport_off_node=p2p --variant standard,transport_off_node=auto)
bench "$work/a.mtx" --reduce --only standard "${fabric[@]}" --json
look <<'END'
import fabric

rows = fabric.rows_of(d, machine="here", shape="2x2", matrix="a", partition="contiguous")
assert [row["carrier"] for row in rows] == 2 * ["p2p", "ofi", "auto"], rows
assert all(row["transport"] == "p2p" and row["verified"] == "right" for row in rows), rows
assert all(row["messages"] == 5 and row["mean"] == 8 for row in rows), rows
assert len(fabric.cases(rows)) == 2

def made(matrix, chosen, p2p, ofi, operation="bcast", messages=4):
    return [dict(machine="here", shape="2x1", matrix=matrix, partition="metis", operation=operation,
                 carrier=carrier, transport=carrier if carrier != "auto" else chosen,
                 median=float(us), low=us - 1.0, high=us + 1.0, messages=messages, mean=512.0,
                 verified="right")
            for carrier, us in (("p2p", p2p), ("ofi", ofi), ("auto", 99))]

found = [*made("a", "ofi", 20, 10), *made("b", "ofi", 10, 10.5), *made("c", "p2p", 20, 10),
         *made("d", "p2p", 5, 20), *made("e", "p2p", 1, 1, messages=0)]
said = dict(fabric.summary(fabric.cases(found)))
assert said["libfabric / MPI, geometric mean"] == "1.012 of 4 cases", said
assert said["least, most"] == "0.500, 4.000", said
assert said["libfabric faster, MPI faster, intervals apart"] == "2, 1", said
assert said["libfabric chosen by price"] == "2", said
assert said["chosen / better, worst (wanted: 1.05 at most)"] == (
    "2.000, c metis bcast: missed"), said
said = dict(fabric.summary(fabric.cases(found[:6])))
assert said["chosen / better, worst (wanted: 1.05 at most)"].startswith("1.050, b "), said
assert said["chosen / better, worst (wanted: 1.05 at most)"].endswith(": met"), said

study = fabric.Fabric()
study.figures.path = sys.argv[1] + "-fabric"
study.figures.save(found, ("2026-01-01", "-", "by hand"))
assert study.load() == found, study.load()
page = study.page(study.load())
line = "| a | metis | bcast | 4 | 512.0 | 20.00 | 10.00 | 0.500 | ofi | 99.00 | 1.000 |"
assert line in page, page
END

echo 'every route and baseline is measured, verified and counted'
