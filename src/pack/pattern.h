/* What a kernel does for one section of a letter, described so that any number of threads can do it
 * in any order: a *pattern* says which slots of an array and which units of a message belong
 * together, and what happens to them. It is made once, and lies in the device's memory.
 *
 * The work of a pattern is divided into *items*. No two items write the same bytes, and none reads
 * what another writes, so they need no order and no atomic operation. Where a slot is named twice
 * one item has all that happens to it, in the order of the list.
 *
 * The bodies of the kernels are in kernel.inc, in what C and CUDA C++ have in common. This header is
 * read by both, and knows nothing of MPI.
 */
#ifndef GROVE_PACK_PATTERN_H
#define GROVE_PACK_PATTERN_H

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

/* A pattern, applied. */
typedef struct grove_job {
  const grove_recipe *pattern; /* in the device's memory */
  char *array;                  /* slot 0 */
  char *message;                /* the first unit of the pattern's window */
  int64_t end;                  /* items of this job and of those before it */
} grove_job;

/* So many fit into the parameters of a kernel. */
enum { GROVE_JOBS = 120 };

/* Jobs that are done at once, without any order between them. */
typedef struct grove_launch {
  int32_t njobs;
  grove_job jobs[GROVE_JOBS];
} grove_launch;

#ifdef __cplusplus
}
#endif

#endif
