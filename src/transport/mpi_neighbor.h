/* Messages as neighbourhood collectives; see the head of mpi_neighbor.c. */
#ifndef GROVE_TRANSPORT_MPI_NEIGHBOR_H
#define GROVE_TRANSPORT_MPI_NEIGHBOR_H

#include "transport/carrier.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const grove_carrier_kind grove_carrier_neighbor;

/* The number of communicators: the same on every rank. */
int grove_graphs_count(const struct grove_graphs *graphs);

/* Frees the communicators that no rank uses any more. Collective; this rank's failure. */
grove_status grove_graphs_sweep(grove_context *ctx, struct grove_graphs *graphs);

/* Forgets the others. Local. */
void grove_graphs_free(struct grove_graphs **graphs);

#ifdef __cplusplus
}
#endif

#endif
