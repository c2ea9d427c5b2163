/* The points that a profile was fitted to, kept in its file as lines of comment:
 *
 *     # point 1024 1.93e-06 ping-pong off-node
 *     # exchange 1024 4.1e-05 3.9e-05 exchange far 3-step
 *
 * x, seconds, of an exchange also its price, and what was measured.
 * Readers of the profile's numbers skip these lines.
 */
#ifndef GROVE_TOOLS_POINTS_H
#define GROVE_TOOLS_POINTS_H

#include "measure/measure.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { POINTS_SERIES_BYTES = 64 };

/* Points of a file; they own the names of their series. */
typedef struct kept_points {
  int count;
  grove_point *point;
  char (*series)[POINTS_SERIES_BYTES]; /* one per point */
} kept_points;

/* Appends them to a profile. 1: it cannot be written. */
int points_append(const char *path, const grove_points *points);

/* The points of the file; none where there is no such file. 1: out of memory. */
int points_read(const char *path, kept_points *out);
void points_free(kept_points *points);

#ifdef __cplusplus
}
#endif

#endif
