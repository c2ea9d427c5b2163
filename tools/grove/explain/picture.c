#include "grove/explain/picture.h"

#include "grove/command.h"
#include "grove/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* From a little to a lot. */
static const char shades[] = ".:-=+*#%@";
enum { SHADES = sizeof shades - 1 };

static int64_t member_of(const picture *p, const grove_topo *topo, int rank)
{
  return p->of == PICTURE_OF_RANKS ? rank : topo->place[rank].node;
}

grove_status picture_create(const grove_manifest *m, const grove_topo *topo, int64_t unit_bytes,
                            picture_of of, int most, picture *out)
{
  picture p = {.of = of, .members = of == PICTURE_OF_RANKS ? topo->nranks : topo->nnodes};
  p.per_cell = (p.members + most - 1) / most;
  p.cells = (int)((p.members + p.per_cell - 1) / p.per_cell);
  GROVE_PASS_NEW(p.bytes, (int64_t)p.cells * p.cells);
  for (int64_t i = 0; i < m->count; i++) {
    const grove_shipment *s = &m->shipments[i];
    int64_t from = member_of(&p, topo, s->from), to = member_of(&p, topo, s->to);
    if (from == to) continue; /* inside a node, where nodes are shown */
    p.bytes[from / p.per_cell * p.cells + to / p.per_cell] += (double)(s->units * unit_bytes);
  }
  *out = p;
  return GROVE_OK;
}

void picture_free(picture *p)
{
  free(p->bytes);
  *p = (picture){0};
}

/* The least and the most that is sent. */
static void find_range(const picture *p, double *least, double *most)
{
  *least = INFINITY;
  *most = 0;
  for (int64_t i = 0; i < (int64_t)p->cells * p->cells; i++) {
    if (p->bytes[i] <= 0) continue;
    *least = fmin(*least, p->bytes[i]);
    *most = fmax(*most, p->bytes[i]);
  }
}

/* Shades are even on a logarithmic scale, since bytes differ by powers. */
static char shade(double bytes, double least, double most)
{
  if (bytes <= 0) return ' ';
  if (least == most) return shades[SHADES - 1];
  int k = (int)(SHADES * log(bytes / least) / log(most / least));
  return shades[k < SHADES ? k : SHADES - 1];
}

void picture_print(const picture *p, FILE *file)
{
  const char *name = p->of == PICTURE_OF_RANKS ? "rank" : "node";
  double least, most;
  find_range(p, &least, &most);
  if (p->per_cell > 1)
    fprintf(file, "  a cell for every %lld %ss", (long long)p->per_cell, name);
  else
    fprintf(file, "  a cell for each %s", name);
  if (most > least) fprintf(file, "; '.' is %.3g bytes, '@' is %.3g", least, most);
  if (most > 0 && most == least) fprintf(file, "; '@' is %.3g bytes", most);
  fprintf(file, "\n  +");
  for (int j = 0; j < 2 * p->cells; j++) fputc('-', file);
  fprintf(file, "+\n");
  for (int i = 0; i < p->cells; i++) {
    fprintf(file, "  |");
    for (int j = 0; j < p->cells; j++) {
      char c = shade(p->bytes[(int64_t)i * p->cells + j], least, most);
      fprintf(file, "%c%c", c, c); /* a character is twice as high as it is wide */
    }
    fprintf(file, "|\n");
  }
  fprintf(file, "  +");
  for (int j = 0; j < 2 * p->cells; j++) fputc('-', file);
  fprintf(file, "+\n");
}

static int write_data(const picture *p, const char *stem)
{
  FILE *file = plot_open(stem);
  if (!file) return 1;
  fprintf(file, "# bytes of one exchange: a line for each sender, a column for each receiver\n");
  int edge = p->cells > 1 ? p->cells : 2; /* the least that gnuplot accepts for an image */
  for (int i = 0; i < edge; i++)
    for (int j = 0; j < edge; j++) {
      int inside = i < p->cells && j < p->cells;
      fprintf(file, "%.0f%s", inside ? p->bytes[(int64_t)i * p->cells + j] : 0.0,
              j + 1 < edge ? " " : "\n");
    }
  int failed = ferror(file);
  return fclose(file) != 0 || failed;
}

int picture_draw(const picture *p, const char *stem, const char *title, char *made, size_t room)
{
  const char *name = p->of == PICTURE_OF_RANKS ? "rank" : "node";
  char commands[2048], words[512];
  double least, most, step = (double)p->per_cell;
  if (write_data(p, stem)) {
    snprintf(made, room, "%s.dat cannot be written", stem);
    return EXIT_FAILED;
  }
  find_range(p, &least, &most);
  plot_quote(title, words, sizeof words);
  snprintf(commands, sizeof commands,
           "set title %s noenhanced\n"
           "set xlabel 'receiving %s'\n"
           "set ylabel 'sending %s'\n"
           "set cblabel 'bytes of one exchange'\n"
           "set size ratio -1\n"
           "unset key\n"
           "unset grid\n"
           "set xrange [%g:%g]\n"
           "set yrange [%g:%g]\n"
           "%s"
           "set cbrange [%g:%g]\n"
           "set palette defined (0 '#dbe9f6', 0.5 '#3f8fc5', 1 '#08306b')\n"
           "plot data matrix using (%g*$1):(%g*$2):($3 > 0 ? $3 : NaN) with image\n",
           words, name, name, -0.5 * step, step * (p->cells - 0.5), step * (p->cells - 0.5),
           -0.5 * step, most > least ? "set logscale cb\n" : "", most > 0 ? least : 0,
           most > least ? most : most + 1, step, step);
  return plot_draw(stem, commands, made, room);
}
