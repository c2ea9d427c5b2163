/* A breadth-first search of a graph whose vertices are cut into blocks, one per rank. The forest
 * has a leaf for each edge, and its root is the vertex that the edge leads to. In each round the
 * edges that leave the frontier propose a level, and reduce keeps the least one at each vertex. The
 * levels are compared with those of a search on one rank.
 *
 *     mpirun -n 4 bfs
 */
#include "common.h"

enum { VERTICES = 1000, DEGREE = 2, UNREACHED = VERTICES };

/* Where edge k of a vertex leads. */
static int64_t target(int64_t vertex, int k)
{
  return (vertex * (k + 3) + 17 * k * k + vertex / 7) % VERTICES;
}

/* From vertex 0. */
static void search_alone(int *level)
{
  int64_t queue[VERTICES] = {0}, begin = 0, end = 1;
  for (int64_t v = 1; v < VERTICES; v++) level[v] = UNREACHED;
  for (level[0] = 0; begin < end; begin++)
    for (int k = 0; k < DEGREE; k++) {
      int64_t to = target(queue[begin], k);
      if (level[to] < UNREACHED) continue;
      level[to] = level[queue[begin]] + 1;
      queue[end++] = to;
    }
}

/* Edge k of vertex i of this rank is leaf i * DEGREE + k. */
static grove_forest *make_edges(grove_context *ctx, int64_t first, int64_t own)
{
  int64_t *to = zeros(own * DEGREE, sizeof *to);
  for (int64_t i = 0; i < own * DEGREE; i++) to[i] = target(first + i / DEGREE, (int)(i % DEGREE));
  grove_forest *edges;
  GROVE_MUST(grove_forest_create(ctx, &edges));
  GROVE_MUST(grove_forest_set_graph_global(edges, own, own * DEGREE, NULL, to));
  GROVE_MUST(grove_forest_set_up(edges));
  free(to);
  return edges;
}

int main(int argc, char **argv)
{
  int rank, size, whole[VERTICES] = {0}, wrong = 0, round = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int64_t first = (int64_t)rank * VERTICES / size;
  int64_t own = (int64_t)(rank + 1) * VERTICES / size - first;
  int *level = zeros(own, sizeof *level), *proposal = zeros(own * DEGREE, sizeof *proposal);
  for (int64_t i = 0; i < own; i++) level[i] = first + i == 0 ? 0 : UNREACHED;

  grove_context *ctx;
  grove_op *propose;
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  grove_forest *edges = make_edges(ctx, first, own);
  GROVE_MUST(grove_reduce_init(edges, MPI_INT, proposal, level, MPI_MIN, &propose));
  for (int frontier = 1; frontier > 0 && round < VERTICES; round++) {
    for (int64_t k = 0; k < own * DEGREE; k++)
      proposal[k] = level[k / DEGREE] == round ? round + 1 : UNREACHED;
    GROVE_MUST(grove_start(propose));
    GROVE_MUST(grove_wait(propose));
    frontier = 0;
    for (int64_t i = 0; i < own; i++) frontier += level[i] == round + 1;
    MPI_Allreduce(MPI_IN_PLACE, &frontier, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }

  search_alone(whole);
  for (int64_t i = 0; i < own; i++) wrong += level[i] != whole[first + i];
  printf("rank %d: %d levels, %s\n", rank, round, wrong ? "WRONG" : "all right");
  GROVE_MUST(grove_op_free(&propose));
  GROVE_MUST(grove_forest_free(&edges));
  GROVE_MUST(grove_context_free(&ctx));
  free(level), free(proposal);
  MPI_Finalize();
  return wrong > 0;
}
