/* From index set to index set: y[to[k]] = x[from[k]] for every k. Both lists hold global numbers,
 * and they are cut among the ranks in different ways. grove_forest_match joins position k of one
 * list to position k of the other. Two compositions then make a forest from x to y.
 *
 *     mpirun -n 4 index_sets
 */
#include "common.h"

enum { LENGTH = 60, X = 40, Y = 90 }; /* of the lists; entries of x and y */

static int64_t from_of(int64_t k)
{
  return k * k % X; /* entries of x may be read often */
}

static int64_t to_of(int64_t k)
{
  return k * 7 % Y; /* those of y are written once */
}

typedef struct range {
  int64_t first, count;
} range;

static range share_of(int64_t n, int rank, int size)
{
  int64_t first = rank * n / size;
  return (range){first, (rank + 1) * n / size - first};
}

/* The roots are entries of a vector, and the leaves positions of a list that has their numbers. */
static grove_forest *make_list(grove_context *ctx, range roots, range list,
                               int64_t (*number)(int64_t))
{
  int64_t global[LENGTH];
  grove_forest *f;
  for (int64_t k = 0; k < list.count; k++) global[k] = number(list.first + k);
  GROVE_MUST(grove_forest_create(ctx, &f));
  GROVE_MUST(grove_forest_set_graph_global(f, roots.count, list.count, NULL, global));
  GROVE_MUST(grove_forest_set_up(f));
  return f;
}

int main(int argc, char **argv)
{
  int rank, size, wrong = 0;
  double x[X], y[Y] = {0}, want[Y] = {0};
  int64_t name[LENGTH], sought[LENGTH];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  range in_x = share_of(X, rank, size), in_y = share_of(Y, rank, size);
  range in_from = share_of(LENGTH, rank, size), in_to = share_of(LENGTH, size - 1 - rank, size);
  for (int64_t i = 0; i < in_x.count; i++) x[i] = (double)(100 + in_x.first + i);
  for (int64_t k = 0; k < in_from.count; k++) name[k] = in_from.first + k;
  for (int64_t k = 0; k < in_to.count; k++) sought[k] = in_to.first + k;

  grove_context *ctx;
  grove_forest *same, *x_to_list, *x_to_y;
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  grove_forest *from = make_list(ctx, in_x, in_from, from_of);
  grove_forest *to = make_list(ctx, in_y, in_to, to_of);
  GROVE_MUST(grove_forest_match(ctx, in_from.count, name, in_to.count, sought, &same));
  GROVE_MUST(grove_forest_compose(from, same, &x_to_list));
  GROVE_MUST(grove_forest_compose_inverse(x_to_list, to, &x_to_y));
  GROVE_MUST(grove_bcast(x_to_y, MPI_DOUBLE, x, y, MPI_REPLACE));

  for (int64_t k = 0; k < LENGTH; k++) want[to_of(k)] = (double)(100 + from_of(k));
  for (int64_t i = 0; i < in_y.count; i++) wrong += y[i] != want[in_y.first + i];
  printf("rank %d: %lld entries of y, %s\n", rank, (long long)in_y.count,
         wrong ? "WRONG" : "all right");
  GROVE_MUST(grove_forest_free(&from));
  GROVE_MUST(grove_forest_free(&to));
  GROVE_MUST(grove_forest_free(&same));
  GROVE_MUST(grove_forest_free(&x_to_list));
  GROVE_MUST(grove_forest_free(&x_to_y));
  GROVE_MUST(grove_context_free(&ctx));
  MPI_Finalize();
  return wrong > 0;
}
