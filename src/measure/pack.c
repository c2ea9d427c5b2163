/* Packing: what a byte costs when values of eight bytes are gathered from all over an array, as the
 * library's own kernels do it. One rank, with edges to itself and nobody to talk to.
 */
#include "measure/probe.h"

#include <stdlib.h>

/* `n` leaves in a row (a power of two), joined to `n` roots in no order: every root once, as a
 * linear congruential generator of that period visits them. */
static grove_status open_self(grove_probe *p, int64_t n, double *array, grove_forest **f,
                              grove_op **op)
{
  grove_status status = GROVE_OK, mine = GROVE_OK;
  int64_t leaves = p->ctx->rank == 0 ? n : 0;
  grove_root *root = malloc((size_t)(leaves + 1) * sizeof *root);
  if (!root || !array)
    mine =
      grove_error(GROVE_ERR_MEMORY, __FILE__, __LINE__, "no memory for %lld values", (long long)n);
  GROVE_TRY(grove_context_agree(p->ctx, mine, NULL, 0));
  for (int64_t i = 0, at = 0; i < leaves; i++, at = (1664525 * at + 1013904223) % n)
    root[i] = (grove_root){0, at};
  GROVE_TRY(grove_forest_create(p->ctx, f));
  GROVE_TRY(grove_forest_set_graph(*f, leaves, leaves, NULL, root));
  GROVE_TRY(grove_forest_set_up(*f));
  GROVE_TRY(grove_bcast_init(*f, MPI_DOUBLE, array, array + n, MPI_REPLACE, op));
fail:
  free(root);
  return status;
}

static grove_status time_pack(grove_probe *p, int64_t n, double budget, double *out)
{
  enum { BATCHES = 11 };
  grove_status status = GROVE_OK;
  double batch[BATCHES], *array = calloc((size_t)(2 * n), sizeof *array);
  grove_forest *f = NULL;
  grove_op *op = NULL;
  GROVE_TRY(open_self(p, n, array, &f, &op));
  for (int i = 0; i < BATCHES; i++) {
    double begin = grove_clock(), end = begin + (p->ctx->rank == 0 ? budget / BATCHES : 0);
    int repeats = 0;
    do {
      GROVE_TRY(grove_start(op));
      GROVE_TRY(grove_wait(op));
      repeats++;
    } while (grove_clock() < end);
    batch[i] = (grove_clock() - begin) / repeats;
  }
  *out = p->ctx->rank == 0 ? grove_median(batch, BATCHES) : 0;
  GROVE_TRY(grove_probe_meet(p, out, 1));
fail:
  grove_op_free(&op);
  grove_forest_free(&f);
  free(array);
  return status;
}

grove_status grove_measure_pack(grove_probe *p, double seconds)
{
  static const int64_t values[] = {1024, 8192, 131072};
  static const char *const range[] = {"0..32767", "32768..524287", "524288.."};
  grove_status status = GROVE_OK;
  grove_probe_announce(p, "packing", seconds);
  for (int i = 0; i < 3; i++) {
    double once = 0;
    GROVE_TRY(time_pack(p, values[i], seconds / 3, &once));
    double byte = once / (double)(values[i] * (int64_t)sizeof(double));
    grove_probe_row(p, "pack", "any", range[i], byte, "s/B", 11, -1);
    grove_probe_keep(p, "packing", (double)values[i], byte);
  }
fail:
  return status;
}
