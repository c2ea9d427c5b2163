/* Letters over libfabric; see the head of ofi_letters.c. */
#ifndef GROVE_TRANSPORT_OFI_LETTERS_H
#define GROVE_TRANSPORT_OFI_LETTERS_H

#include "transport/carrier.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const grove_carrier_kind grove_carrier_ofi;

/* Is there a provider for letters? This rank's failure. */
grove_status grove_letters_find(grove_context *ctx);

/* Moves on what other ranks want of a context that has had letters of this kind. */
void grove_letters_poll(grove_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
