/* The option `wisdom`: the route that was faster when it was tried is kept in a file, and taken
 * from it by later operations on a forest with the same graph, with effort=measure and without; by
 * no others. Entries of other machines, versions and prices, and lines that are none, are ignored
 * and counted. A start takes as long as this test's own clock says. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "capture.h"
#include "check.h"
#include "exec/op.h"
#include "places.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As src/exec/contest.c has them. */
enum { TRIED = 20, DECISION = 84 };
enum { LINE = 600, WORD = 64, NAMES = 8 };

/* ---- the clock ---- */

static struct {
  int runs, looks;
  double begin, end;
} fake;

double __real_grove_clock(void);
double __wrap_grove_clock(void);
double __wrap_grove_clock(void)
{
  if (!fake.runs) return __real_grove_clock();
  return fake.looks++ == 0 ? fake.begin : fake.end;
}

/* Microseconds of a start on the route that the model likes best, and on the other. */
static void set_clock(int start, const double *microseconds)
{
  int turn = start <= TRIED ? start / 2 % 2 : 0;
  fake.begin = start;
  fake.end = start + 1e-6 * microseconds[turn];
  fake.looks = 0;
}

/* ---- the file ---- */

static char folder[] = "/tmp/grove-wisdom-XXXXXX";
static char path[sizeof folder + 16];

static void make_folder(const place *p)
{
  if (p->rank == 0) CHECK(mkdtemp(folder) != NULL, "no folder %s", folder);
  MPI_Bcast(folder, (int)sizeof folder, MPI_CHAR, 0, p->comm);
  snprintf(path, sizeof path, "%s/wisdom", folder);
}

/* Entry `number` from 0, and returns how many there are. On rank 0, whose answer all get. */
static int read_entry(const place *p, int number, char line[LINE])
{
  int n = 0;
  FILE *file = p->rank == 0 ? fopen(path, "r") : NULL;
  char next[LINE];
  while (file && fgets(next, sizeof next, file)) {
    if (*next == '#') continue;
    if (n++ == number) strcpy(line, next);
  }
  if (file) fclose(file);
  MPI_Bcast(&n, 1, MPI_INT, 0, p->comm);
  MPI_Bcast(line, LINE, MPI_CHAR, 0, p->comm);
  return n;
}

/* Rank 0 writes this, and nothing else, into it. */
static void write_file(const place *p, const char *text)
{
  polite_barrier(p->comm);
  if (p->rank == 0) {
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0, "cannot write %s", path);
  }
  polite_barrier(p->comm);
}

/* The line with its word `number`, from 0, replaced. */
static void replace_word(char line[LINE], int number, const char *word)
{
  char before[LINE], *at = line;
  strcpy(before, line);
  for (int i = 0; i < number; i++) at += strcspn(at, " ") + 1;
  size_t begin = (size_t)(at - line), length = strcspn(at, " ");
  snprintf(line, LINE, "%.*s%s%s", (int)begin, before, word, before + begin + length);
}

static void word_of(const char *line, int number, char word[WORD])
{
  for (int i = 0; i < number; i++) line += strcspn(line, " ") + 1;
  snprintf(word, WORD, "%.*s", (int)strcspn(line, " "), line);
}

/* ---- an operation ---- */

/* What every rank has of every other: `each` values, the last of them at `shift` from its place. */
static grove_forest *make_forest(const place *p, int each, int shift)
{
  int n = p->size * each;
  grove_forest *f = NULL;
  grove_root *root = need((size_t)n * sizeof *root);
  for (int r = 0; r < p->size; r++)
    for (int k = 0; k < each; k++)
      root[r * each + k] = (grove_root){r, p->rank * each + (k + shift * (k == each - 1)) % each};
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, n, n, NULL, root));
  CHECK_OK(grove_forest_set_name(f, "all\nto all"));
  CHECK_OK(grove_forest_set_up(f));
  free(root);
  return f;
}

static const char *route_of(grove_op *op)
{
  grove_report report = {.struct_size = sizeof report};
  CHECK_OK(grove_op_report(op, &report));
  return report.route;
}

typedef struct run {
  int contest;
  char route[2][WORD]; /* of the first two starts */
  char last[WORD];
} run;

/* Makes a bcast and starts it so often. */
static run try_starts(const place *p, grove_forest *f, MPI_Datatype unit, int starts,
                      const double *microseconds)
{
  run out = {0};
  int64_t nroots = 0, nleaves = 0;
  CHECK_OK(grove_forest_graph(f, &nroots, &nleaves, NULL, NULL));
  double *from = need((size_t)nroots * 2 * sizeof *from),
         *to = need((size_t)nleaves * 2 * sizeof *to);
  grove_op *op = NULL;
  for (int64_t i = 0; i < 2 * nroots; i++) from[i] = p->rank;
  CHECK_OK(grove_bcast_init(f, unit, from, to, MPI_REPLACE, &op));
  fake.runs = microseconds != NULL;
  for (int start = 1; start <= starts; start++) {
    if (microseconds) set_clock(start, microseconds);
    CHECK_OK(grove_start(op));
    CHECK_OK(grove_wait(op));
    if (start <= 2) snprintf(out.route[start - 1], WORD, "%s", route_of(op));
  }
  fake.runs = 0;
  snprintf(out.last, sizeof out.last, "%s", route_of(op));
  out.contest = strcmp(out.route[0], out.route[1]) != 0;
  CHECK_OK(grove_op_free(&op));
  free(from);
  free(to);
  return out;
}

/* Without a contest, on this route; or with one. */
static void expect(const place *p, grove_forest *f, MPI_Datatype unit, const char *route)
{
  run r = try_starts(p, f, unit, 2, NULL);
  if (route)
    CHECK(!r.contest && strcmp(r.route[0], route) == 0, "starts on %s and %s, not on %s",
          r.route[0], r.route[1], route);
  else
    CHECK(r.contest, "both starts on %s", r.route[0]);
}

/* ---- what is kept, and for whom ---- */

static const double SLOW_FIRST[] = {30, 12.5}, FAST_FIRST[] = {12.5, 30};

static void check_entry(const place *p, const run *r, int winner)
{
  char line[LINE] = "", word[4][WORD];
  CHECK(read_entry(p, 0, line) == 1, "not one entry");
  for (int i = 0; i < 4; i++) word_of(line, 6 + i, word[i]);
  CHECK(strcmp(word[0], r->route[winner]) == 0 && strcmp(word[2], r->route[!winner]) == 0 &&
          strcmp(word[1], "12.50") == 0 && strcmp(word[3], "30.00") == 0,
        "'%s'", line);
  CHECK(strstr(line, " bcast 8 ") && strstr(line, " # forest 'all?to all'\n"), "'%s'", line);
}

static void kept_and_taken(const place *p, int winner)
{
  grove_forest *f = make_forest(p, 40, 0), *same = make_forest(p, 40, 0);
  grove_forest *other = make_forest(p, 40, 1);
  write_file(p, "");
  place_set(p, "effort", "measure");
  place_set(p, "wisdom", path);
  run r = try_starts(p, f, MPI_DOUBLE, DECISION + 1, winner ? SLOW_FIRST : FAST_FIRST);
  CHECK(r.contest && strcmp(r.last, r.route[winner]) == 0, "no contest, or %s wins", r.last);
  check_entry(p, &r, winner);
  expect(p, f, MPI_DOUBLE, r.route[winner]);
  expect(p, same, MPI_DOUBLE, r.route[winner]);
  expect(p, other, MPI_DOUBLE, NULL);
  expect(p, f, MPI_DOUBLE_COMPLEX, NULL);
  place_set(p, "p2p", "reposted");
  expect(p, f, MPI_DOUBLE, NULL);
  place_set(p, "p2p", "persistent");
  place_set(p, "effort", "estimate");
  expect(p, f, MPI_DOUBLE, r.route[winner]);
  expect(p, other, MPI_DOUBLE, r.route[0]); /* the model's favourite */
  place_set(p, "wisdom", "");
  expect(p, f, MPI_DOUBLE, r.route[0]);
  CHECK_OK(grove_forest_free(&f));
  CHECK_OK(grove_forest_free(&same));
  CHECK_OK(grove_forest_free(&other));
}

/* ---- what is ignored ---- */

/* Frees the place's context, and asserts that the summary says this. */
static void check_summary(place *p, const char *sentence)
{
  char text[CAPTURE_BYTES];
  place_set(p, "log", "summary");
  polite_barrier(p->comm);
  capture c = capture_begin();
  CHECK_OK(grove_context_free(&p->ctx));
  capture_end(&c, text);
  CHECK(p->rank > 0 || strstr(text, sentence), "'%s' is not in '%s'", sentence, text);
}

static void others_are_ignored(void)
{
  place p = place_create(split(0));
  char good[LINE] = "", line[LINE], text[5 * LINE] = "# a comment\n\n";
  CHECK(read_entry(&p, 0, good) == 1, "no entry is left");
  CHECK_OK(grove_context_set(p.ctx, "node_size", "2"));
  CHECK_OK(grove_context_set(p.ctx, "machine", "lassen"));
  static const char *const words[][2] = {{"0", "0.0"}, {"1", "cray-1"}, {"6", "scenic"}};
  strcat(text, good);
  strcat(text, "no entry\n");
  for (int i = 0; i < 3; i++) {
    strcpy(line, good);
    replace_word(line, atoi(words[i][0]), words[i][1]);
    strcat(text, line);
  }
  write_file(&p, text);
  place_set(&p, "wisdom", path);
  grove_forest *f = make_forest(&p, 40, 0);
  (void)try_starts(&p, f, MPI_DOUBLE, 1, NULL); /* the last one counts: nobody has such a route */
  strcpy(text, good);
  text[strlen(text) - 1] = '\0'; /* a line that was not ended */
  write_file(&p, text);
  (void)try_starts(&p, f, MPI_DOUBLE, 1, NULL);
  CHECK_OK(grove_forest_free(&f));
  char expected[256];
  snprintf(expected, sizeof expected,
           "wisdom '%s': 1 taken, 0 added; 1 ignored: it is of two routes", path);
  check_summary(&p, expected);
  place_free(&p);
}

static void others_are_counted(void)
{
  place p = place_create(split(0));
  char text[LINE];
  CHECK_OK(grove_context_set(p.ctx, "node_size", "2"));
  CHECK_OK(grove_context_set(p.ctx, "machine", "lassen"));
  snprintf(text, sizeof text,
           "0.0 m 4/2 bcast 8 0123456789abcdef split 1 standard 2\nno entry\n%s m "
           "4/2 bcast 8 0123456789abcdef split 1 standard 2\n0.1 n 4/2 bcast 8 xyz split 1 a 2\n",
           "0.1");
  write_file(&p, text);
  place_set(&p, "wisdom", path);
  grove_forest *f = make_forest(&p, 40, 0);
  (void)try_starts(&p, f, MPI_DOUBLE, 1, NULL);
  CHECK_OK(grove_forest_free(&f));
  check_summary(&p,
                "0 taken, 0 added; 1 is of another machine; 1 is of another version of Grove; 2 "
                "lines are no entries (line 2)\n");
  place_free(&p);
}

/* A line that was not ended is, before the next one. */
static void lines_are_ended(void)
{
  place p = place_create(split(0));
  char line[LINE] = "";
  CHECK_OK(grove_context_set(p.ctx, "node_size", "2"));
  CHECK_OK(grove_context_set(p.ctx, "machine", "lassen"));
  write_file(&p, "half a line");
  place_set(&p, "wisdom", path);
  place_set(&p, "effort", "measure");
  grove_forest *f = make_forest(&p, 40, 0);
  run r = try_starts(&p, f, MPI_DOUBLE, DECISION + 1, SLOW_FIRST);
  CHECK(read_entry(&p, 0, line) == 2 && strcmp(line, "half a line\n") == 0, "'%s'", line);
  expect(&p, f, MPI_DOUBLE, r.route[1]);
  CHECK_OK(grove_forest_free(&f));
  place_free(&p);
}

/* ---- files that are no good ---- */

static void refused(const place *p, const char *effort, const char *file, const char *sentence)
{
  grove_forest *f = make_forest(p, 40, 0);
  double *values = need((size_t)p->size * 80 * sizeof *values);
  grove_op *op = NULL;
  place_set(p, "effort", effort);
  place_set(p, "wisdom", file);
  CHECK(grove_bcast_init(f, MPI_DOUBLE, values, values + p->size * 40, MPI_REPLACE, &op) ==
            GROVE_ERR_OPTION &&
          !op,
        "accepted");
  CHECK(strstr(grove_last_error(), sentence) && strstr(grove_last_error(), "rank 0: option wisdom"),
        "'%s'", grove_last_error());
  place_set(p, "wisdom", "");
  CHECK_OK(grove_forest_free(&f));
  free(values);
}

static void files_are_refused(const place *p)
{
  char missing[sizeof path + 16];
  snprintf(missing, sizeof missing, "%s/no/file", folder);
  refused(p, "estimate", missing, "cannot be read: No such file or directory");
  refused(p, "measure", missing, "cannot be written: No such file or directory");
  refused(p, "measure", folder, "cannot be written: Is a directory");
  refused(p, "estimate", folder, "cannot be read: Is a directory");
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/wisdom");
  place p = place_create(split(0));
  make_folder(&p);
  CHECK_OK(grove_context_set(p.ctx, "node_size", "2"));
  CHECK_OK(grove_context_set(p.ctx, "machine", "lassen"));
  for (int winner = 0; winner < 2; winner++) {
    test_case(winner);
    kept_and_taken(&p, winner);
  }
  files_are_refused(&p);
  others_are_ignored();
  others_are_counted();
  lines_are_ended();
  polite_barrier(p.comm);
  if (p.rank == 0) CHECK(unlink(path) == 0 && rmdir(folder) == 0, "%s is not empty", folder);
  place_free(&p);
  return test_end();
}
