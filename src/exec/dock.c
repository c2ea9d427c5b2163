/* Letters by chunks. Where a device packs a large letter for a rank of its node, or unpacks one, no
 * processor copies its bytes. The sender's device packs a chunk and copies it into the dock beside
 * the ring. When it is there, an item tells the receiver, whose device copies the chunk to where it
 * belongs, straight out of the dock. When that is done, the item is passed, and the sender may use
 * its place again. So several chunks are under way at once, and both devices copy all the time.
 *
 * A receiver whose arrays are the host's takes chunks like fragments (flow.c). A letter that comes
 * from the host's arrays has no chunks.
 */
#include "exec/transfer.h"

#include <string.h>

/* ---- sending ---- */

uint64_t grove_dock_awaited(const grove_flow *flow)
{
  const grove_dock *dock = flow->dock;
  return dock->posted[dock->next % (uint64_t)dock->slots];
}

static int has_place(const grove_flow *flow)
{
  return flow->bound.chunks->count < flow->dock->slots &&
         grove_ring_consumed(flow->writer) >= grove_dock_awaited(flow);
}

static grove_status pack_chunk(grove_transfer *op, const grove_letter *letter,
                               const grove_flow *flow)
{
  grove_dock *dock = flow->dock;
  int64_t at = flow->bound.chunks->begun, bytes = grove_letter_chunk(letter, at);
  char *place = dock->memory + (int64_t)(dock->next % (uint64_t)dock->slots) * dock->stride;
  GROVE_PASS(grove_letter_pack(op, letter, at, bytes, place));
  grove_chunks_add(op, flow->bound.chunks, at + bytes, GROVE_OUT);
  dock->next++;
  return GROVE_OK;
}

/* The oldest chunk, up to this byte of the letter, is in the dock. */
static void post_chunk(grove_flow *flow, grove_slot *slot, int64_t end)
{
  grove_dock *dock = flow->dock;
  uint64_t k = (dock->next - (uint64_t)flow->bound.chunks->count - 1) % (uint64_t)dock->slots;
  grove_whereabouts where = {.spot = dock->spot, .bytes = end - flow->at};
  where.spot.offset += (int64_t)k * dock->stride;
  slot->kind = GROVE_ITEM_CHUNK;
  memcpy(grove_slot_data(slot), &where, sizeof where);
  grove_ring_post(flow->writer, slot);
  dock->posted[k] = flow->writer->next;
  flow->at = end;
}

int grove_dock_send(grove_transfer *op, const grove_bound_stage *s, grove_flow *flow)
{
  const grove_letter *letter = &s->wired->letters[flow->letter];
  grove_chunks *c = flow->bound.chunks;
  grove_slot *slot = NULL;
  int64_t end = 0;
  while (c->begun < flow->bytes && has_place(flow)) {
    grove_op_note(&op->base, pack_chunk(op, letter, flow));
    if (op->base.failure != GROVE_OK) return 0; /* nothing of it may leave */
  }
  while ((slot = grove_ring_claim(flow->writer)) && grove_chunks_take(op, c, GROVE_OUT, &end))
    post_chunk(flow, slot, end);
  if (flow->at < flow->bytes) return 0;
  flow->at = c->begun = 0;
  flow->writer->turn++;
  return 1;
}

/* ---- receiving ---- */

int grove_dock_brings(const grove_transfer *op, const grove_flow *flow)
{
  const grove_slot *slot = NULL;
  if (flow->reader->turn != op->sequence) return 0;
  if (flow->bound.chunks->begun > 0) return 1;
  if (flow->at > 0) return 0; /* it was held, or comes from the host's arrays */
  slot = grove_ring_peek(flow->reader);
  return slot && slot->kind == GROVE_ITEM_CHUNK;
}

int grove_dock_is_full(const grove_flow *flow)
{
  return flow->way == GROVE_SHM_DOCKED && flow->bound.chunks->begun == 0 &&
         grove_ring_has(flow->reader, (uint64_t)flow->dock->slots - 1);
}

static grove_status unpack_chunk(grove_transfer *op, const grove_letter *letter,
                                 const grove_flow *flow, const grove_slot *slot)
{
  grove_whereabouts where;
  void *place = NULL;
  int64_t at = flow->bound.chunks->begun;
  memcpy(&where, grove_slot_data(slot), sizeof where);
  GROVE_PASS(grove_arena_reach(op->base.ctx->arena, &where.spot, &place));
  grove_apart_liken(op, place, where.bytes, flow->bound.memory + at);
  GROVE_PASS(grove_letter_unpack(op, letter, at, where.bytes, place));
  grove_chunks_add(op, flow->bound.chunks, at + where.bytes, GROVE_IN);
  grove_ring_take(flow->reader);
  return GROVE_OK;
}

int grove_dock_receive(grove_transfer *op, const grove_bound_stage *s, grove_flow *flow)
{
  const grove_letter *letter = &s->wired->letters[flow->letter];
  grove_chunks *c = flow->bound.chunks;
  const grove_slot *slot = NULL;
  while (c->begun < flow->bytes && c->count < c->room && (slot = grove_ring_peek(flow->reader))) {
    grove_op_note(&op->base, unpack_chunk(op, letter, flow, slot));
    if (op->base.failure != GROVE_OK) return 0;
  }
  while (grove_chunks_take(op, c, GROVE_IN, &flow->at))
    grove_ring_settle(flow->reader, (uint64_t)c->count);
  if (flow->at < flow->bytes) return 0;
  flow->at = c->begun = 0;
  flow->reader->turn++;
  return 1;
}
