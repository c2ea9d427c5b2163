/* Memory that runs out at one allocation, or at one of the larger ones. Included by one file of a
 * program that is linked with --wrap=calloc,--wrap=malloc,--wrap=realloc, so that these replace
 * Grove's.
 */
#ifndef TEST_SCARCE_H
#define TEST_SCARCE_H

#include "grove.h"

#include <stdlib.h>

/* Lists of LEAVES entries take at least LARGE_BYTES. */
enum { LEAVES = 5000, LARGE_BYTES = LEAVES };

static struct {
  int armed;
  size_t least; /* minimum bytes of those that are counted */
  int64_t met;  /* so far */
  int64_t fail; /* the number of the one that fails */
} scarce;

void *__real_calloc(size_t count, size_t bytes);
void *__real_malloc(size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static int runs_out(size_t bytes)
{
  return scarce.armed && bytes >= scarce.least && scarce.met++ == scarce.fail;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
  return runs_out(count * bytes) ? NULL : __real_calloc(count, bytes);
}

void *__wrap_malloc(size_t bytes)
{
  return runs_out(bytes) ? NULL : __real_malloc(bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
  return runs_out(bytes) ? NULL : __real_realloc(old, bytes);
}

#endif
