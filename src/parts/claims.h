/* Any number of threads claim ranges of n places; each place is claimed once. Nothing waits, and
 * nothing else is recorded: the thread that claims a place does the work for it. A call costs some
 * ten atomic operations at most, however long its range.
 */
#ifndef GROVE_PARTS_CLAIMS_H
#define GROVE_PARTS_CLAIMS_H

#include "base/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_claims grove_claims;

/* For n places, none of them claimed. */
grove_status grove_claims_create(int64_t n, grove_claims **out);
void grove_claims_free(grove_claims **c);

/* Drops all claims. By one thread, while no other claims. */
void grove_claims_begin(grove_claims *c);

/* Any thread. Returns -1, or the first of these places that was already claimed: then this call
 * claims none. If two calls want the same place at the same time, both may fail. */
int64_t grove_claims_take(grove_claims *c, int64_t first, int64_t count);

/* Any thread: is this place claimed? */
int grove_claims_has(const grove_claims *c, int64_t place);

#ifdef __cplusplus
}
#endif

#endif
