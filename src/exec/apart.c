/* Arrays outside the host's memory. Packing and unpacking them may still be under way when the call
 * returns. For every such memory, a letter notes how much was begun. It is packed, or unpacked,
 * when that much is done. Self edges travel like a letter: out of their arrays, to the roots or
 * past them, and into the arrays. Each step begins when the one before is done, or behind it on the
 * same device, where all of them are.
 */
#include "device/recipes.h"
#include "exec/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- self edges, and where they lie ---- */

/* Of edges that fetch: where they come from, meet, and go to. */
static const grove_array own_arrays[] = {GROVE_ARRAY_LEAF, GROVE_ARRAY_ROOT, GROVE_ARRAY_UPDATE};

static int64_t bytes_of_keep(const grove_section *from)
{
  return grove_round_up(from->bytes, GROVE_SECTION_ALIGNMENT);
}

int64_t grove_apart_keep_bytes(const grove_wired_stage *w)
{
  int64_t bytes = 0;
  for (int i = 0; i < w->nkeeps; i++) bytes += bytes_of_keep(&w->keeps[2 * i]);
  return bytes;
}

int grove_apart_keep_place(const grove_transfer *op, const grove_wired_stage *w)
{
  int i = 0;
  while (i < w->nreceives && w->letters[i].peer < op->wiring->rank) i++;
  return i;
}

/* The units of a pair. Those of edges that fetch are among the other edges. */
static char *place_of_keep(const grove_bound_stage *s, int i)
{
  char *at = s->own.memory;
  for (int j = 0; j < i; j++) at += bytes_of_keep(&s->wired->keeps[2 * j]);
  return at;
}

static char *edges_from(const grove_field *f, int64_t edge)
{
  return (char *)f->edges + edge * f->mover.unit.bytes;
}

/* Does this rank fetch its own roots in stage k? */
static int fetches_own(const grove_lane *lane, int k)
{
  return lane->key.operation == GROVE_FETCH && lane->meets_at == k && lane->own.units > 0 &&
         lane->key.unit_bytes > 0;
}

static int is_one_device(const grove_space *a, const grove_space *b)
{
  return a->lift != NULL && grove_space_is_same(*a, *b);
}

/* Are all self edges of stage k between arrays of one device? Then they never leave it. */
static int keeps_inside(const grove_transfer *op, int k)
{
  const grove_wired_stage *w = op->stages[k].wired;
  for (int i = 0; i < w->nkeeps; i++) {
    const grove_section *pair = &w->keeps[2 * i];
    const grove_space *spaces = op->fields[pair->field].spaces;
    if (!is_one_device(&spaces[pair[0].array], &spaces[pair[1].array])) return 0;
  }
  for (int i = 0; i < op->nfields; i++) {
    const grove_space *spaces = op->fields[i].spaces;
    for (int a = 1; a < 3 && fetches_own(&op->wiring->lanes[i], k); a++)
      if (!is_one_device(&spaces[own_arrays[0]], &spaces[own_arrays[a]])) return 0;
  }
  return 1;
}

static grove_status declare_inside(const grove_transfer *op, int k)
{
  const grove_bound_stage *s = &op->stages[k];
  for (int i = 0; i < s->wired->nkeeps; i++) {
    const grove_section *from = &s->wired->keeps[2 * i];
    const grove_space *space = &op->fields[from->field].spaces[from->array];
    GROVE_PASS(space->kind->keep_inside(space->lift, place_of_keep(s, i), from->bytes));
  }
  for (int i = 0; i < op->nfields; i++) {
    const grove_field *f = &op->fields[i];
    const grove_lane *lane = &op->wiring->lanes[i];
    const grove_space *roots = &f->spaces[GROVE_ARRAY_ROOT];
    if (fetches_own(lane, k))
      GROVE_PASS(roots->kind->keep_inside(roots->lift, edges_from(f, lane->own_begin),
                                          lane->own.units * lane->key.unit_bytes));
  }
  return GROVE_OK;
}

/* ---- what a device must know ---- */

static grove_status prepare_window(const grove_space *space, const grove_mover *mover,
                                   const grove_shape *shape, int64_t begin, int64_t count,
                                   grove_motion motion)
{
  if (!space->lift || count == 0) return GROVE_OK;
  return space->kind->prepare(space->lift, mover, shape, begin, count, motion);
}

/* Is the section for roots, in which it may meet others? */
static int meets_others(const grove_transfer *op, const grove_section *p)
{
  if (op->wiring->lanes[p->field].key.operation != GROVE_REDUCE) return grove_section_meets(op, p);
  return p->array == GROVE_ARRAY_ROOT;
}

static grove_status prepare_section(const grove_transfer *op, const grove_section *p, int64_t begin,
                                    int64_t units, grove_motion motion)
{
  const grove_field *f = &op->fields[p->field];
  if (motion != GROVE_MOTION_PACK && meets_others(op, p)) return GROVE_OK; /* see merge_field */
  return prepare_window(&f->spaces[p->array], grove_field_mover(f, p->array), &p->shape, begin,
                        units, motion);
}

/* Chunk by chunk, as it will be packed or unpacked. */
static grove_status prepare_letter(const grove_transfer *op, const grove_letter *letter,
                                   grove_motion motion)
{
  int64_t bytes = 0;
  for (int64_t at = 0; at < letter->data; at += bytes) {
    bytes = grove_letter_chunk(letter, at);
    for (int k = 0; k < letter->nsections; k++) {
      grove_excerpt w = grove_section_excerpt(&letter->sections[k], at, bytes);
      GROVE_PASS(prepare_section(op, &letter->sections[k], w.begin, w.units, motion));
    }
  }
  return GROVE_OK;
}

static grove_status prepare_keep(const grove_transfer *op, const grove_section *p,
                                 grove_motion motion)
{
  return prepare_section(op, p, 0, p->shape.units, motion);
}

/* What meets its roots all at once, and self edges that fetch. */
static grove_status prepare_lane(const grove_lane *lane, const grove_field *f)
{
  const grove_space *roots = &f->spaces[GROVE_ARRAY_ROOT];
  int fetches = lane->key.operation == GROVE_FETCH;
  if (lane->whole)
    GROVE_PASS(prepare_window(roots, fetches ? &f->fetcher : &f->mover, &lane->fetched, 0,
                              lane->fetched.units,
                              fetches ? GROVE_MOTION_FETCH : GROVE_MOTION_UNPACK));
  if (!fetches) return GROVE_OK;
  int64_t n = lane->own.units;
  GROVE_PASS(
    prepare_window(&f->spaces[GROVE_ARRAY_LEAF], &f->mover, &lane->own, 0, n, GROVE_MOTION_PACK));
  return prepare_window(&f->spaces[GROVE_ARRAY_UPDATE], &f->mover, &lane->own, 0, n,
                        GROVE_MOTION_UNPACK);
}

static grove_status prepare_stage(const grove_transfer *op, const grove_wired_stage *w)
{
  for (int i = 0; i < w->nletters; i++)
    GROVE_PASS(prepare_letter(op, &w->letters[i],
                              i < w->nreceives ? GROVE_MOTION_UNPACK : GROVE_MOTION_PACK));
  for (int k = 0; k < w->nkeeps; k++) {
    GROVE_PASS(prepare_keep(op, &w->keeps[2 * k], GROVE_MOTION_PACK));
    GROVE_PASS(prepare_keep(op, &w->keeps[2 * k + 1], GROVE_MOTION_UNPACK));
  }
  return GROVE_OK;
}

/* ---- what meets at the roots ---- */

/* The windows of a field, in the order in which they are combined. */
typedef struct meeting_list {
  int n;
  grove_window *windows;
} meeting_list;

static grove_status enter_window(meeting_list *list, const grove_shape *shape, int64_t begin,
                                 int64_t count, char *message)
{
  if (count == 0) return GROVE_OK;
  GROVE_PASS_GROW(list->windows, list->n, 1);
  list->windows[list->n++] = (grove_window){shape, begin, count, message};
  return GROVE_OK;
}

/* Edges of a fetch lie where the lane has them, all else in its letter. */
static grove_status enter_section(const grove_transfer *op, int field, const grove_section *p,
                                  int64_t begin, int64_t units, char *letter, meeting_list *list)
{
  const grove_field *f = &op->fields[field];
  int64_t edge = p->shape.slots.first + begin;
  if (p->field != field || !meets_others(op, p)) return GROVE_OK;
  if (grove_section_meets(op, p))
    return enter_window(list, &op->wiring->lanes[field].fetched, edge, units, edges_from(f, edge));
  return enter_window(list, &p->shape, begin, units, letter + p->at + begin * p->unit_bytes);
}

/* Chunk by chunk, as it will be unpacked, unless it came straight to its edges. */
static grove_status enter_letter(const grove_transfer *op, int field, const grove_letter *letter,
                                 const grove_bound_letter *bound, meeting_list *list)
{
  int64_t bytes = 0;
  for (int64_t at = 0; at < letter->data; at += bytes) {
    bytes = bound->direct ? letter->data : grove_letter_chunk(letter, at);
    for (int k = 0; k < letter->nsections; k++) {
      const grove_section *p = &letter->sections[k];
      grove_excerpt w = grove_section_excerpt(p, at, bytes);
      GROVE_PASS(enter_section(op, field, p, w.begin, w.units, bound->memory, list));
    }
  }
  return GROVE_OK;
}

static grove_status enter_own(const grove_transfer *op, int field, int k, meeting_list *list)
{
  const grove_bound_stage *s = &op->stages[k];
  const grove_field *f = &op->fields[field];
  const grove_lane *lane = &op->wiring->lanes[field];
  for (int i = 0; i < s->wired->nkeeps; i++) {
    const grove_section *p = &s->wired->keeps[2 * i + 1];
    GROVE_PASS(enter_section(op, field, p, 0, p->shape.units, place_of_keep(s, i), list));
  }
  if (!fetches_own(lane, k)) return GROVE_OK;
  return enter_window(list, &lane->fetched, lane->own_begin, lane->own.units,
                      edges_from(f, lane->own_begin));
}

static grove_status enter_meetings(const grove_transfer *op, int field, meeting_list *list)
{
  for (int k = 0; k < op->nstages; k++) {
    const grove_bound_stage *s = &op->stages[k];
    int own = grove_apart_keep_place(op, s->wired);
    for (int i = 0; i <= s->nreceives; i++) {
      if (i == own) GROVE_PASS(enter_own(op, field, k, list));
      if (i < s->nreceives)
        GROVE_PASS(
          enter_letter(op, field, &s->wired->letters[i], grove_bound_letter_of(s, i), list));
    }
  }
  return GROVE_OK;
}

static grove_status merge_field(const grove_transfer *op, int field)
{
  grove_status status = GROVE_OK;
  const grove_field *f = &op->fields[field];
  const grove_space *roots = &f->spaces[GROVE_ARRAY_ROOT];
  int fetches = f->request.operation == GROVE_FETCH;
  meeting_list list = {0};
  if (!roots->lift) return GROVE_OK;
  GROVE_TRY(enter_meetings(op, field, &list));
  GROVE_TRY(roots->kind->merge(roots->lift, fetches ? &f->fetcher : &f->mover,
                               fetches ? GROVE_MOTION_FETCH : GROVE_MOTION_UNPACK, list.n,
                               list.windows));
fail:
  free(list.windows);
  return status;
}

/* ---- memory that it knows ---- */

/* All edges, in whole pages, if the roots are there; or those of this rank's own leaves. */
static grove_status cover_edges(const grove_lane *lane, const grove_field *f,
                                const grove_space *space)
{
  int64_t all = lane->fetched.units * lane->key.unit_bytes;
  if (grove_space_is_same(f->spaces[GROVE_ARRAY_ROOT], *space))
    return space->kind->cover(space->lift, f->edges, grove_round_up(all, GROVE_PAGE));
  if (!grove_space_is_same(f->spaces[GROVE_ARRAY_LEAF], *space) &&
      !grove_space_is_same(f->spaces[GROVE_ARRAY_UPDATE], *space))
    return GROVE_OK;
  return space->kind->cover(space->lift, edges_from(f, lane->own_begin),
                            lane->own.units * lane->key.unit_bytes);
}

static grove_status mirror_docks(const grove_transfer *op, const grove_space *space, int s)
{
  const grove_bound_stage *stage = &op->stages[s];
  for (int c = 0; c < stage->nhauls; c++)
    for (int j = 0; j < grove_haul_size(stage->hauls[c].wired); j++) {
      int i = stage->hauls[c].wired->letters[j];
      if (!grove_bound_letter_of(stage, i)->docked) continue;
      const grove_dock *dock = grove_wiring_dock(op->wiring, s, i);
      GROVE_PASS(space->kind->mirror(space->lift, dock->memory, dock->slots * dock->stride));
    }
  return GROVE_OK;
}

static grove_status cover_space(const grove_transfer *op, const grove_space *space)
{
  GROVE_PASS(space->kind->cover(space->lift, op->memory, op->memory_bytes));
  for (int s = 0; s < op->nstages; s++) GROVE_PASS(mirror_docks(op, space, s));
  for (int k = 0; k < op->nfields; k++)
    if (op->fields[k].edges) GROVE_PASS(cover_edges(&op->wiring->lanes[k], &op->fields[k], space));
  return GROVE_OK;
}

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

/* ---- what a report says ---- */

/* Made with the operation, for reports are read as long as it lives. */
typedef struct grove_placement {
  char memory[160], by_host[120];
} placement;

static void append_item(char *text, size_t room, const char *item)
{
  size_t used = strlen(text);
  snprintf(text + used, room - used, "%s%s", used > 0 ? ", " : "", item);
}

static int has_host_arrays(const grove_transfer *op)
{
  for (int k = 0; k < op->nfields; k++)
    for (int a = 0; a < GROVE_ARRAYS; a++)
      if (op->fields[k].request.arrays[a] && op->fields[k].spaces[a].kind == &grove_space_host)
        return 1;
  return 0;
}

static void name_memories(const grove_transfer *op, placement *p)
{
  char name[64];
  if (has_host_arrays(op)) append_item(p->memory, sizeof p->memory, "host");
  for (int j = 0; j < op->nspaces; j++) {
    snprintf(name, sizeof name, "%s device %d", op->spaces[j].kind->name, op->spaces[j].device);
    append_item(p->memory, sizeof p->memory, name);
  }
}

static grove_burden weigh_lifts(const grove_transfer *op)
{
  grove_burden sum = {0};
  for (int j = 0; j < op->nspaces; j++)
    if (op->spaces[j].lift && op->spaces[j].kind->weigh)
      op->spaces[j].kind->weigh(op->spaces[j].lift, &sum);
  return sum;
}

static void name_obstacles(unsigned obstacles, placement *p)
{
  static const struct {
    grove_obstacle bit;
    const char *name;
  } all[] = {{GROVE_OBSTACLE_OPERATION, "a user's operation"},
             {GROVE_OBSTACLE_LONG_DOUBLE, "long double"},
             {GROVE_OBSTACLE_TYPE, "a type that only MPI can walk"},
             {GROVE_OBSTACLE_SLOTS, "slots that overlap"}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (obstacles & all[i].bit) append_item(p->by_host, sizeof p->by_host, all[i].name);
}

static grove_status describe_placement(grove_transfer *op)
{
  if (op->nspaces == 0 || op->placement) return GROVE_OK;
  GROVE_PASS_NEW(op->placement, 1);
  name_memories(op, op->placement);
  name_obstacles(weigh_lifts(op).obstacles, op->placement);
  return GROVE_OK;
}

void grove_apart_tell(const grove_transfer *op, grove_report *report)
{
  grove_burden sum = weigh_lifts(op);
  report->memory = op->placement->memory;
  report->by_host = op->placement->by_host;
  report->path = "staged";
  report->pinned = sum.host_bytes > 0 && sum.pinned_bytes == sum.host_bytes;
  report->device_bytes = sum.device_bytes;
}

/* ---- making and ending ---- */

grove_status grove_apart_prepare(grove_transfer *op)
{
  for (int j = 0; j < op->nspaces; j++) GROVE_PASS(cover_space(op, &op->spaces[j]));
  for (int s = 0; s < op->nstages && op->nspaces > 0; s++) {
    GROVE_PASS(prepare_stage(op, op->stages[s].wired));
    if (keeps_inside(op, s)) GROVE_PASS(declare_inside(op, s));
  }
  for (int k = 0; k < op->nfields && op->nspaces > 0; k++) {
    GROVE_PASS(prepare_lane(&op->wiring->lanes[k], &op->fields[k]));
    GROVE_PASS(merge_field(op, k));
  }
  return describe_placement(op);
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

int grove_apart_is_packing(const grove_transfer *op)
{
  for (int j = 0; j < op->nspaces; j++) {
    const grove_space *space = &op->spaces[j];
    if (space->kind->passed(space->lift, GROVE_OUT) < space->kind->begun(space->lift, GROVE_OUT))
      return 1;
  }
  return 0;
}

/* Is some letter still to come, and none by chunks? Those wait for each other. */
static int misses_letters(const grove_bound_stage *s)
{
  int misses = 0;
  for (int i = 0; i < s->nreceives; i++) {
    const grove_bound_letter *letter = grove_bound_letter_of(s, i);
    if (letter->chunks && letter->chunks->count > 0) return 0;
    misses |= letter->state == GROVE_LETTER_WAITS;
  }
  return misses;
}

/* Is more bound to come for the first stage that is not through? It does not depend on what this
 * rank does in that stage, but it may depend on what it does before. */
static int awaits_more(const grove_transfer *op)
{
  int k = op->oldest;
  if (op->arriving || op->meeting) return 0; /* somebody may look at letters one by one */
  while (k <= op->current && op->stages[k].to_come == 0 &&
         op->stages[k].own.state == GROVE_LETTER_DONE)
    k++;
  return k <= op->current && k <= op->met && misses_letters(&op->stages[k]);
}

grove_status grove_apart_proceed(grove_transfer *op)
{
  int more = awaits_more(op);
  for (int j = 0; j < op->nspaces; j++)
    GROVE_PASS(op->spaces[j].kind->proceed(op->spaces[j].lift, more));
  if (op->trail) grove_trail_look(op);
  return GROVE_OK;
}

grove_status grove_apart_flush(grove_transfer *op)
{
  for (int j = 0; j < op->nspaces; j++) GROVE_PASS(op->spaces[j].kind->flush(op->spaces[j].lift));
  if (op->trail) grove_trail_look(op);
  return GROVE_OK;
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

/* ---- self edges, under way ---- */

/* The steps of all self edges of a stage: into memory as in a letter; to their arrays, or past the
 * roots if they fetch; and those into the arrays that get the old values. */
typedef enum step { OUT, AT_ROOTS, IN } step;

static grove_status step_keep(const grove_transfer *op, const grove_section *pair, step now,
                              char *units)
{
  const grove_section *p = now == OUT ? &pair[0] : &pair[1];
  const grove_field *f = &op->fields[p->field];
  const grove_space *space = &f->spaces[p->array];
  const grove_mover *mover = grove_field_mover(f, p->array);
  char *array = grove_field_array(f, p->array);
  if (now == IN) return GROVE_OK;
  if (now == OUT)
    return space->kind->pack(space->lift, mover, &p->shape, array, 0, p->shape.units, units);
  return space->kind->unpack(space->lift, mover, &p->shape, units, array, 0, p->shape.units);
}

static grove_status step_own(const grove_lane *lane, const grove_field *f, step now)
{
  const grove_space *space = &f->spaces[own_arrays[now]];
  void *array = f->request.arrays[own_arrays[now]];
  char *units = edges_from(f, lane->own_begin);
  int64_t n = lane->own.units;
  if (now == OUT) return space->kind->pack(space->lift, &f->mover, &lane->own, array, 0, n, units);
  if (now == IN) return space->kind->unpack(space->lift, &f->mover, &lane->own, units, array, 0, n);
  return space->kind->fetch(space->lift, &f->fetcher, &lane->fetched, array, lane->own_begin, n,
                            units);
}

static grove_status take_step(const grove_transfer *op, const grove_bound_stage *s, int k, step now)
{
  for (int i = 0; i < s->wired->nkeeps; i++)
    GROVE_PASS(step_keep(op, &s->wired->keeps[2 * i], now, place_of_keep(s, i)));
  for (int i = 0; i < op->nfields; i++)
    if (fetches_own(&op->wiring->lanes[i], k))
      GROVE_PASS(step_own(&op->wiring->lanes[i], &op->fields[i], now));
  return GROVE_OK;
}

/* Is what the last step began done, as far as the next one has to wait for it? */
static int may_step(const grove_transfer *op, const grove_bound_stage *s, int inside)
{
  grove_heading before = s->own.state == GROVE_LETTER_PACKS ? GROVE_OUT : GROVE_IN;
  if (s->own.state == GROVE_LETTER_WAITS) return 1;
  if (inside && s->own.state != GROVE_LETTER_UNPACKS) return 1;
  return grove_apart_has_passed(op, s, s->wired->nletters, before);
}

grove_status grove_apart_keep(grove_transfer *op, int k)
{
  static const grove_letter_state after[] = {GROVE_LETTER_PACKS, GROVE_LETTER_HERE,
                                             GROVE_LETTER_UNPACKS};
  grove_status status = GROVE_OK;
  grove_bound_stage *s = &op->stages[k];
  int inside = keeps_inside(op, k);
  while (s->own.state != GROVE_LETTER_DONE && may_step(op, s, inside)) {
    step now = s->own.state == GROVE_LETTER_WAITS   ? OUT
               : s->own.state == GROVE_LETTER_PACKS ? AT_ROOTS
                                                    : IN;
    if (s->own.state == GROVE_LETTER_UNPACKS) {
      s->own.state = GROVE_LETTER_DONE;
    } else {
      s->own.state = after[now];
      GROVE_TRY(take_step(op, s, k, now));
      grove_apart_mark(op, s, s->wired->nletters, now == OUT ? GROVE_OUT : GROVE_IN);
      if (now != OUT || !inside) return GROVE_OK; /* others may move with it */
    }
  }
  return GROVE_OK;
fail:
  s->own.state = GROVE_LETTER_DONE;
  return status;
}
