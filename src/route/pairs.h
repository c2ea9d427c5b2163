/* Plain edges, sorted by the two ranks that they join: what every route counts from. No MPI.
 *
 *     GROVE_TRY(grove_pairs_create(edges, n, nranks, &pairs));
 *     for (int64_t p = 0; p < pairs.count; p++)
 *       ... pairs.leaf_rank[p] needs roots[begin[p]] .. roots[begin[p+1]-1] of root_rank[p] ...
 *     grove_pairs_free(&pairs);
 */
#ifndef GROVE_ROUTE_PAIRS_H
#define GROVE_ROUTE_PAIRS_H

#include "base/status.h"
#include "plan/manifest.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* By leaf rank, then by root rank; the roots of a pair in the order of the edges. Includes pairs of
 * a rank with itself. */
typedef struct grove_pairs {
  int64_t count;
  int32_t *leaf_rank, *root_rank;
  int64_t *begin; /* count + 1 */
  int64_t *roots;
} grove_pairs;

/* Cost: two passes over edges that ascend by leaf rank; for others, four and a copy. */
grove_status grove_pairs_create(const grove_edge *edges, int64_t n, int nranks, grove_pairs *out);
void grove_pairs_free(grove_pairs *pairs);

#ifdef __cplusplus
}
#endif

#endif
