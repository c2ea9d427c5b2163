#include "exec/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what can be wrong with a request ---- */

/* A NULL array is fine where the forest has no edge in it. */
static grove_status check_array(const grove_request *r, const char *call, grove_array which,
                                const char *name)
{
  grove_status status = GROVE_OK;
  const grove_forest *f = r->forest;
  int64_t edges = which == GROVE_ARRAY_ROOT ? f->roots.slots.count : f->nleaves;
  GROVE_CHECK(r->arrays[which] || edges == 0, GROVE_ERR_ARG,
              "rank %d: %s: the %s array is NULL, but forest '%.100s' has %lld %s here",
              f->ctx->rank, call, name, grove_forest_label(f), (long long)edges,
              which == GROVE_ARRAY_ROOT ? "edges to it" : "leaves");
fail:
  return status;
}

static grove_status check_arrays(const grove_request *r, const char *call)
{
  grove_status status = GROVE_OK;
  int many = r->operation == GROVE_COLLECT || r->operation == GROVE_DISTRIBUTE;
  GROVE_TRY(check_array(r, call, GROVE_ARRAY_ROOT, many ? "multi-root" : "root"));
  GROVE_TRY(check_array(r, call, GROVE_ARRAY_LEAF, "leaf"));
  if (r->operation == GROVE_FETCH) GROVE_TRY(check_array(r, call, GROVE_ARRAY_UPDATE, "update"));
fail:
  return status;
}

/* ---- making wirings and operations ---- */

static grove_status make_fields(int n, const grove_request *requests, const char *call,
                                grove_field *fields, grove_wiring_key *keys)
{
  grove_status status = GROVE_OK;
  for (int k = 0; k < n; k++) {
    grove_compiled *compiled = NULL;
    GROVE_TRY(check_arrays(&requests[k], call));
    GROVE_TRY(grove_forest_compiled(requests[k].forest, &compiled));
    GROVE_TRY(grove_field_create(&requests[k], &fields[k], &keys[k]));
  }
fail:
  return status;
}

/* What is made of requests. */
typedef struct product {
  int n;
  grove_field *fields;
  grove_wiring_key *keys;
  int64_t signature;    /* positive, and the same on every rank that makes the same operation */
  grove_wiring *wiring; /* one that is given is used */
  grove_op *op;
} product;

static int64_t sign(int n, const grove_request *requests, const grove_wiring_key *keys)
{
  uint64_t sum = (uint64_t)n;
  for (int k = 0; k < n; k++) {
    const uint64_t facts[] = {(uint64_t)requests[k].forest->serial, (uint64_t)keys[k].operation,
                              (uint64_t)keys[k].unit_bytes, (uint64_t)keys[k].unit_kind,
                              (uint64_t)(2 * (keys[k].op_number + 1) + keys[k].shared)};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) sum = sum * 1000003 + facts[i];
  }
  return (int64_t)(sum & INT64_MAX >> 1) + 1;
}

/* Looks at requests. */
static grove_status prepare(const char *call, int n, const grove_request *requests, product *out)
{
  grove_status status = GROVE_OK;
  out->signature = 1;
  out->n = n;
  GROVE_NEW(out->fields, n);
  GROVE_NEW(out->keys, n);
  GROVE_TRY(make_fields(n, requests, call, out->fields, out->keys));
  out->signature = sign(n, requests, out->keys);
fail:
  return status;
}

/* All that a rank can do, and that can fail, by itself. */
static grove_status make(grove_context *ctx, const grove_request *requests,
                         const grove_routing *routing, int persistent, product *out)
{
  grove_status status = GROVE_OK;
  if (!out->wiring)
    GROVE_TRY(
      grove_wiring_create(ctx, out->n, requests, out->keys, routing, persistent, &out->wiring));
  if (out->wiring->check) GROVE_TRY(grove_check_overlap(out->wiring, out->fields));
  GROVE_TRY(grove_op_create(out->wiring, out->n, &out->fields, &out->op));
fail:
  return status;
}

static void discard(product *p)
{
  grove_fields_free(p->n, p->fields);
  free(p->keys);
}

/* All of it, where it cannot be used. */
static void undo(product *p)
{
  discard(p);
  if (p->op) grove_op_destroy(p->op);
  if (p->wiring) grove_wiring_release(p->wiring);
  *p = (product){.signature = 1};
}

/* A wiring and an operation on this route. Agreed by all. */
static grove_status make_on_route(grove_context *ctx, grove_status mine,
                                  const grove_request *requests, int persistent,
                                  const grove_routing *routing, product *out, int *rewired)
{
  if (mine == GROVE_OK) mine = make(ctx, requests, routing, persistent, out);
  return grove_wiring_agree(ctx, mine, out->signature, out->wiring, rewired);
}

/* A new wiring with its first operation. What is too long for a route that relays may not be so
 * for standard. Agreed by all. */
static grove_status make_first(grove_context *ctx, const char *call, grove_status mine, int n,
                               const grove_request *requests, int persistent,
                               grove_routing *routing, grove_op **out)
{
  grove_status status = GROVE_OK;
  product made = {.signature = 1};
  grove_sentence before;
  int rewired = 0;
  GROVE_TRY(grove_context_need_machine(ctx));
  double since = grove_trace_clock(ctx);
  if (mine == GROVE_OK) mine = prepare(call, n, requests, &made);
  mine = grove_routing_find(ctx, mine, made.signature, n, requests, made.keys, routing);
  grove_error_keep(&before);
  status = make_on_route(ctx, mine, requests, persistent, routing, &made, &rewired);
  if (status == GROVE_ERR_UNSUPPORTED && routing->route->relays) {
    grove_error_restore(&before);
    undo(&made);
    *routing = (grove_routing){.route = &grove_route_standard};
    mine = prepare(call, n, requests, &made);
    status = make_on_route(ctx, mine, requests, persistent, routing, &made, &rewired);
  }
  GROVE_TRY(status);
  GROVE_TRY(grove_wiring_carry(made.wiring));
  GROVE_TRY(grove_wiring_open_account(made.op, since));
  GROVE_TRY(grove_op_connect(made.op, rewired));
  *out = made.op;
  discard(&made);
  return GROVE_OK;
fail:
  undo(&made);
  return status;
}

static grove_status init(grove_context *ctx, const char *call, grove_status mine, int n,
                         const grove_request *requests, int persistent, grove_routing *routing,
                         grove_op **out)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(grove_context_enter_call(ctx, call));
  status = make_first(ctx, call, mine, n, requests, persistent, routing, out);
  grove_context_leave_call(ctx);
fail:
  return status;
}

void grove_op_give_up(grove_op **op)
{
  grove_sentence sentence;
  if (!*op) return;
  grove_error_keep(&sentence);
  grove_op_free(op);
  grove_error_restore(&sentence);
}

/* ---- persistent operations ---- */

static grove_status init_on_route(grove_context *ctx, const char *call, grove_status mine, int n,
                                  const grove_request *requests, grove_routing *routing,
                                  grove_op **out)
{
  grove_status status = GROVE_OK;
  grove_op *op = NULL;
  GROVE_TRY(init(ctx, call, mine, n, requests, 1, routing, &op));
  grove_op_hold_forests(op);
  GROVE_TRY(grove_op_set_arrays(op));
  *out = op;
  return GROVE_OK;
fail:
  grove_op_give_up(&op);
  return status;
}

/* Of the tags so much may go to operations that are in a contest, which have two each: some MPIs
 * have few. */
enum { SHARE_OF_TAGS = 4 };

/* The same operation on another route, for a contest, if that is possible. Agreed by all. */
static grove_status add_rival(grove_op *op, const char *call, int n, const grove_request *requests,
                              grove_routing *rival)
{
  grove_status status = GROVE_OK;
  grove_op *other = NULL;
  grove_sentence before;
  const grove_route *wanted = rival->route;
  if (op->wiring->tag > op->ctx->tag_limit / SHARE_OF_TAGS) return GROVE_OK; /* on every rank */
  grove_error_keep(&before);
  status = init_on_route(op->ctx, call, GROVE_OK, n, requests, rival, &other);
  if (status == GROVE_ERR_UNSUPPORTED) { /* so is this */
    grove_error_restore(&before);
    return GROVE_OK;
  }
  GROVE_TRY(status);
  if (rival->route == wanted) GROVE_TRY(grove_contest_open(op, &other));
fail:
  grove_op_give_up(&other); /* not taken */
  return status;
}

grove_status grove_op_init(grove_context *ctx, const char *call, grove_status mine, int n,
                           const grove_request *requests, grove_op **out)
{
  grove_status status = GROVE_OK;
  grove_op *op = NULL;
  grove_routing best = {0}, rival;
  GROVE_TRY(init_on_route(ctx, call, mine, n, requests, &best, &op));
  if (grove_routing_has_rival(ctx, &best, &rival))
    GROVE_TRY(add_rival(op, call, n, requests, &rival));
  *out = op;
  return GROVE_OK;
fail:
  grove_op_give_up(&op);
  return status;
}

/* ---- one shot ---- */

/* Idle operations that a wiring keeps; more than a few only a program has that uses many types. */
enum { IDLE_OPERATIONS = 16 };

/* Puts an operation among the members of its wiring; when many are idle, the one that came first
 * goes. */
static void join(grove_op *op)
{
  grove_wiring *wiring = op->wiring;
  grove_op **first_idle = NULL;
  int idle = 0;
  op->begun = op->careful = 1;
  op->next_member = wiring->members;
  wiring->members = op;
  for (grove_op **at = &op->next_member; *at; at = &(*at)->next_member)
    if (!(*at)->in_use && !(*at)->abandoned) {
      first_idle = at;
      idle++;
    }
  if (idle < IDLE_OPERATIONS) return;
  grove_op *oldest = *first_idle;
  *first_idle = oldest->next_member;
  grove_op_destroy(oldest);
}

/* Was the operation made for this type? The handle of a named one is enough; that of a derived one
 * may have been given to another type since. */
static int same_type(const grove_op *op, MPI_Datatype unit)
{
  grove_identity *identity = NULL;
  if (op->type != unit) return 0;
  if (!op->identity) return 1;
  return grove_identity_of(unit, &identity) == GROVE_OK && identity == op->identity;
}

/* What the user's MPI operation is for. */
static grove_combine *combine_of(grove_op *op)
{
  grove_field *f = &op->fields[0];
  return f->request.operation == GROVE_FETCH ? &f->fetcher.combine : &f->mover.combine;
}

/* An idle operation that was made for the same type and operation as this call: the usual case,
 * which allocates nothing. */
static grove_op *find_idle(const grove_request *r)
{
  for (grove_wiring *c = grove_wiring_next(r->forest, NULL, r->operation); c;
       c = grove_wiring_next(r->forest, c, r->operation))
    for (grove_op *op = c->members; op; op = op->next_member)
      if (!op->in_use && !op->abandoned && combine_of(op)->op == r->op && same_type(op, r->unit))
        return op;
  return NULL;
}

/* The wiring that this call belongs to, or NULL if it is the first of its kind. A call that is
 * wrong belongs to none; it is this rank's failure where others have used the forest this way, and
 * agreed upon where nobody has. */
static grove_status find_wiring(const grove_request *r, grove_wiring **out)
{
  grove_status status = GROVE_OK;
  grove_unit unit = {0};
  grove_combine combine;
  *out = grove_wiring_next(r->forest, NULL, r->operation);
  if (!*out) return GROVE_OK;
  GROVE_TRY(grove_unit_create(r->unit, r->forest->ctx->comm, &unit));
  GROVE_TRY(grove_combine_create(r->op, &unit, &combine));
  grove_wiring_key key = grove_wiring_key_of(r, &unit, &combine);
  *out = grove_wiring_find(r->forest, &key);
fail:
  grove_unit_free(&unit);
  return status;
}

/* A further call of a kind waits for nobody, so what is wrong with it is this rank's failure, and
 * the others' timeouts name it. */
static grove_status reuse(const grove_request *r, const char *call, grove_op *op)
{
  grove_status status = GROVE_OK;
  grove_combine *combine = combine_of(op);
  GROVE_TRY(check_arrays(r, call));
  /* A user's operation may have been freed, and its handle given to one of the other kind. */
  if (combine->number < 0)
    GROVE_TRY(grove_combine_create(r->op, &op->fields[0].mover.unit, combine));
fail:
  return status;
}

/* The first operation of its kind on all ranks, or a further one on a wiring that is there, which
 * is a local affair: operations of one wiring share its tag and match in the order of starts. */
static grove_status make_further(const grove_request *r, const char *call, grove_op **out)
{
  grove_status status = GROVE_OK;
  product made = {0};
  grove_routing routing = {0};
  grove_op *op = NULL;
  GROVE_TRY(find_wiring(r, &made.wiring));
  if (made.wiring) {
    GROVE_TRY(prepare(call, 1, r, &made));
    GROVE_TRY(make(r->forest->ctx, r, NULL, 0, &made));
    op = made.op;
    GROVE_TRY(grove_op_connect(op, 0));
  } else {
    GROVE_TRY(init(r->forest->ctx, call, GROVE_OK, 1, r, 0, &routing, &op));
    status = grove_wiring_pool(r->forest, op->wiring);
    grove_wiring_release(op->wiring); /* the pool has it now */
    GROVE_TRY(status);
  }
  op->type = r->unit;
  GROVE_TRY(grove_identity_of(r->unit, &op->identity));
  grove_identity_hold(op->identity);
  join(op);
  *out = op;
  discard(&made);
  return GROVE_OK;
fail:
  discard(&made);
  if (op) grove_op_destroy(op);
  return status;
}

/* The arrays and the forest of this call. */
static grove_status bind(grove_op *op, const grove_request *r)
{
  grove_status status = GROVE_OK;
  grove_request *bound = &op->fields[0].request;
  memcpy(bound->arrays, r->arrays, sizeof bound->arrays);
  bound->forest = r->forest;
  if (op->wiring->check) GROVE_TRY(grove_check_overlap(op->wiring, op->fields));
  GROVE_TRY(grove_op_set_arrays(op));
fail:
  return status;
}

grove_status grove_op_begin(const grove_request *r, const char *call, grove_op **out)
{
  grove_status status = GROVE_OK;
  grove_op *op = find_idle(r);
  if (op)
    GROVE_TRY(reuse(r, call, op));
  else
    GROVE_TRY(make_further(r, call, &op));
  GROVE_TRY(bind(op, r));
  grove_op_hold_forests(op);
  op->wiring->references++;
  op->starts = op->timed_starts = 0;
  op->seconds = 0;
  status = grove_op_run(op);
  if (status == GROVE_OK)
    *out = op;
  else
    grove_op_give_up(&op);
fail:
  return status;
}
