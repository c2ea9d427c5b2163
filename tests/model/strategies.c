/* The strategies of Lockhart et al. 2023, Table 6, on Lassen, against their values worked out by
 * hand as literal arithmetic; then what the profile or the exchange may leave out. */
#include "model/strategies.h"
#include "check.h"

#include <math.h>
#include <string.h>

static grove_machine *lassen, *bluewaters;

static const grove_exchange example = {
  .messages_per_proc = 8,
  .bytes_per_proc = 1e6,
  .bytes_per_node = 4e6,
  .bytes_node_to_node = 1.5e6,
  .nodes_per_proc = 5,
  .messages_node_to_node = 2,
  .ppn = 4,
  .gpus_per_socket = 2,
  .protocol = GROVE_REND,
};

static grove_strategy priced(const grove_machine *m, grove_exchange x, const char *route,
                             const char *path)
{
  grove_strategy list[GROVE_STRATEGIES];
  CHECK_OK(grove_exchange_complete(m, &x));
  CHECK_OK(grove_strategies_price(m, &x, list));
  for (int i = 0; i < GROVE_STRATEGIES; i++)
    if (strcmp(list[i].route, route) == 0 && strcmp(list[i].path, path) == 0) return list[i];
  CHECK(0, "there is no %s %s", route, path);
}

#define TERMS(strategy, off, on, copied) terms(strategy, off, on, copied, __LINE__)
static void terms(grove_strategy s, double off, double on, double copied, int line)
{
  CHECK(!s.left_out, "line %d: %s %s is left out: %s", line, s.route, s.path, s.left_out);
  const double got[] = {s.off_node, s.on_node, s.copy, s.seconds};
  const double expected[] = {off, on, copied, off + on + copied};
  static const char *const name[] = {"off_node", "on_node", "copy", "seconds"};
  for (int i = 0; i < 4; i++)
    CHECK(fabs(got[i] - expected[i]) <= 1e-12 * fabs(expected[i]),
          "line %d: %s of %s %s is %.17g, not %.17g", line, name[i], s.route, s.path, got[i],
          expected[i]);
}

/* Everything by rendezvous, so that every number can be read off Tables 2 to 4. */
static void table_6(void)
{
  const grove_exchange x = example;
  const double s = 1e6, S = 4e6, N = 1.5e6;
  const double copies = 1.27e-05 + 1.96e-11 * s + 1.30e-05 + 1.85e-11 * N; /* (4.5), one process */

  /* (2.2): alpha m + max(ppn s / R_N, beta s), and T_copy(s, s) */
  TERMS(priced(lassen, x, "standard", "staged"), 8 * 7.76e-06 + 4 * s * 4.19e-11, 0,
        1.27e-05 + 1.96e-11 * s + 1.30e-05 + 1.85e-11 * s);
  /* alpha m + beta s */
  TERMS(priced(lassen, x, "standard", "device"), 8 * 1.10e-05 + 1.72e-10 * s, 0, 0);
  /* T_off(q, N) + 2 T_on(N) + T_copy(s, N) */
  TERMS(priced(lassen, x, "3-step", "staged"), 2 * 7.76e-06 + S * 4.19e-11,
        2 * (1 * (3.15e-06 + 3.40e-11 * N) + 2 * (6.77e-06 + 1.49e-10 * N)), copies);
  TERMS(priced(lassen, x, "3-step", "device"), 2 * 1.10e-05 + 1.72e-10 * N,
        2 * (1 * (1.82e-05 + 1.46e-11 * N) + 2 * (1.93e-05 + 2.39e-11 * N)), 0);
  /* T_off(p, s) + T_on(s) + T_copy(s, N) */
  TERMS(priced(lassen, x, "2-step", "staged"), 5 * 7.76e-06 + S * 4.19e-11,
        1 * (3.15e-06 + 3.40e-11 * s) + 2 * (6.77e-06 + 1.49e-10 * s), copies);
  TERMS(priced(lassen, x, "2-step", "device"), 5 * 1.10e-05 + 1.72e-10 * s,
        1 * (1.82e-05 + 1.46e-11 * s) + 2 * (1.93e-05 + 2.39e-11 * s), 0);
  /* The same with ceil(5 / 4) = 2 nodes a process. */
  TERMS(priced(lassen, x, "2-step-1", "staged"), 2 * 7.76e-06 + S * 4.19e-11,
        1 * (3.15e-06 + 3.40e-11 * s) + 2 * (6.77e-06 + 1.49e-10 * s), copies);
  TERMS(priced(lassen, x, "2-step-1", "device"), 2 * 1.10e-05 + 1.72e-10 * s,
        1 * (1.82e-05 + 1.46e-11 * s) + 2 * (1.93e-05 + 2.39e-11 * s), 0);
  /* T_off(p, S / 40) + 2 T_on-split(S, 1) + T_copy(s, N): 19 and 20 messages */
  TERMS(priced(lassen, x, "split-md", "staged"), 5 * 7.76e-06 + S * 4.19e-11,
        2 * (19 * (3.15e-06 + 3.40e-11 * S) + 20 * (6.77e-06 + 1.49e-10 * S)), copies);
  /* T_off(p, S / 40) + 2 T_on-split(S, 4) + T_copy(s, N) with four processes: 4 and 5 messages */
  TERMS(priced(lassen, x, "split-dd", "staged"), 5 * 7.76e-06 + S * 4.19e-11,
        2 * (4 * (3.15e-06 + 3.40e-11 * S) + 5 * (6.77e-06 + 1.49e-10 * S)),
        1.47e-05 + 1.50e-10 * s + 1.52e-05 + 5.52e-10 * N);
}

/* Table 6 and (4.5) to the letter. */
static void as_published(void)
{
  grove_exchange x = example;
  const double s = 1e6, S = 4e6, N = 1.5e6;
  x.as_published = 1;
  TERMS(priced(lassen, x, "standard", "staged"), 8 * 7.76e-06 + 4 * s * 4.19e-11, 0, 0);
  TERMS(priced(lassen, x, "2-step", "staged"), 5 * 7.76e-06 + S * 4.19e-11,
        1 * (3.15e-06 + 3.40e-11 * s) + 2 * (6.77e-06 + 1.49e-10 * s),
        1.30e-05 + 1.85e-11 * s + 1.27e-05 + 1.96e-11 * N);
  CHECK(priced(lassen, x, "split-dd", "staged").copy ==
          grove_form_copy((grove_postal){1.47e-05, 1.50e-10}, (grove_postal){1.52e-05, 5.52e-10}, s,
                          N, 1),
        "split-dd copies otherwise");
}

/* Without a forced protocol: each term by the size of its own messages. */
static void by_size(void)
{
  grove_exchange x = example;
  x.protocol = GROVE_BY_SIZE;
  x.messages_per_proc = 10;
  x.bytes_per_proc = 1000;    /* 100 a message: short */
  x.bytes_per_node = 20000;   /* T_on-split: rendezvous; 100 a message of split: short */
  x.bytes_node_to_node = 400; /* two messages of 200 off node: short; T_on: eager */
  TERMS(priced(lassen, x, "standard", "staged"), 10 * 1.89e-06 + 1000 * 6.88e-10, 0,
        1.27e-05 + 1.96e-11 * 1000 + 1.30e-05 + 1.85e-11 * 1000);
  TERMS(priced(lassen, x, "standard", "device"), 10 * 8.95e-06 + 1.72e-10 * 1000, 0, 0);
  const double copies = 1.27e-05 + 1.96e-11 * 1000 + 1.30e-05 + 1.85e-11 * 400;
  TERMS(priced(lassen, x, "3-step", "staged"), 2 * 1.89e-06 + 20000 * 4.19e-11,
        2 * ((4.61e-07 + 7.12e-11 * 400) + 2 * (1.17e-06 + 2.18e-10 * 400)), copies);
  TERMS(priced(lassen, x, "split-md", "staged"), 5 * 1.89e-06 + 20000 * 4.19e-11,
        2 * (19 * (3.15e-06 + 3.40e-11 * 20000) + 20 * (6.77e-06 + 1.49e-10 * 20000)), copies);
}

static void forced_short(void)
{
  grove_exchange x = example;
  x.protocol = GROVE_SHORT;
  grove_strategy s = priced(lassen, x, "standard", "staged");
  CHECK(s.off_node == 8 * 1.89e-06 + 1e6 * 6.88e-10 && !s.replaced, "%.17g", s.off_node);
  s = priced(lassen, x, "standard", "device");
  TERMS(s, 8 * 8.95e-06 + 1.72e-10 * 1e6, 0, 0);
  CHECK(s.replaced, "eager took the place of short, and nobody is told");
}

/* What node-aware routes need not send: bytes only, and only theirs. */
static void duplicates(void)
{
  grove_exchange x = example, less = example;
  less.bytes_per_proc *= 0.75;
  less.bytes_per_node *= 0.75;
  less.bytes_node_to_node *= 0.75;
  x.duplicates = 0.25;
  static const char *const routes[] = {"3-step", "2-step", "2-step-1", "split-md", "split-dd"};
  for (int i = 0; i < 5; i++) {
    grove_strategy e = priced(lassen, less, routes[i], "staged");
    TERMS(priced(lassen, x, routes[i], "staged"), e.off_node, e.on_node, e.copy);
  }
  for (int i = 0; i < 3; i++) {
    grove_strategy e = priced(lassen, less, routes[i], "device");
    TERMS(priced(lassen, x, routes[i], "device"), e.off_node, e.on_node, 0);
  }
  grove_strategy e = priced(lassen, example, "standard", "staged");
  TERMS(priced(lassen, x, "standard", "staged"), e.off_node, 0, e.copy);
  x.duplicates = 1;
  TERMS(priced(lassen, x, "2-step", "device"), 5 * 1.10e-05, 1.82e-05 + 2 * 1.93e-05, 0);
}

/* Two GPUs a socket and four a node are the machine's; so are 40 ranks. */
static void completes(void)
{
  grove_exchange x = {.protocol = GROVE_BY_SIZE};
  CHECK_OK(grove_exchange_complete(lassen, &x));
  CHECK(x.ppn == 4 && x.gpus_per_socket == 2, "ppn %g, gps %g", x.ppn, x.gpus_per_socket);
  x = (grove_exchange){.protocol = GROVE_BY_SIZE};
  CHECK_OK(grove_exchange_complete(bluewaters, &x));
  CHECK(x.ppn == 16 && x.gpus_per_socket == 8, "ppn %g, gps %g", x.ppn, x.gpus_per_socket);
  x = (grove_exchange){.protocol = GROVE_BY_SIZE, .ppn = 8}; /* of whom two a socket are GPUs */
  CHECK_OK(grove_exchange_complete(lassen, &x));
  CHECK(x.ppn == 8 && x.gpus_per_socket == 2, "ppn %g, gps %g", x.ppn, x.gpus_per_socket);
  x = (grove_exchange){.protocol = GROVE_BY_SIZE, .ppn = 7};
  CHECK_OK(grove_exchange_complete(bluewaters, &x)); /* four on one of its two sockets */
  CHECK(x.ppn == 7 && x.gpus_per_socket == 4, "ppn %g, gps %g", x.ppn, x.gpus_per_socket);
  x = (grove_exchange){.protocol = GROVE_BY_SIZE, .ppn = 7, .gpus_per_socket = 3};
  CHECK_OK(grove_exchange_complete(bluewaters, &x));
  CHECK(x.ppn == 7 && x.gpus_per_socket == 3, "ppn %g, gps %g", x.ppn, x.gpus_per_socket);
  grove_machine *plain = NULL; /* whose sockets nobody told */
  CHECK_OK(grove_machine_create("plain", &plain));
  plain->ranks = 6;
  x = (grove_exchange){.protocol = GROVE_BY_SIZE};
  CHECK_OK(grove_exchange_complete(plain, &x));
  CHECK(x.ppn == 6 && x.gpus_per_socket == 6, "ppn %g, gps %g", x.ppn, x.gpus_per_socket);
  grove_machine_free(&plain);
  x = (grove_exchange){.protocol = GROVE_BY_SIZE, .duplicates = 1.01};
  CHECK_STATUS(grove_exchange_complete(lassen, &x), GROVE_ERR_ARG);
  x = (grove_exchange){.protocol = GROVE_BY_SIZE, .bytes_per_proc = -1};
  CHECK_STATUS(grove_exchange_complete(lassen, &x), GROVE_ERR_ARG);
  x = (grove_exchange){.protocol = 3};
  CHECK_STATUS(grove_exchange_complete(lassen, &x), GROVE_ERR_ARG);
  x = (grove_exchange){.protocol = GROVE_BY_SIZE, .nodes_per_proc = NAN};
  CHECK_STATUS(grove_exchange_complete(lassen, &x), GROVE_ERR_ARG);
}

/* Blue Waters: no copies, no device paths, no split-dd; T_on among the ranks that hold data. */
static void without_gpus(void)
{
  grove_exchange x = example;
  x.ppn = x.gpus_per_socket = 0;
  TERMS(priced(bluewaters, x, "standard", "staged"), 8 * 3.0e-06 + 16 * 1e6 / 6.6e9, 0, 0);
  TERMS(priced(bluewaters, x, "2-step", "staged"),
        5 * 3.0e-06 + 1e6 / 2.9e9 /* 4e6 / 6.6e9 wins */
          + (4e6 / 6.6e9 - 1e6 / 2.9e9),
        7 * (1.7e-06 + 1e6 / 6.2e9) + 8 * (2.5e-06 + 1e6 / 6.2e9), 0);
  TERMS(priced(bluewaters, x, "split-md", "staged"), 5 * 3.0e-06 + 4e6 / 6.6e9,
        2 * (7 * (1.7e-06 + 4e6 / 6.2e9) + 8 * (2.5e-06 + 4e6 / 6.2e9)), 0);
  CHECK(priced(bluewaters, x, "split-dd", "staged").left_out, "split-dd without a device");
  CHECK(priced(bluewaters, x, "standard", "device").left_out, "a device path without a device");
  grove_machine *empty = NULL;
  grove_strategy list[GROVE_STRATEGIES];
  CHECK_OK(grove_machine_create("empty", &empty));
  CHECK_STATUS(grove_strategies_price(empty, &example, list), GROVE_ERR_ARG);
  x.ppn = 0;
  CHECK_STATUS(grove_exchange_complete(empty, &x), GROVE_ERR_ARG);
  grove_machine_free(&empty);
}

/* Nothing to send still pays for what a strategy always does: copies and messages on the node. */
static void limits(void)
{
  grove_exchange x = {.ppn = 1, .gpus_per_socket = 1, .protocol = GROVE_BY_SIZE};
  TERMS(priced(lassen, x, "standard", "device"), 0, 0, 0);
  TERMS(priced(lassen, x, "standard", "staged"), 0, 0, 1.27e-05 + 1.30e-05);
  TERMS(priced(lassen, x, "2-step", "staged"), 0, 9.25e-07, 1.27e-05 + 1.30e-05);
  x.bytes_per_proc = 1000; /* of no message: by the size of all of it */
  TERMS(priced(lassen, x, "standard", "device"), 1.72e-10 * 1000, 0, 0);
  /* R_N infinite: the process's own rate is left. */
  grove_machine *m = NULL;
  CHECK_OK(grove_machine_copy(lassen, &m));
  for (int p = 0; p < GROVE_PROTOCOLS; p++) m->injection[GROVE_CPU][p] = 0;
  grove_strategy s = priced(m, example, "standard", "staged");
  CHECK(s.off_node == 8 * 7.76e-06 + 1e6 * 7.97e-11 && !s.injection, "%.17g", s.off_node);
  CHECK(priced(lassen, example, "standard", "staged").injection, "four do not share the limit");
  /* One process whose own rate is the limit does not wait for it. */
  for (int p = 0; p < GROVE_PROTOCOLS; p++) m->injection[GROVE_CPU][p] = 7.97e-11;
  x = example;
  x.ppn = 1;
  CHECK(!priced(m, x, "standard", "staged").injection, "it waits for itself");
  /* A node whose ranks nobody counted sends from those that hold data: 1e6 bytes each, and by turns
   * 2 / 2 - 1 and 2 / 2 ranks of a socket. */
  m->ranks = 0;
  x = example;
  s = priced(m, x, "split-md", "staged");
  TERMS(s, 5 * 7.76e-06 + 4e6 * 7.97e-11,
        2 * (1 * (3.15e-06 + 3.40e-11 * 4e6) + 2 * (6.77e-06 + 1.49e-10 * 4e6)), s.copy);
  grove_machine_free(&m);
}

/* The part of off_node that is alpha. */
static void latency(void)
{
  static const struct {
    const char *route, *path;
    double seconds;
  } row[] = {
    {"standard", "staged", 8 * 7.76e-06}, {"standard", "device", 8 * 1.10e-05},
    {"3-step", "staged", 2 * 7.76e-06},   {"2-step", "device", 5 * 1.10e-05},
    {"2-step-1", "staged", 2 * 7.76e-06}, {"split-dd", "staged", 5 * 7.76e-06},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    double got = priced(lassen, example, row[i].route, row[i].path).latency;
    CHECK(fabs(got - row[i].seconds) < 1e-18, "%s %s: %.17g", row[i].route, row[i].path, got);
  }
}

static void best(void)
{
  grove_strategy list[GROVE_STRATEGIES] = {
    {.seconds = 5},
    {.seconds = 4},
    {.seconds = 1, .left_out = "not there"},
    {.seconds = 2, .best_case = 1},
    {.seconds = 3},
    {.seconds = 3},
    {.seconds = 9},
    {.seconds = 9},
    {.seconds = 9},
    {.seconds = 9},
  };
  CHECK(grove_strategies_best(list, 0) == 4, "%d", grove_strategies_best(list, 0));
  CHECK(grove_strategies_best(list, 1) == 3, "%d", grove_strategies_best(list, 1));
}

/* A machine of what is given; every row of unit s but those of a beta. */
static grove_machine *made_of(int n, const char *const (*rows)[4])
{
  grove_machine *m = NULL;
  CHECK_OK(grove_machine_create("made", &m));
  for (int i = 0; i < n; i++)
    CHECK_OK(grove_machine_add(m, rows[i][0], rows[i][1], rows[i][2], rows[i][3], 1e-6,
                               strstr(rows[i][0], "beta") ? "s/B" : "s", "made up"));
  CHECK_OK(grove_machine_digest(m));
  return m;
}

/* alpha without beta, and the other way round, is no message; so are copies. */
static void half_a_pair(void)
{
  static const char *const one[][4] = {{"alpha", "cpu", "off-node", "any"}};
  static const char *const other[][4] = {{"beta", "cpu", "off-node", "any"}};
  static const char *const copies[][4] = {
    {"alpha", "cpu", "any", "any"},    {"beta", "cpu", "any", "any"},
    {"alpha", "gpu", "any", "any"},    {"copy-alpha", "gpu", "d2h", "1"},
    {"copy-alpha", "gpu", "h2d", "1"}, {"copy-beta", "gpu", "h2d", "1"}};
  grove_strategy list[GROVE_STRATEGIES];
  grove_machine *m = made_of(1, one);
  CHECK_STATUS(grove_strategies_price(m, &example, list), GROVE_ERR_ARG);
  grove_machine_free(&m);
  m = made_of(1, other);
  CHECK_STATUS(grove_strategies_price(m, &example, list), GROVE_ERR_ARG);
  grove_machine_free(&m);
  m = made_of(6, copies);
  CHECK_OK(grove_strategies_price(m, &example, list));
  for (int i = 0; i < GROVE_STRATEGIES; i++) {
    int staged = strcmp(list[i].path, "staged") == 0;
    CHECK(isfinite(list[i].seconds) && list[i].copy == 0, "%s %s takes %g s, copies %g",
          list[i].route, list[i].path, list[i].seconds, list[i].copy);
    CHECK(!list[i].left_out == (staged && strcmp(list[i].route, "split-dd") != 0), "%s %s: %s",
          list[i].route, list[i].path, list[i].left_out ? list[i].left_out : "has a price");
  }
  grove_machine_free(&m);
}

/* Which of the ten a profile has prices for, and why not for the others. */
static void leaves_out(void)
{
  static const char *const between[][4] = {
    {"alpha", "cpu", "off-node", "any"},  {"beta", "cpu", "off-node", "any"},
    {"alpha", "gpu", "off-node", "any"},  {"beta", "gpu", "off-node", "any"},
    {"alpha", "cpu", "on-socket", "any"}, {"beta", "cpu", "on-socket", "any"},
    {"alpha", "gpu", "on-socket", "any"}, {"beta", "gpu", "on-socket", "any"}};
  static const char *const devices = "the profile has no messages between devices";
  static const char *const inside = "the profile has no messages inside a node";
  static const char *const copies = "the profile has no copies between host and device";
  const char *const why[][GROVE_STRATEGIES] = {
    /* standard staged and device, 3-step, 2-step, 2-step-1, split-md, split-dd */
    {NULL, devices, inside, devices, inside, devices, inside, devices, inside, copies},
    {NULL, NULL, inside, inside, inside, inside, inside, inside, inside, copies},
    {NULL, NULL, NULL, inside, NULL, inside, NULL, inside, NULL, copies},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, copies},
  };
  for (int i = 0; i < 5; i++) {
    grove_strategy list[GROVE_STRATEGIES];
    grove_machine *m = made_of(i < 4 ? 2 * (i + 1) : 8, between);
    if (i == 4) m->sockets = 2; /* and nobody says how far apart they are */
    CHECK_OK(grove_strategies_price(m, &example, list));
    for (int k = 0; k < GROVE_STRATEGIES; k++) {
      const char *want = i < 4 ? why[i][k] : why[1][k], *got = list[k].left_out;
      CHECK(got && want ? strcmp(got, want) == 0 : got == want, "case %d, %s %s: '%s'", i,
            list[k].route, list[k].path, got ? got : "has a price");
      CHECK(list[k].best_case == (strcmp(list[k].route, "2-step-1") == 0), "%s", list[k].route);
    }
    grove_machine_free(&m);
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "model/strategies");
  CHECK_OK(grove_machine_open("lassen", &lassen));
  CHECK_OK(grove_machine_open("bluewaters", &bluewaters));
  table_6();
  as_published();
  by_size();
  forced_short();
  duplicates();
  completes();
  without_gpus();
  half_a_pair();
  leaves_out();
  limits();
  latency();
  best();
  grove_machine_free(&lassen);
  grove_machine_free(&bluewaters);
  return test_end();
}
