/* Which parts of a round are ready, and which runs of them may leave. Any number of threads mark;
 * one at a time takes what may leave.
 *
 *     any thread                                     who drives
 *     grove_readiness_mark(r, first, count, ...)
 *       -> due                                       while (grove_readiness_take(r, now, &run))
 *                                                      ... parts run.first .. are sent ...
 *
 * Groups. A plan (aggregator.h) cuts the parts into groups of neighbours. A group leaves when all
 * of it is ready. With a delta it also leaves in runs. The first mark of a group sets a deadline.
 * When it has passed, the largest runs of parts that are ready and have not left go. Every later
 * part goes with the ready parts beside it.
 *
 * Order. A mark sets bits, one word of parts at a time. The mark that fills a word (with a delta,
 * every mark) then subtracts from the counter of the group. Both acquire and release. So the mark
 * that fills a word has seen all marks in it, the mark that brings a counter to zero has seen all
 * marks of the group, and both have seen what was written before those marks. Bits also count for
 * runs, and are read with acquire. tests/parts/readiness_model.c runs this in all interleavings of
 * three threads.
 *
 * Rounds. A round is over when all parts have left and no mark of it is under way any more, except
 * for the last action of a mark, which does not harm the next round. So whoever drives may begin
 * the next round while a thread has not yet returned from its mark.
 *
 * Cost. Two atomic operations on a word that at most 8 to 64 neighbours share, three for the part
 * that fills it. With a delta one more, on a counter that all marks of a group share.
 */
#ifndef GROVE_PARTS_READINESS_H
#define GROVE_PARTS_READINESS_H

#include "base/status.h"
#include "parts/aggregator.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_readiness grove_readiness;

typedef struct grove_part_run {
  int64_t first, count;
} grove_part_run;

/* For this many parts; all in one group until there is a plan. */
grove_status grove_readiness_create(int64_t parts, grove_readiness **out);
void grove_readiness_free(grove_readiness **r);

/* Between two rounds: sets the groups from the next round on. The plan may be freed afterwards. */
grove_status grove_readiness_follow(grove_readiness *r, const grove_part_plan *plan);

/* Begins a round: nothing is marked, nothing has left. `timed`: marks pass the time, which is kept
 * for each part. */
void grove_readiness_begin(grove_readiness *r, int timed);

/* Any thread, without a lock. The range is legal. `now` matters if the round is timed or has a
 * delta. Returns -1, or the first part that was already marked: then this call has no effect. `due`
 * becomes 1 if something may leave that could not before, or a deadline was set; else 0. */
int64_t grove_readiness_mark(grove_readiness *r, int64_t first, int64_t count, double now,
                             int *due);

/* One thread at a time: the next run that may leave now, which then counts as left; 0: none. Cheap
 * if nothing is due. Runs come by ascending groups. */
int grove_readiness_take(grove_readiness *r, double now, grove_part_run *run);

/* The next deadline at which something will be due; infinity: none. Looks at every group. */
double grove_readiness_deadline(const grove_readiness *r);

/* Is the round over? And how many parts were marked, which looks at all of them. */
int grove_readiness_is_over(const grove_readiness *r);
int64_t grove_readiness_marked(const grove_readiness *r);
/* Was this part marked? Then everything written before its mark is visible. */
int grove_readiness_is_marked(const grove_readiness *r, int64_t part);
/* When a part was marked; NaN: it was not, or the round is not timed. */
double grove_readiness_time(const grove_readiness *r, int64_t part);

#ifdef __cplusplus
}
#endif

#endif
