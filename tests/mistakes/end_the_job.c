/* With on_error=abort every public call that fails ends the job: here each makes a mistake, and
 * MPI_Abort, which is this program's own, comes back. A call on a context goes by the context's
 * option, one without by the environment. Where these say `return`, the same mistakes return.
 * tools/must sees to it that no call of the headers is forgotten. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "capture.h"
#include "check.h"
#include "grove_cuda.h"
#include "ring.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static jmp_buf back;
static int armed, code, mistakes;

int MPI_Abort(MPI_Comm comm, int errorcode)
{
  code = errorcode;
  if (!armed) return PMPI_Abort(comm, errorcode);
  longjmp(back, 1);
}

/* There is no mpiexec that wants a moment to read the sentence. */
int nanosleep(const struct timespec *wanted, struct timespec *left)
{
  return armed ? 0 : clock_nanosleep(CLOCK_REALTIME, 0, wanted, left);
}

/* Which of the two say `abort`. */
typedef enum governor { CONTEXT, ALONE, GOVERNORS } governor;
static int aborts[GOVERNORS];
static governor by;
static const char *call;
static capture heard;

static void begin_mistake(governor who, const char *what)
{
  by = who;
  call = what;
  code = 0;
  armed = 1;
  test_case(mistakes++);
  heard = capture_begin();
}

static void end_mistake(grove_status got)
{
  char text[CAPTURE_BYTES], line[2048];
  armed = 0;
  capture_end(&heard, text);
  CHECK((code != 0) == aborts[by], "%s: %s", call, code ? "aborted" : "did not abort");
  CHECK(aborts[by] || got != GROVE_OK, "%s is no mistake", call);
  snprintf(line, sizeof line, "grove: rank %d: %s: %s\n", world_rank(),
           grove_status_name((grove_status)code), grove_last_error());
  CHECK(strcmp(text, aborts[by] ? line : "") == 0, "%s printed '%s', not '%s'", call, text, line);
}

#define MISTAKE(who, what)                                                                         \
  do {                                                                                             \
    begin_mistake(who, #what);                                                                     \
    if (setjmp(back) == 0)                                                                         \
      end_mistake(what);                                                                           \
    else                                                                                           \
      end_mistake(GROVE_OK);                                                                       \
  } while (0)

/* ---- what the mistakes are made with ---- */

static grove_context *ctx;
static grove_forest *good, *bare, *wrong; /* set up; without a graph; with one that is none */
static grove_op *idle, *active, *fetch;
static int64_t x[3];

static void context_mistakes(void)
{
  grove_context *other = NULL;
  char value[8];
  MISTAKE(ALONE, grove_context_create(MPI_COMM_NULL, &other));
  MISTAKE(ALONE, grove_context_set(NULL, "route", "auto"));
  MISTAKE(CONTEXT, grove_context_set(ctx, "route", "4-step"));
  MISTAKE(CONTEXT, grove_context_get(ctx, "banana", value, sizeof value));
  MISTAKE(CONTEXT, grove_context_node(ctx, -1, NULL, NULL));
  MISTAKE(CONTEXT, grove_alloc(ctx, 8, NULL));
  MISTAKE(CONTEXT, grove_dealloc(ctx, x));
  MISTAKE(CONTEXT, grove_machine_measure(ctx, NULL));
  MISTAKE(ALONE, grove_context_use_machine(NULL, NULL));
  MISTAKE(CONTEXT, grove_alloc_device(ctx, 8, NULL));
  MISTAKE(CONTEXT, grove_copy(ctx, NULL, x, 8));
  MISTAKE(ALONE, grove_context_set_stream(NULL, NULL));
}

static void machine_mistakes(void)
{
  grove_machine *machine = NULL;
  MISTAKE(ALONE, grove_machine_open("there/is/none", &machine));
  MISTAKE(ALONE, grove_machine_write(NULL, "there/is/none"));
}

static void forest_mistakes(void)
{
  grove_root root = {0, 0};
  MISTAKE(CONTEXT, grove_forest_create(ctx, NULL));
  MISTAKE(CONTEXT, grove_forest_set_graph(good, 0, 0, NULL, &root));
  MISTAKE(CONTEXT, grove_forest_set_graph32(good, 0, 0, NULL, NULL));
  MISTAKE(CONTEXT, grove_forest_set_graph_global(good, 0, 0, NULL, x));
  MISTAKE(CONTEXT, grove_forest_set_pattern(good, GROVE_GATHER, 1));
  MISTAKE(CONTEXT, grove_forest_allow_duplicates(good));
  MISTAKE(CONTEXT, grove_forest_set(good, "timeout", "1"));
  MISTAKE(CONTEXT, grove_forest_set_name(good, NULL));
  MISTAKE(CONTEXT, grove_forest_set_up(wrong));
  MISTAKE(ALONE, grove_forest_sizes(NULL, NULL, NULL));
  MISTAKE(CONTEXT, grove_forest_sizes(bare, NULL, NULL));
  MISTAKE(CONTEXT, grove_forest_graph(bare, NULL, NULL, NULL, NULL));
  MISTAKE(CONTEXT, grove_forest_leaf_range(bare, NULL, NULL));
  MISTAKE(CONTEXT, grove_forest_root_ranks(bare, NULL, NULL));
  MISTAKE(CONTEXT, grove_forest_leaf_ranks(bare, NULL, NULL));
  MISTAKE(CONTEXT, grove_forest_root_lists(bare, NULL, NULL, NULL, NULL, NULL));
  MISTAKE(CONTEXT, grove_forest_leaf_lists(bare, NULL, NULL, NULL, NULL));
  MISTAKE(CONTEXT, grove_forest_degrees(bare, x));
  MISTAKE(CONTEXT, grove_forest_print(good, NULL));
  MISTAKE(CONTEXT, grove_forest_explain(bare, 8, stdout));
}

static void algebra_mistakes(void)
{
  grove_forest *out = NULL;
  int64_t none = -1, size[1] = {4};
  MISTAKE(CONTEXT, grove_forest_multi(bare, &out));
  MISTAKE(CONTEXT, grove_forest_inverse(bare, &out));
  MISTAKE(CONTEXT, grove_forest_compose(good, bare, &out));
  MISTAKE(CONTEXT, grove_forest_compose_inverse(bare, good, &out));
  MISTAKE(CONTEXT, grove_forest_embed_roots(good, 1, &none, &out));
  MISTAKE(CONTEXT, grove_forest_embed_leaves(good, 1, &none, &out));
  MISTAKE(CONTEXT, grove_forest_concatenate(1, &bare, GROVE_ROOTS_LOCAL, &out));
  MISTAKE(ALONE, grove_forest_concatenate(0, NULL, GROVE_ROOTS_LOCAL, &out));
  MISTAKE(CONTEXT, grove_forest_merge(good, good, NULL));
  MISTAKE(CONTEXT, grove_forest_strided(good, -1, 0, 0, &out));
  MISTAKE(CONTEXT, grove_forest_expand(bare, NULL, NULL, NULL, &out));
  MISTAKE(CONTEXT, grove_forest_match(ctx, -1, NULL, 0, NULL, &out));
  MISTAKE(CONTEXT, grove_ghosts(ctx, -1, 0, NULL, NULL, NULL, NULL, &out));
  MISTAKE(CONTEXT, grove_forest_box(ctx, 9, size, NULL, NULL, NULL, 0, &out));
}

/* The ways to make an operation. */
static void making_mistakes(void)
{
  MPI_Datatype none = MPI_DATATYPE_NULL, unit = MPI_INT64_T;
  grove_op *out = NULL;
  MISTAKE(CONTEXT, grove_bcast_init(good, none, x, x, MPI_REPLACE, &out));
  MISTAKE(CONTEXT, grove_reduce_init(good, none, x, x, MPI_SUM, &out));
  MISTAKE(CONTEXT, grove_fetch_init(good, none, x, x, x, MPI_SUM, &out));
  MISTAKE(CONTEXT, grove_gather_init(good, none, x, x, &out));
  MISTAKE(CONTEXT, grove_scatter_init(good, unit, x, x, NULL));
  MISTAKE(ALONE, grove_bcast_begin(NULL, unit, x, x, MPI_REPLACE, &out));
  MISTAKE(CONTEXT, grove_bcast_begin(good, none, x, x, MPI_REPLACE, &out));
  MISTAKE(CONTEXT, grove_reduce_begin(good, none, x, x, MPI_SUM, &out));
  MISTAKE(CONTEXT, grove_fetch_begin(good, none, x, x, x, MPI_SUM, &out));
  MISTAKE(CONTEXT, grove_gather_begin(good, none, x, x, &out));
  MISTAKE(CONTEXT, grove_scatter_begin(good, none, x, x, &out));
  MISTAKE(CONTEXT, grove_bcast_prepare(good, none, MPI_REPLACE));
  MISTAKE(CONTEXT, grove_reduce_prepare(good, none, MPI_SUM));
  MISTAKE(CONTEXT, grove_fetch_prepare(good, none, MPI_SUM));
  MISTAKE(CONTEXT, grove_gather_prepare(good, none));
  MISTAKE(CONTEXT, grove_scatter_prepare(bare, unit));
  MISTAKE(CONTEXT, grove_bcast(good, none, x, x, MPI_REPLACE));
  MISTAKE(CONTEXT, grove_reduce(good, none, x, x, MPI_SUM));
  MISTAKE(CONTEXT, grove_fetch(good, none, x, x, x, MPI_SUM));
  MISTAKE(CONTEXT, grove_gather(good, none, x, x));
  MISTAKE(CONTEXT, grove_scatter(bare, unit, x, x));
  MISTAKE(CONTEXT, grove_op_bundle(1, &idle, NULL));
  MISTAKE(ALONE, grove_op_bundle(-1, NULL, &out));
  MISTAKE(CONTEXT, grove_psend_init(ctx, x, -1, 1, unit, 0, 0, &out));
  MISTAKE(CONTEXT, grove_precv_init(ctx, x, 1, 1, none, 0, 0, &out));
}

static void operation_mistakes(void)
{
  int64_t first = 0, count = 0;
  grove_part_time time;
  int done = 0;
  MISTAKE(CONTEXT, grove_start(active));
  MISTAKE(ALONE, grove_start(NULL));
  MISTAKE(CONTEXT, grove_test(idle, &done));
  MISTAKE(CONTEXT, grove_wait(idle));
  MISTAKE(ALONE, grove_wait(NULL));
  MISTAKE(ALONE, grove_wait_all(-1, NULL));
  MISTAKE(CONTEXT, grove_wait_any(1, &active, NULL));
  MISTAKE(CONTEXT, grove_test_some(1, &active, NULL, NULL));
  MISTAKE(CONTEXT, grove_end(&idle));
  MISTAKE(CONTEXT, grove_start_parts(fetch));
  MISTAKE(CONTEXT, grove_ready(idle, 0, 1));
  MISTAKE(CONTEXT, grove_arrived(active, -1, 1, &done));
  MISTAKE(CONTEXT, grove_arrivals(active, &first, NULL));
  MISTAKE(CONTEXT, grove_op_part_times(idle, 0, 1, &time));
  MISTAKE(CONTEXT, grove_op_report(idle, NULL));
  MISTAKE(ALONE, grove_op_set_user(NULL, x));
  MISTAKE(CONTEXT, grove_op_get_user(idle, NULL));
  MISTAKE(ALONE, grove_op_set_stream(NULL, NULL));
  MISTAKE(CONTEXT, grove_wait_on_stream(idle));
  MISTAKE(ALONE, grove_arrivals(NULL, &first, &count));
}

/* Every entry that fails is told after all have been waited for: the first of them ends the job. */
static void late_mistakes(void)
{
  grove_op *late[2] = {NULL, NULL};
  int which = 0;
  if (world_size() < 2) return;
  place p = place_create(split(0)); /* no collective call on it has to be as quick */
  CHECK_OK(grove_context_set(p.ctx, "on_error", aborts[CONTEXT] ? "abort" : "return"));
  CHECK_OK(grove_context_set(p.ctx, "timeout", "0.1"));
  for (int i = 0; i < 2; i++) {
    int tag = i, none = world_rank() == 0 ? 1 : 0;
    CHECK_OK(grove_precv_init(p.ctx, x, 1, 1, MPI_INT64_T, none, tag, &late[i]));
    CHECK_OK(grove_start(late[i]));
  }
  MISTAKE(CONTEXT, grove_wait(late[1]));
  MISTAKE(CONTEXT, grove_wait_all(2, late));
  CHECK(strstr(grove_last_error(), "entry 0"), "'%s'", grove_last_error());
  MISTAKE(CONTEXT, grove_wait_any(2, late, &which));
  for (int i = 0; i < 2; i++) CHECK_OK(grove_op_free(&late[i]));
  place_free(&p);
}

static void copier_mistakes(void)
{
  MISTAKE(ALONE, grove_copier_create(NULL, NULL, NULL));
  MISTAKE(ALONE, grove_copier_copy(NULL, x, 1, x, 0, 8, NULL));
  MISTAKE(ALONE, grove_copier_explain(NULL, 0, 1, 8, stderr));
  MISTAKE(ALONE, grove_copier_free(NULL));
  MISTAKE(ALONE, grove_copy_async(NULL, x, 1, x, 0, 8, NULL));
  MISTAKE(CONTEXT, grove_copy_async(ctx, NULL, 1, x, 0, 8, NULL));
}

/* ---- all of them ---- */

static void make_objects(const ring *r)
{
  grove_root nowhere = {world_size(), 0};
  good = r->forest;
  CHECK_OK(grove_forest_create(ctx, &bare));
  CHECK_OK(grove_forest_create(ctx, &wrong));
  CHECK_OK(grove_forest_set_graph(wrong, 1, 1, NULL, &nowhere));
  CHECK_OK(grove_bcast_init(good, MPI_INT64_T, r->root, r->leaf, MPI_REPLACE, &idle));
  CHECK_OK(grove_reduce_init(good, MPI_INT64_T, r->leaf, r->root, MPI_SUM, &active));
  CHECK_OK(grove_fetch_init(good, MPI_INT64_T, r->root, r->leaf, r->leaf, MPI_SUM, &fetch));
  CHECK_OK(grove_start(active));
}

static void free_objects(void)
{
  CHECK_OK(grove_wait(active)); /* it came to no harm */
  CHECK_OK(grove_op_free(&idle));
  CHECK_OK(grove_op_free(&active));
  CHECK_OK(grove_op_free(&fetch));
  CHECK_OK(grove_forest_free(&bare));
  CHECK_OK(grove_forest_free(&wrong));
}

static void make_mistakes(void)
{
  static const char *const word[2] = {"return", "abort"};
  for (int k = 0; k < 4; k++) {
    aborts[CONTEXT] = k & 1;
    aborts[ALONE] = k >> 1;
    setenv("GROVE_ON_ERROR", word[aborts[ALONE]], 1);
    CHECK_OK(grove_context_set(ctx, "on_error", word[aborts[CONTEXT]]));
    context_mistakes();
    machine_mistakes();
    forest_mistakes();
    algebra_mistakes();
    making_mistakes();
    operation_mistakes();
    late_mistakes();
    copier_mistakes();
  }
  CHECK_OK(grove_context_set(ctx, "on_error", "return"));
  unsetenv("GROVE_ON_ERROR");
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "mistakes/end_the_job");
  place p = place_create(split(0));
  ring r = ring_open(&p, RING_SMALL, RING_NOBODY, KIND_BCAST);
  ctx = p.ctx;
  make_objects(&r);
  make_mistakes();
  free_objects();
  ring_run(&r, 3);
  ring_close(&r);
  place_free(&p);
  return test_end();
}
