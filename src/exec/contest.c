/* The option effort=measure: the program's own loop finds out which of two routes is faster.
 *
 * A contest is an operation that contains two transfers for the same requests, each on its own
 * route and wiring. Starting it starts one of them.
 *
 *     starts 1 to 20    alternating, A B B A A B B A ...; the first four are to warm up
 *     start 20 ends     the ranks vote (context/vote.h): when each timed start began and ended
 *     starts 21 to 84   on the route that the model likes best, while polls advance the vote
 *     start 84          is complete when the vote is over, nearly always long before
 *     start 85          on the faster route, for good; the other is freed
 *
 * The time of a start runs from when the last rank began until the last rank was through. Ranks
 * that wait because others compute longer do not count against a route. After the vote all ranks
 * have the same numbers, and so the same winner. All switch at the same start, because its number
 * is fixed. The one start that waits is the same on every rank too, so all the ranks it waits for
 * get there.
 *
 * A contest costs at most 10 starts on a route that the model takes to be up to twice as slow
 * (routing.c), and a second wiring until start 85.
 */
#include "context/vote.h"
#include "exec/partial.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Starts, on both routes together. */
enum {
  WARM_UPS = 4,
  TIMED = 16,
  LAST = WARM_UPS + TIMED,
  LEAD = 64, /* starts that a vote may take */
  DECISION = LAST + LEAD
};

typedef struct contest {
  grove_op base;
  grove_vote vote;          /* two numbers for each timed start */
  grove_transfer *entry[2]; /* the model's favourite first; NULL: it has lost */
  int which;                /* entry of the start under way, or of the last */
  int start;                /* its number, from 1 */
  double before;            /* seconds of that entry before that start */
  grove_wiring *wiring;     /* held: the vote uses its tag */
  char *question;           /* on rank 0, for the file of wisdom; NULL: none */
  int voting;
  int failed; /* ... and so did the vote */
} contest;

static grove_transfer *entry_now(const contest *c)
{
  return c->entry[c->which];
}

/* ---- the end ---- */

static void dispose_contest(contest *c)
{
  if (c->failed) return; /* MPI may still use it */
  grove_wiring_release(c->wiring);
  free(c->base.sentence);
  free(c->question);
  free(c);
}

static grove_status free_entry(contest *c, int k)
{
  grove_op *op = &c->entry[k]->base;
  c->entry[k] = NULL;
  return op->kind->free(op);
}

static grove_status free_contest(grove_op *op)
{
  contest *c = (contest *)op;
  grove_status status = GROVE_OK;
  if (grove_op_state_of(op) == GROVE_OP_ACTIVE) grove_context_deactivate(&op->active);
  for (int k = 0; k < 2; k++) {
    grove_status outcome = c->entry[k] ? free_entry(c, k) : GROVE_OK;
    if (status == GROVE_OK) status = outcome;
  }
  if (!c->voting) {
    dispose_contest(c);
    return status;
  }
  grove_op_move(op, GROVE_OP_ABANDONED); /* others wait for this rank's numbers */
  op->ctx->abandoned++;
  return status;
}

/* ---- the vote ---- */

/* Called by a poll, perhaps while an entry is being freed. */
static void vote_is_over(grove_vote *vote, grove_status status)
{
  contest *c = (contest *)((char *)vote - offsetof(contest, vote));
  c->voting = 0;
  c->failed = status != GROVE_OK;
  if (grove_op_state_of(&c->base) == GROVE_OP_ABANDONED) {
    if (!c->failed) vote->ctx->abandoned--;
    dispose_contest(c);
    return;
  }
  grove_op_note(&c->base, status);
  for (int k = 0; k < 2; k++) /* this rank would not know which one goes on */
    if (c->entry[k]) c->entry[k]->wiring->run.failed |= c->failed;
}

static void begin_vote(contest *c)
{
  grove_context *ctx = c->base.ctx;
  c->voting = 1;
  c->vote.rounds.tag = grove_context_stage_tag(ctx, c->wiring->tag, GROVE_STAGE_VOTE);
  c->vote.rounds.n = 2 * TIMED;
  c->vote.over = vote_is_over;
  grove_vote_begin(ctx, &c->vote);
}

/* ---- times ---- */

/* By the clock of rank 0. */
static int64_t nanoseconds_of(const grove_context *ctx, double time)
{
  return (int64_t)(1e9 * (time - ctx->clock_ahead));
}

/* The transfer that was started is complete. */
static void end_start(contest *c, grove_transfer *op)
{
  int k = c->start - 1 - WARM_UPS;
  if (k >= 0 && k < TIMED) {
    double took = op->base.seconds - c->before;
    c->vote.rounds.known[2 * k] = nanoseconds_of(c->base.ctx, op->base.since);
    c->vote.rounds.known[2 * k + 1] = nanoseconds_of(c->base.ctx, op->base.since + took);
  }
  if (op->base.failure != GROVE_OK && c->base.failure == GROVE_OK) {
    c->base.failure = op->base.failure;
    c->base.sentence = op->base.sentence;
    op->base.sentence = NULL;
  }
  grove_op_move(&op->base, GROVE_OP_IDLE);
  c->base.starts++;
  if (c->start == LAST) begin_vote(c);
}

/* Does the start under way only wait for the outcome of the vote? */
static int is_held(const contest *c)
{
  return c->start == DECISION && c->voting &&
         grove_op_state_of(&entry_now(c)->base) == GROVE_OP_IDLE;
}

static int entry_is_through(contest *c)
{
  grove_transfer *op = entry_now(c);
  if (grove_op_state_of(&op->base) == GROVE_OP_DONE) end_start(c, op);
  return grove_op_state_of(&op->base) == GROVE_OP_IDLE && !is_held(c);
}

static void advance_contest(grove_active *active)
{
  contest *c = (contest *)active;
  if (!entry_is_through(c)) return;
  grove_context_deactivate(active);
  grove_op_move(&c->base, GROVE_OP_DONE);
}

/* ---- which entry is started ---- */

/* Entry of a start, counted from 1: A B B A A B B A. Each follows itself as often as the other. */
static int entry_of_start(int start)
{
  return start <= LAST ? start / 2 % 2 : 0;
}

static int by_nanoseconds(const void *a, const void *b)
{
  const int64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* Twice the median. */
static int64_t usual_time(const contest *c, int which)
{
  int64_t times[TIMED];
  int n = 0;
  for (int k = 0; k < TIMED; k++)
    if (entry_of_start(WARM_UPS + k + 1) == which)
      times[n++] = c->vote.rounds.known[2 * k + 1] - c->vote.rounds.known[2 * k];
  qsort(times, (size_t)n, sizeof *times, by_nanoseconds);
  return times[(n - 1) / 2] + times[n / 2];
}

static grove_outcome side_of_contest(const contest *c, int which)
{
  const double nanoseconds = 1000;
  return (grove_outcome){grove_wiring_route(c->entry[which]->wiring),
                         (double)usual_time(c, which) / 2 / nanoseconds};
}

static void note_outcome(const contest *c)
{
  const grove_outcome winner = side_of_contest(c, c->which), loser = side_of_contest(c, !c->which);
  const char *forest = grove_forest_label(entry_now(c)->fields[0].request.forest);
  grove_wisdom_add(c->base.ctx, c->question, forest, &winner, &loser);
}

/* The winner goes on alone. */
static void decide_contest(contest *c)
{
  c->which = usual_time(c, 1) < usual_time(c, 0);
  if (!c->entry[!c->which]) return;
  if (c->question) note_outcome(c);
  grove_wiring *stays = entry_now(c)->wiring;
  stays->run.timed = stays->account.kept;
  (void)free_entry(c, !c->which); /* it is idle */
}

/* `run` starts one of the two transfers. */
static grove_status start_entry(grove_op *op, const char *call, grove_status (*run)(grove_op *op))
{
  contest *c = (contest *)op;
  int before = c->start;
  GROVE_PASS(grove_op_check_idle(op, call));
  if (c->start <= DECISION && ++c->start > DECISION)
    decide_contest(c);
  else if (c->start <= DECISION)
    c->which = entry_of_start(c->start);
  grove_transfer *now = entry_now(c);
  c->before = now->base.seconds;
  now->base.stream = op->stream;
  op->guard = now->base.guard;
  if (op->failure != GROVE_OK) grove_op_forget_failure(op);
  grove_status status = run(&now->base);
  if (status != GROVE_OK && grove_op_state_of(&now->base) != GROVE_OP_FAILED) {
    c->start = before; /* not started: all ranks must count alike */
    return status;
  }
  grove_op_move(op, GROVE_OP_ACTIVE);
  if (status != GROVE_OK) grove_op_move(op, GROVE_OP_FAILED);
  GROVE_PASS(status);
  op->timing = now->base.timing;
  now->base.timing.open = 0;
  if (entry_is_through(c))
    grove_op_move(op, GROVE_OP_DONE);
  else
    grove_context_activate(op->ctx, &op->active);
  return status;
}

static grove_status run_whole(grove_op *op)
{
  return grove_transfer_run((grove_transfer *)op);
}

static grove_status start_contest(grove_op *op)
{
  return start_entry(op, "grove_start", run_whole);
}

static grove_status start_contest_parts(grove_op *op)
{
  if (entry_now((contest *)op)->fields[0].request.operation == GROVE_FETCH)
    return grove_op_no_parts(op, "grove_start_parts");
  return start_entry(op, "grove_start_parts", grove_transfer_start_parts);
}

/* ---- by parts: of the entry that is started now ---- */

/* The entry may be idle already, while the contest still waits for the vote. */
static int is_over(const grove_op *op)
{
  grove_op_state state = grove_op_state_of(op);
  const grove_op *entry = &entry_now((const contest *)op)->base;
  return state >= GROVE_OP_DONE ||
         (state == GROVE_OP_ACTIVE && grove_op_state_of(entry) == GROVE_OP_IDLE);
}

static grove_status mark_contest(grove_op *op, int64_t first, int64_t count)
{
  if (is_over(op)) return GROVE_OK; /* nobody waits for it */
  return grove_transfer_ready(&entry_now((contest *)op)->base, first, count);
}

static grove_status look_at_contest(grove_op *op, int64_t first, int64_t count, int *yes)
{
  return grove_transfer_arrived(&entry_now((contest *)op)->base, first, count, yes);
}

static grove_status list_contest(grove_op *op, int64_t *first, int64_t *count)
{
  return grove_transfer_arrivals(&entry_now((contest *)op)->base, first, count);
}

/* ---- what it tells: of the entry that is started now ---- */

static void tell_missing(const grove_op *op, char *text, size_t room)
{
  const contest *c = (const contest *)op;
  const grove_op *now = &entry_now(c)->base;
  if (is_held(c))
    snprintf(text, room, " (start %d); have all ranks started it as often, to compare routes?",
             c->start);
  else
    now->kind->missing(now, text, room);
}

static const char *label_contest(const grove_op *op)
{
  return grove_op_label(&entry_now((const contest *)op)->base);
}

static grove_report report_contest(const grove_op *op)
{
  const grove_op *now = &entry_now((const contest *)op)->base;
  grove_report report = now->kind->report(now);
  report.starts = op->starts;
  return report;
}

static int count_contest(const grove_op *op)
{
  const grove_op *now = &entry_now((const contest *)op)->base;
  return now->kind->count(now);
}

static grove_request request_contest(const grove_op *op, int k)
{
  const grove_op *now = &entry_now((const contest *)op)->base;
  return now->kind->request(now, k);
}

static const grove_op_kind kind = {
  .name = "contest",
  .takes_streams = 1,
  .start = start_contest,
  .start_parts = start_contest_parts,
  .advance = advance_contest,
  .missing = tell_missing,
  .label = label_contest,
  .report = report_contest,
  .free = free_contest,
  .count = count_contest,
  .request = request_contest,
  .ready = mark_contest,
  .arrived = look_at_contest,
  .arrivals = list_contest,
  .part_times = grove_op_no_part_times,
};

/* ---- making one ---- */

/* Once per context. Agreed by all. */
static grove_status compare_clocks(grove_context *ctx)
{
  grove_reading reading;
  double origin = 0;
  if (ctx->clocks_compared) return GROVE_OK;
  GROVE_PASS(grove_trace_compare_clocks(ctx, &reading, &origin));
  ctx->clock_ahead = reading.ahead;
  ctx->clocks_compared = 1;
  return GROVE_OK;
}

grove_status grove_contest_open(grove_transfer **first, grove_transfer **second,
                                const char *question, grove_op **out)
{
  grove_status status = GROVE_OK, mine = GROVE_OK;
  grove_context *ctx = (*first)->base.ctx;
  contest *c = grove_memory(1, sizeof *c);
  char *copy = *question ? strdup(question) : NULL;
  if (!c || (*question && !copy))
    mine = grove_error(GROVE_ERR_MEMORY, __FILE__, __LINE__, "no memory for a contest of routes");
  GROVE_TRY(grove_context_agree(ctx, mine, NULL, 0));
  GROVE_TRY(compare_clocks(ctx));
  *c = (contest){
    .base = {.active = {.advance = kind.advance}, .kind = &kind, .ctx = ctx, .careful = 1},
    .entry = {*first, *second},
    .wiring = (*first)->wiring,
    .question = copy};
  c->wiring->references++;
  for (int k = 0; k < 2; k++) c->entry[k]->wiring->run.timed = 1;
  *first = *second = NULL;
  *out = &c->base;
  return GROVE_OK;
fail:
  free(copy);
  free(c);
  return status;
}
