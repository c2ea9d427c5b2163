/* The special way: shapes that need no list, moved by few large steps. Units that are neither dense
 * nor blocks of bytes a fixed distance apart do not take it.
 */
#ifndef GROVE_PACK_REGULAR_H
#define GROVE_PACK_REGULAR_H

#include "pack/pack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A window of a shape, as grove_pack has it. Returns 0 if it is not for this way: nothing has
 * happened then. */
int grove_regular_pack(const grove_mover *mover, const grove_shape *shape, const void *base,
                       int64_t begin, int64_t count, void *message);

/* The same back, by a copy or by kernels; never by MPI. */
int grove_regular_unpack(const grove_mover *mover, const grove_shape *shape, const void *message,
                         void *base, int64_t begin, int64_t count);

#ifdef __cplusplus
}
#endif

#endif
