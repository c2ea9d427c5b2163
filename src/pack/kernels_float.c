/* Kernels of floating-point types, real and complex. */
#include "pack/kernels.h"

#include <complex.h>

#define KERNEL(op, name, type, expression)                                                         \
  GROVE_INLINED type op##_##name##_one(type a, type b)                                             \
  {                                                                                                \
    return expression;                                                                             \
  }                                                                                                \
  GROVE_KERNELS(op##_##name, type)

#define RING(name, type)                                                                           \
  KERNEL(sum, name, type, a + b)                                                                   \
  KERNEL(prod, name, type, (a * b))

/* target = better ? target : value. So of a NaN and a number, or of 0 and -0, the value remains. */
#define CHOICE(op, name, type, better)                                                             \
  GROVE_INLINED void op##_##name##_at(char *target, const char *value)                             \
  {                                                                                                \
    type a, b;                                                                                     \
    memcpy(&a, target, sizeof a);                                                                  \
    memcpy(&b, value, sizeof b);                                                                   \
    grove_choose(target, target, value, sizeof a, better);                                         \
  }                                                                                                \
  GROVE_KERNELS_OF_AT(op##_##name, type)
#define ORDER(name, type)                                                                          \
  CHOICE(max, name, type, a > b)                                                                   \
  CHOICE(min, name, type, a < b)

RING(f, float)
RING(d, double)
RING(l, long double)
ORDER(f, float)
ORDER(d, double)
ORDER(l, long double)
/* A sum of complex numbers is two sums, which a contiguous loop need not tell apart. The factors of
 * a product are loaded by parts: as a whole they would go through an integer register. */
#define COMPLEX(name, part)                                                                        \
  GROVE_INLINED part complex load_c##name(const char *from)                                        \
  {                                                                                                \
    part complex x;                                                                                \
    memcpy(&x, from, sizeof(part));                                                                \
    memcpy((part *)&x + 1, from + sizeof(part), sizeof(part));                                     \
    return x;                                                                                      \
  }                                                                                                \
  GROVE_INLINED void prod_c##name##_at(char *target, const char *value)                            \
  {                                                                                                \
    part complex a = load_c##name(target) * load_c##name(value);                                   \
    memcpy(target, &a, sizeof(part));                                                              \
    memcpy(target + sizeof(part), (part *)&a + 1, sizeof(part));                                   \
  }                                                                                                \
  GROVE_KERNELS_OF_AT(prod_c##name, part complex)                                                  \
  typedef struct c##name##_parts {                                                                 \
    part re, im;                                                                                   \
  } c##name##_parts;                                                                               \
  GROVE_INLINED void sum_c##name##_at(char *target, const char *value)                             \
  {                                                                                                \
    typedef part anywhere __attribute__((aligned(1), may_alias));                                  \
    anywhere *t = (anywhere *)target;                                                              \
    const anywhere *v = (const anywhere *)value;                                                   \
    part re = t[0] + v[0], im = t[1] + v[1]; /* both, before anything is written */                \
    t[0] = re;                                                                                     \
    t[1] = im;                                                                                     \
  }                                                                                                \
  static void sum_c##name##_flat(void *target, const void *value, int64_t n)                       \
  {                                                                                                \
    sum_##name##_flat(target, value, 2 * n);                                                       \
  }                                                                                                \
  GROVE_FETCH_AT(sum_c##name, c##name##_parts)                                                     \
  static void sum_c##name##_fetch_flat(void *target, void *value, int64_t n)                       \
  {                                                                                                \
    sum_##name##_fetch_flat(target, value, 2 * n);                                                 \
  }                                                                                                \
  GROVE_KERNELS_BUT_FLAT(sum_c##name, c##name##_parts)

COMPLEX(f, float)
COMPLEX(d, double)
COMPLEX(l, long double)

typedef struct row {
  grove_kind kind;
  int64_t bytes;
  const grove_kernels *kernels[GROVE_OPS];
} row;

#define SUM_PROD(x) [GROVE_OP_SUM] = &sum_##x##_kernels, [GROVE_OP_PROD] = &prod_##x##_kernels
#define MAX_MIN(x)  [GROVE_OP_MAX] = &max_##x##_kernels, [GROVE_OP_MIN] = &min_##x##_kernels

static const row rows[] = {
  {GROVE_KIND_FLOAT, sizeof(float), {SUM_PROD(f), MAX_MIN(f)}},
  {GROVE_KIND_FLOAT, sizeof(double), {SUM_PROD(d), MAX_MIN(d)}},
  {GROVE_KIND_FLOAT, sizeof(long double), {SUM_PROD(l), MAX_MIN(l)}},
  {GROVE_KIND_COMPLEX, sizeof(float complex), {SUM_PROD(cf)}},
  {GROVE_KIND_COMPLEX, sizeof(double complex), {SUM_PROD(cd)}},
  {GROVE_KIND_COMPLEX, sizeof(long double complex), {SUM_PROD(cl)}},
};

const grove_kernels *grove_kernels_float(grove_kind kind, int64_t bytes, int number)
{
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].kind == kind && rows[i].bytes == bytes) return rows[i].kernels[number];
  return NULL;
}
