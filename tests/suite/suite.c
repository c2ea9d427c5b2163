/* Many test programs as one, which saves their links and, with --cases, their launches.
 *
 *     suite exec/zero_size [ARGUMENT...]       one program, as if it were alone
 *     exec/zero_size [ARGUMENT...]             the same, by a link of this name
 *     suite --cases FILE REPORT --ranks N      the cases of FILE, one after the other, in one job
 *
 * A line of FILE is a case: its name, its program, and its variables of the environment. Rank
 * 0 adds a line to REPORT when a case begins and one when it is over: what began last in a report
 * without an end is what the job died of (tools/suite).
 */
#define _POSIX_C_SOURCE 200809L /* setenv, clock_gettime */
#include "suite.h"

#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINE_BYTES = 4096, VARIABLES = 16 };

typedef struct variable {
  char *name;
  char *before; /* NULL: it was not there */
} variable;

static const suite_program *find(const char *name)
{
  for (const suite_program *p = suite_programs; p->name != NULL; p++)
    if (strcmp(p->name, name) == 0) return p;
  return NULL;
}

/* The last two parts of a path: a link to this file is called like its program. */
static const suite_program *find_by_path(const char *path)
{
  const char *last = strrchr(path, '/');
  while (last != NULL && last > path && last[-1] != '/') last--;
  return last != NULL ? find(last) : NULL;
}

/* ---- cases ---- */

static char *copy(const char *text)
{
  return strcpy(need(strlen(text) + 1), text);
}

static variable set(char *word)
{
  char *value = strchr(word, '=');
  CHECK(value != NULL, "'%s' sets no variable", word);
  *value++ = '\0';
  const char *before = getenv(word);
  variable v = {copy(word), before != NULL ? copy(before) : NULL};
  setenv(word, value, 1);
  return v;
}

static void restore(variable *v)
{
  if (v->before != NULL)
    setenv(v->name, v->before, 1);
  else
    unsetenv(v->name);
  free(v->name);
  free(v->before);
}

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void say(FILE *report, const char *format, ...)
{
  if (report == NULL) return;
  va_list arguments;
  va_start(arguments, format);
  vfprintf(report, format, arguments);
  va_end(arguments);
  fflush(report);
}

/* The worst that it was on any rank. */
static int agree(int result)
{
  MPI_Request request;
  int worst = result;
  MPI_Iallreduce(&result, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
  polite_wait(&request);
  return worst;
}

static void run_case(char *line, FILE *report, int argc, char **argv)
{
  variable variables[VARIABLES];
  int n = 0;
  char *rest, *name = strtok_r(line, " \n", &rest), *program = strtok_r(NULL, " \n", &rest);
  CHECK(program != NULL && find(program) != NULL, "no program of this suite: '%s'", program);
  for (char *word; (word = strtok_r(NULL, " \n", &rest)) != NULL; n++) {
    CHECK(n < VARIABLES, "%s has more than %d variables", name, VARIABLES);
    variables[n] = set(word);
  }
  if (report != NULL) printf("== %s\n", name);
  say(report, "begin %s\n", name);
  double since = now();
  int result = agree(find(program)->run(argc, argv));
  const char *outcome = result == 0 ? "passed" : result == TEST_SKIPPED ? "skipped" : "failed";
  say(report, "%s %s %.2f\n", outcome, name, now() - since);
  while (n > 0) restore(&variables[--n]);
}

/* Every rank reads the file for itself: a pause of rank 0 between two cases would be one of all. */
static int run_cases(int argc, char **argv)
{
  char line[LINE_BYTES];
  test_share();
  test_begin(&argc, &argv, "suite");
  FILE *file = fopen(argv[2], "r"), *report = world_rank() == 0 ? fopen(argv[3], "a") : NULL;
  CHECK(file != NULL, "'%s' cannot be read", argv[2]);
  CHECK(report != NULL || world_rank() > 0, "'%s' cannot be written", argv[3]);
  while (fgets(line, sizeof line, file) != NULL) run_case(line, report, argc, argv);
  fclose(file);
  say(report, "begin MPI_Finalize\n");
  test_case(0);
  test_finalize();
  say(report, "end\n");
  if (report != NULL) fclose(report);
  return 0;
}

int main(int argc, char **argv)
{
  const suite_program *program = find_by_path(argv[0]);
  if (program != NULL) return program->run(argc, argv);
  if (argc >= 4 && strcmp(argv[1], "--cases") == 0) return run_cases(argc, argv);
  program = argc > 1 ? find(argv[1]) : NULL;
  if (program != NULL) return program->run(argc - 1, argv + 1);
  fprintf(stderr,
          "usage: suite PROGRAM [ARGUMENT...], or --cases FILE REPORT --ranks N; programs:\n");
  for (program = suite_programs; program->name != NULL; program++)
    fprintf(stderr, "  %s\n", program->name);
  return 2;
}
