/* MPI by hand, point to point, in the two usual ways: calls that are given the array each time
 * (blocking ones where there is a single message), and persistent requests.
 */
#include "driver/compute.h"
#include "methods/mpi.h"

#include <stdlib.h>

typedef struct p2p_state {
  bench_case *c;
  bench_by_hand hand[2];
  MPI_Request *requests; /* for each exchange and array `most` of them: receives, then sends */
  int most;
} p2p_state;

enum { TAG = 5 };

static int exchanges(const bench_spec *spec)
{
  return bench_is_plain(spec) && (spec->measure <= BENCH_SETUP || spec->measure == BENCH_OVERLAP);
}

static int times(const bench_spec *spec)
{
  return bench_is_plain(spec) && spec->measure < BENCH_MEMORY;
}

static void *set_up(bench_case *c)
{
  p2p_state *s = bench_alloc(1, sizeof *s);
  s->c = c;
  for (int k = 0; k < c->nexchanges; k++) bench_case_by_hand(c, k, &s->hand[k]);
  s->most = 2 * c->nranks;
  return s;
}

static void tear_down(void *state)
{
  p2p_state *s = state;
  for (int k = 0; k < s->c->nexchanges; k++) bench_by_hand_close(&s->hand[k]);
  free(s);
}

/* ---- given the array each time ---- */

static void init_none(void *state)
{
  p2p_state *s = state;
  s->requests = bench_alloc((size_t)s->most, sizeof *s->requests);
}

static void fini_none(void *state)
{
  p2p_state *s = state;
  free(s->requests);
}

static void exchange_one(const p2p_state *s, const bench_by_hand *h, char *from, char *to)
{
  MPI_Datatype type = h->how.type->mpi();
  const bench_message *m = h->nsends ? h->sends : h->receives;
  if (h->nsends)
    MPI_Send(bench_message_data(h, m, from), m->units, type, m->peer, TAG, s->c->comm);
  else
    MPI_Recv(bench_message_data(h, m, to), m->units, type, m->peer, TAG, s->c->comm,
             MPI_STATUS_IGNORE);
}

static void exchange_many(const p2p_state *s, const bench_by_hand *h, char *from, char *to)
{
  MPI_Datatype type = h->how.type->mpi();
  MPI_Request *r = s->requests;
  for (int i = 0; i < h->nreceives; i++) {
    const bench_message *m = &h->receives[i];
    MPI_Irecv(bench_message_data(h, m, to), m->units, type, m->peer, TAG, s->c->comm, r++);
  }
  bench_by_hand_pack(h, from);
  for (int i = 0; i < h->nsends; i++) {
    const bench_message *m = &h->sends[i];
    MPI_Isend(bench_message_data(h, m, from), m->units, type, m->peer, TAG, s->c->comm, r++);
  }
  bench_meanwhile(s->c);
  MPI_Waitall((int)(r - s->requests), s->requests, MPI_STATUSES_IGNORE);
}

static void run_send(void *state, int begin, int end)
{
  const p2p_state *s = state;
  const bench_case *c = s->c;
  for (int i = begin, b = begin % c->spec->buffers; i < end; i++) {
    char *from = bench_from_array(c, b), *to = bench_to_array(c, b);
    for (int k = 0; k < c->nexchanges; k++) {
      const bench_by_hand *h = &s->hand[k];
      if (h->nsends + h->nreceives == 1) {
        bench_by_hand_pack(h, from);
        exchange_one(s, h, from, to);
      } else {
        exchange_many(s, h, from, to);
      }
      bench_case_unpack(h, from, to);
    }
    if (++b == c->spec->buffers) b = 0;
  }
}

/* ---- persistent ---- */

static MPI_Request *requests_of(const p2p_state *s, int exchange, int buffer)
{
  return s->requests + (exchange * s->c->spec->buffers + buffer) * s->most;
}

static void init_persistent(void *state)
{
  p2p_state *s = state;
  const bench_case *c = s->c;
  int count = c->nexchanges * c->spec->buffers * s->most;
  s->requests = bench_alloc((size_t)count, sizeof *s->requests);
  for (int k = 0; k < c->nexchanges; k++)
    for (int b = 0; b < c->spec->buffers; b++) {
      char *from = bench_from_array(c, b), *to = bench_to_array(c, b);
      bench_by_hand_init(&s->hand[k], from, to, c->comm, TAG, requests_of(s, k, b));
    }
}

static void run_persistent(void *state, int begin, int end)
{
  const p2p_state *s = state;
  const bench_case *c = s->c;
  for (int i = begin, b = begin % c->spec->buffers; i < end; i++) {
    char *from = bench_from_array(c, b), *to = bench_to_array(c, b);
    for (int k = 0; k < c->nexchanges; k++) {
      const bench_by_hand *h = &s->hand[k];
      MPI_Request *r = requests_of(s, k, b);
      if (h->nreceives) MPI_Startall(h->nreceives, r);
      bench_by_hand_pack(h, from);
      if (h->nsends) MPI_Startall(h->nsends, r + h->nreceives);
      MPI_Waitall(h->nreceives + h->nsends, r, MPI_STATUSES_IGNORE);
      bench_case_unpack(h, from, to);
    }
    if (++b == c->spec->buffers) b = 0;
  }
}

static void fini_persistent(void *state)
{
  p2p_state *s = state;
  for (int k = 0; k < s->c->nexchanges; k++)
    for (int b = 0; b < s->c->spec->buffers; b++) {
      int n = s->hand[k].nreceives + s->hand[k].nsends;
      for (int i = 0; i < n; i++) MPI_Request_free(&requests_of(s, k, b)[i]);
    }
  free(s->requests);
}

const bench_method bench_mpi_send = {
  .name = "mpi-send",
  .about = "MPI_Send and MPI_Recv; with several messages MPI_Irecv, MPI_Isend, MPI_Waitall",
  .supports = exchanges,
  .set_up = set_up,
  .init = init_none,
  .run = run_send,
  .fini = fini_none,
  .tear_down = tear_down,
};

const bench_method bench_mpi_persistent = {
  .name = "mpi-persistent",
  .about = "persistent MPI requests",
  .supports = times,
  .set_up = set_up,
  .init = init_persistent,
  .run = run_persistent,
  .fini = fini_persistent,
  .tear_down = tear_down,
};
