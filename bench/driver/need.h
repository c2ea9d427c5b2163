/* What ends the job when it is not there. */
#ifndef BENCH_DRIVER_NEED_H
#define BENCH_DRIVER_NEED_H

#include <stddef.h>

/* Zeroed memory or the end of the job. */
void *bench_alloc(size_t count, size_t bytes);

/* Ends the job with a sentence unless ok. */
void bench_need(int ok, const char *what);

#endif
