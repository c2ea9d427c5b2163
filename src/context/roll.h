/* How ranks come together at the end of a context, to tell what ran (options `log` and `trace`). A
 * rank comes when it frees its context, or when it calls MPI_Finalize without having freed it. Some
 * may never come, or come after the others have given up. So everybody waits a limited time, and
 * nobody relies on a rank that may have left:
 *
 *     rank r              rank 0
 *     here         -->              each rank says that it has come,
 *                  <--    welcome   and hears that rank 0 has
 *     stays        -->              now it obeys as long as it takes; or it had given up: "gone"
 *                  <--    orders    what rank 0 asks for, one after the other,
 *     answers      -->
 *                  <--    end       and the status
 *
 * Only rank 0 ever waits, for ranks that stay. The others are stepped (witness.c), so that a rank
 * can answer for several contexts at once, and while it waits as rank 0 of another.
 */
#ifndef GROVE_CONTEXT_ROLL_H
#define GROVE_CONTEXT_ROLL_H

#include "base/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What ranks say to each other. */
typedef enum grove_word {
  GROVE_WORD_HERE,
  GROVE_WORD_STAYS,
  GROVE_WORD_GONE,
  GROVE_WORD_WELCOME,
  GROVE_WORD_CLOCK, /* what time is it? */
  GROVE_WORD_PAGE,  /* `number` rows of the summary */
  GROVE_WORD_LINES, /* of the trace, now that clocks have been compared */
  GROVE_WORD_END,
  GROVE_WORDS
} grove_word;

/* An order of rank 0. A word without arguments has no more than its first member. */
typedef struct grove_roll_message {
  int word;
  int number;   /* PAGE: of rows; END: a status */
  int complete; /* END: all ranks came */
  double ahead, error;
  char text[GROVE_SENTENCE_BYTES];
} grove_roll_message;

typedef struct grove_roll {
  double patience_seconds;
  double since;
  char *seen;  /* rank 0: what is known of each rank */
  int answers; /* rank 0: ranks that were welcomed and have not answered */
  int stay;    /* rank 0: ranks that stay */
  int called;  /* rank 0: it waits for no more ranks */
  int welcome; /* other ranks: rank 0 has come */
  int late;    /* other ranks: it has not, and this rank is gone */
  int begun;
  void (*meanwhile)(void); /* to be called while rank 0 waits for answers, or NULL */
} grove_roll;

/* Room for what is needed later. This rank's failure. */
grove_status grove_roll_open(grove_context *ctx);
void grove_roll_close(grove_context *ctx);

/* This rank has come. */
void grove_roll_begin(grove_context *ctx);

/* ---- on rank 0 ---- */

/* True when all ranks have come, or the time is over. */
int grove_roll_is_called(grove_context *ctx);

/* Afterwards: does this rank stay? Do all? Those that do not, as the subject of a sentence. */
int grove_roll_has(const grove_context *ctx, int rank);
int grove_roll_has_all(const grove_context *ctx);
void grove_roll_missing(const grove_context *ctx, char *out, size_t room);

/* Sends a word, or an order, to a rank that stays; and waits for a part of its answer. Returns its
 * bytes. */
void grove_roll_say(const grove_context *ctx, grove_word word, int rank);
void grove_roll_order(grove_context *ctx, const grove_roll_message *order, int rank);
int grove_roll_answer(grove_context *ctx, int rank, void *into, int room);

/* ---- on the others ---- */

/* The next order; 0 if there is none yet. Sets `late` when the time is over. */
int grove_roll_next(grove_context *ctx, grove_roll_message *out);

/* ---- what they answer (witness.c) ---- */

/* Memory for lines of a trace on their way to rank 0. */
enum { GROVE_LINES_BYTES = 1 << 18 };
typedef struct grove_lines {
  int64_t bytes; /* 0: that was all; -1: no memory for them */
  char text[GROVE_LINES_BYTES];
} grove_lines;

typedef struct grove_witness {
  MPI_Request request;
  int under_way;      /* the request */
  void *page;         /* what it sends, or: */
  grove_lines *lines; /* and the next line: */
  int64_t next;
  double clock;
} grove_witness;

/* Obeys as far as it can without waiting. 1 when it is over: then `end` is the last order, and its
 * word is END; GONE if rank 0 did not come. */
int grove_witness_step(grove_context *ctx, grove_roll_message *end);

#ifdef __cplusplus
}
#endif

#endif
