/* A message that threads fill together. On a ring of ranks each rank sends a vector to the next
 * one. Four threads compute its parts, and mark each part when it is final. From then on it may
 * travel. Meanwhile the main thread adds up the parts that come from the rank before, in any order.
 * Only the main thread calls MPI, or lets Grove call it.
 *
 *     mpirun -n 4 parts
 */
#include "common.h"
#include <pthread.h>
#include <sched.h>

enum { PARTS = 16, LENGTH = 1000, ALL = PARTS * LENGTH, THREADS = 4, ROUNDS = 3 };

static double x[ALL], y[ALL]; /* what goes, and what comes */
static grove_op *send, *receive;
static int rank, this_round;

static double value(int owner, int round, int64_t i)
{
  return 100 * owner + 10 * round + (double)(i % 7);
}

/* Every fourth part: part p is x[p * LENGTH] and what follows. */
static void *fill_parts(void *number)
{
  for (int64_t part = (intptr_t)number; part < PARTS; part += THREADS) {
    int64_t end = (part + 1) * LENGTH;
    for (int64_t i = part * LENGTH; i < end; i++) x[i] = value(rank, this_round, i);
    GROVE_MUST(grove_ready(send, part, 1));
  }
  return NULL;
}

static double add_up_parts(void)
{
  double sum = 0;
  for (int64_t first = 0, count, came = 0; came < PARTS; came += count) {
    GROVE_MUST(grove_arrivals(receive, &first, &count));
    for (int64_t i = first * LENGTH; i < (first + count) * LENGTH; i++) sum += y[i];
    if (count == 0) sched_yield(); /* a program would have other work to do */
  }
  return sum;
}

int main(int argc, char **argv)
{
  int size, wrong = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int before = (rank + size - 1) % size, next = (rank + 1) % size;

  grove_context *ctx;
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  GROVE_MUST(grove_psend_init(ctx, x, PARTS, LENGTH, MPI_DOUBLE, next, 0, &send));
  GROVE_MUST(grove_precv_init(ctx, y, PARTS, LENGTH, MPI_DOUBLE, before, 0, &receive));

  for (this_round = 0; this_round < ROUNDS; this_round++) {
    pthread_t thread[THREADS];
    GROVE_MUST(grove_start(receive));
    GROVE_MUST(grove_start(send));
    for (intptr_t t = 0; t < THREADS; t++)
      if (pthread_create(&thread[t], NULL, fill_parts, (void *)t)) give_up("no thread can be made");
    double sum = add_up_parts();
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
    GROVE_MUST(grove_wait(receive));
    GROVE_MUST(grove_wait(send)); /* x may be filled anew */
    for (int64_t i = 0; i < ALL; i++) sum -= value(before, this_round, i);
    wrong += sum != 0;
  }
  printf("rank %d: %s\n", rank, wrong ? "WRONG" : "all parts came, and were right");
  GROVE_MUST(grove_op_free(&send));
  GROVE_MUST(grove_op_free(&receive));
  GROVE_MUST(grove_context_free(&ctx));
  MPI_Finalize();
  return wrong > 0;
}
