/* Who sends how much to whom: a heat map by rank and one by node, with senders down and receivers
 * across. A cell is one rank or node, or several where there are too many.
 */
#include "grove/report/draw.h"
#include "grove/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CELLS = 64, SHADES = 9, LARGEST = 10, WHOLE_TABLE = 8 };
static const double LEFT = 26, TOP = 22, EDGE = 300;

typedef struct heat {
  const report_flows *flows;
  const char *of; /* "rank" or "node" */
  int cells, per_cell;
  double *bytes, *messages; /* cells x cells, by sender */
  double least, most;
} heat;

static int heat_create(const report_flows *flows, const char *of, heat *h)
{
  *h = (heat){.flows = flows, .of = of, .least = INFINITY};
  h->per_cell = (flows->members + MOST_CELLS - 1) / MOST_CELLS;
  h->cells = (flows->members + h->per_cell - 1) / h->per_cell;
  size_t all = (size_t)h->cells * (size_t)h->cells;
  h->bytes = calloc(2 * all, sizeof *h->bytes);
  if (!h->bytes) return 1;
  h->messages = h->bytes + all;
  for (int i = 0; i < flows->count; i++) {
    const report_flow *f = &flows->flow[i];
    int at = f->from / h->per_cell * h->cells + f->to / h->per_cell;
    h->bytes[at] += f->bytes;
    h->messages[at] += f->messages;
  }
  for (size_t i = 0; i < all; i++) {
    if (!(h->bytes[i] > 0)) continue;
    h->least = fmin(h->least, h->bytes[i]);
    h->most = fmax(h->most, h->bytes[i]);
  }
  return 0;
}

/* ---- the picture ---- */

/* 1 to SHADES, even on a logarithmic scale: bytes differ by powers. */
static int shade_of(const heat *h, double bytes)
{
  if (h->least == h->most) return SHADES;
  int k = 1 + (int)(SHADES * log(bytes / h->least) / log(h->most / h->least));
  return k < SHADES ? k : SHADES;
}

/* "rank 3", or "ranks 6 to 7". */
static void name_cell(const heat *h, int cell, char *out, size_t room)
{
  int first = cell * h->per_cell, last = first + h->per_cell - 1;
  if (last >= h->flows->members) last = h->flows->members - 1;
  if (first == last)
    snprintf(out, room, "%s %d", h->of, first);
  else
    snprintf(out, room, "%ss %d to %d", h->of, first, last);
}

static void draw_cell(const heat *h, int from, int to, FILE *file)
{
  char class[24], ends[2][40], room[24], words[160];
  double bytes = h->bytes[from * h->cells + to], size = EDGE / h->cells;
  if (!(bytes > 0)) return;
  name_cell(h, from, ends[0], sizeof ends[0]);
  name_cell(h, to, ends[1], sizeof ends[1]);
  snprintf(class, sizeof class, "heat h%d", shade_of(h, bytes));
  snprintf(words, sizeof words, "%s to %s: %s in %.0f messages", ends[0], ends[1],
           show_amount(bytes, room), h->messages[from * h->cells + to]);
  svg_box(file, LEFT + to * size, TOP + from * size, size, size, class, words);
}

/* Lines between nodes, as far as the cells show them. */
static void draw_nodes(const heat *h, FILE *file)
{
  const int *node = h->flows->node;
  for (int r = 1; node && r < h->flows->members; r++) {
    if (node[r] == node[r - 1] || r % h->per_cell != 0) continue;
    double at = EDGE * (r / h->per_cell) / h->cells;
    svg_line(file, LEFT + at, TOP, LEFT + at, TOP + EDGE, "border");
    svg_line(file, LEFT, TOP + at, LEFT + EDGE, TOP + at, "border");
  }
}

static void draw_ticks(const heat *h, FILE *file)
{
  char words[24];
  int step = h->cells > 8 ? (h->cells + 7) / 8 : 1;
  for (int cell = 0; cell < h->cells; cell += step) {
    double at = EDGE * (cell + 0.5) / h->cells;
    snprintf(words, sizeof words, "%d", cell * h->per_cell);
    svg_text(file, LEFT + at, TOP - 5, "middle", "tick", words);
    svg_text(file, LEFT - 5, TOP + at + 3.5, "end", "tick", words);
  }
}

static void draw_scale(const heat *h, FILE *file)
{
  char class[24], room[24];
  double y = TOP + EDGE + 10, width = 120.0 / SHADES;
  for (int k = 1; k <= SHADES; k++) {
    snprintf(class, sizeof class, "heat h%d", k);
    svg_box(file, LEFT + 70 + (k - 1) * width, y, width, 9, class, "scale");
  }
  svg_text(file, LEFT + 65, y + 8, "end", "tick", show_amount(h->least, room));
  svg_text(file, LEFT + 195, y + 8, "start", "tick", show_amount(h->most, room));
}

static void draw(const heat *h, FILE *file)
{
  char words[160];
  snprintf(words, sizeof words,
           "Bytes that each %s sends to each other one: senders down, receivers across; the table "
           "says the same",
           h->of);
  svg_open(file, TOP + EDGE + 26, words);
  svg_box(file, LEFT, TOP, EDGE, EDGE, "ground", "nothing");
  for (int from = 0; from < h->cells; from++)
    for (int to = 0; to < h->cells; to++) draw_cell(h, from, to, file);
  draw_nodes(h, file);
  draw_ticks(h, file);
  if (h->most > 0) draw_scale(h, file);
  svg_close(file);
}

/* ---- the table: everything if that is little, else the largest ---- */

static void tabulate_whole(const heat *h, FILE *file)
{
  char room[24];
  html_table(file, "bytes from sender to receiver");
  fprintf(file, "<thead><tr><th scope=\"col\">%s</th>", h->of);
  for (int to = 0; to < h->cells; to++) fprintf(file, "<th scope=\"col\">%d</th>", to);
  fprintf(file, "</tr></thead>\n<tbody>\n");
  for (int from = 0; from < h->cells; from++) {
    fprintf(file, "<tr><th scope=\"row\">%d</th>", from);
    for (int to = 0; to < h->cells; to++) {
      double bytes = h->bytes[from * h->cells + to];
      fprintf(file, "<td>%s</td>", bytes > 0 ? show_amount(bytes, room) : "");
    }
    fprintf(file, "</tr>\n");
  }
  html_table_end(file,
                 "Bytes of an exchange by the standard route; senders down, receivers across.");
}

static int by_bytes(const void *a, const void *b)
{
  const report_flow *x = a, *y = b;
  return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static void tabulate_largest(const heat *h, FILE *file)
{
  char room[24];
  const report_flows *flows = h->flows;
  report_flow *sorted = malloc(((size_t)flows->count + 1) * sizeof *sorted);
  if (!sorted) return;
  memcpy(sorted, flows->flow, (size_t)flows->count * sizeof *sorted);
  qsort(sorted, (size_t)flows->count, sizeof *sorted, by_bytes);
  html_table(file, "the largest");
  fprintf(file, "<thead><tr><th scope=\"col\">from</th><th scope=\"col\">to</th>"
                "<th scope=\"col\">messages</th><th scope=\"col\">bytes</th></tr></thead>\n"
                "<tbody>\n");
  for (int i = 0; i < flows->count && i < LARGEST; i++)
    fprintf(file, "<tr><td>%d</td><td>%d</td><td>%.0f</td><td>%s</td></tr>\n", sorted[i].from,
            sorted[i].to, sorted[i].messages, show_amount(sorted[i].bytes, room));
  html_table_end(file, "The largest of an exchange by the standard route.");
  free(sorted);
}

static void show_map(const report_flows *flows, const char *of, const char *label, FILE *file)
{
  heat h;
  char heading[40];
  snprintf(heading, sizeof heading, "By %s", of);
  html_card(file, heading, label);
  if (heat_create(flows, of, &h) == 0) {
    draw(&h, file);
    if (flows->members <= WHOLE_TABLE)
      tabulate_whole(&h, file);
    else
      tabulate_largest(&h, file);
  }
  free(h.bytes);
  html_card_end(file);
}

void report_traffic(const report *r, FILE *file)
{
  html_section(file, "traffic", "Who sends how much to whom",
               "From owners to ghosts, each value that a rank needs counted once. Inside a node it "
               "goes through shared memory.");
  for (int k = 0; k < r->n; k++) {
    const report_result *result = &r->results[k];
    const char *label = r->n > 1 ? result->label : NULL;
    if (result->by_node.members > 0) {
      show_map(&result->by_rank, "rank", label, file);
      show_map(&result->by_node, "node", label, file);
    } else {
      html_card(file, "Traffic", label);
      fprintf(file, "<p>This result does not tell.</p>\n");
      html_card_end(file);
    }
  }
  html_section_end(file);
}
