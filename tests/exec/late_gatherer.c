/* A letter that passes through a rank leaves when its own inputs are there: whatever does not come
 * from, or through, a rank that starts late arrives before that rank starts. On routes through
 * relays, every rank late in turn; each destination has one source, so that the path of its values
 * is known from who sends to whom. */
#include "check.h"
#include "net.h"
#include "places.h"
#include "random.h"

#include <stdlib.h>

/* Not every graph tells: cases are drawn until one does. */
enum { DONE_TAG = 77, PATIENCE = 60, MOST_CASES = 300 };

/* Which targets need the late one: their values come its way, or in a letter with such. */
typedef struct needs {
  unsigned char late[NET_RANKS];
} needs;

static needs find_needs(const net *x, const int *source, int late)
{
  needs y = {{0}};
  net_spread(x, source, late, y.late);
  y.late[late] = 1;
  return y;
}

/* Whether a rank on the way of a target also sends, in the same stage, what needs the late one:
 * before letters left by themselves it would have waited for that. */
static int is_telling(const net *x, const int *source, int t, const needs *y)
{
  for (int s = 1; s < NET_STAGES; s++)
    for (int a = 0; a < x->n; a++)
      for (int b = 0; b < x->n; b++)
        for (int c = 0; c < x->n; c++)
          if (a != source[t] && net_is_on_way(x, source[t], t, s, a, b) &&
              net_shares_letter(x, source, s, a, c, y->late))
            return 1;
  return 0;
}

/* ---- one operation ---- */

/* Every rank has leaves of one other, and as many roots as there are ranks. */
static grove_forest *make_forest(const place *p, const int *source)
{
  grove_forest *f = NULL;
  grove_root root = {source[p->rank], p->rank};
  int leaves = source[p->rank] != p->rank;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, p->size, leaves, NULL, &root));
  CHECK_OK(grove_forest_set_up(f));
  return f;
}

/* Until it is complete, or (`leaf`) until that has come. */
static void finish(grove_op *op, const volatile int64_t *leaf)
{
  int done = 0;
  double begin = MPI_Wtime();
  while (!done && !(leaf && *leaf >= 0)) {
    CHECK_OK(grove_test(op, &done));
    CHECK(done || MPI_Wtime() - begin < PATIENCE, "not complete after %d s", PATIENCE);
    linger(0);
  }
}

/* The late one does not call Grove before all have told it that do not need it. */
static void await(const place *p, const int *source, const needs *y)
{
  for (int r = 0; r < p->size; r++) {
    MPI_Request request;
    int done = 0;
    double begin = MPI_Wtime();
    if (source[r] == r || y->late[r]) continue;
    MPI_Irecv(NULL, 0, MPI_BYTE, r, DONE_TAG, p->comm, &request);
    while (!done) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      CHECK(done || MPI_Wtime() - begin < PATIENCE,
            "rank %d waits for rank %d, whose values do not "
            "come its way",
            r, p->rank);
      linger(0);
    }
  }
}

static int64_t telling;

static void try_late(const place *p, grove_op *op, const net *x, const int *source, int late,
                     const int64_t *leaf)
{
  needs y = find_needs(x, source, late);
  polite_barrier(p->comm);
  if (p->rank == late) await(p, source, &y);
  CHECK_OK(grove_start(op));
  if (source[p->rank] != p->rank && !y.late[p->rank]) {
    MPI_Request request;
    finish(op, leaf);
    MPI_Isend(NULL, 0, MPI_BYTE, late, DONE_TAG, p->comm, &request);
    polite_wait(&request);
    telling += is_telling(x, source, p->rank, &y);
  }
  CHECK_OK(grove_wait(op));
  polite_barrier(p->comm);
}

static void try_case(const place *p, rng *r)
{
  int source[NET_RANKS];
  int64_t *root = need((size_t)p->size * sizeof *root), leaf = -1;
  grove_op *op = NULL;
  for (int i = 0; i < p->size; i++) source[i] = (int)rng_below(r, p->size);
  grove_forest *f = make_forest(p, source);
  for (int i = 0; i < p->size; i++) root[i] = 100 * p->rank + i;
  CHECK_OK(grove_bcast_init(f, MPI_INT64_T, root, &leaf, MPI_REPLACE, &op));
  net x = net_of(p, op);
  for (int late = 0; late < p->size; late++) {
    leaf = -1;
    try_late(p, op, &x, source, late, &leaf);
    CHECK(source[p->rank] == p->rank || leaf == 100 * source[p->rank] + p->rank, "leaf is %lld",
          (long long)leaf);
  }
  CHECK_OK(grove_op_free(&op));
  CHECK_OK(grove_forest_free(&f));
  free(root);
}

static int64_t sum_of(const place *p, int64_t mine)
{
  int64_t all = 0;
  MPI_Request request;
  MPI_Iallreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, p->comm, &request);
  polite_wait(&request);
  return all;
}

int main(int argc, char **argv)
{
  static const char *const routes[] = {"3-step", "2-step", "split"};
  test_begin(&argc, &argv, "exec/late_gatherer");
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  place p = place_create(comm);
  rng r = rng_from(test_seed(), 0);
  int64_t all = 0;
  for (int64_t i = 0; i < test_samples(12) || (all == 0 && i < MOST_CASES); i++) {
    int node[NET_RANKS];
    for (int k = 0; k < p.size; k++) node[k] = k < 3 ? 0 : k < 5 ? 1 : k;
    test_case(i);
    place_set_nodes(&p, node);
    place_set(&p, "route", routes[i % 3]);
    try_case(&p, &r);
    all = sum_of(&p, telling);
  }
  CHECK(all > 0, "no case would have told");
  if (p.rank == 0) printf("%lld tell\n", (long long)all);
  telling = 0; /* other variants run in the same process */
  place_free(&p);
  return test_end();
}
