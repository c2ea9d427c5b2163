/* grove explain: what the ranks of a machine must send for a matrix, by which routes, and at what
 * price. Nothing here calls MPI, so it runs where there is none.
 */
#include "grove/explain/explain.h"

#include "grove/command.h"
#include "grove/explain/picture.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CELLS_DRAWN = 512, MOST_UNIT_BYTES = 1 << 20 };
static const double PATIENCE_SECONDS = 2;

static const char help[] =
  "usage: grove explain FILE.mtx[.gz] --nodes N --ppn P --machine M [OPTION...]\n"
  "\n"
  "Shows what an exchange of vector entries, as a sparse matrix-vector product needs it,\n"
  "sends on N nodes with P ranks each, what every route would cost on machine M, by term,\n"
  "and which one Grove would take. It runs by itself, without mpirun and without machine M.\n"
  "\n"
  "  FILE             a Matrix Market file, square; the pattern counts, not the values\n"
  "  --nodes N        nodes; rank r sits on node r / P\n"
  "  --ppn P          ranks per node, in blocks on its sockets\n"
  "  --machine M      auto, a name that 'grove machine list' shows, or a profile's file\n"
  "  --partition HOW  who owns which rows: contiguous (default), equal blocks in the order\n"
  "                   of the file; metis, parts that few entries join\n"
  "  --unit-bytes B   bytes of one value (8)\n"
  "  --message-cap B  route split: bytes of a message between nodes (where the machine turns to\n"
  "                   rendezvous)\n"
  "  --memory WHERE   where the vectors lie: host (default); device, so that what is sent is\n"
  "                   copied to the host first and back in the end\n"
  "  --topology HOW   how the nodes are joined, for contention: AxBxC, a torus of 1 to 5\n"
  "                   dimensions, a node on each router, or AxBxC:N with N nodes; cube, the\n"
  "                   estimate of a cube of routers just large enough, with two nodes each, or\n"
  "                   cube:N. Without it contention is left out: the busiest link is unknown\n"
  "  --picture STEM   draws who sends how much to whom: STEM-ranks and STEM-nodes, as .svg\n"
  "                   and .png with gnuplot, as .dat and .gp without\n"
  "  --json           for programs; times in seconds\n"
  "\n"
  "A message is all that one rank needs from another. A value is one entry of the vector that\n"
  "a rank needs and does not own; 'once per node' counts it once for all ranks of a node. If\n"
  "the profile of a machine lacks the cost of messages, there are counts but no price.\n"
  "\n"
  "Examples:\n"
  "  grove explain cage10.mtx.gz --nodes 4 --ppn 16 --machine lassen\n"
  "  grove explain cage10.mtx.gz --nodes 4 --ppn 16 --machine lassen --partition metis\n"
  "  grove explain A.mtx --nodes 32 --ppn 40 --machine my.machine --picture pictures/A\n"
  "  grove explain A.mtx --nodes 64 --ppn 16 --machine bluewaters --topology 4x4x2:2\n";

/* ---- sentences ---- */

static int complain(const char *format, ...)
{
  va_list words;
  va_start(words, format);
  fprintf(stderr, "grove explain: ");
  vfprintf(stderr, format, words);
  fprintf(stderr, "\n");
  va_end(words);
  return EXIT_BAD_INPUT;
}

/* ---- arguments ---- */

/* Takes argv[*i] if it is a flag with a value. 1: it was; 0: it is another; -1: an error, printed.
 * */
static int read_flag(int argc, char **argv, int *i, explain_settings *s)
{
  static const char *const memories[] = {"host", "device"};
  static const char *const partitions[] = {"contiguous", "metis"};
  const char *flag = argv[*i], *value = NULL, *needs = NULL;
  int which = 0;
  if ((value = flag_value(argc, argv, i, "--nodes")))
    needs = need_number(value, 1, PARTITION_MOST_PARTS, &s->nodes);
  else if ((value = flag_value(argc, argv, i, "--ppn")))
    needs = need_number(value, 1, PARTITION_MOST_PARTS, &s->ppn);
  else if ((value = flag_value(argc, argv, i, "--unit-bytes")))
    needs = need_number(value, 1, MOST_UNIT_BYTES, &s->unit_bytes);
  else if ((value = flag_value(argc, argv, i, "--message-cap")))
    needs = need_number(value, 1, INT_MAX, &s->message_cap);
  else if ((value = flag_value(argc, argv, i, "--machine")))
    needs = *(s->machine = value) ? NULL : MACHINE_NEEDS;
  else if ((value = flag_value(argc, argv, i, "--topology")))
    needs = topology_read(s->joined = value, &s->topology)
              ? "1 to 5 numbers such as 4x4x2, also 4x4x2:2, or cube, or cube:2"
              : NULL;
  else if ((value = flag_value(argc, argv, i, "--picture")))
    needs = *(s->picture = value) ? NULL : "the beginning of a file's name";
  else if ((value = flag_value(argc, argv, i, "--memory")))
    needs = need_word(s->memory = value, memories, 2, &which);
  else if ((value = flag_value(argc, argv, i, "--partition")))
    needs = need_word(s->partition = value, partitions, 2, &which);
  else
    return 0;
  if (!needs) return 1;
  char name[32];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(flag, "="), flag);
  refuse_value("explain", name, value, needs);
  return -1;
}

static int check_settings(const explain_settings *s)
{
  if (!s->file)
    return complain("which matrix? A file NAME.mtx or NAME.mtx.gz; see grove explain --help");
  const char *missing = s->nodes == 0 ? "--nodes" : s->ppn == 0 ? "--ppn" : "--machine";
  if (s->nodes == 0 || s->ppn == 0 || !s->machine)
    return complain("%s is missing: it must be %s; see grove explain --help", missing,
                    s->nodes && s->ppn ? MACHINE_NEEDS : "a whole number, 1 or more");
  if (s->nodes * s->ppn > PARTITION_MOST_PARTS)
    return complain("%lld nodes with %lld ranks each are more than %d ranks", (long long)s->nodes,
                    (long long)s->ppn, PARTITION_MOST_PARTS);
  if (s->joined && topology_nodes(&s->topology) < s->nodes)
    return complain("--topology %s has room for %lld nodes, and there are %lld", s->joined,
                    (long long)topology_nodes(&s->topology), (long long)s->nodes);
  return EXIT_OK;
}

static int read_settings(int argc, char **argv, explain_settings *out)
{
  explain_settings s = {
    .partition = "contiguous", .memory = "host", .unit_bytes = 8, .message_cap = -1};
  for (int i = 1; i < argc; i++) {
    const char *word = argv[i];
    int taken = read_flag(argc, argv, &i, &s);
    if (taken < 0) return EXIT_BAD_INPUT;
    if (taken) continue;
    if (strcmp(word, "--json") == 0)
      s.json = 1;
    else if (word[0] == '-' && word[1])
      return refuse_flag("explain", word, help);
    else if (s.file)
      return complain("one matrix at a time, not also '%s'; see grove explain --help", word);
    else
      s.file = word;
  }
  *out = s;
  return check_settings(&s);
}

/* ---- progress: shown to people when it takes a while ---- */

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct waiting {
  const char *file;
  double begin, shown;
} waiting;

static void show_reading(void *user, int64_t done, int64_t all)
{
  waiting *w = user;
  double time = now();
  if (time - w->begin < PATIENCE_SECONDS || time - w->shown < 0.1 || !isatty(2)) return;
  w->shown = time;
  if (all > 0)
    fprintf(stderr, "\rreading %s: %lld %%, %.0f s left  ", w->file, (long long)(100 * done / all),
            (time - w->begin) * (double)(all - done) / (double)done);
  else
    fprintf(stderr, "\rreading %s: %lld bytes ", w->file, (long long)done);
}

static void clear_progress(const waiting *w)
{
  if (w->shown > 0) fprintf(stderr, "\r\033[K");
}

/* ---- the matrix and its communication ---- */

static int read_matrix(explanation *x, matrix_market *m)
{
  matrix_market_error error;
  waiting w = {.file = x->set.file, .begin = now()};
  matrix_market_how how = {.pattern_only = 1, .progress = show_reading, .user = &w};
  int failed = matrix_market_read(x->set.file, &how, m, &error);
  clear_progress(&w);
  if (failed) return complain("%s", error.sentence);
  x->rows = m->rows;
  x->entries = m->count;
  if (m->rows != m->cols)
    return complain("%s has %lld rows and %lld columns; a square matrix is needed, for rows and "
                    "vector entries have the same owner",
                    x->set.file, (long long)m->rows, (long long)m->cols);
  if (m->rows > PARTITION_MOST_ROWS)
    return complain("%s has %lld rows; at most %d can be dealt with", x->set.file,
                    (long long)m->rows, PARTITION_MOST_ROWS);
  return EXIT_OK;
}

static grove_status divide(const explanation *x, const matrix_market *m, partition *out)
{
  int ranks = (int)(x->set.nodes * x->set.ppn);
  *out = partition_contiguous(m->rows, ranks);
  if (strcmp(x->set.partition, "metis") != 0) return GROVE_OK;
  int slow = isatty(2) && m->count > 5000000;
  if (slow) fprintf(stderr, "METIS makes %d parts of %lld rows ...", ranks, (long long)m->rows);
  grove_status status = partition_metis(m, ranks, out);
  if (slow) fprintf(stderr, "\r\033[K");
  return status;
}

/* ---- routes ---- */

/* Inside a node Grove sends no messages. If the profile lacks the cost of flags and copies, the
 * price is that of MPI's messages. */
static grove_status price(const explanation *x, explained_route *r, grove_candidate *out)
{
  grove_pricing how = {.unit_bytes = x->set.unit_bytes,
                       .shared_memory = grove_machine_has_shared(x->machine),
                       .order = GROVE_QUEUE_TYPICAL};
  how.lifted_out = how.lifted_in = strcmp(x->set.memory, "device") == 0;
  if (x->set.joined)
    GROVE_PASS(
      topology_contend(&x->set.topology, &r->manifest, &x->topo, x->set.unit_bytes, &r->contended));
  how.link_bytes = r->contended.link_bytes;
  GROVE_PASS(grove_route_estimate(&r->manifest, x->machine, &x->topo, -1, &how, &out->estimate));
  out->seconds = out->estimate.price.seconds;
  return GROVE_OK;
}

/* Chooses as the library does, but from all edges. */
static grove_status look_at_routes(explanation *x, const communication *c)
{
  grove_status status = GROVE_OK;
  grove_demand demand = {0};
  const grove_build how = {
    .share = 1, .cap = grove_split_cap(x->machine, (int)x->set.message_cap, x->set.unit_bytes)};
  x->alone = grove_route_alone(&x->topo, GROVE_OFF_NODE_P2P);
  x->choice.n = x->alone ? 1 : GROVE_ROUTES;
  GROVE_TRY(grove_demand_create(c->edges, c->count, &x->topo, &how, &demand));
  for (int i = 0; i < x->choice.n; i++) {
    x->choice.candidates[i].route = grove_routes[i];
    GROVE_TRY(grove_routes[i]->count(&demand, &x->topo, &how, &x->route[i].manifest));
    GROVE_TRY(price(x, &x->route[i], &x->choice.candidates[i]));
  }
  grove_choice_decide(&x->choice, x->machine);
fail:
  grove_demand_free(&demand);
  return status;
}

static grove_status look(explanation *x, const matrix_market *m)
{
  grove_status status = GROVE_OK;
  partition p = {0};
  communication c = {0};
  GROVE_TRY(communication_topo((int)x->set.nodes, (int)x->set.ppn, x->machine->sockets, &x->topo));
  GROVE_TRY(divide(x, m, &p));
  GROVE_TRY(communication_create(m, &p, &c));
  GROVE_TRY(communication_count(&c, &p, &x->topo, &x->counts));
  GROVE_TRY(look_at_routes(x, &c));
fail:
  partition_free(&p);
  communication_free(&c);
  return status;
}

/* ---- pictures ---- */

static int draw(explanation *x, picture_of of, const char *ending)
{
  char stem[512], title[512];
  picture p = {0};
  const grove_choice *c = &x->choice;
  if (snprintf(stem, sizeof stem, "%s-%s", x->set.picture, ending) >= (int)sizeof stem)
    return complain("--picture has too long a name");
  const char *slash = strrchr(x->set.file, '/');
  snprintf(title, sizeof title, "%s: %s on %lld nodes with %lld ranks, %s",
           c->candidates[c->chosen].route->name, slash ? slash + 1 : x->set.file,
           (long long)x->set.nodes, (long long)x->set.ppn, x->set.partition);
  if (picture_create(&x->route[c->chosen].manifest, &x->topo, x->set.unit_bytes, of, CELLS_DRAWN,
                     &p) != GROVE_OK)
    return complain("%s", last_sentence());
  char *made = x->picture[x->npictures++];
  int code = picture_draw(&p, stem, title, made, EXPLAIN_SENTENCE);
  if (code != EXIT_OK) fprintf(stderr, "grove explain: %s\n", made);
  picture_free(&p);
  return code;
}

static int draw_pictures(explanation *x)
{
  if (!x->set.picture) return EXIT_OK;
  int code = draw(x, PICTURE_OF_RANKS, "ranks");
  return code == EXIT_OK ? draw(x, PICTURE_OF_NODES, "nodes") : code;
}

/* ---- the command ---- */

static int explain(explanation *x, matrix_market *m)
{
  int code = open_machine("explain", x->set.machine, &x->machine);
  if (code == EXIT_OK) code = read_matrix(x, m);
  if (code != EXIT_OK) return code;
  if (look(x, m) != GROVE_OK) return complain("%s", last_sentence());
  code = draw_pictures(x);
  if (code == EXIT_OK) (x->set.json ? explain_print_json : explain_print_text)(x, stdout);
  return code;
}

static int run(int argc, char **argv)
{
  explanation x = {0};
  matrix_market m = {0};
  int code = read_settings(argc, argv, &x.set);
  if (code == EXIT_OK) code = explain(&x, &m);
  for (int i = 0; i < GROVE_ROUTES; i++) grove_manifest_free(&x.route[i].manifest);
  free((grove_place *)x.topo.place);
  grove_machine_free(&x.machine);
  matrix_market_free(&m);
  return code;
}

const command command_explain = {
  .name = "explain",
  .summary = "what a matrix makes ranks send, the price of every route, the choice",
  .help = help,
  .run = run,
};
