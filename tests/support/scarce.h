/* Memory that runs out at one of the larger allocations. Included by one file of a program that is
 * linked with --wrap=calloc,--wrap=malloc, so that these stand in the place of Grove's.
 */
#ifndef TEST_SCARCE_H
#define TEST_SCARCE_H

#include "grove.h"

#include <stdlib.h>

/* Lists as long as this take at least so many bytes. */
enum { LEAVES = 5000, LARGE_BYTES = LEAVES };

static struct {
  int armed;
  int64_t met;  /* larger allocations so far */
  int64_t fail; /* the number of the one that fails */
  int parcel;   /* the next one is not meant */
} scarce;

void *__real_calloc(size_t count, size_t bytes);
void *__real_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_malloc(size_t bytes);

static int runs_out(size_t bytes)
{
  int parcel = scarce.parcel;
  scarce.parcel = 0;
  return scarce.armed && !parcel && bytes >= LARGE_BYTES && scarce.met++ == scarce.fail;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
  return runs_out(count * bytes) ? NULL : __real_calloc(count, bytes);
}

void *__wrap_malloc(size_t bytes)
{
  return runs_out(bytes) ? NULL : __real_malloc(bytes);
}

/* MPI's profiling interface: here Grove asks how much memory a parcel needs that comes. */
GROVE_API int MPI_Get_count(const MPI_Status *about, MPI_Datatype type, int *count)
{
  scarce.parcel = 1;
  return PMPI_Get_count(about, type, count);
}

#endif
