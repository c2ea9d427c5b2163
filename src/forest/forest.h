/* A star forest: what the user said, and what every rank knows after set-up.
 *
 * Before set-up: the leaf side, if the graph was given as pairs and looks right; else the graph as
 * it was given, perhaps wrong.
 *
 * After set-up: two lists of edges, compact and grouped by the rank at the other end. The leaf side
 * has this rank's leaves by the rank of their root, each group in the order of the user's list. The
 * root side has this rank's roots by the rank of their leaf, in that rank's order. So group p of
 * rank q's leaf side and group q of rank p's root side name the same edges in the same order, and
 * messages need no indices.
 */
#ifndef GROVE_FOREST_FOREST_H
#define GROVE_FOREST_FOREST_H

#include "base/index.h"
#include "base/status.h"
#include "context/context.h"

#include <stdlib.h>

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
  int duplicates;      /* a slot may be a leaf several times */
  int missing;         /* leaves, but no array of roots */
  int64_t *leaf_index; /* NULL: 0, 1, 2, ... */
  grove_root *root;
  int64_t *global_root;
  const int32_t *leaf_index32; /* the user's, while the graph is set; then NULL */
  const grove_root32 *root32;
} grove_graph;

/* How many edges of a group share their root with another edge of the group. */
typedef enum grove_repeats {
  GROVE_REPEATS_FEW,
  GROVE_REPEATS_SOME, /* an eighth or more: saving bytes is worth one more index */
  GROVE_REPEATS_MOST  /* a half or more: worth it even where bytes are cheap */
} grove_repeats;

/* For a group of `n` edges joined to `distinct` roots. */
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
  char *repeats;     /* how often each group repeats roots: a grove_repeats */
} grove_side;

/* The options that a forest may have for itself: how its operations are made. */
typedef struct grove_settings {
  int route, effort, choose_after, deterministic, order;
} grove_settings;

struct grove_forest {
  int references;
  grove_context *ctx; /* held */
  char *name;
  int ready;
  int64_t serial; /* its number in the order of set-up: the same on every rank */
  grove_graph graph;
  grove_index lists; /* before set-up: what the owners of the roots will be told; see leaves.c */
  int grouped;       /* the leaf side exists, and with it `lists` */

  int64_t nroots, nleaves;
  int listed; /* the user gave a list of leaf slots */
  int allows_duplicates;
  grove_settings own;                  /* of these, those that were set: */
  unsigned set;                        /* bits, by their places in the table of settings.c */
  int changes;                         /* how often */
  int has_duplicates, some_duplicates; /* slots that are leaves several times: here, on any rank */
  grove_side leaves, roots;
  /* In the order of the user's list: the index of the root and, in the lowest bits, the group of
   * its rank (grove_edge_code). Together with the slots of the groups this is the whole list. */
  grove_index edges;
  int64_t leaf_first, leaf_end;

  int64_t *shown_leaf; /* made when grove_forest_graph is first asked */
  grove_root *shown_root;
  int64_t *shown_slots;  /* of the leaf side, when grove_forest_root_lists is first asked */
  int64_t *shown_remote; /* ... and the roots, as their ranks number them */
  int64_t *shown_roots;  /* of the root side, when grove_forest_leaf_lists is */

  struct grove_forest *twin; /* NULL until it is asked for */
  void *compiled;            /* what higher layers keep with the forest; freed by free_compiled */
  void (*free_compiled)(void *compiled);
};

grove_forest *grove_forest_hold(grove_forest *f);
void grove_forest_release(grove_forest *f);

/* The forest's name in sentences: its name, or "unnamed". */
const char *grove_forest_label(const grove_forest *f);

/* The forest's own options, and the context's where it has none (settings.c). */
grove_settings grove_forest_settings_of(const grove_forest *f);
grove_settings grove_context_settings(const grove_context *ctx);

/* Counts changes of the options that its operations are made by: the context's and its own. */
static inline int grove_forest_generation(const grove_forest *f)
{
  return f->ctx->generation + f->changes;
}

/* GROVE_ERR_STATE: this call needs a forest that is set up. */
grove_status grove_forest_not_ready(const grove_forest *f, const char *call);
/* The same of a call that all ranks make, in the same words. */
grove_status grove_forest_all_not_ready(const grove_forest *f, const char *call);

void grove_graph_free(grove_graph *graph);
void grove_side_free(grove_side *side);

/* Bits that hold any number from 0 to `count` - 1. */
static inline int grove_bits(int count)
{
  int bits = 0;
  while (bits < 31 && 1 << bits < count) bits++;
  return bits;
}

/* The most bits of a root index, so that it fits beside the number of a rank or group. */
static inline int grove_root_bits(int ranks)
{
  return 63 - grove_bits(ranks);
}

static inline int64_t grove_edge_code(int64_t index, int bits, int64_t group)
{
  return index << bits | group;
}

static inline int64_t grove_edge_group(int64_t edge, int bits)
{
  return edge & (((int64_t)1 << bits) - 1);
}

/* All edges of this rank's leaves, in the order of the user's list:
 *
 *     GROVE_TRY(grove_tour_begin(f, &tour));
 *     while (grove_tour_step(&tour)) ... tour.leaf, tour.root ...
 *     grove_tour_end(&tour);
 */
typedef struct grove_tour {
  const grove_forest *forest;
  int bits;
  int64_t *next; /* of each group, the place of its next leaf */
  int64_t step;
  int64_t leaf;
  grove_root root;
} grove_tour;

/* Where each group of leaves begins; the caller frees the list. This rank's failure. */
grove_status grove_leaves_begin(const grove_forest *f, int64_t **out);

/* Inline, so that loops keep the tour in registers. This rank's failure. */
static inline grove_status grove_tour_begin(const grove_forest *f, grove_tour *out)
{
  int64_t *next = NULL;
  grove_status status = grove_leaves_begin(f, &next);
  out->forest = f;
  out->bits = grove_bits(f->leaves.count);
  out->next = next;
  out->step = 0;
  return status;
}

static inline int grove_tour_step(grove_tour *tour)
{
  const grove_forest *f = tour->forest;
  if (tour->step == f->nleaves) return 0;
  int64_t edge = grove_index_at(&f->edges, tour->step), g = grove_edge_group(edge, tour->bits);
  tour->leaf = f->listed ? grove_index_at(&f->leaves.slots, tour->next[g]++) : tour->step;
  tour->step++;
  tour->root = (grove_root){f->leaves.ranks[g], edge >> tour->bits};
  return 1;
}

static inline void grove_tour_end(grove_tour *tour)
{
  free(tour->next);
}

/* The indices, on their own ranks, of the roots of this rank's leaves, in the order of
 * leaves.slots. The caller frees the list. */
grove_status grove_leaves_roots(const grove_forest *f, int64_t **out);

/* The positions in the user's list of this rank's leaves, in the order of leaves.slots. The caller
 * frees the list. This rank's failure. */
grove_status grove_leaves_positions(const grove_forest *f, grove_index *out);

/* The multi-forest has a root for each edge: first those of root 0, in the order of its leaves,
 * then those of root 1, ... (multi.c). This gives the one for each entry of roots.slots. The list
 * is not settled; the caller frees it. */
grove_status grove_multi_slots(const grove_forest *f, grove_index *out);

/* The twin of a forest that is set up: the same edges, with the leaves numbered in the order of the
 * user's list, for the library's own operations (twin.c). Borrowed. This rank's failure. */
grove_status grove_forest_twin(grove_forest *f, grove_forest **out);
/* The forest is being freed: its twin, if there is one, may live longer. */
void grove_twin_inherit(grove_forest *f);

/* Makes the leaf side from pairs that are right as far as this rank can see. For wrong pairs it
 * makes none, which is no failure: grove_graph_validate says what is wrong. */
grove_status grove_leaves_create(grove_forest *f, const grove_graph *graph);
void grove_leaves_free(grove_forest *f);

/* Entry i of the list of slots that a graph has, of either width. */
static inline int64_t grove_graph_slot(const grove_graph *g, int64_t i)
{
  return g->leaf_index32 ? g->leaf_index32[i] : g->leaf_index[i];
}

/* A slot that occurs twice in that list, which has slots from `least` to `most`; or -1. */
grove_status grove_find_duplicate(const grove_graph *graph, int64_t least, int64_t most,
                                  int64_t *slot);

/* Checks what one rank can see by itself: counts, NULLs, leaf slots, root ranks. This rank's
 * failure. */
grove_status grove_graph_validate(const grove_graph *graph, const grove_context *ctx);

/* As grove_forest_set_up, but this rank may have failed to set the graph; that is agreed upon
 * too. */
grove_status grove_forest_complete(grove_forest *f, grove_status mine);

/* Turns global numbers or a pattern into pairs. Every rank must call it, with a graph that is valid
 * as far as it can see. Collective, but the outcome is this rank's: to be agreed upon. */
grove_status grove_graph_resolve(grove_graph *graph, grove_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
