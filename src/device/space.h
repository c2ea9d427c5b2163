/* Where arrays lie: a *space* is a kind of memory, and which device has it. Host memory is one;
 * what others can do stands in the table of their kind, and nobody else touches their arrays.
 *
 * Deferred. What pack, unpack and fetch of a kind begin may be under way when they return. They
 * are done in the order in which they were begun:
 *
 *     space.kind->pack(..., space.device);
 *     int64_t mark = space.kind->begun(space.device);
 *     ... later ...
 *     if (space.kind->passed(space.device) >= mark)      it is done
 *
 * Until then mover, shape, array and message must stay. The message is in host memory.
 */
#ifndef GROVE_DEVICE_SPACE_H
#define GROVE_DEVICE_SPACE_H

#include "context/context.h"
#include "pack/pack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The bits by which a carrier says what it reads and writes. */
enum { GROVE_SPACE_HOST = 1 << 0 };

typedef struct grove_space_kind {
  const char *name;
  unsigned bit;
  int deferred; /* see above */
  /* Is the array in memory of this kind? Then of which device. */
  int (*owns)(const void *array, int *device);
  grove_status (*allocate)(int64_t bytes, int device, void **out);
  void (*free)(void *memory, int device);
  /* Between this memory and the host's, either way; done when it returns. */
  grove_status (*copy)(void *to, const void *from, int64_t bytes, int device);
  /* As in pack/pack.h. */
  grove_status (*pack)(const grove_mover *mover, const grove_shape *shape, const void *array,
                       int64_t begin, int64_t count, void *message, int device);
  grove_status (*unpack)(const grove_mover *mover, const grove_shape *shape, const void *message,
                         void *array, int64_t begin, int64_t count, int device);
  grove_status (*fetch)(const grove_mover *mover, const grove_shape *shape, void *array,
                        int64_t begin, int64_t count, void *message, int device);
  int64_t (*begun)(int device);  /* how many of these so far */
  int64_t (*passed)(int device); /* and how many of them are done; never waits */
} grove_space_kind;

typedef struct grove_space {
  const grove_space_kind *kind;
  int device;
} grove_space;

extern const grove_space_kind grove_space_host;

/* The space of an array: the host's, unless one of the context's further kinds owns it. */
grove_space grove_space_of(const grove_context *ctx, const void *array);

static inline int grove_space_is_same(grove_space a, grove_space b)
{
  return a.kind == b.kind && a.device == b.device;
}

#ifdef __cplusplus
}
#endif

#endif
