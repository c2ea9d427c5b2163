/* What Grove is measured against: the same exchange on MPI alone, written by hand, and other
 * libraries where there are any.
 */
#include "grove/bench/by_hand.h"

#include <stdlib.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

/* ---- persistent messages ---- */

typedef struct persistent_state {
  by_hand hand;
  MPI_Request *requests; /* receives first */
} persistent_state;

enum { TAG = 1 };

static grove_status open_persistent(bench_entrant *e)
{
  persistent_state *s = e->state = bench_room(1, sizeof *s);
  by_hand *h = &s->hand;
  int width = (int)e->b->width;
  by_hand_open(e->b, e->task, h);
  MPI_Request *next = s->requests =
    bench_room((size_t)(h->nreceives + h->nsends), sizeof *s->requests);
  for (by_hand_message *m = h->receives; m < h->receives + h->nreceives; m++)
    MPI_Recv_init(m->data, m->units * width, MPI_DOUBLE, m->peer, TAG, e->b->comm, next++);
  for (by_hand_message *m = h->sends; m < h->sends + h->nsends; m++)
    MPI_Send_init(m->data, m->units * width, MPI_DOUBLE, m->peer, TAG, e->b->comm, next++);
  return GROVE_OK;
}

/* A message is on its way while the next one is packed. */
static grove_status run_persistent(bench_entrant *e)
{
  persistent_state *s = e->state;
  const by_hand *h = &s->hand;
  if (h->nreceives) MPI_Startall(h->nreceives, s->requests);
  for (int k = 0; k < h->nsends; k++) {
    by_hand_pack(h, &h->sends[k]);
    MPI_Start(&s->requests[h->nreceives + k]);
  }
  by_hand_keep(h);
  bench_wait_all(h->nreceives + h->nsends, s->requests);
  for (int k = 0; k < h->nreceives; k++) by_hand_unpack(h, &h->receives[k]);
  return GROVE_OK;
}

static void close_persistent(bench_entrant *e)
{
  persistent_state *s = e->state;
  if (!s) return;
  for (int i = 0; i < s->hand.nreceives + s->hand.nsends; i++) MPI_Request_free(&s->requests[i]);
  by_hand_close(&s->hand);
  free(s->requests);
  free(s);
  e->state = NULL;
}

static const bench_method persistent = {
  .open = open_persistent,
  .run = run_persistent,
  .close = close_persistent,
};

/* ---- neighborhood collectives ---- */

/* The call takes one address for all messages: all lie in the array, or all are staged. */
typedef struct neighbor_side {
  double *base;
  int *peers, *counts, *starts; /* counts and starts in doubles */
} neighbor_side;

typedef struct neighbor_state {
  by_hand hand;
  MPI_Comm comm;
  neighbor_side out, in;
  MPI_Request request; /* of the persistent form */
} neighbor_state;

static neighbor_side open_neighbors(const bench *b, by_hand_message *m, int n, double *staging)
{
  int direct = 1, *memory = bench_room(3 * (size_t)n, sizeof *memory);
  neighbor_side s = {staging, memory, memory + n, memory + 2 * n};
  for (int i = 0; i < n; i++) direct = direct && m[i].direct;
  for (int i = 0; i < n && !direct; i++) by_hand_stage(&m[i]);
  if (direct) s.base = b->array;
  for (int i = 0; i < n; i++) {
    s.peers[i] = m[i].peer;
    s.counts[i] = m[i].units * (int)b->width;
    s.starts[i] = (int)(m[i].data - s.base);
  }
  return s;
}

static grove_status open_neighbor(bench_entrant *e)
{
  neighbor_state *s = e->state = bench_room(1, sizeof *s);
  by_hand *h = &s->hand;
  s->request = MPI_REQUEST_NULL;
  by_hand_open(e->b, e->task, h);
  s->out = open_neighbors(e->b, h->sends, h->nsends, h->send_staging);
  s->in = open_neighbors(e->b, h->receives, h->nreceives, h->receive_staging);
  MPI_Dist_graph_create_adjacent(e->b->comm, h->nreceives, s->in.peers, MPI_UNWEIGHTED, h->nsends,
                                 s->out.peers, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &s->comm);
  return GROVE_OK;
}

static void pack_all(const by_hand *h)
{
  for (int k = 0; k < h->nsends; k++) by_hand_pack(h, &h->sends[k]);
}

static void unpack_all(const by_hand *h)
{
  by_hand_keep(h);
  for (int k = 0; k < h->nreceives; k++) by_hand_unpack(h, &h->receives[k]);
}

/* Open MPI's blocking form is the faster one, and yields; MPICH's is the other one and a wait. */
static void exchange(neighbor_state *s)
{
  const neighbor_side *out = &s->out, *in = &s->in;
#ifdef OPEN_MPI
  MPI_Neighbor_alltoallv(out->base, out->counts, out->starts, MPI_DOUBLE, in->base, in->counts,
                         in->starts, MPI_DOUBLE, s->comm);
#else
  MPI_Request request;
  MPI_Ineighbor_alltoallv(out->base, out->counts, out->starts, MPI_DOUBLE, in->base, in->counts,
                          in->starts, MPI_DOUBLE, s->comm, &request);
  bench_wait_all(1, &request);
#endif
}

static grove_status run_neighbor(bench_entrant *e)
{
  neighbor_state *s = e->state;
  pack_all(&s->hand);
  exchange(s);
  unpack_all(&s->hand);
  return GROVE_OK;
}

static void close_neighbor(bench_entrant *e)
{
  neighbor_state *s = e->state;
  if (!s) return;
  if (s->request != MPI_REQUEST_NULL) MPI_Request_free(&s->request);
  MPI_Comm_free(&s->comm);
  by_hand_close(&s->hand);
  free(s->out.peers);
  free(s->in.peers);
  free(s);
  e->state = NULL;
}

static const bench_method neighbor = {
  .open = open_neighbor,
  .run = run_neighbor,
  .close = close_neighbor,
};

/* ---- the same, persistent: in MPI since 4.0, in Open MPI 4 as an extension ---- */

#if MPI_VERSION >= 4
#define NEIGHBOR_INIT MPI_Neighbor_alltoallv_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define NEIGHBOR_INIT MPIX_Neighbor_alltoallv_init
#endif

#ifdef NEIGHBOR_INIT
static grove_status open_neighbor_persistent(bench_entrant *e)
{
  open_neighbor(e);
  neighbor_state *s = e->state;
  const neighbor_side *out = &s->out, *in = &s->in;
  NEIGHBOR_INIT(out->base, out->counts, out->starts, MPI_DOUBLE, in->base, in->counts, in->starts,
                MPI_DOUBLE, s->comm, MPI_INFO_NULL, &s->request);
  return GROVE_OK;
}

static grove_status run_neighbor_persistent(bench_entrant *e)
{
  neighbor_state *s = e->state;
  pack_all(&s->hand);
  MPI_Start(&s->request);
  bench_wait_all(1, &s->request);
  unpack_all(&s->hand);
  return GROVE_OK;
}

static const bench_method neighbor_persistent = {
  .open = open_neighbor_persistent,
  .run = run_neighbor_persistent,
  .close = close_neighbor,
};
#endif

void bench_enter_baselines(const bench *b, bench_field *field)
{
  bench_enter(b, field, &persistent, BENCH_BASELINE, "mpi-persistent");
  bench_enter(b, field, &neighbor, BENCH_BASELINE, "mpi-neighbor");
#ifdef NEIGHBOR_INIT
  bench_enter(b, field, &neighbor_persistent, BENCH_BASELINE, "mpi-neighbor-persistent");
#endif
  if (bench_petsc) bench_enter(b, field, bench_petsc, BENCH_BASELINE, "petsc");
}
