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
  /* Of several sizes: the bytes of all, and a spacing for all but the first. */
  grove_loggp_train train = {0};
  SAME(grove_loggp_train_seconds(&train), 0);
  for (int i = 0; i < 5; i++) grove_loggp_join(&train, &p, 1001);
  SAME(grove_loggp_train_seconds(&train), grove_loggp_messages(&p, 5, 1001));
  grove_loggp other = {.L = 5e-6, .o_s = NAN, .o_r = NAN, .g = 7e-7, .G = 2e-10};
  grove_loggp_join(&train, &other, 11);
  SAME(grove_loggp_train_seconds(&train), 5e-6 + 5 * 1e-10 * 1000 + 4 * 5e-7 + 7e-7 + 10 * 2e-10);
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
  /* covered: max{(n - 1) (k/n - 1) G, D} + o_s + (n - 1) max(g, o_s, o_r) + (k/n - 1) G + L + o_r:
   * as hidden; limited by the bytes; and n messages back to back. */
  SAME(grove_loggp_parts(&p, GROVE_COVERED, k, 4, D),
       1e-3 + 2e-7 + 3 * 5e-7 + 1000 * G + 1e-6 + 3e-7);
  SAME(grove_loggp_parts(&p, GROVE_COVERED, k, 4, 2e-7),
       3 * 1000 * G + 2e-7 + 3 * 5e-7 + 1000 * G + 1e-6 + 3e-7);
  SAME(grove_loggp_parts(&p, GROVE_COVERED, k, 4, 0), grove_loggp_messages(&p, 4, k / 4));
  SAME(grove_loggp_parts(&p, GROVE_COVERED, k, 1, D), D + grove_loggp_message(&p, k));
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

static grove_part_cut a_cut(grove_delay_form form, int64_t bytes, int64_t parts, double delay)
{
  return (grove_part_cut){.where = GROVE_OFF_NODE,
                          .form = form,
                          .bytes = bytes,
                          .parts = parts,
                          .most = parts,
                          .delay = delay};
}

/* The list has the powers of two and what is best; nothing else is faster, which is tried. */
static int64_t chosen(const grove_machine *m, grove_delay_form form, int64_t bytes, int64_t parts)
{
  const grove_part_cut cut = a_cut(form, bytes, parts, 0.004);
  grove_part_choice choices[GROVE_PART_CHOICES];
  int n = 0, best = -1;
  CHECK_OK(grove_loggp_choose(m, &cut, choices, &n, &best));
  int64_t power = 1, messages = choices[best].messages;
  for (int i = 0; i < n; i++) {
    CHECK(choices[i].messages == power || i == best, "%lld messages in the list",
          (long long)choices[i].messages);
    if (choices[i].messages == power) power *= 2;
  }
  CHECK(power > parts, "the list ends before %lld", (long long)power);
  CHECK(messages == grove_loggp_best(m, &cut).messages, "another best one");
  for (int64_t i = 1; i <= parts; i++) {
    double seconds = grove_loggp_price(m, &cut, i).seconds;
    CHECK(choices[best].seconds < seconds || (i >= messages && choices[best].seconds <= seconds),
          "%lld messages are as fast as %lld", (long long)i, (long long)messages);
  }
  return messages;
}

/* The paper looks at powers of two only. */
static int64_t power_of_two(const grove_machine *m, grove_delay_form form, int64_t bytes)
{
  const grove_part_cut cut = a_cut(form, bytes, 32, 0.004);
  int64_t best = 1;
  for (int64_t n = 2; n <= 32; n *= 2)
    if (grove_loggp_price(m, &cut, n).seconds < grove_loggp_price(m, &cut, best).seconds) best = n;
  return best;
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
      int64_t k = power_of_two(m, GROVE_HIDDEN, rows[i][0] * 1024);
      CHECK(k == rows[i][1], "%lld KiB at %g s a message: %lld parts", (long long)rows[i][0],
            costs[c], (long long)k);
      CHECK(rows[i][0] > 32768 || power_of_two(m, GROVE_DRAINED, rows[i][0] * 1024) == k,
            "the drained form disagrees at %lld KiB", (long long)rows[i][0]);
    }
    grove_machine_free(&m);
  }
}

static grove_status choose(const grove_machine *m, grove_part_cut cut, int *n)
{
  grove_part_choice choices[GROVE_PART_CHOICES];
  int best = 0;
  return grove_loggp_choose(m, &cut, choices, n, &best);
}

static void limits(void)
{
  grove_machine *m = a_machine(15e-6), *empty = NULL;
  int n = 0;
  CHECK(chosen(m, GROVE_HIDDEN, 0, 32) == 1, "nothing is cut");
  grove_machine *instant = a_machine(0);
  instant->loggp[GROVE_OFF_NODE][0] = (grove_loggp){0};
  CHECK(chosen(instant, GROVE_HIDDEN, 1 << 20, 32) == 1, "the fewest of several as fast");
  grove_machine_free(&instant);
  CHECK(chosen(m, GROVE_HIDDEN, 1 << 28, 1) == 1, "one part is all there are");
  CHECK(chosen(m, GROVE_HIDDEN, 1 << 28, 7) == 7, "seven is the most");
  grove_part_cut few = a_cut(GROVE_HIDDEN, 1 << 28, 7, 0);
  few.most = 6; /* of which the largest has two parts, as with 4 */
  CHECK(grove_loggp_best(m, &few).messages == 4, "more than four help nobody");
  CHECK_STATUS(choose(m, a_cut(GROVE_HIDDEN, -1, 32, 0), &n), GROVE_ERR_ARG);
  CHECK_STATUS(choose(m, a_cut(GROVE_HIDDEN, 1, 0, 0), &n), GROVE_ERR_ARG);
  CHECK_STATUS(choose(m, a_cut(GROVE_HIDDEN, 1, 1, -1), &n), GROVE_ERR_ARG);
  CHECK_STATUS(choose(m, a_cut(GROVE_HIDDEN, 1, INT64_MAX, 0), &n), GROVE_ERR_ARG);
  few.most = 8;
  CHECK_STATUS(choose(m, few, &n), GROVE_ERR_ARG);
  CHECK_OK(choose(m, a_cut(GROVE_HIDDEN, INT64_MAX, INT32_MAX, 0), &n));
  CHECK(n >= 31 && n <= GROVE_PART_CHOICES, "%d choices", n);
  CHECK_OK(grove_machine_create("empty", &empty));
  CHECK_STATUS(choose(empty, a_cut(GROVE_HIDDEN, 1, 1, 0), &n), GROVE_ERR_ARG);
  few.most = 7;
  CHECK(grove_loggp_best(empty, &few).messages == 1, "one message, if nothing is known");
  CHECK(isnan(grove_loggp_best(empty, &few).seconds), "and no time");
  grove_machine_free(&m);
  grove_machine_free(&empty);
}

/* 12 parts of 100 KB and 1 ns a byte: the largest of n messages takes 100 us a part, and n - 1
 * times what a message costs is added. */
static void any_number(void)
{
  static const struct {
    double message;
    int64_t best;
  } row[] = {
    {10e-6, 12},  /* 4: 30 + 300, 6: 50 + 200, 12: 110 + 100 */
    {30e-6, 6},   /* 4: 90 + 300, 6: 150 + 200, 12: 330 + 100 */
    {60e-6, 4},   /* 3: 120 + 400, 4: 180 + 300, 6: 300 + 200 */
    {120e-6, 3},  /* 2: 120 + 600, 3: 240 + 400, 4: 360 + 300 */
    {500e-6, 2},  /* 1: 1200, 2: 500 + 600, 3: 1000 + 400 */
    {1000e-6, 1}, /* 1: 1200, 2: 1000 + 600 */
  };
  grove_machine *m = a_machine(0);
  grove_loggp *p_of = m->loggp[GROVE_OFF_NODE];
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    *p_of = (grove_loggp){.o_r = row[i].message, .G = 1e-9};
    int64_t n = chosen(m, GROVE_HIDDEN, 1200000, 12);
    CHECK(n == row[i].best, "%g s a message: %lld messages", row[i].message, (long long)n);
  }
  p_of->o_r = 120e-6;
  grove_part_cut cut = a_cut(GROVE_HIDDEN, 1200000, 12, 0);
  SAME(grove_loggp_price(m, &cut, 5).seconds, 120e-6 + 4 * 120e-6 + (300000 - 1) * 1e-9);
  SAME(grove_loggp_price(m, &cut, 5).bytes, 300000);
  /* Without a delay all bytes have to travel: one message. In 150 us 150 KB are gone:
   * 1: 150 + 1200, 2: 600 + 120 + 600, 3: 800 + 240 + 400. */
  cut.form = GROVE_COVERED;
  CHECK(grove_loggp_best(m, &cut).messages == 1, "no delay, one message");
  cut.delay = 150e-6;
  CHECK(grove_loggp_best(m, &cut).messages == 2, "a short delay");
  cut.delay = 4e-3;
  CHECK(grove_loggp_best(m, &cut).messages == 3, "a long one");
  grove_machine_free(&m);
}

/* The parameters are those of a part, not of the whole. */
static void by_size_of_part(void)
{
  grove_machine *m = a_machine(15e-6);
  const grove_part_cut cut = a_cut(GROVE_HIDDEN, 4000, 8, 0);
  m->nloggp[GROVE_OFF_NODE] = 2;
  m->loggp[GROVE_OFF_NODE][1] = m->loggp[GROVE_OFF_NODE][0];
  m->loggp[GROVE_OFF_NODE][1].from_bytes = 1000;
  for (int64_t n = 1; n <= 8; n++)
    CHECK(grove_loggp_price(m, &cut, n).row.from_bytes == (n < 8 ? 1000 : 0), "%lld messages",
          (long long)n);
  grove_machine_free(&m);
}

/* n messages of k bytes take n (alpha + beta (k - 1)) in the postal model. */
static void from_postal(void)
{
  grove_machine *m = NULL;
  CHECK_OK(grove_machine_create("postal", &m));
  m->loggp[GROVE_ON_NODE][0] = (grove_loggp){.L = 1, .G = NAN}; /* of no use */
  m->nloggp[GROVE_ON_NODE] = 1;
  m->from[GROVE_CPU][GROVE_ON_NODE][GROVE_SHORT] = 0;
  m->from[GROVE_CPU][GROVE_ON_NODE][GROVE_EAGER] = 1000;
  m->postal[GROVE_CPU][GROVE_ON_NODE][GROVE_SHORT] = (grove_postal){2e-6, 3e-9};
  m->postal[GROVE_CPU][GROVE_ON_NODE][GROVE_EAGER] = (grove_postal){5e-6, 1e-9};
  grove_loggp row = grove_loggp_row(m, GROVE_ON_NODE, 999);
  SAME(grove_loggp_messages(&row, 4, 501), 4 * (2e-6 + 3e-9 * 500));
  SAME(grove_loggp_spacing(&row), 2e-6);
  row = grove_loggp_row(m, GROVE_ON_NODE, 1000);
  SAME(grove_loggp_messages(&row, 1, 2001), 5e-6 + 1e-9 * 2000);
  CHECK(isnan(grove_loggp_row(m, GROVE_OFF_NODE, 1).G), "nothing is told between nodes");
  m->postal[GROVE_CPU][GROVE_ON_NODE][GROVE_EAGER].alpha = NAN;
  CHECK(isnan(grove_loggp_row(m, GROVE_ON_NODE, 1000).G), "half of it is not enough");
  grove_machine_free(&m);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "model/loggp");
  messages();
  parts();
  table_1();
  limits();
  any_number();
  by_size_of_part();
  from_postal();
  return test_end();
}
