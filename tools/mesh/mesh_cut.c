/* Counts the faces that a partition cuts: once faces are sorted, the two sides of one are adjacent.
 * */
#include "mesh.h"

#include <stdlib.h>

typedef struct face {
  int64_t corner[3]; /* ascending */
  int part;          /* of its cell */
} face;

static int by_corners(const void *a, const void *b)
{
  const face *x = a, *y = b;
  for (int k = 0; k < 3; k++)
    if (x->corner[k] != y->corner[k]) return x->corner[k] < y->corner[k] ? -1 : 1;
  return 0;
}

/* The face of a cell opposite one of its corners. */
static face face_of(const int64_t *corner, int opposite, int part)
{
  face f = {.part = part};
  for (int i = 0, used = 0; i < 4; i++) {
    if (i == opposite) continue;
    int at = used++;
    for (; at > 0 && f.corner[at - 1] > corner[i]; at--) f.corner[at] = f.corner[at - 1];
    f.corner[at] = corner[i];
  }
  return f;
}

int mesh_cut(const mesh *m, const int *part, int64_t *faces, mesh_error *error)
{
  int64_t n = 4 * m->cells;
  face *all = malloc((size_t)(n + 1) * sizeof *all);
  if (!all) return mesh_fail(error, "no memory for %lld faces", (long long)n);
  for (int64_t i = 0; i < n; i++)
    all[i] = face_of(m->corner + i / 4 * 4, (int)(i % 4), part[i / 4]);
  qsort(all, (size_t)n, sizeof *all, by_corners);
  *faces = 0;
  for (int64_t i = 1; i < n; i++)
    *faces += by_corners(&all[i - 1], &all[i]) == 0 && all[i - 1].part != all[i].part;
  free(all);
  return 0;
}
