/* Ranks 0 and 1: a message there and back, from 1 KiB on; what a copy of the same size takes each
 * way; and several exchanges that are begun before one is waited for. */
#include "exchange.h"
#include "kit/clock.h"

enum { LEAST = 1024, SMALL = 256 << 10, MOST_BEGUN = 32, BEGUN_BYTES = 4096 };

static int batch_for(int64_t bytes)
{
  return bytes <= SMALL ? 8 : 1;
}

static void ping_pong(bench_gpu *g, int64_t bytes, int scattered)
{
  int64_t n = bytes / (int64_t)sizeof(double);
  bench_graph graphs[] = {bench_graph_pair(g, 0, 1, n, scattered),
                          bench_graph_pair(g, 1, 0, n, scattered)};
  const bench_course_how how = {.line = "pair",
                                .name = scattered ? "list" : "contiguous",
                                .bytes = bytes,
                                .graphs = graphs,
                                .n = 2,
                                .methods = "grove hand",
                                .batch = batch_for(bytes)};
  bench_course_run(g, &how);
  for (int k = 0; k < 2; k++) bench_graph_free(&graphs[k]);
}

/* ---- copies ---- */

typedef struct copies {
  const bench_gpu *g;
  int64_t bytes;
  char *device, *host;
} copies;

/* By rank 0 alone. */
static double sample_copy(void *about, int entrant, int round)
{
  const copies *c = about;
  (void)round;
  MPI_Barrier(c->g->comm);
  if (c->g->rank > 0) return 0;
  double begin = bench_clock();
  for (int i = 0; i < c->g->repeats; i++)
    bench_gpu_enqueue_copy(c->g, entrant ? c->device : c->host, entrant ? c->host : c->device,
                           c->bytes);
  bench_gpu_finish(c->g);
  return (bench_clock() - begin) / c->g->repeats;
}

static void measure_copies(bench_gpu *g, int64_t bytes)
{
  copies c = {g, bytes, bench_gpu_alloc(g, bytes), bench_gpu_alloc_pinned(g, bytes)};
  bench_gpu_entrant entrants[] = {{.name = "d2h"}, {.name = "h2d"}};
  bench_gpu_case row = {"copies", "pinned", bytes, 2, entrants};
  bench_gpu_copy(g, c.device, c.host, bytes);
  bench_gpu_run(g, &row, sample_copy, &c);
  bench_gpu_free(g, c.device);
  bench_gpu_free_pinned(g, c.host);
}

void bench_gpu_pair(bench_gpu *g)
{
  for (int64_t bytes = LEAST; bytes <= g->most; bytes *= 4)
    for (int scattered = 0; scattered < 2; scattered++) ping_pong(g, bytes, scattered);
  measure_copies(g, g->most);
}

/* ---- several at once ---- */

static void begin_several(bench_gpu *g, int k)
{
  static const char *const names[] = {"x1", "x2", "x4", "x8", "x16", "x32"};
  bench_graph graphs[MOST_BEGUN];
  int nth = 0;
  while (1 << nth < k) nth++;
  for (int i = 0; i < k; i++)
    graphs[i] = bench_graph_pair(g, i % 2, !(i % 2), BEGUN_BYTES / (int64_t)sizeof(double), 1);
  const bench_course_how how = {.line = "begun",
                                .name = names[nth],
                                .bytes = BEGUN_BYTES,
                                .graphs = graphs,
                                .n = k,
                                .together = 1,
                                .methods = "grove hand",
                                .batch = 4};
  bench_course_run(g, &how);
  for (int i = 0; i < k; i++) bench_graph_free(&graphs[i]);
}

void bench_gpu_begun(bench_gpu *g)
{
  for (int k = 1; k <= MOST_BEGUN; k *= 2) begin_several(g, k);
}
