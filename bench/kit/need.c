#include "kit/need.h"

#include <stdio.h>
#include <stdlib.h>

static const char *name = "bench";
static int exit_status = 3;

void bench_need_as(const char *program, int status)
{
  name = program;
  exit_status = status;
}

void bench_need(int ok, const char *what)
{
  if (ok) return;
  fprintf(stderr, "%s: %s\n", name, what);
  MPI_Abort(MPI_COMM_WORLD, exit_status);
}

void *bench_alloc(size_t count, size_t bytes)
{
  void *memory = calloc(count ? count : 1, bytes);
  bench_need(memory != NULL, "no memory left");
  return memory;
}
