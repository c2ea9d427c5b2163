/* What the ranks of a matrix-vector product must send each other, from the matrix alone: no MPI.
 *
 * The partition gives the owner of row i, which also owns entry i of the vectors. A rank needs
 * entry j of the vector if one of its rows has an entry in column j, even an explicit zero. That is
 * a *value*. All values that one rank needs from another are a *message*.
 */
#ifndef GROVE_TOOLS_COMMUNICATION_H
#define GROVE_TOOLS_COMMUNICATION_H

#include "base/status.h"
#include "grove/partition.h"
#include "plan/manifest.h"
#include "topo/topo.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One edge for each value that a rank needs from another: by needing rank, each once. Roots are
 * numbered as in the whole vector. */
typedef struct communication {
  int64_t count;
  grove_edge *edges;
} communication;

grove_status communication_create(const matrix_market *m, const partition *p, communication *out);
void communication_free(communication *c);

/* Puts rank r on node r / ppn, and the ranks of a node in blocks on its sockets (0: it has one).
 * The caller frees topo->place. */
grove_status communication_topo(int nodes, int ppn, int sockets, grove_topo *out);

/* Messages are ordered pairs of ranks. Numbers per rank count what it sends. */
typedef struct communication_counts {
  int64_t messages, off_node_messages;
  int64_t values, off_node_values; /* counted once per rank that needs it */
  int64_t off_node_values_dedup;   /* counted once per node that needs it */
  int64_t max_messages_per_rank, max_off_node_messages_per_rank;
  int64_t max_nodes_per_node; /* nodes that one node sends to */
} communication_counts;

grove_status communication_count(const communication *c, const partition *p, const grove_topo *topo,
                                 communication_counts *out);

#ifdef __cplusplus
}
#endif

#endif
