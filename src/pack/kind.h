/* What arithmetic means on a type, whatever MPI calls it; and what there is of it. */
#ifndef GROVE_PACK_KIND_H
#define GROVE_PACK_KIND_H

typedef enum grove_kind {
  GROVE_KIND_NONE,     /* not a named type, or one without arithmetic (MPI_PACKED) */
  GROVE_KIND_SIGNED,   /* integers: all but MAXLOC, MINLOC */
  GROVE_KIND_UNSIGNED, /* the same */
  GROVE_KIND_FLOAT,    /* MAX, MIN, SUM, PROD */
  GROVE_KIND_COMPLEX,  /* SUM, PROD */
  GROVE_KIND_LOGICAL,  /* LAND, LOR, LXOR */
  GROVE_KIND_BYTE,     /* BAND, BOR, BXOR */
  GROVE_KIND_PAIR      /* MAXLOC, MINLOC */
} grove_kind;

/* Predefined operations that have kernels; and, behind them, the two that need none. */
typedef enum grove_op_number {
  GROVE_OP_SUM,
  GROVE_OP_PROD,
  GROVE_OP_MAX,
  GROVE_OP_MIN,
  GROVE_OP_LAND,
  GROVE_OP_LOR,
  GROVE_OP_LXOR,
  GROVE_OP_BAND,
  GROVE_OP_BOR,
  GROVE_OP_BXOR,
  GROVE_OP_MAXLOC,
  GROVE_OP_MINLOC,
  GROVE_OP_REPLACE,
  GROVE_OP_NO_OP,
  GROVE_OPS
} grove_op_number;

#endif
