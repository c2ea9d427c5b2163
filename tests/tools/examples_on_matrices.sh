#!/usr/bin/env bash
# The examples that take a matrix, on real ones or what stands in for them: each checks what it
# finds, and its exit status says whether that is right.
#
#   BUILD   the build directory (build)
#   DATA    the folder of the matrices (../shared/data)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
needs python3
examples=$BUILD/examples

# Symmetric, but not definite: conjugate gradients must say that they did not find the solution.
printf '%s\n' '%%MatrixMarket matrix coordinate real symmetric' '2 2 1' '2 1 1' >"$work/not.mtx"
if tools/launch 2 "$examples/cg" "$work/not.mtx"; then
  echo 'FAIL: cg solves what it cannot solve'
  exit 1
fi
echo 'cg tells when it finds no solution'

for matrix in bcsstk16 cage10; do
  gzip -dc "$(data "matrices/$matrix.mtx.gz")" >"$work/$matrix.mtx"
done

# bcsstk16 is symmetric positive definite, cage10 is neither.
tools/launch 4 "$examples/cg" "$work/bcsstk16.mtx"
for example in spmv spmv_parts spmv_arrivals submatrix rows; do
  for matrix in bcsstk16 cage10; do
    tools/launch 3 "$examples/$example" "$work/$matrix.mtx"
    echo "$example is right on $matrix"
  done
done
echo PASS
