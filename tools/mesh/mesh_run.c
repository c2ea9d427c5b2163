#include "mesh_run.h"

#include <stdlib.h>
#include <string.h>

/* ---- arguments ---- */

static int read_arguments(int argc, char **argv, mesh_run *run)
{
  static const char *const starts[] = {"sequential", "chunked", "random"};
  run->start = starts[0];
  run->side = 8;
  for (int i = 1; i < argc; i++) {
    char *end;
    long side = strtol(argv[i], &end, 10);
    int known = 0;
    for (int k = 0; k < 3; k++)
      if (strcmp(argv[i], starts[k]) == 0) run->start = starts[k], known = 1;
    if (strcmp(argv[i], "--json") == 0)
      run->json = 1;
    else if (*end == '\0')
      run->side = side;
    else if (strchr(argv[i], '.'))
      run->file = argv[i];
    else if (!known)
      return mesh_fail(&run->error,
                       "'%s' is neither a file (with a dot in its name), nor a number, nor "
                       "sequential, chunked or random",
                       argv[i]);
  }
  return 0;
}

/* ---- the whole mesh ---- */

typedef struct whole {
  mesh m;
  int *goal;
  double *load;
} whole;

static void whole_free(whole *w)
{
  mesh_free(&w->m);
  free(w->goal);
  free(w->load);
}

static int whole_room(mesh_run *run, whole *w)
{
  w->goal = malloc((size_t)w->m.cells * sizeof *w->goal);
  w->load = malloc((size_t)w->m.vertices * sizeof *w->load);
  return w->goal && w->load ? 0 : mesh_fail(&run->error, "no memory for the mesh");
}

static int whole_make(mesh_run *run, whole *w)
{
  int failed = run->file ? mesh_read_gmsh(run->file, &w->m, &run->error)
                         : mesh_generate(run->side, &w->m, &run->error);
  return failed || whole_room(run, w);
}

static int whole_measure(mesh_run *run, whole *w)
{
  for (int64_t c = 0; c < w->m.cells; c++) run->volume += mesh_cell_volume(&w->m, c);
  mesh_loads(&w->m, w->load);
  return mesh_cut(&w->m, w->goal, &run->cut, &run->error);
}

/* Every rank gets all of it, and takes its own part. */
static int whole_send(mesh_run *run, whole *w)
{
  int64_t size[3] = {w->m.cells, w->m.vertices, run->cut};
  MPI_Bcast(size, 3, MPI_INT64_T, 0, MPI_COMM_WORLD);
  MPI_Bcast(&run->volume, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  w->m.cells = run->cells = size[0];
  w->m.vertices = run->vertices = size[1];
  run->cut = size[2];
  if (run->rank != 0) {
    w->m.corner = malloc(4 * (size_t)run->cells * sizeof *w->m.corner);
    w->m.at = malloc(3 * (size_t)run->vertices * sizeof *w->m.at);
    if (whole_room(run, w) || !w->m.corner || !w->m.at)
      return mesh_fail(&run->error, "no memory for the mesh");
  }
  MPI_Bcast(w->m.corner, (int)run->cells, run->corners, 0, MPI_COMM_WORLD);
  MPI_Bcast(w->goal, (int)run->cells, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Bcast(w->m.at, (int)run->vertices, run->point, 0, MPI_COMM_WORLD);
  MPI_Bcast(w->load, (int)run->vertices, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return 0;
}

/* ---- its pieces, before anything moves ---- */

/* Whether cell or vertex `i` of `n` lies here. */
static int is_here(const mesh_run *run, int64_t i, int64_t n)
{
  if (run->start[0] == 's') return run->rank == 0;
  if (run->start[0] == 'c') return run->rank == i * run->size / n;
  return (uint64_t)run->rank == mesh_scatter((uint64_t)i) % (uint64_t)run->size;
}

static size_t count_here(const mesh_run *run, int64_t n)
{
  size_t count = 0;
  for (int64_t i = 0; i < n; i++) count += (size_t)is_here(run, i, n);
  return count;
}

static void take_cells(mesh_run *run, const whole *w)
{
  mesh_piece *p = &run->from;
  for (int64_t c = 0; c < run->cells; c++) {
    const int64_t *corner = w->m.corner + 4 * c;
    if (w->goal[c] == run->rank) run->due += mesh_cell_print(corner, NULL);
    if (!is_here(run, c, run->cells)) continue;
    memcpy(p->corner + 4 * p->cells, corner, 4 * sizeof *p->corner);
    p->goal[p->cells++] = w->goal[c];
  }
}

static void take_vertices(mesh_run *run, const whole *w)
{
  mesh_piece *p = &run->from;
  for (int64_t v = 0; v < run->vertices; v++) {
    if (!is_here(run, v, run->vertices)) continue;
    memcpy(p->at + 3 * p->vertices, w->m.at + 3 * v, 3 * sizeof *p->at);
    p->right[p->vertices] = w->load[v];
    p->name[p->vertices++] = v;
  }
}

static int take(mesh_run *run, const whole *w)
{
  mesh_piece *p = &run->from;
  size_t cells = count_here(run, run->cells) + 1, vertices = count_here(run, run->vertices) + 1;
  p->corner = malloc(4 * cells * sizeof *p->corner);
  p->goal = malloc(cells * sizeof *p->goal);
  p->at = malloc(3 * vertices * sizeof *p->at);
  p->right = malloc(vertices * sizeof *p->right);
  p->name = malloc(vertices * sizeof *p->name);
  if (!p->corner || !p->goal || !p->at || !p->right || !p->name)
    return mesh_fail(&run->error, "no memory for a piece of the mesh");
  take_cells(run, w);
  take_vertices(run, w);
  return 0;
}

/* ---- the whole run ---- */

static int prepare(mesh_run *run, whole *w)
{
  int first = run->rank == 0;
  run->clock = MPI_Wtime();
  if (first && whole_make(run, w)) return 1;
  mesh_run_lap(run, "read", 0);
  if (first && mesh_partition(&w->m, run->size, w->goal, &run->error)) return 1;
  mesh_run_lap(run, "partition", 0);
  if ((first && whole_measure(run, w)) || whole_send(run, w) || take(run, w)) return 1;
  mesh_run_lap(run, "deal", 0);
  return 0;
}

int mesh_run_begin(int argc, char **argv, mesh_run *run)
{
  whole w = {0};
  *run = (mesh_run){0};
  MPI_Comm_rank(MPI_COMM_WORLD, &run->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &run->size);
  MPI_Type_contiguous(4, MPI_INT64_T, &run->corners);
  MPI_Type_contiguous(3, MPI_DOUBLE, &run->point);
  MPI_Type_commit(&run->corners);
  MPI_Type_commit(&run->point);
  int failed = read_arguments(argc, argv, run) || prepare(run, &w);
  whole_free(&w);
  return failed;
}

void mesh_run_lap(mesh_run *run, const char *name, double in_grove)
{
  MPI_Barrier(MPI_COMM_WORLD);
  double now = MPI_Wtime();
  run->lap[run->laps++] = (mesh_lap){name, now - run->clock, in_grove - run->in_grove};
  run->in_grove = in_grove;
  run->clock = MPI_Wtime();
}
