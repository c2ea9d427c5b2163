/* What a device is asked for, counted. One rank has all the roots, or all the leaves. Where the
 * messages of all others are there when it starts, it unpacks them with one launch, in one batch,
 * whatever is done with them; and it packs what goes to all others with one launch. Self edges stay
 * on the device: with nothing else to do, there is no copy at all. Where kernels reach messages in
 * the host's memory, there is none either; then messages that need no packing take a kernel if they
 * are many, and a copy each if they are few. Values are those of the host.
 *
 * Others may be late, so each figure is the best of many starts. It must be reached, and not more.
 */
#include "calls.h"
#include "grove_cuda.h"
#include "places.h"
#include "rig.h"

enum { N = 40, ROUNDS = 20, ENOUGH = 2 };

typedef struct figures {
  int64_t launches, words, copies; /* copies: at most */
} figures;

typedef struct errand {
  const char *name;
  op_kind kind;
  MPI_Datatype unit;
  MPI_Op op;
  int from_middle; /* the roots are on the middle rank, else its leaves are joined to all others */
  int self;        /* it has self edges too */
  figures (*expected)(int others);
} errand;

/* ---- what is right ---- */

static figures unpacks_once(int others)
{
  return (figures){1, 1, others};
}

/* Self edges are packed ahead, and unpacked with all else. */
static figures unpacks_with_own(int others)
{
  return (figures){2, 1, others};
}

static figures fetches_once(int others)
{
  return (figures){1, 1, 2 * others};
}

/* ... and their old values go into the last array. */
static figures fetches_with_own(int others)
{
  return (figures){3, 2, 2 * others};
}

/* Each message is copied once, behind one launch. */
static figures packs_once(int others)
{
  return (figures){1, 1, others};
}

/* Three messages in a row are many. */
static figures copies_or_unpacks(int others)
{
  return others < 3 ? (figures){0, 1, others} : (figures){1, 1, 0};
}

static const errand in_rows = {"values in rows", KIND_BCAST, MPI_DOUBLE, MPI_REPLACE, 0, 0,
                               copies_or_unpacks};

static const errand errands[] = {
  {"sum of doubles", KIND_REDUCE, MPI_DOUBLE, MPI_SUM, 1, 0, unpacks_once},
  {"sum of integers", KIND_REDUCE, MPI_INT64_T, MPI_SUM, 1, 0, unpacks_once},
  {"last value", KIND_REDUCE, MPI_DOUBLE, MPI_REPLACE, 1, 0, unpacks_once},
  {"sum with its own", KIND_REDUCE, MPI_DOUBLE, MPI_SUM, 1, 1, unpacks_with_own},
  {"sum of integers with its own", KIND_REDUCE, MPI_INT64_T, MPI_SUM, 1, 1, unpacks_with_own},
  {"fetch", KIND_FETCH, MPI_DOUBLE, MPI_SUM, 1, 0, fetches_once},
  {"fetch with its own", KIND_FETCH, MPI_DOUBLE, MPI_SUM, 1, 1, fetches_with_own},
  {"values for leaves", KIND_BCAST, MPI_DOUBLE, MPI_REPLACE, 0, 0, unpacks_once},
  {"values of roots", KIND_BCAST, MPI_DOUBLE, MPI_REPLACE, 1, 0, packs_once},
};

/* ---- forests ---- */

static int middle_of(const place *p)
{
  return p->size / 2;
}

/* Slots in disorder, so that no copy alone will do. The leaves of every rank are joined to roots of
 * the middle one: roots get values of several ranks, and some of the same rank twice. */
static grove_forest *star_to_middle(const place *p, int self)
{
  grove_forest *f = NULL;
  int64_t slot[N];
  grove_root root[N];
  int joined = p->rank != middle_of(p) || self;
  for (int64_t i = 0; i < N; i++) {
    slot[i] = (11 * i + 3) % N;
    root[i] = (grove_root){middle_of(p), (7 * i + 3 * p->rank) % (N - 3)};
  }
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, p->rank == middle_of(p) ? N : 0, joined ? N : 0, slot, root));
  CHECK_OK(grove_forest_set_up(f));
  return f;
}

/* The middle rank has leaves, in disorder, for a root of each other one and of all of those. */
static grove_forest *star_from_middle(const place *p)
{
  grove_forest *f = NULL;
  int64_t slot[N];
  grove_root root[N];
  int at_middle = p->rank == middle_of(p) && p->size > 1;
  for (int64_t i = 0; i < N; i++) {
    int other = (int)(i % (p->size > 1 ? p->size - 1 : 1));
    slot[i] = (11 * i + 3) % N;
    root[i] = (grove_root){other + (other >= middle_of(p)), (7 * i) % N};
  }
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(
    grove_forest_set_graph(f, p->rank != middle_of(p) ? N : 0, at_middle ? N : 0, slot, root));
  CHECK_OK(grove_forest_set_up(f));
  return f;
}

/* The middle rank has leaves in a row for roots in a row of each other one. */
static grove_forest *rows_from_others(const place *p)
{
  enum { ROW = 8 };
  grove_forest *f = NULL;
  grove_root root[N];
  int64_t n = 0;
  for (int r = 0; r < p->size && p->rank == middle_of(p); r++)
    for (int64_t i = 0; i < ROW && r != middle_of(p); i++) root[n++] = (grove_root){r, i};
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, p->rank != middle_of(p) ? N : 0, n, NULL, root));
  CHECK_OK(grove_forest_set_up(f));
  return f;
}

/* ---- values ---- */

typedef struct values {
  void *there[3];
  int64_t here[3][N];
} values;

static void draw_values(const errand *e, const place *p, int64_t (*arrays)[N])
{
  for (int a = 0; a < 3; a++)
    for (int i = 0; i < N; i++) {
      double x = 0.1 * (1000 * a + 100 * p->rank + i);
      arrays[a][i] = (int64_t)(10 * x);
      if (e->unit == MPI_DOUBLE) memcpy(&arrays[a][i], &x, sizeof x);
    }
}

static op_call call_of(const errand *e, grove_forest *f, void *root, void *leaf, void *update)
{
  return (op_call){e->kind, f, e->unit, e->op, root, leaf, update};
}

static void check_values(const errand *e, const place *p, grove_forest *f, values *v)
{
  int64_t right[3][N], now[N];
  draw_values(e, p, right);
  op_call c = call_of(e, f, right[0], right[1], right[2]);
  CHECK_OK(call_block(&c));
  for (int a = 0; a < 3; a++) {
    CHECK_OK(driver->copy(0, NULL, now, v->there[a], sizeof now));
    for (int i = 0; i < N; i++)
      CHECK(now[i] == right[a][i], "%s: number %d of array %d is not right", e->name, i, a);
  }
}

/* ---- counting ---- */

/* Ranks that are not counted bring their messages on the way, then the middle one starts. */
static int64_t count_calls(const errand *e, const place *p, grove_op *op, values *v,
                           grove_emulated_call call)
{
  int counted = p->rank == middle_of(p), done = 0;
  draw_values(e, p, v->here);
  for (int a = 0; a < 3; a++)
    CHECK_OK(driver->copy(0, NULL, v->there[a], v->here[a], sizeof v->here[a]));
  CHECK_OK(driver->finish(0, NULL));
  polite_barrier(p->comm);
  if (!counted) CHECK_OK(grove_start(op));
  for (int i = 0; i < 50 && !counted && !done; i++) {
    CHECK_OK(grove_test(op, &done));
    linger(1e-4);
  }
  polite_barrier(p->comm);
  grove_emulated_fail_at(call, counted ? INT64_MAX : -1, GROVE_ERR_DEVICE);
  if (counted) CHECK_OK(grove_start(op));
  if (!done) CHECK_OK(grove_wait(op));
  int64_t n = grove_emulated_calls();
  grove_emulated_fail_at(call, -1, GROVE_OK);
  polite_barrier(p->comm);
  return n;
}

/* The best of several starts, on the rank that counts. All ranks stop together. */
static int64_t best_of(const errand *e, const place *p, grove_op *op, values *v,
                       grove_emulated_call call, int64_t wanted)
{
  int64_t best = INT64_MAX;
  for (int i = 0, reached = 0; i < ROUNDS && reached < ENOUGH; i++) {
    int64_t n = count_calls(e, p, op, v, call);
    best = n < best ? n : best;
    int good = n <= wanted;
    MPI_Request request;
    MPI_Ibcast(&good, 1, MPI_INT, middle_of(p), p->comm, &request);
    polite_wait(&request);
    reached += good;
  }
  return best;
}

static void check_errand(const errand *e, const place *p, grove_forest *f, int64_t most_copies)
{
  figures right = e->expected(p->size - 1);
  right.copies = most_copies;
  grove_op *op = NULL;
  values v;
  for (int a = 0; a < 3; a++) v.there[a] = new_device(sizeof v.here[a]);
  op_call c = call_of(e, f, v.there[0], v.there[1], v.there[2]);
  CHECK_OK(call_init(&c, &op));
  int64_t launches = best_of(e, p, op, &v, GROVE_EMULATED_LAUNCH, right.launches);
  int64_t words = best_of(e, p, op, &v, GROVE_EMULATED_WRITE, right.words);
  int64_t copies = best_of(e, p, op, &v, GROVE_EMULATED_COPY, right.copies);
  check_values(e, p, f, &v);
  if (p->rank == middle_of(p)) {
    CHECK(launches == right.launches, "%s: %lld launches, not %lld", e->name, (long long)launches,
          (long long)right.launches);
    CHECK(words == right.words, "%s: %lld batches, not %lld", e->name, (long long)words,
          (long long)right.words);
    CHECK(copies <= right.copies, "%s: %lld copies, not %lld", e->name, (long long)copies,
          (long long)right.copies);
  }
  CHECK_OK(grove_op_free(&op));
  CHECK_OK(grove_forest_free(&f));
  for (int a = 0; a < 3; a++) driver->free(0, v.there[a]);
}

static void check_errands(grove_emulated_reach reach)
{
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  grove_emulated_set_reach(reach);
  place p = place_create(comm);
  place_set(&p, "route", "standard");
  for (const errand *e = errands; e < errands + sizeof errands / sizeof *errands; e++) {
    test_hint("%s, reach %d", e->name, reach);
    if (p.size == 1 && !e->self) continue;
    grove_forest *f = e->from_middle ? star_to_middle(&p, e->self) : star_from_middle(&p);
    check_errand(e, &p, f, reach == GROVE_REACH_ALWAYS ? 0 : e->expected(p.size - 1).copies);
  }
  test_hint("%s", in_rows.name);
  if (reach == GROVE_REACH_ALWAYS && p.size > 1)
    check_errand(&in_rows, &p, rows_from_others(&p), in_rows.expected(p.size - 1).copies);
  place_free(&p);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "device/launches");
  check_errands(GROVE_REACH_NEVER);
  check_errands(GROVE_REACH_ALWAYS);
  return test_end();
}
