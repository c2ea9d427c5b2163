#include "scalars.h"

#include "check.h"
#include "random.h"

#include <float.h>
#include <stdbool.h>
#include <string.h>

size_t scalar_bytes(scalar kind)
{
  static const size_t bytes[SCALARS] = {
    [SCALAR_I8] = 1,
    [SCALAR_I16] = 2,
    [SCALAR_I32] = 4,
    [SCALAR_I64] = 8,
    [SCALAR_U8] = 1,
    [SCALAR_U16] = 2,
    [SCALAR_U32] = 4,
    [SCALAR_U64] = 8,
    [SCALAR_BOOL] = sizeof(bool),
    [SCALAR_LOGICAL] = 4,
    [SCALAR_F32] = sizeof(float),
    [SCALAR_F64] = sizeof(double),
    [SCALAR_FL] = sizeof(long double),
    [SCALAR_C32] = 2 * sizeof(float),
    [SCALAR_C64] = 2 * sizeof(double),
    [SCALAR_CL] = 2 * sizeof(long double),
  };
  return bytes[kind];
}

static int is_float(scalar kind)
{
  return kind >= SCALAR_F32 && kind <= SCALAR_FL;
}
static int is_complex(scalar kind)
{
  return kind >= SCALAR_C32;
}
static int is_signed(scalar kind)
{
  return kind <= SCALAR_I64;
}

#define SCRUB_ZEROS(type)                                                                          \
  for (size_t at = 0; at < scalar_bytes(kind); at += sizeof(type)) {                               \
    type part;                                                                                     \
    memcpy(&part, (char *)value + at, sizeof part);                                                \
    if (part == 0) memset((char *)value + at, 0, sizeof part);                                     \
  }

void scalar_scrub_zeros(scalar kind, void *value)
{
  if (kind == SCALAR_F32 || kind == SCALAR_C32) SCRUB_ZEROS(float)
  if (kind == SCALAR_F64 || kind == SCALAR_C64) SCRUB_ZEROS(double)
  if (kind == SCALAR_FL || kind == SCALAR_CL) SCRUB_ZEROS(long double)
}

void scalar_scrub(scalar kind, void *value)
{
  enum { X87_BYTES = 10 };
  size_t n = sizeof(long double);
  if (LDBL_MANT_DIG != 64 || (kind != SCALAR_FL && kind != SCALAR_CL)) return;
  for (size_t at = 0; at < scalar_bytes(kind); at += n)
    memset((char *)value + at + X87_BYTES, 0, n - X87_BYTES);
}

/* ---- integers, as 64 bits that wrap ---- */

static uint64_t load_integer(scalar kind, const void *from)
{
  int8_t i8;
  int16_t i16;
  int32_t i32;
  uint64_t u64 = 0; /* the rest stays zero: little-endian, as everything MPI runs on today */
  switch (kind) {
  case SCALAR_I8: memcpy(&i8, from, 1); return (uint64_t)(int64_t)i8;
  case SCALAR_I16: memcpy(&i16, from, 2); return (uint64_t)(int64_t)i16;
  case SCALAR_I32: memcpy(&i32, from, 4); return (uint64_t)(int64_t)i32;
  default: memcpy(&u64, from, scalar_bytes(kind)); return u64;
  }
}

static void store_integer(scalar kind, uint64_t value, void *to)
{
  memcpy(to, &value, scalar_bytes(kind));
}

static int integer_less(scalar kind, uint64_t a, uint64_t b)
{
  return is_signed(kind) ? (int64_t)a < (int64_t)b : a < b;
}

static uint64_t combine_integers(scalar kind, op_code code, uint64_t a, uint64_t b)
{
  switch (code) {
  case OP_SUM: return a + b;
  case OP_PROD: return a * b;
  case OP_MAX: return integer_less(kind, a, b) ? b : a;
  case OP_MIN: return integer_less(kind, b, a) ? b : a;
  case OP_BAND: return a & b;
  case OP_BOR: return a | b;
  case OP_BXOR: return a ^ b;
  case OP_LAND: return a != 0 && b != 0;
  case OP_LOR: return a != 0 || b != 0;
  case OP_LXOR: return (a != 0) != (b != 0);
  default: CHECK(0, "operation %d is not for integers", code);
  }
}

/* ---- floating point ---- */

static long double load_float(scalar kind, const void *from)
{
  float f;
  double d;
  long double l;
  switch (kind) {
  case SCALAR_F32: memcpy(&f, from, sizeof f); return f;
  case SCALAR_F64: memcpy(&d, from, sizeof d); return d;
  default: memcpy(&l, from, sizeof l); return l;
  }
}

static void store_float(scalar kind, long double value, void *to)
{
  float f = (float)value;
  double d = (double)value;
  switch (kind) {
  case SCALAR_F32: memcpy(to, &f, sizeof f); break;
  case SCALAR_F64: memcpy(to, &d, sizeof d); break;
  default:
    memcpy(to, &value, sizeof value);
    scalar_scrub(SCALAR_FL, to); /* of what happens to lie behind it */
    break;
  }
}

/* Each type in its own arithmetic: a sum rounded twice is another sum. */
static long double add(scalar kind, long double a, long double b)
{
  if (kind == SCALAR_F32) return (float)a + (float)b;
  if (kind == SCALAR_F64) return (double)a + (double)b;
  return a + b;
}

static long double multiply(scalar kind, long double a, long double b)
{
  if (kind == SCALAR_F32) return (float)a * (float)b;
  if (kind == SCALAR_F64) return (double)a * (double)b;
  return a * b;
}

static long double combine_floats(scalar kind, op_code code, long double a, long double b)
{
  switch (code) {
  case OP_SUM: return add(kind, a, b);
  case OP_PROD: return multiply(kind, a, b);
  case OP_MAX: return a > b ? a : b; /* of 0 and -0 the second */
  case OP_MIN: return a < b ? a : b;
  default: CHECK(0, "operation %d is not for floating point", code);
  }
}

static void combine_complex(scalar kind, op_code code, char *to, const char *from)
{
  scalar part = kind - SCALAR_C32 + SCALAR_F32;
  size_t n = scalar_bytes(part);
  long double a = load_float(part, to), b = load_float(part, to + n);
  long double c = load_float(part, from), d = load_float(part, from + n);
  CHECK(code == OP_SUM || code == OP_PROD, "operation %d is not for complex numbers", code);
  if (code == OP_SUM) {
    store_float(part, add(part, a, c), to);
    store_float(part, add(part, b, d), to + n);
  } else {
    store_float(part, add(part, multiply(part, a, c), -multiply(part, b, d)), to);
    store_float(part, add(part, multiply(part, a, d), multiply(part, b, c)), to + n);
  }
}

void scalar_apply(scalar kind, op_code code, void *to, const void *from)
{
  if (code == OP_NO_OP) return;
  if (code == OP_REPLACE)
    memcpy(to, from, scalar_bytes(kind));
  else if (is_complex(kind))
    combine_complex(kind, code, to, from);
  else if (is_float(kind))
    store_float(kind, combine_floats(kind, code, load_float(kind, to), load_float(kind, from)), to);
  else
    store_integer(
      kind, combine_integers(kind, code, load_integer(kind, to), load_integer(kind, from)), to);
}

int scalar_compare(scalar kind, const void *a, const void *b)
{
  if (is_float(kind)) {
    long double x = load_float(kind, a), y = load_float(kind, b);
    return x < y ? -1 : x > y;
  }
  uint64_t x = load_integer(kind, a), y = load_integer(kind, b);
  return integer_less(kind, x, y) ? -1 : integer_less(kind, y, x);
}

/* ---- values ---- */

/* Factors: 1 and -1, and a few twos, so that hundreds of them multiplied stay below 2^31. */
static int64_t draw_factor(uint64_t random, int with_sign)
{
  int64_t magnitude = random % 97 == 0 ? 2 : 1;
  return with_sign && (random >> 32) % 2 ? -magnitude : magnitude;
}

static uint64_t draw_integer(scalar kind, op_code code, uint64_t random)
{
  int wraps =
    scalar_bytes(kind) < 4 || !is_signed(kind); /* overflow is defined, or promoted away */
  switch (code) {
  case OP_LAND: return random % 8 == 0 ? 0 : random >> 8;
  case OP_LOR: return random % 8 != 0 ? 0 : random >> 8;
  case OP_LXOR: return random % 2 == 0 ? 0 : random >> 8;
  case OP_MAXLOC:
  case OP_MINLOC: return random % 5; /* ties are the difficult part */
  case OP_SUM: return wraps ? random : (uint64_t)((int64_t)(random % 2001) - 1000);
  case OP_PROD: return wraps ? random | 1 : (uint64_t)draw_factor(random, 1);
  default: return random;
  }
}

/* Of one in eight: its sign is moved, and counts in a sum of zeros. */
static int draws_zero(op_code code, uint64_t random)
{
  return (code == OP_SUM || code == OP_REPLACE) && (random >> 40) % 8 == 0;
}

static long double draw_zero(uint64_t random)
{
  return (random >> 43) % 2 ? -0.0L : 0.0L;
}

static void draw_complex(scalar kind, op_code code, uint64_t random, char *to)
{
  /* Units of the Gaussian integers: their products are exact. */
  static const int unit[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
  scalar part = kind - SCALAR_C32 + SCALAR_F32;
  size_t n = scalar_bytes(part);
  int product = code == OP_PROD;
  store_float(part, product ? unit[random % 4][0] : (int)(random % 513) - 256, to);
  store_float(part, product ? unit[random % 4][1] : (int)((random >> 16) % 513) - 256, to + n);
  if (draws_zero(code, random)) store_float(part, draw_zero(random), to);
  if (draws_zero(code, random >> 4)) store_float(part, draw_zero(random >> 4), to + n);
}

void scalar_draw(scalar kind, op_code code, uint64_t random, void *to)
{
  memset(to, 0, scalar_bytes(kind));
  if (kind == SCALAR_BOOL || kind == SCALAR_LOGICAL)
    store_integer(kind, draw_integer(kind, code, random) % 2, to);
  else if (is_complex(kind))
    draw_complex(kind, code, random, to);
  else if (!is_float(kind))
    store_integer(kind, draw_integer(kind, code, random), to);
  else if (code == OP_PROD)
    store_float(kind, (long double)draw_factor(random, 1), to);
  else if (code == OP_MAXLOC || code == OP_MINLOC)
    store_float(kind, (long double)(random % 5) / 2, to);
  else if (draws_zero(code, random))
    store_float(kind, draw_zero(random), to);
  else
    store_float(kind, ((long double)(random % 4001) - 2000) / 4, to);
}

void scalar_draw_rough(scalar kind, uint64_t random, void *to)
{
  memset(to, 0, scalar_bytes(kind));
  scalar part = is_complex(kind) ? kind - SCALAR_C32 + SCALAR_F32 : kind;
  size_t n = scalar_bytes(part);
  store_float(part, 1.0L / (long double)(3 + random % 1000003), to);
  if (is_complex(kind))
    store_float(part, -1.0L / (long double)(7 + random % 99991), (char *)to + n);
}
