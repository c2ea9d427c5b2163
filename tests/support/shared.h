/* How much shared memory this process has a part in. */
#ifndef TEST_SHARED_H
#define TEST_SHARED_H

#include <stdint.h>

/* Bytes that all segments of Grove's which are open here take from the system, whoever wrote them.
 * Of one context with all its ranks on this host it is the same on every rank. */
int64_t shared_bytes(void);

/* How many pieces of them are mapped here. */
int shared_pieces(void);

#endif
