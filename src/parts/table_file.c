#include "parts/table_file.h"

#include "base/number.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 5, LINE_BYTES = 1000 };

/* A line of the file, cut into words. */
typedef struct reader {
  const char *name;
  int line, n;
  int column[COLUMNS + 1];
  char *word[COLUMNS + 1];
} reader;

static grove_status complain_about(const reader *r, int column, const char *word, const char *why)
{
  char sentence[GROVE_SENTENCE_BYTES];
  snprintf(sentence, sizeof sentence, "%.300s, line %d, column %d: %s%.40s%s%s", r->name, r->line,
           column, *word ? "'" : "", word, *word ? "' " : "", why);
  return grove_error_set(GROVE_ERR_ARG, sentence); /* it already has the place that counts */
}

/* Cuts a line, changing it. One word more than there are columns is an error. */
static void cut_words(reader *r, char *line)
{
  r->n = 0;
  for (char *at = line; r->n <= COLUMNS;) {
    at += strspn(at, " \t\r\n");
    if (!*at) return;
    r->column[r->n] = (int)(at - line) + 1;
    r->word[r->n++] = at;
    at += strcspn(at, " \t\r\n");
    if (*at) *at++ = '\0';
  }
}

static grove_status read_integer(const reader *r, int i, int64_t least, int64_t most,
                                 const char *why, int64_t *out)
{
  char *end = NULL;
  errno = 0;
  long long number = strtoll(r->word[i], &end, 10);
  if (strspn(r->word[i], "0123456789") != strlen(r->word[i]) || errno || number < least ||
      number > most)
    return complain_about(r, r->column[i], r->word[i], why);
  *out = number;
  return GROVE_OK;
}

/* '-' where seconds are not told, and endpoints are. */
static grove_status read_seconds(const reader *r, int i, double *out)
{
  if (r->n > i + 1 && strcmp(r->word[i], "-") == 0) return GROVE_OK;
  const char *why = grove_number_read(r->word[i], out);
  if (why || isinf(*out))
    return complain_about(r, r->column[i], r->word[i], why ? why : "is no number of seconds");
  return GROVE_OK;
}

static grove_status read_entry(const reader *r, grove_part_entry *out)
{
  grove_part_entry e = {.seconds = NAN};
  if (r->n < 3 || r->n > COLUMNS)
    return complain_about(r, r->n > COLUMNS ? r->column[COLUMNS] : 1, "",
                          "a line has three to five numbers: parts, bytes, messages, seconds and "
                          "endpoints");
  GROVE_PASS(read_integer(r, 0, 1, INT32_MAX, "is no number of parts, from 1 on", &e.parts));
  GROVE_PASS(read_integer(r, 1, 0, INT64_MAX, "is no number of bytes", &e.bytes));
  GROVE_PASS(read_integer(r, 2, 1, e.parts, "is no number of messages, from 1 to that of the parts",
                          &e.messages));
  if (r->n > 3) GROVE_PASS(read_seconds(r, 3, &e.seconds));
  if (r->n > 4)
    GROVE_PASS(read_integer(r, 4, 1, GROVE_PART_MOST_ENDPOINTS,
                            "is no number of endpoints, from 1 to 16", &e.endpoints));
  *out = e;
  return GROVE_OK;
}

grove_status grove_part_table_add(grove_part_table *table, grove_part_entry entry)
{
  GROVE_PASS_GROW(table->entries, table->n, 1);
  table->entries[table->n++] = entry;
  return GROVE_OK;
}

static grove_status read_table_line(reader *r, char *line, grove_part_table *table)
{
  grove_part_entry entry = {0};
  size_t length = strlen(line);
  r->line++;
  if (length == 0 || line[length - 1] != '\n')
    return complain_about(r, (int)length + 1, "",
                          length > LINE_BYTES
                            ? "the line is too long for a table"
                            : "the line does not end: the file was cut off here, or "
                              "the last line lacks its newline");
  cut_words(r, line);
  if (r->n == 0 || *r->word[0] == '#') return GROVE_OK;
  grove_status status = read_entry(r, &entry);
  return status == GROVE_OK ? grove_part_table_add(table, entry) : status;
}

grove_status grove_part_table_read(FILE *file, const char *name, grove_part_table *out)
{
  grove_status status = GROVE_OK;
  grove_part_table table = {0};
  reader r = {.name = name};
  char line[LINE_BYTES + 2];
  while (fgets(line, sizeof line, file)) GROVE_TRY(read_table_line(&r, line, &table));
  GROVE_CHECK(!ferror(file), GROVE_ERR_SYSTEM, "%.300s cannot be read: %s", name, strerror(errno));
  *out = table;
  return GROVE_OK;
fail:
  grove_part_table_free(&table);
  return status;
}

grove_status grove_part_table_open(const char *path, grove_part_table *out)
{
  FILE *file = fopen(path, "r");
  GROVE_PASS_CHECK(file, GROVE_ERR_SYSTEM, "%.300s cannot be opened: %s", path, strerror(errno));
  grove_status status = grove_part_table_read(file, path, out);
  fclose(file);
  return status;
}

int grove_part_table_has_endpoints(const grove_part_table *table)
{
  int64_t i = 0;
  while (i < table->n && table->entries[i].endpoints == 0) i++;
  return i < table->n;
}

static void print_entry(const grove_part_entry *e, FILE *file)
{
  char seconds[GROVE_NUMBER_BYTES] = "-";
  if (!isnan(e->seconds)) grove_number_print(e->seconds, seconds);
  fprintf(file, "%8lld %12lld %9lld", (long long)e->parts, (long long)e->bytes,
          (long long)e->messages);
  if (e->endpoints > 0)
    fprintf(file, " %12s %9lld", seconds, (long long)e->endpoints);
  else if (!isnan(e->seconds))
    fprintf(file, " %s", seconds);
  fprintf(file, "\n");
}

grove_status grove_part_table_print(const grove_part_table *table, const char *about, FILE *file)
{
  if (*about) fprintf(file, "# %.*s\n", (int)strcspn(about, "\n"), about);
  fprintf(file, "# %6s %12s %9s %12s%s\n", "parts", "bytes", "messages", "seconds",
          grove_part_table_has_endpoints(table) ? " endpoints" : "");
  for (int64_t i = 0; i < table->n; i++) print_entry(&table->entries[i], file);
  GROVE_PASS_CHECK(fflush(file) == 0 && !ferror(file), GROVE_ERR_SYSTEM,
                   "the table could not be written: %s", strerror(errno));
  return GROVE_OK;
}

void grove_part_table_free(grove_part_table *table)
{
  free(table->entries);
  *table = (grove_part_table){0};
}

/* Zero bytes count as one. */
static double ratio_of(int64_t a, int64_t b)
{
  return log2((double)(a > 0 ? a : 1)) - log2((double)(b > 0 ? b : 1));
}

const grove_part_entry *grove_part_table_nearest(const grove_part_table *table, int64_t parts,
                                                 int64_t bytes)
{
  const grove_part_entry *nearest = NULL;
  double least = INFINITY;
  for (int64_t i = 0; i < table->n; i++) {
    const grove_part_entry *e = &table->entries[i];
    double far = hypot(ratio_of(e->parts, parts), ratio_of(e->bytes, bytes));
    if (far > least) continue;
    least = far;
    nearest = e;
  }
  return nearest;
}
