/* Gives an operation memory, requests and arrays. A letter can travel straight from or into the
 * array, packed fragment by fragment into a ring of shared memory, or packed as a whole.
 */
#include "exec/partial.h"

#include <stdio.h>
#include <stdlib.h>

/* Letters start on cache lines of their own; a user's operation sees aligned units. */
enum { ALIGNMENT = 64, KEEP_BYTES = 1 << 14 };

/* ---- which letters need memory ---- */

/* Can the letter travel straight from or into the array? Not if it must be combined with what is
 * there, or checked first. */
static int is_direct(const grove_transfer *op, const grove_letter *letter, int receives)
{
  const grove_section *p = letter->sections;
  if (op->wiring->check || letter->nsections > 1) return 0;
  const grove_mover *m = grove_field_mover(&op->fields[p->field], p->array);
  if (!grove_pack_is_trivial(&m->unit, &p->shape)) return 0;
  if (!receives || !grove_array_is_users(p->array)) return 1;
  return op->wiring->lanes[p->field].key.operation != GROVE_REDUCE &&
         m->combine.way == GROVE_COMBINE_REPLACE;
}

/* Is any of it in memory that the carrier does not reach, or that packs in its own time? */
static int is_apart(const grove_transfer *op, const grove_letter *letter,
                    const grove_carrier_kind *kind)
{
  for (int k = 0; k < letter->nsections && op->nspaces > 0; k++) {
    const grove_section *p = &letter->sections[k];
    grove_array where = grove_section_meets(op, p) ? GROVE_ARRAY_ROOT : p->array;
    const grove_space *space = &op->fields[p->field].spaces[where];
    if (space->lift || !(space->kind->bit & kind->memories)) return 1;
  }
  return 0;
}

/* Where the bytes of a letter lie. */
typedef enum whereabouts {
  IN_ARRAY,    /* it travels straight from there, or to there */
  PACKED,      /* all of it, in memory of the operation's */
  DOCKED,      /* it is packed into a dock, in chunks */
  IN_FRAGMENTS /* it is packed into a ring, and unpacked out of it */
} whereabouts;

/* Over shared memory, a letter is packed as a whole only if it has a checksum, units that do not
 * fit into a fragment, or arrays that only others can read. */
static whereabouts whereabouts_of(const grove_transfer *op, int s, int i)
{
  const grove_wired_stage *w = &op->wiring->stages[s];
  const grove_letter *letter = &w->letters[i];
  const grove_carrier_kind *kind = op->wiring->carriers[w->links[i].carrier];
  int receives = i < w->nreceives, hub = kind->fast && w->way[i] != GROVE_SHM_COPIED;
  if (is_apart(op, letter, kind))
    return !receives && grove_wiring_dock(op->wiring, s, i) ? DOCKED : PACKED;
  if (hub) return IN_FRAGMENTS;
  int meets = kind->fast && receives && grove_letter_is_for_edges(op, letter);
  if (is_direct(op, letter, receives) && !meets &&
      (kind->writes_arrays || !grove_array_is_users(letter->sections->array)))
    return IN_ARRAY;
  return !kind->fast || op->wiring->staged ? PACKED : IN_FRAGMENTS;
}

/* Is it the first letter with its number? The others go with it. */
static int is_first(const grove_wired_stage *w, int i)
{
  return w->hauls[w->links[i].carrier].letters[w->links[i].number] == i;
}

/* ---- memory ---- */

/* Hands out memory from `at` on; with at == NULL only adds up how much is needed. */
static int64_t lay_out_letters(grove_transfer *op, char *at)
{
  int64_t used = 0;
  for (int s = 0; s < op->nstages; s++) {
    grove_bound_stage *bound = &op->stages[s];
    const grove_wired_stage *w = bound->wired;
    int own = op->nspaces > 0 ? grove_apart_keep_place(op, w) : -1;
    for (int i = 0; i <= w->nletters; i++) {
      if (i == own) {
        if (at) bound->own.memory = at + used;
        used += grove_round_up(grove_apart_keep_bytes(w), ALIGNMENT);
      }
      if (i == w->nletters || !is_first(w, i)) continue;
      whereabouts place = whereabouts_of(op, s, i);
      grove_bound_letter *letter = grove_bound_letter_of(bound, i);
      letter->direct = place == IN_ARRAY;
      letter->docked = place == DOCKED;
      if (place != PACKED) continue;
      if (at) letter->memory = at + used;
      used += grove_round_up(w->letters[i].bytes + 1, ALIGNMENT);
    }
  }
  return used;
}

static grove_status make_letters(grove_transfer *op)
{
  int64_t unit = op->nspaces > 0 ? GROVE_PAGE : ALIGNMENT;
  int64_t bytes = grove_round_up(lay_out_letters(op, NULL), unit);
  if (bytes == 0) return GROVE_OK;
  op->memory = aligned_alloc((size_t)unit, (size_t)bytes);
  op->memory_bytes = bytes;
  GROVE_PASS_CHECK(op->memory, GROVE_ERR_MEMORY, "no memory for messages of %lld bytes",
                   (long long)bytes);
  lay_out_letters(op, op->memory);
  return GROVE_OK;
}

/* A letter over MPI whose chunks may leave one by one: its carrier takes it in parts, and only an
 * apart memory has it in chunks. */
static int leaves_by_parts(const grove_transfer *op, const grove_wired_stage *w, int i)
{
  const grove_letter *letter = &w->letters[i];
  const grove_carrier_kind *kind = op->wiring->carriers[w->links[i].carrier];
  if (i < w->nreceives || kind->fast || !kind->takes_parts || op->wiring->check) return 0;
  if (!op->wiring->sole) return 0; /* its parts could be taken for another's */
  if (letter->data <= grove_space_chunk() || letter->bytes > op->base.ctx->options.chunk) return 0;
  return is_apart(op, letter, kind);
}

static grove_status make_chunks(grove_transfer *op)
{
  for (int s = 0; s < op->nstages && op->nspaces > 0; s++) {
    const grove_wired_stage *w = op->stages[s].wired;
    for (int i = 0; i < w->nletters; i++)
      if (leaves_by_parts(op, w, i))
        GROVE_PASS(grove_chunks_create(op, grove_letter_count_chunks(&w->letters[i]),
                                       &grove_bound_letter_of(&op->stages[s], i)->chunks));
  }
  return GROVE_OK;
}

/* Self edges for which there is no way from array to array go through a buffer of bounded size. */
static void need_keep(grove_transfer *op, int64_t units, int64_t unit_bytes)
{
  int64_t bytes = units * unit_bytes;
  if (bytes > KEEP_BYTES) bytes = unit_bytes < KEEP_BYTES ? KEEP_BYTES : unit_bytes;
  if (bytes > op->keep_bytes) op->keep_bytes = bytes;
}

static grove_status make_keep(grove_transfer *op)
{
  for (int s = 0; s < op->nstages; s++)
    for (int k = 0; k < op->stages[s].wired->nkeeps; k++) {
      const grove_section *p = &op->stages[s].wired->keeps[2 * k];
      need_keep(op, p->shape.units, p->unit_bytes);
    }
  for (int k = 0; k < op->nfields; k++) {
    const grove_lane *lane = &op->wiring->lanes[k];
    need_keep(op, lane->own.units, lane->key.unit_bytes);
    if (op->wiring->uses_hubs) need_keep(op, KEEP_BYTES, lane->key.unit_bytes);
  }
  if (op->keep_bytes == 0) return GROVE_OK;
  op->keep = aligned_alloc(ALIGNMENT, (size_t)grove_round_up(op->keep_bytes, ALIGNMENT));
  GROVE_PASS_CHECK(op->keep, GROVE_ERR_MEMORY, "no memory for %lld bytes",
                   (long long)op->keep_bytes);
  return GROVE_OK;
}

/* Does it matter in which order values meet in a root? On a device, those that come in order meet
 * in one launch. */
static int needs_order(const grove_transfer *op)
{
  for (int k = 0; k < op->nfields; k++) {
    const grove_field *f = &op->fields[k];
    if (f->request.operation == GROVE_FETCH) return 1;
    if (f->request.operation != GROVE_REDUCE) continue;
    if (!f->mover.combine.exact || f->spaces[GROVE_ARRAY_ROOT].lift) return 1;
  }
  return 0;
}

/* The hauls of a stage: letters for each number, or flows. */
static grove_status make_hauls(grove_transfer *op, grove_bound_stage *bound)
{
  const grove_wiring *wiring = op->wiring;
  const grove_wired_stage *w = bound->wired;
  grove_bound_letter *letters = NULL;
  int nflows = 0, nletters = 0;
  for (int c = 0; c < wiring->ncarriers; c++)
    *(wiring->carriers[c]->fast ? &nflows : &nletters) += grove_haul_size(&w->hauls[c]);
  GROVE_PASS_NEW_ALL(GROVE_WISH(bound->hauls, wiring->ncarriers), GROVE_WISH(bound->flows, nflows),
                     GROVE_WISH(letters, nletters),
                     GROVE_WISH(bound->marks, (w->nletters + 2) * op->nspaces));
  bound->sends = bound->flows_end = bound->flows;
  bound->nhauls = wiring->ncarriers;
  bound->nsendings = 0;
  for (int c = 0; c < wiring->ncarriers; c++) {
    grove_bound_haul *haul = &bound->hauls[c];
    haul->wired = &w->hauls[c];
    bound->nsendings += haul->wired->nsends;
    if (wiring->carriers[c]->fast) {
      bound->sends = bound->flows + haul->wired->nreceives;
      bound->flows_end = bound->sends + haul->wired->nsends;
    } else {
      haul->letters = letters;
      letters += grove_haul_size(haul->wired);
    }
  }
  return GROVE_OK;
}

static grove_status make_stages(grove_transfer *op)
{
  int in_order = needs_order(op);
  GROVE_PASS_NEW(op->stages, op->wiring->nstages);
  op->nstages = op->wiring->nstages;
  op->plain = op->nstages == 1 && !op->wiring->meets && op->nspaces == 0 && !op->wiring->check;
  for (int s = 0; s < op->nstages; s++) {
    grove_bound_stage *bound = &op->stages[s];
    bound->wired = &op->wiring->stages[s];
    bound->nreceives = bound->wired->nreceives;
    bound->nsends = bound->wired->nletters - bound->wired->nreceives;
    bound->ordered = bound->wired->ordered && in_order;
    bound->has_own = bound->wired->has_own ? GROVE_LETTER_WAITS : GROVE_LETTER_DONE;
    bound->nforwards = bound->wired->nforwards;
    bound->tells = bound->nforwards > 0;
    GROVE_PASS(make_hauls(op, bound));
    for (int i = bound->nreceives; i < bound->nreceives + bound->nsends; i++)
      grove_bound_letter_of(bound, i)->inputs += bound->wired->letters[i].inputs;
  }
  return GROVE_OK;
}

/* Lists the memories, other than the host's, that its arrays are in. */
static grove_status list_spaces(grove_transfer *op)
{
  for (int k = 0; k < op->nfields; k++)
    for (int a = 0; a < GROVE_ARRAYS; a++) {
      grove_space space = op->fields[k].spaces[a];
      int known = space.kind == &grove_space_host;
      for (int j = 0; j < op->nspaces; j++) known |= grove_space_is_same(space, op->spaces[j]);
      if (known) continue;
      if (!op->spaces) GROVE_PASS_NEW(op->spaces, op->nfields * GROVE_ARRAYS);
      op->spaces[op->nspaces++] = space;
    }
  return GROVE_OK;
}

grove_status grove_transfer_create(const grove_op_kind *kind, grove_wiring *wiring, int n,
                                   grove_field **fields, grove_transfer **out)
{
  grove_status status = GROVE_OK;
  grove_transfer *op = NULL;
  GROVE_NEW(op, 1);
  op->base.ctx = wiring->ctx;
  op->wiring = wiring;
  op->base.active.advance = kind->advance;
  op->base.kind = kind;
  op->nfields = n;
  op->fields = *fields;
  for (int k = 0; k < n; k++) GROVE_TRY(grove_field_equip(&wiring->lanes[k], &op->fields[k]));
  GROVE_TRY(list_spaces(op));
  GROVE_TRY(grove_apart_open(op));
  op->base.careful = op->nspaces > 0;
  GROVE_TRY(grove_transfer_make_hubs(op));
  GROVE_TRY(make_stages(op));
  GROVE_TRY(make_letters(op));
  GROVE_TRY(make_chunks(op));
  GROVE_TRY(make_keep(op));
  GROVE_TRY(grove_apart_prepare(op)); /* before all agree: a device may have no memory left */
  *fields = NULL;
  *out = op;
  return GROVE_OK;
fail:
  if (op) {
    op->fields = NULL; /* still the caller's */
    grove_transfer_destroy(op);
  }
  return status;
}

/* ---- requests ---- */

static void free_stages(grove_transfer *op);

grove_status grove_transfer_connect(grove_transfer *op, int rewired)
{
  if (rewired) {           /* what was a flow is a message now */
    grove_apart_close(op); /* it has mirrors of the old memory */
    free(op->memory);
    op->memory = NULL;
    free_stages(op);
    GROVE_PASS(grove_apart_open(op));
    GROVE_PASS(make_stages(op));
    GROVE_PASS(make_letters(op));
    GROVE_PASS(make_chunks(op));
    GROVE_PASS(grove_transfer_make_hubs(op));
    GROVE_PASS(grove_apart_prepare(op));
  }
  for (int s = 0; s < op->nstages; s++)
    for (int c = 0; c < op->stages[s].nhauls; c++) {
      grove_bound_haul *haul = &op->stages[s].hauls[c];
      if (!haul->wired->carriage) continue;
      GROVE_PASS(grove_carrier_create(haul->wired->carriage, &haul->carrier));
      op->stages[s].ncarriers++;
    }
  GROVE_PASS(grove_transfer_join_rings(op));
  grove_apart_share(op);
  return GROVE_OK;
}

/* ---- arrays ---- */

static char *place_in_array(const grove_transfer *op, const grove_letter *letter)
{
  const grove_section *p = letter->sections;
  const grove_field *f = &op->fields[p->field];
  return grove_unit_at(&grove_field_mover(f, p->array)->unit, grove_field_array(f, p->array),
                       p->shape.slots.first);
}

static void bind_flow(const grove_transfer *op, const grove_bound_stage *s, grove_flow *flow)
{
  if (!flow->bound.direct) return; /* it is packed, as a whole or by fragments */
  flow->bound.memory = place_in_array(op, &s->wired->letters[flow->letter]);
  flow->in_place = flow->writer && flow->bytes >= GROVE_IN_PLACE_BYTES && op->base.ctx->shared &&
                   grove_context_locate(op->base.ctx, flow->bound.memory, &flow->spot);
}

grove_status grove_letter_bind(const grove_transfer *op, grove_bound_stage *s,
                               grove_bound_haul *haul, int j)
{
  if (!haul->letters) {
    bind_flow(op, s, &s->flows[j]);
    return GROVE_OK;
  }
  grove_bound_letter *letter = &haul->letters[j];
  if (letter->direct)
    letter->memory = place_in_array(op, &s->wired->letters[haul->wired->letters[j]]);
  return grove_carrier_bind(haul->carrier, j, letter->memory);
}

grove_status grove_transfer_set_arrays(grove_transfer *op)
{
  for (int k = 0; k < op->nstages; k++) {
    grove_bound_stage *s = &op->stages[k];
    for (grove_bound_haul *haul = s->hauls; haul < s->hauls + s->nhauls; haul++)
      for (int j = 0; j < grove_haul_size(haul->wired); j++)
        GROVE_PASS(grove_letter_bind(op, s, haul, j));
  }
  return op->wiring->check ? grove_guard_create(op) : GROVE_OK;
}

/* ---- the end ---- */

static void free_flow(const grove_bound_stage *s, grove_flow *flow)
{
  int nsections = flow->remotes ? s->wired->letters[flow->letter].nsections : 0;
  for (int k = 0; k < nsections; k++) grove_shape_free(&flow->remotes[k].shape);
  free(flow->remotes);
  free(flow->bound.chunks);
  free(flow->spill);
}

static void free_haul(grove_bound_haul *haul)
{
  for (int j = 0; haul->letters && j < grove_haul_size(haul->wired); j++)
    free(haul->letters[j].chunks);
  grove_carrier_free(&haul->carrier);
}

static void free_stages(grove_transfer *op)
{
  for (int k = 0; op->stages && k < op->nstages; k++) {
    grove_bound_stage *s = &op->stages[k];
    for (int c = 0; c < s->nhauls; c++) free_haul(&s->hauls[c]);
    for (grove_flow *flow = s->flows; flow < s->flows_end; flow++) free_flow(s, flow);
    free(s->rebound);
    free(s->hauls); /* and the other arrays */
  }
  free(op->stages);
  op->stages = NULL;
}

static void destroy_remains(grove_tomb *tomb)
{
  grove_transfer *op = grove_transfer_of(tomb);
  grove_apart_close(op);
  free(op->memory);
  free(op->keep);
  free(op->spaces);
  free(op->placement);
  free(op->trail);
  free(op->base.sentence);
  grove_fields_free(op->nfields, op->fields);
  grove_identity_release(op->identity);
  grove_readying_free(&op->readying);
  grove_arriving_free(&op->arriving);
  grove_guard_free(&op->base.guard);
  free(op);
}

/* Streams may be waiting: then what a device has to do with stays for a while. */
void grove_transfer_destroy(grove_transfer *op)
{
  free_stages(op);
  op->tomb.end = destroy_remains;
  if (op->nspaces > 0)
    grove_context_bury(op->base.ctx, &op->tomb);
  else
    destroy_remains(&op->tomb);
}

/* Takes it off the list of its wiring's members. */
static void leave_pool(grove_transfer *op)
{
  grove_transfer **at = &op->wiring->run.members;
  while (*at && *at != op) at = &(*at)->next_member;
  if (*at) *at = op->next_member;
}

void grove_transfer_dispose(grove_transfer *op)
{
  grove_wiring *wiring = op->wiring;
  leave_pool(op);
  grove_transfer_destroy(op);
  grove_wiring_release(wiring);
}
