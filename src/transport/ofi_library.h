/* libfabric's own functions. The library is opened when it is first asked for: a program with Grove
 * in it does not load it for nothing, and runs where there is none. All else of libfabric is inline
 * in its headers, and reaches a provider by the objects that these functions make.
 */
#ifndef GROVE_TRANSPORT_OFI_LIBRARY_H
#define GROVE_TRANSPORT_OFI_LIBRARY_H

#include "base/status.h"

#ifdef GROVE_LIBFABRIC

#include <rdma/fabric.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What Grove asks providers for: the interface of this version. */
#define GROVE_OFI_VERSION FI_VERSION(1, 14)

#define GROVE_OFI_FUNCTIONS(EACH)                                                                  \
  EACH(fi_getinfo)                                                                                 \
  EACH(fi_freeinfo)                                                                                \
  EACH(fi_dupinfo)                                                                                 \
  EACH(fi_fabric)                                                                                  \
  EACH(fi_strerror)                                                                                \
  EACH(fi_tostr)                                                                                   \
  EACH(fi_version)

#define GROVE_OFI_POINTER(name) __typeof__(&(name)) name;
typedef struct grove_ofi_functions {
  GROVE_OFI_FUNCTIONS(GROVE_OFI_POINTER)
} grove_ofi_functions;
#undef GROVE_OFI_POINTER

/* Of use after grove_ofi_open: grove_ofi.fi_getinfo(...). */
extern grove_ofi_functions grove_ofi;

#ifdef __cplusplus
}
#endif

#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Opens the library once in a process, and then says the same again. GROVE_ERR_UNSUPPORTED: it was
 * not built in, or is not here. Any thread. */
grove_status grove_ofi_open(void);

#ifdef __cplusplus
}
#endif

#endif
