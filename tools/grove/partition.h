/* Which rank owns which row of a matrix, and thus that entry of a vector.
 */
#ifndef GROVE_TOOLS_PARTITION_H
#define GROVE_TOOLS_PARTITION_H

#include "base/status.h"
#include "matrix_market.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* So that a row times the number of parts does not overflow. */
enum { PARTITION_MOST_PARTS = 10000000, PARTITION_MOST_ROWS = INT32_MAX };

typedef struct partition {
  int nparts;
  int64_t rows;
  int32_t *part; /* of every row; NULL: contiguous blocks, as even as possible */
} partition;

/* The first row of a contiguous block: floor(part * rows / nparts). */
static inline int64_t partition_start(const partition *p, int64_t part)
{
  return part * p->rows / p->nparts;
}

/* The owner of a row: of the blocks that begin at or before it, the last. That is the largest part
 * with part * rows < (row + 1) * nparts. */
static inline int partition_of(const partition *p, int64_t row)
{
  return p->part ? p->part[row] : (int)(((row + 1) * p->nparts - 1) / p->rows);
}

partition partition_contiguous(int64_t rows, int nparts);

/* By METIS, k-way, so that few entries join different parts. The pattern is made symmetric, and the
 * seed is fixed. Fails with a sentence in a build without METIS. */
grove_status partition_metis(const matrix_market *m, int nparts, partition *out);

void partition_free(partition *p);

#ifdef __cplusplus
}
#endif

#endif
