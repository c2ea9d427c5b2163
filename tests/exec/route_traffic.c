/* What a route promises to send between nodes is what operations on it report, of all ranks
 * together: counted here edge by edge, on random forests and nodes. 3-step sends one message from
 * node to node, and where values may be shared or combined none crosses twice. A route that cannot
 * serve is replaced by standard, and the report says so. */
#include "check.h"
#include "exercise.h"
#include "places.h"
#include "ring.h"

#include <stdlib.h>
#include <string.h>

/* ---- edges between nodes ---- */

typedef struct edge {
  int owner, leaf;      /* ranks */
  int from, to;         /* their nodes */
  int64_t root, number; /* the root of all ranks', and the edge of all */
} edge;

/* Edges for which this is the same number are one. */
typedef int64_t (*sameness)(const edge *e, int nranks);

static int64_t node_pair(const edge *e, int nranks)
{
  return e->from * nranks + e->to;
}

static int64_t rank_and_node(const edge *e, int nranks)
{
  return e->owner * nranks + e->to;
}

static int64_t rank_pair(const edge *e, int nranks)
{
  return e->owner * nranks + e->leaf;
}

static int64_t value_and_node(const edge *e, int nranks)
{
  return e->root * nranks + e->to;
}

static int64_t value_and_rank(const edge *e, int nranks)
{
  return e->root * nranks + e->leaf;
}

static int64_t itself(const edge *e, int nranks)
{
  (void)nranks;
  return e->number;
}

/* How many different ones cross from node to node. */
static int64_t count(const graph *g, const int *node, sameness name)
{
  int64_t n = 0, at = 0, room = (int64_t)g->nranks * g->nranks * GRAPH_MOST_SLOTS;
  char *met = need((size_t)room);
  memset(met, 0, (size_t)room);
  for (int i = 0; i < g->nranks; i++)
    for (int64_t j = 0; j < g->part[i].nleaves; j++, at++) {
      grove_root r = g->part[i].root[j];
      edge e = {r.rank, i, node[r.rank], node[i], r.rank * GRAPH_MOST_ROOTS + r.index, at};
      if (e.from == e.to) continue;
      char *same = &met[name(&e, g->nranks)];
      n += !*same;
      *same = 1;
    }
  free(met);
  return n;
}

/* ---- what routes promise ---- */

/* A message is for all of these, and a value that may be shared for all of those. Standard shares
 * only where that pays. */
typedef struct promise {
  const char *route, *cap;
  sameness message, shared;
} promise;

static const promise promises[] = {{"standard", "auto", rank_pair, value_and_rank},
                                   {"2-step", "auto", rank_and_node, value_and_node},
                                   {"3-step", "auto", node_pair, value_and_node},
                                   {"split", "1048576", node_pair, value_and_node}};
enum { PROMISES = sizeof promises / sizeof *promises };

typedef struct traffic {
  int64_t messages, bytes, most_bytes;
} traffic;

/* Between nodes, of all ranks. Collective. */
static traffic reported(const place *p, grove_op *op)
{
  grove_report report = {.struct_size = sizeof report};
  MPI_Request request;
  CHECK_OK(grove_op_report(op, &report));
  int64_t mine[2] = {report.off_node_messages, report.off_node_bytes}, sum[2];
  MPI_Iallreduce(mine, sum, 2, MPI_INT64_T, MPI_SUM, p->comm, &request);
  polite_wait(&request);
  return (traffic){sum[0], sum[1], sum[1]};
}

static int64_t unit_bytes(const unit *u)
{
  int64_t bytes = 0;
  for (int i = 0; i < u->npieces; i++) bytes += (int64_t)scalar_bytes(u->piece[i].kind);
  return bytes;
}

/* Sums of integers may be combined on their way. A fetch goes there and back. */
static traffic promised(const promise *x, const exercise *e, const int *node)
{
  int times = e->kind == KIND_FETCH ? 2 : 1;
  int shares = e->kind == KIND_BCAST || e->kind == KIND_REDUCE;
  int64_t bytes = times * unit_bytes(e->u);
  int64_t edges = count(e->g, node, itself), shared = count(e->g, node, x->shared);
  return (traffic){.messages = times * count(e->g, node, x->message),
                   .bytes = bytes * (shares ? shared : edges),
                   .most_bytes = bytes * (shares && x->message != rank_pair ? shared : edges)};
}

static void check_traffic(const place *p, grove_op *op, traffic expected, const char *what)
{
  traffic got = reported(p, op);
  CHECK(got.messages == expected.messages, "%s: %lld messages between nodes, not %lld", what,
        (long long)got.messages, (long long)expected.messages);
  CHECK(expected.bytes <= got.bytes && got.bytes <= expected.most_bytes,
        "%s: %lld bytes between nodes, not %lld to %lld", what, (long long)got.bytes,
        (long long)expected.bytes, (long long)expected.most_bytes);
}

/* ---- at random ---- */

static void check_route(grove_op *op, const char *route)
{
  grove_report report = {.struct_size = sizeof report};
  CHECK_OK(grove_op_report(op, &report));
  CHECK(strcmp(report.route, route) == 0, "the route is '%s', not '%s'", report.route, route);
}

/* Two that go the same way, as one: they share their messages, but by split, which finds senders
 * and receivers for each. */
static void try_bundle(const place *p, const promise *x, const exercise each[OP_KINDS],
                       const int *node)
{
  grove_op *list[] = {each[KIND_BCAST].op, each[KIND_SCATTER].op}, *bundle = NULL;
  traffic one = promised(x, &each[KIND_BCAST], node), two = promised(x, &each[KIND_SCATTER], node);
  if (strcmp(x->route, "split") == 0) return;
  CHECK_OK(grove_op_bundle(2, list, &bundle));
  one.bytes += two.bytes;
  one.most_bytes += two.most_bytes;
  check_traffic(p, bundle, one, "a bundle");
  CHECK_OK(grove_op_free(&bundle));
}

/* All kinds, one by one. */
static void try_promise(const place *p, const promise *x, exercise each[OP_KINDS], const int *node)
{
  char what[160];
  place_set(p, "route", x->route);
  place_set(p, "message_cap", x->cap);
  for (int k = 0; k < OP_KINDS; k++) {
    exercise_init(&each[k]);
    check_route(each[k].op, x->route);
    check_traffic(p, each[k].op, promised(x, &each[k], node), exercise_name(&each[k], what));
  }
  try_bundle(p, x, each, node);
  for (int k = 0; k < OP_KINDS; k++) CHECK_OK(grove_op_free(&each[k].op));
}

static void try_graph(const units *types, const place *p, int64_t number)
{
  static const char *const unit_names[] = {"MPI_INT", "vector of ints with gaps", "MPI_INT64_T"};
  rng r = rng_from(test_seed() + (uint64_t)p->side, (uint64_t)number);
  graph *g = graph_random(&r, (graph_kind)(number % GRAPH_KINDS), p->size);
  int *node = need((size_t)p->size * sizeof *node);
  exercise each[OP_KINDS];
  place_draw_nodes(p, &r);
  for (int i = 0; i < p->size; i++) CHECK_OK(grove_context_node(p->ctx, i, &node[i], NULL));
  grove_forest *f = graph_forest(p->ctx, g, p->rank);
  for (int k = 0; k < OP_KINDS; k++) {
    each[k] = (exercise){.g = g, .f = f, .me = p->rank, .kind = (op_kind)k, .seed = rng_next(&r)};
    each[k].u = units_find(types, unit_names[number % 3]);
    each[k].r = unit_reduction(each[k].u, k == KIND_BCAST ? "REPLACE" : "SUM");
    exercise_open(&each[k]);
  }
  for (int i = 0; i < PROMISES; i++) try_promise(p, &promises[i], each, node);
  for (int k = 0; k < OP_KINDS; k++) exercise_close(&each[k]);
  CHECK_OK(grove_forest_free(&f));
  graph_free(g);
  free(node);
}

/* ---- routes that cannot serve ---- */

/* Asked for this, standard is what one gets, and it moves the data. */
static void becomes_standard(const units *types, const place *p, const char *route, rng *r)
{
  graph *g = graph_random(r, GRAPH_DENSE, p->size);
  exercise e = {.g = g, .f = graph_forest(p->ctx, g, p->rank), .me = p->rank};
  rng mine = rng_from(r->state, (uint64_t)world_rank());
  place_set(p, "route", route);
  for (int k = 0; k < OP_KINDS; k++) {
    exercise_draw_of(&e, (op_kind)k, types, r);
    exercise one = e;
    exercise_open(&one);
    exercise_init(&one);
    check_route(one.op, "standard");
    exercise_close(&one);
    exercise_run(e, FORM_INIT, &mine);
  }
  CHECK_OK(grove_forest_free(&e.f));
  graph_free(g);
}

/* Options that exclude each other: every operation is refused until one of them is changed. */
static void refuses_route(const place *p, const char *off_node, const char *route)
{
  ring x = ring_open(p, RING_SMALL, RING_NOBODY, KIND_FETCH);
  op_call c = ring_call(&x);
  place_set(p, "route", route);
  for (c.kind = 0; c.kind < OP_KINDS; c.kind++)
    for (int begins = 0; begins < 2; begins++) {
      CHECK_STATUS(begins ? call_begin(&c, &x.op) : call_init(&c, &x.op), GROVE_ERR_OPTION);
      CHECK(!x.op, "an output was set by a call that failed");
      CHECK(strstr(grove_last_error(), route) && strstr(grove_last_error(), off_node), "'%s'",
            grove_last_error());
    }
  ring_close(&x);
}

/* These transports serve standard alone; and where no other route can help none is looked for. */
static void try_fallbacks(const units *types)
{
  static const char *const off_node[] = {"neighbor", "rma"}, *const alone[] = {"0", "1"};
  static const char *const relays[] = {"2-step", "3-step", "split"};
  rng r = rng_from(test_seed(), 1);
  place p = place_create(split(0));
  place_set(&p, "node_map", "");
  place_set(&p, "node_size", "2");
  for (int i = 0; i < 2; i++) {
    place_set(&p, "transport_off_node", off_node[i]);
    for (int k = 0; k < 3; k++) refuses_route(&p, off_node[i], relays[k]);
    becomes_standard(types, &p, "auto", &r);
    becomes_standard(types, &p, "standard", &r);
  }
  place_set(&p, "transport_off_node", "p2p");
  for (int i = 0; i < 2; i++) {
    place_set(&p, "node_size", alone[i]);
    becomes_standard(types, &p, "auto", &r);
  }
  place_free(&p);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/route_traffic");
  units *types = units_create();
  places all = places_create();
  for (int64_t i = 0; i < test_samples(12); i++) {
    test_case(i);
    try_graph(types, places_turn(&all, i / 2), i);
  }
  places_free(&all);
  try_fallbacks(types);
  units_free(types);
  return test_end();
}
