/* A sparse matrix cut into blocks of rows, one per rank, for the examples that need one. Every rank
 * reads the whole matrix and keeps its rows. That is simple, and results can be checked with it.
 */
#ifndef EXAMPLES_MATRIX_H
#define EXAMPLES_MATRIX_H

#include "common.h"
#include <matrix_market.h>
#include <string.h>

typedef struct entry {
  int64_t row, col; /* by their numbers in the whole matrix */
  double value;
  int foreign; /* the column is another rank's */
} entry;

/* Rows first .. first + rows - 1 of a square matrix; entries of the vectors are cut likewise. */
typedef struct csr {
  int64_t first, rows, nonzeros;
  int64_t *start;  /* row i has entries start[i] .. start[i + 1] - 1, */
  int64_t *middle; /* those from middle[i] on in columns of other ranks: the off-diagonal block */
  int64_t *col;    /* by its number in the whole matrix */
  int64_t *slot;   /* where this rank's vectors have it: their own entries first, then the ghosts */
  double *value;
  int64_t ghosts, *ghost; /* columns of other ranks in which these rows have entries, ascending */
} csr;

static inline int compare_numbers(const void *x, const void *y)
{
  const int64_t *a = x, *b = y;
  return (*a > *b) - (*a < *b);
}

static inline int compare_entries(const void *x, const void *y)
{
  const entry *a = x, *b = y;
  if (a->row != b->row) return a->row > b->row ? 1 : -1;
  if (a->foreign != b->foreign) return a->foreign - b->foreign;
  return compare_numbers(&a->col, &b->col);
}

/* Finds the ghosts that the entries need, and gives every column its slot. */
static inline void find_slots(csr *a)
{
  a->ghost = zeros(a->nonzeros, sizeof *a->ghost);
  int64_t n = 0;
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t k = a->middle[i]; k < a->start[i + 1]; k++) a->ghost[n++] = a->col[k];
  qsort(a->ghost, (size_t)n, sizeof *a->ghost, compare_numbers);
  for (int64_t k = 0; k < n; k++)
    if (k == 0 || a->ghost[k] != a->ghost[k - 1]) a->ghost[a->ghosts++] = a->ghost[k];
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t k = a->start[i]; k < a->start[i + 1]; k++) {
      int64_t *at = NULL;
      if (k >= a->middle[i])
        at = bsearch(&a->col[k], a->ghost, (size_t)a->ghosts, sizeof *at, compare_numbers);
      a->slot[k] = at ? a->rows + (at - a->ghost) : a->col[k] - a->first;
    }
}

/* Makes the rows from their entries, and sorts these. Entries of the same row and column are added
 * up. */
static inline csr csr_from(int64_t first, int64_t rows, int64_t count, entry *entries)
{
  csr a = {.first = first, .rows = rows};
  a.start = zeros(rows + 1, sizeof *a.start);
  a.middle = zeros(rows, sizeof *a.middle);
  a.col = zeros(count, sizeof *a.col);
  a.slot = zeros(count, sizeof *a.slot);
  a.value = vector(count);
  for (int64_t k = 0; k < count; k++)
    entries[k].foreign = entries[k].col < first || entries[k].col >= first + rows;
  qsort(entries, (size_t)count, sizeof *entries, compare_entries);
  for (int64_t k = 0; k < count; k++) {
    const entry *e = &entries[k];
    if (k == 0 || e->row != e[-1].row || e->col != e[-1].col) {
      a.col[a.nonzeros++] = e->col;
      a.start[e->row - first + 1]++;
      a.middle[e->row - first] += !e->foreign;
    }
    a.value[a.nonzeros - 1] += e->value;
  }
  for (int64_t i = 0; i < rows; i++) { /* from numbers of entries to where rows begin */
    a.start[i + 1] += a.start[i];
    a.middle[i] += a.start[i];
  }
  find_slots(&a);
  return a;
}

static inline void csr_free(csr *a)
{
  free(a->start), free(a->middle), free(a->col), free(a->slot), free(a->value), free(a->ghost);
}

static inline void add_entry(matrix_market *m, int64_t row, int64_t col, double value)
{
  m->row[m->count] = row;
  m->col[m->count] = col;
  m->value[m->count++] = value;
}

/* Five-point differences on a square grid. Wind that blows through it makes them unsymmetric. */
static inline matrix_market grid_matrix(int64_t side, double wind)
{
  int64_t n = side * side;
  matrix_market m = {.rows = n, .cols = n};
  m.row = zeros(5 * n, sizeof *m.row);
  m.col = zeros(5 * n, sizeof *m.col);
  m.value = vector(5 * n);
  for (int64_t i = 0; i < n; i++) {
    add_entry(&m, i, i, 4);
    if (i % side > 0) add_entry(&m, i, i - 1, -1 - wind);
    if (i % side < side - 1) add_entry(&m, i, i + 1, -1 + wind);
    if (i >= side) add_entry(&m, i, i - side, -1 - wind);
    if (i < n - side) add_entry(&m, i, i + side, -1 + wind);
  }
  return m;
}

/* The matrix of the file that the program was given, or that of a grid. */
static inline matrix_market read_matrix(int argc, char **argv, int64_t side, double wind)
{
  if (argc < 2) return grid_matrix(side, wind);
  matrix_market m;
  matrix_market_error error;
  if (matrix_market_read(argv[1], NULL, &m, &error)) give_up(error.sentence);
  if (m.rows != m.cols || !m.value) give_up("the matrix is not square, or has no values");
  return m;
}

static inline csr take_rows(const matrix_market *m, int64_t first, int64_t rows)
{
  entry *entries = zeros(m->count, sizeof *entries);
  int64_t count = 0;
  for (int64_t k = 0; k < m->count; k++)
    if (m->row[k] >= first && m->row[k] < first + rows)
      entries[count++] = (entry){.row = m->row[k], .col = m->col[k], .value = m->value[k]};
  csr a = csr_from(first, rows, count, entries);
  free(entries);
  return a;
}

/* This rank's rows. All ranks have the same number of rows, or one more. */
static inline csr take_own_rows(const matrix_market *m)
{
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int64_t first = rank * m->rows / size, end = (rank + 1) * m->rows / size;
  return take_rows(m, first, end - first);
}

/* The matrix with new numbers for this rank's columns and for its ghosts. A number of -1 leaves a
 * row or column out. Entries that come to the same place are added up. The result has `rows` rows,
 * from `first` on. */
static inline csr renumber(const csr *a, const int64_t *number, int64_t first, int64_t rows)
{
  entry *entries = zeros(a->nonzeros, sizeof *entries);
  int64_t count = 0;
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t k = a->start[i]; k < a->start[i + 1]; k++) {
      entry e = {.row = number[i], .col = number[a->slot[k]], .value = a->value[k]};
      if (e.row >= first && e.row < first + rows && e.col >= 0) entries[count++] = e;
    }
  csr b = csr_from(first, rows, count, entries);
  free(entries);
  return b;
}

/* How many entries each row has. There is room for the ghosts' rows too. */
static inline int64_t *row_lengths(const csr *a)
{
  int64_t *length = zeros(a->rows + a->ghosts, sizeof *length);
  for (int64_t i = 0; i < a->rows; i++) length[i] = a->start[i + 1] - a->start[i];
  return length;
}

/* The forest that every product with the matrix needs. The roots are this rank's entries of a
 * vector, and the leaves are its ghosts. */
static inline grove_forest *make_halo(grove_context *ctx, const csr *a)
{
  grove_forest *halo;
  GROVE_MUST(grove_forest_create(ctx, &halo));
  GROVE_MUST(grove_forest_set_name(halo, "halo"));
  GROVE_MUST(grove_forest_set_graph_global(halo, a->rows, a->ghosts, NULL, a->ghost));
  GROVE_MUST(grove_forest_set_up(halo));
  return halo;
}

/* y += A x, of the entries from[i] .. to[i] - 1 of every row i. */
static inline void add_product(const csr *a, const int64_t *from, const int64_t *to,
                               const double *x, double *y)
{
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t k = from[i]; k < to[i]; k++) y[i] += a->value[k] * x[a->slot[k]];
}

/* Whether y is, up to rounding, the product of these rows with the vector 1, 2, ... */
static inline int is_product(const matrix_market *m, const int64_t *row, const int64_t *col,
                             const csr *a, const double *y)
{
  double *sum = vector(m->rows), *size = vector(m->rows);
  int right = 1;
  for (int64_t k = 0; k < m->count; k++) {
    double product = m->value[k] * (double)(col[k] + 1);
    sum[row[k]] += product;
    size[row[k]] += product > 0 ? product : -product;
  }
  for (int64_t i = 0; i < a->rows; i++) {
    double error = y[i] - sum[a->first + i], allowed = 1e-12 * size[a->first + i];
    right = right && error <= allowed && -error <= allowed;
  }
  free(sum), free(size);
  return right;
}

/* Of a symmetric matrix 0, if the ranks add theirs up. */
static inline double csr_skew(const csr *a)
{
  double skew = 0;
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t k = a->start[i]; k < a->start[i + 1]; k++)
      skew += a->value[k] * (double)(a->first + i - a->col[k]);
  return skew;
}

#endif
