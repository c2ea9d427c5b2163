/* Two collective calls at once on one context: the second is told so, the first goes on. */
#include "check.h"
#include "context/context.h"
#include "threads.h"

typedef struct pair {
  grove_context *ctx;
  grove_forest *first, *second;
} pair;

static int is_in_call(grove_context *ctx)
{
  grove_context_enter(ctx);
  int calls = ctx->calls;
  grove_context_leave(ctx);
  return calls > 0;
}

/* Rank 0's other thread comes while the first waits for the other ranks, which let it wait. */
static void collide(int number, void *self)
{
  pair *p = self;
  if (number == 0) {
    if (world_rank() != 0) polite_barrier(MPI_COMM_WORLD);
    CHECK_OK(grove_forest_set_up(p->first));
  } else if (world_rank() == 0) {
    while (!is_in_call(p->ctx)) linger(0.001);
    CHECK_STATUS(grove_forest_set_up(p->second), GROVE_ERR_STATE);
    CHECK_STATUS(grove_context_set(p->ctx, "spin", "0"), GROVE_ERR_STATE);
    polite_barrier(MPI_COMM_WORLD);
  }
}

static grove_forest *make(grove_context *ctx)
{
  grove_forest *f = NULL;
  CHECK_OK(grove_forest_create(ctx, &f));
  CHECK_OK(grove_forest_set_pattern(f, GROVE_ALLGATHER, 3));
  return f;
}

static void check_sizes(grove_forest *f)
{
  int64_t nleaves = 0;
  CHECK_OK(grove_forest_sizes(f, NULL, &nleaves));
  CHECK(nleaves == 3 * world_size(), "%lld leaves", (long long)nleaves);
}

int main(int argc, char **argv)
{
  if (!test_begin_threads(&argc, &argv, "context/threads_collide"))
    return test_skip("this MPI does not provide MPI_THREAD_MULTIPLE");
  pair p = {0};
  CHECK_OK(grove_context_create(MPI_COMM_WORLD, &p.ctx));
  p.first = make(p.ctx);
  p.second = make(p.ctx);
  in_threads(2, collide, &p);
  check_sizes(p.first);
  CHECK_OK(grove_forest_set_up(p.second));
  check_sizes(p.second);
  CHECK_OK(grove_forest_free(&p.first));
  CHECK_OK(grove_forest_free(&p.second));
  CHECK_OK(grove_context_free(&p.ctx));
  return test_end();
}
