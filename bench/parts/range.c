/* What grove_ready of one range costs the calling thread, in processor time. Rank 0 has 20
 * neighbours, each of which needs every fourth root of every range. The last range completes the
 * messages. It is marked by the thread that started, and is not in the time.
 */
#include "part_case.h"

#include "kit/need.h"

#include <stdlib.h>

enum { NEIGHBOURS = 20, RANGE = 64, EVERY = 4 };

typedef struct range {
  bench_part_case *c;
  bench_part_entrant *e;
  int64_t nroots, nleaves;
  double *root, *leaf;
  grove_forest *forest;
  grove_op *op;
  double *seconds; /* one per thread */
} range;

/* The root of leaf i of this rank. */
static int64_t root_of(const range *r, int64_t i)
{
  return EVERY * i + r->c->rank % EVERY;
}

static void *open_range(bench_part_case *c, bench_part_entrant *e)
{
  range *r = bench_alloc(1, sizeof *r);
  r->c = c;
  r->e = e;
  r->nroots = c->rank == 0 ? (int64_t)RANGE * c->parts : 0;
  r->nleaves = c->rank == 0 ? 0 : (int64_t)RANGE / EVERY * c->parts;
  r->root = bench_alloc((size_t)r->nroots + 1, sizeof *r->root);
  r->leaf = bench_alloc((size_t)r->nleaves + 1, sizeof *r->leaf);
  r->seconds = bench_alloc((size_t)c->threads + 1, sizeof *r->seconds);
  grove_root *root = bench_alloc((size_t)r->nleaves + 1, sizeof *root);
  for (int64_t i = 0; i < r->nleaves; i++) root[i] = (grove_root){0, root_of(r, i)};
  bench_need_grove(grove_forest_create(e->ctx, &r->forest));
  bench_need_grove(grove_forest_set_graph(r->forest, r->nroots, r->nleaves, NULL, root));
  bench_need_grove(grove_forest_set_up(r->forest));
  bench_need_grove(grove_bcast_init(r->forest, MPI_DOUBLE, r->root, r->leaf, MPI_REPLACE, &r->op));
  free(root);
  return r;
}

static void close_range(void *state)
{
  range *r = state;
  grove_report report = {.struct_size = sizeof report};
  bench_need_grove(grove_op_report(r->op, &report));
  r->e->told.messages = (int)report.messages;
  bench_need_grove(grove_op_free(&r->op));
  bench_need_grove(grove_forest_free(&r->forest));
  free(r->root);
  free(r->leaf);
  free(r->seconds);
  free(r);
}

static void mark_ranges(void *state, int slot)
{
  range *r = state;
  int first, end;
  if (slot == r->c->threads) return; /* the caller */
  bench_share(r->c, slot, &first, &end);
  if (end == r->c->parts) end--;
  double begin = bench_thread_clock();
  for (int i = first; i < end; i++) bench_need_grove(grove_ready(r->op, (int64_t)RANGE * i, RANGE));
  r->seconds[slot] = bench_thread_clock() - begin;
}

/* Seconds per range, as the mean over threads. */
static double mark_all(range *r)
{
  int last = r->c->parts - 1;
  double sum = bench_mark_seconds(r->c, mark_ranges, r, r->seconds);
  bench_need_grove(grove_ready(r->op, (int64_t)RANGE * last, RANGE));
  return sum / last;
}

static double sample_range(void *state, int64_t round)
{
  range *r = state;
  double seconds = 0;
  for (int64_t i = 0; i < r->nroots; i++) r->root[i] = (double)(round + i);
  bench_need_grove(r->c->rank == 0 ? grove_start_parts(r->op) : grove_start(r->op));
  MPI_Barrier(r->c->comm);
  if (r->c->rank == 0) seconds = mark_all(r);
  bench_need_grove(grove_wait(r->op));
  if (r->e->is_spoilt && r->nleaves > 0) r->leaf[0] += 1;
  for (int64_t i = 0; i < r->nleaves; i++)
    r->e->wrong += r->leaf[i] != (double)(round + root_of(r, i));
  MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, r->c->comm);
  return seconds;
}

const bench_part_mode bench_mode_range = {
  .name = "range",
  .ranks = NEIGHBOURS + 1,
  .is_forest = 1,
  .idle = 1,
  .warm = 3,
  .open = open_range,
  .sample = sample_range,
  .close = close_range,
};
