/* A *promise* lets a stream go on when an operation is complete: the stream waits for a word in
 * pinned memory, which a poll writes.
 */
#include "device/station.h"
#include "exec/op.h"

#include <stdlib.h>

struct grove_promise {
  grove_active active; /* while it is open */
  grove_op *op;
  grove_station *station;
  uint32_t *word;
  uint32_t value;
  int is_open;
};

static void keep_promise(grove_promise *p)
{
  grove_context *ctx = p->op->ctx;
  grove_context_deactivate(&p->active);
  p->is_open = 0;
  __atomic_store_n(p->word, p->value, __ATOMIC_RELEASE);
  grove_context_keep_promise(ctx);
}

void grove_promise_look(grove_op *op)
{
  if (op->promise->is_open && !grove_op_is_under_way(op)) keep_promise(op->promise);
}

static void advance_promise(grove_active *active)
{
  grove_promise_look(((grove_promise *)active)->op);
}

static grove_status create_promise(grove_op *op, int device)
{
  grove_status status = GROVE_OK;
  grove_promise *p = NULL;
  GROVE_NEW(p, 1);
  p->op = op;
  p->active.advance = advance_promise;
  const grove_driver *driver = (*op->ctx->spaces)->driver;
  GROVE_TRY(grove_station_find(op->ctx, driver, device, &p->station));
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

grove_status grove_promise_make(grove_op *op)
{
  const grove_driver *driver = (*op->ctx->spaces)->driver;
  int device = driver->device_of(grove_op_stream(op), grove_spaces_device(op->ctx));
  if (op->promise && op->promise->is_open) return GROVE_OK;
  if (op->promise && op->promise->station->device != device) grove_promise_end(op);
  if (!op->promise) GROVE_PASS(create_promise(op, device));
  grove_promise *p = op->promise;
  grove_station *s = p->station;
  s->is_awaited = 1;
  grove_context_begin_promise();
  grove_status status = s->driver->await(s->device, grove_op_stream(op), p->word, p->value + 1);
  grove_context_end_promise(op->ctx, status == GROVE_OK);
  GROVE_PASS(status);
  p->value++;
  p->is_open = 1;
  grove_context_activate(op->ctx, &p->active);
  return GROVE_OK;
}
