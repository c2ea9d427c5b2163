/* Carriers of every kind move the same messages: random graphs, ranks without messages, empty and
 * large ones, some that nobody wants any more; several starts of one carriage under way at once,
 * several carriages started in another order on every rank. What one rank cannot have, all ranks
 * are told; communicators and windows do not pile up, and serve again where that is safe; windows
 * that nobody freed go with MPI_Finalize. */
#include "check.h"
#include "places.h"
#include "random.h"
#include "scarce.h"
#include "transport/carrier.h"
#include "transport/mpi_neighbor.h"
#include "transport/mpi_p2p.h"
#include "transport/mpi_rma.h"
#include "transport/ofi_letters.h"

#include <stdlib.h>
#include <string.h>

#ifdef GROVE_LIBFABRIC
enum { KINDS = 5 };
#else
enum { KINDS = 4 };
#endif
enum { LINES = 3, CARRIERS = 3, MOST_RANKS = 16, RUBBISH = 0xa5 };

/* Persistent and reposted messages, collectives, one-sided, libfabric. */
static const grove_carrier_kind *const kinds[] = {&grove_carrier_p2p, &grove_carrier_p2p,
                                                  &grove_carrier_neighbor, &grove_carrier_rma,
                                                  &grove_carrier_ofi};

/* ---- MPI that fails when it is told to ---- */

static int graph_fails, create_fails, allocate_fails, memory_fails;

int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int in, const int sources[], const int weights[],
                                   int out, const int destinations[], const int out_weights[],
                                   MPI_Info info, int reorder, MPI_Comm *graph)
{
  int code = PMPI_Dist_graph_create_adjacent(comm, in, sources, weights, out, destinations,
                                             out_weights, info, reorder, graph);
  return graph_fails ? MPI_ERR_OTHER : code;
}

int MPI_Win_create(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
  return create_fails ? MPI_ERR_OTHER : PMPI_Win_create(base, size, unit, info, comm, win);
}

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base,
                     MPI_Win *win)
{
  return allocate_fails ? MPI_ERR_OTHER : PMPI_Win_allocate(size, unit, info, comm, base, win);
}

/* ---- what travels ---- */

/* Bytes from every rank to every other; -1: no message. The same on every rank. */
typedef struct graph {
  int64_t bytes[MOST_RANKS][MOST_RANKS];
} graph;

static int64_t draw_size(rng *r, int64_t largest)
{
  switch (rng_below(r, 5)) {
  case 0: return 0;
  case 1: return rng_between(r, 1, 16);
  case 2: return largest;
  default: return rng_between(r, 1, largest);
  }
}

/* Some ranks send or receive nothing; in some graphs nobody does. */
static graph draw_graph(rng *r, int size, int64_t largest)
{
  graph g;
  int sparse = (int)rng_between(r, 1, 4), empty = rng_one_in(r, 8);
  int silent = (int)rng_below(r, 2 * size), deaf = (int)rng_below(r, 2 * size);
  for (int from = 0; from < size; from++)
    for (int to = 0; to < size; to++) {
      int none = empty || from == to || from == silent || to == deaf || !rng_one_in(r, sparse);
      int64_t bytes = draw_size(r, largest);
      g.bytes[from][to] = none ? -1 : bytes;
    }
  return g;
}

static unsigned char value(int line, int64_t start, int from, int to, int64_t i)
{
  uint64_t about = (uint64_t)((line * 1000 + start) * 10000 + from * 100 + to);
  return (unsigned char)(mix(about) + 7 * (uint64_t)i);
}

/* ---- carriages and carriers ---- */

typedef struct carrier {
  grove_carrier *c;
  int64_t start; /* 0: idle */
  int left;      /* messages that were not reported */
  unsigned char **buffers;
  unsigned char *forgone; /* messages that nobody wants */
} carrier;

typedef struct line {
  int number, tag;
  int64_t starts;
  int n, nreceives;
  grove_carried *messages;
  grove_carriage *carriage;
  carrier carriers[CARRIERS];
} line;

static void list_messages(line *l, const graph *g, int rank, int size)
{
  l->messages = need((size_t)(2 * size) * sizeof *l->messages);
  for (int sends = 0; sends < 2; sends++)
    for (int peer = 0; peer < size; peer++) {
      int64_t bytes = sends ? g->bytes[rank][peer] : g->bytes[peer][rank];
      if (bytes >= 0) l->messages[l->n++] = (grove_carried){peer, bytes};
      if (bytes >= 0 && !sends) l->nreceives++;
    }
}

static grove_carriage_request request_of(const line *l, const place *p, int kind, int chunk)
{
  return (grove_carriage_request){.kind = kinds[kind],
                                  .tag = grove_context_stage_tag(p->ctx, l->tag, 0),
                                  .answer_tag = grove_context_stage_tag(p->ctx, l->tag, 1),
                                  .persistent = kind == 0,
                                  .chunk = chunk,
                                  .nreceives = l->nreceives,
                                  .nsends = l->n - l->nreceives,
                                  .messages = l->messages};
}

static void open_carrier(line *l, carrier *k)
{
  k->buffers = need((size_t)(l->n + 1) * sizeof *k->buffers);
  k->forgone = need((size_t)l->n + 1);
  CHECK_OK(grove_carrier_create(l->carriage, &k->c));
  for (int i = 0; i < l->n; i++) {
    k->buffers[i] = need((size_t)l->messages[i].bytes + 1);
    CHECK_OK(grove_carrier_bind(k->c, i, k->buffers[i]));
  }
}

/* Without a carriage. */
static line draw_line(const place *p, int number, const graph *g)
{
  line l = {.number = number};
  const grove_purpose line_purpose = {.signature = 1};
  int64_t most[2] = {0, 0};
  list_messages(&l, g, p->rank, p->size);
  CHECK_OK(grove_context_take_tag(p->ctx, GROVE_OK, &line_purpose, most, &l.tag));
  return l;
}

static line open_line(const place *p, int number, const graph *g, int kind, int chunk)
{
  line l = draw_line(p, number, g);
  grove_carriage_request about = request_of(&l, p, kind, chunk);
  CHECK_OK(grove_carriage_create(p->ctx, &about, &l.carriage));
  for (int k = 0; k < CARRIERS; k++) open_carrier(&l, &l.carriers[k]);
  return l;
}

static void close_line(const place *p, line *l)
{
  for (int k = 0; k < CARRIERS && l->carriers[k].c; k++) {
    for (int i = 0; i < l->n; i++) free(l->carriers[k].buffers[i]);
    free(l->carriers[k].buffers);
    free(l->carriers[k].forgone);
    grove_carrier_free(&l->carriers[k].c);
  }
  grove_carriage_free(&l->carriage);
  free(l->messages);
  grove_context_return_tag(p->ctx, l->tag, l->starts);
}

/* ---- moving ---- */

/* What message i has in it, if this start is the one. */
static unsigned char expected(const line *l, int rank, int64_t start, int i, int64_t at)
{
  int peer = l->messages[i].peer, receives = i < l->nreceives;
  return value(l->number, start, receives ? peer : rank, receives ? rank : peer, at);
}

static void start(line *l, int rank, carrier *k)
{
  k->start = ++l->starts;
  k->left = l->n;
  for (int i = 0; i < l->n; i++) {
    int64_t bytes = l->messages[i].bytes;
    k->forgone[i] = 0;
    memset(k->buffers[i], RUBBISH, (size_t)bytes + 1);
    for (int64_t at = 0; i >= l->nreceives && at < bytes; at++)
      k->buffers[i][at] = expected(l, rank, k->start, i, at);
    CHECK_OK(grove_carrier_start(k->c, i));
  }
  CHECK_OK(grove_carrier_go(k->c));
}

/* Message i was reported: it is all here, or its buffer is free. */
static void check(const line *l, int rank, carrier *k, int i)
{
  int64_t bytes = l->messages[i].bytes;
  CHECK(i >= 0 && i < l->n && k->left > 0, "message %d of %d is reported", i, l->n);
  CHECK(!grove_carrier_pending(k->c, i), "message %d is reported and pending", i);
  for (int64_t at = 0; i < l->nreceives && at < bytes && !k->forgone[i]; at++)
    CHECK(k->buffers[i][at] == expected(l, rank, k->start, i, at),
          "line %d, start %lld: byte %lld of %lld from rank %d is %d", l->number,
          (long long)k->start, (long long)at, (long long)bytes, l->messages[i].peer,
          k->buffers[i][at]);
  CHECK(k->buffers[i][bytes] == RUBBISH, "a byte behind %lld is written", (long long)bytes);
  memset(k->buffers[i], RUBBISH, (size_t)bytes);
}

static void poll(const line *l, int rank, carrier *k)
{
  const int *which = NULL;
  int n = 0;
  if (k->start == 0) return;
  CHECK_OK(grove_carrier_poll(k->c, &n, &which));
  for (int j = 0; j < n; j++) {
    check(l, rank, k, which[j]);
    k->left--;
  }
  if (grove_carrier_busy(k->c)) return;
  CHECK(k->left == 0, "not busy, but %d messages were not reported", k->left);
  k->start = 0;
}

/* A message may be on its way already, or be complete. */
static void forgo(const line *l, carrier *k, rng *r)
{
  int i = l->nreceives > 0 ? (int)rng_below(r, l->nreceives) : 0;
  if (k->start == 0 || l->nreceives == 0 || !grove_carrier_pending(k->c, i)) return;
  k->forgone[i] = 1;
  CHECK_OK(grove_carrier_forgo(k->c, i, 0));
}

static int is_over(const line *lines, int64_t starts)
{
  for (int a = 0; a < LINES; a++) {
    if (lines[a].starts < starts) return 0;
    for (int k = 0; k < CARRIERS; k++)
      if (lines[a].carriers[k].start > 0) return 0;
  }
  return 1;
}

/* Every rank goes its own way through the starts of the lines. */
static void move(const place *p, line *lines, rng *r, int64_t starts)
{
  while (!is_over(lines, starts)) {
    line *l = &lines[rng_below(r, LINES)];
    carrier *k = &l->carriers[rng_below(r, CARRIERS)];
    if (k->start == 0 && l->starts < starts) start(l, p->rank, k);
    if (rng_one_in(r, 8)) forgo(l, k, r);
    for (int a = 0; a < LINES && rng_one_in(r, 2); a++)
      for (int b = 0; b < CARRIERS; b++) poll(&lines[a], p->rank, &lines[a].carriers[b]);
    if (rng_one_in(r, 4)) linger(0);
  }
}

static void try(const place *p, uint64_t seed, int kind, int chunk, int64_t largest, int64_t starts)
{
  rng r = rng_from(test_seed(), seed);
  line lines[LINES];
  for (int a = 0; a < LINES; a++) {
    graph g = draw_graph(&r, p->size, largest);
    lines[a] = open_line(p, a, &g, kind, chunk);
  }
  rng own = rng_from(seed, (uint64_t)world_rank());
  move(p, lines, &own, starts);
  for (int a = 0; a < LINES; a++) close_line(p, &lines[a]);
}

/* ---- what fails ---- */

static void fail_together(const place *p, int kind, grove_status status)
{
  rng r = rng_from(test_seed(), 1);
  graph g = draw_graph(&r, p->size, 1000);
  for (int to = 1; to < p->size; to++) g.bytes[0][to] = 1 << 20; /* there is no room for that */
  line l = draw_line(p, 0, &g);
  grove_carriage_request about = request_of(&l, p, kind, 1000);
  scarce.met = scarce.fail = 0;
  scarce.armed = memory_fails;
  grove_status got = grove_carriage_create(p->ctx, &about, &l.carriage);
  scarce.armed = 0;
  CHECK(got == status, "%s instead of %s", grove_status_name(got), grove_status_name(status));
  CHECK(!l.carriage == (got != GROVE_OK), "a carriage, and %s", grove_status_name(got));
  if (got != GROVE_OK) CHECK_SAME_ERROR(p->comm, got);
  close_line(p, &l);
}

static void try_failures(place p)
{
  memory_fails = p.rank == p.size - 1;
  for (int kind = 2; kind < KINDS; kind++) fail_together(&p, kind, GROVE_ERR_MEMORY);
  memory_fails = 0;
  graph_fails = p.rank == p.size - 1;
  fail_together(&p, 2, GROVE_ERR_MPI);
  graph_fails = 0;
  fail_together(&p, 2, GROVE_OK);
  create_fails = allocate_fails = 1;
  if (p.size > 1) fail_together(&p, 3, GROVE_ERR_UNSUPPORTED); /* else nobody needs a window */
  allocate_fails = 0;
  fail_together(&p, 3, GROVE_OK);
  create_fails = 0;
  place_free(&p);
}

/* ---- what is left ---- */

/* Ranks let go of carriages at different times. */
static void try_many(const place *p, int kind, int many)
{
  rng r = rng_from(test_seed(), 2);
  grove_carriage *kept[5] = {NULL};
  for (int k = 0; k < many; k++) {
    graph g = draw_graph(&r, p->size, 5000);
    line l = draw_line(p, 0, &g);
    grove_carriage_request about = request_of(&l, p, kind, 5000);
    grove_carriage **room = &kept[k % (2 + p->rank % 4)];
    grove_carriage_free(room);
    CHECK_OK(grove_carriage_create(p->ctx, &about, room));
    close_line(p, &l);
  }
  for (int k = 0; k < 5; k++) grove_carriage_free(&kept[k]);
  int graphs = grove_graphs_count(p->ctx->depot->graphs);
  int windows = grove_windows_count(p->ctx->depot->windows);
  CHECK(graphs <= 48 && windows <= 8, "%d communicators and %d windows are left", graphs, windows);
}

/* Rank 0 sends to the first ranks and they to it. */
static graph star(int peers)
{
  graph g;
  for (int from = 0; from < MOST_RANKS; from++)
    for (int to = 0; to < MOST_RANKS; to++)
      g.bytes[from][to] = from != to && from * to == 0 && from + to <= peers ? 100 : -1;
  return g;
}

static void start_once(const place *p, line *l)
{
  start(l, p->rank, &l->carriers[0]);
  while (l->carriers[0].start > 0) poll(l, p->rank, &l->carriers[0]);
}

/* A carriage, started and let go of; on the first rank `more` times more often. */
static void start_and_close(const place *p, int peers, int more)
{
  graph g = star(peers);
  line l = open_line(p, 0, &g, 2, 1000);
  for (int k = 0; k < 1 + (p->rank == 0 ? more : 0); k++) start_once(p, &l);
  close_line(p, &l);
}

static void check_graphs(const place *p, int expected)
{
  int graphs = grove_graphs_count(p->ctx->depot->graphs);
  CHECK(graphs == expected, "%d communicators, and not %d", graphs, expected);
}

/* A communicator serves again where it was started equally often on all ranks, and is freed then;
 * another one does neither. */
static void try_unequal_starts(place p)
{
  for (int k = 0; k < 4; k++) start_and_close(&p, 0, k == 2);
  check_graphs(&p, 2); /* of which the third carriage spoilt the first */
  start_and_close(&p, 0, 1);
  start_and_close(&p, 0, 0);
  check_graphs(&p, 3);
  CHECK_OK(grove_graphs_sweep(p.ctx, p.ctx->depot->graphs));
  check_graphs(&p, 2);
  start_and_close(&p, 0, 0);
  check_graphs(&p, 3);
  place_free(&p);
}

/* One that is in use stays, and one for fewer peers is another one. */
static void try_several_graphs(place p)
{
  graph g = star(1);
  for (int peers = p.size - 1; peers >= 0; peers--) start_and_close(&p, peers, 0);
  check_graphs(&p, p.size);
  line l = open_line(&p, 0, &g, 2, 1000), fresh = open_line(&p, 1, &g, 2, 1000);
  CHECK_OK(grove_graphs_sweep(p.ctx, p.ctx->depot->graphs));
  check_graphs(&p, 2);
  start_once(&p, &l);
  start_once(&p, &fresh);
  close_line(&p, &l);
  close_line(&p, &fresh);
  place_free(&p);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "transport/carriers");
  places all = places_create();
  place last = place_create(split(0));
  int64_t samples = test_samples(4);
  for (int64_t i = 0; i < samples * all.n * KINDS; i++) {
    test_case(i);
    const place *p = places_turn(&all, i / KINDS);
    if (p->size > MOST_RANKS) continue;
    try(p, (uint64_t)(i / KINDS), (int)(i % KINDS), 1000, i / KINDS % 3 == 0 ? 100 : 4000, 20);
  }
  for (int kind = 0; kind < KINDS; kind++) try(&last, 7, kind, 1 << 19, (1 << 20) + 17, 4);
  for (int sides = 1; sides < 3; sides++) try_failures(place_create(split(world_rank() % sides)));
  for (int kind = 2; kind < KINDS; kind++) try_many(&last, kind, 60);
  if (world_size() > 1) try_unequal_starts(place_create(split(0)));
  try_several_graphs(place_create(split(0)));
  places_free(&all);
  int result = test_end(); /* with windows that are still there */
  CHECK_OK(grove_context_free(&last.ctx));
  return result;
}
