/* Measured beside predicted: one bar per entrant, with the interval of its median and a mark at the
 * predicted time.
 */
#include "grove/report/draw.h"
#include "grove/report/report.h"

#include <math.h>

static const char *class_of(const report_entrant *e)
{
  return e->kind == REPORT_AUTO ? "choice" : e->kind == REPORT_BASELINE ? "baseline" : "grove";
}

static double longest(const report_field *f)
{
  double most = 0;
  for (int i = 0; i < f->n; i++)
    most = fmax(most, fmax(fmax(f->entrants[i].seconds, f->entrants[i].high),
                           f->entrants[i].predicted)); /* fmax leaves NaN out */
  return most;
}

static void draw_interval(const report_entrant *e, double y, double end, FILE *file)
{
  if (isnan(e->low) || isnan(e->high)) return;
  double low = svg_at(e->low, end), high = svg_at(e->high, end);
  svg_line(file, low, y + 5, high, y + 5, "interval");
  svg_line(file, low, y + 2.5, low, y + 7.5, "interval");
  svg_line(file, high, y + 2.5, high, y + 7.5, "interval");
}

static void draw_entrant(const report_entrant *e, double y, double end, FILE *file)
{
  char room[2][24], words[160];
  svg_text(file, 6, y + 10, "start", e->kind == REPORT_AUTO ? "name strong" : "name", e->name);
  snprintf(words, sizeof words, "%s%s", show_time(e->seconds, room[0]),
           e->chosen ? " \xc2\xb7 chosen" : "");
  svg_text(file, DRAW_WIDTH - 2, y + 10, "end", e->chosen ? "value strong" : "value", words);
  if (isnan(e->seconds)) return;
  snprintf(words, sizeof words, "%.96s: measured %s, predicted %s", e->name,
           show_time(e->seconds, room[0]), show_time(e->predicted, room[1]));
  svg_box(file, svg_at(0, end), y + 15, svg_at(e->seconds, end) - svg_at(0, end), 10, class_of(e),
          words);
  draw_interval(e, y + 15, end, file);
  if (isnan(e->predicted)) return;
  double at = svg_at(e->predicted, end);
  svg_line(file, at, y + 12.5, at, y + 27.5, "predicted");
}

static void draw(const report_field *f, FILE *file)
{
  double bottom = DRAW_TOP + DRAW_ROW * f->n;
  svg_open(file, bottom + 20,
           "Measured time of each way to exchange, with its interval, and what "
           "the model predicted; the table says the same");
  double end = svg_axis(file, longest(f), bottom, show_time);
  for (int i = 0; i < f->n; i++) draw_entrant(&f->entrants[i], DRAW_TOP + DRAW_ROW * i, end, file);
  svg_close(file);
}

static void tabulate_entrant(const report_entrant *e, FILE *file)
{
  char room[24];
  fprintf(file, "<tr%s><th scope=\"row\">",
          e->chosen || e->kind == REPORT_AUTO ? " class=\"chosen\"" : "");
  html_text(file, e->name);
  fprintf(file, "%s</th>", e->chosen ? " *" : "");
  html_time(file, e->seconds);
  html_time(file, e->low);
  html_time(file, e->high);
  html_time(file, e->predicted);
  html_time(file, e->setup);
  if (isnan(e->off_node_messages))
    fprintf(file, "<td>-</td><td>-</td>");
  else
    fprintf(file, "<td>%.0f</td><td>%s</td>", e->off_node_messages,
            show_amount(e->off_node_bytes, room));
  fprintf(file, "<td>%s</td></tr>\n", e->verified ? "right" : "<b class=\"bad\">WRONG</b>");
}

static void tabulate(const report_field *f, FILE *file)
{
  html_table(file, "times");
  fprintf(file, "<thead><tr><th scope=\"col\">by</th>");
  static const char *const columns[] = {"median", "from",     "to",    "predicted",
                                        "set-up", "messages", "bytes", "values"};
  for (int i = 0; i < 8; i++) fprintf(file, "<th scope=\"col\">%s</th>", columns[i]);
  fprintf(file, "</tr></thead>\n<tbody>\n");
  for (int i = 0; i < f->n; i++) tabulate_entrant(&f->entrants[i], file);
  html_table_end(file, "* what was chosen. The interval holds the median in 95 of 100 cases. "
                       "Messages and bytes: between nodes, all ranks.");
}

void report_times(const report *r, FILE *file)
{
  static const char *const classes[] = {"choice", "grove", "baseline", "interval", "predicted"};
  static const char *const names[] = {"automatic", "Grove", "MPI and others", "95 % interval",
                                      "predicted"};
  int at = 0;
  html_section(file, "times", "Measured beside predicted",
               "One exchange: the median over the rounds of the slowest rank's time.");
  const report_result *of = NULL;
  for (const report_field *f; (f = report_field_at(r, at, &of)); at++) {
    html_card(file, f->operation, r->n > 1 ? of->label : NULL);
    html_legend(file, 5, classes, names);
    draw(f, file);
    tabulate(f, file);
    html_card_end(file);
  }
  html_section_end(file);
}
