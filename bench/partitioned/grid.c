/* The reader of grids. */
#include "part_case.h"

#include "kit/flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "64Ki" and the like; 0: invalid. */
static int64_t read_bytes(const char *word)
{
  char *end;
  int64_t n = strtoll(word, &end, 10);
  if (strcmp(end, "Ki") == 0) return n << 10;
  if (strcmp(end, "Mi") == 0) return n << 20;
  return *end == '\0' && n > 0 ? n : 0;
}

/* "4,32" as numbers; returns how many, or 0. */
static int read_list(char *text, int64_t *out)
{
  int n = 0;
  char *rest = text;
  for (char *word; (word = strtok_r(n ? NULL : text, ",", &rest)); n++)
    if (n == BENCH_LISTED || (out[n] = read_bytes(word)) == 0) return 0;
  return n;
}

/* "single:0.004:0.001": kind, amount, computing. */
static int read_noise(const char *word, bench_noise *out)
{
  sscanf(word, "%11[^:]:%lf:%lf", out->kind, &out->amount, &out->compute);
  return bench_noise_is_known(out->kind);
}

/* 0: invalid. */
static int read_threads(const char *word)
{
  if (strcmp(word, "cores") == 0) return BENCH_OF_CORES;
  if (strcmp(word, "parts") == 0) return BENCH_OF_PARTS;
  return (int)read_bytes(word);
}

/* Every number of messages that gives another group size: what a search would try. `more`: options
 * of Grove, or "". 0: there is no room for all. */
static int add_search(bench_part_line *line, const char *more)
{
  int parts = line->parts[0], before = 0;
  for (int n = 1; n <= parts; n++) {
    int largest = (parts + n - 1) / n;
    if (largest == before) continue;
    before = largest;
    if (line->nmethods == BENCH_ENTRANTS) return 0;
    snprintf(line->methods[line->nmethods++], BENCH_NAME, "none:max_messages=%d%s%.30s", n,
             *more ? "," : "", more);
  }
  return 1;
}

/* Returns what is wrong, or NULL. */
static const char *read_methods(char *rest, bench_part_line *line)
{
  int fits = 1;
  for (char *word; (word = strtok_r(NULL, " \t\n", &rest));) {
    fits &= line->nmethods < BENCH_ENTRANTS;
    if (!fits) return "too many methods";
    if (strcmp(word, "search") == 0)
      fits = add_search(line, "");
    else if (strncmp(word, "search:", 7) == 0)
      fits = add_search(line, word + 7);
    else
      snprintf(line->methods[line->nmethods++], BENCH_NAME, "%s", word);
  }
  if (!fits) return "too many methods";
  return line->nmethods ? NULL : "no method";
}

/* All parts of all sizes; of a forest, rows. */
static int is_of_words(const bench_part_line *line)
{
  for (int i = 0; i < line->nparts * line->nbytes; i++) {
    int parts = line->mode->is_forest ? 1 : line->parts[i % line->nparts];
    if (line->bytes[i / line->nparts] % (8 * parts) != 0) return 0;
  }
  return 1;
}

/* One line without its comment. Returns what is wrong, or NULL. */
static const char *read_line(char *text, void *out)
{
  enum { COLUMNS = 6 };
  char *word[COLUMNS], *rest = text;
  int64_t parts[BENCH_LISTED];
  bench_part_line line = {.nmethods = 0};
  for (int i = 0; i < COLUMNS; i++)
    if (!(word[i] = strtok_r(i ? NULL : text, " \t\n", &rest))) return "a column is missing";
  snprintf(line.name, sizeof line.name, "%s", word[0]);
  if (!(line.mode = bench_part_mode_find(word[1]))) return word[1];
  if ((line.nparts = read_list(word[2], parts)) == 0) return word[2];
  for (int i = 0; i < line.nparts; i++) line.parts[i] = (int)parts[i];
  if ((line.nbytes = read_list(word[3], line.bytes)) == 0) return word[3];
  if ((line.threads = read_threads(word[4])) == 0) return word[4];
  if (!read_noise(word[5], &line.noise)) return word[5];
  if (!is_of_words(&line)) return "the parts of some size are not of whole 8 bytes";
  const char *wrong = read_methods(rest, &line);
  *(bench_part_line *)out = line;
  return wrong;
}

int bench_part_grid_read(const char *path, bench_part_line **out)
{
  void *lines = NULL;
  int n = bench_read_cases(path, sizeof **out, read_line, &lines);
  *out = lines;
  return n;
}
