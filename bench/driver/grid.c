#include "driver/grid.h"

#include "kit/flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The index of a word in a list that ends with NULL, or -1. */
static int find_word(const char *word, const char *const *list)
{
  for (int i = 0; list[i]; i++)
    if (strcmp(word, list[i]) == 0) return i;
  return -1;
}

static const char *const patterns[] = {"pair", "random", "ghost", "halo", "swap", NULL};
static const char *const shapes[] = {"contiguous", "face", "scattered", "runs", NULL};
static const char *const memories[] = {"malloc", "grove_alloc", NULL};
static const char *const measures[] = {"exchange", "unchanged", "setup", "init",    "context",
                                       "memory",   "growth",    "bound", "overlap", NULL};

/* Returns the word that is not understood, or NULL. */
static const char *read_comparison(char *word, bench_comparison *out)
{
  char target[16] = "";
  if (sscanf(word, "%31[^/]/%31[^:]:%15s", out->method, out->peer, target) != 3) return word;
  char *end = target;
  out->target = strcmp(target, "-") == 0 ? 0 : strtod(target, &end);
  return strcmp(target, "-") == 0 || (*end == '\0' && out->target > 0) ? NULL : word;
}

/* "double*3+int32" as four words; returns how many, or 0. The text is modified. */
static int expand(char *text, const char **out)
{
  int n = 0;
  char *rest = text;
  for (char *w; (w = strtok_r(n ? NULL : text, "+", &rest));) {
    char *times = strchr(w, '*');
    int count = times ? atoi(times + 1) : 1;
    if (times) *times = '\0';
    if (count < 1 || n + count > BENCH_FIELDS) return 0;
    while (count-- > 0) out[n++] = w;
  }
  return n;
}

/* The columns of operations and of types: the shorter list is repeated. Returns what is not
 * understood, or NULL. */
static const char *read_fields(char *operations, char *types, bench_spec *s)
{
  const char *op[BENCH_FIELDS], *type[BENCH_FIELDS];
  int nops = expand(operations, op), ntypes = expand(types, type);
  if (nops == 0) return operations;
  if (ntypes == 0) return types;
  s->nfields = nops > ntypes ? nops : ntypes;
  for (int i = 0; i < s->nfields; i++) {
    bench_field *f = &s->fields[i];
    if (bench_operation_read(op[i % nops], &f->kind, &f->op)) return op[i % nops];
    if (!(f->type = bench_type_find(type[i % ntypes]))) return type[i % ntypes];
  }
  bench_spec_take_field(s, 0);
  return NULL;
}

int bench_is_plain(const bench_spec *spec)
{
  const char *usual = spec->kind == BENCH_REDUCE ? "sum" : "replace";
  return spec->nfields == 1 && spec->kind <= BENCH_REDUCE && strcmp(spec->op->name, usual) == 0;
}

void bench_spec_take_field(bench_spec *s, int field)
{
  s->kind = s->fields[field].kind;
  s->op = s->fields[field].op;
  s->type = s->fields[field].type;
}

/* One line, already without comment. Returns what is wrong, or NULL. */
static const char *read_line(char *line, void *out)
{
  enum { COLUMNS = 9 };
  char *word[COLUMNS], *rest = line;
  bench_spec s = {.ncomparisons = 0};
  for (int i = 0; i < COLUMNS; i++)
    if (!(word[i] = strtok_r(i == 0 ? line : NULL, " \t\n", &rest))) return "a column is missing";
  int pattern = find_word(word[1], patterns), shape = find_word(word[2], shapes);
  int memory = find_word(word[7], memories), measure = find_word(word[8], measures);
  if (pattern < 0) return word[1];
  if (shape < 0) return word[2];
  const char *unknown = read_fields(word[3], word[4], &s);
  if (unknown) return unknown;
  if ((s.size = strtoll(word[5], NULL, 10)) <= 0) return word[5];
  if ((s.buffers = atoi(word[6])) <= 0) return word[6];
  if (memory < 0) return word[7];
  if (measure < 0) return word[8];
  snprintf(s.name, sizeof s.name, "%s", word[0]);
  s.pattern = (bench_pattern)pattern;
  if (pattern == BENCH_PAIR && (s.kind > BENCH_REDUCE || s.nfields > 1))
    return "a pair has one bcast or one reduce";
  s.shape = (bench_shape)shape;
  s.measure = (bench_measure)measure;
  s.alloc = memory;
  for (char *w; (w = strtok_r(NULL, " \t\n", &rest));) {
    if (s.ncomparisons == BENCH_COMPARISONS) return "too many comparisons";
    const char *wrong = read_comparison(w, &s.comparisons[s.ncomparisons++]);
    if (wrong) return wrong;
  }
  *(bench_spec *)out = s;
  return s.ncomparisons ? NULL : "no comparison";
}

int bench_grid_read(const char *path, bench_spec **out)
{
  void *list = NULL;
  int n = bench_read_cases(path, sizeof **out, read_line, &list);
  *out = list;
  return n;
}
