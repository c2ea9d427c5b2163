/* The table of log=summary: what ran on all ranks together, printed by rank 0 when the context
 * goes. Forests of one name share rows, and so do all that have none: a program that makes
 * thousands of them wants to know of the kinds. A name is a rank's own affair, so rank 0's counts:
 * rows come into being in collective calls, are the same on every rank, and one reduction adds them
 * up. A rank that never frees its context must not stop the others for ever: then rank 0 prints its
 * own numbers and says so.
 */
#include "context/context.h"

#include <stdlib.h>
#include <string.h>

enum { SUMS = 5, TIMES = 3, NUMBERS = SUMS + TIMES };
static const double PATIENCE_SECONDS = 10;

/* ---- rows ---- */

static int is_of(const grove_tally *t, const grove_tally *like)
{
  return t->unit_bytes == like->unit_bytes && strcmp(t->forest, like->forest) == 0 &&
         strcmp(t->operation, like->operation) == 0 && strcmp(t->route, like->route) == 0;
}

/* A copy of the name, and room for one row more. This rank's failure. */
static grove_status make_room(grove_context *ctx, const char *forest, char **name)
{
  grove_status status = GROVE_OK;
  size_t rows = (size_t)ctx->ntallies + 1;
  grove_tally *t = realloc(ctx->tallies, rows * sizeof *t);
  GROVE_CHECK(t, GROVE_ERR_MEMORY, "no memory for %zu rows of the summary", rows);
  ctx->tallies = t;
  *name = strdup(forest);
  GROVE_CHECK(*name, GROVE_ERR_MEMORY, "no memory for a name");
fail:
  return status;
}

grove_status grove_context_tally(grove_context *ctx, const grove_tally *like, int *row)
{
  grove_status status = GROVE_OK;
  char *name = NULL;
  int64_t i = 0;
  grove_status mine = make_room(ctx, like->forest, &name);
  while (ctx->rank == 0 && i < ctx->ntallies && !is_of(&ctx->tallies[i], like)) i++;
  GROVE_TRY(grove_context_agree(ctx, mine, &i, 1)); /* the maximum is rank 0's */
  if (i == ctx->ntallies) {
    ctx->tallies[ctx->ntallies++] = *like;
    ctx->tallies[i].forest = name;
    name = NULL;
  }
  *row = (int)i;
fail:
  free(name);
  return status;
}

/* ---- adding them up ---- */

/* The columns of numbers: first those that are added up, then the times of one start, in
 * microseconds, of which the slowest rank's count. */
static void fill(const grove_tally *t, double *sums, double *times)
{
  double starts = t->starts > 0 ? (double)t->starts : 1, ends = t->ends > 0 ? (double)t->ends : 1;
  sums[0] = (double)t->starts;
  sums[1] = (double)t->on_node_messages;
  sums[2] = (double)t->on_node_bytes;
  sums[3] = (double)t->off_node_messages;
  sums[4] = (double)t->off_node_bytes;
  times[0] = 1e6 * t->start_seconds / starts;
  times[1] = 1e6 * t->between_seconds / ends;
  times[2] = 1e6 * t->wait_seconds / ends;
}

/* Waits for two reductions; 0 when some rank does not take part. */
static int wait_for_all(grove_context *ctx, MPI_Request request[2])
{
  grove_pause pause;
  grove_pause_begin(&pause, ctx->spins);
  for (int done = 0;;) {
    MPI_Testall(2, request, &done, MPI_STATUSES_IGNORE);
    if (done) return 1;
    if (grove_pause_expired(&pause, PATIENCE_SECONDS)) return 0;
    grove_pause_step(&pause);
  }
}

/* ---- the table ---- */

enum { TEXTS = 4, CELLS = TEXTS + NUMBERS, CELL_BYTES = 64, NAME_COLUMNS = 40, MOST_ROWS = 50 };

typedef struct line {
  char cell[CELLS][CELL_BYTES];
} line;

static const line headings = {{"forest", "operation", "route", "unit", "starts", "on msgs",
                               "on bytes", "off msgs", "off bytes", "start us", "between us",
                               "wait us"}};

/* A byte that continues a character of UTF-8 takes no column. */
static int columns_of(const char *text)
{
  int n = 0;
  for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
  return n;
}

/* The name in one line, and not in too long a one. */
static void print_name(const char *name, char *out)
{
  size_t room = CELL_BYTES - 4, n = 0;
  int columns = 0;
  for (; name[n] && n < room; n++) {
    columns += ((unsigned char)name[n] & 0xc0) != 0x80;
    if (columns > NAME_COLUMNS) break;
    out[n] = (unsigned char)name[n] < ' ' || name[n] == 127 ? '?' : name[n];
  }
  out[n] = '\0';
  if (!name[n]) return;
  while (n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80) n--; /* whole characters only */
  strcpy(out + n, "...");
}

static void print_line(const grove_tally *t, const double *sums, const double *times, line *out)
{
  print_name(t->forest, out->cell[0]);
  snprintf(out->cell[1], CELL_BYTES, "%s", t->operation);
  snprintf(out->cell[2], CELL_BYTES, "%s", t->route);
  snprintf(out->cell[3], CELL_BYTES, "%lld", (long long)t->unit_bytes);
  for (int c = 0; c < SUMS; c++) snprintf(out->cell[TEXTS + c], CELL_BYTES, "%.0f", sums[c]);
  for (int c = 0; c < TIMES; c++)
    snprintf(out->cell[TEXTS + SUMS + c], CELL_BYTES, "%.2f", times[c]);
}

static void print_lines(const line *lines, int n)
{
  int width[CELLS] = {0};
  for (int i = 0; i < n * CELLS; i++) {
    int columns = columns_of(lines[i / CELLS].cell[i % CELLS]);
    if (columns > width[i % CELLS]) width[i % CELLS] = columns;
  }
  for (int i = 0; i < n; i++)
    for (int c = 0; c < CELLS; c++) {
      const char *cell = lines[i].cell[c];
      int blanks = width[c] - columns_of(cell), left = c < TEXTS - 1;
      fprintf(stderr, "%*s%s%*s%s", left ? 0 : blanks, "", cell, left ? blanks : 0, "",
              c + 1 < CELLS ? "  " : "\n");
    }
}

/* A row, and what it cost: the microseconds inside the library. */
typedef struct rank_of_row {
  int row;
  double cost;
} rank_of_row;

static int by_cost(const void *a, const void *b)
{
  const rank_of_row *x = a, *y = b;
  if (x->cost != y->cost) return x->cost < y->cost ? 1 : -1;
  return x->row - y->row;
}

static int by_row(const void *a, const void *b)
{
  return ((const rank_of_row *)a)->row - ((const rank_of_row *)b)->row;
}

/* The rows to show, in their order: all, or the MOST_ROWS that cost most. */
static int choose(int n, const double *sums, const double *times, rank_of_row *list)
{
  int shown = n < MOST_ROWS ? n : MOST_ROWS;
  for (int i = 0; i < n; i++) {
    const double *time = times + TIMES * i;
    list[i] = (rank_of_row){i, sums[SUMS * i] * (time[0] + time[2])};
  }
  qsort(list, (size_t)n, sizeof *list, by_cost);
  qsort(list, (size_t)shown, sizeof *list, by_row);
  return shown;
}

/* What the rows that are not shown did, in a sentence. */
static void print_rest(const rank_of_row *list, int n, const double *sums)
{
  double total[SUMS] = {0};
  for (int i = 0; i < n; i++)
    for (int c = 0; c < SUMS; c++) total[c] += sums[SUMS * list[i].row + c];
  if (n > 0)
    fprintf(stderr,
            "and %d more rows, which took less time: %.0f starts, %.0f messages and %.0f bytes on "
            "node, %.0f and %.0f off node\n",
            n, total[0], total[1], total[2], total[3], total[4]);
}

static void print(const grove_context *ctx, int complete, double *sums, const double *times)
{
  int n = ctx->ntallies;
  line *lines = grove_memory((size_t)MOST_ROWS + 1, sizeof *lines);
  rank_of_row *list = grove_memory((size_t)n, sizeof *list);
  if (lines && list) {
    for (int i = 0; complete && i < n; i++) sums[SUMS * i] /= ctx->size; /* starts of a rank */
    int shown = choose(n, sums, times, list);
    lines[0] = headings;
    for (int i = 0; i < shown; i++) {
      int row = list[i].row;
      print_line(&ctx->tallies[row], sums + SUMS * row, times + TIMES * row, &lines[1 + i]);
    }
    fprintf(stderr,
            "Grove: %d rank%s on %d node%s; messages and bytes %s, times of one start on the "
            "slowest rank\n",
            ctx->size, ctx->size > 1 ? "s" : "", ctx->topo.nnodes, ctx->topo.nnodes > 1 ? "s" : "",
            complete ? "of all ranks" : "of rank 0 only: not every rank freed its context");
    print_lines(lines, 1 + shown);
    print_rest(list + shown, n - shown, sums);
  }
  free(lines);
  free(list);
}

void grove_context_summarise(grove_context *ctx)
{
  int n = ctx->ntallies, complete = 0;
  double *mine = grove_memory((size_t)n * NUMBERS, sizeof *mine);
  double *all = grove_memory((size_t)n * NUMBERS, sizeof *all);
  MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (!mine || !all) goto done;
  for (int i = 0; i < n; i++) fill(&ctx->tallies[i], mine + SUMS * i, mine + SUMS * n + TIMES * i);
  if (MPI_Ireduce(mine, all, SUMS * n, MPI_DOUBLE, MPI_SUM, 0, ctx->comm, &request[0]) ||
      MPI_Ireduce(mine + SUMS * n, all + SUMS * n, TIMES * n, MPI_DOUBLE, MPI_MAX, 0, ctx->comm,
                  &request[1]))
    goto done;
  complete = wait_for_all(ctx, request);
  if (ctx->rank == 0)
    print(ctx, complete, complete ? all : mine, (complete ? all : mine) + SUMS * n);
  if (!complete) { /* MPI may still use the arrays and the communicator */
    ctx->broken = 1;
    return;
  }
done:
  free(mine);
  free(all);
}
