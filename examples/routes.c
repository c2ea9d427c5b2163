/* Which way does an exchange go, and why? Every rank needs the first value of every other one: many
 * small messages, which node-aware routes carry together. Prints what each route would cost, takes
 * the one that the model chooses, and says what was measured.
 *
 *     GROVE_NODE_SIZE=4 mpirun -n 16 routes          as if every four ranks were a node
 *     mpirun -n 64 routes lassen              on the nodes that there are, at Lassen's prices
 */
#include <grove.h>

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 200 };

static grove_status exchange(grove_forest *all, int size, int rank, grove_report *report)
{
  grove_op *op = NULL;
  double mine = 3 * rank + 1, *other = calloc((size_t)size, sizeof *other);
  grove_status status = grove_bcast_init(all, MPI_DOUBLE, &mine, other, MPI_REPLACE, &op);
  for (int i = 0; i < ROUNDS && !status; i++) {
    status = grove_start(op);
    if (!status) status = grove_wait(op);
  }
  for (int r = 0; r < size && !status; r++)
    if (other[r] != 3 * r + 1) MPI_Abort(MPI_COMM_WORLD, 1); /* never */
  if (!status) status = grove_op_report(op, report);
  grove_op_free(&op);
  free(other);
  return status;
}

int main(int argc, char **argv)
{
  int rank, size;
  grove_context *ctx = NULL;
  grove_forest *all = NULL;
  grove_report report = {.struct_size = sizeof report};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  grove_status status = grove_context_create(MPI_COMM_WORLD, &ctx);
  if (!status && argc > 1) status = grove_context_set(ctx, "machine", argv[1]);
  if (!status) status = grove_forest_create(ctx, &all);
  if (!status) status = grove_forest_set_name(all, "everybody");
  if (!status) status = grove_forest_set_pattern(all, GROVE_ALLGATHER, 1);
  if (!status) status = grove_forest_set_up(all);
  if (!status) status = grove_forest_explain(all, sizeof(double), stdout);
  if (!status) status = exchange(all, size, rank, &report);
  if (status) fprintf(stderr, "%s\n", grove_last_error());
  if (rank == 0 && !status)
    printf(
      "\nTook %s: %.1f us measured, %.1f predicted; this rank sent %lld messages off its node.\n",
      report.route, 1e6 * report.measured_seconds, 1e6 * report.predicted_seconds,
      (long long)report.off_node_messages);
  grove_forest_free(&all);
  grove_context_free(&ctx);
  MPI_Finalize();
  return status == GROVE_OK ? 0 : 1;
}
