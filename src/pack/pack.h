/* Between the user's arrays and messages. A message holds units without gaps between them. Pack
 * reads the slots of a shape into a message. Unpack writes a message to the slots, or combines it
 * with what is there, in the order of the list: a slot that is named twice gets both. Fetch
 * combines as well, and brings back the old values.
 *
 * All take a window of the message, so that it can travel in fragments:
 *
 *     grove_pack(&mover, &shape, array, begin, count, fragment);       units begin .. begin+count-1
 *     grove_unpack(&mover, &shape, fragment, array, begin, count);
 */
#ifndef GROVE_PACK_PACK_H
#define GROVE_PACK_PACK_H

#include "pack/combine.h"
#include "pack/shape.h"
#include "pack/unit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What an operation moves, and how: its unit, its MPI operation, and memory for units on their way.
 * Made once, so that packing allocates nothing. */
typedef struct grove_mover {
  grove_unit unit;
  grove_combine combine;
  const grove_copy *copy; /* of whole units */
  int64_t scratch_units;  /* that fit into each of these memories, if needed: */
  void *targets, *values; /* as in the user's arrays, for MPI_Reduce_local; address of slot 0 */
  void *packed;           /* as in a message */
  void *memory;           /* holds all of these */
} grove_mover;

/* Takes `unit` over on success. */
grove_status grove_mover_create(const grove_unit *unit, const grove_combine *combine,
                                grove_mover *out);
void grove_mover_free(grove_mover *mover);
/* It goes on without MPI's datatype, if it can. */
void grove_mover_forget_type(grove_mover *mover);

/* True if the slots in memory already are the message and need no packing. */
int grove_pack_is_trivial(const grove_unit *unit, const grove_shape *shape);

/* If several slots share a unit of the message, their values are combined into it. */
grove_status grove_pack(const grove_mover *mover, const grove_shape *shape, const void *base,
                        int64_t begin, int64_t count, void *message);

/* The message is only read, so it may lie in memory that others read too. */
grove_status grove_unpack(const grove_mover *mover, const grove_shape *shape, const void *message,
                          void *base, int64_t begin, int64_t count);

/* Fetch and op, in the order of the list: old = slot; slot = slot o unit; unit = old. The old value
 * takes the unit's place in the message. A slot that is named twice is changed twice. The shape's
 * slots share no units. */
grove_status grove_pack_fetch(const grove_mover *mover, const grove_shape *shape, void *base,
                              int64_t begin, int64_t count, void *message);

/* The same, where the units come from an array and the old values go to the same slots of another
 * array, or of the same one. Their targets are entries begin, begin + 1, ... of `shape`. `plain`
 * has the same unit, and replaces; `buffer` has room for `room` units. */
grove_status grove_pack_fetch_own(const grove_mover *mover, const grove_shape *shape, void *base,
                                  int64_t begin, const grove_mover *plain, const grove_shape *own,
                                  const void *values, void *old, void *buffer, int64_t room);

/* Moves units between two arrays, as a message that never travels. Two lists of equal length name
 * the slots. `buffer` has room for `room` units. */
grove_status grove_move(const grove_mover *mover, const grove_shape *from_shape, const void *from,
                        const grove_shape *to_shape, void *to, void *buffer, int64_t room);

#ifdef __cplusplus
}
#endif

#endif
