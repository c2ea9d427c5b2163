/* MPI's functions that wait: each describes its two sides, and asks choice.c. */
#include "forms.h"
#include "requests.h"

/* What a wrapper does once its sides are known: `call` is MPI's own, and `begin` the same without
 * waiting, which is taken where Grove must be polled meanwhile. */
#define GO(kind, send, receive, call, begin)                                                       \
  do {                                                                                             \
    int result_;                                                                                   \
    grove_pre_inside++;                                                                            \
    grove_pre_way way_ = grove_pre_go(h, kind, &(send), &(receive), NULL, &result_);               \
    grove_pre_inside--;                                                                            \
    if (way_ == GO_GROVE) return result_;                                                          \
    double before_ = way_ == GO_MPI_TIMED ? PMPI_Wtime() : 0;                                      \
    if (grove_pre_polite()) {                                                                      \
      MPI_Request request;                                                                         \
      result_ = begin;                                                                             \
      if (result_ == MPI_SUCCESS) result_ = grove_pre_wait(&request, MPI_STATUS_IGNORE);           \
    } else {                                                                                       \
      result_ = call;                                                                              \
    }                                                                                              \
    if (way_ == GO_MPI_TIMED) grove_pre_went(h, kind, PMPI_Wtime() - before_);                     \
    return result_;                                                                                \
  } while (0)

/* Calls without a topology, or with types that MPI refuses, are MPI's. */
grove_pre_held *grove_pre_neighbourhood(MPI_Comm comm)
{
  grove_pre_held *h;
  if (!grove_pre_settings_get()->on || grove_pre_inside) return NULL;
  h = grove_pre_held_get(comm);
  return h && h->outputs >= 0 ? h : NULL;
}

#define BLOCKING(FORM, name)                                                                       \
  GROVE_API int MPI_Neighbor_##name(FORM##_PARAMETERS)                                             \
  {                                                                                                \
    grove_pre_held *h = grove_pre_neighbourhood(comm);                                             \
    if (!h) return PMPI_Neighbor_##name(FORM##_ARGUMENTS);                                         \
    grove_pre_side send = FORM##_SEND;                                                             \
    grove_pre_side receive = FORM##_RECEIVE;                                                       \
    GO(CALL_NEIGHBOR_##FORM, send, receive, PMPI_Neighbor_##name(FORM##_ARGUMENTS),                \
       PMPI_Ineighbor_##name(FORM##_ARGUMENTS, &request));                                         \
  }

GROVE_PRE_FORMS(BLOCKING)

GROVE_API int MPI_Alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[],
                            MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                            const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
{
  /* MPI_IN_PLACE is given by all ranks, or by none. */
  grove_pre_held *h = NULL;
  if (grove_pre_settings_get()->on && !grove_pre_inside && sendbuf != MPI_IN_PLACE)
    h = grove_pre_held_get(comm);
  if (!h)
    return PMPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                          recvtype, comm);
  grove_pre_side send = {
    .buffer = sendbuf, .n = h->size, .counts = sendcounts, .steps = sdispls, .type = sendtype};
  grove_pre_side receive = {
    .buffer = recvbuf, .n = h->size, .counts = recvcounts, .steps = rdispls, .type = recvtype};
  GO(CALL_ALLTOALLV, send, receive,
     PMPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
                    comm),
     PMPI_Ialltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
                     comm, &request));
}

void grove_pre_end(void)
{
  grove_pre_held_finalize();
  grove_pre_log_print();
  grove_pre_requests_free();
}

GROVE_API int MPI_Finalize(void)
{
  grove_pre_end();
  return PMPI_Finalize();
}
