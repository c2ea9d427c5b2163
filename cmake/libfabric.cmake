# libfabric, where it is wanted: sets GROVE_WITH_LIBFABRIC, and LIBFABRIC_VERSION. Only its headers are
# used here. The library is opened when it is first needed (src/transport/ofi_library.c), since what
# it is linked with may take a quarter of a second to load, which every process would pay.
set(GROVE_LIBFABRIC "AUTO" CACHE STRING "libfabric: ON, OFF, or AUTO (where pkg-config finds 1.14 or newer)")
set_property(CACHE GROVE_LIBFABRIC PROPERTY STRINGS AUTO ON OFF)

set(GROVE_WITH_LIBFABRIC OFF)
if(NOT GROVE_LIBFABRIC)
  return()
endif()
pkg_check_modules(LIBFABRIC QUIET libfabric>=1.14)
if(LIBFABRIC_FOUND)
  set(GROVE_WITH_LIBFABRIC ON)
elseif(NOT GROVE_LIBFABRIC STREQUAL "AUTO")
  message(FATAL_ERROR "GROVE_LIBFABRIC is ${GROVE_LIBFABRIC}, and pkg-config finds no libfabric>=1.14")
endif()
