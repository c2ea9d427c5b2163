/* The *footprint* of an operation: which bytes of the user's arrays it reads, and which it writes.
 * For the option `check`.
 */
#ifndef GROVE_EXEC_FOOTPRINT_H
#define GROVE_EXEC_FOOTPRINT_H

#include "exec/transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that lie together: of one slot, or of several that follow each other without gaps. */
typedef struct grove_tread {
  uintptr_t begin, end;
  int64_t slot;  /* the first */
  int64_t bytes; /* of each slot */
  int field;
  grove_array array;
} grove_tread;

/* By ascending begin. */
typedef struct grove_treads {
  int64_t n;
  grove_tread *list;
} grove_treads;

typedef struct grove_footprint {
  grove_treads read, written;
} grove_footprint;

/* This rank's failure. */
grove_status grove_footprint_create(const grove_wiring *wiring, const grove_field *fields,
                                    grove_footprint *out);
void grove_footprint_free(grove_footprint *f);

/* The slots of an array that a field reads, ascending, each once; the caller frees the list. This
 * rank's failure. */
grove_status grove_footprint_slots(const grove_wiring *wiring, int field, grove_array array,
                                   int64_t *n, int64_t **out);

/* Adds the bytes of slot `of->slot` of an array; field and array are as `of` has them. At the end
 * they must be sorted. This rank's failure. */
grove_status grove_treads_add(grove_treads *to, const grove_unit *unit, const void *array,
                              const grove_tread *of);
void grove_treads_sort(grove_treads *s);

/* The slot that has this byte, and where the bytes of a slot begin. */
static inline int64_t grove_tread_slot(const grove_tread *t, uintptr_t address)
{
  return t->slot + (int64_t)(address - t->begin) / t->bytes;
}

static inline uintptr_t grove_tread_begin(const grove_tread *t, int64_t slot)
{
  return t->begin + (uintptr_t)((slot - t->slot) * t->bytes);
}

/* The first byte that both have; UINTPTR_MAX: there is none. */
static inline uintptr_t grove_tread_meeting(const grove_tread *one, const grove_tread *other)
{
  uintptr_t begin = one->begin > other->begin ? one->begin : other->begin;
  return begin < one->end && begin < other->end ? begin : UINTPTR_MAX;
}

/* "root", "leaf", ... */
const char *grove_footprint_noun(const grove_request *r, grove_array array);

#ifdef __cplusplus
}
#endif

#endif
