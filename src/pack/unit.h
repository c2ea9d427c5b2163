/* What an operation must know of its MPI datatype: where one unit lies in memory, how many bytes it
 * takes in a message, and what arithmetic would mean on it. In a message the basic elements of a
 * unit follow each other without gaps, in the order of the typemap, as MPI_Pack puts them.
 */
#ifndef GROVE_PACK_UNIT_H
#define GROVE_PACK_UNIT_H

#include "base/status.h"
#include "pack/basic.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_unit {
  MPI_Datatype type; /* a named type, or an own duplicate of the user's */
  int owned;         /* the duplicate must be freed */
  MPI_Comm comm;     /* lends its error handler to MPI_Pack */
  int64_t bytes;     /* in a message */
  int64_t extent;    /* from one unit to the next in memory */
  int64_t true_lb;   /* first byte really used */
  int64_t true_extent;
  int dense;             /* memory and message are the same bytes: memcpy moves it */
  grove_kind kind;       /* of the basic type that it consists of */
  int64_t elements;      /* how many of them; 0: it consists of several types */
  int64_t element_bytes; /* of each, in a message */
} grove_unit;

/* Looks at `type`, which must be committed. `comm` must live as long. */
grove_status grove_unit_create(MPI_Datatype type, MPI_Comm comm, grove_unit *out);
void grove_unit_free(grove_unit *unit);

/* The address of slot `index` in the array at `base`. */
static inline void *grove_unit_at(const grove_unit *unit, const void *base, int64_t index)
{
  return (char *)base + index * unit->extent;
}

#ifdef __cplusplus
}
#endif

#endif
