#include "pack/combine.h"

#include <complex.h>
#include <stdbool.h>

/* ---- kernels: one loop for every meaningful pair of operation and C type ---- */

#define KERNEL(op, name, type, expression)                                                         \
  static void op##_##name(void *target, const void *value, int64_t n)                              \
  {                                                                                                \
    type *t = target;                                                                              \
    const type *v = value;                                                                         \
    for (int64_t i = 0; i < n; i++) {                                                              \
      type a = t[i], b = v[i];                                                                     \
      t[i] = (type)(expression);                                                                   \
    }                                                                                              \
  }

#define LOGICAL_KERNELS(name, type)                                                                \
  KERNEL(land, name, type, (a && b))                                                               \
  KERNEL(lor, name, type, (a || b))                                                                \
  KERNEL(lxor, name, type, !a != !b)
#define BITWISE_KERNELS(name, type)                                                                \
  KERNEL(band, name, type, (a & b))                                                                \
  KERNEL(bor, name, type, a | b)                                                                   \
  KERNEL(bxor, name, type, a ^ b)
#define RING_KERNELS(name, type)                                                                   \
  KERNEL(sum, name, type, a + b)                                                                   \
  KERNEL(prod, name, type, (a * b))
#define ORDER_KERNELS(name, type)                                                                  \
  KERNEL(max, name, type, a > b ? a : b)                                                           \
  KERNEL(min, name, type, a < b ? a : b)

/* Signed sums and products wrap around as two's complement, so they use the unsigned type; that
 * keeps them defined, and equal to what every MPI gives. */
#define INTEGER_KERNELS(bits)                                                                      \
  ORDER_KERNELS(i##bits, int##bits##_t)                                                            \
  ORDER_KERNELS(u##bits, uint##bits##_t)                                                           \
  KERNEL(sum, u##bits, uint##bits##_t, a + b)                                                      \
  KERNEL(prod, u##bits, uint##bits##_t, ((uint64_t)a * b))                                         \
  LOGICAL_KERNELS(u##bits, uint##bits##_t)                                                         \
  BITWISE_KERNELS(u##bits, uint##bits##_t)

INTEGER_KERNELS(8)
INTEGER_KERNELS(16)
INTEGER_KERNELS(32)
INTEGER_KERNELS(64)
RING_KERNELS(f, float)
RING_KERNELS(d, double)
RING_KERNELS(l, long double)
ORDER_KERNELS(f, float)
ORDER_KERNELS(d, double)
ORDER_KERNELS(l, long double)
RING_KERNELS(cf, float complex)
RING_KERNELS(cd, double complex)
RING_KERNELS(cl, long double complex)

/* ---- which kernel ---- */

/* The operations that have kernels, in the order of the columns below, and the others. */
enum { SUM, PROD, MAX, MIN, LAND, LOR, LXOR, BAND, BOR, BXOR, OPERATIONS };
enum { REPLACE = OPERATIONS, NO_OP, MAXLOC, MINLOC, ALL_OPERATIONS };

static int operation_number(MPI_Op op)
{
  const MPI_Op ops[ALL_OPERATIONS] = {
    [SUM] = MPI_SUM,       [PROD] = MPI_PROD,    [MAX] = MPI_MAX,         [MIN] = MPI_MIN,
    [LAND] = MPI_LAND,     [LOR] = MPI_LOR,      [LXOR] = MPI_LXOR,       [BAND] = MPI_BAND,
    [BOR] = MPI_BOR,       [BXOR] = MPI_BXOR,    [REPLACE] = MPI_REPLACE, [NO_OP] = MPI_NO_OP,
    [MAXLOC] = MPI_MAXLOC, [MINLOC] = MPI_MINLOC};
  for (int i = 0; i < ALL_OPERATIONS; i++)
    if (ops[i] == op) return i;
  return -1;
}

#define COLUMNS_INTEGER(s, bits)                                                                   \
  sum_u##bits, prod_u##bits, max_##s##bits, min_##s##bits, land_u##bits, lor_u##bits,              \
    lxor_u##bits, band_u##bits, bor_u##bits, bxor_u##bits
#define COLUMNS_FLOAT(f)   sum_##f, prod_##f, max_##f, min_##f
#define COLUMNS_COMPLEX(c) sum_##c, prod_##c
#define COLUMNS_LOGICAL(b) [LAND] = land_u##b, lor_u##b, lxor_u##b

typedef struct kernel_row {
  grove_kind kind;
  int64_t bytes;
  grove_kernel *kernel[OPERATIONS]; /* NULL where MPI gives the operation no meaning */
} kernel_row;

static const kernel_row kernels[] = {
  {GROVE_KIND_SIGNED, 1, {COLUMNS_INTEGER(i, 8)}},
  {GROVE_KIND_SIGNED, 2, {COLUMNS_INTEGER(i, 16)}},
  {GROVE_KIND_SIGNED, 4, {COLUMNS_INTEGER(i, 32)}},
  {GROVE_KIND_SIGNED, 8, {COLUMNS_INTEGER(i, 64)}},
  {GROVE_KIND_UNSIGNED, 1, {COLUMNS_INTEGER(u, 8)}},
  {GROVE_KIND_UNSIGNED, 2, {COLUMNS_INTEGER(u, 16)}},
  {GROVE_KIND_UNSIGNED, 4, {COLUMNS_INTEGER(u, 32)}},
  {GROVE_KIND_UNSIGNED, 8, {COLUMNS_INTEGER(u, 64)}},
  {GROVE_KIND_FLOAT, sizeof(float), {COLUMNS_FLOAT(f)}},
  {GROVE_KIND_FLOAT, sizeof(double), {COLUMNS_FLOAT(d)}},
  {GROVE_KIND_FLOAT, sizeof(long double), {COLUMNS_FLOAT(l)}},
  {GROVE_KIND_COMPLEX, sizeof(float complex), {COLUMNS_COMPLEX(cf)}},
  {GROVE_KIND_COMPLEX, sizeof(double complex), {COLUMNS_COMPLEX(cd)}},
  {GROVE_KIND_COMPLEX, sizeof(long double complex), {COLUMNS_COMPLEX(cl)}},
  {GROVE_KIND_LOGICAL, 1, {COLUMNS_LOGICAL(8)}},
  {GROVE_KIND_LOGICAL, 2, {COLUMNS_LOGICAL(16)}},
  {GROVE_KIND_LOGICAL, 4, {COLUMNS_LOGICAL(32)}},
  {GROVE_KIND_LOGICAL, 8, {COLUMNS_LOGICAL(64)}},
  {GROVE_KIND_BYTE, 1, {[BAND] = band_u8, bor_u8, bxor_u8}},
};

static grove_kernel *find_kernel(int operation, const grove_unit *unit)
{
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    if (kernels[i].kind == unit->kind && kernels[i].bytes == unit->element_bytes)
      return kernels[i].kernel[operation];
  return NULL;
}

static grove_status choose_kernel(int operation, const grove_unit *unit, grove_combine *out)
{
  grove_status status = GROVE_OK;
  out->way = GROVE_COMBINE_KERNEL;
  if (unit->bytes == 0) { /* nothing to combine, whatever the type is made of */
    out->way = GROVE_COMBINE_NOTHING;
    return GROVE_OK;
  }
  GROVE_CHECK(unit->elements > 0, GROVE_ERR_UNSUPPORTED,
              "a predefined operation on a unit of several basic types; use a user's operation");
  out->kernel = find_kernel(operation, unit);
  GROVE_CHECK(out->kernel, GROVE_ERR_UNSUPPORTED,
              "the operation has no meaning on this basic type of %lld bytes",
              (long long)unit->element_bytes);
fail:
  return status;
}

grove_status grove_combine_create(MPI_Op op, const grove_unit *unit, grove_combine *out)
{
  grove_status status = GROVE_OK;
  grove_combine combine = {.op = op, .way = GROVE_COMBINE_MPI, .commutative = 1};
  GROVE_CHECK(op != MPI_OP_NULL, GROVE_ERR_ARG, "the operation is MPI_OP_NULL");
  combine.number = operation_number(op);
  if (op == MPI_REPLACE) {
    combine.way = GROVE_COMBINE_REPLACE;
    combine.commutative = 0;
  } else if (op == MPI_NO_OP) {
    combine.way = GROVE_COMBINE_NOTHING;
  } else if (op == MPI_MAXLOC || op == MPI_MINLOC) {
    GROVE_CHECK(unit->kind == GROVE_KIND_PAIR && !unit->owned, GROVE_ERR_UNSUPPORTED,
                "MPI_MAXLOC and MPI_MINLOC work on MPI's pair types only, like MPI_DOUBLE_INT");
  } else if (combine.number >= 0) {
    GROVE_TRY(choose_kernel(combine.number, unit, &combine));
  } else {
    GROVE_TRY_MPI(MPI_Op_commutative(op, &combine.commutative));
  }
  *out = combine;
fail:
  return status;
}
