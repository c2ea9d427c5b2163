#include "times.h"

#include <math.h>
#include <matrix_market.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 21 };

static const double batch_seconds = 0.01;

static int checks_only;

int times_begin(int argc, char **argv)
{
  checks_only = argc > 1 && strcmp(argv[1], "--check") == 0;
  return 1 + checks_only;
}

static void fail(const char *name, const char *what)
{
  fprintf(stderr, "%s: %s\n", name, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- places ---- */

static places deal_out(int64_t rows)
{
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  places p = {.rows = rows, .first = rank * rows / size};
  p.nrows = (rank + 1) * rows / size - p.first;
  return p;
}

static void take(places *p, int64_t row, int64_t col)
{
  if (row < p->first || row >= p->first + p->nrows) return;
  p->row[p->count] = row;
  p->col[p->count++] = col;
}

static void make_room(places *p, int64_t n)
{
  p->row = malloc(((size_t)n + 1) * sizeof *p->row);
  p->col = malloc(((size_t)n + 1) * sizeof *p->col);
  if (!p->row || !p->col) fail("interop", "no memory");
}

static places grid(int64_t side)
{
  places p = deal_out(side * side);
  make_room(&p, 5 * p.nrows);
  for (int64_t i = p.first; i < p.first + p.nrows; i++) {
    take(&p, i, i);
    if (i % side > 0) take(&p, i, i - 1);
    if (i % side < side - 1) take(&p, i, i + 1);
    if (i >= side) take(&p, i, i - side);
    if (i < side * side - side) take(&p, i, i + side);
  }
  return p;
}

places places_read(const char *path, int64_t side)
{
  matrix_market m;
  matrix_market_error error;
  matrix_market_how how = {.pattern_only = 1};
  if (!path) return grid(side);
  if (matrix_market_read(path, &how, &m, &error)) fail(path, error.sentence);
  if (m.rows != m.cols) fail(path, "the matrix is not square");
  places p = deal_out(m.rows);
  make_room(&p, m.count);
  for (int64_t k = 0; k < m.count; k++) take(&p, m.row[k], m.col[k]);
  matrix_market_free(&m);
  return p;
}

void places_free(places *p)
{
  free(p->row);
  free(p->col);
}

/* ---- times ---- */

static double time_batch(void (*exchange)(void *), void *user, int calls)
{
  MPI_Barrier(MPI_COMM_WORLD);
  double before = MPI_Wtime();
  for (int i = 0; i < calls; i++) exchange(user);
  double slowest = (MPI_Wtime() - before) / calls;
  MPI_Allreduce(MPI_IN_PLACE, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static int ascending(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void times_compare(const char *name, const char *theirs_name, void (*theirs)(void *),
                   void (*ours)(void *), void *user)
{
  void (*const ways[2])(void *) = {theirs, ours};
  double times[2][BATCHES], once = 0;
  int rank;
  if (checks_only) return;
  for (int i = 0; i < 2; i++) {
    double slow = time_batch(ways[i], user, 5);
    if (slow > once) once = slow;
  }
  int calls = once < batch_seconds ? (int)(batch_seconds / once) + 1 : 1;
  for (int i = 0; i < BATCHES; i++)
    for (int k = 0; k < 2; k++) times[(i + k) % 2][i] = time_batch(ways[(i + k) % 2], user, calls);
  for (int i = 0; i < 2; i++) qsort(times[i], BATCHES, sizeof times[i][0], ascending);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double their_time = times[0][BATCHES / 2], our_time = times[1][BATCHES / 2];
  if (rank == 0)
    printf("%-28s %s %9.2f us  Grove %9.2f us  ratio %.2f\n", name, theirs_name, 1e6 * their_time,
           1e6 * our_time, their_time / our_time);
}

void times_agree(const char *name, const double *theirs, const double *ours, int64_t n)
{
  for (int64_t i = 0; i < n; i++)
    if (!(fabs(theirs[i] - ours[i]) <= 1e-9 * (1 + fabs(theirs[i])))) fail(name, "other values");
}
