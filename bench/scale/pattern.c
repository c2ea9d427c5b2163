#include "pattern.h"

#include "kit/need.h"
#include "kit/random.h"
#include "kit/stats.h"

#include <matrix_market.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int complain(int rank, const char *text, const char *why)
{
  if (rank == 0) fprintf(stderr, "scale: %s: %s\n", text, why);
  return 1;
}

void pattern_free(pattern *p)
{
  free(p->root);
  *p = (pattern){0};
}

/* ---- random ---- */

static int64_t *shuffled(int n, uint64_t seed)
{
  return bench_shuffled(n, &seed);
}

/* Ranks sit in a circle, in random order; neighbours are at fixed numbers of seats ahead. So all
 * have equally many, in and out, and no two are the same. Root i of a rank is for the i-th one
 * behind it. */
static int make_random(const char *text, int rank, int size, pattern *p)
{
  int n = 0, bytes = 0, seat = 0;
  if (sscanf(text, "random:%d:%d", &n, &bytes) != 2 || n < 1 || bytes < 8 || bytes % 8 != 0)
    return complain(rank, text, "random:NEIGHBOURS:BYTES, bytes in eights");
  if (n >= size) return complain(rank, text, "there are not so many other ranks");
  int64_t *order = shuffled(size, 1), *steps = shuffled(size - 1, 2);
  *p = (pattern){.nroots = n, .nleaves = n, .doubles = bytes / 8};
  p->root = bench_alloc((size_t)n, sizeof *p->root);
  while (order[seat] != rank) seat++;
  for (int i = 0; i < n; i++)
    p->root[i] = (grove_root){.rank = (int)order[(seat + 1 + steps[i]) % size], .index = i};
  free(order);
  free(steps);
  return 0;
}

/* ---- near ---- */

/* Ranks sit in a circle, in order. The n neighbours are among the 2 n nearest on each side. So a
 * node has the same number of neighbours however many ranks there are. */
static int make_near(const char *text, int rank, int size, pattern *p)
{
  int n = 0, bytes = 0;
  if (sscanf(text, "near:%d:%d", &n, &bytes) != 2 || n < 1 || bytes < 8 || bytes % 8 != 0)
    return complain(rank, text, "near:NEIGHBOURS:BYTES, bytes in eights");
  if (4 * n >= size) return complain(rank, text, "the circle is too small");
  int64_t *steps = shuffled(4 * n, 3);
  *p = (pattern){.nroots = n, .nleaves = n, .doubles = bytes / 8};
  p->root = bench_alloc((size_t)n, sizeof *p->root);
  for (int i = 0; i < n; i++) {
    int step = (int)(steps[i] < 2 * n ? steps[i] - 2 * n : steps[i] - 2 * n + 1);
    p->root[i] = (grove_root){.rank = (rank + step + size) % size, .index = i};
  }
  free(steps);
  return 0;
}

/* ---- multigrid ---- */

typedef struct level {
  int reach, corners; /* distance per direction; number of directions at once */
  int bytes;
} level;
static const level levels[SCALE_LEVELS] = {
  {1, 1, 32768}, {1, 2, 8192}, {1, 3, 2048}, {2, 3, 256}, {3, 3, 32},
};

/* A box of ranks, as close to a cube as its factors allow. */
static void shape_box(int size, int *box)
{
  box[0] = box[1] = box[2] = 0;
  MPI_Dims_create(size, 3, box);
}

static int rank_at(const int *box, const int *at)
{
  int rank = 0;
  for (int d = 0; d < 3; d++) rank = rank * box[d] + (at[d] + 4 * box[d]) % box[d];
  return rank;
}

static int is_known(const pattern *p, int rank)
{
  for (int64_t i = 0; i < p->nleaves; i++)
    if (p->root[i].rank == rank) return 1;
  return 0;
}

static void add_neighbour(pattern *p, int self, int rank, int64_t index)
{
  if (rank == self || is_known(p, rank)) return;
  p->root[p->nleaves++] = (grove_root){.rank = rank, .index = index};
}

/* Every neighbour needs different data. The box is periodic. */
static int make_multigrid(const char *text, int rank, int size, pattern *p)
{
  int l = -1, box[3], step[3];
  if (sscanf(text, "multigrid:%d", &l) != 1 || l < 0 || l >= SCALE_LEVELS)
    return complain(rank, text, "multigrid:LEVEL, from 0 to 4");
  const level *about = &levels[l];
  int width = 2 * about->reach + 1;
  shape_box(size, box);
  int here[3] = {rank / (box[1] * box[2]), rank / box[2] % box[1], rank % box[2]};
  *p = (pattern){.nroots = width * width * width, .doubles = about->bytes / 8};
  p->root = bench_alloc((size_t)p->nroots, sizeof *p->root);
  for (int k = 0; k < p->nroots; k++) {
    int there[3], corners = 0, rest = k;
    for (int d = 0; d < 3; d++, rest /= width) {
      step[d] = rest % width - about->reach;
      there[d] = here[d] + step[d];
      corners += step[d] != 0;
    }
    if (corners <= about->corners) add_neighbour(p, rank, rank_at(box, there), k);
  }
  return 0;
}

/* ---- matrices ---- */

static int64_t first_of(int64_t n, int size, int rank)
{
  return n * rank / size;
}

static int owner_of(int64_t n, int size, int64_t column)
{
  int rank = (int)(column * size / n);
  while (first_of(n, size, rank + 1) <= column) rank++;
  while (first_of(n, size, rank) > column) rank--;
  return rank;
}

/* Entries in columns of other ranks, by the rank of their row: rank r needs those from
 * columns[first[r]] on. */
static int64_t *group_columns(const matrix_market *m, int size, int64_t *first)
{
  int64_t *columns = bench_alloc((size_t)m->count, sizeof *columns);
  for (int filling = 0; filling < 2; filling++) {
    for (int64_t k = 0; k < m->count; k++) {
      int rank = owner_of(m->rows, size, m->row[k]);
      if (owner_of(m->rows, size, m->col[k]) == rank) continue;
      if (filling) columns[first[rank + 1]] = m->col[k];
      first[rank + 1 + !filling]++;
    }
    for (int r = 0; r < size && !filling; r++) first[r + 2] += first[r + 1];
  }
  return columns;
}

/* Rank 0 reads, and tells each rank which columns it needs. */
static void deal(const matrix_market *m, int size, MPI_Comm comm, int64_t **mine, int64_t *count)
{
  int64_t *first = bench_alloc((size_t)size + 2, sizeof *first);
  int64_t *columns = group_columns(m, size, first);
  for (int r = size - 1; r >= 0; r--) {
    int64_t *at = columns + first[r];
    int64_t n = bench_sort_distinct(at, first[r + 1] - first[r]);
    if (r > 0) {
      MPI_Send(&n, 1, MPI_INT64_T, r, 0, comm);
      MPI_Send(at, (int)n, MPI_INT64_T, r, 1, comm);
      continue;
    }
    *count = n;
    *mine = bench_alloc((size_t)n, sizeof **mine);
    memcpy(*mine, at, (size_t)n * sizeof **mine);
  }
  free(first);
  free(columns);
}

static void be_dealt(MPI_Comm comm, int64_t **mine, int64_t *count)
{
  MPI_Recv(count, 1, MPI_INT64_T, 0, 0, comm, MPI_STATUS_IGNORE);
  *mine = bench_alloc((size_t)*count, sizeof **mine);
  MPI_Recv(*mine, (int)*count, MPI_INT64_T, 0, 1, comm, MPI_STATUS_IGNORE);
}

static int make_matrix(const char *text, MPI_Comm comm, int rank, int size, pattern *p)
{
  matrix_market m = {0};
  matrix_market_error error;
  int64_t rows = 0, *columns = NULL, count = 0;
  if (rank == 0) {
    const matrix_market_how how = {.pattern_only = 1};
    if (matrix_market_read(text + strlen("matrix:"), &how, &m, &error))
      complain(0, text, error.sentence);
    else if (m.rows != m.cols || m.rows < size)
      complain(0, text, "it is not square, or has fewer rows than there are ranks");
    else
      rows = m.rows;
  }
  MPI_Bcast(&rows, 1, MPI_INT64_T, 0, comm);
  if (rows > 0 && rank == 0) deal(&m, size, comm, &columns, &count);
  if (rows > 0 && rank != 0) be_dealt(comm, &columns, &count);
  matrix_market_free(&m);
  if (rows == 0) return 1;
  *p = (pattern){.nroots = first_of(rows, size, rank + 1) - first_of(rows, size, rank),
                 .nleaves = count,
                 .doubles = 1};
  p->root = bench_alloc((size_t)count, sizeof *p->root);
  for (int64_t i = 0; i < count; i++) {
    int owner = owner_of(rows, size, columns[i]);
    p->root[i] = (grove_root){.rank = owner, .index = columns[i] - first_of(rows, size, owner)};
  }
  free(columns);
  return 0;
}

int pattern_make(const char *text, MPI_Comm comm, pattern *out)
{
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (strncmp(text, "random:", 7) == 0) return make_random(text, rank, size, out);
  if (strncmp(text, "near:", 5) == 0) return make_near(text, rank, size, out);
  if (strncmp(text, "multigrid:", 10) == 0) return make_multigrid(text, rank, size, out);
  if (strncmp(text, "matrix:", 7) == 0) return make_matrix(text, comm, rank, size, out);
  return complain(rank, text, "there is no such pattern");
}
