/* HTML and SVG as text, for the pictures of a report. Pictures are DRAW_WIDTH units wide, about the
 * pixels of a phone, so that their letters stay readable there. Colours are classes of the page's
 * style sheet, which has a light and a dark set.
 */
#ifndef GROVE_TOOLS_REPORT_DRAW_H
#define GROVE_TOOLS_REPORT_DRAW_H

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DRAW_WIDTH = 340, DRAW_ROW = 34, DRAW_TOP = 6 };

/* A text with HTML's special characters escaped. */
void html_text(FILE *file, const char *text);

/* <h2> and an introduction to the section; a card for each item, with a heading unless NULL; in a
 * card a picture, then a table in a box that scrolls by itself; below it a note. */
void html_section(FILE *file, const char *id, const char *heading, const char *about);
void html_section_end(FILE *file);
void html_card(FILE *file, const char *heading, const char *more);
void html_card_end(FILE *file);
void html_table(FILE *file, const char *label);
void html_table_end(FILE *file, const char *note);

/* A line under a card's heading, with a colour for each of `n` names. */
void html_legend(FILE *file, int n, const char *const *classes, const char *const *names);

/* Three digits with a suitable unit: "251 us", "1.2 kB"; "-" for NaN. */
const char *show_time(double seconds, char room[24]);
const char *show_amount(double bytes, char room[24]);

/* <td> of a time. */
void html_time(FILE *file, double seconds);

/* `what` is the description for those who cannot see the picture. */
void svg_open(FILE *file, double height, const char *what);
void svg_close(FILE *file);
/* With a text-anchor: start, middle or end. */
void svg_text(FILE *file, double x, double y, const char *anchor, const char *classes,
              const char *text);
void svg_box(FILE *file, double x, double y, double width, double height, const char *classes,
             const char *what);
void svg_line(FILE *file, double x1, double y1, double x2, double y2, const char *classes);

/* An axis from 0 to at least `most`, with lines down to `bottom` and a number under each, printed
 * by `show`. Returns its end. */
double svg_axis(FILE *file, double most, double bottom,
                const char *(*show)(double value, char room[24]));

/* Where a value lies on such an axis. */
double svg_at(double value, double end);

#ifdef __cplusplus
}
#endif

#endif
