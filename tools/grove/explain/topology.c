#include "grove/explain/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUTERS = 100000000, GEMINI_NODES = 2 };

/* A number from 1 on, followed by one of `ends`; 0: it is not. */
static int read_edge(const char **text, const char *ends)
{
  char *end = NULL;
  if (strspn(*text, "0123456789") == 0) return 0;
  long number = strtol(*text, &end, 10);
  if (number < 1 || number > MOST_ROUTERS || !strchr(ends, *end)) return 0;
  *text = end;
  return (int)number;
}

static int read_torus(const char **text, grove_torus *t)
{
  int64_t routers = 1;
  for (t->ndims = 0; t->ndims < GROVE_TORUS_DIMENSIONS; ++*text) {
    int n = read_edge(text, "x:");
    if (n == 0 || (routers *= n) > MOST_ROUTERS) return 1;
    t->dims[t->ndims++] = n;
    if (**text != 'x') return 0;
  }
  return 1;
}

int topology_read(const char *text, topology *out)
{
  topology t = {.cube = strncmp(text, "cube", 4) == 0, .torus = {.ndims = 3, .wraps = 1}};
  if (t.cube)
    text += 4;
  else if (read_torus(&text, &t.torus))
    return 1;
  if (t.cube) t.torus.wraps = 0; /* a part of a larger torus (Fig. 8) */
  t.torus.nodes_per_router = t.cube ? GEMINI_NODES : 1;
  if (*text == ':') {
    text++;
    t.torus.nodes_per_router = read_edge(&text, "");
  }
  if (*text || t.torus.nodes_per_router == 0) return 1;
  *out = t;
  return 0;
}

int64_t topology_nodes(const topology *t)
{
  int64_t nodes = t->torus.nodes_per_router;
  if (t->cube) return INT64_MAX;
  for (int d = 0; d < t->torus.ndims; d++) nodes *= t->torus.dims[d];
  return nodes;
}

/* The smallest cube with room for the nodes. */
static grove_torus cube_for(const topology *t, int64_t nodes)
{
  grove_torus cube = t->torus;
  int64_t per = cube.nodes_per_router, routers = (nodes + per - 1) / per, edge = 1;
  while (edge * edge * edge < routers) edge++;
  for (int d = 0; d < 3; d++) cube.dims[d] = (int)edge;
  return cube;
}

grove_status topology_contend(const topology *t, const grove_manifest *manifest,
                              const grove_topo *topo, int64_t unit_bytes, grove_contended *out)
{
  grove_status status = GROVE_OK;
  grove_traffic *traffic = NULL;
  int64_t n = 0;
  double bytes = 0;
  GROVE_ROOM(traffic, manifest->count);
  for (int64_t i = 0; i < manifest->count; i++) {
    const grove_shipment *s = &manifest->shipments[i];
    if (grove_topo_same_node(topo, s->from, s->to)) continue;
    traffic[n] = (grove_traffic){.from = topo->place[s->from].node,
                                 .to = topo->place[s->to].node,
                                 .bytes = (double)(s->units * unit_bytes)};
    bytes += traffic[n++].bytes;
  }
  grove_torus torus = t->cube ? cube_for(t, topo->nnodes) : t->torus;
  GROVE_TRY(grove_form_torus(&torus, n, traffic, out));
  if (t->cube) { /* (7) has two nodes per router */
    double ppn = (double)topo->nranks / topo->nnodes, routers = torus.nodes_per_router / 2.0;
    out->link_bytes = routers * grove_form_cube_bytes(out->hops, bytes / topo->nranks, ppn);
  }
fail:
  free(traffic);
  return status;
}
