/* What a communicator needs once: a duplicate to send on, the topology, the options, the tags in
 * use, the operations under way. Also the few collective steps that everything else is built from.
 *
 * Nothing here ever sits inside a blocking MPI call. A step posts the non-blocking form and polls,
 * and every poll advances all active operations.
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
#include "context/roll.h"
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

/* Something that is to go, by `end`. */
typedef struct grove_tomb {
  struct grove_tomb *next;
  void (*end)(struct grove_tomb *self);
} grove_tomb;

/* One row of the summary: what operations of one kind on forests of one name did on this rank, or
 * channels with one label. */
typedef struct grove_tally {
  char *forest;
  const char *operation;
  const char *route;
  int64_t unit_bytes;
  int64_t starts, ends;
  int64_t on_node_messages, on_node_bytes, off_node_messages, off_node_bytes;
  double start_seconds;   /* inside start; this and the next two add up to the whole */
  double between_seconds; /* the rest, until the call that reported the end returned */
  double wait_seconds;    /* inside wait, test and end */
} grove_tally;

/* For the summary: what became of the file of the option `wisdom`, on rank 0 (exec/wisdom.c). */
typedef struct grove_wisdom_log {
  int64_t taken, added; /* routes */
  int64_t lost;         /* the file could not be written */
  int64_t stale;        /* other routes would be tried now */
  /* When it was last read: */
  int64_t line, damaged, damaged_line; /* the first of those that are no entries */
  int64_t of_versions, of_machines;    /* entries of others */
} grove_wisdom_log;

/* A tag may be used again when every rank has returned it after the same number of starts: then all
 * its messages have been received. */
typedef struct grove_tag {
  int used;
  int64_t starts; /* of its last owner, once returned */
} grove_tag;

/* Tags below GROVE_TAG_FIRST are for set-up; each operation has one of the others. */
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
  GROVE_TAG_ROLL = 12,
  GROVE_TAG_RETIRE = 13,
  GROVE_TAG_DOUBLING = 14,
  GROVE_TAG_FIRST = 15
};

/* What a collective step sends and receives. It is part of the context, so that no rank can run out
 * of memory for it while the others are already in the step. After a timeout MPI may still write to
 * it, so the context is then never freed. */
enum { GROVE_STEP_VALUES = GROVE_BOARD_VALUES - 1, GROVE_STEP_BYTES = 1 << 14 };
typedef struct grove_step {
  int64_t in[GROVE_STEP_VALUES + 1], out[GROVE_STEP_VALUES + 1];
  char text[GROVE_STEP_BYTES];
} grove_step;

struct grove_context {
  int references;   /* atomic */
  grove_lock *lock; /* NULL where MPI allows one thread only */
  int careful;      /* start and wait have more to do: there is a lock, or the option `check`, or */
  int closing;      /* MPI_Finalize has begun (finalize.c) */
  int retired;      /* its communicator is (retire.c) */
  struct grove_context *next_listed;
  MPI_Comm comm; /* own duplicate, returns errors */
  int rank, size;
  int rank_in_domain;
  grove_options options;
  int generation; /* counts changes of the options; plans made before a change are made anew */
  int spins;      /* polls before a waiting rank yields; atomic, as: */
  int on_error;   /* the option, for those who fail without the lock */
  grove_machine *machine; /* prices are made with it; NULL: to be measured when first needed */
  grove_helper *helper;   /* the thread of progress=thread, or NULL */
  unsigned helper_turns;
  grove_alarm *alarm; /* a thread that keeps deadlines, or NULL */
  int has_deadlines;  /* an operation has deadlines, or may get some */
  int look_again;     /* something sent needs further calls to progress; with the lock, as: */
  double look_after;  /* seconds until the alarm looks at it again */

  struct grove_shared *shared; /* memory of grove_alloc, newest first */
  grove_arena *arena;          /* memory shared by the domain; NULL: there is none */
  grove_place *place;          /* rows of all ranks: at the start of the arena, or own memory */
  grove_topo topo;
  int shares_node; /* the ranks of this node can share memory */
  int *node_seats; /* theirs, in the arena */
  int nnode_seats;

  grove_tag *tag;       /* what is known of each tag, from GROVE_TAG_FIRST */
  int tags, tag_limit;  /* limit: the part of MPI's tags that each stage may use */
  int exchanges;        /* done so far; neighbouring ones use different tags */
  int64_t forests;      /* set up so far: serial numbers, the same on every rank */
  grove_active active;  /* head of a ring */
  int abandoned;        /* operations freed while active whose messages are still under way */
  int broken;           /* a collective step timed out: no later one can be matched */
  const char *call;     /* the collective call under way, for its timeout */
  int waiting;          /* threads that wait for operations; atomic */
  int calls;            /* nesting depth: some calls are made of others */
  const void *caller;   /* the thread that makes it */
  grove_tally *tallies; /* in the order of the first init, which is the same on every rank */
  int ntallies;
  grove_tally *own_tallies; /* of what is made without the other ranks: channels */
  int nown_tallies;
  grove_wisdom_log wisdom;
  struct grove_trace *trace;                    /* NULL: none was ever asked for (trace.h) */
  grove_roll roll;                              /* who is there when that is written */
  grove_witness witness;                        /* what this rank contributes */
  int told;                                     /* it is, or nothing is to be written */
  int clocks_compared;                          /* done when routes are first to be tried: */
  double clock_ahead;                           /* of rank 0's, in seconds */
  const struct grove_space_kind *const *spaces; /* besides the host's, to a NULL; NULL: none */
  int ndevices;                                 /* of the first of these */
  struct grove_station *stations;               /* at devices (device/station.h), likewise */
  void (*close_stations)(struct grove_context *ctx);
  struct grove_copier *copier; /* of grove_copy_async (device/copier.h); NULL: not yet */
  void (*close_copier)(struct grove_copier *copier);
  struct CUstream_st *stream; /* of operations without one of their own; NULL: the default */
  int promises;               /* operations that streams wait for (exec/promise.c); atomic */
  grove_tomb *graveyard;      /* what goes when no context has any */
  grove_active graves;        /* while there is something */
  /* Communicators and windows that transports made: they go with the context, by this call. */
  struct grove_depot *depot; /* NULL: none were asked for (transport/carrier.h) */
  void (*close_depot)(struct grove_context *ctx);
  /* Where the ends of channels find each other, likewise (partitioned/match.c). */
  struct grove_switchboard *switchboard;
  void (*close_switchboard)(struct grove_context *ctx);
  /* The networks of libfabric that it uses, likewise (transport/ofi_desk.c). */
  struct grove_fabric_desk *fabrics;
  void (*close_fabrics)(struct grove_context *ctx);
  grove_step step;   /* of the one collective step under way */
  grove_board board; /* what makes it faster, where every host has an arena */
};

/* What a public call on the context returns; NULL: one without, as grove_verdict_alone has it
 * (verdict.c). */
grove_status grove_context_fail(const grove_context *ctx, grove_status status)
#if defined(__GNUC__)
  __attribute__((cold))
#endif
  ;
static inline grove_status grove_verdict(const grove_context *ctx, grove_status status)
{
  return status == GROVE_OK ? GROVE_OK : grove_context_fail(ctx, status);
}

/* The same of a call on a forest or an operation, which may be NULL. */
#define GROVE_VERDICT(object, status) grove_verdict((object) ? (object)->ctx : NULL, status)

/* Everything made from a context shares it. */
grove_context *grove_context_hold(grove_context *ctx);
/* The last release writes the trace, which may fail. */
grove_status grove_context_release(grove_context *ctx);

/* Ends what has to do with a device, now or when no stream waits for an operation of any context.
 * To free memory of a device is to wait for all its streams, and who waits here with the lock keeps
 * no promise. With the lock (graveyard.c). */
void grove_context_bury(grove_context *ctx, grove_tomb *tomb);
/* All of it, whoever waits: the context ends. */
void grove_context_end_graves(grove_context *ctx);

/* Between these two a stream is told to wait for an operation, or that failed. Nothing goes
 * meanwhile. Then: it need not wait any more. */
void grove_context_begin_promise(void);
void grove_context_end_promise(grove_context *ctx, int is_made);
void grove_context_keep_promise(grove_context *ctx);

/* Makes the options of the context take effect: nodes, sockets, waiting. All ranks are here, since
 * nobody may read the table of places while its writer changes it. Agreed by all. */
grove_status grove_context_apply_options(grove_context *ctx);

/* An operation that may have deadlines is being made. From now on they are kept while nobody calls,
 * if the option alarm says so and a thread can be had. */
void grove_context_expect_deadlines(grove_context *ctx);

/* Something was sent that needs further calls: the alarm, if there is one, makes them. Any thread.
 */
void grove_context_look_after(grove_context *ctx);

/* Steps in the making of a context. Each fails as this rank's failure. */
grove_status grove_context_assign_nodes(grove_context *ctx, int64_t *nnodes);
grove_status grove_context_take_effect(grove_context *ctx, int64_t nnodes);

/* Finds where ranks sit, and the memory that the ranks of a host share (places.c). `mine` is this
 * rank's earlier failure. Agreed by all, except `later`: this rank's failure, for the next step to
 * agree upon. */
grove_status grove_context_find_places(grove_context *ctx, grove_status mine, grove_fact *facts,
                                       int64_t *nnodes, grove_status *later);

/* The machine that the option `machine` names, the same on every rank (machine.c). `mine` is this
 * rank's earlier failure. Agreed by all. */
grove_status grove_context_find_machine(grove_context *ctx, grove_status mine);

/* Gives all ranks rank 0's machine, as text: its numbers to the last bit. If rank 0 has NULL, all
 * get NULL. Agreed by all. */
grove_status grove_context_share_machine(grove_context *ctx, grove_status mine,
                                         const grove_machine *machine, grove_machine **out);

/* The file for the profile of the machine that this rank runs on. Its name tells processor,
 * network, MPI and shape. "" if there is no place for it. */
void grove_context_profile_path(const grove_context *ctx, char *out, size_t room);

/* How that path begins, whatever the job has: all but cores and nodes. Empty as above. */
void grove_context_profile_stem(char *out, size_t room);

/* The machine in one word: the name of that file, without folder and ending. */
enum { GROVE_MACHINE_NAME_BYTES = 288 };
void grove_context_machine_name(const grove_context *ctx, char *out, size_t room);

/* The profile that stands in for an unmeasured machine: one of its kind. */
const char *grove_context_similar_machine(void);

/* ---- what a context needs of folders above this one (library.c) ---- */

typedef struct grove_services {
  /* The option machine=measure: gives the context a machine, if it has none. Agreed by all. */
  grove_status (*measure)(grove_context *ctx);
} grove_services;

extern const grove_services grove_library;

/* To be called before anything is priced. Agreed by all. */
static inline grove_status grove_context_need_machine(grove_context *ctx)
{
  return ctx->machine ? GROVE_OK : grove_library.measure(ctx);
}

/* ---- memory that others map, above all that of grove_alloc (alloc.c) ---- */

/* After a step for which every rank posted a notice: all ranks of a host map what the notices name.
 * `usable` becomes 0 on all ranks if one of them cannot. Agreed by all. */
grove_status grove_context_map_notices(grove_context *ctx, int *usable);

/* From this size on it is faster if the readers take a message from where it is, and the sender
 * waits for them, than to make two copies that overlap (bench/RESULTS.md). More than a fragment. */
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

/* With MPI_THREAD_MULTIPLE calls exclude each other by the context's lock. They hold it from entry
 * to return, except while they wait: a step that waits for other ranks lets go of it between two
 * polls, since those may wait for something that another thread of this rank is about to start. So
 * while such a step waits, other threads may start, finish and free operations. State that only
 * collective calls change (tags in use, memory of the arena, options) stays as it was. */
static inline int grove_context_locks(const grove_context *ctx)
{
  return ctx->lock != NULL;
}

/* Does it have stations? Another thread may just make the first. */
static inline int grove_context_uses_devices(const grove_context *ctx)
{
  return __atomic_load_n(&ctx->stations, __ATOMIC_ACQUIRE) != NULL;
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

/* For an optional poll: fails while another thread is inside, or wants to be. */
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

/* After a poll that found nothing. */
static inline void grove_context_pause(grove_context *ctx, grove_pause *pause)
{
  int depth = grove_context_let_go(ctx);
  grove_pause_step(pause);
  grove_context_take_back(ctx, depth);
}

/* Enters for the collective call of this name. GROVE_ERR_STATE, without entering, while another
 * thread makes one: ranks could not tell which of the two is meant. This rank's failure. */
grove_status grove_context_enter_call(grove_context *ctx, const char *call);
void grove_context_leave_call(grove_context *ctx);

/* The same for a call that consists of other calls. Those must come from this thread. Other threads
 * go on meanwhile, but can make no collective calls. */
grove_status grove_context_claim(grove_context *ctx, const char *call);
void grove_context_disclaim(grove_context *ctx);

/* ---- the end of MPI (finalize.c) ---- */

/* Every context is listed, so that MPI_Finalize finds it. This rank's failure. */
grove_status grove_context_enlist(grove_context *ctx);
/* Without a context, for those that have retired. This rank's failure. */
grove_status grove_context_watch_finalize(void);
void grove_context_strike_off(grove_context *ctx);

/* Then calls that need MPI return GROVE_ERR_STATE. */
static inline int grove_context_outlives_mpi(const grove_context *ctx)
{
  return ctx->closing && grove_mpi_is_gone();
}

/* ---- communicators of contexts that have ended (retire.c) ---- */

/* The context ends: MPI frees its communicator as soon as no message can come any more. Or
 * MPI_Finalize has begun, and the context may still be used: the communicator stays. */
void grove_context_retire(grove_context *ctx);
/* Frees those for which that holds by now. Are there others to wait for? */
int grove_context_end_retired(void);
/* Nobody need wait for this rank: MPI ends, and the others stay. */
void grove_context_leave_retired(void);

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

/* Lets MPI progress. MPI calls a send complete when the data has left the buffer, but what the
 * network did not take at once goes out only when MPI is called again. A rank that waits for shared
 * memory alone does not call MPI, so every wait must do this now and then. */
enum { GROVE_NUDGE_EVERY = 8 }; /* fruitless polls of a rank that does not spin */
void grove_context_nudge(grove_context *ctx);

/* Polls until `poll` says that it is done. This rank's failure. */
typedef grove_status grove_poll(grove_context *ctx, void *self, int *done);
grove_status grove_context_wait_for(grove_context *ctx, grove_poll *poll, void *self);

/* Polls until `request` is complete. After a timeout the request and the buffers it uses must be
 * left alone for ever. This rank's failure. */
grove_status grove_context_wait(grove_context *ctx, MPI_Request *request);

/* A few ranks: "3", "2, 5", "0, 1, 2, 3, 4, 5, 6, 7 and 9 more". */
enum { GROVE_RANKS_NAMED = 8 };
typedef struct grove_rank_list {
  int n;
  size_t used;
  char text[16 * GROVE_RANKS_NAMED + 32];
} grove_rank_list;
void grove_rank_list_add(grove_rank_list *list, int rank);

/* GROVE_ERR_STATE: some rank is in another collective call than this one. */
grove_status grove_context_refuse_call(const grove_context *ctx);

/* The sentence of a timeout in a collective call. No other can succeed on this context any more. */
grove_status grove_context_time_out(grove_context *ctx);

/* ---- collective steps (agree.c) ---- */

/* Gives every rank the same status: GROVE_OK if `mine` is on all ranks, else that of the lowest
 * rank that failed, with its sentence. On success values[i] becomes the maximum over the ranks
 * (n at most GROVE_STEP_VALUES). Agreed by all. */
grove_status grove_context_agree(grove_context *ctx, grove_status mine, int64_t *values, int n);

/* The context's options with one of them changed, if all ranks ask for the same; ctx->call is named
 * in failures. The caller frees them, also after a failure. Agreed by all. */
grove_status grove_context_change_option(grove_context *ctx, const char *key, const char *value,
                                         grove_options *out);

/* The same in two halves, for callers with other work meanwhile. All ranks begin it. It is over
 * when a test says so; the end waits for that. */
typedef struct grove_agreement {
  int by_board; /* else by: */
  MPI_Request request;
  unsigned tests; /* fruitless ones */
  int n;
  grove_status mine;
  char sentence[GROVE_SENTENCE_BYTES];
} grove_agreement;

grove_status grove_agreement_begin(grove_context *ctx, grove_status mine, const int64_t *values,
                                   int n, grove_agreement *out);
grove_status grove_agreement_test(grove_context *ctx, grove_agreement *a, int *done);
grove_status grove_agreement_end(grove_context *ctx, grove_agreement *a, int64_t *values);

/* What a collective call makes, for ranks to compare in a step that agrees. */
typedef struct grove_purpose {
  int64_t signature; /* positive, and the same on every rank that makes the same */
  const void *self;
  /* All ranks are here because they do not. GROVE_ERR_STATE with a sentence that says which rank
   * makes what. Agreed by all. */
  grove_status (*differ)(grove_context *ctx, const void *self);
} grove_purpose;

/* What an agreement found about the signatures: the maximum of them, and that of their negatives.
 * Agreed by all who are in this call. */
grove_status grove_context_compare(grove_context *ctx, const grove_purpose *purpose,
                                   const int64_t found[2]);

/* For a number that must be the same on every rank and is not negative. `found` is what an
 * agreement found: its maximum, and that of its complement. On a failure, which is `status`, the
 * sentence names the first rank whose number is not that of rank 0, and both numbers. Agreed by all
 * who are in this call. */
grove_status grove_context_same(grove_context *ctx, grove_status status, const char *what,
                                int64_t mine, const int64_t found[2]);

/* Rank `from` sends `bytes` bytes to all ranks. A rank that has no memory for them passes NULL: it
 * takes part, and its copy is dropped. */
grove_status grove_context_tell(grove_context *ctx, void *data, int bytes, int from);

/* ---- a number of each rank (doubling.c) ---- */

/* all[r] = that of rank r. `all` has an entry per rank; after a timeout MPI may write there. */
grove_status grove_context_gather(grove_context *ctx, int64_t mine, int64_t *all);

/* One number from each rank: to rank 0 or, with `to_all`, to all. Only for what must have an entry
 * per rank. `all` is the caller's memory, NULL where nothing is received. After a timeout it is
 * NULL everywhere: MPI may still write there. */
grove_status grove_context_collect(grove_context *ctx, int64_t mine, int to_all, int64_t **all);

/* out = the sum of `mine` over lower ranks (0 on rank 0); total over all. */
grove_status grove_context_offsets(grove_context *ctx, int64_t mine, int64_t *before,
                                   int64_t *total);

/* out[i] = the maximum of mine[i] over lower ranks, -1 on rank 0; n is at most 6. */
grove_status grove_context_scan_max(grove_context *ctx, const int64_t *mine, int n, int64_t *out);

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

/* The packets of an exchange, out and in. */
typedef struct grove_packet_exchange {
  int nsent, ncame;
  grove_packet *sent; /* to different ranks */
  grove_packet *came; /* by ascending peer */
  void *self;         /* for the two below, which may be NULL */
  /* Looks at a packet as soon as it is here, and answers. */
  void (*judge)(void *self, const grove_packet *packet, grove_answer *answer);
  /* Handles an answer other than GROVE_OK to one of this rank's packets. This rank's failure. */
  grove_status (*heed)(void *self, const grove_packet *packet, const grove_answer *answer);
} grove_packet_exchange;

/* Delivers packets to ranks that do not expect any. The same step agrees (see above) on `mine`, on
 * the answers and on `values`. A rank whose status is not GROVE_OK sends nothing, but must come
 * here. Messages and memory are proportional to the packets, not to the ranks. After a timeout
 * `sent` is NULL: MPI may still be reading it. Agreed by all. */
grove_status grove_context_exchange(grove_context *ctx, grove_status mine, int64_t *values, int n,
                                    grove_packet_exchange *args);
void grove_packet_list_free(int n, grove_packet *packets);
void grove_packet_list_sort(int n, grove_packet *packets); /* by ascending peer */

/* ---- tags (tags.c) ---- */

/* Agrees, in one step, on a status and on a tag that is free on every rank. `purpose` is
 * what the tag is for: GROVE_ERR_STATE on all ranks where it differs. Both of `most` become their
 * maxima over the ranks. */
grove_status grove_context_take_tag(grove_context *ctx, grove_status mine,
                                    const grove_purpose *purpose, int64_t most[2], int *tag);
/* The MPI tag for messages of a stage, counted from 0. If all stages had the same, messages of one
 * operation's second stage could be taken for those of another's first. Votes (vote.h) have a block
 * of tags of their own, and so have channels. */
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

/* The row for (forest, operation, route, unit), by rank 0's names. It is an index, since rows move.
 * Agreed by all. */
grove_status grove_context_tally(grove_context *ctx, const grove_tally *like, int *row);
/* The same for a row of this rank's own. This rank's failure. */
grove_status grove_context_own_tally(grove_context *ctx, const grove_tally *like, int *row);
/* Rank 0 prints the table. Other ranks send their part when it asks: rows for the first n of its
 * rows, in memory for the caller to free; NULL if there is none. */
void grove_context_summarise(grove_context *ctx);
void *grove_summary_page(const grove_context *ctx, int n, size_t *bytes);

/* ---- what ran, at the end (tell.c) ---- */

/* Is there a summary or a trace to be written? */
int grove_context_has_news(const grove_context *ctx);
/* Writes both, with the ranks that are there. The last release does so, or MPI_Finalize. After
 * grove_roll_begin it is stepped until ctx->told is 1. The same status on all ranks that came. */
void grove_context_step_telling(grove_context *ctx, grove_status *status);
/* All of it, unless it was done. */
grove_status grove_context_tell_last(grove_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
