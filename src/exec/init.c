/* Making transfers: what a rank can do alone, and what all ranks agree on. */
#include "exec/transfer.h"

#include <math.h>
#include <stdlib.h>

/* ---- what can be wrong with a request ---- */

/* An array may be NULL if the forest has no edge in it. */
static grove_status check_array(const grove_request *r, const char *call, grove_array which,
                                const char *name)
{
  const grove_forest *f = r->forest;
  int64_t edges = which == GROVE_ARRAY_ROOT ? f->roots.slots.count : f->nleaves;
  GROVE_PASS_CHECK(r->arrays[which] || edges == 0, GROVE_ERR_ARG,
                   "rank %d: %s: the %s array is NULL, but forest '%.100s' has %lld %s here",
                   f->ctx->rank, call, name, grove_forest_label(f), (long long)edges,
                   which == GROVE_ARRAY_ROOT ? "edges to it" : "leaves");
  return GROVE_OK;
}

grove_status grove_request_check(const grove_request *r, const char *call)
{
  if (r->unbound) return GROVE_OK;
  int many = r->operation == GROVE_COLLECT || r->operation == GROVE_DISTRIBUTE;
  GROVE_PASS(check_array(r, call, GROVE_ARRAY_ROOT, many ? "multi-root" : "root"));
  GROVE_PASS(check_array(r, call, GROVE_ARRAY_LEAF, "leaf"));
  if (r->operation == GROVE_FETCH) GROVE_PASS(check_array(r, call, GROVE_ARRAY_UPDATE, "update"));
  return GROVE_OK;
}

/* ---- what a rank does alone ---- */

static grove_status make_fields(grove_draft *m)
{
  GROVE_PASS_NEW(m->fields, m->n);
  GROVE_PASS_NEW(m->keys, m->n);
  for (int k = 0; k < m->n; k++) {
    const grove_request *r = &m->requests[k];
    grove_compiled *compiled = NULL;
    GROVE_PASS(grove_request_check(r, m->call));
    GROVE_PASS(grove_forest_compiled(r->forest, &compiled));
    GROVE_PASS(grove_field_create(r, &m->fields[k], &m->keys[k]));
  }
  return GROVE_OK;
}

static int is_lifted(const grove_field *f, grove_array which)
{
  return f->spaces[which].kind != &grove_space_host;
}

/* See grove_question. A fetch reads leaves and roots, and writes roots and updates. */
static int lifted_field(const grove_field *f)
{
  int root = is_lifted(f, GROVE_ARRAY_ROOT), leaf = is_lifted(f, GROVE_ARRAY_LEAF);
  switch (f->request.operation) {
  case GROVE_FETCH: return GROVE_LIFTED(leaf + root, root + is_lifted(f, GROVE_ARRAY_UPDATE));
  case GROVE_REDUCE:
  case GROVE_COLLECT: return GROVE_LIFTED(2 * leaf, 2 * root);
  default: return GROVE_LIFTED(2 * root, 2 * leaf);
  }
}

/* The field with the most counts. */
static int lifted_draft(const grove_draft *m)
{
  int most = 0;
  for (int k = 0; k < m->n; k++)
    if (lifted_field(&m->fields[k]) > most) most = lifted_field(&m->fields[k]);
  return most;
}

static int64_t sign_draft(const grove_draft *m)
{
  uint64_t sum = (uint64_t)m->n;
  for (int k = 0; k < m->n; k++) {
    const grove_wiring_key *key = &m->keys[k];
    const uint64_t facts[] = {(uint64_t)m->requests[k].forest->serial, (uint64_t)key->operation,
                              (uint64_t)key->unit_bytes, (uint64_t)key->unit_kind,
                              (uint64_t)(2 * (key->op_number + 1) + key->shared)};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) sum = sum * 1000003 + facts[i];
  }
  return (int64_t)(sum & INT64_MAX >> 1) + 1;
}

/* Checks the requests. */
static grove_status prepare_draft(grove_draft *m)
{
  GROVE_PASS(make_fields(m));
  m->purpose = (grove_purpose){sign_draft(m), m, grove_draft_differ};
  m->routing.lifted = lifted_draft(m);
  return GROVE_OK;
}

static grove_status make_draft(grove_draft *m)
{
  if (!m->wiring)
    GROVE_PASS(grove_wiring_create(m->ctx, m->n, m->requests, m->keys, &m->routing, m->persistent,
                                   &m->wiring));
  if (m->wiring->check && !m->requests->unbound)
    GROVE_PASS(grove_check_overlap(m->wiring, m->fields));
  return grove_transfer_create(m->kind, m->wiring, m->n, &m->fields, &m->op);
}

static void discard_draft(grove_draft *m)
{
  grove_fields_free(m->n, m->fields);
  free(m->keys);
  m->fields = NULL;
  m->keys = NULL;
}

/* Undoes all of a draft that cannot be used. */
static void undo_draft(grove_draft *m)
{
  discard_draft(m);
  if (m->op) grove_transfer_destroy(m->op);
  if (m->wiring) grove_wiring_release(m->wiring);
  m->op = NULL;
  m->wiring = NULL;
  m->purpose.signature = 1;
}

grove_status grove_draft_further(grove_draft *m)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(prepare_draft(m));
  GROVE_TRY(make_draft(m));
  GROVE_TRY(grove_transfer_connect(m->op, 0));
fail:
  discard_draft(m);
  return status;
}

/* ---- what all ranks do ---- */

/* Makes a wiring and an operation on the route. Agreed by all. */
static grove_status make_on_route(grove_draft *m, grove_status mine, int *rewired)
{
  if (mine == GROVE_OK) mine = make_draft(m);
  return grove_wiring_agree(m->ctx, mine, &m->purpose, m->wiring, &m->routing.lifted, rewired);
}

static grove_routing standard_unpriced(int lifted)
{
  return (grove_routing){
    .route = &grove_route_standard, .price = {.seconds = NAN}, .lifted = lifted};
}

/* A letter too long for a route that relays may not be too long for standard. Agreed by all. */
static grove_status make_first(grove_draft *m, grove_status mine)
{
  grove_status status = GROVE_OK;
  grove_sentence before;
  int rewired = 0;
  m->purpose.signature = 1;
  GROVE_TRY(grove_context_need_machine(m->ctx));
  double since = grove_trace_clock(m->ctx);
  if (mine == GROVE_OK) mine = prepare_draft(m);
  if (m->hasty)
    m->routing = standard_unpriced(m->routing.lifted);
  else
    mine = grove_routing_find(m->ctx, mine, &m->purpose, m->n, m->requests, m->keys, &m->routing);
  grove_error_keep(&before);
  status = make_on_route(m, mine, &rewired);
  if (status == GROVE_ERR_UNSUPPORTED && m->routing.route->relays) {
    grove_error_restore(&before);
    undo_draft(m);
    m->routing = (grove_routing){.route = &grove_route_standard};
    mine = prepare_draft(m);
    status = make_on_route(m, mine, &rewired);
  }
  GROVE_TRY(status);
  if (!m->hasty) GROVE_TRY(grove_routing_price(m->ctx, m->n, m->requests, m->keys, &m->routing));
  m->wiring->price = m->routing.price;
  m->wiring->hasty = m->hasty;
  m->wiring->lifts_for_nothing =
    m->routing.lifted > 0 && m->ctx->machine && !grove_machine_has_copies(m->ctx->machine);
  GROVE_TRY(grove_wiring_choose_network(m->wiring));
  GROVE_TRY(grove_wiring_carry(m->wiring));
  GROVE_TRY(grove_wiring_open_account(m->op, since));
  GROVE_TRY(grove_transfer_connect(m->op, rewired));
  discard_draft(m);
  return GROVE_OK;
fail:
  undo_draft(m);
  return status;
}

grove_status grove_draft_first(grove_draft *m, grove_status mine)
{
  GROVE_PASS(grove_context_enter_call(m->ctx, m->call));
  grove_status status = make_first(m, mine);
  grove_context_leave_call(m->ctx);
  return status;
}

/* ---- persistent operations ---- */

/* Where a network may refuse arrays, a rank whose arrays it took must not wait for one whose it did
 * not. Agreed by all there; elsewhere this rank's. */
static grove_status set_first_arrays(grove_transfer *op)
{
  grove_wiring *w = op->wiring;
  grove_status mine = grove_transfer_set_arrays(op);
  if (!w->carriers[w->ncarriers - 1]->registers) return mine; /* the same kind on every rank */
  return grove_context_agree(w->ctx, mine, NULL, 0);
}

/* A transfer bound to its arrays. Agreed by all, except for what can be wrong with arrays. */
static grove_status make_bound(grove_draft *m, grove_status mine, grove_transfer **out)
{
  grove_status status = GROVE_OK;
  grove_op *op = NULL;
  GROVE_TRY(grove_draft_first(m, mine));
  op = &m->op->base;
  grove_transfer_hold_forests(m->op);
  GROVE_TRY(set_first_arrays(m->op));
  *out = m->op;
  return GROVE_OK;
fail:
  grove_op_give_up(&op);
  return status;
}

/* Operations in a contest have two tags each, and some MPIs have few. They may use one in this many
 * of the tags. */
enum { SHARE_OF_TAGS = 4 };

/* The same operation on another route, if possible, and the contest of both. Agreed by all. */
static grove_status add_rival(const grove_draft *first, const grove_routing *rival,
                              grove_transfer **op, grove_op **out)
{
  grove_status status = GROVE_OK;
  grove_draft m = {.ctx = first->ctx,
                   .call = first->call,
                   .n = first->n,
                   .requests = first->requests,
                   .persistent = 1,
                   .routing = *rival,
                   .kind = first->kind};
  grove_transfer *other = NULL;
  grove_sentence before;
  if ((*op)->wiring->tag > m.ctx->tag_limit / SHARE_OF_TAGS) return GROVE_OK; /* on every rank */
  grove_error_keep(&before);
  status = make_bound(&m, GROVE_OK, &other);
  if (status == GROVE_ERR_UNSUPPORTED) { /* on every rank too */
    grove_error_restore(&before);
    return GROVE_OK;
  }
  GROVE_TRY(status);
  if (m.routing.route == rival->route)
    GROVE_TRY(grove_contest_open(op, &other, first->routing.question, out));
fail:
  if (other) { /* the contest did not take it */
    grove_op *spare = &other->base;
    grove_op_give_up(&spare);
  }
  return status;
}

grove_status grove_op_init(grove_context *ctx, const grove_op_kind *kind, const char *call,
                           grove_status mine, int n, const grove_request *requests, grove_op **out)
{
  grove_status status = GROVE_OK;
  grove_draft m = {
    .ctx = ctx, .call = call, .n = n, .requests = requests, .persistent = 1, .kind = kind};
  grove_transfer *op = NULL;
  grove_routing rival;
  grove_op *made = NULL;
  grove_settings settings = grove_routing_settings(ctx, n, requests);
  GROVE_TRY(make_bound(&m, mine, &op));
  if (grove_routing_has_rival(&settings, &m.routing, &rival))
    GROVE_TRY(add_rival(&m, &rival, &op, &made));
  *out = made ? made : &op->base;
  return GROVE_OK;
fail:
  if (op) {
    grove_op *spare = &op->base;
    grove_op_give_up(&spare);
  }
  return status;
}
