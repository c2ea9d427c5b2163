/* What the files about arrays outside the host's memory know of each other. apart.c has how far an
 * operation with such arrays is. apart_prepare.c tells devices beforehand what they will do, and
 * apart_meet.c what of that meets at the roots. apart_keep.c moves self edges. placement.c has what
 * reports say.
 */
#ifndef GROVE_EXEC_APART_H
#define GROVE_EXEC_APART_H

#include "exec/transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- self edges (apart_keep.c) ---- */

/* The units of a pair. Those of edges that fetch are among the other edges. */
char *grove_apart_place(const grove_bound_stage *s, int i);

/* Does this rank fetch its own roots in stage k? */
int grove_apart_fetches(const grove_lane *lane, int k);

/* If those of stage k never leave a device, it is told so. */
grove_status grove_apart_declare(const grove_transfer *op, int k);

static inline char *grove_apart_edges(const grove_field *f, int64_t edge)
{
  return (char *)f->edges + edge * f->mover.unit.bytes;
}

/* ---- what meets at the roots (apart_meet.c) ---- */

/* Is the section for roots, in which it may meet others? */
int grove_apart_meets(const grove_transfer *op, const grove_section *p);

/* All that meets in the roots of a field. */
grove_status grove_apart_merge(const grove_transfer *op, int field);

/* ---- what a report says (placement.c) ---- */

/* Once; before grove_apart_tell. */
grove_status grove_apart_describe(grove_transfer *op);

#ifdef __cplusplus
}
#endif

#endif
