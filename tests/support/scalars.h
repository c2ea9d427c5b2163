/* The reference arithmetic: one value at a time, written for reading, shared with no other code. */
#ifndef TEST_SCALARS_H
#define TEST_SCALARS_H

#include <stddef.h>
#include <stdint.h>

typedef enum scalar {
  SCALAR_I8,
  SCALAR_I16,
  SCALAR_I32,
  SCALAR_I64,
  SCALAR_U8,
  SCALAR_U16,
  SCALAR_U32,
  SCALAR_U64,
  SCALAR_BOOL,    /* _Bool: 0 or 1 */
  SCALAR_LOGICAL, /* Fortran's default LOGICAL, as 0 or 1 in four bytes */
  SCALAR_F32,
  SCALAR_F64,
  SCALAR_FL, /* long double */
  SCALAR_C32,
  SCALAR_C64,
  SCALAR_CL,
  SCALARS
} scalar;

typedef enum op_code {
  OP_REPLACE,
  OP_NO_OP, /* what is there stays */
  OP_SUM,
  OP_PROD,
  OP_MAX,
  OP_MIN,
  OP_BAND,
  OP_BOR,
  OP_BXOR,
  OP_LAND,
  OP_LOR,
  OP_LXOR,
  OP_MAXLOC,
  OP_MINLOC,
  OP_USER,
  OP_CODES
} op_code;

size_t scalar_bytes(scalar kind);

/* to = to o from. Not for MAXLOC and MINLOC, which need two values, nor for user operations. */
void scalar_apply(scalar kind, op_code code, void *to, const void *from);

/* For MAXLOC and MINLOC: -1 if a < b, 1 if a > b, else 0. */
int scalar_compare(scalar kind, const void *a, const void *b);

/* A value that suits the operation: its results are exact and never overflow a signed 32 or 64 bit
 * integer, in whatever order some hundreds of them are combined. */
void scalar_draw(scalar kind, op_code code, uint64_t random, void *to);

/* A value whose sums depend on their order. Only floating point and complex. */
void scalar_draw_rough(scalar kind, uint64_t random, void *to);

/* Zeroes the meaningless bytes of the value: the padding at the end of a long double. */
void scalar_scrub(scalar kind, void *value);

/* Removes the sign of every zero. In a product of complex numbers it depends on the order of the
 * factors. Sums of values from scalar_draw() are -0 where all terms are -0, in any order. */
void scalar_scrub_zeros(scalar kind, void *value);

#endif
