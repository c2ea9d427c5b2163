/* A choice between routes as people read it: the table, the reason and where the numbers came from,
 * to the letter, of choices made up for it. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "check.h"
#include "profile.h"
#include "route/print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STANDARD, TWO_STEP, THREE_STEP, SPLIT };

/* ---- what is printed ---- */

static struct {
  FILE *file;
  char *text;
  size_t bytes;
} page;

static FILE *open_page(void)
{
  page.file = open_memstream(&page.text, &page.bytes);
  CHECK(page.file, "no memory");
  return page.file;
}

#define CHECK_PAGE(...) check_page(__LINE__, __VA_ARGS__)
static void check_page(int line, const char *expected)
{
  CHECK(fclose(page.file) == 0, "no memory");
  CHECK(strcmp(page.text, expected) == 0, "line %d:\n%s\nand not\n%s", line, page.text, expected);
  free(page.text);
}

/* ---- choices ---- */

/* Terms in microseconds, in their order. */
static grove_candidate candidate(int route, const double *us)
{
  grove_candidate c = {.route = grove_routes[route]};
  for (int t = 0; t < GROVE_TERMS; t++) {
    c.estimate.price.term[t] = 1e-6 * us[t];
    c.seconds += 1e-6 * us[t];
  }
  c.estimate.price.seconds = c.seconds;
  return c;
}

static grove_choice example(void)
{
  static const double us[GROVE_ROUTES][GROVE_TERMS] = {
    {60, 30, 0, 0, 0, 10, 0, 0},
    {20, 10, 0, 0.0626, 0, 14.9374, 5, 0},
    {10, 30, 0, 0, 0, 2.5, 20, 0},
    {NAN, 0, 0, 0, 0, 0, 0, 0},
  };
  grove_choice choice = {.n = GROVE_ROUTES, .chosen = TWO_STEP, .runner_up = THREE_STEP};
  for (int i = 0; i < GROVE_ROUTES; i++) {
    grove_candidate *c = &choice.candidates[i];
    *c = candidate(i, us[i]);
    c->estimate.stages = i + 1;
    c->estimate.messages[0] = 10 * i;
    c->estimate.messages[1] = 100 - i;
    c->estimate.bytes[0] = 1000 * i;
    c->estimate.bytes[1] = 9000000000 - i;
  }
  return choice;
}

/* ---- the table ---- */

static void table(void)
{
  grove_machine *m = machine_of("");
  grove_choice choice = example();
  grove_choice_print_table(&choice, m, 24, open_page());
  CHECK_PAGE("What an exchange of 24-byte values costs on made\n"
             "  route                          standard       2-step       3-step        split\n"
             "  messages                            100          109          118          127\n"
             "    inside nodes                        0           10           20           30\n"
             "    between nodes                     100           99           98           97\n"
             "  bytes                        9000000000   9000000999   9000001998   9000002997\n"
             "    inside nodes                        0         1000         2000         3000\n"
             "    between nodes              9000000000   8999999999   8999999998   8999999997\n"
             "  microseconds                        100           50         62.5            -\n"
             "    latency                            60           20           10            -\n"
             "    bandwidth                          30           10           30            0\n"
             "    injection                           0            0            0            0\n"
             "    queue                               0        0.063            0            0\n"
             "    contention                          0            0            0            0\n"
             "    on-node                            10       14.937          2.5            0\n"
             "    copy                                0            5           20            0\n"
             "    cores                               0            0            0            0\n");
  choice.n = 1; /* one route */
  choice.candidates[0].estimate.bytes[1] = 0;
  grove_choice_print_table(&choice, m, 8, open_page());
  CHECK_PAGE("What an exchange of 8-byte values costs on made\n"
             "  route                          standard\n"
             "  messages                            100\n"
             "    inside nodes                        0\n"
             "    between nodes                     100\n"
             "  bytes                                 0\n"
             "    inside nodes                        0\n"
             "    between nodes                       0\n"
             "  microseconds                        100\n"
             "    latency                            60\n"
             "    bandwidth                          30\n"
             "    injection                           0\n"
             "    queue                               0\n"
             "    contention                          0\n"
             "    on-node                            10\n"
             "    copy                                0\n"
             "    cores                               0\n");
  /* Without a price nothing is told of terms. */
  choice.candidates[0].seconds = choice.candidates[0].estimate.price.seconds = NAN;
  grove_choice_print_table(&choice, m, 8, open_page());
  CHECK_PAGE("What an exchange of 8-byte values costs on made\n"
             "  route                          standard\n"
             "  messages                            100\n"
             "    inside nodes                        0\n"
             "    between nodes                     100\n"
             "  bytes                                 0\n"
             "    inside nodes                        0\n"
             "    between nodes                       0\n"
             "  microseconds                          -\n");
  grove_machine_free(&m);
}

/* ---- the reason ---- */

#define CHECK_REASON(choice, m, alone, ...)                                                        \
  do {                                                                                             \
    char expected_[1500];                                                                          \
    grove_choice_print_reason(choice, m, alone, open_page());                                      \
    snprintf(expected_, sizeof expected_, __VA_ARGS__);                                            \
    CHECK_PAGE(expected_);                                                                         \
  } while (0)

static void reasons(void)
{
  grove_machine *m = machine_of("");
  grove_choice choice = example();
  const char *standard = grove_route_standard.description;
  const char *two_step = grove_route_two_step.description;
  const char *fewer = "the number of messages between nodes: fewer of them would help most";
  CHECK_REASON(&choice, m, NULL,
               "The choice: 2-step (%s).\n"
               "It is 2.00 times as fast as standard.\n"
               "What decides is latency: 20 us with 2-step, 60 us with standard.\n"
               "The runner-up, 3-step, would take 1.25 times as long.\n"
               "What binds, with 40 %% of its price: %s.\n",
               two_step, fewer);
  choice.runner_up = STANDARD; /* of which all is said */
  CHECK_REASON(&choice, m, NULL,
               "The choice: 2-step (%s).\n"
               "It is 2.00 times as fast as standard.\n"
               "What decides is latency: 20 us with 2-step, 60 us with standard.\n"
               "What binds, with 40 %% of its price: %s.\n",
               two_step, fewer);
  choice.chosen = THREE_STEP;
  choice.runner_up = TWO_STEP;
  CHECK_REASON(&choice, m, NULL,
               "The choice: 3-step (%s).\n"
               "It is 1.60 times as fast as standard.\n"
               "What decides is latency: 10 us with 3-step, 60 us with standard.\n"
               "The runner-up, 2-step, would take 0.80 times as long.\n"
               "What binds, with 48 %% of its price: the bytes of the busiest rank: fewer, or "
               "better spread, would help most.\n",
               grove_route_three_step.description);
  choice.chosen = STANDARD; /* because a gain of 2 would not be enough */
  choice.runner_up = TWO_STEP;
  choice.needed = 2.5;
  CHECK_REASON(&choice, m, NULL,
               "The choice: standard (%s).\n"
               "The runner-up, 2-step, would be 2.00 times as fast by the model. Standard is left "
               "for a gain of\nmore than 2.5 with a profile that was not measured.\n"
               "What binds, with 60 %% of its price: %s.\n",
               standard, fewer);
  grove_machine *measured = machine_of("alpha cpu off-node any 1 s measured 2026-11-15\n");
  choice.needed = 1.05;
  CHECK_REASON(&choice, measured, NULL,
               "The choice: standard (%s).\n"
               "The runner-up, 2-step, would be 2.00 times as fast by the model. Standard is left "
               "for a gain of\nmore than 1.05 with a profile that was measured.\n"
               "What binds, with 60 %% of its price: %s.\n",
               standard, fewer);
  CHECK_REASON(&choice, m, "it is so",
               "The choice: standard (%s).\n"
               "No other route can help: it is so.\n"
               "What binds, with 60 %% of its price: %s.\n",
               standard, fewer);
  grove_machine_free(&measured);
  grove_machine_free(&m);
}

/* Standard is the fastest, alone, or one of several as fast. */
static void standard_wins(void)
{
  static const double slow[GROVE_TERMS] = {60, 30, 0, 0, 0, 10, 50, 0};
  grove_machine *m = machine_of("");
  grove_choice choice = example();
  const char *fewer = "the number of messages between nodes: fewer of them would help most";
  choice.candidates[TWO_STEP] = candidate(TWO_STEP, slow);
  choice.chosen = STANDARD;
  choice.runner_up = TWO_STEP;
  CHECK_REASON(&choice, m, NULL,
               "The choice: standard (%s).\n"
               "The runner-up, 2-step, would take 1.50 times as long.\n"
               "What decides is copy: 0 us with standard, 50 us with 2-step.\n"
               "What binds, with 60 %% of its price: %s.\n",
               grove_route_standard.description, fewer);
  choice.runner_up = -1;
  CHECK_REASON(&choice, m, NULL,
               "The choice: standard (%s).\n"
               "What binds, with 60 %% of its price: %s.\n",
               grove_route_standard.description, fewer);
  static const double nothing[GROVE_TERMS] = {0};
  choice.candidates[STANDARD] = candidate(STANDARD, nothing);
  CHECK_REASON(&choice, m, NULL, "The choice: standard (%s).\nThere is nothing to send.\n",
               grove_route_standard.description);
  grove_machine_free(&m);
}

static void what_binds(void)
{
  static const char *const words[GROVE_TERMS] = {
    "the number of messages between nodes: fewer of them would help most",
    "the bytes of the busiest rank: fewer, or better spread, would help most",
    "the bytes that the ranks of a node push through one interface",
    "the search for receives: a rank has too many messages at once",
    "a link that many messages share",
    "the number of messages inside nodes",
    "the bytes copied inside nodes",
    "the work of the ranks, which have too few cores for it",
  };
  grove_machine *m = machine_of("");
  for (int t = 0; t < GROVE_TERMS; t++) {
    double us[GROVE_TERMS];
    for (int k = 0; k < GROVE_TERMS; k++) us[k] = k == t ? 13 : 1;
    grove_choice choice = {.n = 1, .runner_up = -1, .candidates = {candidate(STANDARD, us)}};
    CHECK_REASON(&choice, m, NULL,
                 "The choice: standard (%s).\nWhat binds, with 65 %% of its price: %s.\n",
                 grove_route_standard.description, words[t]);
  }
  grove_machine_free(&m);
}

/* What a profile lacks for the messages that there are. */
static void lacks(void)
{
#define OFF    "alpha cpu off-node any 1 s m\nbeta cpu off-node any 1 s/B m\n"
#define SOCKET "alpha cpu on-socket any 1 s m\nbeta cpu on-socket any 1 s/B m\n"
#define NODE   "alpha cpu on-node any 1 s m\nbeta cpu on-node any 1 s/B m\n"
#define SHARED "flag cpu any - 1 s m\nshared cpu on-node 2 1 s/B m\n"
  static const struct {
    const char *rows;
    int on, off;
    const char *lacks;
  } row[] = {
    {"", 1, 1, "alpha and beta of messages between nodes and inside a node"},
    {"", 0, 1, "alpha and beta of messages between nodes"},
    {"", 1, 0, "alpha and beta of messages inside a node"},
    {"", 0, 0, "a number that the price needs"},
    {OFF, 1, 1, "alpha and beta of messages inside a node"},
    {"alpha cpu off-node any 1 s m\n", 0, 1, "alpha and beta of messages between nodes"},
    {SHARED, 1, 1, "alpha and beta of messages between nodes"},
    {SOCKET, 1, 1, "alpha and beta of messages between nodes"},
    {NODE, 1, 1, "alpha and beta of messages between nodes"},
    {"flag cpu any - 1 s m\n", 1, 0, "alpha and beta of messages inside a node"},
    {OFF SOCKET, 1, 1, "a number that the price needs"},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    grove_machine *m = machine_of(row[i].rows);
    grove_choice choice = example();
    char got[GROVE_LACKS_BYTES], want[GROVE_LACKS_BYTES];
    choice.candidates[0].estimate.messages[0] = row[i].on;
    choice.candidates[0].estimate.messages[1] = row[i].off;
    choice.chosen = 0;
    choice.candidates[0].seconds = NAN;
    grove_choice_lacks(&choice, m, got);
    snprintf(want, sizeof want, "the profile made lacks %s", row[i].lacks);
    CHECK(strcmp(got, want) == 0, "case %zu: '%s', not '%s'", i, got, want);
    CHECK_REASON(&choice, m, NULL, "No price, and so no choice: the profile made lacks %s.\n",
                 row[i].lacks);
    grove_machine_free(&m);
  }
}

static void gains(void)
{
  grove_choice choice = example();
  CHECK(fabs(grove_choice_gain(&choice) - 1.25) < 1e-12, "%g", grove_choice_gain(&choice));
  choice.runner_up = 0;
  CHECK(fabs(grove_choice_gain(&choice) - 2) < 1e-12, "%g", grove_choice_gain(&choice));
  choice.runner_up = -1;
  CHECK(isnan(grove_choice_gain(&choice)), "a gain over nobody");
  choice.runner_up = 2;
  choice.candidates[TWO_STEP].seconds = 0;
  CHECK(isnan(grove_choice_gain(&choice)), "a gain over nothing");
}

/* ---- the numbers ---- */

static void inputs(void)
{
  grove_machine *m = machine_of("about a machine on paper\n"
                                "alpha cpu off-node short 1 s measured 2026-11-15\n"
                                "sockets - node - 2 1 assumed: two\n"
                                "alpha cpu off-node rend 1 s measured 2026-11-15\n"
                                "beta cpu off-node any 1 s/B measured 2026-11-15\n"
                                "alpha cpu on-node any 1 s a paper\n"
                                "future cpu on-node any 1 s a paper\n"
                                "gamma cpu any - 1 s assumed: as elsewhere\n"
                                "from cpu off-node rend 9 B a paper\n");
  grove_choice_print_inputs(m, open_page());
  CHECK_PAGE("The numbers are those of the profile made: a machine on paper\n"
             "  measured    alpha, beta (3 numbers)\n"
             "  published   alpha, from (2 numbers)\n"
             "  assumed     sockets, gamma (2 numbers)\n"
             "  not told    ranks; cores; alpha and beta on-socket, on-node; injection; delta; "
             "flag; shared; LogGP\n");
  grove_machine_free(&m);
  m = machine_of("gamma cpu any - 1 s a paper\n");
  grove_choice_print_inputs(m, open_page());
  CHECK(fclose(page.file) == 0, "no memory");
  CHECK(strstr(page.text, "  published   gamma (1 number)\n  not told    sockets; ranks; cores; "),
        "%s", page.text);
  free(page.text);
  grove_machine_free(&m);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "route/prints");
  table();
  reasons();
  standard_wins();
  what_binds();
  lacks();
  gains();
  inputs();
  return test_end();
}
