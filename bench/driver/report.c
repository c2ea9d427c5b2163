#include "driver/report.h"

#include "kit/row.h"

#include <stdio.h>
#include <string.h>

/* ---- who is compared ---- */

/* "mpi" stands for the better of the two ways that the target names. */
static int answers_to(const bench_entrant *e, const char *name)
{
  const char *own = e->method->name;
  size_t length = strcspn(name, "@");
  if (strcmp(name, "mpi") == 0)
    return strcmp(own, "mpi-send") == 0 || strcmp(own, "mpi-persistent") == 0;
  return strlen(own) == length && strncmp(own, name, length) == 0 &&
         strcmp(e->variant, name[length] ? name + length + 1 : "") == 0;
}

/* Of all entrants with this name, the one with the smallest median. */
static const bench_entrant *best(const char *name, const bench_entrant *e, int n, int batches)
{
  const bench_entrant *found = NULL;
  double least = 0;
  for (int i = 0; i < n; i++) {
    if (!answers_to(&e[i], name)) continue;
    double median = bench_median(e[i].samples, batches);
    if (found && median >= least) continue;
    found = &e[i];
    least = median;
  }
  return found;
}

/* ---- what it means ---- */

double bench_target(const bench_comparison *x, double crowded_target)
{
  if (crowded_target == 0 || strcmp(x->peer, "value") == 0) return x->target;
  return strcmp(x->peer, "mpi") == 0 || strcmp(x->peer, "petsc") == 0 ? crowded_target : 0;
}

static void report_one(const bench_spec *spec, const bench_comparison *x, const bench_entrant *e,
                       int n, int batches, double crowded_target)
{
  double target = bench_target(x, crowded_target);
  double scale = spec->measure >= BENCH_MEMORY ? 1 : 1e6; /* bytes, or microseconds */
  const bench_entrant *one = best(x->method, e, n, batches);
  const bench_entrant *other = best(x->peer, e, n, batches);
  int alone = strcmp(x->peer, "value") == 0;
  if (!one || (!other && !alone)) {
    printf("missing %s %s %s %g\n", spec->name, x->method, x->peer, target);
    return;
  }
  if (alone) {
    bench_interval value = bench_centre(one->samples, batches);
    double values[2] = {value.value * scale, target};
    value = (bench_interval){value.value * scale, value.low * scale, value.high * scale};
    bench_row_print(&(bench_row){spec->name, x->method, x->peer, "-"}, values, value, target);
    return;
  }
  double values[2] = {bench_median(one->samples, batches) * scale,
                      bench_median(other->samples, batches) * scale};
  bench_row_print(&(bench_row){spec->name, x->method, x->peer, other->method->name}, values,
                  bench_ratio(one->samples, other->samples, batches), target);
}

/* Shares are not times: each method's is printed by itself, with its components. */
static void report_overlap(const bench_spec *spec, const bench_entrant *e, int batches)
{
  bench_interval share = bench_centre(e->samples, batches);
  double us[BENCH_TIMES];
  for (int i = 0; i < BENCH_TIMES; i++) us[i] = 1e6 * bench_median(e->times[i], batches);
  printf("hidden %s %s %.6g %.6g %.6g %.4f %.4f %.4f\n", spec->name, e->method->name,
         us[BENCH_TIME_EXCHANGE], us[BENCH_TIME_COMPUTE], us[BENCH_TIME_TOTAL], share.value,
         share.low, share.high);
}

void bench_report(const bench_spec *spec, const bench_entrant *entrants, int n, int batches,
                  double crowded_target)
{
  int overlap = spec->measure == BENCH_OVERLAP;
  for (int i = 0; overlap && i < n; i++) report_overlap(spec, &entrants[i], batches);
  for (int i = 0; !overlap && i < spec->ncomparisons; i++)
    report_one(spec, &spec->comparisons[i], entrants, n, batches, crowded_target);
  fflush(stdout);
}
