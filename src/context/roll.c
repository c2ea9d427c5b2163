#include "context/roll.h"

#include "context/context.h"

#include <stdlib.h>

static const double PATIENCE_SECONDS = 10;

/* What is known of a rank. */
enum { ABSENT, ASKED, STAYS };

grove_status grove_roll_open(grove_context *ctx)
{
  if (ctx->rank == 0 && !ctx->roll.seen) GROVE_PASS_NEW(ctx->roll.seen, ctx->size);
  if (ctx->roll.patience_seconds == 0) ctx->roll.patience_seconds = PATIENCE_SECONDS;
  return GROVE_OK;
}

void grove_roll_close(grove_context *ctx)
{
  free(ctx->roll.seen);
  ctx->roll.seen = NULL;
}

/* Words lie here for ever, so that nobody waits until one is received: perhaps it never is. */
void grove_roll_say(const grove_context *ctx, grove_word word, int rank)
{
  static const int words[] = {0, 1, 2, 3, 4, 5, 6, 7};
  _Static_assert(sizeof words / sizeof *words == GROVE_WORDS, "each at its own place");
  MPI_Request request;
  if (MPI_Isend(&words[word], sizeof *words, MPI_BYTE, rank, GROVE_TAG_ROLL, ctx->comm, &request) ==
      MPI_SUCCESS)
    MPI_Request_free(&request);
}

/* The next message of this tag that has come from a rank or any; 0 if there is none. Its sender
 * does not leave before it is received. */
static int take_message(const grove_context *ctx, int from, int tag, void *into, int room,
                        MPI_Status *about)
{
  MPI_Request request;
  int found = 0, done = 0;
  if (MPI_Iprobe(from, tag, ctx->comm, &found, about) || !found) return 0;
  if (MPI_Irecv(into, room, MPI_BYTE, about->MPI_SOURCE, tag, ctx->comm, &request)) return 0;
  while (!done && MPI_Test(&request, &done, about) == MPI_SUCCESS) {
  }
  return done;
}

static int is_late(const grove_roll *roll, double patience_seconds)
{
  return grove_clock() - roll->since > patience_seconds;
}

void grove_roll_begin(grove_context *ctx)
{
  ctx->roll.begun = 1;
  ctx->roll.since = grove_clock();
  if (ctx->rank > 0) grove_roll_say(ctx, GROVE_WORD_HERE, 0);
}

/* ---- rank 0 ---- */

static void note_rank_word(grove_context *ctx, grove_word w, int rank)
{
  grove_roll *roll = &ctx->roll;
  if (w == GROVE_WORD_HERE) {
    grove_roll_say(ctx, GROVE_WORD_WELCOME, rank);
    roll->answers++;
  } else {
    roll->answers--;
    roll->stay += w == GROVE_WORD_STAYS;
  }
  roll->seen[rank] = w == GROVE_WORD_HERE ? ASKED : w == GROVE_WORD_STAYS ? STAYS : ABSENT;
}

/* Those that were welcomed and have not answered need not stay any more. */
static void dismiss_silent(const grove_context *ctx)
{
  for (int r = 1; ctx->roll.answers > 0 && r < ctx->size; r++)
    if (ctx->roll.seen[r] == ASKED) grove_roll_say(ctx, GROVE_WORD_GONE, r);
}

/* One that was welcomed answers at once, unless something is badly wrong. */
int grove_roll_is_called(grove_context *ctx)
{
  grove_roll *roll = &ctx->roll;
  MPI_Status about;
  int w = 0;
  if (roll->called) return 1;
  while (take_message(ctx, MPI_ANY_SOURCE, GROVE_TAG_ROLL, &w, sizeof w, &about))
    note_rank_word(ctx, (grove_word)w, about.MPI_SOURCE);
  double patience = roll->answers > 0 ? 2 * roll->patience_seconds : roll->patience_seconds;
  roll->called = grove_roll_has_all(ctx) || is_late(roll, patience);
  if (roll->called) dismiss_silent(ctx);
  return roll->called;
}

int grove_roll_has(const grove_context *ctx, int rank)
{
  return ctx->roll.seen[rank] == STAYS;
}

int grove_roll_has_all(const grove_context *ctx)
{
  return ctx->roll.stay == ctx->size - 1;
}

void grove_roll_missing(const grove_context *ctx, char *out, size_t room)
{
  grove_rank_list missing = {0};
  for (int r = 1; r < ctx->size; r++)
    if (!grove_roll_has(ctx, r)) grove_rank_list_add(&missing, r);
  snprintf(out, room, "%s %s", missing.n == 1 ? "rank" : "ranks", missing.text);
}

/* This rank may have to answer for other contexts before it gets what it waits for. */
static void wait_a_little(const grove_context *ctx, grove_pause *pause)
{
  if (ctx->roll.meanwhile) ctx->roll.meanwhile();
  grove_pause_step(pause);
}

void grove_roll_order(grove_context *ctx, const grove_roll_message *order, int rank)
{
  MPI_Request request;
  grove_pause pause;
  int done = 0;
  if (MPI_Isend(order, sizeof *order, MPI_BYTE, rank, GROVE_TAG_ROLL, ctx->comm, &request)) return;
  grove_pause_begin(&pause, ctx->spins);
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
    wait_a_little(ctx, &pause);
}

int grove_roll_answer(grove_context *ctx, int rank, void *into, int room)
{
  MPI_Status about;
  grove_pause pause;
  int bytes = 0;
  grove_pause_begin(&pause, ctx->spins);
  while (!take_message(ctx, rank, GROVE_TAG_TRACE, into, room, &about)) wait_a_little(ctx, &pause);
  MPI_Get_count(&about, MPI_BYTE, &bytes);
  return bytes;
}

/* ---- other ranks ---- */

int grove_roll_next(grove_context *ctx, grove_roll_message *out)
{
  grove_roll *roll = &ctx->roll;
  MPI_Status about;
  while (take_message(ctx, 0, GROVE_TAG_ROLL, out, sizeof *out, &about)) {
    roll->late = out->word == GROVE_WORD_GONE;
    if (roll->late) return 0;
    if (out->word != GROVE_WORD_WELCOME) return 1;
    roll->welcome = 1;
    grove_roll_say(ctx, GROVE_WORD_STAYS, 0);
  }
  if (roll->welcome || roll->late || !is_late(roll, roll->patience_seconds)) return 0;
  roll->late = 1;
  grove_roll_say(ctx, GROVE_WORD_GONE, 0);
  return 0;
}
