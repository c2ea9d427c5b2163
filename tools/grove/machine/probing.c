#include "grove/machine/probing.h"

#include "grove/arguments.h"
#include "grove/command.h"
#include "grove/plot.h"

#include <math.h>
#include <stdlib.h>
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

/* What the value of a flag must be, if it is not that; else NULL. */
static const char *need_value(const probing *s, const char *value)
{
  if (!value || (*value && (s->name != value || grove_text_fits(value)))) return NULL;
  if (value == s->name) return "a name of one line, without blanks at its ends";
  if (value == s->picture) return "the beginning of a file's name";
  return value == s->output ? "a file" : MACHINE_NEEDS;
}

static int read_arguments(int argc, char **argv, int rank, int checks, const char *help,
                          probing *out)
{
  probing s = {0};
  int quick = 0, thorough = 0;
  const char *who = checks ? "machine check" : "machine measure";
  for (int i = 1; i < argc; i++) {
    const char *flag = argv[i], *value = NULL;
    if (strcmp(flag, "--json") == 0)
      s.json = 1;
    else if (strcmp(flag, "--quick") == 0)
      quick = 1;
    else if (strcmp(flag, "--thorough") == 0)
      thorough = 1;
    else if (!checks && strcmp(flag, "--force") == 0)
      s.force = 1;
    else if (!checks && strcmp(flag, "--fabric") == 0)
      s.fabric = 1;
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
      return rank == 0 ? refuse_flag(who, flag, help) : EXIT_BAD_INPUT;
    const char *needs = need_value(&s, value);
    if (needs) return rank == 0 ? refuse_value(who, flag, value, needs) : EXIT_BAD_INPUT;
  }
  if (quick && thorough)
    return probing_complain(rank, checks ? "check" : "measure", "%s",
                            "--quick or --thorough, not both");
  if (checks && !s.against)
    return probing_complain(rank, "check", "which profile? %s", MACHINE_NEEDS);
  s.effort = thorough          ? GROVE_MEASURE_THOROUGH
             : quick || checks ? GROVE_MEASURE_QUICK
                               : GROVE_MEASURE_NORMAL;
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

/* Of "copy d2h by 4", or "kernel by 4": how many processes; 0: another series. */
static int copiers_of(const char *series)
{
  const char *by = strstr(series, " by ");
  int copies = strncmp(series, "copy ", 5) == 0 || strncmp(series, "kernel ", 7) == 0;
  return copies && by ? (int)strtol(by + 4, NULL, 10) : 0;
}

/* A copy between host and device, or what a kernel adds to it. */
static double predict_copy(const grove_machine *m, const grove_point *p)
{
  int k = copiers_of(p->series);
  if (strncmp(p->series, "kernel", 6) == 0)
    return m->nlaunches == 0 ? NAN
                             : grove_machine_launching(m, k) +
                                 p->x * grove_machine_device_packing(m, (int64_t)p->x);
  grove_postal cost = grove_machine_copying(m, strstr(p->series, "h2d") ? GROVE_H2D : GROVE_D2H, k);
  return cost.alpha + cost.beta * p->x;
}

double probing_predict(const grove_machine *m, const grove_point *p)
{
  int64_t bytes = (int64_t)p->x;
  if (strncmp(p->series, "exchange", 8) == 0) return p->predicted;
  if (copiers_of(p->series) > 0) return predict_copy(m, p);
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

/* One block of the data file for each series: x, measured, predicted, and the bytes of all
 * processes that copy. */
static int write_points(const char *stem, const grove_machine *m, const grove_points *points)
{
  FILE *file = plot_open(stem);
  if (!file) return 1;
  for (int i = 0; i < points->count; i++) {
    const grove_point *p = &points->point[i];
    if (i == 0 || strcmp(p->series, p[-1].series) != 0)
      fprintf(file, "%s# %s: x, measured, fitted\n", i > 0 ? "\n\n" : "", p->series);
    fprintf(file, "%.9g %.9g %.9g", fmax(p->x, 0.5), p->y, probing_predict(m, p));
    if (copiers_of(p->series) > 0) fprintf(file, " %.9g", copiers_of(p->series) * p->x);
    fprintf(file, "\n");
  }
  return fclose(file) != 0;
}

static int is_message(const char *series)
{
  return strncmp(series, "ping-pong", 9) == 0 || strncmp(series, "stream", 6) == 0;
}

static int is_copy(const char *series)
{
  return strncmp(series, "copy", 4) == 0;
}

/* A picture: which series, and over which column of the data. */
typedef struct drawing {
  int (*shows)(const char *series);
  int x;
  const char *x_label;
} drawing;

static const drawing messages = {is_message, 1, "bytes of a message (0 at the left edge)"};
static const drawing copies = {is_copy, 4, "bytes of all processes together"};

/* gnuplot commands: points, and the fits over them. Returns the number of series. */
static int write_commands(const drawing *d, const grove_points *points, char *out, size_t room)
{
  int block = -1, drawn = 0;
  size_t used = (size_t)snprintf(out, room,
                                 "set logscale xy\nset key left top\nset grid\nset xlabel '%s'\n"
                                 "set ylabel 'microseconds'\nset format xy '%%g'\n"
                                 "set title 'points: measured; lines: the profile'\nplot ",
                                 d->x_label);
  for (int i = 0; i < points->count; i++) {
    const char *series = points->point[i].series;
    if (i > 0 && strcmp(series, points->point[i - 1].series) == 0) continue;
    block++;
    if (!d->shows(series) || used >= room) continue;
    used += (size_t)snprintf(
      out + used, room - used,
      "%sdata index %d using %d:(1e6*$2) with points pt 7 ps 0.5 lc %d title '%s', "
      "data index %d using %d:(1e6*$3) with lines lc %d notitle",
      drawn++ ? ", " : "", block, d->x, block + 1, series, block, d->x, block + 1);
  }
  if (used < room) snprintf(out + used, room - used, "\n");
  return drawn;
}

static int draw_messages(const probing *s, const grove_machine *m, const grove_points *points)
{
  char commands[8192], made[1024] = "";
  if (write_points(s->picture, m, points)) {
    fprintf(stderr, "grove machine: cannot write %s.dat\n", s->picture);
    return EXIT_FAILED;
  }
  if (write_commands(&messages, points, commands, sizeof commands) == 0) {
    fprintf(stderr, "no picture: no two ranks exchanged messages\n");
    return EXIT_OK;
  }
  int code = plot_draw(s->picture, commands, made, sizeof made);
  fprintf(stderr, "%s\n", made);
  return code;
}

/* The same data, in a picture of its own. */
static int draw_copies(const probing *s, const grove_machine *m, const grove_points *points)
{
  char commands[8192], made[1024] = "", stem[1024];
  if (write_commands(&copies, points, commands, sizeof commands) == 0) return EXIT_OK;
  snprintf(stem, sizeof stem, "%s-copies", s->picture);
  if (write_points(stem, m, points)) {
    fprintf(stderr, "grove machine: cannot write %s.dat\n", stem);
    return EXIT_FAILED;
  }
  int code = plot_draw(stem, commands, made, sizeof made);
  fprintf(stderr, "%s\n", made);
  return code;
}

int probing_draw(const probing *s, const grove_machine *m, const grove_points *points)
{
  if (!s->picture) return EXIT_OK;
  int code = draw_messages(s, m, points);
  return code == EXIT_OK ? draw_copies(s, m, points) : code;
}

/* ---- running ---- */

int probing_run(int argc, char **argv, int checks, const char *help,
                int (*run)(const probing *, int))
{
  probing s;
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int code = read_arguments(argc, argv, rank, checks, help, &s);
  if (code == EXIT_OK) code = run(&s, rank);
  MPI_Finalize();
  return code;
}
