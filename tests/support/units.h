/* The datatypes that the tests move, as MPI sees them and as the oracle does: a list of values,
 * each at an offset; and the legal operations on each. */
#ifndef TEST_UNITS_H
#define TEST_UNITS_H

#include "scalars.h"

#include <mpi.h>

typedef struct piece {
  ptrdiff_t offset;
  scalar kind;
} piece;

typedef struct reduction {
  const char *name;
  op_code code;
  MPI_Op op;
  MPI_User_function *function; /* of a user operation */
} reduction;

enum { UNIT_MOST_REDUCTIONS = 16 };

typedef struct unit {
  char name[48];
  MPI_Datatype type;
  int derived;           /* made here, and freed by units_free */
  ptrdiff_t extent;      /* from slot to slot */
  ptrdiff_t first, last; /* the bytes of slot 0 that hold data: first <= offset < last */
  int64_t most_slots;    /* 0: any number; else slots this far apart would overlap */
  int npieces;
  piece *piece; /* value and index in turn for the types of MAXLOC and MINLOC */
  int nreductions;
  reduction reduction[UNIT_MOST_REDUCTIONS];
} unit;

typedef struct units {
  int n;
  unit *unit;
  int nuser_ops;
  MPI_Op user_op[8];
} units;

/* Every type this MPI has, and a set of derived ones. MPI must be initialised. */
units *units_create(void);
void units_free(units *u);

/* The unit of this name; it must exist. */
const unit *units_find(const units *u, const char *name);

/* The operation of this name on the unit; it must exist. */
const reduction *unit_reduction(const unit *u, const char *name);

/* to = to o from, for one unit; touches only its pieces. */
void unit_apply(const unit *u, const reduction *r, unsigned char *to, const unsigned char *from);

/* to = from. */
void unit_copy(const unit *u, unsigned char *to, const unsigned char *from);

#endif
