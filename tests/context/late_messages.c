/* A message for a rank that has already freed its context: the rank gave up, the sender has not
 * heard of it. No communicator that is made later gets the message, whoever makes it: Open MPI
 * would end the program where its sender is no member, and take it for the first message of this
 * sender where it is. */
#include "check.h"
#include "random.h"
#include "ring.h"

enum { UNITS = 4 };

/* One rank has roots, another one leaves on them, which gives up before anything is sent. */
typedef struct message {
  int from, to;
  grove_forest *forest;
  grove_op *op;
  int64_t values[UNITS];
} message;

static int sends(const place *p, const message *m)
{
  return p->rank == m->from;
}

static int gives_up(const place *p, const message *m)
{
  return p->rank == m->to;
}

static void prepare(const place *p, message *m)
{
  grove_root root[UNITS];
  for (int i = 0; i < UNITS; i++) root[i] = (grove_root){m->from, i};
  CHECK_OK(grove_forest_create(p->ctx, &m->forest));
  CHECK_OK(grove_forest_set_graph(m->forest, sends(p, m) ? UNITS : 0, gives_up(p, m) ? UNITS : 0,
                                  NULL, root));
  CHECK_OK(grove_forest_set_up(m->forest));
  CHECK_OK(grove_bcast_init(m->forest, MPI_INT64_T, m->values, m->values, MPI_REPLACE, &m->op));
}

static void end(place *p, message *m)
{
  CHECK_OK(grove_op_free(&m->op));
  CHECK_OK(grove_forest_free(&m->forest));
  CHECK_OK(grove_context_free(&p->ctx));
}

/* A small message does not wait for its receiver. */
static void send(message *m)
{
  CHECK_OK(grove_start(m->op));
  polite_finish(m->op);
}

static void leave_late(int from, int to)
{
  place p = {.rank = world_rank(), .size = world_size()};
  message m = {.from = from, .to = to};
  CHECK_OK(grove_context_create(MPI_COMM_WORLD, &p.ctx));
  prepare(&p, &m);
  if (gives_up(&p, &m)) end(&p, &m);
  polite_barrier(MPI_COMM_WORLD);
  if (sends(&p, &m)) send(&m);
  if (!gives_up(&p, &m)) end(&p, &m);
}

static void works(MPI_Comm comm)
{
  place p = {0};
  MPI_Comm_rank(comm, &p.rank);
  MPI_Comm_size(comm, &p.size);
  CHECK_OK(grove_context_create(comm, &p.ctx));
  ring x = ring_open(&p, RING_SMALL, RING_NOBODY, KIND_BCAST);
  ring_run(&x, 3);
  ring_close(&x);
  CHECK_OK(grove_context_free(&p.ctx));
}

/* Of Grove's and of the user's, with the sender and without it, before the message has come and
 * after. */
static void make_others(int from)
{
  MPI_Comm some = split(world_rank() == from), again;
  works(some);
  MPI_Comm_dup(some, &again);
  polite_barrier(again);
  MPI_Comm_free(&again);
  works(MPI_COMM_WORLD);
  polite_barrier(MPI_COMM_WORLD);
  works(MPI_COMM_WORLD);
  works(some);
  MPI_Comm_free(&some);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "context/late_messages");
  for (int i = 0; i < test_samples(20); i++) {
    rng r = rng_from(test_seed(), (uint64_t)i);
    int size = world_size(), from = (int)rng_below(&r, size);
    int to = (from + 1 + (int)rng_below(&r, size - 1)) % size;
    test_case(i);
    leave_late(from, to);
    make_others(from);
  }
  return test_end();
}
