/* Messages as MPI point-to-point; see the head of mpi_p2p.c. */
#ifndef GROVE_TRANSPORT_MPI_P2P_H
#define GROVE_TRANSPORT_MPI_P2P_H

#include "transport/carrier.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const grove_carrier_kind grove_carrier_p2p;

#ifdef __cplusplus
}
#endif

#endif
