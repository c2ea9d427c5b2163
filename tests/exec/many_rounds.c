/* Many rounds of a few operations of very different sizes, drawn at random, some of them at the
 * same time, with all data checked. Rings wrap around at every place, over and over. */
#include "check.h"
#include "places.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

enum { OPERATIONS = 14, MOST_IN_FLIGHT = 3, A_CASE = 2000 };

/* Leaf j of a rank is joined to root j of the next rank, or to root n - 1 - j. */
typedef struct link {
  grove_forest *forest;
  int64_t n; /* bytes */
  int reduces, listed;
  unsigned char *root, *leaf;
  grove_op *op;
  int64_t round; /* under way, or -1 */
} link;

static const int64_t sizes[OPERATIONS] = {0,   1,    8,    47,    48,    49,    500,
                                          100, 1024, 1025, 16384, 16385, 70000, 8};

static link link_open(const place *p, int i)
{
  int64_t n = sizes[i];
  link x = {.n = n, .reduces = i % 3 == 1, .listed = i % 4 == 3, .round = -1};
  grove_root *root = need((size_t)n * sizeof *root);
  for (int64_t j = 0; j < n; j++)
    root[j] = (grove_root){(p->rank + 1) % p->size, x.listed ? n - 1 - j : j};
  CHECK_OK(grove_forest_create(p->ctx, &x.forest));
  CHECK_OK(grove_forest_set_graph(x.forest, n, n, NULL, root));
  CHECK_OK(grove_forest_set_up(x.forest));
  free(root);
  x.root = need((size_t)n);
  x.leaf = need((size_t)n);
  if (x.reduces)
    CHECK_OK(grove_reduce_init(x.forest, MPI_UNSIGNED_CHAR, x.leaf, x.root, MPI_BXOR, &x.op));
  else
    CHECK_OK(grove_bcast_init(x.forest, MPI_UNSIGNED_CHAR, x.root, x.leaf, MPI_REPLACE, &x.op));
  return x;
}

static void link_close(link *x)
{
  CHECK_OK(grove_op_free(&x->op));
  CHECK_OK(grove_forest_free(&x->forest));
  free(x->root);
  free(x->leaf);
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
  unsigned char first = first_byte(p->rank, round);
  write_bytes(x->reduces ? x->leaf : x->root, x->n, first);
  write_bytes(x->reduces ? x->root : x->leaf, x->n, 5);
  CHECK_OK(grove_start(x->op));
  x->round = round;
}

static void finish(const place *p, link *x, int by_test)
{
  int from = (p->rank + (x->reduces ? p->size - 1 : 1)) % p->size;
  unsigned char first = first_byte(from, x->round), *got = x->reduces ? x->root : x->leaf;
  if (by_test) polite_finish(x->op);
  CHECK_OK(grove_wait(x->op));
  for (int64_t i = 0; i < x->n; i++) {
    int64_t at = x->listed ? x->n - 1 - i : i;
    unsigned char expected = (unsigned char)(first + at);
    if (x->reduces) expected ^= (unsigned char)(5 + i);
    CHECK(got[i] == expected, "byte %lld of %lld is %d, not %d, in round %lld", (long long)i,
          (long long)x->n, got[i], expected, (long long)x->round);
  }
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
  run(&p, links, test_exhaustive() ? 1000000 : test_samples(10000));
  for (int i = 0; i < OPERATIONS; i++) link_close(&links[i]);
  place_free(&p);
  return test_end();
}
