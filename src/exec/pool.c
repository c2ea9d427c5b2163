/* Operations of _begin. Their wirings are in the pool of their forest, and each wiring keeps its
 * idle transfers. A later call of the same kind takes one, and asks nobody.
 */
#include "exec/partial.h"

#include <stdlib.h>
#include <string.h>

/* ---- wirings of a forest ---- */

static int same_key(const grove_wiring_key *a, const grove_wiring_key *b)
{
  return a->operation == b->operation && a->unit_bytes == b->unit_bytes &&
         a->unit_kind == b->unit_kind && a->op_number == b->op_number && a->shared == b->shared &&
         a->merges == b->merges && a->generation == b->generation;
}

/* The wiring with this key that calls take, or NULL. */
static grove_wiring *find_by_key(const grove_forest *f, const grove_wiring_key *key)
{
  const grove_compiled *c = f->compiled;
  grove_wiring *wiring = c ? c->pool : NULL;
  while (wiring && (wiring->set_aside || !same_key(&wiring->lanes[0].key, key)))
    wiring = wiring->next;
  return wiring;
}

/* The wiring after `last` (NULL: the first) that calls of this operation take under the current
 * options, or NULL. */
static grove_wiring *find_next(const grove_forest *f, const grove_wiring *last,
                               grove_operation operation)
{
  const grove_compiled *c = f->compiled;
  grove_wiring *wiring = last ? last->next : c ? c->pool : NULL;
  while (wiring && (wiring->set_aside || wiring->lanes[0].key.operation != operation ||
                    wiring->lanes[0].key.generation != grove_forest_generation(f)))
    wiring = wiring->next;
  return wiring;
}

static void empty_pool(grove_compiled *c)
{
  for (grove_wiring *next; c->pool; c->pool = next) {
    next = c->pool->next;
    grove_wiring_release(c->pool);
  }
}

/* From here on the pool holds the wiring. */
static void hand_out(const grove_forest *f, grove_wiring *wiring)
{
  grove_compiled *c = f->compiled; /* made when the request was looked at */
  c->empty_pool = empty_pool;
  wiring->next = c->pool;
  c->pool = wiring;
}

/* ---- members of a wiring ---- */

/* Idle operations that a wiring keeps. Only a program that uses many types has more than a few. */
enum { IDLE_OPERATIONS = 16 };

static void free_members(grove_transfer *members)
{
  for (grove_transfer *next; members; members = next) {
    next = members->next_member;
    grove_transfer_destroy(members);
  }
}

/* Puts a transfer among the members of its wiring. When too many are idle, the oldest goes. */
static void join_pool(grove_transfer *op)
{
  grove_wiring *wiring = op->wiring;
  grove_transfer **first_idle = NULL;
  int idle = 0;
  op->base.careful = 1;
  op->base.rest = GROVE_OP_DONE;
  grove_op_move(&op->base, GROVE_OP_POOLED);
  op->next_member = wiring->run.members;
  wiring->run.members = op;
  wiring->run.free_members = free_members;
  for (grove_transfer **at = &op->next_member; *at; at = &(*at)->next_member)
    if (grove_op_state_of(&(*at)->base) == GROVE_OP_POOLED) {
      first_idle = at;
      idle++;
    }
  if (idle < IDLE_OPERATIONS) return;
  grove_transfer *oldest = *first_idle;
  *first_idle = oldest->next_member;
  grove_transfer_destroy(oldest);
}

void grove_transfer_put_back(grove_transfer *op)
{
  grove_op_move(&op->base, GROVE_OP_POOLED);
  grove_wiring_release(op->wiring);
  grove_transfer_release_forests(op);
}

/* ---- their kind ---- */

static grove_status refuse_start(grove_op *op)
{
  return grove_error(GROVE_ERR_STATE, __FILE__, __LINE__,
                     "rank %d: grove_start: this %s was begun; it ends with grove_end",
                     op->ctx->rank, grove_op_label(op));
}

static grove_status free_one_shot(grove_op *op)
{
  int rests = 0;
  grove_status status = grove_transfer_let_rest((grove_transfer *)op, &rests);
  if (rests) grove_transfer_put_back((grove_transfer *)op);
  return status;
}

static const grove_op_kind one_shot = {
  GROVE_TRANSFER_SLOTS,
  .name = "one shot",
  .start = refuse_start,
  .start_parts = refuse_start,
  .label = grove_transfer_label,
  .free = free_one_shot,
  .ready = grove_transfer_ready,
  .arrived = grove_transfer_arrived,
  .arrivals = grove_transfer_arrivals,
};

/* ---- finding one ---- */

/* Was the operation made for this type? For a named type the handle is enough. The handle of a
 * derived type may belong to another type by now. */
static int same_type(const grove_transfer *op, MPI_Datatype unit)
{
  grove_identity *identity = NULL;
  if (op->type != unit) return 0;
  if (!op->identity) return 1;
  return grove_identity_of(unit, &identity) == GROVE_OK && identity == op->identity;
}

/* The combination by the user's MPI operation. */
static grove_combine *combine_of(grove_transfer *op)
{
  grove_field *f = &op->fields[0];
  return f->request.operation == GROVE_FETCH ? &f->fetcher.combine : &f->mover.combine;
}

/* Was it made for arrays in these memories? */
static int same_spaces(const grove_transfer *op, const grove_request *r)
{
  const grove_context *ctx = op->base.ctx;
  for (int a = 0; a < GROVE_ARRAYS && ctx->spaces; a++)
    if (!grove_space_is_same(op->fields[0].spaces[a], grove_space_of(ctx, r->arrays[a]))) return 0;
  return 1;
}

/* An idle transfer made for the same type and operation as this call. This is the usual case, and
 * it allocates nothing. */
static grove_transfer *find_idle(const grove_request *r)
{
  for (grove_wiring *c = find_next(r->forest, NULL, r->operation); c;
       c = find_next(r->forest, c, r->operation))
    for (grove_transfer *op = c->run.members; op; op = op->next_member)
      if (grove_op_state_of(&op->base) == GROVE_OP_POOLED && combine_of(op)->op == r->op &&
          same_type(op, r->unit) && same_spaces(op, r))
        return op;
  return NULL;
}

/* The wiring that this call belongs to, or NULL if it is the first of its kind. A wrong call
 * belongs to none. If others have used the forest in this way, that is this rank's failure; if
 * nobody has, it is agreed upon. */
static grove_status find_wiring(const grove_request *r, grove_wiring **out)
{
  grove_status status = GROVE_OK;
  grove_unit unit = {0};
  grove_combine combine;
  *out = find_next(r->forest, NULL, r->operation);
  if (!*out) return GROVE_OK;
  GROVE_TRY(grove_unit_create(r->unit, r->forest->ctx->comm, &unit));
  GROVE_TRY(grove_combine_create(r->op, &unit, &combine));
  grove_wiring_key key = grove_wiring_key_of(r, &unit, &combine);
  *out = find_by_key(r->forest, &key);
fail:
  grove_unit_free(&unit);
  return status;
}

/* A further call of a kind waits for nobody. So an error in it is this rank's failure, and the
 * others' timeouts name this rank. */
static grove_status reuse_member(const grove_request *r, const char *call, grove_transfer *op)
{
  grove_combine *combine = combine_of(op);
  GROVE_PASS(grove_request_check(r, call));
  /* The handle of a freed user's operation may now belong to one that commutes differently. */
  if (combine->number < 0)
    GROVE_PASS(grove_combine_create(r->op, &op->fields[0].mover.unit, combine));
  return GROVE_OK;
}

/* With the option `choose_after`: is a route chosen for this kind, `now` or because its wiring was
 * taken so often? All ranks make the same calls of a kind, so all find the same. */
static int may_choose(const grove_forest *f, const grove_wiring *wiring, int now)
{
  if (!wiring->hasty || !grove_routing_chooses(f)) return 0;
  return now || wiring->run.begun >= grove_forest_settings_of(f).choose_after;
}

/* The first operation of its kind on all ranks, or a further one on the wiring that is there. The
 * latter is local: operations of one wiring share its tag and match in the order of starts. A
 * wiring that is due stays in the pool, where operations that are under way on it come to rest. */
static grove_status make_one(const grove_request *r, const char *call, int now,
                             grove_transfer **out)
{
  grove_status status = GROVE_OK;
  grove_draft m = {.ctx = r->forest->ctx, .call = call, .n = 1, .requests = r, .kind = &one_shot};
  GROVE_TRY(find_wiring(r, &m.wiring));
  m.hasty = !m.wiring && !now && grove_routing_may_wait(r->forest);
  if (m.wiring && may_choose(r->forest, m.wiring, now)) {
    m.wiring->set_aside = 1;
    m.wiring = NULL;
  }
  if (m.wiring) {
    GROVE_TRY(grove_draft_further(&m));
  } else {
    GROVE_TRY(grove_draft_first(&m, GROVE_OK));
    hand_out(r->forest, m.wiring);
  }
  m.op->type = r->unit;
  GROVE_TRY(grove_identity_of(r->unit, &m.op->identity));
  grove_identity_hold(m.op->identity);
  join_pool(m.op);
  *out = m.op;
  return GROVE_OK;
fail:
  if (m.op) grove_transfer_destroy(m.op);
  return status;
}

/* ---- the calls ---- */

grove_status grove_op_prepare(const grove_request *r, const char *call)
{
  grove_wiring *wiring = NULL;
  grove_transfer *op = NULL;
  GROVE_PASS(find_wiring(r, &wiring));
  return wiring && !may_choose(r->forest, wiring, 1) ? GROVE_OK : make_one(r, call, 1, &op);
}

/* Binds the arrays and the forest of this call. */
static grove_status bind_arrays(grove_transfer *op, const grove_request *r)
{
  grove_request *bound = &op->fields[0].request;
  memcpy(bound->arrays, r->arrays, sizeof bound->arrays);
  bound->forest = r->forest;
  if (op->wiring->check) GROVE_PASS(grove_check_overlap(op->wiring, op->fields));
  return grove_transfer_set_arrays(op);
}

grove_status grove_op_begin(const grove_request *r, const char *call, grove_op **out)
{
  grove_transfer *op = find_idle(r);
  if (op && !may_choose(r->forest, op->wiring, 0))
    GROVE_PASS(reuse_member(r, call, op));
  else
    GROVE_PASS(make_one(r, call, 0, &op));
  GROVE_PASS(bind_arrays(op, r));
  grove_transfer_hold_forests(op);
  op->wiring->references++;
  op->wiring->run.begun++;
  op->base.starts = op->base.timed_starts = 0;
  op->base.seconds = 0;
  op->base.stream = (grove_chosen_stream){NULL, 0};
  op->base.user = NULL;
  op->base.awaited = 0;
  grove_op *begun = &op->base;
  grove_status status = grove_transfer_run(op);
  if (status == GROVE_OK)
    *out = begun;
  else
    grove_op_give_up(&begun);
  return status;
}
