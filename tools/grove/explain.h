/* What grove explain has found out, for those who print it.
 */
#ifndef GROVE_TOOLS_EXPLAIN_H
#define GROVE_TOOLS_EXPLAIN_H

#include "grove/communication.h"
#include "grove/topology.h"
#include "model/price.h"

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct explain_settings {
  const char *file, *machine, *partition, *picture;
  const char *joined; /* --topology as written; NULL: nobody knows how the nodes are joined */
  topology topology;
  int64_t nodes, ppn, unit_bytes;
  int json;
} explain_settings;

/* A route: what it would send, and what that would cost. */
typedef struct explained_route {
  const communication_route *about;
  grove_manifest manifest; /* empty where it is not built */
  int64_t messages, units, off_node_messages, off_node_units;
  grove_contended contended; /* with --topology */
  grove_price price;         /* NaN: the machine lacks what it takes */
} explained_route;

enum { EXPLAIN_ROUTES = 8, EXPLAIN_PICTURES = 2, EXPLAIN_SENTENCE = 1024, EXPLAIN_LACKS = 400 };

typedef struct explanation {
  explain_settings set;
  int64_t rows, entries;
  grove_machine *machine;
  grove_topo topo;
  communication_counts counts;
  int nroutes;
  explained_route route[EXPLAIN_ROUTES];
  int choice; /* the cheapest of those that are built; -1: there is no price to choose by */
  int shown;  /* the one that pictures show */
  char lacks[EXPLAIN_LACKS]; /* why there is no price; "": there is one */
  int shared_memory;         /* how messages inside a node are priced */
  int npictures;
  char picture[EXPLAIN_PICTURES][EXPLAIN_SENTENCE]; /* what plot_draw says of them */
} explanation;

void explain_print_text(const explanation *x, FILE *file);
void explain_print_json(const explanation *x, FILE *file);

#ifdef __cplusplus
}
#endif

#endif
