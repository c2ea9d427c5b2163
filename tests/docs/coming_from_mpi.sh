#!/usr/bin/env bash
# The programs of docs/coming-from-mpi.md compile, and say what is written there, with other numbers
# of ranks too: by hand and with Grove the same. They are as short as the document says.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/docs/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

run_document coming-from-mpi 5 9

# length FILE MOST: its number of lines, which the document tells.
length() {
  local lines
  lines=$(sed '$d' "$work/here/$1" | wc -l) # without the line that write_files adds
  grep -qE "(is|has) $lines lines" "$document" ||
    fail "$1 has $lines lines, and $document does not say so"
  ((lines <= $2)) || fail "$1 has $lines lines, and $2 are allowed"
  echo "$1 has $lines lines"
}
length jacobi_by_hand.c 120
length jacobi_with_grove.c 60
length spmv.c 50
calls=$(grep -cE 'grove_(forest_box|bcast_begin|end)\(' "$work/here/jacobi_with_grove.c")
((calls == 3)) || fail "the halo of jacobi_with_grove.c has $calls calls"

# same OLD NEW RANKS: both say the same, in whatever order.
same() {
  mpirun -n "$3" "./$1" | sort >"$work/expected"
  [[ -s $work/expected ]] || fail "$1 says nothing with $3 ranks"
  run mpirun -n "$3" "./$2"
  diff "$work/expected" <(sort "$work/out") || fail "$2 (>) says something else with $3 ranks"
}
cd "$work/here"
same by_hand with_grove 1
same by_hand with_grove 3
for ranks in 1 3 6; do same jacobi_by_hand jacobi_with_grove "$ranks"; done
echo 'by hand and with Grove: the same'

# The product of a matrix in which ranks need entries of all others, in whole numbers.
awk 'BEGIN {
  print "%%MatrixMarket matrix coordinate real general\n% a remark\n40 40 160"
  for (k = 0; k < 160; k++) print k * 7 % 40 + 1, (k * k + int(k / 40)) % 40 + 1, k % 9 - 4
}' >B.mtx
awk 'NR > 3 { y[$1 - 1] += $3 * (1 + ($2 - 1) % 10) }
     END { for (i = 0; i < 40; i++) printf "y[%d] = %d\n", i, y[i] }' B.mtx | sort >"$work/product"
for ranks in 1 4; do
  run mpirun -n "$ranks" ./spmv B.mtx
  diff "$work/product" <(sort "$work/out") || fail "spmv (>) with $ranks ranks: another product"
done
sed -i '1s/general/symmetric/' B.mtx
run mpirun -n 1 ./spmv B.mtx
((status != 0)) || fail 'spmv takes half of a matrix for the whole'
echo 'products are right'
