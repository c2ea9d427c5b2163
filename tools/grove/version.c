/* grove --version. CMake says of this file what the build has (GROVE_BUILT_BY and so on). */
#include "grove/command.h"

#include "device/driver.h"
#include "grove.h"
#include "transport/ofi_library.h"

#include <string.h>

int print_version(void)
{
  char mpi[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(mpi, &length);
  mpi[strcspn(mpi, "\n,")] = '\0';
  printf("grove %d.%d.%d (%s)\n", GROVE_VERSION_MAJOR, GROVE_VERSION_MINOR, GROVE_VERSION_PATCH,
         mpi);
  printf("compiler: %s\n", GROVE_BUILT_BY);
  printf("MPI: %s, MPI %d.%d\n", mpi, MPI_VERSION, MPI_SUBVERSION);
  printf("built with: %s\n", GROVE_BUILT_WITH);
  printf("not found: %s\n", *GROVE_BUILT_WITHOUT ? GROVE_BUILT_WITHOUT : "nothing");
#ifdef GROVE_CUDA
  int ndevices = 0;
  int is_found = grove_driver_cuda.open(&ndevices) == GROVE_OK;
  printf("CUDA: built in (driver %s)\n", is_found ? "found" : "not found");
#else
  printf("CUDA: not built in\n");
#endif
#ifdef GROVE_LIBFABRIC
  if (grove_ofi_open() == GROVE_OK) {
    uint32_t version = grove_ofi.fi_version();
    printf("libfabric: built in (library %u.%u found)\n", FI_MAJOR(version), FI_MINOR(version));
  } else {
    printf("libfabric: built in (library not found)\n");
  }
#else
  printf("libfabric: not built in\n");
#endif
  return EXIT_OK;
}
