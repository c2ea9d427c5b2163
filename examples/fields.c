/* Several fields in one message. A flow solver on a ring of ranks has velocities u, v, w and a
 * pressure p in arrays of their own, of different types, and a flux that goes the other way. Each
 * is an operation like any other. Bundled, they cost one message per neighbour.
 *
 *     mpirun -n 4 fields
 */
#include "common.h"

enum { OWN = 8, ALL = OWN + 2, FIELDS = 5 }; /* cells of a rank, and a ghost on either side */

/* Ghosts are slots OWN (the last cell of the rank before) and OWN + 1 (the first of the next). */
static grove_forest *make_halo(grove_context *ctx, int rank, int size)
{
  grove_forest *halo;
  const int64_t slots[2] = {OWN, OWN + 1};
  const grove_root owners[2] = {{(rank + size - 1) % size, OWN - 1}, {(rank + 1) % size, 0}};
  GROVE_MUST(grove_forest_create(ctx, &halo));
  GROVE_MUST(grove_forest_set_name(halo, "halo"));
  GROVE_MUST(grove_forest_set_graph(halo, OWN, 2, slots, owners));
  GROVE_MUST(grove_forest_set_up(halo));
  return halo;
}

int main(int argc, char **argv)
{
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  double u[ALL], v[ALL], w[ALL], flux[ALL] = {0};
  float p[ALL];
  for (int i = 0; i < OWN; i++) {
    u[i] = rank * OWN + i;
    v[i] = 2 * u[i];
    w[i] = 3 * u[i];
    p[i] = (float)u[i] / 2;
  }
  flux[OWN] = flux[OWN + 1] = 1; /* what flows out over the two ends */

  grove_context *ctx;
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  grove_forest *halo = make_halo(ctx, rank, size);
  grove_op *one[FIELDS], *all;
  GROVE_MUST(grove_bcast_init(halo, MPI_DOUBLE, u, u, MPI_REPLACE, &one[0]));
  GROVE_MUST(grove_bcast_init(halo, MPI_DOUBLE, v, v, MPI_REPLACE, &one[1]));
  GROVE_MUST(grove_bcast_init(halo, MPI_DOUBLE, w, w, MPI_REPLACE, &one[2]));
  GROVE_MUST(grove_bcast_init(halo, MPI_FLOAT, p, p, MPI_REPLACE, &one[3]));
  GROVE_MUST(grove_reduce_init(halo, MPI_DOUBLE, flux, flux, MPI_SUM, &one[4]));
  GROVE_MUST(grove_op_bundle(FIELDS, one, &all));
  for (int i = 0; i < FIELDS; i++) GROVE_MUST(grove_op_free(&one[i])); /* the bundle stays */

  GROVE_MUST(grove_start(all));
  GROVE_MUST(grove_wait(all));

  int before = (rank + size - 1) % size * OWN + OWN - 1, next = (rank + 1) % size * OWN;
  int right = u[OWN] == before && u[OWN + 1] == next && v[OWN] == 2 * before &&
              w[OWN + 1] == 3 * next && p[OWN] == (float)before / 2 && flux[0] == 1 &&
              flux[OWN - 1] == 1 && flux[1] == 0;
  grove_report report = {.struct_size = sizeof report};
  GROVE_MUST(grove_op_report(all, &report));
  printf("rank %d: %s, %lld messages for %d fields\n", rank, right ? "all ghosts right" : "WRONG",
         (long long)(report.on_node_messages + report.off_node_messages), FIELDS);
  GROVE_MUST(grove_op_free(&all));
  GROVE_MUST(grove_forest_free(&halo));
  GROVE_MUST(grove_context_free(&ctx));
  MPI_Finalize();
  return !right;
}
