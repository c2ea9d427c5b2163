/* What the programs that know nothing of Grove share: cases that are drawn, and how one fails. */
#ifndef TESTS_BINDINGS_MPI_CASES_H
#define TESTS_BINDINGS_MPI_CASES_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

static uint64_t seed;
static int rank, size, number, round_; /* of the case and its round */

static uint64_t mix(uint64_t x)
{
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static void fail(const char *what, const char *call)
{
  printf("rank %d of %d: %s: %s; seed %llu, case %d, round %d\n", rank, size, call, what,
         (unsigned long long)seed, number, round_);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* All of `n` requests, of which some may be null, in one of seven ways. */
static inline void complete(MPI_Request *requests, int n, int way)
{
  enum { MOST = 64 };
  int done = 0, index, flag, some, wanted = 0, indices[MOST];
  MPI_Status statuses[MOST];
  if (n > MOST) fail("too many requests", "the test");
  for (int i = 0; i < n; i++) wanted += requests[i] != MPI_REQUEST_NULL;
  if (way == 0) {
    MPI_Waitall(n, requests, statuses);
  } else if (way == 1) {
    for (int i = 0; i < n; i++) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  } else if (way == 2) {
    for (index = 0; index != MPI_UNDEFINED; done++)
      MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
    if (done != wanted + 1) fail("told of another number", "MPI_Waitany");
  } else if (way == 3) {
    for (some = 0; some != MPI_UNDEFINED; done += some == MPI_UNDEFINED ? 0 : some)
      MPI_Waitsome(n, requests, &some, indices, statuses);
    if (done != wanted) fail("told of another number", "MPI_Waitsome");
  } else if (way == 4) {
    for (flag = 0; !flag;) MPI_Testall(n, requests, &flag, MPI_STATUSES_IGNORE);
  } else if (way == 5) {
    for (int i = n - 1; i >= 0; i--) {
      for (flag = 0; !flag;) MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE);
      MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
      if (!flag) fail("told of an end that is none", "MPI_Request_get_status");
    }
  } else {
    for (index = 0; index != MPI_UNDEFINED;) {
      MPI_Testany(n, requests, &index, &flag, MPI_STATUS_IGNORE);
      if (!flag) index = 0;
    }
  }
}

#endif
