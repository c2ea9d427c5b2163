/* Forests from forests. Every construction takes the same steps:
 *
 *     open      checks the given forests, and makes the new one, without a graph yet
 *     agree     all ranks accept these and the other arguments; nothing has been sent before
 *     ...       a public operation takes what one end of the edges knows to the other end: on the
 *               forest's twin, whose leaves are numbered in the order of the list
 *     close     the resulting edges are the graph of the new forest, which is set up; this also
 *               agrees on what failed on one rank before
 *
 * A root travels as one number, its *code*: half the bytes of a grove_root.
 */
#ifndef GROVE_ALGEBRA_ALGEBRA_H
#define GROVE_ALGEBRA_ALGEBRA_H

#include "forest/forest.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A forest while it is made. */
typedef struct grove_making {
  const char *call; /* for sentences */
  grove_context *ctx;
  int claimed; /* no other thread makes a collective call */
  grove_forest *forest;
  int bits; /* bits of a code that hold the rank */
} grove_making;

/* Opens it, from `n` forests. This rank's failure. */
grove_status grove_making_open(grove_making *m, const char *call, int n, grove_forest *const *f,
                               grove_forest **out);
/* The same, from one forest whose slots may be leaves several times; so may those of the new one.
 */
grove_status grove_making_open_loosely(grove_making *m, const char *call, grove_forest *f,
                                       grove_forest **out);
/* The same with only a context. */
grove_status grove_making_open_on(grove_making *m, const char *call, grove_context *ctx,
                                  grove_forest **out);

/* As grove_context_agree. */
grove_status grove_making_agree(grove_making *m, grove_status mine, int64_t *values, int n);
/* As grove_context_same. */
grove_status grove_making_same(grove_making *m, const char *what, int64_t mine,
                               const int64_t found[2]);

/* The edges of the new forest on this rank. */
typedef struct grove_edges {
  int64_t nroots;
  int64_t count;
  int64_t *leaf; /* slots */
  grove_root *root;
} grove_edges;

/* Makes room for this many, and one more that is tried and not wanted. Empty at first. This rank's
 * failure. */
grove_status grove_edges_reserve(grove_edges *edges, int64_t most);
void grove_edges_free(grove_edges *edges);

/* Adds an edge, or not. Processors cannot predict which, so no jump depends on it. */
static inline void grove_edges_add_if(grove_edges *edges, int wanted, int64_t leaf, grove_root root)
{
  edges->leaf[edges->count] = leaf;
  edges->root[edges->count] = root;
  edges->count += wanted != 0;
}

static inline void grove_edges_add(grove_edges *edges, int64_t leaf, grove_root root)
{
  grove_edges_add_if(edges, 1, leaf, root);
}

/* Closes it with these edges, or with this rank's failure. Agreed by all. */
grove_status grove_making_close(grove_making *m, grove_status mine, const grove_edges *edges,
                                grove_forest **out);
/* The same with roots by global number: `global` of each edge. */
grove_status grove_making_close_global(grove_making *m, grove_status mine, const grove_edges *edges,
                                       const int64_t *global, grove_forest **out);
/* At the end, closed or not. */
void grove_making_drop(grove_making *m);

/* ---- codes ---- */

/* Uses the bits of the making. -1 is no root. Opening checked that every root of the forests has a
 * code. */
static inline int64_t grove_code(int bits, int rank, int64_t index)
{
  return grove_edge_code(index, bits, rank);
}

static inline grove_root grove_code_root(int bits, int64_t code)
{
  return (grove_root){(int)grove_edge_group(code, bits), code >> bits};
}

/* This many, all -1. This rank's failure. */
grove_status grove_codes_create(int64_t n, int64_t **out);

#ifdef __cplusplus
}
#endif

#endif
