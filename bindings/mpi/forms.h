/* The five neighbourhood collectives: their parameters, and what these say of the two sides. Each
 * has three forms, which are made from this in collectives.c, nonblocking.c and persistent.c. `h`
 * is what is kept for the communicator.
 */
#ifndef GROVE_MPI_FORMS_H
#define GROVE_MPI_FORMS_H

#include "preload.h"

#define GROVE_PRE_FORMS(FORM)                                                                      \
  FORM(ALLTOALL, alltoall)                                                                         \
  FORM(ALLTOALLV, alltoallv)                                                                       \
  FORM(ALLTOALLW, alltoallw)                                                                       \
  FORM(ALLGATHER, allgather)                                                                       \
  FORM(ALLGATHERV, allgatherv)

#define ALLTOALL_PARAMETERS                                                                        \
  const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,         \
    MPI_Datatype recvtype, MPI_Comm comm
#define ALLTOALL_ARGUMENTS sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm
#define ALLTOALL_SEND                                                                              \
  {                                                                                                \
    .buffer = sendbuf, .n = h->outputs, .count = sendcount, .type = sendtype                       \
  }
#define ALLTOALL_RECEIVE                                                                           \
  {                                                                                                \
    .buffer = recvbuf, .n = h->inputs, .count = recvcount, .type = recvtype                        \
  }

#define ALLTOALLV_PARAMETERS                                                                       \
  const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,         \
    void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,             \
    MPI_Comm comm
#define ALLTOALLV_ARGUMENTS                                                                        \
  sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm
#define ALLTOALLV_SEND                                                                             \
  {                                                                                                \
    .buffer = sendbuf, .n = h->outputs, .counts = sendcounts, .steps = sdispls, .type = sendtype   \
  }
#define ALLTOALLV_RECEIVE                                                                          \
  {                                                                                                \
    .buffer = recvbuf, .n = h->inputs, .counts = recvcounts, .steps = rdispls, .type = recvtype    \
  }

#define ALLTOALLW_PARAMETERS                                                                       \
  const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[],                           \
    const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],                         \
    const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm
#define ALLTOALLW_ARGUMENTS                                                                        \
  sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm
#define ALLTOALLW_SEND                                                                             \
  {                                                                                                \
    .buffer = sendbuf, .n = h->outputs, .counts = sendcounts, .offsets = sdispls,                  \
    .types = sendtypes, .type = MPI_DATATYPE_NULL                                                  \
  }
#define ALLTOALLW_RECEIVE                                                                          \
  {                                                                                                \
    .buffer = recvbuf, .n = h->inputs, .counts = recvcounts, .offsets = rdispls,                   \
    .types = recvtypes, .type = MPI_DATATYPE_NULL                                                  \
  }

#define ALLGATHER_PARAMETERS ALLTOALL_PARAMETERS
#define ALLGATHER_ARGUMENTS  ALLTOALL_ARGUMENTS
#define ALLGATHER_SEND                                                                             \
  {                                                                                                \
    .buffer = sendbuf, .n = h->outputs, .count = sendcount, .type = sendtype, .one_block = 1       \
  }
#define ALLGATHER_RECEIVE ALLTOALL_RECEIVE

#define ALLGATHERV_PARAMETERS                                                                      \
  const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,                        \
    const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm
#define ALLGATHERV_ARGUMENTS                                                                       \
  sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm
#define ALLGATHERV_SEND ALLGATHER_SEND
#define ALLGATHERV_RECEIVE                                                                         \
  {                                                                                                \
    .buffer = recvbuf, .n = h->inputs, .counts = recvcounts, .steps = displs, .type = recvtype     \
  }

#endif
