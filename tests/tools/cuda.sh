#!/usr/bin/env bash
# A library with CUDA needs no library of CUDA's, and its command runs without a driver. One without
# has no trace of it.
set -euo pipefail
# shellcheck source=tests/tools/common.bash
source "$(dirname "$0")/common.bash"

readonly traces='libcuda\.so|cuInit|grove_driver_cuda|grove_cuda_fatbin'
libraries=("$BUILD/lib/libgrove.a" "$BUILD/lib/libgrove.so")
run "$grove" --version
((status == 0)) || fail 'the version is not told'
if grep -qx 'CUDA: not built in' "$work/out"; then
  for library in "${libraries[@]}"; do
    if grep -aqE "$traces" "$library"; then fail "$library has traces of CUDA"; fi
  done
else
  grep -qxE 'CUDA: built in \(driver (not )?found\)' "$work/out" || fail 'nothing is said of CUDA'
  for library in "${libraries[@]}"; do
    grep -aq 'libcuda\.so\.1' "$library" || fail "$library would open no driver"
  done
  run ldd "${libraries[1]}"
  if grep -qE 'libcuda|libnv' "$work/out"; then fail 'a library of CUDA is needed'; fi
fi

# Without nvcc its files are empty.
compiler=$(sed -nE 's/^GROVE_MPICC:[A-Z]+=//p' "$BUILD/CMakeCache.txt")
for file in src/device/cuda*.c; do
  run "$compiler" -std=c11 -Iinclude -Isrc -c "$file" -o "$work/cuda.o"
  ((status == 0)) || fail "$file does not compile without CUDA"
  run nm "$work/cuda.o"
  [[ ! -s $work/out ]] || fail "without CUDA $file defines or needs something"
done
echo 'tools/cuda: passed'
