/* LogGP, and how many messages a partitioned transfer should be cut into (PLogGP).
 *
 * A message of k bytes costs o_s + (k - 1) G + L + o_r: the sender's overhead, the bytes behind the
 * first, the latency, the receiver's overhead. Messages that follow each other are at least
 * max(g, o_s, o_r) apart; that is paid once for each further message, on top of its bytes
 * ("A dynamic network-native MPI partitioned aggregation over InfiniBand Verbs", Temucin, Levy,
 * Schonbein, Grant, Afsahi, 2023, section II.C).
 *
 * A buffer of k bytes filled by many threads, one of them late by D, is sent as n parts of k/n
 * bytes: few parts make the last one, that waited for the late thread, long; many cost a message
 * each. That paper gives no formula for this; two that were derived from it:
 *
 *     hidden   the early parts' bytes are hidden by the delay, their messages are not:
 *              T = D + o_s + (n - 1) max(g, o_s, o_r) + (k/n - 1) G + L + o_r
 *     drained  the late part also waits for the early ones to leave:
 *              T = max{ (n - 1) [(k/n - 1) G + max(g, o_s)], D } + o_s + (k/n - 1) G + L + n o_r
 *
 * The parameters are those of a message of k/n bytes, which is what travels. An empty message has
 * no byte behind its first: k - 1 is 0 for k = 0. L, o_s, o_r or g that a profile does not tell
 * (NaN) count as 0.
 *
 *     int best = 0;
 *     grove_part_choice choices[GROVE_PART_CHOICES];
 *     GROVE_TRY(grove_loggp_choose(m, GROVE_HIDDEN, 4 << 20, 32, 0.004, choices, &n, &best));
 *     parts = choices[best].parts;
 */
#ifndef GROVE_MODEL_LOGGP_H
#define GROVE_MODEL_LOGGP_H

#include "model/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum grove_delay_form { GROVE_HIDDEN, GROVE_DRAINED, GROVE_DELAY_FORMS } grove_delay_form;
extern const char *const grove_delay_form_names[GROVE_DELAY_FORMS]; /* "hidden", "drained" */

/* One message of `bytes`. */
double grove_loggp_message(const grove_loggp *p, double bytes);

/* `n` messages of `bytes` each, back to back: o_s + n G (k - 1) + (n - 1) max(g, o_s, o_r) + L +
 * o_r, which is the paper's formula for n = 2. Nothing for n = 0. */
double grove_loggp_messages(const grove_loggp *p, double n, double bytes);

/* `bytes` in `n` parts, one of them late by `delay` seconds. */
double grove_loggp_parts(const grove_loggp *p, grove_delay_form form, double bytes, double n,
                         double delay);

enum { GROVE_PART_CHOICES = 32 };
typedef struct grove_part_choice {
  int64_t parts;
  double seconds;
  const grove_loggp *row; /* of the profile, by the size of a part */
} grove_part_choice;

/* Every power of two up to `most` parts, in order, and the index of the fastest; the fewest parts
 * of several as fast. A profile without LogGP between nodes is GROVE_ERR_ARG. */
grove_status grove_loggp_choose(const grove_machine *m, grove_delay_form form, int64_t bytes,
                                int64_t most, double delay, grove_part_choice *choices,
                                int *nchoices, int *best);

#ifdef __cplusplus
}
#endif

#endif
