/* A program of MPI 4 that knows nothing of Grove: partitioned messages between random pairs of
 * ranks, on two communicators with the same tags, beside other messages, completed in every way
 * that MPI has. With an MPI that has these functions they are its own; else those of
 * libgrove_mpi.so.
 *
 *     tools/launch 4 build/tests/bindings/mpi_parts SEED CASES
 */
#include "bindings/mpi/grove_mpi.h"
#include "mpi_cases.h"

#include <stdlib.h>

enum { PAIRS = 6, PARTS = 12, LENGTH = 40, ROUNDS = 6, LARGE = 60000 };

/* The same on every rank. */
static int draw(int n, int a, int b)
{
  return (int)(mix(mix(mix(seed ^ (uint64_t)number) ^ (uint64_t)a) ^ (uint64_t)b) % (uint64_t)n);
}

static void check(int condition, const char *what)
{
  if (!condition) fail(what, "partitioned messages");
}

/* ---- a message: both ends, as far as this rank has them ---- */

typedef struct message {
  int from, to, tag, receive_parts;
  double out[PARTS * LENGTH], in[PARTS * LENGTH];
} message;

static double value(int pair, int i)
{
  return pair * 1e6 + round_ * 1e4 + i;
}

static void mark(message *m, int pair, MPI_Request request)
{
  for (int i = 0; i < PARTS * LENGTH; i++) m->out[i] = value(pair, i);
  int rest[PARTS], n = 0, half = PARTS / 2;
  MPI_Pready(half, request);
  MPI_Pready_range(0, half - 1, request);
  for (int i = half + 1; i < PARTS; i++) rest[n++] = i;
  MPI_Pready_list(n, rest, request);
}

static void check_received(const message *m, int pair)
{
  for (int i = 0; i < PARTS * LENGTH; i++) check(m->in[i] == value(pair, i), "another number");
}

static void check_status(const message *m, const MPI_Status *status)
{
  int n;
  MPI_Get_count(status, MPI_DOUBLE, &n);
  check(status->MPI_SOURCE == m->from && status->MPI_TAG == m->tag, "another sender");
#if MPI_VERSION < 4
  check(n == PARTS * LENGTH, "another count");
#else
  (void)n; /* MPICH 4.0 does not tell */
#endif
}

/* ---- cases ---- */

/* Other messages beside them; the large one waits for its receiver. */
static int begin_plain(double *out, double *in, int n, MPI_Request *requests)
{
  MPI_Isend(out, n, MPI_DOUBLE, (rank + 1) % size, 7, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(in, n, MPI_DOUBLE, (rank + size - 1) % size, 7, MPI_COMM_WORLD, &requests[1]);
  return 2;
}

static void run_round(message *m, MPI_Request *requests, const int *pair_of, int n)
{
  static double out[LARGE], in[LARGE];
  MPI_Request all[2 * PAIRS + 2];
  int plain = begin_plain(out, in, draw(2, 3, round_) ? LARGE : 1, all);
  if (n) MPI_Startall(n, requests);
  for (int i = 0; i < n; i++)
    if (pair_of[i] < PAIRS) mark(&m[pair_of[i]], pair_of[i], requests[i]);
  for (int i = 0; i < n; i++) all[plain + i] = requests[i];
  complete(all, plain + n, draw(7, 4, round_));
  for (int i = 0; i < n; i++)
    if (pair_of[i] >= PAIRS) check_received(&m[pair_of[i] - PAIRS], pair_of[i] - PAIRS);
}

/* A receiver that looks at parts, and then at the status. */
static void look_at_parts(message *m, MPI_Comm comm)
{
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  int flag;
  m->from = 0;
  m->to = size - 1;
  m->tag = 3;
  if (rank == m->to) {
    MPI_Precv_init(m->in, 4, PARTS * LENGTH / 4, MPI_DOUBLE, 0, 3, comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
  }
  if (rank == 0) {
    MPI_Request sender;
    MPI_Psend_init(m->out, PARTS, LENGTH, MPI_DOUBLE, size - 1, 3, comm, MPI_INFO_NULL, &sender);
    MPI_Start(&sender);
    mark(m, 0, sender);
    if (rank != m->to) MPI_Wait(&sender, MPI_STATUS_IGNORE);
    if (rank == m->to) {
      MPI_Request both[2] = {sender, request};
      MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&sender);
  }
  if (rank == m->to && rank != 0) {
    for (int part = 0; part < 4; part++)
      for (flag = 0; !flag;) MPI_Parrived(request, part, &flag);
    check_received(m, 0);
    MPI_Wait(&request, &status);
    check_status(m, &status);
    MPI_Wait(&request, &status); /* it is not active */
  }
  if (rank == m->to) MPI_Request_free(&request);
  check(request == MPI_REQUEST_NULL, "a freed request is not null");
}

/* The sender has marked all, and waits in another function for the one who waits for its parts. */
static void wait_elsewhere(MPI_Comm comm)
{
  static double x[LARGE];
  MPI_Request request;
  int word = 0;
  if (size == 1) return;
  for (int i = 0; i < LARGE; i++) x[i] = rank == 0 ? number + i : -1;
  if (rank == 0) {
    MPI_Psend_init(x, 4, LARGE / 4, MPI_DOUBLE, 1, 5, comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Pready_range(0, 3, request);
    if (number % 2) MPI_Recv(&word, 1, MPI_INT, 1, 9, comm, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Precv_init(x, 4, LARGE / 4, MPI_DOUBLE, 0, 5, comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (number % 2) MPI_Send(&word, 1, MPI_INT, 0, 9, comm);
  }
  if (number % 2 == 0) MPI_Barrier(comm);
  if (rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < LARGE && rank < 2; i++) check(x[i] == number + i, "another number");
  if (rank < 2) MPI_Request_free(&request);
}

static void try_case(MPI_Comm *comms)
{
  static message m[PAIRS];
  MPI_Request requests[2 * PAIRS];
  int n = 0, pair_of[2 * PAIRS];
  for (int pair = 0; pair < PAIRS; pair++) {
    m[pair].from = draw(size, 0, pair);
    m[pair].to = draw(size, 1, pair);
    m[pair].tag = draw(2, 2, pair);
  }
  /* The two communicators in different orders at the two ends. */
  for (int i = 0; i < 2 * PAIRS; i++) {
    int pair = i / 2, sends = i % 2 == 0;
    message *p = &m[pair];
    if ((sends ? p->from : p->to) != rank) continue;
    pair_of[n] = sends ? pair : pair + PAIRS;
    MPI_Comm comm = comms[pair % 2];
    if (sends)
      MPI_Psend_init(p->out, PARTS, LENGTH, MPI_DOUBLE, p->to, p->tag, comm, MPI_INFO_NULL,
                     &requests[n++]);
    else
      MPI_Precv_init(p->in, PARTS, LENGTH, MPI_DOUBLE, p->from, p->tag, comm, MPI_INFO_NULL,
                     &requests[n++]);
  }
  for (round_ = 0; round_ < ROUNDS; round_++) run_round(m, requests, pair_of, n);
  for (int i = 0; i < n; i++) MPI_Request_free(&requests[i]);
  look_at_parts(&m[0], comms[1]);
  wait_elsewhere(comms[1]);
}

int main(int argc, char **argv)
{
  int level;
  MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_NULL};
  MPI_Init_thread(&argc, &argv, getenv("THREADS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  int cases = argc > 2 ? atoi(argv[2]) : 4;
  for (number = 0; number < cases; number++) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    try_case(comms);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&comms[1]);
  }
  if (rank == 0) printf("%d cases agree; seed %llu\n", cases, (unsigned long long)seed);
  return MPI_Finalize();
}
