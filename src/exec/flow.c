/* Letters over shared memory. A flow moves one letter through a ring, fragment by fragment, as long
 * as the ring has room or data. Every poll calls it again. Operations of one wiring share its rings
 * and take turns, in the order of their starts.
 *
 * Fetch. A fragment is answered as soon as it comes, while the ring of the reply has room. From the
 * first fragment without room on, the answers wait with the edges for the next stage.
 *
 * In place. Data in memory of grove_alloc is not copied into the ring. The item only says where it
 * lies, and the reader takes it from there. The send is through when all readers have taken it.
 */
#include "exec/transfer.h"

#include <stdlib.h>
#include <string.h>

static const grove_letter *letter_of_flow(const grove_bound_stage *s, const grove_flow *flow)
{
  return &s->wired->letters[flow->letter];
}

/* Whole units, unless the letter is staged, which both ends know alike. Where all units have one
 * size, the fragment is a multiple of it. */
static int64_t fragment_of(const grove_transfer *op, const grove_bound_stage *s,
                           const grove_flow *flow)
{
  const grove_wiring *wiring = op->wiring;
  int64_t left = flow->bytes - flow->at;
  if (wiring->nlanes > 1 && !wiring->staged)
    return grove_letter_cut(letter_of_flow(s, flow), flow->at, wiring->fragment);
  return left < wiring->fragment ? left : wiring->fragment;
}

/* ---- sending ---- */

static void write_fragment(grove_transfer *op, const grove_bound_stage *s, const grove_flow *flow,
                           int64_t bytes, void *data)
{
  if (flow->bound.memory) {
    memcpy(data, flow->bound.memory + flow->at, (size_t)bytes);
    return;
  }
  grove_op_note(&op->base, grove_letter_pack(op, letter_of_flow(s, flow), flow->at, bytes, data));
}

/* To or from memory beside the ring. */
static int send_elsewhere(grove_transfer *op, grove_bound_stage *s, grove_flow *flow)
{
  return flow->way == GROVE_SHM_DOCKED ? grove_dock_send(op, s, flow) : grove_hub_send(op, s, flow);
}

/* One item that says where the data lies. */
static void send_spot(grove_flow *flow, grove_slot *slot)
{
  const grove_whereabouts where = {flow->spot, flow->bytes};
  slot->kind = GROVE_ITEM_SPOT;
  memcpy(grove_slot_data(slot), &where, sizeof where);
  grove_ring_post(flow->writer, slot);
  flow->posted = flow->writer->next;
}

static int spot_is_taken(grove_flow *flow)
{
  if (grove_ring_consumed(flow->writer) < flow->posted) return 0;
  flow->posted = 0;
  return 1;
}

int grove_flow_send(grove_transfer *op, grove_bound_stage *s, grove_flow *flow)
{
  grove_ring_writer *w = flow->writer;
  if (flow->bound.missing > 0 && (flow->bound.open == 0 || flow->in_place)) return 0;
  if (flow->posted) return spot_is_taken(flow);
  if (w->turn != op->sequence) return 0;
  if (flow->bound.state != GROVE_LETTER_LEAVES)
    grove_op_note(&op->base, grove_letter_advance_pack(op, s, flow->letter));
  if (flow->bound.state == GROVE_LETTER_PACKS) return 0;
  if (op->nspaces > 0 && op->base.failure != GROVE_OK) return 0; /* it may not be packed */
  if (flow->way != GROVE_SHM_COPIED) return send_elsewhere(op, s, flow);
  while (flow->at < flow->bytes) {
    grove_slot *slot = grove_ring_claim(w);
    if (!slot) return 0;
    if (flow->in_place) {
      send_spot(flow, slot);
      break;
    }
    int64_t bytes = fragment_of(op, s, flow);
    if (flow->bound.missing > 0 && flow->at + bytes > flow->bound.open) return 0;
    slot->kind = GROVE_ITEM_DATA;
    write_fragment(op, s, flow, bytes, grove_slot_data(slot));
    grove_ring_post(w, slot);
    flow->at += bytes;
  }
  w->turn++;
  flow->at = 0;
  return flow->posted == 0 || spot_is_taken(flow);
}

/* ---- receiving ---- */

/* Does it only say where data lies? A small item is always data and has no mark that says so. */
static int is_spot(const grove_flow *flow, const grove_slot *slot)
{
  return flow->bytes >= GROVE_IN_PLACE_BYTES && slot->kind != GROVE_ITEM_DATA;
}

/* The bytes that an item brings, and their number. */
static const char *item_data(grove_transfer *op, const grove_bound_stage *s, const grove_flow *flow,
                             const grove_slot *slot, int64_t *bytes)
{
  grove_whereabouts where;
  void *memory = NULL;
  *bytes = fragment_of(op, s, flow);
  if (!is_spot(flow, slot)) return grove_slot_data(slot);
  memcpy(&where, grove_slot_data(slot), sizeof where);
  *bytes = where.bytes;
  grove_op_note(&op->base, grove_arena_reach(op->base.ctx->arena, &where.spot,
                                             &memory)); /* mapped since grove_alloc, or _init */
  return memory;
}

/* Combining values one by one, the processor does not look far ahead in the ring, and waits for
 * lines from the sender's cache. So they are prefetched one block ahead. 40 KB to random places
 * both ways take 25 us, without it 33 (Xeon, 2026-11; 2 ranks). The same to consecutive places of 4
 * ranks take 33 and 51. Blocks of 0.5 to 8 KiB differ little. */
enum { BLOCK = 4096 };

static void ask_for(const char *data, int64_t begin, int64_t end)
{
  for (int64_t at = begin; at < end; at += GROVE_RING_LINE) __builtin_prefetch(data + at);
}

static int64_t least_of(int64_t a, int64_t b)
{
  return a < b ? a : b;
}

/* The bytes of a block for a section, or 0 where it does not pay. */
static int64_t block_of(const grove_transfer *op, const grove_letter *letter)
{
  const grove_section *p = letter->sections;
  if (letter->nsections > 1 || p->unit_bytes > BLOCK) return 0;
  if (op->fields[p->field].mover.combine.way != GROVE_COMBINE_KERNEL) return 0;
  return BLOCK / p->unit_bytes * p->unit_bytes;
}

static void unpack_fragment(grove_transfer *op, const grove_letter *letter, int64_t at,
                            int64_t bytes, const char *data)
{
  int64_t block = bytes > BLOCK ? block_of(op, letter) : 0;
  if (block == 0) block = bytes;
  if (block < bytes) ask_for(data, 0, block);
  for (int64_t k = 0; k < bytes; k += block) {
    ask_for(data, k + block, least_of(k + 2 * block, bytes));
    int64_t now = least_of(block, bytes - k);
    grove_op_note(&op->base, grove_letter_unpack(op, letter, at + k, now, data + k));
  }
}

static void read_fragment(grove_transfer *op, const grove_bound_stage *s, const grove_flow *flow,
                          const char *data, int64_t bytes)
{
  if (!data) return;
  if (flow->bound.memory)
    memcpy(flow->bound.memory + flow->at, data, (size_t)bytes);
  else
    unpack_fragment(op, letter_of_flow(s, flow), flow->at, bytes, data);
}

/* Writes the answer to a fragment of a fetch into the ring that takes it back. Not if an earlier
 * fragment is still unanswered. */
static int answer_fragment(grove_transfer *op, const grove_bound_stage *s, const grove_flow *flow,
                           const char *data, int64_t bytes)
{
  grove_flow *reply = flow->reply;
  if (!reply || reply->at != flow->at || reply->writer->turn != op->sequence) return 0;
  grove_slot *slot = grove_ring_claim(reply->writer);
  if (!slot) return 0;
  slot->kind = GROVE_ITEM_DATA;
  memcpy(grove_slot_data(slot), data, (size_t)bytes);
  grove_op_note(&op->base, grove_letter_fetch(op, letter_of_flow(s, flow), flow->at, bytes,
                                              grove_slot_data(slot)));
  grove_ring_post(reply->writer, slot);
  reply->at += bytes;
  return 1;
}

/* Reads what came too early. */
static void read_held(grove_transfer *op, const grove_bound_stage *s, grove_flow *flow)
{
  int64_t held = flow->held;
  flow->held = 0;
  flow->at = 0;
  read_fragment(op, s, flow, flow->spill, held);
  flow->at = held;
}

/* The letter is complete here; true when it is unpacked. */
static int finish_receive(grove_transfer *op, grove_bound_stage *s, grove_flow *flow)
{
  flow->at = 0;
  grove_op_note(&op->base, grove_letter_advance_unpack(op, s, flow->letter));
  return flow->bound.state == GROVE_LETTER_DONE;
}

/* From memory beside the ring; true when it is unpacked. */
static int receive_elsewhere(grove_transfer *op, grove_bound_stage *s, grove_flow *flow)
{
  if (flow->way == GROVE_SHM_DOCKED) return grove_dock_receive(op, s, flow);
  return grove_hub_receive(op, s, flow) && finish_receive(op, s, flow);
}

/* It may come from the host's arrays even if its sender has a dock. */
static int comes_elsewhere(const grove_transfer *op, const grove_flow *flow)
{
  return flow->way != GROVE_SHM_DOCKED || grove_dock_brings(op, flow);
}

int grove_flow_receive(grove_transfer *op, grove_bound_stage *s, grove_flow *flow)
{
  grove_ring_reader *r = flow->reader;
  if (flow->bound.state == GROVE_LETTER_UNPACKS) return finish_receive(op, s, flow);
  if (flow->way != GROVE_SHM_COPIED && comes_elsewhere(op, flow))
    return receive_elsewhere(op, s, flow);
  if (flow->held > 0) read_held(op, s, flow);
  if (r->turn < op->sequence) return 0;
  if (r->turn > op->sequence) return finish_receive(op, s, flow); /* it came too early */
  while (flow->at < flow->bytes) {
    const grove_slot *slot = grove_ring_peek(r);
    if (!slot) return 0;
    int64_t bytes = 0;
    const char *data = item_data(op, s, flow, slot, &bytes);
    if (is_spot(flow, slot) || !answer_fragment(op, s, flow, data, bytes))
      read_fragment(op, s, flow, data, bytes);
    grove_ring_pass(r);
    flow->at += bytes;
  }
  r->turn++;
  return finish_receive(op, s, flow);
}

void grove_flow_hold(grove_transfer *op, const grove_bound_stage *s, grove_flow *flow)
{
  grove_ring_reader *r = flow->reader;
  if (flow->bound.state != GROVE_LETTER_WAITS || r->turn != op->sequence) return;
  if (flow->way != GROVE_SHM_COPIED && !grove_dock_is_full(flow)) return;
  const grove_slot *slot = grove_ring_peek(r);
  if (!slot || (!is_spot(flow, slot) && !grove_ring_is_full(r))) return;
  char *memory = flow->bound.memory ? flow->bound.memory : flow->spill;
  if (!memory) memory = flow->spill = grove_memory((size_t)flow->bytes, 1);
  if (!memory) return; /* then the sender has to wait */
  for (; slot && flow->at < flow->bytes; slot = grove_ring_peek(r)) {
    int64_t bytes = 0;
    const char *data = item_data(op, s, flow, slot, &bytes);
    if (data) memcpy(memory + flow->at, data, (size_t)bytes);
    grove_ring_pass(r);
    flow->at += bytes;
  }
  if (!flow->bound.memory) flow->held = flow->at;
  if (flow->at == flow->bytes) r->turn++;
}
