/* Random star forests. Every rank draws the whole graph, for all ranks, from the same numbers. */
#ifndef TEST_GENERATE_H
#define TEST_GENERATE_H

#include "grove.h"
#include "random.h"

typedef enum graph_kind {
  GRAPH_EMPTY,      /* no leaves anywhere; roots or none */
  GRAPH_DENSE,      /* every leaf on a random root of a random rank */
  GRAPH_SPARSE,     /* very few leaves */
  GRAPH_RING,       /* own entries, and copies of the neighbours' ends: a halo */
  GRAPH_BLOCKS,     /* runs of leaves on runs of roots: nothing needs packing */
  GRAPH_STRIDED,    /* every third root, in order */
  GRAPH_STAR,       /* all leaves of all ranks on one root */
  GRAPH_OWNERLESS,  /* ranks without roots, without leaves, without either */
  GRAPH_SELF,       /* only roots of the own rank */
  GRAPH_DUPLICATES, /* many leaves of one rank on each of a few roots */
  GRAPH_ALL_TO_ALL, /* a leaf on some root of every rank */
  GRAPH_MIXED,      /* each rank another of the above */
  GRAPH_KINDS,
  GRAPH_REPEATED =
    GRAPH_KINDS, /* slots that are leaves several times: grove_forest_allow_duplicates */
  GRAPH_KINDS_AND_REPEATED
} graph_kind;

/* One rank's part. nslots is the length of its leaf array: the graph names only some slots. */
typedef struct part {
  int64_t nroots, nleaves, nslots;
  int64_t *leaf_index; /* NULL: leaf j is slot j */
  grove_root *root;
} part;

typedef struct graph {
  graph_kind kind;
  int nranks;
  part *part;
} graph;

const char *graph_kind_name(graph_kind kind);

/* At most GRAPH_MOST_ROOTS roots and GRAPH_MOST_SLOTS leaf slots per rank. */
enum { GRAPH_MOST_ROOTS = 48, GRAPH_MOST_SLOTS = 160 };
graph *graph_random(rng *r, graph_kind kind, int nranks);

/* The graph of a pattern; n[i] is what rank i gives to grove_forest_set_pattern. */
graph *graph_pattern(grove_pattern pattern, int nranks, const int64_t *n);

/* All parts empty, for graphs written by hand: see part_resize. */
graph *graph_empty(int nranks);

/* `each` roots per rank, and on every rank a leaf for each of all these: consecutive leaves on
 * consecutive roots, so that what travels needs no packing. */
graph *graph_in_rows(int nranks, int64_t each);

/* Room for this many roots and leaves, with leaf j in slot j and joined to root 0 of rank 0. */
void part_resize(part *p, int64_t nroots, int64_t nleaves);

void graph_free(graph *g);

/* The slot of leaf j. */
static inline int64_t part_slot(const part *p, int64_t j)
{
  return p->leaf_index != NULL ? p->leaf_index[j] : j;
}

/* How many leaves over all ranks are joined to roots of this one. */
int64_t graph_edges_to(const graph *g, int rank);

/* A forest with this graph: created, its graph set and, by the second, set up. */
grove_forest *graph_forest_raw(grove_context *ctx, const graph *g, int rank);
grove_forest *graph_forest(grove_context *ctx, const graph *g, int rank);

#endif
