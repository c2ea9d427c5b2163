/* A program of MPI that knows nothing of Grove, on random graphs of every topology: several
 * neighbourhood collectives that return a request are under way at once, beside messages of MPI's,
 * and are completed in every way that MPI has. Each brings what MPI's own (PMPI_) brings. Types are
 * freed when they have been given, communicators while requests are active: but only with EARLY=1,
 * since Open MPI 4.1's own functions crash then. (With one rank, some calls stay MPI's.)
 *
 *     export LD_PRELOAD=build/lib/libgrove_mpi.so GROVE_PRELOAD=always GROVE_PRELOAD_REQUESTS=all
 *     EARLY=1 tools/launch 4 build/tests/bindings/mpi_requests SEED CASES
 */
#include "mpi_graphs.h"

#include <stdlib.h>
#include <string.h>
#if MPI_VERSION < 4
#include <mpi-ext.h>
#define LASTING(name) MPIX_Neighbor_##name##_init
#else
#define LASTING(name) MPI_Neighbor_##name##_init
#endif

enum { CALLS = 4, PLAIN = 4, ROUNDS = 24, LARGE = 40000 };
enum { ALLTOALL, ALLTOALLV, ALLTOALLW, ALLGATHER, ALLGATHERV, KINDS };
enum { KIND = 100, WAY, SIZE, WHICH, PAUSE };

static const char *const names[KINDS] = {"alltoall", "alltoallv", "alltoallw", "allgather",
                                         "allgatherv"};

static int early; /* what a program may free is freed at once */

/* ---- a call: its sides, and memory of its own ---- */

typedef struct call {
  int kind, block;
  side s, r;
  double *out, *in[2];
} call;

static call calls[CALLS], twins[CALLS]; /* the latter: the same, described anew */

/* Some calls have types of their own. */
static void own_types(side *s, int n)
{
  if (mode() != OTHER_TYPES) return;
  MPI_Type_dup(s->type, &s->type);
  for (int i = 0; i < n; i++) s->types[i] = s->type;
}

static int draw_kind(int k, int lasting)
{
  int kind = draw(KINDS, KIND, k, lasting ? -1 : round_, 0, 0);
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
  if (kind == ALLTOALLW) kind = ALLTOALLV; /* MPI's own is wrong: see mpi_agrees.c */
#endif
  return kind;
}

static void prepare(call *c, int k, int lasting, const ends *from, const ends *to)
{
  c->kind = draw_kind(k, lasting);
  c->block = 1 + draw(8, BLOCK, k, mode() == OTHER_COUNTS && !lasting ? round_ : 0, 0, 0);
  lay_out(&c->s, to, 1);
  lay_out(&c->r, from, 0);
  own_types(&c->s, to->n);
  own_types(&c->r, from->n);
  for (int i = 0; i < from->n && c->kind == ALLGATHERV; i++) {
    c->r.counts[i] = count_of(from->rank[i], -1);
    c->r.steps[i] = i * 200;
  }
}

static void forget_types(call *c)
{
  if (mode() != OTHER_TYPES) return;
  MPI_Type_free(&c->s.type);
  MPI_Type_free(&c->r.type);
}

static void fill_call(call *c, int k)
{
  for (int i = 0; i < ROOM; i++) {
    c->out[i] = k * 1e8 + rank * 1e6 + round_ * 1e4 + i;
    c->in[0][i] = c->in[1][i] = -1;
  }
}

/* `own`: MPI's, which is waited for. */
#define EITHER(name, ...)                                                                          \
  ((own ? PMPI_Ineighbor_##name : MPI_Ineighbor_##name)(__VA_ARGS__, comm, request))

static void begin(call *c, int own, MPI_Comm comm, MPI_Request *request)
{
  side *s = &c->s, *r = &c->r;
  double *in = c->in[own];
  int n = c->block;
  switch (c->kind) {
  case ALLTOALL: EITHER(alltoall, c->out, n, MPI_DOUBLE, in, n, MPI_DOUBLE); break;
  case ALLTOALLV:
    EITHER(alltoallv, c->out, s->counts, s->steps, s->type, in, r->counts, r->steps, r->type);
    break;
  case ALLTOALLW:
    EITHER(alltoallw, c->out, s->counts, s->offsets, s->types, in, r->counts, r->offsets, r->types);
    break;
  case ALLGATHER: EITHER(allgather, c->out, 8 * n, MPI_BYTE, in, n, MPI_DOUBLE); break;
  default:
    EITHER(allgatherv, c->out, count_of(rank, -1), MPI_DOUBLE, in, r->counts, r->steps, r->type);
  }
}

static void make(call *c, MPI_Comm comm, MPI_Request *request)
{
  side *s = &c->s, *r = &c->r;
  double *in = c->in[0];
  int n = c->block;
  MPI_Info none = MPI_INFO_NULL;
  switch (c->kind) {
  case ALLTOALL:
    LASTING(alltoall)(c->out, n, MPI_DOUBLE, in, n, MPI_DOUBLE, comm, none, request);
    break;
  case ALLTOALLV:
    LASTING(alltoallv)
    (c->out, s->counts, s->steps, s->type, in, r->counts, r->steps, r->type, comm, none, request);
    break;
  case ALLTOALLW:
    LASTING(alltoallw)
    (c->out, s->counts, s->offsets, s->types, in, r->counts, r->offsets, r->types, comm, none,
     request);
    break;
  case ALLGATHER:
    LASTING(allgather)(c->out, 8 * n, MPI_BYTE, in, n, MPI_DOUBLE, comm, none, request);
    break;
  default:
    LASTING(allgatherv)
    (c->out, count_of(rank, -1), MPI_DOUBLE, in, r->counts, r->steps, r->type, comm, none, request);
  }
}

/* ---- messages of MPI's beside them, and the ways to complete all ---- */

static double plain_out[LARGE], plain_in[LARGE];

static void begin_plain(MPI_Request *requests)
{
  int n = draw(2, SIZE, round_, 0, 0, 0) ? LARGE : 1;
  int after = (rank + 1) % size, before = (rank + size - 1) % size;
  requests[0] = requests[3] = MPI_REQUEST_NULL;
  MPI_Irecv(plain_in, n, MPI_DOUBLE, before, 7, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(plain_out, n, MPI_DOUBLE, after, 7, MPI_COMM_WORLD, &requests[2]);
}

static void check(int condition, const char *what)
{
  if (!condition) fail(what, "requests");
}

/* MPICH 4.0's own requests of this kind fail in all but two ways, or never end. */
static int draw_way(void)
{
  int way = draw(7, WAY, round_, 0, 0, 0);
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
  if (!early) way %= 2;
#endif
  return way;
}

static void compare_calls(MPI_Comm comm)
{
  for (int k = 0; k < CALLS; k++) {
    MPI_Request request;
    begin(&calls[k], 1, comm, &request);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    if (memcmp(calls[k].in[0], calls[k].in[1], ROOM * sizeof(double)) != 0)
      fail("not what MPI brings", names[calls[k].kind]);
  }
}

/* ---- cases ---- */

/* Between begin and end a rank waits for the next one in other functions. */
static void wait_elsewhere(MPI_Comm comm)
{
  int way = draw(6, PAUSE, round_, 0, 0, 0), mine = rank, all = 0;
  if (way == 0) MPI_Barrier(comm);
  if (way == 1) MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, comm);
  if (way == 2 && rank == 0 && size > 1)
    MPI_Recv(&all, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (way == 2 && rank == 1) MPI_Send(&mine, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
}

static void begin_rounds(MPI_Comm comm, const ends *from, const ends *to)
{
  MPI_Request requests[CALLS + PLAIN];
  for (round_ = 0; round_ < ROUNDS; round_++) {
    for (int k = 0; k < CALLS; k++) {
      prepare(&calls[k], k, 0, from, to);
      fill_call(&calls[k], k);
    }
    begin_plain(requests);
    for (int k = 0; k < CALLS; k++) begin(&calls[k], 0, comm, &requests[PLAIN + k]);
    wait_elsewhere(comm);
    complete(requests, CALLS + PLAIN, draw_way());
    for (int i = 0; i < CALLS + PLAIN; i++)
      check(requests[i] == MPI_REQUEST_NULL, "a request that has ended is not null");
    compare_calls(comm);
    for (int k = 0; k < CALLS; k++) forget_types(&calls[k]);
  }
}

static void compare_twins(MPI_Comm comm, const ends *from, const ends *to)
{
  for (int k = 0; k < CALLS; k++) {
    MPI_Request request;
    twins[k] = calls[k];
    prepare(&twins[k], k, 1, from, to);
    begin(&twins[k], 1, comm, &request);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    forget_types(&twins[k]);
    if (memcmp(calls[k].in[0], calls[k].in[1], ROOM * sizeof(double)) != 0)
      fail("not what MPI brings", names[calls[k].kind]);
  }
}

/* Requests that last. Their types are freed at once, and others take their place. */
static void last_rounds(MPI_Comm comm, const ends *from, const ends *to)
{
  MPI_Request requests[CALLS + PLAIN];
  round_ = 0;
  for (int k = 0; k < CALLS; k++) {
    prepare(&calls[k], k, 1, from, to);
    make(&calls[k], comm, &requests[PLAIN + k]);
    if (early) forget_types(&calls[k]);
  }
  for (round_ = 0; round_ < ROUNDS; round_++) {
    int now = round_;
    for (int k = 0; k < CALLS; k++) fill_call(&calls[k], k);
    begin_plain(requests);
    MPI_Startall(CALLS, requests + PLAIN);
    wait_elsewhere(comm);
    complete(requests, CALLS + PLAIN, draw_way());
    round_ = 0; /* that of the sides */
    compare_twins(comm, from, to);
    round_ = now;
  }
  for (int k = 0; k < CALLS; k++) {
    MPI_Request_free(&requests[PLAIN + k]);
    check(requests[PLAIN + k] == MPI_REQUEST_NULL, "a freed request is not null");
    if (!early) forget_types(&calls[k]);
  }
}

/* A communicator that is freed while calls on it are under way. */
static void free_early(MPI_Comm comm, const ends *from, const ends *to)
{
  MPI_Request request;
  round_ = ROUNDS;
  prepare(&calls[0], 0, 0, from, to);
  fill_call(&calls[0], 0);
  begin(&calls[0], 1, comm, &request);
  PMPI_Wait(&request, MPI_STATUS_IGNORE);
  begin(&calls[0], 0, comm, &request);
  MPI_Comm_free(&comm);
  forget_types(&calls[0]);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (memcmp(calls[0].in[0], calls[0].in[1], ROOM * sizeof(double)) != 0)
    fail("not what MPI brings", "a call on a communicator that was freed");
}

/* The same with a request that lasts: started, completed and freed afterwards. */
static void outlive(MPI_Comm comm, const ends *from, const ends *to)
{
  MPI_Request request;
  round_ = 0;
  prepare(&calls[0], 0, 1, from, to);
  fill_call(&calls[0], 0);
  begin(&calls[0], 1, comm, &request);
  PMPI_Wait(&request, MPI_STATUS_IGNORE);
  make(&calls[0], comm, &request);
  MPI_Comm_free(&comm);
  forget_types(&calls[0]);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  if (memcmp(calls[0].in[0], calls[0].in[1], ROOM * sizeof(double)) != 0)
    fail("not what MPI brings", "a request that outlives its communicator");
}

/* Large blocks around a ring. Each rank waits in another function for the one before it, and that
 * one comes there when its own call is complete, for which this rank's blocks must go on. */
static void wait_in_turn(MPI_Comm comm, int lasting)
{
  int after = (rank + 1) % size, before = (rank + size - 1) % size, n = LARGE, at = 0, word = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (lasting) {
    LASTING(alltoallv)
    (plain_out, &n, &at, MPI_DOUBLE, plain_in, &n, &at, MPI_DOUBLE, comm, MPI_INFO_NULL, &request);
  }
  for (round_ = 0; round_ < 6; round_++) {
    for (int i = 0; i < LARGE; i++) plain_out[i] = rank + round_ * 100.0 + i;
    if (lasting)
      MPI_Start(&request);
    else
      MPI_Ineighbor_alltoallv(plain_out, &n, &at, MPI_DOUBLE, plain_in, &n, &at, MPI_DOUBLE, comm,
                              &request);
    if (rank > 0) MPI_Recv(&word, 1, MPI_INT, before, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank < size - 1) MPI_Send(&word, 1, MPI_INT, after, 11, MPI_COMM_WORLD);
    for (int i = 0; i < LARGE; i++)
      check(plain_in[i] == before + round_ * 100.0 + i, "another number came around");
  }
  if (lasting) MPI_Request_free(&request);
}

static void try_ring(void)
{
  MPI_Comm comm;
  int after = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &after,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  wait_in_turn(comm, 0);
  wait_in_turn(comm, 1);
  MPI_Comm_free(&comm);
}

static void try_topology(MPI_Comm comm, const ends *from, const ends *to)
{
  MPI_Comm copy;
  MPI_Comm_dup(comm, &copy);
  begin_rounds(comm, from, to);
  last_rounds(copy, from, to);
  if (early)
    free_early(comm, from, to);
  else
    MPI_Comm_free(&comm);
  if (early)
    outlive(copy, from, to);
  else
    MPI_Comm_free(&copy);
}

static void try_dist_graph(void)
{
  MPI_Comm comm;
  ends from = draw_ends(0), to = draw_ends(1);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, from.n, from.rank, MPI_UNWEIGHTED, to.n, to.rank,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  try_topology(comm, &from, &to);
}

/* The neighbours of each rank: the ranks beside it, if there are such. */
static ends beside(int of)
{
  ends e = {0};
  if (of > 0) e.rank[e.n++] = of - 1;
  if (of < size - 1) e.rank[e.n++] = of + 1;
  return e;
}

static void try_graph(void)
{
  int index[MOST_RANKS], edges[2 * MOST_RANKS], n = 0;
  MPI_Comm comm;
  ends mine = beside(rank);
  for (int i = 0; i < size; i++) {
    ends e = beside(i);
    for (int k = 0; k < e.n; k++) edges[n++] = e.rank[k];
    index[i] = n;
  }
  MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm);
  try_topology(comm, &mine, &mine);
}

/* Neighbours that a grid lacks at its ends are MPI_PROC_NULL, and their blocks stay. */
static void try_grid(void)
{
  int dims[1] = {size}, periodic[1] = {number % 2};
  MPI_Comm comm;
  ends e = {.n = 2};
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periodic, 0, &comm);
  MPI_Cart_shift(comm, 0, 1, &e.rank[0], &e.rank[1]);
  try_topology(comm, &e, &e);
}

int main(int argc, char **argv)
{
  int level;
  MPI_Init_thread(&argc, &argv, getenv("THREADS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  int cases = argc > 2 ? atoi(argv[2]) : 4;
  early = getenv("EARLY") != NULL;
  if (size > MOST_RANKS) fail("too many ranks", "the test");
  MPI_Type_create_resized(MPI_DOUBLE, 0, 2 * sizeof(double), &gaps);
  MPI_Type_commit(&gaps);
  for (int k = 0; k < CALLS; k++) {
    calls[k].out = malloc(ROOM * sizeof(double));
    for (int i = 0; i < 2; i++) calls[k].in[i] = malloc(ROOM * sizeof(double));
  }
  for (number = 0; number < cases; number++) {
    try_ring();
    try_dist_graph();
    try_graph();
    try_grid();
  }
  MPI_Type_free(&gaps);
  if (rank == 0) printf("%d cases agree; seed %llu\n", cases, (unsigned long long)seed);
  return MPI_Finalize();
}
