/* Grove at scale: every route of the library on exchanges between simulated ranks, in simulated
 * time, every value checked. Started by bench/scale/run, through smpirun:
 *
 *     scale NODE_SIZE SOCKET_SIZE CASE...
 *
 * A case is a pattern (pattern.h) or the word 'pingpong'. Rank 0 prints 'context SECONDS', what it
 * took to make the context, then a line a case and entrant,
 *
 *     row CASE ENTRANT ROUTE SECONDS PREDICTED FOREST INIT MEMORY MESSAGES BYTES WRONG
 *
 * and at the very end 'scale: all done': SMPI may end well after a failure. ENTRANT is a route or
 * auto, ROUTE what it ran on. SECONDS from the start on all ranks until the last is through.
 * FOREST and INIT: seconds of set-up, of the slowest rank. MEMORY: bytes that the forest and the
 * operation take, on the rank that has most. MESSAGES, BYTES: off node, of all ranks.
 */
#include "pattern.h"
#include "pingpong.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 3 }; /* the first is not timed; the others are alike but for where ranks wait */

static const char *const entrants[] = {"standard", "2-step", "3-step", "split", "auto"};
enum { ENTRANTS = sizeof entrants / sizeof *entrants };

/* What is measured; the most of all ranks, but sums from `messages` on. */
typedef struct figures {
  double seconds, predicted, forest, init, memory;
  double messages, bytes, wrong;
} figures;
enum { MAXIMA = 5, SUMS = 3 };

static int rank_of_me;

static void must(grove_status status, const char *call)
{
  if (status == GROVE_OK) return;
  fprintf(stderr, "scale: rank %d: %s: %s\n", rank_of_me, call, grove_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- values ---- */

static double value_of(int rank, int64_t root, int k, int round)
{
  return rank * 1e5 + (double)root * 100 + (k % 97) + 0.25 * round;
}

static void fill(const pattern *p, int round, double *root, double *leaf)
{
  for (int64_t i = 0; i < p->nroots; i++)
    for (int k = 0; k < p->doubles; k++)
      root[i * p->doubles + k] = value_of(rank_of_me, i, k, round);
  for (int64_t i = 0; i < p->nleaves * p->doubles; i++) leaf[i] = -1;
}

static int64_t count_wrong(const pattern *p, int round, const double *leaf)
{
  int64_t wrong = 0;
  for (int64_t i = 0; i < p->nleaves; i++)
    for (int k = 0; k < p->doubles; k++)
      wrong += leaf[i * p->doubles + k] != value_of(p->root[i].rank, p->root[i].index, k, round);
  return wrong;
}

/* ---- one entrant ---- */

static grove_forest *make_forest(grove_context *ctx, const pattern *p)
{
  grove_forest *f = NULL;
  must(grove_forest_create(ctx, &f), "grove_forest_create");
  must(grove_forest_set_graph(f, p->nroots, p->nleaves, NULL, p->root), "grove_forest_set_graph");
  must(grove_forest_set_up(f), "grove_forest_set_up");
  return f;
}

static void exchange(grove_op *op, const pattern *p, double *root, double *leaf, figures *out)
{
  double total = 0;
  for (int round = 0; round < ROUNDS; round++) {
    fill(p, round, root, leaf);
    double since = scale_meet();
    must(grove_start(op), "grove_start");
    must(grove_wait(op), "grove_wait");
    double seconds = MPI_Wtime() - since, most = 0;
    MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (round > 0) total += most;
    out->wrong += (double)count_wrong(p, round, leaf);
  }
  out->seconds = total / (ROUNDS - 1);
}

static void report(grove_op *op, const char *name, const char *entrant, const figures *mine)
{
  grove_report about = {.struct_size = sizeof about};
  must(grove_op_report(op, &about), "grove_op_report");
  figures all = *mine, sum = *mine;
  sum.messages = (double)about.off_node_messages;
  sum.bytes = (double)about.off_node_bytes;
  MPI_Allreduce(MPI_IN_PLACE, &all.seconds, MAXIMA, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &sum.messages, SUMS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank_of_me != 0) return;
  printf("row %s %s %s %.9g %.9g %.9g %.9g %.0f %.0f %.0f %.0f\n", name, entrant, about.route,
         all.seconds, about.predicted_seconds, all.forest, all.init, all.memory, sum.messages,
         sum.bytes, sum.wrong);
  fflush(stdout);
}

static void run_entrant(grove_context *ctx, const char *name, const char *entrant, const pattern *p,
                        double *root, double *leaf)
{
  MPI_Datatype unit;
  grove_op *op = NULL;
  figures f = {0};
  MPI_Type_contiguous(p->doubles, MPI_DOUBLE, &unit);
  MPI_Type_commit(&unit);
  must(grove_context_set(ctx, "route", entrant), "grove_context_set");
  int64_t before = scale_allocated();
  double since = scale_meet();
  grove_forest *forest = make_forest(ctx, p);
  f.forest = MPI_Wtime() - since;
  since = scale_meet();
  must(grove_bcast_init(forest, unit, root, leaf, MPI_REPLACE, &op), "grove_bcast_init");
  f.init = MPI_Wtime() - since;
  f.memory = (double)(scale_allocated() - before);
  exchange(op, p, root, leaf, &f);
  report(op, name, entrant, &f);
  must(grove_op_free(&op), "grove_op_free");
  must(grove_forest_free(&forest), "grove_forest_free");
  MPI_Type_free(&unit);
}

/* The name of a case: of a file without folders and endings. */
static void name_case(const char *text, char *out, size_t room)
{
  const char *slash = strrchr(text, '/');
  snprintf(out, room, "%s%s", slash ? "matrix:" : "", slash ? slash + 1 : text);
  char *end = strstr(out, ".mtx");
  if (end) *end = '\0';
}

static int run_case(grove_context *ctx, const char *text)
{
  char name[256];
  pattern p = {0};
  if (pattern_make(text, MPI_COMM_WORLD, &p)) return 1;
  name_case(text, name, sizeof name);
  double *root = calloc((size_t)(p.nroots * p.doubles) + 1, sizeof *root);
  double *leaf = calloc((size_t)(p.nleaves * p.doubles) + 1, sizeof *leaf);
  if (!root || !leaf) abort();
  for (int i = 0; i < ENTRANTS; i++) run_entrant(ctx, name, entrants[i], &p, root, leaf);
  free(root);
  free(leaf);
  pattern_free(&p);
  return 0;
}

int main(int argc, char **argv)
{
  grove_context *ctx = NULL;
  int failed = argc < 4;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_of_me);
  double since = scale_meet();
  must(grove_context_create(MPI_COMM_WORLD, &ctx), "grove_context_create");
  double seconds = MPI_Wtime() - since, most = 0;
  MPI_Reduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank_of_me == 0) printf("context %.9g\n", most);
  for (int i = 3; i < argc && !failed; i++) {
    if (strcmp(argv[i], "pingpong") == 0)
      pingpong_run(atoi(argv[1]), atoi(argv[2]));
    else
      failed = run_case(ctx, argv[i]);
  }
  must(grove_context_free(&ctx), "grove_context_free");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_of_me == 0 && !failed) printf("scale: all done\n");
  MPI_Finalize();
  return failed;
}
