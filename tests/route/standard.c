/* The standard route: on three ranks exactly what one would write by hand; on random forests a
 * message for every pair of ranks that share an edge, every edge once, and none to oneself. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "check.h"
#include "generate.h"
#include "places.h"
#include "route/route.h"

#include <stdlib.h>
#include <string.h>

/* ---- by hand ---- */

static void set_edges(part *p, int64_t nroots, const char *edges)
{
  int64_t n = 0;
  for (const char *c = edges; *c; c++) n += *c == ' ';
  part_resize(p, nroots, n);
  p->leaf_index = need((size_t)n * sizeof *p->leaf_index);
  for (int64_t i = 0; i < n; i++) {
    int slot, rank, index, used = 0;
    CHECK(sscanf(edges, "%d<%d.%d %n", &slot, &rank, &index, &used) == 3, "'%s'", edges);
    edges += used;
    p->leaf_index[i] = slot;
    p->root[i] = (grove_root){rank, index};
    if (slot >= p->nslots) p->nslots = slot + 1;
  }
}

static void check_text(const grove_forest *f, const char *expected)
{
  grove_plan *plan = NULL;
  char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  CHECK(file != NULL, "no memory for a text");
  CHECK_OK(grove_route_standard.build(f, &(grove_build){0}, &plan));
  grove_plan_print(plan, 100, file);
  fclose(file);
  CHECK(strcmp(text, expected) == 0, "the plan is\n%s, and not\n%s", text, expected);
  free(text);
  grove_plan_free(&plan);
}

/* Edges are written slot<rank.root, each with a blank behind it. Groups of a message keep the order
 * of the leaf list; a root needed twice by one rank is sent twice; rank 2 owns nothing. */
static void by_hand(const place *p)
{
  static const char *const expected[3] = {
    "plan of rank 0, route standard\n"
    "  stage 0\n"
    "    send to 1: root slots 2 0\n"
    "    send to 2: root slots 0 to 2\n"
    "    receive from 1: leaf slots 0 3\n"
    "    keep: root slots 1 -> leaf slots 9\n",
    "plan of rank 1, route standard\n"
    "  stage 0\n"
    "    send to 0: root slots 1 1\n"
    "    send to 2: root slots 3 1\n"
    "    receive from 0: leaf slots 7 2\n",
    "plan of rank 2, route standard\n"
    "  stage 0\n"
    "    receive from 0: leaf slots 0 to 2\n"
    "    receive from 1: leaf slots 5 4\n",
  };
  graph *g = graph_empty(3);
  set_edges(&g->part[0], 3, "0<1.1 9<0.1 3<1.1 ");
  set_edges(&g->part[1], 4, "7<0.2 2<0.0 ");
  set_edges(&g->part[2], 0, "0<0.0 1<0.1 5<1.3 2<0.2 4<1.1 ");
  grove_forest *f = graph_forest(p->ctx, g, p->rank);
  check_text(f, expected[p->rank]);
  CHECK_OK(grove_forest_free(&f));
  graph_free(g);
}

/* A rank that has edges with itself only, and one that has none at all. */
static void alone(const place *p)
{
  static const char *const expected[3] = {
    "plan of rank 0, route standard\n  stage 0\n    keep: root slots 0 0 -> leaf slots 1 0\n",
    "plan of rank 1, route standard\n  stage 0\n",
    "plan of rank 2, route standard\n  stage 0\n    keep: root slots 1 -> leaf slots 6\n",
  };
  graph *g = graph_empty(3);
  set_edges(&g->part[0], 1, "1<0.0 0<0.0 ");
  set_edges(&g->part[1], 2, "");
  set_edges(&g->part[2], 2, "6<2.1 ");
  grove_forest *f = graph_forest(p->ctx, g, p->rank);
  check_text(f, expected[p->rank]);
  CHECK_OK(grove_forest_free(&f));
  graph_free(g);
}

/* Many kept edges whose leaves are in no order: written in that of the slots where data goes from
 * roots to leaves, kept as they are where it comes back. */
static void kept_in_order(const place *p)
{
  enum { LEAVES = 1009, STEP = 617, ROOTS = 100 };
  int64_t slot[LEAVES];
  grove_root root[LEAVES];
  grove_forest *f = NULL;
  for (int64_t i = 0; i < LEAVES; i++) {
    slot[i] = i * STEP % LEAVES;
    root[i] = (grove_root){p->rank, i % ROOTS};
  }
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, ROOTS, LEAVES, slot, root));
  CHECK_OK(grove_forest_set_up(f));
  for (int back = 0; back < 2; back++) {
    grove_plan *plan = NULL;
    CHECK_OK(grove_route_standard.build(f, &(grove_build){.back = back}, &plan));
    const grove_index *from = &plan->stages[0].keep_from.index,
                      *to = &plan->stages[0].keep_to.index;
    CHECK(from->count == LEAVES && to->count == LEAVES, "%lld edges are kept",
          (long long)to->count);
    int64_t of_slot[LEAVES];
    for (int64_t i = 0; i < LEAVES; i++) of_slot[slot[i]] = i;
    for (int64_t i = 0; i < LEAVES; i++) {
      int64_t at = grove_index_at(to, i), edge = of_slot[at];
      CHECK(at == (back ? slot[i] : i), "back %d: slot %lld is written at place %lld", back,
            (long long)at, (long long)i);
      CHECK(grove_index_at(from, i) == root[edge].index, "back %d: slot %lld gets root %lld", back,
            (long long)at, (long long)grove_index_at(from, i));
    }
    grove_plan_free(&plan);
  }
  CHECK_OK(grove_forest_free(&f));
}

/* ---- at random ---- */

static void check_edge(const graph *g, int me, int64_t slot, int rank, int64_t root, char *met)
{
  const part *mine = &g->part[me];
  int64_t j = 0;
  while (j < mine->nleaves && part_slot(mine, j) != slot) j++;
  CHECK(j < mine->nleaves, "slot %lld is written, but there is no such leaf", (long long)slot);
  CHECK(mine->root[j].rank == rank && mine->root[j].index == root,
        "leaf %lld gets root %lld of rank %d, not %lld of rank %d", (long long)slot,
        (long long)root, rank, (long long)mine->root[j].index, mine->root[j].rank);
  CHECK(!met[j], "leaf %lld is written twice", (long long)slot);
  met[j] = 1;
}

/* The senders' lists travel, so that every receiver can join them to its own. */
static void check_messages(const place *p, const graph *g, const grove_stage *s, char *met)
{
  int64_t(*sent)[GRAPH_MOST_SLOTS] = need((size_t)(s->nsends + 1) * sizeof *sent);
  MPI_Request *request = need((size_t)(s->nsends + 1) * sizeof *request), receive;
  for (int i = 0; i < s->nsends; i++) {
    const grove_index *x = &s->sends[i].slots.index;
    CHECK(s->sends[i].slots.array == GROVE_ARRAY_ROOT, "message %d reads leaves", i);
    CHECK(s->sends[i].peer != p->rank, "message %d of rank %d goes to itself", i, p->rank);
    CHECK(i == 0 || s->sends[i].peer > s->sends[i - 1].peer, "the peers do not ascend");
    CHECK(x->count > 0 && x->count <= GRAPH_MOST_SLOTS, "message %d has %lld units", i,
          (long long)x->count);
    for (int64_t k = 0; k < x->count; k++) sent[i][k] = grove_index_at(x, k);
    MPI_Isend(sent[i], (int)x->count, MPI_INT64_T, s->sends[i].peer, 0, p->comm, &request[i]);
  }
  for (int i = 0; i < s->nreceives; i++) {
    int64_t came[GRAPH_MOST_SLOTS];
    const grove_index *x = &s->receives[i].slots.index;
    int peer = s->receives[i].peer, n = 0, done = 0;
    CHECK(s->receives[i].slots.array == GROVE_ARRAY_LEAF, "message %d writes roots", i);
    CHECK(peer != p->rank, "rank %d receives from itself", peer);
    CHECK(i == 0 || peer > s->receives[i - 1].peer, "the peers do not ascend");
    MPI_Status status;
    MPI_Irecv(came, GRAPH_MOST_SLOTS, MPI_INT64_T, peer, 0, p->comm, &receive);
    while (!done) MPI_Test(&receive, &done, &status);
    MPI_Get_count(&status, MPI_INT64_T, &n);
    CHECK(n == x->count, "%d units come from %d, %lld are expected", n, peer, (long long)x->count);
    for (int k = 0; k < n; k++) check_edge(g, p->rank, grove_index_at(x, k), peer, came[k], met);
  }
  for (int i = 0; i < s->nsends; i++) polite_wait(&request[i]);
  free(sent);
  free(request);
}

static void check_kept(const place *p, const graph *g, const grove_stage *s, char *met)
{
  const grove_index *from = &s->keep_from.index, *to = &s->keep_to.index;
  CHECK(from->count == to->count, "%lld roots are kept for %lld leaves", (long long)from->count,
        (long long)to->count);
  for (int64_t k = 0; k < from->count; k++)
    check_edge(g, p->rank, grove_index_at(to, k), p->rank, grove_index_at(from, k), met);
}

static int64_t units_of(int n, const grove_message *messages)
{
  int64_t units = 0;
  for (int i = 0; i < n; i++) units += messages[i].slots.index.count;
  return units;
}

/* All ranks together send, and receive, as many units as there are edges between ranks. */
static void check_sums(const place *p, const graph *g, const grove_stage *s)
{
  int64_t mine[2] = {units_of(s->nsends, s->sends), units_of(s->nreceives, s->receives)};
  int64_t all[2], edges = 0;
  for (int i = 0; i < g->nranks; i++)
    for (int64_t j = 0; j < g->part[i].nleaves; j++) edges += g->part[i].root[j].rank != i;
  MPI_Request request;
  MPI_Iallreduce(mine, all, 2, MPI_INT64_T, MPI_SUM, p->comm, &request);
  polite_wait(&request);
  CHECK(all[0] == edges && all[1] == edges, "%lld units sent, %lld received, %lld edges",
        (long long)all[0], (long long)all[1], (long long)edges);
}

static void at_random(const place *p, uint64_t number)
{
  rng r = rng_from(test_seed(), number);
  graph *g = graph_random(&r, (graph_kind)(number % GRAPH_KINDS), p->size);
  grove_forest *f = graph_forest(p->ctx, g, p->rank);
  grove_plan *plan = NULL;
  int64_t nleaves = g->part[p->rank].nleaves;
  char *met = need((size_t)nleaves);
  memset(met, 0, (size_t)nleaves);
  CHECK_OK(grove_route_standard.build(f, &(grove_build){0}, &plan));
  CHECK(plan->rank == p->rank && plan->nstages == 1, "a plan of rank %d, with %d stages",
        plan->rank, plan->nstages);
  check_messages(p, g, &plan->stages[0], met);
  check_kept(p, g, &plan->stages[0], met);
  for (int64_t j = 0; j < nleaves; j++) CHECK(met[j], "leaf %lld gets nothing", (long long)j);
  check_sums(p, g, &plan->stages[0]);
  grove_plan_free(&plan);
  CHECK_OK(grove_forest_free(&f));
  free(met);
  graph_free(g);
}

/* ---- the registry ---- */

/* Every choice of the option `route` but auto is a route of that name, in the same order. */
static void registry(void)
{
  char choices[128] = "auto";
  for (int i = 0; i < GROVE_ROUTES; i++) {
    const grove_route *route = grove_routes[i];
    CHECK(grove_route_find(route->name) == route, "there is another route %s", route->name);
    CHECK(route->relays == (i > 0), "route %s: relays %d", route->name, route->relays);
    snprintf(choices + strlen(choices), sizeof choices - strlen(choices), "|%s", route->name);
  }
  CHECK(strcmp(grove_option_describe(0).choices, choices) == 0, "'%s', not '%s'",
        grove_option_describe(0).choices, choices);
  CHECK(grove_route_find("auto") == NULL && grove_route_find("") == NULL, "a route of no name");
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "route/standard");
  places all = places_create();
  registry();
  if (world_size() == 3) {
    by_hand(&all.place[0]);
    alone(&all.place[0]);
    kept_in_order(&all.place[0]);
  }
  for (int64_t i = 0; i < test_samples(72); i++) {
    test_case(i);
    const place *p = places_turn(&all, i);
    at_random(p, (uint64_t)i * 2 + (uint64_t)p->side);
  }
  places_free(&all);
  return test_end();
}
