/* Transfers by parts: what of the user's data letters wait for (watch.c, ready.c), and which slots
 * have come (arrive.c). A transfer has these when they were first asked for, and is not *plain*
 * from then on: the usual start and poll know nothing of them.
 *
 * Who drives. As with channels: threads that mark and look take no lock. Only whoever holds the
 * lock of the context, or, where there is none, the thread that started the transfer, advances it.
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
  int by_parts;       /* the one under way is */
  grove_index places; /* what may be marked, ascending; the claims are of these */
  int places_owned;
  grove_claims *claims;
  int n;
  struct grove_watch *watches;
  int ngatherings;
  struct grove_gathering **gatherings; /* of stages that have one */
  int needs_calls;        /* letters are long: MPI, or a ring, may need calls to move them on */
  const char *aggregator; /* whose groups the letters have, and ... */
  int64_t messages;       /* ... how many messages a start by parts takes */
  char line_[64];         /* threads write what follows, and read what was before */
  int inside;             /* threads in a mark; atomic, as: */
  int due;                /* something may leave */
};

/* The array that is read, which marks are about; and what its slots are called. */
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

/* By whoever drives. A start: letters wait for what they carry, if it is one by parts. */
void grove_readying_begin(grove_transfer *op);
/* What was marked since may leave. */
void grove_readying_take(grove_transfer *op);
/* Is no thread inside a mark? */
int grove_readying_is_quiet(const grove_transfer *op);
/* Appends which slots are missing. */
void grove_readying_tell_missing(const grove_transfer *op, char *text, size_t room);

/* ---- what a rank gathers for itself (gather.c) ---- */

typedef struct grove_gathering grove_gathering;

/* Do the self edges of a stage move by shares? Then: what to watch for each. */
int grove_gathering_is_possible(const grove_transfer *op, int stage);
grove_status grove_gathering_create(const grove_transfer *op, int stage, grove_gathering **out);
void grove_gathering_free(grove_gathering **g);
int grove_gathering_size(const grove_gathering *g);
const grove_index *grove_gathering_slots(const grove_gathering *g, int k);
grove_bound_letter *grove_gathering_marks(grove_gathering *g, int k);

/* By whoever drives: a start by parts, before the watches begin; what is marked moves. */
void grove_gathering_begin(grove_transfer *op, grove_gathering *g);
void grove_gathering_take(grove_transfer *op, grove_gathering *g);

/* ---- which slots have come (arrive.c), likewise ---- */

/* Makes it: from now on they are told. */
grove_status grove_arriving_create(grove_transfer *op);
void grove_arriving_begin(grove_transfer *op);
/* Receive i of a stage, or behind the last its self edges, is in the user's array; and: edges have
 * met their roots all at once. */
void grove_arriving_note(grove_transfer *op, int stage, int i);
void grove_arriving_note_met(grove_transfer *op);
void grove_arriving_free(grove_arriving **a);

/* ---- who drives ---- */

/* Says whether this thread may advance the transfer; if so it must leave the context. */
static inline int grove_transfer_try(grove_transfer *op)
{
  grove_context *ctx = op->base.ctx;
  if (!ctx->lock && op->driver != grove_this_thread()) return 0;
  return grove_context_try(ctx);
}

#ifdef __cplusplus
}
#endif

#endif
