/* The table of log=summary: what ran on all ranks together, printed by rank 0 when the context is
 * freed.
 *
 * Forests of one name share rows, and so do all forests without a name: a program that makes
 * thousands of them wants to know about the kinds. Ranks may name a forest differently, so rank 0's
 * name counts. Rows are made in collective calls and are the same on every rank.
 *
 * Channels are made without the other ranks, so their rows belong to one rank. Those that took most
 * time are on a sheet of fixed length.
 *
 * Rank 0 asks the ranks that are there for their *pages* (roll.h), one after the other, and adds
 * them to its own. If some did not come, it says which.
 */
#include "context/context.h"

#include <stdlib.h>
#include <string.h>

enum { SUMS = 5, TIMES = 3, NUMBERS = SUMS + TIMES, MOST_ROWS = 50 };

/* ---- rows ---- */

static int is_of(const grove_tally *t, const grove_tally *like)
{
  return t->unit_bytes == like->unit_bytes && strcmp(t->forest, like->forest) == 0 &&
         strcmp(t->operation, like->operation) == 0 && strcmp(t->route, like->route) == 0;
}

/* A copy of the name, and room for one more row. This rank's failure. */
static grove_status make_row(grove_tally **tallies, int n, const char *forest, char **name)
{
  GROVE_PASS_GROW(*tallies, n, 1);
  *name = strdup(forest);
  GROVE_PASS_CHECK(*name, GROVE_ERR_MEMORY, "no memory for a name");
  return GROVE_OK;
}

grove_status grove_context_tally(grove_context *ctx, const grove_tally *like, int *row)
{
  grove_status status = GROVE_OK;
  char *name = NULL;
  int64_t i = 0;
  grove_status mine = make_row(&ctx->tallies, ctx->ntallies, like->forest, &name);
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

grove_status grove_context_own_tally(grove_context *ctx, const grove_tally *like, int *row)
{
  char *name = NULL;
  int n = ctx->nown_tallies, i = n - 1;
  while (i >= 0 && !is_of(&ctx->own_tallies[i], like)) i--;
  if (i < 0) {
    GROVE_PASS(make_row(&ctx->own_tallies, n, like->forest, &name));
    i = ctx->nown_tallies++;
    ctx->own_tallies[i] = *like;
    ctx->own_tallies[i].forest = name;
  }
  *row = i;
  return GROVE_OK;
}

/* ---- adding them up ---- */

/* The columns of numbers. First those that are added up, then the times of one start in
 * microseconds, where the slowest rank's counts. */
static void fill_row(const grove_tally *t, double *sums, double *times)
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

/* ---- rows of one rank ---- */

enum { OWN_NAME_BYTES = 64, OWN_WORD_BYTES = 16 };

typedef struct own_row {
  int rank, number; /* which of that rank's */
  char name[OWN_NAME_BYTES], operation[OWN_WORD_BYTES], route[OWN_WORD_BYTES];
  int64_t unit_bytes;
  double sums[SUMS], times[TIMES];
} own_row;

/* The rows that took most time, most expensive first, and the sum of the others. */
typedef struct sheet {
  int64_t n, others;
  double rest[SUMS];
  own_row row[MOST_ROWS];
} sheet;

/* The microseconds inside the library. */
static double cost_of(const double *sums, const double *times)
{
  return sums[0] * (times[0] + times[2]);
}

static int row_before(const own_row *a, const own_row *b)
{
  double x = cost_of(a->sums, a->times), y = cost_of(b->sums, b->times);
  if (x != y) return x > y;
  return a->rank != b->rank ? a->rank < b->rank : a->number < b->number;
}

static void leave_rows_out(sheet *s, const own_row *row)
{
  s->others++;
  for (int c = 0; c < SUMS; c++) s->rest[c] += row->sums[c];
}

static void enter_row(sheet *s, const own_row *row)
{
  int64_t at = s->n;
  while (at > 0 && row_before(row, &s->row[at - 1])) at--;
  if (at == MOST_ROWS) {
    leave_rows_out(s, row);
    return;
  }
  if (s->n == MOST_ROWS) leave_rows_out(s, &s->row[--s->n]);
  memmove(&s->row[at + 1], &s->row[at], (size_t)(s->n - at) * sizeof *row);
  s->row[at] = *row;
  s->n++;
}

static void merge_rows(sheet *to, const sheet *from)
{
  for (int64_t r = 0; r < from->n; r++) enter_row(to, &from->row[r]);
  to->others += from->others;
  for (int c = 0; c < SUMS; c++) to->rest[c] += from->rest[c];
}

static void fill_sheet(const grove_context *ctx, sheet *out)
{
  for (int i = 0; i < ctx->nown_tallies; i++) {
    const grove_tally *t = &ctx->own_tallies[i];
    own_row row = {.rank = ctx->rank, .number = i, .unit_bytes = t->unit_bytes};
    snprintf(row.name, sizeof row.name, "rank %d: %s", ctx->rank, t->forest);
    snprintf(row.operation, sizeof row.operation, "%s", t->operation);
    snprintf(row.route, sizeof row.route, "%s", t->route);
    fill_row(t, row.sums, row.times);
    enter_row(out, &row);
  }
}

/* For the table: by rank, then in the order in which they were made. */
static int by_maker(const void *a, const void *b)
{
  const own_row *x = a, *y = b;
  return x->rank != y->rank ? x->rank - y->rank : x->number - y->number;
}

/* ---- pages ---- */

/* What a rank contributes: first the sums of all rows, then the times of all rows. */
typedef struct page {
  sheet own;
  double numbers[];
} page;

void *grove_summary_page(const grove_context *ctx, int n, size_t *bytes)
{
  *bytes = sizeof(page) + (size_t)n * NUMBERS * sizeof(double);
  page *p = grove_memory(1, *bytes);
  if (!p) return NULL;
  for (int i = 0; i < n && i < ctx->ntallies; i++)
    fill_row(&ctx->tallies[i], p->numbers + SUMS * i, p->numbers + SUMS * n + TIMES * i);
  fill_sheet(ctx, &p->own);
  return p;
}

static void sum_page(page *to, const page *from, int n)
{
  for (int i = 0; i < SUMS * n; i++) to->numbers[i] += from->numbers[i];
  for (int i = SUMS * n; i < NUMBERS * n; i++)
    if (from->numbers[i] > to->numbers[i]) to->numbers[i] = from->numbers[i];
  merge_rows(&to->own, &from->own);
}

/* Adds the pages of the ranks that are there. Returns how many ranks were added. */
static int add_pages(grove_context *ctx, page *to, int n, size_t bytes)
{
  const grove_roll_message order = {.word = GROVE_WORD_PAGE, .number = n};
  page *theirs = grove_room(1, bytes);
  int added = 0;
  for (int r = 1; theirs && r < ctx->size; r++) {
    if (!grove_roll_has(ctx, r)) continue;
    grove_roll_order(ctx, &order, r);
    if (grove_roll_answer(ctx, r, theirs, (int)bytes) != (int)bytes) continue;
    sum_page(to, theirs, n);
    added++;
  }
  free(theirs);
  return added;
}

/* ---- the table ---- */

enum { TEXTS = 4, CELLS = TEXTS + NUMBERS, CELL_BYTES = 64, NAME_COLUMNS = 40 };

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

/* The name on one line, shortened if it is long. */
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

/* A row of either sort. Texts are borrowed. */
typedef struct entry {
  const char *name, *operation, *route;
  int64_t unit_bytes;
  const double *sums, *times;
} entry;

/* What the table is made of. */
typedef struct contents {
  const grove_tally *tallies;
  int n;
  const double *sums, *times; /* of tallies */
  const sheet *own;
} contents;

static int count_rows(const contents *from)
{
  return from->n + (int)from->own->n;
}

static entry entry_of(const contents *from, int i)
{
  if (i < from->n) {
    const grove_tally *t = &from->tallies[i];
    return (entry){t->forest,     t->operation,          t->route,
                   t->unit_bytes, from->sums + SUMS * i, from->times + TIMES * i};
  }
  const own_row *r = &from->own->row[i - from->n];
  return (entry){r->name, r->operation, r->route, r->unit_bytes, r->sums, r->times};
}

static void print_row(const entry *e, line *out)
{
  print_name(e->name, out->cell[0]);
  snprintf(out->cell[1], CELL_BYTES, "%s", e->operation);
  snprintf(out->cell[2], CELL_BYTES, "%s", e->route);
  snprintf(out->cell[3], CELL_BYTES, "%lld", (long long)e->unit_bytes);
  for (int c = 0; c < SUMS; c++) snprintf(out->cell[TEXTS + c], CELL_BYTES, "%.0f", e->sums[c]);
  for (int c = 0; c < TIMES; c++)
    snprintf(out->cell[TEXTS + SUMS + c], CELL_BYTES, "%.2f", e->times[c]);
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

/* A row, and what it cost. */
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
static int choose_rows(const contents *from, rank_of_row *list)
{
  int n = count_rows(from), shown = n < MOST_ROWS ? n : MOST_ROWS;
  for (int i = 0; i < n; i++) {
    entry e = entry_of(from, i);
    list[i] = (rank_of_row){i, cost_of(e.sums, e.times)};
  }
  qsort(list, (size_t)n, sizeof *list, by_cost);
  qsort(list, (size_t)shown, sizeof *list, by_row);
  return shown;
}

/* A sentence about the rows that are not shown. */
static void print_rest(const contents *from, const rank_of_row *list, int n)
{
  double total[SUMS];
  int64_t rows = n + from->own->others;
  memcpy(total, from->own->rest, sizeof total);
  for (int i = 0; i < n; i++)
    for (int c = 0; c < SUMS; c++) total[c] += entry_of(from, list[i].row).sums[c];
  if (rows > 0)
    fprintf(
      stderr,
      "and %lld more rows, which took less time: %.0f starts, %.0f messages and %.0f bytes on "
      "node, %.0f and %.0f off node\n",
      (long long)rows, total[0], total[1], total[2], total[3], total[4]);
}

/* Whose messages and bytes they are. */
static void name_senders(const grove_context *ctx, int ranks, char *out, size_t room)
{
  char missing[256];
  if (ranks == ctx->size) {
    snprintf(out, room, "of all ranks");
  } else if (grove_roll_has_all(ctx)) {
    snprintf(out, room, "of %d ranks, since the others have no memory for them", ranks);
  } else {
    grove_roll_missing(ctx, missing, sizeof missing);
    snprintf(out, room, "without %s, which neither freed the context nor called MPI_Finalize",
             missing);
  }
}

static void print_summary(const grove_context *ctx, int ranks, const contents *from)
{
  char senders[512];
  int n = count_rows(from);
  line *lines = grove_memory((size_t)MOST_ROWS + 1, sizeof *lines);
  rank_of_row *list = grove_memory((size_t)n, sizeof *list);
  if (lines && list && n > 0) {
    int shown = choose_rows(from, list);
    lines[0] = headings;
    name_senders(ctx, ranks, senders, sizeof senders);
    for (int i = 0; i < shown; i++) {
      entry e = entry_of(from, list[i].row);
      print_row(&e, &lines[1 + i]);
    }
    fprintf(stderr,
            "Grove: %d rank%s on %d node%s; messages and bytes %s, times of one start on the "
            "slowest rank\n",
            ctx->size, ctx->size > 1 ? "s" : "", ctx->topo.nnodes, ctx->topo.nnodes > 1 ? "s" : "",
            senders);
    print_lines(lines, 1 + shown);
    print_rest(from, list + shown, n - shown);
  }
  free(lines);
  free(list);
}

/* Variables that look like options and are none. */
static void print_strays(void)
{
  size_t bytes = 0;
  for (int i = 0; grove_options_stray(i, &bytes); i++) {
    const char *name = grove_options_stray(i, &bytes);
    fprintf(stderr, "%s%.*s", i == 0 ? "Grove: no option, and not looked at: " : ", ", (int)bytes,
            name);
  }
  if (grove_options_stray(0, &bytes)) fprintf(stderr, "\n");
}

static void print_count(int64_t n, const char *one, const char *several)
{
  if (n > 0) fprintf(stderr, "; %lld %s", (long long)n, n == 1 ? one : several);
}

/* What became of the file of the option `wisdom`. */
static void print_wisdom(const grove_context *ctx)
{
  const grove_wisdom_log *w = &ctx->wisdom;
  if (!*ctx->options.wisdom) return;
  fprintf(stderr, "Grove: wisdom '%s': %lld taken, %lld added", ctx->options.wisdom,
          (long long)w->taken, (long long)w->added);
  print_count(w->stale, "ignored: it is of two routes that would not be tried now",
              "ignored: they are of two routes that would not be tried now");
  print_count(w->of_machines, "is of another machine", "are of other machines");
  print_count(w->of_versions, "is of another version of Grove", "are of other versions of Grove");
  print_count(w->damaged, "line is no entry", "lines are no entries");
  if (w->damaged > 0) fprintf(stderr, " (line %lld)", (long long)w->damaged_line);
  print_count(w->lost, "could not be written", "could not be written");
  fprintf(stderr, "\n");
}

void grove_context_summarise(grove_context *ctx)
{
  size_t bytes = 0;
  int n = ctx->ntallies;
  page *p = grove_summary_page(ctx, n, &bytes);
  if (!p) return;
  int ranks = 1 + add_pages(ctx, p, n, bytes);
  for (int i = 0; i < n; i++) p->numbers[SUMS * i] /= ranks; /* starts per rank */
  qsort(p->own.row, (size_t)p->own.n, sizeof *p->own.row, by_maker);
  const contents from = {ctx->tallies, n, p->numbers, p->numbers + SUMS * n, &p->own};
  print_summary(ctx, ranks, &from);
  print_wisdom(ctx);
  print_strays();
  free(p);
}
