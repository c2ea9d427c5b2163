/* A program of MPI that knows nothing of Grove, on random graphs: every neighbourhood collective,
 * and MPI_Alltoallv, against MPI's own result (PMPI_). With libgrove_mpi.so before MPI the first
 * may go through Grove; tests/bindings/mpi.sh sees to it that it does.
 *
 *     LD_PRELOAD=build/lib/libgrove_mpi.so GROVE_PRELOAD=always \
 *       tools/launch 4 build/tests/bindings/mpi_agrees SEED CASES [ROUNDS]
 *
 * All ranks draw the whole graph. Blocks stay the same for some calls. Then, by case: the numbers
 * of some blocks change, which two ranks know; displacements change on some ranks; types with
 * gaps, or absolute addresses, are used on some ranks.
 */
#include "mpi_graphs.h"

#include <stdlib.h>
#include <string.h>

static int rounds = 40; /* calls of each function on a communicator */

/* Absolute addresses instead of those in a buffer, for MPI_Neighbor_alltoallw. */
static void *absolute(side *s, int n, void *buffer)
{
  MPI_Aint start;
  if (mode() != OTHER_TYPES || draw(3, BOTTOM, rank, round_, 0, 0)) return buffer;
  MPI_Get_address(buffer, &start);
  for (int i = 0; i < n; i++) s->offsets[i] += start;
  return MPI_BOTTOM;
}

static double out[ROOM], in[2][ROOM];

static void fill(void)
{
  for (int i = 0; i < ROOM; i++) {
    out[i] = rank * 1e6 + round_ * 1e4 + i;
    in[0][i] = in[1][i] = -1;
  }
}

static void compare(const char *call)
{
  if (memcmp(in[0], in[1], sizeof in[0]) != 0) fail("not what MPI brings", call);
}

/* ---- calls ---- */

static void try_vector_calls(MPI_Comm comm, const ends *from, const ends *to)
{
  side s, r;
  lay_out(&s, to, 1);
  lay_out(&r, from, 0);
  fill();
  MPI_Neighbor_alltoallv(out, s.counts, s.steps, s.type, in[0], r.counts, r.steps, r.type, comm);
  PMPI_Neighbor_alltoallv(out, s.counts, s.steps, s.type, in[1], r.counts, r.steps, r.type, comm);
  compare("MPI_Neighbor_alltoallv");
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
  if (round_ >= 0)
    return; /* MPI's own is wrong if more blocks come than go, or fewer (issue 6233) */
#endif
  fill();
  for (int i = 0; i < 2; i++) {
    side w = s, v = r;
    void *sent = absolute(&w, to->n, out), *received = absolute(&v, from->n, in[i]);
    (i ? PMPI_Neighbor_alltoallw : MPI_Neighbor_alltoallw)(
      sent, w.counts, w.offsets, w.types, received, v.counts, v.offsets, v.types, comm);
  }
  compare("MPI_Neighbor_alltoallw");
}

static void try_gathers(MPI_Comm comm, const ends *from)
{
  side r;
  lay_out(&r, from, 0);
  for (int i = 0; i < from->n; i++) r.counts[i] = count_of(from->rank[i], -1);
  for (int i = 0; i < from->n; i++) r.steps[i] = i * 200;
  fill();
  for (int i = 0; i < 2; i++)
    (i ? PMPI_Neighbor_allgatherv : MPI_Neighbor_allgatherv)(
      out + 5, count_of(rank, -1), MPI_DOUBLE, in[i], r.counts, r.steps, r.type, comm);
  compare("MPI_Neighbor_allgatherv");
}

static void try_equal_blocks(MPI_Comm comm)
{
  int changed = mode() == OTHER_COUNTS && draw(3, CHANGES, round_, 0, 0, 0) == 0;
  int n = 1 + draw(8, BLOCK, changed ? round_ : 0, 0, 0, 0);
  fill();
  for (int i = 0; i < 2; i++)
    (i ? PMPI_Neighbor_alltoall : MPI_Neighbor_alltoall)(out, n, MPI_DOUBLE, in[i], n, MPI_DOUBLE,
                                                         comm);
  compare("MPI_Neighbor_alltoall");
  fill();
  for (int i = 0; i < 2; i++)
    (i ? PMPI_Neighbor_allgather : MPI_Neighbor_allgather)(out, 8 * n, MPI_BYTE, in[i], n,
                                                           MPI_DOUBLE, comm);
  compare("MPI_Neighbor_allgather");
}

/* Of a grid, where as many blocks go as come: faces of different widths. */
static void try_faces(MPI_Comm comm)
{
  MPI_Datatype types[4] = {MPI_DOUBLE, MPI_DOUBLE, gaps, gaps};
  MPI_Aint offsets[4] = {0, 800, 1600, 4800};
  int n = 1 + draw(8, BLOCK, 0, 0, 0, 0), counts[4] = {n, n, 2 * n, 2 * n};
  fill();
  for (int i = 0; i < 2; i++)
    (i ? PMPI_Neighbor_alltoallw : MPI_Neighbor_alltoallw)(out, counts, offsets, types, in[i],
                                                           counts, offsets, types, comm);
  compare("MPI_Neighbor_alltoallw");
}

/* As MPI_Alltoallv has it: one block for each rank. */
static ends all_ranks(void)
{
  ends e = {.n = size};
  for (int i = 0; i < size; i++) e.rank[i] = i;
  return e;
}

static void try_alltoallv(MPI_Comm comm)
{
  ends all = all_ranks();
  side s, r;
  lay_out(&s, &all, 1);
  lay_out(&r, &all, 0);
  fill();
  for (int i = 0; i < 2; i++)
    (i ? PMPI_Alltoallv : MPI_Alltoallv)(out, s.counts, s.steps, s.type, in[i], r.counts, r.steps,
                                         r.type, comm);
  compare("MPI_Alltoallv");
}

static void try_graph(void)
{
  MPI_Comm comm;
  ends from = draw_ends(0), to = draw_ends(1);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, from.n, from.rank, MPI_UNWEIGHTED, to.n, to.rank,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  for (round_ = 0; round_ < rounds; round_++) {
    try_vector_calls(comm, &from, &to);
    try_gathers(comm, &from);
    try_equal_blocks(comm);
    try_alltoallv(comm);
  }
  MPI_Comm_free(&comm);
}

static void try_grid(void)
{
  int dims[2] = {0, 0}, periodic[2] = {number % 2, 1};
  MPI_Comm comm;
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, 0, &comm);
  for (round_ = 0; round_ < rounds; round_++) {
    try_equal_blocks(comm);
    try_faces(comm);
  }
  if (number % 2) MPI_Comm_free(&comm); /* else it is left for MPI_Finalize */
}

int main(int argc, char **argv)
{
  int level;
  MPI_Init_thread(&argc, &argv, getenv("THREADS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  int cases = argc > 2 ? atoi(argv[2]) : 4;
  if (argc > 3) rounds = atoi(argv[3]);
  if (size > MOST_RANKS) fail("too many ranks", "the test");
  MPI_Type_create_resized(MPI_DOUBLE, 0, 2 * sizeof(double), &gaps);
  MPI_Type_commit(&gaps);
  for (number = 0; number < cases; number++) {
    try_graph();
    try_grid();
  }
  MPI_Type_free(&gaps);
  if (rank == 0) printf("%d cases agree; seed %llu\n", cases, (unsigned long long)seed);
  return MPI_Finalize();
}
