/* Many rounds of a few operations of very different sizes, drawn at random, some of them at the
 * same time, with all data checked. Rings wrap around at every place, over and over. */
#include "calls.h"
#include "check.h"
#include "places.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

enum { OPERATIONS = 14, MOST_IN_FLIGHT = 3, A_CASE = 2000 };

/* Leaf j of a rank is joined to root j of the next rank, or to root n - 1 - j: a root has one leaf,
 * and as many multiroots. */
typedef struct link {
  grove_forest *forest;
  int64_t n; /* bytes */
  op_kind kind;
  int listed;
  unsigned char *root, *leaf, *update;
  grove_op *op;
  int64_t round; /* under way, or -1 */
} link;

static const int64_t sizes[OPERATIONS] = {0,   1,    8,    47,    48,    49,    500,
                                          100, 1024, 1025, 16384, 16385, 70000, 8};

static link link_open(const place *p, int i)
{
  int64_t n = sizes[i];
  link x = {.n = n, .kind = (op_kind)(i % OP_KINDS), .listed = i % 4 == 3, .round = -1};
  grove_root *root = need((size_t)n * sizeof *root);
  for (int64_t j = 0; j < n; j++)
    root[j] = (grove_root){(p->rank + 1) % p->size, x.listed ? n - 1 - j : j};
  CHECK_OK(grove_forest_create(p->ctx, &x.forest));
  CHECK_OK(grove_forest_set_graph(x.forest, n, n, NULL, root));
  CHECK_OK(grove_forest_set_up(x.forest));
  free(root);
  x.root = need((size_t)n);
  x.leaf = need((size_t)n);
  x.update = need((size_t)n);
  MPI_Op op = x.kind == KIND_BCAST ? MPI_REPLACE : MPI_BXOR;
  op_call c = {x.kind, x.forest, MPI_UNSIGNED_CHAR, op, x.root, x.leaf, x.update};
  CHECK_OK(call_init(&c, &x.op));
  return x;
}

static void link_close(link *x)
{
  CHECK_OK(grove_op_free(&x->op));
  CHECK_OK(grove_forest_free(&x->forest));
  free(x->root);
  free(x->leaf);
  free(x->update);
}

/* What rank `r` sends in a round: long runs are cheap to write and to compare. */
static unsigned char first_byte(int r, int64_t round)
{
  return (unsigned char)mix2((uint64_t)round, (uint64_t)r);
}

static void write_bytes(unsigned char *to, int64_t n, unsigned char first)
{
  for (int64_t i = 0; i < n; i++) to[i] = (unsigned char)(first + i);
}

static void start(const place *p, link *x, int64_t round)
{
  int up = kind_goes_to_roots(x->kind);
  write_bytes(up ? x->leaf : x->root, x->n, first_byte(p->rank, round));
  write_bytes(up ? x->root : x->leaf, x->n, 5);
  CHECK_OK(grove_start(x->op));
  x->round = round;
}

/* What a rank has received: the sender's byte, combined with the 5 + i that was there. */
static void check_bytes(const place *p, const link *x)
{
  int up = kind_goes_to_roots(x->kind), combines = x->kind == KIND_REDUCE || x->kind == KIND_FETCH;
  int from = (p->rank + (up ? p->size - 1 : 1)) % p->size;
  unsigned char first = first_byte(from, x->round), *got = up ? x->root : x->leaf;
  for (int64_t i = 0; i < x->n; i++) {
    int64_t at = x->listed ? x->n - 1 - i : i;
    unsigned char expected = (unsigned char)(first + at), before = (unsigned char)(5 + at);
    if (combines) expected ^= (unsigned char)(5 + i);
    CHECK(got[i] == expected, "%s: byte %lld of %lld is %d, not %d, in round %lld",
          kind_name(x->kind), (long long)i, (long long)x->n, got[i], expected, (long long)x->round);
    CHECK(x->kind != KIND_FETCH || x->update[i] == before, "update %lld of %lld in round %lld",
          (long long)i, (long long)x->n, (long long)x->round);
  }
}

static void finish(const place *p, link *x, int by_test)
{
  if (by_test) polite_finish(x->op);
  CHECK_OK(grove_wait(x->op));
  check_bytes(p, x);
  x->round = -1;
}

/* All ranks draw the same operation for a round, small ones mostly; when it is finished differs
 * from rank to rank. */
static void run(const place *p, link *links, int64_t rounds)
{
  rng r = rng_from(test_seed(), 1), mine = rng_from(test_seed(), (uint64_t)p->rank + 2);
  link *flight[MOST_IN_FLIGHT];
  int flying = 0;
  for (int64_t round = 0; round < rounds; round++) {
    if (round % A_CASE == 0) test_case(round / A_CASE);
    int which = (int)rng_below(&r, rng_one_in(&r, 20) ? OPERATIONS : 10);
    while (flying == MOST_IN_FLIGHT || links[which].round >= 0 ||
           (flying > 0 && rng_one_in(&mine, 2))) {
      finish(p, flight[0], rng_one_in(&mine, 4));
      memmove(flight, flight + 1, (size_t)--flying * sizeof *flight);
    }
    start(p, &links[which], round);
    flight[flying++] = &links[which];
  }
  for (int i = 0; i < flying; i++) finish(p, flight[i], 0);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/many_rounds");
  place p = place_create(split(0));
  link links[OPERATIONS];
  for (int i = 0; i < OPERATIONS; i++) links[i] = link_open(&p, i);
  run(&p, links, test_exhaustive() ? 1000000 : test_samples(4000));
  for (int i = 0; i < OPERATIONS; i++) link_close(&links[i]);
  place_free(&p);
  return test_end();
}
