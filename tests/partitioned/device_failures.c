/* A device that fails, once, at every call that it gets from a channel. Where that is while an end
 * is made, nothing is left behind, and the next attempt works. Where a start or a mark fails,
 * nothing has happened, and it can be repeated. Where a copy fails, its end is told by the wait. A
 * receiver has then taken the whole round, and the next one works; a sender sends no more. The
 * other end gets the right parts, or none; nobody hangs. */
#include "check.h"
#include "grove_cuda.h"
#include "plans.h"

#include <stdio.h>

enum {
  PARTS = 6,
  UNITS = 3,
  INTS = 4,
  N = PARTS * UNITS * INTS,
  TAG = 5,
  WORD = 7,
  PATIENCE = 300
};
enum { BYTES = N * sizeof(int32_t) };

typedef struct end {
  int sends, parts;
  int32_t *there, here[N];
  grove_op *op;
  grove_status status;
  int done;
} end;

typedef struct trial {
  place p;
  MPI_Datatype unit; /* of some of INTS numbers: */
  int used[INTS];
  int nends;
  end end[2]; /* those on this rank */
  grove_op *idle;
  int round;
} trial;

/* ---- what is sent ---- */

static int32_t value_of(const trial *t, int i)
{
  return 1000 * (t->round + 1) + i;
}

/* A sender's numbers, or nothing yet. */
static void fill_array(const trial *t, end *e)
{
  for (int i = 0; i < N; i++) e->here[i] = e->sends ? value_of(t, i) : -1;
  CHECK_OK(driver->copy(0, NULL, e->there, e->here, BYTES));
  CHECK_OK(driver->finish(0, NULL));
}

/* Parts that have arrived are right; others may be anything. */
static void check_parts(const trial *t, end *e)
{
  CHECK_OK(driver->copy(0, NULL, e->here, e->there, BYTES));
  CHECK_OK(driver->finish(0, NULL));
  for (int part = 0, yes = 0; part < e->parts; part++) {
    if (!e->done && (grove_arrived(e->op, part, 1, &yes) != GROVE_OK || !yes)) continue;
    for (int i = part * (N / e->parts); i < (part + 1) * (N / e->parts); i++) {
      int32_t expected = t->used[i % INTS] ? value_of(t, i) : -1;
      CHECK(e->here[i] == expected, "number %d is %d, not %d", i, e->here[i], expected);
    }
  }
}

/* ---- the ends ---- */

static grove_status make_end(const trial *t, end *e)
{
  int last = t->p.size - 1;
  if (e->sends)
    return grove_psend_init(t->p.ctx, e->there, e->parts, UNITS, t->unit, last, TAG, &e->op);
  return grove_precv_init(t->p.ctx, e->there, e->parts, UNITS * PARTS / e->parts, t->unit, 0, TAG,
                          &e->op);
}

static trial new_trial(MPI_Comm world, int gaps, const char *transport, const char *aggregator)
{
  trial t = {.used = {1, !gaps, 1, !gaps}};
  MPI_Comm comm;
  MPI_Datatype some;
  MPI_Comm_dup(world, &comm);
  t.p = place_create(comm);
  place_set(&t.p, "transport_parts", transport);
  place_set(&t.p, "aggregator", aggregator);
  place_set(&t.p, "delta", "0.00001");
  if (gaps)
    MPI_Type_vector(2, 1, 2, MPI_INT32_T, &some);
  else
    MPI_Type_contiguous(INTS, MPI_INT32_T, &some);
  MPI_Type_create_resized(some, 0, INTS * sizeof(int32_t), &t.unit);
  MPI_Type_commit(&t.unit);
  MPI_Type_free(&some);
  for (int sends = 0; sends < 2; sends++)
    if (t.p.rank == (sends ? 0 : t.p.size - 1))
      t.end[t.nends++] = (end){.sends = sends, .parts = sends ? PARTS : PARTS / 2};
  for (int i = 0; i < t.nends; i++) t.end[i].there = new_device(BYTES);
  t.idle = place_idle(&t.p);
  return t;
}

static void free_trial(trial *t)
{
  for (int i = 0; i < t->nends; i++) CHECK_OK(grove_op_free(&t->end[i].op));
  place_meet(&t->p, t->idle);
  CHECK_OK(grove_op_free(&t->idle));
  for (int i = 0; i < t->nends; i++) driver->free(0, t->end[i].there);
  place_free(&t->p);
  MPI_Type_free(&t->unit);
}

/* ---- plans ---- */

static void check_failure(grove_status status)
{
  CHECK(status == GROVE_ERR_DEVICE || status == GROVE_ERR_MEMORY, "%s", grove_status_name(status));
  CHECK(strstr(grove_last_error(), "as planned"), "'%s'", grove_last_error());
}

/* A call that fails, and works when it is repeated. */
static int failed_once(grove_status status)
{
  if (status == GROVE_OK) return 0;
  check_failure(status);
  return 1;
}

/* ---- a round ---- */

static void begin_round(trial *t)
{
  for (int i = 0; i < t->nends; i++) {
    end *e = &t->end[i];
    e->status = GROVE_OK;
    e->done = 0;
    if (failed_once(grove_start(e->op))) CHECK_OK(grove_start(e->op));
    for (int part = 0; e->sends && part < PARTS; part += 2)
      if (failed_once(grove_ready(e->op, part, 2))) CHECK_OK(grove_ready(e->op, part, 2));
  }
}

static void tell_others(const trial *t)
{
  for (int i = 0; i < t->p.size; i++)
    if (i != t->p.rank) MPI_Send(NULL, 0, MPI_BYTE, i, WORD, t->p.comm);
}

/* Until all ends here are complete or have failed, or for a while after a sender has failed. */
static void see_through(trial *t)
{
  int ignored = 0, failed = 0;
  for (int polls = 0, busy = 1; busy && polls < PATIENCE; polls += failed) {
    busy = 0;
    for (int i = 0; i < t->nends; i++) {
      end *e = &t->end[i];
      if (e->done || e->status != GROVE_OK) continue;
      e->status = grove_test(e->op, &e->done);
      busy |= !e->done;
      if (e->status == GROVE_OK) continue;
      check_failure(e->status);
      if (e->sends) tell_others(t);
      failed |= e->sends;
    }
    if (!failed) MPI_Iprobe(MPI_ANY_SOURCE, WORD, t->p.comm, &failed, MPI_STATUS_IGNORE);
    CHECK_OK(grove_test(t->idle, &ignored));
    linger(1e-5);
  }
  place_meet(&t->p, t->idle);
}

static int sender_has_failed(const trial *t)
{
  int failed = 0;
  for (int i = 0; i < t->nends; i++) failed |= t->end[i].sends && t->end[i].status != GROVE_OK;
  MPI_Request request;
  MPI_Ibcast(&failed, 1, MPI_INT, 0, t->p.comm, &request);
  polite_wait(&request);
  if (failed && t->p.rank != 0) MPI_Recv(NULL, 0, MPI_BYTE, 0, WORD, t->p.comm, MPI_STATUS_IGNORE);
  return failed;
}

static void fill_arrays(trial *t)
{
  for (int i = 0; i < t->nends; i++) fill_array(t, &t->end[i]);
  polite_barrier(t->p.comm);
}

/* One in which nothing fails. */
static void run_round(trial *t)
{
  t->round++;
  fill_arrays(t);
  begin_round(t);
  see_through(t);
  for (int i = 0; i < t->nends; i++) {
    CHECK(t->end[i].done, "not complete, though nothing failed");
    if (!t->end[i].sends) check_parts(t, &t->end[i]);
  }
}

/* ---- while an end is made ---- */

/* Returns 0 if there is no such call any more. */
static int fails_in_init(MPI_Comm world, int gaps, int who, int call, int64_t n)
{
  long long before = used_bytes();
  trial t = new_trial(world, gaps, "auto", "auto");
  int failures = 0;
  plan_failure(&t.p, who, call, n);
  for (int i = 0; i < t.nends; i++) {
    if (!failed_once(make_end(&t, &t.end[i]))) continue;
    CHECK(t.end[i].op == NULL, "an output of a call that failed");
    CHECK_OK(make_end(&t, &t.end[i]));
    failures++;
  }
  int came = failed_as_planned(&t.p, who, n);
  CHECK(came || failures == 0, "not planned");
  if (t.p.rank == who && call != GROVE_EMULATED_PIN) /* messages may lie in memory that is not */
    CHECK(failures == came, "nobody was told");
  run_round(&t);
  free_trial(&t);
  CHECK(used_bytes() == before, "%lld bytes are left", used_bytes() - before);
  return came;
}

/* ---- while it is under way ---- */

static int is_of_init(int call)
{
  return call == GROVE_EMULATED_ALLOCATE || call == GROVE_EMULATED_PIN ||
         call == GROVE_EMULATED_CREATE_STREAM || call == GROVE_EMULATED_CREATE_EVENT;
}

/* What each end has after a round in which something failed, or nothing. */
static void check_ends(trial *t, int failed)
{
  for (int i = 0; i < t->nends; i++) {
    end *e = &t->end[i];
    CHECK(failed || e->done || e->status != GROVE_OK, "not complete, though all was sent");
    if (!e->sends) {
      check_parts(t, e);
    } else if (failed) {
      CHECK_STATUS(grove_start(e->op), e->status);
      CHECK(strstr(grove_last_error(), "as planned"), "'%s'", grove_last_error());
    }
  }
}

static void renew_ends(trial *t)
{
  for (int i = 0; i < t->nends; i++) CHECK_OK(grove_op_free(&t->end[i].op));
  for (int i = 0; i < t->nends; i++) CHECK_OK(make_end(t, &t->end[i]));
}

static int fails_under_way(MPI_Comm world, int gaps, int who, int call, int64_t n,
                           const char *transport, const char *aggregator)
{
  long long before = used_bytes();
  trial t = new_trial(world, gaps, transport, aggregator);
  for (int i = 0; i < t.nends; i++) CHECK_OK(make_end(&t, &t.end[i]));
  if (n % 2) run_round(&t);
  t.round++;
  fill_arrays(&t);
  plan_failure(&t.p, who, call, n);
  begin_round(&t);
  see_through(&t);
  int came = failed_as_planned(&t.p, who, n), failed = sender_has_failed(&t);
  CHECK(!came || !is_of_init(call), "what is made by _init is made under way");
  check_ends(&t, failed);
  if (!failed) run_round(&t);
  renew_ends(&t);
  run_round(&t);
  free_trial(&t);
  CHECK(failed || used_bytes() == before, "%lld bytes are left", used_bytes() - before);
  return came;
}

/* With a timeout the receiver is told what is missing; one that asks for arrivals of its own device
 * that failed is told so. */
static void told_in_time(MPI_Comm world, int receiver_fails)
{
  trial t = new_trial(world, 0, "auto", "none");
  end *e = &t.end[0];
  grove_status status = GROVE_OK;
  int64_t first, count;
  place_set(&t.p, "timeout", receiver_fails ? "0" : test_timeout());
  for (int i = 0; i < t.nends; i++) CHECK_OK(make_end(&t, &t.end[i]));
  fill_arrays(&t);
  plan_failure(&t.p, receiver_fails ? t.p.size - 1 : 0, GROVE_EMULATED_COPY, 0);
  begin_round(&t);
  while (!e->sends && receiver_fails && status == GROVE_OK)
    status = grove_arrivals(e->op, &first, &count);
  if (!e->sends && receiver_fails) {
    CHECK_STATUS(status, GROVE_ERR_DEVICE);
    CHECK(strstr(grove_last_error(), "grove_wait says how"), "'%s'", grove_last_error());
  }
  status = t.nends > 0 ? grove_wait(e->op) : GROVE_OK;
  int fails = t.nends > 0 && e->sends != receiver_fails;
  if (fails) check_failure(status);
  if (!fails && receiver_fails) CHECK_OK(status);
  if (t.nends > 0 && !fails && !receiver_fails) {
    CHECK_STATUS(status, GROVE_ERR_TIMEOUT);
    CHECK(strstr(grove_last_error(), "not come"), "'%s'", grove_last_error());
  }
  grove_emulated_fail_at(GROVE_EMULATED_ANY, -1, GROVE_OK);
  place_meet(&t.p, t.idle);
  free_trial(&t);
}

static int64_t try_call(MPI_Comm world, int call, int64_t *number)
{
  static const char *const way[][2] = {
    {"auto", "none"}, {"mpi", "none"}, {"mpi", "timer"}, {"auto", "ploggp"}};
  int64_t failures = 0;
  for (int gaps = 0; gaps < 2; gaps++)
    for (int k = -1; k < 4; k++)
      for (int sender = 0; sender < (world_size() > 1 ? 2 : 1); sender++) {
        int who = sender ? 0 : world_size() - 1, more = 1;
        for (int64_t n = 0; more; n++, failures += more) {
          test_case((*number)++);
          test_hint("call %d fails, number %lld, on rank %d; gaps: %d, way %d", call, (long long)n,
                    who, gaps, k);
          if (k < 0)
            more = fails_in_init(world, gaps, who, call, n);
          else
            more = fails_under_way(world, gaps, who, call, n, way[k][0], way[k][1]);
        }
      }
  return failures;
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "partitioned/device_failures");
  MPI_Comm world = split(0);
  place first = place_create(split(0));
  void *memory = NULL;
  CHECK_OK(grove_alloc_device(first.ctx, 8, &memory)); /* the option's temper */
  int64_t number = 0, failures = 0;
  for (int call = 0; call < GROVE_EMULATED_ANY; call++) failures += try_call(world, call, &number);
  CHECK(failures > 50, "only %lld failures", (long long)failures);
  for (int i = 0; i < 2 && world_size() > 1; i++) told_in_time(world, i);
  CHECK_OK(grove_dealloc(first.ctx, memory));
  place_free(&first);
  MPI_Comm_free(&world);
  grove_emulated_reset();
  return test_end();
}
