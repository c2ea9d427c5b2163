#include "methods/by_hand.h"

#include <stdlib.h>
#include <string.h>

/* ---- loops ---- */

typedef struct pair64 {
  uint64_t part[2];
} pair64;

#define LOOPS(type)                                                                                \
  static void gather_##type(const void *from, void *to, const int32_t *index, int n)               \
  {                                                                                                \
    const type *restrict x = from;                                                                 \
    type *restrict y = to;                                                                         \
    for (int i = 0; i < n; i++) y[i] = x[index[i]];                                                \
  }                                                                                                \
  static void scatter_##type(const void *from, void *to, const int32_t *index, int n)              \
  {                                                                                                \
    const type *restrict x = from;                                                                 \
    type *restrict y = to;                                                                         \
    for (int i = 0; i < n; i++) y[index[i]] = x[i];                                                \
  }

LOOPS(uint8_t)
LOOPS(uint16_t)
LOOPS(uint32_t)
LOOPS(uint64_t)
LOOPS(pair64)

void bench_gather(size_t bytes, const void *from, void *to, const int32_t *index, int n)
{
  switch (bytes) {
  case 1: gather_uint8_t(from, to, index, n); break;
  case 2: gather_uint16_t(from, to, index, n); break;
  case 4: gather_uint32_t(from, to, index, n); break;
  case 8: gather_uint64_t(from, to, index, n); break;
  case 16: gather_pair64(from, to, index, n); break;
  default: bench_need(0, "a unit of a size that no loop is written for");
  }
}

void bench_scatter(size_t bytes, const void *from, void *to, const int32_t *index, int n)
{
  switch (bytes) {
  case 1: scatter_uint8_t(from, to, index, n); break;
  case 2: scatter_uint16_t(from, to, index, n); break;
  case 4: scatter_uint32_t(from, to, index, n); break;
  case 8: scatter_uint64_t(from, to, index, n); break;
  case 16: scatter_pair64(from, to, index, n); break;
  default: bench_need(0, "a unit of a size that no loop is written for");
  }
}

/* ---- messages ---- */

static int is_consecutive(const int32_t *index, int n)
{
  for (int i = 1; i < n; i++)
    if (index[i] != index[0] + i) return 0;
  return 1;
}

/* Returns the number of messages on this side; `at` goes on through the staging memory. */
static int make_messages(const bench_side *side, int rank, int nranks, int may_be_direct,
                         size_t bytes, bench_message **out, char **at)
{
  int n = 0;
  bench_message *m = bench_alloc((size_t)nranks, sizeof *m);
  for (int r = 0; r < nranks; r++) {
    if (side->count[r] == 0 || r == rank) continue;
    const int32_t *index = side->index + side->start[r];
    int plain = is_consecutive(index, side->count[r]);
    m[n++] = (bench_message){r, side->count[r], index, plain, plain && may_be_direct, *at};
    *at += (size_t)side->count[r] * bytes;
  }
  *out = m;
  return n;
}

void bench_by_hand_open(const bench_case *c, int exchange, bench_by_hand *out)
{
  bench_by_hand h = {.type = c->spec->type, .reduce = c->spec->kind == BENCH_REDUCE};
  size_t bytes = h.type->bytes;
  bench_lists_open(&c->graph[exchange], c->comm, &h.lists);
  const bench_side *from = h.reduce ? &h.lists.leaves : &h.lists.roots;
  const bench_side *to = h.reduce ? &h.lists.roots : &h.lists.leaves;
  h.staging = bench_alloc((size_t)(from->start[c->nranks] + to->start[c->nranks]), bytes);
  char *at = h.staging;
  h.nsends = make_messages(from, c->rank, c->nranks, 1, bytes, &h.sends, &at);
  h.nreceives = make_messages(to, c->rank, c->nranks, !h.reduce, bytes, &h.receives, &at);
  h.nself = from->count[c->rank];
  h.self_from = from->index + from->start[c->rank];
  h.self_to = to->index + to->start[c->rank];
  h.self_staging = bench_alloc((size_t)h.nself, bytes);
  *out = h;
}

void bench_by_hand_close(bench_by_hand *h)
{
  bench_lists_close(&h->lists);
  free(h->sends);
  free(h->receives);
  free(h->staging);
  free(h->self_staging);
}

void bench_by_hand_pack(const bench_by_hand *h, const char *from)
{
  for (int i = 0; i < h->nsends; i++) {
    const bench_message *m = &h->sends[i];
    size_t bytes = h->type->bytes;
    if (m->direct) continue;
    if (m->consecutive)
      memcpy(m->staging, from + (size_t)m->index[0] * bytes, (size_t)m->count * bytes);
    else
      bench_gather(bytes, from, m->staging, m->index, m->count);
  }
}

static void unpack_message(const bench_by_hand *h, const bench_message *m, char *to)
{
  size_t bytes = h->type->bytes;
  if (h->reduce && m->consecutive)
    h->type->add(m->staging, to + (size_t)m->index[0] * bytes, NULL, m->count);
  else if (h->reduce)
    h->type->add(m->staging, to, m->index, m->count);
  else if (m->consecutive)
    memcpy(to + (size_t)m->index[0] * bytes, m->staging, (size_t)m->count * bytes);
  else
    bench_scatter(bytes, m->staging, to, m->index, m->count);
}

void bench_by_hand_unpack(const bench_by_hand *h, const char *from, char *to)
{
  for (int i = 0; i < h->nreceives; i++)
    if (!h->receives[i].direct) unpack_message(h, &h->receives[i], to);
  if (h->nself == 0) return;
  bench_gather(h->type->bytes, from, h->self_staging, h->self_from, h->nself);
  if (h->reduce)
    h->type->add(h->self_staging, to, h->self_to, h->nself);
  else
    bench_scatter(h->type->bytes, h->self_staging, to, h->self_to, h->nself);
}
