/* Channels whose array lies in the memory of a device. Their message lies in pinned host memory and
 * travels from there as ever; between the two it is copied, and nobody waits for the copies:
 *
 *     sender, any thread  grove_staged_mark(c, first, count)   before the parts count as marked
 *     whoever drives      grove_staged_begin(c, run)           parts that may leave, or have come
 *                         grove_staged_flush(c)                now the copies are under way
 *     ... later ...       while (grove_staged_next(c, &run))   done: they leave, or have arrived
 *
 * Events. A mark records an event on the channel's stream, and copies of the marked parts are put
 * behind it. All marks of a round are on one stream, so the latest mark of a run stands for all of
 * them, and an event that was recorded again does no harm. So a few events are enough, whatever the
 * number of parts.
 *
 * Failures. If a copy cannot be enqueued, the round has failed. Nothing more is copied in it. The
 * round ends when nothing that was begun needs the buffers any more.
 */
#ifndef GROVE_PARTITIONED_STAGED_H
#define GROVE_PARTITIONED_STAGED_H

#include "device/space.h"
#include "partitioned/channel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes staging, events and recipes. What was made when it fails, close frees. */
grove_status grove_staged_open(grove_channel *c, grove_space space);
/* Waits for what was begun. The staging stays. */
void grove_staged_close(grove_channel *c);

/* A round begins: what was enqueued on the stream so far comes before it writes to a receiver's
 * array. The channel is as it was if that fails. */
grove_status grove_staged_start(grove_channel *c);

/* What was enqueued on the stream so far comes before copies of these parts. Any thread. */
grove_status grove_staged_mark(grove_channel *c, int64_t first, int64_t count);

grove_status grove_staged_begin(grove_channel *c, grove_part_run run);
grove_status grove_staged_flush(grove_channel *c);
/* The next run whose copies are done, in the order in which they were begun. */
int grove_staged_next(grove_channel *c, grove_part_run *run);
/* How many parts were begun, and are not done. */
int64_t grove_staged_parts(const grove_channel *c);

/* Was all that was begun done, and told by `next`? After a failure: is no copy under way? */
int grove_staged_is_done(const grove_channel *c);
/* Waits until no copy is under way. */
void grove_staged_finish(grove_channel *c);

/* A sender's marked parts are in the message when it returns. */
grove_status grove_staged_save(grove_channel *c);

/* Has the round failed? Any thread. */
int grove_staged_has_failed(const grove_channel *c);
grove_status grove_staged_check(const grove_channel *c, const char *call);

#ifdef __cplusplus
}
#endif

#endif
