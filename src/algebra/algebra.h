/* Forests from forests. Every construction takes the same steps:
 *
 *     open      looks at the forests given, and makes the new one, without a graph yet
 *     agree     all ranks are content, with the other arguments too; nothing has been sent before
 *     ...       a public operation takes what one end of the edges knows to the other end: on the
 *               forest's twin, whose leaves are numbered as they come in the list
 *     close     the edges that come out of it are the graph of the new forest, which is set up;
 *               what fails on one rank until then is agreed upon with that
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
  int bits; /* of a code that are the rank */
} grove_making;

/* Opens it, from `n` forests. This rank's failure. */
grove_status grove_making_open(grove_making *m, const char *call, int n, grove_forest *const *f,
                               grove_forest **out);
/* The same where there is only a context. */
grove_status grove_making_open_on(grove_making *m, const char *call, grove_context *ctx,
                                  grove_forest **out);

/* As grove_context_agree. */
grove_status grove_making_agree(grove_making *m, grove_status mine, int64_t *values, int n);

/* The edges of the new forest on this rank. */
typedef struct grove_edges {
  int64_t nroots;
  int64_t count;
  int64_t *leaf; /* NULL: leaf i is slot i */
  grove_root *root;
} grove_edges;

/* Room for so many; none there yet. This rank's failure. */
grove_status grove_edges_reserve(grove_edges *edges, int64_t most);
void grove_edges_free(grove_edges *edges);

static inline void grove_edges_add(grove_edges *edges, int64_t leaf, grove_root root)
{
  edges->leaf[edges->count] = leaf;
  edges->root[edges->count++] = root;
}

/* Closes it with these edges, or with this rank's failure. Agreed by all. */
grove_status grove_making_close(grove_making *m, grove_status mine, const grove_edges *edges,
                                grove_forest **out);
/* The same with roots by global number: `global` of each edge. */
grove_status grove_making_close_global(grove_making *m, grove_status mine, const grove_edges *edges,
                                       const int64_t *global, grove_forest **out);
/* In the end, closed or not. */
void grove_making_drop(grove_making *m);

/* ---- codes ---- */

/* -1 is no root. That any root of these forests has a code was seen when they were opened. */
static inline int64_t grove_code(const grove_making *m, int rank, int64_t index)
{
  return index << m->bits | rank;
}

static inline grove_root grove_code_root(const grove_making *m, int64_t code)
{
  return (grove_root){(int)(code & ((1 << m->bits) - 1)), code >> m->bits};
}

/* This many, all -1. This rank's failure. */
grove_status grove_codes_create(int64_t n, int64_t **out);

/* ---- sets of slots ---- */

/* Marks where the slots lie close together, else an ascending list. */
typedef struct grove_slot_set {
  int64_t count; /* of different ones */
  int64_t first, end;
  char *mark; /* of slot `first`, first + 1, ...; NULL: */
  int64_t *list;
} grove_slot_set;

/* The slots of a list, none of which is negative. This rank's failure. */
grove_status grove_slot_set_create(int64_t n, const int64_t *slot, grove_slot_set *out);
void grove_slot_set_free(grove_slot_set *set);
int grove_slot_set_has(const grove_slot_set *set, int64_t slot);

/* Has every root of `f` on this rank at most one leaf? This rank's failure. */
grove_status grove_check_degrees(const grove_making *m, const grove_forest *f);

#ifdef __cplusplus
}
#endif

#endif
