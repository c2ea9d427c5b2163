#include "kit/flags.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether the value is valid. */
static int set_value(const bench_flag *flag, const char *text)
{
  switch (flag->kind) {
  case BENCH_SWITCH: *(int *)flag->value = 1; break;
  case BENCH_TEXT: *(const char **)flag->value = text; break;
  case BENCH_INT: *(int *)flag->value = atoi(text); break;
  case BENCH_COUNT: return (*(int *)flag->value = atoi(text)) >= 1;
  case BENCH_BYTES: *(int64_t *)flag->value = atoll(text); break;
  case BENCH_REAL: *(double *)flag->value = atof(text); break;
  case BENCH_POSITIVE: return (*(double *)flag->value = atof(text)) > 0;
  }
  return 1;
}

const char *bench_read_flags(int argc, char **argv, const bench_flag *flags)
{
  for (int i = 1; i < argc; i++) {
    const bench_flag *flag = flags;
    while (flag->name && strcmp(flag->name, argv[i]) != 0) flag++;
    if (!flag->name) return argv[i];
    if (flag->kind != BENCH_SWITCH && ++i == argc) return flag->name;
    if (!set_value(flag, argv[i])) return argv[i];
  }
  return NULL;
}

int bench_is_chosen(const char *only, const char *name)
{
  size_t length = only ? strlen(only) : 0;
  if (length == 0) return 1;
  return only[length - 1] == '-' ? strncmp(name, only, length) == 0 : strcmp(name, only) == 0;
}

int bench_read_cases(const char *path, size_t bytes, const char *(*read_line)(char *, void *),
                     void **out)
{
  FILE *file = fopen(path, "r");
  char line[1024], *list = NULL;
  int n = 0, number = 0;
  const char *wrong = NULL;
  if (!file) {
    fprintf(stderr, "bench: cannot read %s\n", path);
    return -1;
  }
  while (!wrong && fgets(line, sizeof line, file)) {
    number++;
    line[strcspn(line, "#")] = '\0';
    if (line[strspn(line, " \t\r\n")] == '\0') continue;
    char *more = realloc(list, (size_t)(n + 1) * bytes);
    wrong = more ? read_line(line, more + (size_t)n * bytes) : "no memory left";
    if (more) list = more;
    n++;
  }
  fclose(file);
  if (!wrong) {
    *out = list;
    return n;
  }
  fprintf(stderr, "bench: %s:%d: %s\n", path, number, wrong);
  free(list);
  return -1;
}
