#include "grove/report/draw.h"

#include <math.h>

/* Margin on either side of an axis, so that its numbers are not cut off. */
static const double LEFT = 2, RIGHT = 20;

/* ---- HTML ---- */

void html_text(FILE *file, const char *text)
{
  for (; *text; text++) switch (*text) {
    case '<': fputs("&lt;", file); break;
    case '>': fputs("&gt;", file); break;
    case '&': fputs("&amp;", file); break;
    case '"': fputs("&quot;", file); break;
    default: fputc(*text, file);
    }
}

void html_section(FILE *file, const char *id, const char *heading, const char *about)
{
  fprintf(file, "<section id=\"%s\">\n<h2>", id);
  html_text(file, heading);
  fprintf(file, "</h2>\n<p class=\"about\">");
  html_text(file, about);
  fprintf(file, "</p>\n<div class=\"cards\">\n");
}

void html_section_end(FILE *file)
{
  fprintf(file, "</div>\n</section>\n");
}

void html_card(FILE *file, const char *heading, const char *more)
{
  fprintf(file, "<article class=\"card\">\n<h3>");
  html_text(file, heading);
  if (more && *more) {
    fprintf(file, " <span class=\"soft\">");
    html_text(file, more);
    fprintf(file, "</span>");
  }
  fprintf(file, "</h3>\n");
}

void html_card_end(FILE *file)
{
  fprintf(file, "</article>\n");
}

void html_table(FILE *file, const char *label)
{
  fprintf(file, "<div class=\"beside\">\n<div class=\"scroll\" tabindex=\"0\">\n");
  fprintf(file, "<table aria-label=\"%s\">\n", label);
}

void html_table_end(FILE *file, const char *note)
{
  fprintf(file, "</tbody>\n</table>\n</div>\n<p class=\"note\">");
  html_text(file, note);
  fprintf(file, "</p>\n</div>\n");
}

void html_legend(FILE *file, int n, const char *const *classes, const char *const *names)
{
  fprintf(file, "<ul class=\"legend\">\n");
  for (int i = 0; i < n; i++) {
    fprintf(file, "<li><svg class=\"chip\" viewBox=\"0 0 10 10\" aria-hidden=\"true\">");
    fprintf(file, "<rect class=\"%s\" width=\"10\" height=\"10\" rx=\"2\"/></svg>", classes[i]);
    html_text(file, names[i]);
    fprintf(file, "</li>\n");
  }
  fprintf(file, "</ul>\n");
}

/* ---- numbers ---- */

/* Three digits, without an exponent from 1 to 999. */
static const char *show(double value, const char *unit, char room[24])
{
  int digits = value >= 99.95 || value == 0 ? 0 : value >= 9.995 ? 1 : 2;
  snprintf(room, 24, "%.*f %s", digits, value, unit);
  return room;
}

const char *show_time(double seconds, char room[24])
{
  if (isnan(seconds)) return "-";
  if (seconds == 0) return "0";
  if (seconds < 0.9995e-6) return show(1e9 * seconds, "ns", room);
  if (seconds < 0.9995e-3) return show(1e6 * seconds, "\xc2\xb5s", room);
  return seconds < 0.9995 ? show(1e3 * seconds, "ms", room) : show(seconds, "s", room);
}

const char *show_amount(double bytes, char room[24])
{
  static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  int i = 0;
  if (isnan(bytes)) return "-";
  for (; bytes >= 999.5 && i < 5; i++) bytes /= 1000;
  if (i > 0) return show(bytes, units[i], room);
  snprintf(room, 24, "%.0f B", bytes);
  return room;
}

void html_time(FILE *file, double seconds)
{
  char room[24];
  fprintf(file, "<td>%s</td>", show_time(seconds, room));
}

/* ---- SVG ---- */

void svg_open(FILE *file, double height, const char *what)
{
  fprintf(file, "<figure><svg class=\"picture\" viewBox=\"0 0 %d %.4g\" role=\"img\">\n<title>",
          DRAW_WIDTH, height);
  html_text(file, what);
  fprintf(file, "</title>\n");
}

void svg_close(FILE *file)
{
  fprintf(file, "</svg></figure>\n");
}

void svg_text(FILE *file, double x, double y, const char *anchor, const char *classes,
              const char *text)
{
  fprintf(file, "<text x=\"%.5g\" y=\"%.5g\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor,
          classes);
  html_text(file, text);
  fprintf(file, "</text>\n");
}

void svg_box(FILE *file, double x, double y, double width, double height, const char *classes,
             const char *what)
{
  fprintf(file, "<rect x=\"%.5g\" y=\"%.5g\" width=\"%.5g\" height=\"%.5g\" class=\"%s\"><title>",
          x, y, fmax(width, 0), fmax(height, 0), classes);
  html_text(file, what);
  fprintf(file, "</title></rect>\n");
}

void svg_line(FILE *file, double x1, double y1, double x2, double y2, const char *classes)
{
  fprintf(file, "<line x1=\"%.5g\" y1=\"%.5g\" x2=\"%.5g\" y2=\"%.5g\" class=\"%s\"/>\n", x1, y1,
          x2, y2, classes);
}

/* 1, 2 or 5 times a power of ten, such that at most four steps reach the maximum. */
static double step_for(double most)
{
  double power = pow(10, floor(log10(most / 4)));
  double times = most / 4 / power;
  return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

double svg_axis(FILE *file, double most, double bottom, const char *(*shows)(double, char[24]))
{
  double step = step_for(most > 0 ? most : 1), end = step * ceil(most / step - 1e-9);
  if (!(end > 0)) end = step;
  for (int i = 0; i * step <= end * (1 + 1e-9); i++) {
    char room[24];
    double x = svg_at(i * step, end);
    svg_line(file, x, DRAW_TOP, x, bottom, i == 0 ? "axis" : "grid");
    svg_text(file, x, bottom + 13, i == 0 ? "start" : "middle", "tick", shows(i * step, room));
  }
  return end;
}

double svg_at(double value, double end)
{
  return LEFT + (DRAW_WIDTH - LEFT - RIGHT) * value / end;
}
