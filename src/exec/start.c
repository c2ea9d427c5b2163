/* Start, as short as possible for a plain transfer. */
#include "exec/transfer.h"

/* The usual start is a jump. Inlined into grove_start, this would make it save registers. */
__attribute__((noinline)) static grove_status start_with_care(grove_op *op)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(op, GROVE_ERR_ARG, "grove_start: the operation is NULL");
  if (grove_context_uses_devices(op->ctx)) GROVE_TRY(grove_op_settle_streams(op));
  grove_context_enter(op->ctx);
  status = op->kind->start(op);
  grove_context_leave(op->ctx);
fail:
  return GROVE_VERDICT(op, status);
}

grove_status grove_start(grove_op *op)
{
  if (!op || op->ctx->careful || op->state != GROVE_OP_IDLE || op->careful)
    return start_with_care(op);
  return grove_transfer_run((grove_transfer *)op);
}
