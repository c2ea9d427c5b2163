/* Contexts by the dozen, on every kind of communicator; and communicators that are none of Grove's
 * business. */
#include "check.h"
#include "ring.h"

static void works(const place *p)
{
  ring x = ring_open(p, RING_SMALL, RING_NOBODY, KIND_BCAST);
  ring_run(&x, 2);
  ring_close(&x);
}

/* A context holds a duplicate: the user's communicator may be freed, and its messages are apart. */
static place place_without_communicator(MPI_Comm comm)
{
  place p = {0};
  MPI_Comm_rank(comm, &p.rank);
  MPI_Comm_size(comm, &p.size);
  CHECK_OK(grove_context_create(comm, &p.ctx));
  return p;
}

static void many_at_once(void)
{
  enum { CONTEXTS = 12 };
  place p[CONTEXTS];
  for (int i = 0; i < CONTEXTS; i++) p[i] = place_without_communicator(MPI_COMM_WORLD);
  for (int i = 0; i < CONTEXTS; i++) works(&p[i]);
  for (int i = 0; i < CONTEXTS; i += 2) CHECK_OK(grove_context_free(&p[i].ctx));
  for (int i = 1; i < CONTEXTS; i += 2) works(&p[i]);
  for (int i = CONTEXTS - 1; i > 0; i -= 2) CHECK_OK(grove_context_free(&p[i].ctx));
}

/* MPICH has two thousand communicators: a leak of one in each turn is found. One rank is enough. */
static void many_in_turn(void)
{
#ifdef MPICH
  const int turns = 2200;
#else
  const int turns = 100;
#endif
  for (int i = 0; i < turns; i++) {
    test_case(i);
    place p = place_without_communicator(MPI_COMM_SELF);
    if (i % 500 == 0) works(&p);
    CHECK_OK(grove_context_free(&p.ctx));
    CHECK(p.ctx == NULL, "a freed context is not NULL");
  }
}

static void on_every_communicator(void)
{
  place self = place_without_communicator(MPI_COMM_SELF);
  works(&self);
  for (int n = 1; n <= 3; n++) {
    MPI_Comm comm = split(world_rank() % n);
    place p = place_without_communicator(comm);
    MPI_Comm_free(&comm);
    works(&p);
    works(&self);
    CHECK_OK(grove_context_free(&p.ctx));
  }
  MPI_Comm backwards;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank(), &backwards);
  place p = place_create(backwards);
  works(&p);
  place_free(&p);
  CHECK_OK(grove_context_free(&self.ctx));
}

/* Messages of the user's, with any tag, do not meet Grove's on the same communicator. */
static void apart_from_the_users_messages(void)
{
  int next = (world_rank() + 1) % world_size(), wildcard = -1, sent = world_rank();
  MPI_Request receive, send;
  MPI_Irecv(&wildcard, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &receive);
  place p = place_without_communicator(MPI_COMM_WORLD);
  works(&p);
  MPI_Isend(&sent, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &send);
  polite_wait(&receive);
  polite_wait(&send);
  CHECK(wildcard == (world_rank() + world_size() - 1) % world_size(), "received %d", wildcard);
  works(&p);
  CHECK_OK(grove_context_free(&p.ctx));
}

static void refused_communicators(void)
{
  grove_context *ctx = NULL;
  CHECK_STATUS(grove_context_create(MPI_COMM_NULL, &ctx), GROVE_ERR_ARG);
  CHECK_STATUS(grove_context_create(MPI_COMM_SELF, NULL), GROVE_ERR_ARG);
  if (world_size() > 1) {
    MPI_Comm half = split(world_rank() % 2), inter;
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - world_rank() % 2, 3, &inter);
    CHECK_STATUS(grove_context_create(inter, &ctx), GROVE_ERR_ARG);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
  }
  CHECK(ctx == NULL, "an output was set by a call that failed");
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "context/lifetimes");
  refused_communicators();
  many_at_once();
  on_every_communicator();
  apart_from_the_users_messages();
  if (world_size() == 1) many_in_turn();
  polite_barrier(MPI_COMM_WORLD);
  return test_end();
}
