/* Packing: the cost per byte when the library's own kernels gather values of eight bytes from all
 * over an array. One rank, with edges to itself and nobody to talk to.
 */
#include "measure/trial.h"

/* `n` consecutive leaves (a power of two), joined to `n` roots in random order: every root once, as
 * a linear congruential generator of that period visits them. */
static grove_status open_self(grove_probe *p, int64_t n, grove_trial *self)
{
  int64_t leaves = p->ctx->rank == 0 ? n : 0;
  GROVE_PASS(grove_trial_open(p, leaves, leaves, self));
  for (int64_t i = 0, at = 0; i < leaves; i++, at = (1664525 * at + 1013904223) % n)
    self->root[i] = (grove_root){0, at};
  return grove_trial_connect(p, self);
}

static grove_status time_pack(grove_probe *p, int64_t n, double budget, double *out)
{
  enum { BATCHES = 11 };
  grove_status status = GROVE_OK;
  double batch[BATCHES], once = 0;
  grove_trial self = {0};
  GROVE_TRY(open_self(p, n, &self));
  GROVE_TRY(grove_trials_run(&self, 1, 1, &once)); /* warms pages and caches; others do nothing */
  GROVE_TRY(grove_trials_run(&self, 1, 1, &once));
  int repeats = p->ctx->rank == 0 ? (int)(budget / BATCHES / (once + 1e-8)) + 1 : 1;
  for (int i = 0; i < BATCHES; i++) {
    GROVE_TRY(grove_trials_run(&self, 1, repeats, &batch[i]));
    batch[i] /= repeats;
  }
  *out = p->ctx->rank == 0 ? grove_median(batch, BATCHES) : 0;
  GROVE_TRY(grove_probe_meet(p, out, 1));
fail:
  grove_trial_close(&self);
  return status;
}

grove_status grove_measure_pack(grove_probe *p, double seconds)
{
  static const int64_t values[] = {1024, 8192, 131072};
  static const char *const range[] = {"0..32767", "32768..524287", "524288.."};
  grove_probe_announce(p, "packing", seconds);
  for (int i = 0; i < 3; i++) {
    double once = 0;
    GROVE_PASS(time_pack(p, values[i], seconds / 3, &once));
    double byte = once / (double)(values[i] * (int64_t)sizeof(double));
    grove_probe_row(p, "pack", "any", range[i], byte, "s/B", 11, -1);
    grove_probe_keep(p, "packing", (double)values[i], byte);
  }
  return GROVE_OK;
}
