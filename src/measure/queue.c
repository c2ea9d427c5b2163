/* The queue of receives: many messages at once, with the receives posted in the order in which the
 * messages come, and in the opposite order (irregular-models, Algorithm 1). What the second takes
 * beyond the first grows with the square of the number of messages: gamma n^2 (eq. 3).
 */
#include "measure/probe.h"

static grove_status send_all(grove_probe *p, int to, int n)
{
  for (int i = 0; i < n; i++)
    GROVE_PASS_MPI(MPI_Isend(p->send, 8, MPI_BYTE, to, p->tag + i, p->ctx->comm, &p->requests[i]));
  return grove_probe_finish(p, n, p->requests);
}

static grove_status receive_all(grove_probe *p, int from, int n, int reversed)
{
  for (int i = 0; i < n; i++)
    GROVE_PASS_MPI(MPI_Irecv(p->receive + 8 * i, 8, MPI_BYTE, from,
                             p->tag + (reversed ? n - 1 - i : i), p->ctx->comm, &p->requests[i]));
  return grove_probe_finish(p, n, p->requests);
}

static grove_status queue_volume(grove_probe *p, const grove_pairing *part, int messages, int n,
                                 int reversed, double *seconds)
{
  double begin = grove_clock();
  for (int k = 0; k < n; k++) {
    if (part->leads) GROVE_PASS(send_all(p, part->partner, messages));
    GROVE_PASS(receive_all(p, part->partner, messages, reversed));
    if (!part->leads) GROVE_PASS(send_all(p, part->partner, messages));
  }
  *seconds = grove_clock() - begin;
  return GROVE_OK;
}

/* grove_probe_time passes on a size: here it is the number of messages. */
static grove_status in_order(grove_probe *p, const grove_pairing *part, int64_t messages, int n,
                             double *seconds)
{
  return queue_volume(p, part, (int)messages, n, 0, seconds);
}

static grove_status reversed_order(grove_probe *p, const grove_pairing *part, int64_t messages,
                                   int n, double *seconds)
{
  return queue_volume(p, part, (int)messages, n, 1, seconds);
}

static int any_pair(const grove_probe *p, int *a, int *b)
{
  for (int where = 0; where < GROVE_LOCALITIES; where++)
    if (grove_probe_pair(p, (grove_locality)where, a, b)) return 1;
  return 0;
}

grove_status grove_measure_queue(grove_probe *p, double seconds)
{
  static const int counts[] = {1, 10, 100, 300, 1000, 2000, 3000, 5000, GROVE_PROBE_TAGS};
  enum { COUNTS = sizeof counts / sizeof *counts };
  grove_sample sample[COUNTS];
  double right_seconds[COUNTS], wrong_seconds[COUNTS];
  int a, b, n = 0, samples = 0, measured = 0;
  double spent = 0;
  if (!any_pair(p, &a, &b)) return GROVE_OK;
  grove_probe_announce(p, "queue of receives", seconds);
  grove_pairing part = grove_probe_only(p, a, b);
  for (int i = 0; i < COUNTS && spent < seconds; i++, measured++) {
    grove_timing right, wrong;
    double share = seconds / (2 * COUNTS), m = counts[i];
    GROVE_PASS(grove_probe_time(p, &part, in_order, counts[i], share, &right, &spent));
    GROVE_PASS(grove_probe_time(p, &part, reversed_order, counts[i], share, &wrong, &spent));
    right_seconds[i] = right.seconds / 2;
    wrong_seconds[i] = wrong.seconds / 2;
    samples += right.samples + wrong.samples;
    double excess = (wrong.seconds - right.seconds) / 2;
    if (counts[i] >= 100 && excess > 0) sample[n++] = (grove_sample){m * m, excess};
  }
  for (int i = 0; i < measured; i++)
    grove_probe_keep(p, "messages in order", counts[i], right_seconds[i]);
  for (int i = 0; i < measured; i++)
    grove_probe_keep(p, "messages reversed", counts[i], wrong_seconds[i]);
  /* The larger counts say more; for small ones the excess is noise. */
  grove_fit fit = grove_fit_proportional(n > 4 ? sample + n - 4 : sample, n > 4 ? 4 : n);
  grove_probe_row(p, "gamma", "any", "-", fit.cost.beta, "s", samples, fit.residual);
  return GROVE_OK;
}
