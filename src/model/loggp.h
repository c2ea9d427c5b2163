/* LogGP, and how many messages a partitioned transfer should be cut into (PLogGP).
 *
 * A message of k bytes costs o_s + (k - 1) G + L + o_r: the sender's overhead, the bytes behind the
 * first, the latency, the receiver's overhead. Messages that follow each other are at least max(g,
 * o_s, o_r) apart; that is paid once for each further message, on top of its bytes ("A dynamic
 * network-native MPI partitioned aggregation over InfiniBand Verbs", Temucin, Levy, Schonbein,
 * Grant, Afsahi, 2023, section II.C).
 *
 * A buffer of k bytes, filled by many threads of which one is late by D, is sent as n parts of k/n
 * bytes. With few parts, the last one, which waited for the late thread, is long; with many, each
 * costs a message. That paper gives no formula for this. Here are two derived from it, and one of
 * our own:
 *
 *     hidden   the early parts' bytes are hidden by the delay, their messages are not:
 *              T = D + o_s + (n - 1) max(g, o_s, o_r) + (k/n - 1) G + L + o_r
 *     drained  the late part also waits for the early ones to leave:
 *              T = max{ (n - 1) [(k/n - 1) G + max(g, o_s)], D } + o_s + (k/n - 1) G + L + n o_r
 *     covered  as hidden, but a delay hides no more bytes than it lasts:
 *              T = max{ (n - 1) (k/n - 1) G, D } + o_s + (n - 1) max(g, o_s, o_r) + (k/n - 1) G
 *                  + L + o_r
 *
 * covered equals hidden if D is long enough, and n messages back to back if D is 0. Of the three it
 * is the only one in which the delay matters for the choice and which is right without a delay.
 * Channels are cut by it.
 *
 * The parameters are those of a message of k/n bytes, as sent. For an empty message, k - 1 counts
 * as 0. If a profile does not tell L, o_s, o_r or g (NaN), they count as 0.
 *
 *     grove_part_cut cut = {.where = GROVE_OFF_NODE, .form = GROVE_HIDDEN, .bytes = 4 << 20,
 *                           .parts = 32, .most = 32, .delay = 0.004};
 *     messages = grove_loggp_best(m, &cut).messages;
 */
#ifndef GROVE_MODEL_LOGGP_H
#define GROVE_MODEL_LOGGP_H

#include "model/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum grove_delay_form {
  GROVE_HIDDEN,
  GROVE_DRAINED,
  GROVE_COVERED,
  GROVE_DELAY_FORMS
} grove_delay_form;
extern const char *const grove_delay_form_names[GROVE_DELAY_FORMS]; /* "hidden", ... */

/* The parameters for messages of `bytes`. If a profile has no LogGP there it may have the postal
 * model, in which n messages take n (alpha + beta k): then L and g are alpha, G is beta, and the
 * overheads are unknown. Inside a node the nearest locality that the profile knows counts, and over
 * libfabric MPI's numbers between nodes, if it has no others. G is NaN if the profile has nothing,
 * or if it is NULL. */
grove_loggp grove_loggp_row(const grove_machine *m, grove_locality where, int64_t bytes);

/* The spacing of consecutive messages: max(g, o_s, o_r). */
double grove_loggp_spacing(const grove_loggp *p);

/* One message of `bytes`. */
double grove_loggp_message(const grove_loggp *p, double bytes);

/* `n` messages of `bytes` each, back to back: o_s + n G (k - 1) + (n - 1) max(g, o_s, o_r) + L +
 * o_r, which for n = 2 is the paper's formula. 0 for n = 0. */
double grove_loggp_messages(const grove_loggp *p, double n, double bytes);

/* Messages of several sizes, back to back, as grove_loggp_messages for one size. Begins as 0. */
typedef struct grove_loggp_train {
  double fixed;   /* the most that one of them takes regardless of its size */
  double rest;    /* bytes and spacings of all, and ... */
  double spacing; /* ... of these the first one's, for which nobody waits */
  int n;
} grove_loggp_train;
void grove_loggp_join(grove_loggp_train *train, const grove_loggp *p, double bytes);
double grove_loggp_train_seconds(const grove_loggp_train *train);

/* `bytes` in `n` parts, one of them late by `delay` seconds. */
double grove_loggp_parts(const grove_loggp *p, grove_delay_form form, double bytes, double n,
                         double delay);

/* What is cut. Parts stay whole: the largest of n messages has 1/n of the parts, rounded up, and is
 * taken to be the late one. */
typedef struct grove_part_cut {
  grove_locality where;
  grove_delay_form form;
  int64_t bytes, parts; /* of the whole */
  int64_t most;         /* messages, from 1 to `parts` */
  double delay;
} grove_part_cut;

typedef struct grove_part_choice {
  int64_t messages;
  double bytes, seconds; /* of the largest message; of all */
  grove_loggp row;       /* by the size of the largest message */
} grove_part_choice;

/* The price of that many messages; seconds is NaN if the profile lacks numbers for it. */
grove_part_choice grove_loggp_price(const grove_machine *m, const grove_part_cut *cut, int64_t n);

/* The fastest number of messages, the fewest of several equally fast; 1 if seconds is NaN. Tries
 * about twice the square root of `parts` numbers; any other leaves the largest message as it is. */
grove_part_choice grove_loggp_best(const grove_machine *m, const grove_part_cut *cut);

/* For users: every power of two up to the most, and the best, in order; and the index of the best.
 * GROVE_ERR_ARG if a number makes no sense, or if the profile lacks numbers. */
enum { GROVE_PART_CHOICES = 33 };
grove_status grove_loggp_choose(const grove_machine *m, const grove_part_cut *cut,
                                grove_part_choice *choices, int *nchoices, int *best);

#ifdef __cplusplus
}
#endif

#endif
