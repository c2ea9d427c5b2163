/* The price of each route by term: stacked bars.
 */
#include "grove/report/draw.h"
#include "grove/report/report.h"

#include <math.h>
#include <string.h>

static const char *const classes[GROVE_TERMS] = {"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"};

static const char *name_term(int term, char room[32])
{
  snprintf(room, 32, "%s", grove_term_names[term]);
  for (char *c = room; *c; c++) *c = (char)(*c == '_' ? '-' : *c);
  return room;
}

static int is_shown(const report_entrant *e)
{
  return e->kind == REPORT_ROUTE && e->priced;
}

static double total_of(const report_entrant *e)
{
  double total = 0;
  for (int t = 0; t < GROVE_TERMS; t++) total += e->term[t];
  return total;
}

static int count_shown(const report_field *f, double *most)
{
  int n = 0;
  *most = 0;
  for (int i = 0; i < f->n; i++) {
    if (!is_shown(&f->entrants[i])) continue;
    *most = fmax(*most, total_of(&f->entrants[i]));
    n++;
  }
  return n;
}

static void list_terms(FILE *file)
{
  char rooms[GROVE_TERMS][32];
  const char *names[GROVE_TERMS];
  for (int t = 0; t < GROVE_TERMS; t++) names[t] = name_term(t, rooms[t]);
  html_legend(file, GROVE_TERMS, classes, names);
}

static void draw_route(const report_entrant *e, double y, double end, FILE *file)
{
  char time[24], term[32], words[160];
  double before = 0;
  svg_text(file, 6, y + 10, "start", "name", e->name);
  snprintf(words, sizeof words, "%s%s", show_time(total_of(e), time),
           e->chosen ? " \xc2\xb7 chosen" : "");
  svg_text(file, DRAW_WIDTH - 2, y + 10, "end", e->chosen ? "value strong" : "value", words);
  for (int t = 0; t < GROVE_TERMS; t++) {
    if (!(e->term[t] > 0)) continue;
    double from = svg_at(before, end), to = svg_at(before += e->term[t], end);
    snprintf(words, sizeof words, "%.96s, %s: %s", e->name, name_term(t, term),
             show_time(e->term[t], time));
    svg_box(file, from, y + 15, to - from, 11, classes[t], words);
  }
}

static void draw(const report_field *f, int n, double most, FILE *file)
{
  double bottom = DRAW_TOP + DRAW_ROW * n;
  int row = 0;
  svg_open(file, bottom + 20,
           "What the model says that each route costs, by term; the table says "
           "the same");
  double end = svg_axis(file, most, bottom, show_time);
  for (int i = 0; i < f->n; i++)
    if (is_shown(&f->entrants[i]))
      draw_route(&f->entrants[i], DRAW_TOP + DRAW_ROW * row++, end, file);
  svg_close(file);
}

static void tabulate(const report_field *f, FILE *file)
{
  char term[32];
  html_table(file, "price by term");
  fprintf(file, "<thead><tr><th scope=\"col\">route</th><th scope=\"col\">all</th>");
  for (int t = 0; t < GROVE_TERMS; t++)
    fprintf(file, "<th scope=\"col\">%s</th>", name_term(t, term));
  fprintf(file, "</tr></thead>\n<tbody>\n");
  for (int i = 0; i < f->n; i++) {
    const report_entrant *e = &f->entrants[i];
    if (!is_shown(e)) continue;
    fprintf(file, "<tr%s><th scope=\"row\">", e->chosen ? " class=\"chosen\"" : "");
    html_text(file, e->name);
    fprintf(file, "%s</th>", e->chosen ? " *" : "");
    html_time(file, total_of(e));
    for (int t = 0; t < GROVE_TERMS; t++) html_time(file, e->term[t]);
    fprintf(file, "</tr>\n");
  }
  html_table_end(file, "* what was chosen. The price of a route is that of its dearest node.");
}

void report_price(const report *r, FILE *file)
{
  const report_result *of = NULL;
  int at = 0;
  html_section(file, "price", "What each route costs, by term",
               "The model's price on the machine below, before anything runs.");
  for (const report_field *f; (f = report_field_at(r, at, &of)); at++) {
    double most = 0;
    int n = count_shown(f, &most);
    html_card(file, f->operation, r->n > 1 ? of->label : NULL);
    if (n > 0) {
      list_terms(file);
      draw(f, n, most, file);
      tabulate(f, file);
      if (*f->why) {
        fprintf(file, "<p>");
        html_text(file, f->why);
        fprintf(file, "</p>\n");
      }
    } else {
      fprintf(file, "<p>This result has no prices by term.</p>\n");
    }
    html_card_end(file);
  }
  html_section_end(file);
}
