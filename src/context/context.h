/* What a communicator needs once: a duplicate to send on, the topology, the options, the tags in
 * use, the operations under way; and the few collective steps that everything else is built from.
 *
 * Nothing here ever sits inside a blocking MPI call: a step posts the non-blocking form and polls,
 * and while it polls every active operation advances.
 */
#ifndef GROVE_CONTEXT_CONTEXT_H
#define GROVE_CONTEXT_CONTEXT_H

#include "base/lock.h"
#include "base/options.h"
#include "base/pause.h"
#include "base/status.h"
#include "context/alarm.h"
#include "context/arena.h"
#include "context/board.h"
#include "context/helper.h"
#include "model/machine.h"
#include "topo/topo.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Something that makes progress whenever anybody polls. `advance` may take itself off the list. */
typedef struct grove_active {
  struct grove_active *next, *previous;
  void (*advance)(struct grove_active *self);
} grove_active;

/* One row of the summary: what operations of one kind on forests of one name did on this rank, or
 * channels of one label. */
typedef struct grove_tally {
  char *forest;
  const char *operation;
  const char *route;
  int64_t unit_bytes;
  int64_t starts, ends;
  int64_t on_node_messages, on_node_bytes, off_node_messages, off_node_bytes;
  double start_seconds;   /* inside start; this and the next two add up to the whole */
  double between_seconds; /* the rest, until the call returned that told of the end */
  double wait_seconds;    /* inside wait, test and end */
} grove_tally;

/* A tag may be used again when every rank has returned it after equally many starts: then all its
 * messages have been received. */
typedef struct grove_tag {
  int used;
  int64_t starts; /* of its last owner, once returned */
} grove_tag;

/* Tags below this one are for set-up; operations have one each, from here on. */
enum {
  GROVE_TAG_EXCHANGE = 0,
  GROVE_TAG_ANSWER = 2,
  GROVE_TAG_LARGE = 4,
  GROVE_TAG_CLOCK = 6,
  GROVE_TAG_TRACE = 7,
  GROVE_TAG_NOBODY = 8, /* no message has it */
  GROVE_TAG_SEAT = 9,
  GROVE_TAG_BOARD = 10,
  GROVE_TAG_CHANNEL = 11,
  GROVE_TAG_FIRST = 12
};

/* What a collective step sends and receives. It is part of the context, so that a rank cannot find
 * itself without memory for it while the others are in the step already; and after a timeout, when
 * MPI may still write to it, the context is left where it is. */
enum { GROVE_STEP_VALUES = GROVE_BOARD_VALUES - 1, GROVE_STEP_BYTES = 1 << 14 };
typedef struct grove_step {
  int64_t in[GROVE_STEP_VALUES + 1], out[GROVE_STEP_VALUES + 1];
  char text[GROVE_STEP_BYTES];
} grove_step;

struct grove_context {
  int references;   /* atomic */
  grove_lock *lock; /* NULL where MPI allows one thread only */
  int careful;      /* start and wait have more to do: there is a lock, or */
  int closing;      /* MPI_Finalize has begun (finalize.c) */
  struct grove_context *next_listed;
  MPI_Comm comm; /* own duplicate, returns errors */
  int rank, size;
  int rank_in_domain;
  grove_options options;
  int generation; /* counts changes of the options: what was compiled before is compiled anew */
  int spins;      /* polls before a waiting rank yields */
  grove_machine *machine; /* what prices are made with; NULL: to be measured at the first need */
  grove_helper *helper;   /* the thread of progress=thread, or NULL */
  unsigned helper_turns;
  grove_alarm *alarm; /* a thread that keeps deadlines, or NULL */
  int has_deadlines;  /* an operation has, or may come to have some */
  int look_again;     /* something that left needs calls to go on; with the lock, as: */
  double look_after;  /* seconds until the alarm looks at it again */

  struct grove_shared *shared; /* memory of grove_alloc, newest first */
  grove_arena *arena;          /* memory shared by the domain; NULL: there is none */
  grove_place *place;          /* rows of all ranks: at the beginning of the arena, or own memory */
  grove_topo topo;
  int shares_node; /* the ranks of this node can share memory */
  int *node_seats; /* theirs, in the arena */
  int nnode_seats;

  grove_tag *tag;       /* what is known of each tag, from GROVE_TAG_FIRST */
  int tags, tag_limit;  /* limit: of what MPI has, the part that each stage may use */
  int exchanges;        /* done so far; neighbouring ones use different tags */
  int64_t forests;      /* set up so far: serial numbers, the same on every rank */
  grove_active active;  /* head of a ring */
  int abandoned;        /* operations freed while active whose messages are still under way */
  int broken;           /* a collective step timed out: no further one can be matched */
  const char *call;     /* the collective call under way, for its timeout */
  int waiting;          /* threads that wait for operations; atomic */
  int calls;            /* how deep: some are made of others */
  const void *caller;   /* the thread that makes it */
  grove_tally *tallies; /* in the order of the first init, which is the same on every rank */
  int ntallies;
  grove_tally *own_tallies; /* of what is made without the other ranks: channels */
  int nown_tallies;
  struct grove_trace *trace; /* NULL: none was ever asked for (trace.h) */
  int clocks_compared;       /* when routes were to be tried for the first time: */
  double clock_ahead;        /* of rank 0's, in seconds */
  const struct grove_space_kind *const *spaces; /* besides the host's, to a NULL; NULL: none */
  struct grove_station *stations;               /* at devices (device/station.h), likewise */
  void (*close_stations)(struct grove_context *ctx);
  struct CUstream_st *stream; /* of operations without one of their own; NULL: the default */
  int promises;               /* operations that streams wait for (exec/promise.c); atomic */
  /* Communicators and windows that transports made: they go with the context, by this call. */
  struct grove_depot *depot; /* NULL: none were asked for (transport/carrier.h) */
  void (*close_depot)(struct grove_context *ctx);
  /* Where the ends of channels find each other, likewise (partitioned/match.c). */
  struct grove_switchboard *switchboard;
  void (*close_switchboard)(struct grove_context *ctx);
  grove_step step;   /* of the one collective step under way */
  grove_board board; /* what makes it faster, where every host has an arena */
};

/* A context is shared by all that was made from it. */
grove_context *grove_context_hold(grove_context *ctx);
/* The last one writes the trace, which may fail. */
grove_status grove_context_release(grove_context *ctx);

/* Makes the options of the context take effect: nodes, sockets, waiting. Agreed by all. */
grove_status grove_context_apply_options(grove_context *ctx);

/* An operation is being made that may have deadlines: from now on they are kept while nobody calls,
 * if the option alarm says so and a thread can be had. */
void grove_context_expect_deadlines(grove_context *ctx);

/* Something has left that needs calls to go on: where there is an alarm, it makes them. Any thread.
 */
void grove_context_look_after(grove_context *ctx);

/* Parts of it, for the making of a context. Each is this rank's failure. */
grove_status grove_context_assign_nodes(grove_context *ctx, int64_t *nnodes);
grove_status grove_context_take_effect(grove_context *ctx, int64_t nnodes);

/* Who sits where, and the memory that the ranks of a host share (places.c). `mine` is what has
 * failed here before. Agreed by all, but for what is put into `later`: this rank's failure, for the
 * next step to agree upon. */
grove_status grove_context_find_places(grove_context *ctx, grove_status mine, grove_fact *facts,
                                       int64_t *nnodes, grove_status *later);

/* The machine that the option `machine` means, the same on every rank (machine.c). `mine` is what
 * has failed here before. Agreed by all. */
grove_status grove_context_find_machine(grove_context *ctx, grove_status mine);

/* Gives all ranks the machine that rank 0 has, as text: its numbers to the last bit. NULL there is
 * NULL everywhere. Agreed by all. */
grove_status grove_context_share_machine(grove_context *ctx, grove_status mine,
                                         const grove_machine *machine, grove_machine **out);

/* The file that keeps the profile of the machine that this rank runs on: its name tells processor,
 * network, MPI and shape. "" where there is no place for it. */
void grove_context_profile_path(const grove_context *ctx, char *out, size_t room);

/* ---- what a context needs of folders above this one (library.c) ---- */

typedef struct grove_services {
  /* The option machine=measure: gives the context a machine, if it has none. Agreed by all. */
  grove_status (*measure)(grove_context *ctx);
} grove_services;

extern const grove_services grove_library;

/* Now there is something to price. Agreed by all. */
static inline grove_status grove_context_need_machine(grove_context *ctx)
{
  return ctx->machine ? GROVE_OK : grove_library.measure(ctx);
}

/* ---- memory that others map, above all that of grove_alloc (alloc.c) ---- */

/* After a step for which every rank posted a notice: all ranks of a host map what the notices tell
 * of. `usable` becomes 0 on all ranks where one of them cannot. Agreed by all. */
grove_status grove_context_map_notices(grove_context *ctx, int *usable);

/* From here on it pays that the readers take a message from where it is, and the sender waits for
 * them, instead of two copies that overlap (bench/RESULTS.md). More than travels at once. */
enum { GROVE_IN_PLACE_BYTES = 1 << 15 };

/* Memory that grove_dealloc gives back by this call, or the end of the context does. This rank's
 * failure. */
grove_status grove_context_keep_memory(grove_context *ctx, void *memory, size_t bytes,
                                       void (*give_back)(void *memory));
/* Gives it back at once. */
void grove_context_drop_memory(grove_context *ctx, void *memory);

/* Is this address in memory that the node's ranks can read? `spot` is then where. */
int grove_context_locate(const grove_context *ctx, const void *address, grove_spot *spot);
void grove_context_free_shared(grove_context *ctx);

/* ---- threads ---- */

/* With MPI_THREAD_MULTIPLE calls exclude each other by the context's lock, which they have from
 * entry to return, but not while they wait: a step that waits for other ranks lets go of it between
 * two polls, since they may wait for what another thread of this rank is about to start. So
 * whatever such a step finds on its return, other threads may have started, finished and freed
 * operations; what only collective calls change (tags in use, memory of the arena, options) is as
 * it was. */
static inline int grove_context_locks(const grove_context *ctx)
{
  return ctx->lock != NULL;
}

/* The same thread may enter several times. */
static inline void grove_context_enter(grove_context *ctx)
{
  if (ctx->lock) grove_lock_enter(ctx->lock);
}

static inline void grove_context_leave(grove_context *ctx)
{
  if (ctx->lock) grove_lock_leave(ctx->lock);
}

/* For one poll, which need not be: not while another thread is inside, or wants to be. */
static inline int grove_context_try(grove_context *ctx)
{
  return !ctx->lock || grove_lock_try(ctx->lock);
}

/* While a call waits, others may get in. */
static inline int grove_context_let_go(grove_context *ctx)
{
  return ctx->lock ? grove_lock_let_go(ctx->lock) : 0;
}

static inline void grove_context_take_back(grove_context *ctx, int depth)
{
  if (ctx->lock) grove_lock_take_back(ctx->lock, depth);
}

/* Between two polls in vain. */
static inline void grove_context_pause(grove_context *ctx, grove_pause *pause)
{
  int depth = grove_context_let_go(ctx);
  grove_pause_step(pause);
  grove_context_take_back(ctx, depth);
}

/* Enters for a collective call of this name. GROVE_ERR_STATE, outside, while another thread makes
 * one: ranks could not tell which of the two is meant. This rank's failure. */
grove_status grove_context_enter_call(grove_context *ctx, const char *call);
void grove_context_leave_call(grove_context *ctx);

/* The same for a call that consists of other calls: they are this thread's, and what other threads
 * do meanwhile goes on, but for collective calls of theirs. */
grove_status grove_context_claim(grove_context *ctx, const char *call);
void grove_context_disclaim(grove_context *ctx);

/* ---- the end of MPI (finalize.c) ---- */

/* Every context is listed, so that MPI_Finalize finds it. This rank's failure. */
grove_status grove_context_enlist(grove_context *ctx);
void grove_context_strike_off(grove_context *ctx);

/* Calls that need MPI are then GROVE_ERR_STATE. */
static inline int grove_context_outlives_mpi(const grove_context *ctx)
{
  return ctx->closing && grove_mpi_is_gone();
}

/* ---- progress and waiting (wait.c) ---- */

static inline void grove_context_activate(grove_context *ctx, grove_active *item)
{
  item->previous = ctx->active.previous;
  item->next = &ctx->active;
  item->previous->next = item;
  item->next->previous = item;
  if (ctx->helper) grove_helper_wake(ctx->helper);
}

static inline void grove_context_deactivate(grove_active *item)
{
  item->previous->next = item->next;
  item->next->previous = item->previous;
  item->next = item->previous = NULL;
}

/* Advances every active operation once. */
void grove_context_progress(grove_context *ctx);

/* Lets MPI go on with what it has. It calls a send complete when the data has left the buffer, but
 * what the network would not take at once goes out only when MPI is called again, which a rank that
 * waits for shared memory alone does not do: every wait must, now and then. */
enum { GROVE_NUDGE_EVERY = 8 }; /* polls in vain of a rank that does not spin */
void grove_context_nudge(grove_context *ctx);

/* Polls until something is done, of which `poll` tells. This rank's failure. */
typedef grove_status grove_poll(grove_context *ctx, void *self, int *done);
grove_status grove_context_wait_for(grove_context *ctx, grove_poll *poll, void *self);

/* Polls until `request` is complete. After a timeout the request and the buffers it uses must be
 * left alone for ever. This rank's failure. */
grove_status grove_context_wait(grove_context *ctx, MPI_Request *request);

/* The sentence of a timeout in a collective call; none can succeed on this context any more. */
grove_status grove_context_time_out(grove_context *ctx);

/* ---- collective steps (agree.c) ---- */

/* Gives every rank the same status: GROVE_OK if `mine` is on all ranks, else that of the lowest
 * rank that failed, with its sentence. On success values[i] becomes the maximum over the ranks
 * (n at most GROVE_STEP_VALUES). Agreed by all. */
grove_status grove_context_agree(grove_context *ctx, grove_status mine, int64_t *values, int n);

/* The same in two halves, for who has other things to look after meanwhile: begun by all ranks, and
 * over when a test says so, which the end waits for. */
typedef struct grove_agreement {
  int by_board; /* else by: */
  MPI_Request request;
  unsigned tests; /* in vain */
  int n;
  grove_status mine;
  char sentence[GROVE_SENTENCE_BYTES];
} grove_agreement;

grove_status grove_agreement_begin(grove_context *ctx, grove_status mine, const int64_t *values,
                                   int n, grove_agreement *out);
grove_status grove_agreement_test(grove_context *ctx, grove_agreement *a, int *done);
grove_status grove_agreement_end(grove_context *ctx, grove_agreement *a, int64_t *values);

/* Rank `from` tells all ranks `bytes` bytes. A rank that has no memory for them passes NULL: it
 * takes part, and they are lost on it. */
grove_status grove_context_tell(grove_context *ctx, void *data, int bytes, int from);

/* out = the sum of `mine` over lower ranks (0 on rank 0); total over all. */
grove_status grove_context_offsets(grove_context *ctx, int64_t mine, int64_t *before,
                                   int64_t *total);

/* out[i] = the maximum of mine[i] over lower ranks, -1 on rank 0; n is at most 6. */
grove_status grove_context_scan_max(grove_context *ctx, const int64_t *mine, int n, int64_t *out);

/* One number from each rank: to rank 0, and with `to_all` to all; for what needs an entry a rank by
 * its nature. `all` is the caller's memory, NULL where nothing comes. After a timeout it is NULL
 * everywhere: MPI may still write there. */
grove_status grove_context_collect(grove_context *ctx, int64_t mine, int to_all, int64_t **all);

/* ---- sparse exchange (exchange.c) ---- */

typedef struct grove_packet {
  int peer;
  int64_t bytes;
  void *data;
} grove_packet;

/* What the receiver of a packet tells its sender. */
typedef struct grove_answer {
  int64_t status; /* a grove_status; GROVE_OK: all is well */
  int64_t facts[2];
} grove_answer;

/* What goes out and what comes in an exchange. */
typedef struct grove_packet_exchange {
  int nsent, ncame;
  grove_packet *sent; /* to different ranks */
  grove_packet *came; /* by ascending peer */
  void *self;         /* for the two below, which may be NULL */
  /* Looks at a packet as soon as it is here, and answers. */
  void (*judge)(void *self, const grove_packet *packet, grove_answer *answer);
  /* What an answer other than GROVE_OK to one of this rank's packets means. This rank's failure. */
  grove_status (*heed)(void *self, const grove_packet *packet, const grove_answer *answer);
} grove_packet_exchange;

/* Delivers packets to ranks that do not know they will get any, and agrees (see above) on `mine`,
 * on the answers and on `values`, in the same stroke. A rank whose status is not GROVE_OK sends
 * nothing, but must come here. Messages and memory are proportional to the packets, not to the
 * ranks. After a timeout `sent` is NULL: MPI may still be reading it. Agreed by all. */
grove_status grove_context_exchange(grove_context *ctx, grove_status mine, int64_t *values, int n,
                                    grove_packet_exchange *args);
void grove_packet_list_free(int n, grove_packet *packets);
void grove_packet_list_sort(int n, grove_packet *packets); /* by ascending peer */

/* ---- tags (tags.c) ---- */

/* Agrees, in one step, on a status and on a tag that is free on every rank. `signature` (positive)
 * says what the tag is for: GROVE_ERR_STATE on all ranks where it differs. `most` becomes its
 * maximum over the ranks. */
grove_status grove_context_take_tag(grove_context *ctx, grove_status mine, int64_t signature,
                                    int64_t *most, int *tag);
/* What messages of a stage, the first being 0, are sent with. Were it one for all stages, those of
 * an operation's second stage could be taken for those of another one's first. Votes (vote.h) have
 * a block of their own, and so have channels. */
enum {
  GROVE_STAGES_MOST = 7,
  GROVE_STAGE_VOTE = GROVE_STAGES_MOST,
  GROVE_STAGE_CHANNEL,
  GROVE_STAGE_TAGS
};
static inline int grove_context_stage_tag(const grove_context *ctx, int tag, int stage)
{
  return stage * ctx->tag_limit + tag;
}
/* `starts`: how often this rank started what the tag was for. */
void grove_context_return_tag(grove_context *ctx, int tag, int64_t starts);

/* ---- the summary (summary.c) ---- */

/* The row for (forest, operation, route, unit) by rank 0's names: an index, since rows move. Agreed
 * by all. */
grove_status grove_context_tally(grove_context *ctx, const grove_tally *like, int *row);
/* The same of this rank's own. This rank's failure. */
grove_status grove_context_own_tally(grove_context *ctx, const grove_tally *like, int *row);
void grove_context_summarise(grove_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
