/* The final output of the mesh example and benchmark. */
#include "mesh_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Sums in another order differ at most by this share. */
static const double vertex_tolerance = 1e-12, volume_tolerance = 1e-10;

/* Of all ranks together. */
typedef struct totals {
  double astray; /* ranks without the cells they should have */
  double wrong, ghosts, volume;
  double seconds[MESH_RUN_LAPS], in_grove[MESH_RUN_LAPS];
} totals;

static totals add_up(const mesh_run *run)
{
  const mesh_piece *p = &run->to;
  totals mine = {0}, all;
  uint64_t print = 0;
  for (int64_t c = 0; c < p->cells; c++) print += mesh_cell_print(p->corner + 4 * c, p->name);
  mine.astray = print != run->due;
  for (int64_t v = 0; v < p->vertices; v++) {
    mine.wrong += !(fabs(p->load[v] - p->right[v]) <= vertex_tolerance * p->right[v]);
    mine.ghosts += p->ghost[v] != 0;
    if (p->ghost[v] == 0) mine.volume += p->load[v];
  }
  for (int i = 0; i < run->laps; i++) {
    mine.seconds[i] = run->lap[i].seconds;
    mine.in_grove[i] = run->lap[i].in_grove;
  }
  MPI_Allreduce(&mine, &all, (int)(sizeof all / sizeof(double)), MPI_DOUBLE, MPI_SUM,
                MPI_COMM_WORLD);
  return all;
}

/* A lap, the time between two barriers, averaged over the ranks. */
typedef struct average {
  const char *name;
  double seconds, share; /* share: of these seconds, in the library */
} average;

static average mean(const mesh_run *run, const char *name, double seconds, double in_grove)
{
  return (average){name, seconds / run->size, seconds > 0 ? in_grove / seconds : 0};
}

static average mean_of(const mesh_run *run, const totals *all, int i)
{
  return mean(run, run->lap[i].name, all->seconds[i], all->in_grove[i]);
}

static average mean_of_migration(const mesh_run *run, const totals *all)
{
  double seconds = 0, in_grove = 0;
  int inside = 0;
  for (int i = 0; i < run->laps; i++) {
    if (strcmp(run->lap[i].name, "exchange") == 0) inside = 0;
    if (inside) seconds += all->seconds[i];
    if (inside) in_grove += all->in_grove[i];
    if (strcmp(run->lap[i].name, "deal") == 0) inside = 1;
  }
  return mean(run, "migration", seconds, in_grove);
}

static void print_average(average lap)
{
  printf("%-12s %10.6f %9.0f%%\n", lap.name, lap.seconds, 100 * lap.share);
}

static void print_words(const mesh_run *run, const totals *all, int right)
{
  printf("%d ranks, %lld cells, %lld vertices, %s start\n", run->size, (long long)run->cells,
         (long long)run->vertices, run->start);
  printf("by %s: %lld faces cut, %.0f ghosts\n\n", mesh_partitioner(), (long long)run->cut,
         all->ghosts);
  printf("%-12s %10s %10s\n", "phase", "seconds", "in Grove");
  for (int i = 0; i < run->laps; i++) print_average(mean_of(run, all, i));
  print_average(mean_of_migration(run, all));
  printf("\nvolume %.12g of %.12g, %.0f vertices wrong, %.0f ranks with wrong cells: %s\n",
         all->volume, run->volume, all->wrong, all->astray, right ? "right" : "WRONG");
}

static void print_json(const mesh_run *run, const totals *all, int right)
{
  average migration = mean_of_migration(run, all);
  printf("{\"ranks\": %d, \"cells\": %lld, \"vertices\": %lld, \"start\": \"%s\", "
         "\"partitioner\": \"%s\", \"cut\": %lld, \"ghosts\": %.0f, \"phases\": {",
         run->size, (long long)run->cells, (long long)run->vertices, run->start, mesh_partitioner(),
         (long long)run->cut, all->ghosts);
  for (int i = 0; i < run->laps; i++)
    printf("%s\"%s\": %.9f", i > 0 ? ", " : "", run->lap[i].name, mean_of(run, all, i).seconds);
  printf("}, \"migration_seconds\": %.9f, \"grove_share\": %.6f, \"verified\": %s}\n",
         migration.seconds, migration.share, right ? "true" : "false");
}

int mesh_run_end(mesh_run *run)
{
  totals all = add_up(run);
  int right = all.astray == 0 && all.wrong == 0 &&
              fabs(all.volume - run->volume) <= volume_tolerance * run->volume;
  if (run->rank == 0) (run->json ? print_json : print_words)(run, &all, right);
  mesh_piece_free(&run->from);
  mesh_piece_free(&run->to);
  MPI_Type_free(&run->corners);
  MPI_Type_free(&run->point);
  return !right;
}
