/* Shared memory inside a node, as the library's own operations use it: the cost of a small message,
 * and of a byte of a large one, while 2, 4, ... ranks of the node use it.
 */
#include "measure/trial.h"

/* Data from the ranks that lead to their partners, and back. Ranks without a partner take part with
 * no data. */
static grove_status open_ways(grove_probe *p, const grove_pairing *part, int64_t n,
                              grove_trial way[2])
{
  for (int i = 0; i < 2; i++) {
    int works = part->partner >= 0, sends = works && part->leads == (i == 0);
    GROVE_PASS(grove_trial_open(p, sends ? n : 0, works && !sends ? n : 0, &way[i]));
    for (int64_t k = 0; k < way[i].nleaves; k++) way[i].root[k] = (grove_root){part->partner, k};
    GROVE_PASS(grove_trial_connect(p, &way[i]));
  }
  return GROVE_OK;
}

static grove_status time_rallies(grove_probe *p, const grove_pairing *part, int64_t bytes,
                                 double budget, grove_timing *out)
{
  enum { BATCHES = 25, WARM_UP = 4 };
  grove_status status = GROVE_OK;
  grove_trial way[2] = {{0}, {0}};
  double batch[BATCHES], seconds = 0;
  GROVE_TRY(open_ways(p, part, bytes / (int64_t)sizeof(double), way));
  GROVE_TRY(grove_trials_run(way, 2, WARM_UP, &seconds));
  GROVE_TRY(grove_probe_meet(p, &seconds, 1));
  int n = (int)(budget / BATCHES / (seconds / WARM_UP + 1e-8)) + 1;
  if (n > 2000) n = 2000;
  for (int i = 0; i < BATCHES; i++) {
    GROVE_TRY(grove_trials_run(way, 2, n, &batch[i]));
    batch[i] /= n;
  }
  seconds = part->partner >= 0 ? grove_median(batch, BATCHES) : 0;
  GROVE_TRY(grove_probe_meet(p, &seconds, 1));
  *out = (grove_timing){seconds, BATCHES};
fail:
  for (int i = 0; i < 2; i++) grove_trial_close(&way[i]);
  return status;
}

static grove_status measure_flag(grove_probe *p, grove_locality where, double seconds)
{
  grove_timing t;
  int a, b;
  if (!grove_probe_pair(p, where, &a, &b)) return GROVE_OK;
  grove_pairing part = grove_probe_only(p, a, b);
  GROVE_PASS(time_rallies(p, &part, 8, seconds, &t));
  grove_probe_row(p, "flag", grove_locality_names[where], "-", t.seconds / 2, "s", t.samples, -1);
  return GROVE_OK;
}

/* `k` pairs of a node: neighbours in its list. */
static grove_pairing pairs_of_node(const int *ranks, int k, int rank)
{
  for (int i = 0; i < 2 * k; i++)
    if (ranks[i] == rank) return (grove_pairing){.partner = ranks[i ^ 1], .leads = i % 2 == 0};
  return (grove_pairing){.partner = -1};
}

/* Does every rank of the context have shared memory in its node? The measurement is collective. */
static grove_status shares_memory(grove_probe *p, int *yes)
{
  double lacks =
    p->ctx->shares_node && p->ctx->options.transport_on_node == GROVE_ON_NODE_SHM ? 0 : 1;
  grove_status status = grove_probe_meet(p, &lacks, 1);
  *yes = lacks < 1;
  return status;
}

grove_status grove_measure_shared(grove_probe *p, double seconds)
{
  enum { BYTES = 1 << 19, MOST_RANKS = 1024 };
  int ranks[MOST_RANKS], yes = 0, steps = 1;
  GROVE_PASS(shares_memory(p, &yes));
  int most = grove_probe_ranks(p, grove_probe_fullest(p), ranks, MOST_RANKS) / 2;
  if (!yes || most == 0) return GROVE_OK;
  grove_probe_announce(p, "shared memory", seconds);
  GROVE_PASS(measure_flag(p, GROVE_ON_SOCKET, 0.2 * seconds));
  GROVE_PASS(measure_flag(p, GROVE_ON_NODE, 0.2 * seconds));
  for (int k = 1; k < most; k *= 2) steps++;
  for (int k = 1, i = 0; i < steps; i++) {
    grove_timing t;
    grove_pairing part = pairs_of_node(ranks, k, p->ctx->rank);
    GROVE_PASS(time_rallies(p, &part, BYTES, 0.6 * seconds / steps, &t));
    char range[16];
    snprintf(range, sizeof range, "%d", 2 * k);
    grove_probe_row(p, "shared", "on-node", range, t.seconds / 2 / BYTES, "s/B", t.samples, -1);
    grove_probe_keep(p, "shared memory", 2 * k, t.seconds / 2 / BYTES);
    k = 2 * k < most ? 2 * k : most;
  }
  return GROVE_OK;
}
