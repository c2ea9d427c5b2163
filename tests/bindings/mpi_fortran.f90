! A program in Fortran that knows nothing of Grove: a ring, by every neighbourhood collective, and
! MPI_Alltoallv with MPI_IN_PLACE and without. With libgrove_mpi.so before MPI calls go through Grove.
program ring
  use mpi
  implicit none
  integer, parameter :: rounds = 60
  integer :: comm, ierror, rank, size, round, i, wrong, sides(2), counts(2), places(2), types(2)
  integer, allocatable :: all_counts(:), all_places(:)
  integer(kind=MPI_ADDRESS_KIND) :: offsets(2)
  double precision :: sent(6), received(6), mine(3)
  double precision, allocatable :: everything(:), gathered(:)
  wrong = 0
  counts = 3
  places = (/0, 3/)
  offsets = (/0, 24/)
  types = MPI_DOUBLE_PRECISION
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  sides = (/modulo(rank - 1, size), modulo(rank + 1, size)/)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sides, counts, 2, sides, counts, &
                                      MPI_INFO_NULL, .false., comm, ierror)
  allocate(all_counts(size), all_places(size), everything(size), gathered(size))
  all_counts = 1
  all_places = (/(i, i = 0, size - 1)/)
  do round = 1, rounds
    sent = (/(1000.0d0 * rank + round, i = 1, 6)/)
    mine = sent(1:3)
    received = -1
    call MPI_Neighbor_alltoallv(sent, counts, places, MPI_DOUBLE_PRECISION, received, counts, &
                                places, MPI_DOUBLE_PRECISION, comm, ierror)
    call check(received)
    call MPI_Neighbor_alltoall(sent, 3, MPI_DOUBLE_PRECISION, received, 3, MPI_DOUBLE_PRECISION, &
                               comm, ierror)
    call check(received)
    call MPI_Neighbor_alltoallw(sent, counts, offsets, types, received, counts, offsets, types, &
                                comm, ierror)
    call check(received)
    call MPI_Neighbor_allgather(mine, 3, MPI_DOUBLE_PRECISION, received, 3, &
                                MPI_DOUBLE_PRECISION, comm, ierror)
    call check(received)
    call MPI_Neighbor_allgatherv(mine, 3, MPI_DOUBLE_PRECISION, received, counts, places, &
                                 MPI_DOUBLE_PRECISION, comm, ierror)
    call check(received)
    everything = 1000.0d0 * rank + round
    call MPI_Alltoallv(everything, all_counts, all_places, MPI_DOUBLE_PRECISION, gathered, &
                       all_counts, all_places, MPI_DOUBLE_PRECISION, comm, ierror)
    wrong = wrong + count(gathered /= (/(1000.0d0 * i + round, i = 0, size - 1)/))
    call MPI_Alltoallv(MPI_IN_PLACE, all_counts, all_places, MPI_DOUBLE_PRECISION, everything, &
                       all_counts, all_places, MPI_DOUBLE_PRECISION, comm, ierror)
    wrong = wrong + count(everything /= gathered)
    if (ierror /= MPI_SUCCESS) wrong = wrong + 1
  end do
  call MPI_Comm_free(comm, ierror)
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (rank == 0) print '(i0, a)', wrong, ' wrong in Fortran'
  call MPI_Finalize(ierror)
contains
  subroutine check(values)
    double precision, intent(in) :: values(6)
    wrong = wrong + count(values(1:3) /= 1000.0d0 * sides(1) + round)
    wrong = wrong + count(values(4:6) /= 1000.0d0 * sides(2) + round)
  end subroutine check
end program ring
