/* When the parts of channels were ready, as a trace tells (the option `trace`).
 *
 *     arrivals a;
 *     if (arrivals_open("trace.json", &a)) return EXIT_BAD_INPUT;      it has said why
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

/* An end that sends. The least delta that is of use is the time from the first part of a round to
 * the last but one: with it all of them but the late one travel together. */
typedef struct sender {
  int rank, peer, tag;
  int64_t number;
  int64_t parts, part_bytes;
  int64_t rounds;           /* that were whole */
  double delta, delta_most; /* the median of the rounds, and the most */
  double late;              /* the last part after the last but one, the median */
  double quickest;          /* from leaving to arriving, of all parts; NaN: the trace lacks it */
  double *ready;            /* of each part, the mean of the rounds */
} sender;

typedef struct arrivals {
  int n;
  sender *senders; /* by rank, peer, tag and number */
} arrivals;

/* An exit status; what is wrong is said on standard error. */
int arrivals_open(const char *path, arrivals *out);
void arrivals_close(arrivals *a);

/* grove aggregate --arrivals FILE: an exit status. */
int aggregate_arrivals(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
