#include "grove/partition.h"

#include <stdlib.h>

#ifdef GROVE_METIS
#include <metis.h>
#endif

partition partition_contiguous(int64_t rows, int nparts)
{
  return (partition){.nparts = nparts, .rows = rows};
}

void partition_free(partition *p)
{
  free(p->part);
  *p = (partition){0};
}

#ifdef GROVE_METIS

/* The rows that entries join, without direction, loops or repetition. */
typedef struct joined {
  idx_t *first, *row; /* those of row i are row[first[i]] .. row[first[i+1]-1] */
} joined;

static void joined_free(joined *g)
{
  free(g->first);
  free(g->row);
}

/* Adds every entry at both its ends; next[i] ends up where row i + 1 begins. */
static void list_ends(const matrix_market *m, idx_t *next, idx_t *row)
{
  for (int64_t k = 0; k < m->count; k++) {
    if (m->row[k] == m->col[k]) continue;
    row[next[m->row[k]]++] = (idx_t)m->col[k];
    row[next[m->col[k]]++] = (idx_t)m->row[k];
  }
}

/* Removes duplicates; `seen[j]` is the last row that had j. */
static void drop_repetition(joined *g, int64_t rows, idx_t *seen)
{
  idx_t used = 0, begin = 0;
  for (int64_t i = 0; i < rows; i++) seen[i] = -1;
  for (int64_t i = 0; i < rows; i++) {
    idx_t end = g->first[i + 1];
    g->first[i] = used;
    for (idx_t k = begin; k < end; k++) {
      idx_t j = g->row[k];
      if (seen[j] == (idx_t)i) continue;
      seen[j] = (idx_t)i;
      g->row[used++] = j;
    }
    begin = end;
  }
  g->first[rows] = used;
}

static grove_status joined_create(const matrix_market *m, joined *g)
{
  grove_status status = GROVE_OK;
  idx_t *next = NULL;
  GROVE_CHECK(m->count <= IDX_MAX / 2, GROVE_ERR_ARG,
              "the matrix has %lld entries, too many for METIS", (long long)m->count);
  GROVE_NEW(g->first, m->rows + 2);
  for (int64_t k = 0; k < m->count; k++) {
    g->first[m->row[k] + 1] += m->row[k] != m->col[k];
    g->first[m->col[k] + 1] += m->row[k] != m->col[k];
  }
  for (int64_t i = 0; i < m->rows; i++) g->first[i + 1] += g->first[i];
  GROVE_ROOM(g->row, g->first[m->rows]);
  GROVE_ROOM(next, m->rows);
  for (int64_t i = 0; i < m->rows; i++) next[i] = g->first[i];
  list_ends(m, next, g->row);
  drop_repetition(g, m->rows, next);
fail:
  free(next);
  return status;
}

static grove_status ask_metis(joined *g, int64_t rows, int nparts, int32_t *part)
{
  grove_status status = GROVE_OK;
  idx_t options[METIS_NOPTIONS], n = (idx_t)rows, constraints = 1, parts = nparts, cut = 0;
  idx_t *found = NULL;
  GROVE_ROOM(found, rows);
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = 1;
  int code = METIS_PartGraphKway(&n, &constraints, g->first, g->row, NULL, NULL, NULL, &parts, NULL,
                                 NULL, options, &cut, found);
  GROVE_CHECK(code != METIS_ERROR_MEMORY, GROVE_ERR_MEMORY, "METIS has not enough memory");
  GROVE_CHECK(code == METIS_OK, GROVE_ERR_ARG, "METIS could not make %d parts of %lld rows", nparts,
              (long long)rows);
  for (int64_t i = 0; i < rows; i++) part[i] = (int32_t)found[i];
fail:
  free(found);
  return status;
}

grove_status partition_metis(const matrix_market *m, int nparts, partition *out)
{
  grove_status status = GROVE_OK;
  partition p = partition_contiguous(m->rows, nparts);
  joined g = {0};
  if (nparts > 1 && m->rows > nparts) { /* else there is nothing to choose */
    GROVE_TRY(joined_create(m, &g));
    GROVE_ROOM(p.part, m->rows);
    GROVE_TRY(ask_metis(&g, m->rows, nparts, p.part));
  }
  *out = p;
  p = (partition){0};
fail:
  joined_free(&g);
  partition_free(&p);
  return status;
}

#else

grove_status partition_metis(const matrix_market *m, int nparts, partition *out)
{
  (void)m, (void)nparts, (void)out;
  return grove_error_set(GROVE_ERR_ARG, "this command was built without METIS; '--partition "
                                        "contiguous' needs nothing, and with libmetis-dev "
                                        "installed a new build has both");
}

#endif
