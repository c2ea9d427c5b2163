/* Ping-pong: alpha and beta of a locality, and where one way of sending ends and the next begins.
 */
#include "measure/probe.h"

#include <stdlib.h>

static const char *const series[GROVE_LOCALITIES] = {"ping-pong on-socket", "ping-pong on-node",
                                                     "ping-pong off-node"};

/* 0, then every power of two and, unless it must be quick, the sizes half-way between them. */
static int next_size(int bytes, int halves)
{
  if (bytes < 2) return bytes + 1;
  int power = 1;
  while (2 * power <= bytes) power *= 2;
  if (bytes > power) return 2 * power;
  return halves && bytes >= 16 ? bytes + bytes / 2 : 2 * bytes;
}

static int count_sizes(int halves)
{
  int n = 0;
  for (int bytes = 0; bytes <= GROVE_PROBE_BYTES; bytes = next_size(bytes, halves)) n++;
  return n;
}

/* Two ranges are eager and rendezvous. It takes three to tell what a profile calls short. */
static void write_ranges(grove_probe *p, grove_locality where, const grove_fit *range, int n,
                         const int *batches)
{
  const char *name = grove_locality_names[where];
  for (int i = 0; i < n; i++) {
    const char *protocol = grove_protocol_names[n == 3 ? i : i + 1];
    int samples = 0;
    for (int k = 0; k < range[i].points; k++) samples += *batches++;
    grove_probe_row(p, "alpha", name, protocol, range[i].cost.alpha, "s", samples,
                    range[i].residual);
    grove_probe_row(p, "beta", name, protocol, range[i].cost.beta, "s/B", samples,
                    range[i].residual);
    if (i > 0) grove_probe_row(p, "from", name, protocol, range[i].from, "B", samples, -1);
  }
}

grove_status grove_measure_postal(grove_probe *p, grove_locality where, double seconds)
{
  enum { MOST = 64 };
  grove_sample sample[MOST];
  grove_fit range[GROVE_RANGES];
  int a, b, n = 0, batches[MOST], halves = p->how->effort != GROVE_MEASURE_QUICK;
  double spent = 0, share = seconds / count_sizes(halves);
  if (!grove_probe_pair(p, where, &a, &b)) return GROVE_OK;
  grove_probe_announce(p, series[where], seconds);
  grove_pairing part = grove_probe_only(p, a, b);
  /* On a slow network the largest sizes are left out, rather than exceeding the time. */
  for (int bytes = 0; bytes <= GROVE_PROBE_BYTES && spent < 1.5 * seconds;
       bytes = next_size(bytes, halves)) {
    grove_timing t;
    GROVE_PASS(grove_probe_time(p, &part, grove_probe_ping_pong, bytes, share, &t, &spent));
    batches[n] = t.samples;
    sample[n++] = (grove_sample){bytes, t.seconds / 2};
    grove_probe_keep(p, series[where], bytes, t.seconds / 2);
  }
  write_ranges(p, where, range, grove_fit_ranges(sample, n, GROVE_RANGES, range), batches);
  return GROVE_OK;
}
