#include "exec/op.h"
#include "route/route.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A program that makes a new derived type for every exchange would fill the pool for ever; beyond
 * this many the oldest goes. The order of creation is the same on every rank, so all drop the
 * same one. */
enum { POOLED = 64 };

/* The plans of a forest under one set of options. */
typedef struct plans {
  struct plans *next;
  int generation;
  grove_plan *bcast, *reduce;
} plans;

/* What a forest keeps for its operations. */
typedef struct compiled {
  plans *plans;       /* newest first */
  grove_recipe *pool; /* newest first */
} compiled;

const char *grove_operation_name(grove_operation operation)
{
  return operation == GROVE_BCAST ? "bcast" : "reduce";
}

static void free_compiled(void *pointer)
{
  compiled *c = pointer;
  for (grove_recipe *next; c->pool; c->pool = next) {
    next = c->pool->next;
    grove_recipe_release(c->pool);
  }
  for (plans *next; c->plans; c->plans = next) {
    next = c->plans->next;
    grove_plan_free(&c->plans->bcast);
    grove_plan_free(&c->plans->reduce);
    free(c->plans);
  }
  free(c);
}

static grove_status get_compiled(grove_forest *f, compiled **out)
{
  grove_status status = GROVE_OK;
  compiled *c = f->compiled;
  if (!c) {
    GROVE_NEW(c, 1);
    f->compiled = c;
    f->free_compiled = free_compiled;
  }
  *out = c;
fail:
  return status;
}

/* The forest's plan under today's options, in the direction of the data; compiled at first need. */
static grove_status get_plan(grove_forest *f, grove_operation operation, const grove_plan **out)
{
  grove_status status = GROVE_OK;
  compiled *c = NULL;
  plans *p = NULL;
  GROVE_TRY(get_compiled(f, &c));
  if (!c->plans || c->plans->generation != f->ctx->generation) {
    GROVE_NEW(p, 1);
    p->generation = f->ctx->generation;
    GROVE_TRY(grove_route_choose(f)->build(f, &p->bcast));
    GROVE_TRY(grove_plan_reverse(p->bcast, &p->reduce));
    p->next = c->plans;
    c->plans = p;
    p = NULL;
  }
  *out = operation == GROVE_BCAST ? c->plans->bcast : c->plans->reduce;
fail:
  if (p) grove_plan_free(&p->bcast);
  free(p);
  return status;
}

int64_t grove_message_bytes(const grove_recipe *recipe, int64_t units)
{
  return units * recipe->unit.bytes + (recipe->check ? (int64_t)sizeof(grove_trailer) : 0);
}

static grove_status check_size(const grove_recipe *recipe, const grove_message *m,
                               const char *direction)
{
  grove_status status = GROVE_OK;
  int64_t units = m->slots.index.count;
  GROVE_CHECK(recipe->unit.bytes == 0 || units <= (INT_MAX - 64) / recipe->unit.bytes,
              GROVE_ERR_UNSUPPORTED,
              "rank %d has a message of %lld units of %lld bytes %s rank %d: more than 2^31 bytes "
              "in one message are not possible yet",
              recipe->rank, (long long)units, (long long)recipe->unit.bytes, direction, m->peer);
fail:
  return status;
}

static grove_status check_sizes(const grove_recipe *recipe)
{
  grove_status status = GROVE_OK;
  for (int s = 0; s < recipe->plan->nstages; s++) {
    const grove_stage *stage = &recipe->plan->stages[s];
    for (int i = 0; i < stage->nsends; i++) GROVE_TRY(check_size(recipe, &stage->sends[i], "to"));
    for (int i = 0; i < stage->nreceives; i++)
      GROVE_TRY(check_size(recipe, &stage->receives[i], "from"));
  }
fail:
  return status;
}

grove_status grove_recipe_create(const grove_request *r, int persistent, grove_recipe **out)
{
  grove_status status = GROVE_OK;
  grove_context *ctx = r->forest->ctx;
  grove_recipe *recipe = NULL;
  GROVE_NEW(recipe, 1);
  recipe->references = 1;
  recipe->tally = -1;
  recipe->operation = r->operation;
  recipe->ctx = ctx;
  recipe->rank = ctx->rank;
  recipe->type = r->unit;
  recipe->check = ctx->options.check;
  recipe->persistent = persistent && ctx->options.p2p == GROVE_P2P_PERSISTENT;
  recipe->generation = ctx->generation;
  GROVE_TRY(grove_unit_create(r->unit, ctx->comm, &recipe->unit));
  GROVE_TRY(grove_combine_create(r->op, &recipe->unit, &recipe->combine));
  GROVE_TRY(get_plan(r->forest, r->operation, &recipe->plan));
  GROVE_TRY(check_sizes(recipe));
  recipe->counts = grove_plan_count(recipe->plan, &ctx->topo);
  *out = recipe;
  return GROVE_OK;
fail:
  if (recipe) grove_recipe_release(recipe);
  return status;
}

/* The last operation, or the pool, lets go. */
void grove_recipe_release(grove_recipe *recipe)
{
  if (--recipe->references > 0) return;
  while (recipe->members) { /* idle ones of a pool */
    grove_op *op = recipe->members;
    recipe->members = op->next_member;
    op->recipe = NULL;
    grove_op_destroy(op);
  }
  if (recipe->tag > 0) grove_context_return_tag(recipe->ctx, recipe->tag, recipe->sequence);
  grove_identity_release(recipe->identity);
  grove_unit_free(&recipe->unit);
  free(recipe);
}

grove_status grove_recipe_find(const grove_request *r, grove_recipe **out)
{
  grove_status status = GROVE_OK;
  grove_identity *identity = NULL;
  int commutative = 0;
  *out = NULL;
  compiled *c = r->forest->compiled;
  /* A type that MPI does not know is in no pool either; making a recipe of it will fail on all. */
  if (!c || grove_identity_of(r->unit, &identity) != GROVE_OK) return GROVE_OK;
  for (grove_recipe *k = c->pool; k && !*out; k = k->next)
    if (k->operation == r->operation && k->type == r->unit && k->identity == identity &&
        k->combine.op == r->op && k->generation == r->forest->ctx->generation)
      *out = k;
  /* A user's operation may have been freed, and its handle given to one of the other kind. */
  if (*out && (*out)->combine.way == GROVE_COMBINE_MPI && r->op != MPI_MAXLOC &&
      r->op != MPI_MINLOC) {
    GROVE_TRY_MPI(MPI_Op_commutative(r->op, &commutative));
    (*out)->combine.commutative = commutative;
  }
fail:
  return status;
}

/* Takes the oldest recipe out when there are too many; operations under way keep it alive. */
static void drop_oldest(compiled *c)
{
  int n = 0;
  grove_recipe **last = NULL;
  for (grove_recipe **at = &c->pool; *at; at = &(*at)->next, n++) last = at;
  if (n <= POOLED) return;
  grove_recipe *oldest = *last;
  *last = NULL;
  grove_recipe_release(oldest);
}

grove_status grove_recipe_pool(const grove_request *r, grove_recipe *recipe)
{
  grove_status status = GROVE_OK;
  compiled *c = NULL;
  GROVE_TRY(get_compiled(r->forest, &c));
  GROVE_TRY(grove_identity_of(r->unit, &recipe->identity));
  if (recipe->identity) recipe->identity->references++;
  recipe->references++;
  recipe->next = c->pool;
  c->pool = recipe;
  drop_oldest(c);
fail:
  return status;
}
