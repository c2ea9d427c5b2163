/* log=summary: when the context is freed rank 0 prints a table, on standard error, of forests,
 * operations, what they moved and how long it took; other ranks, and contexts without the option,
 * print nothing. */
#include "capture.h"
#include "check.h"
#include "ring.h"

#include <stdlib.h>
#include <string.h>

enum { STARTS = 37 };

static void use(const place *p, const char *name, op_kind k)
{
  ring x = ring_open(p, RING_SMALL, RING_NOBODY, k);
  CHECK_OK(grove_forest_set_name(x.forest, name));
  ring_run(&x, STARTS);
  ring_close(&x);
}

static void run(const char *log, int owner_first, char *text)
{
  place p = place_create(split(0));
  CHECK_OK(grove_context_set(p.ctx, "node_size", "1"));
  CHECK_OK(grove_context_set(p.ctx, "log", log));
  use(&p, "quercus", KIND_BCAST);
  use(&p, "fagus", KIND_REDUCE);
  ring x = ring_open(&p, RING_SMALL, RING_NOBODY, KIND_BCAST);
  capture c = capture_begin();
  if (owner_first) CHECK_OK(grove_context_free(&p.ctx)); /* the last free prints */
  ring_close(&x);
  CHECK_OK(grove_context_free(&p.ctx));
  capture_end(&c, text);
  MPI_Comm_free(&p.comm);
}

/* ---- the table, read back ---- */

enum {
  FOREST,
  OPERATION,
  ROUTE,
  UNIT,
  RAN,
  ON_MSGS,
  ON_BYTES,
  OFF_MSGS,
  OFF_BYTES,
  START,
  BETWEEN,
  WAIT,
  COLUMNS
};

typedef struct row {
  char cell[COLUMNS][64];
} row;

/* Cells are separated by two blanks or more, and begin or end where the others of their column do.
 */
static row read_row(const char *line)
{
  row r = {{""}};
  int c = 0;
  for (const char *at = line + strspn(line, " "); *at != '\0' && *at != '\n'; c++) {
    size_t n = 0;
    while (at[n] != '\0' && at[n] != '\n' && !(at[n] == ' ' && at[n + 1] == ' ')) n++;
    CHECK(c < COLUMNS && n < sizeof r.cell[0], "too many or too long columns in '%s'", line);
    memcpy(r.cell[c], at, n);
    at += n + strspn(at + n, " ");
  }
  return r;
}

static double number(const row *r, int column)
{
  char *end = NULL;
  double value = strtod(r->cell[column], &end);
  CHECK(end != r->cell[column] && *end == '\0', "'%s' is no number", r->cell[column]);
  return value;
}

/* How many rows are of this forest and operation, and the last of them. */
static int find_rows(const char *text, const char *forest, const char *operation, row *out)
{
  int found = 0;
  for (const char *at = text; at != NULL && *at != '\0'; at = strchr(at, '\n') + 1) {
    if (strncmp(at, "Grove:", 6) == 0 || strncmp(at, "and ", 4) == 0) continue;
    row r = read_row(at);
    if (strcmp(r.cell[FOREST], forest) != 0 || strcmp(r.cell[OPERATION], operation) != 0) continue;
    *out = r;
    found++;
  }
  return found;
}

static row the_row(const char *text, const char *forest, const char *operation)
{
  row r;
  int found = find_rows(text, forest, operation, &r);
  CHECK(found == 1, "%d rows of '%s' and '%s' in\n%s", found, forest, operation, text);
  return r;
}

/* A ring sends one message a rank; one to oneself is none. */
static void check_counts(const row *r, int starts)
{
  double messages = world_size() > 1 ? (double)starts * world_size() : 0;
  CHECK(number(r, UNIT) == 8, "the unit has %s bytes", r->cell[UNIT]);
  CHECK(number(r, RAN) == starts, "%s starts, not %d", r->cell[RAN], starts);
  CHECK(number(r, ON_MSGS) == 0 && number(r, ON_BYTES) == 0, "something stayed on a node");
  CHECK(number(r, OFF_MSGS) == messages, "%s messages, not %g", r->cell[OFF_MSGS], messages);
  CHECK(number(r, OFF_BYTES) == messages * RING_SMALL * 8, "%s bytes", r->cell[OFF_BYTES]);
  for (int c = START; c <= WAIT; c++) CHECK(number(r, c) >= 0, "'%s' us", r->cell[c]);
}

static void check_table(const char *text)
{
  static const char *const names[COLUMNS] = {"forest",    "operation", "route",      "unit",
                                             "starts",    "on msgs",   "on bytes",   "off msgs",
                                             "off bytes", "start us",  "between us", "wait us"};
  row r = the_row(text, "forest", "operation");
  for (int c = 0; c < COLUMNS; c++)
    CHECK(strcmp(r.cell[c], names[c]) == 0, "'%s', not '%s'", r.cell[c], names[c]);
  r = the_row(text, "quercus", "bcast");
  check_counts(&r, STARTS);
  CHECK(strcmp(r.cell[ROUTE], "standard") == 0, "route '%s'", r.cell[ROUTE]);
  r = the_row(text, "fagus", "reduce");
  check_counts(&r, STARTS);
}

static void prints_when_asked(void)
{
  char text[CAPTURE_BYTES];
  for (int owner_first = 0; owner_first < 2; owner_first++) {
    run("summary", owner_first, text);
    if (world_rank() == 0)
      check_table(text);
    else
      CHECK(text[0] == '\0', "a rank other than 0 printed '%s'", text);
    run("off", owner_first, text);
    CHECK(text[0] == '\0', "printed without being asked: '%s'", text);
  }
}

/* ---- names ---- */

static place open_logged(void)
{
  place p = place_create(split(0));
  CHECK_OK(grove_context_set(p.ctx, "node_size", "1"));
  CHECK_OK(grove_context_set(p.ctx, "log", "summary"));
  return p;
}

/* What is printed when the context goes. */
static void close_logged(place *p, char *text)
{
  capture c = capture_begin();
  CHECK_OK(grove_context_free(&p->ctx));
  capture_end(&c, text);
  MPI_Comm_free(&p->comm);
}

static void use_unnamed(const place *p)
{
  grove_forest *f = NULL;
  grove_root next = {(p->rank + 1) % p->size, 0};
  int64_t x = 1, y = 0;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, 1, 1, NULL, &next));
  CHECK_OK(grove_forest_set_up(f));
  CHECK_OK(grove_bcast(f, MPI_INT64_T, &x, &y, MPI_REPLACE));
  CHECK_OK(grove_forest_free(&f));
}

/* Forests of one name are one row, those without a name too; rank 0's names count, and what is in
 * them does not break the table. */
static void shares_rows_by_name(void)
{
  enum { UNNAMED = 300 };
  char text[CAPTURE_BYTES], mine[64];
  place p = open_logged();
  snprintf(mine, sizeof mine, world_rank() == 0 ? "betula" : "betula %d", world_rank());
  use(&p, mine, 0);
  use(&p, "two\nlines  ", 0);
  for (int i = 0; i < UNNAMED; i++) use_unnamed(&p);
  use(&p, mine, 0);
  use(&p, "B\xc3\xa4ume, und zwar so viele, dass der Name in keine Spalte passt", 1);
  close_logged(&p, text);
  if (world_rank() > 0) return;
  row r = the_row(text, "betula", "bcast");
  check_counts(&r, 2 * STARTS);
  r = the_row(text, "unnamed", "bcast");
  CHECK(number(&r, RAN) == UNNAMED, "%s starts", r.cell[RAN]);
  r = the_row(text, "two?lines", "bcast");
  r = the_row(text, "B\xc3\xa4ume, und zwar so viele, dass der Name ...", "reduce");
  check_counts(&r, STARTS);
}

/* Too many rows for a table: it is cut, and says what is not there. */
static void leaves_rows_out(void)
{
  enum { NAMES = 60, SHOWN = 50 };
  char text[CAPTURE_BYTES];
  place p = open_logged();
  ring x = ring_open(&p, RING_SMALL, RING_NOBODY, 0);
  for (int i = 0; i < NAMES; i++) {
    char name[32];
    snprintf(name, sizeof name, "abies %d", i);
    CHECK_OK(grove_forest_set_name(x.forest, name));
    ring_run(&x, 1);
  }
  ring_close(&x);
  close_logged(&p, text);
  if (world_rank() > 0) return;
  int lines = 0, last = -1;
  for (const char *at = text; (at = strstr(at, "\nabies ")) != NULL; at++, lines++) {
    int i = atoi(at + strlen("\nabies "));
    CHECK(i > last, "%d after %d", i, last);
    last = i;
  }
  const char *rest = strstr(text, "\nand ");
  CHECK(lines == SHOWN && rest != NULL, "%d rows, and '%s'", lines, rest ? rest : "");
  CHECK_NUMBER_IN(rest, NAMES - SHOWN);
  CHECK_NUMBER_IN(rest, world_size() > 1 ? (NAMES - SHOWN) * world_size() : 0);
}

/* ---- times ---- */

/* A sleep is never shorter than it should be; nothing else is known of times here. */
static void tells_where_the_time_goes(void)
{
  static const double NAP = 0.02;
  char text[CAPTURE_BYTES];
  place p = open_logged();
  ring x = ring_open(&p, RING_SMALL, RING_NOBODY, 0);
  for (int tested = 0; tested < 2; tested++) {
    CHECK_OK(grove_forest_set_name(x.forest, tested ? "tested" : "waited"));
    ring_init(&x);
    CHECK_OK(grove_start(x.op));
    int done = 0;
    if (tested) CHECK_OK(grove_test(x.op, &done)); /* perhaps it is complete */
    if (!done) linger(NAP);
    while (tested && !done) CHECK_OK(grove_test(x.op, &done));
    CHECK_OK(grove_wait(x.op)); /* which is nothing new after a test */
    ring_check(&x, 0);
    CHECK_OK(grove_start(x.op));
    CHECK_OK(grove_wait(x.op));
    CHECK_OK(grove_op_free(&x.op));
  }
  ring_close(&x);
  close_logged(&p, text);
  if (world_rank() > 0) return;
  row r = the_row(text, "waited", "bcast");
  check_counts(&r, 2);
  CHECK(number(&r, BETWEEN) >= 1e6 * NAP / 2, "%s us between", r.cell[BETWEEN]);
  r = the_row(text, "tested", "bcast");
  check_counts(&r, 2);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "context/summary");
  prints_when_asked();
  shares_rows_by_name();
  leaves_rows_out();
  tells_where_the_time_goes();
  return test_end();
}
