/* Plans of every route move the right values: they are run here, stage by stage, over plain MPI, on
 * random forests and nodes; forward, and backward with a sum. Hub slots are written exactly once,
 * and before they are read. Messages of the first and the last stage stay inside a node, and
 * between nodes no value crosses twice where values may be shared. */
#include "check.h"
#include "generate.h"
#include "places.h"
#include "route/route.h"

#include <stdlib.h>
#include <string.h>

/* One rank's arrays while a plan runs. */
typedef struct memory {
  const grove_plan *plan;
  int64_t *data[GROVE_ARRAYS];
  char *written; /* hub slots */
} memory;

static int64_t *zeros(int64_t n)
{
  int64_t *x = need((size_t)(n + 1) * sizeof *x);
  memset(x, 0, (size_t)(n + 1) * sizeof *x);
  return x;
}

static memory memory_create(const grove_plan *plan, int64_t nroots, int64_t nslots)
{
  memory m = {.plan = plan, .written = need((size_t)plan->hub + 1)};
  memset(m.written, 0, (size_t)plan->hub + 1);
  m.data[GROVE_ARRAY_ROOT] = zeros(nroots);
  m.data[GROVE_ARRAY_LEAF] = zeros(nslots);
  m.data[GROVE_ARRAY_HUB] = zeros(plan->hub);
  return m;
}

static void memory_free(memory *m)
{
  for (int i = 0; i < GROVE_ARRAYS; i++) free(m->data[i]);
  free(m->written);
}

/* ---- one stage ---- */

static int64_t load(const memory *m, const grove_slots *s, int64_t i)
{
  int64_t slot = grove_index_at(&s->index, i);
  if (s->array == GROVE_ARRAY_HUB)
    CHECK(slot < m->plan->hub && m->written[slot], "hub slot %lld of %lld is read too early",
          (long long)slot, (long long)m->plan->hub);
  return m->data[s->array][slot];
}

/* With `sum`, roots take contributions; all other slots take what comes. */
static void store(memory *m, const grove_slots *s, int64_t i, int64_t value, int sum)
{
  int64_t slot = grove_index_at(&s->index, i);
  if (s->array == GROVE_ARRAY_HUB) {
    CHECK(slot < m->plan->hub && !m->written[slot], "hub slot %lld of %lld is written twice",
          (long long)slot, (long long)m->plan->hub);
    m->written[slot] = 1;
  }
  m->data[s->array][slot] = value + (sum ? m->data[s->array][slot] : 0);
}

static int64_t first_of(const grove_message *x, int64_t unit)
{
  return x->starts.count > 0 ? grove_index_at(&x->starts, unit) : unit;
}

static void pack(const memory *m, const grove_message *x, int64_t *out)
{
  for (int64_t u = 0; u < grove_message_units(x); u++) {
    out[u] = 0;
    for (int64_t i = first_of(x, u); i < first_of(x, u + 1); i++) out[u] += load(m, &x->slots, i);
  }
}

static void unpack(memory *m, const grove_message *x, const int64_t *in, int sum)
{
  for (int64_t u = 0; u < grove_message_units(x); u++)
    for (int64_t i = first_of(x, u); i < first_of(x, u + 1); i++)
      store(m, &x->slots, i, in[u], sum);
}

static void check_messages(const place *p, int n, const grove_message *messages)
{
  for (int i = 0; i < n; i++) {
    const grove_message *x = &messages[i];
    CHECK(x->peer >= 0 && x->peer < p->size && x->peer != p->rank, "a message with %d", x->peer);
    CHECK(i == 0 || x->peer > messages[i - 1].peer, "the peers do not ascend");
    CHECK(grove_message_units(x) > 0, "an empty message with %d", x->peer);
    CHECK(first_of(x, grove_message_units(x)) == x->slots.index.count, "%lld slots, not %lld",
          (long long)x->slots.index.count, (long long)first_of(x, grove_message_units(x)));
  }
}

static void run_stage(const place *p, const grove_stage *s, memory *m, int sum)
{
  int64_t **out = need((size_t)(s->nsends + 1) * sizeof *out);
  MPI_Request *request = need((size_t)(s->nsends + 1) * sizeof *request);
  int64_t kept = s->keep_from.index.count, *keep = zeros(kept);
  check_messages(p, s->nsends, s->sends);
  check_messages(p, s->nreceives, s->receives);
  CHECK(s->keep_to.index.count == kept, "%lld and %lld are kept", (long long)kept,
        (long long)s->keep_to.index.count);
  for (int64_t i = 0; i < kept; i++) keep[i] = load(m, &s->keep_from, i);
  for (int i = 0; i < s->nsends; i++) {
    const grove_message *x = &s->sends[i];
    out[i] = zeros(grove_message_units(x));
    pack(m, x, out[i]);
    MPI_Isend(out[i], (int)grove_message_units(x), MPI_INT64_T, x->peer, 0, p->comm, &request[i]);
  }
  for (int64_t i = 0; i < kept; i++) store(m, &s->keep_to, i, keep[i], sum);
  for (int i = 0; i < s->nreceives; i++) {
    const grove_message *x = &s->receives[i];
    int64_t units = grove_message_units(x), *in = zeros(units);
    MPI_Request receive;
    in[units - 1] = in[units] = INT64_MIN;
    MPI_Irecv(in, (int)units + 1, MPI_INT64_T, x->peer, 0, p->comm, &receive);
    polite_wait(&receive);
    CHECK(in[units - 1] != INT64_MIN && in[units] == INT64_MIN, "not %lld units come from %d",
          (long long)units, x->peer);
    unpack(m, x, in, sum);
    free(in);
  }
  for (int i = 0; i < s->nsends; i++) {
    polite_wait(&request[i]);
    free(out[i]);
  }
  free(out);
  free(request);
  free(keep);
}

static void run(const place *p, memory *m, int sum)
{
  for (int s = 0; s < m->plan->nstages; s++) run_stage(p, &m->plan->stages[s], m, sum);
  for (int64_t i = 0; i < m->plan->hub; i++)
    CHECK(m->written[i], "hub slot %lld of %lld is not used", (long long)i,
          (long long)m->plan->hub);
}

/* ---- against the serial truth ---- */

static int64_t value_of(int rank, int64_t index)
{
  return (int64_t)(mix2((uint64_t)rank, (uint64_t)index) >> 20);
}

static void forward(const place *p, const graph *g, const grove_plan *plan)
{
  const part *mine = &g->part[p->rank];
  memory m = memory_create(plan, mine->nroots, mine->nslots);
  int64_t *expected = zeros(mine->nslots);
  for (int64_t i = 0; i < mine->nroots; i++) m.data[GROVE_ARRAY_ROOT][i] = value_of(p->rank, i);
  for (int64_t j = 0; j < mine->nleaves; j++)
    expected[part_slot(mine, j)] = value_of(mine->root[j].rank, mine->root[j].index);
  run(p, &m, 0);
  for (int64_t i = 0; i < mine->nslots; i++)
    CHECK(m.data[GROVE_ARRAY_LEAF][i] == expected[i], "leaf slot %lld is %lld, not %lld",
          (long long)i, (long long)m.data[GROVE_ARRAY_LEAF][i], (long long)expected[i]);
  free(expected);
  memory_free(&m);
}

static void backward(const place *p, const graph *g, const grove_plan *plan)
{
  const part *mine = &g->part[p->rank];
  grove_plan *reverse = NULL;
  CHECK_OK(grove_plan_reverse(plan, &reverse));
  memory m = memory_create(reverse, mine->nroots, mine->nslots);
  int64_t *expected = zeros(mine->nroots);
  for (int64_t i = 0; i < mine->nslots; i++) m.data[GROVE_ARRAY_LEAF][i] = value_of(p->rank, i);
  for (int64_t i = 0; i < mine->nroots; i++) expected[i] = m.data[GROVE_ARRAY_ROOT][i] = i;
  for (int q = 0; q < g->nranks; q++)
    for (int64_t j = 0; j < g->part[q].nleaves; j++)
      if (g->part[q].root[j].rank == p->rank)
        expected[g->part[q].root[j].index] += value_of(q, part_slot(&g->part[q], j));
  run(p, &m, 1);
  for (int64_t i = 0; i < mine->nroots; i++)
    CHECK(m.data[GROVE_ARRAY_ROOT][i] == expected[i], "root %lld is %lld, not %lld", (long long)i,
          (long long)m.data[GROVE_ARRAY_ROOT][i], (long long)expected[i]);
  free(expected);
  memory_free(&m);
  grove_plan_free(&reverse);
}

/* A root for each edge: those of the leaves of rank 0 first, in their order, then those of rank
 * 1, ... */
static void edges_forward(const place *p, const graph *g, const grove_plan *plan)
{
  const part *mine = &g->part[p->rank];
  int64_t nedges = graph_edges_to(g, p->rank), *next = zeros(g->nranks);
  memory m = memory_create(plan, nedges, mine->nslots);
  for (int64_t i = 0; i < nedges; i++) m.data[GROVE_ARRAY_ROOT][i] = value_of(p->rank, i);
  for (int q = 0; q < p->rank; q++)
    for (int64_t j = 0; j < g->part[q].nleaves; j++) next[g->part[q].root[j].rank]++;
  run(p, &m, 0);
  for (int64_t j = 0; j < mine->nleaves; j++) {
    int64_t got = m.data[GROVE_ARRAY_LEAF][part_slot(mine, j)];
    int64_t expected = value_of(mine->root[j].rank, next[mine->root[j].rank]++);
    CHECK(got == expected, "leaf %lld is %lld, not %lld", (long long)j, (long long)got,
          (long long)expected);
  }
  free(next);
  memory_free(&m);
}

/* ---- what crosses ---- */

/* Pairs of a root and a node, other than its own, that needs it. */
static int64_t count_crossings(const graph *g, const grove_topo *topo, int share)
{
  int64_t count = 0;
  char *seen = need((size_t)topo->nnodes * (size_t)g->nranks * GRAPH_MOST_ROOTS);
  memset(seen, 0, (size_t)topo->nnodes * (size_t)g->nranks * GRAPH_MOST_ROOTS);
  for (int q = 0; q < g->nranks; q++)
    for (int64_t j = 0; j < g->part[q].nleaves; j++) {
      grove_root root = g->part[q].root[j];
      int64_t node = topo->place[q].node;
      char *met = &seen[(node * g->nranks + root.rank) * GRAPH_MOST_ROOTS + root.index];
      count += node != topo->place[root.rank].node && (!share || !*met);
      *met = 1;
    }
  free(seen);
  return count;
}

/* How things lie in the hub: few lists, and contributions in the order of ranks. */
static void check_layout(const grove_plan *plan, const grove_topo *topo, const grove_build *how)
{
  const grove_stage *cross = &plan->stages[plan->nstages - 2], *spread = cross + 1;
  for (int i = 0; i < cross->nsends; i++)
    if (cross->sends[i].slots.array == GROVE_ARRAY_HUB)
      CHECK(grove_index_consecutive(&cross->sends[i].slots.index), "a list is sent to %d",
            cross->sends[i].peer);
  for (int i = 0; i < spread->nsends && how->back; i++)
    CHECK(grove_index_consecutive(&spread->sends[i].slots.index), "a list is passed on to %d",
          spread->sends[i].peer);
  for (int i = 0; i < cross->nreceives; i++) {
    const grove_message *x = &cross->receives[i];
    if (grove_topo_same_node(topo, plan->rank, x->peer)) continue;
    CHECK(how->back || grove_index_consecutive(&x->slots.index), "a list comes from %d", x->peer);
    for (int64_t u = 0; u < grove_message_units(x); u++)
      for (int64_t k = first_of(x, u) + 1; k < first_of(x, u + 1); k++)
        CHECK(grove_index_at(&x->slots.index, k) > grove_index_at(&x->slots.index, k - 1),
              "unit %lld from %d is combined out of order", (long long)u, x->peer);
  }
}

static void check_relay(const place *p, const graph *g, const grove_topo *topo,
                        const grove_plan *plan, const grove_build *how)
{
  int cross = plan->nstages - 2;
  check_layout(plan, topo, how);
  for (int s = 0; s < plan->nstages; s++)
    for (int i = 0; i < plan->stages[s].nsends && s != cross; i++)
      CHECK(grove_topo_same_node(topo, p->rank, plan->stages[s].sends[i].peer),
            "in stage %d a message goes to another node", s);
  int64_t units = grove_plan_count(plan, topo).off_node_units, all = 0;
  MPI_Request request;
  MPI_Iallreduce(&units, &all, 1, MPI_INT64_T, MPI_SUM, p->comm, &request);
  polite_wait(&request);
  CHECK(all == count_crossings(g, topo, how->share), "%lld units cross, not %lld", (long long)all,
        (long long)count_crossings(g, topo, how->share));
}

/* ---- at random ---- */

static void check_route(const grove_route *route, const place *p, const graph *g,
                        const grove_forest *f, const grove_build *how)
{
  grove_plan *plan = NULL;
  CHECK_OK(route->build(f, how, &plan));
  CHECK(plan->rank == p->rank && strcmp(plan->route, route->name) == 0, "a plan of rank %d, '%s'",
        plan->rank, plan->route);
  forward(p, g, plan);
  if (how->back) backward(p, g, plan);
  if (route->relays) check_relay(p, g, &f->ctx->topo, plan, how);
  grove_plan_free(&plan);
  if (how->share || how->by_root) return;
  grove_forest view = *f;
  view.roots.slots = (grove_index){.count = f->roots.slots.count};
  CHECK_OK(route->build(&view, how, &plan));
  edges_forward(p, g, plan);
  grove_plan_free(&plan);
}

static void at_random(const place *p, uint64_t number)
{
  rng r = rng_from(test_seed(), number);
  graph *g = graph_random(&r, (graph_kind)(number % GRAPH_KINDS), p->size);
  place_draw_nodes(p, &r);
  grove_forest *f = graph_forest(p->ctx, g, p->rank);
  for (int way = 0; way < 8; way++) {
    grove_build how = {
      .share = way & 1, .by_root = way >> 1 & 1, .back = way >> 2, .cap = rng_between(&r, 1, 40)};
    for (int i = 0; i < GROVE_ROUTES; i++) check_route(grove_routes[i], p, g, f, &how);
  }
  CHECK_OK(grove_forest_free(&f));
  graph_free(g);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "route/moves_values");
  places all = places_create();
  for (int64_t i = 0; i < test_samples(72); i++) {
    test_case(i);
    const place *p = places_turn(&all, i);
    at_random(p, (uint64_t)i * 2 + (uint64_t)p->side);
  }
  places_free(&all);
  return test_end();
}
