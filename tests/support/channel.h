/* One end of a channel, in a buffer whose every byte is known. What travels in a round is a row of
 * bytes that follow from the channel's seed and the number of the round; each end lays it into
 * slots of its own type. Bytes before, behind and between the data are canaries.
 *
 *     channel c = {.ctx = ctx, .sends = 1, .peer = 1, .tag = 7, .parts = 4, .count = 3,
 *                  .u = units_find(types, "MPI_INT"), .seed = 5};
 *     channel_open(&c);
 *     channel_start(&c);
 *     channel_ready(&c, 0, 4);       the receiver: channel_wait() compares all bytes
 *     channel_wait(&c);
 *     channel_close(&c);
 */
#ifndef TEST_CHANNEL_H
#define TEST_CHANNEL_H

#include "arrays.h"
#include "places.h"
#include "random.h"
#include "units.h"

typedef struct channel {
  grove_context *ctx;
  int sends, peer, tag;
  int parts;
  int64_t count; /* units of a part */
  const unit *u;
  uint64_t seed; /* the same at both ends */
  void *lent;    /* memory of channel_room() bytes that the caller has; NULL: its own */
  /* made here */
  array data;     /* what Grove is given */
  array expected; /* what it should be */
  int64_t round;  /* started so far */
  grove_op *op;
} channel;

size_t channel_room(const channel *c);
int64_t channel_bytes(const channel *c); /* that travel */

/* Makes the buffer, nothing but canaries in it; and the operation as well. Local. */
void channel_dress(channel *c);
grove_status channel_init(channel *c);
void channel_open(channel *c);

/* The next round. */
void channel_start(channel *c);

/* A sender's parts of this round, filled and marked; or filled alone. Any thread. */
void channel_fill(channel *c, int64_t first, int64_t count);
void channel_ready(channel *c, int64_t first, int64_t count);

/* All parts of this round, one by one, in random order. */
void channel_ready_shuffled(channel *c, rng *r);

/* Asserts that a receiver's buffer is what this round makes of it; or only that these parts have
 * come: any thread. */
void channel_check(channel *c);
void channel_check_parts(channel *c, int64_t first, int64_t count);

/* Until grove_arrived says so; then they are compared. */
void channel_await(channel *c, int64_t first, int64_t count);

/* The round is over: a receiver compares, a sender writes other things over what it has sent. */
void channel_over(channel *c);

/* Waits, and that; by grove_wait or by grove_test. */
void channel_wait(channel *c);
void channel_poll(channel *c);

/* One round whose data comes at once. */
void channel_run(channel *c);

/* Frees operation and buffer. A sender that is active leaves its buffer until channels_sweep(), to
 * be called when the context is gone. */
void channel_close(channel *c);
void channel_abandon(channel *c);
void channels_sweep(void);

/* A word from one rank to another; who waits for it advances the operations of idle's context
 * (place_idle). */
void tell(const place *p, int to);
void hear(const place *p, int from, grove_op *idle);

/* The units that the tests of channels use, by number. */
enum { CHANNEL_UNITS = 15 };
const unit *channel_unit(const units *all, int i);

#endif
