/* All methods of this build. */
#include "methods/method.h"

#include <string.h>

extern const bench_method bench_grove, bench_grove_begin;
extern const bench_method bench_mpi_send, bench_mpi_persistent, bench_mpi_neighbor;
extern const bench_method bench_grove_bundle, bench_grove_separate, bench_mpi_packed;
extern const bench_method bench_grove_thread, bench_mpi_thread;
extern const bench_method bench_petsc, bench_hypre, bench_tpetra;

const bench_method *const bench_methods[] = {
  &bench_grove,
  &bench_grove_begin,
  &bench_mpi_send,
  &bench_mpi_persistent,
  &bench_mpi_neighbor,
  &bench_grove_bundle,
  &bench_grove_separate,
  &bench_mpi_packed,
  &bench_grove_thread,
  &bench_mpi_thread,
#ifdef BENCH_HAVE_PETSC
  &bench_petsc,
#endif
#ifdef BENCH_HAVE_HYPRE
  &bench_hypre,
#endif
#ifdef BENCH_HAVE_TPETRA
  &bench_tpetra,
#endif
  NULL,
};

const bench_method *bench_method_find(const char *name)
{
  for (int i = 0; bench_methods[i]; i++)
    if (strcmp(bench_methods[i]->name, name) == 0) return bench_methods[i];
  return NULL;
}
