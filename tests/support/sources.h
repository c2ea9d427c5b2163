/* Random forests, made by every way to set a graph, together with their graphs. */
#ifndef TEST_SOURCES_H
#define TEST_SOURCES_H

#include "generate.h"
#include "places.h"

typedef enum graph_source { BY_LIST, BY_NUMBER, BY_PATTERN, GRAPH_SOURCES } graph_source;

/* The graph of all ranks, and the forest, set up. */
typedef struct drawn {
  graph *g;
  grove_forest *f;
} drawn;

/* `number` chooses the kind of graph, or the pattern. Collective, like all that follow. */
drawn draw_from(const place *p, rng *r, graph_source s, int64_t number);

/* One case of a test: a part of the job, and numbers that all its ranks draw alike. */
typedef struct trial {
  const place *p;
  int64_t number;
  rng r;
} trial;

trial trial_begin(const place *p, int64_t number);

/* Of any source and kind; one whose roots have at most one leaf; and one with the same numbers of
 * roots as another. */
drawn draw_any(trial *t);
drawn draw_single(trial *t);
drawn draw_beside(trial *t, const graph *other);

/* Frees both, and asserts that nothing made from the forest has changed it. */
void drawn_free(drawn *d, int rank);

/* Asserts that the forest has this graph, leaf by leaf in the order of the list. */
void graph_check(grove_forest *f, const part *p, const char *what);

/* The graph of a forest, put together from all ranks. */
graph *graph_gathered(const place *p, grove_forest *f);

#endif
