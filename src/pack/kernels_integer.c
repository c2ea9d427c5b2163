/* Kernels of integer types. */
#include "pack/kernels.h"

#define KERNEL(op, name, type, expression)                                                         \
  GROVE_INLINED type op##_##name##_one(type a, type b)                                             \
  {                                                                                                \
    return (type)(expression);                                                                     \
  }                                                                                                \
  GROVE_KERNELS(op##_##name, type)

#define ORDER(name, type)                                                                          \
  KERNEL(max, name, type, a > b ? a : b)                                                           \
  KERNEL(min, name, type, a < b ? a : b)

/* Signed sums and products use the unsigned type, so they wrap around as two's complement. That
 * keeps them defined, and equal to what every MPI gives. */
#define INTEGER(bits, wide)                                                                        \
  ORDER(i##bits, int##bits##_t)                                                                    \
  ORDER(u##bits, uint##bits##_t)                                                                   \
  KERNEL(sum, u##bits, uint##bits##_t, a + b)                                                      \
  KERNEL(prod, u##bits, uint##bits##_t, (wide)a *b)                                                \
  KERNEL(land, u##bits, uint##bits##_t, (a != 0) & (b != 0))                                       \
  KERNEL(lor, u##bits, uint##bits##_t, (a | b) != 0)                                               \
  KERNEL(lxor, u##bits, uint##bits##_t, (a != 0) != (b != 0))                                      \
  KERNEL(band, u##bits, uint##bits##_t, (a & b))                                                   \
  KERNEL(bor, u##bits, uint##bits##_t, a | b)                                                      \
  KERNEL(bxor, u##bits, uint##bits##_t, a ^ b)

INTEGER(8, uint32_t)
INTEGER(16, uint32_t)
INTEGER(32, uint32_t)
INTEGER(64, uint64_t)

#define EXCHANGE(bits)                                                                             \
  GROVE_INLINED void exchange_u##bits##_at(char *target, const char *value)                        \
  {                                                                                                \
    memcpy(target, value, sizeof(uint##bits##_t));                                                 \
  }                                                                                                \
  GROVE_FETCH_AT(exchange_u##bits, uint##bits##_t)                                                 \
  GROVE_FETCH_FLAT(exchange_u##bits, uint##bits##_t)                                               \
  GROVE_FETCH_LISTS(exchange_u##bits, uint##bits##_t)

EXCHANGE(8)
EXCHANGE(16)
EXCHANGE(32)
EXCHANGE(64)

typedef struct row {
  grove_kind kind;
  int64_t bytes;
  const grove_kernels *kernels[GROVE_OPS];
} row;

#define TRUTH(b)                                                                                   \
  [GROVE_OP_LAND] = &land_u##b##_kernels, [GROVE_OP_LOR] = &lor_u##b##_kernels,                    \
  [GROVE_OP_LXOR] = &lxor_u##b##_kernels
#define BITS(b)                                                                                    \
  [GROVE_OP_BAND] = &band_u##b##_kernels, [GROVE_OP_BOR] = &bor_u##b##_kernels,                    \
  [GROVE_OP_BXOR] = &bxor_u##b##_kernels
#define ALL(s, b)                                                                                  \
  [GROVE_OP_SUM] = &sum_u##b##_kernels, [GROVE_OP_PROD] = &prod_u##b##_kernels,                    \
  [GROVE_OP_MAX] = &max_##s##b##_kernels, [GROVE_OP_MIN] = &min_##s##b##_kernels, TRUTH(b),        \
  BITS(b)

static const row rows[] = {
  {GROVE_KIND_SIGNED, 1, {ALL(i, 8)}},    {GROVE_KIND_SIGNED, 2, {ALL(i, 16)}},
  {GROVE_KIND_SIGNED, 4, {ALL(i, 32)}},   {GROVE_KIND_SIGNED, 8, {ALL(i, 64)}},
  {GROVE_KIND_UNSIGNED, 1, {ALL(u, 8)}},  {GROVE_KIND_UNSIGNED, 2, {ALL(u, 16)}},
  {GROVE_KIND_UNSIGNED, 4, {ALL(u, 32)}}, {GROVE_KIND_UNSIGNED, 8, {ALL(u, 64)}},
  {GROVE_KIND_LOGICAL, 1, {TRUTH(8)}},    {GROVE_KIND_LOGICAL, 2, {TRUTH(16)}},
  {GROVE_KIND_LOGICAL, 4, {TRUTH(32)}},   {GROVE_KIND_LOGICAL, 8, {TRUTH(64)}},
  {GROVE_KIND_BYTE, 1, {BITS(8)}},
};

const grove_kernels *grove_kernels_integer(grove_kind kind, int64_t bytes, int number)
{
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].kind == kind && rows[i].bytes == bytes) return rows[i].kernels[number];
  return NULL;
}

const grove_fetch_kernels *grove_kernels_exchange(int64_t bytes)
{
  static const grove_fetch_kernels exchange[] = {[1] = GROVE_FETCHES(exchange_u8),
                                                 [2] = GROVE_FETCHES(exchange_u16),
                                                 [4] = GROVE_FETCHES(exchange_u32),
                                                 [8] = GROVE_FETCHES(exchange_u64)};
  return &exchange[bytes];
}
