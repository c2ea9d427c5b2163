/* Memory that is not the host's, for arrays: nobody can touch it but its own table of functions
 * (src/device/space.h), and what is packed, unpacked or fetched in it is done some polls later. The
 * bytes have two addresses: that which Grove is given is protected, and whoever reads or writes
 * there does not survive it; at the other one the test sees them.
 *
 *     behind_use(ctx);
 *     double *x = behind_create(bytes);
 *     x[0] = 3;
 *     grove_bcast_begin(f, MPI_DOUBLE, behind_given(x), ...);
 *     ... grove_end(&op);
 *     behind_free(x);
 *
 * Any thread may call these. Programs that do are linked with the static library.
 */
#ifndef TEST_BEHIND_H
#define TEST_BEHIND_H

#include "grove.h"

#include <stdint.h>

/* From now on arrays of this context may lie there. */
void behind_use(grove_context *ctx);

/* At the address where the test sees it. Freeing takes it away at once. */
void *behind_create(size_t bytes);
void behind_free(void *seen);

/* The address that Grove is given; of other memory: the same. */
void *behind_given(void *seen);

/* How many jobs were not done when Grove asked for them, and how many are not done now. */
int64_t behind_deferred(void);
int64_t behind_under_way(void);

/* For the next test of the process. */
void behind_reset(void);

#endif
