/* Messages that are fetched; see the head of mpi_rma.c. */
#ifndef GROVE_TRANSPORT_MPI_RMA_H
#define GROVE_TRANSPORT_MPI_RMA_H

#include "transport/carrier.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const grove_carrier_kind grove_carrier_rma;

/* The number of windows: the same on every rank. */
int grove_windows_count(const struct grove_windows *windows);

/* Frees them all, and waits for the other ranks, which must do the same. */
void grove_windows_free(struct grove_windows **windows);

/* Leaves them to MPI_Finalize, or forgets them if that is over. */
void grove_windows_leave(struct grove_windows **windows);

#ifdef __cplusplus
}
#endif

#endif
