#include "context/rounds.h"

int grove_rounds_needed(int places)
{
  int n = 0;
  while (n < GROVE_ROUNDS_MOST && 1 << n < places) n++;
  return n;
}

void grove_rounds_of_ranks(grove_rounds *r, int rank, int size)
{
  r->count = grove_rounds_needed(size);
  for (int k = 0; k < r->count; k++) {
    r->to[k] = (int)(((int64_t)rank + (1 << k)) % size);
    r->from[k] = (rank - (1 << k) + size) % size;
  }
}

/* Sends what this rank knows to one rank, and receives from another. */
static grove_status post_round(grove_rounds *r)
{
  int to = r->to[r->round], from = r->from[r->round];
  GROVE_PASS_MPI(MPI_Irecv(r->heard, r->n, MPI_INT64_T, from, r->tag, r->comm, &r->requests[0]));
  GROVE_PASS_MPI(MPI_Isend(r->known, r->n, MPI_INT64_T, to, r->tag, r->comm, &r->requests[1]));
  return GROVE_OK;
}

grove_status grove_rounds_begin(grove_rounds *r)
{
  r->round = 0;
  return r->count > 0 ? post_round(r) : GROVE_OK;
}

grove_status grove_rounds_test(grove_rounds *r, int *done)
{
  int through = 0;
  *done = r->round == r->count;
  if (*done) return GROVE_OK;
  GROVE_PASS_MPI(MPI_Testall(2, r->requests, &through, MPI_STATUSES_IGNORE));
  if (!through) return GROVE_OK;
  for (int i = 0; i < r->n; i++)
    if (r->heard[i] > r->known[i]) r->known[i] = r->heard[i];
  *done = ++r->round == r->count;
  if (!*done) GROVE_PASS(post_round(r));
  return GROVE_OK;
}

void grove_rounds_leave(grove_rounds *r)
{
  MPI_Request request;
  for (int k = r->round + 1; k < r->count; k++)
    if (MPI_Isend(r->known, r->n, MPI_INT64_T, r->to[k], r->tag, r->comm, &request) == MPI_SUCCESS)
      MPI_Request_free(&request);
  if (r->round < r->count && r->requests[0] != MPI_REQUEST_NULL) {
    MPI_Cancel(&r->requests[0]);
    MPI_Request_free(&r->requests[0]);
  }
}
