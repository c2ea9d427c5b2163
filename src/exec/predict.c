/* What the model says that an operation will take, from what this rank alone knows: its own
 * messages. The other ranks of its node are taken to be as busy (eq. 2.2 of node-aware-strategies
 * does the same); the slowest rank's price is agreed upon with all else when a wiring is made.
 */
#include "exec/wiring.h"

#include <math.h>

/* Ranks of this node. */
static int count_neighbours(const grove_context *ctx)
{
  return ctx->nnode_seats > 0 ? ctx->nnode_seats : 1;
}

static int is_packed(const grove_shape *shape)
{
  return shape->form != GROVE_SHAPE_CONSECUTIVE;
}

static void add_stage(const grove_wiring *wiring, int s, const grove_pricing *how, int active,
                      grove_load *load)
{
  const grove_topo *topo = &wiring->ctx->topo;
  const grove_machine *machine = wiring->ctx->machine;
  const grove_wired_stage *wired = &wiring->stages[s];
  for (int i = 0; i < wired->nletters; i++) {
    const grove_letter *letter = &wired->letters[i];
    int receives = i < wired->nreceives;
    grove_load_add(load, machine, how, grove_price_locality(topo, wiring->rank, letter->peer),
                   letter->data, active, receives);
    for (int k = 0; k < letter->nsections; k++)
      if (letter->nsections > 1 || is_packed(&letter->sections[k].shape))
        grove_load_pack(load, machine, letter->sections[k].bytes, receives);
  }
  for (int k = 0; k < wiring->nlanes; k++) /* a fetch by the own leaves is a pass over a list */
    if (wiring->lanes[k].own.units > 0 && wiring->lanes[k].turn == s)
      grove_load_keep(load, machine, wiring->lanes[k].own.units * wiring->lanes[k].key.unit_bytes);
  for (int k = 0; k < wired->nkeeps; k++) {
    const grove_section *from = &wired->keeps[2 * k], *to = from + 1;
    if (is_packed(&from->shape) || is_packed(&to->shape))
      grove_load_keep(load, machine, from->bytes);
  }
}

grove_price grove_wiring_predict(const grove_wiring *wiring)
{
  const grove_context *ctx = wiring->ctx;
  const grove_machine *machine = ctx->machine;
  grove_price total = {.seconds = machine || wiring->nlanes == 0 ? 0 : NAN};
  grove_pricing how = {.unit_bytes = wiring->widest_unit,
                       .shared_memory = wiring->uses_shm,
                       .order = GROVE_QUEUE_TYPICAL};
  int ranks = count_neighbours(ctx);
  for (int s = 0; machine && s < wiring->nstages; s++) {
    grove_load load = {0};
    add_stage(wiring, s, &how, ranks, &load);
    int sharing = ctx->topo.domain_size;
    grove_neighbourhood around = {
      .interface_sent = ranks * load.sent.interface,
      .interface_received = ranks * load.received.interface,
      .cores = machine->cores,
      .ranks = sharing,
      .processor = sharing * load.processor,
      .packing = sharing * load.packing,
      .messages = {sharing * load.messages[0], sharing * load.messages[1]},
      .bytes = {sharing * load.bytes[0], sharing * load.bytes[1]},
    };
    grove_price p = grove_load_price(&load, machine, &how, &around);
    for (int t = 0; t < GROVE_TERMS; t++) total.term[t] += p.term[t];
    total.seconds += p.seconds;
  }
  return total;
}
