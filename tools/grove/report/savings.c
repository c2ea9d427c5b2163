/* What the choice saved, compared with the standard route and with the best hand-written MPI, all
 * measured in the same rounds.
 */
#include "grove/report/draw.h"
#include "grove/report/report.h"

#include <math.h>
#include <string.h>

typedef struct saving {
  const report_entrant *choice, *standard, *baseline;
  int same; /* the choice is the standard route: nothing is compared */
} saving;

static saving find(const report_field *f)
{
  return (saving){report_find(f, REPORT_AUTO, NULL), report_find(f, REPORT_ROUTE, "standard"),
                  report_best_baseline(f), report_same_plan(f)};
}

/* The other's time over that of the choice; NaN where one of them is missing. */
static double speed(const saving *s, const report_entrant *other)
{
  return s->choice && other && s->choice->seconds > 0 ? other->seconds / s->choice->seconds : NAN;
}

static const char *show_factor(double factor, char room[24])
{
  if (isnan(factor)) return "-";
  snprintf(room, 24, "%.*f\xc3\x97", factor < 9.995 ? 2 : 1, factor);
  return room;
}

static const char *show_standard(const saving *s, char room[24])
{
  return s->same ? "same plan" : show_factor(speed(s, s->standard), room);
}

static const char *show_tick(double factor, char room[24])
{
  snprintf(room, 24, "%g\xc3\x97", factor);
  return room;
}

/* ---- the picture: two bars per row, and a line where both are equally fast ---- */

static void draw_bar(double factor, double y, double end, const char *class, const char *against,
                     FILE *file)
{
  char room[24], words[64];
  if (isnan(factor)) return;
  snprintf(words, sizeof words, "%s the speed of %s", show_factor(factor, room), against);
  svg_box(file, svg_at(0, end), y, svg_at(factor, end) - svg_at(0, end), 8, class, words);
}

static void draw_row(const saving *s, const char *name, double y, double end, FILE *file)
{
  char room[2][24], words[80];
  svg_text(file, 6, y + 10, "start", "name strong", name);
  snprintf(words, sizeof words, "%s and %s", show_standard(s, room[0]),
           show_factor(speed(s, s->baseline), room[1]));
  svg_text(file, DRAW_WIDTH - 2, y + 10, "end", "value", words);
  if (!s->same) draw_bar(speed(s, s->standard), y + 15, end, "choice", "the standard route", file);
  draw_bar(speed(s, s->baseline), y + 24, end, "baseline", "the best baseline", file);
  svg_line(file, svg_at(1, end), y + 13, svg_at(1, end), y + 34, "unity");
}

enum { ROW = 42, LABEL_BYTES = 20 };

/* So many bytes of a label as there is room for in a picture, and whole letters. */
static int clip(const char *label)
{
  int n = (int)strlen(label);
  if (n > LABEL_BYTES)
    for (n = LABEL_BYTES; n > 0 && ((unsigned char)label[n] & 0xc0) == 0x80;) n--;
  return n;
}

static void draw(const report *r, FILE *file)
{
  const report_result *of = NULL;
  int rows = 0;
  double most = 1, y = DRAW_TOP;
  for (const report_field *f; (f = report_field_at(r, rows, &of)); rows++) {
    saving s = find(f);
    most = fmax(most, fmax(s.same ? 1 : speed(&s, s.standard), speed(&s, s.baseline)));
  }
  double bottom = DRAW_TOP + ROW * rows;
  svg_open(file, bottom + 20,
           "Speed of the automatic choice against the standard route and against "
           "the best baseline; the table says the same");
  double end = svg_axis(file, most, bottom, show_tick);
  for (int at = 0; at < rows; at++, y += ROW) {
    char name[100];
    const report_field *f = report_field_at(r, at, &of);
    saving s = find(f);
    int n = r->n > 1 ? clip(of->label) : 0;
    snprintf(name, sizeof name, "%.40s%s%.*s%s", f->operation, n > 0 ? ", " : "", n, of->label,
             n > 0 && of->label[n] ? "\xe2\x80\xa6" : "");
    draw_row(&s, name, y, end, file);
  }
  svg_close(file);
}

/* ---- the table ---- */

static void tabulate_row(const report_result *r, const report_field *f, int several, FILE *file)
{
  char room[24];
  saving s = find(f);
  fprintf(file, "<tr><th scope=\"row\">");
  html_text(file, f->operation);
  if (several) {
    fprintf(file, ", ");
    html_text(file, r->label);
  }
  fprintf(file, "</th><td>");
  html_text(file, s.choice ? s.choice->name : "-");
  fprintf(file, "</td>");
  html_time(file, s.choice ? s.choice->seconds : NAN);
  html_time(file, s.standard ? s.standard->seconds : NAN);
  fprintf(file, "<td><b>%s</b></td><td>", show_standard(&s, room));
  html_text(file, s.baseline ? s.baseline->name : "-");
  fprintf(file, "</td>");
  html_time(file, s.baseline ? s.baseline->seconds : NAN);
  fprintf(file, "<td><b>%s</b></td></tr>\n", show_factor(speed(&s, s.baseline), room));
}

static void tabulate(const report *r, FILE *file)
{
  static const char *const columns[] = {
    "", "choice", "takes", "standard", "over standard", "best baseline", "takes", "over it"};
  html_table(file,
             "Above 1 the choice is faster. All entrants of an operation were measured in the "
             "same rounds.");
  fprintf(file, "<thead><tr>");
  for (int i = 0; i < 8; i++) fprintf(file, "<th scope=\"col\">%s</th>", columns[i]);
  fprintf(file, "</tr></thead>\n<tbody>\n");
  const report_result *of = NULL;
  int at = 0;
  for (const report_field *f; (f = report_field_at(r, at, &of)); at++)
    tabulate_row(of, f, r->n > 1, file);
  html_table_end(file,
                 "Above 1 the choice is faster. Same plan: the choice is the standard route, and "
                 "the two times differ as measurements do. All entrants of an operation were "
                 "measured in the same rounds.");
}

static int is_known(const report *r)
{
  const report_result *of = NULL;
  int at = 0;
  for (const report_field *f; (f = report_field_at(r, at, &of)); at++) {
    saving s = find(f);
    if (!isnan(speed(&s, s.standard)) || !isnan(speed(&s, s.baseline))) return 1;
  }
  return 0;
}

void report_savings(const report *r, FILE *file)
{
  static const char *const classes[] = {"choice", "baseline"};
  static const char *const names[] = {"over the standard route", "over the best baseline"};
  html_section(file, "savings", "What the choice saved",
               "By what factor the route that Grove chose is faster than the others.");
  html_card(file, r->n > 1 ? "Side by side" : "Speed of the choice", NULL);
  if (is_known(r)) {
    html_legend(file, 2, classes, names);
    draw(r, file);
    tabulate(r, file);
  } else {
    fprintf(file, "<p>No result has both a choice and something to compare it with.</p>\n");
  }
  html_card_end(file);
  html_section_end(file);
}
