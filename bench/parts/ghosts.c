/* Multiplies rows that need ghosts, while one rank is late with its values. Rows without ghosts are
 * left out: both ways can do them while they wait.
 *
 *     wait       when all ghosts are there
 *     arrivals   each row when the ghosts of all ranks that it needs are there
 *     work       no exchange: the time to multiply the rows that need nothing from that rank
 *
 * The time is from the start of all others until a rank's rows are done, as the mean over the ranks
 * that need something from the late one. The share counts entries of rows that need nothing from
 * it: those done when the first of its ghosts arrived.
 */
#include "halo.h"

#include "kit/need.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_PER_TEST = 256 };

/* A rank that ghosts come from. */
typedef struct owner {
  int64_t first, end; /* the range of its ghosts */
  int64_t left;       /* of these, not yet arrived */
  int64_t nrows;
  int64_t *row; /* rows that need some of them */
} owner;

typedef struct ghosts {
  bench_halo h;
  int nowners, late; /* the late one's place among them, if it has ghosts here; else -1 */
  owner *owners;
  double *value, *y;
  int *needed, *missing;  /* per row: all owners, and those whose ghosts are missing */
  int64_t nouter, *outer; /* rows that need ghosts */
  int64_t nearly, *early; /* of these, rows that need none from the late one */
  int64_t early_entries;  /* entries of early rows */
  int64_t done, rounds;   /* early entries done before it came, over all rounds */
  double end;
} ghosts;

static int64_t entries_of(const ghosts *g, int64_t row)
{
  return g->h.rows->start[row + 1] - g->h.rows->start[row];
}

/* Ghosts ascend, so those of an owner are adjacent. */
static void list_owners(ghosts *g, int size, int late)
{
  const bench_rows *r = g->h.rows;
  int64_t at = 0;
  g->owners = bench_alloc((size_t)size, sizeof *g->owners);
  g->late = -1;
  for (int i = 0; i < size; i++) {
    owner *o = &g->owners[g->nowners];
    o->first = at;
    while (at < r->ghosts && r->ghost[at] < r->begin[i + 1]) at++;
    o->end = at;
    if (o->end == o->first) continue;
    if (i == late) g->late = g->nowners;
    g->nowners++;
  }
}

static int owner_of(const ghosts *g, int64_t ghost)
{
  int i = 0;
  while (g->owners[i].end <= ghost) i++;
  return i;
}

/* Which rows need which owner; `seen` holds the number + 1 of the last row that needed it. */
static void list_rows(ghosts *g)
{
  const bench_rows *r = g->h.rows;
  int64_t *seen = bench_alloc((size_t)g->nowners + 1, sizeof *seen);
  for (int i = 0; i < g->nowners; i++)
    g->owners[i].row = bench_alloc((size_t)r->rows, sizeof *g->owners[i].row);
  for (int64_t row = 0; row < r->rows; row++) {
    for (int64_t k = r->start[row]; k < r->start[row + 1]; k++) {
      if (r->slot[k] < r->rows) continue;
      int i = owner_of(g, r->slot[k] - r->rows);
      if (seen[i] == row + 1) continue;
      seen[i] = row + 1;
      g->owners[i].row[g->owners[i].nrows++] = row;
      g->needed[row]++;
    }
    if (g->needed[row] == 0) continue;
    g->outer[g->nouter++] = row;
    if (g->late >= 0 && seen[g->late] == row + 1) continue;
    g->early[g->nearly++] = row;
    g->early_entries += entries_of(g, row);
  }
  free(seen);
}

static void *open_ghosts(bench_part_case *c, bench_part_entrant *e)
{
  size_t rows = (size_t)c->rows->rows + 1;
  ghosts *g = bench_alloc(1, sizeof *g);
  int size;
  MPI_Comm_size(c->comm, &size);
  bench_halo_open(c, e, &g->h);
  g->value = bench_alloc((size_t)c->rows->nonzeros + 1, sizeof *g->value);
  for (int64_t k = 0; k < c->rows->nonzeros; k++) g->value[k] = (double)(k % 3 + 1);
  g->y = bench_alloc(rows * (size_t)g->h.width, sizeof *g->y);
  g->needed = bench_alloc(rows, sizeof *g->needed);
  g->missing = bench_alloc(rows, sizeof *g->missing);
  g->outer = bench_alloc(rows, sizeof *g->outer);
  g->early = bench_alloc(rows, sizeof *g->early);
  list_owners(g, size, size / 2);
  list_rows(g);
  return g;
}

static void close_ghosts(void *state)
{
  ghosts *g = state;
  double work = g->late >= 0 ? (double)(g->early_entries * g->rounds) : 0;
  double all = bench_halo_sum(&g->h, work);
  double done = bench_halo_sum(&g->h, g->late >= 0 ? (double)g->done : 0);
  bench_halo_close(&g->h, all > 0 ? done / all : 0);
  for (int i = 0; i < g->nowners; i++) free(g->owners[i].row);
  free(g->owners);
  free(g->value);
  free(g->y);
  free(g->needed);
  free(g->missing);
  free(g->outer);
  free(g->early);
  free(g);
}

static void multiply_one(ghosts *g, int64_t row)
{
  const bench_rows *r = g->h.rows;
  double sum = 0;
  for (int64_t i = r->start[row]; i < r->start[row + 1]; i++)
    sum += g->value[i] * g->h.x[r->slot[i]];
  g->y[row] = sum;
}

static void multiply(ghosts *g, int64_t row)
{
  const bench_rows *r = g->h.rows;
  int width = g->h.width;
  double *y = &g->y[row * width];
  if (width == 1) {
    multiply_one(g, row);
    return;
  }
  memset(y, 0, (size_t)width * sizeof *y);
  for (int64_t i = r->start[row]; i < r->start[row + 1]; i++) {
    const double *x = &g->h.x[r->slot[i] * width];
    for (int k = 0; k < width; k++) y[k] += g->value[i] * x[k];
  }
}

static void multiply_all(ghosts *g, int64_t n, const int64_t *rows)
{
  for (int64_t i = 0; i < n; i++) multiply(g, rows[i]);
}

/* Tests now and then, so that this rank's own values, which are still leaving, reach others. */
static void take_owner(ghosts *g, const owner *o, int has_late)
{
  int is_done;
  for (int64_t i = 0; i < o->nrows; i++) {
    if (i % ROWS_PER_TEST == 0) bench_need_grove(grove_test(g->h.op, &is_done));
    if (--g->missing[o->row[i]] > 0) continue;
    multiply(g, o->row[i]);
    if (!has_late) g->done += entries_of(g, o->row[i]);
  }
}

static void multiply_arrivals(ghosts *g)
{
  int has_late = 0;
  for (int64_t first, count, came = 0; came < g->h.rows->ghosts; came += count) {
    bench_need_grove(grove_arrivals(g->h.op, &first, &count));
    if (count == 0) sched_yield();
    for (int i = 0; i < g->nowners && count > 0; i++) {
      owner *o = &g->owners[i];
      int64_t low = first > o->first ? first : o->first;
      int64_t high = first + count < o->end ? first + count : o->end;
      if (low >= high) continue;
      has_late = has_late || i == g->late;
      if ((o->left -= high - low) == 0) take_owner(g, o, has_late);
    }
  }
}

static void run_round(void *state, int slot)
{
  ghosts *g = state;
  (void)slot;
  if (bench_halo_is(&g->h, "work")) {
    double begin = bench_clock();
    multiply_all(g, g->nearly, g->early);
    g->end = bench_clock() - begin;
    return;
  }
  bench_need_grove(grove_start(g->h.op));
  if (bench_halo_is(&g->h, "arrivals")) multiply_arrivals(g);
  bench_need_grove(grove_wait(g->h.op));
  if (bench_halo_is(&g->h, "wait")) multiply_all(g, g->nouter, g->outer);
  g->end = bench_clock();
}

/* Multiplied again, now that everything is there, they must be the same. */
static void check_product(ghosts *g)
{
  size_t bytes = (size_t)(g->h.rows->rows * g->h.width) * sizeof *g->y;
  double *before = bench_alloc(bytes + 1, 1);
  memcpy(before, g->y, bytes);
  multiply_all(g, g->nouter, g->outer);
  g->h.e->wrong += memcmp(before, g->y, bytes) != 0;
  free(before);
}

static double sample_ghosts(void *state, int64_t round)
{
  ghosts *g = state;
  const bench_job job = {.finish = run_round, .about = g};
  int is_work = bench_halo_is(&g->h, "work"), rank = g->h.c->rank, size;
  MPI_Comm_size(g->h.c->comm, &size);
  memcpy(g->missing, g->needed, (size_t)g->h.rows->rows * sizeof *g->missing);
  for (int i = 0; i < g->nowners; i++) g->owners[i].left = g->owners[i].end - g->owners[i].first;
  bench_halo_fill(&g->h, 0, g->h.rows->rows, round);
  double begin = bench_halo_moment(&g->h), delay = begin - bench_clock();
  if (rank == size / 2 && !is_work) delay += g->h.c->line->noise.amount;
  bench_team_run(g->h.c->team, &job, &delay);
  g->rounds += !is_work;
  double seconds = is_work ? g->end : g->end - begin;
  if (!is_work) bench_halo_check(&g->h, round);
  if (!is_work) check_product(g);
  double sum = bench_halo_sum(&g->h, g->late >= 0 ? seconds : 0);
  double ranks = bench_halo_sum(&g->h, g->late >= 0);
  return ranks > 0 ? sum / ranks : 0;
}

const bench_part_mode bench_mode_ghosts = {
  .name = "ghosts",
  .is_forest = 1,
  .warm = 4,
  .open = open_ghosts,
  .sample = sample_ghosts,
  .close = close_ghosts,
};
