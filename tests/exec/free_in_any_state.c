/* Operations, forests and contexts freed in every state and order. Afterwards the context still
 * works, a freed operation writes nothing more, and MPI_Finalize returns. */
#include "check.h"
#include "ring.h"

#include <stdlib.h>
#include <string.h>

enum { ABANDONED_MOST = 64 };

/* Arrays that an abandoned operation was sending from must outlive the context. */
static struct {
  int n;
  int64_t *array[3 * ABANDONED_MOST];
} abandoned;

/* Frees operation and forest, keeps the arrays. */
static void abandon(ring *x)
{
  CHECK_OK(grove_op_free(&x->op));
  CHECK(x->op == NULL, "a freed operation is not NULL");
  if (!x->borrowed) CHECK_OK(grove_forest_free(&x->forest));
  CHECK(abandoned.n + 3 <= 3 * ABANDONED_MOST, "too many abandoned arrays");
  abandoned.array[abandoned.n++] = x->root;
  abandoned.array[abandoned.n++] = x->leaf;
  abandoned.array[abandoned.n++] = x->update;
}

static void free_abandoned(void)
{
  while (abandoned.n > 0) free(abandoned.array[--abandoned.n]);
}

/* A new operation, with other values, on a forest of its own. */
static void still_works(const place *p, int64_t n)
{
  for (op_kind k = 0; k < OP_KINDS; k++) {
    ring x = ring_open(p, n, RING_NOBODY, k);
    ring_run(&x, 2);
    ring_begin(&x);
    CHECK_OK(grove_end(&x.op));
    ring_close(&x);
  }
}

/* ---- states ---- */

static void never_started(const place *p, ring *x)
{
  (void)p;
  ring_init(x);
}

static void finished(const place *p, ring *x)
{
  (void)p;
  ring_init(x);
  CHECK_OK(grove_start(x->op));
  CHECK_OK(grove_wait(x->op));
  ring_check(x, 0);
}

static void active_everywhere(const place *p, ring *x)
{
  (void)p;
  ring_init(x);
  CHECK_OK(grove_start(x->op));
}

/* Rank 0 has started, nobody else ever does. */
static void active_on_one(const place *p, ring *x)
{
  ring_init(x);
  if (p->rank == 0) CHECK_OK(grove_start(x->op));
}

/* Nobody but rank 0 starts before rank 0 has freed. */
static void others_start_later(const place *p, ring *x)
{
  ring_init(x);
  if (p->rank == 0) {
    CHECK_OK(grove_start(x->op));
    CHECK_OK(grove_op_free(&x->op));
  }
  polite_barrier(p->comm);
  if (p->rank != 0) CHECK_OK(grove_start(x->op));
}

/* Active after several good rounds. */
static void active_again(const place *p, ring *x)
{
  finished(p, x);
  CHECK_OK(grove_start(x->op));
}

static void begun(const place *p, ring *x)
{
  (void)p;
  ring_begin(x);
}

typedef void (*state)(const place *p, ring *x);
static const state states[] = {never_started, finished,           active_everywhere,
                               active_on_one, others_start_later, active_again,
                               begun};

/* The freed operation must not write, whatever arrives: compare after some traffic. */
static void free_in_state(const place *p, state bring, int64_t n, op_kind k)
{
  ring x = ring_open(p, n, RING_NOBODY, k);
  bring(p, &x);
  CHECK_OK(grove_op_free(&x.op));
  int64_t *then = ring_snapshot(&x);
  ring more = ring_sibling(&x);
  ring_run(&more, 2); /* on the same forest */
  polite_barrier(p->comm);
  ring_run(&more, 1);
  ring_fill(&more, 4);
  ring_begin(&more); /* the kind may be the one that was begun and abandoned */
  CHECK_OK(grove_end(&more.op));
  ring_check(&more, 4);
  ring_check_unchanged(&x, then);
  ring_close(&more);
  abandon(&x);
}

/* Rank 0 sends to all and needs nothing, so its operation may well complete; nobody else starts it,
 * ever. What was sent must not be taken for a message of a later operation. */
static void sent_and_never_taken(const place *p)
{
  enum { SENT = 7, LATER = 8 };
  grove_forest *f = NULL;
  grove_root root = {0, 0};
  int x = SENT, y = 0, done = 0;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, p->rank == 0, p->rank > 0, NULL, &root));
  CHECK_OK(grove_forest_set_up(f));
  for (int again = 0; again < 3; again++) {
    grove_op *op = NULL;
    x = SENT;
    CHECK_OK(grove_bcast_init(f, MPI_INT, &x, &y, MPI_REPLACE, &op));
    if (p->rank == 0) CHECK_OK(grove_start(op));
    for (int i = 0; p->rank == 0 && !done && i < 1000; i++) CHECK_OK(grove_test(op, &done));
    CHECK_OK(grove_op_free(&op));
    polite_barrier(p->comm);
    x = LATER;
    CHECK_OK(grove_bcast_init(f, MPI_INT, &x, &y, MPI_REPLACE, &op));
    CHECK_OK(grove_start(op));
    CHECK_OK(grove_wait(op));
    CHECK(p->rank == 0 || y == LATER, "received %d, not %d", y, LATER);
    CHECK_OK(grove_op_free(&op));
  }
  CHECK_OK(grove_forest_free(&f));
}

/* Several of one kind are under way; each rank frees another of them and ends the rest. They are
 * matched in the order of their beginning all the same. */
static void freed_between_others(const place *p, int64_t n, op_kind k)
{
  enum { SHOTS = 4 };
  ring x[SHOTS];
  x[0] = ring_open(p, n, RING_NOBODY, k);
  for (int i = 1; i < SHOTS; i++) x[i] = ring_sibling(&x[0]);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < SHOTS; i++) {
      ring_fill(&x[i], 10 * round + i);
      ring_begin(&x[i]);
    }
    /* Data of the last one that shared memory has no room for, or that passes through this rank,
     * would go on only while it calls Grove, and it is about to call MPI. */
    int goes_on = n * (int64_t)sizeof *x->root <= 1024 && !op_relays(x[0].op);
    int dropped = (p->rank + round) % (goes_on ? SHOTS : SHOTS - 1);
    CHECK_OK(grove_op_free(&x[dropped].op));
    for (int i = 0; i < SHOTS; i++) {
      if (i == dropped) continue;
      CHECK_OK(grove_end(&x[i].op));
      ring_check(&x[i], 10 * round + i);
    }
    polite_barrier(p->comm); /* what is sent from the arrays has been taken */
  }
  for (int i = SHOTS - 1; i >= 0; i--) abandon(&x[i]);
}

/* ---- with the option `timeout` ---- */

/* Data, or the news that there is none: never a crash, never wrong data. */
static void wait_or_give_up(ring *x, int round)
{
  grove_status status = grove_wait(x->op);
  CHECK(status == GROVE_OK || status == GROVE_ERR_TIMEOUT, "%s: %s", grove_status_name(status),
        grove_last_error());
  if (status == GROVE_OK) ring_check(x, round);
}

/* Rank 0 frees what it has started; the others wait. Values that no operation had before. Over
 * libfabric a large message that has begun to arrive needs calls of Grove by its sender, and rank 0
 * makes none: who frees its receive is told that the array must stay. */
static void one_walks_away(const place *p, ring *x)
{
  int round = 100 + (int)x->kind;
  grove_report r = {.struct_size = sizeof r};
  ring_fill(x, round);
  CHECK_OK(grove_start(x->op));
  if (p->rank != 0) wait_or_give_up(x, round);
  CHECK_OK(grove_op_report(x->op, &r));
  grove_status status = grove_op_free(&x->op);
  int may_stay = p->rank != 0 && x->n > RING_SMALL && strstr(r.transport, "ofi");
  CHECK(status == GROVE_OK || (may_stay && status == GROVE_ERR_TIMEOUT), "%s: %s",
        grove_status_name(status), grove_last_error());
  CHECK(status == GROVE_OK || number_in(grove_last_error(), 0), "'%s'", grove_last_error());
  CHECK(!x->op, "a freed operation is not NULL");
  polite_barrier(p->comm);
}

/* The same, and rank 0 goes on calling Grove, so that what it freed advances: the others get the
 * right data, or none. */
static void one_walks_away_and_goes_on(const place *p, ring *x, ring *after)
{
  int round = 200 + (int)x->kind;
  ring_fill(x, round);
  ring_fill(after, round);
  CHECK_OK(grove_start(x->op));
  if (p->rank != 0) wait_or_give_up(x, round);
  CHECK_OK(grove_op_free(&x->op));
  CHECK_OK(grove_start(after->op));
  grove_status status;
  do status = grove_wait(after->op);
  while (status == GROVE_ERR_TIMEOUT);
  CHECK_OK(status);
  ring_check(after, round);
  polite_barrier(p->comm);
}

/* Whose data it waits for; a fetch also for another's. */
static int needed_by(const ring *x)
{
  return kind_goes_to_roots(x->kind) ? x->previous : x->next;
}

/* Rank 0 never starts: the others give up, and free. Not all of them need rank 0. */
static void one_never_starts(const place *p, ring *x)
{
  if (p->rank != 0) {
    CHECK_OK(grove_start(x->op));
    if (needed_by(x) != 0)
      wait_or_give_up(x, 0);
    else
      CHECK_STATUS(grove_wait(x->op), GROVE_ERR_TIMEOUT);
  }
  CHECK_OK(grove_op_free(&x->op));
  polite_barrier(p->comm);
}

/* ---- orders ---- */

/* An operation holds its forest, a forest its context. */
static void owners_first(int64_t n, op_kind k, int wait)
{
  place p = place_create(split(0));
  ring x = ring_open(&p, n, RING_NOBODY, k);
  ring_init(&x);
  CHECK_OK(grove_start(x.op));
  CHECK_OK(grove_forest_free(&x.forest));
  place_free(&p); /* the communicator too */
  if (wait) {
    CHECK_OK(grove_wait(x.op));
    ring_check(&x, 0);
    ring_fill(&x, 1);
    CHECK_OK(grove_start(x.op));
    CHECK_OK(grove_wait(x.op));
    ring_check(&x, 1);
  }
  CHECK_OK(grove_op_free(&x.op));
  polite_barrier(MPI_COMM_WORLD); /* all have freed: nobody sends from these arrays any more */
  ring_close(&x);
}

static void context_before_forest(void)
{
  place p = place_create(split(0));
  ring x = ring_open(&p, RING_SMALL, RING_NOBODY, KIND_REDUCE);
  place_free(&p);
  ring_run(&x, 2); /* the forest is as good as before */
  ring_close(&x);
}

static void freeing_nothing(void)
{
  grove_context *ctx = NULL;
  grove_forest *f = NULL;
  grove_op *op = NULL;
  CHECK_OK(grove_context_free(&ctx));
  CHECK_OK(grove_forest_free(&f));
  CHECK_OK(grove_op_free(&op));
}

static void forests_in_any_state(const place *p)
{
  grove_forest *f = NULL;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_free(&f));
  CHECK(f == NULL, "a freed forest is not NULL");
  grove_root root = {0, 0};
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, 1, 1, NULL, &root));
  CHECK_OK(grove_forest_free(&f));
}

/* ---- all ---- */

static void try_states(int64_t n)
{
  for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
    test_case((int64_t)i);
    place p = place_create(split(0));
    for (op_kind k = 0; k < OP_KINDS; k++)
      if (n == RING_SMALL || (k + i) % 2) free_in_state(&p, states[i], n, k);
    still_works(&p, n);
    place_free(&p);
    polite_barrier(MPI_COMM_WORLD);
    free_abandoned();
  }
}

/* The timeout holds for collective calls too: all come to them at the same time, and there are as
 * few as possible. */
static void try_kinds(int64_t n)
{
  place p = place_create(split(0));
  sent_and_never_taken(&p);
  for (op_kind k = 0; k < OP_KINDS; k++)
    if (k != KIND_FETCH) freed_between_others(&p, n, k); /* its owner must go on calling Grove */
  still_works(&p, n);
  place_free(&p);
  polite_barrier(MPI_COMM_WORLD);
  free_abandoned();
}

static void try_timeouts(int64_t n, op_kind never)
{
  place p = place_create(split(0));
  enum { NEVER = 2 * OP_KINDS, AFTER, CALLS };
  ring x[CALLS];
  for (int i = 0; i < NEVER; i++) x[i] = ring_open(&p, n, RING_NOBODY, (op_kind)(i % OP_KINDS));
  x[NEVER] = ring_open(&p, n, RING_NOBODY, never);
  x[AFTER] = ring_open(&p, n, RING_NOBODY, KIND_BCAST);
  polite_barrier(p.comm);
  CHECK_OK(grove_context_set(p.ctx, "timeout", test_timeout()));
  for (int i = 0; i < CALLS; i++) {
    polite_barrier(p.comm);
    ring_init(&x[i]);
  }
  for (op_kind k = 0; k < OP_KINDS && p.size > 1; k++)
    if (k != KIND_FETCH || n == RING_SMALL) one_walks_away(&p, &x[k]); /* takes a timeout */
  for (op_kind k = 0; k < OP_KINDS && p.size > 1; k++)
    one_walks_away_and_goes_on(&p, &x[OP_KINDS + k], &x[AFTER]);
  if (p.size > 1) one_never_starts(&p, &x[NEVER]);
  polite_barrier(p.comm);
  CHECK_OK(grove_context_set(p.ctx, "timeout", "0"));
  for (int i = 0; i < CALLS; i++) abandon(&x[i]);
  still_works(&p, n);
  place_free(&p);
  polite_barrier(MPI_COMM_WORLD);
  free_abandoned();
}

int main(int argc, char **argv)
{
  static const int64_t size[] = {RING_SMALL, RING_MIDDLE};
  test_begin(&argc, &argv, "exec/free_in_any_state");
  freeing_nothing();
  for (int i = 0; i < 2; i++) {
    try_states(size[i]);
    try_kinds(size[i]);
    if (i == 0 || test_samples(1) > 1) try_timeouts(size[i], i == 0 ? KIND_FETCH : KIND_BCAST);
    for (op_kind k = 0; k < OP_KINDS; k++) owners_first(size[i], k, (k + i) % 2);
  }
  context_before_forest();
  place p = place_create(split(0));
  forests_in_any_state(&p);
  still_works(&p, RING_SMALL);
  place_free(&p);
  return test_end();
}
