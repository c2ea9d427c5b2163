/* Who waits for whom: the price of a plan of several stages is that of its longest chain of
 * messages, by term, against chains worked out by hand; what ranks of a node and of a host share
 * while they are at it; and the same for one node, which does not know when others send. */
#include "check.h"
#include "model/price.h"
#include "near.h"
#include "profile.h"

#include <math.h>
#include <string.h>

enum {
  LATENCY = GROVE_TERM_LATENCY,
  BANDWIDTH = GROVE_TERM_BANDWIDTH,
  INJECTION = GROVE_TERM_INJECTION,
  ON_NODE = GROVE_TERM_ON_NODE,
  COPY = GROVE_TERM_COPY,
  CORES = GROVE_TERM_CORES
};

/* ---- where ranks sit ---- */

enum { MOST = 8 };
static grove_place place[MOST];
static grove_topo topo;

/* A digit a rank: its node, and the host that this is on. */
static void sit(const char *nodes, const char *hosts)
{
  char map[2 * MOST + 1] = "";
  topo = (grove_topo){.nranks = (int)strlen(nodes), .place = place};
  memset(place, 0, sizeof place);
  for (int r = 0; r < topo.nranks; r++) {
    const char node[] = {nodes[r], ',', '\0'};
    strcat(map, node);
    place[r].domain = hosts[r] - '0';
    topo.domain_size += hosts[r] == hosts[0];
  }
  map[2 * topo.nranks - 1] = '\0';
  CHECK_OK(grove_topo_assign(place, topo.nranks, 0, map, 0, &topo.nnodes));
}

/* Two nodes of four ranks, each a host. */
static void sit_on_two(void)
{
  sit("00001111", "00001111");
}

/* ---- what is sent ---- */

typedef struct shipment {
  int stage, from, to;
  int64_t bytes;
} shipment;

static grove_manifest x;

#define SHIP(...)                                                                                  \
  ship((const shipment[]){__VA_ARGS__}, sizeof(const shipment[]){__VA_ARGS__} / sizeof(shipment))
static void ship(const shipment *list, size_t n)
{
  grove_manifest_free(&x);
  x = (grove_manifest){0};
  for (size_t i = 0; i < n; i++)
    CHECK_OK(grove_manifest_add(&x, list[i].stage, list[i].from, list[i].to, list[i].bytes));
}

static const grove_pricing messages = {.unit_bytes = 1};
static const grove_pricing memory = {.unit_bytes = 1, .shared_memory = 1};

/* The terms that are named, and no others. */
#define PRICE(m, how, ...) check_all(m, how, (const double[GROVE_TERMS]){__VA_ARGS__}, __LINE__)
#define PRICE_NODE(m, node, ...)                                                                   \
  check_node(m, node, (const double[GROVE_TERMS]){__VA_ARGS__}, __LINE__)

static void check(const grove_price *p, const double *want, int line)
{
  double sum = 0;
  for (int t = 0; t < GROVE_TERMS; t++) {
    CHECK(is_near(p->term[t], want[t]), "line %d: %s is %.12g, not %.12g", line,
          grove_term_names[t], p->term[t], want[t]);
    sum += want[t];
  }
  CHECK(is_near(p->seconds, sum), "line %d: %.12g seconds, not %.12g", line, p->seconds, sum);
}

static void check_all(const grove_machine *m, const grove_pricing *how, const double *want,
                      int line)
{
  grove_price p;
  CHECK_OK(grove_price_manifest(m, &topo, &x, how, &p));
  check(&p, want, line);
}

static void check_node(const grove_machine *m, int node, const double *want, int line)
{
  grove_price p;
  CHECK_OK(grove_price_node(m, &topo, node, &x, &messages, &p));
  check(&p, want, line);
}

/* A message of 100 bytes takes 1.01 us inside a node and 10.1 us between nodes. */
static grove_machine *machine(const char *more)
{
  char rows[4000];
  snprintf(rows, sizeof rows, "%s%s",
           "alpha cpu on-socket any 1e-6 s m\n"
           "beta cpu on-socket any 0.1e-9 s/B m\n"
           "alpha cpu off-node any 10e-6 s m\n"
           "beta cpu off-node any 1e-9 s/B m\n",
           more);
  return machine_of(rows);
}

/* ---- chains ---- */

/* Gathered, sent, shared out. */
static void one_chain(const grove_machine *m)
{
  sit_on_two();
  SHIP({0, 1, 0, 100}, {1, 0, 4, 200}, {2, 4, 5, 300});
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 0.2e-6, [ON_NODE] = 1.01e-6 + 1.03e-6);
  SHIP({2, 4, 5, 300}, {0, 1, 0, 100}, {1, 0, 4, 200}); /* in any order */
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 0.2e-6, [ON_NODE] = 1.01e-6 + 1.03e-6);
  SHIP({2, 4, 5, 300}, {1, 0, 4, 200}, {0, 1, 0, 100});
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 0.2e-6, [ON_NODE] = 1.01e-6 + 1.03e-6);
  const grove_pricing doubles = {.unit_bytes = 8};
  PRICE(m, &doubles, [LATENCY] = 10e-6, [BANDWIDTH] = 1.6e-6, [ON_NODE] = 1.08e-6 + 1.24e-6);
  grove_manifest_reverse(&x); /* 5 to 4, 4 to 0, 0 to 1 */
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 0.2e-6, [ON_NODE] = 1.03e-6 + 1.01e-6);
  SHIP({0, 0, 0, 0});
  x.count = 0;
  PRICE(m, &messages, 0);
}

/* A rank passes on inside its node what has come from another, and the other way round. For
 * anything else that comes to it, it does not wait. */
static void waits_for_what_it_passes_on(const grove_machine *m)
{
  sit_on_two();
  /* From outside, and on to outside: 19 us, and meanwhile 5 us, which rank 4 is busy with receiving
   * it, and 10.1 us. */
  SHIP({0, 0, 4, 9000}, {1, 4, 1, 100});
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 9e-6);
  /* From inside, and on inside: 21 us, and meanwhile 1.01. */
  SHIP({0, 1, 0, 200000}, {1, 0, 2, 100});
  PRICE(m, &messages, [ON_NODE] = 21e-6);
  /* From inside, and on to outside: one behind the other. */
  SHIP({0, 1, 0, 200000}, {1, 0, 4, 100});
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [ON_NODE] = 21e-6);
  /* What it sends inside in the very stage in which something comes from outside is something
   * else: rank 4 need not wait in stage 2 for what came in stage 1. */
  SHIP({1, 0, 4, 9000}, {1, 4, 5, 0}, {2, 4, 1, 100});
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 9e-6);
  /* The last stage in which it sends inside counts, not the first. */
  SHIP({0, 4, 5, 0}, {0, 0, 4, 5000}, {1, 4, 5, 100});
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 5e-6, [ON_NODE] = 1.01e-6);
}

/* What comes from several takes its time, from when the first of them begins. */
static void comes_from_several(const grove_machine *m)
{
  sit_on_two();
  SHIP({0, 1, 0, 100}, {0, 2, 0, 200}, {0, 3, 0, 300}, {1, 0, 4, 100});
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [ON_NODE] = 3.06e-6);
  /* Rank 0 sends after 1.01 us, rank 1 at once; rank 4 has both 20.2 us after that. */
  SHIP({0, 3, 0, 100}, {1, 0, 4, 100}, {1, 1, 4, 100});
  PRICE(m, &messages, [LATENCY] = 20e-6, [BANDWIDTH] = 0.2e-6);
  /* A late sender is waited for: rank 0 after 31 us. */
  SHIP({0, 3, 0, 300000}, {1, 0, 4, 100}, {1, 1, 4, 100});
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [ON_NODE] = 31e-6);
  /* What came in an earlier stage was received then: rank 0 is in stage 1 after 1.01 us, and busy
   * for another 0.5 us with what comes there. */
  SHIP({0, 1, 0, 100}, {1, 2, 0, 100}, {2, 0, 4, 100});
  PRICE(m,
        &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [ON_NODE] = 1.01e-6, [CORES] = 0.5e-6);
  /* Both that rank 4 passes on begin after 1.01 us, and take it 20.2 us. */
  SHIP({0, 1, 0, 100}, {0, 3, 2, 100}, {1, 0, 4, 100}, {1, 2, 4, 100}, {2, 4, 5, 100});
  PRICE(m, &messages, [LATENCY] = 20e-6, [BANDWIDTH] = 0.2e-6, [ON_NODE] = 1.01e-6 + 1.01e-6);
  /* One from outside and one from inside, which go on to the inside and to the outside. */
  SHIP({0, 0, 4, 100}, {0, 5, 4, 100}, {1, 4, 6, 100}, {1, 4, 1, 100});
  PRICE(m, &messages, [LATENCY] = 20e-6, [BANDWIDTH] = 0.2e-6, [ON_NODE] = 2.02e-6);
  /* Two who pass it on to the same rank. */
  SHIP({0, 1, 0, 100}, {0, 3, 2, 500}, {1, 0, 4, 100}, {1, 2, 5, 100}, {2, 5, 4, 100});
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [ON_NODE] = 1.05e-6 + 1.01e-6);
}

/* A rank begins the next stage when it has sent, not when that is there. */
static void sends_again(void)
{
  grove_machine *m = machine("o_s cpu off-node 0.. 1e-6 s m\n"
                             "o_r cpu off-node 0.. 0.5e-6 s m\n"
                             "g cpu off-node 0.. 3e-6 s m\n"
                             "G cpu off-node 0.. 0.4e-9 s/B m\n");
  sit_on_two();
  SHIP({0, 0, 4, 100}, {1, 0, 5, 200}); /* free after 3.04 us */
  PRICE(m, &messages, [LATENCY] = 13e-6, [BANDWIDTH] = 0.04e-6 + 0.2e-6);
  SHIP({0, 0, 4, 9000}, {1, 0, 5, 200}); /* free after 6.6 us; but the first is there after 19 */
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 9e-6);
  grove_machine_free(&m);
}

/* Every rank of a chain has to find its receive. */
static void looks_for_receives(void)
{
  grove_machine *m = machine("gamma cpu any - 1e-6 s m\n");
  sit_on_two();
  SHIP({0, 1, 0, 100}, {1, 0, 4, 100}, {2, 4, 5, 100});
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [ON_NODE] = 2.02e-6,
        [GROVE_TERM_QUEUE] = 3e-6);
  grove_machine_free(&m);
}

/* ---- packing ---- */

/* What is sent first is packed; later only what goes on inside a node and not in the last stage. */
static void packs(void)
{
  grove_machine *m = machine("pack cpu any 0.. 10e-9 s/B m\n");
  sit_on_two();
  SHIP({0, 0, 4, 100}, {1, 4, 5, 5000});
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [COPY] = 1e-6, [ON_NODE] = 1.5e-6);
  SHIP({0, 1, 0, 100}, {1, 0, 4, 100}, {2, 4, 5, 100});
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [COPY] = 1e-6, [ON_NODE] = 2.02e-6);
  SHIP({0, 0, 4, 100}, {1, 4, 5, 5000}, {2, 6, 7, 0}); /* a stage comes after it: 50 us more */
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [COPY] = 51e-6, [ON_NODE] = 1.5e-6);
  SHIP({0, 1, 0, 100}, {1, 0, 4, 100}); /* the last, between nodes: from a hub */
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [COPY] = 1e-6, [ON_NODE] = 1.01e-6);
  grove_machine_free(&m);
}

/* ---- devices ---- */

#define COPIES                                                                                     \
  "pack cpu any 0.. 10e-9 s/B m\n"                                                                 \
  "pack gpu any 0.. 2e-9 s/B m\n"                                                                  \
  "launch gpu any 1 3e-6 s m\n"                                                                    \
  "launch gpu any 2 5e-6 s m\n"                                                                    \
  "copy-alpha gpu d2h 1 7e-6 s m\n"                                                                \
  "copy-beta gpu d2h 1 20e-9 s/B m\n"                                                              \
  "copy-alpha gpu h2d 1 9e-6 s m\n"                                                                \
  "copy-beta gpu h2d 1 40e-9 s/B m\n"                                                              \
  "copy-alpha gpu d2h 2 17e-6 s m\n"                                                               \
  "copy-beta gpu d2h 2 50e-9 s/B m\n"                                                              \
  "copy-alpha gpu h2d 2 19e-6 s m\n"                                                               \
  "copy-beta gpu h2d 2 60e-9 s/B m\n"

static const grove_pricing lifted = {.unit_bytes = 1, .lifted_out = 1, .lifted_in = 1};

/* 100 bytes alone: 3 + 0.2 + 7 + 2 us out of a device, 3 + 0.2 + 9 + 4 us into one; packing on the
 * host takes 1 us. */
static void copies_to_and_fro(void)
{
  grove_machine *m = machine(COPIES);
  const grove_pricing out = {.unit_bytes = 1, .lifted_out = 1},
                      in = {.unit_bytes = 1, .lifted_in = 1},
                      half = {.unit_bytes = 1, .lifted_out = 0.5, .lifted_in = 0.5};
  sit_on_two();
  SHIP({0, 0, 4, 100});
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [COPY] = 1e-6);
  PRICE(m, &lifted, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [COPY] = 12.2e-6 + 16.2e-6);
  PRICE(m, &out, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [COPY] = 12.2e-6);
  PRICE(m, &in, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [COPY] = 1e-6 + 16.2e-6);
  PRICE(m, &half, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [COPY] = 0.5e-6 + 6.1e-6 + 8.1e-6);
  SHIP({0, 1, 0, 100}, {1, 0, 4, 100}, {2, 4, 5, 100}); /* who passes on copies nothing */
  PRICE(m, &lifted, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [ON_NODE] = 2.02e-6,
        [COPY] = 12.2e-6 + 16.2e-6);
  /* What rank 4 sends in the second stage leaves its device in the first: 600 bytes take
   * 3 + 1.2 + 7 + 12 us. Then 500 land at rank 7: 3 + 1 + 9 + 20 us. */
  SHIP({0, 4, 5, 100}, {1, 4, 7, 500}, {2, 6, 7, 0});
  PRICE(m, &lifted, [ON_NODE] = 1.01e-6 + 1.05e-6, [COPY] = 23.2e-6 + 33e-6);
  SHIP({0, 1, 0, 100}, {1, 0, 4, 100}, {1, 4, 5, 100}, {2, 4, 5, 100}); /* 4 copies meanwhile */
  PRICE(m, &lifted, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [ON_NODE] = 2.02e-6,
        [COPY] = 12.2e-6 + 16.2e-6);
  SHIP({0, 0, 4, 0}, {1, 5, 6, 100}, {1, 4, 6, 0}); /* 5 has it from nobody */
  PRICE(m, &lifted, [ON_NODE] = 1.01e-6, [COPY] = 12.2e-6 + 16.2e-6);
  SHIP({0, 1, 0, 0}, {1, 2, 4, 100}); /* nor 2, while 0 may pass something on */
  PRICE(m, &lifted, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [COPY] = 12.2e-6 + 16.2e-6);
  grove_machine_free(&m);
  m = machine("pack cpu any 0.. 10e-9 s/B m\n"); /* nobody says what copies cost */
  SHIP({0, 0, 4, 100});
  PRICE(m, &lifted, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [COPY] = 1e-6);
  grove_machine_free(&m);
}

/* Two out of one device: 5 + 0.2 + 17 + 5 us; 200 bytes into another: 3 + 0.4 + 9 + 8 us. Two into
 * one, 100 bytes each: 5 + 0.2 + 19 + 6 us. */
static void share_a_device(void)
{
  grove_machine *m = machine(COPIES), *two = machine(COPIES "gpus - node - 2 1 m\n");
  grove_price p;
  sit_on_two();
  SHIP({0, 0, 4, 100}, {0, 1, 4, 100});
  PRICE(m, &lifted, [LATENCY] = 20e-6, [BANDWIDTH] = 0.2e-6, [COPY] = 27.2e-6 + 20.4e-6);
  PRICE(two, &lifted, [LATENCY] = 20e-6, [BANDWIDTH] = 0.2e-6, [COPY] = 12.2e-6 + 20.4e-6);
  sit("00001111", "00000000"); /* two nodes that are one host */
  SHIP({0, 0, 4, 100}, {0, 4, 0, 100});
  PRICE(m, &lifted, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [COPY] = 27.2e-6 + 30.2e-6);
  CHECK_OK(grove_price_node(m, &topo, 0, &x, &lifted, &p)); /* the other counts as alike */
  const double want[GROVE_TERMS] = {
    [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [COPY] = 27.2e-6 + 30.2e-6};
  check(&p, want, __LINE__);
  grove_machine_free(&two);
  grove_machine_free(&m);
}

/* ---- what ranks share ---- */

/* The ranks of a node that have something to do inside it, in this stage. */
static void share_memory(void)
{
  grove_machine *m = machine("flag cpu any - 0.1e-6 s m\n"
                             "shared cpu on-node 2 0.1e-9 s/B m\n"
                             "shared cpu on-node 4 0.3e-9 s/B m\n");
  sit_on_two();
  SHIP({0, 0, 1, 1000}, {0, 0, 2, 1000}); /* three */
  PRICE(m, &memory, [ON_NODE] = 0.2e-6, [COPY] = 0.4e-6);
  SHIP({0, 0, 1, 1000}, {0, 1, 0, 1000});                                   /* two */
  PRICE(m, &memory, [ON_NODE] = 0.1e-6, [COPY] = 0.1e-6, [CORES] = 0.1e-6); /* busy with both */
  SHIP({0, 0, 1, 10000}, {0, 4, 5, 100}, {0, 6, 7, 100}); /* two, and four elsewhere */
  PRICE(m, &memory, [ON_NODE] = 0.1e-6, [COPY] = 1e-6);
  SHIP({0, 0, 1, 200000}, {0, 2, 4, 0}, {0, 3, 5, 0}); /* two; others send to other nodes */
  PRICE(m, &memory, [ON_NODE] = 0.1e-6, [COPY] = 20e-6);
  SHIP({0, 0, 1, 100}, {0, 2, 3, 100}, {1, 0, 1, 1000}); /* four, then two */
  PRICE(m, &memory, [ON_NODE] = 0.2e-6, [COPY] = 0.03e-6 + 0.1e-6);
  grove_price p; /* one node by itself */
  SHIP({0, 1, 0, 1000}, {0, 2, 0, 1000});
  CHECK_OK(grove_price_node(m, &topo, 0, &x, &memory, &p));
  CHECK_NEAR(p.seconds, 0.6e-6);
  SHIP({0, 0, 1, 10000}, {0, 4, 5, 100}, {0, 6, 7, 100});
  CHECK_OK(grove_price_node(m, &topo, 0, &x, &memory, &p));
  CHECK_NEAR(p.seconds, 1.1e-6);
  CHECK_OK(grove_price_node(m, &topo, 1, &x, &memory, &p));
  CHECK_NEAR(p.seconds, 0.13e-6);
  grove_machine_free(&m);
}

/* The interface of the node that sends and of the one that receives, each direction by itself, in
 * each stage anew. 10000 bytes are 10 us of a rank's own, and 6 us of the interface. */
static void share_the_interface(void)
{
  grove_machine *m = machine("injection cpu off-node any 0.6e-9 s/B m\n");
  sit("001122", "001122");
  SHIP({0, 0, 2, 10000}, {0, 1, 4, 10000}); /* out of node 0 */
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 10e-6, [INJECTION] = 2e-6);
  PRICE_NODE(m, 0, [LATENCY] = 10e-6, [BANDWIDTH] = 10e-6, [INJECTION] = 2e-6);
  PRICE_NODE(m, 1, [LATENCY] = 10e-6, [BANDWIDTH] = 10e-6);
  SHIP({0, 2, 0, 10000}, {0, 4, 1, 10000}); /* into node 0 */
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 10e-6, [INJECTION] = 2e-6);
  PRICE_NODE(m, 0, [LATENCY] = 10e-6, [BANDWIDTH] = 10e-6, [INJECTION] = 2e-6);
  PRICE_NODE(m, 2, [LATENCY] = 10e-6, [BANDWIDTH] = 10e-6);
  SHIP({0, 0, 2, 10000}, {0, 4, 1, 10000}); /* out and in */
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 10e-6);
  SHIP({0, 0, 2, 10000}, {1, 1, 4, 10000}); /* one after the other */
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 10e-6);
  grove_machine_free(&m);
}

static const char crowd[] = "cores - node - 2 1 m\n"
                            "pack cpu any 0.. 10e-9 s/B m\n"
                            "crowd-turn cpu on-node - 10e-6 s m\n"
                            "crowd-message cpu on-node - 2e-6 s m\n"
                            "crowd-byte cpu on-node - 1e-9 s/B m\n"
                            "crowd-turn cpu off-node - 50e-6 s m\n"
                            "crowd-message cpu off-node - 6e-6 s m\n"
                            "crowd-byte cpu off-node - 3e-9 s/B m\n";

/* Two nodes of two ranks on one host of two cores; a third on a host of its own. */
static void share_cores(void)
{
  grove_machine *m = machine(crowd);
  sit("001122", "000011");
  /* Four ends of messages: (2 2 us + 200 ns) / 8 inside, (2 6 us + 1200 ns) / 8 between nodes; 300
   * bytes to pack, 3 us on two cores. Rank 0 itself: 10.2 us, 1.01 us and 3 us. */
  SHIP({0, 0, 1, 100}, {0, 0, 2, 200});
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 0.2e-6, [ON_NODE] = 1.01e-6, [COPY] = 3e-6,
        [CORES] = 50e-6 + 0.525e-6 + 1.65e-6 + 1.5e-6 - 14.21e-6);
  /* Node 0 knows its own: as much again on the other two ranks of its host. (4 2 us + 400 ns) / 8,
   * (2 6 us + 1200 ns) / 8, 6 us of packing on two cores. */
  PRICE_NODE(m, 0, [LATENCY] = 10e-6, [BANDWIDTH] = 0.2e-6, [ON_NODE] = 1.01e-6, [COPY] = 3e-6,
             [CORES] = 50e-6 + 1.05e-6 + 1.65e-6 + 3e-6 - 14.21e-6);
  /* Two ranks on two cores are no crowd. */
  SHIP({0, 4, 5, 100});
  PRICE(m, &messages, [ON_NODE] = 1.01e-6, [COPY] = 1e-6);
  /* In the next stage nothing is left of the first. */
  SHIP({0, 4, 5, 100}, {1, 0, 1, 100});
  PRICE(m, &messages, [ON_NODE] = 1.01e-6,
        [CORES] = 10e-6 + 4.2e-6 / 8 - 1.01e-6); /* (2 2 us + 200 ns) / 8, and no packing */
  grove_machine_free(&m);
}

/* Processor time of a host over its cores: half a latency at each end, and packing. */
static void share_processors(void)
{
  grove_machine *m = machine("cores - node - 2 1 m\npack cpu any 0.. 10e-9 s/B m\n");
  sit("00112233", "00001111");
  /* Ranks 0 to 3 on one host: three sends to the other, 5 us each; 600 bytes packed. */
  SHIP({0, 0, 4, 100}, {0, 1, 5, 200}, {0, 2, 6, 300});
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 0.3e-6, [COPY] = 3e-6); /* 10.5 us busy */
  /* And back: six ends and 6 us of packing on two cores. */
  grove_price p;
  SHIP({0, 0, 4, 100}, {0, 1, 5, 200}, {0, 2, 6, 300}, {0, 4, 0, 0}, {0, 5, 1, 0}, {0, 6, 2, 0});
  CHECK_OK(grove_price_manifest(m, &topo, &x, &messages, &p));
  CHECK_NEAR(p.seconds, 18e-6);
  /* Node 0: ranks 0 and 1, four ends, 3 us of packing; the other node of its host is as busy. */
  CHECK_OK(grove_price_node(m, &topo, 0, &x, &messages, &p));
  CHECK_NEAR(p.seconds, 23e-6);
  grove_machine_free(&m);
}

/* ---- one node ---- */

/* When others send, nobody here knows: like the mean of those of this node that send to others in
 * that stage, by term; at the start, where none does. */
static void others_are_as_far(const grove_machine *m)
{
  sit_on_two();
  /* Rank 0 begins at 1.01 us, rank 2 at once; what comes to rank 3 is there in the mean of 11.11
   * and 10.4 us, and goes on. */
  SHIP({0, 1, 0, 100}, {1, 0, 4, 100}, {1, 2, 5, 400}, {1, 6, 3, 100}, {2, 3, 1, 200});
  PRICE_NODE(m, 0, [LATENCY] = 10e-6, [BANDWIDTH] = 0.25e-6, [ON_NODE] = 0.505e-6 + 1.02e-6);
  /* Node 1: rank 6 sends at once, so what comes from node 0 is there after 10.1 us. */
  PRICE_NODE(m, 1, [LATENCY] = 10e-6, [BANDWIDTH] = 0.4e-6);
  /* Nobody of node 1 sends: rank 4 gets its 5000 bytes after 15 us, however late they begin. */
  SHIP({0, 1, 0, 100000}, {1, 0, 4, 5000}, {2, 4, 5, 100});
  PRICE_NODE(m, 1, [LATENCY] = 10e-6, [BANDWIDTH] = 5e-6, [ON_NODE] = 1.01e-6);
  PRICE_NODE(m, 0, [LATENCY] = 10e-6, [BANDWIDTH] = 5e-6, [ON_NODE] = 11e-6);
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 5e-6, [ON_NODE] = 11e-6 + 1.01e-6);
  /* What is begun later elsewhere comes later: rank 0 at 11 us, in the mean of one. */
  SHIP({0, 1, 0, 100000}, {1, 0, 4, 100}, {1, 4, 2, 100}, {1, 5, 2, 100});
  PRICE_NODE(m, 0, [LATENCY] = 20e-6, [BANDWIDTH] = 0.2e-6, [ON_NODE] = 11e-6);
}

/* Of an earlier stage's mean nothing is left: rank 1 has its 100 bytes after 10.1 us, though rank 0
 * was through after 15 us. */
static void others_start_anew(const grove_machine *m)
{
  sit_on_two();
  SHIP({0, 0, 4, 5000}, {1, 4, 1, 100}, {2, 1, 2, 60000});
  PRICE_NODE(m, 0, [LATENCY] = 10e-6, [BANDWIDTH] = 0.1e-6, [ON_NODE] = 7e-6);
}

/* Nodes whose ranks do not lie side by side. */
static void ranks_in_any_order(const grove_machine *m)
{
  sit("010221", "010221");
  SHIP({0, 2, 0, 100}, {1, 0, 5, 200}, {2, 5, 1, 300});
  PRICE(m, &messages, [LATENCY] = 10e-6, [BANDWIDTH] = 0.2e-6, [ON_NODE] = 1.01e-6 + 1.03e-6);
  PRICE_NODE(m, 0, [LATENCY] = 10e-6, [BANDWIDTH] = 0.2e-6, [ON_NODE] = 1.01e-6);
  PRICE_NODE(m, 1, [LATENCY] = 10e-6, [BANDWIDTH] = 0.2e-6, [ON_NODE] = 1.03e-6);
  PRICE_NODE(m, 2, 0);
}

static void localities(void)
{
  sit_on_two();
  place[1].socket = 1;
  CHECK(grove_price_locality(&topo, 0, 2) == GROVE_ON_SOCKET, "the same socket");
  CHECK(grove_price_locality(&topo, 0, 1) == GROVE_ON_NODE, "another socket");
  CHECK(grove_price_locality(&topo, 0, 4) == GROVE_OFF_NODE, "another node");
  CHECK(grove_price_locality(&topo, 1, 4) == GROVE_OFF_NODE, "another node");
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "model/price_chains");
  grove_machine *m = machine("");
  one_chain(m);
  waits_for_what_it_passes_on(m);
  comes_from_several(m);
  sends_again();
  looks_for_receives();
  packs();
  copies_to_and_fro();
  share_a_device();
  share_memory();
  share_the_interface();
  share_cores();
  share_processors();
  others_are_as_far(m);
  others_start_anew(m);
  ranks_in_any_order(m);
  localities();
  grove_manifest_free(&x);
  grove_machine_free(&m);
  return test_end();
}
