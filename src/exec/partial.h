/* Transfers by parts: which of the user's data letters wait for (watch.c, ready.c), and which slots
 * have come (arrive.c). A transfer gets these at first need. From then on it is not *plain*, since
 * the usual start and poll do not know them.
 *
 * Who drives. As with channels, threads that mark and look take no lock. Only the holder of the
 * context's lock advances the transfer. Where there is no lock, only the thread that started it
 * does.
 */
#ifndef GROVE_EXEC_PARTIAL_H
#define GROVE_EXEC_PARTIAL_H

#include "exec/transfer.h"
#include "parts/claims.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- for the tables of kinds ---- */

grove_status grove_transfer_start_parts(grove_op *op);
grove_status grove_transfer_ready(grove_op *op, int64_t first, int64_t count);
grove_status grove_transfer_arrived(grove_op *op, int64_t first, int64_t count, int *yes);
grove_status grove_transfer_arrivals(grove_op *op, int64_t *first, int64_t *count);

/* ---- what letters wait for (watch.c) ---- */

struct grove_readying {
  int asked;          /* the next start is by parts */
  int by_parts;       /* the start under way is by parts */
  grove_index places; /* what may be marked, ascending; the claims are on these */
  int places_owned;
  grove_claims *claims;
  int n;
  struct grove_watch *watches;
  int ngatherings;
  struct grove_gathering **gatherings; /* of stages that have one */
  int needs_calls;        /* letters are long: MPI, or a ring, may need calls to move them */
  const char *aggregator; /* whose groups the letters have, and ... */
  int64_t messages;       /* ... the messages that a start by parts takes */
  char line_[64];         /* threads write what follows, and read what precedes */
  int inside;             /* threads in a mark; atomic, and so is: */
  int due;                /* something may leave */
};

/* The array that is read, to which marks refer, and the name of its slots. */
static inline grove_array grove_readying_source(const grove_transfer *op)
{
  grove_operation operation = op->fields[0].request.operation;
  return operation == GROVE_BCAST || operation == GROVE_DISTRIBUTE ? GROVE_ARRAY_ROOT
                                                                   : GROVE_ARRAY_LEAF;
}

static inline const char *grove_readying_noun(const grove_transfer *op)
{
  if (grove_readying_source(op) == GROVE_ARRAY_LEAF) return "leaf slot";
  return op->fields[0].request.operation == GROVE_BCAST ? "root" : "multi-root";
}

/* This rank's failure. */
grove_status grove_readying_create(grove_transfer *op);
void grove_readying_free(grove_readying **r);

/* Any thread: slots first .. end-1 are final. Is something due? */
int grove_readying_note_final(grove_readying *r, int64_t first, int64_t end);

/* For whoever drives. At a start by parts, letters begin to wait for what they carry. */
void grove_readying_begin(grove_transfer *op);
/* What was marked since the last call may leave. */
void grove_readying_take(grove_transfer *op);
/* Is no thread inside a mark? */
int grove_readying_is_quiet(const grove_transfer *op);
/* Appends the missing slots. */
void grove_readying_tell_missing(const grove_transfer *op, char *text, size_t room);

/* ---- self edges into the rank's own hub (gather.c) ---- */

typedef struct grove_gathering grove_gathering;

/* Do the self edges of a stage move by shares? Then: what to watch for each share. */
int grove_gathering_is_possible(const grove_transfer *op, int stage);
grove_status grove_gathering_create(const grove_transfer *op, int stage, grove_gathering **out);
void grove_gathering_free(grove_gathering **g);
int grove_gathering_size(const grove_gathering *g);
const grove_index *grove_gathering_slots(const grove_gathering *g, int k);
grove_bound_letter *grove_gathering_marks(grove_gathering *g, int k);

/* For whoever drives: at a start by parts, before the watches begin; and: marked shares move. */
void grove_gathering_begin(grove_transfer *op, grove_gathering *g);
void grove_gathering_take(grove_transfer *op, grove_gathering *g);

/* ---- which slots have come (arrive.c), for whoever drives ---- */

/* From now on, slots that have come are told. */
grove_status grove_arriving_create(grove_transfer *op);
void grove_arriving_begin(grove_transfer *op);
/* Receive i of a stage is in the user's array; after the last receive, i stands for the self edges.
 * And: all edges have met their roots at once. */
void grove_arriving_note(grove_transfer *op, int stage, int i);
void grove_arriving_note_met(grove_transfer *op);
void grove_arriving_free(grove_arriving **a);

/* ---- who drives ---- */

/* May this thread advance the transfer? If so, it must leave the context afterwards. */
static inline int grove_transfer_try(grove_transfer *op)
{
  grove_context *ctx = op->base.ctx;
  if (!ctx->lock && op->starter != grove_this_thread()) return 0;
  return grove_context_try(ctx);
}

#ifdef __cplusplus
}
#endif

#endif
