/* grove machine compare: two machines side by side, or two measurements of one. */
#include "grove/machine/machine.h"
#include "grove/machine/pairs.h"

#include "measure/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
  "usage: grove machine compare A B [--json]\n"
  "\n"
  "Every number of two machines side by side, with the ratio B / A; then those that only one\n"
  "of them has; then what messages of some sizes would take on each. The last lines give the\n"
  "median and the worst factor by which they differ, whichever is larger. So two measurements\n"
  "of one machine can be compared. The shape of a node, the sizes at which protocols begin,\n"
  "and numbers that are 0 on one side only do not count there.\n"
  "\n"
  "  A, B      names of machines (grove machine list), files, or auto\n"
  "  --json    for programs: seconds, bytes and seconds per byte\n"
  "\n"
  "Examples:\n"
  "  grove machine compare lassen summit\n"
  "  grove machine compare monday.machine tuesday.machine --json\n";

/* ---- by how much ---- */

static double factor(const pair *x)
{
  if (isnan(x->a) || isnan(x->b)) return NAN;
  if (x->a == x->b) return 1;
  if (x->a == 0 || x->b == 0) return NAN;
  return fmax(x->a / x->b, x->b / x->a);
}

typedef struct summary {
  int n;
  double median, worst;
  const char *where;
} summary;

static summary sum_up(const pairs *p, kind what)
{
  summary s = {0, NAN, NAN, ""};
  double *all = malloc(((size_t)p->n + 1) * sizeof *all);
  for (int i = 0; all && i < p->n; i++) {
    double f = factor(&p->at[i]);
    if (p->at[i].kind != what || isnan(f)) continue;
    all[s.n++] = f;
    if (s.n > 1 && f <= s.worst) continue;
    s.worst = f;
    s.where = p->at[i].name;
  }
  if (s.n > 0) s.median = grove_median(all, s.n);
  free(all);
  return s;
}

/* ---- printing ---- */

/* Seconds as microseconds, seconds per byte as nanoseconds. */
static double scaled(const pair *x, double value)
{
  if (strcmp(x->unit, "s") == 0) return 1e6 * value;
  return strcmp(x->unit, "s/B") == 0 ? 1e9 * value : value;
}

static const char *shown_unit(const pair *x)
{
  if (strcmp(x->unit, "s") == 0) return "us";
  if (strcmp(x->unit, "s/B") == 0) return "ns/B";
  return strcmp(x->unit, "B") == 0 ? "B" : "";
}

static void print_number(double value)
{
  if (isnan(value))
    printf(" %11s", "-");
  else
    printf(" %11.5g", value);
}

/* Numbers that both machines have, or that only one has. */
static void print_some(const pairs *p, kind what, int in_both, const char *title)
{
  int any = 0;
  for (int i = 0; i < p->n; i++) {
    const pair *x = &p->at[i];
    int have = !isnan(x->a) && !isnan(x->b);
    if (x->kind != what || have != in_both) continue;
    if (title && !any++) printf("%s\n", title);
    printf("  %-31s", x->name);
    print_number(scaled(x, x->a));
    print_number(scaled(x, x->b));
    if (have && x->a != 0)
      printf(" %-4s %8.3f\n", shown_unit(x), x->b / x->a);
    else
      printf(" %s\n", shown_unit(x));
  }
}

static void print_summary(const char *what, summary s)
{
  if (s.n == 0)
    printf("%s: none that both have\n", what);
  else
    printf("%s: %d that both have, a factor of %.3f apart in the median and %.3f at worst (%s)\n",
           what, s.n, s.median, s.worst, s.where);
}

static void print_table(const pairs *p, const grove_machine *a, const grove_machine *b)
{
  printf("A: %s   B: %s\n\n", a->name, b->name);
  printf("  %-31s %11s %11s %-4s %8s\n", "", "A", "B", "", "B / A");
  print_some(p, SHAPE, 1, NULL);
  print_some(p, LIMIT, 1, NULL);
  print_some(p, PARAMETER, 1, NULL);
  printf("\nonly one of them has\n");
  for (kind what = SHAPE; what <= PARAMETER; what++) print_some(p, what, 0, NULL);
  print_some(p, MESSAGE, 1, "\nwhat a message takes, alpha + beta s");
  printf("\n");
  print_summary("messages", sum_up(p, MESSAGE));
  print_summary("parameters", sum_up(p, PARAMETER));
}

static void print_pair(const pair *x, const char *separator)
{
  static const char *const kinds[] = {"shape", "limit", "parameter", "message"};
  printf("%s{\"kind\": \"%s\", \"name\": ", separator, kinds[x->kind]);
  print_json_text(stdout, x->name);
  printf(", \"unit\": \"%s\", \"a\": ", x->unit);
  print_json_number(x->a);
  printf(", \"b\": ");
  print_json_number(x->b);
  printf(", \"ratio\": ");
  print_json_number(x->a != 0 ? x->b / x->a : NAN);
  printf("}");
}

static void print_summary_json(const char *name, summary s)
{
  printf(",\n \"%s\": {\"count\": %d, \"median_factor\": ", name, s.n);
  print_json_number(s.median);
  printf(", \"worst_factor\": ");
  print_json_number(s.worst);
  printf(", \"worst_name\": ");
  print_json_text(stdout, s.where);
  printf("}");
}

static void print_json(const pairs *p, const grove_machine *a, const grove_machine *b)
{
  printf("{\"a\": ");
  print_json_text(stdout, a->name);
  printf(", \"b\": ");
  print_json_text(stdout, b->name);
  printf(",\n \"comparison\": [");
  for (int i = 0; i < p->n; i++) print_pair(&p->at[i], i > 0 ? ",\n  " : "\n  ");
  printf("]");
  print_summary_json("messages", sum_up(p, MESSAGE));
  print_summary_json("parameters", sum_up(p, PARAMETER));
  printf("}\n");
}

static int compare(int argc, char **argv)
{
  static const char who[] = "machine compare";
  const char *names[2] = {NULL, NULL};
  grove_machine *a = NULL, *b = NULL;
  pairs p = {0};
  int json = 0, status = read_machine_arguments(argc, argv, who, 2, names, &json);
  if (status == EXIT_OK) status = open_machine(who, names[0], &a);
  if (status == EXIT_OK) status = open_machine(who, names[1], &b);
  if (status == EXIT_OK) {
    p = pair_up(a, b);
    if (p.failed)
      status = EXIT_FAILED;
    else if (json)
      print_json(&p, a, b);
    else
      print_table(&p, a, b);
  }
  free(p.at);
  grove_machine_free(&a);
  grove_machine_free(&b);
  return status;
}

const command machine_compare = {
  .name = "compare",
  .summary = "two machines side by side, and by what factor they differ",
  .help = help,
  .run = compare,
};
