/* One rank reads a mesh (mpirun -n 4 mesh plates.msh.gz random), or makes a cube. A partitioner
 * names a rank for each cell. The cells move there, and their vertices follow. Ranks that share a
 * vertex are joined, and volumes are added up at vertices. All of this is done by forests made from
 * forests. */
#include "common.h"

#include <mesh_run.h>

static double in_grove; /* seconds in calls of the library */

static void must(int failed, const char *sentence)
{
  if (failed) give_up(sentence);
}
#define MUST(call)                                                                                 \
  (in_grove -= MPI_Wtime(), must((call) != GROVE_OK, grove_last_error()), in_grove += MPI_Wtime())

/* First all cells that go to a rank are leaves of one root there. Then each gets a root of its own.
 * Then the two change places: a cell is a root where it lies, and a leaf where it goes. */
static grove_forest *move_cells(grove_context *ctx, int64_t n, const int *goal)
{
  grove_forest *meet, *each, *cells;
  grove_root *to = malloc((size_t)(n + 1) * sizeof *to);
  for (int64_t i = 0; i < n; i++) to[i] = (grove_root){goal[i], 0};
  MUST(grove_forest_create(ctx, &meet) || grove_forest_set_graph(meet, 1, n, NULL, to));
  MUST(grove_forest_set_up(meet) || grove_forest_multi(meet, &each));
  MUST(grove_forest_inverse(each, &cells) || grove_forest_free(&meet) || grove_forest_free(&each));
  free(to);
  return cells;
}

/* The first rank that has a vertex owns it: a fetch tells it that no rank came before. The way goes
 * from the owner back to where the vertex lay, and on to all who have it. The owner is left out. */
static grove_forest *join_ghosts(grove_forest *vertices, int64_t nroots, mesh_piece *to)
{
  grove_forest *owned, *back, *all, *ghosts;
  int64_t own = 0, rest = to->vertices, *slot = malloc((size_t)(rest + 1) * sizeof *slot);
  int *count = calloc((size_t)nroots + 1, sizeof *count);
  MUST(grove_fetch(vertices, MPI_INT, count, to->ghost, to->ghost, MPI_SUM));
  for (int64_t i = 0; i < to->vertices; i++) slot[to->ghost[i] ? --rest : own++] = i;
  MUST(grove_forest_embed_leaves(vertices, own, slot, &owned) ||
       grove_forest_inverse(owned, &back) || grove_forest_compose(back, vertices, &all) ||
       grove_forest_embed_leaves(all, to->vertices - own, slot + own, &ghosts));
  MUST(grove_forest_free(&owned) || grove_forest_free(&back) || grove_forest_free(&all));
  free(count), free(slot);
  return ghosts;
}

int main(int argc, char **argv)
{
  mesh_run run;
  mesh_piece *from = &run.from, *to = &run.to;
  grove_context *ctx;
  grove_forest *vertices;
  MPI_Init(&argc, &argv);
  must(grove_context_create(MPI_COMM_WORLD, &ctx) != GROVE_OK, grove_last_error());
  must(mesh_run_begin(argc, argv, &run), run.error.sentence);

  grove_forest *cells = move_cells(ctx, from->cells, from->goal);
  MUST(grove_forest_sizes(cells, NULL, &to->cells));
  must(mesh_piece_cells(to, &run.error), run.error.sentence);
  MUST(grove_bcast(cells, run.corners, from->corner, to->corner, MPI_REPLACE));
  mesh_run_lap(&run, "cells", in_grove);
  must(mesh_piece_number(to, &run.error), run.error.sentence);
  MUST(grove_forest_match(ctx, from->vertices, from->name, to->vertices, to->name, &vertices));
  MUST(grove_bcast(vertices, run.point, from->at, to->at, MPI_REPLACE));
  mesh_run_lap(&run, "vertices", in_grove);
  grove_forest *ghosts = join_ghosts(vertices, from->vertices, to);
  mesh_run_lap(&run, "ghosts", in_grove);
  mesh_piece_load(to);
  MUST(grove_reduce(ghosts, MPI_DOUBLE, to->load, to->load, MPI_SUM));
  MUST(grove_bcast(ghosts, MPI_DOUBLE, to->load, to->load, MPI_REPLACE));
  mesh_run_lap(&run, "exchange", in_grove);
  MUST(grove_bcast(vertices, MPI_DOUBLE, from->right, to->right, MPI_REPLACE));
  MUST(grove_forest_free(&cells) || grove_forest_free(&vertices) || grove_forest_free(&ghosts));
  MUST(grove_context_free(&ctx));
  int wrong = mesh_run_end(&run);
  MPI_Finalize();
  return wrong;
}
