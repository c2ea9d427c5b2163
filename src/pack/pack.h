/* Between the user's arrays and messages. A message holds the units of a list of slots one behind
 * the other. Pack reads slots into a message; unpack writes a message to slots, or combines it with
 * what is there, slot by slot in the order of the list: a slot that is named twice gets both.
 */
#ifndef GROVE_PACK_PACK_H
#define GROVE_PACK_PACK_H

#include "base/index.h"
#include "pack/combine.h"
#include "pack/unit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory for one unit in each of the two layouts, as far as combining units with gaps needs it;
 * made once, so that packing allocates nothing. */
typedef struct grove_scratch {
  void *native; /* where a unit of the type may be put; already shifted by its true lower bound */
  void *packed;
  void *memory;
} grove_scratch;

grove_status grove_scratch_create(const grove_unit *unit, const grove_combine *combine,
                                  grove_scratch *out);
void grove_scratch_free(grove_scratch *scratch);

/* True when the slots in memory are already the message: no packing is needed. */
int grove_pack_is_trivial(const grove_unit *unit, const grove_index *slots);

/* Slots begin .. begin+count-1 of the list, from the array at `base` to `message`. */
grove_status grove_pack(const grove_unit *unit, MPI_Comm comm, const void *base,
                        const grove_index *slots, int64_t begin, int64_t count, void *message);

/* The way back. The message may be used as scratch: its contents are lost for some operations. */
grove_status grove_unpack(const grove_unit *unit, const grove_combine *combine, MPI_Comm comm,
                          const grove_scratch *scratch, void *message, void *base,
                          const grove_index *slots, int64_t begin, int64_t count);

#ifdef __cplusplus
}
#endif

#endif
