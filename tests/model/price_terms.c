/* What messages cost one rank, term by term, against numbers worked out by hand: where a message
 * goes and how large it is, alone and in a stream, sent and received; shared memory, packing,
 * injection, queue, contention; ranks that share cores, and crowds. Nothing here is computed by
 * what is tested. */
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
  QUEUE = GROVE_TERM_QUEUE,
  CONTENTION = GROVE_TERM_CONTENTION,
  ON_NODE = GROVE_TERM_ON_NODE,
  COPY = GROVE_TERM_COPY,
  CORES = GROVE_TERM_CORES
};

/* The terms that are named; all others are 0. */
#define TERMS(got, ...) check_terms(got, (const double[GROVE_TERMS]){__VA_ARGS__}, __LINE__)
static void check_terms(const double *got, const double *want, int line)
{
  for (int t = 0; t < GROVE_TERMS; t++)
    CHECK(is_near(got[t], want[t]), "line %d: %s is %.12g, not %.12g", line, grove_term_names[t],
          got[t], want[t]);
}

/* A price is the sum of its terms. */
#define PRICE(got, ...) check_price(got, (const double[GROVE_TERMS]){__VA_ARGS__}, __LINE__)
static void check_price(grove_price got, const double *want, int line)
{
  double sum = 0;
  check_terms(got.term, want, line);
  for (int t = 0; t < GROVE_TERMS; t++) sum += want[t];
  CHECK(is_near(got.seconds, sum), "line %d: %.12g seconds, not %.12g", line, got.seconds, sum);
}

/* No two numbers are alike. */
static const char rows[] = "alpha cpu on-socket short 0.3e-6 s m\n"
                           "beta  cpu on-socket short 0.9e-9 s/B m\n"
                           "alpha cpu on-socket eager 0.7e-6 s m\n"
                           "beta  cpu on-socket eager 0.4e-9 s/B m\n"
                           "alpha cpu on-socket rend 1.3e-6 s m\n"
                           "beta  cpu on-socket rend 0.2e-9 s/B m\n"
                           "from  cpu on-socket eager 200 B m\n"
                           "from  cpu on-socket rend 2000 B m\n"
                           "alpha cpu on-node short 0.6e-6 s m\n"
                           "beta  cpu on-node short 1.7e-9 s/B m\n"
                           "alpha cpu on-node eager 1.1e-6 s m\n"
                           "beta  cpu on-node eager 0.8e-9 s/B m\n"
                           "alpha cpu on-node rend 2.3e-6 s m\n"
                           "beta  cpu on-node rend 0.35e-9 s/B m\n"
                           "from  cpu on-node eager 300 B m\n"
                           "from  cpu on-node rend 3000 B m\n"
                           "alpha cpu off-node short 3e-6 s m\n"
                           "beta  cpu off-node short 7e-9 s/B m\n"
                           "alpha cpu off-node eager 5e-6 s m\n"
                           "beta  cpu off-node eager 2e-9 s/B m\n"
                           "alpha cpu off-node rend 11e-6 s m\n"
                           "beta  cpu off-node rend 0.5e-9 s/B m\n"
                           "from  cpu off-node eager 100 B m\n"
                           "from  cpu off-node rend 1000 B m\n";

static const char streams[] = "o_s cpu off-node 0.. 1.0e-6 s m\n"
                              "o_r cpu off-node 0.. 0.8e-6 s m\n"
                              "g   cpu off-node 0.. 2e-6 s m\n"
                              "G   cpu off-node 0.. 1.5e-9 s/B m\n"
                              "o_s cpu off-node 1000.. 1.6e-6 s m\n"
                              "o_r cpu off-node 1000.. 1.1e-6 s m\n"
                              "g   cpu off-node 1000.. 3e-6 s m\n"
                              "G   cpu off-node 1000.. 0.3e-9 s/B m\n"
                              "o_s cpu off-node 4000.. 3.1e-6 s m\n"
                              "o_r cpu off-node 4000.. 1.7e-6 s m\n"
                              "g   cpu off-node 4000.. 4e-6 s m\n"
                              "G   cpu off-node 4000.. 0.25e-9 s/B m\n";

static const char memory_rows[] = "flag cpu on-socket - 0.13e-6 s m\n"
                                  "flag cpu on-node - 0.29e-6 s m\n"
                                  "shared cpu on-node 2 0.1e-9 s/B m\n"
                                  "shared cpu on-node 4 0.3e-9 s/B m\n"
                                  "shared cpu on-node 8 0.7e-9 s/B m\n";

static const char crowd_rows[] = "crowd-turn cpu on-node - 10e-6 s m\n"
                                 "crowd-message cpu on-node - 2e-6 s m\n"
                                 "crowd-byte cpu on-node - 1e-9 s/B m\n"
                                 "crowd-turn cpu off-node - 50e-6 s m\n"
                                 "crowd-message cpu off-node - 6e-6 s m\n"
                                 "crowd-byte cpu off-node - 3e-9 s/B m\n";

static void learn(grove_machine *m, const char *term, const char *locality, const char *range,
                  double value, const char *unit)
{
  CHECK_OK(grove_machine_add(m, term, "cpu", locality, range, value, unit, "by hand"));
  CHECK_OK(grove_machine_digest(m));
}

static grove_machine *odd(const char *more)
{
  char all[6000];
  snprintf(all, sizeof all, "%s%s", rows, more);
  return machine_of(all);
}

static const grove_pricing messages = {.unit_bytes = 1, .order = GROVE_QUEUE_TYPICAL};
static const grove_pricing memory = {.unit_bytes = 1, .shared_memory = 1};
enum { SENDS, RECEIVES };

static grove_load one(const grove_machine *m, grove_locality where, int64_t bytes, int way)
{
  grove_load load = {0};
  grove_load_add(&load, m, &messages, where, bytes, 0, way);
  return load;
}

static const grove_half *side_of(const grove_load *load, int way)
{
  return way == SENDS ? &load->sent : &load->received;
}

/* ---- one message ---- */

/* Without LogGP: alpha + beta s, each way; half of alpha keeps a processor busy at each end. */
static void by_place_and_size(void)
{
  static const struct {
    grove_locality where;
    int64_t bytes;
    double alpha, rest; /* beta times the bytes */
  } row[] = {
    {GROVE_OFF_NODE, 0, 3e-6, 0},
    {GROVE_OFF_NODE, 99, 3e-6, 0.693e-6},
    {GROVE_OFF_NODE, 100, 5e-6, 0.2e-6},
    {GROVE_OFF_NODE, 999, 5e-6, 1.998e-6},
    {GROVE_OFF_NODE, 1000, 11e-6, 0.5e-6},
    {GROVE_ON_SOCKET, 0, 0.3e-6, 0},
    {GROVE_ON_SOCKET, 199, 0.3e-6, 0.1791e-6},
    {GROVE_ON_SOCKET, 200, 0.7e-6, 0.08e-6},
    {GROVE_ON_SOCKET, 1999, 0.7e-6, 0.7996e-6},
    {GROVE_ON_SOCKET, 2000, 1.3e-6, 0.4e-6},
    {GROVE_ON_NODE, 299, 0.6e-6, 0.5083e-6},
    {GROVE_ON_NODE, 300, 1.1e-6, 0.24e-6},
    {GROVE_ON_NODE, 2999, 1.1e-6, 2.3992e-6},
    {GROVE_ON_NODE, 3000, 2.3e-6, 1.05e-6},
  };
  grove_machine *m = odd("");
  for (size_t i = 0; i < sizeof row / sizeof *row; i++)
    for (int way = 0; way < 2; way++) {
      test_case((int64_t)i);
      grove_load load = one(m, row[i].where, row[i].bytes, way);
      int off = row[i].where == GROVE_OFF_NODE;
      if (off)
        TERMS(side_of(&load, way)->term, [LATENCY] = row[i].alpha, [BANDWIDTH] = row[i].rest);
      else
        TERMS(side_of(&load, way)->term, [ON_NODE] = row[i].alpha + row[i].rest);
      TERMS(side_of(&load, way)->head, 0);
      TERMS(side_of(&load, !way)->term, 0);
      CHECK_NEAR(load.processor, row[i].alpha / 2);
      CHECK(side_of(&load, way)->crosses == off && !side_of(&load, !way)->crosses, "crosses");
      CHECK(load.posted == way, "%lld receives", (long long)load.posted);
      CHECK(load.messages[off] == 1 && load.messages[!off] == 0, "messages of the other kind");
      CHECK(load.bytes[off] == (double)row[i].bytes && load.bytes[!off] == 0, "other bytes");
      CHECK(load.sent.interface == 0 && load.received.interface == 0, "a limit of nobody's");
    }
  grove_machine_free(&m);
}

/* With LogGP a message of a stream costs g + G s where it is sent; where it is received o_r, and G
 * s as long as nobody knows what the interface can. What the first one takes beyond that is the
 * head. Overheads lie on the line between two rows, and beyond the last on that of the last two. */
static void in_a_stream(void)
{
  static const struct {
    int64_t bytes;
    int way;
    double latency, bandwidth, head_latency, head_bandwidth, processor;
  } row[] = {
    /* 5 us + 2 ns alone; half-way between the rows of 0 and 1000: o_s 1.3, o_r 0.95 us */
    {500, SENDS, 2e-6, 0.75e-6, 3e-6, 0.25e-6, 1.3e-6},
    {500, RECEIVES, 0.95e-6, 0.75e-6, 4.05e-6, 0.25e-6, 0.95e-6},
    /* 11 us + 0.5 ns alone; on a row: o_s 1.6, o_r 1.1 us */
    {1000, SENDS, 3e-6, 0.3e-6, 8e-6, 0.2e-6, 1.6e-6},
    {1000, RECEIVES, 1.1e-6, 0.3e-6, 9.9e-6, 0.2e-6, 1.1e-6},
    /* half-way between 1000 and 4000: o_s 2.35, o_r 1.4 us */
    {2500, SENDS, 3e-6, 0.75e-6, 8e-6, 0.5e-6, 2.35e-6},
    {2500, RECEIVES, 1.4e-6, 0.75e-6, 9.6e-6, 0.5e-6, 1.4e-6},
    {4000, SENDS, 4e-6, 1e-6, 7e-6, 1e-6, 3.1e-6},
    /* twice as far from 1000 as 4000 is: o_s 1.6 + 2 1.5, o_r 1.1 + 2 0.6 us */
    {7000, SENDS, 4e-6, 1.75e-6, 7e-6, 1.75e-6, 4.6e-6},
    {7000, RECEIVES, 2.3e-6, 1.75e-6, 8.7e-6, 1.75e-6, 2.3e-6},
  };
  grove_machine *m = odd(streams);
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    test_case((int64_t)i);
    grove_load load = one(m, GROVE_OFF_NODE, row[i].bytes, row[i].way);
    const grove_half *side = side_of(&load, row[i].way);
    TERMS(side->term, [LATENCY] = row[i].latency, [BANDWIDTH] = row[i].bandwidth);
    TERMS(side->head, [LATENCY] = row[i].head_latency, [BANDWIDTH] = row[i].head_bandwidth);
    CHECK_NEAR(side->head_seconds, row[i].head_latency + row[i].head_bandwidth);
    CHECK_NEAR(load.processor, row[i].processor);
  }
  learn(m, "injection", "off-node", "any", 0.1e-9, "s/B");
  for (int way = 0; way < 2; way++) {
    grove_load load = one(m, GROVE_OFF_NODE, 500, way);
    const grove_half *side = side_of(&load, way);
    TERMS(side->term, [LATENCY] = way ? 0.95e-6 : 2e-6, [BANDWIDTH] = way ? 0 : 0.75e-6);
    TERMS(side->head, [LATENCY] = way ? 4.05e-6 : 3e-6, [BANDWIDTH] = way ? 1e-6 : 0.25e-6);
    CHECK_NEAR(side->interface, 500 * 0.1e-9);
    CHECK(side_of(&load, !way)->interface == 0, "the other direction is as busy");
  }
  grove_machine_free(&m);
}

/* Inside a node nothing is injected: what comes there costs its receiver o_r. */
static void in_a_stream_on_node(void)
{
  grove_machine *m = odd("o_s cpu on-node 0.. 0.2e-6 s m\n"
                         "o_r cpu on-node 0.. 0.1e-6 s m\n"
                         "g cpu on-node 0.. 0.25e-6 s m\n"
                         "G cpu on-node 0.. 0.5e-9 s/B m\n");
  grove_load load = one(m, GROVE_ON_NODE, 100, SENDS); /* 0.6 us + 170 ns alone */
  TERMS(load.sent.term, [ON_NODE] = 0.25e-6 + 0.05e-6);
  TERMS(load.sent.head, [ON_NODE] = 0.35e-6 + 0.12e-6);
  CHECK_NEAR(load.processor, 0.2e-6);
  load = one(m, GROVE_ON_NODE, 100, RECEIVES);
  TERMS(load.received.term, [ON_NODE] = 0.1e-6);
  TERMS(load.received.head, [ON_NODE] = 0.5e-6 + 0.17e-6);
  CHECK_NEAR(load.processor, 0.1e-6);
  load = one(m, GROVE_ON_SOCKET, 100, SENDS); /* which has no stream of its own */
  TERMS(load.sent.term, [ON_NODE] = 0.3e-6 + 0.09e-6);
  CHECK_NEAR(load.processor, 0.15e-6);
  grove_machine_free(&m);
}

/* Whoever is busy with a message for longer than it takes in a stream gets it as it is sent. */
static void slow_receivers(void)
{
  grove_machine *m = odd("o_s cpu off-node 0.. 1e-6 s m\n"
                         "o_r cpu off-node 0.. 4e-6 s m\n"
                         "g cpu off-node 0.. 2e-6 s m\n"
                         "G cpu off-node 0.. 1.5e-9 s/B m\n");
  grove_load load = one(m, GROVE_OFF_NODE, 500, RECEIVES);
  TERMS(load.received.term, [LATENCY] = 2e-6, [BANDWIDTH] = 0.75e-6);
  CHECK_NEAR(load.processor, 4e-6);
  load = one(m, GROVE_OFF_NODE, 2000, RECEIVES); /* with the bytes 7 us of 5 */
  TERMS(load.received.term, [LATENCY] = 2e-6, [BANDWIDTH] = 3e-6);
  learn(m, "injection", "off-node", "any", 0.1e-9, "s/B");
  load = one(m, GROVE_OFF_NODE, 900, RECEIVES); /* 4 us of 2 + 1.35: still */
  TERMS(load.received.term, [LATENCY] = 2e-6, [BANDWIDTH] = 1.35e-6);
  load = one(m, GROVE_OFF_NODE, 2000, RECEIVES); /* 4 us of 2 + 3 */
  TERMS(load.received.term, [LATENCY] = 4e-6);
  grove_machine_free(&m);
}

/* Overheads that fall with the size end at nothing; of one row alone there is no slope; half of
 * them is none. */
static void odd_overheads(void)
{
  static const double want[][3] = {/* bytes, o_s, o_r */
                                   {0, 4e-6, 3e-6},
                                   {250, 3.5e-6, 2.5e-6},
                                   {1500, 1e-6, 0},
                                   {1250, 1.5e-6, 0.5e-6},
                                   {2500, 0, 0}};
  grove_machine *m = odd("o_s cpu off-node 0.. 4e-6 s m\n"
                         "o_r cpu off-node 0.. 3e-6 s m\n"
                         "o_s cpu off-node 1000.. 2e-6 s m\n"
                         "o_r cpu off-node 1000.. 1e-6 s m\n");
  for (int i = 0; i < 5; i++)
    for (int way = 0; way < 2; way++) {
      grove_load load = one(m, GROVE_OFF_NODE, (int64_t)want[i][0], way);
      CHECK(is_near(load.processor, want[i][1 + way]), "%g bytes, way %d: %g", want[i][0], way,
            load.processor);
    }
  grove_machine_free(&m);
  m = odd("o_s cpu off-node 0.. 4e-6 s m\no_r cpu off-node 0.. 3e-6 s m\n");
  CHECK_NEAR(one(m, GROVE_OFF_NODE, 5000, SENDS).processor, 4e-6);
  CHECK_NEAR(one(m, GROVE_OFF_NODE, 5000, RECEIVES).processor, 3e-6);
  grove_machine_free(&m);
  static const char *const halves[] = {"o_s cpu off-node 0.. 4e-6 s m\n",
                                       "o_r cpu off-node 0.. 3e-6 s m\n"};
  for (int i = 0; i < 2; i++) {
    m = odd(halves[i]);
    CHECK_NEAR(one(m, GROVE_OFF_NODE, 5000, SENDS).processor, 5.5e-6);
    CHECK_NEAR(one(m, GROVE_OFF_NODE, 5000, RECEIVES).processor, 5.5e-6);
    grove_machine_free(&m);
  }
  /* g without G is no stream. */
  m = odd("g cpu off-node 0.. 1e-6 s m\n");
  TERMS(one(m, GROVE_OFF_NODE, 100, SENDS).sent.term, [LATENCY] = 5e-6, [BANDWIDTH] = 0.2e-6);
  grove_machine_free(&m);
  m = odd("G cpu off-node 0.. 1e-9 s/B m\n");
  TERMS(one(m, GROVE_OFF_NODE, 100, SENDS).sent.term, [LATENCY] = 5e-6, [BANDWIDTH] = 0.2e-6);
  grove_machine_free(&m);
}

/* Of several messages the one with the longest head has it, whichever comes first; a message that
 * is cheaper alone than in a stream has none. */
static void heads(void)
{
  grove_machine *m = odd(streams);
  learn(m, "g", "on-socket", "0..", 0.1e-6, "s");
  learn(m, "G", "on-socket", "0..", 0.1e-9, "s/B");
  static const int64_t orders[][2] = {{100, 2500}, {2500, 100}};
  for (int i = 0; i < 2; i++) {
    grove_load load = {0};
    grove_load_add(&load, m, &messages, GROVE_ON_SOCKET, 100, 0, SENDS);
    TERMS(load.sent.head, [ON_NODE] = 0.2e-6 + 0.08e-6);
    for (int k = 0; k < 2; k++)
      grove_load_add(&load, m, &messages, GROVE_OFF_NODE, orders[i][k], 0, SENDS);
    TERMS(load.sent.term, [LATENCY] = 2e-6 + 3e-6, [BANDWIDTH] = 0.15e-6 + 0.75e-6,
          [ON_NODE] = 0.1e-6 + 0.01e-6);
    TERMS(load.sent.head, [LATENCY] = 8e-6, [BANDWIDTH] = 0.5e-6);
    CHECK(load.messages[0] == 1 && load.messages[1] == 2 && load.bytes[1] == 2600, "counts");
    CHECK_NEAR(load.processor, 0.15e-6 + 1.06e-6 + 2.35e-6); /* o_s of 100 bytes: 1 + 0.1 0.6 */
  }
  grove_machine_free(&m);
  m = odd("g cpu off-node 0.. 20e-6 s m\nG cpu off-node 0.. 1e-9 s/B m\n");
  grove_load load = one(m, GROVE_OFF_NODE, 100, SENDS);
  TERMS(load.sent.term, [LATENCY] = 20e-6, [BANDWIDTH] = 0.1e-6);
  TERMS(load.sent.head, 0);
  grove_machine_free(&m);
}

/* ---- shared memory and packing ---- */

/* A flag, and the bytes at the rate of as many ranks as are at it; the rank itself is busy with
 * half a flag and with the bytes at the rate of two. */
static void through_shared_memory(void)
{
  static const struct {
    grove_locality where;
    int active;
    double flag, copy;
  } row[] = {
    {GROVE_ON_SOCKET, 2, 0.13e-6, 0.1e-6}, {GROVE_ON_SOCKET, 3, 0.13e-6, 0.2e-6},
    {GROVE_ON_SOCKET, 4, 0.13e-6, 0.3e-6}, {GROVE_ON_NODE, 6, 0.29e-6, 0.5e-6},
    {GROVE_ON_NODE, 8, 0.29e-6, 0.7e-6},   {GROVE_ON_NODE, 20, 0.29e-6, 0.7e-6},
  };
  grove_machine *m = odd(memory_rows);
  for (size_t i = 0; i < sizeof row / sizeof *row; i++)
    for (int way = 0; way < 2; way++) {
      grove_load load = {0};
      grove_load_add(&load, m, &memory, row[i].where, 1000, row[i].active, way);
      TERMS(side_of(&load, way)->term, [ON_NODE] = row[i].flag, [COPY] = row[i].copy);
      TERMS(side_of(&load, way)->head, 0);
      CHECK_NEAR(load.processor, row[i].flag / 2 + 0.1e-6);
      CHECK(load.posted == 0 && load.messages[0] == 1 && load.bytes[0] == 1000, "counts");
    }
  grove_load load = {0}; /* one to each place */
  grove_load_add(&load, m, &memory, GROVE_ON_SOCKET, 1000, 4, SENDS);
  grove_load_add(&load, m, &memory, GROVE_ON_NODE, 2000, 4, SENDS);
  TERMS(load.sent.term, [ON_NODE] = 0.42e-6, [COPY] = 0.9e-6);
  CHECK_NEAR(load.processor, 0.21e-6 + 0.3e-6);
  load = (grove_load){0}; /* between nodes and without the transport: messages */
  grove_load_add(&load, m, &memory, GROVE_OFF_NODE, 100, 4, SENDS);
  TERMS(load.sent.term, [LATENCY] = 5e-6, [BANDWIDTH] = 0.2e-6);
  load = (grove_load){0};
  grove_load_add(&load, m, &messages, GROVE_ON_NODE, 100, 4, SENDS);
  TERMS(load.sent.term, [ON_NODE] = 0.6e-6 + 0.17e-6);
  grove_machine_free(&m);
}

/* A flag that is not told of one place is that of the other; of none: messages. */
static void without_a_flag(void)
{
  static const char *const known[] = {"on-socket", "on-node"};
  for (int i = 0; i < 2; i++) {
    grove_machine *m = odd("shared cpu on-node 2 0.1e-9 s/B m\n");
    grove_load load = {0};
    grove_load_add(&load, m, &memory, GROVE_ON_NODE, 100, 2, SENDS);
    TERMS(load.sent.term, [ON_NODE] = 0.6e-6 + 0.17e-6);
    learn(m, "flag", known[i], "-", 0.5e-6, "s");
    for (int where = GROVE_ON_SOCKET; where <= GROVE_ON_NODE; where++) {
      load = (grove_load){0};
      grove_load_add(&load, m, &memory, (grove_locality)where, 100, 2, SENDS);
      TERMS(load.sent.term, [ON_NODE] = 0.5e-6, [COPY] = 0.01e-6);
    }
    grove_machine_free(&m);
  }
}

/* Messages to a place of which the profile knows nothing cost what they do to the nearest. */
static void without_a_place(void)
{
  grove_machine *m = machine_of("alpha cpu on-socket any 1e-6 s m\n"
                                "beta cpu on-socket any 1e-9 s/B m\n");
  TERMS(one(m, GROVE_ON_NODE, 100, SENDS).sent.term, [ON_NODE] = 1.1e-6);
  CHECK(isnan(one(m, GROVE_OFF_NODE, 100, SENDS).sent.term[LATENCY]), "a price of nothing");
  grove_machine_free(&m);
  m = machine_of("alpha cpu on-node any 2e-6 s m\nbeta cpu on-node any 1e-9 s/B m\n");
  TERMS(one(m, GROVE_ON_SOCKET, 100, SENDS).sent.term, [ON_NODE] = 2.1e-6);
  grove_machine_free(&m);
}

/* Data in another memory goes by its own rows; those of LogGP, of shared memory and of packing are
 * the host's. */
static void another_memory(void)
{
  static const char device_rows[] = "alpha gpu on-node eager 17e-6 s m\n"
                                    "beta  gpu on-node eager 0.6e-9 s/B m\n"
                                    "alpha gpu off-node eager 19e-6 s m\n"
                                    "beta  gpu off-node eager 0.9e-9 s/B m\n"
                                    "alpha gpu off-node rend 23e-6 s m\n"
                                    "beta  gpu off-node rend 0.15e-9 s/B m\n"
                                    "from  gpu off-node rend 500 B m\n"
                                    "injection gpu off-node eager 4e9 B/s m\n"
                                    "injection gpu off-node rend 5e9 B/s m\n"
                                    "pack cpu any 0.. 2e-9 s/B m\n";
  char more[3000];
  snprintf(more, sizeof more, "%s%s%s", streams, memory_rows, device_rows);
  grove_machine *m = odd(more);
  const grove_pricing how = {.unit_bytes = 1, .memory = GROVE_GPU, .shared_memory = 1};
  for (int way = 0; way < 2; way++) {
    grove_load load = {0};
    grove_load_add(&load, m, &how, GROVE_ON_NODE, 100, 2, way);
    TERMS(side_of(&load, way)->term, [ON_NODE] = 17.06e-6);
    CHECK_NEAR(load.processor, 8.5e-6);
    grove_load_add(&load, m, &how, GROVE_ON_SOCKET, 100, 2, way); /* as on the node: not told */
    TERMS(side_of(&load, way)->term, [ON_NODE] = 34.12e-6);
    load = (grove_load){0};
    grove_load_add(&load, m, &how, GROVE_OFF_NODE, 499, 2, way);
    grove_load_add(&load, m, &how, GROVE_OFF_NODE, 700, 2, way); /* the host's are eager */
    TERMS(side_of(&load, way)->term, [LATENCY] = 42e-6, [BANDWIDTH] = 0.5541e-6);
    TERMS(side_of(&load, way)->head, 0);
    CHECK_NEAR(side_of(&load, way)->interface, 499 * 0.25e-9 + 700 * 0.2e-9);
    CHECK_NEAR(load.processor, 21e-6);
    load = (grove_load){0};
    grove_load_pack(&load, m, &how, 1000, way);
    grove_load_keep(&load, m, &how, 1000);
    TERMS(side_of(&load, way)->term, 0);
    CHECK_NEAR(load.processor + load.packing, 0);
  }
  grove_load none = {0};
  const grove_pricing unknown = {.unit_bytes = 1, .memory = GROVE_GPU_NOGDR};
  grove_load_add(&none, m, &unknown, GROVE_OFF_NODE, 100, 0, SENDS);
  CHECK(isnan(none.sent.term[LATENCY]), "a price by the rows of another memory");
  grove_machine_free(&m);
}

static void packing(void)
{
  static const double want[][2] = {{100, 0.2e-6}, {4095, 8.19e-6}, {4096, 20.48e-6}};
  grove_machine *m = odd("pack cpu any 0.. 2e-9 s/B m\npack cpu any 4096.. 5e-9 s/B m\n");
  for (int i = 0; i < 3; i++) {
    for (int way = 0; way < 2; way++) {
      grove_load load = {.processor = 1e-6, .packing = 2e-6};
      grove_load_pack(&load, m, &messages, (int64_t)want[i][0], way);
      TERMS(side_of(&load, way)->term, [COPY] = want[i][1]);
      TERMS(side_of(&load, !way)->term, 0);
      CHECK_NEAR(load.processor, 1e-6 + want[i][1]);
      CHECK_NEAR(load.packing, 2e-6 + want[i][1]);
    }
    grove_load load = {.processor = 1e-6, .packing = 2e-6}; /* what stays here holds up nobody */
    grove_load_keep(&load, m, &messages, (int64_t)want[i][0]);
    TERMS(load.sent.term, 0);
    TERMS(load.received.term, 0);
    CHECK_NEAR(load.processor, 1e-6 + want[i][1]);
    CHECK_NEAR(load.packing, 2e-6 + want[i][1]);
  }
  grove_machine_free(&m);
}

/* ---- one rank ---- */

/* It pays for what it sends or for what it receives, whichever is more. */
static void larger_side(void)
{
  grove_machine *m = odd("");
  grove_neighbourhood alone = {0};
  for (int way = 0; way < 2; way++) {
    grove_load load = {0};
    grove_load_add(&load, m, &messages, GROVE_OFF_NODE, 1000, 0, way);
    grove_load_add(&load, m, &messages, GROVE_OFF_NODE, 50, 0, !way);
    PRICE(grove_load_price(&load, m, &messages, &alone), [LATENCY] = 11e-6, [BANDWIDTH] = 0.5e-6);
    grove_price large = grove_load_sent(&load, m, &messages, &alone);
    grove_price small = grove_load_received(&load, m, &messages, &alone);
    PRICE(way ? small : large, [LATENCY] = 11e-6, [BANDWIDTH] = 0.5e-6);
    /* 11 us / 2 and 3 us / 2 of processor, of which 3.35 us are paid as it is */
    PRICE(way ? large : small, [LATENCY] = 3e-6, [BANDWIDTH] = 0.35e-6, [CORES] = 3.65e-6);
  }
  grove_machine_free(&m);
}

/* What the node's bytes need beyond the rank's own: by the interface of that direction, and only
 * where this rank uses it. */
static void injection(void)
{
  grove_machine *m = odd("injection cpu off-node any 0.1e-9 s/B m\n");
  for (int way = 0; way < 2; way++) {
    grove_load load = one(m, GROVE_OFF_NODE, 10000, way); /* 5 us of its own */
    grove_neighbourhood around = {.interface_sent = way ? 1 : 8e-6,
                                  .interface_received = way ? 8e-6 : 1};
    CHECK_NEAR(side_of(&load, way)->interface, 1e-6);
    PRICE(grove_load_price(&load, m, &messages, &around), [LATENCY] = 11e-6, [BANDWIDTH] = 5e-6,
          [INJECTION] = 3e-6);
    PRICE((way ? grove_load_received : grove_load_sent)(&load, m, &messages, &around),
          [LATENCY] = 11e-6, [BANDWIDTH] = 5e-6, [INJECTION] = 3e-6);
    around.interface_sent = around.interface_received = 4e-6;
    PRICE(grove_load_price(&load, m, &messages, &around), [LATENCY] = 11e-6, [BANDWIDTH] = 5e-6);
  }
  grove_neighbourhood around = {.interface_sent = 8e-6, .interface_received = 8e-6};
  grove_load load = one(m, GROVE_ON_NODE, 100, SENDS); /* does not use it */
  PRICE(grove_load_price(&load, m, &messages, &around), [ON_NODE] = 0.77e-6);
  grove_machine_free(&m);
  m = odd("injection cpu off-node rend 0.1e-9 s/B m\n"); /* a limit of one protocol */
  CHECK_NEAR(one(m, GROVE_OFF_NODE, 1000, SENDS).sent.interface, 0.1e-6);
  CHECK(one(m, GROVE_OFF_NODE, 999, SENDS).sent.interface == 0, "of another protocol");
  grove_machine_free(&m);
}

/* Receives are looked for in the worst order, in the order of a typical application, or are found
 * at once; a single one always is. */
static void queue(void)
{
  static const struct {
    int receives;
    double best, typical, worst; /* steps */
  } row[] = {{1, 1, 1, 1}, {2, 2, 4 / 3.0, 4}, {3, 3, 3, 9}, {4, 4, 16 / 3.0, 16}};
  grove_machine *m = odd("gamma cpu any - 0.3e-6 s m\n");
  grove_neighbourhood alone = {0};
  for (int i = 0; i < 4; i++)
    for (int order = 0; order < 3; order++) {
      grove_pricing how = {.unit_bytes = 1, .order = (grove_queue_order)order};
      grove_load load = {0};
      const double steps[] = {[GROVE_QUEUE_BEST] = row[i].best,
                              [GROVE_QUEUE_TYPICAL] = row[i].typical,
                              [GROVE_QUEUE_WORST] = row[i].worst};
      for (int k = 0; k < row[i].receives; k++)
        grove_load_add(&load, m, &how, GROVE_OFF_NODE, 0, 0, RECEIVES);
      PRICE(grove_load_price(&load, m, &how, &alone), [LATENCY] = 3e-6 * row[i].receives,
            [QUEUE] = 0.3e-6 * steps[order]);
      PRICE(grove_load_received(&load, m, &how, &alone), [LATENCY] = 3e-6 * row[i].receives,
            [QUEUE] = 0.3e-6 * steps[order]);
      CHECK(grove_load_sent(&load, m, &how, &alone).term[QUEUE] == 0, "a queue of sends");
    }
  grove_load load = one(m, GROVE_OFF_NODE, 0, SENDS);
  PRICE(grove_load_price(&load, m, &messages, &alone), [LATENCY] = 3e-6);
  grove_machine_free(&m);
}

static void contention(void)
{
  const grove_pricing how = {.unit_bytes = 1, .link_bytes = 4000};
  grove_machine *m = odd("delta cpu off-node - 0.2e-9 s/B m\n");
  grove_neighbourhood alone = {0};
  for (int way = 0; way < 2; way++) {
    grove_load load = {0};
    grove_load_add(&load, m, &how, GROVE_OFF_NODE, 0, 0, way);
    grove_load_add(&load, m, &how, GROVE_ON_NODE, 0, 0, !way);
    PRICE(grove_load_price(&load, m, &how, &alone), [LATENCY] = 3e-6, [CONTENTION] = 0.8e-6);
    PRICE((way ? grove_load_received : grove_load_sent)(&load, m, &how, &alone), [LATENCY] = 3e-6,
          [CONTENTION] = 0.8e-6);
    /* The other side stays on the node: 0.6 us, and 1.8 us of processor for both. */
    PRICE((way ? grove_load_sent : grove_load_received)(&load, m, &how, &alone), [ON_NODE] = 0.6e-6,
          [CORES] = 1.2e-6);
  }
  grove_machine_free(&m);
}

/* ---- cores and crowds ---- */

/* At least as long as the rank is busy, and as all who share cores are. */
static void busy(void)
{
  grove_machine *m = odd("");
  grove_load load = one(m, GROVE_OFF_NODE, 100, SENDS); /* 5.2 us, 2.5 us busy */
  static const struct {
    double cores, processor; /* of the neighbours together */
    double waits;
  } row[] = {
    {0, 1, 0},       /* nobody says how many cores there are */
    {2, 10.4e-6, 0}, /* just as long */
    {2, 11e-6, 0.3e-6}, {4, 44e-6, 5.8e-6}, {2.5, 20e-6, 2.8e-6},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    grove_neighbourhood around = {
      .cores = row[i].cores, .processor = row[i].processor, .ranks = (int)row[i].cores};
    PRICE(grove_load_price(&load, m, &messages, &around), [LATENCY] = 5e-6, [BANDWIDTH] = 0.2e-6,
          [CORES] = row[i].waits);
    PRICE(grove_load_sent(&load, m, &messages, &around), [LATENCY] = 5e-6, [BANDWIDTH] = 0.2e-6,
          [CORES] = row[i].waits);
    PRICE(grove_load_busy(&load, m, &around), [LATENCY] = 5e-6, [BANDWIDTH] = 0.2e-6,
          [CORES] = row[i].waits);
  }
  load.processor = 7e-6; /* the rank's own */
  PRICE(grove_load_price(&load, m, &messages, &(grove_neighbourhood){.cores = 4, .ranks = 4}),
        [LATENCY] = 5e-6, [BANDWIDTH] = 0.2e-6, [CORES] = 1.8e-6);
  grove_machine_free(&m);
}

/* It can send more when what it sends has left as one of a stream; what comes is not waited for. */
static void free_to_send(void)
{
  grove_machine *m = odd(streams);
  grove_load load = one(m, GROVE_OFF_NODE, 500, SENDS);
  grove_neighbourhood alone = {0};
  grove_load_add(&load, m, &messages, GROVE_OFF_NODE, 7000, 0, RECEIVES);
  PRICE(grove_load_busy(&load, m, &alone), [LATENCY] = 2e-6, [BANDWIDTH] = 0.75e-6,
        [CORES] = 1.3e-6 + 2.3e-6 - 2.75e-6);
  PRICE(grove_load_sent(&load, m, &messages, &alone), [LATENCY] = 5e-6, [BANDWIDTH] = 1e-6);
  grove_machine_free(&m);
}

/* More ranks than cores: turn + message k + byte k s, where a message counts at both of its ends,
 * of the kinds that there are; and the packing of all over the cores. */
static void crowds(void)
{
  static const struct {
    int ranks;
    double cores, messages[2], bytes[2], packing, seconds;
  } row[] = {
    /* turn 50; (8 2 + 0.8) / 8 and (4 6 + 12) / 8 us; 6 / 2 us of packing */
    {4, 2, {8, 4}, {800, 4000}, 6e-6, 50e-6 + 2.1e-6 + 4.5e-6 + 3e-6},
    {4, 2, {8, 0}, {800, 0}, 6e-6, 10e-6 + 2.1e-6 + 3e-6},
    {4, 2, {0, 4}, {0, 4000}, 0, 50e-6 + 4.5e-6},
    /* one message of one rank, of which the other end is elsewhere */
    {3, 2.5, {0, 1}, {0, 600}, 0, 50e-6 + 7.8e-6 / 6},
    {3, 2.5, {0, 1}, {0, 600}, 5e-6, 50e-6 + 7.8e-6 / 6 + 2e-6},
    /* as many cores as ranks: no crowd, only the message */
    {4, 4, {8, 4}, {800, 4000}, 6e-6, 5.2e-6},
    {2, 2.5, {8, 4}, {800, 4000}, 6e-6, 5.2e-6},
  };
  grove_machine *m = odd(crowd_rows);
  grove_load load = one(m, GROVE_OFF_NODE, 100, SENDS);
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    test_case((int64_t)i);
    grove_neighbourhood around = {.ranks = row[i].ranks,
                                  .cores = row[i].cores,
                                  .packing = row[i].packing,
                                  .messages = {row[i].messages[0], row[i].messages[1]},
                                  .bytes = {row[i].bytes[0], row[i].bytes[1]}};
    PRICE(grove_load_price(&load, m, &messages, &around), [LATENCY] = 5e-6, [BANDWIDTH] = 0.2e-6,
          [CORES] = row[i].seconds - 5.2e-6);
  }
  /* The longer turn counts, also that on the node; of kinds that are not told of nothing does. */
  grove_neighbourhood both = {
    .ranks = 4, .cores = 2, .processor = 12e-6, .messages = {8, 4}, .bytes = {800, 4000}};
  m->crowd[0].turn = 60e-6;
  CHECK_NEAR(grove_load_price(&load, m, &messages, &both).seconds, 60e-6 + 2.1e-6 + 4.5e-6);
  m->crowd[0].message = NAN;
  CHECK_NEAR(grove_load_price(&load, m, &messages, &both).seconds, 6e-6);
  /* A crowd that takes less than the processors do is no reason to take less. */
  grove_neighbourhood slow = {
    .ranks = 4, .cores = 2, .processor = 200e-6, .messages = {0, 4}, .bytes = {0, 4000}};
  CHECK_NEAR(grove_load_price(&load, m, &messages, &slow).seconds, 100e-6);
  grove_machine_free(&m);
}

/* ---- factors ---- */

static void set_factor(grove_machine *m, int which, double value)
{
  for (int i = 0; i < GROVE_FACTORS; i++) m->factor[i] = i == which ? value : 1;
}

/* Each multiplies its own term, however the price is asked for. */
static void factors_of_terms(void)
{
  const grove_pricing how = {
    .unit_bytes = 1, .order = GROVE_QUEUE_BEST, .shared_memory = 1, .link_bytes = 4000};
  grove_machine *m = odd("injection cpu off-node any 9e-9 s/B m\n"
                         "gamma cpu any - 0.1e-6 s m\n"
                         "delta cpu off-node - 0.2e-9 s/B m\n"
                         "pack cpu any 0.. 0.5e-9 s/B m\n"
                         "flag cpu any - 0.29e-6 s m\n"
                         "shared cpu on-node 2 0.1e-9 s/B m\n");
  const grove_neighbourhood around = {.interface_sent = 2e-6, .interface_received = 3e-6};
  grove_load load = {0};
  grove_load_add(&load, m, &how, GROVE_OFF_NODE, 100, 0, SENDS);
  grove_load_add(&load, m, &how, GROVE_ON_NODE, 1000, 2, SENDS);
  grove_load_pack(&load, m, &how, 1100, 0);
  grove_load_add(&load, m, &how, GROVE_OFF_NODE, 150, 0, RECEIVES);
  /* 5 us and 0.2, 2 less 0.2 of injection; a flag; 0.1 us of copy and 0.55 of packing */
  for (int which = -1; which < CORES; which++) {
    double f[GROVE_TERMS];
    test_case(which);
    set_factor(m, which, 3);
    for (int t = 0; t < GROVE_TERMS; t++) f[t] = t == which ? 3 : 1;
    PRICE(grove_load_sent(&load, m, &how, &around), [LATENCY] = f[LATENCY] * 5e-6,
          [BANDWIDTH] = f[BANDWIDTH] * 0.2e-6, [INJECTION] = f[INJECTION] * 1.8e-6,
          [CONTENTION] = f[CONTENTION] * 0.8e-6, [ON_NODE] = f[ON_NODE] * 0.29e-6,
          [COPY] = f[COPY] * 0.65e-6);
    PRICE(grove_load_received(&load, m, &how, &around), [LATENCY] = f[LATENCY] * 5e-6,
          [BANDWIDTH] = f[BANDWIDTH] * 0.3e-6, [INJECTION] = f[INJECTION] * 2.7e-6,
          [QUEUE] = f[QUEUE] * 0.1e-6, [CONTENTION] = f[CONTENTION] * 0.8e-6);
    grove_price all = grove_load_price(&load, m, &how, &around);
    CHECK_NEAR(all.term[QUEUE], f[QUEUE] * 0.1e-6);
    CHECK_NEAR(all.term[CONTENTION], f[CONTENTION] * 0.8e-6);
    CHECK_NEAR(grove_load_busy(&load, m, &around).term[COPY], f[COPY] * 0.65e-6);
  }
  grove_machine_free(&m);
}

/* Of cores: by how much longer the processors are busy, after the factor. Of a crowd: its parts. */
static void factors_of_crowds(void)
{
  static const struct {
    int which;
    double seconds;
  } row[] = {{-1, 50e-6 + 2.1e-6 + 4.5e-6 + 3e-6},
             {CORES, 2 * (50e-6 + 2.1e-6 + 4.5e-6 + 3e-6)},
             {GROVE_FACTOR_TURN, 100e-6 + 2.1e-6 + 4.5e-6 + 3e-6},
             {GROVE_FACTOR_MESSAGE, 50e-6 + 4e-6 + 6e-6 + 0.1e-6 + 1.5e-6 + 3e-6},
             {GROVE_FACTOR_BYTE, 50e-6 + 2e-6 + 3e-6 + 0.2e-6 + 3e-6 + 3e-6},
             {COPY, 50e-6 + 2.1e-6 + 4.5e-6 + 3e-6}};
  grove_machine *m = odd(crowd_rows);
  grove_load load = one(m, GROVE_OFF_NODE, 100, SENDS);
  const grove_neighbourhood around = {
    .ranks = 4, .cores = 2, .packing = 6e-6, .messages = {8, 4}, .bytes = {800, 4000}};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    test_case((int64_t)i);
    set_factor(m, row[i].which, 2);
    PRICE(grove_load_price(&load, m, &messages, &around), [LATENCY] = 5e-6, [BANDWIDTH] = 0.2e-6,
          [CORES] = row[i].seconds - 5.2e-6);
  }
  grove_machine_free(&m);
}

/* Rows of a profile. */
static void factors_are_read(void)
{
  static const char *const want[] = {"latency",    "bandwidth",     "injection", "queue",
                                     "contention", "on_node",       "copy",      "cores",
                                     "crowd-turn", "crowd-message", "crowd-byte"};
  char text[1000] = "";
  CHECK(GROVE_FACTORS == 11, "%d factors", GROVE_FACTORS);
  grove_machine *m = odd("");
  for (int i = 0; i < GROVE_FACTORS; i++) CHECK(m->factor[i] == 1, "%g", m->factor[i]);
  grove_machine_free(&m);
  for (int i = 0; i < GROVE_FACTORS; i++) {
    CHECK(strcmp(grove_term_names[i], want[i]) == 0, "factor %d is %s", i, grove_term_names[i]);
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "factor cpu any %s %g 1 m\n", want[i], 1.5 + i);
  }
  m = odd(text);
  for (int i = 0; i < GROVE_FACTORS; i++)
    CHECK(m->factor[i] == 1.5 + i, "%s is %g", want[i], m->factor[i]);
  CHECK_STATUS(grove_machine_add(m, "factor", "cpu", "any", "speed", 2, "1", "m"), GROVE_OK);
  CHECK_STATUS(grove_machine_digest(m), GROVE_ERR_ARG);
  CHECK(strstr(grove_last_error(), "'speed'") && strstr(grove_last_error(), "crowd-message"),
        "'%s'", grove_last_error());
  grove_machine_free(&m);
}

/* A rank that does nothing pays nothing, whatever goes on around it. */
static void idle(void)
{
  grove_machine *m = odd("pack cpu any 0.. 2e-9 s/B m\n");
  grove_neighbourhood around = {.cores = 2, .ranks = 4, .processor = 100e-6};
  grove_load load = {0};
  PRICE(grove_load_price(&load, m, &messages, &around), 0);
  PRICE(grove_load_sent(&load, m, &messages, &around), 0);
  PRICE(grove_load_received(&load, m, &messages, &around), 0);
  PRICE(grove_load_busy(&load, m, &around), 0);
  grove_load_keep(&load, m, &messages,
                  1000); /* one that only moves values of its own waits for a core */
  PRICE(grove_load_price(&load, m, &messages, &around), [CORES] = 50e-6);
  load = (grove_load){.messages = {1, 0}}; /* so does one whose messages cost it nothing */
  PRICE(grove_load_price(&load, m, &messages, &around), [CORES] = 50e-6);
  load = (grove_load){.messages = {0, 1}};
  PRICE(grove_load_price(&load, m, &messages, &around), [CORES] = 50e-6);
  grove_machine_free(&m);
}

/* ---- prices as numbers ---- */

static void compares(void)
{
  const grove_price none = {.seconds = NAN}, one_second = {.seconds = 1}, two = {.seconds = 2};
  CHECK(grove_price_exceeds(&two, &one_second) && !grove_price_exceeds(&one_second, &two), "2 > 1");
  CHECK(!grove_price_exceeds(&one_second, &one_second), "nothing exceeds itself");
  CHECK(grove_price_exceeds(&none, &two) && !grove_price_exceeds(&two, &none), "NaN is the most");
}

static void whole_numbers(void)
{
  static const struct {
    double seconds;
    int64_t picoseconds;
  } row[] = {{0, 0},
             {1e-12, 1},
             {1.5e-12, 1},
             {1.5e-6, 1500000},
             {1, 1000000000000},
             {999999, 999999000000000000},
             {1e6, INT64_MAX},
             {NAN, INT64_MAX},
             {INFINITY, INT64_MAX}};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++)
    CHECK(grove_price_picoseconds(row[i].seconds) == row[i].picoseconds, "%g s: %lld ps",
          row[i].seconds, (long long)grove_price_picoseconds(row[i].seconds));
  CHECK_NEAR(grove_price_seconds(1500000), 1.5e-6);
  CHECK_NEAR(grove_price_seconds(INT64_MAX - 1), 9223372.036854775806);
  CHECK(isnan(grove_price_seconds(INT64_MAX)), "what is not known is a number");
}

static void names(void)
{
  static const char *const want[] = {"latency",    "bandwidth", "injection", "queue",
                                     "contention", "on_node",   "copy",      "cores"};
  CHECK(GROVE_TERMS == 8, "%d terms", GROVE_TERMS);
  for (int t = 0; t < 8; t++)
    CHECK(strcmp(grove_term_names[t], want[t]) == 0, "term %d is %s", t, grove_term_names[t]);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "model/price_terms");
  by_place_and_size();
  in_a_stream();
  in_a_stream_on_node();
  slow_receivers();
  odd_overheads();
  heads();
  through_shared_memory();
  without_a_flag();
  without_a_place();
  packing();
  another_memory();
  larger_side();
  injection();
  queue();
  contention();
  busy();
  free_to_send();
  crowds();
  factors_of_terms();
  factors_of_crowds();
  factors_are_read();
  idle();
  compares();
  whole_numbers();
  names();
  return test_end();
}
