/* MPI's own irregular exchange: a graph communicator and MPI_Neighbor_alltoallv. */
#include "methods/by_hand.h"
#include "methods/method.h"

#include <stdlib.h>

/* The call takes one address for all messages, and where each begins, counted in units. */
typedef struct neighbor_part {
  MPI_Comm comm;
  int direct_sends, direct_receives; /* all of them: else all go through staging memory */
  int *send_counts, *send_at, *receive_counts, *receive_at;
} neighbor_part;

typedef struct neighbor_state {
  bench_case *c;
  bench_by_hand hand[2];
  neighbor_part part[2];
} neighbor_state;

static int exchanges(const bench_spec *spec)
{
  return bench_is_plain(spec) && spec->measure <= BENCH_SETUP;
}

static int describe(const bench_by_hand *h, bench_message *m, int n, int *counts, int *at,
                    int *peers)
{
  int direct = 1;
  for (int i = 0; i < n; i++) direct = direct && m[i].direct;
  for (int i = 0; i < n; i++) {
    m[i].direct = direct;
    peers[i] = m[i].peer;
    counts[i] = m[i].count;
    at[i] = direct ? m[i].index[0] : (int)((m[i].staging - m[0].staging) / (int)h->type->bytes);
  }
  return direct;
}

static void set_up_part(const bench_case *c, bench_by_hand *h, neighbor_part *p)
{
  size_t n = (size_t)c->nranks;
  int *sources = bench_alloc(n, sizeof *sources), *targets = bench_alloc(n, sizeof *targets);
  p->send_counts = bench_alloc(n, sizeof(int));
  p->send_at = bench_alloc(n, sizeof(int));
  p->receive_counts = bench_alloc(n, sizeof(int));
  p->receive_at = bench_alloc(n, sizeof(int));
  p->direct_sends = describe(h, h->sends, h->nsends, p->send_counts, p->send_at, targets);
  p->direct_receives =
    describe(h, h->receives, h->nreceives, p->receive_counts, p->receive_at, sources);
  MPI_Dist_graph_create_adjacent(c->comm, h->nreceives, sources, MPI_UNWEIGHTED, h->nsends, targets,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &p->comm);
  free(sources);
  free(targets);
}

static void *set_up(bench_case *c)
{
  neighbor_state *s = bench_alloc(1, sizeof *s);
  s->c = c;
  for (int k = 0; k < c->nexchanges; k++) {
    bench_by_hand_open(c, k, &s->hand[k]);
    set_up_part(c, &s->hand[k], &s->part[k]);
  }
  return s;
}

static void init(void *state)
{
  (void)state;
}

static void run(void *state, int begin, int end)
{
  const neighbor_state *s = state;
  const bench_case *c = s->c;
  MPI_Datatype type = c->spec->type->mpi();
  for (int i = begin, b = begin % c->spec->buffers; i < end; i++) {
    char *from = bench_from_array(c, b), *to = bench_to_array(c, b);
    for (int k = 0; k < c->nexchanges; k++) {
      const bench_by_hand *h = &s->hand[k];
      const neighbor_part *p = &s->part[k];
      bench_by_hand_pack(h, from);
      MPI_Neighbor_alltoallv(p->direct_sends ? from : h->sends[0].staging, p->send_counts,
                             p->send_at, type, p->direct_receives ? to : h->receives[0].staging,
                             p->receive_counts, p->receive_at, type, p->comm);
      bench_by_hand_unpack(h, from, to);
    }
    if (++b == c->spec->buffers) b = 0;
  }
}

static void tear_down(void *state)
{
  neighbor_state *s = state;
  for (int k = 0; k < s->c->nexchanges; k++) {
    neighbor_part *p = &s->part[k];
    MPI_Comm_free(&p->comm);
    free(p->send_counts);
    free(p->send_at);
    free(p->receive_counts);
    free(p->receive_at);
    bench_by_hand_close(&s->hand[k]);
  }
  free(s);
}

const bench_method bench_mpi_neighbor = {
  .name = "mpi-neighbor",
  .about = "MPI_Neighbor_alltoallv on a graph communicator",
  .supports = exchanges,
  .set_up = set_up,
  .init = init,
  .run = run,
  .fini = init,
  .tear_down = tear_down,
};
