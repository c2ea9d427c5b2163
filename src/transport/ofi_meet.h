/* How the ends of letters over libfabric find each other; see ofi_meet.c. */
#ifndef GROVE_TRANSPORT_OFI_MEET_H
#define GROVE_TRANSPORT_OFI_MEET_H

#include "transport/carrier.h"
#include "transport/ofi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is known of a message at both ends. */
typedef struct grove_ofi_end {
  grove_fabric_peer *peer;
  uint64_t tag;
  int64_t chunk; /* the most bytes that libfabric gets at once */
} grove_ofi_end;

/* Fills in `ends`, one for each message. `f` may be NULL without messages. Agreed by all; `mine` is
 * this rank's earlier failure. */
grove_status grove_ofi_meet(const grove_carriage *a, grove_status mine, grove_fabric *f,
                            grove_ofi_end *ends);

#ifdef __cplusplus
}
#endif

#endif
