/* Which parts of a round are ready, and which runs of them may leave. Any number of threads mark;
 * one at a time takes what may leave.
 *
 *     any thread                                     who drives
 *     grove_readiness_mark(r, first, count, ...)
 *       -> due                                       while (grove_readiness_take(r, now, &run))
 *                                                      ... parts run.first .. are sent ...
 *
 * Groups. A plan (aggregator.h) cuts the parts into groups of neighbours. A group leaves when all
 * of it is ready. With a delta it also leaves in runs: the first mark of a group arms a deadline;
 * when that has passed, the largest runs of what is ready and has not left go, and every later part
 * goes with what is ready beside it.
 *
 * Order. A mark sets bits, a word of some parts at a time. Who fills a word, or with a delta every
 * mark, then subtracts from the counter of the group. Both acquire and release: who fills a word
 * has seen all marks in it, who brings a counter to zero all marks of the group, and what was
 * written before them. Bits also count for runs, and are read with acquire.
 * tests/parts/readiness_model.c runs this in all interleavings of three threads.
 *
 * Rounds. A round is over when all parts have left and no mark of it is under way any more, but for
 * what it does last, which does no harm to the next round: who drives may begin that while a thread
 * has not come out of its mark.
 *
 * Cost. Two atomic operations on a word that at most 8 to 64 neighbours share, three for the part
 * that fills it; with a delta one more, which all marks of a group share.
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

/* Of so many parts; all in one group until there is a plan. */
grove_status grove_readiness_create(int64_t parts, grove_readiness **out);
void grove_readiness_free(grove_readiness **r);

/* Between two rounds: the groups from the next one on. The plan may go afterwards. */
grove_status grove_readiness_follow(grove_readiness *r, const grove_part_plan *plan);

/* A round begins: nothing is marked, nothing has left. `timed`: marks are told the time, which is
 * kept for each part. */
void grove_readiness_begin(grove_readiness *r, int timed);

/* Any thread, without a lock. The range is legal. `now` counts where the round is timed, or a delta
 * is set. Returns -1, or the first part that was marked already: then nothing of this call counts.
 * `due` becomes 1 if something may leave that could not before, or a deadline was armed; else 0. */
int64_t grove_readiness_mark(grove_readiness *r, int64_t first, int64_t count, double now,
                             int *due);

/* One thread at a time: the next run that may leave now, which then counts as left; 0: none. Costs
 * little where nothing is due. Runs come by ascending groups. */
int grove_readiness_take(grove_readiness *r, double now, grove_part_run *run);

/* When something will be due that is not now, as far as deadlines go; infinity: nothing. Looks at
 * every group. */
double grove_readiness_deadline(const grove_readiness *r);

/* Is the round over? And how many parts were marked, which looks at all of them. */
int grove_readiness_is_over(const grove_readiness *r);
int64_t grove_readiness_marked(const grove_readiness *r);
/* Was this one? Then what was written before its mark is seen. */
int grove_readiness_is_marked(const grove_readiness *r, int64_t part);
/* When a part was marked; NaN: it was not, or the round is not timed. */
double grove_readiness_time(const grove_readiness *r, int64_t part);

#ifdef __cplusplus
}
#endif

#endif
