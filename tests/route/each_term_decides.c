/* The choice between routes on machines made so that one number decides: latency, bandwidth,
 * injection, the queue, packing, copies in shared memory, cores, crowds. Prices are worked out by
 * hand from the messages that each route sends, both ways; and how much faster another route has to
 * be, to the last digit. No communication: this rank is the leader of every node in turn. */
#include "check.h"
#include "near.h"
#include "profile.h"
#include "route/choose.h"

#include <math.h>
#include <string.h>

enum { STANDARD, TWO_STEP, THREE_STEP, SPLIT, NONE = -1 };

/* ---- agreements of one rank ---- */

/* What each leader found, and in the end the most of all. */
static struct {
  int n;
  int64_t most[GROVE_ROUTES];
} agreed;

grove_status __wrap_grove_context_agree(grove_context *ctx, grove_status mine, int64_t *values,
                                        int n);
grove_status __wrap_grove_context_agree(grove_context *ctx, grove_status mine, int64_t *values,
                                        int n)
{
  (void)ctx;
  agreed.n = n;
  for (int i = 0; i < n; i++) {
    if (values[i] > agreed.most[i]) agreed.most[i] = values[i];
    values[i] = agreed.most[i];
  }
  return mine;
}

/* ---- who needs what ---- */

/* Two nodes of four ranks. Every rank of the second needs something of every rank of the first: the
 * same two values, or one value each. */
enum { RANKS = 8, EACH = 4 };
static grove_place place[RANKS];

static grove_demand demand_of(const grove_topo *topo, int same)
{
  grove_edge edges[64];
  grove_demand d = {0};
  int64_t n = 0;
  for (int to = EACH; to < RANKS; to++)
    for (int from = 0; from < EACH; from++)
      for (int i = 0; i < (same ? 2 : 1); i++)
        edges[n++] = (grove_edge){.leaf_rank = to, .root_rank = from, .root = same ? i : to};
  CHECK_OK(grove_demand_create(edges, n, topo, &(grove_build){.share = 1}, &d));
  for (int64_t i = 0; i < d.npairs; i++) d.pairs[i].places = NULL; /* which no leader knows */
  return d;
}

/* ---- a choice ---- */

typedef struct question {
  int distinct; /* one value each */
  int backward, both;
  int64_t bytes; /* of a value; 0: 1000 */
  int messages;  /* inside nodes too */
  int unshared;  /* the ranks of a node cannot share memory */
} question;

static grove_choice choose(grove_machine *m, const question *q)
{
  grove_context ctx = {
    .size = RANKS,
    .machine = m,
    .options = {.message_cap = 1000000,
                .transport_on_node = q->messages ? GROVE_ON_NODE_MPI : GROVE_ON_NODE_SHM},
    .shares_node = !q->unshared,
    .topo = {.nranks = RANKS, .domain_size = EACH, .place = place}};
  grove_choice choice;
  for (int r = 0; r < RANKS; r++) place[r] = (grove_place){.domain = r / EACH};
  CHECK_OK(grove_topo_assign(place, RANKS, EACH, "", 0, &ctx.topo.nnodes));
  memset(&agreed, 0, sizeof agreed);
  for (int leader = 0; leader < RANKS; leader += EACH) {
    ctx.rank = leader;
    grove_survey survey = {
      .ctx = &ctx, .share = 1, .leader = 1, .demand = demand_of(&ctx.topo, !q->distinct)};
    grove_question asked = {
      .unit_bytes = q->bytes > 0 ? q->bytes : 1000, .backward = q->backward, .both = q->both};
    CHECK_OK(grove_route_choose(&survey, &asked, &choice));
    grove_demand_free(&survey.demand);
  }
  CHECK(choice.n == GROVE_ROUTES && agreed.n == GROVE_ROUTES, "%d candidates", choice.n);
  return choice;
}

/* Prices in microseconds, rounded to a millionth of one as ranks agree upon them. */
#define CHOOSES(rows, asked, standard, two_step, three_step, route)                                \
  check(rows, (question)asked, (const double[]){standard, two_step, three_step}, route, __LINE__)

static void check(const char *rows, question q, const double *want, int route, int line)
{
  grove_machine *m = machine_of(rows);
  grove_choice choice = choose(m, &q);
  for (int i = 0; i < 3; i++) {
    double got = 1e6 * choice.candidates[i].seconds;
    CHECK(isnan(want[i]) ? isnan(got) : fabs(got - want[i]) <= 1.5e-6,
          "line %d: %s takes %.9g us, not %.9g", line, grove_routes[i]->name, got, want[i]);
  }
  /* All fits in one message, so split sends what 3-step does. */
  CHECK(isnan(want[2]) || choice.candidates[SPLIT].seconds == choice.candidates[THREE_STEP].seconds,
        "line %d: split takes %.9g us", line, 1e6 * choice.candidates[SPLIT].seconds);
  CHECK(choice.chosen == route, "line %d: %s is chosen", line, grove_routes[choice.chosen]->name);
  grove_machine_free(&m);
}

/* What a machine that knows messages says: between nodes and inside. */
#define NETWORK(alpha, beta)                                                                       \
  "alpha cpu off-node any " alpha " s m\nbeta cpu off-node any " beta " s/B m\n"
#define INSIDE(alpha, beta)                                                                        \
  "alpha cpu on-socket any " alpha " s m\nbeta cpu on-socket any " beta " s/B m\n"
#define MEMORY(flag, two, four)                                                                    \
  "flag cpu any - " flag " s m\nshared cpu on-node 2 " two " s/B m\nshared cpu on-node 4 " four    \
  " s/B m\n"

#define SAME                                                                                       \
  {                                                                                                \
    0                                                                                              \
  }
#define DISTINCT                                                                                   \
  {                                                                                                \
    .distinct = 1                                                                                  \
  }

/* ---- terms ----
 *
 * With A + B s between nodes and a + b s inside, s bytes being what a rank has for another one, the
 * routes take, where all need the same
 *
 *     standard  4 (A + B s)
 *     2-step    A + B s, then 3 (a + b s) on the second node
 *     3-step    A + 4 B s, then 3 (a + 4 b s) on the second node; before that 3 (a + b s) on the
 *               first
 *
 * and with values that differ
 *
 *     2-step    A + 4 B s, then 3 (a + b s)
 *     3-step    A + 16 B s, then, and before, 3 (a + 4 b s)
 */

static void by_messages(void)
{
  /* s is 2000: A 10, B s 2, a 1, b s 0.2 us */
  CHOOSES(NETWORK("10e-6", "1e-9") INSIDE("1e-6", "0.1e-9"), SAME, 48, 15.6, 23.4, TWO_STEP);
  /* Latency between nodes: s is 1000, B s and b s are 0.1 us; a is 1, A is 10 or 1. */
  CHOOSES(NETWORK("10e-6", "0.1e-9") INSIDE("1e-6", "0.1e-9"), DISTINCT, 40.4, 13.7, 15.8,
          TWO_STEP);
  CHOOSES(NETWORK("1e-6", "0.1e-9") INSIDE("1e-6", "0.1e-9"), DISTINCT, 4.4, 4.7, 6.8, STANDARD);
  /* Latency inside: a is 20. */
  CHOOSES(NETWORK("10e-6", "0.1e-9") INSIDE("20e-6", "0.1e-9"), DISTINCT, 40.4, 70.7, 72.8,
          STANDARD);
  /* Bytes between nodes: where all need the same, a quarter of them. B s is 20, A and a 0.1. */
  CHOOSES(NETWORK("0.1e-6", "10e-9") INSIDE("0.1e-6", "0.1e-9"), SAME, 80.4, 21.0, 82.8, TWO_STEP);
  CHOOSES(NETWORK("0.1e-6", "10e-9") INSIDE("0.1e-6", "0.1e-9"), DISTINCT, 40.4, 40.7, 161.6,
          STANDARD);
  /* Bytes inside: b s is 20. */
  CHOOSES(NETWORK("0.1e-6", "10e-9") INSIDE("0.1e-6", "10e-9"), SAME, 80.4, 80.4, 320.4, STANDARD);
}

/* Another way, another size, and there and back. */
static void by_question(void)
{
  static const char rows[] = NETWORK("10e-6", "1e-9") INSIDE("1e-6", "0.1e-9");
  /* Backwards 3-step gathers 3 (a + 4 b s) before it sends: the same. */
  check(rows, (question){.backward = 1}, (const double[]){48, 15.6, 23.4}, TWO_STEP, __LINE__);
  check(rows, (question){.both = 1}, (const double[]){96, 31.2, 46.8}, TWO_STEP, __LINE__);
  /* s is 16: 4 10.016; 10.016 + 3 1.0016; 10.064 + 3 1.0064 */
  check(rows, (question){.bytes = 8}, (const double[]){40.064, 13.0208, 13.0832}, TWO_STEP,
        __LINE__);
}

/* The second node's routes are held up by nothing but what comes to it. A is 0.5, B s 2; a 1 and b
 * s 1 us: standard 10, 2-step 8.5, which is not enough. */
#define NEARLY NETWORK("0.5e-6", "1e-9") INSIDE("1e-6", "0.5e-9")

static void by_one_more_number(void)
{
  CHOOSES(NEARLY, SAME, 10, 8.5, 23.5, STANDARD);
  /* The interface: 16 s and 4 s at 0.5 ns are 16 and 4 us, where a rank's own are 8 and 2; those of
   * 3-step are all one rank's. */
  CHOOSES(NEARLY "injection cpu off-node any 0.5e-9 s/B m\n", SAME, 18, 10.5, 23.5, TWO_STEP);
  /* The queue: 16 / 3 steps for four receives; 1 for the first and 3 (typically) for the next
   * three; 1 for the first, while the last are found long before their sender is through. */
  CHOOSES(NEARLY "gamma cpu any - 3e-6 s m\n", SAME, 26, 20.5, 26.5, STANDARD);
  /* Flags need no receives. With 2-step every rank of the second node is busy with six copies: 9 us
   * for 3 (flag + rate s). */
  CHOOSES(NEARLY MEMORY("1e-6", "0.5e-9", "0.5e-9") "gamma cpu any - 3e-6 s m\n", SAME, 26, 14.5,
          26.5, TWO_STEP);
  /* Packing: 4 s, s, s at 10 ns, on the first node. There 2-step takes 2.5, 3-step 2 (the last of
   * three, gathered) and 8.5. */
  CHOOSES(NEARLY "pack cpu any 0.. 10e-9 s/B m\n", SAME, 90, 22.5, 30.5, TWO_STEP);
  /* A contended link: nobody knows its bytes. */
  CHOOSES(NEARLY "delta cpu off-node - 1 s/B m\n", SAME, 10, 8.5, 23.5, STANDARD);
}

/* In shared memory: with four ranks at it on the second node, 3 (flag + rate s) and 3 (flag + 4
 * rate s). A 10, B s 2; flag 0.1 us. In the first case a rank is busy for longer than that with
 * 2-step's six copies: 6 (0.05 + 0.2) us. */
static void by_copies(void)
{
#define WITH(two, four)                                                                            \
  NETWORK("10e-6", "1e-9") INSIDE("1e-6", "0.1e-9") MEMORY("0.1e-6", two, four)
  CHOOSES(WITH("0.1e-9", "0.1e-9"), SAME, 48, 13.5, 20.7, TWO_STEP);
  CHOOSES(WITH("0.1e-9", "10e-9"), SAME, 48, 72.3, 258.3, STANDARD);
  /* Where messages are used, or memory cannot be shared, it makes no difference. */
  static const char rows[] = WITH("0.1e-9", "10e-9");
  check(rows, (question){.messages = 1}, (const double[]){48, 15.6, 23.4}, TWO_STEP, __LINE__);
  check(rows, (question){.unshared = 1}, (const double[]){48, 15.6, 23.4}, TWO_STEP, __LINE__);
#undef WITH
}

/* A message keeps each end's processor busy for half of its latency. A is 10 us, a 1. */
static void by_cores(void)
{
#define WITH(cores) NETWORK("10e-6", "0") INSIDE("1e-6", "0") "cores - node - " cores " 1 m\n"
  /* One core: 16 5 us; 4 5 and 24 0.5 us; 3-step needs 5 and 6 0.5 us of it, less than its chain
   * takes. */
  CHOOSES(WITH("1"), SAME, 80, 32, 13, THREE_STEP);
  /* Two: 40 us, as long as four messages take; 10 and 6. */
  CHOOSES(WITH("2"), SAME, 40, 16, 13, THREE_STEP);
#undef WITH
}

/* Four ranks on two cores: every stage takes as long as a turn at least. */
static void by_crowds(void)
{
  CHOOSES(NETWORK("10e-6", "1e-9") INSIDE("1e-6", "0.1e-9") "cores - node - 2 1 m\n"
                                                            "crowd-turn cpu off-node - 50e-6 s m\n"
                                                            "crowd-message cpu off-node - 0 s m\n"
                                                            "crowd-byte cpu off-node - 0 s/B m\n"
                                                            "crowd-turn cpu on-node - 20e-6 s m\n"
                                                            "crowd-message cpu on-node - 0 s m\n"
                                                            "crowd-byte cpu on-node - 0 s/B m\n",
          SAME, 50, 70, 70, STANDARD);
}

/* What has no price is not chosen; where standard has none nobody knows the gain. */
static void without_prices(void)
{
  CHOOSES(INSIDE("1e-6", "0.1e-9"), SAME, NAN, NAN, NAN, STANDARD);
  CHOOSES(NETWORK("10e-6", "1e-9"), SAME, 48, NAN, NAN, STANDARD);
}

/* ---- how much faster ---- */

static grove_choice decided(const grove_machine *m, double standard, double other)
{
  grove_choice choice = {
    .n = 2, .chosen = 7, .runner_up = 7, .candidates = {{.seconds = standard}, {.seconds = other}}};
  grove_choice_decide(&choice, m);
  return choice;
}

/* More than 1.3 times, or 1.05 times with numbers of this machine; as much is not enough. */
static void at_the_limit(void)
{
  static const struct {
    const char *rows;
    double needed;
  } row[] = {
    {"alpha cpu off-node any 1 s measured 2026-11-15\n"
     "beta cpu off-node any 1 s/B measured 2026-11-15\n",
     1.05},
    {"alpha cpu off-node any 1 s a paper\n"
     "beta cpu off-node any 1 s/B measured 2026-11-15\n",
     1.3},
    {"alpha cpu off-node any 1 s measured 2026-11-15\n"
     "beta cpu off-node any 1 s/B assumed: by hand\n",
     1.3},
    {"alpha cpu on-node any 1 s measured 2026-11-15\n"
     "gamma cpu any - 1 s measured 2026-11-15\n",
     1.3},
    {"", 1.3},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    test_case((int64_t)i);
    grove_machine *m = machine_of(row[i].rows);
    double needed = row[i].needed;
    CHECK(decided(m, needed, 1).needed == needed, "%g", decided(m, needed, 1).needed);
    CHECK(decided(m, needed, 1).chosen == 0, "chosen for just as much");
    CHECK(decided(m, nextafter(needed, 2), 1).chosen == 1, "not chosen for a little more");
    CHECK(decided(m, needed, 1).runner_up == 1 && decided(m, 2, 1).runner_up == 0, "runners-up");
    grove_machine_free(&m);
  }
  CHECK(decided(NULL, 1.3, 1).chosen == 0 && decided(NULL, 1.31, 1).chosen == 1, "no machine");
  CHECK(decided(NULL, 1, 1).runner_up == NONE, "the same price is the same messages");
  CHECK(decided(NULL, 1, 2).chosen == 0 && decided(NULL, 1, 2).runner_up == 1, "slower");
}

/* The cheapest of those that have a price; the runner-up is the next that sends something else. */
static void of_several(void)
{
  static const struct {
    double seconds[GROVE_ROUTES];
    int chosen, runner_up;
  } row[] = {
    {{10, 8, 9, 20}, 0, 1},          /* gains 1.25 */
    {{10, 8, 7, 20}, 2, 1},          /* 1.43 */
    {{10, 9, 7, 7}, 2, 1},           /* what costs the same is the same */
    {{10, 10, 10, 10}, 0, NONE},     /* so are all of these */
    {{10, NAN, 7, NAN}, 2, 0},       /* what has no price is not chosen */
    {{10, NAN, NAN, NAN}, 0, NONE},  /* and no runner-up */
    {{NAN, 8, 7, 6}, 0, 3},          /* nobody knows the gain */
    {{NAN, NAN, NAN, NAN}, 0, NONE}, /* nor anything */
    {{0, 0, 0, 0}, 0, NONE},         /* nothing is sent */
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    grove_choice choice = {.n = GROVE_ROUTES};
    for (int k = 0; k < GROVE_ROUTES; k++) choice.candidates[k].seconds = row[i].seconds[k];
    grove_choice_decide(&choice, NULL);
    CHECK(choice.chosen == row[i].chosen && choice.runner_up == row[i].runner_up,
          "case %zu: %d is chosen before %d", i, choice.chosen, choice.runner_up);
  }
}

/* ---- estimates ---- */

/* What is sent, of all ranks or of those of a node, and what that takes. */
static void estimates(void)
{
  grove_machine *m = machine_of(NETWORK("10e-6", "1e-9") INSIDE("1e-6", "0.1e-9"));
  grove_topo topo = {.nranks = RANKS, .domain_size = EACH, .place = place};
  const grove_pricing how = {.unit_bytes = 10};
  grove_manifest x = {0};
  grove_estimate e;
  for (int r = 0; r < RANKS; r++) place[r] = (grove_place){.domain = r / EACH};
  CHECK_OK(grove_topo_assign(place, RANKS, EACH, "", 0, &topo.nnodes));
  CHECK_OK(grove_manifest_add(&x, 0, 0, 1, 10));
  CHECK_OK(grove_manifest_add(&x, 0, 0, 2, 20));
  CHECK_OK(grove_manifest_add(&x, 1, 1, 4, 300));
  CHECK_OK(grove_manifest_add(&x, 2, 4, 5, 4000));
  CHECK_OK(grove_route_estimate(&x, m, &topo, -1, &how, &e));
  CHECK(e.stages == 3 && e.messages[0] == 3 && e.messages[1] == 1, "other messages");
  CHECK(e.bytes[0] == 40300 && e.bytes[1] == 3000, "other bytes");
  CHECK_NEAR(e.price.seconds, 2.03e-6 + 13e-6 + 5e-6);
  CHECK_OK(grove_route_estimate(&x, m, &topo, 0, &how, &e));
  CHECK(e.stages == 3 && e.messages[0] == 2 && e.messages[1] == 1, "other messages");
  CHECK(e.bytes[0] == 300 && e.bytes[1] == 3000, "other bytes");
  CHECK_NEAR(e.price.seconds, 2.03e-6 + 13e-6);
  CHECK_OK(grove_route_estimate(&x, m, &topo, 1, &how, &e));
  CHECK(e.messages[0] == 1 && e.messages[1] == 0 && e.bytes[0] == 40000, "other messages");
  CHECK_NEAR(e.price.seconds, 13e-6 + 5e-6);
  CHECK_OK(grove_route_estimate(&x, NULL, &topo, 1, &how, &e));
  CHECK(isnan(e.price.seconds) && e.messages[0] == 1, "a price without a machine");
  grove_manifest_free(&x);
  grove_machine_free(&m);
}

/* Units of a message of split: what the option says, or where rendezvous begins. */
static void caps(void)
{
  static const struct {
    const char *rows;
    int option;
    int64_t unit_bytes, units;
  } row[] = {
    {NETWORK("1e-6", "1e-9") "from cpu off-node rend 4000 B m\n", -1, 8, 500},
    {NETWORK("1e-6", "1e-9") "from cpu off-node rend 4000 B m\n", -1, 7, 571},
    {NETWORK("1e-6", "1e-9") "from cpu on-node rend 4000 B m\n", -1, 8, 1024},
    {NETWORK("1e-6", "1e-9"), -1, 1, 8192},              /* nobody says when */
    {"alpha cpu off-node rend 1e-6 s m\n", -1, 1, 8192}, /* at once */
    {NETWORK("1e-6", "1e-9") "from cpu off-node rend 4000 B m\n", 100, 8, 12},
    {NETWORK("1e-6", "1e-9"), 100, 100, 1},
    {NETWORK("1e-6", "1e-9"), 100, 101, 1},
    {NETWORK("1e-6", "1e-9"), 0, 8, 1},
    {NETWORK("1e-6", "1e-9"), 100, 0, 100},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    grove_machine *m = machine_of(row[i].rows);
    int64_t units = grove_split_cap(m, row[i].option, row[i].unit_bytes);
    CHECK(units == row[i].units, "case %zu: %lld units", i, (long long)units);
    grove_machine_free(&m);
  }
  CHECK(grove_split_cap(NULL, -1, 1) == 8192, "%lld", (long long)grove_split_cap(NULL, -1, 1));
}

static void alone(void)
{
  static const struct {
    int nranks, nnodes, transport;
    const char *why;
  } row[] = {
    {4, 1, GROVE_OFF_NODE_P2P, "all ranks are on one node"},
    {1, 1, GROVE_OFF_NODE_P2P, "all ranks are on one node"},
    {4, 4, GROVE_OFF_NODE_P2P, "every node has one rank"},
    {4, 3, GROVE_OFF_NODE_RMA, "only standard has this transport between nodes"},
    {4, 3, GROVE_OFF_NODE_NEIGHBOR, "only standard has this transport between nodes"},
    {4, 3, GROVE_OFF_NODE_P2P, NULL},
    {4, 3, GROVE_OFF_NODE_AUTO, NULL},
    {4, 3, GROVE_OFF_NODE_OFI, NULL},
    {3, 2, GROVE_OFF_NODE_P2P, NULL},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    grove_context ctx = {.topo = {.nranks = row[i].nranks, .nnodes = row[i].nnodes},
                         .options = {.transport_off_node = row[i].transport}};
    const char *why = grove_route_alone(&ctx.topo, row[i].transport);
    CHECK(why && row[i].why ? strcmp(why, row[i].why) == 0 : why == row[i].why, "case %zu: '%s'", i,
          why ? why : "it can help");
    CHECK(grove_route_can_help(&ctx) == !row[i].why, "case %zu", i);
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "route/each_term_decides");
  by_messages();
  by_question();
  by_one_more_number();
  by_copies();
  by_cores();
  by_crowds();
  without_prices();
  at_the_limit();
  of_several();
  estimates();
  caps();
  alone();
  return test_end();
}
