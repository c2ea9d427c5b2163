/* MPI or libfabric between nodes, by price (transport_off_node=auto).
 *
 * In each stage a rank has a train of messages to send, and one to receive (model/loggp.h). It
 * takes the longer of the two. A rank's stages follow each other, and the slowest rank counts. The
 * same is computed with the numbers of either, from the rows of one profile. Ranks compare these
 * sums only: they are no predictions, since nobody waits for anybody in them.
 *
 * Where the profile has no rows of libfabric nothing is asked, and MPI carries the letters.
 */
#include "exec/wiring.h"

#include "model/loggp.h"
#include "transport/ofi_letters.h"

#include <math.h>

/* So much less must libfabric take. Its numbers are of bare writes, and letters are messages with
 * tags: beside their prices they took up to 3 times as long as those over MPI did beside theirs
 * (between two hosts of the test cluster, on eleven matrices; x86_64, 2 cores, libfabric 1.17,
 * Open MPI 4.1.4; 2026-11). */
static const double GAIN = 3;

enum { OVER_MPI, OVER_FABRIC, NETWORKS };

static double time_letters(const grove_wiring *wiring, const grove_wired_stage *w,
                           const grove_haul *haul, int network, int sends)
{
  grove_loggp_train train = {0};
  const grove_context *ctx = wiring->ctx;
  int begin = sends ? haul->nreceives : 0, end = sends ? grove_haul_size(haul) : haul->nreceives;
  for (int k = begin; k < end; k++) {
    const grove_letter *letter = &w->letters[haul->letters[k]];
    grove_locality where = network == OVER_FABRIC
                             ? GROVE_OVER_FABRIC
                             : grove_price_locality(&ctx->topo, ctx->rank, letter->peer);
    const grove_loggp row = grove_loggp_row(ctx->machine, where, letter->bytes);
    grove_loggp_join(&train, &row, (double)letter->bytes);
  }
  return grove_loggp_train_seconds(&train);
}

/* Of this rank. */
static double time_network(const grove_wiring *wiring, int network)
{
  double seconds = 0;
  for (int s = 0; s < wiring->nstages; s++) {
    const grove_wired_stage *w = &wiring->stages[s];
    const grove_haul *haul = &w->hauls[wiring->ncarriers - 1];
    double sent = time_letters(wiring, w, haul, network, 1);
    double received = time_letters(wiring, w, haul, network, 0);
    seconds += isnan(sent) || sent > received ? sent : received;
  }
  return seconds;
}

grove_status grove_wiring_choose_network(grove_wiring *wiring)
{
  grove_context *ctx = wiring->ctx;
  grove_sentence before;
  int64_t price[NETWORKS], lacks = 0;
  if (ctx->options.transport_off_node != GROVE_OFF_NODE_AUTO || ctx->topo.nnodes == 1 ||
      !grove_machine_has_fabric(ctx->machine))
    return GROVE_OK;
  for (int i = 0; i < NETWORKS; i++) price[i] = grove_price_picoseconds(time_network(wiring, i));
  GROVE_PASS(grove_context_agree(ctx, GROVE_OK, price, NETWORKS));
  if (!(GAIN * grove_price_seconds(price[OVER_FABRIC]) < grove_price_seconds(price[OVER_MPI])))
    return GROVE_OK;
  grove_error_keep(&before);
  if (grove_letters_find(ctx) != GROVE_OK) {
    grove_error_restore(&before);
    lacks = 1;
  }
  GROVE_PASS(grove_context_agree(ctx, GROVE_OK, &lacks, 1));
  if (!lacks) wiring->carriers[wiring->ncarriers - 1] = &grove_carrier_ofi;
  return GROVE_OK;
}
