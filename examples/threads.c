/* Threads that exchange at once. Each thread of a rank has a field of its own on a ring of ranks,
 * and an operation of its own on the forest that they share. The main thread makes the operations,
 * since that is collective. After that nobody waits for a thread that is late.
 *
 *     mpirun -n 4 threads
 */
#include "common.h"
#include <pthread.h>

enum { THREADS = 4, OWN = 10, ALL = OWN + 2, ROUNDS = 20 };

typedef struct worker {
  double x[ALL]; /* the rank's own values, then a ghost of each side */
  grove_op *update;
  int number, rank, size, wrong;
} worker;

static double value(const worker *w, int owner, int round, int i)
{
  return 1e6 * w->number + 1e3 * owner + 20 * round + i;
}

static void *work(void *argument)
{
  worker *w = argument;
  int left = (w->rank + w->size - 1) % w->size, right = (w->rank + 1) % w->size;
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < OWN; i++) w->x[i] = value(w, w->rank, round, i);
    GROVE_MUST(grove_start(w->update));
    GROVE_MUST(grove_wait(w->update));
    w->wrong += w->x[OWN] != value(w, left, round, OWN - 1);
    w->wrong += w->x[OWN + 1] != value(w, right, round, 0);
  }
  return NULL;
}

static grove_forest *make_ring(grove_context *ctx, int rank, int size)
{
  int64_t ghost[2] = {OWN, OWN + 1};
  grove_root owner[2] = {{(rank + size - 1) % size, OWN - 1}, {(rank + 1) % size, 0}};
  grove_forest *ring;
  GROVE_MUST(grove_forest_create(ctx, &ring));
  GROVE_MUST(grove_forest_set_graph(ring, OWN, 2, ghost, owner));
  GROVE_MUST(grove_forest_set_up(ring));
  return ring;
}

int main(int argc, char **argv)
{
  int rank, size, provided, wrong = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) give_up("this MPI has no MPI_THREAD_MULTIPLE");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  grove_context *ctx;
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  grove_forest *ring = make_ring(ctx, rank, size);

  worker workers[THREADS] = {0};
  pthread_t thread[THREADS];
  for (int t = 0; t < THREADS; t++) {
    worker *w = &workers[t];
    w->number = t, w->rank = rank, w->size = size;
    GROVE_MUST(grove_bcast_init(ring, MPI_DOUBLE, w->x, w->x, MPI_REPLACE, &w->update));
  }
  for (int t = 0; t < THREADS; t++)
    if (pthread_create(&thread[t], NULL, work, &workers[t])) give_up("no thread can be made");
  for (int t = 0; t < THREADS; t++) {
    pthread_join(thread[t], NULL);
    wrong += workers[t].wrong;
    GROVE_MUST(grove_op_free(&workers[t].update));
  }
  printf("rank %d: %d threads, %s\n", rank, THREADS, wrong ? "WRONG" : "all ghosts right");
  GROVE_MUST(grove_forest_free(&ring));
  GROVE_MUST(grove_context_free(&ctx));
  MPI_Finalize();
  return wrong > 0;
}
