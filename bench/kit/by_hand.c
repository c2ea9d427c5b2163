#include "kit/by_hand.h"

#include "kit/need.h"

#include <stdlib.h>
#include <string.h>

/* ---- loops ---- */

typedef struct pair64 {
  uint64_t low, high;
} pair64;

/* to[i] = from[from_index[i]], to[to_index[i]] = from[i], or both. */
#define LOOPS(type)                                                                                \
  static void copy_##type(const void *from, const int32_t *from_index, void *to,                   \
                          const int32_t *to_index, int n)                                          \
  {                                                                                                \
    const type *restrict x = from;                                                                 \
    type *restrict y = to;                                                                         \
    if (!to_index)                                                                                 \
      for (int i = 0; i < n; i++) y[i] = x[from_index[i]];                                         \
    else if (!from_index)                                                                          \
      for (int i = 0; i < n; i++) y[to_index[i]] = x[i];                                           \
    else                                                                                           \
      for (int i = 0; i < n; i++) y[to_index[i]] = x[from_index[i]];                               \
  }

LOOPS(uint8_t)
LOOPS(uint16_t)
LOOPS(uint32_t)
LOOPS(uint64_t)
LOOPS(pair64)

static void copy_words(const void *from, const int32_t *from_index, void *to,
                       const int32_t *to_index, int n, int64_t words)
{
  const uint64_t *restrict x = from;
  uint64_t *restrict y = to;
  for (int i = 0; i < n; i++) {
    int64_t here = from_index ? from_index[i] : i, there = to_index ? to_index[i] : i;
    for (int64_t k = 0; k < words; k++) y[there * words + k] = x[here * words + k];
  }
}

static void copy_units(size_t bytes, const void *from, const int32_t *from_index, void *to,
                       const int32_t *to_index, int n)
{
  switch (bytes) {
  case 1: copy_uint8_t(from, from_index, to, to_index, n); break;
  case 2: copy_uint16_t(from, from_index, to, to_index, n); break;
  case 4: copy_uint32_t(from, from_index, to, to_index, n); break;
  case 8: copy_uint64_t(from, from_index, to, to_index, n); break;
  case 16: copy_pair64(from, from_index, to, to_index, n); break;
  default:
    bench_need(bytes % 8 == 0, "a unit of a size that no loop is written for");
    copy_words(from, from_index, to, to_index, n, (int64_t)(bytes / 8));
  }
}

/* ---- packing ---- */

/* Slots that share a unit are summed into it. */
void bench_message_pack(const bench_by_hand *h, const bench_message *m, const char *from)
{
  size_t whole = (size_t)m->units * h->bytes;
  if (m->direct) return;
  if (m->place) {
    memset(m->staging, 0, whole);
    h->how.type->add(from, m->slots, m->staging, m->place, m->nslots, h->how.width);
  } else if (m->consecutive) {
    memcpy(m->staging, from + (size_t)m->slots[0] * h->bytes, whole);
  } else {
    copy_units(h->bytes, from, m->slots, m->staging, NULL, m->units);
  }
}

void bench_by_hand_pack(const bench_by_hand *h, const char *from)
{
  for (int i = 0; i < h->nsends; i++) bench_message_pack(h, &h->sends[i], from);
}

static void unpack_message(const bench_by_hand *h, const bench_message *m, char *to)
{
  char *first = to + (size_t)m->slots[0] * h->bytes;
  int64_t width = h->how.width;
  if (m->direct) return;
  if (h->how.reduce && m->consecutive)
    h->how.type->add(m->staging, NULL, first, NULL, m->units, width);
  else if (h->how.reduce)
    h->how.type->add(m->staging, NULL, to, m->slots, m->units, width);
  else if (m->consecutive)
    memcpy(first, m->staging, (size_t)m->units * h->bytes);
  else
    copy_units(h->bytes, m->staging, m->place, to, m->slots, m->nslots);
}

void bench_by_hand_unpack(const bench_by_hand *h, char *to)
{
  for (int i = 0; i < h->nreceives; i++) unpack_message(h, &h->receives[i], to);
}

void bench_by_hand_keep(const bench_by_hand *h, const char *from, char *to)
{
  const int32_t *index = h->self_from;
  if (h->nself == 0) return;
  if (h->self_staging) {
    copy_units(h->bytes, from, index, h->self_staging, NULL, h->nself);
    from = h->self_staging;
    index = NULL;
  }
  if (h->how.reduce)
    h->how.type->add(from, index, to, h->self_to, h->nself, h->how.width);
  else
    copy_units(h->bytes, from, index, to, h->self_to, h->nself);
}

/* ---- messages ---- */

static int is_consecutive(const int32_t *slots, int n)
{
  for (int i = 1; i < n; i++)
    if (slots[i] != slots[0] + i) return 0;
  return 1;
}

/* Returns the number of messages on this side; `at` advances through the staging memory. */
static int make_messages(const bench_by_hand *h, const bench_side *side, int rank, int nranks,
                         int adds, bench_message **out, char **at)
{
  const bench_lists *l = &h->lists;
  int n = 0;
  bench_message *list = *out = bench_alloc((size_t)nranks, sizeof *list);
  for (int r = 0; r < nranks; r++) {
    int begin = side->start[r], count = side->count[r];
    int shares = side == &l->leaves && l->units.count[r] < count;
    if (count == 0 || r == rank) continue;
    bench_message *m = &list[n++];
    *m = (bench_message){.peer = r, .nslots = count, .slots = side->index + begin, .staging = *at};
    m->units = shares ? l->units.count[r] : count;
    if (shares) m->place = l->place + begin;
    m->consecutive = !shares && is_consecutive(m->slots, count);
    m->direct = m->consecutive && !adds;
    *at += (size_t)m->units * h->bytes;
  }
  return n;
}

void bench_by_hand_open(const bench_graph *g, MPI_Comm comm, bench_by_hand_how how,
                        bench_by_hand *out)
{
  bench_by_hand *h = out;
  int rank, nranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &nranks);
  *h = (bench_by_hand){.how = how, .bytes = how.type->bytes * (size_t)how.width};
  bench_lists_open(g, comm, how.share, &h->lists);
  const bench_side *from = how.reduce ? &h->lists.leaves : &h->lists.roots;
  const bench_side *to = how.reduce ? &h->lists.roots : &h->lists.leaves;
  h->staging = bench_alloc((size_t)(from->start[nranks] + to->start[nranks]), h->bytes);
  char *at = h->staging;
  h->nsends = make_messages(h, from, rank, nranks, 0, &h->sends, &at);
  h->nreceives = make_messages(h, to, rank, nranks, how.reduce, &h->receives, &at);
  h->nself = from->count[rank];
  h->self_from = from->index + from->start[rank];
  h->self_to = to->index + to->start[rank];
  if (how.stages) h->self_staging = bench_alloc((size_t)h->nself, h->bytes);
}

void bench_by_hand_close(bench_by_hand *h)
{
  bench_lists_close(&h->lists);
  free(h->sends);
  free(h->receives);
  free(h->staging);
  free(h->self_staging);
}

void bench_by_hand_init(const bench_by_hand *h, char *from, char *to, MPI_Comm comm, int tag,
                        MPI_Request *requests)
{
  MPI_Datatype type = h->how.type->mpi();
  for (const bench_message *m = h->receives; m < h->receives + h->nreceives; m++)
    MPI_Recv_init(bench_message_data(h, m, to), bench_message_count(h, m), type, m->peer, tag, comm,
                  requests++);
  for (const bench_message *m = h->sends; m < h->sends + h->nsends; m++)
    MPI_Send_init(bench_message_data(h, m, from), bench_message_count(h, m), type, m->peer, tag,
                  comm, requests++);
}

/* ---- neighbourhood collectives ---- */

static void describe_side(const bench_by_hand *h, bench_message *m, int n, int *peers, int *counts,
                          int *at)
{
  int direct = 1;
  for (int i = 0; i < n; i++) direct = direct && m[i].direct;
  for (int i = 0; i < n; i++) {
    int64_t units = direct ? m[i].slots[0] : (m[i].staging - m[0].staging) / (int64_t)h->bytes;
    m[i].direct = direct;
    peers[i] = m[i].peer;
    counts[i] = bench_message_count(h, &m[i]);
    at[i] = (int)(units * h->how.width);
  }
}

void bench_neighbors_open(bench_by_hand *h, MPI_Comm comm, bench_neighbors *out)
{
  size_t nout = (size_t)h->nsends, nin = (size_t)h->nreceives;
  int *peers = bench_alloc(nout + nin, sizeof *peers), *sources = peers + nout;
  out->type = h->how.type->mpi();
  out->send_counts = bench_alloc(2 * (nout + nin), sizeof *peers);
  out->send_at = out->send_counts + nout;
  out->receive_counts = out->send_at + nout;
  out->receive_at = out->receive_counts + nin;
  describe_side(h, h->sends, h->nsends, peers, out->send_counts, out->send_at);
  describe_side(h, h->receives, h->nreceives, sources, out->receive_counts, out->receive_at);
  MPI_Dist_graph_create_adjacent(comm, h->nreceives, sources, MPI_UNWEIGHTED, h->nsends, peers,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &out->comm);
  free(peers);
}

void bench_neighbors_close(bench_neighbors *n)
{
  MPI_Comm_free(&n->comm);
  free(n->send_counts);
}
