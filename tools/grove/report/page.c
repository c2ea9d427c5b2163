/* The page as a whole: its head, the sections, then what was run, when and where.
 */
#include "grove/report/draw.h"
#include "grove/report/report.h"
#include "grove/report/style.h"

#include "grove.h"

#include <math.h>
#include <string.h>

static void write_head(const report *r, FILE *file)
{
  fprintf(file, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                "<title>");
  html_text(file, r->title);
  fprintf(file, "</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n%s</style>\n</head>\n",
          report_style);
}

/* ---- what was run ---- */

static void write_fact(FILE *file, const char *name, const char *text)
{
  if (!*text) return;
  fprintf(file, "<dt>%s</dt><dd>", name);
  html_text(file, text);
  fprintf(file, "</dd>\n");
}

/* "2026-11-15T20:08:26Z" as people write it; other texts unchanged. */
static void write_date(FILE *file, const char *date)
{
  char text[40];
  snprintf(text, sizeof text, "%.39s", date);
  if (strlen(date) == 20 && date[10] == 'T' && date[19] == 'Z')
    snprintf(text, sizeof text, "%.10s, %.5s UTC", date, date + 11);
  write_fact(file, "when", text);
}

static void write_pattern(const json_value *root, FILE *file)
{
  const char *pattern = json_text_of(root, "pattern", ""), *slash = strrchr(pattern, '/');
  const char *partition = json_text_of(root, "partition", "");
  char text[300];
  snprintf(text, sizeof text, "%.160s, size %.0f, values of %.0f bytes%s%.40s",
           slash ? slash + 1 : pattern, json_number_of(root, "size", 0),
           json_number_of(root, "unit_bytes", 0), *partition ? ", partition " : "", partition);
  write_fact(file, "exchange", text);
}

static void write_facts(const report_result *r, FILE *file)
{
  char text[300];
  const json_value *root = r->root;
  fprintf(file, "<article class=\"card\">\n<h3>");
  html_text(file, r->label);
  fprintf(file, "</h3>\n<dl>\n");
  write_pattern(root, file);
  snprintf(text, sizeof text, "%d on %d node%s%s", r->ranks, r->nodes, r->nodes == 1 ? "" : "s",
           json_is_true(root, "emulated_nodes") ? " (emulated: ranks of a host that count as nodes)"
                                                : "");
  write_fact(file, "ranks", text);
  write_date(file, json_text_of(root, "date", ""));
  write_fact(file, "processor", json_text_of(root, "processor", ""));
  write_fact(file, "network", json_text_of(root, "network", ""));
  write_fact(file, "MPI", json_text_of(root, "mpi", ""));
  write_fact(file, "machine", report_machine_name(r));
  snprintf(text, sizeof text, "%.0f", json_number_of(root, "rounds", 0));
  write_fact(file, "rounds", text);
  fprintf(file, "<dt>values</dt><dd>%s</dd>\n</dl>\n</article>\n",
          r->verified ? "all checked, all right" : "<b class=\"bad\">some are WRONG</b>");
}

/* What is compared, in a line. */
static void write_summary(const report *r, FILE *file)
{
  fprintf(file, "<p class=\"about\">");
  for (int k = 0; k < r->n; k++) {
    const report_result *one = &r->results[k];
    char text[200];
    if (k > 0) fprintf(file, "; ");
    snprintf(text, sizeof text, "%.63s: %d ranks on %d node%s of ", one->label, one->ranks,
             one->nodes, one->nodes == 1 ? "" : "s");
    html_text(file, text);
    html_text(file, report_machine_name(one));
  }
  fprintf(file, ". <a href=\"#facts\">What was run, when and where</a></p>\n");
}

static void write_header(const report *r, FILE *file)
{
  fprintf(file, "<header>\n<h1>");
  html_text(file, r->title);
  fprintf(file,
          "</h1>\n<p class=\"about\">A star forest says what must move between the ranks of a "
          "program. Grove knows several routes for it, prices each on the machine at hand, "
          "and takes the cheapest.</p>\n");
  write_summary(r, file);
  fprintf(file, "</header>\n");
}

static void write_all_facts(const report *r, FILE *file)
{
  fprintf(file, "<aside id=\"facts\">\n<h2>What was run, when and where</h2>\n");
  fprintf(file, "<div class=\"facts%s\">\n", r->n > 1 ? " several" : "");
  for (int k = 0; k < r->n; k++) write_facts(&r->results[k], file);
  fprintf(file, "</div>\n</aside>\n");
}

void report_write(const report *r, FILE *file)
{
  write_head(r, file);
  fprintf(file, "<body>\n");
  write_header(r, file);
  fprintf(file, "<main class=\"%s\">\n", r->n > 1 ? "several" : "single");
  report_savings(r, file);
  report_times(r, file);
  report_price(r, file);
  report_traffic(r, file);
  report_fits(r, file);
  fprintf(file, "</main>\n");
  write_all_facts(r, file);
  fprintf(file,
          "<footer>Made by grove report, Grove %d.%d.%d. Times are medians; a "
          "picture's numbers are in the table by it.</footer>\n</body>\n</html>\n",
          GROVE_VERSION_MAJOR, GROVE_VERSION_MINOR, GROVE_VERSION_PATCH);
}
