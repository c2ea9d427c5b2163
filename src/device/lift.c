#include "device/copier.h"
#include "device/lift_parts.h"

#include <stdlib.h>

/* Kernels and copies of so many bytes take about the same time. Larger copies leave the kernels of
 * other processes alone. */
enum { REACHED = 1 << 20 };

/* ---- making and ending ---- */

grove_status grove_lift_open(const grove_space_kind *kind, grove_context *ctx, int device,
                             grove_lift **out)
{
  grove_status status = GROVE_OK;
  grove_lift *lift = NULL;
  GROVE_NEW(lift, 1);
  lift->fetching = GROVE_NO_BATCH;
  GROVE_TRY(grove_station_find(ctx, kind->driver, device, &lift->station));
  *out = lift;
  return GROVE_OK;
fail:
  free(lift);
  return status;
}

static void free_cover(const grove_lift *lift, grove_cover *c)
{
  const grove_station *s = lift->station;
  if (c->pinned) s->driver->unpin(c->memory);
  if (!c->reached) s->driver->free(s->device, c->mirror);
}

static void free_plan(const grove_lift *lift, grove_motion_plan *plan)
{
  const grove_station *s = lift->station;
  grove_recipe_free(s->driver, s->device, &plan->prepared);
  grove_by_host_free(s->driver, s->device, plan->by_host);
}

void grove_lift_close(grove_lift *lift)
{
  if (!lift) return;
  for (int i = 0; i < lift->ncovers; i++) free_cover(lift, &lift->covers[i]);
  for (int i = 0; i < lift->room; i++)
    if (lift->plans[i].shape) free_plan(lift, &lift->plans[i]);
  for (int i = 0; i < lift->nmeetings; i++)
    grove_merged_free(lift->station->driver, lift->station->device, lift->meetings[i].merged);
  free(lift->covers);
  free(lift->inside);
  free(lift->passages);
  free(lift->meetings);
  free(lift->plans);
  free(lift);
}

/* ---- mirrors ---- */

static grove_status add_cover(grove_lift *lift, const grove_cover *c)
{
  GROVE_PASS_GROW(lift->covers, lift->ncovers, 1);
  lift->covers[lift->ncovers++] = *c;
  return GROVE_OK;
}

static grove_status add_mirror(grove_lift *lift, grove_cover *c)
{
  const grove_station *s = lift->station;
  GROVE_PASS(s->driver->allocate(s->device, c->bytes, (void **)&c->mirror));
  grove_status status = add_cover(lift, c);
  if (status != GROVE_OK) s->driver->free(s->device, c->mirror);
  return status;
}

grove_status grove_lift_mirror(grove_lift *lift, void *memory, int64_t bytes)
{
  grove_cover c = {.memory = memory, .bytes = bytes, .shared = 1};
  return bytes > 0 ? add_mirror(lift, &c) : GROVE_OK;
}

/* Whole pages, which nobody else has. Copies of others are slower, and right. */
static int try_to_pin(const grove_lift *lift, void *memory, int64_t bytes)
{
  grove_sentence before;
  if ((uintptr_t)memory % GROVE_PAGE != 0 || bytes % GROVE_PAGE != 0) return 0;
  grove_error_keep(&before);
  if (lift->station->driver->pin(memory, bytes) == GROVE_OK) return 1;
  grove_error_restore(&before);
  return 0;
}

grove_status grove_lift_cover(grove_lift *lift, void *memory, int64_t bytes)
{
  const grove_station *s = lift->station;
  grove_cover c = {.memory = memory, .bytes = bytes};
  if (bytes == 0) return GROVE_OK;
  c.pinned = try_to_pin(lift, memory, bytes);
  int is_small = bytes <= REACHED && bytes <= grove_space_chunk(); /* no message comes by chunks */
  if (c.pinned && is_small) c.mirror = s->driver->reach(s->device, memory);
  c.reached = c.mirror != NULL;
  grove_status status = c.reached ? add_cover(lift, &c) : add_mirror(lift, &c);
  if (status != GROVE_OK && c.pinned) s->driver->unpin(memory);
  return status;
}

void grove_lift_share(grove_lift *lift, void *region, int64_t bytes)
{
  grove_station_pin(lift->station, region, bytes);
}

void grove_lift_liken(grove_lift *lift, const void *place, int64_t bytes, const void *message)
{
  lift->like = (grove_likeness){place, message, bytes};
}

static const grove_cover *find_cover(const grove_lift *lift, const char *message)
{
  for (const grove_cover *c = lift->covers; c < lift->covers + lift->ncovers; c++)
    if (message >= c->memory && message < c->memory + c->bytes) return c;
  return NULL;
}

static char *find_mirror(const grove_lift *lift, const char *message)
{
  const grove_cover *c = find_cover(lift, message);
  return c ? c->mirror + (message - c->memory) : NULL;
}

char *grove_lift_mirror_of(const grove_lift *lift, const char *message)
{
  const grove_likeness *like = &lift->like;
  int alike = message >= like->place && message < like->place + like->bytes;
  return find_mirror(lift, alike ? like->message + (message - like->place) : message);
}

grove_status grove_lift_keep_inside(grove_lift *lift, void *memory, int64_t bytes)
{
  if (bytes == 0) return GROVE_OK;
  GROVE_PASS_GROW(lift->inside, lift->ninside, 1);
  lift->inside[lift->ninside++] = (grove_inside){memory, (char *)memory + bytes};
  return GROVE_OK;
}

int grove_lift_reaches(const grove_lift *lift, const char *message)
{
  const grove_cover *c = find_cover(lift, message);
  return c && c->reached;
}

int grove_lift_keeps(const grove_lift *lift, const char *message)
{
  for (const grove_inside *r = lift->inside; r < lift->inside + lift->ninside; r++)
    if (message >= r->begin && message < r->end) return 1;
  return 0;
}

/* What is too short to be divided may as well go by the host. Without a copier it does. */
grove_status grove_lift_pass_on(grove_lift *lift, grove_lift *to, void *memory, int64_t bytes)
{
  enum { LEAST = 1 << 20 };
  if (bytes < LEAST || grove_lift_reaches(lift, memory) || grove_lift_reaches(to, memory))
    return GROVE_OK;
  if (!grove_copier_serve(lift->station, to->station->device, bytes)) return GROVE_OK;
  GROVE_PASS(grove_lift_keep_inside(to, memory, bytes));
  GROVE_PASS_GROW(lift->passages, lift->npassages, 1);
  lift->passages[lift->npassages++] = (grove_passage){memory, (char *)memory + bytes, to};
  return GROVE_OK;
}

grove_device_copy grove_lift_place(const grove_lift *lift, char *message)
{
  for (const grove_passage *p = lift->passages; p < lift->passages + lift->npassages; p++)
    if (message >= p->begin && message < p->end)
      return (grove_device_copy){.to = grove_lift_mirror_of(p->to, message),
                                 .is_far = 1,
                                 .to_device = p->to->station->device};
  int elsewhere = grove_lift_keeps(lift, message) && !grove_lift_reaches(lift, message);
  return (grove_device_copy){.to = elsewhere ? grove_lift_mirror_of(lift, message) : message};
}

/* ---- recipes ---- */

static size_t hash_plan(const grove_motion_plan *p)
{
  uint64_t x = (uint64_t)(uintptr_t)p->shape ^ ((uint64_t)p->begin << 8) ^ (uint64_t)p->motion;
  x = x * 0x9e3779b97f4a7c15u ^ (uint64_t)p->count;
  x *= 0x9e3779b97f4a7c15u;
  return (size_t)(x >> 20);
}

static int is_same_plan(const grove_motion_plan *a, const grove_motion_plan *b)
{
  return a->shape == b->shape && a->begin == b->begin && a->count == b->count &&
         a->motion == b->motion;
}

/* The place in the table of what is wanted, which may be empty. */
static grove_motion_plan *find_plan(const grove_lift *lift, const grove_motion_plan *wanted)
{
  size_t mask = (size_t)lift->room - 1, i = hash_plan(wanted) & mask;
  while (lift->plans[i].shape && !is_same_plan(&lift->plans[i], wanted)) i = (i + 1) & mask;
  return &lift->plans[i];
}

static grove_status make_room(grove_lift *lift)
{
  grove_motion_plan *old = lift->plans, *plans = NULL;
  int n = lift->room;
  if (2 * (lift->nplans + 1) < n) return GROVE_OK;
  int room = n == 0 ? 16 : 2 * n;
  GROVE_PASS_NEW(plans, room);
  lift->plans = plans;
  lift->room = room;
  for (int i = 0; i < n; i++)
    if (old[i].shape) *find_plan(lift, &old[i]) = old[i];
  free(old);
  return GROVE_OK;
}

/* Do kernels have all messages where they lie? */
static int reaches_all(const grove_lift *lift)
{
  for (const grove_cover *c = lift->covers; c < lift->covers + lift->ncovers; c++)
    if (!c->reached) return 0;
  return lift->ncovers > 0;
}

/* One kernel takes less time than so many copies of small messages. */
enum { MANY_MESSAGES = 3 };

int grove_lift_copies(const grove_lift *lift, const grove_prepared *p, grove_motion motion)
{
  return p->is_copy && (!p->recipe || lift->nmessages[grove_heading_of(motion)] < MANY_MESSAGES);
}

static grove_status make_motion_plan(const grove_lift *lift, const grove_mover *mover,
                                     grove_motion_plan *plan)
{
  const grove_station *s = lift->station;
  plan->obstacle = grove_recipe_obstacle(mover, plan->shape, plan->motion);
  if (plan->obstacle == GROVE_OBSTACLE_NONE)
    return (reaches_all(lift) ? grove_recipe_prepare_both : grove_recipe_prepare)(
      s->driver, s->device, mover, plan->shape, plan->begin, plan->count, plan->motion,
      &plan->prepared);
  return grove_by_host_create(s->driver, s->device, mover, plan->shape, plan->begin, plan->count,
                              plan->motion, &plan->by_host);
}

grove_status grove_lift_plan(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                             int64_t begin, int64_t count, grove_motion motion,
                             grove_motion_plan **out)
{
  grove_motion_plan wanted = {.shape = shape, .begin = begin, .count = count, .motion = motion};
  GROVE_PASS(make_room(lift));
  *out = find_plan(lift, &wanted);
  if ((*out)->shape) return GROVE_OK;
  GROVE_PASS(make_motion_plan(lift, mover, &wanted));
  **out = wanted;
  lift->nplans++;
  lift->nmessages[grove_heading_of(motion)]++;
  return GROVE_OK;
}

grove_status grove_lift_prepare(grove_lift *lift, const grove_mover *mover,
                                const grove_shape *shape, int64_t begin, int64_t count,
                                grove_motion motion)
{
  grove_motion_plan *plan = NULL;
  if (count == 0 || mover->unit.bytes == 0) return GROVE_OK;
  return grove_lift_plan(lift, mover, shape, begin, count, motion, &plan);
}

/* ---- messages that meet ---- */

/* The messages are those of the host. Mirrors may lie elsewhere than in one cover; then they are
 * not merged. */
static grove_status merge_mirrors(const grove_lift *lift, const grove_mover *mover,
                                  grove_motion motion, int n, const grove_window *windows,
                                  grove_merged **out)
{
  grove_status status = GROVE_OK;
  const grove_station *s = lift->station;
  grove_window *mirrored = NULL;
  int known = 1;
  GROVE_ROOM(mirrored, n);
  for (int w = 0; w < n; w++) {
    mirrored[w] = windows[w];
    mirrored[w].message = grove_lift_mirror_of(lift, windows[w].message);
    known &= mirrored[w].message != NULL;
  }
  if (known) GROVE_TRY(grove_merged_create(s->driver, s->device, mover, motion, n, mirrored, out));
fail:
  free(mirrored);
  return status;
}

grove_status grove_lift_merge(grove_lift *lift, const grove_mover *mover, grove_motion motion,
                              int n, const grove_window *windows)
{
  grove_meeting *m = NULL;
  if (n == 0 || mover->unit.bytes == 0) return GROVE_OK;
  GROVE_PASS_GROW(lift->meetings, lift->nmeetings, 1);
  m = &lift->meetings[lift->nmeetings++];
  *m = (grove_meeting){.mover = mover, .motion = motion, .batch = GROVE_NO_BATCH};
  GROVE_PASS(merge_mirrors(lift, mover, motion, n, windows, &m->merged));
  if (m->merged) lift->nmessages[GROVE_IN] += n;
  for (int w = 0; w < n && !m->merged; w++)
    GROVE_PASS(grove_lift_prepare(lift, mover, windows[w].shape, windows[w].begin, windows[w].count,
                                  motion));
  return GROVE_OK;
}

grove_meeting *grove_lift_meeting(const grove_lift *lift, const grove_mover *mover,
                                  grove_motion motion)
{
  for (grove_meeting *m = lift->meetings; m < lift->meetings + lift->nmeetings; m++)
    if (m->mover == mover && m->motion == motion) return m;
  return NULL;
}

int grove_lift_part(const grove_lift *lift, const grove_meeting *m, const char *message,
                    int64_t count, grove_sweep *out)
{
  const char *mirror = grove_lift_mirror_of(lift, message);
  return m->merged && mirror && grove_merged_find(m->merged, mirror, count, out);
}

/* ---- what it has ---- */

void grove_lift_weigh(const grove_lift *lift, grove_burden *sum)
{
  for (const grove_cover *c = lift->covers; c < lift->covers + lift->ncovers; c++) {
    if (!c->reached) sum->device_bytes += c->bytes;
    if (c->shared) continue;
    sum->host_bytes += c->bytes;
    if (c->pinned) sum->pinned_bytes += c->bytes;
  }
  for (const grove_motion_plan *p = lift->plans; p < lift->plans + lift->room; p++) {
    if (!p->shape) continue;
    sum->device_bytes += p->by_host ? grove_by_host_bytes(p->by_host) : p->prepared.bytes;
    sum->obstacles |= p->obstacle;
  }
  for (int i = 0; i < lift->nmeetings; i++)
    if (lift->meetings[i].merged) sum->device_bytes += grove_merged_bytes(lift->meetings[i].merged);
}
