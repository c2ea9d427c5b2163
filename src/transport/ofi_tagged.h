/* Messages with tags over a fabric, straight from and into the memory of those who use them. The
 * receiver gives out the tag. Messages of one tag match receives in the order in which both were
 * posted. A receive can be taken back.
 *
 *     uint64_t tag = grove_fabric_take_tag(f);                   told to the sender, by MPI
 *     grove_fabric_receive(f, tag, into, bytes, describes, &t, &taken);
 *     grove_fabric_send(f, peer, tag, from, bytes, describes, &t, &taken);
 *     grove_fabric_poll(f)                                       calls t.ended
 *
 * All of them use the first endpoint of a fabric. What `taken` says 0 of is to be offered again.
 */
#ifndef GROVE_TRANSPORT_OFI_TAGGED_H
#define GROVE_TRANSPORT_OFI_TAGGED_H

#include "transport/ofi_parts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One that libfabric has, or may get. It stays where it is. */
typedef struct grove_fabric_tagged {
  grove_fabric_op op; /* first: libfabric gives this back */
  /* `error` is 0, or one of libfabric's: FI_ECANCELED of a receive that was taken back. */
  void (*ended)(struct grove_fabric_tagged *t, int error, int64_t bytes);
} grove_fabric_tagged;

/* No other has it, or had it. */
uint64_t grove_fabric_take_tag(grove_fabric *f);

grove_status grove_fabric_send(grove_fabric *f, const grove_fabric_peer *peer, uint64_t tag,
                               const void *from, int64_t bytes, void *describes,
                               grove_fabric_tagged *t, int *taken);
grove_status grove_fabric_receive(grove_fabric *f, uint64_t tag, void *into, int64_t bytes,
                                  void *describes, grove_fabric_tagged *t, int *taken);

/* A receive whose message has not come ends with FI_ECANCELED; another as usual. Either way some
 * poll tells. */
void grove_fabric_cancel(grove_fabric *f, grove_fabric_tagged *t);

#ifdef __cplusplus
}
#endif

#endif
