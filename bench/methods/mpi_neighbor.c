/* MPI's own irregular exchange: a graph communicator and MPI_Neighbor_alltoallv. */
#include "methods/mpi.h"

#include <stdlib.h>

typedef struct neighbor_state {
  bench_case *c;
  bench_by_hand hand[2];
  bench_neighbors neighbors[2];
} neighbor_state;

static int exchanges(const bench_spec *spec)
{
  return bench_is_plain(spec) && spec->measure <= BENCH_SETUP;
}

static void *set_up(bench_case *c)
{
  neighbor_state *s = bench_alloc(1, sizeof *s);
  s->c = c;
  for (int k = 0; k < c->nexchanges; k++) {
    bench_case_by_hand(c, k, &s->hand[k]);
    bench_neighbors_open(&s->hand[k], c->comm, &s->neighbors[k]);
  }
  return s;
}

static void run(void *state, int begin, int end)
{
  const neighbor_state *s = state;
  const bench_case *c = s->c;
  for (int i = begin, b = begin % c->spec->buffers; i < end; i++) {
    char *from = bench_from_array(c, b), *to = bench_to_array(c, b);
    for (int k = 0; k < c->nexchanges; k++) {
      const bench_by_hand *h = &s->hand[k];
      const bench_neighbors *n = &s->neighbors[k];
      bench_by_hand_pack(h, from);
      MPI_Neighbor_alltoallv(bench_neighbors_data(h->sends, h->nsends, from), n->send_counts,
                             n->send_at, n->type,
                             bench_neighbors_data(h->receives, h->nreceives, to), n->receive_counts,
                             n->receive_at, n->type, n->comm);
      bench_case_unpack(h, from, to);
    }
    if (++b == c->spec->buffers) b = 0;
  }
}

static void tear_down(void *state)
{
  neighbor_state *s = state;
  for (int k = 0; k < s->c->nexchanges; k++) {
    bench_neighbors_close(&s->neighbors[k]);
    bench_by_hand_close(&s->hand[k]);
  }
  free(s);
}

const bench_method bench_mpi_neighbor = {
  .name = "mpi-neighbor",
  .about = "MPI_Neighbor_alltoallv on a graph communicator",
  .supports = exchanges,
  .set_up = set_up,
  .run = run,
  .tear_down = tear_down,
};
