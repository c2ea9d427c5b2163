/* Self edges from an array on one device to an array on another: from 1 MiB on they go there
 * straight, over all paths, and never see the host. What is shorter, fetches, and what no kernel
 * can do, is right too. Beside them, edges to other ranks go as ever. */
#include "copier_rig.h"
#include "device/space.h"
#include "places.h"

enum { DEVICES = 3, ROOTS_AT = 0, LEAVES_AT = 1, LONG = 131072, SHORT = 1000 };

/* Every rank has n leaves of its own roots, and n of the next rank's; of each kind in this order,
 * or in another one that has to be packed. */
typedef struct scene {
  const place *p;
  int64_t n;
  int mixed;
  grove_forest *f;
  int64_t *root, *leaf;       /* on devices */
  int64_t *root_in, *leaf_in; /* pinned; what they have at first */
  int64_t *root_out, *leaf_out;
} scene;

static int64_t root_of_leaf(const scene *s, int64_t i)
{
  return s->mixed ? (i * 7 + 3) % s->n : i;
}

static scene new_scene(const place *p, int64_t n, int mixed)
{
  scene s = {.p = p, .n = n, .mixed = mixed};
  int64_t bytes = n * (int64_t)sizeof(int64_t);
  grove_root *owner = need((size_t)(2 * n) * sizeof *owner);
  for (int64_t i = 0; i < n; i++) {
    owner[i] = (grove_root){p->rank, root_of_leaf(&s, i)};
    owner[n + i] = (grove_root){(p->rank + 1) % p->size, root_of_leaf(&s, i)};
  }
  CHECK_OK(grove_forest_create(p->ctx, &s.f));
  CHECK_OK(grove_forest_set_graph(s.f, n, 2 * n, NULL, owner));
  CHECK_OK(grove_forest_set_up(s.f));
  free(owner);
  s.root = memory_at(ROOTS_AT, bytes);
  s.leaf = memory_at(LEAVES_AT, 2 * bytes);
  s.root_in = new_pinned((size_t)bytes);
  s.root_out = new_pinned((size_t)bytes);
  s.leaf_in = new_pinned((size_t)(2 * bytes));
  s.leaf_out = new_pinned((size_t)(2 * bytes));
  for (int64_t i = 0; i < n; i++) s.root_in[i] = 1000000 * (p->rank + 1) + i;
  for (int64_t i = 0; i < 2 * n; i++) s.leaf_in[i] = 3 * i + p->rank;
  return s;
}

static void free_scene(scene *s)
{
  CHECK_OK(grove_forest_free(&s->f));
  driver->free(ROOTS_AT, s->root);
  driver->free(LEAVES_AT, s->leaf);
  free_pinned(s->root_in);
  free_pinned(s->root_out);
  free_pinned(s->leaf_in);
  free_pinned(s->leaf_out);
}

static void put_in(const scene *s)
{
  size_t bytes = (size_t)s->n * sizeof(int64_t);
  CHECK_OK(grove_copy(s->p->ctx, s->root, s->root_in, bytes));
  CHECK_OK(grove_copy(s->p->ctx, s->leaf, s->leaf_in, 2 * bytes));
}

static void take_out(const scene *s)
{
  size_t bytes = (size_t)s->n * sizeof(int64_t);
  CHECK_OK(grove_copy(s->p->ctx, s->root_out, s->root, bytes));
  CHECK_OK(grove_copy(s->p->ctx, s->leaf_out, s->leaf, 2 * bytes));
}

/* How many copies have gone by stops between the two. */
static int64_t staged_copies(const place *p, int from, int to)
{
  int64_t n = 0;
  const grove_copy_pair *pair = p->ctx->copier ? p->ctx->copier->pairs[from][to] : NULL;
  for (int i = 0; pair && i < GROVE_CREWS; i++)
    for (int stop = 0; pair->crews[i] && stop < GROVE_ENDS; stop++)
      if (pair->crews[i]->lanes[stop]) n += pair->crews[i]->lanes[stop]->number;
  return n;
}

static void run_twice(const scene *s, grove_op *op, void (*check)(const scene *s), int from, int to,
                      int is_passed)
{
  for (int round = 0; round < 2; round++) {
    int64_t before = staged_copies(s->p, from, to);
    put_in(s);
    CHECK_OK(grove_start(op));
    CHECK_OK(grove_wait(op));
    take_out(s);
    check(s);
    int64_t more = staged_copies(s->p, from, to) - before;
    CHECK((more > 0) == is_passed, "%lld copies over other paths", (long long)more);
  }
  CHECK_OK(grove_op_free(&op));
  check_conflicts();
}

/* ---- bcast ---- */

static void check_bcast(const scene *s)
{
  for (int64_t i = 0; i < 2 * s->n; i++) {
    int owner = i < s->n ? s->p->rank : (s->p->rank + 1) % s->p->size;
    int64_t value = 1000000 * (owner + 1) + root_of_leaf(s, i % s->n);
    CHECK(s->leaf_out[i] == value, "leaf %lld is %lld, not %lld", (long long)i,
          (long long)s->leaf_out[i], (long long)value);
  }
}

static void try_bcast(const place *p, int64_t n, int mixed)
{
  grove_op *op = NULL;
  scene s = new_scene(p, n, mixed);
  CHECK_OK(grove_bcast_init(s.f, MPI_INT64_T, s.root, s.leaf, MPI_REPLACE, &op));
  run_twice(&s, op, check_bcast, ROOTS_AT, LEAVES_AT, n == LONG);
  free_scene(&s);
}

/* ---- reduce: self edges and messages meet ---- */

/* The leaf that has a root of its own rank, or of the rank before, for every root. */
static void check_sum(const scene *s)
{
  int before = (s->p->rank + s->p->size - 1) % s->p->size;
  for (int64_t i = 0; i < s->n; i++) {
    int64_t root = root_of_leaf(s, i);
    int64_t value = s->root_in[root] + 3 * i + s->p->rank + 3 * (s->n + i) + before;
    CHECK(s->root_out[root] == value, "root %lld is %lld, not %lld", (long long)root,
          (long long)s->root_out[root], (long long)value);
  }
}

static void try_reduce(const place *p, int64_t n, int mixed, MPI_Op how)
{
  grove_op *op = NULL;
  scene s = new_scene(p, n, mixed);
  CHECK_OK(grove_reduce_init(s.f, MPI_INT64_T, s.leaf, s.root, how, &op));
  run_twice(&s, op, check_sum, LEAVES_AT, ROOTS_AT, n == LONG);
  free_scene(&s);
}

/* ---- what no kernel can do ---- */

static void add_numbers(void *in, void *out, int *n, MPI_Datatype *type)
{
  (void)type;
  for (int i = 0; i < *n; i++) ((int64_t *)out)[i] += ((int64_t *)in)[i];
}

static void try_by_host(const place *p)
{
  MPI_Op add;
  MPI_Op_create(add_numbers, 1, &add);
  try_reduce(p, LONG, 1, add);
  MPI_Op_free(&add);
}

/* ---- fetch: as before, by the host ---- */

static void try_fetch(const place *p)
{
  grove_op *op = NULL;
  scene s = new_scene(p, LONG, 1);
  int64_t *update = memory_at(LEAVES_AT, 2 * LONG * (int64_t)sizeof *update);
  CHECK_OK(grove_fetch_init(s.f, MPI_INT64_T, s.root, s.leaf, update, MPI_SUM, &op));
  run_twice(&s, op, check_sum, LEAVES_AT, ROOTS_AT, 0);
  driver->free(LEAVES_AT, update);
  free_scene(&s);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "device/passages");
  grove_emulated_set_devices(DEVICES);
  place p = place_create(split(0));
  try_bcast(&p, SHORT, 1);
  CHECK(!p.ctx->copier, "a copier for what is short");
  for (int mixed = 0; mixed < 2; mixed++) {
    try_bcast(&p, LONG, mixed);
    try_reduce(&p, LONG, mixed, MPI_SUM);
  }
  try_by_host(&p);
  try_fetch(&p);
  place_free(&p);
  grove_emulated_reset();
  return test_end();
}
