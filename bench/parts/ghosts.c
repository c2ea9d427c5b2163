/* Rows that need ghosts are multiplied, and one rank is late with its values. Rows that need no
 * ghosts are left out: both ways have them to do while they wait.
 *
 *     wait       when all ghosts are there
 *     arrivals   each when its own ghosts are there
 *     work       no exchange: how long it takes to multiply the rows that need none of that rank
 *
 * The time is from the moment at which all others start until a rank's rows are done, the mean over
 * the ranks that need something of the late one. The share is that of the entries of rows which
 * need nothing of it that were done when the first of its ghosts came.
 */
#include "halo.h"

#include "driver/need.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

typedef struct ghosts {
  bench_halo h;
  int late;                   /* that rank */
  int64_t from_late, to_late; /* its ghosts */
  double *value, *y;
  int64_t *needed, *missing;  /* ghosts of a row, all and those that have not come */
  int64_t *row_start, *a_row; /* ghost g is needed by rows a_row[row_start[g]] and after */
  int64_t *is_of_late;        /* the row needs one of it */
  int64_t early_entries;      /* of rows that need some, but none of it */
  int64_t done, rounds;       /* of these, in all rounds, before it came */
  int64_t round;
  double end;
} ghosts;

static int64_t ghost_of(const ghosts *g, int64_t k)
{
  return g->h.rows->slot[k] - g->h.rows->rows;
}

/* What each row needs, and each ghost is needed for: by counting, then placing. */
static void list_needs(ghosts *g)
{
  const bench_rows *r = g->h.rows;
  int64_t *end = g->row_start = bench_alloc((size_t)r->ghosts + 3, sizeof *g->row_start);
  g->a_row = bench_alloc((size_t)r->nonzeros + 1, sizeof *g->a_row);
  for (int64_t i = 0; i < r->rows; i++)
    for (int64_t k = r->start[i]; k < r->start[i + 1]; k++) {
      int64_t ghost = ghost_of(g, k);
      if (ghost < 0) continue;
      end[ghost + 2]++;
      g->needed[i]++;
      if (ghost >= g->from_late && ghost < g->to_late) g->is_of_late[i] = 1;
    }
  for (int64_t j = 2; j < r->ghosts + 2; j++) end[j] += end[j - 1];
  for (int64_t i = 0; i < r->rows; i++) {
    for (int64_t k = r->start[i]; k < r->start[i + 1]; k++)
      if (ghost_of(g, k) >= 0) g->a_row[end[ghost_of(g, k) + 1]++] = i;
    if (g->needed[i] > 0 && !g->is_of_late[i]) g->early_entries += r->start[i + 1] - r->start[i];
  }
}

static void *open_ghosts(bench_part_case *c, bench_part_entrant *e)
{
  const bench_rows *r = c->rows;
  ghosts *g = bench_alloc(1, sizeof *g);
  int size;
  MPI_Comm_size(c->comm, &size);
  bench_halo_open(c, e, &g->h);
  g->late = size / 2;
  while (g->from_late < r->ghosts && r->ghost[g->from_late] < r->begin[g->late]) g->from_late++;
  g->to_late = g->from_late;
  while (g->to_late < r->ghosts && r->ghost[g->to_late] < r->begin[g->late + 1]) g->to_late++;
  g->value = bench_alloc((size_t)r->nonzeros + 1, sizeof *g->value);
  for (int64_t k = 0; k < r->nonzeros; k++) g->value[k] = (double)(k % 3 + 1);
  g->y = bench_alloc((size_t)(r->rows * g->h.width) + 1, sizeof *g->y);
  g->needed = bench_alloc((size_t)r->rows + 1, sizeof *g->needed);
  g->missing = bench_alloc((size_t)r->rows + 1, sizeof *g->missing);
  g->is_of_late = bench_alloc((size_t)r->rows + 1, sizeof *g->is_of_late);
  list_needs(g);
  return g;
}

static int is_counted(const ghosts *g)
{
  return g->to_late > g->from_late;
}

static void close_ghosts(void *state)
{
  ghosts *g = state;
  double work = is_counted(g) ? (double)(g->early_entries * g->rounds) : 0;
  double all = bench_halo_sum(&g->h, work);
  double done = bench_halo_sum(&g->h, is_counted(g) ? (double)g->done : 0);
  bench_halo_close(&g->h, all > 0 ? done / all : 0);
  free(g->value);
  free(g->y);
  free(g->needed);
  free(g->missing);
  free(g->row_start);
  free(g->a_row);
  free(g->is_of_late);
  free(g);
}

static void multiply(ghosts *g, int64_t row)
{
  const bench_rows *r = g->h.rows;
  int width = g->h.width;
  double *y = &g->y[row * width];
  memset(y, 0, (size_t)width * sizeof *y);
  for (int64_t i = r->start[row]; i < r->start[row + 1]; i++) {
    const double *x = &g->h.x[r->slot[i] * width];
    for (int k = 0; k < width; k++) y[k] += g->value[i] * x[k];
  }
}

/* All rows that need ghosts, or those that need none of the late rank. */
static void multiply_all(ghosts *g, int but_late)
{
  for (int64_t i = 0; i < g->h.rows->rows; i++)
    if (g->needed[i] > 0 && !(but_late && g->is_of_late[i])) multiply(g, i);
}

static void take(ghosts *g, int64_t first, int64_t count, int has_come)
{
  const bench_rows *r = g->h.rows;
  for (int64_t at = g->row_start[first]; at < g->row_start[first + count]; at++) {
    int64_t row = g->a_row[at];
    if (--g->missing[row] > 0) continue;
    multiply(g, row);
    if (!has_come) g->done += r->start[row + 1] - r->start[row];
  }
}

static void multiply_arrivals(ghosts *g)
{
  int has_come = 0;
  for (int64_t first = 0, count, came = 0; came < g->h.rows->ghosts; came += count) {
    bench_parts_need(grove_arrivals(g->h.op, &first, &count));
    if (count == 0) sched_yield();
    has_come = has_come || (first < g->to_late && first + count > g->from_late && count > 0);
    take(g, first, count, has_come);
  }
}

static void run_round(void *state, int slot)
{
  ghosts *g = state;
  (void)slot;
  if (bench_halo_is(&g->h, "work")) {
    double begin = bench_clock();
    multiply_all(g, 1);
    g->end = bench_clock() - begin;
    return;
  }
  bench_parts_need(grove_start(g->h.op));
  if (bench_halo_is(&g->h, "arrivals")) multiply_arrivals(g);
  bench_parts_need(grove_wait(g->h.op));
  if (bench_halo_is(&g->h, "wait")) multiply_all(g, 0);
  g->end = bench_clock();
}

/* Multiplied again, now that all is there, they must be the same. */
static void check_product(ghosts *g)
{
  size_t bytes = (size_t)(g->h.rows->rows * g->h.width) * sizeof *g->y;
  double *before = bench_alloc(bytes + 1, 1);
  memcpy(before, g->y, bytes);
  multiply_all(g, 0);
  g->h.e->wrong += memcmp(before, g->y, bytes) != 0;
  free(before);
}

static double sample_ghosts(void *state, int64_t round)
{
  ghosts *g = state;
  const bench_job job = {.finish = run_round, .about = g};
  int is_work = bench_halo_is(&g->h, "work");
  memcpy(g->missing, g->needed, (size_t)g->h.rows->rows * sizeof *g->missing);
  bench_halo_fill(&g->h, 0, g->h.rows->rows, round);
  double begin = bench_halo_moment(&g->h), delay = begin - bench_clock();
  if (g->h.c->rank == g->late && !is_work) delay += g->h.c->line->noise.amount;
  bench_team_run(g->h.c->team, &job, &delay);
  g->rounds += !is_work;
  double seconds = is_work ? g->end : g->end - begin;
  if (!is_work) bench_halo_check(&g->h, round);
  if (!is_work) check_product(g);
  return bench_halo_sum(&g->h, is_counted(g) ? seconds : 0) / bench_halo_sum(&g->h, is_counted(g));
}

const bench_part_mode bench_mode_ghosts = {
  .name = "ghosts",
  .is_forest = 1,
  .warm = 4,
  .open = open_ghosts,
  .sample = sample_ghosts,
  .close = close_ghosts,
};
