/* The special way: shapes that need no list, moved in few large steps. It takes only units that are
 * dense, or blocks of bytes a fixed distance apart.
 */
#ifndef GROVE_PACK_REGULAR_H
#define GROVE_PACK_REGULAR_H

#include "pack/pack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A window of a shape, as for grove_pack. Returns 0, and does nothing, if it cannot go this way. */
int grove_regular_pack(const grove_mover *mover, const grove_shape *shape, const void *base,
                       int64_t begin, int64_t count, void *message);

/* The way back, by a copy or by kernels; never by MPI. */
int grove_regular_unpack(const grove_mover *mover, const grove_shape *shape, const void *message,
                         void *base, int64_t begin, int64_t count);

#ifdef __cplusplus
}
#endif

#endif
