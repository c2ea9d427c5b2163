/* Waits and tests of several operations at once, of any kinds and contexts.
 *
 * All of them advance while one is waited for: a poll goes through the contexts of those that are
 * under way. Entries of one context that stand side by side count as one.
 */
#include "exec/op.h"

/* The entries of a call, and since when it waits for which of them. */
typedef struct crowd {
  const char *call;
  int n;
  grove_op *const *ops;
  const grove_op *goal; /* NULL: any */
  const grove_op
    *asked; /* its context has the say after a failure: the first, or the one that failed */
  grove_pause pause;
} crowd;

static grove_status check_crowd(crowd *c)
{
  GROVE_PASS_CHECK(c->n >= 0, GROVE_ERR_ARG, "%s: n is %d; it must not be negative", c->call, c->n);
  GROVE_PASS_CHECK(c->ops || c->n == 0, GROVE_ERR_ARG, "%s: the list of operations is NULL",
                   c->call);
  for (int i = 0; i < c->n && !c->asked; i++) c->asked = c->ops[i];
  return GROVE_OK;
}

/* Was it started, and has nobody waited for it since? */
static int is_started(const grove_op *op)
{
  return op && grove_op_state_of(op) > GROVE_OP_POOLED;
}

/* ... and has no test told of its end either? */
static int is_news(const grove_op *op)
{
  return is_started(op) && grove_op_state_of(op) != GROVE_OP_TOLD;
}

/* Is there something to wait for? Not if it is complete, or if its wait would be refused. */
static int is_in_flight(const grove_op *op)
{
  return op && grove_op_state_of(op) == GROVE_OP_ACTIVE && !grove_context_outlives_mpi(op->ctx);
}

/* The next entry that is under way, from i on, in another context than entry `last`; n: none. */
static int next_context(const crowd *c, int i, int last)
{
  while (i < c->n &&
         (!is_in_flight(c->ops[i]) || (last >= 0 && c->ops[i]->ctx == c->ops[last]->ctx)))
    i++;
  return i;
}

static void poll_crowd(const crowd *c)
{
  for (int last = -1, i = next_context(c, 0, last); i < c->n; i = next_context(c, i + 1, last)) {
    grove_op_poll(c->ops[i]);
    last = i;
  }
}

/* Long waits let MPI move what nobody asks it about. */
static void nudge_crowd(const crowd *c)
{
  for (int last = -1, i = next_context(c, 0, last); i < c->n; i = next_context(c, i + 1, last)) {
    grove_context_nudge(c->ops[i]->ctx);
    last = i;
  }
}

static void pause_crowd(crowd *c, unsigned *yields)
{
  grove_pause_step(&c->pause);
  if (grove_pause_yields(&c->pause) && ++*yields % GROVE_NUDGE_EVERY == 0) nudge_crowd(c);
}

/* The sentence also tells which entry failed. */
static grove_status name_entry(const crowd *c, int i, grove_status status)
{
  grove_sentence reason;
  if (status == GROVE_OK) return GROVE_OK;
  grove_error_keep(&reason);
  char sentence[GROVE_SENTENCE_BYTES];
  snprintf(sentence, sizeof sentence, "%s: entry %d: %.900s", c->call, i, reason.text);
  return grove_error_set(status, sentence);
}

/* ---- waiting ---- */

/* The first entry for which a wait would return at once; -1: none. */
static int find_settled(const crowd *c)
{
  for (int i = 0; i < c->n; i++)
    if (is_news(c->ops[i]) && !is_in_flight(c->ops[i])) return i;
  return -1;
}

static int has_reached(const crowd *c)
{
  return c->goal ? !is_in_flight(c->goal) : find_settled(c) >= 0;
}

/* Until it is over, or the time has run out. The thread counts as one that waits in the context of
 * `op`: if several do, the first may spin (wait.c). */
static void await_goal(crowd *c, const grove_op *op, double timeout)
{
  grove_context *ctx = op->ctx;
  int first = __atomic_fetch_add(&ctx->waiting, 1, __ATOMIC_RELAXED) == 0;
  c->pause.spins = first ? __atomic_load_n(&ctx->spins, __ATOMIC_RELAXED) : 0;
  c->pause.polls = 0;
  for (unsigned yields = 0; poll_crowd(c), !has_reached(c);) {
    if (grove_pause_expired(&c->pause, timeout)) break;
    pause_crowd(c, &yields);
  }
  __atomic_sub_fetch(&ctx->waiting, 1, __ATOMIC_RELAXED);
}

/* ---- all ---- */

static grove_status finish_entry(crowd *c, grove_op *op)
{
  grove_status status = GROVE_OK;
  GROVE_PASS(grove_op_check_started(op, c->call));
  double since = grove_op_clock(op);
  c->goal = op;
  if (is_in_flight(op)) await_goal(c, op, grove_op_timeout(op));
  if (is_in_flight(op)) status = grove_op_look_once_more(op);
  return grove_op_end_wait(op, since, status);
}

grove_status grove_wait_all(int n, grove_op *const *ops)
{
  crowd c = {.call = "grove_wait_all", .n = n, .ops = ops};
  grove_status status = GROVE_OK;
  grove_sentence sentence;
  GROVE_TRY(check_crowd(&c));
  grove_pause_begin(&c.pause, 0);
  for (int i = 0; i < n; i++) {
    if (!is_started(ops[i])) continue;
    grove_status one = name_entry(&c, i, finish_entry(&c, ops[i]));
    if (one == GROVE_OK || status != GROVE_OK) continue;
    status = one;
    c.asked = ops[i];
    grove_error_keep(&sentence);
  }
  if (status != GROVE_OK) grove_error_restore(&sentence);
fail:
  return GROVE_VERDICT(c.asked, status);
}

/* ---- any ---- */

/* The entry under way whose time runs out first, and when that is; -1: none is under way. */
static int find_soonest(const crowd *c, double *timeout)
{
  int soonest = -1;
  *timeout = 0;
  for (int i = next_context(c, 0, -1); i < c->n; i = next_context(c, i + 1, i)) {
    double seconds = grove_op_timeout(c->ops[i]);
    if (soonest >= 0 && (seconds <= 0 || (*timeout > 0 && seconds >= *timeout))) continue;
    soonest = i;
    *timeout = seconds;
  }
  return soonest;
}

grove_status grove_wait_any(int n, grove_op *const *ops, int *which)
{
  crowd c = {.call = "grove_wait_any", .n = n, .ops = ops};
  grove_status status = GROVE_OK;
  double timeout = 0;
  GROVE_TRY(check_crowd(&c));
  GROVE_CHECK(which, GROVE_ERR_ARG, "grove_wait_any: which is NULL");
  grove_pause_begin(&c.pause, 0);
  int late = find_soonest(&c, &timeout);
  if (late >= 0) await_goal(&c, ops[late], timeout);
  int found = find_settled(&c);
  if (found < 0 && late >= 0) {
    status = grove_op_look_once_more(ops[late]);
    found = late;
  }
  *which = found;
  if (found < 0) return GROVE_OK;
  c.asked = ops[found];
  if (status == GROVE_OK) status = grove_op_check_started(ops[found], c.call);
  if (status == GROVE_OK || status == GROVE_ERR_TIMEOUT)
    status = grove_op_end_wait(ops[found], c.pause.since, status);
  status = name_entry(&c, found, status);
fail:
  return GROVE_VERDICT(c.asked, status);
}

/* ---- some ---- */

/* Complete, and well. */
static int is_well_done(grove_op *op)
{
  if (grove_op_state_of(op) < GROVE_OP_DONE) return 0;
  if (op->guard) grove_op_look_back(op);
  return op->failure == GROVE_OK;
}

static int find_failed(const crowd *c)
{
  for (int i = 0; i < c->n; i++)
    if (is_news(c->ops[i]) && !is_in_flight(c->ops[i]) && !is_well_done(c->ops[i])) return i;
  return -1;
}

static grove_status tell_failed(const crowd *c, int i)
{
  grove_status status = grove_op_check_started(c->ops[i], c->call);
  if (status == GROVE_OK) status = grove_op_end_test(c->ops[i], c->pause.since, 1);
  return name_entry(c, i, status);
}

/* Those that are fine; one that fails just now is left to the next call. */
static int tell_fine(const crowd *c, int *which)
{
  int told = 0, active = 0;
  for (int i = 0; i < c->n; i++) {
    if (!is_news(c->ops[i])) continue;
    int fine = is_well_done(c->ops[i]);
    active++;
    if (fine || is_in_flight(c->ops[i])) grove_op_end_test(c->ops[i], c->pause.since, fine);
    if (fine) which[told++] = i;
  }
  return active > 0 ? told : -1;
}

grove_status grove_test_some(int n, grove_op *const *ops, int *ndone, int *which)
{
  crowd c = {.call = "grove_test_some", .n = n, .ops = ops};
  grove_status status = GROVE_OK;
  GROVE_TRY(check_crowd(&c));
  GROVE_CHECK(ndone && (which || n == 0), GROVE_ERR_ARG, "grove_test_some: %s is NULL",
              ndone ? "which" : "ndone");
  grove_pause_begin(&c.pause, 0);
  poll_crowd(&c);
  int failed = find_failed(&c);
  if (failed < 0) {
    *ndone = tell_fine(&c, which);
    return GROVE_OK;
  }
  *ndone = 1;
  which[0] = failed;
  c.asked = ops[failed];
  status = tell_failed(&c, failed);
fail:
  return GROVE_VERDICT(c.asked, status);
}
