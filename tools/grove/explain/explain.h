/* The findings of grove explain, for the files that print them.
 */
#ifndef GROVE_TOOLS_EXPLAIN_H
#define GROVE_TOOLS_EXPLAIN_H

#include "grove/explain/communication.h"
#include "grove/explain/topology.h"
#include "route/choose.h"

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct explain_settings {
  const char *file, *machine, *partition, *memory, *picture;
  const char *joined; /* --topology as written; NULL: unknown */
  topology topology;
  int64_t nodes, ppn, unit_bytes;
  int64_t message_cap; /* -1: the machine's own */
  int json;
} explain_settings;

/* What a route would send, and over which links. */
typedef struct explained_route {
  grove_manifest manifest;
  grove_contended contended; /* with --topology */
} explained_route;

enum { EXPLAIN_PICTURES = 2, EXPLAIN_SENTENCE = 1024 };

typedef struct explanation {
  explain_settings set;
  int64_t rows, entries;
  grove_machine *machine;
  grove_topo topo;
  communication_counts counts;
  grove_choice choice;
  const char *alone;                   /* why there is one candidate; NULL: there are several */
  explained_route route[GROVE_ROUTES]; /* of the candidates */
  int npictures;
  char picture[EXPLAIN_PICTURES][EXPLAIN_SENTENCE]; /* sentences of plot_draw */
} explanation;

void explain_print_text(const explanation *x, FILE *file);
void explain_print_json(const explanation *x, FILE *file);

#ifdef __cplusplus
}
#endif

#endif
