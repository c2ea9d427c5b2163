#!/usr/bin/env bash
# The C example of README.md compiles as it stands there, runs, and prints what it should.
# Environment: BUILD (the build directory, default build), MPI, MPICC.
set -euo pipefail
cd "$(dirname "$0")/../.."

build=${BUILD:-build}
mpicc=${MPICC:-mpicc.${MPI:-openmpi}}
command -v "$mpicc" >/dev/null || mpicc=mpicc
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

awk '/^<!-- example:/ { wanted = 1 } wanted && /^```$/ { exit } inside { print }
     wanted && /^```c$/ { inside = 1 }' README.md >"$scratch/example.c"
lines=$(grep -c '[^[:space:]]' "$scratch/example.c")
echo "the example of README.md has $lines lines of code"
((lines >= 10 && lines <= 25))

"$mpicc" -std=c11 -Wall -Wextra -Werror -Iinclude "$scratch/example.c" -o "$scratch/example" \
  -L"$build/lib" -lgrove -Wl,-rpath,"$(realpath "$build/lib")"
echo "it compiles without a warning"

tools/launch 3 "$scratch/example" | sort >"$scratch/out"
cat >"$scratch/expected" <<'END'
rank 0: left ghost 209, right ghost 100
rank 1: left ghost 9, right ghost 200
rank 2: left ghost 109, right ghost 0
END
diff "$scratch/expected" "$scratch/out"
echo "three ranks print the ghosts of their neighbours"
echo PASS
