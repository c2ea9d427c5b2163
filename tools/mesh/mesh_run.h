/* What a program that migrates a mesh needs besides: the mesh on one rank, its partition, pieces of
 * it on all ranks before anything moves, clocks, and a checked report at the end.
 *
 *     mesh_run run;
 *     if (mesh_run_begin(argc, argv, &run)) return complain(run.error.sentence);
 *     ...                                 from run.from to run.to
 *     mesh_run_lap(&run, "cells", in_grove);
 *     ...                                 run.to.load, run.to.right, run.to.ghost
 *     int wrong = mesh_run_end(&run);
 *
 * Arguments, in any order:
 *
 *     FILE         a Gmsh mesh, read on rank 0 (mesh_read_gmsh); it has a dot in its name
 *     N            without a file: the cube of 6 N^3 cells (mesh_generate); default 8
 *     sequential   before, all cells and vertices lie on rank 0; the default
 *     chunked      they lie in pieces of equal size, in the order of the file
 *     random       they lie anywhere
 *     --json       the report is one line for programs
 */
#ifndef MESH_RUN_H
#define MESH_RUN_H

#include "mesh.h"

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* of the library grove_readers */

/* A rank's share of a mesh. Corners are names of vertices, which are their numbers in the whole
 * mesh, until mesh_piece_number turns them into places in this piece. */
typedef struct mesh_piece {
  int64_t cells, vertices;
  int64_t *corner; /* four per cell */
  int *goal;       /* the rank that each cell must reach */
  int64_t *name;   /* of each vertex */
  double *at;      /* three per vertex */
  double *right;   /* of each vertex: its load, computed by one rank alone (mesh_loads) */
  double *load;    /* the same, computed by the ranks together */
  int *ghost;      /* of each vertex; 0: this rank owns it */
} mesh_piece;

enum { MESH_RUN_LAPS = 8 };

typedef struct mesh_lap {
  const char *name;
  double seconds, in_grove; /* in_grove: of this rank */
} mesh_lap;

typedef struct mesh_run {
  int rank, size, json;
  const char *file, *start;     /* NULL: none; "sequential", ... */
  int64_t side;                 /* of the cube */
  int64_t cells, vertices, cut; /* of the whole mesh */
  double volume;                /* likewise */
  uint64_t due;                 /* the sum of the prints of the cells that this rank must get */
  MPI_Datatype corners, point;  /* four names; three coordinates */
  mesh_piece from, to;          /* before and after */
  mesh_lap lap[MESH_RUN_LAPS];
  int laps;
  double clock, in_grove; /* at the end of the last lap */
  mesh_error error;
} mesh_run;

/* Reads the arguments, makes the mesh and its partition, and distributes `from`. The other ranks do
 * not learn of a failure of rank 0: the caller aborts. Collective. */
int mesh_run_begin(int argc, char **argv, mesh_run *run);

/* Makes room for the corners of `cells` incoming cells. */
int mesh_piece_cells(mesh_piece *p, mesh_error *error);

/* Call when the corners have arrived as names. Each vertex gets a place, in the order of
 * appearance, and corners become places. Sets `vertices` and `name`, makes room for the data of
 * vertices, and marks all of them as ghosts (1). */
int mesh_piece_number(mesh_piece *p, mesh_error *error);

/* A number that identifies a cell by the names of its corners; `name`: of places, or NULL if
 * corners are names. */
uint64_t mesh_cell_print(const int64_t *corner, const int64_t *name);

/* Sets `load` to the contributions of this rank's cells. */
void mesh_piece_load(mesh_piece *p);

void mesh_piece_free(mesh_piece *p);

/* Ends a lap on all ranks. `name` is for the report (a constant), `in_grove` the seconds that this
 * rank has spent in the library so far. Laps between "deal", the last of mesh_run_begin, and
 * "exchange" are the migration. At most MESH_RUN_LAPS in all. Collective. */
void mesh_run_lap(mesh_run *run, const char *name, double in_grove);

/* Checks that the right cells have arrived, compares `load` with `right` on every vertex and the
 * sum of owned loads with the volume of the mesh, prints the report on rank 0, and frees
 * everything. Returns 1 if something is wrong. Collective. */
int mesh_run_end(mesh_run *run);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
