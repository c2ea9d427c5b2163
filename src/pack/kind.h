/* What arithmetic means on a type, whatever MPI calls it. */
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

#endif
