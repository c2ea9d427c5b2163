/* One copy over the paths of a decision.
 *
 *     begin    an event on the user's stream; each lane begins behind it
 *     chunks   in rounds: each path in turn gets its next one, so that all are busy early
 *     end      the user's stream goes on behind the last chunk of each lane
 *
 * The direct part is on the user's stream itself. A path that fails has its rest moved there.
 */
#include "device/copier.h"

#include <stdio.h>

/* What one path has of a copy. */
typedef struct copy_part {
  grove_copy_lane *lane; /* NULL: the direct path */
  int64_t offset, bytes, chunk, moved;
  int64_t nmoved; /* chunks */
  int has_failed;
} copy_part;

typedef struct copy_move {
  grove_copier *c;
  grove_copy_pair *pair;
  grove_copy_crew *crew;
  grove_copy_order order;
  int makes_nothing; /* only what is there already is used */
  int nparts;
  copy_part parts[GROVE_PATHS + 1];
  grove_status failure; /* the first; and its sentence */
  grove_sentence why;
} copy_move;

/* Most of it is never looked at, so it is not cleared. */
static void open_move(copy_move *m, grove_copier *c, grove_copy_pair *pair,
                      const grove_copy_order *order, int makes_nothing)
{
  m->c = c;
  m->pair = pair;
  m->crew = NULL;
  m->order = *order;
  m->makes_nothing = makes_nothing;
  m->nparts = 0;
  m->failure = GROVE_OK;
}

/* ---- what each path gets ---- */

/* In equal chunks that fit the slots, whole lines of memory each. */
static int64_t equal_chunk(const grove_copy_lane *lane, int64_t bytes, int64_t chunks)
{
  int64_t chunk = (bytes + chunks - 1) / (chunks > 0 ? chunks : 1);
  chunk = grove_round_up(chunk > 0 ? chunk : 1, GROVE_SPLIT_ALIGNMENT);
  return chunk < lane->slot_bytes ? chunk : lane->slot_bytes;
}

static copy_part *add_part(copy_move *m, grove_copy_lane *lane, int64_t bytes, int64_t chunk)
{
  copy_part *p = &m->parts[m->nparts++];
  *p = (copy_part){.lane = lane, .bytes = bytes, .chunk = chunk};
  return p;
}

/* NULL: there is none, and none can be made now. */
static grove_copy_lane *find_lane(const copy_move *m, int stop)
{
  grove_copy_lane *lane = m->crew->lanes[stop];
  grove_sentence before;
  if (lane && lane->memory) return lane;
  if (m->makes_nothing) return NULL;
  grove_error_keep(&before);
  if (grove_copy_lane_find(m->c, m->pair, m->crew, stop, &lane) != GROVE_OK) lane = NULL;
  grove_error_restore(&before);
  return lane;
}

/* A path without staging memory at the moment gives its share to the direct one. */
static void share_out(copy_move *m, const grove_copy_route *route, const grove_copy_decision *d)
{
  int64_t part[GROVE_PATHS], at = 0, left = 0;
  copy_part *direct = NULL;
  grove_copy_decision_bytes(d, m->order.bytes, part);
  for (int i = 0; i < d->npaths; i++) {
    const grove_path *path = &route->path[d->path[i]];
    int is_direct = path->kind == GROVE_PATH_DIRECT;
    grove_copy_lane *lane = is_direct ? NULL : find_lane(m, grove_copy_path_stop(path));
    if (is_direct)
      direct = add_part(m, NULL, part[i], part[i]);
    else if (lane)
      add_part(m, lane, part[i], equal_chunk(lane, part[i], d->chunks[i]));
    else
      left += part[i];
  }
  if (left > 0 && !direct) direct = add_part(m, NULL, 0, 0);
  if (direct) direct->bytes += left;
  for (int i = 0; i < m->nparts; at += m->parts[i++].bytes) m->parts[i].offset = at;
}

/* ---- enqueuing ---- */

static void keep_failure(copy_move *m, grove_status status)
{
  if (m->failure != GROVE_OK) return;
  m->failure = status;
  grove_error_keep(&m->why);
}

/* What is left of a part, on the user's stream. */
static grove_status move_directly(copy_move *m, copy_part *p)
{
  int64_t at = p->offset + p->moved, rest = p->bytes - p->moved;
  p->moved = p->bytes;
  return m->c->driver->copy(m->order.device, m->order.stream, m->order.to + at, m->order.from + at,
                            rest);
}

static grove_status move_chunk(copy_move *m, copy_part *p)
{
  int64_t rest = p->bytes - p->moved, n = rest < p->chunk ? rest : p->chunk;
  int64_t at = p->offset + p->moved;
  int is_last_round = rest <= GROVE_LANE_SLOTS * p->chunk, left = 0;
  if (p->nmoved == 0)
    GROVE_PASS(
      grove_copy_lane_begin(m->c, p->lane, m->crew->begin[m->order.device], m->crew->was_idle));
  grove_status status = grove_copy_lane_carry(m->c, p->lane, p->nmoved, is_last_round,
                                              m->order.to + at, m->order.from + at, n, &left);
  p->moved += left ? n : 0;
  p->nmoved += left;
  return status;
}

/* Returns whether it had something to do. A path that has failed has no further turn. */
static int take_turn(copy_move *m, copy_part *p)
{
  if (p->moved == p->bytes || p->has_failed) return 0;
  grove_status status = p->lane ? move_chunk(m, p) : move_directly(m, p);
  if (status != GROVE_OK) keep_failure(m, status);
  p->has_failed = status != GROVE_OK;
  return 1;
}

static void move_in_rounds(copy_move *m)
{
  for (int is_busy = 1; is_busy;) {
    is_busy = 0;
    for (int i = 0; i < m->nparts; i++) is_busy |= take_turn(m, &m->parts[i]);
  }
}

/* ---- the end, and failures ---- */

/* Lets the rest of the path go directly, and strikes the path off. If the rest cannot go directly
 * either, the fault may be that of the memory. */
static grove_status give_up_path(copy_move *m, copy_part *p)
{
  char end[8], name[16] = "host";
  int stop = p->lane->stop;
  if (stop != GROVE_HOST) snprintf(name, sizeof name, "gpu%s", grove_end_name(stop, end));
  if (p->moved < p->bytes) GROVE_PASS(move_directly(m, p));
  grove_copy_pair_strike(m->c, m->pair, stop);
  GROVE_PASS_CHECK(0, m->failure,
                   "the path %s from device %d to device %d failed, and is not used any more; all "
                   "is copied, what was left of its share directly: %.600s",
                   name, m->pair->from, m->pair->to, m->why.text);
  return GROVE_OK;
}

/* Copies the other way look at this. */
static void note_host(copy_move *m, const grove_copy_lane *lane)
{
  __atomic_store_n(&m->pair->by_host[m->crew->number], lane->number, __ATOMIC_RELEASE);
}

/* Every lane is joined, whatever fails. The worst that can be said is that not all is copied. */
static grove_status end_move(copy_move *m)
{
  grove_status status = GROVE_OK, first = GROVE_OK;
  grove_sentence said;
  grove_error_keep(&said);
  for (int i = 0; i < m->nparts; i++) {
    copy_part *p = &m->parts[i];
    status = GROVE_OK;
    if (p->has_failed && p->lane) status = give_up_path(m, p);
    if (p->has_failed && !p->lane) grove_error_restore(&m->why), status = m->failure;
    if (status != GROVE_OK && first == GROVE_OK) first = status, grove_error_keep(&said);
  }
  for (int i = 0; i < m->nparts; i++) {
    const copy_part *p = &m->parts[i];
    if (!p->lane) continue;
    status = grove_copy_lane_end(m->c, p->lane, p->has_failed, m->order.device, m->order.stream);
    if (p->lane->stop == GROVE_HOST) note_host(m, p->lane);
    if (status != GROVE_OK) first = status, grove_error_keep(&said);
  }
  grove_error_restore(&said);
  return first;
}

static grove_status begin_move(copy_move *m)
{
  grove_event **begin = &m->crew->begin[m->order.device];
  m->crew->stream = m->order.stream;
  m->crew->device = m->order.device;
  if (!*begin) GROVE_PASS(m->c->driver->create_event(m->order.device, begin));
  return m->c->driver->record(m->order.device, *begin, m->order.stream);
}

static grove_status move_split(copy_move *m, const grove_copy_route *route,
                               const grove_copy_decision *d)
{
  GROVE_PASS(begin_move(m));
  share_out(m, route, d);
  move_in_rounds(m);
  return end_move(m);
}

/* A crew that can be used, or made one now. */
static grove_copy_crew *take_crew(copy_move *m)
{
  grove_copy_crew *crew = grove_copy_crew_take(m->pair, m->order.stream, m->order.device);
  if (!crew || !m->makes_nothing || crew->begin[m->order.device]) return crew;
  grove_copy_crew_give(crew);
  return NULL;
}

/* A decision is about the paths of a route. */
static grove_status move_by(copy_move *m, const grove_copy_route *route,
                            const grove_copy_decision *d)
{
  const grove_copy_order *o = &m->order;
  if (d) m->crew = take_crew(m);
  if (!m->crew) return m->c->driver->copy(o->device, o->stream, o->to, o->from, o->bytes);
  grove_status status = move_split(m, route, d);
  grove_copy_crew_give(m->crew);
  return status;
}

static grove_status move_as_decided(copy_move *m)
{
  const grove_copy_route *route = grove_copy_pair_route(m->c, m->pair, m->order.bytes);
  return move_by(m, route, grove_copy_route_decide(route, m->order.bytes));
}

grove_status grove_copy_move(grove_copier *c, grove_copy_pair *pair, const grove_copy_order *order)
{
  copy_move m;
  open_move(&m, c, pair, order, 0);
  return move_as_decided(&m);
}

grove_status grove_copy_move_at_once(grove_copier *c, grove_copy_pair *pair,
                                     const grove_copy_order *order)
{
  copy_move m;
  open_move(&m, c, pair, order, 1);
  return move_as_decided(&m);
}

/* A path without memory is none that the copy needs. */
grove_status grove_copy_prepare(grove_copier *c, grove_copy_pair *pair,
                                const grove_copy_order *order)
{
  const grove_copy_route *route = __atomic_load_n(&pair->route, __ATOMIC_ACQUIRE);
  const grove_copy_decision *d = grove_copy_route_decide(route, order->bytes);
  copy_move m;
  open_move(&m, c, pair, order, 0);
  if (d) m.crew = take_crew(&m);
  if (!m.crew) return GROVE_OK;
  grove_event **begin = &m.crew->begin[order->device];
  grove_status status = *begin ? GROVE_OK : c->driver->create_event(order->device, begin);
  if (status == GROVE_OK) share_out(&m, route, d);
  grove_copy_crew_give(m.crew);
  return status;
}

grove_status grove_copy_move_as(grove_copier *c, grove_copy_pair *pair,
                                const grove_copy_decision *d, const grove_copy_order *order)
{
  copy_move m;
  open_move(&m, c, pair, order, 0);
  return move_by(&m, __atomic_load_n(&pair->route, __ATOMIC_ACQUIRE), d);
}
