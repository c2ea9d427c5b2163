#include "exec/op.h"

#include <stdlib.h>

/* ---- what can be wrong with a request ---- */

static grove_status check_forest(const grove_request *r)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(r->forest, GROVE_ERR_ARG, "%s: the forest is NULL", r->call);
  GROVE_CHECK(r->forest->ready, GROVE_ERR_STATE, "%s: forest '%s' is not set up", r->call,
              grove_forest_label(r->forest));
  r->forest->ctx->call = r->call;
fail:
  return status;
}

/* A NULL array is fine where the forest has no edge in it. */
static grove_status check_arrays(const grove_request *r)
{
  grove_status status = GROVE_OK;
  const grove_forest *f = r->forest;
  int bcast = r->operation == GROVE_BCAST;
  const void *root = bcast ? r->from : r->to, *leaf = bcast ? r->to : r->from;
  GROVE_CHECK(r->out, GROVE_ERR_ARG, "rank %d: %s: out is NULL", f->ctx->rank, r->call);
  GROVE_CHECK(root || f->roots.slots.count == 0, GROVE_ERR_ARG,
              "rank %d: %s: the root array is NULL, but %lld leaves of forest '%.100s' are joined "
              "to it",
              f->ctx->rank, r->call, (long long)f->roots.slots.count, grove_forest_label(f));
  GROVE_CHECK(leaf || f->nleaves == 0, GROVE_ERR_ARG,
              "rank %d: %s: the leaf array is NULL, but forest '%.100s' has %lld leaves here",
              f->ctx->rank, r->call, grove_forest_label(f), (long long)f->nleaves);
fail:
  return status;
}

/* ---- making recipes and operations ---- */

static grove_status make(const grove_request *r, int persistent, grove_recipe **recipe,
                         grove_op **op)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(check_arrays(r));
  GROVE_TRY(grove_recipe_create(r, persistent, recipe));
  if ((*recipe)->check) GROVE_TRY(grove_check_overlap(*recipe, r->from, r->to));
  GROVE_TRY(grove_op_create(*recipe, op));
fail:
  return status;
}

/* The same on every rank that makes the same operation. */
static int64_t signature(const grove_request *r, const grove_recipe *recipe)
{
  int64_t bytes = recipe ? recipe->unit.bytes : 0;
  return (r->forest->serial * 1000003 + bytes) * 8 + (int64_t)r->operation + 1;
}

static grove_status make_row(const grove_request *r, grove_recipe *recipe)
{
  if (r->forest->ctx->options.log != GROVE_LOG_SUMMARY) return GROVE_OK;
  grove_tally row = {.forest = (char *)grove_forest_label(r->forest),
                     .operation = grove_operation_name(r->operation),
                     .route = recipe->plan->route,
                     .forest_serial = r->forest->serial,
                     .unit_bytes = recipe->unit.bytes};
  return grove_context_tally(r->forest->ctx, &row, &recipe->tally);
}

/* A new recipe with its first operation. Agreed by all. */
static grove_status init(const grove_request *r, int persistent, grove_op **out)
{
  grove_status status = GROVE_OK;
  grove_recipe *recipe = NULL;
  grove_op *op = NULL;
  grove_status mine = make(r, persistent, &recipe, &op);
  int tag = 0;
  GROVE_TRY(grove_context_take_tag(r->forest->ctx, mine, signature(r, recipe), &tag));
  recipe->tag = tag;
  GROVE_TRY(make_row(r, recipe));
  GROVE_TRY(grove_op_connect(op));
  *out = op;
  return GROVE_OK;
fail:
  if (op) grove_op_destroy(op);
  if (recipe) grove_recipe_release(recipe);
  return status;
}

static grove_status init_op(const grove_request *r)
{
  grove_status status = GROVE_OK;
  grove_op *op = NULL;
  GROVE_TRY(check_forest(r));
  GROVE_TRY(init(r, 1, &op));
  op->forest = grove_forest_hold(r->forest);
  GROVE_TRY(grove_op_set_arrays(op, r->from, r->to));
  *r->out = op;
  return GROVE_OK;
fail:
  if (op) grove_op_free(&op);
  return status;
}

/* ---- one shot ---- */

/* An idle operation of a pooled recipe; a further one is a local affair, since operations of one
 * recipe share its tag and match in the order in which they are started. */
static grove_status borrow(grove_recipe *recipe, grove_op **out)
{
  grove_status status = GROVE_OK;
  grove_op *op = recipe->members;
  while (op && op->forest) op = op->next_member;
  if (!op) {
    GROVE_TRY(grove_op_create(recipe, &op));
    op->next_member = recipe->members;
    recipe->members = op;
    op->begun = 1;
    GROVE_TRY(grove_op_connect(op));
  }
  *out = op;
fail:
  return status;
}

/* What can be wrong with a further call of a kind. It waits for nobody, so that is this rank's
 * failure, and the others' timeouts name it. */
static grove_status check_begin(const grove_request *r, const grove_recipe *recipe)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(check_arrays(r));
  if (recipe->check) GROVE_TRY(grove_check_overlap(recipe, r->from, r->to));
fail:
  return status;
}

static grove_status first_of_its_kind(const grove_request *r, grove_recipe **out)
{
  grove_status status = GROVE_OK;
  grove_op *op = NULL;
  GROVE_TRY(init(r, 0, &op));
  grove_recipe *recipe = op->recipe;
  op->begun = 1;
  recipe->members = op;
  status = grove_recipe_pool(r, recipe);
  grove_recipe_release(recipe); /* the pool has it now */
  *out = recipe;
fail:
  return status;
}

static grove_status begin(const grove_request *r)
{
  grove_status status = GROVE_OK;
  grove_recipe *recipe = NULL;
  grove_op *op = NULL;
  GROVE_TRY(check_forest(r));
  GROVE_TRY(grove_recipe_find(r, &recipe));
  if (recipe)
    GROVE_TRY(check_begin(r, recipe));
  else
    GROVE_TRY(first_of_its_kind(r, &recipe));
  GROVE_TRY(borrow(recipe, &op));
  GROVE_TRY(grove_op_set_arrays(op, r->from, r->to));
  op->forest = grove_forest_hold(r->forest);
  recipe->references++;
  op->state = GROVE_OP_IDLE;
  status = grove_op_run(op);
  if (status == GROVE_OK)
    *r->out = op;
  else
    grove_op_free(&op);
fail:
  return status;
}

static grove_status begin_and_end(grove_request *r)
{
  grove_status status = GROVE_OK;
  grove_op *op = NULL;
  r->out = &op;
  GROVE_TRY(begin(r));
  GROVE_TRY(grove_end(&op));
  return GROVE_OK;
fail:
  grove_op_free(&op); /* after a timeout */
  return status;
}

/* ---- the calls ---- */

static grove_request request(grove_operation operation, const char *call, grove_forest *f,
                             MPI_Datatype unit, const void *from, void *to, MPI_Op op,
                             grove_op **out)
{
  return (grove_request){operation, call, f, unit, op, from, to, out};
}

grove_status grove_bcast_init(grove_forest *f, MPI_Datatype unit, const void *root, void *leaf,
                              MPI_Op op, grove_op **out)
{
  grove_request r = request(GROVE_BCAST, "grove_bcast_init", f, unit, root, leaf, op, out);
  return init_op(&r);
}

grove_status grove_reduce_init(grove_forest *f, MPI_Datatype unit, const void *leaf, void *root,
                               MPI_Op op, grove_op **out)
{
  grove_request r = request(GROVE_REDUCE, "grove_reduce_init", f, unit, leaf, root, op, out);
  return init_op(&r);
}

grove_status grove_bcast_begin(grove_forest *f, MPI_Datatype unit, const void *root, void *leaf,
                               MPI_Op op, grove_op **out)
{
  grove_request r = request(GROVE_BCAST, "grove_bcast_begin", f, unit, root, leaf, op, out);
  return begin(&r);
}

grove_status grove_reduce_begin(grove_forest *f, MPI_Datatype unit, const void *leaf, void *root,
                                MPI_Op op, grove_op **out)
{
  grove_request r = request(GROVE_REDUCE, "grove_reduce_begin", f, unit, leaf, root, op, out);
  return begin(&r);
}

grove_status grove_bcast(grove_forest *f, MPI_Datatype unit, const void *root, void *leaf,
                         MPI_Op op)
{
  grove_request r = request(GROVE_BCAST, "grove_bcast", f, unit, root, leaf, op, NULL);
  return begin_and_end(&r);
}

grove_status grove_reduce(grove_forest *f, MPI_Datatype unit, const void *leaf, void *root,
                          MPI_Op op)
{
  grove_request r = request(GROVE_REDUCE, "grove_reduce", f, unit, leaf, root, op, NULL);
  return begin_and_end(&r);
}
