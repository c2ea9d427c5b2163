/* An operation under way. Start posts all receives and sends of the first stage and returns; from
 * then on every poll of the context advances it: what has come is unpacked, and a stage that is
 * complete makes room for the next one.
 *
 * The order of combination. In a bcast every slot is written once, so letters are unpacked as they
 * come. In a reduce several contributions may meet in one root, and must be combined in the order
 * of the ranks they come from, the own one in its place: a letter that comes early waits. Integers
 * need not: the bits are the same in any order. A fetch does as a reduce; there every edge has a
 * slot of its own, where the leaf's value gives way to what its root was, and the next stage takes
 * it back.
 *
 * Stages. The next one is entered as soon as all is here that it passes on; what else is to come or
 * to go in earlier ones may take its time. So several stages may be under way, but what meets in a
 * root does so stage by stage.
 */
#include "exec/transfer.h"

#include <stdlib.h>
#include <string.h>

/* Reading the clock takes as long as a small message: after the first few starts, one in so many is
 * timed, or all where the wiring says so. */
enum { TIMED_AT_FIRST = 8, TIMED_EVERY = 16 };

/* Self edges. */
static void keep(grove_transfer *op, grove_bound_stage *s)
{
  s->kept = 1;
  grove_op_note(&op->base, grove_transfer_keep(op, (int)(s - op->stages)));
}

/* ---- what goes ---- */

/* Most small messages are one number: a call would take longer than the copy. */
static inline void copy(void *to, const void *from, int64_t bytes)
{
  if (bytes == 8)
    memcpy(to, from, 8);
  else
    memcpy(to, from, (size_t)bytes);
}

/* The usual small message: one item, straight from the array. */
static inline int send_flow(grove_transfer *op, grove_bound_stage *s, grove_flow *flow)
{
  grove_ring_writer *w = flow->writer;
  if (!flow->single || w->turn != op->sequence) return grove_flow_send(op, s, flow);
  grove_slot *slot = grove_ring_claim(w);
  if (!slot) return 0;
  copy(grove_slot_data(slot), flow->memory, flow->bytes);
  grove_ring_post(w, slot);
  w->turn++;
  return 1;
}

static inline void send_flows(grove_transfer *op, grove_bound_stage *s)
{
  for (grove_flow *flow = s->sends; flow < s->flows_end; flow++) {
    if (flow->done || !send_flow(op, s, flow)) continue;
    flow->done = 1;
    s->to_send--;
  }
}

/* What there was no room for at the start. */
__attribute__((noinline)) static void send_rest(grove_transfer *op, grove_bound_stage *s)
{
  send_flows(op, s);
}

/* ---- what has come ---- */

/* The usual small message, as above. */
static inline int take_flow(grove_transfer *op, grove_bound_stage *s, grove_flow *flow)
{
  grove_ring_reader *r = flow->reader;
  if (!flow->single || r->turn != op->sequence) return grove_flow_receive(op, s, flow);
  const grove_slot *slot = grove_ring_peek(r);
  if (!slot) return 0;
  copy(flow->memory, grove_slot_data(slot), flow->bytes);
  grove_ring_pass(r);
  r->turn++;
  return 1;
}

static inline int receive_flow(grove_transfer *op, grove_bound_stage *s, grove_flow *flow)
{
  if (!take_flow(op, s, flow)) return 0;
  flow->done = 1;
  s->to_come--;
  if (s->to_forward > 0) s->to_forward -= s->wired->letters[flow->letter].forwards;
  return 1;
}

/* Where the order does not count: as it comes. */
static inline void receive_flows(grove_transfer *op, grove_bound_stage *s)
{
  for (grove_flow *flow = s->flows; flow < s->sends; flow++)
    if (!flow->done) receive_flow(op, s, flow);
}

/* Takes receive i, whose turn it is, if it is there. */
static int combine_next(grove_transfer *op, grove_bound_stage *s, int i)
{
  if (s->wired->via[i] < 0) return receive_flow(op, s, &s->flows[~s->wired->via[i]]);
  if (!s->arrived[i]) return 0;
  grove_op_note(&op->base, grove_transfer_unpack(op, s, i));
  s->to_forward -= s->wired->letters[i].forwards;
  return 1;
}

/* Where it does: combines what has come, as far as the order allows. */
__attribute__((noinline)) static void combine_in_order(grove_transfer *op, grove_bound_stage *s)
{
  const grove_letter *receives = s->wired->letters;
  for (;;) {
    int at_end = s->next == s->nreceives;
    if (!s->kept && (at_end || receives[s->next].peer > op->wiring->rank))
      keep(op, s);
    else if (!at_end && combine_next(op, s, s->next))
      s->next++;
    else
      break;
  }
  if (s->next == s->nreceives) return;
  for (grove_flow *flow = s->flows; flow < s->sends; flow++)
    if (flow->letter > s->next) grove_flow_hold(op, s, flow);
}

__attribute__((noinline)) static grove_status poll_p2p(grove_transfer *op, grove_bound_stage *s)
{
  const int *which = NULL;
  int n = 0;
  grove_status status = grove_carrier_poll(s->carrier, &n, &which);
  for (int k = 0; k < n; k++) {
    int i = s->wired->p2p[which[k]];
    if (i >= s->nreceives) {
      s->to_send--;
      continue;
    }
    s->to_come--;
    s->arrived[i] = 1;
    if (s->ordered) continue;
    grove_op_note(&op->base, grove_transfer_unpack(op, s, i));
    s->to_forward -= s->wired->letters[i].forwards;
  }
  return status;
}

/* ---- stages ---- */

__attribute__((noinline)) static grove_status start_p2p(grove_transfer *op, grove_bound_stage *s)
{
  grove_status status = GROVE_OK;
  const grove_wired_stage *w = s->wired;
  memset(s->arrived, 0, (size_t)s->nreceives);
  for (int j = 0; j < w->np2p_receives; j++) {
    int unwanted = grove_op_is_freed(&op->base) && grove_transfer_is_in_array(s, w->p2p[j]);
    GROVE_TRY(unwanted ? grove_carrier_discard(s->carrier, j) : grove_carrier_start(s->carrier, j));
  }
  for (int j = w->np2p_receives; j < w->np2p_receives + w->np2p_sends; j++) {
    GROVE_TRY(grove_transfer_pack(op, s, w->p2p[j]));
    GROVE_TRY(grove_carrier_start(s->carrier, j));
  }
  GROVE_TRY(grove_carrier_go(s->carrier));
fail:
  return status;
}

static inline grove_status start_stage(grove_transfer *op, grove_bound_stage *s)
{
  grove_status status = GROVE_OK;
  s->to_come = s->nreceives;
  s->to_send = s->nsendings;
  s->to_forward = s->nforwards;
  s->next = 0;
  s->kept = !s->has_own;
  /* Before anything can fail: a flow that is not done keeps its turn in the ring, and is seen
   * through when the operation is freed. */
  for (grove_flow *flow = s->flows; flow < s->flows_end; flow++) flow->done = 0;
  if (s->carrier) GROVE_TRY(start_p2p(op, s));
  if (s->to_send > 0) send_flows(op, s);
  if (s->kept) return GROVE_OK;
  if (!s->ordered)
    keep(op, s);
  else if (s == &op->stages[op->oldest])
    combine_in_order(op, s);
fail:
  return status;
}

static int stage_is_complete(const grove_bound_stage *s)
{
  if ((s->to_come | s->to_send) != 0 || !s->kept) return 0;
  return !s->carrier || !grove_carrier_busy(s->carrier);
}

/* Is all here that stages behind this one pass on? */
static int has_forwards(const grove_bound_stage *s)
{
  return s->to_forward == 0 && (s->kept || !s->wired->answers);
}

/* May stage k be entered? Operations of one wiring enter a stage in the order of their starts:
 * their messages match in that order. */
static int may_enter(const grove_transfer *op, int k)
{
  const grove_wiring *wiring = op->wiring;
  if (wiring->run.turns[k] != op->sequence) return 0;
  if (k > 0 && !has_forwards(&op->stages[k - 1])) return 0;
  if (!wiring->uses_hubs) return 1;
  if (k == 0 && wiring->run.through != op->sequence - 1) return 0;
  return !wiring->stages[k].lands || grove_hub_is_free(op);
}

/* Stage k is the last that brings something of a lane whose values meet their roots all at once. */
static inline void meet(grove_transfer *op, int k)
{
  if (op->wiring->meets) grove_op_note(&op->base, grove_transfer_meet(op, k));
}

/* Enters what can be entered. */
static grove_status enter_next(grove_transfer *op)
{
  grove_status status = GROVE_OK;
  while (op->current + 1 < op->nstages && may_enter(op, op->current + 1)) {
    if (op->current >= 0) meet(op, op->current);
    op->current++;
    op->wiring->run.turns[op->current]++;
    GROVE_TRY(start_stage(op, &op->stages[op->current]));
  }
fail:
  return status;
}

/* What a stage can do now. `first`: all that comes in earlier ones has met its roots. */
static inline grove_status advance_stage(grove_transfer *op, grove_bound_stage *s, int first)
{
  grove_status status = s->carrier ? poll_p2p(op, s) : GROVE_OK;
  if (s->to_send > 0) send_rest(op, s);
  if (!s->ordered)
    receive_flows(op, s);
  else if (first)
    combine_in_order(op, s);
  return status;
}

/* All stages under way. */
static grove_status advance_stages(grove_transfer *op)
{
  grove_status status = GROVE_OK;
  int first = 1;
  for (int k = op->oldest; k <= op->current; k++) {
    grove_bound_stage *s = &op->stages[k];
    GROVE_TRY(advance_stage(op, s, first));
    first = first && s->to_come == 0 && s->kept && s->next == (s->ordered ? s->nreceives : 0);
    if (k == op->current && op->base.state != GROVE_OP_LEAVING) GROVE_TRY(enter_next(op));
  }
  if (op->current < 0) GROVE_TRY(enter_next(op));
  while (op->oldest < op->current && stage_is_complete(&op->stages[op->oldest])) op->oldest++;
fail:
  return status;
}

/* ---- the whole ---- */

static inline void finish(grove_transfer *op)
{
  op->base.starts++;
  if (op->base.timed) {
    op->base.timed_starts++;
    op->base.seconds += grove_clock() - op->base.since;
  }
  grove_op_move(&op->base, GROVE_OP_DONE);
}

/* A start failed halfway and the operation was freed: is what was started through? */
static int leftovers_are_through(const grove_bound_stage *s)
{
  for (const grove_flow *flow = s->flows; flow < s->flows_end; flow++)
    if (!flow->done) return 0;
  return !s->carrier || !grove_carrier_busy(s->carrier);
}

/* Can no further start succeed when one has failed halfway? */
static int fails_with_start(const grove_wiring *wiring)
{
  return wiring->nstages > 1 || wiring->transport == GROVE_OFF_NODE_NEIGHBOR;
}

/* Freed while active, and through. */
static void let_go(grove_transfer *op)
{
  if (op->wiring->uses_hubs) grove_hub_release(op);
  op->base.ctx->abandoned--;
  grove_context_deactivate(&op->base.active);
  grove_transfer_dispose(op);
}

/* The last stage is through; what has waited for it meets its roots. */
static int is_complete(grove_transfer *op)
{
  if (op->current + 1 < op->nstages || op->oldest < op->current) return 0;
  if (!stage_is_complete(&op->stages[op->current])) return 0;
  meet(op, op->current);
  return 1;
}

static int leftovers_are_through_all(const grove_transfer *op)
{
  for (int k = 0; k <= op->current; k++)
    if (!leftovers_are_through(&op->stages[k])) return 0;
  return 1;
}

/* All has come and gone, or the operation cannot go on. */
static inline void end(grove_transfer *op, grove_status status)
{
  if (status != GROVE_OK) {
    op->wiring->run.failed |= fails_with_start(op->wiring);
    grove_op_note(&op->base, status);
  }
  grove_context_deactivate(&op->base.active);
  finish(op);
}

/* An abandoned operation advances like any other, but what comes for the user's arrays is not
 * written there (letter.c, flow.c). */
__attribute__((noinline)) static void advance_with_care(grove_transfer *op)
{
  grove_op_state state = op->base.state;
  if (state == GROVE_OP_FAILED || state == GROVE_OP_STUCK) return;
  grove_status status = advance_stages(op);
  if (status == GROVE_OK &&
      !(state == GROVE_OP_LEAVING ? leftovers_are_through_all(op) : is_complete(op)))
    return;
  if (state != GROVE_OP_ACTIVE) {
    if (status == GROVE_OK)
      let_go(op);
    else
      grove_op_move(&op->base, GROVE_OP_STUCK);
    return;
  }
  if (op->wiring->uses_hubs) grove_hub_release(op);
  end(op, status);
}

void grove_transfer_advance(grove_active *active)
{
  grove_transfer *op = (grove_transfer *)active;
  grove_bound_stage *s = op->stages;
  if (op->nstages > 1 || op->base.state != GROVE_OP_ACTIVE) {
    advance_with_care(op);
    return;
  }
  grove_status status = advance_stage(op, s, 1);
  if (status == GROVE_OK) {
    if (!stage_is_complete(s)) return;
    meet(op, 0);
  }
  end(op, status);
}

static void begin(grove_transfer *op)
{
  op->sequence = ++op->wiring->run.sequence;
  grove_op_move(&op->base, GROVE_OP_ACTIVE);
  op->oldest = op->current = 0;
  op->base.timed =
    op->sequence <= TIMED_AT_FIRST || op->sequence % TIMED_EVERY == 0 || op->wiring->run.timed;
  if (op->base.timed) op->base.since = grove_clock();
  if (op->base.failure != GROVE_OK) grove_op_forget_failure(&op->base);
}

grove_status grove_transfer_run(grove_transfer *op)
{
  grove_status status = GROVE_OK;
  if (op->wiring->run.failed)
    return grove_error(GROVE_ERR_STATE, __FILE__, __LINE__,
                       "rank %d: an earlier start of this %s failed halfway; make a new one",
                       op->base.ctx->rank, grove_op_label(&op->base));
  begin(op);
  if (op->nstages > 1) {
    op->current = -1;
    GROVE_TRY(enter_next(op));
  } else {
    GROVE_TRY(start_stage(op, op->stages));
  }
  if (op->nstages == 1 && stage_is_complete(op->stages))
    finish(op);
  else
    grove_context_activate(op->base.ctx, &op->base.active);
  if (op->base.timed && op->wiring->account.kept) grove_transfer_note_start(op);
  return GROVE_OK;
fail:
  /* Some messages are under way, others will never be: all that is left is to free it. */
  grove_op_move(&op->base, GROVE_OP_FAILED);
  op->wiring->run.failed |= fails_with_start(op->wiring);
  grove_context_activate(op->base.ctx, &op->base.active);
  return status;
}
