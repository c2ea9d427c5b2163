/* Operations on memory of grove_alloc: wherever root and leaf lie, the result is the same; and what
 * is large and consecutive is taken by the receivers from where it is. */
#include "calls.h"
#include "check.h"
#include "places.h"
#include "random.h"
#include "shared.h"

#include <stdlib.h>
#include <string.h>

/* ---- a forest between neighbours, and arrays of every kind ---- */

/* Leaf j of a rank is joined to root j of the next rank, or, where that is not consecutive, to root
 * n - 1 - j. */
typedef struct pair {
  grove_forest *forest;
  int64_t n;
  int listed, reduces;
  int me, next, previous;
} pair;

static pair pair_open(const place *p, int64_t n, int listed, int reduces)
{
  pair x = {.n = n, .listed = listed, .reduces = reduces, .me = p->rank};
  x.next = (p->rank + 1) % p->size;
  x.previous = (p->rank + p->size - 1) % p->size;
  grove_root *root = need((size_t)n * sizeof *root);
  for (int64_t j = 0; j < n; j++) root[j] = (grove_root){x.next, listed ? n - 1 - j : j};
  CHECK_OK(grove_forest_create(p->ctx, &x.forest));
  CHECK_OK(grove_forest_set_graph(x.forest, n, n, NULL, root));
  CHECK_OK(grove_forest_set_up(x.forest));
  free(root);
  return x;
}

typedef enum home { ORDINARY, ALLOCATED, INSIDE, TOGETHER, HOMES } home;

/* Root and leaf arrays of n numbers each, in memory of each kind. */
typedef struct memory {
  void *base[2];
  int shared[2]; /* from grove_alloc */
  int64_t *root, *leaf;
} memory;

enum { GAP = 13 };

static int64_t *take(const place *p, home where, int64_t n, void **base, int *shared)
{
  size_t bytes = (size_t)(n + 2 * GAP) * sizeof(int64_t);
  *shared = where != ORDINARY;
  if (*shared) {
    *base = NULL;
    CHECK_OK(grove_alloc(p->ctx, bytes, base));
    CHECK(*base && (uintptr_t)*base % 64 == 0, "not on a cache line");
    memset(*base, 0xa5, bytes);
  } else {
    *base = need(bytes);
  }
  return (int64_t *)*base + (where == INSIDE ? GAP : 0);
}

/* `where` says it for the root, then for the leaf. Collective. */
static memory memory_open(const place *p, home root, home leaf, int64_t n)
{
  memory m = {0};
  if (root == TOGETHER) {
    m.root = take(p, root, 2 * n, &m.base[0], &m.shared[0]);
    m.leaf = m.root + n;
    return m;
  }
  m.root = take(p, root, n, &m.base[0], &m.shared[0]);
  m.leaf = take(p, leaf, n, &m.base[1], &m.shared[1]);
  return m;
}

static void memory_close(const place *p, memory *m)
{
  for (int i = 0; i < 2; i++) {
    if (m->shared[i])
      CHECK_OK(grove_dealloc(p->ctx, m->base[i]));
    else
      free(m->base[i]);
  }
  *m = (memory){0};
}

static int64_t root_value(int rank, int64_t round, int64_t i)
{
  return 1000003 * (int64_t)(rank + 1) + 70001 * round + i;
}

static int64_t leaf_value(int rank, int64_t round, int64_t i)
{
  return 900001 * (int64_t)(rank + 1) + 50021 * round + 3 * i;
}

static void fill(const pair *x, const memory *m, int64_t round)
{
  for (int64_t i = 0; i < x->n; i++) {
    m->root[i] = root_value(x->me, round, i);
    m->leaf[i] = leaf_value(x->me, round, i);
  }
}

/* What was received; what was sent may have changed since. */
static void check(const pair *x, const memory *m, int64_t round)
{
  for (int64_t i = 0; i < x->n; i++) {
    int64_t at = x->listed ? x->n - 1 - i : i, got, expected;
    if (x->reduces) {
      got = m->root[i];
      expected = root_value(x->me, round, i) + leaf_value(x->previous, round, at);
    } else {
      got = m->leaf[i];
      expected = root_value(x->next, round, at);
    }
    CHECK(got == expected, "entry %lld of %lld is %lld, not %lld, in round %lld", (long long)i,
          (long long)x->n, (long long)got, (long long)expected, (long long)round);
  }
}

static void init(const pair *x, const memory *m, grove_op **op)
{
  if (x->reduces)
    CHECK_OK(grove_reduce_init(x->forest, MPI_INT64_T, m->leaf, m->root, MPI_SUM, op));
  else
    CHECK_OK(grove_bcast_init(x->forest, MPI_INT64_T, m->root, m->leaf, MPI_REPLACE, op));
}

static void begin(const pair *x, const memory *m, grove_op **op)
{
  if (x->reduces)
    CHECK_OK(grove_reduce_begin(x->forest, MPI_INT64_T, m->leaf, m->root, MPI_SUM, op));
  else
    CHECK_OK(grove_bcast_begin(x->forest, MPI_INT64_T, m->root, m->leaf, MPI_REPLACE, op));
}

/* After the wait the array is the sender's again, whether or not the receiver has come so far. */
static void scribble(const pair *x, const memory *m)
{
  memset(x->reduces ? m->leaf : m->root, 0xee, (size_t)x->n * sizeof(int64_t));
}

/* ---- every home, every size, both operations ---- */

static void rounds(const pair *x, const memory *m, rng *mine)
{
  grove_op *op = NULL;
  init(x, m, &op);
  for (int64_t round = 0; round < 3; round++) {
    fill(x, m, round);
    if (rng_one_in(mine, 8)) linger(1e-4);
    CHECK_OK(grove_start(op));
    if (rng_one_in(mine, 8)) linger(1e-4);
    CHECK_OK(grove_wait(op));
    scribble(x, m);
    check(x, m, round);
  }
  CHECK_OK(grove_op_free(&op));
}

/* Ranks need not agree: one has its array in shared memory, another has not. */
static home mixed(home where, int rank)
{
  return where == TOGETHER ? where : (home)(((int)where + rank) % TOGETHER);
}

/* grove_alloc is collective: who has ordinary memory calls it too. */
static void every_home(const place *p, int64_t n, int listed, int reduces)
{
  rng mine = rng_from(test_seed() + (uint64_t)n, (uint64_t)p->rank);
  pair x = pair_open(p, n, listed, reduces);
  for (int where = 0; where < HOMES; where++) {
    memory m = memory_open(p, (home)where, (home)where, n);
    rounds(&x, &m, &mine);
    memory_close(p, &m);
  }
  void *base[2] = {NULL, NULL};
  CHECK_OK(grove_alloc(p->ctx, (size_t)(n + GAP) * sizeof(int64_t), &base[0]));
  CHECK_OK(grove_alloc(p->ctx, (size_t)(n + GAP) * sizeof(int64_t), &base[1]));
  int64_t *own = need((size_t)(2 * n + 1) * sizeof(int64_t));
  for (int where = 0; where < TOGETHER; where++) {
    home root = mixed((home)where, p->rank), leaf = mixed((home)where, p->rank / 2);
    memory m = {.root = root == ORDINARY ? own : (int64_t *)base[0] + (root == INSIDE) * GAP,
                .leaf = leaf == ORDINARY ? own + n : (int64_t *)base[1] + (leaf == INSIDE) * GAP};
    rounds(&x, &m, &mine);
  }
  free(own);
  for (int i = 0; i < 2; i++) CHECK_OK(grove_dealloc(p->ctx, base[i]));
  CHECK_OK(grove_forest_free(&x.forest));
}

/* ---- one shot, with other memory each time ---- */

static void alternating(const place *p, int64_t n, int reduces)
{
  enum { ARRAYS = 5, SHOTS = 40 };
  static const home where[ARRAYS] = {ORDINARY, ALLOCATED, INSIDE, ORDINARY, TOGETHER};
  rng mine = rng_from(test_seed() + 7, (uint64_t)p->rank);
  pair x = pair_open(p, n, 0, reduces);
  memory m[ARRAYS];
  grove_op *op[ARRAYS] = {NULL};
  int64_t round[ARRAYS] = {0};
  for (int i = 0; i < ARRAYS; i++) m[i] = memory_open(p, where[i], where[i], n);
  for (int64_t k = 0; k < SHOTS; k++) { /* up to ARRAYS under way */
    int i = (int)(k % ARRAYS);
    if (op[i]) {
      CHECK_OK(grove_end(&op[i]));
      scribble(&x, &m[i]);
      check(&x, &m[i], round[i]);
    }
    fill(&x, &m[i], k);
    round[i] = k;
    begin(&x, &m[i], &op[i]);
    if (rng_one_in(&mine, 10)) linger(1e-4);
  }
  for (int i = 0; i < ARRAYS; i++) {
    CHECK_OK(grove_end(&op[i]));
    check(&x, &m[i], round[i]);
  }
  for (int i = 0; i < ARRAYS; i++) memory_close(p, &m[i]);
  CHECK_OK(grove_forest_free(&x.forest));
}

/* ---- that it is in place ---- */

enum { LIMIT_BYTES = 1 << 15 }; /* from here on */

static int all_on_one_node(const place *p, grove_op *op)
{
  grove_report r = {.struct_size = sizeof r};
  int nnodes = 0;
  CHECK_OK(grove_op_report(op, &r));
  CHECK_OK(grove_context_node(p->ctx, 0, NULL, &nnodes));
  return nnodes == 1 && strcmp(r.transport_on_node, "shm") == 0;
}

/* Everybody but rank 0 starts when rank 0 has tested a thousand times, and has changed what it
 * sends: against the rules, but it shows where the data comes from. */
static void taken_from(const place *p, home where, int64_t n, int listed, int expected)
{
  enum { BEFORE = 5, AFTER = 6 };
  pair x = pair_open(p, n, listed, 0);
  polite_barrier(p->comm);
  int64_t before = shared_bytes();
  polite_barrier(p->comm);
  memory m = memory_open(p, where, where, n);
  polite_barrier(p->comm);
  int64_t shared = shared_bytes() - before, wanted = where == ORDINARY ? 0 : p->size * 2 * n * 8;
  polite_barrier(p->comm);
  grove_op *op = NULL;
  int done = 0;
  init(&x, &m, &op);
  int known = all_on_one_node(p, op) && shared >= (n * 8 < LIMIT_BYTES ? 0 : wanted);
  fill(&x, &m, BEFORE);
  if (p->rank == 0) {
    CHECK_OK(grove_start(op));
    for (int i = 0; i < 1000; i++) {
      CHECK_OK(grove_test(op, &done));
      CHECK(!done, "done before rank 1 has sent anything");
    }
    if (known) fill(&x, &m, AFTER);
  }
  polite_barrier(p->comm);
  if (p->rank != 0) CHECK_OK(grove_start(op));
  CHECK_OK(grove_wait(op));
  if (known && x.next == 0) {
    int in_place = m.leaf[0] == root_value(0, AFTER, listed ? n - 1 : 0);
    CHECK(in_place == expected, "%lld entries from home %d, %slisted: taken %s place", (long long)n,
          (int)where, listed ? "" : "not ", in_place ? "in" : "from another");
    check(&x, &m, in_place ? AFTER : BEFORE);
  } else {
    check(&x, &m, BEFORE);
  }
  polite_barrier(p->comm);
  CHECK_OK(grove_op_free(&op));
  memory_close(p, &m);
  CHECK_OK(grove_forest_free(&x.forest));
}

static void large_and_consecutive(const place *p)
{
  enum { LIMIT = LIMIT_BYTES / 8 };
  taken_from(p, ALLOCATED, LIMIT, 0, 1);
  taken_from(p, INSIDE, LIMIT, 0, 1);
  taken_from(p, TOGETHER, LIMIT, 0, 1);
  taken_from(p, ALLOCATED, 10 * LIMIT, 0, 1);
  taken_from(p, ORDINARY, LIMIT, 0, 0);
  taken_from(p, ALLOCATED, LIMIT - 1, 0, 0);
  taken_from(p, ALLOCATED, LIMIT, 1, 0);
}

/* ---- a sum of many ---- */

/* All ranks but the first add to its roots, in the order of the ranks. The last one is through
 * before rank 1 has even started, since rank 0 waits and so takes what comes; unless that has to
 * pass through rank 1. */
static void early_addends(const place *p, int64_t n, int allocated)
{
  if (p->size < 3) return;
  int first = p->rank == 0, last = p->size - 1;
  grove_root *root = need((size_t)n * sizeof *root);
  grove_forest *f = NULL;
  grove_op *op = NULL;
  void *base = NULL;
  size_t bytes = (size_t)n * sizeof(int64_t);
  CHECK_OK(grove_alloc(p->ctx, bytes, &base));
  int64_t *own = need(bytes), *array = allocated ? base : own;
  for (int64_t i = 0; i < n; i++) root[i] = (grove_root){0, i};
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, first ? n : 0, first ? 0 : n, NULL, root));
  CHECK_OK(grove_forest_set_up(f));
  CHECK_OK(
    grove_reduce_init(f, MPI_INT64_T, first ? NULL : array, first ? array : NULL, MPI_SUM, &op));
  for (int64_t round = 0; round < 3; round++) {
    MPI_Request request = MPI_REQUEST_NULL;
    for (int64_t i = 0; i < n; i++) array[i] = leaf_value(p->rank, round, i);
    if (p->rank == 1 && !op_relays(op)) {
      MPI_Irecv(NULL, 0, MPI_INT, last, 5, p->comm, &request);
      polite_wait(&request);
    }
    CHECK_OK(grove_start(op));
    CHECK_OK(grove_wait(op));
    if (p->rank == last && !op_relays(op)) {
      MPI_Isend(NULL, 0, MPI_INT, 1, 5, p->comm, &request);
      polite_wait(&request);
    }
    for (int64_t i = 0; first && i < n; i++) {
      int64_t sum = 0;
      for (int r = 0; r < p->size; r++) sum += leaf_value(r, round, i);
      CHECK(array[i] == sum, "root %lld is %lld, not %lld", (long long)i, (long long)array[i],
            (long long)sum);
    }
  }
  CHECK_OK(grove_op_free(&op));
  CHECK_OK(grove_forest_free(&f));
  CHECK_OK(grove_dealloc(p->ctx, base));
  free(own);
  free(root);
}

int main(int argc, char **argv)
{
  static const int64_t size[] = {1, 100, 4095, 4096, 5000, 70000};
  test_begin(&argc, &argv, "exec/alloc_in_place");
  place p = place_create(split(0));
  for (int i = 0; i < 6; i++)
    for (int k = 0; k < 4; k++) {
      test_case(4 * i + k);
      every_home(&p, size[i], k / 2, k % 2);
    }
  for (int reduces = 0; reduces < 2; reduces++) {
    alternating(&p, 4096, reduces);
    alternating(&p, 70000, reduces);
  }
  if (p.size > 1 && !getenv("GROVE_CHECK")) large_and_consecutive(&p); /* checked: a copy */
  for (int i = 0; i < 6; i++) {
    test_case(100 + i);
    early_addends(&p, size[i], 0);
    early_addends(&p, size[i], 1);
  }
  place_free(&p);
  return test_end();
}
