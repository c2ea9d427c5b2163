/* Letters over shared memory find their rings. An operation's flows get the wiring's readers and
 * writers, the other ends of letters through a hub, and, in a fetch, their answers.
 */
#include "exec/transfer.h"

/* Finds what answers the letters of a fetch, if both go over shared memory. The next stage goes to
 * the same ranks, in the same order. */
static void pair_replies(grove_transfer *op, int s)
{
  grove_bound_stage *there = &op->stages[s], *back = there + 1;
  grove_flow *answer = back->sends;
  if (op->nspaces > 0) return; /* the roots may not be ready */
  for (grove_flow *flow = there->flows; flow < there->sends; flow++) {
    const grove_letter *letter = &there->wired->letters[flow->letter];
    while (answer < back->flows_end && back->wired->letters[answer->letter].peer < letter->peer)
      answer++;
    if (answer == back->flows_end) return;
    const grove_letter *reply = &back->wired->letters[answer->letter];
    if (reply->peer == letter->peer && grove_letter_is_for_edges(op, letter) &&
        grove_letter_is_for_edges(op, reply) && reply->sections->bytes == letter->sections->bytes &&
        !op->wiring->staged)
      flow->reply = answer;
  }
}

/* Finds the other end of each section of a letter through a hub. */
static grove_status find_remotes(const grove_letter *letter, grove_flow *flow)
{
  const grove_index none = {0};
  if (flow->distant->nsections == 0) return GROVE_OK; /* the hub is this rank's own */
  GROVE_PASS_CHECK(flow->distant->nsections == letter->nsections, GROVE_ERR_STATE,
                   "rank %d has %d sections of a message, and this rank %d", letter->peer,
                   flow->distant->nsections, letter->nsections);
  GROVE_PASS_NEW(flow->remotes, letter->nsections);
  for (int k = 0; k < letter->nsections; k++) {
    const grove_shm_remote *r = &flow->distant->sections[k];
    const grove_section *p = &letter->sections[k];
    GROVE_PASS_CHECK(r->slots.count == p->shape.units, GROVE_ERR_STATE,
                     "rank %d has %lld units of a message, and this rank %lld", letter->peer,
                     (long long)r->slots.count, (long long)p->shape.units);
    flow->remotes[k].memory = r->memory;
    GROVE_PASS(grove_shape_create(&r->slots, &none, p->unit_bytes, &flow->remotes[k].shape));
  }
  return GROVE_OK;
}

/* A flow that may go through a dock. Who packs or unpacks it at once needs only the ring. */
static grove_status join_dock(const grove_transfer *op, grove_dock *dock, int receives,
                              grove_flow *flow)
{
  int apart = receives ? flow->bound.memory != NULL : flow->bound.docked;
  if (!dock->memory || !apart) return GROVE_OK;
  GROVE_PASS(grove_chunks_create(op, GROVE_DOCK_SLOTS, &flow->bound.chunks));
  flow->dock = dock;
  flow->way = GROVE_SHM_DOCKED;
  return GROVE_OK;
}

/* Gives a flow its ends of the rings. */
static grove_status join_flow(grove_transfer *op, grove_bound_stage *s, grove_flow *flow,
                              int *reader, int *writer)
{
  const grove_shm *shm = op->wiring->shm;
  const grove_wired_stage *w = s->wired;
  const grove_letter *letter = &w->letters[flow->letter];
  int receives = flow < s->sends;
  flow->bytes = letter->bytes;
  flow->way = w->way[flow->letter];
  flow->bound.single = flow->bound.direct && flow->bound.inputs == 0 && flow->bytes > 0 &&
                       flow->bytes <= op->wiring->fragment &&
                       !grove_letter_is_for_edges(op, letter);
  flow->distant = receives ? &shm->pulls[*reader] : &shm->pushes[*writer];
  GROVE_PASS(
    join_dock(op, receives ? &shm->far_docks[*reader] : &shm->docks[*writer], receives, flow));
  if (receives)
    flow->reader = &shm->readers[(*reader)++];
  else
    flow->writer = &shm->writers[(*writer)++];
  if (w->way[flow->letter] != GROVE_SHM_COPIED) GROVE_PASS(find_remotes(letter, flow));
  return GROVE_OK;
}

/* In the wiring's order. */
grove_status grove_transfer_join_rings(grove_transfer *op)
{
  int reader = 0, writer = 0;
  for (int s = 0; s < op->nstages; s++) {
    grove_bound_stage *bound = &op->stages[s];
    for (int c = 0; c < bound->nhauls; c++) {
      const grove_haul *haul = bound->hauls[c].wired;
      for (int k = 0; !bound->hauls[c].letters && k < grove_haul_size(haul); k++) {
        bound->flows[k].letter = haul->letters[k];
        GROVE_PASS(join_flow(op, bound, &bound->flows[k], &reader, &writer));
      }
    }
  }
  for (int s = 0; s + 1 < op->nstages; s++) pair_replies(op, s);
  return GROVE_OK;
}
