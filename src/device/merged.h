/* Messages with something for the same slots, merged into one recipe. For each slot it has all that
 * they bring, in their order. A launch takes a *sweep* of them: messages that follow each other, as
 * many as are there. Each target then walks what the sweep has for it, so there are no atomics, and
 * the result has the same bits however messages are swept.
 *
 *     GROVE_TRY(grove_merged_create(driver, device, &mover, motion, n, windows, &merged));
 *     ... message 3 is there ...
 *     grove_merged_find(merged, windows[3].message, windows[3].count, &sweep);
 *     ... message 4 too ...
 *     grove_merged_find(merged, windows[4].message, windows[4].count, &more);
 *     grove_sweep_join(&sweep, &more);
 *     grove_merged_apply(merged, &sweep, array, before, launch.jobs);
 *
 * Most slots get one value: these need no list of where their values begin, and a sweep has nothing
 * to do with those of other messages. So two recipes and two jobs: slots with one value, and slots
 * with several. They take 8 bytes per edge at most, where slots fit into 32 bits.
 */
#ifndef GROVE_DEVICE_MERGED_H
#define GROVE_DEVICE_MERGED_H

#include "device/recipes.h"
#include "device/space.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_merged grove_merged;

/* Windows first .. last, of which units `from` .. `to`-1 are meant, by their numbers among all. */
typedef struct grove_sweep {
  int first, last;
  int32_t from, to;
} grove_sweep;

enum { GROVE_SWEEP_JOBS = 2 };

/* The messages are addresses of the device. Out comes NULL where they cannot be merged: that is not
 * a failure. They must lie behind each other in their order, and kernels must be able to combine
 * them. */
grove_status grove_merged_create(const grove_driver *driver, int device, const grove_mover *mover,
                                 grove_motion motion, int n, const grove_window *windows,
                                 grove_merged **out);
void grove_merged_free(const grove_driver *driver, int device, grove_merged *m);

/* So many units from an address on; false if they are not of one of its windows. */
int grove_merged_find(const grove_merged *m, const char *message, int64_t count, grove_sweep *out);

/* Adds one that has nothing between itself and the sweep; false if it has. */
int grove_sweep_join(grove_sweep *sweep, const grove_sweep *more);

/* GROVE_SWEEP_JOBS jobs, whose items follow `before` others in their launch. */
void grove_merged_apply(const grove_merged *m, const grove_sweep *sweep, void *array,
                        int64_t before, grove_job *jobs);

/* What a window touches, for a driver that checks the order. */
const grove_prepared *grove_merged_touched(const grove_merged *m, int window);

/* Bytes of the device's memory. */
int64_t grove_merged_bytes(const grove_merged *m);

#ifdef __cplusplus
}
#endif

#endif
