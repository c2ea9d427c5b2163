#include "matrix_market.h"

#include "lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum field { PATTERN, REAL, INTEGER } field;
typedef enum symmetry { GENERAL, SYMMETRIC, SKEW } symmetry;

enum { WORD = 40 };

typedef struct reader {
  const matrix_market_how *how;
  lines text;
  field field;
  symmetry symmetry;
  int keep_values;
  int64_t promised, promised_at; /* entries, and the line that promises them */
  int64_t entries;               /* read so far */
  int64_t room;
  int64_t reported; /* bytes reported to the caller */
  matrix_market m;
} reader;

/* ---- significant lines ---- */

static void report(reader *r)
{
  if (!r->how->progress || r->reported == r->text.done) return;
  r->reported = r->text.done;
  r->how->progress(r->how->user, r->text.done, r->text.all);
}

/* 1: a line; 0: the end; -1: a failure, recorded. */
static int next_line(reader *r, cursor *c)
{
  int got = lines_next(&r->text, c);
  report(r);
  return got;
}

/* The same, skipping comments and blank lines. */
static int next_data(reader *r, cursor *c)
{
  for (;;) {
    int got = next_line(r, c);
    if (got <= 0) return got;
    if (c->at < c->end && *c->at == '%') continue;
    if (!at_end(c)) return 1;
  }
}

/* ---- the first line ---- */

static int read_format(reader *r, const char *object, const char *format)
{
  if (strcmp(object, "matrix") != 0)
    return lines_fail(&r->text, "'matrix' is expected as the second word, and not '%s'", object);
  if (strcmp(format, "array") == 0)
    return lines_fail(&r->text,
                      "this is a dense matrix ('array'); sparse ones ('coordinate') are read");
  if (strcmp(format, "coordinate") != 0)
    return lines_fail(&r->text, "'coordinate' is expected as the third word, and not '%s'", format);
  return 0;
}

static int read_field(reader *r, const char *word)
{
  if (strcmp(word, "complex") == 0)
    return lines_fail(&r->text, "this matrix is complex; real, integer and pattern ones are read");
  if (strcmp(word, "pattern") == 0)
    r->field = PATTERN;
  else if (strcmp(word, "real") == 0 || strcmp(word, "double") == 0)
    r->field = REAL;
  else if (strcmp(word, "integer") == 0)
    r->field = INTEGER;
  else
    return lines_fail(&r->text,
                      "'real', 'integer' or 'pattern' is expected as the fourth word, and not '%s'",
                      word);
  return 0;
}

static int read_symmetry(reader *r, const char *word)
{
  if (strcmp(word, "hermitian") == 0)
    return lines_fail(
      &r->text, "this matrix is hermitian; general, symmetric and skew-symmetric ones are read");
  if (strcmp(word, "general") == 0)
    r->symmetry = GENERAL;
  else if (strcmp(word, "symmetric") == 0)
    r->symmetry = SYMMETRIC;
  else if (strcmp(word, "skew-symmetric") == 0)
    r->symmetry = SKEW;
  else
    return lines_fail(
      &r->text,
      "'general', 'symmetric' or 'skew-symmetric' is expected as the fifth word, and "
      "not '%s'",
      word);
  return 0;
}

static int read_banner(reader *r)
{
  char word[5][WORD] = {""};
  cursor c;
  int got = next_line(r, &c);
  if (got < 0) return 1;
  if (got == 0) return lines_fail(&r->text, "is empty, and not a Matrix Market file");
  for (int i = 0; i < 5; i++) cursor_word(&c, word[i], WORD);
  if (strcmp(word[0], "%%matrixmarket") != 0)
    return lines_fail(&r->text,
                      "this is not a Matrix Market file: it does not begin with %%%%MatrixMarket");
  if (read_format(r, word[1], word[2]) || read_field(r, word[3]) || read_symmetry(r, word[4]))
    return 1;
  if (lines_expect_end(&r->text, &c)) return 1;
  r->keep_values = r->field != PATTERN && !r->how->pattern_only;
  return 0;
}

/* ---- the sizes ---- */

static int read_sizes(reader *r)
{
  static const char *const what[] = {"the number of rows", "the number of columns",
                                     "the number of entries"};
  int64_t size[3];
  cursor c;
  int got = next_data(r, &c);
  if (got < 0) return 1;
  if (got == 0)
    return lines_fail(&r->text, "the file ends before the line of rows, columns and entries");
  for (int i = 0; i < 3; i++)
    if (cursor_count(&c, &size[i])) return lines_fail_expected(&r->text, &c, what[i]);
  if (lines_expect_end(&r->text, &c)) return 1;
  if (r->symmetry != GENERAL && size[0] != size[1])
    return lines_fail(&r->text,
                      "a symmetric matrix is square, and this one has %lld rows and %lld columns",
                      (long long)size[0], (long long)size[1]);
  r->m.rows = size[0];
  r->m.cols = size[1];
  r->promised = size[2];
  r->promised_at = r->text.number;
  return 0;
}

/* ---- the entries ---- */

static int grow(reader *r)
{
  int64_t room = r->room > 0 ? 2 * r->room : 1024;
  int64_t *row = lines_grow(&r->text, r->m.row, room, sizeof *row);
  if (row) r->m.row = row;
  int64_t *col = row ? lines_grow(&r->text, r->m.col, room, sizeof *col) : NULL;
  if (col) r->m.col = col;
  double *value =
    col && r->keep_values ? lines_grow(&r->text, r->m.value, room, sizeof *value) : NULL;
  if (value) r->m.value = value;
  if (!col || (r->keep_values && !value)) return 1;
  r->room = room;
  return 0;
}

static void add(reader *r, int64_t row, int64_t col, double value)
{
  r->m.row[r->m.count] = row;
  r->m.col[r->m.count] = col;
  if (r->keep_values) r->m.value[r->m.count] = value;
  r->m.count++;
}

/* A row or a column; `out` counts from 0. */
static int read_place(reader *r, cursor *c, const char *what, int64_t most, int64_t *out)
{
  cursor before = *c;
  if (cursor_count(c, out) || *out < 1 || *out > most) {
    char range[64];
    snprintf(range, sizeof range, "a %s from 1 to %lld", what, (long long)most);
    return lines_fail_expected(&r->text, &before, range);
  }
  --*out;
  return 0;
}

static int read_entry(reader *r, cursor *c)
{
  int64_t row, col;
  double value = 0;
  if (read_place(r, c, "row", r->m.rows, &row) || read_place(r, c, "column", r->m.cols, &col))
    return 1;
  if (r->field == REAL && cursor_real(c, &value))
    return lines_fail_expected(&r->text, c, "a real number");
  if (r->field == INTEGER && cursor_integer(c, &value))
    return lines_fail_expected(&r->text, c, "a whole number");
  if (lines_expect_end(&r->text, c)) return 1;
  if (r->symmetry == SKEW && row == col)
    return lines_fail(
      &r->text, "entry (%lld, %lld) is on the diagonal, where a skew-symmetric matrix has none",
      (long long)row + 1, (long long)col + 1);
  if (r->m.count + 2 > r->room && grow(r)) return 1;
  add(r, row, col, value);
  if (r->symmetry != GENERAL && row != col) add(r, col, row, r->symmetry == SKEW ? -value : value);
  r->entries++;
  return 0;
}

static int read_entries(reader *r)
{
  cursor c;
  for (;;) {
    int got = next_data(r, &c);
    if (got < 0) return 1;
    if (got == 0) break;
    if (r->entries == r->promised)
      return lines_fail(&r->text, "there are more entries than the %lld that line %lld promises",
                        (long long)r->promised, (long long)r->promised_at);
    if (read_entry(r, &c)) return 1;
  }
  if (r->entries < r->promised)
    return lines_fail(&r->text, "the file ends after %lld entries, and line %lld promises %lld",
                      (long long)r->entries, (long long)r->promised_at, (long long)r->promised);
  return 0;
}

/* ---- the whole file ---- */

/* `grow` comes first: an empty list is still a list. */
static int read_all(reader *r)
{
  return read_banner(r) || read_sizes(r) || grow(r) || read_entries(r);
}

/* From memory, or from the file of that name. */
static int read_source(const char *name, const void *memory, size_t length,
                       const matrix_market_how *how, matrix_market *out, read_error *error)
{
  static const matrix_market_how plainly = {0};
  reader r = {.how = how ? how : &plainly};
  plain_numbers numbers = plain_numbers_begin();
  int failed = lines_open(&r.text, name, memory, length, error) || read_all(&r);
  lines_close(&r.text);
  plain_numbers_end(&numbers);
  if (failed) matrix_market_free(&r.m);
  *out = r.m;
  return failed;
}

int matrix_market_read(const char *path, const matrix_market_how *how, matrix_market *out,
                       matrix_market_error *error)
{
  return read_source(path, NULL, 0, how, out, error);
}

int matrix_market_read_memory(const void *bytes, size_t length, const char *name,
                              const matrix_market_how *how, matrix_market *out,
                              matrix_market_error *error)
{
  return read_source(name, bytes ? bytes : "", length, how, out, error);
}

void matrix_market_free(matrix_market *m)
{
  free(m->row);
  free(m->col);
  free(m->value);
  *m = (matrix_market){0};
}
