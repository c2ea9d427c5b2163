/* Grove at scale: every route of the library on exchanges between simulated ranks, in simulated
 * time, with every value checked. bench/scale/run starts it through smpirun:
 *
 *     scale NODE_SIZE SOCKET_SIZE CASE...
 *
 * A case is a pattern (pattern.h) or the word 'pingpong'. Rank 0 prints 'context SECONDS', the time
 * to make the context, then one line per case and entrant,
 *
 *     row CASE ENTRANT ROUTE SECONDS PREDICTED FOREST INIT MEMORY MESSAGES BYTES WRONG
 *
 * and at the very end 'scale: all done', because SMPI may exit successfully after a failure.
 * ENTRANT is a route or auto, ROUTE what it ran on. SECONDS is from the start on all ranks until
 * the last is through. FOREST and INIT are seconds of set-up on the slowest rank; a case has one
 * forest. MEMORY is in bytes, of the forest and the operation, on the rank with the most. MESSAGES
 * and BYTES are off node, over all ranks.
 */
#include "meeting.h"
#include "pattern.h"
#include "pingpong.h"

#include "kit/need.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 2 }; /* the first is not timed */

/* What a user would do comes first, on an unused forest. */
static const char *const entrants[] = {"auto", "standard", "2-step", "3-step", "split"};
enum { ENTRANTS = sizeof entrants / sizeof *entrants };

/* Measured values: maxima over all ranks, but sums from `messages` on. */
typedef struct figures {
  double seconds, forest, init, memory;
  double messages, bytes, wrong;
} figures;
enum { MAXIMA = 4, SUMS = 3 };

static int rank_of_me, size_of_all;

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
  bench_need_grove(grove_forest_create(ctx, &f));
  bench_need_grove(grove_forest_set_graph(f, p->nroots, p->nleaves, NULL, p->root));
  bench_need_grove(grove_forest_set_up(f));
  return f;
}

static void exchange(grove_op *op, const pattern *p, double *root, double *leaf, figures *out)
{
  for (int round = 0; round < ROUNDS; round++) {
    fill(p, round, root, leaf);
    double since = scale_meet();
    bench_need_grove(grove_start(op));
    bench_need_grove(grove_wait(op));
    out->seconds = MPI_Wtime() - since;
    out->wrong += (double)count_wrong(p, round, leaf);
  }
}

static void report(grove_op *op, const char *name, const char *entrant, const figures *mine)
{
  grove_report about = {.struct_size = sizeof about};
  bench_need_grove(grove_op_report(op, &about));
  figures all = *mine, sum = *mine;
  sum.messages = (double)about.off_node_messages;
  sum.bytes = (double)about.off_node_bytes;
  meeting_combine(size_of_all, &all.seconds, MAXIMA, &sum.messages, SUMS);
  if (rank_of_me != 0) return;
  printf("row %s %s %s %.9g %.9g %.9g %.9g %.0f %.0f %.0f %.0f\n", name, entrant, about.route,
         all.seconds, about.predicted_seconds, all.forest, all.init, all.memory, sum.messages,
         sum.bytes, sum.wrong);
  fflush(stdout);
}

/* `about` has the costs of the forest. */
static void run_entrant(grove_forest *forest, const char *name, const char *entrant,
                        const pattern *p, double *root, double *leaf, figures about)
{
  MPI_Datatype unit;
  grove_op *op = NULL;
  MPI_Type_contiguous(p->doubles, MPI_DOUBLE, &unit);
  MPI_Type_commit(&unit);
  int64_t before = scale_allocated();
  double since = scale_meet();
  bench_need_grove(grove_bcast_init(forest, unit, root, leaf, MPI_REPLACE, &op));
  about.init = MPI_Wtime() - since;
  about.memory += (double)(scale_allocated() - before);
  exchange(op, p, root, leaf, &about);
  report(op, name, entrant, &about);
  bench_need_grove(grove_op_free(&op));
  MPI_Type_free(&unit);
}

/* Every entrant on one forest. */
static void run_entrants(grove_context *ctx, const char *name, const pattern *p, double *root,
                         double *leaf)
{
  int64_t before = scale_allocated();
  double since = scale_meet();
  grove_forest *forest = make_forest(ctx, p);
  figures about = {.forest = MPI_Wtime() - since, .memory = (double)(scale_allocated() - before)};
  for (int i = 0; i < ENTRANTS; i++) {
    bench_need_grove(grove_context_set(ctx, "route", entrants[i]));
    run_entrant(forest, name, entrants[i], p, root, leaf, about);
  }
  bench_need_grove(grove_forest_free(&forest));
}

/* The name of a case: for a file without folders and endings. */
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
  double *root = bench_alloc((size_t)(p.nroots * p.doubles) + 1, sizeof *root);
  double *leaf = bench_alloc((size_t)(p.nleaves * p.doubles) + 1, sizeof *leaf);
  run_entrants(ctx, name, &p, root, leaf);
  free(root);
  free(leaf);
  pattern_free(&p);
  return 0;
}

int main(int argc, char **argv)
{
  grove_context *ctx = NULL;
  int failed = argc < 4;
  bench_need_as("scale", 1);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_of_me);
  MPI_Comm_size(MPI_COMM_WORLD, &size_of_all);
  double since = scale_meet();
  bench_need_grove(grove_context_create(MPI_COMM_WORLD, &ctx));
  double seconds = MPI_Wtime() - since;
  meeting_combine(size_of_all, &seconds, 1, NULL, 0);
  if (rank_of_me == 0) printf("context %.9g\n", seconds);
  for (int i = 3; i < argc && !failed; i++) {
    if (strcmp(argv[i], "pingpong") == 0)
      pingpong_run(atoi(argv[1]), atoi(argv[2]));
    else
      failed = run_case(ctx, argv[i]);
  }
  bench_need_grove(grove_context_free(&ctx));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_of_me == 0 && !failed) printf("scale: all done\n");
  MPI_Finalize();
  return failed;
}
