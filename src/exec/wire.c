/* Which carrier takes which letter. A letter to a rank of the same node goes over shared memory, if
 * the node has any. All others go over MPI. Sends of one stage that carry the same slots share a
 * ring, and are one flow.
 */
#include "exec/wiring.h"

#include <stdlib.h>
#include <string.h>

/* ---- letters ---- */

/* A message of a lane, which becomes a section of a letter. */
typedef struct slip {
  int lane;
  const grove_message *message;
} slip;

static int by_letter_peer(const void *a, const void *b)
{
  const slip *x = a, *y = b;
  int p = x->message->peer, q = y->message->peer;
  return p != q ? (p > q) - (p < q) : (x->lane > y->lane) - (x->lane < y->lane);
}

static const grove_stage *stage_of(const grove_lane *lane, int s)
{
  return lane->key.unit_bytes > 0 && s < lane->plan->nstages ? &lane->plan->stages[s] : NULL;
}

/* All receives, or all sends, of a stage, by peer. */
static int list_slips(const grove_wiring *wiring, int s, int sends, slip *list)
{
  int n = 0;
  for (int k = 0; k < wiring->nlanes; k++) {
    const grove_stage *stage = stage_of(&wiring->lanes[k], s);
    int count = !stage ? 0 : sends ? stage->nsends : stage->nreceives;
    for (int i = 0; i < count; i++)
      list[n++] = (slip){k, sends ? &stage->sends[i] : &stage->receives[i]};
  }
  if (wiring->nlanes > 1) qsort(list, (size_t)n, sizeof *list, by_letter_peer);
  return n;
}

static grove_status make_wired_section(const grove_wiring *wiring, int k, const grove_slots *slots,
                                       const grove_index *starts, grove_section *out)
{
  int64_t unit_bytes = wiring->lanes[k].key.unit_bytes;
  GROVE_PASS(grove_shape_create(&slots->index, starts, unit_bytes, &out->shape));
  out->field = k;
  out->array = slots->array;
  out->unit_bytes = unit_bytes;
  out->bytes = out->shape.units * unit_bytes;
  return GROVE_OK;
}

/* Does a later stage take it from here? */
static int is_forwarded(const grove_section *p, int receives)
{
  return receives && !grove_array_is_users(p->array);
}

/* One letter for each peer. */
static grove_status write_stage_letters(const grove_wiring *wiring, const slip *slips, int n,
                                        int receives, grove_wired_stage *w)
{
  grove_letter *letter = NULL;
  for (int i = 0; i < n; i++) {
    const grove_message *m = slips[i].message;
    grove_section *section = &w->sections[w->nsections];
    if (i == 0 || m->peer != slips[i - 1].message->peer) {
      letter = &w->letters[w->nletters++];
      *letter = (grove_letter){.peer = m->peer, .sections = section};
    }
    GROVE_PASS(make_wired_section(wiring, slips[i].lane, &m->slots, &m->starts, section));
    section->far_hub = m->far_hub;
    w->nsections++;
    letter->nsections++;
    letter->forwards |= is_forwarded(section, receives);
    section->at = grove_round_up(letter->data, GROVE_SECTION_ALIGNMENT);
    letter->data = section->at + section->bytes;
    letter->bytes = letter->data + (wiring->check ? (int64_t)sizeof(grove_trailer) : 0);
  }
  return GROVE_OK;
}

/* Self edges of one stage of a plan. */
static grove_status add_keep(const grove_wiring *wiring, int k, const grove_stage *stage,
                             grove_wired_stage *w)
{
  const grove_index none = {0};
  grove_section *pair = &w->keeps[2 * w->nkeeps++];
  GROVE_PASS(make_wired_section(wiring, k, &stage->keep_from, &none, &pair[0]));
  GROVE_PASS(make_wired_section(wiring, k, &stage->keep_to, &none, &pair[1]));
  w->answers |= !grove_array_is_users(stage->keep_to.array);
  return GROVE_OK;
}

/* Leaves combined in order with other edges join them at once, while the array is there. */
static int keep_stage(const grove_lane *lane, int s)
{
  const grove_stage *stage = &lane->plan->stages[s];
  int early =
    grove_array_is_users(stage->keep_from.array) && stage->keep_to.array == GROVE_ARRAY_EDGE;
  return early ? 0 : s;
}

static grove_status make_keeps(const grove_wiring *wiring, int s, grove_wired_stage *w)
{
  for (int k = 0; k < wiring->nlanes; k++) {
    const grove_lane *lane = &wiring->lanes[k];
    if (lane->key.operation == GROVE_FETCH && !lane->whole) continue; /* see grove_transfer_keep */
    if (lane->key.unit_bytes == 0) continue;
    for (int i = 0; i < lane->plan->nstages; i++)
      if (lane->plan->stages[i].keep_from.index.count > 0 && keep_stage(lane, i) == s)
        GROVE_PASS(add_keep(wiring, k, &lane->plan->stages[i], w));
  }
  return GROVE_OK;
}

static int count_plan_stages(const grove_wiring *wiring)
{
  int n = 0;
  for (int k = 0; k < wiring->nlanes; k++) n += wiring->lanes[k].plan->nstages;
  return n;
}

static int count_slips(const grove_wiring *wiring, int s)
{
  int n = 0;
  for (int k = 0; k < wiring->nlanes; k++) {
    const grove_stage *stage = stage_of(&wiring->lanes[k], s);
    if (stage) n += stage->nreceives + stage->nsends;
  }
  return n;
}

/* Do values that come in a stage meet the roots one by one? */
static int is_ordered(const grove_lane *lane, int s)
{
  const grove_stage *stage = stage_of(lane, s);
  if (lane->whole || !stage) return 0;
  if (lane->key.operation == GROVE_FETCH) return lane->meets_at == s;
  if (lane->key.operation != GROVE_REDUCE) return 0;
  for (int i = 0; i < stage->nreceives; i++)
    if (stage->receives[i].slots.array == GROVE_ARRAY_ROOT) return 1;
  return stage->keep_to.index.count > 0 && stage->keep_to.array == GROVE_ARRAY_ROOT;
}

static grove_status make_stage(const grove_wiring *wiring, int s, grove_wired_stage *w)
{
  grove_status status = GROVE_OK;
  int most = count_slips(wiring, s);
  slip *slips = NULL;
  GROVE_NEW(slips, most);
  GROVE_NEW_ALL(GROVE_WISH(w->letters, most), GROVE_WISH(w->sections, most),
                GROVE_WISH(w->links, most), GROVE_WISH(w->way, most), GROVE_WISH(w->numbers, most),
                GROVE_WISH(w->hauls, wiring->ncarriers),
                GROVE_WISH(w->keeps, 2 * count_plan_stages(wiring)));
  for (int sends = 0; sends < 2; sends++) {
    int n = list_slips(wiring, s, sends, slips);
    GROVE_TRY(write_stage_letters(wiring, slips, n, !sends, w));
    if (!sends) w->nreceives = w->nletters;
  }
  for (int i = 0; i < w->nreceives; i++) w->nforwards += w->letters[i].forwards;
  GROVE_TRY(make_keeps(wiring, s, w));
  w->has_own = w->nkeeps > 0;
  for (int k = 0; k < wiring->nlanes; k++) {
    const grove_lane *lane = &wiring->lanes[k];
    int fetches = lane->key.operation == GROVE_FETCH && !lane->whole && lane->meets_at == s;
    w->ordered |= is_ordered(lane, s);
    w->has_own |= fetches && lane->own.units > 0;
    w->answers |= fetches;
  }
fail:
  free(slips);
  return status;
}

static int on_node(const grove_wiring *wiring, const grove_letter *letter)
{
  return grove_topo_same_node(&wiring->ctx->topo, wiring->rank, letter->peer);
}

static void count_letters(grove_wiring *wiring)
{
  for (int s = 0; s < wiring->nstages; s++) {
    const grove_wired_stage *w = &wiring->stages[s];
    for (int i = 0; i < w->nletters; i++) {
      const grove_letter *letter = &w->letters[i];
      grove_sent *t = i < w->nreceives ? &wiring->received : &wiring->sent;
      int near = on_node(wiring, letter);
      *(near ? &t->on_node_messages : &t->off_node_messages) += 1;
      for (int k = 0; k < letter->nsections; k++)
        *(near ? &t->on_node_bytes : &t->off_node_bytes) += letter->sections[k].bytes;
    }
  }
}

/* ---- flows ---- */

static int same_list(const grove_index *a, const grove_index *b)
{
  size_t n = (size_t)a->count;
  if (a->count != b->count || a->first != b->first || !a->narrow != !b->narrow ||
      !a->wide != !b->wide)
    return 0;
  if (a->narrow) return memcmp(a->narrow, b->narrow, n * sizeof *a->narrow) == 0;
  return !a->wide || memcmp(a->wide, b->wide, n * sizeof *a->wide) == 0;
}

static int same_data(const grove_letter *a, const grove_letter *b)
{
  if (a->nsections != b->nsections) return 0;
  for (int k = 0; k < a->nsections; k++) {
    const grove_section *p = &a->sections[k], *q = &b->sections[k];
    if (p->field != q->field || p->array != q->array ||
        !same_list(&p->shape.slots, &q->shape.slots) ||
        !same_list(&p->shape.starts, &q->shape.starts))
      return 0;
  }
  return 1;
}

/* In a small ring a train of fragments stays in the caches: 256 KiB take 27 us on a Xeon (2026-11)
 * with 16 slots of 16 KiB, 31 with 8, 44 with 4. In a reduce a message may have to wait for others,
 * and its sender should not: 400 KB both ways take 180 us with 32 slots, 279 with 16 (Neoverse V1).
 * The answers of a fetch get as many: an answer that has room leaves at once. */
enum { TRAIN_SLOTS = 16, ORDERED_SLOTS = 32 };

/* A bundle's ring has as much room as the rings of its members would have together. */
static int ring_slots_for(const grove_wiring *wiring)
{
  int slots = TRAIN_SLOTS;
  for (int k = 0; k < wiring->nlanes; k++)
    if (wiring->lanes[k].key.operation == GROVE_REDUCE ||
        wiring->lanes[k].key.operation == GROVE_FETCH)
      slots = ORDERED_SLOTS;
  return wiring->nlanes > 1 ? slots * wiring->nlanes : slots;
}

/* Which end of a letter has all of it in a hub? Both ends find the same answer. */
static grove_shm_way way_of(const grove_wiring *wiring, const grove_letter *letter, int receives)
{
  int near = 0, far = 0;
  if (wiring->staged) return GROVE_SHM_COPIED;
  for (int k = 0; k < letter->nsections; k++) {
    near += letter->sections[k].array == GROVE_ARRAY_HUB;
    far += letter->sections[k].far_hub;
  }
  int sender = receives ? far : near, receiver = receives ? near : far;
  if (receiver == letter->nsections) return GROVE_SHM_PUSHED;
  return sender == letter->nsections ? GROVE_SHM_PULLED : GROVE_SHM_COPIED;
}

/* Does a device pack it, and is it large? What both ends have to know about it, they do: a letter
 * of this size may be told of instead of copied. */
static int wants_dock(const grove_wiring *wiring, const grove_letter *letter)
{
  int apart = 0;
  if (wiring->staged || letter->data <= grove_space_chunk() || letter->bytes < GROVE_IN_PLACE_BYTES)
    return 0;
  for (int k = 0; k < letter->nsections; k++)
    apart |= (int)(wiring->lanes[letter->sections[k].field].apart >> letter->sections[k].array) & 1;
  return apart;
}

/* Describes letter i of stage s to the transport. */
static grove_shm_message about_letter(const grove_wiring *wiring, int s, int i)
{
  const grove_wired_stage *w = &wiring->stages[s];
  int docks = i >= w->nreceives && w->way[i] == GROVE_SHM_COPIED;
  return (grove_shm_message){
    .stage = s,
    .peer = w->letters[i].peer,
    .bytes = w->way[i] == GROVE_SHM_COPIED ? w->letters[i].bytes : 0,
    .fragment = (int)wiring->fragment,
    .slots = ring_slots_for(wiring),
    .chunk = docks && wants_dock(wiring, &w->letters[i]) ? grove_space_chunk() : 0,
    .sends = (int)wiring->sent.on_node_messages,
    .way = w->way[i]};
}

static int fits_in_fragment(const grove_wiring *wiring, int s, int i)
{
  grove_shm_message m = about_letter(wiring, s, i);
  return grove_shm_fits(&m);
}

/* May letter i, a send, share the ring of letter `last`? */
static int shares_ring(const grove_wiring *wiring, int s, int last, int i)
{
  const grove_wired_stage *w = &wiring->stages[s];
  if (last < 0 || w->way[i] != w->way[last] || w->way[i] == GROVE_SHM_PUSHED) return 0;
  if (w->letters[i].sources != w->letters[last].sources)
    return 0;                                  /* one would wait for the other's inputs */
  if (w->way[i] == GROVE_SHM_PULLED) return 1; /* all can be told at once */
  return same_data(&w->letters[i], &w->letters[last]) && fits_in_fragment(wiring, s, i);
}

/* The carrier of letters to this peer. */
static int carrier_for(const grove_wiring *wiring, const grove_letter *letter)
{
  int c = 0;
  while (wiring->carriers[c]->reach == GROVE_REACHES_NODE && !on_node(wiring, letter)) c++;
  return c;
}

/* Gives every letter its carrier, and a number there. Sends that share a ring share a number. */
static void number_letters(grove_wiring *wiring, int s)
{
  grove_wired_stage *w = &wiring->stages[s];
  int last = -1; /* the send of the latest ring */
  memset(w->hauls, 0, (size_t)wiring->ncarriers * sizeof *w->hauls);
  w->lands = 0;
  for (int i = 0; i < w->nletters; i++) {
    int receives = i < w->nreceives, c = carrier_for(wiring, &w->letters[i]), shares = 0;
    grove_haul *haul = &w->hauls[c];
    if (wiring->carriers[c]->fast) {
      w->way[i] = way_of(wiring, &w->letters[i], receives);
      shares = !receives && shares_ring(wiring, s, last, i);
      if (!receives && !shares) last = i;
    } else {
      w->lands |= w->letters[i].forwards;
    }
    if (!shares) (*(receives ? &haul->nreceives : &haul->nsends))++;
    w->links[i] = (grove_link){c, grove_haul_size(haul) - 1};
  }
  int *numbers = w->numbers;
  for (int c = 0; c < wiring->ncarriers; c++) {
    w->hauls[c].letters = numbers;
    numbers += grove_haul_size(&w->hauls[c]);
  }
  for (int i = w->nletters - 1; i >= 0; i--)
    w->hauls[w->links[i].carrier].letters[w->links[i].number] = i;
}

static void number_all(grove_wiring *wiring)
{
  for (int s = 0; s < wiring->nstages; s++) number_letters(wiring, s);
}

/* ---- rings ---- */

/* What the transport is told: messages, and where they lie in this rank's hubs. */
typedef struct telling {
  grove_shm_message *sends, *receives;
  grove_shm_view *views;
  int64_t *area_bytes;
  int nviews;
} telling;

/* The slots of a letter in this rank's hub, if the letter goes through it. */
static void tell_views(const grove_letter *letter, int sends, telling *t, grove_shm_message *m)
{
  if (m->way != (sends ? GROVE_SHM_PULLED : GROVE_SHM_PUSHED)) return;
  m->views = t->views + t->nviews;
  m->nviews = letter->nsections;
  for (int k = 0; k < letter->nsections; k++)
    t->views[t->nviews++] =
      (grove_shm_view){letter->sections[k].field, &letter->sections[k].shape.slots};
}

/* Lists the letters over shared memory: sends, or receives. */
static int list_messages(const grove_wiring *wiring, int sends, telling *t)
{
  int n = 0, rings = 0;
  grove_shm_message *list = sends ? t->sends : t->receives;
  for (int s = 0; s < wiring->nstages; s++) {
    const grove_wired_stage *w = &wiring->stages[s];
    for (int i = sends ? w->nreceives : 0; i < (sends ? w->nletters : w->nreceives); i++) {
      const grove_haul *haul = &w->hauls[w->links[i].carrier];
      if (!wiring->carriers[w->links[i].carrier]->fast) continue;
      list[n] = about_letter(wiring, s, i);
      tell_views(&w->letters[i], sends, t, &list[n]);
      list[n++].ring = rings + w->links[i].number - haul->nreceives;
    }
    for (int c = 0; c < wiring->ncarriers; c++)
      if (wiring->carriers[c]->fast) rings += w->hauls[c].nsends;
  }
  return n;
}

grove_dock *grove_wiring_dock(const grove_wiring *wiring, int s, int i)
{
  const grove_wired_stage *w = &wiring->stages[s];
  grove_link link = w->links[i];
  int ring = link.number - w->hauls[link.carrier].nreceives;
  if (!wiring->shm || !wiring->carriers[link.carrier]->fast) return NULL;
  for (int k = 0; k < s; k++) ring += wiring->stages[k].hauls[link.carrier].nsends;
  return wiring->shm->docks[ring].memory ? &wiring->shm->docks[ring] : NULL;
}

/* Does anything of this rank go through hubs? And which rings tell others to pull? */
static grove_status find_hubs(grove_wiring *wiring, const grove_shm_plan *plan)
{
  GROVE_PASS_NEW(wiring->pulled, plan->nsends);
  for (int i = 0; i < plan->nsends; i++) {
    const grove_shm_message *m = &plan->sends[i];
    wiring->pulled[m->ring] |= m->way == GROVE_SHM_PULLED;
  }
  for (int k = 0; k < wiring->nlanes; k++)
    wiring->uses_hubs |= wiring->lanes[k].plan->nstages > 1 && !wiring->staged &&
                         wiring->lanes[k].plans->route->relays;
  return GROVE_OK;
}

static grove_status make_rings(grove_wiring *wiring)
{
  grove_status status = GROVE_OK;
  telling t = {0};
  int most = 0, sections = 0;
  for (int s = 0; s < wiring->nstages; s++) {
    most += wiring->stages[s].nletters;
    sections += wiring->stages[s].nsections;
  }
  GROVE_NEW_ALL(GROVE_WISH(t.sends, most), GROVE_WISH(t.receives, most),
                GROVE_WISH(t.views, sections), GROVE_WISH(t.area_bytes, wiring->nlanes));
  grove_shm_plan plan = {.nsends = list_messages(wiring, 1, &t),
                         .nreceives = list_messages(wiring, 0, &t),
                         .sends = t.sends,
                         .receives = t.receives,
                         .area_bytes = t.area_bytes};
  for (int k = 0; k < wiring->nlanes; k++) {
    t.area_bytes[k] = wiring->lanes[k].plan->hub * wiring->lanes[k].key.unit_bytes;
    if (t.area_bytes[k] > 0) plan.nareas = wiring->nlanes;
  }
  GROVE_TRY(find_hubs(wiring, &plan));
  if (!wiring->uses_hubs) plan.nareas = 0;
  GROVE_TRY(grove_shm_create(wiring->ctx, &plan, &wiring->shm));
fail:
  free(t.sends); /* and the others */
  return status;
}

/* ---- the whole ---- */

/* Fragments are whole units if all units are alike. */
static void choose_fragment(grove_wiring *wiring)
{
  for (int k = 0; k < wiring->nlanes; k++)
    if (wiring->lanes[k].key.unit_bytes > wiring->widest_unit)
      wiring->widest_unit = wiring->lanes[k].key.unit_bytes;
  wiring->fragment = grove_shm_fragment(wiring->nlanes == 1 ? wiring->widest_unit : 0);
  int64_t room =
    wiring->nlanes == 1 ? wiring->fragment : wiring->fragment - GROVE_SECTION_ALIGNMENT;
  wiring->staged = wiring->check || wiring->widest_unit > room;
}

grove_status grove_wiring_lay(grove_wiring *wiring)
{
  const grove_context *ctx = wiring->ctx;
  int nstages = 1;
  for (int k = 0; k < wiring->nlanes; k++)
    if (wiring->lanes[k].plan->nstages > nstages) nstages = wiring->lanes[k].plan->nstages;
  GROVE_PASS_CHECK(nstages <= GROVE_STAGES_MOST, GROVE_ERR_UNSUPPORTED, "a plan of %d stages",
                   nstages);
  GROVE_PASS_NEW(wiring->stages, nstages);
  wiring->nstages = nstages;
  wiring->ncarriers = grove_carrier_kinds(ctx, wiring->carriers);
  for (int s = 0; s < nstages; s++) {
    wiring->run.turns[s] = 1;
    GROVE_PASS(make_stage(wiring, s, &wiring->stages[s]));
  }
  GROVE_PASS(grove_wiring_find_feeds(wiring));
  count_letters(wiring);
  choose_fragment(wiring);
  number_all(wiring);
  if (wiring->carriers[0]->fast) GROVE_PASS(make_rings(wiring));
  return GROVE_OK;
}

/* ---- the agreement ---- */

/* Either the node has the memory, or all its ranks go on with messages. */
static grove_status settle_memory(grove_wiring *wiring, int usable, int *rewired)
{
  wiring->shm->usable = wiring->shm->usable && usable;
  GROVE_PASS(grove_shm_connect(wiring->shm));
  if (wiring->shm->usable) return GROVE_OK;
  grove_shm_free(&wiring->shm);
  wiring->uses_hubs = 0;
  for (int c = 1; c < wiring->ncarriers; c++) wiring->carriers[c - 1] = wiring->carriers[c];
  wiring->ncarriers--;
  number_all(wiring);
  *rewired = 1;
  return GROVE_OK;
}

grove_status grove_wiring_agree(grove_context *ctx, grove_status mine, const grove_purpose *purpose,
                                grove_wiring *wiring, int *lifted, int *rewired)
{
  grove_shm *shm = mine == GROVE_OK ? wiring->shm : NULL;
  int64_t most[2] = {0, *lifted}; /* the first: has the shared memory grown? */
  int usable = 1, tag = 0;
  grove_shm_propose(ctx, shm, &most[0]);
  GROVE_PASS(grove_context_take_tag(ctx, mine, purpose, most, &tag));
  wiring->tag = tag;
  *lifted = (int)most[1];
  if (most[0]) GROVE_PASS(grove_context_map_notices(ctx, &usable));
  if (shm) GROVE_PASS(settle_memory(wiring, usable, rewired));
  return GROVE_OK;
}

/* Answers use the tags of as many further stages, if there are that many. A carrier that needs
 * answers carries no plan through hubs. */
static grove_status make_carriage(grove_wiring *wiring, int s, const grove_carrier_kind *kind,
                                  grove_haul *haul)
{
  grove_status status = GROVE_OK;
  grove_context *ctx = wiring->ctx;
  const grove_letter *letters = wiring->stages[s].letters;
  int answers = 2 * wiring->nstages <= GROVE_STAGES_MOST, n = grove_haul_size(haul);
  grove_carried *messages = grove_room((size_t)n, sizeof *messages);
  for (int k = 0; messages && k < n; k++)
    messages[k] = (grove_carried){letters[haul->letters[k]].peer, letters[haul->letters[k]].bytes};
  const grove_carriage_request about = {
    .kind = kind,
    .tag = grove_context_stage_tag(ctx, wiring->tag, s),
    .answer_tag =
      answers ? grove_context_stage_tag(ctx, wiring->tag, s + wiring->nstages) : GROVE_TAG_NOBODY,
    .persistent = wiring->persistent,
    .chunk = ctx->options.chunk,
    .nreceives = haul->nreceives,
    .nsends = haul->nsends,
    .messages = messages};
  GROVE_TRY(grove_carriage_create(ctx, &about, &haul->carriage));
fail:
  free(messages);
  return status;
}

grove_status grove_wiring_carry(grove_wiring *wiring)
{
  for (int s = 0; s < wiring->nstages; s++)
    for (int c = 0; c < wiring->ncarriers; c++) {
      const grove_carrier_kind *kind = wiring->carriers[c];
      grove_haul *haul = &wiring->stages[s].hauls[c];
      if (!kind->fast && (grove_haul_size(haul) > 0 || kind->collective))
        GROVE_PASS(make_carriage(wiring, s, kind, haul));
    }
  return GROVE_OK;
}

/* ---- the end ---- */

static void free_shapes(int n, grove_section *sections)
{
  for (int i = 0; i < n; i++) grove_shape_free(&sections[i].shape);
}

void grove_wiring_unwire(grove_wiring *wiring)
{
  for (int s = 0; wiring->stages && s < wiring->nstages; s++) {
    grove_wired_stage *w = &wiring->stages[s];
    free_shapes(w->nsections, w->sections);
    free_shapes(2 * w->nkeeps, w->keeps);
    for (int c = 0; w->hauls && c < wiring->ncarriers; c++)
      grove_carriage_free(&w->hauls[c].carriage);
    free(w->letters); /* and all its other arrays */
  }
  free(wiring->stages);
  free(wiring->pulled);
  free(wiring->feed_begin); /* and feeds */
  grove_shm_free(&wiring->shm);
}
