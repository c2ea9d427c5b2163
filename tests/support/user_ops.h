/* User-defined operations, all exact, with MPI's calling convention: b = a o b. */
#ifndef TEST_USER_OPS_H
#define TEST_USER_OPS_H

#include <mpi.h>

/* The map x -> a x + b over 32-bit integers, as a pair: composition does not commute. */
void user_affine(void *a, void *b, int *n, MPI_Datatype *type);

/* The product of 2 x 2 matrices of 64-bit integers: does not commute. */
void user_matrix(void *a, void *b, int *n, MPI_Datatype *type);

/* The greatest common divisor of 32-bit integers: commutes. */
void user_gcd(void *a, void *b, int *n, MPI_Datatype *type);

/* struct tagged: tags by exclusive or, values added: commutes. Uses the extent of `type` as stride,
 * so that it works for types with any gap after the struct. */
typedef struct tagged {
  char tag;
  double value;
} tagged;
void user_tagged(void *a, void *b, int *n, MPI_Datatype *type);

/* Keeps the left one (a o b = a): associative, but far from commutative. */
void user_left_tagged(void *a, void *b, int *n, MPI_Datatype *type);

#endif
