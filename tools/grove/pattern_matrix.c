#include "grove/partition.h"
#include "grove/pattern.h"

#include <stdio.h>
#include <stdlib.h>

/* Marks the columns that rows first .. end-1 need and do not own, and counts them. */
static int64_t mark(const matrix_market *m, int64_t first, int64_t end, char *needed)
{
  int64_t count = 0;
  for (int64_t k = 0; k < m->count; k++) {
    int64_t col = m->col[k];
    if (m->row[k] < first || m->row[k] >= end || (col >= first && col < end)) continue;
    count += !needed[col];
    needed[col] = 1;
  }
  return count;
}

static void fill(const partition *p, const char *needed, pattern *out)
{
  int64_t used = 0;
  for (int64_t col = 0; used < out->nleaves; col++) {
    if (!needed[col]) continue;
    int owner = partition_of(p, col);
    out->leaf[used] = out->nroots + used;
    out->root[used++] = (grove_root){owner, col - partition_start(p, owner)};
  }
}

static int divide(MPI_Comm comm, const matrix_market *m, pattern *out)
{
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  partition p = partition_contiguous(m->rows, size);
  int64_t first = partition_start(&p, rank), end = partition_start(&p, rank + 1);
  char *needed = calloc((size_t)m->rows + 1, 1);
  int failed = !needed || pattern_allocate(out, end - first, mark(m, first, end, needed));
  if (!failed) fill(&p, needed, out);
  free(needed);
  return failed;
}

int pattern_matrix(MPI_Comm comm, const char *path, pattern *out, int64_t *rows, char *why,
                   size_t room)
{
  matrix_market m;
  matrix_market_error error;
  const matrix_market_how how = {.pattern_only = 1};
  int failed = matrix_market_read(path, &how, &m, &error);
  if (failed) {
    snprintf(why, room, "%s", error.sentence);
  } else if (m.rows != m.cols || m.rows > PARTITION_MOST_ROWS) {
    snprintf(why, room,
             "%s has %lld rows and %lld columns; a square matrix of at most %d is needed", path,
             (long long)m.rows, (long long)m.cols, PARTITION_MOST_ROWS);
    failed = 1;
  } else if ((failed = divide(comm, &m, out))) {
    snprintf(why, room, "no memory for the pattern of %s", path);
  }
  *rows = m.rows;
  matrix_market_free(&m);
  return failed;
}
