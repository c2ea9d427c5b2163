/* The aggregator that learns: what it makes of eight rounds, against numbers worked out by hand;
 * and, with a clock that is only counted, how long rounds take by LogGP when the part that is late
 * becomes another. */
#include "check.h"
#include "parts/readiness.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32 };

static grove_machine *machine;
static grove_options options;
static const grove_loggp row = {.L = 1e-6, .o_s = 2e-6, .o_r = 3e-6, .g = 5e-6, .G = 1e-9};

#define SAME(got, expected) same(got, expected, __LINE__)
static void same(double got, double expected, int line)
{
  CHECK(fabs(got - expected) <= 1e-9 * fabs(expected), "line %d: %.12g, not %.12g", line, got,
        expected);
}

static void set(const char *name, const char *value)
{
  CHECK_OK(grove_options_set(&options, name, value));
}

/* A channel as it would use its aggregator. */
typedef struct channel {
  const grove_aggregator *aggregator;
  grove_part_question question;
  grove_part_plan plan;
  grove_part_memory *memory;
  int changes;
} channel;

static channel opened(const grove_aggregator *aggregator, int64_t parts, int64_t part_bytes)
{
  channel c = {.aggregator = aggregator,
               .question = {.parts = parts,
                            .part_bytes = part_bytes,
                            .where = GROVE_OFF_NODE,
                            .machine = machine,
                            .options = &options}};
  CHECK_OK(aggregator->plan(&c.question, &c.plan));
  if (aggregator->remember) CHECK_OK(aggregator->remember(&c.question, &c.memory));
  return c;
}

static void closed(channel *c)
{
  grove_part_plan_free(&c->plan);
  if (c->aggregator->forget) c->aggregator->forget(&c->memory);
  CHECK(!c->memory, "it is not forgotten");
}

/* After a round; 1 if the plan is new. */
static int learns(channel *c, const double *marked)
{
  grove_part_plan fresh = {0};
  int changed = -1;
  if (!c->aggregator->learn) return 0;
  CHECK_OK(c->aggregator->learn(c->memory, marked, &fresh, &changed));
  CHECK(changed == 0 || changed == 1, "changed is %d", changed);
  if (!changed) return 0;
  grove_part_plan_free(&c->plan);
  c->plan = fresh;
  c->changes++;
  CHECK(strcmp(c->plan.aggregator, "adaptive") == 0, "a plan of %s", c->plan.aggregator);
  return 1;
}

static void rounds(channel *c, int n, const double *marked)
{
  for (int i = 0; i < n; i++) learns(c, marked);
}

static void groups_are(const channel *c, int64_t n, const int64_t *first)
{
  CHECK(c->plan.ngroups == n, "%lld groups, not %lld", (long long)c->plan.ngroups, (long long)n);
  for (int64_t g = 0; g <= n; g++)
    CHECK(c->plan.first[g] == first[g], "group %lld begins with %lld", (long long)g,
          (long long)c->plan.first[g]);
}

/* ---- eight rounds ---- */

/* Part 2 is 1 ms late; the others come within 40 us. */
static void one_is_late(void)
{
  const double marked[] = {5 + 10e-6, 5 + 40e-6, 5 + 1040e-6, 5, 5 + 20e-6};
  channel c = opened(&grove_aggregator_adaptive, 5, 100000);
  CHECK(c.plan.ngroups == 5 && strcmp(c.plan.aggregator, "adaptive") == 0, "it begins as timer");
  rounds(&c, 7, marked);
  CHECK(c.changes == 0, "it decides before the eighth round");
  CHECK(learns(&c, marked), "it does not decide");
  groups_are(&c, 3, (const int64_t[]){0, 2, 3, 5});
  SAME(c.plan.delta, 60e-6);
  /* Part 2 alone, and two messages before it, of which all bytes are gone. */
  SAME(c.plan.seconds, 2e-6 + 99999e-9 + 1e-6 + 3e-6 + 2 * 5e-6);
  rounds(&c, 100, marked);
  CHECK(c.changes == 1, "and changes its mind");
  closed(&c);
}

/* 200 us late: of 400 us of bytes half are still to come. */
static void not_all_are_gone(void)
{
  const double marked[] = {0, 0, 0, 0, 200e-6};
  channel c = opened(&grove_aggregator_adaptive, 5, 100000);
  rounds(&c, 8, marked);
  groups_are(&c, 2, (const int64_t[]){0, 4, 5});
  SAME(c.plan.delta, 5e-6); /* no less than a message */
  SAME(c.plan.seconds, 400e-6 - 200e-6 + 2e-6 + 99999e-9 + 1e-6 + 3e-6 + 5e-6);
  closed(&c);
}

/* Every round another: by the model, with the lead for the delay. */
static void another_each_time(void)
{
  double marked[4] = {0};
  channel c = opened(&grove_aggregator_adaptive, 4, 100000);
  for (int i = 0; i < 8; i++) {
    for (int p = 0; p < 4; p++) marked[p] = p == i % 4 ? 10e-3 : 30e-6 * (p > 1);
    learns(&c, marked);
  }
  /* Late by 10 ms but for 10 or 20 us: all bytes are covered. 2: 5 + 200, 4: 15 + 100. */
  groups_are(&c, 4, (const int64_t[]){0, 1, 2, 3, 4});
  SAME(c.plan.delta, 45e-6);
  SAME(c.plan.seconds, 2e-6 + 3 * 5e-6 + 99999e-9 + 1e-6 + 3e-6);
  closed(&c);
  /* 60 us behind the mean of the others: 1: 60 + 400, 2: 200 + 5 + 200, 4: 300 + 15 + 100. Were it
   * 30: 430 and 405; 120: 520, 405 and 415. */
  c = opened(&grove_aggregator_adaptive, 4, 100000);
  for (int i = 0; i < 8; i++) {
    for (int p = 0; p < 4; p++) marked[p] = p == i % 4 ? 70e-6 : 10e-6;
    learns(&c, marked);
  }
  groups_are(&c, 2, (const int64_t[]){0, 2, 4});
  SAME(c.plan.seconds, 199999e-9 - 60e-6 + 2e-6 + 5e-6 + 199999e-9 + 1e-6 + 3e-6);
  closed(&c);
}

/* A part that is always the last, but so soon that delta waits for it. */
static void last_but_not_late(void)
{
  const double marked[] = {0, 40e-6, 20e-6, 59e-6};
  channel c = opened(&grove_aggregator_adaptive, 4, 100);
  rounds(&c, 8, marked);
  groups_are(&c, 1, (const int64_t[]){0, 4});
  SAME(c.plan.delta, 60e-6);
  closed(&c);
}

/* Late by less than delta, but behind the others, for which delta waits, too. */
static void late_after_all(void)
{
  const double marked[] = {0, 40e-6, 20e-6, 80e-6};
  channel c = opened(&grove_aggregator_adaptive, 4, 100);
  rounds(&c, 8, marked);
  groups_are(&c, 2, (const int64_t[]){0, 3, 4});
  SAME(c.plan.delta, 60e-6);
  closed(&c);
}

/* One round in eight that was disturbed counts for nothing. */
static void a_disturbance(void)
{
  const double marked[] = {0, 40e-6, 20e-6, 1e-3};
  const double disturbed[] = {0, 9e-3, 20e-6, 10e-3};
  channel c = opened(&grove_aggregator_adaptive, 4, 100000);
  rounds(&c, 3, marked);
  rounds(&c, 1, disturbed);
  rounds(&c, 4, marked);
  groups_are(&c, 2, (const int64_t[]){0, 3, 4});
  SAME(c.plan.delta, 60e-6);
  rounds(&c, 5, marked);
  rounds(&c, 1, disturbed);
  rounds(&c, 30, marked);
  CHECK(c.changes == 1, "%d changes", c.changes);
  closed(&c);
}

/* Off by less than two, it waits for the next eight rounds; by more, it begins with this one. */
static void off_by_two(void)
{
  const double marked[] = {0, 40e-6, 1e-3}, wider[] = {0, 70e-6, 1e-3}, wide[] = {0, 90e-6, 1e-3};
  channel c = opened(&grove_aggregator_adaptive, 3, 100000);
  rounds(&c, 8 + 3, marked);
  rounds(&c, 4, wider);
  CHECK(c.changes == 1 && learns(&c, wider), "after sixteen rounds");
  SAME(c.plan.delta, 1.5 * 70e-6);
  closed(&c);
  for (int more = 0; more < 8; more++) {
    c = opened(&grove_aggregator_adaptive, 3, 100000);
    rounds(&c, 8 + more, marked);
    rounds(&c, 7, wide);
    CHECK(c.changes == 1 && learns(&c, wide), "eight rounds from that one on");
    SAME(c.plan.delta, 1.5 * 90e-6);
    closed(&c);
  }
}

/* The same times, but another part. */
static void another_is_late(void)
{
  const double last[] = {0, 40e-6, 20e-6, 1e-3}, first[] = {1e-3, 40e-6, 20e-6, 0};
  channel c = opened(&grove_aggregator_adaptive, 4, 100000);
  rounds(&c, 8 + 3, last);
  rounds(&c, 7, first);
  CHECK(c.changes == 1 && learns(&c, first), "eight rounds from that one on");
  groups_are(&c, 2, (const int64_t[]){0, 1, 4});
  closed(&c);
}

static void options_hold(void)
{
  const double marked[] = {0, 40e-6, 1e-3, 20e-6, 10e-6};
  static const struct {
    const char *name, *value, *usual;
    int64_t groups;
  } limit[] = {{"max_messages", "3", "0", 3},
               {"max_messages", "2", "0", 2},
               {"min_message", "100000", "0", 3},
               {"min_message", "100001", "0", 2},
               {"delta", "0.5", "auto", 5}};
  for (size_t i = 0; i < sizeof limit / sizeof *limit; i++) {
    set(limit[i].name, limit[i].value);
    channel c = opened(&grove_aggregator_adaptive, 5, 100000);
    rounds(&c, 8, marked);
    CHECK(c.plan.ngroups == limit[i].groups, "%s=%s: %lld groups", limit[i].name, limit[i].value,
          (long long)c.plan.ngroups);
    SAME(c.plan.delta, i == 4 ? 0.5 : 60e-6);
    closed(&c);
    set(limit[i].name, limit[i].usual);
  }
}

/* One part, none, and a profile that tells nothing. */
static void little_to_learn(void)
{
  const double marked[] = {0, 40e-6, 1e-3};
  for (int parts = 0; parts < 2; parts++) {
    channel c = opened(&grove_aggregator_adaptive, parts, 8);
    rounds(&c, 20, marked);
    CHECK(c.changes == 0, "%d parts: %d changes", parts, c.changes);
    closed(&c);
  }
  channel c = opened(&grove_aggregator_adaptive, 3, 8);
  closed(&c);
  machine->nloggp[GROVE_OFF_NODE] = 0;
  c = opened(&grove_aggregator_adaptive, 3, 8);
  rounds(&c, 8, marked);
  groups_are(&c, 2, (const int64_t[]){0, 2, 3});
  CHECK(isnan(c.plan.seconds), "a prediction without a profile");
  SAME(c.plan.delta, 60e-6);
  closed(&c);
  machine->nloggp[GROVE_OFF_NODE] = 1;
}

/* ---- a clock that is only counted ---- */

/* LogGP: a message takes o_s + (k - 1) G + L + o_r; the next one begins when its bytes are away and
 * max(g, o_s, o_r) has passed. */
static double message_takes(double bytes)
{
  return row.o_s + (bytes - 1) * row.G + row.L + row.o_r;
}

/* What leaves, one after the other. */
typedef struct wire {
  double free, arrived; /* when the next one may begin; when all have come */
  int messages;
} wire;

static void send_all(grove_readiness *r, double now, int64_t part_bytes, wire *w)
{
  grove_part_run run;
  while (grove_readiness_take(r, now, &run)) {
    double bytes = (double)(run.count * part_bytes), begin = fmax(now, w->free);
    w->free = begin + (bytes - 1) * row.G + row.g;
    w->arrived = fmax(w->arrived, begin + message_takes(bytes));
    w->messages++;
  }
}

/* From the last mark until all has come. */
static double round_takes(const channel *c, const double *marked, int *messages)
{
  grove_readiness *r = NULL;
  wire w = {0};
  int64_t parts = c->question.parts, bytes = c->question.part_bytes;
  double last = -1, next = 0;
  CHECK_OK(grove_readiness_create(parts, &r));
  CHECK_OK(grove_readiness_follow(r, &c->plan));
  grove_readiness_begin(r, 0);
  for (int64_t n = 0; n < parts;) {
    next = INFINITY;
    for (int64_t p = 0; p < parts; p++)
      if (marked[p] > last && marked[p] < next) next = marked[p];
    while (grove_readiness_deadline(r) < next) send_all(r, grove_readiness_deadline(r), bytes, &w);
    for (int64_t p = 0; p < parts; p++) {
      int due = 0;
      if (marked[p] != next) continue;
      CHECK(grove_readiness_mark(r, p, 1, next, &due) == -1, "marked twice");
      n++;
    }
    send_all(r, next, bytes, &w);
    last = next;
  }
  CHECK(grove_readiness_is_over(r), "something has not left");
  grove_readiness_free(&r);
  *messages = w.messages;
  return w.arrived - last;
}

/* Parts come within 30 us, in an order of their own each round; one of them is late. */
static void draw_round(rng *random, int64_t parts, int64_t late, double *marked)
{
  for (int64_t p = 0; p < parts; p++) marked[p] = 1e-6 * (double)rng_below(random, 31);
  marked[late] = 30e-6 + 1e-3;
}

/* As good as before within 16 rounds, and never worse than without learning, or by a message. */
static void late_part_changes(int64_t before, int64_t after)
{
  enum { PARTS = 32, BYTES = 8192, CHANGE = 100, ALL = 200 };
  channel adaptive = opened(&grove_aggregator_adaptive, PARTS, BYTES);
  channel timer = opened(&grove_aggregator_timer, PARTS, BYTES);
  channel ploggp = opened(&grove_aggregator_ploggp, PARTS, BYTES);
  double marked[PARTS], worst = 0, message = message_takes(BYTES);
  int most = 0, messages = 0;
  rng random = rng_from(test_seed(), (uint64_t)(before * PARTS + after));
  for (int i = 0; i < ALL; i++) {
    draw_round(&random, PARTS, i < CHANGE ? before : after, marked);
    double with_timer = round_takes(&timer, marked, &messages);
    double with_model = round_takes(&ploggp, marked, &messages);
    double seconds = round_takes(&adaptive, marked, &messages);
    CHECK(seconds <= with_timer + message && seconds < with_model,
          "round %d: %g s, %g by timer, %g by ploggp", i, seconds, with_timer, with_model);
    if (i >= 8 && i < CHANGE) {
      worst = fmax(worst, seconds);
      most = messages > most ? messages : most;
    }
    CHECK(i < CHANGE + 16 || (seconds <= worst && messages <= 3),
          "round %d: %g s in %d messages; before it was %g in %d", i, seconds, messages, worst,
          most);
    learns(&adaptive, marked);
  }
  SAME(worst, message); /* the late part alone, and nothing in its way */
  CHECK(most <= 3 && adaptive.changes >= 2 - (before == after), "%d messages, %d changes", most,
        adaptive.changes);
  closed(&adaptive);
  closed(&timer);
  closed(&ploggp);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "parts/adaptive");
  CHECK_OK(grove_options_create(&options));
  CHECK_OK(grove_machine_create("made up", &machine));
  CHECK_OK(grove_machine_digest(machine));
  machine->nloggp[GROVE_OFF_NODE] = 1;
  machine->loggp[GROVE_OFF_NODE][0] = row;
  one_is_late();
  not_all_are_gone();
  another_each_time();
  last_but_not_late();
  late_after_all();
  a_disturbance();
  off_by_two();
  another_is_late();
  options_hold();
  little_to_learn();
  static const int64_t change[][2] = {{5, 9}, {0, 31}, {31, 0}, {7, 8}, {16, 16}};
  for (int i = 0; i < 5; i++) {
    test_case(i);
    late_part_changes(change[i][0], change[i][1]);
  }
  grove_machine_free(&machine);
  grove_options_free(&options);
  return test_end();
}
