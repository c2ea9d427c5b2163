/* What becomes of a context's communicator. An operation may be freed while a message of it is on
 * its way to a rank that never receives it. If that rank frees its communicator first, the message
 * may meet a new one of the same number: Open MPI then ends the program, or takes the message for
 * the first one of the new communicator. So a communicator is retired when its context ends, and
 * freed when all its ranks have retired it, none of them knows of a message that may still come,
 * and nothing waits to be received. Otherwise it is left to MPI_Finalize. Nobody waits for that:
 * contexts that are made or freed later look, and so does MPI_Finalize.
 */
#include "context/context.h"
#include "context/rounds.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct retired {
  struct retired *next;
  int alone;           /* this rank gave up in a collective call: others may never come */
  grove_rounds rounds; /* is one number, 1 on a rank that keeps it. No barrier of MPI's, since who
                        * gave up in a collective call may have left half of that behind */
} retired;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static retired *list, *left;
static retired spare; /* for a rank that has no memory: others wait for its vote */
static int spare_is_used;

/* Is there a message that nobody will receive? MPICH 4.2 ends the job when a communicator with such
 * a message is freed. One look is not enough: a probe of Open MPI looks first, and then lets in
 * what lies in its queues. */
static int has_leftovers(MPI_Comm comm)
{
  enum { LOOKS = 3 };
  int found = 0;
  for (int i = 0; i < LOOKS && !found; i++)
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, MPI_STATUS_IGNORE);
  return found;
}

static void part_with(MPI_Comm comm)
{
  if (!has_leftovers(comm)) MPI_Comm_free(&comm);
}

static retired *find_room(void)
{
  retired *r = grove_room(1, sizeof *r);
  if (r) return r;
  pthread_mutex_lock(&mutex);
  if (!spare_is_used) r = &spare;
  spare_is_used = 1;
  pthread_mutex_unlock(&mutex);
  return r;
}

static void return_room(retired *r)
{
  if (r == &spare)
    spare_is_used = 0;
  else
    free(r);
}

/* Is there nothing more to wait for? After a failure MPI may use the memory for ever. */
static int ended_everywhere(retired *r)
{
  int done = 0;
  grove_sentence before;
  grove_error_keep(&before);
  grove_status status = grove_rounds_test(&r->rounds, &done);
  grove_error_restore(&before);
  if (status != GROVE_OK) return 1;
  if (!done) return 0;
  if (r->rounds.known[0] == 0) part_with(r->rounds.comm);
  return_room(r);
  return 1;
}

int grove_context_end_retired(void)
{
  int some = 0;
  pthread_mutex_lock(&mutex);
  for (retired **at = &list; *at;) {
    retired *r = *at, *next = r->next;
    int alone = r->alone;
    if (ended_everywhere(r)) {
      *at = next;
    } else {
      some |= !alone;
      at = &r->next;
    }
  }
  pthread_mutex_unlock(&mutex);
  return some;
}

void grove_context_leave_retired(void)
{
  pthread_mutex_lock(&mutex);
  for (retired *r = list, *next; r; r = next) {
    next = r->next;
    r->rounds.known[0] = 1;
    grove_rounds_leave(&r->rounds);
    r->next = left;
    left = r;
  }
  list = NULL;
  pthread_mutex_unlock(&mutex);
}

static void list_retired(retired *r)
{
  pthread_mutex_lock(&mutex);
  r->next = list;
  list = r;
  pthread_mutex_unlock(&mutex);
}

/* MPI may still be making the communicator of a context that gave up when it was created. */
static int has_communicator(const grove_context *ctx)
{
  return ctx->tag_limit > 0 && ctx->comm != MPI_COMM_NULL && !grove_mpi_is_gone();
}

void grove_context_retire(grove_context *ctx)
{
  if (!has_communicator(ctx) || ctx->retired) return;
  ctx->retired = 1;
  int keeps = ctx->abandoned > 0 || ctx->broken || ctx->references > 0;
  if (ctx->size == 1) {
    if (!keeps) part_with(ctx->comm);
    return;
  }
  retired *r = find_room();
  if (!r) return;
  *r = (retired){.alone = ctx->broken,
                 .rounds = {.comm = ctx->comm, .tag = GROVE_TAG_RETIRE, .n = 1, .known = {keeps}}};
  grove_rounds_of_ranks(&r->rounds, ctx->rank, ctx->size);
  if (grove_rounds_begin(&r->rounds) == GROVE_OK) list_retired(r);
  grove_context_end_retired();
}
