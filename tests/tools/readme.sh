#!/usr/bin/env bash
# The C example of README.md compiles as it stands there, runs, and prints what it should. Its table
# of speed has the committed figures, and its halos are lines of programs that another test runs.
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

# The four commands that lead there. With the one that fetches the source they are five. What the
# first two would do has been done where this runs.
mapfile -t commands < <(awk '/^<!-- four:/ { wanted = 1 } wanted && /^$/ { exit }
                             wanted && sub(/^    /, "")' README.md)
[[ ${#commands[@]} == 4 && ${commands[0]} == 'tools/bootstrap --for build '* &&
  ${commands[1]} == 'make install PREFIX=$HOME/grove '* ]]
[[ $(make -n install BUILD=here) == *'tools/build here'* ]] # it builds first
mkdir "$scratch/bin"
printf '#!/bin/sh\nexec %s "$@"\n' "$mpicc" >"$scratch/bin/mpicc"
printf '#!/bin/sh\nshift\nexec %s/tools/launch "$@"\n' "$PWD" >"$scratch/bin/mpirun"
chmod +x "$scratch"/bin/*
cp "$scratch/example.c" "$scratch/ring.c"
cmake --install "$build" --prefix "$scratch/grove" >"$scratch/log"
(
  export HOME=$scratch PATH=$scratch/bin:$PATH
  cd "$scratch"
  eval "${commands[2]}"
  eval "${commands[3]}" | sort >out
)
printf 'rank %d: left ghost %d, right ghost %d\n' 0 109 100 1 9 0 >"$scratch/expected"
diff "$scratch/expected" "$scratch/out"
echo "its four commands lead to a program that runs"

# block NAME: the lines of code below that mark.
block() {
  awk -v mark="^<!-- $1:" '$0 ~ mark { wanted = 1 } wanted && /^```$/ { exit } inside { print }
                           wanted && /^```c$/ { inside = 1 }' README.md
}
sed 's/^ *//' docs/coming-from-mpi.md >"$scratch/document"
for name in before after; do
  block "$name" | sed 's/^ *//' | grep -vFx '/* ... */' >"$scratch/lines"
  (($(wc -l <"$scratch/lines") >= 4))
  while read -r line; do
    if ! grep -qFx -- "$line" "$scratch/document"; then
      echo "docs/coming-from-mpi.md has no line '$line'"
      exit 1
    fi
  done <"$scratch/lines"
done
echo "its halos are those of docs/coming-from-mpi.md"

# figure FILE RANKS CASE PEER: Grove's ratio with Open MPI, to two places; "-" where there is none.
figure() {
  awk -v ranks="$2" -v case="$3" -v peer="$4" '
    !/^#/ && $2 == "openmpi" && $3 == ranks && $4 == case && $5 == "grove" && $6 == peer {
      found = 1; printf "%.2f\n", $11 }
    END { if (!found) print "-" }' "bench/$1"
}
rows=0
while IFS='|' read -r _ what mpi neighbor petsc cores _; do
  name=$(sed -nE 's/^ `([^`]+)`.*/\1/p' <<<"$what")
  expected=$(figure figures.txt 2 "$name" mpi && figure figures.txt 2 "$name" mpi-neighbor &&
    figure figures.txt 2 "$name" petsc && figure figures-cores.txt 16 "$name" mpi)
  diff <(printf '%s\n' "${mpi// /}" "${neighbor// /}" "${petsc// /}" "${cores// /}") \
    <(echo "$expected") || { echo "$name: the committed figures (>) are others" && exit 1; }
  rows=$((rows + 1))
done < <(awk '/^<!-- speed:/ { wanted = 1 } wanted && /^$/ { exit } wanted && /^\| `/' README.md)
((rows >= 5))
echo "its $rows rows of figures are those of bench"
echo PASS
