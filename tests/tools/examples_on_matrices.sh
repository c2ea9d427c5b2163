#!/usr/bin/env bash
# The examples that take a matrix, on real ones: each checks what it finds, and its exit status says
# whether that is right. Skipped without the matrices, which are no part of this project.
#
#   BUILD   the build directory (build)
#   DATA    the folder of the matrices (../shared/data)
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
examples=$(readlink -f "${BUILD:-build}")/examples
data=${DATA:-../shared/data}/matrices
for name in ${!GROVE_@}; do unset "$name"; done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

skip() {
  echo "skipped: $*"
  exit 77
}

# Symmetric, but not definite: conjugate gradients must say that they did not find the solution.
printf '%s\n' '%%MatrixMarket matrix coordinate real symmetric' '2 2 1' '2 1 1' >"$scratch/not.mtx"
if tools/launch 2 "$examples/cg" "$scratch/not.mtx"; then
  echo 'FAIL: cg solves what it cannot solve'
  exit 1
fi
echo 'cg tells when it finds no solution'

for matrix in bcsstk16 cage10; do
  [[ -f $data/$matrix.mtx.gz ]] || skip "there is no $data/$matrix.mtx.gz"
  gzip -dc "$data/$matrix.mtx.gz" >"$scratch/$matrix.mtx"
done

# bcsstk16 is symmetric positive definite, cage10 is neither.
tools/launch 4 "$examples/cg" "$scratch/bcsstk16.mtx"
for example in spmv submatrix rows; do
  for matrix in bcsstk16 cage10; do
    tools/launch 3 "$examples/$example" "$scratch/$matrix.mtx"
    echo "$example is right on $matrix"
  done
done
echo PASS
