/* How much shared memory this process takes part in. */
#ifndef TEST_SHARED_H
#define TEST_SHARED_H

#include <stdint.h>

/* Bytes of system memory in all of Grove's segments that are open here, whoever wrote them. For one
 * context with all its ranks on this host it is the same on every rank. */
int64_t shared_bytes(void);

/* How many pieces of them are mapped here. */
int shared_pieces(void);

#endif
