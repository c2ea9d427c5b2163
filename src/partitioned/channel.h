/* Channels: one message from one rank to another, announced once and filled part by part by many
 * threads. What is ready travels. Each end is an operation of its own kind.
 *
 *     channel.c   making the two ends, how they meet, freeing them in any state
 *     round.c     a round of either end, from its start to its end
 *     marks.c     what any thread may call: marking and looking
 *     send.c      the sender's end: what may leave
 *     staged.c    arrays in the memory of a device (staged.h)
 *     message.c   which bytes have left, and which parts have come
 *     tell.c      how an end describes itself: label, missing parts, report, times
 *     guarded.c   the option `check`
 *     account.c   what is kept for the options log and trace
 *     match.c     how the ends find each other
 *     ways.c      what carries runs of bytes, a table of functions each (way.h):
 *     way_groups.c  over MPI, groups that both ends know: a persistent request each
 *     way_runs.c    over MPI, runs that are known only when they leave: heads tell
 *     way_shm.c     through a queue in shared memory
 *     way_ofi.c     over libfabric, written straight to where it belongs
 *     layout.c    the numbers of its runs
 *     shelf.c     memory of such queues, used again
 *
 * Rounds. A start begins a round at each end. The sender's threads mark parts; src/parts says which
 * may then leave. The receiver counts bytes by its own parts. Each end completes by itself: the
 * sender when all has left its array, the receiver when all is in its own.
 *
 * Who drives. Threads that mark and look take no lock. Only one thread calls MPI and moves anything
 * else: the holder of the context's lock, or, where there is no lock, the thread that started the
 * round. This thread is said to *drive*. A mark that makes something due is followed by an attempt
 * to drive.
 *
 * Nothing is left behind. A thread that marks sets `due`, then tries to get in, through the gate or
 * into the lock. The thread inside resets `due`, looks for what may leave, goes out, and looks at
 * `due` again. Each of these accesses reads and writes `due` in one step. So they have an order,
 * and each knows all that the one before it knew. If the reset, or the last look, comes after the
 * mark, it finds what was marked. If both come before it, the mark knows that the other thread is
 * out. tests/partitioned/due_model.c runs this in all interleavings.
 */
#ifndef GROVE_PARTITIONED_CHANNEL_H
#define GROVE_PARTITIONED_CHANNEL_H

#include "exec/op.h"
#include "pack/pack.h"
#include "parts/aggregator.h"
#include "parts/readiness.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How far the two ends have found each other. */
typedef enum grove_bond {
  GROVE_BOND_NONE,    /* never started */
  GROVE_BOND_SOUGHT,  /* the other end has not been heard from */
  GROVE_BOND_TIED,    /* data may flow */
  GROVE_BOND_REFUSED, /* the ends do not fit together: `sentence` */
} grove_bond;

struct grove_greeting;
typedef struct grove_staged grove_staged;

/* Counts the threads inside grove_ready that came in here; atomic. */
typedef struct grove_door {
  int inside;
  char line_[60];
} grove_door;

enum { GROVE_MOST_DOORS = 32 };

typedef struct grove_channel {
  grove_op base; /* first: operations are known by it */
  int sends;
  int peer, tag;
  int64_t number; /* among those to (from) this peer with this tag, from 0 */

  int64_t parts, part_units, part_bytes, bytes;
  grove_mover mover;
  grove_shape shape;    /* all units, consecutive */
  int dense;            /* the array is the message: nothing is packed */
  char *array;          /* the user's */
  char *data;           /* the message: the array, or: */
  char *staging;        /* our own memory */
  grove_staged *staged; /* of an array that is a device's; NULL: it is the host's */
  int packed;           /* of a sender: all that was marked is already in `data` */

  grove_bond bond;
  grove_status refused; /* what a start then is, and why */
  char *refusal;
  struct grove_channel *next_seeking; /* in match.c */
  void *reply; /* room for a receiver's answer: the sender must hear even if memory is short */
  /* The other end was heard from: a receiver gets an offer, a sender an answer. */
  void (*meet)(struct grove_channel *c, const struct grove_greeting *greeting);
  const struct grove_way_kind *way;
  void *end; /* the way's own */
  int64_t round;
  const void *starter; /* the thread that started it */

  /* a sender */
  const grove_aggregator *aggregator;
  grove_part_question question;
  grove_part_plan plan;
  grove_part_memory *memory; /* of aggregators that learn: */
  grove_machine *machine;    /* for their prices; the context's may have changed by then */
  grove_readiness *readiness;
  int timed; /* marks are told the time */
  /* A round waits for threads that are still inside grove_ready. They are counted in several
   * places, so that they do not collide: a power of two, at most the number of marks. */
  grove_door *doors;
  unsigned ndoors;
  char line_[64]; /* threads write what follows, and read what precedes */
  int due;        /* something may leave, or a deadline was armed; atomic */
  int gate;       /* a thread is looking for what may leave; atomic */
  int empty;      /* it has no bytes, and it has left */

  /* a receiver */
  const char *aggregated; /* the sender's aggregator */
  int64_t missing;        /* bytes */
  int64_t *come;          /* bytes of each part; atomic: who drives writes, all read */
  int64_t *arrivals;      /* parts in the order of their completion */
  int64_t narrivals;      /* atomic, like the next: */
  int64_t told;           /* of these, how many were told */
  unsigned looks;         /* in vain */

  int64_t messages;      /* of the round */
  double since;          /* when the round began, if anybody asks */
  grove_part_time *when; /* times of each part, by the clock; NULL: not kept */
  int profiled;          /* the user may ask for these times */
  char machine_name[64]; /* for reports */
  int64_t planned;       /* messages of the last round, for reports */
  grove_account account;
} grove_channel;

extern const grove_op_kind grove_kind_psend, grove_kind_precv;

/* ---- what any thread may call (marks.c) ---- */

grove_status grove_marks_ready(grove_op *op, int64_t first, int64_t count);
grove_status grove_marks_arrived(grove_op *op, int64_t first, int64_t count, int *yes);
grove_status grove_marks_arrivals(grove_op *op, int64_t *first, int64_t *count);
/* For the wrong end. */
grove_status grove_marks_no_ready(grove_op *op, int64_t first, int64_t count);
grove_status grove_marks_no_arrived(grove_op *op, int64_t first, int64_t count, int *yes);
grove_status grove_marks_no_arrivals(grove_op *op, int64_t *first, int64_t *count);

/* ---- rounds (round.c) ---- */

grove_status grove_channel_start(grove_op *op);
void grove_channel_advance(grove_active *active);
/* Any thread: tries once to move this channel on. Then: the same for all operations of the context,
 * as a test does. */
void grove_channel_drive(grove_channel *c);
void grove_channel_poll(grove_channel *c);
void grove_channel_dispose(grove_channel *c);

/* ---- the sender's end (send.c) ---- */

grove_status grove_send_begin(grove_channel *c);
/* Sends what is due. */
grove_status grove_send_post(grove_channel *c);
/* Sends what was copied out of a device. */
grove_status grove_send_copied(grove_channel *c);
/* Tells the next deadline, if somebody keeps them, or that something is due now. Any thread. */
void grove_send_tell_alarm(const grove_channel *c, int at_once);
/* Does something that has left still need calls? Aggregators that let late parts travel alone rely
 * on the others being gone by then. */
int grove_send_needs_calls(const grove_channel *c);
grove_status grove_send_pack(grove_channel *c, grove_part_run run);
int grove_send_is_over(const grove_channel *c);
/* Its device has failed: does nothing that has left need the message any more? */
int grove_send_is_spent(const grove_channel *c);
/* Makes the plan of the next round. */
grove_status grove_send_learn(grove_channel *c);

/* ---- the message (message.c) ---- */

/* The parts that the bytes belong to: first and count. */
grove_part_run grove_channel_parts_of(const grove_channel *c, int64_t offset, int64_t bytes);

/* Sender: these bytes have left with the next message. Any thread. */
void grove_channel_note_sent(grove_channel *c, int64_t offset, int64_t bytes);

/* Receiver: these bytes are in `data`. They came with message number `messages`, which the ways
 * count. */
grove_status grove_channel_take(grove_channel *c, int64_t offset, int64_t bytes);
/* Tells of parts that are now in the memory of a device. */
void grove_channel_land(grove_channel *c);
int grove_channel_has_come(const grove_channel *c);
/* It was freed, and the rest will not come: as if all had. */
void grove_channel_want_no_more(grove_channel *c);
int grove_channel_have_come(const grove_channel *c, int64_t first, int64_t count);
/* The next parts that nobody was told of; 0 if there are none. */
int grove_channel_claim(grove_channel *c, grove_part_run *out);

/* Freed, and still under way: what comes is unwanted. */
static inline int grove_channel_is_abandoned(const grove_channel *c)
{
  return grove_op_state_of(&c->base) == GROVE_OP_ABANDONED;
}

/* ---- for the options log and trace (account.c) ---- */

/* Opens what the options ask for. */
grove_status grove_account_open(grove_channel *c);
/* The channel is made and has its number; making it began at `since`. */
void grove_account_introduce(grove_channel *c, double since);
/* For whoever drives, when a round ends. */
void grove_account_note_round(const grove_channel *c);

/* ---- how it describes itself (tell.c) ---- */

grove_status grove_channel_check_range(const grove_channel *c, const char *call, int64_t first,
                                       int64_t count);
/* From now on a start is this, in these words. */
void grove_channel_refuse(grove_channel *c, grove_status status, const char *sentence);
const char *grove_channel_label(const grove_op *op);
void grove_channel_missing(const grove_op *op, char *text, size_t room);
grove_report grove_channel_report(const grove_op *op);
grove_status grove_channel_part_times(grove_op *op, int64_t first, int64_t count,
                                      grove_part_time *out);

#ifdef __cplusplus
}
#endif

#endif
