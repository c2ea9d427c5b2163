#include "mesh.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void mesh_free(mesh *m)
{
  free(m->at);
  free(m->corner);
  *m = (mesh){0};
}

int mesh_fail(mesh_error *error, const char *format, ...)
{
  va_list words;
  va_start(words, format);
  vsnprintf(error->sentence, sizeof error->sentence, format, words);
  va_end(words);
  error->line = 0;
  return 1;
}

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014). */
uint64_t mesh_scatter(uint64_t number)
{
  uint64_t x = number + 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

double mesh_cell_volume(const mesh *m, int64_t cell)
{
  const int64_t *corner = m->corner + 4 * cell;
  const double *origin = m->at + 3 * corner[0];
  double side[3][3];
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) side[i][k] = m->at[3 * corner[i + 1] + k] - origin[k];
  double determinant = 0;
  for (int k = 0; k < 3; k++) {
    int next = (k + 1) % 3, last = (k + 2) % 3;
    determinant += side[0][k] * (side[1][next] * side[2][last] - side[1][last] * side[2][next]);
  }
  return fabs(determinant) / 6;
}

void mesh_loads(const mesh *m, double *load)
{
  for (int64_t v = 0; v < m->vertices; v++) load[v] = 0;
  for (int64_t c = 0; c < m->cells; c++) {
    double quarter = mesh_cell_volume(m, c) / 4;
    for (int i = 0; i < 4; i++) load[m->corner[4 * c + i]] += quarter;
  }
}
