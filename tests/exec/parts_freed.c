/* Operations that leave by parts, freed in every state: what was marked goes on to those who want
 * it, what was not never leaves, and nothing is written to the array any more, which is somebody
 * else's at once. Those who wait for what never leaves are told so; others get all they wait for;
 * afterwards the forest and the context work as before. */
#include "blocks.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL = 3, LARGE = 9000, ABANDONED_MOST = 256, CANARY = 0x6b };

/* Arrays that abandoned operations were sending from must outlive the context. */
static struct {
  int n;
  int64_t *array[ABANDONED_MOST];
} abandoned;

static void keep(blocks *b)
{
  CHECK(abandoned.n < ABANDONED_MOST, "too many abandoned arrays");
  abandoned.array[abandoned.n++] = b->out;
  b->out = NULL;
}

static void free_abandoned(void)
{
  while (abandoned.n > 0) free(abandoned.array[--abandoned.n]);
}

/* ---- states: how much of the block of each rank is marked ---- */

typedef int64_t share(const blocks *b, int peer);

static int64_t nothing(const blocks *b, int peer)
{
  (void)b;
  (void)peer;
  return 0;
}

static int64_t some_blocks(const blocks *b, int peer)
{
  return (peer + b->p->rank) % 2 ? b->width : 0;
}

static int64_t some_of_each(const blocks *b, int peer)
{
  return peer == b->p->rank ? 0 : b->width / 2 + (peer % 2 ? 1 : 0);
}

static int64_t all_but_one(const blocks *b, int peer)
{
  return b->width - (peer == (b->p->rank + 1) % b->p->size);
}

static int64_t all(const blocks *b, int peer)
{
  (void)peer;
  return b->width;
}

static share *const shares[] = {nothing, some_blocks, some_of_each, all_but_one, all};
enum { SHARES = sizeof shares / sizeof *shares };

static void start_and_mark(blocks *b, share *how)
{
  blocks_renew(b);
  CHECK_OK(grove_start_parts(b->op));
  for (int i = 0; i < b->p->size; i++)
    if (how(b, i) > 0) blocks_mark(b, i, how(b, i));
}

/* Frees it, and uses the arrays for something else: but for what was marked. */
static void drop(blocks *b, share *how)
{
  size_t bytes = (size_t)(b->p->size * b->width) * sizeof *b->in;
  CHECK_OK(grove_op_free(&b->op));
  CHECK(b->op == NULL, "a freed operation is not NULL");
  memset(b->in, CANARY, bytes);
  for (int i = 0; i < b->p->size; i++)
    memset(b->out + i * b->width + how(b, i), CANARY,
           (size_t)(b->width - how(b, i)) * sizeof *b->out);
}

/* Nobody has written to it since. */
static void check_dropped(const blocks *b)
{
  const unsigned char *byte = (const unsigned char *)b->in;
  size_t n = (size_t)(b->p->size * b->width) * sizeof *b->in;
  for (size_t i = 0; i < n; i++)
    CHECK(byte[i] == CANARY, "%s: byte %zu was written after the operation was freed",
          kind_name(b->kind), i);
}

/* ---- all ranks free ---- */

typedef enum order {
  AT_ONCE,          /* each when it has marked */
  LATER,            /* nobody but rank 0 starts before rank 0 has freed */
  NEVER,            /* nobody but rank 0 starts, ever */
  AFTER_GOOD_ROUNDS /* ... and what was freed is the third */
} order;
enum { ORDERS = AFTER_GOOD_ROUNDS + 1 };

static void go_through(blocks *b, share *how, order when)
{
  const place *p = b->p;
  if (when == AFTER_GOOD_ROUNDS)
    for (int round = 0; round < 2; round++) {
      start_and_mark(b, all);
      CHECK_OK(grove_wait(b->op));
      blocks_check(b);
    }
  if (when == LATER && p->rank != 0) polite_barrier(p->comm);
  if (when != NEVER || p->rank == 0) start_and_mark(b, how);
  drop(b, how);
  if (when == LATER && p->rank == 0) polite_barrier(p->comm);
}

/* What is still on its way finds nobody, and other operations on the forest are as good as ever. */
static void free_in_state(const place *p, op_kind k, int64_t width, share *how, order when)
{
  blocks b = blocks_open(p, k, width), more = blocks_sibling(&b);
  blocks_init(&b);
  go_through(&b, how, when);
  if (when == AT_ONCE && how == nothing) { /* nobody has anything to do with it */
    free(b.in);
    b.in = NULL;
  }
  blocks_run(&more, 2);
  polite_barrier(p->comm);
  blocks_run(&more, 1);
  if (b.in != NULL) check_dropped(&b);
  blocks_close(&more);
  keep(&b);
  blocks_close(&b);
}

/* Complete, but nobody has waited for it; the array has what has come. */
static void complete_not_waited(const place *p, op_kind k, int64_t width, grove_op *idle)
{
  int yes = 0;
  blocks b = blocks_open(p, k, width);
  blocks_init(&b);
  start_and_mark(&b, all);
  while (!yes) {
    CHECK_OK(grove_arrived(b.op, 0, p->size * width, &yes));
    linger(0);
  }
  blocks_check(&b);
  drop(&b, all);
  place_meet(p, idle); /* others may still need what passes through this rank */
  check_dropped(&b);
  keep(&b);
  blocks_close(&b);
}

/* ---- one frees, the others wait ---- */

static int64_t all_but_half_of_first(const blocks *b, int peer)
{
  return peer == 1 ? b->width / 2 : b->width;
}

static void wait_in_vain(blocks *b)
{
  char text[2048];
  CHECK_STATUS(grove_wait(b->op), GROVE_ERR_TIMEOUT);
  snprintf(text, sizeof text, "%s", grove_last_error());
  CHECK(strstr(text, kind_name(b->kind)) != NULL, "no operation in '%s'", text);
  CHECK(op_relays(b->op) || strstr(text, "rank 0") != NULL, "no rank 0 in '%s'", text);
}

/* Rank 0 has marked only half of what rank 1 waits for. */
static void one_walks_away(blocks *b, grove_op *idle)
{
  const place *p = b->p;
  start_and_mark(b, p->rank == 0 ? all_but_half_of_first : all);
  if (p->rank == 0) {
    drop(b, all_but_half_of_first);
  } else if (p->rank == 1) {
    wait_in_vain(b);
  } else {
    grove_status status = grove_wait(b->op);
    int late = status == GROVE_ERR_TIMEOUT && op_relays(b->op); /* it came with the other */
    CHECK(status == GROVE_OK || late, "%s: %s", grove_status_name(status), grove_last_error());
    if (status == GROVE_OK) blocks_check(b);
  }
  place_meet(p, idle);
  if (p->rank == 0) check_dropped(b);
  CHECK_OK(grove_op_free(&b->op));
  place_meet(p, idle);
}

/* A small letter, which leaves whole; and a large one, half of which has left. */
static void try_timeouts(void)
{
  place p = place_create(split(0));
  grove_op *idle = place_idle(&p);
  place_set(&p, "aggregator", "none");
  blocks b[2] = {blocks_open(&p, KIND_BCAST, SMALL), blocks_open(&p, KIND_GATHER, LARGE)};
  for (int i = 0; i < 2; i++) blocks_init(&b[i]);
  polite_barrier(p.comm);
  place_set(&p, "timeout", test_timeout());
  for (int i = 0; i < 2; i++) one_walks_away(&b[i], idle);
  polite_barrier(p.comm);
  place_set(&p, "timeout", "0");
  for (int i = 0; i < 2; i++) {
    blocks more = blocks_sibling(&b[i]);
    for (int k = 0; k < 3; k++) blocks_run(&more, 2);
    blocks_close(&more);
    keep(&b[i]);
    blocks_close(&b[i]);
  }
  CHECK_OK(grove_op_free(&idle));
  place_free(&p);
  polite_barrier(MPI_COMM_WORLD);
  free_abandoned();
}

/* ---- all ---- */

/* Every state with every order, and with them the kinds in turn. Large letters leave in parts, of
 * which some have left. */
static void try_states(int64_t width, int turn)
{
  static const op_kind kinds[] = {KIND_BCAST, KIND_REDUCE, KIND_SCATTER, KIND_GATHER};
  place p = place_create(split(0));
  if (width == LARGE) place_set(&p, "aggregator", "none");
  for (int i = 0; i < SHARES; i++)
    for (int k = 0; k < ORDERS; k++) {
      test_case(100 * turn + 10 * i + k);
      free_in_state(&p, kinds[(i + k + turn) % 4], width, shares[i], (order)k);
    }
  grove_op *idle = place_idle(&p);
  for (int k = 0; k < 4; k++) complete_not_waited(&p, kinds[k], width, idle);
  CHECK_OK(grove_op_free(&idle));
  for (int k = 0; k < 4; k++) {
    blocks b = blocks_open(&p, kinds[k], width);
    blocks_run(&b, 2);
    blocks_close(&b);
  }
  place_free(&p);
  polite_barrier(MPI_COMM_WORLD);
  free_abandoned();
}

/* An operation holds its forest, and that its context. */
static void owners_first(share *how)
{
  place p = place_create(split(0)), kept = p;
  blocks b = blocks_open(&p, KIND_REDUCE, SMALL);
  blocks_init(&b);
  start_and_mark(&b, how);
  CHECK_OK(grove_forest_free(&b.f));
  place_free(&p);
  b.p = &kept; /* for its size */
  if (how == all) {
    CHECK_OK(grove_wait(b.op));
    blocks_check(&b);
  }
  drop(&b, how);
  polite_barrier(MPI_COMM_WORLD);
  check_dropped(&b);
  blocks_close(&b);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/parts_freed");
  for (int turn = 0; turn < (test_samples(1) > 1 ? 2 : 1); turn++) {
    try_states(SMALL, turn);
    try_states(LARGE, turn + 1);
  }
  if (world_size() > 1) try_timeouts();
  for (int i = 0; i < SHARES; i++) owners_first(shares[i]);
  return test_end();
}
