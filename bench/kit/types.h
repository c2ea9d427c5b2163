/* The types of the grid: their names, their MPI types, and small whole numbers in them. Besides the
 * basic ones there is `2int`, a value and a place. */
#ifndef BENCH_KIT_TYPES_H
#define BENCH_KIT_TYPES_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* X(name in the grid, C type, MPI type); needs complex.h */
#define BENCH_TYPES(X)                                                                             \
  X(int8, int8_t, MPI_INT8_T)                                                                      \
  X(uint8, uint8_t, MPI_UINT8_T)                                                                   \
  X(int16, int16_t, MPI_INT16_T)                                                                   \
  X(uint16, uint16_t, MPI_UINT16_T)                                                                \
  X(int32, int32_t, MPI_INT32_T)                                                                   \
  X(uint32, uint32_t, MPI_UINT32_T)                                                                \
  X(int64, int64_t, MPI_INT64_T)                                                                   \
  X(uint64, uint64_t, MPI_UINT64_T)                                                                \
  X(schar, signed char, MPI_SIGNED_CHAR)                                                           \
  X(int, int, MPI_INT)                                                                             \
  X(float, float, MPI_FLOAT)                                                                       \
  X(double, double, MPI_DOUBLE)                                                                    \
  X(longdouble, long double, MPI_LONG_DOUBLE)                                                      \
  X(cfloat, float complex, MPI_C_FLOAT_COMPLEX)                                                    \
  X(cdouble, double complex, MPI_C_DOUBLE_COMPLEX)

typedef struct bench_type {
  const char *name;
  size_t bytes;
  MPI_Datatype (*mpi)(void); /* a function: in Open MPI the names are no constants */
  void (*set)(void *array, int64_t i, int value);
  int (*is)(const void *array, int64_t i, int value);
  int (*get)(const void *array, int64_t i); /* the nearest whole number; see is */
  /* to[to_index[i]] += from[from_index[i]], for n units of `width` values each, as written by hand.
   * Without an index units are in their order; `from` has one only where `to` has one too. NULL:
   * there is no sum. */
  void (*add)(const void *from, const int32_t *from_index, void *to, const int32_t *to_index, int n,
              int64_t width);
} bench_type;

/* NULL where there is no such type. */
const bench_type *bench_type_find(const char *name);

#endif
