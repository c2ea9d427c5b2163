#!/usr/bin/env bash
# A Fortran program that was compiled without Grove: libgrove_mpi.so before it takes its calls.
#
#   BUILD   the build directory (build)        MPI    its MPI (openmpi)
set -euo pipefail
cd "$(dirname "$0")/../.."

build=$(realpath "${BUILD:-build}") mpi=${MPI:-openmpi}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
compiler=$(command -v "mpif90.$mpi" || command -v mpif90) || compiler=
if [[ -z $compiler ]] || ! command -v gfortran >/dev/null; then
  echo 'skipped: no Fortran compiler for this MPI'
  exit 77
fi
"$compiler" -w tests/bindings/mpi_fortran.f90 -J "$scratch" -o "$scratch/ring"
for ranks in 1 3; do
  GROVE_PRELOAD=always LD_PRELOAD="$build/lib/libgrove_mpi.so" \
    tools/launch "$ranks" "$scratch/ring" >"$scratch/out" 2>"$scratch/log" ||
    { cat "$scratch/out" "$scratch/log" && exit 1; }
  for name in Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw Neighbor_allgather \
    Neighbor_allgatherv Alltoallv; do
    grep -q "MPI_$name on $ranks ranks: 60 calls, 59 through Grove" "$scratch/log" ||
      { cat "$scratch/log" && exit 1; }
  done
  grep -q '^0 wrong in Fortran' "$scratch/out" || { cat "$scratch/out" "$scratch/log" && exit 1; }
done
echo 'Fortran: every function, through Grove'
