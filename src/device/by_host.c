#include "device/by_host.h"

#include <stdlib.h>
#include <string.h>

struct grove_by_host {
  grove_motion motion;
  int64_t count;              /* units */
  int64_t nslots;             /* different ones */
  int64_t bytes;              /* of a slot: its true extent */
  grove_index places, starts; /* the slots of the window, by their numbers among these */
  grove_shape shape;          /* of those */
  grove_prepared out, in;     /* whole slots, as bytes */
  char *mirror;               /* of `slots`, on the device */
  char *slots;                /* one behind the other, */
  char *array;                /* and as they lie in an array; its first byte */
  int64_t first;              /* what that is from slot 0 on */
};

/* ---- which slots ---- */

static int compare_slots(const void *a, const void *b)
{
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int64_t place_in(const int64_t *slots, int64_t n, int64_t slot)
{
  const int64_t *at = bsearch(&slot, slots, (size_t)n, sizeof slot, compare_slots);
  return at - slots;
}

/* Sorts them and drops those that are there twice; returns how many are left. */
static int64_t make_distinct(int64_t *slots, int64_t n)
{
  int64_t left = 0;
  qsort(slots, (size_t)n, sizeof *slots, compare_slots);
  for (int64_t i = 0; i < n; i++)
    if (left == 0 || slots[left - 1] != slots[i]) slots[left++] = slots[i];
  return left;
}

/* The window's entries of a shape. */
typedef struct window_entries {
  int64_t first, count;
} window_entries;

static window_entries entries_of(const grove_shape *shape, int64_t begin, int64_t count)
{
  if (shape->starts.count == 0) return (window_entries){begin, count};
  int64_t first = grove_index_at(&shape->starts, begin);
  return (window_entries){first, grove_index_at(&shape->starts, begin + count) - first};
}

static grove_status list_starts(const grove_shape *shape, int64_t begin, int64_t count,
                                grove_index *out)
{
  grove_status status = GROVE_OK;
  int64_t *starts = NULL;
  if (shape->starts.count == 0) return GROVE_OK;
  GROVE_ROOM(starts, count + 1);
  int64_t first = grove_index_at(&shape->starts, begin);
  for (int64_t u = 0; u <= count; u++)
    starts[u] = grove_index_at(&shape->starts, begin + u) - first;
  GROVE_TRY(grove_index_create(count + 1, starts, out));
fail:
  free(starts);
  return status;
}

/* The different slots, ascending, and the window in their numbers. */
static grove_status list_slots(grove_by_host *b, const grove_shape *shape, int64_t begin,
                               int64_t unit_bytes, int64_t **out)
{
  grove_status status = GROVE_OK;
  int64_t *slots = NULL, *places = NULL;
  window_entries e = entries_of(shape, begin, b->count);
  GROVE_ROOM(slots, e.count);
  GROVE_ROOM(places, e.count);
  for (int64_t i = 0; i < e.count; i++) slots[i] = grove_index_at(&shape->slots, e.first + i);
  b->nslots = make_distinct(slots, e.count);
  for (int64_t i = 0; i < e.count; i++)
    places[i] = place_in(slots, b->nslots, grove_index_at(&shape->slots, e.first + i));
  GROVE_TRY(grove_index_create(e.count, places, &b->places));
  GROVE_TRY(list_starts(shape, begin, b->count, &b->starts));
  GROVE_TRY(grove_shape_create(&b->places, &b->starts, unit_bytes, &b->shape));
  *out = slots;
  slots = NULL;
fail:
  free(slots);
  free(places);
  return status;
}

/* ---- whole slots ---- */

/* Moves slots as bytes, wherever the type has its gaps. */
static grove_mover mover_of_slots(const grove_unit *unit)
{
  grove_mover m = {.unit = {.bytes = unit->true_extent,
                            .extent = unit->extent,
                            .true_lb = unit->true_lb,
                            .true_extent = unit->true_extent,
                            .kind = GROVE_KIND_BYTE,
                            .elements = unit->true_extent,
                            .element_bytes = 1,
                            .npieces = 1,
                            .dense = unit->true_lb == 0 && unit->extent == unit->true_extent},
                   .combine = {.way = GROVE_COMBINE_REPLACE, .number = GROVE_OP_REPLACE}};
  m.unit.few[0] = (grove_piece){0, 0, (int32_t)unit->true_extent};
  return m;
}

static grove_status prepare_slots(const grove_driver *driver, int device, grove_by_host *b,
                                  const grove_unit *unit, int64_t *slots)
{
  grove_status status = GROVE_OK;
  grove_index list = {0};
  const grove_index none = {0};
  grove_shape shape = {0};
  grove_mover m = mover_of_slots(unit);
  GROVE_TRY(grove_index_create(b->nslots, slots, &list));
  GROVE_TRY(grove_shape_create(&list, &none, unit->true_extent, &shape));
  GROVE_TRY(
    grove_recipe_prepare(driver, device, &m, &shape, 0, b->nslots, GROVE_MOTION_PACK, &b->out));
  if (b->motion != GROVE_MOTION_PACK)
    GROVE_TRY(
      grove_recipe_prepare(driver, device, &m, &shape, 0, b->nslots, GROVE_MOTION_UNPACK, &b->in));
fail:
  grove_shape_free(&shape);
  grove_index_free(&list);
  return status;
}

grove_status grove_by_host_create(const grove_driver *driver, int device, const grove_mover *mover,
                                  const grove_shape *shape, int64_t begin, int64_t count,
                                  grove_motion motion, grove_by_host **out)
{
  grove_status status = GROVE_OK;
  grove_by_host *b = NULL;
  const grove_unit *u = &mover->unit;
  int64_t *slots = NULL, extent = llabs(u->extent);
  GROVE_CHECK(u->true_extent <= extent && u->true_extent <= INT32_MAX, GROVE_ERR_UNSUPPORTED,
              "units of %lld bytes that begin %lld bytes apart cannot be moved in device memory",
              (long long)u->true_extent, (long long)u->extent);
  GROVE_NEW(b, 1);
  b->motion = motion;
  b->count = count;
  b->bytes = u->true_extent;
  GROVE_TRY(list_slots(b, shape, begin, u->bytes, &slots));
  GROVE_TRY(prepare_slots(driver, device, b, u, slots));
  b->first = (u->extent < 0 ? (b->nslots - 1) * u->extent : 0) + u->true_lb;
  GROVE_ROOM(b->slots, b->nslots * b->bytes);
  GROVE_ROOM(b->array, b->nslots * extent);
  GROVE_TRY(driver->allocate(device, b->nslots * b->bytes, (void **)&b->mirror));
  free(slots);
  *out = b;
  return GROVE_OK;
fail:
  free(slots);
  grove_by_host_free(driver, device, b);
  return status;
}

int64_t grove_by_host_bytes(const grove_by_host *b)
{
  return b->out.bytes + b->in.bytes + b->nslots * b->bytes;
}

void grove_by_host_free(const grove_driver *driver, int device, grove_by_host *b)
{
  if (!b) return;
  grove_recipe_free(driver, device, &b->out);
  grove_recipe_free(driver, device, &b->in);
  driver->free(device, b->mirror);
  grove_shape_free(&b->shape);
  grove_index_free(&b->places);
  grove_index_free(&b->starts);
  free(b->slots);
  free(b->array);
  free(b);
}

/* ---- each time ---- */

static grove_status launch_slots(const grove_driver *driver, int device, grove_stream *stream,
                                 grove_by_host *b, const grove_prepared *p, char *array)
{
  grove_launch launch = {.njobs = 0};
  const grove_access access = {b->mirror, p->message_bytes, p->writes_message};
  grove_launch_add(&launch, p, array, b->mirror);
  return driver->launch(device, stream, &launch, &access, 1);
}

static grove_status bring_slots(const grove_driver *driver, int device, grove_stream *stream,
                                grove_by_host *b, char *array)
{
  const char *from = b->mirror;
  if (b->out.is_copy)
    from = array + b->out.low;
  else
    GROVE_PASS(launch_slots(driver, device, stream, b, &b->out, array));
  GROVE_PASS(driver->copy(device, stream, b->slots, from, b->nslots * b->bytes));
  return driver->finish(device, stream);
}

static grove_status return_slots(const grove_driver *driver, int device, grove_stream *stream,
                                 grove_by_host *b, char *array)
{
  char *to = b->in.is_copy ? array + b->in.low : b->mirror;
  GROVE_PASS(driver->copy(device, stream, to, b->slots, b->nslots * b->bytes));
  if (!b->in.is_copy) GROVE_PASS(launch_slots(driver, device, stream, b, &b->in, array));
  GROVE_PASS(driver->finish(device, stream)); /* the next time may be sooner */
  return GROVE_OK;
}

/* Between slots one behind the other and an array of them. */
static void spread_slots(const grove_by_host *b, const grove_unit *u, int back)
{
  for (int64_t k = 0; k < b->nslots; k++) {
    char *in_array = b->array + k * u->extent + u->true_lb - b->first;
    char *packed = b->slots + k * b->bytes;
    memcpy(back ? packed : in_array, back ? in_array : packed, (size_t)b->bytes);
  }
}

static grove_status move_on_host(const grove_by_host *b, const grove_mover *mover, char *message)
{
  char *slot_0 = b->array - b->first;
  switch (b->motion) {
  case GROVE_MOTION_PACK: return grove_pack(mover, &b->shape, slot_0, 0, b->count, message);
  case GROVE_MOTION_UNPACK: return grove_unpack(mover, &b->shape, message, slot_0, 0, b->count);
  default: return grove_pack_fetch(mover, &b->shape, slot_0, 0, b->count, message);
  }
}

grove_status grove_by_host_do(const grove_driver *driver, int device, grove_stream *stream,
                              grove_by_host *b, const grove_mover *mover, char *array,
                              char *message)
{
  if (b->nslots == 0) return GROVE_OK;
  GROVE_PASS(bring_slots(driver, device, stream, b, array));
  spread_slots(b, &mover->unit, 0);
  GROVE_PASS(move_on_host(b, mover, message));
  if (b->motion == GROVE_MOTION_PACK) return GROVE_OK;
  spread_slots(b, &mover->unit, 1);
  return return_slots(driver, device, stream, b, array);
}
