/* Three kernels and an exchange behind the first, as in Fig. 5 of the paper on PetscSF: launches
 * cost nothing as long as the host is ahead of the device, and whoever waits for the device loses
 * that.
 *
 *     pipelined        A B C                    nobody waits: all that could be reached
 *     interrupted      A, the host waits, B C
 *     exchange         an exchange alone
 *     wait             A, exchange, grove_wait, B C
 *     wait-on-stream   A, exchange, grove_wait_on_stream, B C: the host goes on
 *     kernel-A, kernel-B   one kernel alone; C is like B
 */
#include "exchange.h"
#include "kernel.h"
#include "kit/clock.h"

#include <grove_cuda.h>
#include <stdlib.h>

enum { PIPELINED, INTERRUPTED, EXCHANGE, WAIT, WAIT_ON_STREAM, KERNEL_A, KERNEL_B, ENTRANTS };
enum { UNITS = 512, ROW = 16, ROW_STRIDE = 32, BATCH = 4 };

/* A kernel that moves some megabytes. */
typedef struct busy {
  bench_kernel kernel;
  void *array, *message;
} busy;

/* An operation whose data the kernels have nothing to do with. */
typedef struct talk {
  grove_context *ctx;
  grove_forest *forest;
  grove_op *op;
} talk;

typedef struct timeline {
  bench_gpu *g;
  grove_stream *stream;
  busy a, b;
  bench_graph graph;
  double *roots, *leaves;
  talk waited, promised; /* by the host; by the stream */
  double stamp;
  int64_t wrong[ENTRANTS];
} timeline;

/* ---- what takes part ---- */

static void open_busy(const bench_gpu *g, int64_t bytes, busy *b)
{
  int64_t n = bytes / (int64_t)sizeof(double);
  int64_t *slots = bench_alloc((size_t)n, sizeof *slots);
  for (int64_t i = 0; i < n; i++) slots[i] = i / ROW * ROW_STRIDE + i % ROW;
  bench_kernel_open(g, MPI_DOUBLE, MPI_REPLACE, slots, n, GROVE_MOTION_PACK, &b->kernel);
  b->array = bench_gpu_alloc(g, 2 * bytes);
  b->message = bench_gpu_alloc(g, bytes);
  free(slots);
}

static void close_busy(const bench_gpu *g, busy *b)
{
  bench_kernel_close(g, &b->kernel);
  bench_gpu_free(g, b->array);
  bench_gpu_free(g, b->message);
}

static void open_talk(const timeline *t, const char *progress, talk *k)
{
  const bench_graph *graph = &t->graph;
  bench_need_grove(grove_context_create(t->g->comm, &k->ctx));
  bench_need_grove(grove_context_set(k->ctx, "progress", progress));
  bench_need_grove(grove_forest_create(k->ctx, &k->forest));
  bench_need_grove(
    grove_forest_set_graph(k->forest, graph->nroots, graph->nleaves, graph->leaf, graph->root));
  bench_need_grove(grove_forest_set_up(k->forest));
  bench_need_grove(
    grove_bcast_init(k->forest, MPI_DOUBLE, t->roots, t->leaves, MPI_REPLACE, &k->op));
  bench_need_grove(grove_op_set_stream(k->op, t->stream));
}

static void close_talk(talk *k)
{
  bench_need_grove(grove_op_free(&k->op));
  bench_need_grove(grove_forest_free(&k->forest));
  bench_need_grove(grove_context_free(&k->ctx));
}

/* Each of two ranks sends to the other. */
static bench_graph graph_both_ways(const bench_gpu *g)
{
  bench_graph graph = bench_graph_pair(g, !g->rank, g->rank, UNITS, 1);
  graph.nroots = 2 * UNITS;
  return graph;
}

/* ---- values: all roots are the stamp of their round ---- */

static void stamp_roots(timeline *t)
{
  double values[2 * UNITS];
  t->stamp += 1;
  for (int i = 0; i < 2 * UNITS; i++) values[i] = t->stamp;
  bench_gpu_copy(t->g, t->roots, values, (int64_t)sizeof values);
}

static int64_t count_wrong_leaves(const timeline *t)
{
  double values[2 * UNITS];
  int64_t wrong = 0;
  bench_gpu_copy(t->g, values, t->leaves, (int64_t)sizeof values);
  if (t->g->sabotage) values[t->graph.leaf[0]] += 1;
  for (int i = 0; i < UNITS; i++) wrong += values[t->graph.leaf[i]] != t->stamp;
  return wrong;
}

/* ---- samples ---- */

static void launch_busy(const timeline *t, const busy *b)
{
  bench_kernel_enqueue(t->g, &b->kernel, t->stream, b->array, b->message);
}

static void wait_for_stream(const timeline *t)
{
  bench_need_grove(t->g->driver->finish(t->g->device, t->stream));
}

static int has_exchange(int entrant)
{
  return entrant == EXCHANGE || entrant == WAIT || entrant == WAIT_ON_STREAM;
}

/* What stands between A and B. */
static void do_between(const timeline *t, int entrant)
{
  if (entrant == INTERRUPTED) wait_for_stream(t);
  if (entrant == WAIT || entrant == EXCHANGE) {
    bench_need_grove(grove_start(t->waited.op));
    bench_need_grove(grove_wait(t->waited.op));
  }
  if (entrant == WAIT_ON_STREAM) {
    bench_need_grove(grove_start(t->promised.op));
    bench_need_grove(grove_wait_on_stream(t->promised.op));
  }
}

static void run_once(const timeline *t, int entrant)
{
  if (entrant != EXCHANGE && entrant != KERNEL_B) launch_busy(t, &t->a);
  do_between(t, entrant);
  if (entrant == KERNEL_B) launch_busy(t, &t->b);
  if (entrant != EXCHANGE && entrant < KERNEL_A) {
    launch_busy(t, &t->b);
    launch_busy(t, &t->b);
  }
  wait_for_stream(t);
}

static double sample_timeline(void *about, int entrant, int round)
{
  timeline *t = about;
  double seconds = 0;
  (void)round;
  for (int i = 0; i < BATCH; i++) {
    stamp_roots(t);
    MPI_Barrier(t->g->comm);
    double begin = bench_clock();
    run_once(t, entrant);
    seconds += bench_clock() - begin;
    if (entrant == WAIT_ON_STREAM) bench_need_grove(grove_wait(t->promised.op));
    if (has_exchange(entrant)) t->wrong[entrant] += count_wrong_leaves(t);
  }
  return seconds / BATCH;
}

void bench_gpu_launches(bench_gpu *g)
{
  timeline t = {.g = g, .graph = graph_both_ways(g)};
  bench_gpu_entrant entrants[ENTRANTS] = {
    {.name = "pipelined"},      {.name = "interrupted"}, {.name = "exchange"}, {.name = "wait"},
    {.name = "wait-on-stream"}, {.name = "kernel-A"},    {.name = "kernel-B"}};
  bench_gpu_case row = {"launches", "A-B-C", UNITS * (int64_t)sizeof(double), ENTRANTS, entrants};
  bench_need(g->nranks == 2, "launches: needs two ranks");
  bench_need_grove(g->driver->create_stream(g->device, &t.stream));
  open_busy(g, g->most / 2, &t.a);
  open_busy(g, g->most / 8, &t.b);
  t.roots = bench_gpu_alloc(g, 2 * UNITS * (int64_t)sizeof(double));
  t.leaves = bench_gpu_alloc(g, 2 * UNITS * (int64_t)sizeof(double));
  open_talk(&t, "calls", &t.waited);
  open_talk(&t, "thread", &t.promised);
  bench_gpu_run(g, &row, sample_timeline, &t);
  for (int e = 0; e < ENTRANTS; e++)
    bench_gpu_judge(g, row.line, row.name, row.bytes, entrants[e].name, t.wrong[e]);
  close_talk(&t.waited);
  close_talk(&t.promised);
  close_busy(g, &t.a);
  close_busy(g, &t.b);
  bench_gpu_free(g, t.roots);
  bench_gpu_free(g, t.leaves);
  bench_graph_free(&t.graph);
  g->driver->free_stream(g->device, t.stream);
}
