/* The public calls about parts. What they do is up to the kind. Only the first and the last take
 * the context's lock; any number of threads may call the others at once.
 */
#include "exec/op.h"

grove_status grove_start_parts(grove_op *op)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(op, GROVE_ERR_ARG, "grove_start_parts: the operation is NULL");
  if (grove_context_uses_devices(op->ctx)) GROVE_TRY(grove_op_settle_streams(op));
  grove_context_enter(op->ctx);
  status = op->kind->start_parts(op);
  grove_context_leave(op->ctx);
fail:
  return GROVE_VERDICT(op, status);
}

grove_status grove_ready(grove_op *op, int64_t first, int64_t count)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(op, GROVE_ERR_ARG, "grove_ready: the operation is NULL");
  status = op->kind->ready(op, first, count);
fail:
  return GROVE_VERDICT(op, status);
}

grove_status grove_arrived(grove_op *op, int64_t first, int64_t count, int *yes)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(op && yes, GROVE_ERR_ARG, "grove_arrived: %s is NULL", op ? "yes" : "the operation");
  status = op->kind->arrived(op, first, count, yes);
fail:
  return GROVE_VERDICT(op, status);
}

grove_status grove_arrivals(grove_op *op, int64_t *first, int64_t *count)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(op && first && count, GROVE_ERR_ARG, "grove_arrivals: %s is NULL",
              op ? "first or count" : "the operation");
  status = op->kind->arrivals(op, first, count);
fail:
  return GROVE_VERDICT(op, status);
}

grove_status grove_op_part_times(grove_op *op, int64_t first, int64_t count, grove_part_time *out)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(op && (out || count == 0), GROVE_ERR_ARG, "grove_op_part_times: %s is NULL",
              op ? "out" : "the operation");
  grove_context_enter(op->ctx);
  status = op->kind->part_times(op, first, count, out);
  grove_context_leave(op->ctx);
fail:
  return GROVE_VERDICT(op, status);
}
