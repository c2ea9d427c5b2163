/* Where the arrays of a run lie: in the host's memory, in that of grove_alloc, behind a table of
 * functions (device/behind.h), or on the emulated device, of which there are two; and how values
 * come there and back.
 *
 * The test sees all of them, those of the device by the engine's view of its memory. To a device
 * they also go by grove_copy, and by copies that are enqueued on the stream of the operation that
 * is started next: those may be under way until somebody looks at the array again.
 */
#ifndef TEST_MEMORY_H
#define TEST_MEMORY_H

#include "run.h"

/* Before the first context, and behind the last one. */
void memory_open(run *r);
void memory_close(run *r);

/* A new context knows the memory; it, or an operation, gets a stream on some ranks. */
void memory_use(run *r, int context);
void memory_choose_stream(run *r, int op, const step *st);

/* An array is made, without values, and given back. */
void memory_create(run *r, int number, uint64_t seed);
void memory_free(run *r, int number);

/* The address that Grove is given for one that the test sees. */
void *memory_given(const array *a, const void *seen);

/* New values. Of an array that `op` is about to be started with they may come by its stream; not so
 * if op is NOTHING. */
void memory_fill(run *r, int number, uint64_t seed, int op);

/* Nothing of the test's own is under way in the array any more. */
void memory_settle(run *r, int number);

/* What is in it: a copy, to be freed. */
array memory_copy(run *r, int number, uint64_t lot);

/* Calls that must be refused while the operation is active. */
void memory_try_refused(run *r, int op, uint64_t lot);

/* Instead of waiting: its stream does, and takes what comes. False: that is not possible here. */
int memory_wait_on_stream(run *r, int op);

/* The host waits for that stream. */
void memory_finish_stream(run *r, int op);

/* What the stream has taken is what should have come. */
void memory_check_taken(run *r, int number, const unit *u, const array *expected, const char *what);

#endif
