/* Patterns of matrices, read or generated: a rank needs those columns of its rows that it does not
 * own.
 */
#include "grove/arguments.h"
#include "grove/bench/pattern.h"
#include "grove/partition.h"

#include <stdio.h>
#include <stdlib.h>

/* Where each row is: the partition gives its owner, and its number counts the owner's earlier rows.
 * */
static int64_t *number_rows(const partition *p, int64_t *nowned)
{
  int64_t *number = malloc((size_t)(p->rows + 1) * sizeof *number);
  for (int64_t row = 0; number && row < p->rows; row++)
    number[row] = nowned[partition_of(p, row)]++;
  return number;
}

/* Marks the columns that this rank's rows need but it does not own, and counts them by owner. */
static int64_t mark(const matrix_market *m, const partition *p, int rank, char *needed,
                    int64_t *by_owner)
{
  int64_t count = 0;
  for (int64_t k = 0; k < m->count; k++) {
    int64_t col = m->col[k];
    if (needed[col] || partition_of(p, m->row[k]) != rank) continue;
    int owner = partition_of(p, col);
    if (owner == rank) continue;
    needed[col] = 1;
    by_owner[owner]++;
    count++;
  }
  return count;
}

/* Ghosts by owner. Those of one owner are in the order of their columns, hence of their numbers. */
static void fill(const partition *p, const char *needed, const int64_t *number, int64_t *next,
                 pattern *out)
{
  int64_t begin = 0;
  for (int owner = 0; owner < p->nparts; owner++) {
    int64_t count = next[owner];
    next[owner] = begin;
    begin += count;
  }
  for (int64_t col = 0; col < p->rows; col++) {
    if (!needed[col]) continue;
    int owner = partition_of(p, col);
    out->root[next[owner]++] = (grove_root){owner, number[col]};
  }
  for (int64_t i = 0; i < out->nleaves; i++) out->leaf[i] = out->nroots + i;
}

static int divide(const matrix_market *m, const partition *p, int rank, pattern *out)
{
  char *needed = calloc((size_t)m->rows + 1, 1);
  int64_t *nowned = calloc(2 * (size_t)p->nparts, sizeof *nowned), *number = NULL;
  int failed = !needed || !nowned || !(number = number_rows(p, nowned));
  if (!failed) {
    int64_t *by_owner = nowned + p->nparts, ghosts = mark(m, p, rank, needed, by_owner);
    failed = pattern_allocate(out, nowned[rank], ghosts);
    if (!failed) fill(p, needed, number, by_owner, out);
  }
  free(needed);
  free(nowned);
  free(number);
  return failed;
}

/* One rank calls METIS, and tells the others. */
static int share_partition(MPI_Comm comm, const matrix_market *m, partition *p, char *why,
                           size_t room)
{
  int rank, failed = 0, divided = 0;
  MPI_Comm_rank(comm, &rank);
  if (rank == 0) {
    failed = partition_metis(m, p->nparts, p) != GROVE_OK;
    divided = p->part != NULL;
    if (failed) snprintf(why, room, "%s", last_sentence());
  }
  int told[2] = {failed, divided};
  MPI_Bcast(told, 2, MPI_INT, 0, comm);
  if (told[0]) MPI_Bcast(why, (int)room, MPI_CHAR, 0, comm);
  if (told[0] || !told[1]) return told[0];
  if (rank != 0) p->part = malloc((size_t)m->rows * sizeof *p->part);
  if (!p->part) MPI_Abort(comm, 1);
  MPI_Bcast(p->part, (int)m->rows, MPI_INT32_T, 0, comm);
  return 0;
}

/* A matrix that every rank was able to read. */
static int pattern_of(MPI_Comm comm, const matrix_market *m, int by_metis, pattern *out, char *why,
                      size_t room)
{
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  partition p = partition_contiguous(m->rows, size);
  int failed = by_metis && share_partition(comm, m, &p, why, room);
  if (!failed && (failed = divide(m, &p, rank, out)))
    snprintf(why, room, "no memory for the pattern of the matrix");
  partition_free(&p);
  return failed;
}

/* ---- a generated matrix ---- */

/* Room for the matrix of a cube with this many vertices along an edge. Each vertex is coupled to
 * all vertices of its cells, itself included: 3 n - 2 pairs along each direction. */
static int allocate_elasticity(int64_t side, matrix_market *m)
{
  int64_t pairs = 3 * side - 2;
  *m = (matrix_market){.rows = 3 * side * side * side, .cols = 3 * side * side * side};
  m->row = malloc((size_t)(9 * pairs * pairs * pairs) * sizeof *m->row);
  m->col = malloc((size_t)(9 * pairs * pairs * pairs) * sizeof *m->col);
  return !m->row || !m->col;
}

/* The three displacements of vertex i with the three of vertex j. */
static void couple(matrix_market *m, int64_t i, int64_t j)
{
  for (int k = 0; k < 9; k++) {
    m->row[m->count] = 3 * i + k / 3;
    m->col[m->count++] = 3 * j + k % 3;
  }
}

static int along(int64_t at, int step, int64_t side)
{
  return at + step >= 0 && at + step < side;
}

static void couple_around(matrix_market *m, int64_t side, int64_t x, int64_t y, int64_t z)
{
  int64_t i = (z * side + y) * side + x;
  for (int k = 0; k < 27; k++) {
    int dx = k % 3 - 1, dy = k / 3 % 3 - 1, dz = k / 9 - 1;
    if (along(x, dx, side) && along(y, dy, side) && along(z, dz, side))
      couple(m, i, i + (dz * side + dy) * side + dx);
  }
}

int pattern_elasticity(MPI_Comm comm, int64_t side, int by_metis, pattern *out, char *why,
                       size_t room)
{
  matrix_market m;
  int failed = allocate_elasticity(side, &m), everywhere = !failed;
  snprintf(why, room, "no memory for a matrix of this size");
  MPI_Allreduce(MPI_IN_PLACE, &everywhere, 1, MPI_INT, MPI_MIN, comm);
  if (everywhere) {
    for (int64_t z = 0; z < side; z++)
      for (int64_t y = 0; y < side; y++)
        for (int64_t x = 0; x < side; x++) couple_around(&m, side, x, y, z);
    failed = pattern_of(comm, &m, by_metis, out, why, room);
  }
  matrix_market_free(&m);
  return failed;
}

/* ---- a matrix from a file ---- */

int pattern_matrix(MPI_Comm comm, const char *path, int by_metis, pattern *out, int64_t *rows,
                   char *why, size_t room)
{
  matrix_market m;
  matrix_market_error error;
  const matrix_market_how how = {.pattern_only = 1};
  int failed = matrix_market_read(path, &how, &m, &error);
  if (failed) {
    snprintf(why, room, "%s", error.sentence);
  } else if (m.rows != m.cols || m.rows > PARTITION_MOST_ROWS) {
    snprintf(why, room,
             "%s has %lld rows and %lld columns; a square matrix of at most %d is needed", path,
             (long long)m.rows, (long long)m.cols, PARTITION_MOST_ROWS);
    failed = 1;
  }
  int everywhere = !failed;
  MPI_Allreduce(MPI_IN_PLACE, &everywhere, 1, MPI_INT, MPI_MIN, comm);
  if (everywhere) failed = pattern_of(comm, &m, by_metis, out, why, room);
  *rows = m.rows;
  matrix_market_free(&m);
  return failed;
}
