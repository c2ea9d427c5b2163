/* One path of a copy between two GPUs, and its time: the direct link, or two links with a stop at
 * another GPU or in the memory of the host.
 *
 * At a stop, data is cut into chunks: while one leaves, the next comes in. With b bytes in k chunks
 * of c = b / k bytes, and for the two links
 *
 *     t1 = alpha + c / beta,   t2 = epsilon + alpha2 + c / beta2
 *
 * the last byte arrives after t1 + t2 + (k - 1) max(t1, t2). Many chunks pay many latencies; few
 * leave a link idle. There is a best number in between.
 *
 * After A. Sojoodi et al., Accelerating intra-node GPU communication: a performance model for
 * multi-path transfers, 2025, whose equations have their numbers here. Times are seconds, rates
 * bytes per second. A direct path has epsilon and alpha2 0, beta2 infinite, one chunk and phi 1, so
 * that all forms hold for it too.
 */
#ifndef GROVE_MODEL_PATH_H
#define GROVE_MODEL_PATH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum grove_path_kind {
  GROVE_PATH_DIRECT,
  GROVE_PATH_GPU,
  GROVE_PATH_HOST,
  GROVE_PATH_KINDS
} grove_path_kind;
extern const char *const grove_path_kind_names[GROVE_PATH_KINDS];

typedef struct grove_path {
  grove_path_kind kind;
  int via; /* the GPU; -1: none */
  double alpha, beta;
  double epsilon, alpha2, beta2;
  double slot_bytes; /* the longest chunk; infinite: no limit */
} grove_path;

enum { GROVE_CHUNKS = 1 << 16 }; /* of a path, at most: for when a latency is 0 */

/* ---- as published ---- */

/* (2): all at once, first over one link, then over the other. (12) is this for b / k bytes. */
double grove_path_whole(const grove_path *p, double bytes);

/* The case of (13), (19) to (22): is the first link the slower one? If both are equally fast, the
 * second case holds. (16) counts the cases by floor(beta2 / beta), which is 2 and more for a much
 * faster second link, and 1 for equal ones: it is wrong as printed. */
int grove_path_first_is_slower(const grove_path *p);

/* (13): k chunks; right if the slower link also takes longer for a chunk. */
double grove_path_published(const grove_path *p, double bytes, double k);

/* (14), (15): the best number of chunks, not a whole one. Infinite if the latency is 0. */
double grove_path_root_chunks(const grove_path *p, double bytes);

/* (17), (18): the time with that number. */
double grove_path_root(const grove_path *p, double bytes);

/* The phi for which (19) equals (14) or (15) at this many bytes. At most 1, where (20) becomes (2):
 * one chunk. The paper does not say how phi is found. */
double grove_path_phi(const grove_path *p, double bytes);

/* (19): chunks by phi, not a whole number. (22): such that (21) is omega bytes + delta. */
double grove_path_phi_chunks(const grove_path *p, double phi, double bytes);
void grove_path_linear(const grove_path *p, double phi, double *omega, double *delta);

/* ---- exactly ---- */

/* t1 + t2 + (k - 1) max(t1, t2). */
double grove_path_seconds(const grove_path *p, double bytes, double k);

/* The whole number of chunks for which that is least, and the time with it. */
int64_t grove_path_chunks(const grove_path *p, double bytes);

/* How many bytes have arrived after this many seconds, with the best whole number of chunks, which
 * goes to `chunks`. `slope` gets the further bytes per second, with the same number. */
double grove_path_carries(const grove_path *p, double seconds, int64_t *chunks, double *slope);

/* Bytes per second without any latencies. */
double grove_path_rate(const grove_path *p);

#ifdef __cplusplus
}
#endif

#endif
