/* grove machine measure and grove machine check: under mpirun, the machine at hand.
 */
#include "grove/arguments.h"
#include "grove/command.h"
#include "grove/machine.h"
#include "grove/plot.h"

#include "measure/fit.h"
#include "measure/measure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help_measure[] =
  "usage: mpirun -n RANKS grove machine measure [-o FILE] [OPTION...]\n"
  "\n"
  "Measures what messages cost on the machine that the ranks run on, and writes a profile:\n"
  "ping-pong over sizes 0 to 4 MiB between two ranks of a socket, of a node and of two\n"
  "nodes, as far as the job has such ranks; streams of messages (LogGP); the queue of\n"
  "receives; what a node can inject, with 1, 2, 4, ... ranks at once; contention on a line of\n"
  "four nodes; shared memory; and how many cores the ranks really have. Nothing else should\n"
  "be running. Start it with as many ranks a node as programs will have.\n"
  "\n"
  "  -o FILE              the profile; without it, the file of this user where machine=auto\n"
  "                       looks for the profile of this machine\n"
  "  --quick              in under ten seconds instead of under a minute\n"
  "  --thorough           in some minutes\n"
  "  --off-node-from M    on one node: complete the profile with what machine M, a name or a\n"
  "                       file, says of messages between nodes\n"
  "  --name NAME          what the profile calls itself (measured)\n"
  "  --picture STEM       draw the fits over the points: STEM.svg, STEM.png, STEM.dat\n"
  "  --json               the profile as JSON on standard output instead of a table\n"
  "\n"
  "Examples:\n"
  "  mpirun -n 64 grove machine measure --picture fits\n"
  "  mpirun -n 8 grove machine measure --quick --off-node-from infiniband -o laptop.machine\n"
  "  GROVE_MACHINE=laptop.machine mpirun -n 8 grove bench random\n";

static const char help_check[] =
  "usage: mpirun -n RANKS grove machine check NAME|FILE [OPTION...]\n"
  "\n"
  "Does a profile still hold for the machine that the ranks run on? Measures ping-pong,\n"
  "streams and many messages at once, and prints what the profile predicts beside it; then,\n"
  "for each kind, by what factor it is off in the median and at worst. Quick, unless asked.\n"
  "\n"
  "  --thorough       measure for longer\n"
  "  --picture STEM   draw measured points and predicted lines\n"
  "  --json           for programs\n"
  "\n"
  "Example:\n"
  "  mpirun -n 64 grove machine check ours.machine\n";

typedef struct settings {
  const char *output, *name, *off_node_from, *picture, *against;
  grove_effort effort;
  int json;
} settings;

/* ---- arguments ---- */

static int complain(int rank, const char *who, const char *format, const char *what)
{
  if (rank == 0) {
    fprintf(stderr, "grove machine %s: ", who);
    fprintf(stderr, format, what);
    fprintf(stderr, "; see grove machine %s --help\n", who);
  }
  return EXIT_BAD_INPUT;
}

static int read_settings(int argc, char **argv, int rank, int checks, settings *out)
{
  settings s = {.effort = checks ? GROVE_MEASURE_QUICK : GROVE_MEASURE_NORMAL};
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
      return complain(rank, who, "'%s' is not understood", flag);
    if (value && (*value == '\0' || (s.name == value && !grove_text_fits(value))))
      return complain(rank, who, "'%s' has not the value that it needs", flag);
  }
  if (checks && !s.against) return complain(rank, who, "which profile?%s", "");
  *out = s;
  return EXIT_OK;
}

/* ---- progress ---- */

/* A bar on a terminal; else a line a step, since mpirun hides the terminal from its ranks. */
static void show_progress(void *self, const char *what, double share, double seconds_left)
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

/* Many messages of 8 bytes at once, between the nearest two ranks. */
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

/* What the profile says of a point that was measured; NaN where it says nothing. */
static double predict(const grove_machine *m, const grove_point *p)
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

/* One block of the data file a series: x, measured, predicted. */
static int write_points(const char *stem, const grove_machine *m, const grove_points *points)
{
  FILE *file = plot_open(stem);
  if (!file) return 1;
  for (int i = 0; i < points->count; i++) {
    const grove_point *p = &points->point[i];
    if (i == 0 || strcmp(p->series, p[-1].series) != 0)
      fprintf(file, "%s# %s: x, measured, fitted\n", i > 0 ? "\n\n" : "", p->series);
    fprintf(file, "%.9g %.9g %.9g\n", fmax(p->x, 0.5), p->y, predict(m, p));
  }
  return fclose(file) != 0;
}

/* Commands that draw what is a matter of message sizes: points, and the fits over them. */
static void write_commands(const grove_points *points, char *out, size_t room)
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
}

static int draw(const settings *s, const grove_machine *m, const grove_points *points)
{
  char commands[4096], made[1024] = "";
  if (!s->picture) return EXIT_OK;
  if (write_points(s->picture, m, points)) {
    fprintf(stderr, "grove machine: cannot write %s.dat\n", s->picture);
    return EXIT_FAILED;
  }
  write_commands(points, commands, sizeof commands);
  int code = plot_draw(s->picture, commands, made, sizeof made);
  fprintf(stderr, "%s\n", made);
  return code;
}

/* ---- measure ---- */

/* Has the machine a row like this one, about off-node messages? */
static int has_own(const grove_machine *m, const grove_row *like)
{
  for (int i = 0; i < m->nrows; i++) {
    const grove_row *r = &m->rows[i];
    if (strcmp(r->locality, "off-node") == 0 && strcmp(r->term, like->term) == 0 &&
        strcmp(r->memory, like->memory) == 0 && strcmp(r->range, like->range) == 0)
      return 1;
  }
  return 0;
}

/* Is the row about messages of the host between nodes: directly, or among others? */
static int is_off_node(const grove_machine *m, const grove_row *r)
{
  static const char *const terms[] = {"alpha", "beta", "from", "L", "o_s", "o_r", "g", "G"};
  int host = strcmp(r->memory, "cpu") == 0 || strcmp(r->memory, "any") == 0;
  if (!host || strncmp(r->term, "crowd", 5) == 0) return 0;
  if (strcmp(r->locality, "off-node") == 0) return 1;
  for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
    if (strcmp(r->term, terms[i]) == 0) return strcmp(r->locality, "any") == 0 && !has_own(m, r);
  return 0;
}

/* Adds what `other` says of messages between nodes, and only that. */
static grove_status add_off_node(grove_machine *m, const grove_machine *other)
{
  grove_status status = GROVE_OK;
  for (int i = 0; i < other->nrows && status == GROVE_OK; i++) {
    const grove_row *r = &other->rows[i];
    if (!r->known || !is_off_node(other, r)) continue;
    char source[512];
    snprintf(source, sizeof source, "%.400s (taken from %.60s)", r->source, other->name);
    status = grove_machine_add(m, r->term, "cpu", "off-node", r->range, r->value, r->unit, source);
  }
  return status == GROVE_OK ? grove_machine_digest(m) : status;
}

static void tell_left_out(const grove_machine *m)
{
  static const char *const why[GROVE_LOCALITIES] = {
    "no two ranks of this job share a socket",
    "no two ranks of this job are on two sockets of a node",
    "all ranks of this job are on one node"};
  for (int w = 0; w < GROVE_LOCALITIES; w++)
    if (isnan(grove_machine_postal(m, GROVE_CPU, (grove_locality)w, 0).alpha))
      fprintf(stderr, "left out: %s (%s)%s\n", grove_locality_names[w], why[w],
              w == GROVE_OFF_NODE ? "; --off-node-from NAME completes it from another profile"
                                  : "");
}

/* Where the profile goes; EXIT_OK if it can be written there. On rank 0, before anything is
 * measured: nobody wants to lose a minute to a folder that is not there. */
static int find_output(const settings *s, const grove_context *ctx, char *path, size_t room)
{
  if (s->output)
    snprintf(path, room, "%s", s->output);
  else
    grove_measure_path(ctx, path, room);
  if (*path == '\0') {
    fprintf(stderr,
            "grove machine measure: where to? Neither -o, XDG_CACHE_HOME nor HOME is set\n");
    return EXIT_BAD_INPUT;
  }
  if (!s->output && make_folders(path)) {
    fprintf(stderr, "grove machine measure: cannot make the folder of %s\n", path);
    return EXIT_FAILED;
  }
  int there = access(path, F_OK) == 0;
  FILE *file = fopen(path, "a");
  if (!file) {
    fprintf(stderr, "grove machine measure: %s cannot be written: %s\n", path, strerror(errno));
    return EXIT_BAD_INPUT;
  }
  fclose(file);
  if (!there) unlink(path);
  return EXIT_OK;
}

/* What rank 0 makes of a measured machine. */
static int deliver(const settings *s, const char *path, grove_machine *m,
                   const grove_machine *other, const grove_points *points)
{
  char *name = strdup(s->name ? s->name : "measured");
  if (!name || (other && add_off_node(m, other) != GROVE_OK)) {
    fprintf(stderr, "grove machine measure: %s\n", name ? last_sentence() : "no memory");
    free(name);
    return EXIT_FAILED;
  }
  free(m->name);
  m->name = name;
  if (grove_machine_write(m, path) != GROVE_OK) {
    fprintf(stderr, "grove machine measure: %s\n", last_sentence());
    grove_profile_print(m, stdout); /* rather than lose it */
    return EXIT_FAILED;
  }
  fprintf(stderr, "written to %s%s\n", path, s->output ? "" : ", where machine=auto finds it");
  tell_left_out(m);
  int code = EXIT_OK;
  if (s->json)
    print_machine_json(m);
  else
    code = print_machine_page(m);
  return code == EXIT_OK ? draw(s, m, points) : code;
}

/* What rank 0 finds out before anything is measured; the same status on every rank. */
static int prepare(const settings *s, grove_context *ctx, char *path, size_t room,
                   grove_machine **other)
{
  int rank = 0, nnodes = 0, code = EXIT_OK;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  grove_context_node(ctx, rank, NULL, &nnodes);
  if (rank == 0 && s->off_node_from && nnodes > 1)
    code =
      complain(rank, "measure", "%s", "there are several nodes, so --off-node-from is not needed");
  if (rank == 0 && code == EXIT_OK && s->off_node_from)
    code = open_machine("machine measure", s->off_node_from, other);
  if (rank == 0 && code == EXIT_OK) code = find_output(s, ctx, path, room);
  MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return code;
}

static int run_measure(const settings *s, int rank)
{
  grove_context *ctx = NULL;
  grove_machine *m = NULL, *other = NULL;
  grove_points points = {0};
  char path[1024] = "";
  const grove_measuring how = {.effort = s->effort, .progress = show_progress};
  grove_status status = grove_context_create(MPI_COMM_WORLD, &ctx);
  int code = status == GROVE_OK ? prepare(s, ctx, path, sizeof path, &other) : EXIT_FAILED;
  if (code == EXIT_OK) status = grove_measure(ctx, &how, &points, &m);
  if (status != GROVE_OK) {
    if (rank == 0) fprintf(stderr, "grove machine measure: %s\n", last_sentence());
    code = status == GROVE_ERR_OPTION ? EXIT_BAD_INPUT : EXIT_FAILED;
  }
  if (code == EXIT_OK && rank == 0) code = deliver(s, path, m, other, &points);
  MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
  grove_points_free(&points);
  grove_machine_free(&m);
  grove_machine_free(&other);
  grove_context_free(&ctx);
  return code;
}

/* ---- check ---- */

/* Predicted over measured, by series. */
typedef struct verdict {
  const char *series;
  int points;
  double median, worst; /* of the factor by which it is off: 1 is perfect */
} verdict;

static double off_by(double predicted, double measured)
{
  double ratio = predicted / measured;
  return ratio < 1 ? 1 / ratio : ratio;
}

/* Judges the series that begins at point i; returns where the next one begins. */
static int judge(const grove_machine *m, const grove_points *points, int i, verdict *out)
{
  enum { MOST = 128 };
  double factor[MOST];
  int end = i, n = 0;
  *out = (verdict){.series = points->point[i].series};
  for (; end < points->count && strcmp(points->point[end].series, out->series) == 0; end++) {
    double predicted = predict(m, &points->point[end]);
    if (!isnan(predicted) && n < MOST) factor[n++] = off_by(predicted, points->point[end].y);
  }
  if (n == 0) return end;
  out->points = n;
  out->median = grove_median(factor, n); /* sorts them */
  out->worst = factor[n - 1];
  return end;
}

static void print_points(const grove_machine *m, const grove_points *points)
{
  printf("%-22s %10s %12s %12s %7s\n", "what", "at", "measured us", "predicted us", "ratio");
  for (int i = 0; i < points->count; i++) {
    const grove_point *p = &points->point[i];
    double predicted = predict(m, p);
    if (!isnan(predicted))
      printf("%-22s %10.0f %12.3f %12.3f %7.2f\n", p->series, p->x, 1e6 * p->y, 1e6 * predicted,
             predicted / p->y);
  }
}

static void print_verdicts(const settings *s, const grove_machine *m, const grove_points *points)
{
  verdict v;
  int first = 1;
  if (!s->json) print_points(m, points);
  printf(s->json ? "{\"series\": [" : "\n%-22s %10s %12s %12s\n", "what", "points", "median off by",
         "worst");
  for (int i = 0; i < points->count;) {
    i = judge(m, points, i, &v);
    if (v.points == 0) continue;
    if (s->json)
      printf("%s\n  {\"series\": \"%s\", \"points\": %d, \"median_factor\": %.6g, "
             "\"worst_factor\": %.6g}",
             first ? "" : ",", v.series, v.points, v.median, v.worst);
    else
      printf("%-22s %10d %12.2fx %11.2fx\n", v.series, v.points, v.median, v.worst);
    first = 0;
  }
  if (s->json) printf("\n]}\n");
}

static int run_check(const settings *s, int rank)
{
  grove_context *ctx = NULL;
  grove_machine *fresh = NULL, *m = NULL;
  grove_points points = {0};
  const grove_measuring how = {.effort = s->effort, .progress = show_progress};
  int code = rank == 0 ? open_machine("machine check", s->against, &m) : EXIT_OK;
  MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD); /* the file may be there for rank 0 alone */
  if (code != EXIT_OK) return code;
  code = EXIT_FAILED;
  grove_status status = grove_context_create(MPI_COMM_WORLD, &ctx);
  if (status == GROVE_OK) status = grove_measure(ctx, &how, &points, &fresh);
  if (status != GROVE_OK && rank == 0)
    fprintf(stderr, "grove machine check: %s\n", last_sentence());
  if (status == GROVE_OK) code = EXIT_OK;
  if (status == GROVE_ERR_OPTION) code = EXIT_BAD_INPUT;
  if (status == GROVE_OK && rank == 0) {
    print_verdicts(s, m, &points);
    code = draw(s, m, &points);
  }
  MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
  grove_points_free(&points);
  grove_machine_free(&fresh);
  grove_machine_free(&m);
  grove_context_free(&ctx);
  return code;
}

static int run_under_mpi(int argc, char **argv, int checks)
{
  settings s;
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int code = read_settings(argc, argv, rank, checks, &s);
  if (code == EXIT_OK) code = checks ? run_check(&s, rank) : run_measure(&s, rank);
  MPI_Finalize();
  return code;
}

static int measure(int argc, char **argv)
{
  return run_under_mpi(argc, argv, 0);
}

static int check(int argc, char **argv)
{
  return run_under_mpi(argc, argv, 1);
}

const command machine_measure = {
  .name = "measure",
  .summary = "a profile of the machine at hand (under mpirun)",
  .help = help_measure,
  .run = measure,
};

const command machine_check = {
  .name = "check",
  .summary = "what a profile predicts beside what is measured now (under mpirun)",
  .help = help_check,
  .run = check,
};
