/* Where arrays lie: a *space* is a kind of memory, and which device has it. Host memory is one.
 * What the others can do stands in the table of their kind, and nobody else touches their arrays.
 *
 * Deferred. What pack, unpack and fetch of a device begin may be under way when they return. For
 * each operation, a kind has a *lift*. It knows all that will move before anything does, so that
 * nothing has to be made while others wait:
 *
 *     kind->open(kind, ctx, device, &lift);
 *     kind->cover(lift, memory, bytes);             messages lie there
 *     kind->prepare(lift, ..., GROVE_MOTION_PACK);  once for all that pack, unpack, fetch get
 *     kind->merge(lift, ..., n, windows);           or for windows that meet in the same slots
 *     ... each time ...
 *     kind->begin(lift, stream);                    the arrays are final where the user's stream is
 *     kind->pack(lift, ...);
 *     int64_t mark = kind->begun(lift, GROVE_OUT);
 *     kind->flush(lift);                            now it is begun
 *     ... later ...
 *     if (kind->passed(lift, GROVE_OUT) >= mark)    it is done
 *
 * What goes one way is done in the order in which it was begun. Between the two ways there is no
 * order. Until it is done, array and message must stay. The shape need not: an operation that is
 * freed changes it at once.
 */
#ifndef GROVE_DEVICE_SPACE_H
#define GROVE_DEVICE_SPACE_H

#include "context/context.h"
#include "pack/pack.h"
#include "pack/recipe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory in whole pages of this size is copied fastest. */
enum { GROVE_PAGE = 4096 };

/* The bits by which a carrier says what it reads and writes. */
enum { GROVE_SPACE_HOST = 1 << 0, GROVE_SPACE_DEVICE = 1 << 1 };

/* Which way units go: pack is OUT, unpack and fetch are IN. */
typedef enum grove_heading { GROVE_OUT, GROVE_IN, GROVE_HEADINGS } grove_heading;

/* Units begin .. begin+count-1 of a shape, and the message in which they lie. */
typedef struct grove_window {
  const grove_shape *shape;
  int64_t begin, count;
  char *message;
} grove_window;

typedef struct grove_lift grove_lift;

/* What a lift has, for reports. */
typedef struct grove_burden {
  int64_t device_bytes;
  int64_t host_bytes, pinned_bytes; /* of messages; pinned: of these */
  unsigned obstacles;               /* what no kernel can do: grove_obstacle */
} grove_burden;

typedef struct grove_space_kind grove_space_kind;

struct grove_space_kind {
  const char *name;
  unsigned bit;
  const struct grove_driver *driver; /* NULL: it needs none */
  /* Is the array in memory of this kind? If so, of which device? */
  int (*owns)(const grove_space_kind *kind, const void *array, int *device);
  /* Within this memory, and between it and the host's; done when it returns. */
  grove_status (*copy)(const grove_space_kind *kind, int device, void *to, const void *from,
                       int64_t bytes);
  /* As in pack/pack.h. */
  grove_status (*pack)(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                       const void *array, int64_t begin, int64_t count, void *message);
  grove_status (*unpack)(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                         const void *message, void *array, int64_t begin, int64_t count);
  grove_status (*fetch)(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                        void *array, int64_t begin, int64_t count, void *message);

  /* ---- of those that defer; NULL in the host's ---- */

  grove_status (*open)(const grove_space_kind *kind, grove_context *ctx, int device,
                       grove_lift **out);
  void (*close)(grove_lift *lift);
  grove_status (*cover)(grove_lift *lift, void *memory, int64_t bytes);
  /* Messages in memory that processes share. `mirror`: the same as `cover`, before others see it.
   * `share`: all see it now, and copies may go there until the context ends. `liken`: what lies at
   * `place`, in memory of another rank, has the mirror of `message`, until the next such call. */
  grove_status (*mirror)(grove_lift *lift, void *memory, int64_t bytes);
  void (*share)(grove_lift *lift, void *region, int64_t bytes);
  void (*liken)(grove_lift *lift, const void *place, int64_t bytes, const void *message);
  grove_status (*prepare)(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                          int64_t begin, int64_t count, grove_motion motion);
  /* Prepares windows that may have something for the same slots. They are unpacked, or fetched, in
   * this order, or in any order where that makes no difference. */
  grove_status (*merge)(grove_lift *lift, const grove_mover *mover, grove_motion motion, int n,
                        const grove_window *windows);
  /* Messages in this part of a cover never leave this memory: the host has nothing to do with them.
   * What is packed there goes IN too, so that it can be unpacked behind that without a wait. */
  grove_status (*keep_inside)(grove_lift *lift, void *memory, int64_t bytes);
  /* Messages there are packed here, and unpacked by a lift of another device of this kind. They go
   * there straight, over all paths, if they are long enough. When they have left, they are there.
   */
  grove_status (*pass_on)(grove_lift *lift, grove_lift *to, void *memory, int64_t bytes);
  grove_status (*begin)(grove_lift *lift, struct CUstream_st *stream);
  grove_status (*flush)(grove_lift *lift);
  /* The same, to be called again and again: what goes IN may wait until what is under way is done,
   * so that more of it begins at once. */
  grove_status (*proceed)(grove_lift *lift);
  int64_t (*begun)(grove_lift *lift, grove_heading heading);  /* how many so far */
  int64_t (*passed)(grove_lift *lift, grove_heading heading); /* how many are done; never waits */
  void (*weigh)(const grove_lift *lift, grove_burden *sum);   /* adds its own */
};

typedef struct grove_space {
  const grove_space_kind *kind;
  int device;
  grove_lift *lift; /* of the operation, once it is bound */
} grove_space;

extern const grove_space_kind grove_space_host, grove_space_emulated, grove_space_cuda;

/* Larger messages are packed, copied and unpacked by chunks of so many bytes. */
int64_t grove_space_chunk(void);

/* Gives the context the memory that the option `device` means, which may take a while: see
 * grove_spaces_look. GROVE_ERR_DEVICE where there is none. This rank's failure. */
grove_status grove_spaces_open(grove_context *ctx);

/* The driver that the option `device` means, open, for whoever has no context. */
grove_status grove_spaces_driver(const grove_options *options, const struct grove_driver **out,
                                 int *ndevices);

/* Does so if this process may have arrays in it already, and costs nothing if not. Called before an
 * operation is made. */
void grove_spaces_look(grove_context *ctx);

/* The device of this rank, of the context's first kind. */
int grove_spaces_device(const grove_context *ctx);

/* The space of an address: the host's, unless one of the context's further kinds owns it. */
grove_space grove_space_found(const grove_context *ctx, const void *address);

/* The space of an array of an operation, which the option `memory` may tell. */
grove_space grove_space_of(const grove_context *ctx, const void *array);

static inline int grove_space_is_same(grove_space a, grove_space b)
{
  return a.kind == b.kind && a.device == b.device;
}

#ifdef __cplusplus
}
#endif

#endif
