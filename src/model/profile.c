/* Profiles as text: one row per line, blanks between columns; '#' begins a line of comment. Rows of
 * text begin with the words name, about and status; all others are
 *
 *     term  memory  locality  range  value  unit  source, to the end of the line
 *
 * `end N` is the last line written, and N the number of rows. A file that was cut off, even between
 * two lines, lacks it. Rows may be added later, before it or behind it, but there must be no fewer
 * than N. docs/machines.md has every term.
 */
#include "base/number.h"
#include "model/digest.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 4000 };

const char *const grove_standing_names[] = {"complete", "assumed", "incomplete"};

typedef struct reader {
  const char *file;
  const char *at, *end;           /* what has not been read */
  int line;                       /* that was read last; from 1 */
  int rows;                       /* but `end` */
  int named, told, stands, ended; /* name, about, status and end have been read */
  int64_t promised;               /* rows, according to `end` */
  int end_line, end_column;
  grove_machine *m;
} reader;

/* A line, cut into words; the last word holds the rest. */
typedef struct words {
  int n;
  int column[GROVE_COLUMNS]; /* where each begins; from 1 */
  char *word[GROVE_COLUMNS];
  int length; /* of the line */
} words;

static grove_status complain_of(const reader *r, int column, const char *format, ...)
#if defined(__GNUC__)
  __attribute__((format(printf, 3, 4)))
#endif
  ;

static grove_status complain_of(const reader *r, int column, const char *format, ...)
{
  char why[500], sentence[GROVE_SENTENCE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  snprintf(sentence, sizeof sentence, "%.300s, line %d, column %d: %s", r->file, r->line, column,
           why);
  return grove_error_set(GROVE_ERR_ARG, sentence); /* it already has the place that counts */
}

/* ---- lines and words ---- */

static int is_blank(char c)
{
  return c == ' ' || c == '\t';
}

/* Copies the next line into `out`, without its end. */
static grove_status next_line(reader *r, char out[LINE_BYTES + 1])
{
  const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
  const char *stop = newline ? newline : r->end;
  size_t length = (size_t)(stop - r->at);
  r->line++;
  if (length > LINE_BYTES)
    return complain_of(r, LINE_BYTES + 1, "the line has %zu bytes, and %d are allowed", length,
                       LINE_BYTES);
  if (length > 0 && stop[-1] == '\r') length--; /* as some editors end a line */
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)r->at[i];
    if ((c < ' ' && c != '\t') || c == 127)
      return complain_of(r, (int)i + 1, "byte %d is no text: this is not a profile", c);
  }
  if (!newline)
    return complain_of(r, (int)length + 1,
                       "the line does not end: the file was cut off here, or the "
                       "last line lacks its newline");
  memcpy(out, r->at, length);
  out[length] = '\0';
  r->at = newline + 1;
  return GROVE_OK;
}

/* Cuts the line, changing it, into at most `most` words. */
static words cut_line(char *line, int most)
{
  words w = {.length = (int)strlen(line)};
  while (w.length > 0 && is_blank(line[w.length - 1])) line[--w.length] = '\0';
  for (char *at = line; w.n < most; w.n++) {
    while (is_blank(*at)) at++;
    if (!*at) break;
    w.column[w.n] = (int)(at - line) + 1;
    w.word[w.n] = at;
    if (w.n == most - 1) continue;
    while (*at && !is_blank(*at)) at++;
    if (*at) *at++ = '\0';
  }
  return w;
}

/* ---- rows ---- */

static grove_status read_row(reader *r, char *line)
{
  double value = 0;
  words w = cut_line(line, GROVE_COLUMNS);
  if (w.n < GROVE_COLUMNS)
    return complain_of(r, w.length + 1,
                       "the row has %d columns of 7: term memory locality range value unit source",
                       w.n);
  for (int i = 0; i < GROVE_COLUMN_SOURCE; i++)
    if (strlen(w.word[i]) > GROVE_WORD_BYTES)
      return complain_of(r, w.column[i], "the word has more than %d bytes", GROVE_WORD_BYTES);
  if (strlen(w.word[GROVE_COLUMN_SOURCE]) > GROVE_TEXT_BYTES)
    return complain_of(r, w.column[GROVE_COLUMN_SOURCE], "the source has more than %d bytes",
                       GROVE_TEXT_BYTES);
  const char *why = grove_number_read(w.word[GROVE_COLUMN_VALUE], &value);
  if (why)
    return complain_of(r, w.column[GROVE_COLUMN_VALUE], "'%.40s' %s", w.word[GROVE_COLUMN_VALUE],
                       why);
  grove_status status = grove_machine_add(
    r->m, w.word[GROVE_COLUMN_TERM], w.word[GROVE_COLUMN_MEMORY], w.word[GROVE_COLUMN_LOCALITY],
    w.word[GROVE_COLUMN_RANGE], value, w.word[GROVE_COLUMN_UNIT], w.word[GROVE_COLUMN_SOURCE]);
  if (status == GROVE_OK) r->m->rows[r->m->nrows - 1].line = r->line;
  return status;
}

static grove_status keep_text(reader *r, const words *w, int *before, char **out)
{
  if ((*before)++) return complain_of(r, w->column[0], "the same row twice: %s", w->word[0]);
  if (w->n < 2) return complain_of(r, w->length + 1, "the text is missing");
  if (strlen(w->word[1]) > GROVE_TEXT_BYTES)
    return complain_of(r, w->column[1], "the text has more than %d bytes", GROVE_TEXT_BYTES);
  char *copy = strdup(w->word[1]);
  if (!copy) return grove_error(GROVE_ERR_MEMORY, __FILE__, __LINE__, "no memory for a text");
  free(*out);
  *out = copy;
  return GROVE_OK;
}

static grove_status read_standing(reader *r, const words *w)
{
  if (r->stands++) return complain_of(r, w->column[0], "the same row twice: status");
  for (int i = 0; w->n == 2 && i <= GROVE_INCOMPLETE; i++)
    if (strcmp(w->word[1], grove_standing_names[i]) == 0) {
      r->m->standing = (grove_standing)i;
      return GROVE_OK;
    }
  return complain_of(r, w->n == 2 ? w->column[1] : w->length + 1,
                     "the status must be complete, assumed or incomplete");
}

static grove_status read_last_line(reader *r, const words *w)
{
  double rows = 0;
  if (r->ended++) return complain_of(r, w->column[0], "the same row twice: end");
  if (w->n < 2 || strlen(w->word[1]) > 9 ||
      strspn(w->word[1], "0123456789") != strlen(w->word[1]) ||
      grove_number_read(w->word[1], &rows))
    return complain_of(r, w->n == 2 ? w->column[1] : w->length + 1,
                       "behind 'end' stands the number of rows, and there are %d before it",
                       r->rows);
  r->promised = (int64_t)rows;
  r->end_line = r->line;
  r->end_column = w->column[1];
  return GROVE_OK;
}

/* Rows may have been added by hand; none may be missing. */
static grove_status check_end(reader *r)
{
  if (!r->ended) {
    r->line++;
    return complain_of(r, 1, "no row 'end %d': the file was cut off, or lacks it", r->rows);
  }
  int64_t missing = r->promised - r->rows;
  if (missing <= 0) return GROVE_OK;
  r->line = r->end_line;
  return complain_of(
    r, r->end_column, "%lld row%s missing: there are %d of %lld. If that is meant, write 'end %d'",
    (long long)missing, missing > 1 ? "s are" : " is", r->rows, (long long)r->promised, r->rows);
}

static int is_keyword(const char *word, const char *line)
{
  size_t length = strlen(word);
  return strncmp(word, line, length) == 0 && (line[length] == '\0' || is_blank(line[length]));
}

static grove_status read_profile_line(reader *r, char *line)
{
  const char *first = line;
  while (is_blank(*first)) first++;
  if (!*first || *first == '#') return GROVE_OK;
  grove_status status = GROVE_OK;
  int name = is_keyword("name", first), about = is_keyword("about", first),
      stands = is_keyword("status", first);
  int end = is_keyword("end", first);
  if (name || about || stands || end) {
    words w = cut_line(line, 2);
    if (name)
      status = keep_text(r, &w, &r->named, &r->m->name);
    else if (about)
      status = keep_text(r, &w, &r->told, &r->m->about);
    else if (stands)
      status = read_standing(r, &w);
    else
      status = read_last_line(r, &w);
  } else {
    status = read_row(r, line);
  }
  r->rows += !end;
  return status;
}

/* Adds the place in the text to what is wrong with a row. */
static grove_status complain_of_row(reader *r, const char *text, const grove_fault *fault)
{
  char line[LINE_BYTES + 1];
  r->at = text;
  r->line = 0;
  do {
    grove_status status = next_line(r, line);
    if (status != GROVE_OK) return status;
  } while (r->line < r->m->rows[fault->row].line);
  words w = cut_line(line, GROVE_COLUMNS);
  return complain_of(r, w.column[fault->column], "%s", fault->why);
}

static grove_status read_all(reader *r, const char *text)
{
  char line[LINE_BYTES + 1];
  grove_status status = GROVE_OK;
  while (status == GROVE_OK && r->at < r->end) {
    status = next_line(r, line);
    if (status == GROVE_OK) status = read_profile_line(r, line);
  }
  if (status == GROVE_OK) status = check_end(r);
  if (status != GROVE_OK) return status;
  if (!r->named) return complain_of(r, 1, "no row 'name' says what the machine is called");
  grove_fault fault = {0};
  status = grove_digest(r->m, &fault);
  return status == GROVE_ERR_ARG ? complain_of_row(r, text, &fault) : status;
}

grove_status grove_profile_read(const char *text, size_t length, const char *file,
                                grove_machine **out)
{
  reader r = {.file = file, .at = text, .end = text + length};
  grove_status status = grove_machine_create("", &r.m);
  if (status == GROVE_OK) status = read_all(&r, text);
  if (status == GROVE_OK)
    *out = r.m;
  else
    grove_machine_free(&r.m);
  return status;
}

/* ---- writing ---- */

grove_status grove_profile_print(const grove_machine *m, FILE *file)
{
  int rows = 2;
  GROVE_PASS_CHECK(*m->name && grove_text_fits(m->name), GROVE_ERR_ARG,
                   "the name of a machine must be one line of text");
  GROVE_PASS_CHECK(grove_text_fits(m->about), GROVE_ERR_ARG,
                   "what is said about machine '%.100s' must be one line of text", m->name);
  fprintf(file, "name %s\n", m->name);
  if (*m->about) rows += fprintf(file, "about %s\n", m->about) > 0;
  fprintf(file, "status %s\n\n", grove_standing_names[m->standing]);
  fprintf(file, "# %-10s %-9s %-9s %-10s %12s %-4s %s\n", "term", "memory", "locality", "range",
          "value", "unit", "source");
  for (int i = 0; i < m->nrows; i++) {
    const grove_row *row = &m->rows[i];
    char number[GROVE_NUMBER_BYTES];
    grove_number_print(row->value, number);
    fprintf(file, "%-12s %-9s %-9s %-10s %12s %-4s %s\n", row->term, row->memory, row->locality,
            row->range, number, row->unit, row->source);
  }
  fprintf(file, "end %d\n", rows + m->nrows);
  GROVE_PASS_CHECK(fflush(file) == 0 && !ferror(file), GROVE_ERR_SYSTEM,
                   "machine '%.100s' could not be written", m->name);
  return GROVE_OK;
}
