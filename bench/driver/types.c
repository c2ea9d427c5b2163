#include "driver/types.h"

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
  static void name##_add(const void *from, void *to, const int32_t *index, int n)                  \
  {                                                                                                \
    const c_type *restrict x = from;                                                               \
    c_type *restrict y = to;                                                                       \
    for (int i = 0; !index && i < n; i++) y[i] += x[i];                                            \
    for (int i = 0; index && i < n; i++) y[index[i]] += x[i];                                      \
  }

BENCH_TYPES(DEFINE)

#define ROW(name, c_type, mpi_type)                                                                \
  {#name, sizeof(c_type), name##_mpi, name##_set, name##_is, name##_add},

static const bench_type types[] = {BENCH_TYPES(ROW)};

const bench_type *bench_type_find(const char *name)
{
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    if (strcmp(types[i].name, name) == 0) return &types[i];
  return NULL;
}
