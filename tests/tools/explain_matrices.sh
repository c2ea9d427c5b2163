#!/usr/bin/env bash
# grove explain on matrices, beside a count in Python that knows nothing of it: plain loops, plain
# sets, from the definitions. On real ones where they are, which are no part of this project.
#
#   BUILD   the build directory (build)
#   DATA    the folder of the matrices (../shared/data)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs python3
matrices=()
for name in 4elt cage10 bcsstk16 basker_circuit1 email-Enron; do
  matrices+=("$(data "matrices/$name.mtx.gz")")
done

skip() {
  echo "skipped: $*"
  exit 77
}

run "$grove" explain "${matrices[0]}" --nodes 1 --ppn 1 --machine lassen
if grep -q 'built without zlib' "$work/err"; then skip 'this build reads no compressed matrices'; fi
((status == 0)) || fail 'it failed'

python3 - "$grove" "${matrices[@]}" <<'EOF2'
import gzip, json, subprocess, sys

grove, *MATRICES = sys.argv[1:]
SHAPES = [(1, 1), (2, 2), (4, 16), (16, 4), (3, 7), (5, 1), (1, 6)]


def read(path):
    with gzip.open(path, "rt") as f:
        symmetric = f.readline().split()[4] == "symmetric"
        line = f.readline()
        while line.startswith("%"):
            line = f.readline()
        n = int(line.split()[0])
        entries = []
        for line in f:
            i, j = line.split()[:2]
            i, j = int(i) - 1, int(j) - 1
            entries.append((i, j))
            if symmetric and i != j:
                entries.append((j, i))
    return n, entries


def count(n, entries, nodes, ppn):
    ranks = nodes * ppn
    owner = []
    for r in range(ranks):
        owner += [r] * ((r + 1) * n // ranks - r * n // ranks)
    assert len(owner) == n
    needed = set()
    for i, j in entries:
        if owner[i] != owner[j]:
            needed.add((owner[i], j))
    messages = set((owner[j], r) for r, j in needed)
    off = [(a, b) for a, b in messages if a // ppn != b // ppn]
    off_values = [(r, j) for r, j in needed if r // ppn != owner[j] // ppn]

    def most(pairs):
        sent = {}
        for a, _ in pairs:
            sent[a] = sent.get(a, 0) + 1
        return max(sent.values(), default=0)

    return len(needed), {
        "messages": len(messages),
        "off_node_messages": len(off),
        "off_node_values": len(off_values),
        "off_node_values_dedup": len(set((r // ppn, j) for r, j in off_values)),
        "max_messages_per_rank": most(messages),
        "max_off_node_messages_per_rank": most(off),
        "max_nodes_per_node": most(set((a // ppn, b // ppn) for a, b in off)),
    }


wrong = 0
for path in MATRICES:
    name = path.split("/")[-1]
    n, entries = read(path)
    for nodes, ppn in SHAPES:
        words = [grove, "explain", path, "--nodes", str(nodes), "--ppn", str(ppn)]
        words += ["--machine", "lassen", "--json"]
        out = subprocess.run(words, stdout=subprocess.PIPE, check=True)
        found = json.loads(out.stdout)
        values, expected = count(n, entries, nodes, ppn)
        route = found["routes"][0]
        same = found["pattern"] == expected and found["entries"] == len(entries)
        same = same and found["values"] == values
        same = same and route["messages"] == expected["messages"]
        same = same and route["off_node_messages"] == expected["off_node_messages"]
        same = same and route["bytes"] == 8 * values
        same = same and route["off_node_bytes"] == 8 * expected["off_node_values"]
        if not same:
            wrong += 1
            print("FAIL: %s on %d x %d:\n%s\nand not\n%s" % (name, nodes, ppn, found, expected))
    print("%s: the same on %d shapes" % (name, len(SHAPES)))
sys.exit(wrong > 0)
EOF2
