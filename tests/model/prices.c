/* The price of a manifest against values worked out by hand: which message pays what, who shares
 * what with whom, and what a profile that knows less comes to. */
#include "check.h"
#include "model/price.h"

#include <math.h>
#include <string.h>

enum { RANKS = 8 };

/* Two nodes of four ranks, two sockets each, a host a node. */
static grove_place place[RANKS];
static grove_topo topo = {.nranks = RANKS, .nnodes = 2, .domain_size = 4, .place = place};

static void sit(void)
{
  for (int r = 0; r < RANKS; r++)
    place[r] = (grove_place){.domain = r / 4,
                             .node = r / 4,
                             .socket = r / 2 % 2,
                             .local = r % 4,
                             .node_begin = 4 * r,
                             .node_rank = r};
}

/* Round numbers: off node 10 us and 1 ns a byte below 1000 bytes, 20 us and 0.5 ns from there. */
static grove_machine *machine(void)
{
  grove_machine *m = NULL;
  CHECK_OK(grove_machine_create("round", &m));
  static const struct {
    const char *term, *where, *range;
    double value;
    const char *unit;
  } row[] = {
    {"alpha", "on-socket", "any", 1e-6, "s"},   {"beta", "on-socket", "any", 1e-10, "s/B"},
    {"alpha", "on-node", "any", 2e-6, "s"},     {"beta", "on-node", "any", 2e-10, "s/B"},
    {"alpha", "off-node", "eager", 10e-6, "s"}, {"beta", "off-node", "eager", 1e-9, "s/B"},
    {"alpha", "off-node", "rend", 20e-6, "s"},  {"beta", "off-node", "rend", 0.5e-9, "s/B"},
    {"from", "off-node", "rend", 1000, "B"},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++)
    CHECK_OK(grove_machine_add(m, row[i].term, "cpu", row[i].where, row[i].range, row[i].value,
                               row[i].unit, "by hand"));
  CHECK_OK(grove_machine_digest(m));
  return m;
}

static void add_row(grove_machine *m, const char *term, const char *where, const char *range,
                    double value, const char *unit)
{
  CHECK_OK(grove_machine_add(m, term, strcmp(term, "cores") == 0 ? "-" : "cpu", where, range, value,
                             unit, "by hand"));
  CHECK_OK(grove_machine_digest(m));
}

static void ship(grove_manifest *x, int stage, int from, int to, int64_t units)
{
  CHECK_OK(grove_manifest_add(x, stage, from, to, units));
}

static grove_price price(const grove_machine *m, grove_manifest *x, const grove_pricing *how)
{
  grove_price p;
  CHECK_OK(grove_price_manifest(m, &topo, x, how, &p));
  grove_manifest_free(x);
  *x = (grove_manifest){0};
  return p;
}

static const grove_pricing messages = {.unit_bytes = 1, .order = GROVE_QUEUE_TYPICAL};
static const grove_pricing memory = {.unit_bytes = 1, .shared_memory = 1};

#define NEAR(got, want)                                                                            \
  do {                                                                                             \
    double got_ = (got), want_ = (want);                                                           \
    CHECK(fabs(got_ - want_) <= 1e-9 * fabs(want_) + 1e-18, #got " is %.12g, not %.12g", got_,     \
          want_);                                                                                  \
  } while (0)

/* Each message by where it goes and how large it is; the terms add up. */
static void single_messages(void)
{
  grove_machine *m = machine();
  grove_manifest x = {0};
  NEAR(price(m, &x, &messages).seconds, 0.0); /* nothing is sent */
  ship(&x, 0, 0, 4, 100);
  grove_price p = price(m, &x, &messages);
  NEAR(p.term[GROVE_TERM_LATENCY], 10e-6);
  NEAR(p.term[GROVE_TERM_BANDWIDTH], 100 * 1e-9);
  NEAR(p.seconds, 10.1e-6);
  ship(&x, 0, 0, 4, 1000); /* the first of the other protocol */
  NEAR(price(m, &x, &messages).seconds, 20e-6 + 1000 * 0.5e-9);
  ship(&x, 0, 0, 4, 0); /* no bytes: its latency all the same */
  NEAR(price(m, &x, &messages).seconds, 10e-6);
  ship(&x, 0, 0, 1, 100);
  NEAR(price(m, &x, &messages).seconds, 1e-6 + 100 * 1e-10);
  ship(&x, 0, 0, 2, 100);
  p = price(m, &x, &messages);
  NEAR(p.term[GROVE_TERM_ON_NODE], 2e-6 + 100 * 2e-10);
  NEAR(p.seconds, p.term[GROVE_TERM_ON_NODE]);
  grove_pricing doubles = messages;
  doubles.unit_bytes = 8;
  ship(&x, 0, 0, 4, 125); /* 1000 bytes */
  NEAR(price(m, &x, &doubles).seconds, 20e-6 + 1000 * 0.5e-9);
  grove_machine_free(&m);
}

/* A rank pays for all that it sends or for all that comes; the slowest counts; a rank's stages add
 * up. */
static void several_messages(void)
{
  grove_machine *m = machine();
  grove_manifest x = {0};
  for (int to = 4; to < 7; to++) ship(&x, 0, 0, to, 100);
  NEAR(price(m, &x, &messages).seconds, 3 * 10.1e-6); /* alpha m + beta s */
  for (int from = 0; from < 3; from++) ship(&x, 0, from, 4, 100);
  NEAR(price(m, &x, &messages).seconds, 3 * 10.1e-6); /* the receiver's */
  ship(&x, 0, 0, 4, 100);
  ship(&x, 0, 4, 0, 100);
  ship(&x, 0, 1, 5, 200);
  NEAR(price(m, &x, &messages).seconds, 10.2e-6);
  ship(&x, 1, 0, 4, 300);
  ship(&x, 0, 0, 4, 100); /* stages in any order */
  ship(&x, 1, 1, 5, 100);
  NEAR(price(m, &x, &messages).seconds, 10.1e-6 + 10.3e-6);
  grove_machine_free(&m);
}

/* With LogGP only the first message costs what a ping-pong does. */
static void streams(void)
{
  grove_machine *m = machine();
  grove_manifest x = {0};
  add_row(m, "L", "off-node", "0..", 5e-6, "s");
  add_row(m, "o_s", "off-node", "0..", 1e-6, "s");
  add_row(m, "o_r", "off-node", "0..", 1e-6, "s");
  add_row(m, "g", "off-node", "0..", 3e-6, "s");
  add_row(m, "G", "off-node", "0..", 0.4e-9, "s/B");
  ship(&x, 0, 0, 4, 100);
  NEAR(price(m, &x, &messages).seconds, 10.1e-6);
  for (int to = 4; to < 8; to++) ship(&x, 0, 0, to, 100);
  grove_price p = price(m, &x, &messages);
  NEAR(p.term[GROVE_TERM_LATENCY], 10e-6 + 3 * 3e-6);
  NEAR(p.term[GROVE_TERM_BANDWIDTH], 100 * 1e-9 + 3 * 100 * 0.4e-9);
  NEAR(p.seconds, 10.1e-6 + 3 * 3.04e-6);
  /* Whose messages come from several senders is busy with each for o_r. */
  for (int from = 0; from < 4; from++) ship(&x, 0, from, 4, 100);
  NEAR(price(m, &x, &messages).seconds, 10.1e-6 + 3 * (1e-6 + 100 * 0.4e-9)); /* and the link, G */
  add_row(m, "injection", "off-node", "any", 0.1e-9, "s/B");
  for (int from = 0; from < 4; from++) ship(&x, 0, from, 4, 100);
  NEAR(price(m, &x, &messages).seconds, 10.1e-6 + 3 * 1e-6); /* all bytes together: in the first */
  for (int from = 0; from < 4; from++) ship(&x, 0, from, 4, 900);
  NEAR(price(m, &x, &messages).seconds, 10.9e-6 + 3 * 1e-6);
  grove_machine_free(&m);
}

/* ppn R_b < R_N: the postal model. Else the node's bytes over R_N (eq. 2.2). */
static void injection(void)
{
  grove_machine *m = machine();
  grove_manifest x = {0};
  add_row(m, "injection", "off-node", "any", 0.3e-9, "s/B");
  for (int k = 1; k <= 4; k++) {
    for (int r = 0; r < k; r++) ship(&x, 0, r, 4 + r, 10000);
    grove_price p = price(m, &x, &messages);
    NEAR(p.term[GROVE_TERM_BANDWIDTH], 10000 * 0.5e-9);
    NEAR(p.seconds, 20e-6 + fmax(10000 * 0.5e-9, k * 10000 * 0.3e-9));
  }
  ship(&x, 0, 0, 4, 10000); /* what crosses the other way shares nothing */
  ship(&x, 0, 5, 1, 10000);
  NEAR(price(m, &x, &messages).seconds, 20e-6 + 10000 * 0.5e-9);
  grove_machine_free(&m);
}

static void queue_and_contention(void)
{
  grove_machine *m = machine();
  grove_manifest x = {0};
  add_row(m, "gamma", "any", "-", 1e-7, "s");
  add_row(m, "delta", "off-node", "-", 1e-9, "s/B");
  static const double steps[] = {
    [GROVE_QUEUE_BEST] = 4, [GROVE_QUEUE_TYPICAL] = 16 / 3.0, [GROVE_QUEUE_WORST] = 16};
  for (int order = 0; order < 3; order++) {
    grove_pricing how = {.unit_bytes = 1, .order = (grove_queue_order)order, .link_bytes = 5000};
    for (int from = 0; from < 4; from++) ship(&x, 0, from, 4, 100);
    grove_price p = price(m, &x, &how);
    NEAR(p.term[GROVE_TERM_QUEUE], 1e-7 * steps[order]);
    NEAR(p.term[GROVE_TERM_CONTENTION], 5000 * 1e-9);
    NEAR(p.seconds, 4 * 10.1e-6 + 1e-7 * steps[order] + 5e-6);
    ship(&x, 0, 0, 1, 100); /* no link is crossed, one receive is found at once */
    NEAR(price(m, &x, &how).seconds, 1e-6 + 100 * 1e-10 + 1e-7);
  }
  grove_machine_free(&m);
}

/* Flags and copies; where the profile knows neither, messages. */
static void shared_memory(void)
{
  grove_machine *m = machine();
  grove_manifest x = {0};
  ship(&x, 0, 0, 1, 100);
  NEAR(price(m, &x, &memory).seconds, 1e-6 + 100 * 1e-10);
  add_row(m, "flag", "on-socket", "-", 1e-7, "s");
  add_row(m, "flag", "on-node", "-", 3e-7, "s");
  add_row(m, "shared", "on-node", "2", 1e-10, "s/B");
  add_row(m, "shared", "on-node", "4", 3e-10, "s/B");
  ship(&x, 0, 0, 1, 100);
  grove_price p = price(m, &x, &memory);
  NEAR(p.term[GROVE_TERM_ON_NODE], 1e-7);
  NEAR(p.term[GROVE_TERM_COPY], 100 * 1e-10);
  NEAR(p.seconds, 1e-7 + 1e-8);
  ship(&x, 0, 0, 1, 100); /* four ranks of the node are at it */
  ship(&x, 0, 2, 3, 100);
  NEAR(price(m, &x, &memory).seconds, 1e-7 + 100 * 3e-10);
  ship(&x, 0, 0, 2, 100); /* the other socket */
  NEAR(price(m, &x, &memory).seconds, 3e-7 + 1e-8);
  ship(&x, 0, 0, 4, 100); /* off node it makes no difference */
  NEAR(price(m, &x, &memory).seconds, 10.1e-6);
  grove_machine_free(&m);
}

/* Ranks that outnumber cores wait for them: processor time over cores, host by host. */
static void few_cores(void)
{
  grove_machine *m = machine();
  grove_manifest x = {0};
  add_row(m, "L", "off-node", "0..", 1e-6, "s");
  add_row(m, "o_s", "off-node", "0..", 8e-6, "s");
  add_row(m, "o_r", "off-node", "0..", 4e-6, "s");
  add_row(m, "g", "off-node", "0..", 8e-6, "s");
  add_row(m, "G", "off-node", "0..", 0, "s/B");
  for (int r = 0; r < 4; r++) ship(&x, 0, r, 4 + r, 0);
  NEAR(price(m, &x, &messages).seconds, 10e-6); /* cores are not told: one each */
  add_row(m, "cores", "node", "-", 2, "1");
  for (int r = 0; r < 4; r++) ship(&x, 0, r, 4 + r, 0);
  grove_price p = price(m, &x, &messages);
  NEAR(p.seconds, 4 * 8e-6 / 2);
  NEAR(p.term[GROVE_TERM_CORES], 16e-6 - 10e-6);
  add_row(m, "crowd-turn", "off-node", "-", 50e-6, "s");
  add_row(m, "crowd-message", "off-node", "-", 5e-6, "s");
  add_row(m, "crowd-byte", "off-node", "-", 1e-9, "s/B");
  for (int r = 0; r < 4; r++) { /* there and back: each rank sends one message and receives one */
    ship(&x, 0, r, 4 + r, 1000);
    ship(&x, 0, 4 + r, r, 1000);
  }
  NEAR(price(m, &x, &messages).seconds, 50e-6 + 5e-6 + 1000 * 1e-9);
  ship(&x, 0, 0, 4, 1000); /* one of eight ends that a host could have */
  NEAR(price(m, &x, &messages).seconds, 50e-6 + (5e-6 + 1000 * 1e-9) / 8);
  m->crowd[1].turn = NAN;
  for (int r = 0; r < RANKS; r++) place[r].domain = 0; /* all on one host */
  for (int r = 0; r < 4; r++) ship(&x, 0, r, 4 + r, 0);
  NEAR(price(m, &x, &messages).seconds, 4 * 12e-6 / 2);
  sit();
  /* A rank that sends and receives is busy with both. */
  for (int k = 0; k < 2; k++) ship(&x, 0, 4 * k, 4 - 4 * k, 0);
  NEAR(price(m, &x, &messages).seconds, 12e-6);
  grove_machine_free(&m);
}

static double price_node(const grove_machine *m, int node, const grove_manifest *x)
{
  grove_price p;
  CHECK_OK(grove_price_node(m, &topo, node, x, &messages, &p));
  return p.seconds;
}

/* A node's price is that of its own ranks, one stage behind the other. */
static void one_node(void)
{
  grove_machine *m = machine();
  grove_manifest x = {0};
  ship(&x, 0, 0, 1, 100); /* node 0: 1.01 us, then 10.1 us and as much again */
  ship(&x, 1, 0, 4, 100);
  ship(&x, 1, 0, 5, 100);
  ship(&x, 2, 4, 5, 200); /* node 1: 10.1 us, then 1.02 us */
  NEAR(price_node(m, 0, &x), 1.01e-6 + 20.2e-6);
  NEAR(price_node(m, 1, &x), 10.1e-6 + 1.02e-6);
  grove_manifest_reverse(&x); /* who sent two messages receives them */
  CHECK(x.shipments[3].stage == 0 && x.shipments[3].from == 5 && x.shipments[3].to == 4,
        "what came last goes first");
  NEAR(price_node(m, 0, &x), 20.2e-6); /* what rank 0 gets of its own node is there long before */
  NEAR(price(m, &x, &messages).seconds,
       1.02e-6 + 20.2e-6); /* who knows all knows when they begin */
  NEAR(price_node(m, 0, &x), 0.0);
  /* What goes between nodes from a hub is not packed, nor what goes on inside the other node. */
  add_row(m, "pack", "any", "0..", 1e-8, "s/B");
  ship(&x, 0, 0, 1, 100);
  ship(&x, 1, 1, 4, 100);
  ship(&x, 2, 4, 5, 100);
  NEAR(price_node(m, 0, &x), 1.01e-6 + 1e-6 + 10.1e-6);
  NEAR(price_node(m, 1, &x), 10.1e-6 + 1.01e-6);
  ship(&x, 1, 4, 5, 100); /* at the same time directly */
  NEAR(price_node(m, 1, &x), 10.1e-6 + 1.01e-6);
  ship(&x, 1, 6, 7, 1000); /* nobody waits for it */
  NEAR(price_node(m, 1, &x), 10.1e-6 + 1.01e-6);
  ship(&x, 1, 6, 7, 2000);
  NEAR(price_node(m, 1, &x), 2e-6 + 3000 * 1.01e-8);
  grove_manifest_free(&x);
  grove_machine_free(&m);
}

/* Ranks wait for what they pass on, and for nothing else. */
static void chains(void)
{
  grove_machine *m = machine();
  grove_manifest x = {0};
  /* The slowest ranks of two stages, each with its own work, do not add up. */
  for (int k = 0; k < 3; k++) ship(&x, 0, 0, 4 + k, 100);
  for (int k = 0; k < 3; k++) ship(&x, 1, 1, 4 + k, 100);
  NEAR(price(m, &x, &messages).seconds, 3 * 10.1e-6);
  /* What goes on to another node is waited for: the last of two who send it. */
  ship(&x, 0, 1, 0, 100);
  ship(&x, 0, 2, 0, 100);
  ship(&x, 1, 0, 4, 100);
  NEAR(price(m, &x, &messages).seconds, 1.01e-6 + 2.02e-6 + 10.1e-6);
  /* So is what has come from one; not what belongs to who passes on something else. */
  ship(&x, 0, 0, 4, 100);
  ship(&x, 0, 5, 4, 5000);
  ship(&x, 1, 4, 6, 100);
  NEAR(price(m, &x, &messages).seconds, 10.1e-6 + 2.02e-6);
  /* Nor for those to begin who send it what stays: rank 4 at 11.11 us. */
  ship(&x, 0, 1, 0, 100);
  ship(&x, 1, 0, 4, 100);
  ship(&x, 2, 4, 6, 100);
  ship(&x, 3, 6, 7, 20000);
  NEAR(price(m, &x, &messages).seconds, 1.01e-6 + 10.1e-6 + 2.02e-6);
  /* A rank that is late makes those late who wait for it, not the others. */
  ship(&x, 0, 1, 0, 100);
  ship(&x, 1, 0, 4, 100);
  ship(&x, 1, 2, 5, 100);
  ship(&x, 2, 4, 6, 100);
  ship(&x, 2, 5, 7, 300);
  NEAR(price(m, &x, &messages).seconds, 1.01e-6 + 10.1e-6 + 2.02e-6);
  grove_machine_free(&m);
}

/* Other nodes are taken to be as far as this one: its senders' mean. */
static void other_nodes(void)
{
  grove_machine *m = machine();
  grove_manifest x = {0};
  ship(&x, 0, 1, 0, 100); /* node 0 gathers: rank 0 sends at 1.01 us, rank 2 at once */
  ship(&x, 1, 0, 4, 100);
  ship(&x, 1, 2, 5, 100);
  ship(&x, 1, 6, 3, 100);
  ship(&x, 2, 3, 1, 100);
  NEAR(price_node(m, 0, &x), (11.11e-6 + 10.1e-6) / 2 + 2.02e-6);
  NEAR(price_node(m, 1, &x), 10.1e-6);
  NEAR(price(m, &x, &messages).seconds, 10.1e-6 + 2.02e-6);
  grove_machine_free(&m);
}

/* Nodes that share a host share its cores: each takes the others to be as busy as itself. */
static void nodes_on_a_host(void)
{
  grove_machine *m = machine();
  grove_manifest x = {0};
  add_row(m, "L", "off-node", "0..", 1e-6, "s");
  add_row(m, "o_s", "off-node", "0..", 8e-6, "s");
  add_row(m, "o_r", "off-node", "0..", 8e-6, "s");
  add_row(m, "cores", "node", "-", 2, "1");
  for (int r = 0; r < 4; r++) ship(&x, 0, r, 4 + r, 0);
  NEAR(price_node(m, 0, &x), 4 * 8e-6 / 2);
  topo.domain_size = 8;
  for (int r = 0; r < RANKS; r++) place[r].domain = 0;
  NEAR(price_node(m, 0, &x), 8 * 8e-6 / 2);
  NEAR(price(m, &x, &messages).seconds, 8 * 8e-6 / 2);
  topo.domain_size = 4;
  sit();
  grove_machine_free(&m);
}

static void whole_numbers(void)
{
  CHECK(grove_price_picoseconds(1.5e-6) == 1500000, "%lld",
        (long long)grove_price_picoseconds(1.5e-6));
  CHECK(grove_price_picoseconds(NAN) == INT64_MAX && isnan(grove_price_seconds(INT64_MAX)),
        "what is not known is a number");
  NEAR(grove_price_seconds(1500000), 1.5e-6);
}

/* The same messages with their data in each memory that Lassen has numbers of. */
static void other_memories(void)
{
  static const struct {
    double two, far, near, injection;
  } want[GROVE_MEMORIES] = {
    [GROVE_CPU] = {2.44e-6 + 7.76e-6 + 0.379e-6 + 1.594e-6, 9.25e-7 + 1.19e-7, 3.67e-7 + 1.32e-8,
                   (4 * 4.19e-11 - 7.97e-11) * 1e6},
    [GROVE_GPU] = {8.95e-6 + 1.10e-5 + 0.172e-6 + 3.44e-6, 2.02e-5 + 2.15e-8, 1.87e-6 + 5.79e-9, 0},
    [GROVE_GPU_NOGDR] = {4.56e-5 + 8.72e-5 + 0.603e-6 + 1.592e-6, 4.27e-5 + 6.24e-7,
                         4.15e-5 + 6.08e-7, 0},
  };
  grove_machine *m = NULL;
  grove_manifest x = {0};
  CHECK_OK(grove_machine_open("lassen", &m));
  for (int k = 0; k < GROVE_MEMORIES; k++) {
    const grove_pricing how = {.unit_bytes = 1, .memory = (grove_memory_kind)k};
    ship(&x, 0, 0, 4, 1000);
    ship(&x, 0, 0, 5, 20000);
    NEAR(price(m, &x, &how).seconds, want[k].two);
    ship(&x, 0, 0, 2, 100); /* another socket */
    NEAR(price(m, &x, &how).seconds, want[k].far);
    ship(&x, 0, 0, 1, 100);
    NEAR(price(m, &x, &how).seconds, want[k].near);
    for (int r = 0; r < 4; r++) ship(&x, 0, r, 4 + r, 1000000); /* all at once, off the node */
    NEAR(price(m, &x, &how).term[GROVE_TERM_INJECTION], want[k].injection);
  }
  grove_machine_free(&m);
}

/* What is not known cannot be priced, and does not hide behind what is. */
static void unknown(void)
{
  grove_machine *m = NULL;
  grove_manifest x = {0};
  CHECK_OK(grove_machine_create("nothing", &m));
  CHECK_OK(grove_machine_digest(m));
  ship(&x, 0, 0, 4, 1);
  CHECK(isnan(price(m, &x, &messages).seconds), "a price without a machine");
  NEAR(price(m, &x, &messages).seconds, 0.0);
  grove_machine_free(&m);
  m = machine(); /* one socket's numbers serve the other's */
  for (int i = 0; i < m->nrows; i++)
    if (strcmp(m->rows[i].locality, "on-node") == 0) strcpy(m->rows[i].term, "x");
  CHECK_OK(grove_machine_digest(m));
  ship(&x, 0, 0, 2, 100);
  NEAR(price(m, &x, &messages).seconds, 1e-6 + 100 * 1e-10);
  grove_machine_free(&m);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "model/prices");
  sit();
  single_messages();
  several_messages();
  streams();
  injection();
  queue_and_contention();
  shared_memory();
  few_cores();
  one_node();
  chains();
  other_nodes();
  nodes_on_a_host();
  whole_numbers();
  other_memories();
  unknown();
  return test_end();
}
