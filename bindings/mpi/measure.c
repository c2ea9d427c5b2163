/* What libgrove_mpi.so gains: the halo of a sparse matrix, whose rows are dealt out in blocks, by
 * MPI_Neighbor_alltoallv and by MPI's own PMPI_Neighbor_alltoallv, in turn in the same run. The
 * script `measure` beside this file compiles and runs it.
 *
 *     mpicc -O2 measure.c -o measure -lm
 *     export LD_PRELOAD=libgrove_mpi.so GROVE_PRELOAD=log
 *     mpirun -n 2 ./measure [--begun] MATRIX.mtx[.gz]...
 *
 * With --begun it is MPI_Ineighbor_alltoallv and MPI_Wait (GROVE_PRELOAD_REQUESTS=all).
 * For each matrix it prints the neighbours and bytes of the rank with most of them, the medians of
 * the slowest rank, and the ratio: above 1 the preloaded one is faster. Batches of calls are timed,
 * the two in turn, so that other work on the machine meets both.
 */
#define _GNU_SOURCE /* popen */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 21 };

static int rank, size, begun; /* the latter: by calls that begin */

typedef struct halo {
  int neighbours_in, neighbours_out;
  int *from, *to, *in_count, *out_count, *in_at, *out_at;
  double *in, *out;
} halo;

static int owner(long row, long rows)
{
  return (int)(((row + 1) * size - 1) / rows);
}

static FILE *open_matrix(const char *path)
{
  char command[4096];
  size_t n = strlen(path);
  if (n < 3 || strcmp(path + n - 3, ".gz") != 0) return fopen(path, "r");
  snprintf(command, sizeof command, "gzip -dc '%s'", path);
  return popen(command, "r");
}

static void need(const void *pointer, const char *path)
{
  if (pointer) return;
  fprintf(stderr, "measure: cannot read %s\n", path);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Rows and columns of all entries, in turn, from 0; a symmetric one also has their mirror images.
 * `numbers` are the rows of the matrix, and of entries. */
static int *read_entries(const char *path, long numbers[2])
{
  char line[1024], symmetric[64] = "";
  long i, j, n = 0, entries = 0;
  FILE *file = open_matrix(path);
  need(file, path);
  need(fgets(line, sizeof line, file), path);
  sscanf(line, "%*s %*s %*s %*s %63s", symmetric);
  while (fgets(line, sizeof line, file) && line[0] == '%') {
  }
  int *list = sscanf(line, "%ld %*d %ld", &numbers[0], &entries) == 2
                ? malloc((size_t)(4 * entries + 1) * sizeof *list)
                : NULL;
  need(list, path);
  while (n < entries && fgets(line, sizeof line, file)) {
    if (sscanf(line, "%ld %ld", &i, &j) != 2) continue;
    list[2 * n] = (int)i - 1;
    list[2 * n++ + 1] = (int)j - 1;
  }
  for (long k = 0; strcmp(symmetric, "general") != 0 && k < entries; k++, n++) {
    list[2 * n] = list[2 * k + 1];
    list[2 * n + 1] = list[2 * k];
  }
  numbers[1] = n;
  strcmp(path + strlen(path) - 2, "gz") ? fclose(file) : pclose(file);
  return list;
}

/* needed[c] is 1 for each column of this rank's rows. One rank reads the file. */
static char *read_columns(const char *path, long *rows)
{
  long numbers[2] = {0, 0};
  int *list = rank == 0 ? read_entries(path, numbers) : NULL;
  PMPI_Bcast(numbers, 2, MPI_LONG, 0, MPI_COMM_WORLD);
  *rows = numbers[0];
  if (!list) list = malloc((size_t)(2 * numbers[1] + 1) * sizeof *list);
  need(list, path);
  PMPI_Bcast(list, (int)(2 * numbers[1]), MPI_INT, 0, MPI_COMM_WORLD);
  char *needed = calloc((size_t)*rows + 1, 1);
  need(needed, path);
  for (long k = 0; k < numbers[1]; k++)
    if (owner(list[2 * k], *rows) == rank) needed[list[2 * k + 1]] = 1;
  free(list);
  return needed;
}

static int *numbers(int n)
{
  return calloc((size_t)n + 1, sizeof(int));
}

/* A list of ranks with something to exchange, and where their blocks lie. */
static int compress(const int *all, int *ranks, int *counts, int *at)
{
  int n = 0, total = 0;
  for (int i = 0; i < size; i++) {
    if (all[i] == 0) continue;
    ranks[n] = i;
    counts[n] = all[i];
    at[n++] = total;
    total += all[i];
  }
  return n;
}

static halo make_halo(const char *needed, long rows)
{
  halo h;
  int *want = numbers(size), *give = numbers(size);
  int **lists[] = {&h.from, &h.to, &h.in_count, &h.out_count, &h.in_at, &h.out_at};
  for (int i = 0; i < 6; i++) *lists[i] = numbers(size);
  for (long c = 0; c < rows; c++)
    if (needed[c] && owner(c, rows) != rank) want[owner(c, rows)]++;
  PMPI_Alltoall(want, 1, MPI_INT, give, 1, MPI_INT, MPI_COMM_WORLD);
  h.neighbours_in = compress(want, h.from, h.in_count, h.in_at);
  h.neighbours_out = compress(give, h.to, h.out_count, h.out_at);
  long in = 0, out = 0;
  for (int i = 0; i < size; i++) {
    in += want[i];
    out += give[i];
  }
  h.in = calloc((size_t)in + 1, sizeof *h.in);
  h.out = calloc((size_t)out + 1, sizeof *h.out);
  free(want);
  free(give);
  return h;
}

static void exchange(const halo *h, MPI_Comm comm, int own)
{
  MPI_Request request;
  if (begun) {
    (own ? PMPI_Ineighbor_alltoallv
         : MPI_Ineighbor_alltoallv)(h->out, h->out_count, h->out_at, MPI_DOUBLE, h->in, h->in_count,
                                    h->in_at, MPI_DOUBLE, comm, &request);
    (own ? PMPI_Wait : MPI_Wait)(&request, MPI_STATUS_IGNORE);
    return;
  }
  (own ? PMPI_Neighbor_alltoallv : MPI_Neighbor_alltoallv)(
    h->out, h->out_count, h->out_at, MPI_DOUBLE, h->in, h->in_count, h->in_at, MPI_DOUBLE, comm);
}

static double time_batch(const halo *h, MPI_Comm comm, int own, int calls)
{
  PMPI_Barrier(MPI_COMM_WORLD);
  double before = PMPI_Wtime();
  for (int i = 0; i < calls; i++) exchange(h, comm, own);
  double mine = (PMPI_Wtime() - before) / calls, slowest;
  PMPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static int ascending(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double measure(const char *path)
{
  long rows;
  char *needed = read_columns(path, &rows);
  halo h = make_halo(needed, rows);
  MPI_Comm comm;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, h.neighbours_in, h.from, MPI_UNWEIGHTED,
                                 h.neighbours_out, h.to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  double times[2][BATCHES], spent = 0;
  for (int n = 0; spent < 0.15 || n < 300; n += 100) /* then it has decided */
    spent += 100 * time_batch(&h, comm, 0, 100);
  double once = time_batch(&h, comm, 1, 10);
  int calls = once < 0.001 ? (int)(0.01 / once) + 1 : 10;
  for (int i = 0; i < BATCHES; i++)
    for (int k = 0; k < 2; k++) times[(i + k) % 2][i] = time_batch(&h, comm, (i + k) % 2, calls);
  int numbers_[2] = {h.neighbours_out, 0};
  for (int i = 0; i < h.neighbours_out; i++) numbers_[1] += 8 * h.out_count[i];
  PMPI_Allreduce(MPI_IN_PLACE, numbers_, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  for (int own = 0; own < 2; own++) qsort(times[own], BATCHES, sizeof(double), ascending);
  double mine = times[0][BATCHES / 2], mpi = times[1][BATCHES / 2];
  const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  if (rank == 0)
    printf("%-24s %3d neighbours %8d bytes  MPI %9.2f us  preload %9.2f us  ratio %.2f\n", name,
           numbers_[0], numbers_[1], 1e6 * mpi, 1e6 * mine, mpi / mine);
  MPI_Comm_free(&comm);
  free(needed);
  return mpi / mine;
}

int main(int argc, char **argv)
{
  double logs = 0;
  int first;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  begun = argc > 1 && strcmp(argv[1], "--begun") == 0;
  first = 1 + begun;
  for (int i = first; i < argc; i++) logs += log(measure(argv[i]));
  if (rank == 0 && argc > first)
    printf("geometric mean of %d: %.2f\n", argc - first, exp(logs / (argc - first)));
  return MPI_Finalize();
}
