/* MAXLOC and MINLOC: the greater (lesser) value with its index; of equal values the lesser index
 * (MPI 3.1, section 5.9.4). In memory a pair is a C struct; in a message it has no gap. */
#include "pack/combine.h"

#include <stddef.h>

/* `better` says whether the value b displaces a, `worse` whether a stays. If neither is true, they
 * are equal, or one is a NaN: then the value stays, and the lesser index is taken. */
#define KERNEL(op, name, v_type, i_type, better, worse)                                            \
  GROVE_INLINED void op##_##name##_at(char *t, int64_t t_index, const char *v, int64_t v_index)    \
  {                                                                                                \
    v_type a, b;                                                                                   \
    i_type i, j;                                                                                   \
    memcpy(&a, t, sizeof a);                                                                       \
    memcpy(&b, v, sizeof b);                                                                       \
    memcpy(&i, t + t_index, sizeof i);                                                             \
    memcpy(&j, v + v_index, sizeof j);                                                             \
    int take = (better), equal = (take | (worse)) == 0, take_index = take | (equal & (j < i));     \
    grove_choose(t, v, t, sizeof a, take);                                                         \
    grove_choose(t + t_index, v + v_index, t + t_index, sizeof i, take_index);                     \
  }                                                                                                \
  GROVE_INLINED void op##_##name##_in_memory(char *t, const char *v)                               \
  {                                                                                                \
    op##_##name##_at(t, offsetof(name##_pair, index), v, sizeof(v_type));                          \
  }                                                                                                \
  GROVE_INLINED void op##_##name##_fetch_at(char *t, int64_t t_index, char *v, int64_t v_index)    \
  {                                                                                                \
    v_type value;                                                                                  \
    i_type index;                                                                                  \
    memcpy(&value, t, sizeof value);                                                               \
    memcpy(&index, t + t_index, sizeof index);                                                     \
    op##_##name##_at(t, t_index, v, v_index);                                                      \
    memcpy(v, &value, sizeof value);                                                               \
    memcpy(v + v_index, &index, sizeof index);                                                     \
  }                                                                                                \
  GROVE_INLINED void op##_##name##_fetch_in_memory(char *t, char *v)                               \
  {                                                                                                \
    op##_##name##_fetch_at(t, offsetof(name##_pair, index), v, sizeof(v_type));                    \
  }                                                                                                \
  GROVE_KERNEL_BOX(op##_##name, op##_##name##_in_memory, sizeof(v_type) + sizeof(i_type))          \
  WAYS(op##_##name, name, v_type, i_type, , const)                                                 \
  WAYS(op##_##name, name, v_type, i_type, fetch_, )                                                \
  static const grove_kernels op##_##name##_kernels = {                                             \
    WITHOUT_GAP(name, v_type, i_type) ? op##_##name##_flat : NULL,                                 \
    op##_##name##_listed,                                                                          \
    op##_##name##_box,                                                                             \
    op##_##name##_any,                                                                             \
    NULL,                                                                                          \
    {op##_##name##_fetch_flat, op##_##name##_fetch_listed, op##_##name##_fetch_any, NULL}};

/* The loops over `fetch`at and `fetch`in_memory; CONST if these only read the values. */
#define WAYS(op, name, v_type, i_type, fetch, CONST)                                               \
  static void op##_##fetch##listed(void *target, const int32_t *slots, CONST void *value,          \
                                   int64_t n, int64_t elements)                                    \
  {                                                                                                \
    enum { THERE = sizeof(name##_pair), HERE = sizeof(v_type) + sizeof(i_type) };                  \
    char *restrict t = (char *)target;                                                             \
    CONST char *restrict v = (CONST char *)value;                                                  \
    const int32_t *restrict s = slots;                                                             \
    (void)elements;                                                                                \
    for (int64_t k = 0; k < n; k++)                                                                \
      op##_##fetch##in_memory(t + s[k] * (int64_t)THERE, v + k * HERE);                            \
  }                                                                                                \
  static void op##_##fetch##flat(void *target, CONST void *value, int64_t n)                       \
  {                                                                                                \
    enum { THERE = sizeof(name##_pair), HERE = sizeof(v_type) + sizeof(i_type) };                  \
    char *restrict t = (char *)target;                                                             \
    CONST char *restrict v = (CONST char *)value;                                                  \
    for (int64_t k = 0; k < n; k++) op##_##fetch##in_memory(t + k * THERE, v + k * HERE);          \
  }                                                                                                \
  static void op##_##fetch##any(const grove_any_combine *a)                                        \
  {                                                                                                \
    char *restrict t = a->target;                                                                  \
    CONST char *restrict v = a->value;                                                             \
    const int64_t *restrict t_at = a->target_at, *restrict v_at = a->value_at;                     \
    for (int64_t k = 0; k < a->n; k++)                                                             \
      op##_##fetch##at(t + t_at[k], a->target_index, v + v_at[k], a->value_index);                 \
  }

#define WITHOUT_GAP(name, v_type, i_type) (sizeof(name##_pair) == sizeof(v_type) + sizeof(i_type))

#define PAIR(name, v_type, i_type)                                                                 \
  typedef struct name##_pair {                                                                     \
    v_type value;                                                                                  \
    i_type index;                                                                                  \
  } name##_pair;                                                                                   \
  KERNEL(maxloc, name, v_type, i_type, b > a, a > b)                                               \
  KERNEL(minloc, name, v_type, i_type, b < a, a < b)

PAIR(short_int, short, int)
PAIR(int_int, int, int)
PAIR(long_int, long, int)
PAIR(float_int, float, int)
PAIR(double_int, double, int)
PAIR(long_double_int, long double, int)
PAIR(i64_i64, int64_t, int64_t)
PAIR(float_float, float, float)
PAIR(double_double, double, double)

/* ---- which ---- */

typedef struct row {
  MPI_Datatype type;
  int64_t bytes, extent, index_at;
  const grove_kernels *maxloc, *minloc;
} row;

#define ROW(name, v_type, i_type)                                                                  \
  sizeof(v_type) + sizeof(i_type), sizeof(name##_pair), offsetof(name##_pair, index),              \
    &maxloc_##name##_kernels, &minloc_##name##_kernels

/* Fortran's sizes depend on compiler options. */
const grove_kernels *grove_kernels_pair(MPI_Datatype type, int64_t bytes, int64_t extent,
                                        int number, int64_t *index_at)
{
  const row rows[] = {
    {MPI_SHORT_INT, ROW(short_int, short, int)},
    {MPI_2INT, ROW(int_int, int, int)},
    {MPI_LONG_INT, ROW(long_int, long, int)},
    {MPI_FLOAT_INT, ROW(float_int, float, int)},
    {MPI_DOUBLE_INT, ROW(double_int, double, int)},
    {MPI_LONG_DOUBLE_INT, ROW(long_double_int, long double, int)},
    {MPI_2INTEGER, ROW(int_int, int, int)},
    {MPI_2INTEGER, ROW(i64_i64, int64_t, int64_t)},
    {MPI_2REAL, ROW(float_float, float, float)},
    {MPI_2REAL, ROW(double_double, double, double)},
    {MPI_2DOUBLE_PRECISION, ROW(double_double, double, double)},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].type == type && rows[i].bytes == bytes && rows[i].extent == extent) {
      *index_at = rows[i].index_at;
      return number == GROVE_OP_MAXLOC ? rows[i].maxloc : rows[i].minloc;
    }
  return NULL;
}
