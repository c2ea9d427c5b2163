/* grove bench: exchanges on a pattern, checked against plain MPI and timed.
 *
 * What is timed. A batch is a number of exchanges, start and wait, one after the other; its time is
 * the slowest rank's, divided by the number. The median of the batches is reported.
 */
#include "grove/arguments.h"
#include "grove/command.h"
#include "grove/pattern.h"

#include "grove.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCHES = 21, WARM_UP = 5 };
static const double BATCH_SECONDS = 0.02;

static const char help[] =
  "usage: mpirun -n RANKS grove bench 7-point|27-point|random|FILE.mtx[.gz] [OPTION...]\n"
  "\n"
  "Exchanges data on a pattern, checks every value against plain MPI, and prints how long\n"
  "an exchange takes, what the model predicts, and how many messages and bytes it sends,\n"
  "on and off node.\n"
  "\n"
  "  7-point     a box of points a rank, its ghosts those across its faces\n"
  "  27-point    the same with the ghosts across edges and corners\n"
  "  random      every leaf joined to any root of any rank\n"
  "  FILE        what a product with this sparse matrix (Matrix Market) needs, its rows\n"
  "              in contiguous blocks\n"
  "\n"
  "  --size N          points along an edge of the box (32), or leaves a rank (10000)\n"
  "  --unit-bytes B    bytes of one value, a multiple of 8 (8)\n"
  "  --reduce          the way back too: contributions of the leaves summed at the roots\n"
  "  --parts           also the edges inside nodes alone, and those between nodes alone\n"
  "  --batch N         exchanges a batch (as many as take 20 ms); 21 batches are timed\n"
  "  --seed N          of the random pattern (1)\n"
  "  --machine M       the profile that predictions are made with: a name or a file\n"
  "                    (this machine's, if it was measured; else one of its kind)\n"
  "  --json            for programs; times in seconds\n"
  "\n"
  "Options of the library count too (grove options), for instance GROVE_NODE_SIZE.\n"
  "\n"
  "Examples:\n"
  "  mpirun -n 8 grove bench 27-point --reduce\n"
  "  mpirun -n 8 grove bench cage10.mtx.gz\n"
  "  GROVE_NODE_SIZE=2 mpirun -n 8 grove bench random --size 1000 --parts --json\n";

typedef struct settings {
  const char *pattern, *machine;
  int matrix; /* the pattern is a file, and its size the rows */
  int64_t size, unit_bytes, batch, seed;
  int reduce, parts, json;
} settings;

/* One row of the result. */
typedef struct result {
  const char *part; /* "all", "on node", "off node" */
  const char *route;
  char machine[64]; /* that predicted */
  double setup_seconds, bcast_seconds, reduce_seconds;
  double predicted_seconds, reduce_predicted_seconds; /* by the machine's profile */
  double on_node_messages, on_node_bytes, off_node_messages, off_node_bytes;
  int verified;
} result;

/* What the ranks work with. */
typedef struct bench {
  settings set;
  MPI_Comm comm;
  int rank, size, nnodes;
  grove_context *ctx;
  MPI_Datatype unit;
  int64_t width; /* doubles a unit */
  double *array; /* roots, then ghosts */
} bench;

/* ---- arguments ---- */

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

static int settle_pattern(settings *s, int rank)
{
  if (!s->pattern) return complain(rank, "which pattern?%s", "");
  int stencil = strcmp(s->pattern, "7-point") == 0 || strcmp(s->pattern, "27-point") == 0;
  s->matrix = ends_with(s->pattern, ".mtx") || ends_with(s->pattern, ".mtx.gz");
  if (!stencil && !s->matrix && strcmp(s->pattern, "random") != 0)
    return complain(rank, "there is no pattern '%s'", s->pattern);
  if (s->matrix && s->size > 0)
    return complain(rank, "--size is not for %s, which has its own", s->pattern);
  if (s->size == 0) s->size = stencil ? 32 : 10000;
  if (stencil && s->size > 1000)
    return complain(rank, "--size is too large for a %s box", s->pattern);
  return EXIT_OK;
}

static int read_settings(int argc, char **argv, int rank, settings *out)
{
  settings s = {.unit_bytes = 8, .seed = 1};
  for (int i = 1; i < argc; i++) {
    const char *flag = argv[i], *value = NULL;
    int bad = 0;
    if (strcmp(flag, "--json") == 0)
      s.json = 1;
    else if (strcmp(flag, "--reduce") == 0)
      s.reduce = 1;
    else if (strcmp(flag, "--parts") == 0)
      s.parts = 1;
    else if ((value = flag_value(argc, argv, &i, "--size")))
      bad = read_number(value, 1, 1000000000, &s.size);
    else if ((value = flag_value(argc, argv, &i, "--unit-bytes")))
      bad = read_number(value, 8, 1 << 20, &s.unit_bytes) || s.unit_bytes % 8 != 0;
    else if ((value = flag_value(argc, argv, &i, "--batch")))
      bad = read_number(value, 1, 1000000, &s.batch);
    else if ((value = flag_value(argc, argv, &i, "--machine")))
      s.machine = value, bad = *value == '\0';
    else if ((value = flag_value(argc, argv, &i, "--seed")))
      bad = read_number(value, 0, INT64_MAX, &s.seed);
    else if (flag[0] == '-')
      return complain(rank, "'%s' is not understood", flag);
    else if (s.pattern)
      return complain(rank, "one pattern at a time, not also '%s'", flag);
    else
      s.pattern = flag;
    if (bad) return complain(rank, "'%s' has not the value that it needs", flag);
  }
  *out = s;
  return settle_pattern(out, rank);
}

/* ---- values: what a root holds, and what must come of it ---- */

/* Small whole numbers: sums of them are exact, in any order. */
static double root_value(int rank, int64_t index)
{
  return (double)((rank * 7919 + index) % 100003);
}

static void fill(const bench *b, const pattern *p, int leaves)
{
  for (int64_t i = 0; i < p->nroots; i++)
    for (int64_t k = 0; k < b->width; k++)
      b->array[i * b->width + k] = leaves ? 0 : root_value(b->rank, i) + (double)k;
  for (int64_t i = 0; i < p->nleaves; i++)
    for (int64_t k = 0; k < b->width; k++)
      b->array[p->leaf[i] * b->width + k] =
        leaves ? root_value(p->root[i].rank, p->root[i].index) + (double)k : -1;
}

static int64_t wrong_leaves(const bench *b, const pattern *p)
{
  int64_t wrong = 0;
  for (int64_t i = 0; i < p->nleaves; i++)
    for (int64_t k = 0; k < b->width; k++)
      wrong += b->array[p->leaf[i] * b->width + k] !=
               root_value(p->root[i].rank, p->root[i].index) + (double)k;
  return wrong;
}

/* How many leaves each root has, counted by MPI_Alltoallv: not by Grove. */
static int count_degrees(const bench *b, const pattern *p, int64_t *degree)
{
  int *count = calloc(4 * (size_t)b->size + 4, sizeof *count), failed = 1;
  int *start = count + b->size, *their_count = start + b->size + 1;
  int *their_start = their_count + b->size;
  int64_t *send = malloc((size_t)(p->nleaves + 1) * sizeof *send), *came = NULL;
  if (!count || !send) goto done;
  for (int64_t i = 0; i < p->nleaves; i++) count[p->root[i].rank]++;
  for (int r = 0; r < b->size; r++) start[r + 1] = start[r] + count[r];
  for (int64_t i = 0; i < p->nleaves; i++) send[start[p->root[i].rank]++] = p->root[i].index;
  for (int r = 0; r < b->size; r++) start[r] -= count[r];
  MPI_Alltoall(count, 1, MPI_INT, their_count, 1, MPI_INT, b->comm);
  for (int r = 0; r < b->size; r++) their_start[r + 1] = their_start[r] + their_count[r];
  came = malloc(((size_t)their_start[b->size] + 1) * sizeof *came);
  if (!came) goto done;
  MPI_Alltoallv(send, count, start, MPI_INT64_T, came, their_count, their_start, MPI_INT64_T,
                b->comm);
  for (int64_t i = 0; i < p->nroots; i++) degree[i] = 0;
  for (int i = 0; i < their_start[b->size]; i++) degree[came[i]]++;
  failed = 0;
done:
  free(count);
  free(send);
  free(came);
  return failed;
}

static int64_t wrong_roots(const bench *b, const pattern *p)
{
  int64_t wrong = 0, *degree = malloc((size_t)(p->nroots + 1) * sizeof *degree);
  if (!degree || count_degrees(b, p, degree)) {
    free(degree);
    return 1;
  }
  for (int64_t i = 0; i < p->nroots; i++)
    for (int64_t k = 0; k < b->width; k++)
      wrong +=
        b->array[i * b->width + k] != (double)degree[i] * (root_value(b->rank, i) + (double)k);
  free(degree);
  return wrong;
}

/* ---- timing ---- */

static double slowest(const bench *b, double seconds)
{
  double most = 0;
  MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, b->comm);
  return most;
}

static grove_status run_batch(const bench *b, grove_op *op, int64_t n, double *seconds)
{
  grove_status status = GROVE_OK;
  double begin = MPI_Wtime();
  for (int64_t i = 0; i < n && status == GROVE_OK; i++) {
    status = grove_start(op);
    if (status == GROVE_OK) status = grove_wait(op);
  }
  *seconds = slowest(b, MPI_Wtime() - begin) / (double)n;
  return status;
}

static int ascending(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void show_progress(const bench *b, const char *what, int batch)
{
  if (b->rank != 0 || !isatty(2)) return;
  if (batch < BATCHES)
    fprintf(stderr, "\r%s: batch %d of %d ", what, batch + 1, BATCHES);
  else
    fprintf(stderr, "\r%40s\r", "");
}

static grove_status time_op(const bench *b, grove_op *op, const char *what, double *median)
{
  double times[BATCHES];
  grove_status status = run_batch(b, op, WARM_UP, &times[0]);
  int64_t n = b->set.batch;
  if (n == 0) n = (int64_t)fmin(fmax(BATCH_SECONDS / times[0], 1), 10000);
  for (int i = 0; i < BATCHES && status == GROVE_OK; i++) {
    show_progress(b, what, i);
    status = run_batch(b, op, n, &times[i]);
  }
  show_progress(b, what, BATCHES);
  qsort(times, BATCHES, sizeof *times, ascending);
  *median = times[BATCHES / 2];
  return status;
}

/* ---- one pattern ---- */

static void add_up(const bench *b, const grove_report *report, result *out)
{
  double mine[4] = {(double)report->on_node_messages, (double)report->on_node_bytes,
                    (double)report->off_node_messages, (double)report->off_node_bytes};
  double all[4];
  MPI_Allreduce(mine, all, 4, MPI_DOUBLE, MPI_SUM, b->comm);
  out->on_node_messages = all[0];
  out->on_node_bytes = all[1];
  out->off_node_messages = all[2];
  out->off_node_bytes = all[3];
}

static int all_right(const bench *b, int64_t wrong)
{
  int64_t total = 0;
  MPI_Allreduce(&wrong, &total, 1, MPI_INT64_T, MPI_SUM, b->comm);
  return total == 0;
}

/* Forward: checks one exchange on fresh values, then times many. */
static grove_status measure_bcast(const bench *b, grove_forest *f, const pattern *p, result *out)
{
  grove_op *op = NULL;
  double begin = MPI_Wtime();
  grove_status status = grove_bcast_init(f, b->unit, b->array, b->array, MPI_REPLACE, &op);
  out->setup_seconds += slowest(b, MPI_Wtime() - begin);
  double once = 0;
  fill(b, p, 0);
  if (status == GROVE_OK) status = run_batch(b, op, 1, &once);
  out->verified = all_right(b, wrong_leaves(b, p));
  grove_report report = {.struct_size = sizeof report};
  if (status == GROVE_OK) status = grove_op_report(op, &report);
  out->route = report.route;
  out->predicted_seconds = report.predicted_seconds;
  snprintf(out->machine, sizeof out->machine, "%s", report.machine ? report.machine : "");
  add_up(b, &report, out);
  if (status == GROVE_OK) status = time_op(b, op, "bcast", &out->bcast_seconds);
  grove_op_free(&op);
  return status;
}

static grove_status measure_reduce(const bench *b, grove_forest *f, const pattern *p, result *out)
{
  grove_op *op = NULL;
  double once = 0;
  grove_status status = grove_reduce_init(f, b->unit, b->array, b->array, MPI_SUM, &op);
  fill(b, p, 1);
  if (status == GROVE_OK) status = run_batch(b, op, 1, &once);
  out->verified = all_right(b, wrong_roots(b, p)) && out->verified;
  grove_report report = {.struct_size = sizeof report};
  if (status == GROVE_OK) status = grove_op_report(op, &report);
  out->reduce_predicted_seconds = report.predicted_seconds;
  if (status == GROVE_OK) status = time_op(b, op, "reduce", &out->reduce_seconds);
  grove_op_free(&op);
  return status;
}

static grove_status measure(const bench *b, const pattern *p, const char *part, result *out)
{
  grove_forest *f = NULL;
  *out = (result){.part = part, .route = ""};
  double begin = MPI_Wtime();
  grove_status status = grove_forest_create(b->ctx, &f);
  if (status == GROVE_OK) status = grove_forest_set_name(f, b->set.pattern);
  if (status == GROVE_OK)
    status = grove_forest_set_graph(f, p->nroots, p->nleaves, p->leaf, p->root);
  if (status == GROVE_OK) status = grove_forest_set_up(f);
  out->setup_seconds = slowest(b, MPI_Wtime() - begin);
  if (status == GROVE_OK) status = measure_bcast(b, f, p, out);
  if (status == GROVE_OK && b->set.reduce) status = measure_reduce(b, f, p, out);
  grove_forest_free(&f);
  return status;
}

/* ---- output ---- */

static void show_us(char room[16], double seconds)
{
  if (isnan(seconds))
    snprintf(room, 16, "?");
  else
    snprintf(room, 16, "%.2f", 1e6 * seconds);
}

static void print_table(const bench *b, const result *rows, int n)
{
  const char *of = strcmp(b->set.pattern, "random") == 0 ? "leaves a rank" : "points along an edge";
  printf("%s, %d ranks on %d nodes, %lld B a value, %lld %s\n\n", b->set.pattern, b->size,
         b->nnodes, (long long)b->set.unit_bytes, (long long)b->set.size,
         b->set.matrix ? "rows" : of);
  printf("%-9s %-9s %21s %21s %8s %9s %9s %9s %9s  %s\n", "", "", "on node, all ranks",
         "off node, all ranks", "set-up", "bcast", "predicted", "reduce", "predicted", "every");
  printf("%-9s %-9s %8s %12s %8s %12s %8s %9s %9s %9s %9s  %s\n", "edges", "route", "messages",
         "bytes", "messages", "bytes", "us", "us", "us", "us", "us", "value");
  for (int i = 0; i < n; i++) {
    const result *r = &rows[i];
    char back[2][16] = {"-", "-"};
    if (b->set.reduce) {
      show_us(back[0], r->reduce_seconds);
      show_us(back[1], r->reduce_predicted_seconds);
    }
    char there[2][16];
    show_us(there[0], r->bcast_seconds);
    show_us(there[1], r->predicted_seconds);
    printf("%-9s %-9s %8.0f %12.0f %8.0f %12.0f %8.0f %9s %9s %9s %9s  %s\n", r->part, r->route,
           r->on_node_messages, r->on_node_bytes, r->off_node_messages, r->off_node_bytes,
           1e6 * r->setup_seconds, there[0], there[1], back[0], back[1],
           r->verified ? "right" : "WRONG");
  }
  printf("\npredicted with the profile '%s'\n", rows[0].machine);
}

/* A number that may be unknown, which JSON has no NaN for. */
static void print_json_seconds(const char *name, double seconds)
{
  if (isnan(seconds))
    printf(", \"%s\": null", name);
  else
    printf(", \"%s\": %.9g", name, seconds);
}

static void print_json_row(const bench *b, const result *r)
{
  printf("{\"route\": ");
  print_json_text(stdout, r->route);
  printf(", \"edges\": ");
  print_json_text(stdout, r->part);
  printf(", \"median_seconds\": %.9g", r->bcast_seconds);
  if (b->set.reduce) printf(", \"reduce_median_seconds\": %.9g", r->reduce_seconds);
  print_json_seconds("predicted_seconds", r->predicted_seconds);
  if (b->set.reduce) print_json_seconds("reduce_predicted_seconds", r->reduce_predicted_seconds);
  print_json_seconds("setup_seconds", r->setup_seconds);
  printf(", \"on_node_messages\": %.0f, \"on_node_bytes\": %.0f", r->on_node_messages,
         r->on_node_bytes);
  printf(", \"off_node_messages\": %.0f, \"off_node_bytes\": %.0f", r->off_node_messages,
         r->off_node_bytes);
  printf(", \"verified\": %s}", r->verified ? "true" : "false");
}

static void print_json(const bench *b, const result *rows, int n)
{
  printf("{\"pattern\": ");
  print_json_text(stdout, b->set.pattern);
  printf(", \"ranks\": %d, \"nodes\": %d, \"unit_bytes\": %lld, \"size\": %lld,\n", b->size,
         b->nnodes, (long long)b->set.unit_bytes, (long long)b->set.size);
  printf(" \"machine\": ");
  print_json_text(stdout, rows[0].machine);
  printf(",\n \"routes\": [");
  print_json_row(b, &rows[0]);
  printf("],\n \"parts\": [");
  for (int i = 1; i < n; i++) {
    printf("%s", i > 1 ? ",\n  " : "");
    print_json_row(b, &rows[i]);
  }
  printf("]}\n");
}

/* ---- all of it ---- */

static int make_pattern(bench *b, pattern *out, char *why, size_t room)
{
  settings *s = &b->set;
  snprintf(why, room, "no memory for a pattern of this size");
  if (s->matrix) return pattern_matrix(b->comm, s->pattern, out, &s->size, why, room);
  if (strcmp(s->pattern, "random") == 0)
    return pattern_random(b->comm, s->size, (uint64_t)s->seed, out);
  return pattern_stencil(b->comm, s->size, strcmp(s->pattern, "27-point") == 0, out);
}

/* Whether any rank failed. Rank 0 prints the sentence of the lowest that did. */
static int any_failed(const bench *b, int failed, char *why, int room)
{
  int mine = failed ? b->rank : b->size, lowest = 0;
  MPI_Allreduce(&mine, &lowest, 1, MPI_INT, MPI_MIN, b->comm);
  if (lowest == b->size) return 0;
  MPI_Bcast(why, room, MPI_CHAR, lowest, b->comm);
  if (b->rank == 0) fprintf(stderr, "grove bench: %s\n", why);
  return 1;
}

static grove_status measure_all(bench *b, const pattern *all, result *rows, int *n)
{
  static const char *const name[] = {"off node", "on node"};
  grove_status status = measure(b, all, "all", &rows[(*n)++]);
  for (int on_node = 1; on_node >= 0 && b->set.parts && status == GROVE_OK; on_node--) {
    pattern part;
    if (pattern_select(all, b->ctx, b->rank, on_node, &part)) return GROVE_ERR_MEMORY;
    status = measure(b, &part, name[on_node], &rows[(*n)++]);
    pattern_free(&part);
  }
  return status;
}

static int run_bench(bench *b)
{
  pattern all = {0};
  result rows[3];
  int n = 0, verified = 1, unfit = 0;
  char why[1024] = "";
  b->width = b->set.unit_bytes / (int64_t)sizeof(double);
  MPI_Type_contiguous((int)b->width, MPI_DOUBLE, &b->unit);
  MPI_Type_commit(&b->unit);
  grove_status status = grove_context_create(b->comm, &b->ctx);
  if (status == GROVE_OK && b->set.machine)
    status = grove_context_set(b->ctx, "machine", b->set.machine);
  if (status == GROVE_OK) status = grove_context_node(b->ctx, b->rank, NULL, &b->nnodes);
  int failed = status != GROVE_OK || make_pattern(b, &all, why, sizeof why);
  b->array =
    failed ? NULL : malloc((size_t)((all.nroots + all.nleaves) * b->width + 1) * sizeof *b->array);
  if (status == GROVE_OK && !any_failed(b, b->array == NULL, why, sizeof why)) {
    status = measure_all(b, &all, rows, &n);
  } else {
    unfit = status == GROVE_OK && b->set.matrix;
  }
  if (status != GROVE_OK && b->rank == 0) fprintf(stderr, "grove bench: %s\n", last_sentence());
  for (int i = 0; i < n; i++) verified = verified && rows[i].verified;
  int good = status == GROVE_OK && n > 0;
  if (good && b->rank == 0) (b->set.json ? print_json : print_table)(b, rows, n);
  pattern_free(&all);
  free(b->array);
  grove_context_free(&b->ctx);
  MPI_Type_free(&b->unit);
  if (status == GROVE_ERR_OPTION || unfit) return EXIT_BAD_INPUT;
  return good && verified ? EXIT_OK : EXIT_FAILED;
}

static int run(int argc, char **argv)
{
  bench b = {.comm = MPI_COMM_WORLD};
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
  .summary = "exchange data on a pattern, check and time it (under mpirun)",
  .help = help,
  .run = run,
};
