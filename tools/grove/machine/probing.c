#include "grove/machine/probing.h"

#include "grove/arguments.h"
#include "grove/command.h"
#include "grove/plot.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* ---- arguments ---- */

int probing_complain(int rank, const char *who, const char *format, const char *what)
{
  if (rank == 0) {
    fprintf(stderr, "grove machine %s: ", who);
    fprintf(stderr, format, what);
    fprintf(stderr, "; see grove machine %s --help\n", who);
  }
  return EXIT_BAD_INPUT;
}

static int read_arguments(int argc, char **argv, int rank, int checks, probing *out)
{
  probing s = {.effort = checks ? GROVE_MEASURE_QUICK : GROVE_MEASURE_NORMAL};
  const char *who = checks ? "check" : "measure";
  for (int i = 1; i < argc; i++) {
    const char *flag = argv[i], *value = NULL;
    if (strcmp(flag, "--json") == 0)
      s.json = 1;
    else if (strcmp(flag, "--quick") == 0)
      s.effort = GROVE_MEASURE_QUICK;
    else if (strcmp(flag, "--thorough") == 0)
      s.effort = GROVE_MEASURE_THOROUGH;
    else if ((value = flag_value(argc, argv, &i, "--picture")))
      s.picture = value;
    else if (!checks && (value = flag_value(argc, argv, &i, "-o")))
      s.output = value;
    else if (!checks && (value = flag_value(argc, argv, &i, "--name")))
      s.name = value;
    else if (!checks && (value = flag_value(argc, argv, &i, "--off-node-from")))
      s.off_node_from = value;
    else if (checks && flag[0] != '-' && !s.against)
      s.against = flag;
    else
      return probing_complain(rank, who, "'%s' is not understood", flag);
    if (value && (*value == '\0' || (s.name == value && !grove_text_fits(value))))
      return probing_complain(rank, who, "'%s' has not the value that it needs", flag);
  }
  if (checks && !s.against) return probing_complain(rank, who, "which profile?%s", "");
  *out = s;
  return EXIT_OK;
}

/* ---- progress ---- */

/* A bar on a terminal; else one line per step, since mpirun hides the terminal from its ranks. */
void probing_progress(void *self, const char *what, double share, double seconds_left)
{
  enum { WIDTH = 30 };
  (void)self;
  if (!isatty(2)) {
    if (share < 1) fprintf(stderr, "%3.0f %%, %3.0f s left: %s\n", 100 * share, seconds_left, what);
    return;
  }
  char bar[WIDTH + 1] = "";
  for (int i = 0; i < WIDTH; i++) bar[i] = i < (int)(share * WIDTH) ? '#' : '.';
  fprintf(stderr, "\r[%s] %3.0f s left: %-22s", bar, seconds_left, what);
  if (share >= 1) fprintf(stderr, "\r%70s\r", "");
}

/* ---- the picture ---- */

/* The time of many 8-byte messages at once, between the nearest two ranks. */
static double predict_volume(const grove_machine *m, double n, int reversed)
{
  for (int w = 0; w < GROVE_LOCALITIES; w++) {
    grove_postal cost = grove_machine_postal(m, GROVE_CPU, (grove_locality)w, 8);
    const grove_loggp *row = grove_machine_loggp(m, (grove_locality)w, 8);
    if (isnan(cost.alpha)) continue;
    double each = row ? row->g + 7 * row->G : cost.alpha + 8 * cost.beta;
    return cost.alpha + 8 * cost.beta + (n - 1) * each + (reversed ? m->gamma * n * n : 0);
  }
  return NAN;
}

double probing_predict(const grove_machine *m, const grove_point *p)
{
  int64_t bytes = (int64_t)p->x;
  if (strncmp(p->series, "messages", 8) == 0)
    return predict_volume(m, p->x, strstr(p->series, "reversed") != NULL);
  if (strncmp(p->series, "crowd", 5) == 0) { /* two neighbours */
    const grove_crowd *c = &m->crowd[strstr(p->series, "off-node") != NULL];
    return c->turn + 2 * c->message + 2 * p->x * c->byte;
  }
  for (int w = 0; w < GROVE_LOCALITIES; w++) {
    if (!strstr(p->series, grove_locality_names[w])) continue;
    const grove_loggp *row = grove_machine_loggp(m, (grove_locality)w, bytes);
    grove_postal cost = grove_machine_postal(m, GROVE_CPU, (grove_locality)w, bytes);
    if (strncmp(p->series, "ping-pong", 9) == 0) return cost.alpha + cost.beta * p->x;
    return row ? row->g + row->G * (p->x - 1) : NAN;
  }
  return NAN;
}

/* One block of the data file for each series: x, measured, predicted. */
static int write_points(const char *stem, const grove_machine *m, const grove_points *points)
{
  FILE *file = plot_open(stem);
  if (!file) return 1;
  for (int i = 0; i < points->count; i++) {
    const grove_point *p = &points->point[i];
    if (i == 0 || strcmp(p->series, p[-1].series) != 0)
      fprintf(file, "%s# %s: x, measured, fitted\n", i > 0 ? "\n\n" : "", p->series);
    fprintf(file, "%.9g %.9g %.9g\n", fmax(p->x, 0.5), p->y, probing_predict(m, p));
  }
  return fclose(file) != 0;
}

/* gnuplot commands for the series over message sizes: points, and the fits over them. Returns the
 * number of series. */
static int write_commands(const grove_points *points, char *out, size_t room)
{
  int block = -1, drawn = 0;
  size_t used = (size_t)snprintf(out, room,
                                 "set logscale xy\nset key left top\nset grid\n"
                                 "set xlabel 'bytes of a message (0 at the left edge)'\n"
                                 "set ylabel 'microseconds'\nset format xy '%%g'\n"
                                 "set title 'points: measured; lines: the profile'\nplot ");
  for (int i = 0; i < points->count; i++) {
    const char *series = points->point[i].series;
    if (i > 0 && strcmp(series, points->point[i - 1].series) == 0) continue;
    block++;
    if (strncmp(series, "ping-pong", 9) != 0 && strncmp(series, "stream", 6) != 0) continue;
    used +=
      (size_t)snprintf(out + used, room - used,
                       "%sdata index %d using 1:(1e6*$2) with points pt 7 ps 0.5 lc %d title '%s', "
                       "data index %d using 1:(1e6*$3) with lines lc %d notitle",
                       drawn++ ? ", " : "", block, block + 1, series, block, block + 1);
  }
  snprintf(out + used, room - used, "\n");
  return drawn;
}

int probing_draw(const probing *s, const grove_machine *m, const grove_points *points)
{
  char commands[4096], made[1024] = "";
  if (!s->picture) return EXIT_OK;
  if (write_points(s->picture, m, points)) {
    fprintf(stderr, "grove machine: cannot write %s.dat\n", s->picture);
    return EXIT_FAILED;
  }
  if (write_commands(points, commands, sizeof commands) == 0) {
    fprintf(stderr, "no picture: no two ranks exchanged messages\n");
    return EXIT_OK;
  }
  int code = plot_draw(s->picture, commands, made, sizeof made);
  fprintf(stderr, "%s\n", made);
  return code;
}

/* ---- running ---- */

int probing_run(int argc, char **argv, int checks, int (*run)(const probing *, int))
{
  probing s;
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int code = read_arguments(argc, argv, rank, checks, &s);
  if (code == EXIT_OK) code = run(&s, rank);
  MPI_Finalize();
  return code;
}
