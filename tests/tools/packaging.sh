#!/usr/bin/env bash
# An installed Grove that was moved elsewhere: every example is built against it, with the line that
# README.md has for examples, and by CMake; one runs; uninstalling leaves nothing.
# CITATION.cff tells this version.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs pkg-config
unset DESTDIR PREFIX LD_LIBRARY_PATH PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR

# good COMMAND...: it must succeed.
good() {
  run "$@"
  ((status == 0)) || fail 'it failed'
}

# cached NAME: what CMake knows by this name.
cached() {
  sed -nE "s/^$1:[A-Z]*=//p" "$BUILD/CMakeCache.txt"
}

version=$(sed -nE 's/.*project\(grove VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
grep -qx "version: $version" CITATION.cff || fail "CITATION.cff is not of version $version"

# --- installed, and moved ---

good cmake --install "$BUILD" --prefix "$work/first/grove"
mv "$work/first" "$work/second"
prefix="$work/second/grove"
docs=$prefix/share/doc/grove
for file in {README,CONTRIBUTING,docs/{tutorial,decisions/README}}.md CITATION.cff docs/idea.svg; do
  cmp -s "$file" "$docs/$file" || fail "$file is not installed"
done
if grep -rlIF "$work/first" "$prefix" >"$work/out"; then fail 'these name the old place'; fi

# --- by pkg-config, with the line of README.md ---

pc=$(find "$prefix" -name grove.pc)
export PKG_CONFIG_PATH=${pc%/*}
line=$(sed -nE 's/^ +mpicc example\.c (\$\(pkg-config .* grove_readers\)).*/\1/p' README.md)
[[ $line ]] || fail 'README.md has no line for examples'
mkdir "$work/alone"
export mpicc line out=$work/alone
mpicc="$(cached GROVE_MPICC) -O0 $(cached GROVE_SANITIZE | sed 's/..*/-fsanitize=&/')"
cd "$docs/examples"
ls ./*.c >"$work/examples"
(($(wc -l <"$work/examples") >= 15)) || fail 'examples are missing'
# shellcheck disable=SC2016 # for the inner shell
good xargs -a "$work/examples" -P 2 -n 1 bash -c 'eval "$mpicc $0 $line -o $out/${0%.c}"'
[[ $(pkg-config --static --libs grove) == *-lhwloc* ]] || fail 'a static link would lack hwloc'

# --- by CMake, with the file that is installed beside them ---

good cmake -S . -B "$work/cmake" -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="${mpicc#* }"
good cmake --build "$work/cmake" -j 2
while read -r file; do
  [[ -x $work/cmake/${file%.c} ]] || fail "CMake did not build $file"
done <"$work/examples"
ldd "$work/cmake/spmv" | grep -F "$prefix" >"$work/out" || fail 'it has another Grove'
cd "$OLDPWD"

# --- one of each runs ---

good tools/launch 2 "$work/cmake/spmv"
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") good tools/launch 2 "$work/alone/mesh" 3

# --- nothing is left, but what was not Grove's ---

touch "$prefix/include/other.h"
good make uninstall PREFIX="$prefix"
[[ $(find "$work/second" -type f -o -type l) == "$prefix/include/other.h" ]] ||
  fail 'more is left, or less'
run make uninstall PREFIX="$prefix"
((status != 0)) || fail 'a second time there is nothing to uninstall, and it says nothing'
rm -r "$prefix"
DESTDIR=$work/staged good cmake --install "$BUILD" --prefix /opt/grove
good make uninstall DESTDIR="$work/staged" PREFIX=/opt/grove
[[ $(find "$work/staged") == "$work/staged"$'\n'"$work/staged/opt" ]] || fail 'something is left'

# --- plain make tells its targets ---

run make --no-print-directory
cp "$work/out" "$work/plain"
run make --no-print-directory help
cmp -s "$work/plain" "$work/out" || fail 'make and make help differ'
while read -r target; do
  grep -qw -- "$target" "$work/out" || fail "make help does not tell of $target"
done < <(sed -nE 's/^\.PHONY: help //p' Makefile | tr ' ' '\n')
echo 'moved, built against, run, and uninstalled'
