/* Root and leaf arrays with canaries: every byte has a known value, also before, behind and between
 * the data, and comparing two arrays compares all of them. */
#ifndef TEST_ARRAYS_H
#define TEST_ARRAYS_H

#include "calls.h"
#include "generate.h"
#include "units.h"

typedef struct array {
  unsigned char *memory;
  size_t bytes;
  unsigned char *slot0; /* what is given to Grove */
  int64_t nslots;
  int product; /* of its values products are made */
} array;

array array_create(const unit *u, int64_t nslots);
void array_free(array *a);

/* The same in memory that somebody else has, and the bytes that it needs. */
array array_in(const unit *u, int64_t nslots, void *memory);
size_t array_room(const unit *u, int64_t nslots);

/* Canaries, and a value in every piece of every slot; all from the seed. */
void array_fill(array *a, const unit *u, const reduction *r, uint64_t seed);

/* The same with floating point values whose sums depend on their order. */
void array_fill_rough(array *a, const unit *u, uint64_t seed);

array array_copy(const array *a);
void array_assign(array *to, const array *from); /* of the same size */

/* Asserts that all bytes are equal, but for signs of zeros in products of complex numbers. `side`
 * and `what` say which array of what, for the failure. */
void array_check(const unit *u, const array *got, const array *expected, const char *side,
                 const char *what);

static inline unsigned char *array_slot(const array *a, const unit *u, int64_t slot)
{
  return a->slot0 + slot * u->extent;
}

/* The arrays of all ranks, which every rank can compute: what the oracle works on. */
typedef struct arrays {
  int nranks;
  array *root; /* of gather and scatter: the multiroots */
  array *leaf;
  array *update; /* of fetch; may be the leaves. Of others: nothing but canaries */
} arrays;

/* For this kind of operation; in_place: updates go where the leaves are. */
arrays arrays_create(const graph *g, const unit *u, op_kind k, int in_place);
void arrays_fill(arrays *a, const unit *u, const reduction *r, uint64_t seed);
void arrays_free(arrays *a);

#endif
