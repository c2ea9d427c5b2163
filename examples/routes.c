/* Which way does an exchange go, and why? Every rank needs the first value of every other rank.
 * That is many small messages, and node-aware routes carry them together. Prints what each route
 * would cost, takes the one that the model chooses, and prints the time that it took.
 *
 *     GROVE_NODE_SIZE=4 mpirun -n 16 routes          as if every four ranks were a node
 *     mpirun -n 64 routes lassen              on the nodes that there are, at Lassen's prices
 */
#include "common.h"

enum { ROUNDS = 200 };

/* Returns how many values are not what they should be. */
static int exchange(grove_forest *all, int size, int rank, grove_report *report)
{
  grove_op *op;
  int wrong = 0;
  double mine = 3 * rank + 1, *other = vector(size);
  GROVE_MUST(grove_bcast_init(all, MPI_DOUBLE, &mine, other, MPI_REPLACE, &op));
  repeat(op, ROUNDS);
  for (int r = 0; r < size; r++) wrong += other[r] != 3 * r + 1;
  GROVE_MUST(grove_op_report(op, report));
  GROVE_MUST(grove_op_free(&op));
  free(other);
  return wrong;
}

int main(int argc, char **argv)
{
  int rank, size;
  grove_context *ctx;
  grove_forest *all;
  grove_report report = {.struct_size = sizeof report};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  if (argc > 1) GROVE_MUST(grove_context_set(ctx, "machine", argv[1]));
  GROVE_MUST(grove_forest_create(ctx, &all));
  GROVE_MUST(grove_forest_set_name(all, "everybody"));
  GROVE_MUST(grove_forest_set_pattern(all, GROVE_ALLGATHER, 1));
  GROVE_MUST(grove_forest_set_up(all));
  GROVE_MUST(grove_forest_explain(all, sizeof(double), stdout));
  int wrong = exchange(all, size, rank, &report);
  print("\nTook %s: %.1f us measured, %.1f predicted; this rank sent %lld messages off its node.\n",
        report.route, 1e6 * report.measured_seconds, 1e6 * report.predicted_seconds,
        (long long)report.off_node_messages);
  GROVE_MUST(grove_forest_free(&all));
  GROVE_MUST(grove_context_free(&ctx));
  MPI_Finalize();
  return wrong > 0;
}
