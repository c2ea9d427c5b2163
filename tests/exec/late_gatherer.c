/* A letter that passes through a rank leaves when its own inputs are there: whatever does not come
 * from, or through, a rank that starts late is complete before that rank starts. On routes through
 * relays, every rank late in turn; each destination has one source, so that the path of its values
 * is known from who sends to whom. */
#include "check.h"
#include "exec/transfer.h"
#include "places.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 16, STAGES = GROVE_STAGES_MOST, DONE_TAG = 77, PATIENCE = 60 };

/* ---- who sends to whom ---- */

typedef struct net {
  int n;
  unsigned char sends[STAGES][MOST_RANKS][MOST_RANKS]; /* from, to */
} net;

static net find_net(const place *p, grove_op *op)
{
  const grove_wiring *wiring = ((grove_transfer *)op)->wiring;
  unsigned char mine[STAGES][MOST_RANKS] = {{0}}, all[MOST_RANKS][STAGES][MOST_RANKS];
  net found = {.n = p->size};
  MPI_Request request;
  for (int s = 0; s < wiring->nstages; s++)
    for (int i = wiring->stages[s].nreceives; i < wiring->stages[s].nletters; i++)
      mine[s][wiring->stages[s].letters[i].peer] = 1;
  MPI_Iallgather(mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, p->comm, &request);
  polite_wait(&request);
  for (int s = 0; s < STAGES; s++)
    for (int r = 0; r < p->size; r++) memcpy(found.sends[s][r], all[r][s], MOST_RANKS);
  return found;
}

/* By which stage a value of `source` can be where; STAGES: never. */
static void reach(const net *x, int source, int *when)
{
  for (int r = 0; r < x->n; r++) when[r] = r == source ? -1 : STAGES;
  for (int s = 0; s < STAGES; s++)
    for (int a = 0; a < x->n; a++)
      for (int b = 0; b < x->n; b++)
        if (x->sends[s][a][b] && when[a] < s && when[b] > s) when[b] = s;
}

/* Whether `late` may lie on the way from source to target. */
static int is_on_way(const net *x, int source, int target, int late)
{
  int from_source[MOST_RANKS], onwards[MOST_RANKS];
  if (late == source || late == target) return 1;
  reach(x, source, from_source);
  if (from_source[late] == STAGES) return 0;
  reach(x, late, onwards);
  return onwards[target] < STAGES;
}

/* Whether a rank on the way also gets something, no later, from the late one: before letters left by
 * themselves it would have waited for that. */
static int is_telling(const net *x, int source, int target, int late)
{
  for (int relay = 0; relay < x->n; relay++)
    for (int s = 0; s + 1 < STAGES; s++)
      if (relay != source && relay != target && is_on_way(x, source, target, relay) &&
          x->sends[s][late][relay])
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

static void finish(grove_op *op)
{
  int done = 0;
  double begin = MPI_Wtime();
  while (!done) {
    CHECK_OK(grove_test(op, &done));
    CHECK(done || MPI_Wtime() - begin < PATIENCE, "not complete after %d s", PATIENCE);
    linger(0);
  }
}

/* The late one does not call Grove before all have told it that do not need it. */
static void await(const place *p, const net *x, const int *source)
{
  for (int r = 0; r < p->size; r++) {
    MPI_Request request;
    int done = 0;
    double begin = MPI_Wtime();
    if (source[r] == r || is_on_way(x, source[r], r, p->rank)) continue;
    MPI_Irecv(NULL, 0, MPI_BYTE, r, DONE_TAG, p->comm, &request);
    while (!done) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      CHECK(done || MPI_Wtime() - begin < PATIENCE, "rank %d waits for rank %d, whose values do not "
            "come its way", r, p->rank);
      linger(0);
    }
  }
}

static int64_t telling;

static void try_late(const place *p, grove_op *op, const net *x, const int *source, int late)
{
  int target = source[p->rank] != p->rank, free_of = !is_on_way(x, source[p->rank], p->rank, late);
  polite_barrier(p->comm);
  if (p->rank == late) await(p, x, source);
  CHECK_OK(grove_start(op));
  finish(op);
  if (target && free_of) {
    MPI_Request request;
    MPI_Isend(NULL, 0, MPI_BYTE, late, DONE_TAG, p->comm, &request);
    polite_wait(&request);
    telling += is_telling(x, source[p->rank], p->rank, late);
  }
  polite_barrier(p->comm); /* those whose way it was go on calling Grove: */
}

/* What passes through a rank needs its calls; so all stay until all are through. */
static void try_case(const place *p, rng *r)
{
  int source[MOST_RANKS];
  int64_t *root = need((size_t)p->size * sizeof *root), leaf = -1;
  grove_op *op = NULL;
  for (int i = 0; i < p->size; i++) source[i] = (int)rng_below(r, p->size);
  grove_forest *f = make_forest(p, source);
  for (int i = 0; i < p->size; i++) root[i] = 100 * p->rank + i;
  CHECK_OK(grove_bcast_init(f, MPI_INT64_T, root, &leaf, MPI_REPLACE, &op));
  net x = find_net(p, op);
  for (int late = 0; late < p->size; late++) {
    leaf = -1;
    try_late(p, op, &x, source, late);
    CHECK(source[p->rank] == p->rank || leaf == 100 * source[p->rank] + p->rank, "leaf is %lld",
          (long long)leaf);
  }
  CHECK_OK(grove_op_free(&op));
  CHECK_OK(grove_forest_free(&f));
  free(root);
}

int main(int argc, char **argv)
{
  static const char *const routes[] = {"3-step", "2-step", "split"};
  test_begin(&argc, &argv, "exec/late_gatherer");
  place p = place_create(MPI_COMM_WORLD);
  rng r = rng_from(test_seed(), 0);
  for (int64_t i = 0; i < test_samples(12); i++) {
    int node[MOST_RANKS];
    int64_t all = 0;
    MPI_Request request;
    for (int k = 0; k < p.size; k++) node[k] = k < 3 ? 0 : k < 5 ? 1 : k;
    test_case(i);
    place_set_nodes(&p, node);
    place_set(&p, "route", routes[i % 3]);
    try_case(&p, &r);
    MPI_Iallreduce(&telling, &all, 1, MPI_INT64_T, MPI_SUM, p.comm, &request);
    polite_wait(&request);
    if (i == test_samples(12) - 1) CHECK(all > 0, "no case would have told");
    if (i == test_samples(12) - 1 && p.rank == 0) printf("%lld tell\n", (long long)all);
  }
  place_free(&p);
  return test_end();
}
