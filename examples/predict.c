/* What will this exchange cost here, and what would it cost on another machine? On a ring each rank
 * has a block of ghosts of the next one. Prints the prediction, by term, and the measured time.
 *
 *     mpirun -n 4 predict                    on this machine, or one of its kind
 *     mpirun -n 4 predict lassen             as if every rank had a node of Lassen
 */
#include "common.h"

enum { GHOSTS = 1000, ROUNDS = 100 };

static void predict(MPI_Comm comm, const char *name, grove_report *report)
{
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  grove_context *ctx;
  grove_machine *machine = NULL;
  grove_forest *ring;
  grove_op *op;
  grove_root root[GHOSTS];
  double *x = vector(2 * GHOSTS);
  for (int i = 0; i < GHOSTS; i++) root[i] = (grove_root){(rank + 1) % size, i};

  GROVE_MUST(grove_context_create(comm, &ctx));
  if (name) {
    GROVE_MUST(grove_context_set(ctx, "node_size", "1"));
    GROVE_MUST(grove_machine_open(name, &machine));
    GROVE_MUST(grove_context_use_machine(ctx, machine));
  }
  GROVE_MUST(grove_forest_create(ctx, &ring));
  GROVE_MUST(grove_forest_set_graph(ring, GHOSTS, GHOSTS, NULL, root));
  GROVE_MUST(grove_forest_set_up(ring));
  GROVE_MUST(grove_bcast_init(ring, MPI_DOUBLE, x, x + GHOSTS, MPI_REPLACE, &op));
  repeat(op, ROUNDS);
  GROVE_MUST(grove_op_report(op, report));
  GROVE_MUST(grove_op_free(&op));
  GROVE_MUST(grove_forest_free(&ring));
  GROVE_MUST(grove_machine_free(&machine));
  GROVE_MUST(grove_context_free(&ctx));
  free(x);
}

int main(int argc, char **argv)
{
  grove_report report = {.struct_size = sizeof report};
  MPI_Init(&argc, &argv);
  predict(MPI_COMM_WORLD, argc > 1 ? argv[1] : NULL, &report);
  const grove_terms *t = &report.predicted;
  print("predicted %.2f us: latency %.2f, bandwidth %.2f, injection %.2f, queue %.2f, on node "
        "%.2f, copy %.2f, cores %.2f\nmeasured  %.2f us here\n",
        1e6 * report.predicted_seconds, 1e6 * t->latency, 1e6 * t->bandwidth, 1e6 * t->injection,
        1e6 * t->queue, 1e6 * t->on_node, 1e6 * t->copy, 1e6 * t->cores,
        1e6 * report.measured_seconds);
  MPI_Finalize();
  return 0;
}
