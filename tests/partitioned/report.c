/* What the report of a channel says: who decides which parts travel together, parts, messages, how
 * long ready parts wait, rounds; and of what is no channel, that it is none. */
#include "channel.h"
#include "check.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 12 };

static grove_report report_of(grove_op *op)
{
  grove_report r = {.struct_size = sizeof r};
  CHECK_OK(grove_op_report(op, &r));
  CHECK(r.aggregator && r.route && r.transport && r.transport_on_node && r.machine,
        "a name is NULL");
  return r;
}

typedef struct pair {
  channel c[2]; /* receives from the previous rank, sends to the next one */
} pair;

static pair pair_open(const place *p, const unit *u, int64_t count)
{
  pair x;
  int next = (p->rank + 1) % p->size, previous = (p->rank + p->size - 1) % p->size;
  for (int k = 0; k < 2; k++) {
    x.c[k] = (channel){.ctx = p->ctx, .sends = k, .peer = k ? next : previous, .tag = 1};
    x.c[k].parts = k ? PARTS : PARTS / 3;
    x.c[k].count = k ? count : 3 * count;
    x.c[k].u = u;
    x.c[k].seed = mix2(test_seed(), (uint64_t)(k ? p->rank : previous));
    channel_open(&x.c[k]);
  }
  return x;
}

static void pair_run(pair *x)
{
  for (int k = 0; k < 2; k++) channel_start(&x->c[k]);
  for (int i = PARTS; i > 0; i--) channel_ready(&x->c[1], i - 1, 1);
  for (int k = 0; k < 2; k++) channel_wait(&x->c[k]);
}

static void pair_close(pair *x)
{
  for (int k = 0; k < 2; k++) channel_close(&x->c[k]);
}

/* ---- what every channel reports ---- */

static void check_common(const place *p, const channel *c, const char *aggregator)
{
  grove_report r = report_of(c->op);
  int node[2];
  if (c->sends || c->round > 0) /* a receiver hears of it */
    CHECK(strcmp(r.aggregator, aggregator) == 0, "aggregator '%s', not '%s'", r.aggregator,
          aggregator);
  CHECK(r.parts == c->parts, "%lld parts, not %d", (long long)r.parts, c->parts);
  CHECK(r.starts == c->round, "%lld starts, not %lld", (long long)r.starts, (long long)c->round);
  CHECK(r.messages >= 0, "%lld messages", (long long)r.messages);
  CHECK(r.delta_seconds >= 0, "a delta of %g s", r.delta_seconds);
  CHECK(r.measured_seconds >= 0, "measured %g s", r.measured_seconds);
  if (c->round > 0 && c->sends)
    CHECK(r.messages >= 1 && r.messages <= PARTS, "%lld messages of %d parts",
          (long long)r.messages, PARTS);
  CHECK_OK(grove_context_node(p->ctx, p->rank, &node[0], NULL));
  CHECK_OK(grove_context_node(p->ctx, c->peer, &node[1], NULL));
  int64_t bytes = node[0] == node[1] ? r.on_node_bytes : r.off_node_bytes;
  int64_t others = node[0] == node[1] ? r.off_node_bytes : r.on_node_bytes;
  if (c->round > 0 && c->sends)
    CHECK(bytes >= channel_bytes(c), "%lld bytes, not %lld", (long long)bytes,
          (long long)channel_bytes(c));
  CHECK(others == 0, "%lld bytes where there is no channel", (long long)others);
  if (!c->sends) CHECK(bytes == 0, "a receiver sends %lld bytes", (long long)bytes);
}

static void try_aggregator(const place *p, const unit *u, const char *name, const char *reported)
{
  place_set(p, "aggregator", name);
  pair x = pair_open(p, u, 10);
  for (int round = 0; round < 4; round++) {
    for (int k = 0; k < 2; k++) check_common(p, &x.c[k], reported);
    pair_run(&x);
  }
  for (int k = 0; k < 2; k++) check_common(p, &x.c[k], reported);
  grove_report r = report_of(x.c[1].op);
  if (strcmp(name, "none") == 0)
    CHECK(r.messages == PARTS, "%lld messages, not one a part", (long long)r.messages);
  if (strcmp(name, "none") == 0 || strcmp(name, "ploggp") == 0)
    CHECK(r.delta_seconds == 0, "a delta of %g s, without a timer", r.delta_seconds);
  if (strcmp(name, "timer") == 0)
    CHECK(fabs(r.delta_seconds - 0.002) < 1e-9, "a delta of %g s", r.delta_seconds);
  pair_close(&x);
}

/* ---- options that limit ---- */

static void limits(const place *p, const unit *u)
{
  place_set(p, "aggregator", "none");
  place_set(p, "max_messages", "3");
  pair x = pair_open(p, u, 10);
  pair_run(&x);
  int64_t n = report_of(x.c[1].op).messages;
  CHECK(n <= 3, "%lld messages, not 3 or less", (long long)n);
  pair_close(&x);
  place_set(p, "max_messages", "0");
  place_set(p, "min_message", "1000000");
  x = pair_open(p, u, 10);
  pair_run(&x);
  n = report_of(x.c[1].op).messages;
  CHECK(n == 1, "%lld messages of a million bytes or more", (long long)n);
  pair_close(&x);
  place_set(p, "min_message", "0");
}

/* ---- what carries it ---- */

/* As the report of a forest operation has it: inside a node, and between nodes. */
static void check_transport(grove_op *op, const char *name)
{
  grove_report r = report_of(op);
  CHECK(strcmp(r.transport, name) == 0 && strcmp(r.transport_on_node, name) == 0,
        "'%s' and, inside a node, '%s' carry it, not '%s'", r.transport, r.transport_on_node, name);
}

/* A sender knows from the beginning, a receiver hears of it. `set`: the option, `on_node`: another
 * one that says what operations have inside a node. All ranks are on one. */
static void transport(const place *p, const unit *u, const char *set, const char *on_node,
                      const char *expected)
{
  place_set(p, "transport_parts", set);
  place_set(p, "transport_on_node", on_node);
  pair x = pair_open(p, u, 10);
  check_transport(x.c[0].op, "none");
  check_transport(x.c[1].op, expected);
  pair_run(&x);
  for (int k = 0; k < 2; k++) check_transport(x.c[k].op, expected);
  pair_close(&x);
}

static void transports(const place *p, const unit *u)
{
  static const char *const aggregators[] = {"none", "timer"}; /* groups, and runs */
  const char *given = getenv("GROVE_TRANSPORT_PARTS");
  for (int i = 0; i < 2; i++) {
    place_set(p, "aggregator", aggregators[i]);
    transport(p, u, "mpi", "shm", "mpi");
    transport(p, u, "shm", "shm", "shm");
    transport(p, u, "shm", "mpi", "shm");
    transport(p, u, "auto", "shm", "shm");
    transport(p, u, "auto", "mpi", "mpi");
  }
  place_set(p, "transport_on_node", "shm");
  place_set(p, "transport_parts", given ? given : "auto");
}

/* ---- what is no channel ---- */

static void forest_operation(const place *p)
{
  grove_forest *f = NULL;
  grove_op *op = NULL;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, 0, 0, NULL, NULL));
  CHECK_OK(grove_forest_set_up(f));
  CHECK_OK(grove_bcast_init(f, MPI_INT, NULL, NULL, MPI_REPLACE, &op));
  grove_report r = report_of(op);
  CHECK(strcmp(r.aggregator, "none") == 0 && r.parts == 0 && r.messages == 0 &&
          r.delta_seconds == 0,
        "a bcast has parts");
  CHECK_OK(grove_op_free(&op));
  CHECK_OK(grove_forest_free(&f));
}

/* A program that was compiled before channels has a shorter struct. */
static void shorter_struct(const place *p, const unit *u)
{
  pair x = pair_open(p, u, 1);
  grove_report r;
  memset(&r, 0x5a, sizeof r);
  r.struct_size = offsetof(grove_report, aggregator);
  CHECK_OK(grove_op_report(x.c[0].op, &r));
  for (size_t i = offsetof(grove_report, aggregator); i < sizeof r; i++)
    CHECK(((unsigned char *)&r)[i] == 0x5a, "byte %zu was written", i);
  pair_close(&x);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "partitioned/report");
  units *types = units_create();
  place p = place_create(split(0));
  place_set(&p, "delta", "0.002");
  for (int i = 0; i < 2; i++) {
    const unit *u = units_find(types, i == 0 ? "MPI_INT64_T" : "struct of char and double");
    test_case(i);
    try_aggregator(&p, u, "none", "none");
    try_aggregator(&p, u, "ploggp", "ploggp");
    try_aggregator(&p, u, "auto", "ploggp");
    try_aggregator(&p, u, "timer", "timer");
    try_aggregator(&p, u, "adaptive", "adaptive");
    limits(&p, u);
    transports(&p, u);
    shorter_struct(&p, u);
  }
  forest_operation(&p);
  place_free(&p);
  units_free(types);
  return test_end();
}
