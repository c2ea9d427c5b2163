/* Threads create contexts, forests and operations at once, each on a communicator of its own. */
#include "check.h"
#include "errand.h"
#include "threads.h"

enum { THREADS = 4, TIMES = 3, ROUNDS = 5 };

typedef struct owner {
  MPI_Comm comms[THREADS];
  MPI_Datatype unit; /* the same for all */
  int times;
} owner;

static void run_all(errand *e)
{
  for (int round = 0; round < ROUNDS; round++) {
    errand_fill(e);
    CHECK_OK(grove_start(e->op));
    CHECK_OK(grove_wait(e->op));
    errand_check(e);
  }
  CHECK_OK(grove_op_free(&e->op));
  for (int round = 0; round < ROUNDS; round++) {
    errand_begin(e);
    CHECK_OK(grove_end(&e->op));
    errand_check(e);
  }
}

static void use(const owner *o, int number, grove_context *ctx)
{
  for (int reduces = 0; reduces < 2; reduces++) {
    errand e = {.n = 100 + number,
                .step = 1,
                .width = 2,
                .reduces = reduces,
                .number = 2 * number + reduces,
                .unit = o->unit};
    e.forest = errand_forest(ctx, e.n, e.step);
    errand_open(&e, o->comms[number]);
    errand_init(&e);
    run_all(&e);
    errand_close(&e);
    CHECK_OK(grove_forest_free(&e.forest));
  }
}

static void part(int number, void *self)
{
  const owner *o = self;
  for (int i = 0; i < o->times; i++) {
    grove_context *ctx = NULL;
    CHECK_OK(grove_context_create(o->comms[number], &ctx));
    CHECK_OK(grove_context_set(ctx, "check", i % 2 ? "1" : "0"));
    use(o, number, ctx);
    CHECK_OK(grove_context_free(&ctx));
  }
}

int main(int argc, char **argv)
{
  if (!test_begin_threads(&argc, &argv, "context/threads_create"))
    return test_skip("this MPI does not provide MPI_THREAD_MULTIPLE");
  owner o = {.times = (int)test_samples(TIMES)};
  for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &o.comms[i]);
  MPI_Type_contiguous(2, MPI_INT64_T, &o.unit);
  MPI_Type_commit(&o.unit);
  in_threads(THREADS, part, &o);
  MPI_Type_free(&o.unit);
  for (int i = 0; i < THREADS; i++) MPI_Comm_free(&o.comms[i]);
  return test_end();
}
