/* grove report: a page about results of grove bench.
 */
#include "grove/report/report.h"

#include "grove/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
  "usage: grove report FILE.json... [-o grove-report.html] [--title TEXT] [--json]\n"
  "\n"
  "Makes one page from results of grove bench --json: what the choice saved, measured beside\n"
  "predicted, the price of each route by term, who sends how much to whom, and the machine's\n"
  "fits over the points. Any browser shows it without a network. Several results are compared\n"
  "side by side. The times are also printed as a table. Needs no mpirun.\n"
  "\n"
  "  -o FILE        the page (grove-report.html)\n"
  "  --title TEXT   its heading (Grove: what moved, and how fast)\n"
  "  --json         what the choice saved, for programs, instead of the table\n"
  "\n"
  "Examples:\n"
  "  mpirun -n 64 grove bench elasticity --reduce --json > run.json\n"
  "  grove report run.json\n"
  "  grove report lassen.json laptop.json -o both.html --title 'Two machines'\n";

typedef struct settings {
  const char *output, *title;
  int json, n;
  const char *files[REPORT_RESULTS];
} settings;

static int complain(const char *what, const char *flag)
{
  fprintf(stderr, "grove report: %s%s; see grove report --help\n", flag, what);
  return EXIT_BAD_INPUT;
}

static int read_settings(int argc, char **argv, settings *s)
{
  *s = (settings){.output = "grove-report.html", .title = "Grove: what moved, and how fast"};
  for (int i = 1; i < argc; i++) {
    const char *flag = argv[i], *value = NULL;
    if ((value = flag_value(argc, argv, &i, "-o")))
      s->output = value;
    else if ((value = flag_value(argc, argv, &i, "--title")))
      s->title = value;
    else if (strcmp(flag, "--json") == 0)
      s->json = 1;
    else if (flag[0] == '-')
      return refuse_flag("report", flag, help);
    else if (s->n == REPORT_RESULTS)
      return complain("no more than 20 results fit on a page", "");
    else
      s->files[s->n++] = flag;
    if (value && !*value)
      return refuse_value("report", flag, value, value == s->output ? "a file" : "a heading");
  }
  return s->n > 0 ? EXIT_OK : complain("which results? Files of grove bench --json", "");
}

static int write_page(const report *r, const char *path)
{
  FILE *file = fopen(path, "w");
  if (!file) {
    fprintf(stderr, "grove report: %s cannot be written: %s\n", path, strerror(errno));
    return EXIT_BAD_INPUT;
  }
  report_write(r, file);
  int failed = ferror(file);
  if (fclose(file) == 0 && !failed) return EXIT_OK;
  fprintf(stderr, "grove report: %s could not be written to its end; is the disk full?\n", path);
  return EXIT_FAILED;
}

static void show(const report *r, const settings *s)
{
  if (s->json) {
    report_print_json(r, s->output);
    return;
  }
  report_print(r);
  printf("the page is %s\n", s->output);
}

static int run(int argc, char **argv)
{
  settings s;
  char why[600];
  int code = read_settings(argc, argv, &s);
  if (code != EXIT_OK) return code;
  report r = {.title = s.title, .results = calloc((size_t)s.n, sizeof *r.results)};
  if (!r.results) return EXIT_FAILED;
  while (r.n < s.n && code == EXIT_OK) {
    if (report_read(s.files[r.n], &r.results[r.n], why, sizeof why)) {
      fprintf(stderr, "grove report: %s\n", why);
      code = EXIT_BAD_INPUT;
    }
    r.n++;
  }
  if (code == EXIT_OK) code = write_page(&r, s.output);
  if (code == EXIT_OK) show(&r, &s);
  for (int i = 0; i < r.n; i++) report_result_free(&r.results[i]);
  free(r.results);
  return code;
}

const command command_report = {
  .name = "report",
  .summary = "a page with pictures from results of grove bench --json",
  .help = help,
  .run = run,
};
