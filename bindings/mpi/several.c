/* MPI's functions on several requests, of which some are Grove's. MPI sees those as
 * MPI_REQUEST_NULL.
 */
#include "requests.h"

#include <stdlib.h>

static MPI_Request *without_mine(int n, const MPI_Request *requests)
{
  MPI_Request *rest = malloc(((size_t)n + 1) * sizeof *rest);
  if (!rest) {
    fputs("libgrove_mpi: no memory for a list of requests\n", stderr);
    PMPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int i = 0; i < n; i++)
    rest[i] = grove_pre_request_mine(requests[i]) ? MPI_REQUEST_NULL : requests[i];
  return rest;
}

static void put_back(int n, MPI_Request *requests, MPI_Request *rest)
{
  for (int i = 0; i < n; i++)
    if (!grove_pre_request_mine(requests[i])) requests[i] = rest[i];
  free(rest);
}

static MPI_Status *status_at(MPI_Status *statuses, int i)
{
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

static int look_at_all(int n, const MPI_Request *requests, int *error)
{
  int all = 1;
  for (int i = 0; i < n; i++) {
    grove_pre_request *r = grove_pre_request_mine(requests[i]);
    if (r && !grove_pre_request_look(r, error)) all = 0;
  }
  return all;
}

static void finish_all(int n, MPI_Request *requests, MPI_Status *statuses)
{
  for (int i = 0; i < n; i++) {
    grove_pre_request *r = grove_pre_request_mine(requests[i]);
    if (r) grove_pre_request_finish(r, &requests[i], status_at(statuses, i));
  }
}

GROVE_API int MPI_Startall(int count, MPI_Request requests[])
{
  if (!grove_pre_any_mine(count, requests)) return PMPI_Startall(count, requests);
  for (int i = 0; i < count; i++) {
    int error = MPI_Start(&requests[i]);
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

GROVE_API int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
  int error = MPI_SUCCESS;
  if (!grove_pre_any_mine(count, requests)) return PMPI_Testall(count, requests, flag, statuses);
  grove_pre_poll();
  *flag = look_at_all(count, requests, &error);
  if (!*flag || error != MPI_SUCCESS) return error;
  MPI_Request *rest = without_mine(count, requests);
  error = PMPI_Testall(count, rest, flag, statuses);
  put_back(count, requests, rest);
  if (*flag) finish_all(count, requests, statuses);
  return error;
}

/* One after the other: to wait for one lets all of them go on. MPI_Testall would do too, but MPICH
 * 4.0 fails in it on persistent collectives of its own. */
GROVE_API int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
  int error = MPI_SUCCESS;
  if (!grove_pre_any_mine(count, requests)) return PMPI_Waitall(count, requests, statuses);
  for (int i = 0; i < count; i++) {
    int failed = MPI_Wait(&requests[i], status_at(statuses, i));
    if (error == MPI_SUCCESS) error = failed;
  }
  return error;
}

/* One of Grove's that is done; -1: none. `waits` is set if one is under way. */
static int first_done(int n, const MPI_Request *requests, int *waits, int *error)
{
  *waits = 0;
  for (int i = 0; i < n; i++) {
    grove_pre_request *r = grove_pre_request_mine(requests[i]);
    if (!r || !r->active) continue;
    if (grove_pre_request_look(r, error)) return i;
    *waits = 1;
  }
  return -1;
}

GROVE_API int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag,
                          MPI_Status *status)
{
  int waits, error = MPI_SUCCESS;
  if (!grove_pre_any_mine(count, requests))
    return PMPI_Testany(count, requests, index, flag, status);
  grove_pre_poll();
  int done = first_done(count, requests, &waits, &error);
  if (done >= 0) {
    *index = done;
    *flag = 1;
    grove_pre_request_finish(grove_pre_request_mine(requests[done]), &requests[done], status);
    return error;
  }
  MPI_Request *rest = without_mine(count, requests);
  error = PMPI_Testany(count, rest, index, flag, status);
  put_back(count, requests, rest);
  if (waits && *index == MPI_UNDEFINED) *flag = 0;
  return error;
}

GROVE_API int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
  int flag = 0, error = MPI_SUCCESS;
  if (!grove_pre_any_mine(count, requests)) return PMPI_Waitany(count, requests, index, status);
  for (int turn = 0; !flag && error == MPI_SUCCESS; turn++) {
    error = MPI_Testany(count, requests, index, &flag, status);
    grove_pre_give_way(turn);
  }
  return error;
}

GROVE_API int MPI_Testsome(int count, MPI_Request requests[], int *ndone, int indices[],
                           MPI_Status statuses[])
{
  int waits = 0, theirs, error = MPI_SUCCESS;
  if (!grove_pre_any_mine(count, requests))
    return PMPI_Testsome(count, requests, ndone, indices, statuses);
  grove_pre_poll();
  MPI_Request *rest = without_mine(count, requests);
  int result = PMPI_Testsome(count, rest, &theirs, indices, statuses);
  put_back(count, requests, rest);
  int n = theirs == MPI_UNDEFINED ? 0 : theirs;
  for (int i = 0; i < count; i++) {
    grove_pre_request *r = grove_pre_request_mine(requests[i]);
    if (!r || !r->active) continue;
    if (!grove_pre_request_look(r, &error)) {
      waits = 1;
      continue;
    }
    grove_pre_request_finish(r, &requests[i], status_at(statuses, n));
    indices[n++] = i;
  }
  *ndone = n == 0 && !waits && theirs == MPI_UNDEFINED ? MPI_UNDEFINED : n;
  return result != MPI_SUCCESS ? result : error;
}

GROVE_API int MPI_Waitsome(int count, MPI_Request requests[], int *ndone, int indices[],
                           MPI_Status statuses[])
{
  int error = MPI_SUCCESS;
  if (!grove_pre_any_mine(count, requests))
    return PMPI_Waitsome(count, requests, ndone, indices, statuses);
  *ndone = 0;
  for (int turn = 0; *ndone == 0 && error == MPI_SUCCESS; turn++) {
    error = MPI_Testsome(count, requests, ndone, indices, statuses);
    grove_pre_give_way(turn);
  }
  return error;
}
