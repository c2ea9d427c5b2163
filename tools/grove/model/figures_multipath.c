/* Figures 4 to 7 of Sojoodi et al. 2025: one copy from GPU 0 to GPU 1 over 2, 3 and 4 paths, and
 * the effect on collectives between four GPUs. Each is predicted by each solver. */
#include "grove/model/figures.h"

#include "grove/arguments.h"
#include "model/multipath.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char no_links[] = "links between at least three GPUs and the host";
static const double smallest = 1 << 21, largest = 1 << 29; /* as in the paper */

static const struct multipath_case {
  const char *name, *paths;
} cases[] = {{"2 paths", "direct,gpu2"},
             {"3 paths", "direct,gpu2,gpu3"},
             {"3 paths and host", "direct,gpu2,gpu3,host"}};
enum { CASES = 3 };

/* Copies between two GPUs over a list of paths; NULL: not possible. The caller frees it. */
static grove_copies *make_set(const grove_machine *m, const char *paths, double bytes, int both,
                              int alone)
{
  grove_copies *set = calloc(1, sizeof *set);
  if (!set) return NULL;
  set->alone = alone;
  if (grove_copies_add(set, m, 0, 1, bytes, paths) == GROVE_OK &&
      (!both || grove_copies_add(set, m, 1, 0, bytes, paths) == GROVE_OK))
    return set;
  free(set);
  return NULL;
}

typedef struct multipath_point {
  double seconds, checked, single;
  grove_split split[GROVE_COPIES];
} multipath_point;

static int solve_set(grove_copies *set, grove_solver solver, multipath_point *out)
{
  int failed = !set || grove_multipath_solve(set, solver, out->split) != GROVE_OK;
  if (!failed) {
    out->seconds = out->split[0].seconds;
    for (int c = 1; c < set->count; c++) out->seconds = fmax(out->seconds, out->split[c].seconds);
    out->checked = out->split[0].checked;
    out->single = grove_multipath_single(set, NULL, NULL);
  }
  free(set);
  return failed;
}

/* ---- shares ---- */

const char *write_multipath_shares(const source *from, sheet *out)
{
  multipath_point p;
  for (int k = 0; k < CASES; k++) {
    fprintf(out->data, "%sbytes", k > 0 ? "\n\n" : "");
    for (int v = 0; v < GROVE_SOLVERS; v++)
      for (int i = 0; i < k + 2; i++)
        fprintf(out->data, " \"%s, %s\"",
                i == 0   ? "direct"
                : i == 3 ? "host"
                : i == 1 ? "gpu2"
                         : "gpu3",
                grove_solver_names[v]);
    fputc('\n', out->data);
    for (double bytes = smallest; bytes <= largest; bytes *= 2) {
      fprintf(out->data, "%.0f", bytes);
      for (int v = 0; v < GROVE_SOLVERS; v++) {
        if (solve_set(make_set(from->m, cases[k].paths, bytes, 0, from->as_published),
                      (grove_solver)v, &p))
          return no_links;
        for (int i = 0; i < p.split[0].npaths; i++)
          fprintf(out->data, " %.6g", p.split[0].load[i].share);
      }
      fputc('\n', out->data);
    }
  }
  return NULL;
}

const char multipath_shares[] =
  "set multiplot layout 1,3 title who . ': shares of the paths from GPU 0 to GPU 1; ' \\\n"
  "  . 'lines: exact, circles: published, crosses: search' noenhanced\n"
  "set logscale x 2\n"
  "set format x '2^{%L}'\n"
  "set xtics 4\n"
  "set yrange [0:1]\n"
  "set xlabel 'bytes'\n"
  "set key top right\n"
  "do for [b=0:2] {\n"
  "  n = b + 2\n"
  "  set title sprintf('%d paths', n)\n"
  "  plot for [i=2:n + 1] data index b using 1:i with lines lw 2 lc i title columnheader(i), \\\n"
  "    for [i=2:n + 1] data index b using 1:(column(i + n)) with points pt 6 lc i notitle, \\\n"
  "    for [i=2:n + 1] data index b using 1:(column(i + 2 * n)) with points pt 2 lc i notitle\n"
  "}\n"
  "unset multiplot\n";

/* ---- gain ---- */

/* The gain that each solver promises; then the gain of the published split if it did not know what
 * is shared. */
static const char *write_gains(const source *from, int both, sheet *out)
{
  multipath_point p;
  for (int k = 0; k < CASES; k++) {
    fprintf(out->data, "%sbytes", k > 0 ? "\n\n" : "");
    for (int v = 0; v < GROVE_SOLVERS; v++)
      fprintf(out->data, " \"%s, %s\"", cases[k].name, grove_solver_names[v]);
    fprintf(out->data, " \"%s, published unaware\"\n", cases[k].name);
    for (double bytes = smallest; bytes <= largest; bytes *= 2) {
      fprintf(out->data, "%.0f", bytes);
      for (int v = 0; v < GROVE_SOLVERS; v++) {
        if (solve_set(make_set(from->m, cases[k].paths, bytes, both, from->as_published),
                      (grove_solver)v, &p))
          return no_links;
        fprintf(out->data, " %.6g", p.single / p.seconds);
      }
      if (solve_set(make_set(from->m, cases[k].paths, bytes, both, 1), GROVE_SOLVER_PUBLISHED, &p))
        return no_links;
      fprintf(out->data, " %.6g\n", p.single / p.checked);
    }
  }
  return NULL;
}

const char *write_multipath_one_way(const source *from, sheet *out)
{
  return write_gains(from, 0, out);
}

const char *write_multipath_both_ways(const source *from, sheet *out)
{
  return write_gains(from, 1, out);
}

#define GAINS                                                                                      \
  "set logscale x 2\n"                                                                             \
  "set format x '2^{%L}'\n"                                                                        \
  "set yrange [0:*]\n"                                                                             \
  "set xlabel 'bytes'\n"                                                                           \
  "set ylabel 'times as fast as on the direct path'\n"                                             \
  "set key outside right\n"                                                                        \
  "plot for [b=0:2] data index b using 1:2 with lines lw 2 lc b + 1 title columnheader(2), \\\n"   \
  "  for [b=0:2] data index b using 1:3 with points pt 6 lc b + 1 title columnheader(3), \\\n"     \
  "  for [b=0:2] data index b using 1:4 with points pt 2 lc b + 1 title columnheader(4), \\\n"     \
  "  for [b=0:2] data index b using 1:5 with lines lw 2 dt 3 lc b + 1 title columnheader(5)\n"

const char multipath_one_way[] =
  "set title who . ': a copy from GPU 0 to GPU 1 over several paths' noenhanced\n" GAINS;
const char multipath_both_ways[] = "set title who . ': a copy from GPU 0 to GPU 1 and one back, "
                                   "over several paths' noenhanced\n" GAINS;

/* "2 paths 1.29 at 2 MiB, ...": by the exact solver, and by the one that does not know what is
 * shared. */
static void say_gains(const source *from, int both)
{
  static const double sizes[] = {1 << 21, 1 << 24, 1 << 28};
  multipath_point p;
  char room[32];
  for (int k = 0; k < CASES; k++) {
    printf("  %s:", cases[k].name);
    for (int i = 0; i < 3; i++) {
      if (solve_set(make_set(from->m, cases[k].paths, sizes[i], both, from->as_published),
                    GROVE_SOLVER_EXACT, &p))
        return;
      printf("%s %.2f at %s", i > 0 ? "," : "", p.single / p.seconds, show_bytes(sizes[i], room));
    }
    if (solve_set(make_set(from->m, cases[k].paths, sizes[2], both, 1), GROVE_SOLVER_PUBLISHED, &p))
      return;
    printf("; if nothing shared is known %.2f\n", p.single / p.checked);
  }
}

void say_multipath_one_way(const source *from)
{
  say_gains(from, 0);
}

void say_multipath_both_ways(const source *from)
{
  say_gains(from, 1);
}

/* ---- collectives ---- */

/* A step: each of four GPUs sends a part of its bytes to its partner. */
typedef struct step_of_four {
  double part;
  int shift; /* to rank + shift; 0: to rank ^ mask */
  int mask;
} step_of_four;

static const struct collective {
  const char *name;
  int n;
  step_of_four step[4];
} collectives[] = {
  /* Bruck's algorithm for four: half of all blocks to the next but one, the other half to the next.
   * */
  {"alltoall, Bruck", 2, {{0.5, 1, 0}, {0.5, 2, 0}}},
  /* Halving, then doubling: K-nomial with K = 2. Additions take no time here. */
  {"allreduce, 2-nomial", 4, {{0.5, 0, 2}, {0.25, 0, 1}, {0.25, 0, 1}, {0.5, 0, 2}}}};
enum { COLLECTIVES = 2 };

static int partner(const step_of_four *s, int rank)
{
  return s->shift > 0 ? (rank + s->shift) % 4 : rank ^ s->mask;
}

/* The direct path and one or both of the relays, in the order of their numbers. */
static void list_relays(int from, int to, int relays, char out[40])
{
  strcpy(out, "direct");
  for (int d = 0; d < 4 && relays > 0; d++)
    if (d != from && d != to) {
      snprintf(out + strlen(out), 8, ",gpu%d", d);
      relays--;
    }
}

static int price_step(const source *from, const step_of_four *s, double bytes, int relays,
                      grove_solver solver, multipath_point *out)
{
  grove_copies *set = calloc(1, sizeof *set);
  char paths[40];
  if (!set) return 1;
  for (int rank = 0; rank < 4; rank++) {
    list_relays(rank, partner(s, rank), relays, paths);
    if (grove_copies_add(set, from->m, rank, partner(s, rank), s->part * bytes, paths) !=
        GROVE_OK) {
      free(set);
      return 1;
    }
  }
  return solve_set(set, solver, out);
}

/* How much faster the whole collective is; 0: the machine has no such links. */
static double collective_gain(const source *from, const struct collective *c, double bytes,
                              int relays, grove_solver solver)
{
  multipath_point p;
  double single = 0, several = 0;
  for (int i = 0; i < c->n; i++) {
    if (price_step(from, &c->step[i], bytes, relays, solver, &p)) return 0;
    single += p.single;
    several += solver == GROVE_SOLVER_EXACT ? p.seconds : p.checked;
  }
  return single / several;
}

const char *write_multipath_collectives(const source *from, sheet *out)
{
  fputs("bytes", out->data);
  for (int k = 0; k < COLLECTIVES; k++)
    for (int relays = 1; relays <= 2; relays++)
      for (int v = 0; v <= GROVE_SOLVER_PUBLISHED; v++)
        fprintf(out->data, " \"%s, %d paths, %s\"", collectives[k].name, relays + 1,
                grove_solver_names[v]);
  fputc('\n', out->data);
  for (double bytes = smallest; bytes <= largest; bytes *= 2) {
    fprintf(out->data, "%.0f", bytes);
    for (int k = 0; k < COLLECTIVES; k++)
      for (int relays = 1; relays <= 2; relays++)
        for (int v = 0; v <= GROVE_SOLVER_PUBLISHED; v++) {
          double gain = collective_gain(from, &collectives[k], bytes, relays, (grove_solver)v);
          if (!(gain > 0)) return no_links;
          fprintf(out->data, " %.6g", gain);
        }
    fputc('\n', out->data);
  }
  out->last = 9;
  return NULL;
}

const char multipath_collectives[] =
  "set title who . ': collectives of four GPUs, their messages over several paths' noenhanced\n"
  "set logscale x 2\n"
  "set format x '2^{%L}'\n"
  "set yrange [0:*]\n"
  "set xlabel 'bytes of a GPU'\n"
  "set ylabel 'times as fast as over direct paths'\n"
  "set key bottom right\n"
  "dash(i) = i % 2 + 1\n"
  "plot for [i=2:last] data using 1:i with linespoints lw 2 dt dash(i) lc i / 2 \\\n"
  "  title columnheader(i)\n";

void say_multipath_collectives(const source *from)
{
  for (int k = 0; k < COLLECTIVES; k++) {
    printf("  %s:", collectives[k].name);
    for (int relays = 1; relays <= 2; relays++)
      printf("%s %d paths %.2f at 8 MiB, %.2f at 256 MiB", relays > 1 ? ";" : "", relays + 1,
             collective_gain(from, &collectives[k], 1 << 23, relays, GROVE_SOLVER_EXACT),
             collective_gain(from, &collectives[k], 1 << 28, relays, GROVE_SOLVER_EXACT));
    printf("\n");
  }
}
