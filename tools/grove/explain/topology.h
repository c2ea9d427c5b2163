/* How the nodes of a job are joined, for contention: which link carries the most bytes.
 *
 *     topology t;
 *     if (topology_read("8x8x4:2", &t)) ...             a torus of routers with two nodes each
 *     GROVE_TRY(topology_contend(&t, &manifest, &topo, 8, &out));
 *     how.link_bytes = out.link_bytes;
 *
 * A torus is taken at its word: nodes sit on its routers in their order, every message goes the way
 * that grove_form_torus says. A cube is what the paper assumes where nobody knows better: the job
 * fills a cube of routers just large enough, bytes travel as many links there as they do on
 * average, and equation (7) tells what a link carries.
 */
#ifndef GROVE_TOOLS_TOPOLOGY_H
#define GROVE_TOOLS_TOPOLOGY_H

#include "model/forms.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct topology {
  int cube;
  grove_torus torus; /* a cube's edges are those that the job needs */
} topology;

/* "cube", two nodes a router, or "cube:N"; "AxBxC", one node a router, or "AxBxC:N", with 1 to 5
 * dimensions. 0 on success. */
int topology_read(const char *text, topology *out);

/* The nodes that there is room for; a cube has room for all. */
int64_t topology_nodes(const topology *t);

grove_status topology_contend(const topology *t, const grove_manifest *manifest,
                              const grove_topo *topo, int64_t unit_bytes, grove_contended *out);

#ifdef __cplusplus
}
#endif

#endif
