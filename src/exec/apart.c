/* Arrays outside the host's memory. Packing and unpacking them may still be under way when the call
 * returns. For every such memory, a letter notes how much was begun. It is packed, or unpacked,
 * when that much is done. Self edges: apart_keep.c.
 */
#include "device/driver.h"
#include "exec/transfer.h"

/* ---- lifts ---- */

grove_status grove_apart_open(grove_transfer *op)
{
  for (int j = 0; j < op->nspaces; j++) {
    grove_space *space = &op->spaces[j];
    GROVE_PASS(space->kind->open(space->kind, op->base.ctx, space->device, &space->lift));
    for (int k = 0; k < op->nfields; k++)
      for (int a = 0; a < GROVE_ARRAYS; a++)
        if (grove_space_is_same(op->fields[k].spaces[a], *space))
          op->fields[k].spaces[a].lift = space->lift;
  }
  return GROVE_OK;
}

void grove_apart_close(grove_transfer *op)
{
  for (int j = 0; j < op->nspaces; j++)
    if (op->spaces[j].lift) {
      op->spaces[j].kind->close(op->spaces[j].lift);
      op->spaces[j].lift = NULL;
    }
}

static void share_dock(const grove_transfer *op, const grove_dock *dock)
{
  char *region = dock->memory - dock->spot.offset;
  for (int j = 0; j < op->nspaces; j++)
    op->spaces[j].kind->share(op->spaces[j].lift, region, dock->spot.region_bytes);
}

void grove_apart_share(const grove_transfer *op)
{
  for (const grove_bound_stage *s = op->stages; s < op->stages + op->nstages; s++)
    for (const grove_flow *flow = s->flows; flow < s->flows_end; flow++)
      if (flow->way == GROVE_SHM_DOCKED) share_dock(op, flow->dock);
}

/* ---- how far it is ---- */

grove_status grove_apart_check(const grove_transfer *op)
{
  for (int j = 0; j < op->nspaces; j++) {
    const grove_driver *driver = op->spaces[j].kind->driver;
    GROVE_PASS_CHECK(!driver ||
                       !driver->is_capturing(op->spaces[j].device, grove_op_stream(&op->base)),
                     GROVE_ERR_UNSUPPORTED,
                     "rank %d: grove_start: the stream of this %s is being captured into a graph, "
                     "and the host moves its messages",
                     op->base.ctx->rank, grove_op_label(&op->base));
  }
  return GROVE_OK;
}

grove_status grove_apart_begin(const grove_transfer *op)
{
  for (int j = 0; j < op->nspaces; j++)
    GROVE_PASS(op->spaces[j].kind->begin(op->spaces[j].lift, grove_op_stream(&op->base)));
  return GROVE_OK;
}

grove_status grove_apart_proceed(grove_transfer *op)
{
  for (int j = 0; j < op->nspaces; j++) GROVE_PASS(op->spaces[j].kind->proceed(op->spaces[j].lift));
  if (op->trail) grove_trail_look(op);
  return GROVE_OK;
}

/* All of them, whatever fails: somebody waits for each. */
grove_status grove_apart_flush(grove_transfer *op)
{
  grove_status status = GROVE_OK;
  for (int j = 0; j < op->nspaces; j++) {
    grove_status outcome = op->spaces[j].kind->flush(op->spaces[j].lift);
    if (status == GROVE_OK) status = outcome;
  }
  if (op->trail) grove_trail_look(op);
  return status;
}

void grove_apart_note(grove_transfer *op, int64_t *marks, grove_heading heading)
{
  for (int j = 0; j < op->nspaces; j++) {
    marks[j] = op->spaces[j].kind->begun(op->spaces[j].lift, heading);
    if (op->wiring->account.traced) grove_trail_add(op, j, heading, marks[j]);
  }
}

int grove_apart_is_past(const grove_transfer *op, const int64_t *marks, grove_heading heading)
{
  for (int j = 0; j < op->nspaces; j++) {
    const grove_space *space = &op->spaces[j];
    if (space->kind->passed(space->lift, heading) < marks[j]) return 0;
  }
  return 1;
}

void grove_apart_mark(grove_transfer *op, grove_bound_stage *s, int i, grove_heading heading)
{
  grove_apart_note(op, s->marks + i * op->nspaces, heading);
}

int grove_apart_has_passed(const grove_transfer *op, const grove_bound_stage *s, int i,
                           grove_heading heading)
{
  return grove_apart_is_past(op, s->marks + i * op->nspaces, heading);
}

void grove_apart_liken(const grove_transfer *op, const void *place, int64_t bytes,
                       const void *message)
{
  for (int j = 0; j < op->nspaces; j++)
    op->spaces[j].kind->liken(op->spaces[j].lift, place, bytes, message);
}

void grove_apart_finish(grove_transfer *op)
{
  grove_pause pause;
  grove_pause_begin(&pause, 0);
  grove_op_note(&op->base, grove_apart_flush(op));
  for (int j = 0; j < op->nspaces; j++)
    for (grove_heading h = GROVE_OUT; h < GROVE_HEADINGS; h++) {
      const grove_space *space = &op->spaces[j];
      int64_t begun = space->kind->begun(space->lift, h);
      while (space->kind->passed(space->lift, h) < begun) grove_pause_step(&pause);
    }
  if (op->trail) grove_trail_look(op);
}
