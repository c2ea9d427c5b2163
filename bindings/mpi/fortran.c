/* The neighbourhood collectives that wait, from Fortran (mpif.h, `use mpi`). Open MPI's functions
 * for Fortran call PMPI_ ones, which nobody can come before; those of MPICH call the ones of C, so
 * that this file is not needed there. Names are those of gfortran and its like: small letters, and
 * an underscore.
 */
#include "preload.h"

#include <stdlib.h>

_Static_assert(sizeof(MPI_Fint) == sizeof(int), "counts are passed on as they are");

/* Variables of Open MPI's whose addresses Fortran passes for MPI_BOTTOM and MPI_IN_PLACE. */
extern int mpi_fortran_bottom_ __attribute__((weak));
extern int mpi_fortran_in_place_ __attribute__((weak));

static void *address(void *buffer)
{
  if (buffer == &mpi_fortran_bottom_) return MPI_BOTTOM;
  return buffer == &mpi_fortran_in_place_ ? MPI_IN_PLACE : buffer;
}

static MPI_Comm comm_of(const MPI_Fint *comm)
{
  return PMPI_Comm_f2c(*comm);
}

static MPI_Datatype type_of(const MPI_Fint *type)
{
  return PMPI_Type_f2c(*type);
}

GROVE_API void mpi_neighbor_alltoall_(void *sendbuf, const MPI_Fint *sendcount,
                                      const MPI_Fint *sendtype, void *recvbuf,
                                      const MPI_Fint *recvcount, const MPI_Fint *recvtype,
                                      const MPI_Fint *comm, MPI_Fint *ierror)
{
  *ierror = MPI_Neighbor_alltoall(address(sendbuf), *sendcount, type_of(sendtype), address(recvbuf),
                                  *recvcount, type_of(recvtype), comm_of(comm));
}

GROVE_API void mpi_neighbor_alltoallv_(void *sendbuf, const MPI_Fint *sendcounts,
                                       const MPI_Fint *sdispls, const MPI_Fint *sendtype,
                                       void *recvbuf, const MPI_Fint *recvcounts,
                                       const MPI_Fint *rdispls, const MPI_Fint *recvtype,
                                       const MPI_Fint *comm, MPI_Fint *ierror)
{
  *ierror =
    MPI_Neighbor_alltoallv(address(sendbuf), sendcounts, sdispls, type_of(sendtype),
                           address(recvbuf), recvcounts, rdispls, type_of(recvtype), comm_of(comm));
}

GROVE_API void mpi_neighbor_allgather_(void *sendbuf, const MPI_Fint *sendcount,
                                       const MPI_Fint *sendtype, void *recvbuf,
                                       const MPI_Fint *recvcount, const MPI_Fint *recvtype,
                                       const MPI_Fint *comm, MPI_Fint *ierror)
{
  *ierror = MPI_Neighbor_allgather(address(sendbuf), *sendcount, type_of(sendtype),
                                   address(recvbuf), *recvcount, type_of(recvtype), comm_of(comm));
}

GROVE_API void mpi_neighbor_allgatherv_(void *sendbuf, const MPI_Fint *sendcount,
                                        const MPI_Fint *sendtype, void *recvbuf,
                                        const MPI_Fint *recvcounts, const MPI_Fint *displs,
                                        const MPI_Fint *recvtype, const MPI_Fint *comm,
                                        MPI_Fint *ierror)
{
  *ierror =
    MPI_Neighbor_allgatherv(address(sendbuf), *sendcount, type_of(sendtype), address(recvbuf),
                            recvcounts, displs, type_of(recvtype), comm_of(comm));
}

GROVE_API void mpi_alltoallv_(void *sendbuf, const MPI_Fint *sendcounts, const MPI_Fint *sdispls,
                              const MPI_Fint *sendtype, void *recvbuf, const MPI_Fint *recvcounts,
                              const MPI_Fint *rdispls, const MPI_Fint *recvtype,
                              const MPI_Fint *comm, MPI_Fint *ierror)
{
  *ierror = MPI_Alltoallv(address(sendbuf), sendcounts, sdispls, type_of(sendtype),
                          address(recvbuf), recvcounts, rdispls, type_of(recvtype), comm_of(comm));
}

/* ---- lists of types ---- */

static MPI_Datatype *types_of(const MPI_Fint *from, int n)
{
  MPI_Datatype *types = malloc(((size_t)n + 1) * sizeof *types);
  if (!types) {
    fputs("libgrove_mpi: no memory for the types of a call\n", stderr);
    PMPI_Abort(MPI_COMM_WORLD, 1); /* the others wait for this rank's blocks */
  }
  for (int i = 0; types && i < n; i++) types[i] = PMPI_Type_f2c(from[i]);
  return types;
}

/* Where comm has no topology MPI says so, before it looks at the lists. */
GROVE_API void mpi_neighbor_alltoallw_(void *sendbuf, const MPI_Fint *sendcounts,
                                       const MPI_Aint *sdispls, const MPI_Fint *sendtypes,
                                       void *recvbuf, const MPI_Fint *recvcounts,
                                       const MPI_Aint *rdispls, const MPI_Fint *recvtypes,
                                       const MPI_Fint *comm, MPI_Fint *ierror)
{
  grove_pre_held *h = grove_pre_held_get(comm_of(comm));
  int outputs = h && h->outputs > 0 ? h->outputs : 0, inputs = h && h->inputs > 0 ? h->inputs : 0;
  MPI_Datatype *sent = types_of(sendtypes, outputs), *received = types_of(recvtypes, inputs);
  *ierror = MPI_Neighbor_alltoallw(address(sendbuf), sendcounts, sdispls, sent, address(recvbuf),
                                   recvcounts, rdispls, received, comm_of(comm));
  free(sent);
  free(received);
}

/* MPI's own ends by PMPI_Finalize. */
GROVE_API void mpi_finalize_(MPI_Fint *ierror)
{
  *ierror = MPI_Finalize();
}
