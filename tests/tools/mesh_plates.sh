#!/usr/bin/env bash
# The example that migrates a mesh, on a real one or what stands in for it, from everything on one
# rank, from pieces, and from cells that lie anywhere: every vertex gets what one rank alone gives.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
#   DATA    the folder of the data (../shared/data)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
limit=100

needs python3
plates=$(data meshes/plates3d.msh.gz)
numbers='"ranks": 3, "cells": 186024, "vertices": 41590, '
if [[ $plates == */like-* ]]; then numbers='"ranks": 3, "cells": 187974, "vertices": 36000, '; fi

for start in sequential chunked random; do
  run tools/launch 3 "$BUILD/examples/mesh" "$plates" "$start" --json
  if grep -q 'built without zlib' "$work/err"; then
    echo 'this build cannot unpack the mesh'
    exit 77
  fi
  ((status == 0)) || fail 'it failed'
  has "$numbers"
  has "\"start\": \"$start\""
  has '"verified": true'
done

echo 'every vertex of the plates is right, from every start'
