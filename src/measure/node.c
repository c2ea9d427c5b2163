/* What nodes can do together: how fast one injects, and what a contended link costs.
 *
 * Injection: 1, 2, 4, ... pairs of ranks of two nodes at once (node-pong). When more pairs carry no
 * more bytes, the interface is full: 1 / R_N is the least time per byte of the node.
 *
 * Contention: four nodes in a line, 0 with 2 and 1 with 3, all ranks at once, so that both pairs
 * cross the link in the middle (irregular-models, Fig. 6), compared with 0 with 2 alone.
 */
#include "measure/probe.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_RANKS = 1024 };

/* The ranks of `a` lead, each with the rank of the same number on `b`; returns the pairs. */
static int pair_nodes(const grove_probe *p, int a, int b, int most, grove_pairing *part)
{
  static const grove_pairing asleep = {.partner = -1};
  int left[MOST_RANKS], right[MOST_RANKS], n = grove_probe_ranks(p, a, left, MOST_RANKS);
  int m = grove_probe_ranks(p, b, right, MOST_RANKS);
  if (m < n) n = m;
  if (most < n) n = most;
  grove_pairing found = asleep;
  for (int i = 0; i < n; i++) {
    if (left[i] == p->ctx->rank) found = (grove_pairing){.partner = right[i], .leads = 1};
    if (right[i] == p->ctx->rank) found = (grove_pairing){.partner = left[i], .leads = 0};
  }
  if (found.partner >= 0 || part->partner < 0) *part = found;
  return n;
}

grove_status grove_measure_injection(grove_probe *p, double seconds)
{
  enum { BYTES = 1 << 19 };
  grove_pairing none = {.partner = -1};
  double first = 0, last = 0, best = INFINITY, spent = 0;
  int samples = 0;
  if (p->ctx->topo.nnodes < 2) return GROVE_OK;
  grove_pairing all = none;
  int most = pair_nodes(p, 0, 1, MOST_RANKS, &all);
  if (most < 2) return GROVE_OK; /* one rank per node: its own rate is all there is to see */
  grove_probe_announce(p, "injection", seconds);
  int steps = 1;
  for (int k = 1; k < most; k *= 2) steps++;
  for (int k = 1, i = 0; i < steps && spent < 2 * seconds; i++) {
    grove_timing t;
    grove_pairing part = none;
    pair_nodes(p, 0, 1, k, &part);
    GROVE_PASS(
      grove_probe_time(p, &part, grove_probe_ping_pong, BYTES, seconds / steps, &t, &spent));
    last = t.seconds / 2;
    if (i == 0) first = last;
    best = fmin(best, last / ((double)k * BYTES));
    samples += t.samples;
    grove_probe_keep(p, "node-pong", k, last);
    k = 2 * k < most ? 2 * k : most;
  }
  /* Pairs that do not slow each other down show no limit. */
  if (last > 1.2 * first)
    grove_probe_row(p, "injection", "off-node", "any", best, "s/B", samples, -1);
  return GROVE_OK;
}

/* Are there cores for all who take part? If not, ranks that wait for a core look like messages that
 * wait for a link. */
static int has_cores(const grove_probe *p, int ranks_a_node)
{
  return p->machine->cores >= ranks_a_node;
}

grove_status grove_measure_contention(grove_probe *p, double seconds)
{
  enum { BYTES = 1 << 18 };
  grove_timing alone, both;
  if (p->ctx->topo.nnodes < 4) return GROVE_OK;
  grove_pairing one = {.partner = -1}, two = {.partner = -1};
  int n = pair_nodes(p, 0, 2, MOST_RANKS, &one);
  two = one;
  int m = pair_nodes(p, 1, 3, MOST_RANKS, &two);
  if (n == 0 || m == 0 || !has_cores(p, n > m ? n : m)) return GROVE_OK;
  grove_probe_announce(p, "contention", seconds);
  GROVE_PASS(grove_probe_time(p, &one, grove_probe_ping_pong, BYTES, seconds / 2, &alone, NULL));
  GROVE_PASS(grove_probe_time(p, &two, grove_probe_ping_pong, BYTES, seconds / 2, &both, NULL));
  double excess = (both.seconds - alone.seconds) / 2, link = (double)(n + m) * BYTES;
  grove_probe_row(p, "delta", "off-node", "-", fmax(excess / link, 0), "s/B",
                  alone.samples + both.samples, -1);
  return GROVE_OK;
}
