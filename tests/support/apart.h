/* Arrays in the memory of a device, for tests that know nothing of devices. If TEST_ARRAYS is in
 * the environment, the arrays of exercises lie there:
 *
 *     device, lazy, random    all of them
 *     mixed                   some of them, a different lot on each rank
 *
 * GROVE_DEVICE says which device that is. If it is not set, it is the emulated one: eager, or lazy,
 * or, with the last two, at random.
 *
 * All of it is taken from one allocation, made by test_begin together with the other ranks, so that
 * each rank may take and return what it likes.
 */
#ifndef TEST_APART_H
#define TEST_APART_H

#include <stddef.h>
#include <stdint.h>

/* Collective over all ranks of the job. Does nothing without TEST_ARRAYS. */
void apart_open(void);
void apart_close(void);

/* Memory of the device; NULL where this array, of which `lot` is any number, is to be the host's.
 * Any thread. */
void *apart_take(size_t bytes, uint64_t lot);
void apart_return(void *memory);

/* `there`: from the host's memory to the device's; else back. */
void apart_copy(void *memory, void *host, size_t bytes, int there);

#endif
