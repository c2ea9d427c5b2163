/* Messages between simulated ranks, on SimGrid's clock, at the costs of costs.hpp.
 *
 * A rank's sends leave one after the other: each leaves when the rank has been busy with it for its
 * time. They travel simultaneously, and are matched with receives where they arrive. Those between
 * two ranks stay in order. Ranks sleep until what they wait for has happened; nothing is polled.
 */
#ifndef BENCH_SCALE_POST_H
#define BENCH_SCALE_POST_H

#ifdef __cplusplus
extern "C" {
#endif

enum { POST_ANY = -1 }; /* rank or tag */

/* Under way until post_done says otherwise. post_done then frees it, and for a receive tells what
 * came. */
typedef struct post_request post_request;

void post_open(int ranks); /* by every rank, before anything else */

post_request *post_send(int rank, int to, int tag, const void *data, int bytes);
post_request *post_receive(int rank, int from, int tag, void *data);
int post_done(post_request *request, int *source, int *bytes);
void post_forget(post_request *send);

/* A message that has come unexpectedly; false: there is none. */
int post_look(int rank, int from, int tag, int *source, int *bytes);
int post_take(int rank, int from, int tag, void *data);

/* None of these is done: sleeps until one is or, if wanted, an unexpected message comes. */
void post_sleep(int rank, post_request **requests, int n, int wants_mail);
void post_drain(int rank); /* until all that the rank has sent has arrived */

#ifdef __cplusplus
}
#endif

#endif
