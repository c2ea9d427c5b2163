/* The general way: a few units at a time, each anywhere, in memory or in a message. It serves all
 * but plain lists and regular shapes of plain units: units with gaps, users' operations, slots that
 * share units of a message.
 *
 *     int64_t from[GROVE_BATCH], to[GROVE_BATCH];          filled with offsets in bytes
 *     grove_places memory = {array, from, 1}, message = {buffer, to, 0};
 *     grove_batch_copy(&mover, n, &message, &memory);
 */
#ifndef GROVE_PACK_BATCH_H
#define GROVE_PACK_BATCH_H

#include "pack/pack.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GROVE_BATCH = 256 };

/* Where the units of a batch lie: base + at[k]. */
typedef struct grove_places {
  char *base; /* written only if this is the target */
  const int64_t *at;
  int in_memory; /* laid out as the type says; otherwise as in a message */
} grove_places;

/* to = from, and target = target o value. Moves n units, at most GROVE_BATCH, in order: a target
 * that occurs twice gets both values. */
grove_status grove_batch_copy(const grove_mover *mover, int64_t n, const grove_places *to,
                              const grove_places *from);
grove_status grove_batch_combine(const grove_mover *mover, int64_t n, const grove_places *target,
                                 const grove_places *value);

/* old = target; target = target o value; value = old. The same, by kernels, for units whose pieces
 * are known. */
void grove_batch_fetch(const grove_mover *mover, int64_t n, const grove_places *target,
                       const grove_places *value);

/* For steps that allow no target twice: splits a batch into steps of at most `most` units with
 * different targets. For each target the order of its values stays. */
typedef grove_status grove_batch_step(const grove_mover *mover, int64_t n,
                                      const grove_places *target, const grove_places *value);
grove_status grove_batch_in_steps(const grove_mover *mover, int64_t n, const grove_places *target,
                                  const grove_places *value, grove_batch_step *take, int64_t most);

/* The second, by MPI_Reduce_local: at most m->scratch_units, all targets different. The old targets
 * stay in m->targets, an extent apart. */
grove_status grove_batch_combine_by_mpi(const grove_mover *mover, int64_t n,
                                        const grove_places *target, const grove_places *value);

/* Where the units of n entries of a shape's list lie in memory, from entry `begin` on. */
void grove_batch_slots(const grove_mover *mover, const grove_shape *shape, int64_t begin, int64_t n,
                       int64_t *at);

static inline int64_t grove_batch_of(int64_t left)
{
  const int64_t most = GROVE_BATCH;
  return left < most ? left : most;
}

/* Windows of a shape whose slots share units of the message. (shared.c) */
grove_status grove_shared_pack(const grove_mover *mover, const grove_shape *shape, const void *base,
                               int64_t begin, int64_t count, void *message);
grove_status grove_shared_unpack(const grove_mover *mover, const grove_shape *shape,
                                 const void *message, void *base, int64_t begin, int64_t count);

/* The fetching kernels, for REPLACE and operations with kernels; also, how many of their elements a
 * block of this many bytes has. (fetch.c) */
const grove_fetch_kernels *grove_fetch_kernels_of(const grove_mover *mover, int64_t bytes,
                                                  int64_t *elements);

/* grove_batch_copy through MPI_Pack and MPI_Unpack, for units whose pieces are unknown. No target
 * may occur twice. (opaque.c) */
grove_status grove_opaque_copy(const grove_mover *mover, int64_t n, const grove_places *to,
                               const grove_places *from);

#ifdef __cplusplus
}
#endif

#endif
