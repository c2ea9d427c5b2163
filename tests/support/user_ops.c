#include "user_ops.h"

#include <stddef.h>
#include <stdint.h>

void user_affine(void *a, void *b, int *n, MPI_Datatype *type)
{
  (void)type;
  const uint32_t *x = a;
  uint32_t *y = b;
  for (int i = 0; i < *n; i++, x += 2, y += 2) {
    y[1] = x[0] * y[1] + x[1];
    y[0] = x[0] * y[0];
  }
}

void user_matrix(void *a, void *b, int *n, MPI_Datatype *type)
{
  (void)type;
  const uint64_t *x = a;
  uint64_t *y = b;
  for (int i = 0; i < *n; i++, x += 4, y += 4) {
    uint64_t y0 = y[0], y1 = y[1];
    y[0] = x[0] * y0 + x[1] * y[2];
    y[1] = x[0] * y1 + x[1] * y[3];
    y[2] = x[2] * y0 + x[3] * y[2];
    y[3] = x[2] * y1 + x[3] * y[3];
  }
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
  while (b != 0) {
    uint32_t t = a % b;
    a = b;
    b = t;
  }
  return a;
}

void user_gcd(void *a, void *b, int *n, MPI_Datatype *type)
{
  (void)type;
  const uint32_t *x = a;
  uint32_t *y = b;
  for (int i = 0; i < *n; i++) y[i] = gcd(x[i], y[i]);
}

void user_tagged(void *a, void *b, int *n, MPI_Datatype *type)
{
  MPI_Aint lb, extent;
  MPI_Type_get_extent(*type, &lb, &extent);
  for (int i = 0; i < *n; i++) {
    const tagged *x = (const void *)((const char *)a + i * extent);
    tagged *y = (void *)((char *)b + i * extent);
    y->tag = (char)(y->tag ^ x->tag);
    y->value += x->value;
  }
}

void user_left_tagged(void *a, void *b, int *n, MPI_Datatype *type)
{
  MPI_Aint lb, extent;
  MPI_Type_get_extent(*type, &lb, &extent);
  for (int i = 0; i < *n; i++) {
    const tagged *x = (const void *)((const char *)a + i * extent);
    tagged *y = (void *)((char *)b + i * extent);
    y->tag = x->tag;
    y->value = x->value;
  }
}
