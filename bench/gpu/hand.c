#include "hand.h"

#include <stdlib.h>
#include <string.h>

/* Slots of all messages of one side, one after the other. */
typedef struct hand_side {
  int64_t units;
  double *array; /* of the user: the first slot if they are consecutive */
  void *list;    /* NULL: they are */
  double *packed, *pinned;
} hand_side;

struct bench_hand {
  const bench_gpu *g;
  const bench_hand_device *device;
  bench_lists lists;
  hand_side from, to;
  int nreceives, nsends;
  MPI_Request *requests; /* receives, then sends */
};

const bench_hand_device *bench_hand_device_for(const bench_gpu *g)
{
  if (bench_hand_host.open(g)) return &bench_hand_host;
#ifdef BENCH_HAVE_CUDART
  if (strcmp(g->driver->name, "cuda") == 0 && bench_hand_cuda.open(g)) return &bench_hand_cuda;
#endif
  bench_hand_table.open(g);
  return &bench_hand_table;
}

static int are_consecutive(const int32_t *slots, int64_t n)
{
  for (int64_t i = 1; i < n; i++)
    if (slots[i] != slots[0] + i) return 0;
  return 1;
}

static hand_side open_side(const bench_hand *h, const bench_side *side, double *array, int scatters)
{
  hand_side out = {.units = side->start[h->g->nranks], .array = array};
  int64_t bytes = out.units * (int64_t)sizeof(double);
  if (out.units == 0) return out;
  out.pinned = h->device->pinned(bytes);
  if (are_consecutive(side->index, out.units)) {
    out.array += side->index[0];
    return out;
  }
  out.list = h->device->list(side->index, out.units, scatters);
  out.packed = bench_gpu_alloc(h->g, bytes);
  return out;
}

static void close_side(const bench_hand *h, hand_side *side)
{
  if (side->list) h->device->free_list(side->list);
  if (side->pinned) h->device->free_pinned(side->pinned);
  bench_gpu_free(h->g, side->packed);
}

static void open_requests(bench_hand *h)
{
  const bench_side *in = &h->lists.leaves, *out = &h->lists.roots;
  h->requests = bench_alloc(2 * (size_t)h->g->nranks, sizeof *h->requests);
  for (int r = 0; r < h->g->nranks; r++)
    if (in->count[r] > 0)
      MPI_Recv_init(h->to.pinned + in->start[r], in->count[r], MPI_DOUBLE, r, 0, h->g->comm,
                    &h->requests[h->nreceives++]);
  for (int r = 0; r < h->g->nranks; r++)
    if (out->count[r] > 0)
      MPI_Send_init(h->from.pinned + out->start[r], out->count[r], MPI_DOUBLE, r, 0, h->g->comm,
                    &h->requests[h->nreceives + h->nsends++]);
}

bench_hand *bench_hand_open(const bench_gpu *g, const bench_graph *graph, double *roots,
                            double *leaves)
{
  bench_hand *h = bench_alloc(1, sizeof *h);
  h->g = g;
  h->device = bench_hand_device_for(g);
  bench_lists_open(graph, g->comm, 0, &h->lists);
  h->from = open_side(h, &h->lists.roots, roots, 0);
  h->to = open_side(h, &h->lists.leaves, leaves, 1);
  open_requests(h);
  return h;
}

void bench_hand_close(bench_hand *h)
{
  for (int i = 0; i < h->nreceives + h->nsends; i++) MPI_Request_free(&h->requests[i]);
  close_side(h, &h->from);
  close_side(h, &h->to);
  bench_lists_close(&h->lists);
  free(h->requests);
  free(h);
}

/* ---- an exchange ---- */

static void copy_out(const bench_hand *h)
{
  const hand_side *from = &h->from;
  if (from->units == 0) return;
  if (from->list) h->device->gather(from->list, from->packed, from->array);
  h->device->copy(from->pinned, from->list ? from->packed : from->array,
                  from->units * (int64_t)sizeof(double));
}

static void copy_in(const bench_hand *h)
{
  const hand_side *to = &h->to;
  if (to->units == 0) return;
  h->device->copy(to->list ? to->packed : to->array, to->pinned,
                  to->units * (int64_t)sizeof(double));
  if (to->list) h->device->scatter(to->list, to->array, to->packed);
}

/* Whether any of them has something on this side. */
static int any_units(bench_hand *const *list, int n, int sends)
{
  int64_t units = 0;
  for (int i = 0; i < n; i++) units += sends ? list[i]->from.units : list[i]->to.units;
  return units > 0;
}

void bench_hand_exchange(bench_hand *const *list, int n)
{
  const bench_hand_device *device = list[0]->device;
  for (int i = 0; i < n; i++) {
    MPI_Startall(list[i]->nreceives, list[i]->requests);
    copy_out(list[i]);
  }
  if (any_units(list, n, 1)) device->finish();
  for (int i = 0; i < n; i++) MPI_Startall(list[i]->nsends, list[i]->requests + list[i]->nreceives);
  for (int i = 0; i < n; i++) {
    MPI_Waitall(list[i]->nreceives, list[i]->requests, MPI_STATUSES_IGNORE);
    copy_in(list[i]);
  }
  for (int i = 0; i < n; i++)
    MPI_Waitall(list[i]->nsends, list[i]->requests + list[i]->nreceives, MPI_STATUSES_IGNORE);
  if (any_units(list, n, 0)) device->finish();
}
