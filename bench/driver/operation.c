#include "driver/operation.h"

#include <string.h>

/* In a pair, half of the number is the value, and the remainder the place: see kit/types.c. */
static int maxloc(int a, int b)
{
  if (a / 2 == b / 2) return a < b ? a : b;
  return a > b ? a : b;
}

/* X(name in the grid, MPI operation, the same on a and b, root before, lowest leaf before) */
#define OPERATORS(X)                                                                               \
  X(replace, MPI_REPLACE, b, 1, 2)                                                                 \
  X(sum, MPI_SUM, a + b, 1, 1)                                                                     \
  X(prod, MPI_PROD, a *b, 1, 1)                                                                    \
  X(max, MPI_MAX, a > b ? a : b, 2, 1)                                                             \
  X(min, MPI_MIN, a < b ? a : b, 2, 1)                                                             \
  X(maxloc, MPI_MAXLOC, maxloc(a, b), 3, 1)                                                        \
  X(land, MPI_LAND, a &&b, 1, 0)                                                                   \
  X(bor, MPI_BOR, a | b, 8, 1)

#define DEFINE(name, operation, result, root, low)                                                 \
  static MPI_Op name##_mpi(void)                                                                   \
  {                                                                                                \
    return operation;                                                                              \
  }                                                                                                \
  static int name##_of(int a, int b)                                                               \
  {                                                                                                \
    (void)a;                                                                                       \
    return result;                                                                                 \
  }

OPERATORS(DEFINE)

#define ROW(name, operation, result, root, low) {#name, name##_mpi, name##_of, root, low},

static const bench_operator operators[] = {OPERATORS(ROW)};

static const bench_operator *find_operator(const char *name)
{
  for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
    if (strcmp(operators[i].name, name) == 0) return &operators[i];
  return NULL;
}

int bench_operation_read(const char *word, bench_kind *kind, const bench_operator **op)
{
  static const char *const kinds[] = {"bcast", "reduce", "fetch", "gather", "scatter"};
  size_t length = strcspn(word, ":");
  for (int k = 0; k < 5; k++) {
    if (strlen(kinds[k]) != length || strncmp(word, kinds[k], length) != 0) continue;
    int sums = k == BENCH_REDUCE || k == BENCH_FETCH;
    *kind = (bench_kind)k;
    *op = find_operator(word[length] ? word + length + 1 : sums ? "sum" : "replace");
    return *op == NULL;
  }
  return 1;
}
