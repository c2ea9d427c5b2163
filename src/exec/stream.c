/* grove_cuda.h: operations and streams. A *promise* lets a stream go on when an operation is complete:
 * the stream waits for a word in pinned memory, which a poll writes.
 */
#include "grove_cuda.h"

#include "device/station.h"
#include "exec/transfer.h"

#include <stdlib.h>

struct grove_promise {
  grove_active active; /* while it is not kept */
  grove_op *op;
  grove_station *station;
  uint32_t *word;
  uint32_t value;
  int is_open;
};

/* ---- promises ---- */

static void keep_promise(grove_promise *p)
{
  grove_context_deactivate(&p->active);
  p->is_open = 0;
  __atomic_store_n(p->word, p->value, __ATOMIC_RELEASE);
}

static void advance_promise(grove_active *active)
{
  grove_promise *p = (grove_promise *)active;
  if (grove_op_state_of(p->op) >= GROVE_OP_DONE) keep_promise(p);
}

static grove_status make_promise(grove_op *op)
{
  grove_status status = GROVE_OK;
  grove_promise *p = NULL;
  GROVE_NEW(p, 1);
  p->op = op;
  p->active.advance = advance_promise;
  const grove_driver *driver = (*op->ctx->spaces)->driver;
  GROVE_TRY(grove_station_find(op->ctx, driver, grove_spaces_device(op->ctx), &p->station));
  GROVE_TRY(grove_station_take_word(p->station, &p->word));
  p->value = *p->word;
  op->promise = p;
  return GROVE_OK;
fail:
  free(p);
  return status;
}

void grove_promise_end(grove_op *op)
{
  grove_promise *p = op->promise;
  if (!p) return;
  if (p->is_open) keep_promise(p); /* the stream must not wait for ever */
  grove_station_give_word(p->station, p->word);
  free(p);
  op->promise = NULL;
}

/* The stream waits for the operation, which is under way. */
static grove_status promise_stream(grove_op *op)
{
  GROVE_PASS_CHECK(
    op->ctx->helper, GROVE_ERR_UNSUPPORTED,
    "rank %d: grove_wait_on_stream: the host moves the messages of this %s; that needs "
    "the option progress=thread",
    op->ctx->rank, grove_op_label(op));
  if (!op->promise) GROVE_PASS(make_promise(op));
  grove_promise *p = op->promise;
  const grove_station *s = p->station;
  if (p->is_open) return GROVE_OK;
  GROVE_PASS(s->driver->await(s->device, grove_op_stream(op), p->word, p->value + 1));
  p->value++;
  p->is_open = 1;
  grove_context_activate(op->ctx, &p->active);
  return GROVE_OK;
}

/* ---- the calls ---- */

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
  return status;
}

grove_status grove_wait_on_stream(grove_op *op)
{
  grove_status status = GROVE_OK;
  int done = 0;
  GROVE_TRY(grove_test(op, &done)); /* which says what is wrong with it, if anything */
  if (done) return op->state == GROVE_OP_TOLD ? grove_wait(op) : GROVE_OK;
  grove_context_enter(op->ctx);
  if (!op->kind->takes_streams || !op->ctx->spaces)
    status = grove_error(GROVE_ERR_UNSUPPORTED, __FILE__, __LINE__,
                         "rank %d: grove_wait_on_stream: this %s has nothing to do with a device",
                         op->ctx->rank, grove_op_label(op));
  else
    status = promise_stream(op);
  grove_context_leave(op->ctx);
  if (status == GROVE_OK) op->awaited = 1;
fail:
  return status;
}
