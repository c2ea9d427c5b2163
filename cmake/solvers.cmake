# hypre and Tpetra, for bindings/interop and as peers of the benchmark. Another library can be used
# only if it was built with the same MPI; Debian's are built with Open MPI.
#
#   GROVE_HYPRE, GROVE_TPETRA    targets to link, where found
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
check_c_source_compiles("#include <mpi.h>
#ifndef OPEN_MPI
#error another MPI
#endif
int main(void) { return 0; }" GROVE_OPEN_MPI)
unset(CMAKE_REQUIRED_LIBRARIES)

find_path(GROVE_HYPRE_INCLUDE _hypre_parcsr_mv.h PATH_SUFFIXES hypre)
find_library(GROVE_HYPRE_LIBRARY HYPRE)
if(GROVE_OPEN_MPI AND GROVE_HYPRE_INCLUDE AND GROVE_HYPRE_LIBRARY)
  add_library(GROVE_HYPRE INTERFACE)
  target_include_directories(GROVE_HYPRE SYSTEM INTERFACE ${GROVE_HYPRE_INCLUDE})
  target_link_libraries(GROVE_HYPRE INTERFACE ${GROVE_HYPRE_LIBRARY})
endif()

# Trilinos's own CMake files want the development files of all its packages, so the used ones are
# named.
find_path(GROVE_TPETRA_INCLUDE Tpetra_Import.hpp PATH_SUFFIXES trilinos)
find_path(GROVE_KOKKOS_INCLUDE Kokkos_Core.hpp PATH_SUFFIXES trilinos)
find_path(GROVE_TEUCHOS_INCLUDE Teuchos_RCP.hpp PATH_SUFFIXES trilinos)
set(trilinos "")
foreach(part tpetra tpetraclassic kokkoscore kokkoscontainers teuchoscore teuchoscomm
             teuchosparameterlist teuchosnumerics)
  find_library(GROVE_TRILINOS_${part} NAMES trilinos_${part} ${part})
  list(APPEND trilinos ${GROVE_TRILINOS_${part}})
endforeach()
find_program(GROVE_CXX NAMES c++ g++)
if(GROVE_OPEN_MPI AND GROVE_CXX AND GROVE_TPETRA_INCLUDE AND GROVE_KOKKOS_INCLUDE
   AND GROVE_TEUCHOS_INCLUDE AND NOT trilinos MATCHES "NOTFOUND")
  enable_language(CXX)
  add_library(GROVE_TPETRA INTERFACE)
  target_include_directories(GROVE_TPETRA SYSTEM INTERFACE ${GROVE_TPETRA_INCLUDE})
  target_compile_definitions(GROVE_TPETRA INTERFACE OMPI_SKIP_MPICXX)
  target_link_libraries(GROVE_TPETRA INTERFACE ${trilinos})
endif()
