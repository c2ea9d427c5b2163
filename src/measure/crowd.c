/* Ranks that outnumber cores. A waiting rank then has to give its core to the rank it waits for,
 * and ranks that wait for the network take a core now and then to look. Processor time over cores
 * no longer tells how long an exchange takes, so it is measured: all ranks at once, in a ring
 * inside every node and in one from node to node, with the library's own operations. An exchange
 * takes
 *
 *     turn + message k + byte k s        for k messages of s bytes that every rank sends and gets
 *
 * found from one neighbour against two, and from small messages against large ones.
 */
#include "measure/trial.h"

#include <math.h>

enum { MOST_RANKS = 1024 };

/* This rank's number among the ranks of its node. */
static int number_in_node(const grove_probe *p, const int *ranks, int n)
{
  for (int i = 0; i < n; i++)
    if (ranks[i] == p->ctx->rank) return i;
  return 0;
}

/* The ranks before and after this one in its ring; 0 if it has none, and sits out. */
static int find_neighbours(const grove_probe *p, int off_node, int *before, int *after)
{
  int ranks[MOST_RANKS], nodes = p->ctx->topo.nnodes;
  int node = p->ctx->topo.place[p->ctx->rank].node;
  int n = grove_probe_ranks(p, node, ranks, MOST_RANKS), me = number_in_node(p, ranks, n);
  *before = ranks[(me + n - 1) % n];
  *after = ranks[(me + 1) % n];
  if (!off_node) return n > 1;
  if (nodes < 2) return 0;
  /* The ranks with the same number on the next nodes; those beyond a smaller node sit out. */
  n = grove_probe_ranks(p, (node + nodes - 1) % nodes, ranks, MOST_RANKS);
  *before = me < n ? ranks[me] : -1;
  n = grove_probe_ranks(p, (node + 1) % nodes, ranks, MOST_RANKS);
  /* If the next node is also the one before, another rank of it, so that no rank is met twice. */
  int next = nodes == 2 && n > 1 ? (me + 1) % n : me;
  *after = next < n ? ranks[next] : -1;
  return *before >= 0 && *after >= 0;
}

/* Every rank gets `n` values from the one before it and, with two neighbours, the one after. */
static grove_status open_ring(grove_probe *p, int off_node, int neighbours, int64_t n,
                              grove_trial *ring)
{
  int from[2] = {-1, -1};
  int64_t leaves = find_neighbours(p, off_node, &from[0], &from[1]) ? neighbours * n : 0;
  GROVE_PASS(grove_trial_open(p, n, leaves, ring));
  for (int64_t i = 0; i < leaves; i++) ring->root[i] = (grove_root){from[i / n], i % n};
  return grove_trial_connect(p, ring);
}

enum { BATCHES = 15 };

/* The time of one exchange, on the slowest rank. */
static grove_status time_ring(grove_probe *p, int off_node, int neighbours, int64_t bytes,
                              double budget, double *out)
{
  enum { WARM_UP = 20 };
  grove_status status = GROVE_OK;
  grove_trial ring = {0};
  double batch[BATCHES], seconds = 0;
  GROVE_TRY(open_ring(p, off_node, neighbours, bytes / (int64_t)sizeof(double), &ring));
  GROVE_TRY(grove_trials_run(&ring, 1, WARM_UP, &seconds));
  GROVE_TRY(grove_probe_meet(p, &seconds, 1));
  int n = (int)fmin(budget / BATCHES / (seconds / WARM_UP), 2000) + 1;
  for (int i = 0; i < BATCHES; i++) {
    GROVE_TRY(grove_trials_run(&ring, 1, n, &batch[i]));
    batch[i] /= n;
  }
  *out = grove_median(batch, BATCHES);
  GROVE_TRY(grove_probe_meet(p, out, 1));
fail:
  grove_trial_close(&ring);
  return status;
}

/* With two neighbours. Where that takes no longer than `least`, other programs were at work, and it
 * is measured again. */
static grove_status time_both(grove_probe *p, int off_node, int64_t bytes, double budget,
                              double least, double *out)
{
  enum { TRIES = 3 };
  *out = 0;
  for (int i = 0; i < TRIES && *out <= least; i++)
    GROVE_PASS(time_ring(p, off_node, 2, bytes, budget, out));
  return GROVE_OK;
}

static grove_status measure_locality(grove_probe *p, int off_node, double seconds)
{
  static const int64_t sizes[] = {8, 4096, 16384, 65536, 262144};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  grove_sample more[SIZES];
  int good = 0;
  double one = 0, two[SIZES], share = seconds / (SIZES + 1);
  const char *name = grove_locality_names[off_node ? GROVE_OFF_NODE : GROVE_ON_NODE];
  GROVE_PASS(time_ring(p, off_node, 1, sizes[0], share, &one));
  for (int i = 0; i < SIZES; i++) {
    GROVE_PASS(time_both(p, off_node, sizes[i], share, i > 0 ? two[0] : 0, &two[i]));
    if (i > 0 && two[i] <= two[0]) continue;
    if (i > 0) more[good++] = (grove_sample){2.0 * (double)sizes[i], two[i] - two[0]};
    grove_probe_keep(p, off_node ? "crowd off-node" : "crowd on-node", (double)sizes[i], two[i]);
  }
  int samples = BATCHES * (SIZES + 1);
  double message = fmin(fmax(two[0] - one, 0), two[0] / 2);
  grove_fit byte = grove_fit_proportional(more, good);
  p->dropped += SIZES - 1 - good;
  grove_probe_row(p, "crowd-turn", name, "-", two[0] - 2 * message, "s", samples, -1);
  grove_probe_row(p, "crowd-message", name, "-", message, "s", samples, -1);
  grove_probe_row(p, "crowd-byte", name, "-", byte.cost.beta, "s/B", samples, byte.residual);
  return GROVE_OK;
}

/* Has any rank of the job such a neighbour? Ranks without one sit out. */
static grove_status any_has(grove_probe *p, int off_node, int *yes)
{
  int before, after;
  double has = find_neighbours(p, off_node, &before, &after);
  grove_status status = grove_probe_meet(p, &has, 1);
  *yes = has > 0;
  return status;
}

grove_status grove_measure_crowd(grove_probe *p, double seconds)
{
  double ranks = p->ctx->topo.domain_size;
  GROVE_PASS(grove_probe_meet(p, &ranks, 1));
  if (ranks <= p->machine->cores) return GROVE_OK;
  grove_probe_announce(p, "a crowd", seconds);
  for (int off_node = 0; off_node < 2; off_node++) {
    int yes = 0;
    GROVE_PASS(any_has(p, off_node, &yes));
    if (yes) GROVE_PASS(measure_locality(p, off_node, seconds / 2));
  }
  return GROVE_OK;
}
