/* The report for the terminal: predicted beside measured, the choice marked.
 */
#include "grove/report/draw.h"
#include "grove/report/report.h"

#include "grove/command.h"

#include <math.h>
#include <string.h>

/* Counts letters, not bytes: a micro sign is two bytes. */
static void print_cell(const char *text, int width)
{
  int letters = 0;
  for (const char *c = text; *c; c++) letters += (*c & 0xc0) != 0x80;
  printf("%*s%s", width > letters ? width - letters : 0, "", text);
}

static void print_time(double seconds, int width)
{
  char room[24];
  print_cell(show_time(seconds, room), width);
}

static void print_field(const report_result *r, const report_field *f)
{
  printf("\n%.63s: %s, %d ranks on %d node%s\n", r->label, f->operation, r->ranks, r->nodes,
         r->nodes == 1 ? "" : "s");
  printf("  %-28s%12s%12s%12s%12s  %s\n", "", "measured", "from", "to", "predicted", "values");
  for (int i = 0; i < f->n; i++) {
    const report_entrant *e = &f->entrants[i];
    printf("%s %-28.28s", e->chosen ? "*" : " ", e->name);
    print_time(e->seconds, 12);
    print_time(e->low, 12);
    print_time(e->high, 12);
    print_time(e->predicted, 12);
    printf("  %s\n", e->verified ? "right" : "WRONG");
  }
}

static void print_saving(const report_field *f)
{
  const report_entrant *choice = report_find(f, REPORT_AUTO, NULL);
  const report_entrant *standard = report_find(f, REPORT_ROUTE, "standard");
  const report_entrant *baseline = report_best_baseline(f);
  if (!choice || !(choice->seconds > 0)) return;
  printf("  %s is", choice->name);
  if (report_same_plan(f))
    printf(" the same plan as the standard route%s", baseline ? "," : "");
  else if (standard)
    printf(" %.2f times as fast as the standard route%s", standard->seconds / choice->seconds,
           baseline ? "," : "");
  if (baseline)
    printf(" %.2f times as fast as %s, the best baseline", baseline->seconds / choice->seconds,
           baseline->name);
  printf("\n");
}

void report_print(const report *r)
{
  const report_result *of = NULL;
  int at = 0;
  for (const report_field *f; (f = report_field_at(r, at, &of)); at++) {
    print_field(of, f);
    print_saving(f);
  }
  printf("\n* what was chosen\n");
}

/* , "name": value */
static void print_number(const char *name, double value)
{
  printf(", \"%s\": ", name);
  print_json_number(value);
}

static double ratio(const report_entrant *other, const report_entrant *choice)
{
  return other && choice && choice->seconds > 0 ? other->seconds / choice->seconds : NAN;
}

void report_print_json(const report *r, const char *page)
{
  const report_result *of = NULL;
  int at = 0;
  printf("{\"page\": ");
  print_json_text(stdout, page);
  printf(",\n \"operations\": [");
  for (const report_field *f; (f = report_field_at(r, at, &of)); at++) {
    const report_entrant *choice = report_find(f, REPORT_AUTO, NULL);
    printf("%s{\"result\": ", at > 0 ? ",\n  " : "");
    print_json_text(stdout, of->label);
    printf(", \"operation\": ");
    print_json_text(stdout, f->operation);
    print_number("auto_seconds", choice ? choice->seconds : NAN);
    print_number("over_standard", ratio(report_find(f, REPORT_ROUTE, "standard"), choice));
    print_number("over_best_baseline", ratio(report_best_baseline(f), choice));
    printf(", \"same_plan\": %s", report_same_plan(f) ? "true" : "false");
    printf("}");
  }
  printf("]}\n");
}
