/* The version: that of the header, which the build's must be too. */
#include "base/status.h"

#ifdef GROVE_BUILD_MAJOR /* the simulation has none */
_Static_assert(GROVE_VERSION_MAJOR == GROVE_BUILD_MAJOR &&
                 GROVE_VERSION_MINOR == GROVE_BUILD_MINOR &&
                 GROVE_VERSION_PATCH == GROVE_BUILD_PATCH,
               "grove.h and CMakeLists.txt name different versions");
#endif

grove_status grove_version(int *major, int *minor, int *patch)
{
  if (major) *major = GROVE_VERSION_MAJOR;
  if (minor) *minor = GROVE_VERSION_MINOR;
  if (patch) *patch = GROVE_VERSION_PATCH;
  return GROVE_OK;
}
