/* One end of a channel, in a buffer whose every byte is known. A round sends a row of bytes that
 * follow from the channel's seed and the number of the round. Each end lays it into slots of its
 * own type. Bytes before, after and between the data are canaries.
 *
 *     channel c = {.ctx = ctx, .sends = 1, .peer = 1, .tag = 7, .parts = 4, .count = 3,
 *                  .u = units_find(types, "MPI_INT"), .seed = 5};
 *     channel_open(&c);
 *     channel_start(&c);
 *     channel_ready(&c, 0, 4);       the receiver: channel_wait() compares all bytes
 *     channel_wait(&c);
 *     channel_close(&c);
 *
 * With TEST_ARRAYS in the environment the buffer lies on a device (apart.h), and what is said of
 * `data` here holds for a copy on the host.
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
  int64_t count; /* units per part */
  const unit *u;
  uint64_t seed; /* the same at both ends */
  void *lent;    /* the caller's memory of channel_room() bytes; NULL: its own */
  /* made here */
  array data;     /* what Grove is given */
  void *apart;    /* that on a device; NULL: it is the host's */
  array expected; /* what it should be */
  int64_t round;  /* started so far */
  grove_op *op;
} channel;

size_t channel_room(const channel *c);
int64_t channel_bytes(const channel *c); /* that travel */

/* Makes the buffer, filled with canaries; the others also the operation. Local. */
void channel_dress(channel *c);
grove_status channel_init(channel *c);
void channel_open(channel *c);

/* The next round. */
void channel_start(channel *c);

/* Fills a sender's parts of this round; the second also marks them. Any thread. */
void channel_fill(channel *c, int64_t first, int64_t count);
void channel_ready(channel *c, int64_t first, int64_t count);

/* All parts of this round, one by one, in random order. */
void channel_ready_shuffled(channel *c, rng *r);

/* Asserts that a receiver's buffer is right for this round; or only that these parts have arrived,
 * from any thread. */
void channel_check(channel *c);
void channel_check_parts(channel *c, int64_t first, int64_t count);

/* Waits until grove_arrived says so, then compares them. */
void channel_await(channel *c, int64_t first, int64_t count);

/* Ends the round: a receiver compares, a sender overwrites what it has sent. */
void channel_over(channel *c);

/* Waits, then does that; by grove_wait or by grove_test. */
void channel_wait(channel *c);
void channel_poll(channel *c);

/* One round whose data is ready at once. */
void channel_run(channel *c);

/* Sets all bytes of the buffer; and brings it to `data`, if it lies elsewhere. */
void channel_set(channel *c, int byte);
void channel_fetch(channel *c);

/* Frees operation and buffer. An active sender keeps its buffer until channels_sweep(), to be
 * called when the context is gone. */
void channel_close(channel *c);
void channel_abandon(channel *c);
void channels_sweep(void);

/* A word from one rank to another. The waiting rank advances the operations of idle's context
 * (place_idle). */
void tell(const place *p, int to);
void hear(const place *p, int from, grove_op *idle);

/* The units that the tests of channels use, by number. */
enum { CHANNEL_UNITS = 15 };
const unit *channel_unit(const units *all, int i);

#endif
