/* A star forest: what the user said, and what every rank knows after set-up.
 *
 * Before set-up: the leaf side, if the graph was given as pairs and looks right; else the graph as
 * it was given, perhaps wrong. After: two lists of edges, compact and grouped by the rank at the
 * other end. The leaf side has this rank's leaves by the rank of their root, each group in the
 * order of the user's list; the root side has this rank's roots by the rank of their leaf, in the
 * order that rank has them. So group p of rank q's leaf side and group q of rank p's root side name
 * the same edges in the same order, and a message needs no further words.
 */
#ifndef GROVE_FOREST_FOREST_H
#define GROVE_FOREST_FOREST_H

#include "base/index.h"
#include "base/status.h"
#include "context/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum grove_graph_form {
  GROVE_FORM_NONE,
  GROVE_FORM_PAIRS,  /* roots by rank and index */
  GROVE_FORM_GLOBAL, /* roots by global number */
  GROVE_FORM_PATTERN /* GROVE_FORM_PATTERN + a grove_pattern */
} grove_graph_form;

/* The graph as the user gave it. */
typedef struct grove_graph {
  int form;
  int64_t nroots, nleaves;
  int64_t n;           /* of a pattern */
  int missing;         /* leaves, but no array of roots */
  int64_t *leaf_index; /* NULL: 0, 1, 2, ... */
  grove_root *root;
  int64_t *global_root;
} grove_graph;

/* How many edges of a group are joined to a root that another of its edges is joined to. */
typedef enum grove_repeats {
  GROVE_REPEATS_FEW,
  GROVE_REPEATS_SOME, /* an eighth or more: fewer bytes to send are worth an index more */
  GROVE_REPEATS_MOST  /* a half or more: worth it even where bytes cost little */
} grove_repeats;

/* Of a group of `n` edges that are joined to `distinct` roots. */
static inline grove_repeats grove_repeats_of(int64_t n, int64_t distinct)
{
  if (2 * distinct <= n) return GROVE_REPEATS_MOST;
  return distinct <= n - n / 8 - 1 ? GROVE_REPEATS_SOME : GROVE_REPEATS_FEW;
}

/* One end of all edges of this rank. */
typedef struct grove_side {
  int count;
  int *ranks;        /* at the other end, ascending */
  int64_t *begin;    /* count + 1: group g is begin[g] .. begin[g+1]-1 */
  grove_index slots; /* in this rank's leaf or root array */
  char *repeats;     /* how much of each group names a root again: a grove_repeats */
} grove_side;

struct grove_forest {
  int references;
  grove_context *ctx; /* held */
  char *name;
  int ready;
  int64_t serial; /* the how-manieth to be set up: the same on every rank */
  grove_graph graph;
  grove_index lists; /* before set-up: what the owners of the roots are told; see leaves.c */
  int grouped;       /* the leaf side is there, and with it `lists` */

  int64_t nroots, nleaves;
  int listed; /* the user gave a list of leaf slots */
  grove_side leaves, roots;
  /* In the order of the user's list: index of the root * leaves.count + group of its rank. With the
   * slots of the groups that is the whole list. */
  grove_index edges;
  int64_t leaf_first, leaf_end;

  int64_t *shown_leaf; /* made when grove_forest_graph is first asked */
  grove_root *shown_root;

  struct grove_forest *twin; /* NULL until it is asked for */
  void *compiled;            /* what higher layers keep with the forest; freed by free_compiled */
  void (*free_compiled)(void *compiled);
};

grove_forest *grove_forest_hold(grove_forest *f);
void grove_forest_release(grove_forest *f);

/* What the forest is called in sentences: its name, or "unnamed". */
const char *grove_forest_label(const grove_forest *f);

void grove_graph_free(grove_graph *graph);
void grove_side_free(grove_side *side);

/* Root indices are smaller than this, so that any fits beside the number of a group. */
static inline int64_t grove_root_limit(int ranks)
{
  return INT64_MAX / ranks;
}

/* All edges of this rank's leaves, in the order of the user's list:
 *
 *     GROVE_TRY(grove_tour_begin(f, &tour));
 *     while (grove_tour_step(&tour)) ... tour.leaf, tour.root ...
 *     grove_tour_end(&tour);
 */
typedef struct grove_tour {
  const grove_forest *forest;
  int64_t *next; /* of each group, the place of its next leaf */
  int64_t step;
  int64_t leaf;
  grove_root root;
} grove_tour;

grove_status grove_tour_begin(const grove_forest *f, grove_tour *out);
static inline int grove_tour_step(grove_tour *tour)
{
  const grove_forest *f = tour->forest;
  if (tour->step == f->nleaves) return 0;
  int64_t edge = grove_index_at(&f->edges, tour->step++), index = edge / f->leaves.count;
  int g = (int)(edge - index * f->leaves.count);
  tour->leaf = grove_index_at(&f->leaves.slots, tour->next[g]++);
  tour->root = (grove_root){f->leaves.ranks[g], index};
  return 1;
}
void grove_tour_end(grove_tour *tour);

/* Where the roots of this rank's leaves are on their own ranks, in the order of leaves.slots. The
 * caller frees the list. */
grove_status grove_leaves_roots(const grove_forest *f, int64_t **out);

/* The multi-forest has a root for each edge: those of root 0 first, in the order of its leaves,
 * then those of root 1, ... (multi.c). Here: which of them each entry of roots.slots is. The list
 * is not settled; the caller frees it. */
grove_status grove_multi_slots(const grove_forest *f, grove_index *out);

/* The twin of a forest that is set up: its edges, with the leaves numbered as they come in the
 * user's list, for operations that the user has no part in (twin.c). Borrowed. This rank's
 * failure. */
grove_status grove_forest_twin(grove_forest *f, grove_forest **out);
/* The forest goes: its twin, if there is one, may live longer. */
void grove_twin_inherit(grove_forest *f);

/* Makes the leaf side from pairs that are right as far as this rank can see. Others leave the
 * forest without one, which is no failure: grove_graph_validate says what is wrong with them. */
grove_status grove_leaves_create(grove_forest *f, const grove_graph *graph);
void grove_leaves_free(grove_forest *f);

/* Some slot that a list of slots from `least` to `most` names twice, or -1. */
grove_status grove_find_duplicate(int64_t n, const int64_t *list, int64_t least, int64_t most,
                                  int64_t *slot);

/* Looks at what one rank can see by itself: counts, NULLs, leaf slots, root ranks. This rank's
 * failure. */
grove_status grove_graph_validate(const grove_graph *graph, const grove_context *ctx);

/* As grove_forest_set_up, but this rank may have failed to set the graph, which is then agreed upon
 * too. */
grove_status grove_forest_complete(grove_forest *f, grove_status mine);

/* Turns global numbers or a pattern into pairs. Every rank must come here, with a graph that is
 * valid as far as it can see. Collective, but the outcome is this rank's: to be agreed upon. */
grove_status grove_graph_resolve(grove_graph *graph, grove_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
