/* Cells into parts, by coordinates or by METIS. */
#include "mesh.h"

#include <stdlib.h>

#ifdef MESH_METIS
#include <metis.h>
#endif

/* ---- by coordinates ---- */

typedef struct center {
  double at[3];
  int64_t cell;
} center;

static int by_axis(const center *a, const center *b, int axis)
{
  if (a->at[axis] != b->at[axis]) return a->at[axis] < b->at[axis] ? -1 : 1;
  return (a->cell > b->cell) - (a->cell < b->cell);
}

static int by_x(const void *a, const void *b)
{
  return by_axis(a, b, 0);
}

static int by_y(const void *a, const void *b)
{
  return by_axis(a, b, 1);
}

static int by_z(const void *a, const void *b)
{
  return by_axis(a, b, 2);
}

static int longest_axis(const center *c, int64_t n)
{
  int longest = 0;
  double most = -1;
  for (int axis = 0; axis < 3; axis++) {
    double low = c[0].at[axis], high = low;
    for (int64_t i = 1; i < n; i++) {
      if (c[i].at[axis] < low) low = c[i].at[axis];
      if (c[i].at[axis] > high) high = c[i].at[axis];
    }
    if (high - low > most) longest = axis, most = high - low;
  }
  return longest;
}

/* The cells become parts first .. first + nparts - 1. */
static void bisect(center *c, int64_t n, int first, int nparts, int *part)
{
  static int (*const order[3])(const void *, const void *) = {by_x, by_y, by_z};
  if (nparts == 1 || n == 0) {
    for (int64_t i = 0; i < n; i++) part[c[i].cell] = first;
    return;
  }
  int left = nparts / 2;
  int64_t split = n * left / nparts;
  qsort(c, (size_t)n, sizeof *c, order[longest_axis(c, n)]);
  bisect(c, split, first, left, part);
  bisect(c + split, n - split, first + left, nparts - left, part);
}

int mesh_partition_by_coordinates(const mesh *m, int nparts, int *part, mesh_error *error)
{
  center *c = calloc((size_t)m->cells + 1, sizeof *c);
  if (!c) return mesh_fail(error, "no memory for %lld cells", (long long)m->cells);
  for (int64_t i = 0; i < m->cells; i++) {
    c[i].cell = i;
    for (int k = 0; k < 12; k++) c[i].at[k % 3] += m->at[3 * m->corner[4 * i + k / 3] + k % 3] / 4;
  }
  bisect(c, m->cells, 0, nparts, part);
  free(c);
  return 0;
}

/* ---- by METIS ---- */

#ifdef MESH_METIS

const char *mesh_partitioner(void)
{
  return "METIS";
}

/* The corners as METIS wants them: those of cell i from begin[i] on. */
static void list_corners(const mesh *m, idx_t *begin, idx_t *corner)
{
  for (int64_t i = 0; i <= m->cells; i++) begin[i] = (idx_t)(4 * i);
  for (int64_t i = 0; i < 4 * m->cells; i++) corner[i] = (idx_t)m->corner[i];
}

/* Cells that share three vertices are neighbours. */
static int ask_metis(const mesh *m, int nparts, idx_t *begin, idx_t *corner, idx_t *found)
{
  idx_t options[METIS_NOPTIONS], cut = 0, common = 3;
  idx_t cells = (idx_t)m->cells, vertices = (idx_t)m->vertices, parts = nparts;
  list_corners(m, begin, corner);
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = 1;
  return METIS_PartMeshDual(&cells, &vertices, begin, corner, NULL, NULL, &common, &parts, NULL,
                            options, &cut, found, found + m->cells);
}

/* Where there is nothing to choose METIS is not called: it is not made for that. */
int mesh_partition(const mesh *m, int nparts, int *part, mesh_error *error)
{
  if (nparts == 1 || m->cells <= nparts)
    return mesh_partition_by_coordinates(m, nparts, part, error);
  if (m->cells > IDX_MAX / 4 || m->vertices > IDX_MAX)
    return mesh_fail(error, "%lld cells are too many for METIS", (long long)m->cells);
  size_t cells = (size_t)m->cells;
  idx_t *begin = malloc((cells + 1) * sizeof *begin), *corner = malloc(4 * cells * sizeof *corner);
  idx_t *found = malloc((cells + (size_t)m->vertices) * sizeof *found);
  int code =
    begin && corner && found ? ask_metis(m, nparts, begin, corner, found) : METIS_ERROR_MEMORY;
  for (int64_t i = 0; code == METIS_OK && i < m->cells; i++) part[i] = (int)found[i];
  free(begin);
  free(corner);
  free(found);
  if (code == METIS_OK) return 0;
  return mesh_fail(error, "METIS could not make %d parts of %lld cells%s", nparts,
                   (long long)m->cells, code == METIS_ERROR_MEMORY ? ": no memory" : "");
}

#else

const char *mesh_partitioner(void)
{
  return "coordinates";
}

int mesh_partition(const mesh *m, int nparts, int *part, mesh_error *error)
{
  return mesh_partition_by_coordinates(m, nparts, part, error);
}

#endif
