/* Letters through a hub in shared memory. Where the receiver passes a letter on, the sender packs
 * it straight into the receiver's hub, from which MPI takes it. The ring only says that it is
 * there. Where the sender passes a letter on, the receiver unpacks it straight out of the sender's
 * hub, where MPI has put it. The next start uses the hub again. Nobody pushes before the owner is
 * through with the old data, and nothing lands before all readers are through. So operations of one
 * wiring go through their hubs one after the other.
 */
#include "exec/transfer.h"

#include <string.h>

/* ---- between an array and another rank's hub ---- */

static char *place_in_hub(const grove_remote *r, int64_t slot, int64_t unit_bytes)
{
  return r->memory + slot * unit_bytes;
}

/* Units from .. from+n-1 of a section into a row of slots. `letter` is the packed letter if an
 * array is in other memory, else NULL. */
static grove_status push_row(const grove_transfer *op, const grove_section *p, int64_t from,
                             int64_t n, const char *letter, char *to)
{
  const grove_field *f = &op->fields[p->field];
  if (!letter)
    return grove_pack(grove_field_mover(f, p->array), &p->shape, grove_field_array(f, p->array),
                      from, n, to);
  memcpy(to, letter + p->at + from * p->unit_bytes, (size_t)(n * p->unit_bytes));
  return GROVE_OK;
}

/* Row by row: the slots of one letter lie in few rows of a hub. */
static grove_status push_section(const grove_transfer *op, const grove_section *p,
                                 const grove_remote *r, const char *letter)
{
  for (int64_t at = 0, n = 0; at < r->shape.units; at += n) {
    int64_t slot = grove_index_at(&r->shape.slots, at);
    n = r->shape.form == GROVE_SHAPE_CONSECUTIVE ? r->shape.units : 1;
    while (at + n < r->shape.units && grove_index_at(&r->shape.slots, at + n) == slot + n) n++;
    GROVE_PASS(push_row(op, p, at, n, letter, place_in_hub(r, slot, p->unit_bytes)));
  }
  return GROVE_OK;
}

/* A list is gathered through a small buffer, which stays in the cache. */
static grove_status pull_section(const grove_transfer *op, const grove_section *p,
                                 const grove_remote *r)
{
  const grove_field *f = &op->fields[p->field];
  const grove_mover *in = grove_field_mover(f, p->array);
  char *array = grove_field_array(f, p->array);
  int64_t room = op->keep_bytes / p->unit_bytes, units = r->shape.units;
  if (r->shape.form == GROVE_SHAPE_CONSECUTIVE)
    return grove_unpack(in, &p->shape, place_in_hub(r, r->shape.slots.first, p->unit_bytes), array,
                        0, units);
  for (int64_t at = 0, n = 0; at < units; at += n) {
    n = units - at < room ? units - at : room;
    GROVE_PASS(grove_pack(&f->packed, &r->shape, r->memory, at, n, op->keep));
    GROVE_PASS(grove_unpack(in, &p->shape, op->keep, array, at, n));
  }
  return GROVE_OK;
}

/* The same into a packed letter. */
static grove_status pull_units(const grove_transfer *op, const grove_section *p,
                               const grove_remote *r, char *letter)
{
  return grove_pack(&op->fields[p->field].packed, &r->shape, r->memory, 0, r->shape.units,
                    letter + p->at);
}

/* ---- flows ---- */

static int is_released(const grove_transfer *op, const grove_flow *flow)
{
  uint64_t released = __atomic_load_n(flow->distant->released, __ATOMIC_ACQUIRE);
  return (int64_t)released + 1 >= op->sequence;
}

int grove_hub_send(grove_transfer *op, grove_bound_stage *s, grove_flow *flow)
{
  const grove_letter *letter = &s->wired->letters[flow->letter];
  grove_ring_writer *w = flow->writer;
  if (flow->way == GROVE_SHM_PUSHED && !is_released(op, flow)) return 0;
  grove_slot *slot = grove_ring_claim(w);
  if (!slot) return 0;
  for (int k = 0; k < letter->nsections && flow->way == GROVE_SHM_PUSHED; k++)
    grove_op_note(&op->base,
                  push_section(op, &letter->sections[k], &flow->remotes[k], flow->bound.memory));
  grove_ring_post(w, slot);
  w->turn++;
  return 1;
}

int grove_hub_receive(grove_transfer *op, grove_bound_stage *s, grove_flow *flow)
{
  const grove_letter *letter = &s->wired->letters[flow->letter];
  grove_ring_reader *r = flow->reader;
  if (r->turn != op->sequence || !grove_ring_peek(r)) return 0;
  for (int k = 0; k < letter->nsections && flow->way == GROVE_SHM_PULLED; k++) {
    const grove_section *p = &letter->sections[k];
    grove_op_note(&op->base, flow->bound.memory
                               ? pull_units(op, p, &flow->remotes[k], flow->bound.memory)
                               : pull_section(op, p, &flow->remotes[k]));
  }
  grove_ring_pass(r);
  r->turn++;
  return 1;
}

/* ---- using it again ---- */

int grove_hub_is_free(const grove_transfer *op)
{
  const grove_shm *shm = op->wiring->shm;
  for (int i = 0; i < shm->nwriters; i++)
    if (op->wiring->pulled[i] && grove_ring_consumed(&shm->writers[i]) < shm->writers[i].next)
      return 0;
  return 1;
}

void grove_hub_release(grove_transfer *op)
{
  op->wiring->run.through = op->sequence;
  if (op->wiring->shm && op->wiring->shm->released)
    __atomic_store_n(op->wiring->shm->released, (uint64_t)op->sequence, __ATOMIC_RELEASE);
}
