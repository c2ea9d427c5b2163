/* A sparse matrix times a vector, again and again: x becomes A x / 8. Four threads compute blocks
 * of rows, and mark them when they are final. Marked rows travel while other threads compute. When
 * the last block is done, most of the halo is there. The result is compared with that of one rank.
 *
 *     mpirun -n 4 spmv_parts [A.mtx]        a Matrix Market file; without one, a grid
 */
#include "matrix.h"
#include <pthread.h>

enum { THREADS = 4, TIMES = 6 };

static csr a;
static double *x[2];        /* by turns: what is multiplied, and the product; own entries, ghosts */
static grove_op *update[2]; /* bring the ghosts of each */
static int next;            /* which one the product is */

/* Rows first .. end - 1 of the product; then they may go. */
static void *multiply_block(void *number)
{
  int64_t t = (intptr_t)number, first = t * a.rows / THREADS, end = (t + 1) * a.rows / THREADS;
  for (int64_t i = first; i < end; i++) {
    double sum = 0;
    for (int64_t k = a.start[i]; k < a.start[i + 1]; k++) sum += a.value[k] * x[!next][a.slot[k]];
    x[next][i] = sum / 8;
  }
  GROVE_MUST(grove_ready(update[next], first, end - first));
  return NULL;
}

/* The same on one rank; returns whether rows and ghosts here are those, but for rounding. */
static int is_right(const matrix_market *m, double *u, double *v)
{
  double most = 0, worst = 0;
  for (int n = 0; n < TIMES; n++) {
    for (int64_t i = 0; i < m->rows; i++) v[i] = n > 0 ? u[i] : 1 + (double)(i % 5), u[i] = 0;
    for (int64_t k = 0; k < m->count; k++) u[m->row[k]] += m->value[k] * v[m->col[k]] / 8;
  }
  for (int64_t i = 0; i < m->rows; i++) most = u[i] * u[i] > most ? u[i] * u[i] : most;
  for (int64_t i = 0; i < a.rows + a.ghosts; i++) {
    double error = x[next][i] - u[i < a.rows ? a.first + i : a.ghost[i - a.rows]];
    worst = error * error > worst ? error * error : worst;
  }
  free(u), free(v);
  return worst <= 1e-24 * most;
}

int main(int argc, char **argv)
{
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level); /* with less, the main thread sends */
  matrix_market m = read_matrix(argc, argv, 24, 0.25);
  a = take_own_rows(&m);
  grove_context *ctx;
  GROVE_MUST(grove_context_create(MPI_COMM_WORLD, &ctx));
  grove_forest *halo = make_halo(ctx, &a);
  for (int i = 0; i < 2; i++) {
    x[i] = vector(a.rows + a.ghosts);
    GROVE_MUST(grove_bcast_init(halo, MPI_DOUBLE, x[i], x[i] + a.rows, MPI_REPLACE, &update[i]));
  }
  for (int64_t i = 0; i < a.rows; i++) x[0][i] = 1 + (double)((a.first + i) % 5);
  GROVE_MUST(grove_start(update[0]));
  GROVE_MUST(grove_wait(update[0]));

  for (int n = 0; n < TIMES; n++) {
    pthread_t thread[THREADS];
    next = !next;
    GROVE_MUST(grove_start_parts(update[next])); /* nothing of the product is final yet */
    for (intptr_t t = 0; t < THREADS; t++)
      if (pthread_create(&thread[t], NULL, multiply_block, (void *)t)) give_up("no thread is left");
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
    GROVE_MUST(grove_wait(update[next])); /* its ghosts are there */
  }
  int right = is_right(&m, vector(m.rows), vector(m.rows));
  printf("%d products of %d rows: %s\n", TIMES, (int)a.rows, right ? "right" : "WRONG");
  for (int i = 0; i < 2; i++) GROVE_MUST(grove_op_free(&update[i]));
  GROVE_MUST(grove_forest_free(&halo));
  GROVE_MUST(grove_context_free(&ctx));
  matrix_market_free(&m), csr_free(&a), free(x[0]), free(x[1]);
  return MPI_Finalize() || !right;
}
