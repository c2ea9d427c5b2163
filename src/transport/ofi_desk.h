/* The fabrics of a context. Each is opened when it is first asked for, and goes with the context:
 * one for ranks of the same host and one for others, or the one that the option `fabric` names. The
 * options `endpoints` and `fabric_writes` count when it is opened.
 */
#ifndef GROVE_TRANSPORT_OFI_DESK_H
#define GROVE_TRANSPORT_OFI_DESK_H

#include "context/context.h"
#include "transport/ofi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The one for messages to and from this rank, as the options say. `provider`: what the other side
 * has chosen, if it is known; else NULL. This rank's failure. */
grove_status grove_fabric_of(grove_context *ctx, int peer, const char *provider,
                             grove_fabric **out);

/* How many endpoints that one has. Takes the context's lock: for whoever is not inside. */
grove_status grove_fabric_count_endpoints(grove_context *ctx, int peer, int *n);

/* The one that reaches ranks of all hosts, also for those of this one. This rank's failure. */
grove_status grove_fabric_of_all(grove_context *ctx, grove_fabric **out);

/* Polls all of them, for others. */
void grove_fabrics_poll(grove_context *ctx);

/* Between these two all fabrics of the context are polled now and then, whatever the context waits
 * for: somebody may ask something of who is not in a round. */
void grove_fabric_hold(grove_context *ctx);
void grove_fabric_release(grove_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
