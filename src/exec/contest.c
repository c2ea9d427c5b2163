/* The option effort=measure: which of two routes is faster is found out in the program's own loop.
 *
 * An operation in a contest has a twin, `other`, made for the same requests on the next best route,
 * with a wiring of its own. At each start the two change places, if it is the other's turn: so all
 * calls find an ordinary operation, and only a start and an end know of the contest.
 *
 *     starts 1 to 20    by turns, A B B A A B B A ...; the first four are to warm up
 *     start 20 ends     the ranks vote (context/vote.h): when each timed start began and ended
 *     starts 21 to 84   on the route that the model likes best, while polls advance the vote
 *     start 84          is complete when the vote is over, nearly always long before
 *     start 85          on the faster route, for good; the other is freed
 *
 * The time of a start is that from when the last rank began until the last rank was through: what
 * ranks wait for because others compute longer is no fault of a route. All ranks have the same
 * numbers after the vote, and so the same winner; all switch at the same start, because its number
 * is fixed. The one start that waits is the same on every rank as well, so whoever waits there
 * waits for ranks that come there too.
 *
 * What a contest can cost: 10 starts on a route that the model takes to be up to twice as slow
 * (routing.c), and a second wiring until start 85.
 */
#include "context/vote.h"
#include "exec/op.h"

#include <stdlib.h>

/* Starts, of both routes together. */
enum {
  WARM_UPS = 4,
  TIMED = 16,
  LAST = WARM_UPS + TIMED,
  LEAD = 64, /* starts that a vote has to go round in */
  DECISION = LAST + LEAD
};

struct grove_contest {
  grove_vote vote; /* first: its end finds the contest. Two numbers for each start that is timed */
  grove_op *op;    /* NULL: it was freed, and all that is left is to see the vote through */
  grove_op *other;
  int turn;             /* 0: `op` is on the route that the model likes best */
  int start;            /* under way, or last; from 1 */
  grove_wiring *wiring; /* held: the vote uses its tag */
  int voting;
  int failed; /* so did the vote */
  int held;   /* the start is complete but for the vote */
};

/* ---- the end ---- */

static void dispose(grove_contest *c)
{
  if (c->failed) return; /* MPI may use it yet */
  grove_wiring_release(c->wiring);
  free(c);
}

void grove_contest_close(grove_op *op)
{
  grove_contest *c = op->contest;
  if (c->held) op->state = GROVE_OP_DONE;
  op->contest = NULL;
  op->careful = op->begun;
  op->wiring->timed = op->wiring->account.kept;
  c->op = NULL;
  grove_op_free(&c->other);
  if (c->voting)
    op->ctx->abandoned++; /* others wait for what this rank says */
  else
    dispose(c);
}

/* ---- the vote ---- */

/* Called by a poll. */
static void vote_is_over(grove_vote *vote, grove_status status)
{
  grove_contest *c = (grove_contest *)vote;
  c->voting = 0;
  c->failed = status != GROVE_OK;
  if (!c->op) {
    if (!c->failed) vote->ctx->abandoned--;
    dispose(c);
    return;
  }
  grove_op_note(c->op, status);
  c->op->wiring->failed |= c->failed; /* this rank would not know where to go on */
  c->other->wiring->failed |= c->failed;
  if (!c->held) return;
  c->held = 0;
  __atomic_store_n(&c->op->state, GROVE_OP_DONE, __ATOMIC_RELEASE);
}

static void begin_vote(grove_contest *c)
{
  grove_context *ctx = c->op->ctx;
  c->voting = 1;
  c->vote.rounds.tag = grove_context_stage_tag(ctx, c->wiring->tag, GROVE_STAGE_VOTE);
  c->vote.rounds.n = 2 * TIMED;
  c->vote.over = vote_is_over;
  grove_vote_begin(ctx, &c->vote);
}

/* ---- times ---- */

/* By the clock of rank 0. */
static int64_t nanoseconds(const grove_context *ctx, double time)
{
  return (int64_t)(1e9 * (time - ctx->clock_ahead));
}

int grove_contest_end_start(grove_op *op, double now)
{
  grove_contest *c = op->contest;
  int k = c->start - 1 - WARM_UPS;
  if (k >= 0 && k < TIMED) {
    c->vote.rounds.known[2 * k] = nanoseconds(op->ctx, op->since);
    c->vote.rounds.known[2 * k + 1] = nanoseconds(op->ctx, now);
  }
  if (c->start == LAST) begin_vote(c);
  c->held = c->start == DECISION && c->voting;
  return !c->held;
}

int grove_contest_holds(const grove_op *op)
{
  return op->contest && op->contest->held;
}

/* ---- turns ---- */

/* Whose turn the start is, from 1: A B B A A B B A. Each follows itself as often as the other. */
static int turn_of(int start)
{
  return start <= LAST ? start / 2 % 2 : 0;
}

static int ascending(const void *a, const void *b)
{
  const int64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* Twice the median. */
static int64_t usual_time(const grove_contest *c, int turn)
{
  int64_t times[TIMED];
  int n = 0;
  for (int k = 0; k < TIMED; k++)
    if (turn_of(WARM_UPS + k + 1) == turn)
      times[n++] = c->vote.rounds.known[2 * k + 1] - c->vote.rounds.known[2 * k];
  qsort(times, (size_t)n, sizeof *times, ascending);
  return times[(n - 1) / 2] + times[n / 2];
}

/* The two change places while both are idle. What the user has seen of the operation stays. */
static void change_places(grove_op *op)
{
  grove_contest *c = op->contest;
  grove_op next = *c->other;
  next.contest = c;
  next.careful = 1;
  next.starts = op->starts;
  *c->other = *op;
  c->other->contest = NULL;
  *op = next;
  c->turn = !c->turn;
}

grove_status grove_contest_start(grove_op *op)
{
  grove_contest *c = op->contest;
  int start = ++c->start, decided = start > DECISION;
  int turn = decided ? usual_time(c, 1) < usual_time(c, 0) : turn_of(start);
  if (turn != c->turn) change_places(op);
  if (decided) grove_contest_close(op);
  return grove_op_run(op);
}

/* ---- making one ---- */

/* Once a context. Agreed by all. */
static grove_status compare_clocks(grove_context *ctx)
{
  grove_status status = GROVE_OK;
  grove_reading reading;
  double origin = 0;
  if (ctx->clocks_compared) return GROVE_OK;
  GROVE_TRY(grove_trace_compare_clocks(ctx, &reading, &origin));
  ctx->clock_ahead = reading.ahead;
  ctx->clocks_compared = 1;
fail:
  return status;
}

grove_status grove_contest_open(grove_op *op, grove_op **other)
{
  grove_status status = GROVE_OK, mine = GROVE_OK;
  grove_contest *c = grove_memory(1, sizeof *c);
  if (!c)
    mine = grove_error(GROVE_ERR_MEMORY, __FILE__, __LINE__, "no memory for a contest of routes");
  GROVE_TRY(grove_context_agree(op->ctx, mine, NULL, 0));
  GROVE_TRY(compare_clocks(op->ctx));
  c->op = op;
  c->other = *other;
  c->wiring = op->wiring;
  c->wiring->references++;
  op->wiring->timed = c->other->wiring->timed = 1;
  op->contest = c;
  op->careful = 1;
  *other = NULL;
  return GROVE_OK;
fail:
  free(c);
  return status;
}
