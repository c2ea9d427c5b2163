/* Exchanges of doubles between arrays on devices, by Grove and by hand, on the same arrays. A
 * course is some of them: one after the other, or all begun before the first is waited for.
 *
 * Before each, senders rewrite their data, by a copy on the device, and the clock stands.
 */
#ifndef BENCH_GPU_EXCHANGE_H
#define BENCH_GPU_EXCHANGE_H

#include "gpu.h"
#include "kit/lists.h"

typedef struct bench_course_how {
  const char *line, *name;
  int64_t bytes; /* for the row */
  const bench_graph *graphs;
  int n;               /* graphs, each an exchange */
  int together;        /* all begun before the first is waited for */
  const char *methods; /* "grove", "hand", or "grove:route=3-step", with blanks between them */
  int batch;           /* courses of a sample */
} bench_course_how;

/* Prints a row for each method: the time of one exchange. Collective. */
void bench_course_run(bench_gpu *g, const bench_course_how *how);

/* ---- graphs ---- */

/* `n` roots of rank `from`, and leaves of rank `to` for them: consecutive, or one slot of each two.
 */
bench_graph bench_graph_pair(const bench_gpu *g, int from, int to, int64_t n, int scattered);
void bench_graph_free(bench_graph *graph);

#endif
