/* Fits: from measured times to alpha and beta, by ranges.
 *
 * MPI sends small, medium and large messages in different ways, so times over sizes are a line, a
 * step or a bend, and another line. Where the ranges begin is found from the times alone: of all
 * ways to cut the points into one, two or three ranges, the one with the least error is taken. A
 * further range is added only if it explains much. Errors are relative (a microsecond is much at 8
 * bytes and nothing at a megabyte), and points far off the line count little (Huber's weights).
 */
#ifndef GROVE_MEASURE_FIT_H
#define GROVE_MEASURE_FIT_H

#include "model/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A measured point: `y` seconds at `x` (bytes, or a number of messages). */
typedef struct grove_sample {
  double x, y;
} grove_sample;

/* One line of a fit. */
typedef struct grove_fit {
  double from; /* the x of its first point; 0 for the first range */
  grove_postal cost;
  int points;
  double residual; /* median of the absolute relative errors */
} grove_fit;

enum { GROVE_RANGES = 3 };

/* Fits alpha + beta x to some points; neither is negative. */
grove_fit grove_fit_line(const grove_sample *samples, int n);

/* At most `most` (1 to 3) ranges over points with ascending x. Returns how many; 0 points: none. */
int grove_fit_ranges(const grove_sample *samples, int n, int most, grove_fit *out);

/* The c for which y = c f(x) is nearest to the points (here x holds f(x)); robust as well. */
grove_fit grove_fit_proportional(const grove_sample *samples, int n);

double grove_median(double *values, int n); /* sorts them; 0 for none */

#ifdef __cplusplus
}
#endif

#endif
