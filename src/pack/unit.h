/* What an operation must know about its MPI datatype: where one unit lies in memory, how many bytes
 * it takes in a message, and what arithmetic means on it. In a message the basic elements of a unit
 * follow each other without gaps, in the order of the typemap, as MPI_Pack puts them.
 */
#ifndef GROVE_PACK_UNIT_H
#define GROVE_PACK_UNIT_H

#include "base/status.h"
#include "pack/basic.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a unit that lie together in memory and in the message. */
typedef struct grove_piece {
  int32_t at; /* in memory, from the unit's first byte: its address plus true_lb */
  int32_t message_at;
  int32_t bytes;
} grove_piece;

enum { GROVE_FEW_PIECES = 4 };

typedef struct grove_unit {
  MPI_Datatype type; /* a named type, or a duplicate of the user's */
  int owned;         /* the duplicate must be freed */
  MPI_Comm comm;     /* lends its error handler to MPI_Pack */
  int64_t bytes;     /* in a message */
  int64_t extent;    /* from one unit to the next in memory */
  int64_t true_lb;   /* first byte that is used */
  int64_t true_extent;
  int dense;                         /* memory and message are the same bytes: memcpy moves it */
  grove_kind kind;                   /* of its basic type */
  int64_t elements;                  /* how many of these; 0: it has several types */
  int64_t element_bytes;             /* of each element, in a message */
  int npieces;                       /* in message order; 0: unknown, MPI must move it */
  grove_piece few[GROVE_FEW_PIECES]; /* stored here, so that a unit is copied by assignment, */
  grove_piece *many;                 /* or here if there are more; freed only with an owned type */
} grove_unit;

/* Examines `type`, which must be committed. `comm` must live as long as the unit. */
grove_status grove_unit_create(MPI_Datatype type, MPI_Comm comm, grove_unit *out);
void grove_unit_free(grove_unit *unit);

/* "MPI_DOUBLE", or "a derived type of 24 bytes". For sentences. */
enum { GROVE_UNIT_NAME_BYTES = MPI_MAX_OBJECT_NAME + 32 };
void grove_unit_name(MPI_Datatype type, char out[GROVE_UNIT_NAME_BYTES]);

/* Frees MPI's datatype, unless it is needed to move units. */
void grove_unit_forget_type(grove_unit *unit);

/* The same units as they lie in a message: blocks of bytes. */
grove_unit grove_unit_packed(const grove_unit *unit);

/* The address of slot `index` in the array at `base`. */
static inline void *grove_unit_at(const grove_unit *unit, const void *base, int64_t index)
{
  return (char *)base + index * unit->extent;
}

static inline const grove_piece *grove_unit_pieces(const grove_unit *unit)
{
  return unit->npieces > GROVE_FEW_PIECES ? unit->many : unit->few;
}

/* Is its data one piece? Then all slots are equal blocks of bytes, `extent` apart. */
static inline int grove_unit_is_whole(const grove_unit *unit)
{
  return unit->npieces == 1;
}

/* Finds the pieces of a unit whose other fields are known, `dense` among them. (pieces.c) */
grove_status grove_unit_find_pieces(grove_unit *unit);

/* How many units, at most `most`, may lie `extent` apart before their data overlaps. There is no
 * limit unless the extent was made smaller than the unit. (pieces.c) */
int64_t grove_unit_abreast(const grove_unit *unit, int64_t most);

#ifdef __cplusplus
}
#endif

#endif
