/* grove multipath: its settings, and the declarations its files share.
 */
#ifndef GROVE_TOOLS_MULTIPATH_H
#define GROVE_TOOLS_MULTIPATH_H

#include "model/multipath.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct multipath_settings {
  const char *machine, *paths, *picture;
  int from, to;
  int64_t bytes; /* -1: not given */
  double threshold;
  int solver, both, sweep, cost, json, as_published;
  int nalso, also[GROVE_COPIES][2]; /* simultaneous copies of the same size */
} multipath_settings;

/* One size, solved. */
typedef struct multipath_answer {
  grove_copies set;
  grove_split split[GROVE_COPIES];
  double bytes, single, gain, bound;
  char says[300]; /* the limit, as a sentence */
} multipath_answer;

/* Solves for one size; on failure prints a sentence on standard error. Returns an exit status. */
int multipath_solve(const multipath_settings *s, const grove_machine *m, double bytes,
                    multipath_answer *out);

/* Size i of a sweep; 0 when there are no more. */
double multipath_size(const multipath_settings *s, int i);

/* "direct", "gpu2", "host". */
const char *multipath_path_name(const grove_path *p, char room[16]);

void multipath_print_json(const multipath_settings *s, const multipath_answer *a);
void multipath_print_table(const multipath_settings *s, const multipath_answer *a);

/* A line of a sweep; the first one also prints the column names. */
void multipath_print_sweep(const multipath_settings *s, const multipath_answer *a, int first);

/* How long a decision takes, with and without the cache. Returns an exit status. */
int multipath_cost(const multipath_settings *s, const grove_machine *m);

/* Draws the split of one size, `a`, as bars; or gain and shares over the sizes, with `a` as scratch
 * memory. Returns an exit status. */
int multipath_draw(const multipath_settings *s, const grove_machine *m, multipath_answer *a);

#ifdef __cplusplus
}
#endif

#endif
