#include "gpu.h"

#include "kit/rounds.h"
#include "kit/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 4096 };

static const grove_driver *find_driver(const char *name)
{
#ifdef GROVE_CUDA
  if (strcmp(name, grove_driver_cuda.name) == 0) return &grove_driver_cuda;
#endif
  bench_need(strcmp(name, grove_driver_emulated.name) == 0, "there is no such driver");
  return &grove_driver_emulated;
}

void bench_gpu_open(MPI_Comm comm, const char *driver, bench_gpu *g)
{
  int ndevices;
  g->comm = comm;
  MPI_Comm_rank(comm, &g->rank);
  MPI_Comm_size(comm, &g->nranks);
  g->driver = find_driver(driver);
  bench_need_grove(g->driver->open(&ndevices));
  g->device = g->rank % ndevices;
  bench_need_grove(g->driver->create_stream(g->device, &g->stream));
}

void bench_gpu_close(bench_gpu *g)
{
  bench_gpu_finish(g);
  g->driver->free_stream(g->device, g->stream);
}

/* ---- memory ---- */

void *bench_gpu_alloc(const bench_gpu *g, int64_t bytes)
{
  void *memory = NULL;
  bench_need_grove(g->driver->allocate(g->device, bytes > 0 ? bytes : 1, &memory));
  return memory;
}

void bench_gpu_free(const bench_gpu *g, void *memory)
{
  g->driver->free(g->device, memory);
}

void *bench_gpu_alloc_pinned(const bench_gpu *g, int64_t bytes)
{
  size_t whole = ((size_t)bytes / PAGE_BYTES + 1) * PAGE_BYTES;
  void *memory = aligned_alloc(PAGE_BYTES, whole);
  bench_need(memory != NULL, "no memory left");
  memset(memory, 0, whole);
  bench_need_grove(g->driver->pin(memory, (int64_t)whole));
  return memory;
}

void bench_gpu_free_pinned(const bench_gpu *g, void *memory)
{
  if (memory) g->driver->unpin(memory);
  free(memory);
}

void bench_gpu_enqueue_copy(const bench_gpu *g, void *to, const void *from, int64_t bytes)
{
  bench_need_grove(g->driver->copy(g->device, g->stream, to, from, bytes));
}

void bench_gpu_finish(const bench_gpu *g)
{
  bench_need_grove(g->driver->finish(g->device, g->stream));
}

void bench_gpu_copy(const bench_gpu *g, void *to, const void *from, int64_t bytes)
{
  bench_gpu_enqueue_copy(g, to, from, bytes);
  bench_gpu_finish(g);
}

/* ---- rows ---- */

typedef struct taker {
  const bench_gpu *g;
  bench_gpu_case *c;
  double (*sample)(void *, int, int);
  void *about;
} taker;

static void take_sample(void *about, int entrant, int round)
{
  taker *t = about;
  double seconds = t->sample(t->about, entrant, round);
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, t->g->comm);
  t->c->entrants[entrant].sample[round] = seconds;
}

static void print_row(const bench_gpu_case *c, const char *method, int64_t traffic, double median,
                      double low, double high)
{
  printf("row %s %s %lld %s %lld %.6g %.6g %.6g\n", c->line, c->name, (long long)c->bytes, method,
         (long long)traffic, median, low, high);
}

void bench_gpu_run(const bench_gpu *g, bench_gpu_case *c,
                   double (*sample)(void *about, int entrant, int round), void *about)
{
  taker t = {g, c, sample, about};
  bench_rounds r = {g->comm, c->nentrants, g->samples, g->seconds, take_sample, NULL, &t};
  for (int e = 0; e < c->nentrants; e++)
    c->entrants[e].sample = bench_alloc((size_t)g->samples, sizeof(double));
  for (int e = 0; e < c->nentrants; e++) take_sample(&t, e, 0); /* warms up */
  int rounds = bench_rounds_run(&r);
  for (int e = 0; e < c->nentrants; e++) {
    bench_gpu_entrant *one = &c->entrants[e];
    bench_interval i = bench_centre_by_order(one->sample, rounds);
    if (g->rank == 0)
      print_row(c, one->name, one->traffic, 1e6 * i.value, 1e6 * i.low, 1e6 * i.high);
    free(one->sample);
  }
  fflush(stdout);
}

void bench_gpu_print(const bench_gpu *g, const char *line, const char *name, int64_t bytes,
                     const char *method, double value)
{
  const bench_gpu_case c = {.line = line, .name = name, .bytes = bytes};
  if (g->rank == 0) print_row(&c, method, 0, value, value, value);
}

void bench_gpu_judge(bench_gpu *g, const char *line, const char *name, int64_t bytes,
                     const char *method, int64_t wrong)
{
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, g->comm);
  if (wrong == 0) return;
  g->wrong++;
  if (g->rank == 0)
    printf("wrong %s %s %lld %s %lld wrong values\n", line, name, (long long)bytes, method,
           (long long)wrong);
}
