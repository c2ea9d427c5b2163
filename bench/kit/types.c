#include "kit/types.h"

#include <complex.h>
#include <string.h>

#define DEFINE(name, c_type, mpi_type)                                                             \
  static MPI_Datatype name##_mpi(void)                                                             \
  {                                                                                                \
    return mpi_type;                                                                               \
  }                                                                                                \
  static void name##_set(void *array, int64_t i, int value)                                        \
  {                                                                                                \
    ((c_type *)array)[i] = (c_type)value;                                                          \
  }                                                                                                \
  static int name##_is(const void *array, int64_t i, int value)                                    \
  {                                                                                                \
    return ((const c_type *)array)[i] == (c_type)value;                                            \
  }                                                                                                \
  static int name##_get(const void *array, int64_t i)                                              \
  {                                                                                                \
    return (int)((const c_type *)array)[i];                                                        \
  }                                                                                                \
  static void name##_add(const void *from, const int32_t *from_index, void *to,                    \
                         const int32_t *to_index, int n, int64_t width)                            \
  {                                                                                                \
    const c_type *restrict x = from;                                                               \
    c_type *restrict y = to;                                                                       \
    if (!to_index)                                                                                 \
      for (int64_t i = 0; i < n * width; i++) y[i] += x[i];                                        \
    else if (width == 1 && !from_index)                                                            \
      for (int i = 0; i < n; i++) y[to_index[i]] += x[i];                                          \
    else                                                                                           \
      for (int i = 0; i < n; i++)                                                                  \
        for (int64_t k = 0, at = from_index ? from_index[i] : i; k < width; k++)                   \
          y[to_index[i] * width + k] += x[at * width + k];                                         \
  }

BENCH_TYPES(DEFINE)

#define ROW(name, c_type, mpi_type)                                                                \
  {#name, sizeof(c_type), name##_mpi, name##_set, name##_is, name##_get, name##_add},

/* ---- a pair: the number n is value n / 2 at place n % 2, so equal values differ in place ---- */

static MPI_Datatype pair_mpi(void)
{
  return MPI_2INT;
}

static void pair_set(void *array, int64_t i, int value)
{
  int *pair = (int *)array + 2 * i;
  pair[0] = value / 2;
  pair[1] = value % 2;
}

static int pair_get(const void *array, int64_t i)
{
  const int *pair = (const int *)array + 2 * i;
  return 2 * pair[0] + pair[1];
}

static int pair_is(const void *array, int64_t i, int value)
{
  const int *pair = (const int *)array + 2 * i;
  return pair[0] == value / 2 && pair[1] == value % 2;
}

static const bench_type types[] = {
  BENCH_TYPES(ROW){"2int", 2 * sizeof(int), pair_mpi, pair_set, pair_is, pair_get, NULL},
};

const bench_type *bench_type_find(const char *name)
{
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    if (strcmp(types[i].name, name) == 0) return &types[i];
  return NULL;
}
