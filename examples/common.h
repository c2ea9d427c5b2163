/* What examples share. The first error ends the job, with a sentence that says why. */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <grove.h>
#include <stdarg.h>
#include <stdlib.h>

/* Some launchers end an aborted job at once, so they get a moment to read the sentence. */
static inline void give_up(const char *sentence)
{
  fprintf(stderr, "%s\n", sentence);
  for (double since = MPI_Wtime(); MPI_Wtime() < since + 0.05;) {
  }
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Prints on rank 0 only. */
static inline void print(const char *format, ...)
{
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank > 0) return;
  va_list values;
  va_start(values, format);
  vprintf(format, values);
  va_end(values);
}

/* So many exchanges, one after the other. */
static inline void repeat(grove_op *op, int times)
{
  for (int i = 0; i < times; i++) {
    GROVE_MUST(grove_start(op));
    GROVE_MUST(grove_wait(op));
  }
}

/* Memory for n things, all zero; never NULL. */
static inline void *zeros(int64_t n, size_t size)
{
  void *memory = calloc((size_t)n + 1, size);
  if (!memory) give_up("there is no memory left");
  return memory;
}

static inline double *vector(int64_t n)
{
  return zeros(n, sizeof(double));
}

#endif
