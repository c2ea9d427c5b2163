/* What a kernel does for one section of a letter, described so that any number of threads can do it
 * in any order. A *recipe* says which slots of an array and which units of a message belong
 * together, and what happens to them. It is made once, and lies in the device's memory.
 *
 * The work of a recipe is divided into *items*. No two items write the same bytes, and none reads
 * what another writes, so they need no order and no atomic operation. If a slot is named twice, one
 * item does all that happens to it, in the order of the list.
 *
 * The bodies of the kernels are in kernel.inc, in what C and CUDA C++ have in common. This header
 * is read by both, and knows nothing of MPI.
 */
#ifndef GROVE_PACK_RECIPE_H
#define GROVE_PACK_RECIPE_H

#include "pack/kind.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is done. */
typedef enum grove_motion {
  GROVE_MOTION_PACK,   /* out of slots into units; slots that share a unit are combined */
  GROVE_MOTION_UNPACK, /* units into slots, or combined with what is there */
  GROVE_MOTION_FETCH   /* the same, and the unit becomes what the slot was before */
} grove_motion;

typedef struct grove_recipe grove_recipe;

/* A recipe, applied. */
typedef struct grove_job {
  const grove_recipe *recipe; /* in the device's memory */
  char *array;                /* slot 0 */
  char *message;              /* the first unit of the recipe's window */
  int64_t end;                /* items of this job and of those before it */
  /* Of a recipe for several messages: the first target, and of the values of each only those whose
   * units are from .. to-1. With to == 0 these are all. */
  int64_t first;
  int32_t from, to;
} grove_job;

/* So many fit into the parameters of a kernel. */
enum { GROVE_JOBS = 80 };

/* Jobs that are done at once, without any order between them. */
typedef struct grove_launch {
  int32_t njobs;
  int32_t moves_only; /* nothing is combined: another kernel does it */
  uint32_t *word;     /* not NULL: becomes `value` when all is done; as kernels reach it */
  uint32_t *counter;  /* for that, in the device's memory: 0, between launches of a stream */
  uint32_t value;
  grove_job jobs[GROVE_JOBS];
} grove_launch;

/* Items that a thread has in a row, where there are many. */
enum { GROVE_WAYS = 4 };

/* ---- what a recipe consists of: plain data, the same for both compilers ---- */

/* An item is one word of one unit. For the last three, it is one element with all that happens to
 * it. */
typedef enum grove_body {
  GROVE_BODY_OUT,     /* a word of a slot into the message */
  GROVE_BODY_IN,      /* a word of a unit into its slot */
  GROVE_BODY_COLLECT, /* a unit is the slots that share it, combined */
  GROVE_BODY_COMBINE, /* a slot is combined with its units */
  GROVE_BODY_FETCH    /* and each of these becomes what the slot was before */
} grove_body;

/* What is combined: of one C type, or a pair of a value and an index. */
typedef enum grove_element {
  GROVE_ELEMENT_I8,
  GROVE_ELEMENT_I16,
  GROVE_ELEMENT_I32,
  GROVE_ELEMENT_I64,
  GROVE_ELEMENT_U8,
  GROVE_ELEMENT_U16,
  GROVE_ELEMENT_U32,
  GROVE_ELEMENT_U64,
  GROVE_ELEMENT_F32,
  GROVE_ELEMENT_F64,
  GROVE_ELEMENT_C32, /* complex numbers of two floats */
  GROVE_ELEMENT_C64,
  GROVE_ELEMENT_I16_I32,
  GROVE_ELEMENT_I32_I32,
  GROVE_ELEMENT_I64_I32,
  GROVE_ELEMENT_F32_I32,
  GROVE_ELEMENT_F64_I32,
  GROVE_ELEMENT_I64_I64,
  GROVE_ELEMENT_F32_F32,
  GROVE_ELEMENT_F64_F64,
  GROVE_ELEMENTS
} grove_element;

typedef enum grove_slots_form {
  GROVE_SLOTS_CONSECUTIVE,
  GROVE_SLOTS_RUNS,
  GROVE_SLOTS_BOX,
  GROVE_SLOTS_LISTED
} grove_slots_form;

/* Division by a number that is known beforehand: n / by is n * magic >> shift for all n below 2^31.
 * The magic number is 2^shift / by, rounded up, and has 32 bits (Granlund, Montgomery 1994). */
typedef struct grove_divisor {
  uint32_t magic, shift;
  uint64_t by;
} grove_divisor;

/* A list behind the recipe, this many bytes from its beginning; 0: entry k is k. */
typedef struct grove_list {
  int64_t at;
  int64_t wide; /* of 64 bits; else of 32 */
} grove_list;

/* From entry `begin` on the slots lie `first`, `first` + extent, ... from the array. */
typedef struct grove_stretch {
  int64_t begin, first;
} grove_stretch;

struct grove_recipe {
  int32_t body;     /* grove_body */
  int32_t op;       /* grove_op_number */
  int32_t element;  /* grove_element */
  int32_t form;     /* grove_slots_form */
  int64_t word;     /* bytes of an item, in a unit */
  int64_t words_at; /* where each of them lies in memory: 32 bits each; 0: one behind the other */
  int64_t memory_index, message_index; /* of pairs: how far the index lies behind its value */
  grove_divisor words;                 /* of a unit */
  /* Slots, in bytes from slot 0. Entry 0 here is entry `begin` of a box. */
  int64_t origin; /* the first byte of slot 0 that is used, from the array on */
  int64_t extent, unit_bytes;
  int64_t first, begin;
  int64_t stride[3];
  grove_divisor side[2];
  int64_t nrows, rows_at;
  grove_list slots;
  grove_list units; /* of each entry; none where the next entry has the next unit. Ascending where
                     * one target has several */
  /* Target k has values starts[k] .. starts[k+1]-1; none: value k. Values are entries of `units`,
   * or of `slots` where they are collected. */
  grove_list starts;
};

#ifdef __cplusplus
static_assert(sizeof(void *) != 8 || sizeof(grove_job) == 48, "compilers agree");
static_assert(sizeof(grove_recipe) == 224, "compilers agree");
#else
_Static_assert(sizeof(grove_job) == 48, "compilers agree");
_Static_assert(sizeof(grove_recipe) == 224, "compilers agree");
#endif

/* ---- kernels as C has them, for an emulated device (recipe.c) ---- */

/* The number of items of a launch. */
int64_t grove_launch_size(const grove_launch *launch);

/* Does what some of `all` threads do, in this order. Each has its share of the items. */
void grove_launch_threads(const grove_launch *launch, const int64_t *threads, int64_t count,
                          int64_t all);

grove_divisor grove_divisor_make(int64_t by);

/* How far behind its address kernels see a byte of the device's memory. An emulated device protects
 * the address from the program. */
extern int64_t grove_device_offset;

#ifdef __cplusplus
}
#endif

#endif
