/* Tetrahedral meshes, for examples and benchmarks: read, generated, cut into parts.
 *
 *     mesh m;
 *     mesh_error error;
 *     if (mesh_read_gmsh("plates.msh.gz", &m, &error)) return complain(error.sentence);
 *     int *part = malloc((size_t)m.cells * sizeof *part);
 *     if (mesh_partition(&m, 16, part, &error)) return complain(error.sentence);
 *     ...
 *     mesh_free(&m);
 *
 * Needs neither Grove nor MPI. Functions return 0 on success, 1 on failure; then `error` says why
 * and `out` is empty.
 */
#ifndef MESH_H
#define MESH_H

#include "read_error.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* of the library grove_readers */

typedef struct mesh {
  int64_t vertices, cells;
  double *at;      /* vertex v is at at[3 * v], at[3 * v + 1], at[3 * v + 2] */
  int64_t *corner; /* the vertices of cell c are corner[4 * c] .. corner[4 * c + 3] */
} mesh;

typedef read_error mesh_error;

enum { MESH_MOST_CUBES = 300 };

/* A file in Gmsh's format 2 (2.0 to 2.2), as text, plain or gzipped. Tetrahedra are read. Points,
 * lines and triangles, which mark the boundary, are skipped. Other cells are refused. Vertices and
 * cells keep the order of the file. */
int mesh_read_gmsh(const char *path, mesh *out, mesh_error *error);

/* The same from memory; `name` is for error sentences. */
int mesh_read_gmsh_memory(const void *bytes, size_t length, const char *name, mesh *out,
                          mesh_error *error);

/* The unit cube, cut into n * n * n cubes of six tetrahedra each; n is at most MESH_MOST_CUBES.
 * Inner vertices are slightly displaced, always by the same amounts. */
int mesh_generate(int64_t n, mesh *out, mesh_error *error);

void mesh_free(mesh *m);

/* Never negative, whatever the orientation. */
double mesh_cell_volume(const mesh *m, int64_t cell);

/* Gives a quarter of every cell's volume to each of its corners. `load` is overwritten, with one
 * number per vertex. */
void mesh_loads(const mesh *m, double *load);

/* The part of every cell, 0 to nparts - 1. By METIS, so that few faces are cut, in builds that have
 * it; else by coordinates. The same mesh is always cut in the same way. */
int mesh_partition(const mesh *m, int nparts, int *part, mesh_error *error);
const char *mesh_partitioner(void); /* which of the two */

/* Repeatedly cuts in two across the longest side, until there are enough parts. Their numbers of
 * cells differ by at most one. */
int mesh_partition_by_coordinates(const mesh *m, int nparts, int *part, mesh_error *error);

/* The faces whose two cells are in different parts. */
int mesh_cut(const mesh *m, const int *part, int64_t *faces, mesh_error *error);

/* Scatters consecutive numbers over all 64-bit numbers. */
uint64_t mesh_scatter(uint64_t number);

/* Writes a sentence without a line, and returns 1. */
int mesh_fail(mesh_error *error, const char *format, ...)
#if defined(__GNUC__)
  __attribute__((format(printf, 2, 3)))
#endif
  ;

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
