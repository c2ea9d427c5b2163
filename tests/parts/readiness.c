/* Which parts may leave, and when, as one thread sees it: whole groups; with a delta, runs, as in
 * Fig. 5 of Temucin et al. 2023; marks that are refused leave nothing behind. */
#include "parts/readiness.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>

static grove_readiness *made(int64_t parts, int64_t ngroups, const int64_t *first, double delta)
{
  grove_readiness *r = NULL;
  const grove_part_plan plan = {.ngroups = ngroups, .first = (int64_t *)first, .delta = delta};
  CHECK_OK(grove_readiness_create(parts, &r));
  CHECK_OK(grove_readiness_follow(r, &plan));
  grove_readiness_begin(r, 1);
  return r;
}

/* Marks, and says whether something is due. */
static int mark(grove_readiness *r, int64_t first, int64_t count, double now)
{
  int due = -1;
  int64_t twice = grove_readiness_mark(r, first, count, now, &due);
  CHECK(twice == -1, "part %lld was marked before", (long long)twice);
  return due;
}

static void refused(grove_readiness *r, int64_t first, int64_t count, int64_t part)
{
  int due = -1;
  int64_t before = grove_readiness_marked(r);
  int64_t twice = grove_readiness_mark(r, first, count, 99, &due);
  CHECK(twice == part && due == 0, "part %lld, not %lld", (long long)twice, (long long)part);
  CHECK(grove_readiness_marked(r) == before, "it counts");
}

static void leaves(grove_readiness *r, double now, int64_t first, int64_t count)
{
  grove_part_run run = {-1, -1};
  CHECK(grove_readiness_take(r, now, &run), "nothing leaves at %g", now);
  CHECK(run.first == first && run.count == count, "%lld and %lld parts, not %lld and %lld",
        (long long)run.first, (long long)run.count, (long long)first, (long long)count);
}

static void nothing_leaves(grove_readiness *r, double now)
{
  grove_part_run run = {-1, -1};
  CHECK(!grove_readiness_take(r, now, &run), "%lld and %lld parts leave at %g",
        (long long)run.first, (long long)run.count, now);
}

static void whole_groups(void)
{
  const int64_t first[] = {0, 3, 4, 9};
  grove_readiness *r = made(9, 3, first, 0);
  for (int round = 0; round < 3; round++) {
    grove_readiness_begin(r, round != 1);
    nothing_leaves(r, 0);
    CHECK(!mark(r, 0, 2, 1) && !mark(r, 8, 1, 2), "no group is complete");
    nothing_leaves(r, 1e9);
    CHECK(grove_readiness_marked(r) == 3 && grove_readiness_is_marked(r, 8), "marks are kept");
    CHECK(!grove_readiness_is_marked(r, 7) && !grove_readiness_is_over(r), "and only those");
    CHECK(mark(r, 4, 4, 3), "the last group is complete");
    CHECK(mark(r, 2, 2, 4), "and the other two");
    leaves(r, 0, 0, 3);
    leaves(r, 0, 3, 1);
    CHECK(!grove_readiness_is_over(r), "one is still there");
    leaves(r, 0, 4, 5);
    nothing_leaves(r, 1e9);
    CHECK(grove_readiness_is_over(r) && grove_readiness_marked(r) == 9, "all have left");
    double times[] = {1, 1, 4, 4, 3, 3, 3, 3, 2};
    for (int p = 0; p < 9; p++) {
      double time = grove_readiness_time(r, p);
      CHECK(round == 1 ? isnan(time) : time == times[p], "part %d at %g", p, time);
    }
    CHECK(grove_readiness_deadline(r) == INFINITY, "there is no deadline");
  }
  grove_readiness_free(&r);
}

/* Four parts, one group; p2 comes after the deadline, or before. */
static void figure_5(void)
{
  const int64_t first[] = {0, 4};
  grove_readiness *r = made(4, 1, first, 10);
  CHECK(grove_readiness_deadline(r) == INFINITY, "nothing is marked");
  CHECK(mark(r, 0, 1, 100) && grove_readiness_deadline(r) == 110, "the first arms the deadline");
  CHECK(!mark(r, 3, 1, 103) && !mark(r, 1, 1, 104), "the others wait");
  nothing_leaves(r, 109.5);
  leaves(r, 110, 0, 2);
  leaves(r, 110, 3, 1);
  nothing_leaves(r, 110);
  CHECK(grove_readiness_deadline(r) == INFINITY, "the deadline has passed");
  CHECK(!grove_readiness_is_over(r) && mark(r, 2, 1, 120), "a late one may leave at once");
  leaves(r, 120, 2, 1);
  nothing_leaves(r, 120);
  CHECK(grove_readiness_is_over(r), "all have left");

  grove_readiness_begin(r, 0);
  mark(r, 0, 1, 100);
  mark(r, 3, 1, 103);
  mark(r, 1, 1, 104);
  nothing_leaves(r, 106);
  CHECK(mark(r, 2, 1, 107), "the last one in time");
  leaves(r, 107, 0, 4);
  nothing_leaves(r, 120);
  CHECK(grove_readiness_deadline(r) == INFINITY && grove_readiness_is_over(r), "as one message");
  grove_readiness_free(&r);
}

/* A late part goes with what is ready beside it and has not left. */
static void with_neighbours(void)
{
  const int64_t first[] = {0, 100, 200, 201};
  grove_readiness *r = made(201, 3, first, 1);
  mark(r, 10, 1, 0);
  mark(r, 110, 80, 0.5);
  CHECK(grove_readiness_deadline(r) == 1, "the earlier one");
  leaves(r, 1.2, 10, 1);
  nothing_leaves(r, 1.2);
  CHECK(grove_readiness_deadline(r) == 1.5, "the later one");
  CHECK(mark(r, 60, 10, 1.3) && mark(r, 70, 5, 1.4) && mark(r, 58, 2, 1.4), "it is open");
  CHECK(mark(r, 20, 1, 1.4), "so is all of the group");
  leaves(r, 1.4, 20, 1);
  leaves(r, 1.4, 58, 17);
  CHECK(mark(r, 200, 1, 1.4), "a group of one part");
  leaves(r, 1.6, 110, 80);
  leaves(r, 1.6, 200, 1);
  CHECK(mark(r, 190, 10, 1.7) && mark(r, 100, 10, 1.8), "the rest of a group");
  leaves(r, 1.8, 100, 10);
  leaves(r, 1.8, 190, 10);
  mark(r, 0, 10, 2), mark(r, 11, 9, 2), mark(r, 21, 37, 2), mark(r, 75, 25, 2);
  leaves(r, 2, 0, 10);
  leaves(r, 2, 11, 9);
  leaves(r, 2, 21, 37);
  leaves(r, 2, 75, 25);
  nothing_leaves(r, 100);
  CHECK(grove_readiness_is_over(r), "all have left");
  grove_readiness_free(&r);
}

/* A part that is marked twice: nothing of that call counts, whatever the range. */
static void refusals(double delta)
{
  const int64_t first[] = {0, 70, 300};
  grove_readiness *r = made(300, 2, first, delta);
  mark(r, 150, 2, 1);
  refused(r, 150, 1, 150);
  refused(r, 0, 300, 150);
  refused(r, 151, 100, 151);
  refused(r, 100, 51, 150);
  for (int64_t p = 0; p < 300; p++)
    CHECK(grove_readiness_is_marked(r, p) == (p == 150 || p == 151), "part %lld", (long long)p);
  CHECK(grove_readiness_time(r, 150) == 1 && isnan(grove_readiness_time(r, 149)), "times stay");
  mark(r, 0, 150, 2);
  mark(r, 152, 148, 3);
  leaves(r, 0, 0, 70);
  leaves(r, 0, 70, 230);
  refused(r, 299, 1, 299);
  nothing_leaves(r, 0);
  CHECK(grove_readiness_is_over(r), "all have left");
  grove_readiness_free(&r);
}

/* Words of bits hold more parts where there are more of them, and the last word of a group fewer:
 * marked in an order that jumps between words, a group leaves with its last part and not before. */
static void words_of_any_size(int64_t parts, int64_t ngroups, double delta)
{
  int64_t *first = need((size_t)(ngroups + 1) * sizeof *first);
  for (int64_t g = 0; g <= ngroups; g++) first[g] = parts * g / ngroups;
  grove_readiness *r = made(parts, ngroups, first, delta);
  for (int round = 0; round < 2; round++) {
    grove_readiness_begin(r, 0);
    for (int64_t g = ngroups - 1; g >= 0; g--) {
      int64_t count = first[g + 1] - first[g], marked = grove_readiness_marked(r);
      for (int64_t i = 0; i < count; i++) {
        int64_t p = first[g] + (i * 7919 + round) % count; /* a prime: all of them come */
        CHECK(!grove_readiness_is_marked(r, p), "part %lld is marked", (long long)p);
        int due = mark(r, p, 1, 0);
        CHECK(due == (i + 1 == count || (delta > 0 && i == 0)), "part %lld: due %d", (long long)p,
              due);
        if (i + 1 < count) nothing_leaves(r, 0);
        CHECK(grove_readiness_is_marked(r, p), "part %lld is not marked", (long long)p);
      }
      CHECK(grove_readiness_marked(r) == marked + count, "marks are counted");
      leaves(r, 0, first[g], count);
    }
    CHECK(grove_readiness_is_over(r), "all have left");
  }
  grove_readiness_free(&r);
  free(first);
}

static void no_parts(void)
{
  const int64_t first[] = {0};
  grove_readiness *r = made(0, 0, first, 0);
  nothing_leaves(r, 0);
  CHECK(grove_readiness_is_over(r) && grove_readiness_marked(r) == 0, "over as it begins");
  grove_readiness_free(&r);
  CHECK_STATUS(grove_readiness_create(-1, &r), GROVE_ERR_ARG);
}

/* Before there is a plan all parts are one group. */
static void no_plan(void)
{
  grove_readiness *r = NULL;
  CHECK_OK(grove_readiness_create(3, &r));
  grove_readiness_begin(r, 0);
  CHECK(!mark(r, 0, 2, 0) && mark(r, 2, 1, 0), "the last one");
  leaves(r, 0, 0, 3);
  grove_readiness_free(&r);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "parts/readiness");
  whole_groups();
  figure_5();
  with_neighbours();
  refusals(0);
  refusals(1e6);
  const int64_t sizes[] = {1, 7, 8, 9, 64, 65, 512, 513, 1024, 1500, 2049, 4096, 4099, 10000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int64_t ngroups = 1; ngroups <= sizes[i] && ngroups < 100; ngroups += 23) {
      words_of_any_size(sizes[i], ngroups, 0);
      words_of_any_size(sizes[i], ngroups, 1e6);
    }
  no_parts();
  no_plan();
  return test_end();
}
