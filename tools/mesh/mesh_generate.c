/* A cube becomes six tetrahedra around one of its diagonals: each goes from one end to the other
 * along the three axes, in one of their six orders (Kuhn). The faces of neighbouring cubes fit.
 */
#include "mesh.h"

#include <stdlib.h>

/* As a share of a cube's side: so little that no tetrahedron turns inside out. */
static const double out_of_place = 0.1;

/* A number from -1 to 1 that depends on the coordinate. */
static double wobble(int64_t number)
{
  return (double)(mesh_scatter((uint64_t)number) >> 11) / (double)((uint64_t)1 << 52) - 1;
}

static void place_vertices(int64_t n, double *at)
{
  int64_t place[3], v = 0;
  for (place[2] = 0; place[2] <= n; place[2]++)
    for (place[1] = 0; place[1] <= n; place[1]++)
      for (place[0] = 0; place[0] <= n; place[0]++, v++) {
        int inside = 1;
        for (int k = 0; k < 3; k++) inside = inside && place[k] > 0 && place[k] < n;
        for (int k = 0; k < 3; k++) {
          double shift = inside ? out_of_place * wobble(3 * v + k) : 0;
          at[3 * v + k] = ((double)place[k] + shift) / (double)n;
        }
      }
}

/* The six cells of the cube that begins at this vertex. */
static void cut_cube(int64_t first, int64_t n, int64_t *corner)
{
  static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                   {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  const int64_t step[3] = {1, n + 1, (n + 1) * (n + 1)};
  for (int i = 0; i < 6; i++) {
    int64_t v = first;
    *corner++ = v;
    for (int k = 0; k < 3; k++) *corner++ = v += step[orders[i][k]];
  }
}

int mesh_generate(int64_t n, mesh *out, mesh_error *error)
{
  *out = (mesh){0};
  if (n < 1 || n > MESH_MOST_CUBES)
    return mesh_fail(error, "a side of %lld cubes is not from 1 to %d", (long long)n,
                     MESH_MOST_CUBES);
  mesh m = {.vertices = (n + 1) * (n + 1) * (n + 1), .cells = 6 * n * n * n};
  m.at = malloc(3 * (size_t)m.vertices * sizeof *m.at);
  m.corner = malloc(4 * (size_t)m.cells * sizeof *m.corner);
  if (!m.at || !m.corner) {
    mesh_free(&m);
    return mesh_fail(error, "no memory for a mesh of %lld cells", (long long)(6 * n * n * n));
  }
  place_vertices(n, m.at);
  int64_t *corner = m.corner;
  for (int64_t z = 0; z < n; z++)
    for (int64_t y = 0; y < n; y++)
      for (int64_t x = 0; x < n; x++, corner += 24)
        cut_cube(x + (n + 1) * (y + (n + 1) * z), n, corner);
  *out = m;
  return 0;
}
