/* Which of n places were claimed, range by range, by any number of threads: a place is claimed
 * once. Nothing waits, and nothing but this is told: who claims a place does with it what is to be
 * done. A call costs some ten atomic operations at most, however long its range.
 */
#ifndef GROVE_PARTS_CLAIMS_H
#define GROVE_PARTS_CLAIMS_H

#include "base/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_claims grove_claims;

/* None of so many places is claimed. */
grove_status grove_claims_create(int64_t n, grove_claims **out);
void grove_claims_free(grove_claims **c);

/* None is any more. By one thread, while no other claims. */
void grove_claims_begin(grove_claims *c);

/* Any thread. -1, or the first of these places that was claimed already: then none is by this call.
 * Of two calls that want the same place at the same time both may be told so. */
int64_t grove_claims_take(grove_claims *c, int64_t first, int64_t count);

/* Any thread: is this one? */
int grove_claims_has(const grove_claims *c, int64_t place);

#ifdef __cplusplus
}
#endif

#endif
