#include "halo.h"

#include "kit/need.h"

#include <stdlib.h>
#include <string.h>

enum { AHEAD_US = 1000 };

void bench_halo_open(bench_part_case *c, bench_part_entrant *e, bench_halo *h)
{
  const bench_rows *r = c->rows;
  *h = (bench_halo){.c = c, .e = e, .rows = r, .width = (int)(c->bytes / 8)};
  h->x = bench_alloc((size_t)((r->rows + r->ghosts) * h->width), sizeof *h->x);
  MPI_Type_contiguous(h->width, MPI_DOUBLE, &h->unit);
  MPI_Type_commit(&h->unit);
  bench_need_grove(grove_forest_create(e->ctx, &h->forest));
  bench_need_grove(grove_forest_set_graph_global(h->forest, r->rows, r->ghosts, NULL, r->ghost));
  bench_need_grove(grove_forest_set_up(h->forest));
  bench_need_grove(
    grove_bcast_init(h->forest, h->unit, h->x, h->x + r->rows * h->width, MPI_REPLACE, &h->op));
}

void bench_halo_close(bench_halo *h, double share)
{
  grove_report report = {.struct_size = sizeof report};
  bench_need_grove(grove_op_report(h->op, &report));
  int64_t whole = report.on_node_messages + report.off_node_messages;
  int64_t messages = report.messages > 0 ? report.messages : whole;
  h->e->told = (bench_told){.messages = (int)bench_halo_sum(h, (double)messages),
                            .predicted = report.predicted_seconds,
                            .share = share};
  bench_need_grove(grove_op_free(&h->op));
  bench_need_grove(grove_forest_free(&h->forest));
  MPI_Type_free(&h->unit);
  free(h->x);
}

int bench_halo_is(const bench_halo *h, const char *method)
{
  return strcmp(h->e->method->name, method) == 0;
}

static double value_of(int64_t round, int64_t row, int k)
{
  return (double)((round * 7919 + row * 31 + k) & 0xfffffff);
}

void bench_halo_fill(bench_halo *h, int64_t first, int64_t end, int64_t round)
{
  for (int64_t i = first; i < end; i++)
    for (int k = 0; k < h->width; k++)
      h->x[i * h->width + k] = value_of(round, h->rows->first + i, k);
}

void bench_halo_check(bench_halo *h, int64_t round)
{
  double *ghost = h->x + h->rows->rows * h->width;
  if (h->e->is_spoilt && h->rows->ghosts > 0) ghost[0] += 1;
  for (int64_t i = 0; i < h->rows->ghosts; i++)
    for (int k = 0; k < h->width; k++)
      h->e->wrong += ghost[i * h->width + k] != value_of(round, h->rows->ghost[i], k);
}

double bench_halo_moment(const bench_halo *h)
{
  MPI_Barrier(h->c->comm);
  double moment = bench_clock() + 1e-6 * AHEAD_US;
  MPI_Bcast(&moment, 1, MPI_DOUBLE, 0, h->c->comm);
  return moment;
}

double bench_halo_most(const bench_halo *h, double value)
{
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, h->c->comm);
  return value;
}

double bench_halo_sum(const bench_halo *h, double value)
{
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, h->c->comm);
  return value;
}
