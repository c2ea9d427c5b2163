/* What Grove is measured against: the same exchange written by hand on MPI alone, and other
 * libraries where available.
 */
#include "grove/bench/bench.h"
#include "kit/by_hand.h"
#include "kit/need.h"

#include <stdlib.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

enum { TAG = 1 };

/* State of every baseline. Roots and leaves are in one array. */
typedef struct hand_state {
  bench_by_hand hand;
  char *array;
  bench_neighbors neighbors; /* of neighborhood collectives */
  MPI_Request *requests;     /* of persistent forms; receives first */
  int nrequests;
} hand_state;

static hand_state *open_by_hand(bench_entrant *e, int nrequests)
{
  hand_state *s = e->state = bench_alloc(1, sizeof *s);
  const pattern *p = e->task->edges;
  const bench_graph graph = {
    .nroots = p->nroots, .nleaves = p->nleaves, .leaf = p->leaf, .root = p->root};
  const bench_by_hand_how how = {
    .type = bench_type_find("double"), .width = e->b->width, .reduce = e->task->reduce, .share = 1};
  s->array = (char *)e->b->array;
  bench_by_hand_open(&graph, e->b->comm, how, &s->hand);
  s->nrequests = nrequests < 0 ? s->hand.nreceives + s->hand.nsends : nrequests;
  s->requests = bench_alloc((size_t)s->nrequests, sizeof *s->requests);
  return s;
}

static void close_by_hand(bench_entrant *e)
{
  hand_state *s = e->state;
  if (!s) return;
  for (int i = 0; i < s->nrequests; i++) MPI_Request_free(&s->requests[i]);
  if (s->neighbors.send_counts) bench_neighbors_close(&s->neighbors);
  bench_by_hand_close(&s->hand);
  free(s->requests);
  free(s);
  e->state = NULL;
}

/* ---- persistent messages ---- */

static grove_status open_persistent(bench_entrant *e)
{
  hand_state *s = open_by_hand(e, -1);
  bench_by_hand_init(&s->hand, s->array, s->array, e->b->comm, TAG, s->requests);
  return GROVE_OK;
}

/* Each message is on its way while the next one is packed. */
static grove_status run_persistent(bench_entrant *e)
{
  hand_state *s = e->state;
  const bench_by_hand *h = &s->hand;
  if (h->nreceives) MPI_Startall(h->nreceives, s->requests);
  for (int k = 0; k < h->nsends; k++) {
    bench_message_pack(h, &h->sends[k], s->array);
    MPI_Start(&s->requests[h->nreceives + k]);
  }
  bench_by_hand_keep(h, s->array, s->array);
  bench_wait_all(s->nrequests, s->requests);
  bench_by_hand_unpack(h, s->array);
  return GROVE_OK;
}

static const bench_method persistent = {
  .open = open_persistent,
  .run = run_persistent,
  .close = close_by_hand,
};

/* ---- neighborhood collectives ---- */

/* The arguments of the calls from `send` to the communicator. */
#define NEIGHBOR_ARGUMENTS(s)                                                                      \
  bench_neighbors_data((s)->hand.sends, (s)->hand.nsends, (s)->array), (s)->neighbors.send_counts, \
    (s)->neighbors.send_at, (s)->neighbors.type,                                                   \
    bench_neighbors_data((s)->hand.receives, (s)->hand.nreceives, (s)->array),                     \
    (s)->neighbors.receive_counts, (s)->neighbors.receive_at, (s)->neighbors.type,                 \
    (s)->neighbors.comm

static grove_status open_neighbor(bench_entrant *e)
{
  hand_state *s = open_by_hand(e, 0);
  bench_neighbors_open(&s->hand, e->b->comm, &s->neighbors);
  return GROVE_OK;
}

/* Open MPI's blocking form is faster, and yields. MPICH's blocking form is the non-blocking one and
 * a wait. */
static void exchange(hand_state *s)
{
#ifdef OPEN_MPI
  MPI_Neighbor_alltoallv(NEIGHBOR_ARGUMENTS(s));
#else
  MPI_Request request;
  MPI_Ineighbor_alltoallv(NEIGHBOR_ARGUMENTS(s), &request);
  bench_wait_all(1, &request);
#endif
}

static void unpack_all(hand_state *s)
{
  bench_by_hand_keep(&s->hand, s->array, s->array);
  bench_by_hand_unpack(&s->hand, s->array);
}

static grove_status run_neighbor(bench_entrant *e)
{
  hand_state *s = e->state;
  bench_by_hand_pack(&s->hand, s->array);
  exchange(s);
  unpack_all(s);
  return GROVE_OK;
}

static const bench_method neighbor = {
  .open = open_neighbor,
  .run = run_neighbor,
  .close = close_by_hand,
};

/* ---- the same, persistent: in MPI since 4.0, an extension in Open MPI 4 ---- */

#if MPI_VERSION >= 4
#define NEIGHBOR_INIT MPI_Neighbor_alltoallv_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define NEIGHBOR_INIT MPIX_Neighbor_alltoallv_init
#endif

#ifdef NEIGHBOR_INIT
static grove_status open_neighbor_persistent(bench_entrant *e)
{
  hand_state *s = open_by_hand(e, 1);
  bench_neighbors_open(&s->hand, e->b->comm, &s->neighbors);
  NEIGHBOR_INIT(NEIGHBOR_ARGUMENTS(s), MPI_INFO_NULL, s->requests);
  return GROVE_OK;
}

static grove_status run_neighbor_persistent(bench_entrant *e)
{
  hand_state *s = e->state;
  bench_by_hand_pack(&s->hand, s->array);
  MPI_Start(s->requests);
  bench_wait_all(1, s->requests);
  unpack_all(s);
  return GROVE_OK;
}

static const bench_method neighbor_persistent = {
  .open = open_neighbor_persistent,
  .run = run_neighbor_persistent,
  .close = close_by_hand,
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
