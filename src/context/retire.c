/* What becomes of a context's communicator. An operation may be freed while a message of it is on
 * its way to a rank that never receives it. If that rank frees its communicator first, the message
 * may meet a new one of the same number: Open MPI then ends the program, or takes the message for
 * the first one of the new communicator. So a communicator is retired when its context ends, and
 * freed when all its ranks have retired it and nothing waits to be received. Nobody waits for
 * that: contexts that are made or freed later look, and so does MPI_Finalize.
 */
#include "context/context.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct retired {
  struct retired *next;
  MPI_Comm comm;
  MPI_Request all; /* ranks have retired it */
} retired;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static retired *list;

/* Is there a message that nobody will receive? MPICH 4.2 ends the job when a communicator with such
 * a message is freed. */
static int has_leftovers(MPI_Comm comm)
{
  int found = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, MPI_STATUS_IGNORE);
  return found;
}

/* One that still carries messages is left to MPI_Finalize. */
static void part_with(MPI_Comm comm)
{
  if (!has_leftovers(comm)) MPI_Comm_free(&comm);
}

/* Is there nothing more to wait for? A rank that gave up in a collective call may have left half of
 * it behind, on which the barrier fails. Then the communicator is left to MPI_Finalize too. */
static int ended_everywhere(retired *r)
{
  int done = 0;
  int code = MPI_Test(&r->all, &done, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS && done) part_with(r->comm);
  return code != MPI_SUCCESS || done;
}

int grove_context_end_retired(void)
{
  pthread_mutex_lock(&mutex);
  for (retired **at = &list; *at;) {
    retired *r = *at;
    if (!ended_everywhere(r)) {
      at = &r->next;
      continue;
    }
    *at = r->next;
    free(r);
  }
  int some = list != NULL;
  pthread_mutex_unlock(&mutex);
  return some;
}

static void list_retired(retired *r)
{
  pthread_mutex_lock(&mutex);
  r->next = list;
  list = r;
  pthread_mutex_unlock(&mutex);
}

void grove_context_retire(grove_context *ctx)
{
  if (ctx->comm == MPI_COMM_NULL || grove_mpi_is_gone()) return;
  if (ctx->abandoned > 0 || ctx->broken) return; /* it still carries messages */
  if (ctx->size == 1) {
    part_with(ctx->comm);
    return;
  }
  retired *r = grove_room(1, sizeof *r);
  if (!r) return;
  *r = (retired){.comm = ctx->comm};
  if (MPI_Ibarrier(r->comm, &r->all) == MPI_SUCCESS)
    list_retired(r);
  else
    free(r);
  grove_context_end_retired();
}
