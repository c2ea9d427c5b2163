/* In which order values meet in a root while one rank is late. Where the bits depend on it, in that
 * of the ranks: who comes after the late one waits for it. Integers do not wait. */
#include "check.h"
#include "places.h"

/* A root on rank 0, a leaf on every rank. All ranks but `late` have started when rank 0 polls. */
typedef struct star {
  const place *p;
  grove_forest *forest;
  grove_op *op;
  int late;
} star;

static star star_open(const place *p, int late, MPI_Datatype type, MPI_Op op, const void *leaf,
                      void *root)
{
  star x = {.p = p, .late = late};
  grove_root to = {0, 0};
  CHECK_OK(grove_forest_create(p->ctx, &x.forest));
  CHECK_OK(grove_forest_set_graph(x.forest, p->rank == 0, 1, NULL, &to));
  CHECK_OK(grove_forest_set_up(x.forest));
  CHECK_OK(grove_reduce_init(x.forest, type, leaf, root, op, &x.op));
  return x;
}

static void star_start_early(star *x)
{
  if (x->p->rank != x->late) CHECK_OK(grove_start(x->op));
  polite_barrier(x->p->comm);
}

static void star_end(star *x)
{
  polite_barrier(x->p->comm);
  if (x->p->rank == x->late) CHECK_OK(grove_start(x->op));
  CHECK_OK(grove_wait(x->op));
  CHECK_OK(grove_op_free(&x->op));
  CHECK_OK(grove_forest_free(&x->forest));
}

static void polls(const star *x)
{
  int done = 1;
  CHECK_OK(grove_test(x->op, &done));
  CHECK(!done, "rank %d has not started, and the operation is done", x->late);
}

/* Rank 0 would poll for ever if it waited for the late one. */
static void integers_do_not_wait(const place *p, int late, MPI_Op op)
{
  int bits = op == MPI_BOR, all = 0, early = 0;
  int64_t leaf = bits ? 1 << p->rank : 10 + p->rank, seen = bits ? 0 : 1000;
  volatile int64_t root = seen;
  for (int r = 0; r < p->size; r++) {
    all += bits ? 1 << r : 10 + r;
    early += r == late ? 0 : bits ? 1 << r : 10 + r;
  }
  star x = star_open(p, late, MPI_INT64_T, op, &leaf, (void *)&root);
  star_start_early(&x);
  while (p->rank == 0 && root != seen + early) polls(&x);
  star_end(&x);
  CHECK(p->rank > 0 || root == seen + all, "the root is %lld, not %lld", (long long)root,
        (long long)(seen + all));
}

/* A large value that comes and goes takes small ones with it, those between: 2^54 + 2 is 2^54. */
static double value_of(int rank)
{
  return rank % 3 == 1 ? 18014398509481984.0 : rank % 3 == 2 ? -18014398509481984.0 : 1.0;
}

static void others_wait(const place *p, int late)
{
  enum { POLLS = 1000 };
  double leaf = value_of(p->rank), expected = 1, then = 1;
  volatile double root = 1;
  for (int r = 0; r < p->size; r++) {
    expected += value_of(r);
    if (r < late) then = expected;
  }
  star x = star_open(p, late, MPI_DOUBLE, MPI_SUM, &leaf, (void *)&root);
  star_start_early(&x);
  while (p->rank == 0 && root != then) polls(&x);
  for (int i = 0; i < POLLS && p->rank == 0; i++) polls(&x);
  CHECK(p->rank > 0 || root == then, "rank %d is late, and the root is %.17g, not %.17g", late,
        root, then);
  star_end(&x);
  CHECK(p->rank > 0 || root == expected, "the root is %.17g, not %.17g", root, expected);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/order_of_values");
  if (world_size() < 2) return test_skip("nobody is late alone");
  place p = place_create(split(0));
  place_set(&p, "route", "standard");
  for (int late = 1; late < p.size; late++) {
    test_case(late);
    integers_do_not_wait(&p, late, MPI_SUM);
    integers_do_not_wait(&p, late, MPI_BOR);
    others_wait(&p, late);
  }
  place_free(&p);
  return test_end();
}
