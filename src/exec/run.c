/* An operation under way. Start posts all receives, hands over all sends that wait for nothing, and
 * returns. From then on every poll of the context advances the operation: it unpacks what has come,
 * and sends what waited for that.
 *
 * The order of combination. In a bcast every slot is written once, so letters are unpacked as they
 * come. In a reduce several contributions may meet in one root. They are combined in the order of
 * the ranks they come from, this rank's own in its place (or before all others: the option
 * `order`), so a letter that comes early waits.
 * Integers need not wait: the bits are the same in any order. A fetch works like a reduce, but
 * every edge has a slot of its own. There the root's old value replaces the leaf's, and the next
 * stage takes it back.
 *
 * Letters. A send leaves when its own inputs are there (feeds.c) and packed. For each peer, sends
 * leave in the order of starts, because messages of one tag match in that order. Self edges that
 * pass through a hub wait for their inputs too.
 *
 * Stages. Entering a stage posts its receives. Stages are entered in the order of starts, and only
 * when the hub that the receives land in is free. So several stages are under way at once, but
 * values meet in a root stage by stage.
 */
#include "exec/partial.h"

#include <stdlib.h>
#include <string.h>

/* Reading the clock takes as long as a small message. So after the first few starts, only one in
 * this many is timed, or all if the wiring says so. */
enum { TIMED_AT_FIRST = 8, TIMED_EVERY = 16 };

/* ---- what waits for what ---- */

/* What this feeder brings is here: tells all that waits for it. */
static void feed_letters(grove_transfer *op, int feeder)
{
  const grove_wiring *wiring = op->wiring;
  if (!wiring->feeds) return;
  for (int k = wiring->feed_begin[feeder]; k < wiring->feed_begin[feeder + 1]; k++) {
    const grove_feed *to = &wiring->feeds[k];
    grove_bound_stage *s = &op->stages[to->stage];
    if (to->letter == s->wired->nletters)
      s->own.missing--;
    else
      grove_bound_letter_of(s, to->letter)->missing--;
  }
}

/* Later stages may pass on what receive i has brought. */
static void pass_on(grove_transfer *op, grove_bound_stage *s, int i)
{
  if (!s->wired->letters[i].forwards) return;
  s->to_forward--;
  feed_letters(op, s->wired->feeder + i);
}

/* Receive i is here. Later stages may pass it on, and somebody may ask for it. */
__attribute__((noinline)) static void tell_come(grove_transfer *op, grove_bound_stage *s, int i)
{
  if (op->arriving) grove_arriving_note(op, (int)(s - op->stages), i);
  pass_on(op, s, i);
}

/* At a new start nothing is here yet. */
static void await_inputs(grove_transfer *op)
{
  for (int k = 0; k < op->nstages; k++) {
    grove_bound_stage *s = &op->stages[k];
    s->own.missing = s->wired->keep_inputs;
    for (int i = s->nreceives; i < s->nreceives + s->nsends; i++) {
      grove_bound_letter *letter = grove_bound_letter_of(s, i);
      letter->missing = letter->inputs;
    }
  }
}

/* Moves self edges, as far as they can go now. */
static void keep_own(grove_transfer *op, grove_bound_stage *s)
{
  if (s->own.missing > 0) return;
  grove_op_note(&op->base, grove_transfer_keep(op, (int)(s - op->stages)));
  if (s->own.state != GROVE_LETTER_DONE) return;
  feed_letters(op, s->wired->feeder + s->nreceives);
  if (op->arriving) grove_arriving_note(op, (int)(s - op->stages), s->nreceives);
}

/* ---- what goes ---- */

/* Most small messages are one number: a call would take longer than the copy. */
static inline void copy_small(void *to, const void *from, int64_t bytes)
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
  if (!flow->bound.single || w->turn != op->sequence) return grove_flow_send(op, s, flow);
  grove_slot *slot = grove_ring_claim(w);
  if (!slot) return 0;
  copy_small(grove_slot_data(slot), flow->bound.memory, flow->bytes);
  grove_ring_post(w, slot);
  w->turn++;
  return 1;
}

static inline void send_flows(grove_transfer *op, grove_bound_stage *s)
{
  for (grove_flow *flow = s->sends; flow < s->flows_end; flow++) {
    if (flow->bound.state == GROVE_LETTER_DONE || !send_flow(op, s, flow)) continue;
    flow->bound.state = GROVE_LETTER_DONE;
    s->to_send--;
  }
}

/* Sends what found no room at the start. */
__attribute__((noinline)) static void send_rest(grove_transfer *op, grove_bound_stage *s)
{
  send_flows(op, s);
}

/* The first bytes of a letter, which are final, leave before the others. */
__attribute__((noinline)) static grove_status leave_partly(grove_transfer *op, grove_bound_stage *s,
                                                           grove_bound_haul *haul, int j)
{
  grove_bound_letter *letter = &haul->letters[j];
  const grove_letter *wired = &s->wired->letters[haul->wired->letters[j]];
  int64_t bytes = letter->open - letter->gone;
  if (bytes == 0) return GROVE_OK;
  if (!letter->direct)
    GROVE_PASS(grove_letter_pack(op, wired, letter->gone, bytes, letter->memory + letter->gone));
  GROVE_PASS(grove_carrier_start_part(haul->carrier, j, letter->gone, letter->open));
  letter->gone = letter->open;
  return GROVE_OK;
}

/* The first chunks of a letter that a device packs leave before the last one is there. That one
 * goes when all of it is packed. */
__attribute__((noinline)) static grove_status leave_by_chunks(const grove_transfer *op,
                                                              const grove_bound_haul *haul, int j)
{
  grove_bound_letter *letter = &haul->letters[j];
  int64_t end = 0;
  while (letter->chunks->count > 1 && grove_chunks_take(op, letter->chunks, GROVE_OUT, &end)) {
    GROVE_PASS(grove_carrier_start_part(haul->carrier, j, letter->chunks->gone, end));
    letter->chunks->gone = end;
  }
  return GROVE_OK;
}

/* Hands over what can leave of a haul. A message waits for its turn: earlier starts may not have
 * sent theirs. */
static grove_status leave_haul(grove_transfer *op, grove_bound_stage *s, grove_bound_haul *haul)
{
  const grove_haul *w = haul->wired;
  int64_t *turns = w->carriage->turns;
  for (int j = w->nreceives; j < grove_haul_size(w) && haul->to_leave > 1; j++) {
    grove_bound_letter *letter = &haul->letters[j];
    if (turns[j] != op->sequence) continue;
    if (letter->missing > 0) {
      if (letter->open > 0) GROVE_PASS(leave_partly(op, s, haul, j));
      continue;
    }
    GROVE_PASS(grove_letter_advance_pack(op, s, w->letters[j]));
    if (letter->state != GROVE_LETTER_LEAVES) {
      if (letter->chunks) GROVE_PASS(leave_by_chunks(op, haul, j));
      continue;
    }
    GROVE_PASS(grove_carrier_start(haul->carrier, j));
    turns[j]++;
    haul->to_leave--;
  }
  if (haul->to_leave == 1) {
    haul->to_leave = 0;
    GROVE_PASS(grove_carrier_go(haul->carrier));
  }
  return GROVE_OK;
}

/* What this start has not handed over in a stage will never leave: it passes its turns on. */
static void give_up_rest(grove_transfer *op, grove_bound_stage *s)
{
  for (int c = 0; c < s->nhauls; c++) {
    const grove_haul *w = s->hauls[c].wired;
    for (int j = w->nreceives; s->hauls[c].carrier && j < grove_haul_size(w); j++)
      if (w->carriage->turns[j] == op->sequence) w->carriage->turns[j]++;
    s->hauls[c].to_leave = 0;
  }
}

/* ---- what has come ---- */

/* The usual small message, as above. */
static inline int take_flow(grove_transfer *op, grove_bound_stage *s, grove_flow *flow)
{
  grove_ring_reader *r = flow->reader;
  if (!flow->bound.single || r->turn != op->sequence) return grove_flow_receive(op, s, flow);
  const grove_slot *slot = grove_ring_peek(r);
  if (!slot) return 0;
  copy_small(flow->bound.memory, grove_slot_data(slot), flow->bytes);
  grove_ring_pass(r);
  r->turn++;
  return 1;
}

static inline int receive_flow(grove_transfer *op, grove_bound_stage *s, grove_flow *flow)
{
  if (!take_flow(op, s, flow)) return 0;
  flow->bound.state = GROVE_LETTER_DONE;
  s->to_come--;
  if (s->tells) tell_come(op, s, flow->letter);
  return 1;
}

/* Receives in any order, where the order does not count. */
static inline void receive_flows(grove_transfer *op, grove_bound_stage *s)
{
  for (grove_flow *flow = s->flows; flow < s->sends; flow++)
    if (flow->bound.state != GROVE_LETTER_DONE) receive_flow(op, s, flow);
}

/* Can what it brings be passed on while other memory is still unpacking the rest? The host itself
 * unpacks what is for a hub. */
static int is_for_hubs(const grove_letter *letter)
{
  for (int k = 0; k < letter->nsections; k++)
    if (letter->sections[k].array == GROVE_ARRAY_EDGE) return 0;
  return letter->forwards;
}

__attribute__((noinline)) static int take_letter_apart(grove_transfer *op, grove_bound_stage *s,
                                                       int i, grove_bound_letter *letter)
{
  int early = s->tells && is_for_hubs(&s->wired->letters[i]);
  int begins = letter->state == GROVE_LETTER_HERE;
  grove_op_note(&op->base, grove_letter_advance_unpack(op, s, i));
  if (early && begins) pass_on(op, s, i);
  if (letter->state != GROVE_LETTER_DONE) return 0;
  s->to_come--;
  if (early && op->arriving) grove_arriving_note(op, (int)(s - op->stages), i);
  if (s->tells && !early) tell_come(op, s, i);
  return 1;
}

/* Unpacks letter i, which a carrier has brought; true when that is done. */
static int take_letter(grove_transfer *op, grove_bound_stage *s, int i)
{
  grove_bound_letter *letter = grove_bound_letter_of(s, i);
  if (letter->state == GROVE_LETTER_WAITS) return 0;
  if (op->nspaces > 0) return take_letter_apart(op, s, i, letter);
  grove_op_note(&op->base, grove_letter_advance_unpack(op, s, i));
  s->to_come--;
  if (s->tells) tell_come(op, s, i);
  return 1;
}

/* Takes receive i, if it is there; true when that is done. */
static int take_receive(grove_transfer *op, grove_bound_stage *s, int i)
{
  grove_link link = s->wired->links[i];
  return s->hauls[link.carrier].letters ? take_letter(op, s, i)
                                        : receive_flow(op, s, &s->flows[link.number]);
}

/* The same for the one that is next in the order. Other memory keeps to the order in which it is
 * asked, so the one behind it need not wait until it is done. */
static int combine_next(grove_transfer *op, grove_bound_stage *s, int i)
{
  return take_receive(op, s, i) ||
         (op->nspaces > 0 && grove_bound_letter_of(s, i)->state == GROVE_LETTER_UNPACKS);
}

/* Where it does: combines what has come, as far as the order allows. */
__attribute__((noinline)) static void combine_in_order(grove_transfer *op, grove_bound_stage *s)
{
  const grove_letter *receives = s->wired->letters;
  for (;;) {
    int at_end = s->next == s->nreceives;
    int own_is_next = at_end || op->wiring->own_first || receives[s->next].peer > op->wiring->rank;
    if (!grove_own_has_met(s) && own_is_next) {
      keep_own(op, s);
      if (!grove_own_has_met(s)) break;
    } else if (!at_end && combine_next(op, s, s->next)) {
      s->next++;
    } else {
      break;
    }
  }
  if (s->next == s->nreceives) return;
  for (grove_flow *flow = s->flows; flow < s->sends; flow++)
    if (flow->letter > s->next) grove_flow_hold(op, s, flow);
}

/* Asks the carrier of a haul what has come and what has gone. */
static grove_status poll_haul(grove_transfer *op, grove_bound_stage *s, grove_bound_haul *haul)
{
  const int *which = NULL;
  int n = 0;
  grove_status status = grove_carrier_poll(haul->carrier, &n, &which);
  for (int k = 0; k < n; k++) {
    int sends = which[k] >= haul->wired->nreceives;
    haul->letters[which[k]].state = sends ? GROVE_LETTER_DONE : GROVE_LETTER_HERE;
    if (sends)
      s->to_send--;
    else if (!s->ordered)
      take_letter(op, s, haul->wired->letters[which[k]]);
  }
  return status;
}

/* Receives that other memory is unpacking. */
static void take_unpacked(grove_transfer *op, grove_bound_stage *s)
{
  for (int i = 0; i < s->nreceives; i++)
    if (grove_bound_letter_of(s, i)->state == GROVE_LETTER_UNPACKS) take_receive(op, s, i);
}

__attribute__((noinline)) static grove_status advance_hauls(grove_transfer *op,
                                                            grove_bound_stage *s, int polls)
{
  for (grove_bound_haul *haul = s->hauls; haul < s->hauls + s->nhauls; haul++) {
    if (!haul->carrier) continue;
    if (polls) GROVE_PASS(poll_haul(op, s, haul));
    if (haul->to_leave > 0) GROVE_PASS(leave_haul(op, s, haul));
  }
  return GROVE_OK;
}

/* ---- stages ---- */

__attribute__((noinline)) static grove_status start_hauls(grove_transfer *op, grove_bound_stage *s)
{
  for (grove_bound_haul *haul = s->hauls; haul < s->hauls + s->nhauls; haul++) {
    const grove_haul *w = haul->wired;
    if (!haul->carrier) continue;
    for (int j = 0; j < grove_haul_size(w); j++) haul->letters[j].state = GROVE_LETTER_WAITS;
    haul->to_leave = w->nsends + 1;
    for (int j = 0; j < w->nreceives; j++) GROVE_PASS(grove_carrier_start(haul->carrier, j));
    GROVE_PASS(leave_haul(op, s, haul));
  }
  return GROVE_OK;
}

static inline grove_status start_stage(grove_transfer *op, grove_bound_stage *s)
{
  s->to_come = s->nreceives;
  s->to_send = s->nsendings;
  s->to_forward = s->nforwards;
  s->next = 0;
  s->own.state = s->has_own;
  /* This comes before anything can fail: a flow that is not done keeps its turn in the ring. It is
   * seen through when the operation is freed. */
  for (grove_flow *flow = s->flows; flow < s->flows_end; flow++)
    flow->bound.state = GROVE_LETTER_WAITS;
  if (s->ncarriers > 0) GROVE_PASS(start_hauls(op, s));
  if (s->to_send > 0) send_flows(op, s);
  if (s->own.state == GROVE_LETTER_DONE) return GROVE_OK;
  if (!s->ordered)
    keep_own(op, s);
  else if (s == &op->stages[op->oldest])
    combine_in_order(op, s);
  return GROVE_OK;
}

/* Is any carrier still at work, perhaps for others? */
static int is_carried(const grove_bound_stage *s)
{
  for (int c = 0; c < s->nhauls; c++)
    if (s->hauls[c].carrier &&
        (s->hauls[c].to_leave > 0 || grove_carrier_busy(s->hauls[c].carrier)))
      return 1;
  return 0;
}

static inline int stage_is_complete(const grove_bound_stage *s)
{
  if ((s->to_come | s->to_send) != 0 || s->own.state != GROVE_LETTER_DONE) return 0;
  return s->ncarriers == 0 || !is_carried(s);
}

/* May stage k be entered? Operations of one wiring enter a stage in the order of their starts:
 * their messages match in that order. If there is only one stage, the start itself enters it. */
static int may_enter(const grove_transfer *op, int k)
{
  const grove_wiring *wiring = op->wiring;
  if (op->nstages == 1) return 1;
  if (wiring->run.turns[k] != op->sequence) return 0;
  if (!wiring->uses_hubs) return 1;
  if (k == 0 && wiring->run.through != op->sequence - 1) return 0;
  return !wiring->stages[k].lands || grove_hub_is_free(op);
}

/* Has a device failed? Then what was asked of it must not leave. */
static inline int has_failed_apart(const grove_transfer *op)
{
  return op->nspaces > 0 && op->base.failure != GROVE_OK;
}

/* Enters all stages that may be entered now. */
static grove_status enter_next(grove_transfer *op)
{
  while (!has_failed_apart(op) && op->current + 1 < op->nstages && may_enter(op, op->current + 1)) {
    op->current++;
    op->wiring->run.turns[op->current]++;
    GROVE_PASS(start_stage(op, &op->stages[op->current]));
  }
  return GROVE_OK;
}

/* Some edges meet their roots all at once, after stage k, or places their slots. Begins that; true
 * when it is done. */
static int has_met(grove_transfer *op, int k)
{
  grove_bound_stage *s = &op->stages[k];
  int place = s->wired->nletters + 1;
  if (!op->wiring->meets) return 1;
  if (!op->meeting) {
    grove_op_note(&op->base, grove_transfer_meet(op, k));
    if (op->nspaces > 0) grove_apart_mark(op, s, place, GROVE_IN);
  }
  op->meeting = op->nspaces > 0 && !grove_apart_has_passed(op, s, place, GROVE_IN);
  return !op->meeting;
}

/* Has everything come to this stage that later stages pass on? */
static int has_forwards(const grove_bound_stage *s)
{
  return s->to_forward == 0 && (s->own.state == GROVE_LETTER_DONE || !s->wired->answers);
}

static void let_meet(grove_transfer *op)
{
  while (op->met <= op->current && has_forwards(&op->stages[op->met]) && has_met(op, op->met)) {
    for (int k = 0; k < op->nfields; k++) {
      const grove_lane *lane = &op->wiring->lanes[k];
      if (op->arriving && grove_lane_lands(lane, op->met)) grove_arriving_note_met(op);
      if (!lane->whole || lane->meets_at != op->met) continue;
      feed_letters(op, lane->feeder);
      if (op->arriving) grove_arriving_note_met(op);
    }
    op->met++;
  }
}

/* Does what a stage can do now. `first`: all that came in earlier stages has met its roots.
 * `polls`: ask MPI too. */
static inline grove_status advance_stage(grove_transfer *op, grove_bound_stage *s, int first,
                                         int polls)
{
  grove_status status = s->ncarriers > 0 ? advance_hauls(op, s, polls) : GROVE_OK;
  if (s->to_send > 0) send_rest(op, s);
  if (!s->ordered)
    receive_flows(op, s);
  else if (first)
    combine_in_order(op, s);
  return status;
}

/* Asking MPI takes time. A stage whose own inputs have not come seldom gets anything before them.
 * For such stages, only one poll in this many asks. */
enum { ASKED_EVERY = 8 };

/* Advances all stages under way. */
static grove_status advance_each_stage(grove_transfer *op)
{
  int first = 1, asks_all = op->polls++ % ASKED_EVERY == 0;
  if (op->readying) grove_readying_take(op);
  for (int k = op->oldest; k <= op->current && !has_failed_apart(op); k++) {
    grove_bound_stage *s = &op->stages[k];
    if (op->nspaces > 0) take_unpacked(op, s);
    GROVE_PASS(advance_stage(op, s, first, asks_all || k <= op->met));
    if (s->own.state != GROVE_LETTER_DONE && (!s->ordered || grove_own_has_met(s))) keep_own(op, s);
    first = first && s->to_come == 0 && s->own.state == GROVE_LETTER_DONE;
    let_meet(op);
    if (k == op->current && op->base.state != GROVE_OP_LEAVING) GROVE_PASS(enter_next(op));
  }
  if (op->current < 0) GROVE_PASS(enter_next(op));
  while (op->oldest < op->current && stage_is_complete(&op->stages[op->oldest])) op->oldest++;
  return GROVE_OK;
}

/* Begins what was asked of devices, even after a failure: the next operation must not find it. */
static grove_status flush_apart(grove_transfer *op, grove_status status)
{
  grove_op_note(&op->base, status);
  int failed = op->base.failure != GROVE_OK;
  grove_op_note(&op->base, failed ? grove_apart_flush(op) : grove_apart_proceed(op));
  return op->base.failure;
}

static grove_status advance_stages(grove_transfer *op)
{
  grove_status status = advance_each_stage(op);
  return op->nspaces > 0 ? flush_apart(op, status) : status;
}

/* ---- the whole ---- */

static inline void finish_start(grove_transfer *op)
{
  op->base.starts++;
  if (op->base.timed) {
    op->base.timed_starts++;
    op->base.seconds += grove_clock() - op->base.since;
  }
  grove_op_move(&op->base, GROVE_OP_DONE);
}

/* A start failed halfway, and the operation was freed. Is everything through that was started? */
static int leftovers_are_through(const grove_bound_stage *s)
{
  for (const grove_flow *flow = s->flows; flow < s->flows_end; flow++)
    if (flow->bound.state != GROVE_LETTER_DONE) return 0;
  return !is_carried(s);
}

/* After a start that failed halfway, must every further start fail? */
static int fails_with_start(const grove_wiring *wiring)
{
  int together = 0;
  for (int c = 0; c < wiring->ncarriers; c++) together |= wiring->carriers[c]->together;
  return wiring->nstages > 1 || together;
}

/* The same for one operation. With arrays in other memories, an unpacked send keeps its turn. */
static int fails_with_this(const grove_transfer *op)
{
  return op->nspaces > 0 || fails_with_start(op->wiring);
}

/* An operation that was freed while active is through. */
static void let_transfer_go(grove_transfer *op)
{
  if (op->wiring->uses_hubs) grove_hub_release(op);
  op->base.ctx->abandoned--;
  grove_context_deactivate(&op->base.active);
  grove_transfer_dispose(op);
}

/* Is the last stage through, and has everything met its roots? */
static int is_complete(const grove_transfer *op)
{
  if (op->current + 1 < op->nstages || op->oldest < op->current) return 0;
  if (op->readying && !grove_readying_is_quiet(op)) return 0;
  return stage_is_complete(&op->stages[op->current]) && op->met == op->nstages;
}

static int leftovers_are_through_all(const grove_transfer *op)
{
  for (int k = 0; k <= op->current; k++)
    if (!leftovers_are_through(&op->stages[k])) return 0;
  return 1;
}

/* Everything has come and gone, or the operation cannot go on. */
static inline void end_transfer(grove_transfer *op, grove_status status)
{
  if (status != GROVE_OK) {
    op->wiring->run.failed |= fails_with_this(op);
    grove_op_note(&op->base, status);
    if (op->nspaces > 0) grove_apart_finish(op); /* now arrays and memory may go */
  }
  grove_context_deactivate(&op->base.active);
  finish_start(op);
}

/* An abandoned operation advances like any other: it has copies of what it needs (rebind.c). */
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
      let_transfer_go(op);
    else
      grove_op_move(&op->base, GROVE_OP_STUCK);
    return;
  }
  if (op->wiring->uses_hubs) grove_hub_release(op);
  end_transfer(op, status);
}

void grove_transfer_advance(grove_active *active)
{
  grove_transfer *op = (grove_transfer *)active;
  grove_bound_stage *s = op->stages;
  if (!op->plain || op->base.state != GROVE_OP_ACTIVE) {
    advance_with_care(op);
    return;
  }
  grove_status status = advance_stage(op, s, 1, 1);
  if (status == GROVE_OK && !stage_is_complete(s)) return;
  end_transfer(op, status);
}

static void begin_start(grove_transfer *op)
{
  op->sequence = ++op->wiring->run.sequence;
  grove_op_move(&op->base, GROVE_OP_ACTIVE);
  op->oldest = op->current = 0;
  op->base.timed =
    op->sequence <= TIMED_AT_FIRST || op->sequence % TIMED_EVERY == 0 || op->wiring->run.timed;
  if (op->base.timed) op->base.since = grove_clock();
  if (op->base.failure != GROVE_OK) grove_op_forget_failure(&op->base);
}

__attribute__((noinline)) static grove_status refuse_further_start(const grove_transfer *op)
{
  grove_status status =
    grove_error(GROVE_ERR_STATE, __FILE__, __LINE__,
                "rank %d: an earlier start of this %s failed halfway; make a new one",
                op->base.ctx->rank, grove_op_label(&op->base));
  return grove_verdict(op->base.ctx, status);
}

/* Some messages are under way, and others never will be: the operation can only be freed. */
__attribute__((noinline)) static grove_status fail_start(grove_transfer *op, grove_status status)
{
  if (op->current >= 0) give_up_rest(op, &op->stages[op->current]);
  if (op->nspaces > 0) grove_apart_finish(op);
  if (op->base.guard) grove_guard_close(op->base.guard);
  grove_op_move(&op->base, GROVE_OP_FAILED);
  op->wiring->run.failed |= fails_with_this(op);
  grove_context_activate(op->base.ctx, &op->base.active);
  return grove_verdict(op->base.ctx, status);
}

/* If this fails, nothing has happened. */
static grove_status begin_arrays(const grove_transfer *op)
{
  grove_guard *guard = op->base.guard;
  if (guard) GROVE_PASS(grove_guard_open(guard));
  grove_status status = grove_apart_begin(op);
  if (status != GROVE_OK && guard) grove_guard_close(guard);
  return status;
}

/* Starts an operation with several stages, inputs to wait for, or arrays on a device. */
__attribute__((noinline)) static grove_status run_with_inputs(grove_transfer *op)
{
  grove_status status = begin_arrays(op);
  if (status != GROVE_OK) return grove_verdict(op->base.ctx, status);
  begin_start(op);
  op->current = -1;
  op->met = op->meeting = 0;
  await_inputs(op);
  if (op->readying) grove_readying_begin(op);
  if (op->arriving) grove_arriving_begin(op);
  if (op->arriving) op->starter = grove_this_thread();
  status = enter_next(op);
  if (op->nspaces > 0) status = flush_apart(op, status);
  if (status != GROVE_OK) return fail_start(op, status);
  grove_context_activate(op->base.ctx, &op->base.active);
  if (op->base.timed && op->wiring->account.kept) grove_transfer_note_start(op);
  return GROVE_OK;
}

/* A start is a jump to this. So the verdict is given here. */
grove_status grove_transfer_run(grove_transfer *op)
{
  if (op->wiring->run.failed) return refuse_further_start(op);
  if (!op->plain) return run_with_inputs(op);
  begin_start(op);
  grove_status status = start_stage(op, op->stages);
  if (status != GROVE_OK) return fail_start(op, status);
  if (stage_is_complete(op->stages))
    finish_start(op);
  else
    grove_context_activate(op->base.ctx, &op->base.active);
  if (op->base.timed && op->wiring->account.kept) grove_transfer_note_start(op);
  return GROVE_OK;
}

void grove_transfer_settle(grove_transfer *op)
{
  for (int k = op->oldest; k <= op->current && op->nspaces > 0; k++) {
    grove_bound_stage *s = &op->stages[k];
    while (s->own.state != GROVE_LETTER_DONE && s->own.state != GROVE_LETTER_WAITS) {
      grove_apart_finish(op);
      keep_own(op, s);
    }
  }
  grove_apart_finish(op);
}
