/* Counts the copies of datatypes. Included by one file of a separate program: its functions replace
 * MPI's. */
#ifndef TEST_COPIES_H
#define TEST_COPIES_H

#include "check.h"

enum { MOST_COPIES = 6000 };

static struct {
  int n, made;
  MPI_Datatype type[MOST_COPIES];
} copies;

int MPI_Type_dup(MPI_Datatype type, MPI_Datatype *out)
{
  int code = PMPI_Type_dup(type, out);
  CHECK(copies.n < MOST_COPIES, "too many copies");
  copies.type[copies.n++] = *out;
  copies.made++;
  return code;
}

/* Also frees types that are not copies. */
int MPI_Type_free(MPI_Datatype *type)
{
  int i = copies.n - 1;
  while (i >= 0 && copies.type[i] != *type) i--;
  if (i >= 0) copies.type[i] = copies.type[--copies.n];
  return PMPI_Type_free(type);
}

#endif
