/* The option `check`, for a channel: from its start to its wait nobody may touch what a receiver's
 * round writes, and what a sender has marked must stay as it is. Arrays of devices are left alone.
 */
#ifndef GROVE_PARTITIONED_GUARDED_H
#define GROVE_PARTITIONED_GUARDED_H

#include "exec/guard.h"
#include "partitioned/channel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the guard if the option is on. What was made when it fails, grove_guard_free frees. */
grove_status grove_guarded_create(grove_channel *c);

/* At a start, before anything moves: as grove_guard_join says. */
grove_status grove_guarded_open(grove_channel *c);

/* These parts have just been marked. Any thread, before it leaves grove_ready: until then the round
 * is not over. */
void grove_guarded_seal(const grove_channel *c, int64_t first, int64_t count);

/* The user asks which parts have arrived. Those are the user's again. */
void grove_guarded_note_asked(const grove_channel *c);

#ifdef __cplusplus
}
#endif

#endif
