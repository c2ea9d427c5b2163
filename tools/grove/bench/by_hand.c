#include "grove/bench/by_hand.h"

#include <stdlib.h>
#include <string.h>

/* ---- loops ---- */

static void gather(double *restrict to, const double *restrict from, const int32_t *index, int n,
                   int64_t width)
{
  if (width == 1)
    for (int i = 0; i < n; i++) to[i] = from[index[i]];
  else
    for (int i = 0; i < n; i++)
      for (int64_t k = 0; k < width; k++) to[i * width + k] = from[index[i] * width + k];
}

static void scatter(double *restrict to, const double *restrict from, const int32_t *index, int n,
                    int64_t width)
{
  if (width == 1)
    for (int i = 0; i < n; i++) to[index[i]] = from[i];
  else
    for (int i = 0; i < n; i++)
      for (int64_t k = 0; k < width; k++) to[index[i] * width + k] = from[i * width + k];
}

static void add(double *restrict to, const double *restrict from, const int32_t *index, int n,
                int64_t width)
{
  if (width == 1)
    for (int i = 0; i < n; i++) to[index[i]] += from[i];
  else
    for (int i = 0; i < n; i++)
      for (int64_t k = 0; k < width; k++) to[index[i] * width + k] += from[i * width + k];
}

static void add_consecutive(double *restrict to, const double *restrict from, int64_t n)
{
  for (int64_t i = 0; i < n; i++) to[i] += from[i];
}

/* Slots that share a unit: written by it, or summed into it. */
static void spread(double *restrict to, const double *restrict from, const by_hand_message *m,
                   int64_t width)
{
  for (int i = 0; i < m->nslots; i++)
    for (int64_t k = 0; k < width; k++) to[m->slots[i] * width + k] = from[m->place[i] * width + k];
}

static void combine(double *restrict to, const double *restrict from, const by_hand_message *m,
                    int64_t width)
{
  memset(to, 0, (size_t)(m->units * width) * sizeof *to);
  for (int i = 0; i < m->nslots; i++)
    for (int64_t k = 0; k < width; k++)
      to[m->place[i] * width + k] += from[m->slots[i] * width + k];
}

void by_hand_pack(const by_hand *h, const by_hand_message *m)
{
  const double *array = h->b->array;
  int64_t width = h->b->width;
  if (m->direct) return;
  if (m->place)
    combine(m->data, array, m, width);
  else if (m->consecutive)
    memcpy(m->data, array + m->slots[0] * width, (size_t)(m->units * width) * sizeof *array);
  else
    gather(m->data, array, m->slots, m->units, width);
}

void by_hand_unpack(const by_hand *h, const by_hand_message *m)
{
  double *array = h->b->array;
  int64_t width = h->b->width;
  if (m->direct) return;
  if (h->reduce && m->consecutive)
    add_consecutive(array + m->slots[0] * width, m->data, m->units * width);
  else if (h->reduce)
    add(array, m->data, m->slots, m->units, width);
  else if (m->place)
    spread(array, m->data, m, width);
  else if (m->consecutive)
    memcpy(array + m->slots[0] * width, m->data, (size_t)(m->units * width) * sizeof *array);
  else
    scatter(array, m->data, m->slots, m->units, width);
}

void by_hand_keep(const by_hand *h)
{
  double *array = h->b->array;
  int64_t width = h->b->width;
  for (int i = 0; i < h->nself; i++) {
    double *root = array + h->self_root[i] * width, *leaf = array + h->self_leaf[i] * width;
    for (int64_t k = 0; k < width; k++)
      if (h->reduce)
        root[k] += leaf[k];
      else
        leaf[k] = root[k];
  }
}

/* ---- lists ---- */

/* One end of all messages: rank r has units start[r] .. start[r+1]-1. */
typedef struct side {
  int *count, *start;
} side;

static side open_side(int nranks)
{
  int *count = bench_room(2 * (size_t)nranks + 1, sizeof *count);
  return (side){count, count + nranks};
}

static void find_starts(side *s, int nranks)
{
  for (int r = 0; r < nranks; r++) s->start[r + 1] = s->start[r] + s->count[r];
}

/* An edge at the leaf's rank. */
typedef struct want {
  int32_t root, slot;
} want;

static int by_root(const void *a, const void *b)
{
  const want *x = a, *y = b;
  if (x->root != y->root) return x->root < y->root ? -1 : 1;
  return (x->slot > y->slot) - (x->slot < y->slot);
}

/* This rank's edges, by the rank of their root. */
static want *group(const pattern *p, side *slots, int nranks)
{
  want *list = bench_room((size_t)p->nleaves, sizeof *list);
  int *at = bench_room((size_t)nranks, sizeof *at);
  for (int64_t j = 0; j < p->nleaves; j++) slots->count[p->root[j].rank]++;
  find_starts(slots, nranks);
  memcpy(at, slots->start, (size_t)nranks * sizeof *at);
  for (int64_t j = 0; j < p->nleaves; j++)
    list[at[p->root[j].rank]++] = (want){(int32_t)p->root[j].index, (int32_t)p->leaf[j]};
  free(at);
  return list;
}

/* If much is wanted several times: in the order of the roots, `place` says which of them; returns
 * how many there are, in `roots`. Else 0, and the list as it was. */
static int share(const want *list, int n, want *sorted, int32_t *place, int32_t *roots)
{
  int distinct = 0;
  memcpy(sorted, list, (size_t)n * sizeof *list);
  qsort(sorted, (size_t)n, sizeof *sorted, by_root);
  for (int i = 0; i < n; i++) {
    if (i == 0 || sorted[i].root != sorted[i - 1].root) roots[distinct++] = sorted[i].root;
    place[i] = distinct - 1;
  }
  return distinct <= n - n / 8 - 1 ? distinct : 0;
}

/* ---- messages ---- */

static int is_consecutive(const int32_t *slots, int n)
{
  for (int i = 1; i < n; i++)
    if (slots[i] != slots[0] + i) return 0;
  return 1;
}

/* Completes a message; the staging memory goes on behind it. */
static void finish(const by_hand *h, by_hand_message *m, int adds, double **staging)
{
  m->consecutive = !m->place && is_consecutive(m->slots, m->nslots);
  m->direct = m->consecutive && !adds;
  m->staging = *staging;
  m->data = m->direct ? h->b->array + m->slots[0] * h->b->width : m->staging;
  *staging += m->units * h->b->width;
}

void by_hand_stage(by_hand_message *m)
{
  m->direct = 0;
  m->data = m->staging;
}

/* The leaves' side, and what it asks the owners for: `wanted`, in the order of ranks. */
static int make_leaf_side(by_hand *h, const pattern *p, side *units, int32_t *wanted,
                          by_hand_message *out)
{
  const bench *b = h->b;
  int n = 0;
  side slots = open_side(b->size);
  want *list = group(p, &slots, b->size);
  want *sorted = bench_room((size_t)p->nleaves, sizeof *sorted);
  for (int r = 0, asked = 0; r < b->size; r++, asked = units->start[r]) {
    int begin = slots.start[r], count = slots.count[r], distinct = 0;
    if (r != b->rank)
      distinct = share(list + begin, count, sorted, h->leaf_places + begin, wanted + asked);
    const want *from = distinct ? sorted : list + begin;
    for (int i = 0; i < count; i++) h->leaf_slots[begin + i] = from[i].slot;
    for (int i = 0; i < count && !distinct; i++) wanted[asked + i] = from[i].root;
    units->count[r] = distinct ? distinct : count;
    units->start[r + 1] = asked + units->count[r];
    if (count == 0 || r == b->rank) continue;
    out[n++] = (by_hand_message){.peer = r,
                                 .units = units->count[r],
                                 .nslots = count,
                                 .slots = h->leaf_slots + begin,
                                 .place = distinct ? h->leaf_places + begin : NULL};
  }
  h->nself = slots.count[b->rank];
  h->self_leaf = h->leaf_slots + slots.start[b->rank];
  free(list);
  free(sorted);
  free(slots.count);
  return n;
}

static int make_root_side(by_hand *h, const side *units, by_hand_message *out)
{
  int n = 0;
  for (int r = 0; r < h->b->size; r++) {
    int32_t *slots = h->root_slots + units->start[r];
    int count = units->count[r];
    if (r == h->b->rank)
      h->self_root = slots;
    else if (count > 0)
      out[n++] = (by_hand_message){.peer = r, .units = count, .nslots = count, .slots = slots};
  }
  return n;
}

void by_hand_open(const bench *b, const bench_task *task, by_hand *out)
{
  by_hand h = {.b = b, .reduce = task->reduce};
  size_t nranks = (size_t)b->size, nleaves = (size_t)task->edges->nleaves;
  by_hand_message *leaves = bench_room(nranks, sizeof *leaves);
  by_hand_message *roots = bench_room(nranks, sizeof *roots);
  side asks = open_side(b->size), serves = open_side(b->size);
  int32_t *wanted = bench_room(nleaves, sizeof *wanted);
  h.leaf_slots = bench_room(nleaves, sizeof *h.leaf_slots);
  h.leaf_places = bench_room(nleaves, sizeof *h.leaf_places);
  int nin = make_leaf_side(&h, task->edges, &asks, wanted, leaves);
  MPI_Alltoall(asks.count, 1, MPI_INT, serves.count, 1, MPI_INT, b->comm);
  find_starts(&serves, b->size);
  h.root_slots = bench_room((size_t)serves.start[b->size], sizeof *h.root_slots);
  MPI_Alltoallv(wanted, asks.count, asks.start, MPI_INT32_T, h.root_slots, serves.count,
                serves.start, MPI_INT32_T, b->comm);
  int nout = make_root_side(&h, &serves, roots);
  h.sends = h.reduce ? leaves : roots;
  h.receives = h.reduce ? roots : leaves;
  h.nsends = h.reduce ? nin : nout;
  h.nreceives = h.reduce ? nout : nin;
  size_t asked = (size_t)(asks.start[b->size] * b->width);
  size_t served = (size_t)(serves.start[b->size] * b->width);
  double *at = h.send_staging = bench_room(h.reduce ? asked : served, sizeof *at);
  for (int i = 0; i < h.nsends; i++) finish(&h, &h.sends[i], 0, &at);
  at = h.receive_staging = bench_room(h.reduce ? served : asked, sizeof *at);
  for (int i = 0; i < h.nreceives; i++) finish(&h, &h.receives[i], h.reduce, &at);
  free(wanted);
  free(asks.count);
  free(serves.count);
  *out = h;
}

void by_hand_close(by_hand *h)
{
  free(h->sends);
  free(h->receives);
  free(h->leaf_slots);
  free(h->leaf_places);
  free(h->root_slots);
  free(h->send_staging);
  free(h->receive_staging);
}
