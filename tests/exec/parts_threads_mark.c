/* Where MPI lets one thread call it, or one at a time (LEVEL: funneled or serialized), threads mark
 * and look all the same: the one that started the operation advances it. On random forests; all
 * arrays must equal the serial oracle's. */
#include "by_parts.h"
#include "check.h"
#include "places.h"
#include "threads.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 8, ROUNDS = 4 };

typedef struct task {
  by_parts *x;
  int64_t round;
  int nthreads;
  rng *mine;
} task;

static void go_round(int number, void *self)
{
  task *t = self;
  (void)number;
  by_parts_round(t->x, t->round, t->nthreads, t->mine);
}

/* One at a time may call MPI: every other round is that of another thread. */
static int is_serialized(void)
{
  int level = 0;
  MPI_Query_thread(&level);
  return level == MPI_THREAD_SERIALIZED;
}

static void try_operation(exercise e, int nthreads, rng *mine)
{
  exercise_open(&e);
  exercise_init(&e);
  by_parts x = by_parts_of(&e);
  for (int round = 0; round < ROUNDS; round++) {
    task t = {&x, round, nthreads, mine};
    if (is_serialized() && round % 2)
      in_threads(1, go_round, &t);
    else
      go_round(0, &t);
  }
  by_parts_last_round(&x, ROUNDS, nthreads, mine);
  by_parts_free(&x);
  exercise_close(&e);
}

static void try_case(const units *types, const place *p, int64_t number)
{
  static const char *const routes[] = {"standard", "3-step", "split", "2-step"};
  rng r = rng_from(test_seed(), (uint64_t)number), mine = rng_from(r.state, (uint64_t)p->rank);
  graph *g = graph_random(&r, (graph_kind)(number % GRAPH_KINDS_AND_REPEATED), p->size);
  place_draw_nodes(p, &r);
  place_set(p, "route", routes[rng_below(&r, 4)]);
  place_set(p, "transport_on_node", rng_one_in(&r, 2) ? "mpi" : "shm");
  exercise e = {.g = g, .f = graph_forest(p->ctx, g, p->rank), .me = p->rank};
  for (op_kind k = 0; k < OP_KINDS; k++) {
    if (k == KIND_FETCH) continue;
    exercise_draw_of(&e, k, types, &r);
    try_operation(e, 1 + (int)(number + k) % MOST_THREADS, &mine);
  }
  CHECK_OK(grove_forest_free(&e.f));
  graph_free(g);
}

int main(int argc, char **argv)
{
  const char *text = getenv("LEVEL");
  int serialized = text != NULL && strcmp(text, "serialized") == 0, level = 0;
  MPI_Init_thread(&argc, &argv, serialized ? MPI_THREAD_SERIALIZED : MPI_THREAD_FUNNELED, &level);
  test_begin(&argc, &argv, "exec/parts_threads_mark");
  if (level < (serialized ? MPI_THREAD_SERIALIZED : MPI_THREAD_FUNNELED))
    return test_skip("this MPI does not let threads be");
  units *types = units_create();
  place p = place_create(split(0));
  for (int64_t i = 0; i < test_samples(2 * GRAPH_KINDS_AND_REPEATED); i++) {
    test_case(i);
    try_case(types, &p, i);
  }
  place_free(&p);
  units_free(types);
  return test_end();
}
