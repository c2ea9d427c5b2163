/* Operations, as the context and the public calls know them. What an operation does is up to its
 * *kind*: a table of functions, none of which is ever missing.
 *
 *     transfer    an operation on a forest, made by _init       exec/transfer.h
 *     one shot    the same, made by _begin: belongs to a pool   exec/pool.c
 *     bundle      several as one                                exec/bundle.c
 *     contest     two transfers, of which the faster stays      exec/contest.c
 *     psend, precv  the ends of a channel                       partitioned/channel.c
 *
 * The folder, from the public calls down to what moves data:
 *
 *     calls.c     the public calls that make one      start.c   start
 *     init.c      making transfers                    wait.c    test, wait, end, report
 *     pool.c      those of _begin                     free.c    freeing in any state
 *     bundle.c    several as one                      run.c     a transfer under way
 *     contest.c   the option effort=measure           flow.c    letters over shared memory
 *     routing.c   which route it takes                hub.c     letters through hubs
 *     plans.c     the plans of a forest               letter.c  between arrays and letters
 *     wiring.c    what ranks agree on                 rebind.c  freed: arrays become copies
 *     wire.c      what goes with which carrier        check.c   the option `check`
 *     feeds.c     what waits for what                 clock.c   where time goes, for log and trace
 *     field.c     units, and memory on their way      kind.c    how a transfer describes itself
 *     bind.c      memory, requests, arrays            apart.c   arrays in other memories
 *     rings.c     its ends of the wiring's rings      op.c      what all kinds have
 *     parts.c     the public calls about parts        watch.c   transfers by parts: what waits
 *     ready.c     ... starts and marks                arrive.c  ... and what has come
 *     stream.c    operations on streams               gather.c  ... and what is gathered for itself
 *     promise.c   what streams wait for               trail.c   what devices do, for trace
 *     several.c   waits for several at once           guard.c   `check`: arrays of those under way
 *     footprint.c ... and which bytes they are        seals.c   ... and what transfers read there
 */
#ifndef GROVE_EXEC_OP_H
#define GROVE_EXEC_OP_H

#include "context/context.h"
#include "context/trace.h"
#include "exec/plans.h"

#include <assert.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The state of an operation. op.c lists the permitted moves; builds with assertions check them.
 * From GROVE_OP_DONE on the operation is complete. */
typedef enum grove_op_state {
  GROVE_OP_IDLE,      /* it may be started */
  GROVE_OP_POOLED,    /* idle in a pool: it holds no forest */
  GROVE_OP_ACTIVE,    /* started */
  GROVE_OP_FAILED,    /* a start failed halfway: it can only be freed */
  GROVE_OP_ABANDONED, /* freed while others waited for its data: it sees that through */
  GROVE_OP_LEAVING,   /* freed after a start had failed: what was started is seen through */
  GROVE_OP_STUCK,     /* freed, and it cannot go on: MPI is gone, or memory is short */
  GROVE_OP_DONE,      /* complete, and nobody has been told */
  GROVE_OP_TOLD,      /* complete, and a test has told: it may be waited for, or started again */
  GROVE_OP_STATES
} grove_op_state;

/* Where the time of a start goes, if an account of it is kept. */
typedef struct grove_stopwatch {
  int open; /* started, and nobody has been told of its end */
  const grove_account *account;
  int64_t start;   /* number of the start */
  double returned; /* when start returned */
  double inside;   /* seconds since then, in tests and in waits that timed out */
} grove_stopwatch;

/* The stream that the user has given an operation. */
typedef struct grove_chosen_stream {
  struct CUstream_st *stream;
  int chosen;
} grove_chosen_stream;

typedef struct grove_promise grove_promise;
typedef struct grove_guard grove_guard;

typedef struct grove_op_kind {
  const char *name;
  int takes_streams;
  grove_status (*start)(grove_op *op);
  grove_status (*start_parts)(grove_op *op); /* nothing of this rank's data is final yet */
  void (*advance)(grove_active *active);     /* does what can be done now */
  /* Writes what a timeout names: which start, what has not come, and what may be the reason. */
  void (*missing)(const grove_op *op, char *text, size_t room);
  /* "reduce on forest 'halo'". Valid until this thread asks again. */
  const char *(*label)(const grove_op *op);
  grove_report (*report)(const grove_op *op);
  grove_status (*free)(grove_op *op); /* in any state */
  /* What it asks for as a member of a bundle: the number of requests (-1: it cannot be a member),
   * and request k. */
  int (*count)(const grove_op *op);
  grove_request (*request)(const grove_op *op, int k);
  /* By parts. */
  grove_status (*ready)(grove_op *op, int64_t first, int64_t count);
  grove_status (*arrived)(grove_op *op, int64_t first, int64_t count, int *flag);
  grove_status (*arrivals)(grove_op *op, int64_t *first, int64_t *count);
  grove_status (*part_times)(grove_op *op, int64_t first, int64_t count, grove_part_time *out);
} grove_op_kind;

struct grove_op {
  grove_active active; /* first: the context knows operations by it */
  const grove_op_kind *kind;
  grove_context *ctx;
  grove_op_state state;
  grove_op_state rest; /* its state once a wait has told of its end */
  int careful;         /* a start goes by the kind's table: all but transfers of _init */
  unsigned tests;      /* in vain */
  int timed;           /* the start under way is timed */
  int64_t starts, timed_starts;
  double since, seconds; /* of the timed ones */
  grove_status failure;  /* met while advancing; told by the next test or wait */
  char *sentence;
  grove_stopwatch timing;
  grove_chosen_stream stream;
  grove_promise *promise; /* to a stream, of this start or an earlier one */
  int awaited;            /* by a stream: the next start waits for this one */
  grove_guard *guard;     /* with the option `check`: its arrays while it is under way, else NULL */
  void *user;             /* the program's own */
};

/* ---- what all kinds have (op.c) ---- */

int grove_op_may_move(grove_op_state from, grove_op_state to);

/* The thread that waits for the operation may look at its state at any time. */
static inline void grove_op_move(grove_op *op, grove_op_state to)
{
  assert(grove_op_may_move(op->state, to));
  __atomic_store_n(&op->state, to, __ATOMIC_RELEASE);
}

/* Another thread may just complete it: then what that thread wrote is seen as well. */
static inline grove_op_state grove_op_state_of(const grove_op *op)
{
  return __atomic_load_n(&op->state, __ATOMIC_ACQUIRE);
}

/* Has the user freed it, and is it still there? */
static inline int grove_op_is_freed(const grove_op *op)
{
  grove_op_state state = grove_op_state_of(op);
  return state >= GROVE_OP_ABANDONED && state <= GROVE_OP_STUCK;
}

/* Does MPI, or another rank, still deal with it? */
static inline int grove_op_is_under_way(const grove_op *op)
{
  grove_op_state state = grove_op_state_of(op);
  return state >= GROVE_OP_ACTIVE && state <= GROVE_OP_STUCK;
}

/* Was it made by _begin, so that it ends with grove_end? */
static inline int grove_op_is_begun(const grove_op *op)
{
  return op->rest == GROVE_OP_DONE;
}

/* Advances all that its context has under way. If another thread is inside just now, that thread
 * does so. */
static inline void grove_op_poll(const grove_op *op)
{
  if (!grove_context_try(op->ctx)) return;
  grove_context_progress(op->ctx);
  grove_context_leave(op->ctx);
}

/* Keeps the first failure; the user hears of it from test or wait. */
void grove_op_note(grove_op *op, grove_status status);
/* For a new start. */
void grove_op_forget_failure(grove_op *op);

static inline const char *grove_op_label(const grove_op *op)
{
  return op->kind->label(op);
}

/* The stream behind which its arrays are final. */
static inline struct CUstream_st *grove_op_stream(const grove_op *op)
{
  return op->stream.chosen ? op->stream.stream : op->ctx->stream;
}

/* The operation is under way, and its stream is to go on when it is complete. Then: the operation
 * is about to be freed (promise.c). */
grove_status grove_promise_make(grove_op *op);
void grove_promise_end(grove_op *op);

/* If the operation is complete, lets the stream go on. With the lock. */
void grove_promise_look(grove_op *op);

/* Before a start. If a stream waits for its own last start, that is seen through. So are starts of
 * others that streams wait for: the streams of this one would stand behind theirs (stream.c). */
grove_status grove_op_settle_streams(grove_op *op);

/* May it be tested, or waited for (wait.c)? */
grove_status grove_op_check_started(const grove_op *op, const char *call);

/* Its context's timeout, in seconds (wait.c). */
double grove_op_timeout(const grove_op *op);

/* The time has run out: advances everything once more. GROVE_ERR_TIMEOUT, with a sentence, if the
 * operation is not complete then either. */
grove_status grove_op_look_once_more(grove_op *op);

/* What a test and a wait do at their ends; they began at `since`, by grove_op_clock. The outcome of
 * the operation if it is complete. Of a wait: `status` if that is a failure. */
grove_status grove_op_end_test(grove_op *op, double since, int complete);
grove_status grove_op_end_wait(grove_op *op, double since, grove_status status);

/* Of one that has a guard (guard.c), when the user hears that it is complete: if what it reads was
 * changed since its start, that is its failure, GROVE_ERR_CORRUPT. */
void grove_op_look_back(grove_op *op);
/* With the lock: from here on nobody looks at its arrays. */
void grove_guard_close(grove_guard *g);

/* May it be started? */
grove_status grove_op_check_idle(const grove_op *op, const char *call);

/* For kinds that take no parts: GROVE_ERR_UNSUPPORTED, in `call`. */
grove_status grove_op_no_parts(const grove_op *op, const char *call);
grove_status grove_op_no_start_parts(grove_op *op);
grove_status grove_op_no_ready(grove_op *op, int64_t first, int64_t count);
grove_status grove_op_no_arrived(grove_op *op, int64_t first, int64_t count, int *flag);
grove_status grove_op_no_arrivals(grove_op *op, int64_t *first, int64_t *count);
grove_status grove_op_no_part_times(grove_op *op, int64_t first, int64_t count,
                                    grove_part_time *out);

/* ---- making them ---- */

extern const grove_op_kind grove_kind_transfer, grove_kind_bundle; /* kind.c */

/* Makes an operation of n fields on a new wiring, for `call`; `mine` is this rank's failure so far.
 * Agreed by all (init.c). */
grove_status grove_op_init(grove_context *ctx, const grove_op_kind *kind, const char *call,
                           grove_status mine, int n, const grove_request *requests, grove_op **out);
/* Starts an operation of one field: an idle one of its pool, if there is one (pool.c). */
grove_status grove_op_begin(const grove_request *r, const char *call, grove_op **out);
/* What the first of its kind would make; the request has no arrays. */
grove_status grove_op_prepare(const grove_request *r, const char *call);
/* Frees what a failed call leaves, or what a call does not need. The sentence stays (free.c). */
void grove_op_give_up(grove_op **op);

/* ---- where the time goes (clock.c) ---- */

/* At the beginning of a wait or test, and at its end. */
static inline double grove_op_clock(const grove_op *op)
{
  return op->timing.open ? grove_clock() : 0;
}
/* At the end of a start, if an account of it is kept. The start began at op->since. */
void grove_op_note_start(grove_op *op, const grove_account *account, int64_t start);
void grove_op_note_wait(grove_op *op, grove_span_kind kind, double since, int complete);

#ifdef __cplusplus
}
#endif

#endif
