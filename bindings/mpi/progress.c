/* MPI's functions that wait for other ranks, while a request that is Grove's is active: the form
 * that does not wait, and polls. Those without such a form (windows, files, new communicators) are
 * MPI's.
 *
 * A message may be received by one form and sent by the other. For collectives all ranks must take
 * the same: they do in a program with grove_mpi.h, as all programs of its job, and where
 * GROVE_PRELOAD_REQUESTS is `all`.
 */
#include "requests.h"

/* `begin` makes `request` of the same arguments. */
#define POLITE(plain, begin, status)                                                               \
  do {                                                                                             \
    MPI_Request request;                                                                           \
    if (!grove_pre_busy()) return plain;                                                           \
    int error_ = begin;                                                                            \
    return error_ == MPI_SUCCESS ? grove_pre_wait(&request, status) : error_;                      \
  } while (0)

GROVE_API int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                       MPI_Comm comm)
{
  POLITE(PMPI_Send(buf, count, type, dest, tag, comm),
         PMPI_Isend(buf, count, type, dest, tag, comm, &request), MPI_STATUS_IGNORE);
}

GROVE_API int MPI_Ssend(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                        MPI_Comm comm)
{
  POLITE(PMPI_Ssend(buf, count, type, dest, tag, comm),
         PMPI_Issend(buf, count, type, dest, tag, comm, &request), MPI_STATUS_IGNORE);
}

GROVE_API int MPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                       MPI_Status *status)
{
  POLITE(PMPI_Recv(buf, count, type, source, tag, comm, status),
         PMPI_Irecv(buf, count, type, source, tag, comm, &request), status);
}

GROVE_API int MPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest,
                           int sendtag, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                           int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
  MPI_Request requests[2];
  if (!grove_pre_busy())
    return PMPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                         source, recvtag, comm, status);
  int error = PMPI_Irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, &requests[0]);
  if (error != MPI_SUCCESS) return error;
  error = PMPI_Isend(sendbuf, sendcount, sendtype, dest, sendtag, comm, &requests[1]);
  if (error == MPI_SUCCESS) error = grove_pre_wait(&requests[1], MPI_STATUS_IGNORE);
  int received = grove_pre_wait(&requests[0], status);
  return error == MPI_SUCCESS ? received : error;
}

GROVE_API int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
  int flag = 0, error = MPI_SUCCESS;
  if (!grove_pre_busy()) return PMPI_Probe(source, tag, comm, status);
  while (!flag && error == MPI_SUCCESS) {
    MPI_Request none = MPI_REQUEST_NULL;
    grove_pre_wait(&none, MPI_STATUS_IGNORE);
    error = PMPI_Iprobe(source, tag, comm, &flag, status);
  }
  return error;
}

/* ---- collectives ---- */

#define TOGETHER(plain, begin)                                                                     \
  do {                                                                                             \
    MPI_Request request;                                                                           \
    if (!grove_pre_polite()) return plain;                                                         \
    int error_ = begin;                                                                            \
    return error_ == MPI_SUCCESS ? grove_pre_wait(&request, MPI_STATUS_IGNORE) : error_;           \
  } while (0)

GROVE_API int MPI_Barrier(MPI_Comm comm)
{
  TOGETHER(PMPI_Barrier(comm), PMPI_Ibarrier(comm, &request));
}

GROVE_API int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
  TOGETHER(PMPI_Bcast(buffer, count, type, root, comm),
           PMPI_Ibcast(buffer, count, type, root, comm, &request));
}

GROVE_API int MPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type,
                         MPI_Op op, int root, MPI_Comm comm)
{
  TOGETHER(PMPI_Reduce(sendbuf, recvbuf, count, type, op, root, comm),
           PMPI_Ireduce(sendbuf, recvbuf, count, type, op, root, comm, &request));
}

GROVE_API int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type,
                            MPI_Op op, MPI_Comm comm)
{
  TOGETHER(PMPI_Allreduce(sendbuf, recvbuf, count, type, op, comm),
           PMPI_Iallreduce(sendbuf, recvbuf, count, type, op, comm, &request));
}

GROVE_API int MPI_Gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                         int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
  TOGETHER(
    PMPI_Gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),
    PMPI_Igather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm, &request));
}

GROVE_API int MPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                            void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
  TOGETHER(
    PMPI_Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm),
    PMPI_Iallgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &request));
}

GROVE_API int MPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                           int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
  TOGETHER(
    PMPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm),
    PMPI_Ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, &request));
}
