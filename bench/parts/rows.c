#include "rows.h"

#include "kit/need.h"
#include "kit/stats.h"

#include <matrix_market.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows and columns of entries, by their global numbers. */
typedef struct entries {
  int64_t n, *row, *col;
} entries;

static void add(entries *e, int64_t row, int64_t col)
{
  e->row[e->n] = row;
  e->col[e->n++] = col;
}

/* ---- 27 points ---- */

typedef struct box {
  int dims[3]; /* boxes along each direction, the last one changes first */
  int64_t side;
} box;

/* The global number of a point: boxes one after the other, each by its layers. */
static int64_t number_of(const box *b, const int64_t at[3])
{
  int64_t of_box = 0, inside = 0;
  for (int k = 0; k < 3; k++) {
    of_box = of_box * b->dims[k] + at[k] / b->side;
    inside = inside * b->side + at[k] % b->side;
  }
  return of_box * b->side * b->side * b->side + inside;
}

/* A point with its neighbours. */
static void add_point(const box *b, const int64_t at[3], entries *e)
{
  for (int i = 0; i < 27; i++) {
    int64_t other[3] = {at[0] + i / 9 - 1, at[1] + i / 3 % 3 - 1, at[2] + i % 3 - 1};
    int inside = 1;
    for (int k = 0; k < 3; k++) inside = inside && other[k] >= 0 && other[k] < b->dims[k] * b->side;
    if (inside) add(e, number_of(b, at), number_of(b, other));
  }
}

static void make_box(MPI_Comm comm, int64_t side, bench_rows *r, entries *e)
{
  box b = {.side = side};
  int size, rank;
  int64_t points = side * side * side;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  MPI_Dims_create(size, 3, b.dims);
  for (int i = 0; i <= size; i++) r->begin[i] = i * points;
  e->row = bench_alloc((size_t)(27 * points), sizeof *e->row);
  e->col = bench_alloc((size_t)(27 * points), sizeof *e->col);
  int mine[3] = {rank / b.dims[2] / b.dims[1], rank / b.dims[2] % b.dims[1], rank % b.dims[2]};
  for (int64_t i = 0; i < points; i++) {
    int64_t at[3] = {mine[0] * side + i / side / side, mine[1] * side + i / side % side,
                     mine[2] * side + i % side};
    add_point(&b, at, e);
  }
}

/* ---- files ---- */

static void read_file(MPI_Comm comm, const char *path, bench_rows *r, entries *e)
{
  matrix_market m;
  matrix_market_error error;
  const matrix_market_how how = {.pattern_only = 1};
  int size;
  MPI_Comm_size(comm, &size);
  if (matrix_market_read(path, &how, &m, &error)) bench_need(0, error.sentence);
  bench_need(m.rows == m.cols, "the matrix is not square");
  for (int i = 0; i <= size; i++) r->begin[i] = i * m.rows / size;
  *e = (entries){m.count, m.row, m.col};
}

/* ---- both ---- */

static int owner_of(const bench_rows *r, int64_t col)
{
  int owner = 0;
  while (r->begin[owner + 1] <= col) owner++;
  return owner;
}

static int is_own(const bench_rows *r, int64_t number)
{
  return number >= r->first && number < r->first + r->rows;
}

/* Keeps the entries of this rank's rows, without columns of other ranks of its node. */
static void select_entries(const bench_rows *r, grove_context *nodes, int rank, entries *e)
{
  int64_t n = e->n;
  int mine, other;
  e->n = 0;
  if (nodes) bench_need(grove_context_node(nodes, rank, &mine, NULL) == GROVE_OK, "no node");
  for (int64_t k = 0; k < n; k++) {
    if (!is_own(r, e->row[k])) continue;
    if (nodes && !is_own(r, e->col[k])) {
      grove_context_node(nodes, owner_of(r, e->col[k]), &other, NULL);
      if (other == mine) continue;
    }
    add(e, e->row[k], e->col[k]);
  }
}

static void list_ghosts(bench_rows *r, const entries *e)
{
  int64_t n = 0;
  r->ghost = bench_alloc((size_t)e->n + 1, sizeof *r->ghost);
  for (int64_t k = 0; k < e->n; k++)
    if (!is_own(r, e->col[k])) r->ghost[n++] = e->col[k];
  r->ghosts = bench_sort_distinct(r->ghost, n);
}

/* By rows: each begins where the one before ends. */
static void sort_entries(bench_rows *r, const entries *e)
{
  r->nonzeros = e->n;
  r->start = bench_alloc((size_t)r->rows + 2, sizeof *r->start);
  r->slot = bench_alloc((size_t)e->n + 1, sizeof *r->slot);
  for (int64_t k = 0; k < e->n; k++) r->start[e->row[k] - r->first + 2]++;
  for (int64_t i = 2; i < r->rows + 2; i++) r->start[i] += r->start[i - 1];
  for (int64_t k = 0; k < e->n; k++) {
    int64_t col = e->col[k], *at = &r->start[e->row[k] - r->first + 1], slot = col - r->first;
    if (!is_own(r, col)) slot = r->rows + bench_find(r->ghost, r->ghosts, col);
    r->slot[(*at)++] = slot;
  }
}

void bench_rows_read(MPI_Comm comm, const char *matrix, grove_context *nodes, bench_rows *out)
{
  int rank, size;
  long long side;
  entries e = {0};
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  *out = (bench_rows){.begin = bench_alloc((size_t)size + 1, sizeof *out->begin)};
  if (sscanf(matrix, "27pt:%lld", &side) == 1)
    make_box(comm, side, out, &e);
  else
    read_file(comm, matrix, out, &e);
  out->first = out->begin[rank];
  out->rows = out->begin[rank + 1] - out->first;
  select_entries(out, nodes, rank, &e);
  list_ghosts(out, &e);
  sort_entries(out, &e);
  free(e.row);
  free(e.col);
}

void bench_rows_free(bench_rows *r)
{
  free(r->begin);
  free(r->start);
  free(r->slot);
  free(r->ghost);
  *r = (bench_rows){0};
}
