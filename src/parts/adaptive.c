/* adaptive: like timer, with a delta and groups learnt from earlier rounds.
 *
 * Of each round it notes four things: the spread (from the first mark to the last but one: the
 * paper's least useful delta, Fig. 12); how much later the latest part came; which part that was;
 * and the lead, by how much the others were ahead of it on average. Every eight rounds it takes the
 * medians:
 *
 *     delta    1.5 times the spread
 *     groups   by the model, as in ploggp, the delay being the lead
 *     or       if it was the same part in each round, and delta would not have waited for it: that
 *              part alone, and what lies on either side of it
 *
 * A round is off if its spread or lead differs from what was learnt by more than a factor of two
 * and by more than a message costs, or if the late part is not the one that was cut out. Then it
 * forgets the rounds before that one. Its plan stays until it has seen eight rounds again. Being
 * wrong is cheap: the timer leaves a late part behind, whatever group it is in.
 *
 * Nothing is agreed upon with the receiver: each message says what it holds.
 *
 * Cost: that of timer; after each round a look at the times of all marks.
 */
#include "parts/groups.h"

#include "model/loggp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 8 };

/* What a round was like. */
typedef struct facts {
  double spread, late, lead;
  int64_t latest;
} facts;

struct grove_part_memory {
  grove_part_question question;
  grove_options options; /* the numbers alone */
  facts rounds[ROUNDS];  /* the last ones */
  int64_t seen;          /* since learning began */
  facts learnt;          /* latest: the part that was cut out, -1: none */
  grove_part_plan plan;  /* in force */
};

/* ---- a round, and several ---- */

static facts look_at_round(const double *marked, int64_t parts)
{
  facts f = {.latest = -1};
  double first = INFINITY, last = -INFINITY, second = -INFINITY, sum = 0;
  for (int64_t p = 0; p < parts; p++) {
    sum += marked[p];
    if (marked[p] < first) first = marked[p];
    if (marked[p] > last) {
      second = last;
      last = marked[p];
      f.latest = p;
    } else if (marked[p] > second) {
      second = marked[p];
    }
  }
  if (parts < 2) return f;
  f.spread = second - first;
  f.late = last - second;
  f.lead = last - (sum - last) / (double)(parts - 1);
  return f;
}

static int by_time(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_of(const double *values)
{
  double sorted[ROUNDS];
  memcpy(sorted, values, sizeof sorted);
  qsort(sorted, ROUNDS, sizeof *sorted, by_time);
  return (sorted[ROUNDS / 2 - 1] + sorted[ROUNDS / 2]) / 2;
}

static facts medians_of(const facts *rounds)
{
  double spread[ROUNDS], late[ROUNDS], lead[ROUNDS];
  facts f = {.latest = rounds[0].latest};
  for (int i = 0; i < ROUNDS; i++) {
    spread[i] = rounds[i].spread;
    late[i] = rounds[i].late;
    lead[i] = rounds[i].lead;
    if (rounds[i].latest != f.latest) f.latest = -1;
  }
  f.spread = median_of(spread);
  f.late = median_of(late);
  f.lead = median_of(lead);
  return f;
}

/* The cost of one more message: shorter times do not matter. */
static double grain_of(const grove_part_question *question)
{
  grove_loggp row = grove_loggp_row(question->machine, question->where, question->part_bytes);
  return isnan(row.G) ? 1e-6 : grove_loggp_spacing(&row);
}

static int is_far(double a, double b, double least)
{
  return fabs(a - b) > least && (a > 2 * b || b > 2 * a);
}

static int is_off(const grove_part_memory *m, const facts *round)
{
  double least = grain_of(&m->question);
  return is_far(round->spread, m->learnt.spread, least) ||
         is_far(round->lead, m->learnt.lead, least) ||
         (m->learnt.latest >= 0 && m->learnt.latest != round->latest);
}

/* ---- plans ---- */

static double delta_of(const grove_part_question *question, const facts *learnt)
{
  if (question->options->delta_seconds >= 0) return question->options->delta_seconds;
  return fmax(1.5 * learnt->spread, grain_of(question));
}

/* What the model says of a part that is late and alone. */
static double seconds_of_alone(const grove_part_question *q, const grove_part_plan *plan,
                               const facts *learnt)
{
  grove_loggp row = grove_loggp_row(q->machine, q->where, q->part_bytes);
  double early = row.G * (double)(q->part_bytes * (q->parts - 1));
  return fmax(early - learnt->late, 0) + grove_loggp_message(&row, (double)q->part_bytes) +
         (double)(plan->ngroups - 1) * grove_loggp_spacing(&row);
}

/* Makes the part a group of its own; 0 groups if the options do not allow that. */
static grove_status cut_out(const grove_part_question *q, int64_t part, grove_part_plan *out)
{
  const int64_t ends[] = {0, part, part + 1, q->parts};
  int64_t *first = NULL, n = 0, least = q->parts;
  *out = (grove_part_plan){0};
  GROVE_PASS_NEW(first, 4);
  for (int i = 0; i < 3; i++) {
    int64_t count = ends[i + 1] - ends[i];
    if (count == 0) continue;
    if (count < least) least = count;
    first[++n] = ends[i + 1];
  }
  int few = q->options->max_messages == 0 || n <= q->options->max_messages;
  if (few && least * q->part_bytes >= q->options->min_message)
    *out = (grove_part_plan){.ngroups = n, .first = first};
  else
    free(first);
  return GROVE_OK;
}

static grove_status make_plan(const grove_part_question *q, facts *learnt, grove_part_plan *out)
{
  grove_part_plan plan = {0};
  double delta = delta_of(q, learnt);
  if (learnt->spread + learnt->late <= delta) learnt->latest = -1; /* it will be waited for */
  if (learnt->latest >= 0) GROVE_PASS(cut_out(q, learnt->latest, &plan));
  if (plan.ngroups == 0) {
    learnt->latest = -1;
    GROVE_PASS(grove_part_plan_model(q, learnt->lead, &plan));
  } else {
    plan.seconds = seconds_of_alone(q, &plan, learnt);
  }
  plan.aggregator = grove_aggregator_adaptive.name;
  plan.delta = delta;
  *out = plan;
  return GROVE_OK;
}

/* Before anything is known: like timer. */
static grove_status plan_adaptive(const grove_part_question *question, grove_part_plan *out)
{
  grove_status status = grove_aggregator_timer.plan(question, out);
  if (status == GROVE_OK) out->aggregator = grove_aggregator_adaptive.name;
  return status;
}

/* A slightly different delta counts as the same. */
static int is_same(const grove_part_plan *a, const grove_part_plan *b)
{
  double more = fmax(a->delta, b->delta), less = fmin(a->delta, b->delta);
  return a->ngroups == b->ngroups && more <= 1.25 * less &&
         memcmp(a->first, b->first, (size_t)(a->ngroups + 1) * sizeof *a->first) == 0;
}

/* ---- learning ---- */

static void forget_rounds(grove_part_memory **memory)
{
  if (!*memory) return;
  grove_part_plan_free(&(*memory)->plan);
  free(*memory);
  *memory = NULL;
}

static grove_status remember_round(const grove_part_question *question, grove_part_memory **out)
{
  grove_status status = GROVE_OK;
  grove_part_memory *m = NULL;
  GROVE_NEW(m, 1);
  m->options = *question->options;
  m->question = *question;
  m->question.options = &m->options;
  GROVE_TRY(plan_adaptive(&m->question, &m->plan));
  *out = m;
  return GROVE_OK;
fail:
  forget_rounds(&m);
  return status;
}

/* Puts the plan in force, and makes `out` a copy of it. */
static grove_status adopt_plan(grove_part_memory *m, grove_part_plan *fresh, grove_part_plan *out)
{
  grove_status status = GROVE_OK;
  int64_t *first = NULL;
  GROVE_ROOM(first, fresh->ngroups + 1);
  memcpy(first, fresh->first, (size_t)(fresh->ngroups + 1) * sizeof *first);
  grove_part_plan_free(&m->plan);
  m->plan = *fresh;
  *out = *fresh;
  out->first = first;
  return GROVE_OK;
fail:
  grove_part_plan_free(fresh);
  return status;
}

static grove_status decide_plan(grove_part_memory *m, grove_part_plan *out, int *changed)
{
  grove_part_plan fresh = {0};
  m->learnt = medians_of(m->rounds);
  GROVE_PASS(make_plan(&m->question, &m->learnt, &fresh));
  if (is_same(&fresh, &m->plan)) {
    grove_part_plan_free(&fresh);
    return GROVE_OK;
  }
  GROVE_PASS(adopt_plan(m, &fresh, out));
  *changed = 1;
  return GROVE_OK;
}

static grove_status learn_round(grove_part_memory *m, const double *marked, grove_part_plan *out,
                                int *changed)
{
  facts round = look_at_round(marked, m->question.parts);
  *changed = 0;
  if (m->question.parts < 2) return GROVE_OK;
  if (m->seen >= ROUNDS && is_off(m, &round)) m->seen = 0;
  m->rounds[m->seen % ROUNDS] = round;
  return ++m->seen % ROUNDS == 0 ? decide_plan(m, out, changed) : GROVE_OK;
}

const grove_aggregator grove_aggregator_adaptive = {
  .name = "adaptive",
  .about = "as timer, with groups and a delay learnt from earlier rounds",
  .runs = 1,
  .plan = plan_adaptive,
  .remember = remember_round,
  .learn = learn_round,
  .forget = forget_rounds,
};
