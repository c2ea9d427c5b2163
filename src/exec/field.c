/* Fields: the user's unit and operation, prepared once, and the memory that units need on their way
 * besides the user's arrays: edges and hubs.
 */
#include "exec/transfer.h"

#include <stdlib.h>

enum { ALIGNMENT = 64 }; /* a user's operation sees aligned units */

/* Memory for units as in a letter, between arrays in a space and others. */
static grove_status make_units(grove_space space, int64_t units, int64_t bytes, void **out)
{
  int64_t whole = space.kind == &grove_space_host ? ALIGNMENT : GROVE_PAGE;
  *out = aligned_alloc((size_t)whole, (size_t)grove_round_up(units * bytes + 1, whole));
  GROVE_PASS_CHECK(*out, GROVE_ERR_MEMORY, "no memory for %lld values on their way",
                   (long long)units);
  return GROVE_OK;
}

/* A fetch sends leaves as they are, and answers in the same way. What the user asked for happens at
 * the roots, between letters. */
static grove_status make_fetching_field(const grove_request *r, const grove_unit *unit,
                                        const grove_combine *combine, grove_field *f)
{
  grove_unit packed = grove_unit_packed(unit), borrowed = *unit;
  grove_combine replace;
  borrowed.owned = 0;
  GROVE_PASS(grove_combine_create(MPI_REPLACE, unit, &replace));
  GROVE_PASS(grove_mover_create(&packed, &replace, &f->packed));
  GROVE_PASS(grove_mover_create(&borrowed, combine, &f->fetcher));
  GROVE_PASS(
    make_units(f->spaces[GROVE_ARRAY_ROOT], r->forest->roots.slots.count, unit->bytes, &f->edges));
  return grove_mover_create(unit, &replace, &f->mover);
}

grove_status grove_field_create(const grove_request *r, grove_field *out, grove_wiring_key *key)
{
  grove_status status = GROVE_OK;
  grove_field f = {.request = *r};
  grove_unit unit = {0};
  grove_combine combine;
  grove_spaces_look(r->forest->ctx);
  for (int a = 0; a < GROVE_ARRAYS; a++) f.spaces[a] = grove_space_of(r->forest->ctx, r->arrays[a]);
  GROVE_TRY(grove_unit_create(r->unit, r->forest->ctx->comm, &unit));
  GROVE_TRY(grove_combine_create(r->op, &unit, &combine));
  *key = grove_wiring_key_of(r, &unit, &combine);
  if (r->operation == GROVE_FETCH)
    GROVE_TRY(make_fetching_field(r, &unit, &combine, &f));
  else
    GROVE_TRY(grove_mover_create(&unit, &combine, &f.mover));
  f.request.unit = f.mover.unit.type; /* the user may free the original */
  *out = f;
  return GROVE_OK;
fail:
  grove_unit_free(&unit);
  grove_mover_free(&f.fetcher);
  grove_mover_free(&f.packed);
  free(f.edges);
  return status;
}

grove_status grove_field_make_packed(grove_field *f)
{
  grove_unit packed = grove_unit_packed(&f->mover.unit);
  grove_combine replace;
  if (f->packed.copy) return GROVE_OK;
  GROVE_PASS(grove_combine_create(MPI_REPLACE, &f->mover.unit, &replace));
  return grove_mover_create(&packed, &replace, &f->packed);
}

grove_status grove_field_equip(const grove_lane *lane, grove_field *f)
{
  const grove_unit *unit = &f->mover.unit;
  int64_t edges = lane->whole && !f->edges ? lane->fetched.units : 0;
  if (lane->landing.units > 0) {
    GROVE_PASS(grove_field_make_packed(f));
    GROVE_PASS(make_units(f->spaces[lane->lands_in], lane->landing.units, unit->bytes, &f->places));
  }
  if (!lane->plans->route->relays) return GROVE_OK;
  GROVE_PASS(grove_field_make_packed(f));
  if (lane->key.operation == GROVE_REDUCE && lane->key.merges) {
    grove_unit packed = unit->dense ? *unit : grove_unit_packed(unit);
    packed.owned = 0;
    packed.kind = unit->kind;
    packed.elements = unit->elements;
    packed.element_bytes = unit->element_bytes;
    GROVE_PASS(grove_mover_create(&packed, &f->mover.combine, &f->merger));
  }
  if (edges > 0) GROVE_PASS(make_units(f->spaces[GROVE_ARRAY_ROOT], edges, unit->bytes, &f->edges));
  return GROVE_OK;
}

grove_status grove_transfer_make_hubs(grove_transfer *op)
{
  const grove_wiring *wiring = op->wiring;
  for (int k = 0; k < op->nfields; k++) {
    grove_field *f = &op->fields[k];
    int64_t units = wiring->lanes[k].plan->hub;
    if (units == 0) continue;
    if (wiring->uses_hubs) {
      f->hub = wiring->shm->areas ? wiring->shm->areas[k] : NULL;
    } else {
      GROVE_PASS(
        make_units(f->spaces[GROVE_ARRAY_HUB], units, f->mover.unit.bytes, &f->hub_memory));
      f->hub = f->hub_memory;
    }
  }
  return GROVE_OK;
}

void grove_fields_free(int n, grove_field *fields)
{
  for (int k = 0; fields && k < n; k++) {
    grove_mover_free(&fields[k].fetcher); /* borrows from */
    grove_mover_free(&fields[k].merger);  /* so does this */
    free(fields[k].hub_memory);
    grove_mover_free(&fields[k].packed);
    grove_mover_free(&fields[k].mover);
    free(fields[k].edges);
    free(fields[k].places);
    free(fields[k].copy);
    free(fields[k].roots);
    free(fields[k].leaves);
  }
  free(fields);
}

void grove_transfer_hold_forests(grove_transfer *op)
{
  for (int k = 0; k < op->nfields; k++) grove_forest_hold(op->fields[k].request.forest);
}

void grove_transfer_release_forests(grove_transfer *op)
{
  int n = op->nfields; /* an operation of a pool may go with its only forest */
  for (int k = 0; k < n; k++) {
    grove_forest *forest = op->fields[k].request.forest;
    op->fields[k].request.forest = NULL;
    grove_forest_release(forest);
  }
}
