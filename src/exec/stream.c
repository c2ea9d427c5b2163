/* grove_cuda.h: operations and streams. */
#include "grove_cuda.h"

#include "device/station.h"
#include "exec/op.h"

grove_status grove_op_settle_streams(grove_op *op)
{
  if (op->awaited) GROVE_PASS(grove_wait(op));
  grove_context_enter(op->ctx);
  if (op->promise) grove_promise_look(op);
  grove_context_leave(op->ctx);
  return grove_station_settle(op->ctx);
}

grove_status grove_op_set_stream(grove_op *op, struct CUstream_st *stream)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(op, GROVE_ERR_ARG, "grove_op_set_stream: the operation is NULL");
  grove_context_enter(op->ctx);
  if (!op->kind->takes_streams)
    status = grove_error(GROVE_ERR_UNSUPPORTED, __FILE__, __LINE__,
                         "rank %d: grove_op_set_stream: a %s takes no stream", op->ctx->rank,
                         op->kind->name);
  else if (grove_op_is_under_way(op))
    status = grove_error(GROVE_ERR_STATE, __FILE__, __LINE__,
                         "rank %d: grove_op_set_stream: this %s is active", op->ctx->rank,
                         grove_op_label(op));
  else
    op->stream = (grove_chosen_stream){stream, 1};
  grove_context_leave(op->ctx);
fail:
  return GROVE_VERDICT(op, status);
}

static grove_status check_promise(const grove_op *op)
{
  GROVE_PASS_CHECK(op->kind->takes_streams && op->ctx->spaces, GROVE_ERR_UNSUPPORTED,
                   "rank %d: grove_wait_on_stream: this %s has nothing to do with a device",
                   op->ctx->rank, grove_op_label(op));
  GROVE_PASS_CHECK(op->ctx->helper, GROVE_ERR_UNSUPPORTED,
                   "rank %d: grove_wait_on_stream: the host moves the messages of this %s; that "
                   "needs the option progress=thread",
                   op->ctx->rank, grove_op_label(op));
  GROVE_PASS_CHECK(grove_op_stream(op), GROVE_ERR_UNSUPPORTED,
                   "rank %d: grove_wait_on_stream: this %s has the default stream, and all others "
                   "would wait with it",
                   op->ctx->rank, grove_op_label(op));
  return GROVE_OK;
}

grove_status grove_wait_on_stream(grove_op *op)
{
  grove_status status = GROVE_OK;
  int done = 0;
  GROVE_TRY(grove_op_check_started(op, "grove_wait_on_stream"));
  grove_context_enter(op->ctx);
  status = check_promise(op);
  grove_context_leave(op->ctx);
  GROVE_TRY(status);
  GROVE_TRY(grove_test(op, &done));
  grove_context_enter(op->ctx);
  if (!done || !op->promise) status = grove_promise_make(op);
  if (status == GROVE_OK && op->guard) grove_guard_close(op->guard); /* the stream may go on */
  grove_context_leave(op->ctx);
  if (status == GROVE_OK) op->awaited = 1;
fail:
  return GROVE_VERDICT(op, status);
}
