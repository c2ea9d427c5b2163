/* A bundle: one operation made of its members' requests. What their plans send to the same rank in
 * the same stage is one letter. Nothing else is new. Members of members are members.
 */
#include "exec/transfer.h"

#include <stdlib.h>

/* The context of an empty bundle, which deals with no ranks. */
static grove_context nowhere = {
  .references = 1,
  .comm = MPI_COMM_NULL,
  .active = {.next = &nowhere.active, .previous = &nowhere.active},
};

static grove_status check_member(const grove_op *op, int k, const grove_op *first)
{
  GROVE_PASS_CHECK(op, GROVE_ERR_ARG, "grove_op_bundle: operation %d is NULL", k);
  GROVE_PASS_CHECK(
    op->ctx == first->ctx || op->kind->count(op) == 0, GROVE_ERR_ARG,
    "rank %d: grove_op_bundle: operation %d, a %s, is of another context than operation 0",
    op->ctx->rank, k, grove_op_label(op));
  GROVE_PASS_CHECK(op->kind->count(op) >= 0, GROVE_ERR_UNSUPPORTED,
                   "rank %d: grove_op_bundle: operation %d, a %s, cannot be bundled", op->ctx->rank,
                   k, grove_op_label(op));
  GROVE_PASS_CHECK(
    !grove_op_is_begun(op), GROVE_ERR_STATE,
    "rank %d: grove_op_bundle: operation %d, a %s, was begun; only persistent operations "
    "can be bundled",
    op->ctx->rank, k, grove_op_label(op));
  GROVE_PASS_CHECK(op->state == GROVE_OP_IDLE || op->state == GROVE_OP_TOLD, GROVE_ERR_STATE,
                   "rank %d: grove_op_bundle: operation %d, a %s, is under way", op->ctx->rank, k,
                   grove_op_label(op));
  return GROVE_OK;
}

/* What all members ask for. This rank's failure. */
static grove_status list_requests(int n, grove_op *const *ops, const grove_op *first, int *count,
                                  grove_request **out)
{
  grove_request *list = NULL;
  int total = 0;
  for (int k = 0; k < n; k++) {
    GROVE_PASS(check_member(ops[k], k, first));
    total += ops[k]->kind->count(ops[k]);
  }
  GROVE_PASS_NEW(list, total);
  total = 0;
  for (int k = 0; k < n; k++)
    for (int i = 0, members = ops[k]->kind->count(ops[k]); i < members; i++)
      list[total++] = ops[k]->kind->request(ops[k], i);
  *count = total;
  *out = list;
  return GROVE_OK;
}

/* Agreed by all. */
static grove_status make_bundle(grove_context *ctx, int n, grove_op *const *ops,
                                const grove_op *first, grove_op **out)
{
  grove_request *requests = NULL;
  int count = 0;
  grove_status mine = list_requests(n, ops, first, &count, &requests);
  grove_status status =
    grove_op_init(ctx, &grove_kind_bundle, "grove_op_bundle", mine, count, requests, out);
  free(requests);
  return status;
}

/* Local: there is nobody to agree with. */
static grove_status bundle_of_none(grove_op **out)
{
  grove_status status = GROVE_OK;
  grove_wiring *wiring = NULL;
  grove_field *none = NULL;
  grove_transfer *op = NULL;
  GROVE_TRY(grove_wiring_create(&nowhere, 0, NULL, NULL, NULL, 1, &wiring));
  GROVE_NEW(none, 0);
  GROVE_TRY(grove_transfer_create(&grove_kind_bundle, wiring, 0, &none, &op));
  *out = &op->base;
  return grove_transfer_connect(op, 0);
fail:
  free(none);
  if (wiring) grove_wiring_release(wiring);
  return status;
}

/* The first member that has a context, or NULL. */
static grove_op *first_member(int n, grove_op *const *ops)
{
  for (int k = 0; k < n; k++)
    if (ops[k] && ops[k]->kind->count(ops[k]) != 0) return ops[k];
  return NULL;
}

grove_status grove_op_bundle(int n, grove_op *const *ops, grove_op **out)
{
  grove_status status = GROVE_OK;
  grove_op *first = NULL;
  GROVE_CHECK(n >= 0, GROVE_ERR_ARG, "grove_op_bundle: %d operations", n);
  GROVE_CHECK(ops || n == 0, GROVE_ERR_ARG, "grove_op_bundle: the list of operations is NULL");
  first = first_member(n, ops);
  GROVE_CHECK(out, GROVE_ERR_ARG, "grove_op_bundle: out is NULL");
  for (int k = 0; k < n && !first; k++)
    GROVE_CHECK(ops[k], GROVE_ERR_ARG, "grove_op_bundle: operation %d is NULL", k);
  if (!first) return grove_verdict(NULL, bundle_of_none(out));
  GROVE_TRY(grove_context_enter_call(first->ctx, "grove_op_bundle"));
  status = make_bundle(first->ctx, n, ops, first, out);
  grove_context_leave_call(first->ctx);
fail:
  return GROVE_VERDICT(first, status);
}
