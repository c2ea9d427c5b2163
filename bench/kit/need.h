/* Checks that end the job. */
#ifndef BENCH_KIT_NEED_H
#define BENCH_KIT_NEED_H

#include "grove.h"

#include <stddef.h>

/* Zeroed memory; ends the job if there is none. */
void *bench_alloc(size_t count, size_t bytes);

/* Ends the job with a sentence unless ok. */
void bench_need(int ok, const char *what);

/* Ends it with the library's sentence unless the status is success. */
static inline void bench_need_grove(grove_status status)
{
  if (status != GROVE_OK) bench_need(0, grove_last_error());
}

/* Sets the name in these sentences, and the exit status; the defaults are "bench" and 3. */
void bench_need_as(const char *program, int status);

#endif
