/* Root and leaf arrays with canaries: every byte has a known value, also before, after and between
 * the data. Comparing two arrays compares all bytes. */
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
  int product; /* its values are multiplied */
} array;

array array_create(const unit *u, int64_t nslots);
void array_free(array *a);

/* The same in memory provided by the caller, and the bytes needed. */
array array_in(const unit *u, int64_t nslots, void *memory);
size_t array_room(const unit *u, int64_t nslots);

/* Sets canaries, and a value in every piece of every slot, all from the seed. */
void array_fill(array *a, const unit *u, const reduction *r, uint64_t seed);

/* The same with floating point values whose sums depend on their order. */
void array_fill_rough(array *a, const unit *u, uint64_t seed);

array array_copy(const array *a);
void array_assign(array *to, const array *from); /* of the same size */

/* Asserts that all bytes are equal, except signs of zeros in products of complex numbers. `side`
 * and `what` name the array and the operation, for the failure. */
void array_check(const unit *u, const array *got, const array *expected, const char *side,
                 const char *what);

static inline unsigned char *array_slot(const array *a, const unit *u, int64_t slot)
{
  return a->slot0 + slot * u->extent;
}

/* The arrays of all ranks, which every rank can compute: the oracle works on them. */
typedef struct arrays {
  int nranks;
  array *root; /* for gather and scatter: the multiroots */
  array *leaf;
  array *update; /* for fetch; may be the leaves. For others: only canaries */
} arrays;

/* For this kind of operation; in_place: updates go where the leaves are. */
arrays arrays_create(const graph *g, const unit *u, op_kind k, int in_place);
void arrays_fill(arrays *a, const unit *u, const reduction *r, uint64_t seed);
void arrays_free(arrays *a);

#endif
