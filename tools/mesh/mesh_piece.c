/* The piece of a mesh that one rank holds, whose vertices are known by names. */
#include "mesh_run.h"

#include <stdlib.h>

/* Maps names to places: a table with at least two entries per vertex; free ones have -1. */
typedef struct places {
  int64_t *place;
  uint64_t room; /* a power of two */
} places;

/* The entry of this name, or the free one where it belongs. */
static int64_t *find(const places *t, const int64_t *name, int64_t wanted)
{
  uint64_t i = mesh_scatter((uint64_t)wanted) & (t->room - 1);
  while (t->place[i] >= 0 && name[t->place[i]] != wanted) i = (i + 1) & (t->room - 1);
  return &t->place[i];
}

/* Doubles the room, also for names. */
static int grow(places *t, mesh_piece *p)
{
  uint64_t room = t->room > 0 ? 2 * t->room : 1024;
  int64_t *name = realloc(p->name, room / 2 * sizeof *name);
  if (name) p->name = name;
  int64_t *place = malloc(room * sizeof *place);
  if (!name || !place) {
    free(place);
    return 1;
  }
  free(t->place);
  *t = (places){place, room};
  for (uint64_t i = 0; i < room; i++) place[i] = -1;
  for (int64_t v = 0; v < p->vertices; v++) *find(t, p->name, p->name[v]) = v;
  return 0;
}

static int number_corners(places *t, mesh_piece *p)
{
  for (int64_t i = 0; i < 4 * p->cells; i++) {
    if (2 * (uint64_t)p->vertices >= t->room && grow(t, p)) return 1;
    int64_t *place = find(t, p->name, p->corner[i]);
    if (*place < 0) {
      p->name[p->vertices] = p->corner[i];
      *place = p->vertices++;
    }
    p->corner[i] = *place;
  }
  return 0;
}

int mesh_piece_cells(mesh_piece *p, mesh_error *error)
{
  p->corner = malloc((4 * (size_t)p->cells + 1) * sizeof *p->corner);
  return p->corner ? 0 : mesh_fail(error, "no memory for %lld cells", (long long)p->cells);
}

int mesh_piece_number(mesh_piece *p, mesh_error *error)
{
  places table = {0};
  int failed = number_corners(&table, p);
  free(table.place);
  size_t room = (size_t)p->vertices + 1;
  p->at = malloc(3 * room * sizeof *p->at);
  p->right = malloc(room * sizeof *p->right);
  p->load = malloc(room * sizeof *p->load);
  p->ghost = malloc(room * sizeof *p->ghost);
  if (failed || !p->at || !p->right || !p->load || !p->ghost)
    return mesh_fail(error, "no memory for the vertices of %lld cells", (long long)p->cells);
  for (int64_t v = 0; v < p->vertices; v++) p->ghost[v] = 1;
  return 0;
}

void mesh_piece_load(mesh_piece *p)
{
  mesh m = {p->vertices, p->cells, p->at, p->corner};
  mesh_loads(&m, p->load);
}

void mesh_piece_free(mesh_piece *p)
{
  free(p->corner);
  free(p->goal);
  free(p->name);
  free(p->at);
  free(p->right);
  free(p->load);
  free(p->ghost);
  *p = (mesh_piece){0};
}

uint64_t mesh_cell_print(const int64_t *corner, const int64_t *name)
{
  uint64_t print = 0;
  for (int i = 0; i < 4; i++)
    print = mesh_scatter(print ^ (uint64_t)(name ? name[corner[i]] : corner[i]));
  return print;
}
