/* The public calls about devices: memory, copies, and operations with arrays in any memory. The
 * device is the one that GROVE_DEVICE names. */
#include "check.h"
#include "grove_cuda.h"
#include "places.h"

#include <stdlib.h>
#include <string.h>

enum { N = 300 };

/* ---- arrays of N numbers, here or there ---- */

typedef struct numbers {
  int64_t *at; /* what Grove is given */
  int64_t here[N];
  void *there; /* every rank has some, since that is collective */
} numbers;

static numbers *new_numbers(const place *p, int there)
{
  numbers *x = need(sizeof *x);
  CHECK_OK(grove_alloc_device(p->ctx, sizeof x->here, &x->there));
  x->at = there ? x->there : x->here;
  return x;
}

static void free_numbers(const place *p, numbers *x)
{
  CHECK_OK(grove_dealloc(p->ctx, x->there));
  free(x);
}

/* Number i is first + i. */
static void put_numbers(const place *p, const numbers *x, int64_t first)
{
  int64_t values[N];
  for (int64_t i = 0; i < N; i++) values[i] = first + i;
  CHECK_OK(grove_copy(p->ctx, x->at, values, sizeof values));
}

static void check_numbers(const place *p, const numbers *x, int64_t first, const char *what)
{
  int64_t values[N];
  CHECK_OK(grove_copy(p->ctx, values, x->at, sizeof values));
  for (int64_t i = 0; i < N; i++)
    CHECK(values[i] == first + i, "%s: number %lld is %lld, not %lld", what, (long long)i,
          (long long)values[i], (long long)(first + i));
}

/* ---- a forest in which everybody has the numbers of the next rank ---- */

static grove_forest *ring_forest(const place *p)
{
  grove_forest *f = NULL;
  int64_t slot[N];
  grove_root root[N];
  for (int64_t i = 0; i < N; i++) {
    slot[i] = N - 1 - i; /* something to pack */
    root[i] = (grove_root){(p->rank + 1) % p->size, N - 1 - i};
  }
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, N, N, slot, root));
  CHECK_OK(grove_forest_set_up(f));
  return f;
}

static int64_t value_of(int rank, int64_t round)
{
  return 1000000 * round + 1000 * rank;
}

static int64_t value_of_next(const place *p, int64_t round)
{
  return value_of((p->rank + 1) % p->size, round);
}

/* ---- memory ---- */

static void *allocate(const place *p, size_t bytes)
{
  void *memory = NULL;
  CHECK_OK(grove_alloc_device(p->ctx, bytes, &memory));
  CHECK(memory, "no address for %zu bytes", bytes);
  return memory;
}

static void memory_of_any_size(const place *p)
{
  char *empty = allocate(p, 0), *other = allocate(p, 0), *all = allocate(p, 64);
  char *mine = allocate(p, p->rank == 0 ? 0 : 100 * (size_t)p->rank);
  char text[] = "some bytes that travel";
  CHECK(empty != other && all != mine && mine != empty, "two have one address");
  CHECK_OK(grove_copy(p->ctx, all, text, sizeof text));
  memset(text, 0, sizeof text);
  CHECK_OK(grove_copy(p->ctx, text, all, sizeof text));
  CHECK(strcmp(text, "some bytes that travel") == 0, "'%s'", text);
  CHECK_OK(grove_dealloc(p->ctx, other));
  CHECK_OK(grove_dealloc(p->ctx, mine));
  CHECK_OK(grove_dealloc(p->ctx, NULL));
  CHECK_OK(grove_dealloc(p->ctx, all));
  CHECK_OK(grove_dealloc(p->ctx, empty));
  CHECK_STATUS(grove_dealloc(p->ctx, p->rank == 0 ? all : NULL), GROVE_ERR_ARG);
  CHECK_SAME_ERROR(p->comm, GROVE_ERR_ARG);
}

/* What one rank does wrong all hear of, and nothing is left behind. */
static void refused_on_one_rank(const place *p)
{
  int wrong = p->rank == p->size - 1;
  void *memory = &wrong;
  CHECK_STATUS(grove_alloc_device(NULL, 8, &memory), GROVE_ERR_ARG);
  grove_status status = grove_alloc_device(p->ctx, 8, wrong ? NULL : &memory);
  CHECK_STATUS(status, GROVE_ERR_ARG);
  CHECK_SAME_ERROR(p->comm, status);
  static const size_t large[] = {(size_t)1 << 50, SIZE_MAX, (size_t)INT64_MAX};
  for (int i = 0; i < 3; i++) {
    status = grove_alloc_device(p->ctx, wrong ? large[i] : 8, &memory);
    CHECK_STATUS(status, GROVE_ERR_MEMORY);
    CHECK_SAME_ERROR(p->comm, status);
  }
  CHECK(memory == &wrong, "an output of a call that failed");
  memory_of_any_size(p);
}

/* With device=none, also after the device was in use. */
static void no_device(const char *device)
{
  place fresh = place_create(split(0));
  void *memory = NULL, *before = NULL;
  for (int used = 0; used < 2; used++) {
    place_set(&fresh, "device", "none");
    grove_status status = grove_alloc_device(fresh.ctx, 8, &memory);
    CHECK_STATUS(status, GROVE_ERR_DEVICE);
    CHECK_SAME_ERROR(fresh.comm, status);
    CHECK(strstr(grove_last_error(), "none"), "'%s'", grove_last_error());
    place_set(&fresh, "device", device);
    memory_of_any_size(&fresh);
    if (!used) before = allocate(&fresh, 8);
  }
  CHECK_STATUS(grove_context_set(fresh.ctx, "device", "toaster"), GROVE_ERR_OPTION);
  CHECK_OK(grove_dealloc(fresh.ctx, before));
  place_free(&fresh);
}

static void memory_left_to_the_end(void)
{
  place fresh = place_create(split(0));
  for (int i = 0; i < 3; i++) allocate(&fresh, 1000);
  place_free(&fresh);
}

/* ---- copies ---- */

static void copies(const place *p)
{
  int64_t x[2] = {5, 6}, y[2] = {0, 0};
  int64_t *a = allocate(p, sizeof x), *b = allocate(p, sizeof x);
  CHECK_OK(grove_copy(p->ctx, y, x, sizeof x));
  CHECK(y[1] == 6, "host to host: %lld", (long long)y[1]);
  CHECK_OK(grove_copy(p->ctx, a, x, sizeof x));
  CHECK_OK(grove_copy(p->ctx, b + 1, a, sizeof *a));
  CHECK_OK(grove_copy(p->ctx, b, a + 1, sizeof *a));
  CHECK_OK(grove_copy(p->ctx, y, b, sizeof y));
  CHECK(y[0] == 6 && y[1] == 5, "by the device: %lld %lld", (long long)y[0], (long long)y[1]);
  CHECK_OK(grove_copy(p->ctx, NULL, NULL, 0));
  CHECK_OK(grove_copy(p->ctx, a, NULL, 0));
  CHECK_STATUS(grove_copy(NULL, a, b, 8), GROVE_ERR_ARG);
  CHECK_STATUS(grove_copy(p->ctx, NULL, x, 8), GROVE_ERR_ARG);
  CHECK(strstr(grove_last_error(), "dst"), "'%s'", grove_last_error());
  CHECK_STATUS(grove_copy(p->ctx, a, NULL, 8), GROVE_ERR_ARG);
  CHECK(strstr(grove_last_error(), "src"), "'%s'", grove_last_error());
  CHECK_STATUS(grove_copy(p->ctx, y, x, SIZE_MAX), GROVE_ERR_ARG);
  CHECK_OK(grove_dealloc(p->ctx, b));
  CHECK_OK(grove_dealloc(p->ctx, a));
}

/* ---- operations ---- */

/* Bit 0 of `where`: the roots, bit 1: the leaves; ranks differ. */
static int where_on(const place *p, int where, int bit)
{
  return (where + p->rank) >> bit & 1;
}

static void bcast_rounds(const place *p, grove_forest *f, int where)
{
  numbers *root = new_numbers(p, where_on(p, where, 0)),
          *leaf = new_numbers(p, where_on(p, where, 1));
  grove_op *op = NULL;
  CHECK_OK(grove_bcast_init(f, MPI_INT64_T, root->at, leaf->at, MPI_REPLACE, &op));
  for (int round = 0; round < 3; round++) {
    put_numbers(p, root, value_of(p->rank, round));
    put_numbers(p, leaf, -5);
    CHECK_OK(grove_start(op));
    CHECK_OK(grove_wait(op));
    check_numbers(p, leaf, value_of_next(p, round), "bcast");
    check_numbers(p, root, value_of(p->rank, round), "the roots of a bcast");
  }
  grove_report report = {.struct_size = sizeof report};
  CHECK_OK(grove_op_report(op, &report));
  CHECK(report.starts == 3, "%lld starts", (long long)report.starts);
  CHECK(report.route && report.transport && report.transport_on_node, "names are missing");
  CHECK(report.on_node_bytes + report.off_node_bytes == (p->size > 1) * N * 8, "%lld bytes",
        (long long)(report.on_node_bytes + report.off_node_bytes));
  CHECK_OK(grove_op_free(&op));
  free_numbers(p, leaf);
  free_numbers(p, root);
}

/* One shots of one kind, with arrays that change their place from one to the next. */
static void changing_places(const place *p, grove_forest *f)
{
  numbers *root[2] = {new_numbers(p, 0), new_numbers(p, 1)};
  numbers *leaf[2] = {new_numbers(p, 0), new_numbers(p, 1)};
  for (int round = 0; round < 8; round++) {
    const numbers *x = root[where_on(p, round, 0)], *y = leaf[where_on(p, round, 1)];
    grove_op *op = NULL;
    put_numbers(p, x, value_of(p->rank, round));
    put_numbers(p, y, -5);
    CHECK_OK(grove_bcast_begin(f, MPI_INT64_T, x->at, y->at, MPI_REPLACE, &op));
    CHECK_OK(grove_end(&op));
    check_numbers(p, y, value_of_next(p, round), "a bcast by _begin");
    CHECK_OK(grove_reduce(f, MPI_INT64_T, y->at, x->at, MPI_SUM));
  }
  for (int i = 0; i < 2; i++) {
    free_numbers(p, root[i]);
    free_numbers(p, leaf[i]);
  }
}

/* Two under way at once on one wiring, and ended the other way round. */
static void several_at_once(const place *p, grove_forest *f)
{
  numbers *root[3], *leaf[3];
  grove_op *op[3];
  for (int i = 0; i < 3; i++) {
    root[i] = new_numbers(p, where_on(p, i, 0));
    leaf[i] = new_numbers(p, where_on(p, i + 1, 1));
    put_numbers(p, root[i], value_of(p->rank, i));
  }
  for (int i = 0; i < 3; i++)
    CHECK_OK(grove_bcast_begin(f, MPI_INT64_T, root[i]->at, leaf[i]->at, MPI_REPLACE, &op[i]));
  for (int i = 2; i >= 0; i--) CHECK_OK(grove_end(&op[i]));
  for (int i = 0; i < 3; i++) {
    check_numbers(p, leaf[i], value_of_next(p, i), "one of several");
    free_numbers(p, leaf[i]);
    free_numbers(p, root[i]);
  }
}

static void bundle_of_both(const place *p, grove_forest *f)
{
  numbers *root[2], *leaf[2];
  grove_op *member[2], *both = NULL;
  for (int i = 0; i < 2; i++) {
    root[i] = new_numbers(p, i);
    leaf[i] = new_numbers(p, i);
    CHECK_OK(grove_bcast_init(f, MPI_INT64_T, root[i]->at, leaf[i]->at, MPI_REPLACE, &member[i]));
  }
  CHECK_OK(grove_op_bundle(2, member, &both));
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 2; i++) put_numbers(p, root[i], value_of(p->rank, 2 * round + i));
    CHECK_OK(grove_start(both));
    CHECK_OK(grove_wait(both));
    for (int i = 0; i < 2; i++)
      check_numbers(p, leaf[i], value_of_next(p, 2 * round + i), "a member of a bundle");
  }
  CHECK_OK(grove_op_free(&both));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(grove_op_free(&member[i]));
    free_numbers(p, leaf[i]);
    free_numbers(p, root[i]);
  }
}

/* Freed by one rank while it is active, and other values are in its arrays a moment later. */
static void freed_by_one(const place *p, grove_forest *f, int who)
{
  numbers *root = new_numbers(p, 1), *leaf = new_numbers(p, 1);
  grove_op *idle = place_idle(p), *op = NULL;
  put_numbers(p, root, value_of(p->rank, who));
  put_numbers(p, leaf, -5);
  CHECK_OK(grove_bcast_init(f, MPI_INT64_T, root->at, leaf->at, MPI_REPLACE, &op));
  CHECK_OK(grove_start(op));
  if (p->rank == who) {
    CHECK_OK(grove_op_free(&op));
    put_numbers(p, root, -77);
    put_numbers(p, leaf, -99);
  } else {
    CHECK_OK(grove_wait(op));
    check_numbers(p, leaf, value_of_next(p, who), "beside one that was freed");
    CHECK_OK(grove_op_free(&op));
  }
  place_meet(p, idle);
  if (p->rank == who) check_numbers(p, leaf, -99, "freed, and written to");
  CHECK_OK(grove_op_free(&idle));
  free_numbers(p, leaf);
  free_numbers(p, root);
}

/* By all, and the memory of its arrays is given back and used again at once. */
static void freed_by_all(const place *p, grove_forest *f)
{
  numbers *root = new_numbers(p, 1), *leaf = new_numbers(p, 1);
  grove_op *idle = place_idle(p), *op = NULL;
  put_numbers(p, root, 3);
  CHECK_OK(grove_bcast_init(f, MPI_INT64_T, root->at, leaf->at, MPI_REPLACE, &op));
  CHECK_OK(grove_start(op));
  CHECK_OK(grove_op_free(&op));
  free_numbers(p, leaf);
  free_numbers(p, root);
  numbers *other = new_numbers(p, 1);
  put_numbers(p, other, 7);
  place_meet(p, idle);
  check_numbers(p, other, 7, "memory that is used again");
  CHECK_OK(grove_op_free(&idle));
  free_numbers(p, other);
}

/* What the option says counts; a copy finds out by itself. */
static void told_where(const place *p, grove_forest *f)
{
  static const char *const memory[] = {"device", "host", "auto"};
  for (int i = 0; i < 3; i++) {
    place_set(p, "memory", memory[i]);
    numbers *root = new_numbers(p, i == 0 || (i == 2 && p->rank == 0));
    numbers *leaf = new_numbers(p, i == 0 || i == 2);
    grove_op *op = NULL;
    put_numbers(p, root, value_of(p->rank, i));
    CHECK_OK(grove_bcast_begin(f, MPI_INT64_T, root->at, leaf->at, MPI_REPLACE, &op));
    CHECK_OK(grove_end(&op));
    check_numbers(p, leaf, value_of_next(p, i), memory[i]);
    free_numbers(p, leaf);
    free_numbers(p, root);
    copies(p);
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "device/calls");
  const char *device = getenv("GROVE_DEVICE");
  CHECK(device, "GROVE_DEVICE is not set");
  no_device(device);
  memory_left_to_the_end();
  place p = place_create(split(0));
  refused_on_one_rank(&p);
  copies(&p);
  for (int nodes = 1; nodes <= 2; nodes++) {
    place_set(&p, "node_size", nodes == 1 ? "0" : "1");
    grove_forest *f = ring_forest(&p);
    for (int where = 0; where < 4; where++) bcast_rounds(&p, f, where);
    changing_places(&p, f);
    several_at_once(&p, f);
    bundle_of_both(&p, f);
    for (int who = 0; who < p.size; who++) freed_by_one(&p, f, who);
    freed_by_all(&p, f);
    told_where(&p, f);
    CHECK_OK(grove_forest_free(&f));
  }
  place_free(&p);
  return test_end();
}
