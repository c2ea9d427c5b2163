/* grove machine check: a profile's predictions beside what is measured now, under mpirun.
 */
#include "grove/arguments.h"
#include "grove/command.h"
#include "grove/machine/machine.h"
#include "grove/machine/probing.h"

#include "measure/fit.h"

#include <math.h>
#include <string.h>

static const char help_check[] =
  "usage: mpirun -n RANKS grove machine check NAME|FILE|auto [OPTION...]\n"
  "\n"
  "Does a profile still hold for the machine that the ranks run on? Measures ping-pong,\n"
  "streams, many messages at once and exchanges of all ranks, and prints what the profile\n"
  "predicts beside it; then, for each kind, by what factor it is off in the median and at\n"
  "worst.\n"
  "\n"
  "  --thorough       measure for longer; without it, the check is quick\n"
  "  --picture STEM   draw measured points and predicted lines\n"
  "  --json           for programs\n"
  "\n"
  "Example:\n"
  "  mpirun -n 64 grove machine check ours.machine\n";

/* Predicted over measured, by series. */
typedef struct verdict {
  const char *series;
  int points;
  double median, worst; /* factor of error: 1 is perfect */
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
    double predicted = probing_predict(m, &points->point[end]);
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
    double predicted = probing_predict(m, p);
    if (!isnan(predicted))
      printf("%-22s %10.0f %12.3f %12.3f %7.2f\n", p->series, p->x, 1e6 * p->y, 1e6 * predicted,
             predicted / p->y);
  }
}

/* A prediction of 0 is off by a factor that is not finite. */
static void print_json_verdict(const verdict *v, int first)
{
  printf("%s\n  {\"series\": \"%s\", \"points\": %d, \"median_factor\": ", first ? "" : ",",
         v->series, v->points);
  print_json_number(v->median);
  printf(", \"worst_factor\": ");
  print_json_number(v->worst);
  printf("}");
}

static void print_verdicts(const probing *s, const grove_machine *m, const grove_points *points)
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
      print_json_verdict(&v, first);
    else
      printf("%-22s %10d %12.2fx %11.2fx\n", v.series, v.points, v.median, v.worst);
    first = 0;
  }
  if (s->json) printf("\n]}\n");
}

static int run_check(const probing *s, int rank)
{
  grove_context *ctx = NULL;
  grove_machine *fresh = NULL, *m = NULL;
  grove_points points = {0};
  int code = rank == 0 ? open_machine("machine check", s->against, &m) : EXIT_OK;
  MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD); /* only rank 0 may have the file */
  if (code != EXIT_OK) return code;
  code = EXIT_FAILED;
  const grove_measuring how = {
    .effort = s->effort, .progress = probing_progress, .devices = 1, .against = m};
  grove_status status = grove_context_create(MPI_COMM_WORLD, &ctx);
  if (status == GROVE_OK) status = grove_measure(ctx, &how, &points, &fresh);
  if (status != GROVE_OK && rank == 0)
    fprintf(stderr, "grove machine check: %s\n", last_sentence());
  if (status == GROVE_OK) code = EXIT_OK;
  if (status == GROVE_ERR_OPTION) code = EXIT_BAD_INPUT;
  if (status == GROVE_OK && rank == 0) {
    print_verdicts(s, m, &points);
    code = probing_draw(s, m, &points);
  }
  MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
  grove_points_free(&points);
  grove_machine_free(&fresh);
  grove_machine_free(&m);
  grove_context_free(&ctx);
  return code;
}

static int run(int argc, char **argv)
{
  return probing_run(argc, argv, 1, help_check, run_check);
}

const command machine_check = {
  .name = "check",
  .summary = "what a profile predicts beside what is measured now (under mpirun)",
  .help = help_check,
  .run = run,
  .is_parallel = always_parallel,
};
