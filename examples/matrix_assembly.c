/* The assembly of a sparse matrix. Each element of a square grid adds a small matrix, whose rows
 * may belong to any rank. Each entry is a leaf, and its root is on the rank that owns its row.
 * Gather lays all entries of a rank's rows side by side there, and the rank adds them up. The
 * result is compared with the whole matrix, assembled on one rank.
 *
 *     mpirun -n 4 matrix_assembly
 */
#include "common.h"

enum { SIDE = 6, NODES = (SIDE + 1) * (SIDE + 1), ELEMENTS = SIDE * SIDE, CORNERS = 4 };

typedef struct entry {
  int64_t row, col;
  double value;
} entry;

/* Entry k of an element's 16: a small whole number, so that the order of sums does not matter. */
static entry entry_of(int64_t element, int k)
{
  int64_t y = element / SIDE, x = element % SIDE;
  int64_t node[CORNERS] = {y * (SIDE + 1) + x, y * (SIDE + 1) + x + 1, (y + 1) * (SIDE + 1) + x,
                           (y + 1) * (SIDE + 1) + x + 1};
  int i = k / CORNERS, j = k % CORNERS;
  return (entry){node[i], node[j], i == j ? 4 : -1 - (double)(element % 3)};
}

static int owner_of(int64_t row, int size)
{
  return (int)(((row + 1) * size - 1) / NODES);
}

static MPI_Datatype entry_type(void)
{
  MPI_Datatype type, part[3] = {MPI_INT64_T, MPI_INT64_T, MPI_DOUBLE};
  MPI_Aint at[3] = {offsetof(entry, row), offsetof(entry, col), offsetof(entry, value)};
  MPI_Type_create_struct(3, (int[]){1, 1, 1}, at, part, &type);
  MPI_Type_commit(&type);
  return type;
}

int main(int argc, char **argv)
{
  static double mine[NODES][NODES], whole[NODES][NODES]; /* of mine only the rank's own rows */
  static entry entries[ELEMENTS * CORNERS * CORNERS];
  static grove_root owner[ELEMENTS * CORNERS * CORNERS];
  int rank, size, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int64_t n = 0, came;
  for (int64_t i = 0; i < ELEMENTS * CORNERS * CORNERS; i++) {
    entry e = entry_of(i / 16, (int)(i % 16));
    whole[e.row][e.col] += e.value;
    if (i / 16 % size != rank) continue; /* elements are dealt out like cards */
    owner[n] = (grove_root){owner_of(e.row, size), 0};
    entries[n++] = e;
  }
  grove_context *ctx;
  grove_forest *home;
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  GROVE_MUST(grove_forest_create(ctx, &home));
  GROVE_MUST(grove_forest_set_graph(home, 1, n, NULL, owner));
  GROVE_MUST(grove_forest_set_up(home));
  GROVE_MUST(grove_forest_degrees(home, &came));
  entry *received = zeros(came, sizeof *received);
  MPI_Datatype type = entry_type();
  GROVE_MUST(grove_gather(home, type, entries, received));

  for (int64_t k = 0; k < came; k++) mine[received[k].row][received[k].col] += received[k].value;
  for (int64_t row = 0; row < NODES; row++)
    for (int64_t col = 0; col < NODES; col++)
      wrong += mine[row][col] != (owner_of(row, size) == rank ? whole[row][col] : 0);
  printf("rank %d: %lld entries sent, %lld received, %s\n", rank, (long long)n, (long long)came,
         wrong ? "WRONG" : "all rows right");
  GROVE_MUST(grove_forest_free(&home));
  GROVE_MUST(grove_context_free(&ctx));
  MPI_Type_free(&type), free(received);
  MPI_Finalize();
  return wrong > 0;
}
