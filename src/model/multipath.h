/* One copy from a GPU to another over several paths at once: which share goes over which path, in
 * how many chunks, and how long it takes.
 *
 *     grove_copies set;
 *     GROVE_TRY(grove_copies_add(&set, machine, 0, 1, bytes, "direct,gpu2,host"));  set is zeroed
 *     grove_split split;
 *     GROVE_TRY(grove_multipath_solve(&set, GROVE_SOLVER_EXACT, &split));
 *     for (int i = 0; i < split.npaths; i++) ... split.load[i].share ...
 *
 * Paths are launched one after the other, and each launch takes the alpha of the path (line 18 of
 * the paper's algorithm), so later paths start later. A split is best when all used paths end
 * together (Theorem 1). Three solvers:
 *
 *   published  the paper's: times are made linear by a constant phi for each path, (19) to (22),
 *              and shares follow from (24). A path whose share is negative is left out, the worst
 *              first, and all is solved again; the direct path stays, and is launched
 *              first, the others in the order of their rates. phi is found for the centre of a
 *              size class.
 *   exact      looks for the time at which the paths together have carried all the bytes, each by
 *              path.h's exact form with its best whole number of chunks. Of all orders of launching
 *              it takes the best in which the direct path is of use.
 *   search     tries shares on a grid, refined, and all orders: for comparison.
 *
 * The paper leaves open that paths may cross the same thing, such as the port of a GPU on a switch
 * or the memory of the host, and so may copies under way at the same time. Such a thing is a
 * *resource* with a rate. At the end of the copies, no more has crossed it than it can have carried
 * since its first byte. Pure functions: nothing is measured, nothing is moved.
 */
#ifndef GROVE_MODEL_MULTIPATH_H
#define GROVE_MODEL_MULTIPATH_H

#include "model/machine.h"
#include "model/path.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  GROVE_PATHS = GROVE_DEVICES, /* direct, fourteen GPUs, the host */
  GROVE_COPIES = 12,           /* at the same time: four GPUs, each to all others */
  GROVE_CROSSINGS = 16,        /* of resources by a path */
  GROVE_RESOURCES = 512,
  GROVE_SPLIT_ALIGNMENT = 256 /* the bytes of staged paths are a multiple of this */
};

typedef enum grove_solver {
  GROVE_SOLVER_EXACT,
  GROVE_SOLVER_PUBLISHED,
  GROVE_SOLVER_SEARCH,
  GROVE_SOLVERS
} grove_solver;
extern const char *const grove_solver_names[GROVE_SOLVERS];

/* Something that bytes cross: a link, a port, or a thing that a profile names. */
typedef struct grove_path_resource {
  int kind, from, to; /* what it is; used by multipath_resources.c */
  double rate;
} grove_path_resource;

/* What a byte on a path crosses, and whether before its stop or only after it. */
typedef struct grove_crossing {
  short resource;
  unsigned char times, behind;
} grove_crossing;

typedef struct grove_copy_paths {
  int from, to;
  double bytes;
  int npaths;
  grove_path path[GROVE_PATHS]; /* the direct one first, if it is there; then GPUs; then the host */
  int limited[GROVE_PATHS];     /* the resource that limits the path's rate even alone; -1: none */
  int useless[GROVE_PATHS];     /* the resource that earlier paths use up; -1: none */
  int ncrossings[GROVE_PATHS];
  grove_crossing crossing[GROVE_PATHS][GROVE_CROSSINGS];
} grove_copy_paths;

/* Copies under way at the same time; zeroed before the first is added. */
typedef struct grove_copies {
  const grove_machine *m;
  int count;
  grove_copy_paths copy[GROVE_COPIES];
  int nresources;
  grove_path_resource resource[GROVE_RESOURCES];
  int alone; /* nothing is shared: as in the paper */
} grove_copies;

/* Adds a copy, with all paths of the machine (paths is NULL) or those named, such as
 * "direct,gpu2,host". GROVE_ERR_ARG: no such device or path, from equals to, no bytes, a machine
 * without links. The machine must outlive the set. */
grove_status grove_copies_add(grove_copies *set, const grove_machine *m, int from, int to,
                              double bytes, const char *paths);

/* The load of one path. */
typedef struct grove_path_load {
  double share;  /* of the bytes; 0: the path is not used */
  int64_t bytes; /* share, rounded; the paths together have all bytes */
  int64_t chunks;
  double phi, omega, delta; /* (21): seconds = share n omega + delta */
  double launch;            /* the launches before it; part of delta */
  double seconds;           /* when it ends; 0 where it is left out */
  double beta, beta2;       /* the rates that the solver used */
  int place;                /* in the order of launching, from 0; -1: not launched */
  int limited_by;           /* the resource that keeps it from carrying more; -1: none */
} grove_path_load;

typedef struct grove_split {
  int npaths;
  grove_path_load load[GROVE_PATHS];
  double seconds; /* of the path that ends last, by the solver's own form */
  double checked; /* by the exact form, including everything that is shared */
  int binds;      /* the resource that is used up; -1: none */
} grove_split;

/* Splits all copies of the set; `out` has an entry for each. GROVE_ERR_ARG: too many paths for a
 * search. */
grove_status grove_multipath_solve(const grove_copies *set, grove_solver solver, grove_split *out);

/* When the last byte has arrived, by exact forms, with the bytes and chunks of the splits. `binds`
 * becomes the resource that is used up the longest; -1 if a path's own links take longer. */
double grove_resources_check(const grove_copies *set, const grove_split *splits, int *binds);

/* All on one path: the direct one or, without it, the best. `out`, which may be NULL, gets a split
 * of one load for each copy, and `entry` which path's load it is. */
double grove_multipath_single(const grove_copies *set, grove_split *out, int *entry);

/* The possible speed-up over that path if there were no latencies: for the first copy, the rates of
 * all paths, as far as they can be used together, divided by that of the single one. */
double grove_multipath_bound(const grove_copies *set);

/* "the port out of GPU 0", "memory". */
void grove_resource_name(const grove_copies *set, int resource, char *out, size_t room);

/* ---- size classes and the cache ---- */

/* Eight to the octave. The centre of a class is in the class. */
enum { GROVE_SIZE_CLASSES = 8 * 61 };
int grove_size_class(int64_t bytes);
double grove_size_class_centre(int size_class);

/* What a copy of a size class should do: shares and chunks, for the centre of the class. */
typedef struct grove_copy_decision {
  int npaths;            /* used: 1 if splitting gains less than the threshold */
  int path[GROVE_PATHS]; /* in the order of launching: entries of the set's copy */
  double share[GROVE_PATHS];
  int64_t chunks[GROVE_PATHS];
  double gain, seconds; /* in the middle of the size class */
} grove_copy_decision;

/* Decisions for one pair of GPUs and one list of paths. Any number of threads may ask at once. */
typedef struct grove_copy_cache grove_copy_cache;
grove_status grove_copy_cache_create(const grove_machine *m, int from, int to, const char *paths,
                                     grove_solver solver, double threshold, grove_copy_cache **out);
void grove_copy_cache_free(grove_copy_cache **cache);

/* The decision for this many bytes (1 or more); NULL: no memory. It lives as long as the cache. */
const grove_copy_decision *grove_copy_decide(grove_copy_cache *cache, int64_t bytes);

/* Bytes for each path of a decision: those of staged paths are multiples of the alignment; the rest
 * goes to the first. */
void grove_copy_decision_bytes(const grove_copy_decision *d, int64_t bytes, int64_t *out);

#ifdef __cplusplus
}
#endif

#endif
