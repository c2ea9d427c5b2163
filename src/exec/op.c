#include "exec/op.h"

#include <stdlib.h>
#include <string.h>

/* ---- states ---- */

int grove_op_may_move(grove_op_state from, grove_op_state to)
{
#define TO(state) (1U << GROVE_OP_##state)
  static const unsigned moves[GROVE_OP_STATES] = {
    /* a contest freed while its ranks vote is abandoned, whatever its state */
    [GROVE_OP_IDLE] = TO(ACTIVE) | TO(POOLED) | TO(ABANDONED),
    [GROVE_OP_POOLED] = TO(ACTIVE) | TO(POOLED), /* a start was refused */
    [GROVE_OP_ACTIVE] = TO(DONE) | TO(FAILED) | TO(ABANDONED) | TO(STUCK),
    [GROVE_OP_FAILED] = TO(LEAVING) | TO(STUCK) | TO(ABANDONED),
    [GROVE_OP_ABANDONED] = TO(STUCK),
    [GROVE_OP_LEAVING] = TO(STUCK),
    [GROVE_OP_STUCK] = 0,
    [GROVE_OP_DONE] = TO(IDLE) | TO(TOLD) | TO(POOLED) | TO(DONE) | TO(ABANDONED),
    [GROVE_OP_TOLD] = TO(IDLE) | TO(TOLD) | TO(ACTIVE) | TO(ABANDONED),
  };
#undef TO
  return (moves[from] >> to & 1) != 0;
}

static const char *reason_against(grove_op_state state)
{
  return state == GROVE_OP_FAILED ? "has failed halfway; make a new one" : "is under way already";
}

grove_status grove_op_check_idle(const grove_op *op, const char *call)
{
  GROVE_PASS_CHECK(op->state == GROVE_OP_IDLE || op->state == GROVE_OP_TOLD, GROVE_ERR_STATE,
                   "rank %d: %s: this %s %s", op->ctx->rank, call, grove_op_label(op),
                   reason_against(op->state));
  GROVE_PASS_CHECK(!grove_context_outlives_mpi(op->ctx), GROVE_ERR_STATE,
                   "rank %d: %s: MPI_Finalize was called before this %s", op->ctx->rank, call,
                   grove_op_label(op));
  return GROVE_OK;
}

/* ---- failures ---- */

void grove_op_note(grove_op *op, grove_status status)
{
  if (status == GROVE_OK || op->failure != GROVE_OK) return;
  op->failure = status;
  op->sentence = strdup(grove_last_error());
}

void grove_op_forget_failure(grove_op *op)
{
  op->failure = GROVE_OK;
  free(op->sentence);
  op->sentence = NULL;
}

/* ---- parts ---- */

grove_status grove_op_no_parts(const grove_op *op, const char *call)
{
  return grove_error(GROVE_ERR_UNSUPPORTED, __FILE__, __LINE__,
                     "rank %d: %s: this %s does not go by parts", op->ctx->rank, call,
                     grove_op_label(op));
}

grove_status grove_op_no_start_parts(grove_op *op)
{
  return grove_op_no_parts(op, "grove_start_parts");
}

grove_status grove_op_no_ready(grove_op *op, int64_t first, int64_t count)
{
  (void)first, (void)count;
  return grove_op_no_parts(op, "grove_ready");
}

grove_status grove_op_no_arrived(grove_op *op, int64_t first, int64_t count, int *flag)
{
  (void)first, (void)count, (void)flag;
  return grove_op_no_parts(op, "grove_arrived");
}

grove_status grove_op_no_arrivals(grove_op *op, int64_t *first, int64_t *count)
{
  (void)first, (void)count;
  return grove_op_no_parts(op, "grove_arrivals");
}

grove_status grove_op_no_part_times(grove_op *op, int64_t first, int64_t count,
                                    grove_part_time *out)
{
  (void)first, (void)count, (void)out;
  return grove_op_no_parts(op, "grove_op_part_times");
}
