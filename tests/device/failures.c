/* A device that fails, once, at every call that it gets. Where that is while an operation is made,
 * all ranks are told the same, nothing is left behind, and the next attempt works. Where it is
 * while one is under way, its rank is told; the others get the right values, or none; nothing
 * hangs. */
#include "calls.h"
#include "grove_cuda.h"
#include "plans.h"

#include <stdio.h>

#ifndef LEAVES /* else failures_by_chunks.c has more */
#define LEAVES 40
#endif
enum { N = LEAVES, MOST = 4 * N };

/* One operation with arrays on the device, and with the same values on the host. */
typedef struct trial {
  const place *p;
  op_kind kind;
  MPI_Datatype unit;
  size_t bytes; /* of an array */
  void *there[3];
  char *here[3], *right[3];
} trial;

/* Half of the leaves are joined to the next rank, in disorder, the others to this one. */
static grove_forest *mixed_forest(const place *p)
{
  grove_forest *f = NULL;
  int64_t slot[N];
  grove_root root[N];
  for (int64_t i = 0; i < N; i++) {
    slot[i] = N - 1 - i;
    root[i] = (grove_root){(p->rank + (i < N / 2)) % p->size, (7 * i) % (N / 2)};
  }
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, N / 2, N, slot, root));
  CHECK_OK(grove_forest_set_up(f));
  return f;
}

static trial new_trial(const place *p, op_kind kind, MPI_Datatype unit)
{
  trial t = {.p = p, .kind = kind, .unit = unit};
  int size = 0;
  MPI_Type_size(unit, &size);
  t.bytes = (size_t)size * MOST;
  for (int a = 0; a < 3; a++) {
    t.there[a] = new_device((int64_t)t.bytes);
    t.here[a] = need(t.bytes);
    t.right[a] = need(t.bytes);
  }
  return t;
}

static void free_trial(trial *t)
{
  for (int a = 0; a < 3; a++) {
    driver->free(0, t->there[a]);
    free(t->here[a]);
    free(t->right[a]);
  }
}

static void fill_arrays(const trial *t, char *const *arrays)
{
  for (int a = 0; a < 3; a++) {
    memset(arrays[a], 0, t->bytes);
    for (int i = 0; i < MOST; i++) {
      if (t->unit == MPI_INT64_T)
        ((int64_t *)arrays[a])[i] = 1000 * a + 100 * t->p->rank + i;
      else
        ((long double *)arrays[a])[i] = 1000 * a + 100 * t->p->rank + i;
    }
  }
}

static op_call call_on(const trial *t, grove_forest *f, void *const *arrays)
{
  return (op_call){t->kind, f, t->unit, MPI_SUM, arrays[0], arrays[1], arrays[2]};
}

/* What it should be: by the host. */
static void solve_trial(const trial *t, grove_forest *f)
{
  fill_arrays(t, t->right);
  op_call c = call_on(t, f, (void *const *)t->right);
  CHECK_OK(call_block(&c));
}

static void put_arrays(const trial *t)
{
  fill_arrays(t, t->here);
  for (int a = 0; a < 3; a++)
    CHECK_OK(driver->copy(0, NULL, t->there[a], t->here[a], (int64_t)t->bytes));
}

static void check_arrays(const trial *t, const char *when)
{
  for (int a = 0; a < 3; a++) {
    CHECK_OK(driver->copy(0, NULL, t->here[a], t->there[a], (int64_t)t->bytes));
    for (int i = 0; i < MOST; i++) {
      int same = t->unit == MPI_INT64_T
                   ? ((int64_t *)t->here[a])[i] == ((int64_t *)t->right[a])[i]
                   : ((long double *)t->here[a])[i] == ((long double *)t->right[a])[i];
      CHECK(same, "%s %s: number %d of array %d is not right", kind_name(t->kind), when, i, a);
    }
  }
}

static void run_once(const trial *t, grove_op *op, const char *when)
{
  put_arrays(t);
  CHECK_OK(grove_start(op));
  CHECK_OK(grove_wait(op));
  check_arrays(t, when);
}

/* ---- plans ---- */

static int is_of_init(int call)
{
  return call == GROVE_EMULATED_ALLOCATE || call == GROVE_EMULATED_PIN ||
         call == GROVE_EMULATED_CREATE_STREAM || call == GROVE_EMULATED_CREATE_EVENT;
}

static void check_same_status(const place *p, grove_status status)
{
  int each[2] = {(int)status, -(int)status}, most[2];
  MPI_Request request;
  MPI_Iallreduce(each, most, 2, MPI_INT, MPI_MAX, p->comm, &request);
  polite_wait(&request);
  CHECK(most[0] == -most[1], "this rank has %s, another has another", grove_status_name(status));
  if (status != GROVE_OK) CHECK_SAME_ERROR(p->comm, status);
}

static void hint(const trial *t, const char *when, int who, int call, int64_t n)
{
  test_hint("%s of %s, %s: call %d fails, number %lld, on rank %d", kind_name(t->kind),
            t->unit == MPI_INT64_T ? "integers" : "long doubles", when, call, (long long)n, who);
}

/* ---- while it is made ---- */

/* Returns 0 if there is no such call any more. */
static int fails_in_init(MPI_Comm world, op_kind kind, MPI_Datatype unit, int who, int call,
                         int64_t n)
{
  MPI_Comm comm;
  long long before = used_bytes();
  MPI_Comm_dup(world, &comm);
  place p = place_create(comm);
  trial t = new_trial(&p, kind, unit);
  grove_forest *f = mixed_forest(&p);
  grove_op *op = NULL;
  op_call c = call_on(&t, f, t.there);
  hint(&t, "init", who, call, n);
  solve_trial(&t, f);
  plan_failure(&p, who, call, n);
  grove_status status = call_init(&c, &op);
  check_same_status(&p, status);
  int came = failed_as_planned(&p, who, n);
  if (status != GROVE_OK) {
    CHECK(came, "not planned: %s", grove_last_error());
    CHECK(status == GROVE_ERR_DEVICE || status == GROVE_ERR_MEMORY, "%s",
          grove_status_name(status));
    CHECK(strstr(grove_last_error(), "as planned"), "'%s'", grove_last_error());
    CHECK(!op, "an output of a call that failed");
    CHECK_OK(call_init(&c, &op));
  } else {
    CHECK(!came || call == GROVE_EMULATED_PIN, "nobody was told");
  }
  run_once(&t, op, "after a failure");
  CHECK_OK(grove_op_free(&op));
  CHECK_OK(grove_forest_free(&f));
  place_free(&p);
  free_trial(&t);
  CHECK(used_bytes() == before, "%lld bytes are left", used_bytes() - before);
  return came;
}

/* ---- while it is under way ---- */

enum { TAG = 7, PATIENCE = 300 };

/* A rank that failed says so. */
static void tell_others(const place *p)
{
  for (int i = 0; i < p->size; i++)
    if (i != p->rank) MPI_Send(NULL, 0, MPI_BYTE, i, TAG, p->comm);
}

static void hear_of_failure(const place *p, int who)
{
  if (p->rank != who) MPI_Recv(NULL, 0, MPI_BYTE, who, TAG, p->comm, MPI_STATUS_IGNORE);
}

/* Until it is complete, or fails, or for a while after another rank has failed. */
static grove_status see_through(const place *p, grove_op *op, grove_op *idle, int *done)
{
  grove_status status = grove_start(op);
  int ignored = 0;
  for (int polls = 0; status == GROVE_OK && !*done && polls < PATIENCE;) {
    int failed = 0;
    status = grove_test(op, done);
    MPI_Iprobe(MPI_ANY_SOURCE, TAG, p->comm, &failed, MPI_STATUS_IGNORE);
    if (failed) polls++;
    CHECK_OK(grove_test(idle, &ignored));
    linger(1e-5);
  }
  if (status != GROVE_OK) tell_others(p);
  place_meet(p, idle);
  return status;
}

/* An operation that failed halfway refuses to start, and says why. What fails before anything has
 * happened may be tried again. */
static void check_further_start(grove_op *op, int call)
{
  if (call == GROVE_EMULATED_RECORD || call == GROVE_EMULATED_AFTER) return;
  CHECK_STATUS(grove_start(op), GROVE_ERR_STATE);
  CHECK(strstr(grove_last_error(), "failed halfway; make a new one"), "'%s'", grove_last_error());
}

static int fails_under_way(MPI_Comm world, op_kind kind, MPI_Datatype unit, int who, int call,
                           int64_t n, const char *node_size)
{
  MPI_Comm comm;
  long long before = used_bytes();
  MPI_Comm_dup(world, &comm);
  place p = place_create(comm);
  trial t = new_trial(&p, kind, unit), other = new_trial(&p, KIND_BCAST, MPI_INT64_T);
  place_set(&p, "node_size", node_size);
  grove_forest *f = mixed_forest(&p);
  grove_op *op = NULL, *second = NULL, *idle = place_idle(&p);
  op_call c = call_on(&t, f, t.there), d = call_on(&other, f, other.there);
  int done = 0;
  hint(&t, "start", who, call, n);
  solve_trial(&t, f);
  solve_trial(&other, f);
  CHECK_OK(call_init(&c, &op));
  CHECK_OK(call_init(&d, &second));
  put_arrays(&t);
  CHECK_OK(driver->finish(0, NULL));
  polite_barrier(p.comm);
  plan_failure(&p, who, call, n);
  grove_status status = see_through(&p, op, idle, &done);
  int came = failed_as_planned(&p, who, n);
  CHECK(!came || !is_of_init(call), "what is made by _init is made under way");
  if (came) hear_of_failure(&p, who);
  if (p.rank == who && came) {
    CHECK(status == GROVE_ERR_DEVICE || status == GROVE_ERR_MEMORY, "%s, done: %d",
          grove_status_name(status), done);
    check_further_start(op, call);
  } else {
    CHECK_STATUS(status, GROVE_OK);
    CHECK(came || done, "not complete, though nothing failed");
    if (done) check_arrays(&t, "beside a failure");
  }
  CHECK_OK(grove_op_free(&op));
  run_once(&other, second, "behind a failure");
  CHECK_OK(call_init(&c, &op));
  run_once(&t, op, "behind its failure");
  CHECK_OK(grove_op_free(&op));
  CHECK_OK(grove_op_free(&second));
  CHECK_OK(grove_op_free(&idle));
  CHECK_OK(grove_forest_free(&f));
  place_free(&p);
  free_trial(&t);
  free_trial(&other);
  /* What waits for ever for a rank that failed is not freed. */
  CHECK(came || used_bytes() == before, "%lld bytes are left", used_bytes() - before);
  return came;
}

/* With a timeout the others are told what is missing. */
static void others_time_out(MPI_Comm world)
{
  MPI_Comm comm;
  MPI_Comm_dup(world, &comm);
  place p = place_create(comm);
  trial t = new_trial(&p, KIND_BCAST, MPI_INT64_T);
  grove_forest *f = mixed_forest(&p);
  grove_op *op = NULL;
  op_call c = call_on(&t, f, t.there);
  CHECK_OK(call_init(&c, &op));
  place_set(&p, "timeout", test_timeout());
  put_arrays(&t);
  plan_failure(&p, p.size - 1, GROVE_EMULATED_LAUNCH, 0);
  grove_status status = grove_start(op);
  if (status == GROVE_OK) status = grove_wait(op);
  grove_emulated_fail_at(GROVE_EMULATED_ANY, -1, GROVE_OK);
  if (p.rank == p.size - 1) CHECK_STATUS(status, GROVE_ERR_DEVICE);
  if (p.rank == p.size - 2) CHECK_STATUS(status, GROVE_ERR_TIMEOUT);
  CHECK_OK(grove_op_free(&op));
  CHECK_OK(grove_forest_free(&f));
  place_free(&p);
  free_trial(&t);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "device/failures");
  MPI_Comm world = split(0);
  place first = place_create(split(0));
  void *memory = NULL;
  CHECK_OK(grove_alloc_device(first.ctx, 8, &memory)); /* the option's temper */
  int64_t number = 0, failures = 0;
  for (op_kind k = 0; k < OP_KINDS; k++)
    for (int u = 0; u < 2; u++)
      for (int call = 0; call < GROVE_EMULATED_ANY; call++) {
        MPI_Datatype unit = u == 0 ? MPI_INT64_T : MPI_LONG_DOUBLE;
        int who = (int)(k + call) % world_size(), more = 1;
        for (int64_t n = 0; more; n++, failures += more) {
          test_case(number++);
          more = fails_in_init(world, k, unit, who, call, n);
        }
        for (int nodes = 0; nodes < 2; nodes++) {
          more = 1;
          for (int64_t n = 0; more; n++, failures += more) {
            test_case(number++);
            more = fails_under_way(world, k, unit, who, call, n, nodes ? "1" : "0");
          }
        }
      }
  CHECK(failures > 100, "only %lld failures", (long long)failures);
  if (world_size() > 1) others_time_out(world);
  CHECK_OK(grove_dealloc(first.ctx, memory));
  place_free(&first);
  MPI_Comm_free(&world);
  grove_emulated_reset();
  return test_end();
}
