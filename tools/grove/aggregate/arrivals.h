/* When the parts of channels were ready, according to a trace (the option `trace`).
 *
 *     arrivals a;
 *     if (arrivals_open("trace.json", &a)) return EXIT_BAD_INPUT;      it has printed why
 *     for (int i = 0; i < a.n; i++) printf("%g\n", a.senders[i].delta);
 *     arrivals_close(&a);
 *
 * Times are seconds from the start of a round.
 */
#ifndef GROVE_TOOLS_ARRIVALS_H
#define GROVE_TOOLS_ARRIVALS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A sending end. The smallest useful delta is the time from the first part of a round to the last
 * but one: with it all parts but the late one travel together. */
typedef struct sender {
  int rank, peer, tag;
  int64_t number;
  int64_t parts, part_bytes;
  int64_t rounds;           /* complete ones */
  double delta, delta_most; /* median and maximum over the rounds */
  double late;              /* from the last part but one to the last; median */
  double quickest;          /* from leaving to arriving, over all parts; NaN: not in the trace */
  double *ready;            /* of each part, mean over the rounds */
} sender;

typedef struct arrivals {
  int n;
  sender *senders; /* by rank, peer, tag and number */
} arrivals;

/* Returns an exit status; errors are printed on standard error. */
int arrivals_open(const char *path, arrivals *out);
void arrivals_close(arrivals *a);

/* grove aggregate --arrivals FILE. Returns an exit status. */
int aggregate_arrivals(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
