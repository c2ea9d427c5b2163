/* Messages, and lists of set-up, in chunks of a few bytes: sizes around the limit and far beyond
 * it, with every kind of requests, inside and between nodes, with and without checksums; persistent
 * and begun, several of one kind in flight, freed while active. */
#include "check.h"
#include "random.h"
#include "ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOTS = 3, MOST = 1500 };

static const int chunks[] = {64, 100, 4096};
enum { CHUNKS = sizeof chunks / sizeof *chunks };

/* ---- one way of sending ---- */

typedef struct way {
  int chunk;
  const char *p2p, *check, *node_size;
} way;

static way number_way(int64_t number)
{
  return (way){chunks[number % CHUNKS], number / CHUNKS % 2 ? "reposted" : "persistent",
               number / CHUNKS / 2 % 2 ? "on" : "off", number / CHUNKS / 4 % 2 ? "1" : "0"};
}

enum { WAYS = CHUNKS * 2 * 2 * 2 };

static place open_place(const way *w)
{
  char text[32];
  place p = place_create(split(0));
  snprintf(text, sizeof text, "%d", w->chunk);
  CHECK_OK(grove_context_set(p.ctx, "transport_on_node", "mpi"));
  CHECK_OK(grove_context_set(p.ctx, "chunk", text));
  CHECK_OK(grove_context_set(p.ctx, "p2p", w->p2p));
  CHECK_OK(grove_context_set(p.ctx, "check", w->check));
  CHECK_OK(grove_context_set(p.ctx, "node_size", w->node_size));
  return p;
}

/* Entries of 8 bytes: a message as large as a few chunks, or one more or less, or anything. */
static int64_t draw_size(rng *r, const way *w)
{
  if (rng_one_in(r, 3)) return rng_below(r, MOST);
  int64_t n = rng_between(r, 1, 3) * w->chunk / 8 + rng_between(r, -2, 2);
  return n < 0 ? 0 : n;
}

/* ---- what is done with it ---- */

static void persistent(ring *x, int round)
{
  ring_init(x);
  for (int k = 0; k < 3; k++) {
    ring_fill(x, round + k);
    CHECK_OK(grove_start(x->op));
    CHECK_OK(grove_wait(x->op));
    ring_check(x, round + k);
  }
  CHECK_OK(grove_op_free(&x->op));
}

/* All at once, ended in another order by every rank. */
static void in_flight(ring *x, const place *p, int round)
{
  for (int k = 0; k < SHOTS; k++) {
    ring_fill(&x[k], round + k);
    ring_begin(&x[k]);
  }
  for (int k = 0; k < SHOTS; k++) {
    ring *next = &x[(k + p->rank) % SHOTS];
    CHECK_OK(grove_end(&next->op));
    ring_check(next, round + (int)(next - x));
  }
}

/* One is freed while active, on every rank another one; it writes no more, and the others go on. */
static void freed_among_others(ring *x, const place *p, int round)
{
  ring *dropped = &x[(p->rank + round) % SHOTS];
  for (int k = 0; k < SHOTS; k++) {
    ring_fill(&x[k], round + k);
    ring_begin(&x[k]);
  }
  CHECK_OK(grove_op_free(&dropped->op));
  int64_t *then = ring_snapshot(dropped);
  for (int k = 0; k < SHOTS; k++) {
    if (!x[k].op) continue;
    CHECK_OK(grove_end(&x[k].op));
    ring_check(&x[k], round + k);
  }
  polite_barrier(p->comm);
  ring_check_unchanged(dropped, then);
}

/* Rank 0 frees before the others start: nothing has come for it. */
static void freed_before_arrival(ring *x, const place *p, int round)
{
  ring_init(x);
  ring_fill(x, round);
  if (p->rank == 0) {
    CHECK_OK(grove_start(x->op));
    CHECK_OK(grove_op_free(&x->op));
  }
  polite_barrier(p->comm);
  if (p->rank != 0) {
    CHECK_OK(grove_start(x->op));
    CHECK_OK(grove_wait(x->op));
    ring_check(x, round);
    CHECK_OK(grove_op_free(&x->op));
  }
  polite_barrier(p->comm);
}

static void exercise_ring(const place *p, int64_t n, op_kind which, ring *x)
{
  x[0] = ring_open(p, n, RING_NOBODY, which);
  for (int k = 1; k < SHOTS; k++) x[k] = ring_sibling(&x[0]);
  for (int round = 0; round < 2; round++) {
    persistent(&x[0], round);
    in_flight(x, p, 10 + round);
    if (which == KIND_FETCH) continue; /* its owner must go on calling Grove */
    freed_among_others(x, p, 20 + round);
    in_flight(x, p, 30 + round);
    freed_before_arrival(&x[0], p, 40 + round);
  }
}

/* Arrays go after the context, which may be sending from those of a freed operation. */
static void run(int64_t number)
{
  way w = number_way(number);
  rng r = rng_from(test_seed(), (uint64_t)number);
  ring x[OP_KINDS][SHOTS];
  test_case(number);
  place p = open_place(&w);
  for (op_kind k = 0; k < OP_KINDS; k++) exercise_ring(&p, draw_size(&r, &w), k, x[k]);
  place_free(&p);
  polite_barrier(MPI_COMM_WORLD);
  for (int i = 0; i < OP_KINDS; i++)
    for (int k = SHOTS - 1; k >= 0; k--) ring_close(&x[i][k]);
}

/* ---- set-up: a graph whose lists are longer than a chunk, back as it was given ---- */

static void check_graph(grove_forest *f, int64_t n, const grove_root *given)
{
  const grove_root *root = NULL;
  CHECK_OK(grove_forest_graph(f, NULL, NULL, NULL, &root));
  for (int64_t i = 0; i < n; i++)
    CHECK(root[i].rank == given[i].rank && root[i].index == given[i].index,
          "leaf %lld has another root", (long long)i);
}

/* Every rank has leaves on roots of all ranks; those in number `global`, or in pairs. */
static void set_up(const place *p, rng *r, int64_t n, int global)
{
  grove_forest *f = NULL;
  int64_t *number = need((size_t)n * sizeof *number), *root = need((size_t)n * sizeof *root);
  int64_t *leaf = need((size_t)n * sizeof *leaf);
  grove_root *pair = need((size_t)n * sizeof *pair);
  for (int64_t i = 0; i < n; i++) {
    pair[i] = (grove_root){(int)rng_below(r, p->size), rng_below(r, n)};
    number[i] = pair[i].rank * n + pair[i].index;
    root[i] = p->rank * n + i;
    leaf[i] = -1;
  }
  CHECK_OK(grove_forest_create(p->ctx, &f));
  if (global)
    CHECK_OK(grove_forest_set_graph_global(f, n, n, NULL, number));
  else
    CHECK_OK(grove_forest_set_graph(f, n, n, NULL, pair));
  CHECK_OK(grove_forest_set_up(f));
  check_graph(f, n, pair);
  CHECK_OK(grove_bcast(f, MPI_INT64_T, root, leaf, MPI_REPLACE));
  for (int64_t i = 0; i < n; i++)
    CHECK(leaf[i] == number[i], "leaf %lld is %lld, not %lld", (long long)i, (long long)leaf[i],
          (long long)number[i]);
  CHECK_OK(grove_forest_free(&f));
  free(number);
  free(root);
  free(leaf);
  free(pair);
}

/* A graph that is wrong far behind the first chunk of a list is refused in one sentence. */
static void refuses(const place *p)
{
  enum { LEAVES = 600, WRONG = 577 };
  grove_forest *f = NULL;
  grove_root root[LEAVES];
  for (int i = 0; i < LEAVES; i++) root[i] = (grove_root){0, i};
  if (p->rank == p->size - 1) root[WRONG].index = 100000;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, LEAVES, LEAVES, NULL, root));
  grove_status status = grove_forest_set_up(f);
  CHECK(status == GROVE_ERR_GRAPH, "%s", grove_status_name(status));
  CHECK_SAME_ERROR(p->comm, status);
  CHECK_NUMBER_IN(grove_last_error(), WRONG);
  CHECK_OK(grove_forest_free(&f));
}

static void run_set_up(int64_t number)
{
  way w = number_way(number);
  rng r = rng_from(test_seed(), (uint64_t)(1000 * number + world_rank()));
  rng same = rng_from(test_seed(), (uint64_t)number + 77);
  place p = open_place(&w);
  for (int i = 0; i < 4; i++) set_up(&p, &r, 1 + draw_size(&same, &w), i % 2);
  refuses(&p);
  set_up(&p, &r, 5, 0);
  place_free(&p);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/chunked");
  for (int64_t i = 0; i < test_samples(WAYS); i++) {
    run(i);
    run_set_up(i);
  }
  return test_end();
}
