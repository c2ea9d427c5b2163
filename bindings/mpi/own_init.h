/* What this MPI calls its own neighbourhood collectives that end with _init. */
#ifndef GROVE_MPI_OWN_INIT_H
#define GROVE_MPI_OWN_INIT_H

#include "forms.h"

#if defined(GROVE_MPI_HAS_INIT)
#define GROVE_PRE_OWN(name) PMPI_Neighbor_##name##_init
#elif defined(GROVE_MPI_HAS_MPIX_INIT)
#include <mpi-ext.h>
#define GROVE_PRE_OWN(name) PMPIX_Neighbor_##name##_init
#endif

#endif
