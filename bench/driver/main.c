/* The driver: runs the cases of a grid, every method of a case in turn, and prints one row per
 * comparison. One MPI, one number of ranks, one set of MPI settings; bench/run starts it for each.
 */
#include "driver/measure.h"
#include "driver/report.h"
#include "kit/conditions.h"
#include "kit/flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
  "usage: mpirun -n RANKS grove_bench [OPTION...]\n"
  "\n"
  "  --grid FILE          the cases (bench/grid.txt)\n"
  "  --case NAME          only this case, or all that begin with NAME if it ends in -\n"
  "  --batches N          batches of each method (101)\n"
  "  --batch-seconds S    how long a batch takes, about (0.0005)\n"
  "  --case-seconds S     after so long a case ends, if it has 7 batches of each (2.5)\n"
  "  --crowded TARGET     the target against MPI and PETSc, where ranks outnumber cores\n"
  "  --sabotage METHOD    break one value of this method, to see that it is found\n"
  "  --threads            MPI_THREAD_MULTIPLE, for methods with threads\n"
  "  --pin                each rank keeps to its share of the cores, by its number\n"
  "  --list               the methods of this build\n"
  "\n"
  "Exit status: 0; 1 a method gave wrong values; 2 wrong usage; 3 something failed.\n";

enum { EXIT_WRONG = 1, EXIT_USAGE = 2, MOST_ENTRANTS = 24 };

typedef struct settings {
  const char *grid, *only, *sabotage;
  bench_effort effort;
  double crowded_target;
  int list, threads, pin;
} settings;

/* Returns the argument that is not understood, or NULL. */
static const char *read_settings(int argc, char **argv, settings *s)
{
  const bench_flag flags[] = {
    {"--grid", BENCH_TEXT, &s->grid},
    {"--case", BENCH_TEXT, &s->only},
    {"--sabotage", BENCH_TEXT, &s->sabotage},
    {"--batches", BENCH_COUNT, &s->effort.batches},
    {"--batch-seconds", BENCH_POSITIVE, &s->effort.batch_seconds},
    {"--case-seconds", BENCH_REAL, &s->effort.case_seconds},
    {"--crowded", BENCH_REAL, &s->crowded_target},
    {"--threads", BENCH_SWITCH, &s->threads},
    {"--pin", BENCH_SWITCH, &s->pin},
    {"--list", BENCH_SWITCH, &s->list},
    {NULL, BENCH_SWITCH, NULL},
  };
  return bench_read_flags(argc, argv, flags);
}

/* ---- entrants ---- */

/* The entrants of a case: its methods, on the case itself and on its variants ("grove@double"). */
typedef struct field {
  bench_case c;
  int nvariants;
  bench_spec variant_spec[BENCH_COMPARISONS];
  bench_case variant[BENCH_COMPARISONS];
  int n;
  bench_entrant entrants[MOST_ENTRANTS];
  const bench_method *failed; /* the last that cannot do what it claims */
} field;

static const bench_entrant *find_entrant(const field *f, const char *method, const char *variant)
{
  for (int i = 0; i < f->n; i++) {
    const bench_entrant *e = &f->entrants[i];
    if (strcmp(e->method->name, method) == 0 && strcmp(e->variant, variant) == 0) return e;
  }
  return NULL;
}

/* The same case with only one array ("one"), or with another type: a pair with as many bytes, a
 * graph with as many leaves. */
static bench_case *open_variant(field *f, const char *variant)
{
  bench_spec *spec = &f->variant_spec[f->nvariants];
  bench_case *c = &f->variant[f->nvariants++];
  *spec = *f->c.spec;
  if (strcmp(variant, "one") == 0)
    spec->buffers = 1;
  else
    spec->type = bench_type_find(variant);
  bench_need(spec->type != NULL, "the grid names a variant that does not exist");
  bench_need(bench_case_open(spec, f->c.comm, f->c.ctx, c) == 0, "a case cannot be made");
  return c;
}

/* Reports a method once per case. */
static void note_failure(field *f, const bench_method *m)
{
  if (f->failed == m) return;
  f->failed = m;
  if (f->c.rank == 0) printf("failed %s %s\n", f->c.spec->name, m->name);
}

static void add_entrant(field *f, const char *method, const char *variant)
{
  const bench_method *m = bench_method_find(method);
  if (!m || find_entrant(f, method, variant)) return;
  int supports = m->supports(f->c.spec);
  if (supports < 0) note_failure(f, m);
  if (supports <= 0) return;
  bench_need(f->n < MOST_ENTRANTS, "too many methods in a case");
  bench_entrant *e = &f->entrants[f->n++];
  e->method = m;
  e->c = variant[0] ? open_variant(f, variant) : &f->c;
  snprintf(e->variant, sizeof e->variant, "%s", variant);
}

static void add_named(field *f, const char *name)
{
  char method[32];
  size_t length = strcspn(name, "@");
  snprintf(method, sizeof method, "%.*s", (int)length, name);
  if (strcmp(name, "mpi") == 0) {
    add_entrant(f, "mpi-send", "");
    add_entrant(f, "mpi-persistent", "");
  } else {
    add_entrant(f, method, name[length] ? name + length + 1 : "");
  }
}

/* Removes entrants that give wrong values, and reports them; returns how many. */
static int verify(field *f, const char *sabotage)
{
  int good = 0, bad = 0;
  for (int i = 0; i < f->n; i++) {
    bench_entrant *e = &f->entrants[i];
    int64_t wrong = bench_verify(e, sabotage && strcmp(sabotage, e->method->name) == 0);
    if (wrong == 0) f->entrants[good++] = *e;
    bad += wrong != 0;
    if (wrong && f->c.rank == 0)
      printf("wrong %s %s %lld\n", f->c.spec->name, e->method->name, (long long)wrong);
  }
  f->n = good;
  return bad;
}

/* Returns the number of methods that gave wrong values. */
static int run_case(const settings *s, const bench_spec *spec, MPI_Comm comm, grove_context *ctx)
{
  static field f; /* too large for a stack */
  int rank, bad = 0, rounds = 0;
  memset(&f, 0, sizeof f);
  MPI_Comm_rank(comm, &rank);
  if (bench_case_open(spec, comm, ctx, &f.c) == 0) {
    for (int i = 0; i < spec->ncomparisons; i++) {
      add_named(&f, spec->comparisons[i].method);
      add_named(&f, spec->comparisons[i].peer);
    }
    bad = verify(&f, s->sabotage);
    rounds = bench_measure_all(f.entrants, f.n, s->effort);
  }
  if (rank == 0) bench_report(spec, f.entrants, f.n, rounds, s->crowded_target);
  for (int i = 0; i < f.n; i++) bench_samples_free(&f.entrants[i]);
  for (int i = 0; i < f.nvariants; i++) bench_case_close(&f.variant[i]);
  if (f.c.root) bench_case_close(&f.c);
  return bad;
}

/* Shows the progress now and then. */
static void report_progress(int at, int of, const char *name)
{
  static double last;
  if (MPI_Wtime() - last < 2) return;
  last = MPI_Wtime();
  fprintf(stderr, "  %d/%d %s\n", at, of, name);
}

static int run_grid(const settings *s, MPI_Comm comm)
{
  bench_spec *grid = NULL;
  int rank, bad = 0, ncases = bench_grid_read(s->grid, &grid);
  MPI_Comm_rank(comm, &rank);
  if (ncases < 0) return EXIT_USAGE;
  bench_report_conditions(comm, s->pin);
  grove_context *ctx;
  bench_need_grove(grove_context_create(comm, &ctx));
  for (int i = 0; i < ncases; i++) {
    if (!bench_is_chosen(s->only, grid[i].name)) continue;
    if (rank == 0) report_progress(i + 1, ncases, grid[i].name);
    bad += run_case(s, &grid[i], comm, ctx);
  }
  bench_need_grove(grove_context_free(&ctx));
  free(grid);
  return bad ? EXIT_WRONG : 0;
}

int main(int argc, char **argv)
{
  settings s = {.grid = "bench/grid.txt", .effort = {101, 0.0005, 2.5}};
  int rank, level, status = 0;
  const char *wrong = read_settings(argc, argv, &s);
  MPI_Init_thread(&argc, &argv, s.threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (wrong) {
    if (rank == 0) fprintf(stderr, "bench: '%s' is not understood\n%s", wrong, help);
    status = EXIT_USAGE;
  } else if (s.list) {
    for (int i = 0; rank == 0 && bench_methods[i]; i++)
      printf("%-16s %s\n", bench_methods[i]->name, bench_methods[i]->about);
  } else {
    if (s.pin) bench_pin(MPI_COMM_WORLD);
    status = run_grid(&s, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return status;
}
