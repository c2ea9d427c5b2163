/* The driver of the benchmarks of channels, and of forest operations that leave by parts: the cases
 * of a grid, every method of a case in turn, in rounds. One MPI, one number of ranks, one set of
 * settings. bench/run --partitioned and --parts start it for each, and interpret the rows.
 */
#include "part_case.h"

#include "rows.h"

#include "kit/conditions.h"
#include "kit/flags.h"
#include "kit/need.h"
#include "kit/rounds.h"
#include "kit/stats.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
  "usage: mpirun -n 2 grove_bench_parts [OPTION...]    (sweeps: -n 4)\n"
  "\n"
  "  --grid FILE          the cases (bench/partitioned/grid.txt; also fabric.txt there)\n"
  "  --case NAME          only this line of it, or all that begin with NAME if it ends in -\n"
  "  --most BYTES         no larger ones\n"
  "  --samples N          of each method (101)\n"
  "  --case-seconds S     after so long a case ends, if it has 7 samples of each (2.5)\n"
  "  --matrix FILE        of lines of forests: a Matrix Market file, or 27pt:SIDE, a box of\n"
  "                       SIDE^3 points per rank; without it, none of them\n"
  "  --off-node           of the matrix, only what crosses between nodes\n"
  "  --spin               computing takes a core, where a rank has one for each of its threads\n"
  "  --funneled           only the main thread may call MPI: for lines that measure marks\n"
  "  --pin                each rank keeps to its share of the cores, by its number\n"
  "  --sabotage METHOD    break one value of this method, to see that it is found\n"
  "  --list               the methods of this build\n"
  "\n"
  "Exit status: 0; 1 a method gave wrong values; 2 wrong usage; 3 something failed.\n";

enum { EXIT_WRONG = 1, EXIT_USAGE = 2, MOST_BATCH = 16 };

typedef struct settings {
  const char *grid, *only, *sabotage, *matrix;
  int64_t most;
  int samples;
  double case_seconds;
  int list, pin, spin, funneled, off_node;
} settings;

/* Returns the argument that is not understood, or NULL. */
static const char *read_settings(int argc, char **argv, settings *s)
{
  const bench_flag flags[] = {
    {"--grid", BENCH_TEXT, &s->grid},
    {"--case", BENCH_TEXT, &s->only},
    {"--sabotage", BENCH_TEXT, &s->sabotage},
    {"--matrix", BENCH_TEXT, &s->matrix},
    {"--most", BENCH_BYTES, &s->most},
    {"--samples", BENCH_COUNT, &s->samples},
    {"--case-seconds", BENCH_REAL, &s->case_seconds},
    {"--off-node", BENCH_SWITCH, &s->off_node},
    {"--spin", BENCH_SWITCH, &s->spin},
    {"--funneled", BENCH_SWITCH, &s->funneled},
    {"--pin", BENCH_SWITCH, &s->pin},
    {"--list", BENCH_SWITCH, &s->list},
    {NULL, BENCH_SWITCH, NULL},
  };
  return bench_read_flags(argc, argv, flags);
}

/* `nodes`: the number of nodes. */
static int is_chosen(const settings *s, const bench_part_line *line, int ranks, int nodes)
{
  if (line->mode->ranks > 0 ? line->mode->ranks != ranks : !s->matrix) return 0;
  if (line->mode->relays && (nodes == 1 || nodes == ranks)) return 0;
  return bench_is_chosen(s->only, line->name);
}

/* ---- entrants ---- */

/* A context with the options after the method's name, except `memory` and `look`, which are not
 * options. */
static grove_context *make_context(const bench_part_case *c, const bench_part_entrant *e)
{
  char words[BENCH_NAME], *rest = words;
  grove_context *ctx;
  bench_need_grove(grove_context_create(c->comm, &ctx));
  if (e->method->is_grove) bench_need_grove(grove_context_set(ctx, "aggregator", e->method->name));
  snprintf(words, sizeof words, "%s", e->name);
  strtok_r(words, ":", &rest);
  for (char *word; (word = strtok_r(NULL, ",", &rest));) {
    char *value = strchr(word, '=');
    bench_need(value != NULL, "an option of a method has no value");
    *value++ = '\0';
    if (strcmp(word, "memory") != 0 && strcmp(word, "look") != 0)
      bench_need_grove(grove_context_set(ctx, word, value));
  }
  return ctx;
}

/* Returns whether it is available in this build and place. */
static int open_entrant(bench_part_case *c, const char *name, const settings *s,
                        bench_part_entrant *e)
{
  char method[BENCH_NAME];
  snprintf(method, sizeof method, "%.*s", (int)strcspn(name, ":"), name);
  *e = (bench_part_entrant){.method = bench_part_method_find(method), .batch = 1};
  if (!e->method || (strcmp(method, "table") == 0 && !getenv("GROVE_PART_TABLE"))) return 0;
  snprintf(e->name, sizeof e->name, "%s", name);
  e->is_spoilt = s->sabotage && strcmp(s->sabotage, name) == 0;
  e->samples = bench_alloc((size_t)s->samples, sizeof *e->samples);
  if (e->method->is_grove || e->method->is_forest) e->ctx = make_context(c, e);
  e->state = c->line->mode->open(c, e);
  return 1;
}

/* Returns how many there are. */
static int open_entrants(bench_part_case *c, const settings *s, bench_part_entrant *entrants)
{
  int n = 0;
  for (int i = 0; i < c->line->nmethods; i++) {
    const char *name = c->line->methods[i];
    if (open_entrant(c, name, s, &entrants[n]))
      n++;
    else if (c->rank == 0)
      printf("missing %s %d %lld %s\n", c->line->name, c->parts, (long long)c->bytes, name);
  }
  return n;
}

static void close_entrant(bench_part_case *c, bench_part_entrant *e)
{
  c->line->mode->close(e->state);
  if (e->ctx) bench_need_grove(grove_context_free(&e->ctx));
  MPI_Allreduce(MPI_IN_PLACE, &e->wrong, 1, MPI_INT64_T, MPI_SUM, c->comm);
}

/* ---- rounds ---- */

/* Enough rounds that a sample takes about 2 ms. */
static void warm_up(const bench_part_case *c, bench_part_entrant *e)
{
  double begin = MPI_Wtime();
  for (int i = 0; i < c->line->mode->warm; i++) c->line->mode->sample(e->state, i);
  double batch = 2e-3 * c->line->mode->warm / (MPI_Wtime() - begin);
  e->batch = batch < 1 ? 1 : batch > MOST_BATCH ? MOST_BATCH : (int)batch;
  MPI_Bcast(&e->batch, 1, MPI_INT, 0, c->comm);
}

typedef struct field {
  const bench_part_case *c;
  bench_part_entrant entrants[BENCH_ENTRANTS];
} field;

static void take_sample(void *about, int entrant, int round)
{
  field *f = about;
  bench_part_entrant *e = &f->entrants[entrant];
  double sum = 0;
  for (int i = 0; i < e->batch; i++)
    sum += f->c->line->mode->sample(e->state, (int64_t)(round + 1) * MOST_BATCH + i);
  e->samples[round] = sum / e->batch;
}

/* Returns the number of samples of each. */
static int measure(field *f, int n, const settings *s)
{
  for (int i = 0; i < n; i++) warm_up(f->c, &f->entrants[i]);
  return bench_rounds_run(&(bench_rounds){.comm = f->c->comm,
                                          .entrants = n,
                                          .most = s->samples,
                                          .seconds = s->case_seconds,
                                          .sample = take_sample,
                                          .about = f});
}

/* Returns whether its values were wrong. */
static int report(const bench_part_case *c, const bench_part_entrant *e, int taken)
{
  bench_interval time = bench_centre(e->samples, taken);
  const char *word = e->wrong ? "wrong" : "row";
  if (c->rank == 0)
    printf("%s %s %d %lld %s %d %.6g %.6g %.6g %.6g %.4g\n", word, c->line->name, c->parts,
           (long long)c->bytes, e->name, e->told.messages, 1e6 * time.value, 1e6 * time.low,
           1e6 * time.high, 1e6 * e->told.predicted, e->told.share);
  return e->wrong != 0;
}

/* ---- cases ---- */

static int count_cores(void)
{
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

static int count_threads(const bench_part_case *c, int cores)
{
  int threads = c->line->threads;
  if (threads == BENCH_OF_CORES) threads = cores;
  return threads == BENCH_OF_PARTS || threads > c->parts ? c->parts : threads;
}

/* Returns the number of methods that gave wrong values. */
static int run_case(const settings *s, bench_part_case c)
{
  field f = {.c = &c};
  bench_part_entrant *entrants = f.entrants;
  int bad = 0, cores = count_cores();
  MPI_Bcast(&cores, 1, MPI_INT, 0, c.comm);
  c.threads = count_threads(&c, cores);
  c.team = bench_team_create(c.threads + c.line->mode->idle, s->spin && c.threads <= cores);
  c.memory = aligned_alloc(4096, (size_t)(c.bytes + 4095) / 4096 * 4096);
  bench_need(c.memory != NULL, "no memory left");
  memset(c.memory, 0, (size_t)c.bytes);
  int n = open_entrants(&c, s, entrants);
  int taken = measure(&f, n, s);
  for (int i = 0; i < n; i++) close_entrant(&c, &entrants[i]);
  for (int i = 0; i < n; i++) {
    bad += report(&c, &entrants[i], taken);
    free(entrants[i].samples);
  }
  if (c.rank == 0) fflush(stdout);
  free(c.memory);
  bench_team_free(c.team);
  return bad;
}

static int run_line(const settings *s, const bench_part_line *line, bench_part_case c)
{
  int bad = 0;
  c.line = line;
  for (int i = 0; i < line->nparts; i++)
    for (int j = 0; j < line->nbytes; j++) {
      c.parts = line->parts[i];
      c.bytes = line->bytes[j];
      if (s->most && c.bytes > s->most) continue;
      if (c.rank == 0)
        fprintf(stderr, "  %s, %d parts, %lld bytes\n", line->name, c.parts, (long long)c.bytes);
      bad += run_case(s, c);
    }
  return bad;
}

/* Reads the matrix, if there is one, and prints its size; returns the number of nodes. */
static int read_rows(const settings *s, const bench_part_case *c, bench_rows *rows)
{
  grove_context *ctx;
  int nodes;
  bench_need_grove(grove_context_create(c->comm, &ctx));
  bench_need_grove(grove_context_node(ctx, 0, NULL, &nodes));
  if (s->matrix) {
    bench_rows_read(c->comm, s->matrix, s->off_node ? ctx : NULL, rows);
    int64_t all[2] = {rows->rows, rows->ghosts};
    MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_INT64_T, MPI_SUM, c->comm);
    if (c->rank == 0)
      printf("conditions %s: %lld rows, %lld ghosts, %d nodes\n", s->matrix, (long long)all[0],
             (long long)all[1], nodes);
  }
  bench_need_grove(grove_context_free(&ctx));
  return nodes;
}

static int run_grid(const settings *s, bench_part_case c)
{
  bench_part_line *grid = NULL;
  bench_rows rows = {0};
  int ranks, bad = 0, nlines = bench_part_grid_read(s->grid, &grid);
  if (nlines < 0) return EXIT_USAGE;
  MPI_Comm_size(c.comm, &ranks);
  bench_report_conditions(c.comm, s->pin);
  int nodes = read_rows(s, &c, &rows);
  c.rows = &rows;
  for (int i = 0; i < nlines; i++)
    if (is_chosen(s, &grid[i], ranks, nodes)) bad += run_line(s, &grid[i], c);
  bench_rows_free(&rows);
  free(grid);
  return bad ? EXIT_WRONG : 0;
}

int main(int argc, char **argv)
{
  settings s = {.grid = "bench/partitioned/grid.txt", .samples = 101, .case_seconds = 2.5};
  const char *unknown = read_settings(argc, argv, &s);
  int level, status = 0, wanted = s.funneled ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE;
  bench_part_case c = {.comm = MPI_COMM_WORLD};
  MPI_Init_thread(&argc, &argv, wanted, &level);
  MPI_Comm_rank(c.comm, &c.rank);
  bench_need(level >= wanted, "this MPI does not allow threads");
  if (unknown) {
    if (c.rank == 0) fprintf(stderr, "bench: '%s' is not understood\n%s", unknown, help);
    status = EXIT_USAGE;
  } else if (s.list) {
    for (int i = 0; c.rank == 0 && bench_part_methods[i]; i++)
      printf("%-16s %s\n", bench_part_methods[i]->name, bench_part_methods[i]->about);
  } else {
    if (s.pin) bench_pin(c.comm);
    status = run_grid(&s, c);
  }
  MPI_Finalize();
  return status;
}
