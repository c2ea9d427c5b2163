/* How many messages each aggregator makes of a channel's parts, and what it predicts, against
 * numbers worked out by hand; a factor of two in any of the terms would change one of them. */
#include "check.h"
#include "parts/aggregator.h"
#include "parts/groups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static grove_machine *machine;
static grove_options options;

#define SAME(got, expected) same(got, expected, __LINE__)
static void same(double got, double expected, int line)
{
  CHECK(fabs(got - expected) <= 1e-12 * fabs(expected), "line %d: %.17g, not %.17g", line, got,
        expected);
}

static void set(const char *name, const char *value)
{
  CHECK_OK(grove_options_set(&options, name, value));
}

static void messages_cost(double seconds)
{
  machine->nloggp[GROVE_OFF_NODE] = 1;
  machine->loggp[GROVE_OFF_NODE][0] =
    (grove_loggp){.L = 1e-6, .o_s = 2e-6, .o_r = 3e-6, .g = seconds, .G = 1e-9};
}

static grove_part_question asked(int64_t parts, int64_t part_bytes)
{
  return (grove_part_question){.parts = parts,
                               .part_bytes = part_bytes,
                               .where = GROVE_OFF_NODE,
                               .machine = machine,
                               .options = &options};
}

/* The plan that the option asks for; every plan is checked for what must hold of all. */
static grove_part_plan planned(const char *aggregator, const grove_part_question *q)
{
  grove_part_plan plan = {0};
  set("aggregator", aggregator);
  CHECK_OK(grove_aggregator_of(options.aggregator)->plan(q, &plan));
  CHECK(plan.ngroups >= (q->parts > 0) && plan.ngroups <= q->parts, "%lld groups",
        (long long)plan.ngroups);
  CHECK(plan.first[0] == 0 && plan.first[plan.ngroups] == q->parts, "some part is in no group");
  for (int64_t g = 0; g < plan.ngroups; g++) {
    int64_t count = plan.first[g + 1] - plan.first[g], even = q->parts / plan.ngroups;
    CHECK(count == even || count == even + 1, "group %lld has %lld parts", (long long)g,
          (long long)count);
  }
  return plan;
}

static int64_t groups_of(const char *aggregator, const grove_part_question *q)
{
  grove_part_plan plan = planned(aggregator, q);
  int64_t n = plan.ngroups;
  grove_part_plan_free(&plan);
  CHECK(!plan.first, "a plan that is freed");
  return n;
}

static void names(void)
{
  static const char *const all[] = {"none", "table", "ploggp", "timer", "adaptive"};
  for (int i = 0; i < 5; i++) {
    set("aggregator", all[i]);
    const grove_aggregator *a = grove_aggregators[i];
    CHECK(a && strcmp(a->name, all[i]) == 0 && *a->about, "%s is not in its place", all[i]);
    CHECK(grove_aggregator_of(options.aggregator) == a, "the option means another than %s", all[i]);
    CHECK(a->runs == (i >= 3) && !a->learn == (i < 4), "%s, what it can do", all[i]);
  }
  CHECK(!grove_aggregators[5], "more than five");
  set("aggregator", "auto");
  CHECK(grove_aggregator_of(options.aggregator) == &grove_aggregator_ploggp, "auto is ploggp");
}

/* 12 parts of 100 us each, late by 4 ms, which covers all bytes: n - 1 messages and the largest
 * group. 4: 90 + 300, 6: 150 + 200, 12: 330 + 100. */
static void ploggp(void)
{
  grove_part_question q = asked(12, 100000);
  messages_cost(30e-6);
  grove_part_plan plan = planned("ploggp", &q);
  CHECK(plan.ngroups == 6 && plan.delta == 0, "%lld groups", (long long)plan.ngroups);
  CHECK(strcmp(plan.aggregator, "ploggp") == 0, "a plan of %s", plan.aggregator);
  SAME(plan.seconds, 2e-6 + 5 * 30e-6 + 199999e-9 + 1e-6 + 3e-6);
  grove_part_plan_free(&plan);
  messages_cost(60e-6); /* 4: 180 + 300, 6: 300 + 200 */
  CHECK(groups_of("ploggp", &q) == 4, "60 us a message");
  messages_cost(15e-6); /* 6: 75 + 200, 12: 165 + 100 */
  CHECK(groups_of("auto", &q) == 12, "15 us a message");
  q = asked(5, 100000); /* 3: 30 + 200, 5: 60 + 100 */
  CHECK(groups_of("ploggp", &q) == 5, "five, which is no power of two");
  q = asked(1, 100000);
  CHECK(groups_of("ploggp", &q) == 1, "one part");
  q = asked(7, 0);
  CHECK(groups_of("ploggp", &q) == 1, "no bytes");
  q = asked(0, 8);
  CHECK(groups_of("ploggp", &q) == 0, "no parts");
}

/* What the delay does not cover has to follow it. 1: D + 1200, 2: max(600, D) + 120 + 600, 3:
 * max(800, D) + 240 + 400. */
static void laggard(void)
{
  static const struct {
    const char *delay;
    int64_t groups;
  } row[] = {{"0", 1}, {"75e-6", 1}, {"150e-6", 2}, {"400e-6", 2}, {"800e-6", 3}, {"0.004", 3}};
  grove_part_question q = asked(12, 100000);
  messages_cost(120e-6);
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    set("laggard", row[i].delay);
    int64_t n = groups_of("ploggp", &q);
    CHECK(n == row[i].groups, "late by %s s: %lld groups", row[i].delay, (long long)n);
  }
  set("laggard", "150e-6"); /* of 600 us, 450 are still to come */
  grove_part_plan plan = planned("ploggp", &q);
  SAME(plan.seconds, 599999e-9 - 150e-6 + 2e-6 + 120e-6 + 599999e-9 + 1e-6 + 3e-6);
  grove_part_plan_free(&plan);
  set("laggard", "0.004");
}

/* By the postal model, in which a message costs alpha; and where nothing is told. */
static void elsewhere(void)
{
  grove_part_question q = asked(12, 100000);
  messages_cost(30e-6);
  q.where = GROVE_ON_NODE;
  grove_part_plan plan = planned("ploggp", &q);
  CHECK(plan.ngroups == 1 && isnan(plan.seconds), "nothing is told of a node");
  grove_part_plan_free(&plan);
  plan = planned("none", &q);
  CHECK(plan.ngroups == 12 && isnan(plan.seconds), "every part alone, all the same");
  grove_part_plan_free(&plan);
  machine->postal[GROVE_CPU][GROVE_ON_NODE][GROVE_SHORT] = (grove_postal){60e-6, 1e-9};
  for (int p = 0; p < GROVE_PROTOCOLS; p++)
    machine->from[GROVE_CPU][GROVE_ON_NODE][p] = p == GROVE_SHORT ? 0 : INT64_MAX;
  plan = planned("ploggp", &q); /* 3: 120 + 400, 4: 180 + 300, 6: 300 + 200 */
  CHECK(plan.ngroups == 4, "%lld groups", (long long)plan.ngroups);
  SAME(plan.seconds, 3 * 60e-6 + 60e-6 + 299999e-9);
  grove_part_plan_free(&plan);
}

static void none(void)
{
  grove_part_question q = asked(12, 100000);
  messages_cost(30e-6);
  grove_part_plan plan = planned("none", &q);
  CHECK(plan.ngroups == 12 && plan.delta == 0, "%lld groups", (long long)plan.ngroups);
  CHECK(strcmp(plan.aggregator, "none") == 0, "a plan of %s", plan.aggregator);
  SAME(plan.seconds, 2e-6 + 11 * 30e-6 + 99999e-9 + 1e-6 + 3e-6);
  grove_part_plan_free(&plan);
}

/* min_message and max_messages hold for all of them. */
static void limits(void)
{
  static const char *const all[] = {"none", "table", "ploggp", "timer", "adaptive"};
  static const struct {
    const char *least, *most;
    int64_t parts, groups;
  } row[] = {{"0", "0", 12, 12},     {"100000", "0", 12, 12}, {"100001", "0", 12, 6},
             {"200000", "0", 12, 6}, {"250000", "0", 12, 4},  {"250000", "0", 11, 3},
             {"900000", "0", 12, 1}, {"9000000", "0", 12, 1}, {"0", "5", 12, 5},
             {"0", "1", 12, 1},      {"100001", "5", 12, 5},  {"250000", "5", 12, 4}};
  messages_cost(15e-6);
  for (size_t i = 0; i < sizeof row / sizeof *row; i++)
    for (int a = 0; a < 5; a++) {
      grove_part_question q = asked(row[i].parts, 100000);
      set("min_message", row[i].least);
      set("max_messages", row[i].most);
      int64_t n = groups_of(all[a], &q);
      CHECK(a == 0 ? n == row[i].groups : n <= row[i].groups, "%s, row %d: %lld groups", all[a],
            (int)i, (long long)n);
    }
  grove_part_question q = asked(12, 0);
  CHECK(groups_of("none", &q) == 1, "parts without bytes never are enough");
  q = asked(0, 0);
  CHECK(groups_of("none", &q) == 0, "nor are none of them");
  q = asked(12, 0);
  set("min_message", "0");
  set("max_messages", "0");
  CHECK(groups_of("none", &q) == 12, "unless none are asked for");
}

/* max(g, o_s, o_r) for every part of the largest group but one, from 10 to 100 us. */
static void timer(void)
{
  grove_part_question q = asked(12, 100);
  messages_cost(4e-6);
  grove_part_plan plan = planned("timer", &q); /* 1: 1.2, 2: 4 + 0.6 */
  CHECK(plan.ngroups == 1 && strcmp(plan.aggregator, "timer") == 0, "%lld groups of %s",
        (long long)plan.ngroups, plan.aggregator);
  SAME(plan.delta, 11 * 4e-6);
  SAME(plan.seconds, 2e-6 + 1199e-9 + 1e-6 + 3e-6);
  grove_part_plan_free(&plan);
  SAME(grove_part_delta(&q, 3), 10e-6);
  SAME(grove_part_delta(&q, 4), 12e-6);
  SAME(grove_part_delta(&q, 26), 100e-6);
  SAME(grove_part_delta(&q, 27), 100e-6);
  SAME(grove_part_delta(&q, 1), 0);
  q.where = GROVE_ON_SOCKET;
  SAME(grove_part_delta(&q, 2), 60e-6); /* that of the node, where the profile has no socket */
  set("delta", "0.25");
  SAME(grove_part_delta(&q, 2), 0.25);
  set("delta", "0");
  SAME(grove_part_delta(&q, 2), 0);
  set("delta", "auto");
}

static void write_table(const char *path, const char *text)
{
  FILE *file = fopen(path, "w");
  CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s cannot be written", path);
}

static void table(void)
{
  char path[100];
  grove_part_question q = asked(12, 100000);
  messages_cost(30e-6);
  snprintf(path, sizeof path, "/tmp/grove-test-%ld.table", (long)getpid());
  grove_part_plan plan = planned("table", &q);
  CHECK(plan.ngroups == 6 && strcmp(plan.aggregator, "ploggp") == 0, "without a table: ploggp");
  grove_part_plan_free(&plan);
  set("part_table", path);
  CHECK_STATUS(grove_aggregator_table.plan(&q, &plan), GROVE_ERR_SYSTEM);
  CHECK(strstr(grove_last_error(), path), "%s", grove_last_error());
  write_table(path, "# nothing\n\n");
  plan = planned("table", &q);
  CHECK(plan.ngroups == 6 && strcmp(plan.aggregator, "ploggp") == 0, "an empty one: ploggp");
  grove_part_plan_free(&plan);
  write_table(path, "12 1200000 7 0.5\n12 2400000 9\n");
  plan = planned("table", &q);
  CHECK(plan.ngroups == 7 && strcmp(plan.aggregator, "table") == 0, "by the table");
  SAME(plan.seconds, 0.5);
  CHECK(plan.endpoints == 0, "%lld endpoints, of which nothing is told", (long long)plan.endpoints);
  grove_part_plan_free(&plan);
  q = asked(12, 180000); /* nearer to the second, by the logarithm */
  plan = planned("table", &q);
  CHECK(plan.ngroups == 9, "%lld groups", (long long)plan.ngroups);
  SAME(plan.seconds, 2e-6 + 8 * 30e-6 + 359999e-9 + 1e-6 + 3e-6);
  grove_part_plan_free(&plan);
  q = asked(4, 400000);
  CHECK(groups_of("table", &q) == 4, "no more than there are parts");
  write_table(path, "12 1200000 7 0.5 8\n12 2400000 9 - 2\n");
  q = asked(12, 100000);
  plan = planned("table", &q);
  CHECK(plan.ngroups == 7 && plan.endpoints == 8, "%lld endpoints", (long long)plan.endpoints);
  SAME(plan.seconds, 0.5);
  grove_part_plan_free(&plan);
  write_table(path, "12 1200000 7\n12 1200000 seven\n");
  CHECK_STATUS(grove_aggregator_table.plan(&q, &plan), GROVE_ERR_ARG);
  CHECK(strstr(grove_last_error(), path) && strstr(grove_last_error(), "line 2, column 12"), "%s",
        grove_last_error());
  unlink(path);
  set("part_table", "");
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "parts/aggregators");
  CHECK_OK(grove_options_create(&options));
  CHECK_OK(grove_machine_create("made up", &machine));
  CHECK_OK(grove_machine_digest(machine));
  names();
  ploggp();
  laggard();
  elsewhere();
  none();
  limits();
  timer();
  table();
  grove_machine_free(&machine);
  grove_options_free(&options);
  return test_end();
}
