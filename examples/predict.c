/* What will this exchange cost here, and what would it cost on another machine? A ring of ranks,
 * each with a block of ghosts at the next one; the prediction, by term, beside the measured time.
 *
 *     mpirun -n 4 predict                    on this machine, or one of its kind
 *     mpirun -n 4 predict lassen             as if every rank had a node of Lassen
 */
#include <grove.h>

#include <stdio.h>
#include <stdlib.h>

enum { GHOSTS = 1000, ROUNDS = 100 };

static grove_status predict(MPI_Comm comm, const char *name, grove_report *report)
{
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  grove_context *ctx = NULL;
  grove_machine *machine = NULL;
  grove_forest *ring = NULL;
  grove_op *op = NULL;
  grove_root root[GHOSTS];
  double *x = calloc(2 * GHOSTS, sizeof *x);
  for (int i = 0; i < GHOSTS; i++) root[i] = (grove_root){(rank + 1) % size, i};

  grove_status status = grove_context_create(comm, &ctx);
  if (!status && name) status = grove_context_set(ctx, "node_size", "1");
  if (!status && name) status = grove_machine_open(name, &machine);
  if (!status && name) status = grove_context_use_machine(ctx, machine);
  if (!status) status = grove_forest_create(ctx, &ring);
  if (!status) status = grove_forest_set_graph(ring, GHOSTS, GHOSTS, NULL, root);
  if (!status) status = grove_forest_set_up(ring);
  if (!status) status = grove_bcast_init(ring, MPI_DOUBLE, x, x + GHOSTS, MPI_REPLACE, &op);
  for (int i = 0; i < ROUNDS && !status; i++) {
    status = grove_start(op);
    if (!status) status = grove_wait(op);
  }
  if (!status) status = grove_op_report(op, report);
  grove_op_free(&op);
  grove_forest_free(&ring);
  grove_machine_free(&machine);
  grove_context_free(&ctx);
  free(x);
  return status;
}

int main(int argc, char **argv)
{
  int rank;
  grove_report report = {.struct_size = sizeof report};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  grove_status status = predict(MPI_COMM_WORLD, argc > 1 ? argv[1] : NULL, &report);
  if (status != GROVE_OK) fprintf(stderr, "%s\n", grove_last_error());
  const grove_terms *t = &report.predicted;
  if (rank == 0 && status == GROVE_OK)
    printf("predicted %.2f us: latency %.2f, bandwidth %.2f, injection %.2f, queue %.2f, on node "
           "%.2f, copy %.2f, cores %.2f\nmeasured  %.2f us here\n",
           1e6 * report.predicted_seconds, 1e6 * t->latency, 1e6 * t->bandwidth, 1e6 * t->injection,
           1e6 * t->queue, 1e6 * t->on_node, 1e6 * t->copy, 1e6 * t->cores,
           1e6 * report.measured_seconds);
  MPI_Finalize();
  return status == GROVE_OK ? 0 : 1;
}
