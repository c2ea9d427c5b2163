/* What the files of multipath share. */
#ifndef GROVE_MODEL_MULTIPATH_PARTS_H
#define GROVE_MODEL_MULTIPATH_PARTS_H

#include "model/multipath.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- resources (multipath_resources.c) ---- */

/* Finds what the paths of a copy cross, and adds new resources to the set. */
grove_status grove_resources_add(grove_copies *set, grove_copy_paths *copy);

/* How much each path may have of what it could take, `most`, so that no resource gives more than
 * `room` and no copy gets more than its `need` (NULL: unlimited). Direct paths come first, then
 * those through GPUs, then those through the host; paths of one kind side by side. stopped[c][i]
 * becomes the resource that kept path i of copy c from more; -1: none. */
void grove_resources_fill(const grove_copies *set, double most[][GROVE_PATHS], const double *room,
                          const double *need, double out[][GROVE_PATHS],
                          int stopped[][GROVE_PATHS]);

/* The same for rates, when all run at once. */
void grove_resources_rates(const grove_copies *set, double out[][GROVE_PATHS],
                           int stopped[][GROVE_PATHS]);

/* When the first byte of a path launched at `launch` reaches what it crosses. */
double grove_crossing_begins(const grove_path *p, const grove_crossing *x, double launch);

/* ---- solvers ---- */

/* (24). */
void grove_linear_shares(int n, const double *omega, const double *delta, double bytes,
                         double *share);

grove_status grove_multipath_published(const grove_copies *set, grove_split *out);
grove_status grove_multipath_exact(const grove_copies *set, grove_split *out);
grove_status grove_multipath_search(const grove_copies *set, grove_split *out);

/* One copy that shares nothing: the best split over the paths in `allowed` (one bit each). Sets
 * share, chunks, launch, place and seconds of each load. */
void grove_exact_alone(const grove_copy_paths *copy, unsigned allowed, grove_split *out);

/* Sets phi, omega and delta of a load from its chunks, so that (21) gives its time. */
void grove_load_describe(const grove_path *p, double bytes, grove_path_load *load);

/* A load of nothing. */
extern const grove_path_load grove_no_load;

/* Rounds shares to whole bytes. */
void grove_split_round(const grove_copy_paths *copy, grove_split *split);

#ifdef __cplusplus
}
#endif

#endif
