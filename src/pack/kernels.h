/* Kernels of arithmetic: target = target o value, for one operation on one C type, over units in
 * one of four layouts. Each works through its list in order: a target that is named twice gets both
 * values. Kernels that fetch replace each value by the old value of its target.
 *
 * The elements may have any alignment. Targets and values do not overlap.
 *
 * They do not depend on MPI. They take longer to compile than all the rest, so builds with several
 * MPIs share the compiled files (CMakeLists.txt).
 */
#ifndef GROVE_PACK_KERNELS_H
#define GROVE_PACK_KERNELS_H

#include "pack/copy.h"
#include "pack/kind.h"

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Predefined operations that have kernels; after them, the two that need none. */
typedef enum grove_op_number {
  GROVE_OP_SUM,
  GROVE_OP_PROD,
  GROVE_OP_MAX,
  GROVE_OP_MIN,
  GROVE_OP_LAND,
  GROVE_OP_LOR,
  GROVE_OP_LXOR,
  GROVE_OP_BAND,
  GROVE_OP_BOR,
  GROVE_OP_BXOR,
  GROVE_OP_MAXLOC,
  GROVE_OP_MINLOC,
  GROVE_OP_REPLACE,
  GROVE_OP_NO_OP,
  GROVE_OPS
} grove_op_number;

/* target[i] = target[i] o value[i] for n elements of one type, both contiguous. */
typedef void grove_kernel(void *target, const void *value, int64_t n);

/* A box of single elements; the values are contiguous. Strides in bytes. */
typedef struct grove_box_combine {
  char *target;
  const char *value;
  int64_t n[GROVE_DIMENSIONS], stride[GROVE_DIMENSIONS];
} grove_box_combine;

/* Blocks of elements anywhere: target + target_at[k] and value + value_at[k], in this order. */
typedef struct grove_any_combine {
  char *target;
  char *value; /* written only by kernels that fetch */
  const int64_t *target_at, *value_at;
  int64_t n, elements;
  int64_t target_index, value_index; /* of pairs: distance of the index from its value */
} grove_any_combine;

/* old = target; target = target o value; value = old. Layouts as for `grove_kernels`, except that
 * `flat` takes targets as they lie in an array, so it also serves pairs with a gap. */
typedef struct grove_fetch_kernels {
  void (*flat)(void *target, void *value, int64_t n);
  void (*listed)(void *target, const int32_t *slots, void *value, int64_t n, int64_t elements);
  void (*any)(const grove_any_combine *any);
  /* From blocks in an array: their targets' old values go to the same slots of another array, or of
   * the same one. NULL: not for this type. */
  void (*carried)(void *target, const int32_t *target_slots, const void *value,
                  const int32_t *value_slots, void *old, int64_t n, int64_t elements);
} grove_fetch_kernels;

/* `listed` takes blocks of elements as they lie in an array, values as they lie in a message. */
typedef struct grove_kernels {
  grove_kernel *flat; /* NULL: pairs with a gap, which no message has */
  void (*listed)(void *target, const int32_t *slots, const void *value, int64_t n,
                 int64_t elements);
  void (*box)(const grove_box_combine *box);
  void (*any)(const grove_any_combine *any);
  /* Blocks in an array to blocks in an array; NULL: not for this type. */
  void (*carried)(void *target, const int32_t *target_slots, const void *value,
                  const int32_t *value_slots, int64_t n, int64_t elements);
  grove_fetch_kernels fetch;
} grove_kernels;

/* NULL if the operation has no meaning on the type. */
const grove_kernels *grove_kernels_integer(grove_kind kind, int64_t bytes, int number);
const grove_kernels *grove_kernels_float(grove_kind kind, int64_t bytes, int number);

/* Kernels that fetch by exchange, target = value, in words of 1, 2, 4 or 8 bytes. */
const grove_fetch_kernels *grove_kernels_exchange(int64_t bytes);

/* ---- macros for the files of kernels ---- */

/* For functions on one element, and for the loops made for each number of elements. In a file with
 * hundreds of them compilers stop inlining, and call one for every element: sums at random places
 * were four times slower (GCC 13, x86-64). */
#define GROVE_INLINED static inline __attribute__((always_inline))

/* to = first ? a : b, where `to` may be a or b; `first` is 0 or 1. Written plainly it becomes a
 * branch around a store that changes nothing. With random data processors guess that branch wrong
 * (GCC 12, aarch64: five times slower). */
#define GROVE_CHOOSE(bits)                                                                         \
  GROVE_INLINED void grove_choose_##bits(char *to, const char *a, const char *b, int first)        \
  {                                                                                                \
    uint##bits##_t x, y;                                                                           \
    memcpy(&x, a, sizeof x);                                                                       \
    memcpy(&y, b, sizeof y);                                                                       \
    y ^= (uint##bits##_t)(0 - (uint##bits##_t)first) & (x ^ y);                                    \
    memcpy(to, &y, sizeof y);                                                                      \
  }

GROVE_CHOOSE(16)
GROVE_CHOOSE(32)
GROVE_CHOOSE(64)

GROVE_INLINED void grove_choose(char *to, const char *a, const char *b, size_t bytes, int first)
{
  if (bytes == 2) {
    grove_choose_16(to, a, b, first);
  } else if (bytes == 8) {
    grove_choose_64(to, a, b, first);
  } else {
    for (size_t i = 0; i < bytes; i += 4) grove_choose_32(to + i, a + i, b + i, first);
  }
}

/* All kernels from a function `name`_one(a, b), as `name`_kernels. Elements are not copied first. A
 * long double of x86 has 16 bytes, of which 10 are written; it could not be read again before the
 * processor is through with the copy. */
#define GROVE_KERNELS(name, type)                                                                  \
  GROVE_INLINED void name##_at(char *target, const char *value)                                    \
  {                                                                                                \
    typedef type anywhere __attribute__((aligned(1), may_alias));                                  \
    anywhere *t = (anywhere *)target;                                                              \
    const anywhere *v = (const anywhere *)value;                                                   \
    *t = name##_one(*t, *v);                                                                       \
  }                                                                                                \
  GROVE_KERNELS_OF_AT(name, type)

/* From a function `name`_at(target, value) for one element at these places. */
#define GROVE_KERNELS_OF_AT(name, type)                                                            \
  static void name##_flat(void *target, const void *value, int64_t n)                              \
  {                                                                                                \
    enum { BYTES = sizeof(type) };                                                                 \
    char *restrict t = (char *)target;                                                             \
    const char *restrict v = (const char *)value;                                                  \
    for (int64_t i = 0; i < n; i++) name##_at(t + i * BYTES, v + i * BYTES);                       \
  }                                                                                                \
  GROVE_FETCH_AT(name, type)                                                                       \
  GROVE_FETCH_FLAT(name, type)                                                                     \
  GROVE_KERNELS_BUT_FLAT(name, type)

/* The rest of the kernels, given those for one element and for a row, with and without fetching. */
#define GROVE_KERNELS_BUT_FLAT(name, type)                                                         \
  GROVE_KERNEL_LISTED(name, type, listed, name##_at, name##_flat, const)                           \
  GROVE_KERNEL_BOX(name, name##_at, sizeof(type))                                                  \
  GROVE_KERNEL_ANY(name, any, name##_at, name##_flat, const)                                       \
  static void name##_carried(void *target, const int32_t *target_slots, const void *value,         \
                             const int32_t *value_slots, int64_t n, int64_t elements)              \
  {                                                                                                \
    char *restrict t = (char *)target;                                                             \
    const char *restrict v = (const char *)value;                                                  \
    int64_t bytes = elements * (int64_t)sizeof(type);                                              \
    if (elements == 1)                                                                             \
      for (int64_t k = 0; k < n; k++)                                                              \
        name##_at(t + target_slots[k] * (int64_t)sizeof(type),                                     \
                  v + value_slots[k] * (int64_t)sizeof(type));                                     \
    else                                                                                           \
      for (int64_t k = 0; k < n; k++)                                                              \
        name##_flat(t + target_slots[k] * bytes, v + value_slots[k] * bytes, elements);            \
  }                                                                                                \
  GROVE_FETCH_LISTS(name, type)                                                                    \
  static const grove_kernels name##_kernels = {name##_flat, name##_listed,  name##_box,            \
                                               name##_any,  name##_carried, GROVE_FETCHES(name)};

/* The kernels that fetch, from `name`_at: for one element, for a row, for lists. */
#define GROVE_FETCH_AT(name, type)                                                                 \
  GROVE_INLINED void name##_fetch_at(char *target, char *value)                                    \
  {                                                                                                \
    type old;                                                                                      \
    memcpy(&old, target, sizeof old);                                                              \
    name##_at(target, value);                                                                      \
    memcpy(value, &old, sizeof old);                                                               \
  }

#define GROVE_FETCH_FLAT(name, type)                                                               \
  static void name##_fetch_flat(void *target, void *value, int64_t n)                              \
  {                                                                                                \
    enum { BYTES = sizeof(type) };                                                                 \
    char *restrict t = (char *)target;                                                             \
    char *restrict v = (char *)value;                                                              \
    for (int64_t i = 0; i < n; i++) name##_fetch_at(t + i * BYTES, v + i * BYTES);                 \
  }

#define GROVE_FETCH_LISTS(name, type)                                                              \
  GROVE_INLINED void name##_fetch_carry(char *t, const int32_t *restrict t_slots, const char *v,   \
                                        const int32_t *restrict v_slots, char *o, int64_t n,       \
                                        int64_t elements)                                          \
  {                                                                                                \
    enum { BYTES = sizeof(type) };                                                                 \
    for (int64_t k = 0; k < n; k++)                                                                \
      for (int64_t i = 0; i < elements; i++) {                                                     \
        int64_t t_at = (t_slots[k] * elements + i) * BYTES;                                        \
        int64_t v_at = (v_slots[k] * elements + i) * BYTES;                                        \
        type was;                                                                                  \
        memcpy(&was, t + t_at, sizeof was);                                                        \
        name##_at(t + t_at, v + v_at);                                                             \
        memcpy(o + v_at, &was, sizeof was);                                                        \
      }                                                                                            \
  }                                                                                                \
  static void name##_fetch_carried(void *target, const int32_t *target_slots, const void *value,   \
                                   const int32_t *value_slots, void *old, int64_t n,               \
                                   int64_t elements)                                               \
  {                                                                                                \
    char *t = (char *)target, *o = (char *)old;                                                    \
    const char *v = (const char *)value;                                                           \
    if (elements == 1)                                                                             \
      name##_fetch_carry(t, target_slots, v, value_slots, o, n, 1);                                \
    else                                                                                           \
      name##_fetch_carry(t, target_slots, v, value_slots, o, n, elements);                         \
  }                                                                                                \
  GROVE_KERNEL_LISTED(name, type, fetch_listed, name##_fetch_at, name##_fetch_flat, )              \
  GROVE_KERNEL_ANY(name, fetch_any, name##_fetch_at, name##_fetch_flat, )

#define GROVE_FETCHES(name)                                                                        \
  {                                                                                                \
    name##_fetch_flat, name##_fetch_listed, name##_fetch_any, name##_fetch_carried                 \
  }

/* AT(target, value) takes one element, FLAT(target, value, n) a block; CONST if they only read the
 * values. Small blocks have loops of their own: a variable number of turns would cost more than the
 * work itself. */
#define GROVE_KERNEL_LISTED(name, type, way, AT, FLAT, CONST)                                      \
  GROVE_INLINED void name##_##way##_blocks(char *restrict t, const int32_t *restrict slots,        \
                                           CONST char *restrict v, int64_t n, int64_t elements)    \
  {                                                                                                \
    enum { BYTES = sizeof(type) };                                                                 \
    for (int64_t k = 0; k < n; k++)                                                                \
      for (int64_t i = 0; i < elements; i++)                                                       \
        AT(t + (slots[k] * elements + i) * BYTES, v + (k * elements + i) * BYTES);                 \
  }                                                                                                \
  static void name##_##way(void *target, const int32_t *slots, CONST void *value, int64_t n,       \
                           int64_t elements)                                                       \
  {                                                                                                \
    char *t = (char *)target;                                                                      \
    CONST char *v = (CONST char *)value;                                                           \
    int64_t bytes = elements * (int64_t)sizeof(type);                                              \
    switch (elements) {                                                                            \
    case 1: name##_##way##_blocks(t, slots, v, n, 1); break;                                       \
    case 2: name##_##way##_blocks(t, slots, v, n, 2); break;                                       \
    case 3: name##_##way##_blocks(t, slots, v, n, 3); break;                                       \
    case 4: name##_##way##_blocks(t, slots, v, n, 4); break;                                       \
    default:                                                                                       \
      for (int64_t k = 0; k < n; k++) FLAT(t + slots[k] * bytes, v + k * bytes, elements);         \
    }                                                                                              \
  }

#define GROVE_KERNEL_ANY(name, way, AT, FLAT, CONST)                                               \
  static void name##_##way(const grove_any_combine *a)                                             \
  {                                                                                                \
    char *restrict t = a->target;                                                                  \
    CONST char *restrict v = a->value;                                                             \
    const int64_t *restrict t_at = a->target_at, *restrict v_at = a->value_at;                     \
    if (a->elements == 1)                                                                          \
      for (int64_t k = 0; k < a->n; k++) AT(t + t_at[k], v + v_at[k]);                             \
    else                                                                                           \
      for (int64_t k = 0; k < a->n; k++) FLAT(t + t_at[k], v + v_at[k], a->elements);              \
  }

/* AT(target, value) combines one element, which has this many bytes in a message. */
#define GROVE_KERNEL_BOX(name, AT, message_bytes)                                                  \
  static void name##_box(const grove_box_combine *b)                                               \
  {                                                                                                \
    const char *restrict v = b->value;                                                             \
    for (int64_t k = 0; k < b->n[2]; k++)                                                          \
      for (int64_t j = 0; j < b->n[1]; j++) {                                                      \
        char *restrict t = b->target + j * b->stride[1] + k * b->stride[2];                        \
        int64_t n = b->n[0], stride = b->stride[0];                                                \
        for (int64_t i = 0; i < n; i++, v += (message_bytes)) AT(t + i * stride, v);               \
      }                                                                                            \
  }

#ifdef __cplusplus
}
#endif

#endif
