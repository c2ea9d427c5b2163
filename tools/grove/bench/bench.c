/* grove bench: exchanges on a pattern by every route and by plain MPI, checked and timed.
 */
#include "grove/bench/bench.h"
#include "grove/command.h"
#include "kit/need.h"

#include "route/route.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
  "usage: mpirun -n RANKS grove bench PATTERN [OPTION...]\n"
  "\n"
  "Exchanges data on a pattern by every route and by the same lists written by hand on MPI,\n"
  "checks every value, and prints how long an exchange takes, what the model predicts, and\n"
  "how many messages and bytes it sends, on and off node.\n"
  "\n"
  "  7-point     a box of points per rank; its ghosts are those across its faces\n"
  "  27-point    the same with the ghosts across edges and corners\n"
  "  random      every leaf joined to any root of any rank\n"
  "  elasticity  what a product with a matrix of elasticity on a cube needs: 27 vertices with\n"
  "              three displacements each are coupled\n"
  "  FILE        the same for the sparse matrix in FILE.mtx or FILE.mtx.gz (Matrix Market)\n"
  "\n"
  "  --size N          points along an edge of the box (32) or of the cube, which all ranks\n"
  "                    share (16), or leaves per rank (10000)\n"
  "  --unit-bytes B    bytes of one value, a multiple of 8 (8)\n"
  "  --partition P     rows of a matrix: contiguous, in blocks, or metis (contiguous)\n"
  "  --reduce          the way back too: contributions of the leaves summed at the roots\n"
  "  --off-node        only the edges between nodes\n"
  "  --parts           also the edges inside nodes alone, and those between nodes alone\n"
  "  --only ROUTE      one route (standard, 2-step, 3-step, split or auto), not all\n"
  "  --variant V       also a route with other options: 3-step,transport_on_node=mpi;\n"
  "                    may be repeated\n"
  "  --rounds N        rounds of all entrants in turn (21); their median is printed\n"
  "  --batch N         exchanges of an entrant in a round (as many as take 20 ms)\n"
  "  --seed N          seed of the random pattern (1)\n"
  "  --machine M       the profile that predictions are made with: a name, a file, or\n"
  "                    auto, this machine's, if it was measured, else one of its kind (auto)\n"
  "  --progress        tell how far it is, even if standard error is not a terminal\n"
  "  --json            for programs, and for grove report; times in seconds\n"
  "\n"
  "Options of the library count too (grove options), for instance GROVE_NODE_SIZE. But all\n"
  "routes are measured, whatever the option route says.\n"
  "\n"
  "Examples:\n"
  "  mpirun -n 8 grove bench 27-point --reduce\n"
  "  mpirun -n 8 grove bench elasticity --json > run.json && grove report run.json\n"
  "  mpirun -n 8 grove bench cage10.mtx.gz --partition metis\n"
  "  GROVE_NODE_SIZE=2 mpirun -n 8 grove bench random --size 1000 --parts --json\n";

/* ---- arguments ---- */

#define PATTERNS "7-point, 27-point, random, elasticity, or a file NAME.mtx or NAME.mtx.gz"

static int complain(int rank, const char *format, const char *what)
{
  if (rank == 0) {
    fprintf(stderr, "grove bench: ");
    fprintf(stderr, format, what);
    fprintf(stderr, "; see grove bench --help\n");
  }
  return EXIT_BAD_INPUT;
}

static int ends_with(const char *text, const char *end)
{
  size_t n = strlen(text), m = strlen(end);
  return n > m && strcmp(text + n - m, end) == 0;
}

static int settle_pattern(bench_settings *s, int rank)
{
  if (!s->pattern) return complain(rank, "which pattern? %s", PATTERNS);
  int stencil = strcmp(s->pattern, "7-point") == 0 || strcmp(s->pattern, "27-point") == 0;
  int cube = strcmp(s->pattern, "elasticity") == 0;
  s->matrix = ends_with(s->pattern, ".mtx") || ends_with(s->pattern, ".mtx.gz");
  s->by_rows = s->matrix || cube;
  if (!stencil && !s->by_rows && strcmp(s->pattern, "random") != 0)
    return complain(rank, "there is no pattern '%s': it must be " PATTERNS, s->pattern);
  if (s->matrix && s->size > 0)
    return complain(rank, "--size is not for %s, which has its own", s->pattern);
  if (s->size == 0) s->size = stencil ? 32 : cube ? 16 : 10000;
  if ((stencil && s->size > 1000) || (cube && s->size > 100))
    return complain(rank,
                    stencil ? "--size is too large for a %s box: at most 1000 points along an edge"
                            : "--size is too large for a cube of %s: at most 100 along an edge",
                    s->pattern);
  if (s->partition && !s->by_rows)
    return complain(rank, "--partition is for matrices, not for %s", s->pattern);
  if (!s->partition) s->partition = "contiguous";
  return EXIT_OK;
}

static const char *need_route(const char *name)
{
  const char *names[GROVE_ROUTES + 1];
  int which = 0;
  for (int i = 0; i < GROVE_ROUTES; i++) names[i] = grove_routes[i]->name;
  names[GROVE_ROUTES] = "auto";
  return need_word(name, names, GROVE_ROUTES + 1, &which);
}

static const char *need_partition(const char *name)
{
  static const char *const names[] = {"contiguous", "metis"};
  int which = 0;
  return need_word(name, names, 2, &which);
}

static const char *need_unit(const char *text, int64_t *out)
{
  int bad = read_number(text, 8, 1 << 20, out) || *out % 8 != 0;
  return bad ? "a multiple of 8, from 8 to 1048576" : NULL;
}

static const char *need_variant(const char *text, bench_settings *s)
{
  if (s->nvariants == BENCH_VARIANTS) return "given at most 8 times";
  s->variants[s->nvariants++] = text;
  return *text ? NULL : "a route and options, such as 3-step,transport_on_node=mpi";
}

/* A flag without a value. 1: this was one. */
static int read_switch(const char *flag, bench_settings *s)
{
  const struct {
    const char *name;
    int *value;
  } switches[] = {
    {"--json", &s->json},         {"--reduce", &s->reduce},     {"--parts", &s->parts},
    {"--off-node", &s->off_node}, {"--progress", &s->progress},
  };
  for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
    if (strcmp(flag, switches[i].name) == 0) return *switches[i].value = 1;
  return 0;
}

/* A flag with a value, at argv[*i]: its value, or NULL if it is none. `needs`: what the value must
 * be, if it is not. */
static const char *read_flag(int argc, char **argv, int *i, bench_settings *s, const char **needs)
{
  const char *value = NULL;
  if ((value = flag_value(argc, argv, i, "--size")))
    *needs = need_number(value, 1, 1000000000, &s->size);
  else if ((value = flag_value(argc, argv, i, "--unit-bytes")))
    *needs = need_unit(value, &s->unit_bytes);
  else if ((value = flag_value(argc, argv, i, "--batch")))
    *needs = need_number(value, 1, 1000000, &s->batch);
  else if ((value = flag_value(argc, argv, i, "--rounds")))
    *needs = need_number(value, 1, BENCH_MOST_ROUNDS, &s->rounds);
  else if ((value = flag_value(argc, argv, i, "--machine")))
    s->machine = value, *needs = *value ? NULL : MACHINE_NEEDS;
  else if ((value = flag_value(argc, argv, i, "--only")))
    *needs = need_route(s->only = value);
  else if ((value = flag_value(argc, argv, i, "--partition")))
    *needs = need_partition(s->partition = value);
  else if ((value = flag_value(argc, argv, i, "--variant")))
    *needs = need_variant(value, s);
  else if ((value = flag_value(argc, argv, i, "--seed")))
    *needs = need_number(value, 0, INT64_MAX, &s->seed);
  return value;
}

static int refuse(int rank, const char *flag, const char *value, const char *needs)
{
  char name[200];
  snprintf(name, sizeof name, "'%.190s'", flag);
  return rank == 0 ? refuse_value("bench", name, value, needs) : EXIT_BAD_INPUT;
}

static int read_settings(int argc, char **argv, int rank, bench_settings *out)
{
  bench_settings s = {.unit_bytes = 8, .rounds = 21, .seed = 1};
  for (int i = 1; i < argc; i++) {
    const char *flag = argv[i], *needs = NULL;
    if (read_switch(flag, &s)) continue;
    const char *value = read_flag(argc, argv, &i, &s, &needs);
    if (needs) return refuse(rank, flag, value, needs);
    if (value) continue;
    if (flag[0] == '-') return rank == 0 ? refuse_flag("bench", flag, help) : EXIT_BAD_INPUT;
    if (s.pattern) return complain(rank, "one pattern at a time, not also '%s'", flag);
    s.pattern = flag;
  }
  *out = s;
  return settle_pattern(out, rank);
}

/* ---- used by the other files ---- */

void bench_must(const bench *b, grove_status status)
{
  if (status == GROVE_OK) return;
  fprintf(stderr, "grove bench: rank %d: %s\n", b->rank, last_sentence());
  MPI_Abort(b->comm, EXIT_FAILED);
}

bench_entrant *bench_enter(const bench *b, bench_field *field, const bench_method *method,
                           bench_role role, const char *name)
{
  bench_entrant *e = &field->entrants[field->n++];
  *e = (bench_entrant){.b = b, .task = &field->task, .method = method, .role = role, .name = name};
  return e;
}

void bench_field_free(bench_field *field)
{
  for (int i = 0; i < field->n; i++) grove_context_free(&field->entrants[i].ctx);
}

/* ---- the whole run ---- */

static int make_pattern(bench *b, pattern *out, char *why, size_t room)
{
  bench_settings *s = &b->set;
  snprintf(why, room, "no memory for a pattern of this size");
  int by_metis = strcmp(s->partition, "metis") == 0;
  if (strcmp(s->pattern, "elasticity") == 0)
    return pattern_elasticity(b->comm, s->size, by_metis, out, why, room);
  if (s->matrix) return pattern_matrix(b->comm, s->pattern, by_metis, out, &s->size, why, room);
  if (strcmp(s->pattern, "random") == 0)
    return pattern_random(b->comm, s->size, (uint64_t)s->seed, out);
  return pattern_stencil(b->comm, s->size, strcmp(s->pattern, "27-point") == 0, out);
}

/* Whether any rank failed. Rank 0 prints the sentence of the lowest one that did. */
static int any_failed(const bench *b, int failed, char *why, int room)
{
  int mine = failed ? b->rank : b->size, lowest = 0;
  MPI_Allreduce(&mine, &lowest, 1, MPI_INT, MPI_MIN, b->comm);
  if (lowest == b->size) return 0;
  MPI_Bcast(why, room, MPI_CHAR, lowest, b->comm);
  if (b->rank == 0) fprintf(stderr, "grove bench: %s\n", why);
  return 1;
}

/* The edges to measure. */
static int make_edges(bench *b, pattern *out, char *why, size_t room)
{
  pattern all = {0};
  int failed = make_pattern(b, &all, why, room);
  if (any_failed(b, failed, why, (int)room)) {
    pattern_free(&all);
    return 1;
  }
  *out = all;
  if (!b->set.off_node) return 0;
  failed = pattern_select(&all, b->ctx, b->rank, 0, out);
  pattern_free(&all);
  snprintf(why, room, "no memory for a pattern of this size");
  return any_failed(b, failed, why, (int)room);
}

static grove_status measure_field(const bench *b, const pattern *edges, int reduce,
                                  bench_field *out)
{
  grove_status status = GROVE_OK;
  out->task = (bench_task){edges, reduce};
  GROVE_TRY(bench_enter_routes(b, out));
  bench_enter_baselines(b, out);
  GROVE_TRY(bench_measure(b, out));
fail:
  bench_field_free(out);
  return status;
}

/* A subset of the edges, by one route. */
static grove_status measure_part(const bench *b, const pattern *edges, bench_row *row)
{
  bench_field there = {.task = {edges, 0}}, back = {.task = {edges, 1}};
  bench_enter_one(b, &there);
  bench_enter_one(b, &back);
  GROVE_PASS(bench_measure(b, &there));
  if (b->set.reduce) GROVE_PASS(bench_measure(b, &back));
  row->bcast = there.entrants[0].result;
  row->reduce = back.entrants[0].result;
  return GROVE_OK;
}

static grove_status measure_parts(const bench *b, const pattern *all, bench_results *out)
{
  static const char *const name[] = {"off node", "on node"};
  for (int on_node = 1; on_node >= 0 && b->set.parts; on_node--) {
    pattern part;
    bench_row *row = &out->rows[out->nrows];
    if (pattern_select(all, b->ctx, b->rank, on_node, &part))
      bench_must(b, grove_error_set(GROVE_ERR_MEMORY, "no memory for a part of the pattern"));
    row->edges = name[on_node];
    grove_status status = measure_part(b, &part, row);
    pattern_free(&part);
    GROVE_PASS(status);
    out->nrows++;
  }
  return GROVE_OK;
}

/* `there` and `back` are the caller's memory. */
static grove_status measure_all(const bench *b, const pattern *all, bench_field *there,
                                bench_field *back, bench_results *out)
{
  out->deduplicated_bytes = bench_deduplicated_bytes(b, all);
  bench_traffic_collect(b, all, &out->traffic);
  GROVE_PASS(measure_field(b, all, 0, there));
  if (b->set.reduce) GROVE_PASS(measure_field(b, all, 1, back));
  out->bcast = there;
  out->reduce = b->set.reduce ? back : NULL;
  out->rows[0] = (bench_row){.edges = b->set.off_node ? "off node" : "all",
                             .bcast = there->entrants[0].result,
                             .reduce = back->entrants[0].result};
  out->nrows = 1;
  return measure_parts(b, all, out);
}

static int field_verified(const bench_field *field)
{
  for (int i = 0; field && i < field->n; i++)
    if (field->entrants[i].result.served && !field->entrants[i].result.verified) return 0;
  return 1;
}

static int all_verified(const bench_results *r)
{
  for (int i = 1; i < r->nrows; i++)
    if (!r->rows[i].bcast.verified || (r->reduce && !r->rows[i].reduce.verified)) return 0;
  return field_verified(r->bcast) && field_verified(r->reduce);
}

static grove_status open_bench(bench *b)
{
  b->width = b->set.unit_bytes / (int64_t)sizeof(double);
  MPI_Type_contiguous((int)b->width, MPI_DOUBLE, &b->unit);
  MPI_Type_commit(&b->unit);
  GROVE_PASS(bench_context(b, NULL, &b->ctx));
  return grove_context_node(b->ctx, b->rank, NULL, &b->nnodes);
}

static void close_bench(bench *b)
{
  free(b->array);
  grove_context_free(&b->ctx);
  MPI_Type_free(&b->unit);
  bench_petsc_finish();
}

/* Roots, then the ghosts, which ascend: not all of them may have an edge. */
static size_t array_slots(const pattern *edges)
{
  int64_t end = edges->nleaves > 0 ? edges->leaf[edges->nleaves - 1] + 1 : 0;
  return (size_t)(end > edges->nroots ? end : edges->nroots);
}

/* Measures everything, and says whether all values are right. */
static grove_status run_on(bench *b, const pattern *edges, int *verified)
{
  grove_status status = GROVE_OK;
  bench_field *fields = bench_alloc(2, sizeof *fields);
  bench_results results = {0};
  b->array = bench_alloc(array_slots(edges) * (size_t)b->width, sizeof *b->array);
  GROVE_TRY(measure_all(b, edges, &fields[0], &fields[1], &results));
  if (b->rank == 0) (b->set.json ? bench_print_json : bench_print_tables)(b, &results);
  *verified = all_verified(&results);
  if (!*verified && b->rank == 0) fprintf(stderr, "grove bench: some values are wrong\n");
fail:
  bench_traffic_free(&results.traffic);
  free(fields);
  return status;
}

static int run_bench(bench *b)
{
  pattern edges = {0};
  int unfit = 0, verified = 0;
  char why[1024] = "";
  grove_status status = open_bench(b);
  if (status == GROVE_OK) {
    unfit = make_edges(b, &edges, why, sizeof why);
    if (!unfit) status = run_on(b, &edges, &verified);
  }
  if (status != GROVE_OK && b->rank == 0) fprintf(stderr, "grove bench: %s\n", last_sentence());
  pattern_free(&edges);
  close_bench(b);
  if (status == GROVE_ERR_OPTION || (unfit && b->set.by_rows)) return EXIT_BAD_INPUT;
  return status == GROVE_OK && verified ? EXIT_OK : EXIT_FAILED;
}

static int run(int argc, char **argv)
{
  bench b = {.comm = MPI_COMM_WORLD};
  bench_need_as("grove bench", EXIT_FAILED);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(b.comm, &b.rank);
  MPI_Comm_size(b.comm, &b.size);
  int code = read_settings(argc, argv, b.rank, &b.set);
  if (code == EXIT_OK) code = run_bench(&b);
  MPI_Finalize();
  return code;
}

const command command_bench = {
  .name = "bench",
  .summary = "exchange data on a pattern by every route, check and time it (under mpirun)",
  .help = help,
  .run = run,
  .is_parallel = always_parallel,
};
