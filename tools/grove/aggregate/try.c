/* grove aggregate --try, or --tune: finds the fastest number of messages, and over libfabric the
 * number of endpoints, under mpirun. (Open MPI's mpirun takes --tune for itself, wherever it
 * stands.) */
#define _POSIX_C_SOURCE 200809L /* mkstemp */
#include "grove/aggregate/aggregate.h"

#include "base/pause.h"
#include "base/status.h"
#include "grove/command.h"
#include "grove/machine/probing.h"
#include "kit/stats.h"
#include "parts/table_file.h"
#include "transport/ofi_desk.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* CHOICES: 32 numbers of messages, five of endpoints. */
enum { LIST = 32, CHOICES = 160, MOST_ROUNDS = 200, LEAST_ROUNDS = 5, TRIAL_ROUNDS = 3 };
static const double CHOICE_SECONDS = 0.02; /* of rounds per number of messages */
static const double SILENT_SECONDS = 2;
/* Fewer messages, and then fewer endpoints, win if they are at most so much slower. */
static const double AS_GOOD = 1.02;

typedef struct settings {
  const char *output;
  int64_t parts[LIST], bytes[LIST];
  int nparts, nbytes, json;
  double delay;
} settings;

/* ---- arguments ---- */

static int complain(int rank, const char *format, const char *what)
{
  if (rank == 0) {
    fprintf(stderr, "grove aggregate: ");
    fprintf(stderr, format, what);
    fprintf(stderr, "; see grove aggregate --help\n");
  }
  return EXIT_BAD_INPUT;
}

static int read_parts(const char *text, int64_t *out)
{
  return read_number(text, 1, 1 << 20, out);
}

static int read_size(const char *text, int64_t *out)
{
  int64_t value = 0;
  if (read_bytes(text, &value) || value < 1 || value > (int64_t)1 << 34) return 1;
  *out = value;
  return 0;
}

/* Words separated by commas. Nonzero: one of them is wrong, or there are too many. */
static int read_list(const char *text, int (*read)(const char *, int64_t *), int64_t *out, int *n)
{
  char word[64];
  *n = 0;
  for (const char *at = text;; at++) {
    size_t length = strcspn(at, ",");
    if (*n == LIST || length >= sizeof word) return 1;
    memcpy(word, at, length);
    word[length] = '\0';
    if (read(word, &out[(*n)++])) return 1;
    at += length;
    if (!*at) return 0;
  }
}

static int read_settings(int argc, char **argv, int rank, settings *s)
{
  read_list("4,16,64", read_parts, s->parts, &s->nparts);
  read_list("4KiB,32KiB,256KiB,2MiB,16MiB", read_size, s->bytes, &s->nbytes);
  for (int i = 1; i < argc; i++) {
    const char *flag = argv[i], *value = NULL;
    if (strcmp(flag, "--tune") == 0 || strcmp(flag, "--try") == 0)
      continue;
    else if (strcmp(flag, "--json") == 0)
      s->json = 1;
    else if ((value = flag_value(argc, argv, &i, "-o")))
      s->output = value;
    else if ((value = flag_value(argc, argv, &i, "--parts"))) {
      if (read_list(value, read_parts, s->parts, &s->nparts))
        return complain(rank, "--parts is '%s', and must be numbers such as 4,16,64", value);
    } else if ((value = flag_value(argc, argv, &i, "--bytes"))) {
      if (read_list(value, read_size, s->bytes, &s->nbytes))
        return complain(rank, "--bytes is '%s', and must be sizes such as 4096,1MiB", value);
    } else if ((value = flag_value(argc, argv, &i, "--delay"))) {
      if (read_seconds(value, &s->delay))
        return complain(rank, "--delay is '%s', and must be a time such as 0.004 or 4ms", value);
    } else
      return complain(rank, "'%s' is not understood beside --try", flag);
  }
  if (!s->output || !*s->output) return complain(rank, "%s", "--try needs -o FILE");
  return EXIT_OK;
}

/* Checked before measuring: nobody wants to lose a minute to a missing folder. */
static int check_output(const char *path)
{
  int there = access(path, F_OK) == 0;
  FILE *file = fopen(path, "a");
  if (!file) {
    fprintf(stderr, "grove aggregate: %s cannot be written: %s\n", path, strerror(errno));
    return EXIT_BAD_INPUT;
  }
  fclose(file);
  if (!there) unlink(path);
  return EXIT_OK;
}

/* ---- rounds ---- */

/* State of a rank: data goes from rank 0 to the last, and a word comes back. Other ranks take no
 * part. */
typedef struct pair {
  grove_context *ctx;
  int rank, last;
  double word;       /* seconds that the word takes */
  int64_t endpoints; /* that are open; 0: channels do not go over libfabric */
  char trial[256];   /* a table of what is tried now, where there are endpoints; rank 0 has it */
} pair;

/* What is tried. */
typedef struct tried {
  int64_t messages, endpoints;
  double seconds;
} tried;

static void must(grove_status status)
{
  if (status == GROVE_OK) return;
  fprintf(stderr, "grove aggregate: %s\n", last_sentence());
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
}

/* Marks all parts but the last, and the last when it is due. What is ready travels meanwhile.
 * Returns when the last was, or should have been, marked: marks that send take time. */
static double mark_parts(grove_op *op, int64_t parts, double delay)
{
  int done = 0;
  double due = grove_clock() + delay;
  for (int64_t p = 0; p + 1 < parts; p++) must(grove_ready(op, p, 1));
  while (grove_clock() < due) must(grove_test(op, &done));
  must(grove_ready(op, parts - 1, 1));
  return due;
}

/* Seconds from when everything was due until the word is back, on rank 0. */
static double run_round(const pair *p, grove_op *data, grove_op *word, int64_t parts, double delay)
{
  double marked = 0;
  if (p->rank == 0) {
    must(grove_start(word));
    must(grove_start(data));
    marked = mark_parts(data, parts, delay);
    must(grove_wait(word));
    marked = grove_clock() - marked;
    must(grove_wait(data));
  } else {
    must(grove_start(data));
    must(grove_wait(data));
    must(grove_start(word));
    must(grove_ready(word, 0, 1));
    must(grove_wait(word));
  }
  return marked;
}

/* Runs some rounds; rank 0 then decides how many more are worth it. */
static double run_rounds(const pair *p, grove_op *data, grove_op *word, int64_t parts, double delay)
{
  double seconds[MOST_ROUNDS] = {0};
  int rounds = 0;
  for (int i = 0; i < TRIAL_ROUNDS; i++) seconds[i] = run_round(p, data, word, parts, delay);
  double wanted = CHOICE_SECONDS / (bench_median(seconds, TRIAL_ROUNDS) + delay + 1e-9);
  if (p->rank == 0) {
    rounds = (int)fmin(fmax(wanted, LEAST_ROUNDS), MOST_ROUNDS);
    MPI_Send(&rounds, 1, MPI_INT, p->last, 0, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&rounds, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < rounds; i++) seconds[i] = run_round(p, data, word, parts, delay);
  return bench_median(seconds, rounds);
}

/* The channels that are made next are cut like this. A number of endpoints is what a table alone
 * can say. */
static void cut_like(const pair *p, int64_t parts, int64_t bytes, const tried *choice)
{
  char number[32];
  snprintf(number, sizeof number, "%lld", (long long)choice->messages);
  must(grove_context_set(p->ctx, "max_messages", number));
  must(grove_context_set(p->ctx, "aggregator", choice->endpoints > 0 ? "table" : "none"));
  if (p->rank > 0 || choice->endpoints == 0) return;
  grove_part_entry entry = {parts, bytes, choice->messages, NAN, choice->endpoints};
  const grove_part_table table = {1, &entry};
  FILE *file = fopen(p->trial, "w");
  must(file ? grove_part_table_print(&table, "", file)
            : grove_error(GROVE_ERR_SYSTEM, __FILE__, __LINE__, "%s cannot be written: %s",
                          p->trial, strerror(errno)));
  fclose(file);
}

/* The median on rank 0, without the word. Meaningless on other ranks. */
static double try_choice(const pair *p, char *memory, int64_t parts, int64_t part_bytes,
                         const tried *choice, double delay)
{
  char letter = 0;
  grove_op *data = NULL, *word = NULL;
  double seconds = 0;
  cut_like(p, parts, parts * part_bytes, choice);
  if (p->rank == 0)
    must(grove_psend_init(p->ctx, memory, (int)parts, part_bytes, MPI_BYTE, p->last, 0, &data));
  else if (p->rank == p->last)
    must(grove_precv_init(p->ctx, memory, (int)parts, part_bytes, MPI_BYTE, 0, 0, &data));
  must(grove_context_set(p->ctx, "aggregator", "none"));
  if (p->rank == 0)
    must(grove_precv_init(p->ctx, &letter, 1, 1, MPI_BYTE, p->last, 1, &word));
  else if (p->rank == p->last)
    must(grove_psend_init(p->ctx, &letter, 1, 1, MPI_BYTE, 0, 1, &word));
  if (data) seconds = run_rounds(p, data, word, parts, delay);
  must(grove_op_free(&data));
  must(grove_op_free(&word));
  return seconds - p->word;
}

/* ---- the grid ---- */

/* The first that is about as fast as the fastest: the smallest number of messages, and then of
 * endpoints. */
static tried choose(const tried *list, int n)
{
  double least = INFINITY;
  int i = 0;
  for (int k = 0; k < n; k++) least = fmin(least, list[k].seconds);
  while (list[i].seconds > AS_GOOD * least && list[i].seconds > least) i++;
  return list[i];
}

/* Numbers of endpoints: powers of two, until each message has one of its own. */
static int list_endpoints(const pair *p, int64_t messages, tried *list)
{
  int n = 0;
  if (p->endpoints == 0) list[n++] = (tried){messages, 0, 0};
  for (int64_t e = 1; e <= p->endpoints && e < 2 * messages; e *= 2)
    list[n++] = (tried){messages, e, 0};
  return n;
}

/* Numbers of messages: powers of two, and every part by itself. */
static int list_choices(const pair *p, int64_t parts, tried *list)
{
  int n = 0;
  for (int64_t m = 1; m < parts; m *= 2) n += list_endpoints(p, m, &list[n]);
  return n + list_endpoints(p, parts, &list[n]);
}

static void tell_progress(int64_t done, int64_t all, double since, double *told)
{
  double now = grove_clock(), spent = now - since, share = (double)done / (double)all;
  char what[64];
  if (spent < SILENT_SECONDS || (done < all && now - *told < SILENT_SECONDS)) return;
  *told = now;
  snprintf(what, sizeof what, "%lld of %lld tried", (long long)done, (long long)all);
  probing_progress(NULL, what, share, spent / share - spent);
}

/* Parts have whole bytes: the size is rounded down to a multiple. */
static grove_part_entry tune_one(const pair *p, const settings *s, int64_t parts, int64_t bytes,
                                 char *memory)
{
  tried list[CHOICES];
  int64_t part_bytes = bytes / parts;
  int n = list_choices(p, parts, list);
  for (int i = 0; i < n; i++)
    list[i].seconds = try_choice(p, memory, parts, part_bytes, &list[i], s->delay);
  tried best = choose(list, n);
  return (grove_part_entry){parts, parts * part_bytes, best.messages, fmax(best.seconds, 1e-9),
                            best.endpoints};
}

static void tune_all(const pair *p, const settings *s, grove_part_table *table)
{
  int64_t most = 1, done = 0, all = (int64_t)s->nparts * s->nbytes;
  double since = grove_clock(), told = since;
  for (int i = 0; i < s->nbytes; i++) most = s->bytes[i] > most ? s->bytes[i] : most;
  char *memory = calloc((size_t)most, 1);
  must(memory ? GROVE_OK
              : grove_error(GROVE_ERR_MEMORY, __FILE__, __LINE__, "no memory for %lld bytes",
                            (long long)most));
  for (int i = 0; i < s->nparts; i++)
    for (int k = 0; k < s->nbytes; k++) {
      if (s->bytes[k] >= s->parts[i])
        must(grove_part_table_add(table, tune_one(p, s, s->parts[i], s->bytes[k], memory)));
      if (p->rank == 0) tell_progress(++done, all, since, &told);
    }
  free(memory);
}

/* ---- results ---- */

static void print_results_json(const settings *s, const grove_part_table *table)
{
  printf("{\"delay\": %.17g, \"entries\": [", s->delay);
  for (int64_t i = 0; i < table->n; i++) {
    const grove_part_entry *e = &table->entries[i];
    printf("%s\n  {\"parts\": %lld, \"bytes\": %lld, \"transport_parts\": %lld, \"endpoints\": ",
           i > 0 ? "," : "", (long long)e->parts, (long long)e->bytes, (long long)e->messages);
    print_json_number(e->endpoints > 0 ? (double)e->endpoints : NAN);
    printf(", \"seconds\": %.17g}", e->seconds);
  }
  printf("]}\n");
}

static void print_results(const settings *s, const grove_part_table *table)
{
  char bytes[32];
  int endpoints = grove_part_table_has_endpoints(table);
  if (s->json) {
    print_results_json(s, table);
    return;
  }
  printf("%8s %12s %10s%s %12s\n", "parts", "bytes", "messages", endpoints ? "  endpoints" : "",
         "us");
  for (int64_t i = 0; i < table->n; i++) {
    const grove_part_entry *e = &table->entries[i];
    printf("%8lld %12s %10lld", (long long)e->parts, show_bytes((double)e->bytes, bytes),
           (long long)e->messages);
    if (endpoints) printf(" %10lld", (long long)e->endpoints);
    printf(" %12.2f\n", 1e6 * e->seconds);
  }
}

static int write_table(const settings *s, const pair *p, const grove_part_table *table)
{
  char about[128], others[64] = "", open[32] = "";
  FILE *file = fopen(s->output, "w");
  if (p->endpoints > 0) {
    snprintf(others, sizeof others, "GROVE_TRANSPORT_PARTS=ofi GROVE_ENDPOINTS=%lld ",
             (long long)p->endpoints);
    snprintf(open, sizeof open, "; endpoints open: %lld", (long long)p->endpoints);
  }
  snprintf(about, sizeof about, "by grove aggregate --try; the last part %.6g us late%s",
           1e6 * s->delay, open);
  int failed = !file || grove_part_table_print(table, about, file) != GROVE_OK;
  if (file && fclose(file) != 0) failed = 1;
  if (failed) {
    fprintf(stderr, "grove aggregate: %s could not be written to its end\n", s->output);
    return EXIT_FAILED;
  }
  fprintf(stderr, "written to %s; use it: %sGROVE_AGGREGATOR=table GROVE_PART_TABLE=%s\n",
          s->output, others, s->output);
  return EXIT_OK;
}

/* ---- endpoints ---- */

/* How many are open for messages to this rank; 0: channels do not go over libfabric. */
static int64_t count_open(const pair *p, int peer)
{
  int n = 0;
  char carrier[16];
  must(grove_context_get(p->ctx, "transport_parts", carrier, sizeof carrier));
  if (strcmp(carrier, "ofi") != 0) return 0;
#ifdef GROVE_LIBFABRIC
  must(grove_fabric_count_endpoints(p->ctx, peer, &n));
#else
  (void)peer;
#endif
  return n;
}

static void make_trial(pair *p)
{
  const char *folder = getenv("TMPDIR");
  snprintf(p->trial, sizeof p->trial, "%.200s/grove-trial-XXXXXX",
           folder && *folder ? folder : "/tmp");
  int file = mkstemp(p->trial);
  must(file >= 0 ? GROVE_OK
                 : grove_error(GROVE_ERR_SYSTEM, __FILE__, __LINE__, "%s cannot be made: %s",
                               p->trial, strerror(errno)));
  close(file);
}

/* The same number on all ranks: what both ends of the channel have. All know the file of the table,
 * since options are the same everywhere; rank 0 alone reads it. */
static void find_endpoints(pair *p)
{
  int64_t mine = INT64_MAX;
  if (p->rank == 0 || p->rank == p->last) mine = count_open(p, p->last - p->rank);
  MPI_Allreduce(&mine, &p->endpoints, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
  if (p->endpoints == 0) return;
  if (p->rank == 0) make_trial(p);
  MPI_Bcast(p->trial, sizeof p->trial, MPI_CHAR, 0, MPI_COMM_WORLD);
  must(grove_context_set(p->ctx, "part_table", p->trial));
}

static int tune(const settings *s, int rank, int size)
{
  pair p = {.rank = rank, .last = size - 1};
  const tried letter_alone = {.messages = 1};
  grove_part_table table = {0};
  char letter = 0;
  int code = EXIT_OK;
  must(grove_context_create(MPI_COMM_WORLD, &p.ctx));
  must(grove_context_set(p.ctx, "min_message", "0"));
  p.word = try_choice(&p, &letter, 1, 1, &letter_alone, 0) / 2;
  find_endpoints(&p);
  tune_all(&p, s, &table);
  if (rank == 0 && *p.trial) unlink(p.trial);
  if (rank == 0) code = write_table(s, &p, &table);
  if (rank == 0 && code == EXIT_OK) print_results(s, &table);
  MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
  grove_part_table_free(&table);
  must(grove_context_free(&p.ctx));
  return code;
}

int aggregate_try(int argc, char **argv)
{
  settings s = {0};
  int rank = 0, size = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int code = read_settings(argc, argv, rank, &s);
  if (code == EXIT_OK && size < 2)
    code = complain(rank, "%s", "--try needs two ranks or more: mpirun -n 2 grove aggregate ...");
  if (code == EXIT_OK && rank == 0) code = check_output(s.output);
  MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (code == EXIT_OK) code = tune(&s, rank, size);
  MPI_Finalize();
  return code;
}
