#include "driver/need.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

void bench_need(int ok, const char *what)
{
  if (ok) return;
  fprintf(stderr, "bench: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

void *bench_alloc(size_t count, size_t bytes)
{
  void *memory = calloc(count ? count : 1, bytes);
  bench_need(memory != NULL, "no memory left");
  return memory;
}
