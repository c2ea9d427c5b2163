/* Kernels that copy units of a fixed number of bytes. A loop over copies of constant size takes a
 * few instructions per unit. With memcpy of variable size it takes a call per unit.
 *
 * The bytes may have any alignment. Sources and targets do not overlap.
 */
#ifndef GROVE_PACK_COPY_H
#define GROVE_PACK_COPY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GROVE_DIMENSIONS = 3 };

/* A box of units in memory, strides in bytes. In the message the units are contiguous. */
typedef struct grove_box_copy {
  char *memory, *message; /* one of them is only read */
  int64_t n[GROVE_DIMENSIONS], stride[GROVE_DIMENSIONS];
} grove_box_copy;

/* Units anywhere: from + from_at[k] goes to to + to_at[k], in this order. */
typedef struct grove_any_copy {
  char *to;
  const char *from;
  const int64_t *to_at, *from_at;
  int64_t n;
} grove_any_copy;

typedef struct grove_copy {
  int64_t bytes; /* 0: any number, given at the call */
  /* to[k] = from[slots[k]], and to[slots[k]] = from[k], slots `bytes` apart */
  void (*gather)(void *to, const void *from, const int32_t *slots, int64_t n, int64_t bytes);
  void (*scatter)(void *to, const void *from, const int32_t *slots, int64_t n, int64_t bytes);
  /* The same with slots `extent` apart. */
  void (*gather_apart)(void *to, const void *from, const int32_t *slots, int64_t n, int64_t bytes,
                       int64_t extent);
  void (*scatter_apart)(void *to, const void *from, const int32_t *slots, int64_t n, int64_t bytes,
                        int64_t extent);
  void (*gather_box)(const grove_box_copy *box, int64_t bytes); /* into the message */
  void (*scatter_box)(const grove_box_copy *box, int64_t bytes);
  void (*any)(const grove_any_copy *any, int64_t bytes);
  /* to[to_slots[k]] = from[from_slots[k]], slots `bytes` apart on both sides */
  void (*carry)(void *to, const int32_t *to_slots, const void *from, const int32_t *from_slots,
                int64_t n, int64_t bytes);
} grove_copy;

/* The kernels for units of this size; never NULL. */
const grove_copy *grove_copy_for(int64_t bytes);

/* Is a unit of this size copied without its own loop or call? */
int grove_copy_is_constant(int64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
