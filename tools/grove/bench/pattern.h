/* Graphs to exchange data on, as a stencil code, a matrix or a random graph has them.
 */
#ifndef GROVE_TOOLS_PATTERN_H
#define GROVE_TOOLS_PATTERN_H

#include "grove.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One rank's graph. Roots and leaves live in one array: roots first, then ghosts. */
typedef struct pattern {
  int64_t nroots, nleaves;
  int64_t *leaf; /* slot in the array: nroots, nroots+1, ... */
  grove_root *root;
} pattern;

/* A box of side^3 points per rank, with the ranks in a grid. Ghosts are the layer of neighbours'
 * points around it: through faces (7-point) or through faces, edges and corners (27-point). */
int pattern_stencil(MPI_Comm comm, int64_t side, int corners, pattern *out);

/* `n` roots and `n` leaves per rank, each leaf joined to any root of any rank. */
int pattern_random(MPI_Comm comm, int64_t n, uint64_t seed, pattern *out);

/* The ghosts for a product with the matrix in a Matrix Market file, which every rank reads for
 * itself. Rows are in contiguous blocks, or as METIS divides them. A rank numbers its own rows in
 * their order, and has its ghosts in the order of owner and number. `rows`: of the matrix. On
 * failure `why` is a sentence. */
int pattern_matrix(MPI_Comm comm, const char *path, int by_metis, pattern *out, int64_t *rows,
                   char *why, size_t room);

/* The same for a generated matrix: linear elasticity on a cube of hexahedra with `side` vertices
 * along an edge, three displacements each. */
int pattern_elasticity(MPI_Comm comm, int64_t side, int by_metis, pattern *out, char *why,
                       size_t room);

/* The edges inside the node (on_node), or those that leave it; the array stays the same. */
int pattern_select(const pattern *all, grove_context *ctx, int rank, int on_node, pattern *out);

/* Makes room for a graph, to be filled in. 1: out of memory. */
int pattern_allocate(pattern *p, int64_t nroots, int64_t nleaves);
void pattern_free(pattern *p);

#ifdef __cplusplus
}
#endif

#endif
