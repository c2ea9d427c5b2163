/* grove_op_report: messages and bytes of graphs whose traffic is known, by node; and what carries
 * them. */
#include "check.h"
#include "exercise.h"
#include "places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct traffic {
  int64_t messages[2], bytes[2]; /* [0] on node, [1] off node */
} traffic;

/* What rank `me` sends to the roots, or from them: one message to each peer it shares edges with, a
 * unit for each edge. */
static traffic expect(const graph *g, int me, int up, int64_t unit_bytes, int node_size)
{
  traffic t = {0};
  for (int peer = 0; peer < g->nranks; peer++) {
    const part *leaves = &g->part[up ? me : peer];
    int owner = up ? peer : me, off = me / node_size != peer / node_size;
    int64_t edges = 0;
    for (int64_t j = 0; j < leaves->nleaves; j++) edges += leaves->root[j].rank == owner;
    if (peer == me || edges == 0) continue;
    t.messages[off]++;
    t.bytes[off] += edges * unit_bytes;
  }
  return t;
}

/* A fetch goes there and back. */
static traffic expect_kind(const graph *g, int me, op_kind k, int64_t unit_bytes, int node_size)
{
  traffic t = expect(g, me, kind_goes_to_roots(k), unit_bytes, node_size);
  traffic back = k == KIND_FETCH ? expect(g, me, 0, unit_bytes, node_size) : (traffic){0};
  for (int i = 0; i < 2; i++) {
    t.messages[i] += back.messages[i];
    t.bytes[i] += back.bytes[i];
  }
  return t;
}

static void check_report(grove_op *op, traffic t, const char *on_node, int64_t starts)
{
  grove_report got = {.struct_size = sizeof got};
  CHECK_OK(grove_op_report(op, &got));
  const int64_t pair[][2] = {{got.on_node_messages, t.messages[0]},
                             {got.off_node_messages, t.messages[1]},
                             {got.on_node_bytes, t.bytes[0]},
                             {got.off_node_bytes, t.bytes[1]},
                             {got.starts, starts}};
  for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
    CHECK(pair[i][0] == pair[i][1], "number %zu is %lld, not %lld", i, (long long)pair[i][0],
          (long long)pair[i][1]);
  CHECK(strcmp(got.route, "standard") == 0, "the route is '%s'", got.route);
  CHECK(strcmp(got.transport, "p2p") == 0, "the transport is '%s'", got.transport);
  CHECK(strcmp(got.transport_on_node, on_node) == 0, "on node it is '%s', not '%s'",
        got.transport_on_node, on_node);
  CHECK(starts > 0 ? got.measured_seconds >= 0 : got.measured_seconds == 0,
        "%g s after %lld starts", got.measured_seconds, (long long)starts);
  const grove_terms *p = &got.predicted;
  double own = p->latency + p->bandwidth + p->injection + p->queue + p->contention + p->on_node +
               p->copy + p->cores;
  CHECK(own <= got.predicted_seconds * 1.0001 + 1e-11,
        "own terms of %g s exceed the slowest's %g s", own, got.predicted_seconds);
  CHECK(own > 0 || t.messages[0] + t.messages[1] == 0, "messages that cost nothing");
  CHECK(got.machine && *got.machine, "a price of no machine");
}

/* What all ranks send is what all ranks receive. */
static void check_received(grove_op *op, MPI_Comm comm)
{
  grove_report r = {.struct_size = sizeof r};
  CHECK_OK(grove_op_report(op, &r));
  int64_t sum[4] = {r.on_node_messages - r.on_node_messages_received,
                    r.on_node_bytes - r.on_node_bytes_received,
                    r.off_node_messages - r.off_node_messages_received,
                    r.off_node_bytes - r.off_node_bytes_received};
  MPI_Allreduce(MPI_IN_PLACE, sum, 4, MPI_INT64_T, MPI_SUM, comm);
  for (int i = 0; i < 4; i++)
    CHECK(sum[i] == 0, "number %d: %lld more are sent than received", i, (long long)sum[i]);
}

/* The program's own pointer. */
static void check_user(grove_op *op)
{
  void *user = op;
  int mine = 0;
  CHECK_OK(grove_op_get_user(op, &user));
  CHECK(user == NULL, "an operation begins with a pointer");
  CHECK_OK(grove_op_set_user(op, &mine));
  CHECK_OK(grove_op_get_user(op, &user));
  CHECK(user == &mine, "another pointer comes back");
  CHECK(grove_op_set_user(NULL, &mine) == GROVE_ERR_ARG, "of no operation");
  CHECK(grove_op_get_user(op, NULL) == GROVE_ERR_ARG, "no place for it");
}

/* A shorter struct, as an older program has it: nothing behind it is written. */
static void check_short_structs(grove_op *op)
{
  for (size_t bytes = sizeof(size_t); bytes <= sizeof(grove_report); bytes++) {
    grove_report whole = {.struct_size = sizeof whole};
    CHECK_OK(grove_op_report(op, &whole));
    _Alignas(grove_report) unsigned char memory[sizeof(grove_report) + 16];
    unsigned char before[sizeof memory];
    memset(memory, 0xa5, sizeof memory);
    memcpy(memory, &bytes, sizeof bytes);
    memcpy(before, memory, sizeof before);
    CHECK_OK(grove_op_report(op, (grove_report *)(void *)memory));
    CHECK(memcmp(memory + bytes, before + bytes, sizeof memory - bytes) == 0,
          "more than struct_size = %zu bytes were written", bytes);
    size_t head = sizeof(size_t); /* behind the size itself */
    CHECK(memcmp(memory + head, (char *)&whole + head, bytes - head) == 0,
          "the first %zu bytes differ from the whole report", bytes);
  }
}

static void try_graph(const place *p, const graph *g, const unit *u, op_kind k, int node_size,
                      const char *on_node)
{
  exercise e = {.g = g, .f = graph_forest(p->ctx, g, p->rank), .me = p->rank, .u = u};
  e.kind = k;
  e.r = unit_reduction(u, "REPLACE");
  exercise_open(&e);
  exercise_init(&e);
  int64_t bytes = 0;
  for (int i = 0; i < u->npieces; i++) bytes += (int64_t)scalar_bytes(u->piece[i].kind);
  traffic t = expect_kind(g, p->rank, k, bytes, node_size);
  check_report(e.op, t, on_node, 0);
  for (int round = 1; round <= 3; round++) {
    CHECK_OK(grove_start(e.op));
    CHECK_OK(grove_wait(e.op));
    check_report(e.op, t, on_node, round);
  }
  check_received(e.op, p->comm);
  check_user(e.op);
  check_short_structs(e.op);
  exercise_close(&e);
  CHECK_OK(grove_forest_free(&e.f));
}

/* No root has two leaves on one rank: whether such a value is sent once or twice is left open. */
static graph *draw(rng *r, int nranks)
{
  graph *g = graph_empty(nranks);
  for (int i = 0; i < nranks; i++) {
    int64_t n = rng_below(r, 3 * nranks);
    part_resize(&g->part[i], 3, n);
    int64_t *which = need((size_t)(3 * nranks) * sizeof *which);
    for (int64_t k = 0; k < 3 * nranks; k++) which[k] = k;
    rng_shuffle(r, 3 * nranks, which);
    for (int64_t j = 0; j < n; j++)
      g->part[i].root[j] = (grove_root){(int)(which[j] / 3), which[j] % 3};
    free(which);
  }
  return g;
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/report");
  units *types = units_create();
  place p = place_create(split(0));
  static const char *const name[] = {"MPI_DOUBLE", "3 doubles", "vector of ints with gaps"};
  place_set(&p, "route", "standard");
  for (int64_t i = 0; i < test_samples(15); i++) {
    test_case(i);
    rng r = rng_from(test_seed(), (uint64_t)i);
    int node_size = 1 + (int)(i % 3);
    char value[8];
    snprintf(value, sizeof value, "%d", node_size);
    CHECK_OK(grove_context_set(p.ctx, "node_size", value));
    const char *on_node = i / 4 % 2 ? "mpi" : "shm";
    CHECK_OK(grove_context_set(p.ctx, "transport_on_node", on_node));
    graph *g = draw(&r, p.size);
    try_graph(&p, g, units_find(types, name[i % 3]), (op_kind)(i % OP_KINDS), node_size, on_node);
    graph_free(g);
  }
  place_free(&p);
  units_free(types);
  return test_end();
}
