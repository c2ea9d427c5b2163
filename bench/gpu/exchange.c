#include "exchange.h"

#include "hand.h"
#include "kit/clock.h"
#include "kit/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_METHODS = 8, WATCHED_BYTES = 1 << 20 };

/* Two states of the roots, which take turns: what is left of the exchange before is wrong now. What
 * another method has left goes before a sample. All arrays are on the device. */
typedef struct exchange {
  const bench_graph *graph;
  double *roots, *leaves, *no_leaves;
  double *states[2];
} exchange;

typedef struct method {
  grove_forest **forests;
  grove_op **ops;
  bench_hand **hands; /* else it is Grove */
} method;

typedef struct course {
  bench_gpu *g;
  const bench_course_how *how;
  grove_context *ctx;
  exchange *exchanges;
  bench_gpu_entrant entrants[MOST_METHODS];
  method methods[MOST_METHODS];
  int nmethods;
  int64_t wrong[MOST_METHODS];
  double *host; /* for leaves that are checked */
  int state;
} course;

/* ---- values ---- */

static double value_of(int state, int rank, int64_t root)
{
  return (double)((root * 31 + rank * 7919 + state * 104729) & 0xfffffff);
}

static double no_value(int state, int rank, int64_t root)
{
  (void)state, (void)rank, (void)root;
  return -1;
}

static double *fill_with(const bench_gpu *g, int64_t n, double (*value)(int, int, int64_t),
                         int state)
{
  int64_t bytes = n * (int64_t)sizeof(double);
  double *values = bench_alloc((size_t)n, sizeof *values), *there = bench_gpu_alloc(g, bytes);
  for (int64_t i = 0; i < n; i++) values[i] = value(state, g->rank, i);
  bench_gpu_copy(g, there, values, bytes);
  free(values);
  return there;
}

static void open_exchange(const bench_gpu *g, const bench_graph *graph, exchange *x)
{
  *x = (exchange){.graph = graph};
  x->roots = bench_gpu_alloc(g, graph->nroots * (int64_t)sizeof(double));
  x->leaves = bench_gpu_alloc(g, graph->nslots * (int64_t)sizeof(double));
  x->no_leaves = fill_with(g, graph->nslots, no_value, 0);
  for (int s = 0; s < 2; s++) x->states[s] = fill_with(g, graph->nroots, value_of, s);
}

static void close_exchange(const bench_gpu *g, exchange *x)
{
  for (int s = 0; s < 2; s++) bench_gpu_free(g, x->states[s]);
  bench_gpu_free(g, x->roots);
  bench_gpu_free(g, x->leaves);
  bench_gpu_free(g, x->no_leaves);
}

static void wipe_leaves(const course *c)
{
  for (int k = 0; k < c->how->n; k++) {
    const exchange *x = &c->exchanges[k];
    if (x->graph->nslots > 0)
      bench_gpu_enqueue_copy(c->g, x->leaves, x->no_leaves,
                             x->graph->nslots * (int64_t)sizeof(double));
  }
}

static void rewrite_roots(course *c)
{
  c->state = !c->state;
  for (int k = 0; k < c->how->n; k++) {
    const exchange *x = &c->exchanges[k];
    if (x->graph->nroots > 0)
      bench_gpu_enqueue_copy(c->g, x->roots, x->states[c->state],
                             x->graph->nroots * (int64_t)sizeof(double));
  }
  bench_gpu_finish(c->g);
}

/* How many leaves are not what their roots are. */
static int64_t count_wrong(course *c)
{
  int64_t wrong = 0;
  for (int k = 0; k < c->how->n; k++) {
    const bench_graph *graph = c->exchanges[k].graph;
    if (graph->nleaves == 0) continue;
    bench_gpu_copy(c->g, c->host, c->exchanges[k].leaves, graph->nslots * (int64_t)sizeof(double));
    if (c->g->sabotage) c->host[graph->leaf ? graph->leaf[0] : 0] += 1;
    for (int64_t j = 0; j < graph->nleaves; j++)
      wrong += c->host[graph->leaf ? graph->leaf[j] : j] !=
               value_of(c->state, graph->root[j].rank, graph->root[j].index);
  }
  return wrong;
}

/* ---- methods ---- */

static grove_forest *make_forest(grove_context *ctx, const bench_graph *graph)
{
  grove_forest *forest;
  bench_need_grove(grove_forest_create(ctx, &forest));
  bench_need_grove(
    grove_forest_set_graph(forest, graph->nroots, graph->nleaves, graph->leaf, graph->root));
  bench_need_grove(grove_forest_set_up(forest));
  return forest;
}

static void open_grove(course *c, const char *route, method *m)
{
  m->forests = bench_alloc((size_t)c->how->n, sizeof *m->forests);
  m->ops = bench_alloc((size_t)c->how->n, sizeof *m->ops);
  bench_need_grove(grove_context_set(c->ctx, "route", route));
  for (int k = 0; k < c->how->n; k++) {
    const exchange *x = &c->exchanges[k];
    m->forests[k] = make_forest(c->ctx, x->graph);
    bench_need_grove(
      grove_bcast_init(m->forests[k], MPI_DOUBLE, x->roots, x->leaves, MPI_REPLACE, &m->ops[k]));
  }
}

static void open_hand(course *c, method *m)
{
  m->hands = bench_alloc((size_t)c->how->n, sizeof *m->hands);
  for (int k = 0; k < c->how->n; k++) {
    const exchange *x = &c->exchanges[k];
    m->hands[k] = bench_hand_open(c->g, x->graph, x->roots, x->leaves);
  }
}

static void open_method(course *c, const char *name)
{
  static const char option[] = ":route=";
  const char *route = strstr(name, option);
  method *m = &c->methods[c->nmethods];
  snprintf(c->entrants[c->nmethods].name, sizeof c->entrants->name, "%s", name);
  if (strcmp(name, "hand") == 0)
    open_hand(c, m);
  else
    open_grove(c, route ? route + strlen(option) : "auto", m);
  c->nmethods++;
}

static void close_method(course *c, method *m)
{
  for (int k = 0; k < c->how->n; k++) {
    if (m->hands) {
      bench_hand_close(m->hands[k]);
      continue;
    }
    bench_need_grove(grove_op_free(&m->ops[k]));
    bench_need_grove(grove_forest_free(&m->forests[k]));
  }
  free(m->hands);
  free(m->ops);
  free(m->forests);
}

/* Exchanges first .. first+n-1 at once. */
static void exchange_some(const method *m, int first, int n)
{
  if (m->hands) {
    bench_hand_exchange(m->hands + first, n);
    return;
  }
  for (int k = first; k < first + n; k++) bench_need_grove(grove_start(m->ops[k]));
  for (int k = first; k < first + n; k++) bench_need_grove(grove_wait(m->ops[k]));
}

static void exchange_all(const course *c, const method *m)
{
  int n = c->how->n, step = c->how->together ? n : 1;
  for (int k = 0; k < n; k += step) exchange_some(m, k, step);
}

/* ---- samples ---- */

static double sample_course(void *about, int entrant, int round)
{
  course *c = about;
  double seconds = 0;
  wipe_leaves(c);
  for (int i = 0; i < c->how->batch; i++) {
    rewrite_roots(c);
    MPI_Barrier(c->g->comm);
    double begin = bench_clock();
    exchange_all(c, &c->methods[entrant]);
    seconds += bench_clock() - begin;
  }
  if (round < 2 || c->how->bytes <= WATCHED_BYTES) c->wrong[entrant] += count_wrong(c);
  return seconds / c->how->batch / c->how->n;
}

static void open_methods(course *c)
{
  char names[200], *rest = NULL;
  snprintf(names, sizeof names, "%s", c->how->methods);
  for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
    open_method(c, name);
}

void bench_course_run(bench_gpu *g, const bench_course_how *how)
{
  course c = {.g = g, .how = how};
  int64_t most = 0;
  bench_need_grove(grove_context_create(g->comm, &c.ctx));
  c.exchanges = bench_alloc((size_t)how->n, sizeof *c.exchanges);
  for (int k = 0; k < how->n; k++) {
    open_exchange(g, &how->graphs[k], &c.exchanges[k]);
    most = how->graphs[k].nslots > most ? how->graphs[k].nslots : most;
  }
  c.host = bench_gpu_alloc_pinned(g, most * (int64_t)sizeof *c.host);
  open_methods(&c);
  bench_gpu_case row = {how->line, how->name, how->bytes, c.nmethods, c.entrants};
  bench_gpu_run(g, &row, sample_course, &c);
  for (int i = 0; i < c.nmethods; i++) {
    bench_gpu_judge(g, how->line, how->name, how->bytes, c.entrants[i].name, c.wrong[i]);
    close_method(&c, &c.methods[i]);
  }
  for (int k = 0; k < how->n; k++) close_exchange(g, &c.exchanges[k]);
  bench_gpu_free_pinned(g, c.host);
  free(c.exchanges);
  bench_need_grove(grove_context_free(&c.ctx));
}

/* ---- graphs ---- */

/* One of slots 2i and 2i+1. */
static int64_t draw_slot(int64_t i, uint64_t *state)
{
  return 2 * i + (int64_t)(bench_random(state) & 1);
}

bench_graph bench_graph_pair(const bench_gpu *g, int from, int to, int64_t n, int scattered)
{
  bench_graph graph = {0};
  int64_t spread = scattered ? 2 * n : n;
  uint64_t roots = 1, leaves = 2;
  if (g->rank == from) graph.nroots = spread;
  if (g->rank != to) return graph;
  graph.nleaves = n;
  graph.nslots = spread;
  graph.root = bench_alloc((size_t)n, sizeof *graph.root);
  if (scattered) graph.leaf = bench_alloc((size_t)n, sizeof *graph.leaf);
  for (int64_t i = 0; i < n; i++) {
    graph.root[i] = (grove_root){from, scattered ? draw_slot(i, &roots) : i};
    if (scattered) graph.leaf[i] = draw_slot(i, &leaves);
  }
  return graph;
}

void bench_graph_free(bench_graph *graph)
{
  free(graph->root);
  free(graph->leaf);
}
