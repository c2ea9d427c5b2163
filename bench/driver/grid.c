#include "driver/grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The place of a word in a list that ends with NULL, or -1. */
static int find_word(const char *word, const char *const *list)
{
  for (int i = 0; list[i]; i++)
    if (strcmp(word, list[i]) == 0) return i;
  return -1;
}

static const char *const patterns[] = {"pair", "random", "ghost", NULL};
static const char *const shapes[] = {"contiguous", "face", "scattered", "runs", NULL};
static const char *const operations[] = {"bcast", "reduce", NULL};
static const char *const memories[] = {"malloc", "grove_alloc", NULL};
static const char *const measures[] = {"exchange", "setup", "init", "memory", "growth", NULL};

/* Returns the word that it does not understand, or NULL. */
static const char *read_comparison(char *word, bench_comparison *out)
{
  char target[16] = "";
  if (sscanf(word, "%31[^/]/%31[^:]:%15s", out->method, out->peer, target) != 3) return word;
  char *end = target;
  out->target = strcmp(target, "-") == 0 ? 0 : strtod(target, &end);
  return strcmp(target, "-") == 0 || (*end == '\0' && out->target > 0) ? NULL : word;
}

/* One line, already without comment. Returns what is wrong, or NULL. */
static const char *read_line(char *line, bench_spec *out)
{
  enum { COLUMNS = 9 };
  char *word[COLUMNS], *rest = line;
  bench_spec s = {.ncomparisons = 0};
  for (int i = 0; i < COLUMNS; i++)
    if (!(word[i] = strtok_r(i == 0 ? line : NULL, " \t\n", &rest))) return "a column is missing";
  int pattern = find_word(word[1], patterns), shape = find_word(word[2], shapes);
  int operation = find_word(word[3], operations), memory = find_word(word[7], memories);
  int measure = find_word(word[8], measures);
  if (pattern < 0) return word[1];
  if (shape < 0) return word[2];
  if (operation < 0) return word[3];
  if (!(s.type = bench_type_find(word[4]))) return word[4];
  if ((s.size = strtoll(word[5], NULL, 10)) <= 0) return word[5];
  if ((s.buffers = atoi(word[6])) <= 0) return word[6];
  if (memory < 0) return word[7];
  if (measure < 0) return word[8];
  snprintf(s.name, sizeof s.name, "%s", word[0]);
  s.pattern = (bench_pattern)pattern;
  s.shape = (bench_shape)shape;
  s.measure = (bench_measure)measure;
  s.reduce = operation;
  s.alloc = memory;
  for (char *w; (w = strtok_r(NULL, " \t\n", &rest));) {
    if (s.ncomparisons == BENCH_COMPARISONS) return "too many comparisons";
    const char *wrong = read_comparison(w, &s.comparisons[s.ncomparisons++]);
    if (wrong) return wrong;
  }
  *out = s;
  return s.ncomparisons ? NULL : "no comparison";
}

int bench_grid_read(const char *path, bench_spec **out)
{
  FILE *file = fopen(path, "r");
  if (!file) {
    fprintf(stderr, "bench: cannot read %s\n", path);
    return -1;
  }
  char line[1024];
  int n = 0, number = 0;
  bench_spec *list = NULL;
  const char *wrong = NULL;
  while (!wrong && fgets(line, sizeof line, file)) {
    number++;
    line[strcspn(line, "#")] = '\0';
    if (strspn(line, " \t\r\n") == strlen(line)) continue;
    bench_spec *more = realloc(list, (size_t)(n + 1) * sizeof *list);
    wrong = more ? read_line(line, &more[n]) : "no memory";
    if (more) list = more;
    n++;
  }
  if (wrong) fprintf(stderr, "bench: %s:%d: %s\n", path, number, wrong);
  fclose(file);
  if (wrong) free(list);
  if (!wrong) *out = list;
  return wrong ? -1 : n;
}
