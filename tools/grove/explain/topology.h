/* How the nodes of a job are joined, for contention: which link carries the most bytes.
 *
 *     topology t;
 *     if (topology_read("8x8x4:2", &t)) ...             a torus of routers with two nodes each
 *     GROVE_TRY(topology_contend(&t, &manifest, &topo, 8, &out));
 *     how.link_bytes = out.link_bytes;
 *
 * A torus is taken literally: nodes sit on its routers in their order, and every message takes the
 * way of grove_form_torus. A cube is the paper's assumption for unknown networks: the job fills the
 * smallest sufficient cube of routers, bytes cross the average number of links there, and equation
 * (7) gives the bytes per link.
 */
#ifndef GROVE_TOOLS_TOPOLOGY_H
#define GROVE_TOOLS_TOPOLOGY_H

#include "model/forms.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct topology {
  int cube;
  grove_torus torus; /* a cube has the edges that the job needs */
} topology;

/* "cube", two nodes per router, or "cube:N"; "AxBxC", one node per router, or "AxBxC:N", with 1 to
 * 5 dimensions. 0 on success. */
int topology_read(const char *text, topology *out);

/* The number of nodes that fit; a cube has room for all. */
int64_t topology_nodes(const topology *t);

grove_status topology_contend(const topology *t, const grove_manifest *manifest,
                              const grove_topo *topo, int64_t unit_bytes, grove_contended *out);

#ifdef __cplusplus
}
#endif

#endif
