/* The machine: measured times of messages by size, and the profile's fits. Both axes are
 * logarithmic.
 */
#include "grove/report/draw.h"
#include "grove/report/report.h"

#include <math.h>
#include <string.h>

enum { SERIES = 6, MOST_POINTS = 200 };
static const double LEFT = 44, RIGHT = 334, TOP = 8, BOTTOM = 226;

/* What is drawn in one colour. NaN: not measured, or not in the profile. */
typedef struct series {
  char name[64];
  int n;
  double x[MOST_POINTS], measured[MOST_POINTS], fitted[MOST_POINTS];
} series;

typedef struct fits {
  int n, points; /* points: measured ones */
  series of[SERIES];
  double x_least, x_most, y_least, y_most;
} fits;

/* ---- what is available ---- */

static series *find_series(fits *f, const char *name)
{
  for (int i = 0; i < f->n; i++)
    if (strcmp(f->of[i].name, name) == 0) return &f->of[i];
  if (f->n == SERIES) return NULL;
  series *s = &f->of[f->n++];
  snprintf(s->name, sizeof s->name, "%s", name);
  s->n = 0;
  return s;
}

static void widen(fits *f, double x, double y)
{
  if (!(y > 0) || !isfinite(y)) return;
  f->x_least = fmin(f->x_least, x);
  f->x_most = fmax(f->x_most, x);
  f->y_least = fmin(f->y_least, y);
  f->y_most = fmax(f->y_most, y);
}

static void add(fits *f, const char *name, double bytes, double measured, double fitted)
{
  series *s = find_series(f, name);
  if (!s || s->n == MOST_POINTS || !(bytes >= 0) || !isfinite(bytes)) return;
  double x = fmax(bytes, 0.5); /* no bytes at all: at the left edge */
  s->x[s->n] = x;
  s->measured[s->n] = measured;
  s->fitted[s->n++] = fitted;
  f->points += measured > 0;
  widen(f, x, measured);
  widen(f, x, fitted);
}

/* Only series over message sizes. */
static void take_points(const json_value *profile, fits *f)
{
  const json_value *list = json_member(profile, "points");
  for (const json_value *v = list ? list->first : NULL; v; v = v->next) {
    const char *name = json_text_of(v, "series", "");
    if (strncmp(name, "ping-pong", 9) != 0 && strncmp(name, "stream", 6) != 0) continue;
    add(f, name, json_number_of(v, "x", NAN), json_number_of(v, "measured_seconds", NAN),
        json_number_of(v, "fitted_seconds", NAN));
  }
}

/* Messages between host memories. */
static int is_host(const json_value *message)
{
  return strcmp(json_text_of(message, "memory", ""), "cpu") == 0;
}

static double ends_at(const json_value *v)
{
  for (const json_value *next = v->next; next; next = next->next) {
    if (!is_host(next) ||
        strcmp(json_text_of(next, "locality", "?"), json_text_of(v, "locality", "")) != 0)
      continue;
    double from = json_number_of(next, "from_bytes", NAN);
    if (!isnan(from)) return from;
  }
  return 4 << 20;
}

/* A profile without points: only its lines. */
static void take_lines(const json_value *profile, fits *f)
{
  const json_value *list = json_member(profile, "messages");
  for (const json_value *v = list ? list->first : NULL; v; v = v->next) {
    double from = json_number_of(v, "from_bytes", NAN), end = ends_at(v);
    double alpha = json_number_of(v, "alpha_seconds", NAN);
    double beta = json_number_of(v, "beta_seconds_per_byte", NAN);
    if (!is_host(v) || isnan(from)) continue;
    for (double x = fmax(from, 1); x <= end; x = x < end && 2 * x > end ? end : 2 * x) {
      add(f, json_text_of(v, "locality", "?"), x, NAN, alpha + beta * x);
      if (x >= end) break;
    }
  }
}

static void collect(const json_value *profile, fits *f)
{
  f->n = f->points = 0;
  f->x_least = f->y_least = INFINITY;
  f->x_most = f->y_most = 0;
  take_points(profile, f);
  if (f->n == 0) take_lines(profile, f);
}

/* ---- the picture ---- */

static double x_at(const fits *f, double x)
{
  double range = log(f->x_most / f->x_least);
  return LEFT + (range > 0 ? (RIGHT - LEFT) * log(x / f->x_least) / range : 0);
}

static double y_at(const fits *f, double y)
{
  double range = log(f->y_most / f->y_least);
  return BOTTOM - (range > 0 ? (BOTTOM - TOP) * log(y / f->y_least) / range : 0);
}

static void draw_axes(const fits *f, FILE *file)
{
  char room[24];
  double decades = log10(f->x_most / f->x_least), step = decades > 4 ? 100 : 10;
  for (double x = 1; x <= f->x_most; x *= step) {
    if (x < f->x_least) continue;
    svg_line(file, x_at(f, x), TOP, x_at(f, x), BOTTOM, "grid");
    svg_text(file, x_at(f, x), BOTTOM + 13, "middle", "tick", show_amount(x, room));
  }
  for (double y = pow(10, ceil(log10(f->y_least) - 1e-9)); y <= f->y_most; y *= 10) {
    svg_line(file, LEFT, y_at(f, y), RIGHT, y_at(f, y), "grid");
    svg_text(file, LEFT - 4, y_at(f, y) + 3.5, "end", "tick", show_time(y, room));
  }
  svg_line(file, LEFT, BOTTOM, RIGHT, BOTTOM, "axis");
}

static void draw_series(const fits *f, const series *s, int colour, FILE *file)
{
  char time[24], bytes[24];
  fprintf(file, "<polyline class=\"fit s%d\" points=\"", colour);
  for (int i = 0; i < s->n; i++)
    if (s->fitted[i] > 0) fprintf(file, "%.5g,%.5g ", x_at(f, s->x[i]), y_at(f, s->fitted[i]));
  fprintf(file, "\"/>\n");
  for (int i = 0; i < s->n; i++) {
    if (!(s->measured[i] > 0)) continue;
    fprintf(file, "<circle class=\"point s%d\" cx=\"%.5g\" cy=\"%.5g\" r=\"2.2\"><title>", colour,
            x_at(f, s->x[i]), y_at(f, s->measured[i]));
    html_text(file, s->name);
    fprintf(file, ", %s: %s</title></circle>\n", show_amount(floor(s->x[i]), bytes),
            show_time(s->measured[i], time));
  }
}

static void draw(const fits *f, FILE *file)
{
  static const char *const classes[SERIES] = {"s0", "s1", "s2", "s3", "s4", "s5"};
  const char *names[SERIES];
  for (int i = 0; i < f->n; i++) names[i] = f->of[i].name;
  html_legend(file, f->n, classes, names);
  svg_open(file, BOTTOM + 20,
           "Time of a message over its size: points as measured, lines as the "
           "profile has them; the table has the lines");
  draw_axes(f, file);
  for (int i = 0; i < f->n; i++) draw_series(f, &f->of[i], i, file);
  svg_close(file);
}

/* ---- the table ---- */

static void tabulate_message(const json_value *v, FILE *file)
{
  char room[24];
  double beta = json_number_of(v, "beta_seconds_per_byte", NAN);
  double from = json_number_of(v, "from_bytes", NAN);
  fprintf(file, "<tr><th scope=\"row\">");
  html_text(file, json_text_of(v, "locality", "?"));
  fprintf(file, "</th><td>");
  html_text(file, json_text_of(v, "protocol", "?"));
  fprintf(file, "</td><td>%s</td>", show_amount(from, room));
  html_time(file, json_number_of(v, "alpha_seconds", NAN));
  if (beta > 0)
    fprintf(file, "<td>%s/s</td></tr>\n", show_amount(1 / beta, room));
  else
    fprintf(file, "<td>-</td></tr>\n");
}

static void tabulate(const json_value *profile, int points, FILE *file)
{
  const json_value *list = json_member(profile, "messages");
  html_table(file, "lines of the profile");
  fprintf(file, "<thead><tr><th scope=\"col\">between</th><th scope=\"col\">protocol</th>"
                "<th scope=\"col\">from</th><th scope=\"col\">latency</th>"
                "<th scope=\"col\">rate</th></tr></thead>\n<tbody>\n");
  for (const json_value *v = list ? list->first : NULL; v; v = v->next)
    if (is_host(v)) tabulate_message(v, file);
  html_table_end(file, points > 0
                         ? "The lines of the profile: ping-pong between two ranks of the host."
                         : "The lines of the profile, which has no points with it.");
}

/* ---- exchanges ---- */

/* The next point that an exchange gave; NULL: there is none. */
static const json_value *next_exchange(const json_value *v)
{
  while (v && strncmp(json_text_of(v, "series", ""), "exchange ", 9) != 0) v = v->next;
  return v;
}

static void tabulate_exchange(const json_value *v, FILE *file)
{
  char room[24];
  double measured = json_number_of(v, "measured_seconds", NAN);
  double predicted = json_number_of(v, "fitted_seconds", NAN);
  fprintf(file, "<tr><th scope=\"row\">");
  html_text(file, json_text_of(v, "series", "") + strlen("exchange "));
  fprintf(file, "</th><td>%s</td>", show_amount(json_number_of(v, "x", NAN), room));
  html_time(file, measured);
  html_time(file, predicted);
  if (predicted > 0 && measured > 0)
    fprintf(file, "<td>%.2f</td></tr>\n", predicted / measured);
  else
    fprintf(file, "<td>-</td></tr>\n");
}

/* A profile of one rank has none, and older ones. */
static void tabulate_exchanges(const json_value *profile, FILE *file)
{
  const json_value *list = json_member(profile, "points");
  const json_value *v = next_exchange(list ? list->first : NULL);
  if (!v) return;
  html_table(file, "exchanges that measuring ended with");
  fprintf(file, "<thead><tr><th scope=\"col\">exchange</th><th scope=\"col\">message</th>"
                "<th scope=\"col\">measured</th><th scope=\"col\">predicted</th>"
                "<th scope=\"col\">ratio</th></tr></thead>\n<tbody>\n");
  for (; v; v = next_exchange(v->next)) tabulate_exchange(v, file);
  html_table_end(file, "Exchanges of all ranks, by which the prices were corrected: who needs "
                       "something from whom, and the route.");
}

/* ---- all machines, each once ---- */

static int is_known(const report *r, int k)
{
  for (int i = 0; i < k; i++)
    if (r->results[i].profile && json_same(r->results[i].profile, r->results[k].profile)) return 1;
  return 0;
}

void report_fits(const report *r, FILE *file)
{
  fits f;
  int shown = 0;
  html_section(file, "machine", "The machine",
               "The profile behind the prices: measured points, and the lines fitted to "
               "them.");
  for (int k = 0; k < r->n; k++) {
    const json_value *profile = r->results[k].profile;
    if (!profile || is_known(r, k)) continue;
    collect(profile, &f);
    html_card(file, report_machine_name(&r->results[k]), json_text_of(profile, "about", ""));
    if (f.n > 0 && f.y_most > 0) draw(&f, file);
    tabulate(profile, f.points, file);
    tabulate_exchanges(profile, file);
    html_card_end(file);
    shown++;
  }
  if (shown == 0) fprintf(file, "<p>No result has the machine's profile in it.</p>\n");
  html_section_end(file);
}
