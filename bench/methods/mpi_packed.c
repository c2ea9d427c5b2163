/* Several fields by hand: packed into one message per neighbour, MPI_Irecv, MPI_Isend, MPI_Waitall.
 */
#include "methods/mpi.h"

#include <stdlib.h>

/* All data to, or from, one rank. */
typedef struct packet {
  int peer;
  size_t bytes;
  char *data;
} packet;

typedef struct packed_state {
  bench_case *c;
  bench_by_hand hand[BENCH_FIELDS];
  int nsends, nreceives;
  packet *sends, *receives; /* at most one per rank */
  MPI_Request *requests;
} packed_state;

enum { TAG = 6, ALIGNMENT = 16 };

static int several_fields(const bench_spec *spec)
{
  int plain = spec->nfields > 1 && spec->buffers == 1 && spec->measure <= BENCH_SETUP;
  for (int i = 0; i < spec->nfields; i++) {
    bench_spec field = *spec;
    bench_spec_take_field(&field, i);
    field.nfields = 1;
    plain = plain && bench_is_plain(&field);
  }
  return plain;
}

/* ---- one buffer per neighbour; each field's message gets a part of it ---- */

static packet *find_packet(packet *list, int *n, int peer)
{
  for (int i = 0; i < *n; i++)
    if (list[i].peer == peer) return &list[i];
  list[*n] = (packet){.peer = peer};
  return &list[(*n)++];
}

static void add_messages(const bench_by_hand *h, const bench_message *m, int n, packet *list,
                         int *npackets)
{
  for (int i = 0; i < n; i++) {
    size_t bytes = (size_t)m[i].units * h->bytes;
    packet *p = find_packet(list, npackets, m[i].peer);
    p->bytes += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }
}

static void open_packets(packet *list, int n)
{
  for (int i = 0; i < n; i++) {
    list[i].data = bench_alloc(list[i].bytes, 1);
    list[i].bytes = 0; /* counted again while parts are assigned */
  }
}

static void place_messages(const bench_by_hand *h, bench_message *m, int n, packet *list,
                           int *npackets)
{
  for (int i = 0; i < n; i++) {
    packet *p = find_packet(list, npackets, m[i].peer);
    m[i].direct = 0;
    m[i].staging = p->data + p->bytes;
    add_messages(h, &m[i], 1, list, npackets);
  }
}

static void *set_up(bench_case *first)
{
  packed_state *s = bench_alloc(1, sizeof *s);
  size_t nranks = (size_t)first->nranks;
  int nfields = first->spec->nfields, k = 0;
  s->c = first;
  s->sends = bench_alloc(nranks, sizeof(packet));
  s->receives = bench_alloc(nranks, sizeof(packet));
  s->requests = bench_alloc(2 * nranks, sizeof(MPI_Request));
  for (const bench_case *c = first; c; c = c->next, k++) {
    bench_by_hand *h = &s->hand[k];
    bench_case_by_hand(c, 0, h);
    add_messages(h, h->sends, h->nsends, s->sends, &s->nsends);
    add_messages(h, h->receives, h->nreceives, s->receives, &s->nreceives);
  }
  open_packets(s->sends, s->nsends);
  open_packets(s->receives, s->nreceives);
  for (k = 0; k < nfields; k++) {
    bench_by_hand *h = &s->hand[k];
    place_messages(h, h->sends, h->nsends, s->sends, &s->nsends);
    place_messages(h, h->receives, h->nreceives, s->receives, &s->nreceives);
  }
  return s;
}

static void run(void *state, int begin, int end)
{
  const packed_state *s = state;
  MPI_Comm comm = s->c->comm;
  for (int i = begin; i < end; i++) {
    MPI_Request *r = s->requests;
    int k = 0;
    for (const packet *p = s->receives; p < s->receives + s->nreceives; p++)
      MPI_Irecv(p->data, (int)p->bytes, MPI_BYTE, p->peer, TAG, comm, r++);
    for (const bench_case *c = s->c; c; c = c->next)
      bench_by_hand_pack(&s->hand[k++], bench_from_array(c, 0));
    for (const packet *p = s->sends; p < s->sends + s->nsends; p++)
      MPI_Isend(p->data, (int)p->bytes, MPI_BYTE, p->peer, TAG, comm, r++);
    MPI_Waitall((int)(r - s->requests), s->requests, MPI_STATUSES_IGNORE);
    k = 0;
    for (const bench_case *c = s->c; c; c = c->next)
      bench_case_unpack(&s->hand[k++], bench_from_array(c, 0), bench_to_array(c, 0));
  }
}

static void close_packets(packet *list, int n)
{
  for (int i = 0; i < n; i++) free(list[i].data);
  free(list);
}

static void tear_down(void *state)
{
  packed_state *s = state;
  for (int k = 0; k < s->c->spec->nfields; k++) bench_by_hand_close(&s->hand[k]);
  close_packets(s->sends, s->nsends);
  close_packets(s->receives, s->nreceives);
  free(s->requests);
  free(s);
}

const bench_method bench_mpi_packed = {
  .name = "mpi-packed",
  .about =
    "several fields packed into one message per neighbour; MPI_Irecv, MPI_Isend, MPI_Waitall",
  .supports = several_fields,
  .set_up = set_up,
  .run = run,
  .tear_down = tear_down,
};
