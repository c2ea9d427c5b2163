// Vectors of Tpetra's on memory that is there already, and its beginning and end.
#ifndef GROVE_TPETRA_MEMORY_HPP
#define GROVE_TPETRA_MEMORY_HPP

#include <Tpetra_Core.hpp>
#include <Tpetra_Map.hpp>
#include <Tpetra_Vector.hpp>

// Kokkos must end before MPI does: MPI_Finalize first deletes what is attached to MPI_COMM_SELF.
inline int tpetra_end(MPI_Comm, int, void *, void *)
{
  Tpetra::finalize();
  return MPI_SUCCESS;
}

inline void tpetra_begin(MPI_Comm comm)
{
  static bool begun = false;
  if (begun) return;
  begun = true;
  int argc = 0, key;
  char **argv = nullptr;
  Tpetra::initialize(&argc, &argv, comm);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, tpetra_end, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
}

inline Teuchos::RCP<Tpetra::Vector<double>> tpetra_wrap(
  const Teuchos::RCP<const Tpetra::Map<>> &map, double *values)
{
  using View = Tpetra::Vector<double>::dual_view_type;
  typename View::t_dev memory(values, map->getNodeNumElements(), 1);
  return Teuchos::rcp(new Tpetra::Vector<double>(map, View(memory, memory)));
}

#endif
