#!/usr/bin/env bash
# What the example that migrates a mesh says, and what bench/run --mesh makes of it: a table and
# figures that can be read again. Nothing here looks at how long something took.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs python3 gnuplot
limit=60

# --- for people, and what is refused ---

run tools/launch 4 "$BUILD/examples/mesh" random 3
((status == 0)) || fail 'it failed'
has '4 ranks, 162 cells, 64 vertices, random start'
for phase in read partition deal cells vertices ghosts exchange migration; do
  grep -qE "^$phase +[0-9.]+ +[0-9]+%\$" "$work/out" || fail "no phase '$phase'"
done
has ' 0 vertices wrong, 0 ranks with wrong cells: right'

# shellcheck disable=SC2016 # they are Gmsh's own
printf '$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\nfew\n' >"$work/bad.msh"
run tools/launch 2 "$BUILD/examples/mesh" "$work/bad.msh"
((status != 0)) || fail 'a bad file is taken'
grep -qF "$work/bad.msh:5: the number of lines that follow is expected, and not 'few'" \
  "$work/err" || fail 'the sentence is not there'
run tools/launch 1 "$BUILD/examples/mesh" crooked
((status != 0)) || fail 'a word without meaning is taken'
grep -qF "'crooked' is neither" "$work/err" || fail 'the sentence is not there'

# --- for programs ---

for start in sequential chunked random; do
  run tools/launch 3 "$BUILD/examples/mesh" "$start" 4 --json
  ((status == 0)) || fail 'it failed'
  cat "$work/out" >>"$work/documents"
done
PYTHONPATH=bench PYTHONDONTWRITEBYTECODE=1 python3 - "$work/documents" 2>"$work/err" <<'END' ||
import json, math, sys
import mesh
import study as studies

study = mesh.Mesh()

documents = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
assert [d["start"] for d in documents] == ["sequential", "chunked", "random"], documents
for d in documents:
    assert (d["ranks"], d["cells"], d["vertices"]) == (3, 384, 125) and d["verified"] is True, d
    assert d["cut"] > 0 and d["ghosts"] > 0 and d["partitioner"] in ("METIS", "coordinates"), d
    inside = sum(d["phases"][name] for name in ("cells", "vertices", "ghosts"))
    assert math.isclose(d["migration_seconds"], inside, abs_tol=1e-8), d
    assert 0 < d["grove_share"] <= 1, d
assert len({(d["cut"], d["ghosts"]) for d in documents}) == 1, documents # one partition, three ways

fixed = [dict(d, migration_seconds=0.0125, grove_share=0.25) for d in documents]
rows = [mesh.row_of("cube", [d, dict(d, migration_seconds=9.0), dict(d, migration_seconds=0.001)])
        for d in fixed]
assert all((row["low"], row["median"], row["high"]) == (1, 12.5, 9e3) for row in rows), rows
assert all(row["share"] == 0.25 and row["verified"] == "right" for row in rows), rows
wrong = mesh.row_of("cube", [documents[0], dict(documents[0], verified=False)])
assert wrong["verified"] == "WRONG", wrong

study.figures.path = sys.argv[1] + "-figures"
study.figures.save(rows, ("2026-01-01", "-", "by hand"))
again = study.figures.load()
assert len(again) == 3 and mesh.table(again) == mesh.table(rows), again
study.figures.save([dict(row, ranks=5) for row in rows], ("2026-01-01", "-", "by hand"))
study.figures.save(rows, ("2026-01-01", "-", "by hand"))
assert len(study.figures.load()) == 6

import os
studies.PICTURES = sys.argv[1] + "-pictures"
study.draw(study.figures.load())
assert os.path.getsize(os.path.join(studies.PICTURES, "mesh.svg")) > 1000
END
  fail 'the study is not as it should be'

echo 'the mesh is migrated, and its figures are kept'
