/* A list of slots in the form that is cheapest to walk. A user's list is seldom random: it is a
 * face of a box, or a few long runs. The form is found once, when an operation is made.
 */
#ifndef GROVE_PACK_SHAPE_H
#define GROVE_PACK_SHAPE_H

#include "base/index.h"
#include "base/status.h"
#include "pack/copy.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum grove_shape_form {
  GROVE_SHAPE_CONSECUTIVE, /* first, first + 1, ... */
  GROVE_SHAPE_RUNS,        /* several of those */
  GROVE_SHAPE_BOX,         /* first + i stride[0] + j stride[1] + k stride[2], i fastest */
  GROVE_SHAPE_LISTED       /* one by one */
} grove_shape_form;

/* Entries begin, begin + 1, ... of the list, up to the next run's begin, are slots first, ... */
typedef struct grove_run {
  int32_t begin, first;
} grove_run;

typedef struct grove_shape {
  grove_shape_form form;
  int64_t units;      /* in a message: as many as slots, or fewer where slots share one */
  grove_index slots;  /* borrowed */
  grove_index starts; /* borrowed; count 0, or: unit u is slots starts[u] .. starts[u+1]-1 */
  int32_t *owner;     /* with `starts`: the unit of each entry of the list; */
  int32_t *firsts;    /* the slot of each unit's first entry; NULL: too wide */
  int32_t *others;    /* the slots of all other entries, and the unit of each: */
  int32_t *other_units;
  int64_t first;                                         /* of all forms */
  int64_t n[GROVE_DIMENSIONS], stride[GROVE_DIMENSIONS]; /* of a box, in slots */
  int64_t nruns;
  grove_run *runs; /* with one more at the end, which begins where the list ends */
} grove_shape;

/* `starts` may have count 0. */
grove_status grove_shape_create(const grove_index *slots, const grove_index *starts,
                                int64_t unit_bytes, grove_shape *out);
void grove_shape_free(grove_shape *shape);

const char *grove_shape_form_name(grove_shape_form form);

/* The run that contains this entry of the list. */
const grove_run *grove_shape_run(const grove_shape *shape, int64_t entry);

/* ---- walking a window of a shape that is not listed, in boxes as large as possible ---- */

typedef struct grove_patch {
  int64_t first;
  int64_t n[GROVE_DIMENSIONS], stride[GROVE_DIMENSIONS]; /* in slots */
} grove_patch;

static inline int64_t grove_patch_count(const grove_patch *p)
{
  return p->n[0] * p->n[1] * p->n[2];
}

typedef struct grove_walk {
  const grove_shape *shape;
  int64_t at, end; /* entries of the list */
  int64_t run;
} grove_walk;

/* Entries begin .. begin+count-1 of the list. */
grove_walk grove_walk_begin(const grove_shape *shape, int64_t begin, int64_t count);

/* Sets the next patch; returns 0 when there is none left. */
int grove_walk_next(grove_walk *walk, grove_patch *patch);

#ifdef __cplusplus
}
#endif

#endif
