/* LogGP and PLogGP against values worked out by hand; Table I of Temucin et al. 2023 with a machine
 * as MACHINES.md has it: G of 12 GB/s and 10.9 to 21.8 us a message. */
#include "model/loggp.h"
#include "check.h"

#include <math.h>

static const grove_loggp p = {.L = 1e-6, .o_s = 2e-7, .o_r = 3e-7, .g = 5e-7, .G = 1e-10};

#define SAME(got, expected) same(got, expected, __LINE__)
static void same(double got, double expected, int line)
{
  CHECK(fabs(got - expected) <= 1e-12 * fabs(expected), "line %d: %.17g, not %.17g", line, got,
        expected);
}

static void messages(void)
{
  /* o_s + (k - 1) G + L + o_r */
  SAME(grove_loggp_message(&p, 1001), 2e-7 + 1000 * 1e-10 + 1e-6 + 3e-7);
  SAME(grove_loggp_message(&p, 1), 2e-7 + 1e-6 + 3e-7);
  SAME(grove_loggp_message(&p, 0), 2e-7 + 1e-6 + 3e-7);
  /* II.C, two back to back: o_s + 2 G (k - 1) + max(g, o_s, o_r) + L + o_r */
  SAME(grove_loggp_messages(&p, 2, 1001), 2e-7 + 2 * 1e-10 * 1000 + 5e-7 + 1e-6 + 3e-7);
  SAME(grove_loggp_messages(&p, 5, 1001), 2e-7 + 5 * 1e-10 * 1000 + 4 * 5e-7 + 1e-6 + 3e-7);
  SAME(grove_loggp_messages(&p, 1, 1001), grove_loggp_message(&p, 1001));
  SAME(grove_loggp_messages(&p, 0, 1001), 0);
  grove_loggp slow = p;
  slow.o_r = 4e-6; /* the largest of g, o_s, o_r */
  SAME(grove_loggp_messages(&slow, 2, 1), 2e-7 + 4e-6 + 1e-6 + 4e-6);
}

static void parts(void)
{
  const double D = 1e-3, k = 4004, G = 1e-10;
  /* hidden: D + o_s + (n - 1) max(g, o_s, o_r) + (k/n - 1) G + L + o_r */
  SAME(grove_loggp_parts(&p, GROVE_HIDDEN, k, 4, D),
       1e-3 + 2e-7 + 3 * 5e-7 + 1000 * G + 1e-6 + 3e-7);
  SAME(grove_loggp_parts(&p, GROVE_HIDDEN, k, 1, 0), grove_loggp_message(&p, k));
  /* drained: max{(n - 1) [(k/n - 1) G + max(g, o_s)], D} + o_s + (k/n - 1) G + L + n o_r */
  SAME(grove_loggp_parts(&p, GROVE_DRAINED, k, 4, D), 1e-3 + 2e-7 + 1000 * G + 1e-6 + 4 * 3e-7);
  SAME(grove_loggp_parts(&p, GROVE_DRAINED, k, 4, 0),
       3 * (1000 * G + 5e-7) + 2e-7 + 1000 * G + 1e-6 + 4 * 3e-7);
  SAME(grove_loggp_parts(&p, GROVE_DRAINED, k, 1, 0), grove_loggp_message(&p, k));
  /* Parts of no bytes. */
  SAME(grove_loggp_parts(&p, GROVE_HIDDEN, 0, 4, 0), 2e-7 + 3 * 5e-7 + 1e-6 + 3e-7);
  /* What is not told counts as nothing. */
  grove_loggp some = {.L = 1e-6, .o_s = NAN, .o_r = NAN, .g = 5e-7, .G = 1e-10};
  SAME(grove_loggp_parts(&some, GROVE_HIDDEN, k, 4, D), 1e-3 + 3 * 5e-7 + 1000 * G + 1e-6);
}

/* The receiver's overhead is the largest: in the drained form only that is paid a message while the
 * delay hides the rest. */
static grove_machine *a_machine(double per_message)
{
  grove_machine *m = NULL;
  CHECK_OK(grove_machine_create("made up", &m));
  m->nloggp[GROVE_OFF_NODE] = 1;
  m->loggp[GROVE_OFF_NODE][0] =
    (grove_loggp){.L = 2e-6, .o_s = 1e-6, .o_r = per_message, .g = 1e-6, .G = 0.0833e-9};
  return m;
}

static int64_t chosen(const grove_machine *m, grove_delay_form form, int64_t bytes, int64_t most)
{
  grove_part_choice choices[GROVE_PART_CHOICES];
  int n = 0, best = -1;
  CHECK_OK(grove_loggp_choose(m, form, bytes, most, 0.004, choices, &n, &best));
  CHECK(n >= 1 && choices[0].parts == 1 && choices[n - 1].parts * 2 > most, "%d choices", n);
  for (int i = 0; i < n; i++)
    CHECK(choices[best].seconds <= choices[i].seconds, "%lld parts are faster",
          (long long)choices[i].parts);
  return choices[best].parts;
}

static void table_1(void)
{
  static const int64_t rows[][2] = {/* KiB, transport partitions */
                                    {128, 1},    {256, 1},    {512, 2},     {1024, 2},
                                    {2048, 4},   {4096, 4},   {8192, 8},    {16384, 8},
                                    {32768, 16}, {65536, 16}, {131072, 32}, {262144, 32}};
  static const double costs[] = {10.95e-6, 15e-6, 21.8e-6};
  for (int c = 0; c < 3; c++) {
    grove_machine *m = a_machine(costs[c]);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
      int64_t k = chosen(m, GROVE_HIDDEN, rows[i][0] * 1024, 32);
      CHECK(k == rows[i][1], "%lld KiB at %g s a message: %lld parts", (long long)rows[i][0],
            costs[c], (long long)k);
      CHECK(rows[i][0] > 32768 || chosen(m, GROVE_DRAINED, rows[i][0] * 1024, 32) == k,
            "the drained form disagrees at %lld KiB", (long long)rows[i][0]);
    }
    grove_machine_free(&m);
  }
}

static void limits(void)
{
  grove_machine *m = a_machine(15e-6), *empty = NULL;
  grove_part_choice choices[GROVE_PART_CHOICES];
  int n = 0, best = 0;
  CHECK(chosen(m, GROVE_HIDDEN, 0, 32) == 1, "nothing is cut");
  grove_machine *instant = a_machine(0);
  instant->loggp[GROVE_OFF_NODE][0] = (grove_loggp){0};
  CHECK(chosen(instant, GROVE_HIDDEN, 1 << 20, 32) == 1, "the fewest of several as fast");
  grove_machine_free(&instant);
  CHECK(chosen(m, GROVE_HIDDEN, 1 << 28, 1) == 1, "one part is all there are");
  CHECK(chosen(m, GROVE_HIDDEN, 1 << 28, 7) == 4, "four is the most up to seven");
  CHECK_STATUS(grove_loggp_choose(m, GROVE_HIDDEN, -1, 32, 0, choices, &n, &best), GROVE_ERR_ARG);
  CHECK_STATUS(grove_loggp_choose(m, GROVE_HIDDEN, 1, 0, 0, choices, &n, &best), GROVE_ERR_ARG);
  CHECK_STATUS(grove_loggp_choose(m, GROVE_HIDDEN, 1, 1, -1, choices, &n, &best), GROVE_ERR_ARG);
  CHECK_OK(grove_loggp_choose(m, GROVE_HIDDEN, 1, INT64_MAX, 0, choices, &n, &best));
  CHECK(n == GROVE_PART_CHOICES, "%d choices", n);
  CHECK_OK(grove_machine_create("empty", &empty));
  CHECK_STATUS(grove_loggp_choose(empty, GROVE_HIDDEN, 1, 1, 0, choices, &n, &best), GROVE_ERR_ARG);
  grove_machine_free(&m);
  grove_machine_free(&empty);
}

/* The parameters are those of a part, not of the whole. */
static void by_size_of_part(void)
{
  grove_machine *m = a_machine(15e-6);
  grove_part_choice choices[GROVE_PART_CHOICES];
  int n = 0, best = 0;
  m->nloggp[GROVE_OFF_NODE] = 2;
  m->loggp[GROVE_OFF_NODE][1] = m->loggp[GROVE_OFF_NODE][0];
  m->loggp[GROVE_OFF_NODE][1].from_bytes = 1000;
  CHECK_OK(grove_loggp_choose(m, GROVE_HIDDEN, 4000, 8, 0, choices, &n, &best));
  for (int i = 0; i < n; i++)
    CHECK(choices[i].row == &m->loggp[GROVE_OFF_NODE][choices[i].parts <= 4], "%lld parts",
          (long long)choices[i].parts);
  grove_machine_free(&m);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "model/loggp");
  messages();
  parts();
  table_1();
  limits();
  by_size_of_part();
  return test_end();
}
