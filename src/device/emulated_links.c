/* The emulated device with links: time passes on a clock of its own. What happens next is found
 * from the first task of every stream, and from the copies under way. A copy first has a latency.
 * Then it has a rate, which is fair to all that cross the same things (max-min), until one of them
 * ends or begins. See emulated.h.
 */
#include "device/emulated_engine.h"

#include <math.h>
#include <string.h>

enum {
  PORTS_AT = GROVE_ENDS * GROVE_ENDS,
  THINGS_AT = PORTS_AT + GROVE_PORT_WAYS * GROVE_PORT_KINDS * GROVE_DEVICES,
  CROSSED = THINGS_AT + GROVE_SHARED_THINGS, /* links, ports, things */
  MOST_CROSSED = 2 * (5 + GROVE_SHARED_THINGS),
  REMEMBERED = 256 /* tasks of a stream of which it is known when they were done */
};

/* Of a copy inside a device, which crosses nothing. */
static const double INSIDE_ALPHA = 1e-6, INSIDE_RATE = 1e12;

/* A copy under way. */
typedef struct flight {
  grove_task *task;
  double begins;      /* the end of its latency */
  double left, total; /* bytes */
  double most, rate;  /* of it alone, and now */
  int ncrossed;
  short crossed[MOST_CROSSED];
} flight;

static struct {
  grove_emulated_links about;
  double host, now;
  int nflights;
  flight flights[GROVE_ORDER_STREAMS];
  double done_at[GROVE_ORDER_STREAMS][REMEMBERED];
  double room[CROSSED]; /* bytes per second of each thing */
} play;

/* ---- what a copy crosses ---- */

static int end_at(const void *address)
{
  grove_range range;
  return grove_store_find(address, &range) ? range.device : GROVE_HOST;
}

static void add_crossed(flight *f, int i)
{
  if (play.room[i] > 0) f->crossed[f->ncrossed++] = (short)i; /* NaN: no limit */
}

static int port_place(grove_port_way way, grove_port_kind kind, int device)
{
  return PORTS_AT + ((int)way * GROVE_PORT_KINDS + (int)kind) * GROVE_DEVICES + device;
}

static void cross_port(flight *f, grove_port_way way, int device, int other)
{
  if (device == GROVE_HOST) return;
  add_crossed(f, port_place(way, GROVE_PORT_ALL, device));
  if (other != GROVE_HOST) add_crossed(f, port_place(way, GROVE_PORT_PEERS, device));
}

static void fly_over(flight *f, int from, int to)
{
  const grove_links *l = &play.about.links;
  add_crossed(f, from * GROVE_ENDS + to);
  cross_port(f, GROVE_PORT_OUT, from, to);
  cross_port(f, GROVE_PORT_IN, to, from);
  for (int i = 0; i < l->nshared; i++)
    if (l->shared[i].crossed[from] >> to & 1) add_crossed(f, THINGS_AT + i);
}

static void fill_room(void)
{
  const grove_links *l = &play.about.links;
  for (int from = 0; from < GROVE_ENDS; from++)
    for (int to = 0; to < GROVE_ENDS; to++)
      play.room[from * GROVE_ENDS + to] = l->link[from][to].rate;
  for (int way = 0; way < GROVE_PORT_WAYS; way++)
    for (int kind = 0; kind < GROVE_PORT_KINDS; kind++)
      for (int i = 0; i < GROVE_DEVICES; i++)
        play.room[port_place(way, kind, i)] = l->port[way][kind][i];
  for (int i = 0; i < GROVE_SHARED_THINGS; i++)
    play.room[THINGS_AT + i] = i < l->nshared ? l->shared[i].rate : NAN;
}

/* Between 1 - jitter and 1 + jitter, by the seed and the task. */
static double draw_jitter(const grove_task *t, uint64_t which)
{
  uint64_t state = play.about.seed ^ (t->ticket * 2 + which);
  double u = (double)(grove_emulated_draw(&state) >> 11) / 9007199254740992.0;
  return 1 + play.about.jitter * (2 * u - 1);
}

/* Over a link; inside a device; or, where two devices have no link, by the host, in one go. */
static double plan_flight(flight *f, int from, int to)
{
  const grove_links *l = &play.about.links;
  f->most = INSIDE_RATE;
  if (from == to) return INSIDE_ALPHA;
  if (grove_link_is_there(l, from, to)) {
    fly_over(f, from, to);
    f->most = l->link[from][to].rate;
    return l->link[from][to].alpha;
  }
  const grove_link_cost *up = &l->link[from][GROVE_HOST], *down = &l->link[GROVE_HOST][to];
  if (!(up->rate > 0 && down->rate > 0)) return INSIDE_ALPHA;
  fly_over(f, from, GROVE_HOST);
  fly_over(f, GROVE_HOST, to);
  f->most = 1 / (1 / up->rate + 1 / down->rate);
  return up->alpha + down->alpha;
}

static void begin_flight(grove_task *t)
{
  flight *f = &play.flights[play.nflights++];
  *f = (flight){.task = t, .left = (double)t->bytes, .total = (double)t->bytes};
  double alpha = plan_flight(f, end_at(t->from), end_at(t->to));
  f->begins = play.now + alpha * draw_jitter(t, 0);
  f->most *= draw_jitter(t, 1);
}

/* ---- rates ---- */

static int is_flying(const flight *f)
{
  return play.now >= f->begins;
}

static int is_ramping(const flight *f)
{
  return f->total - f->left < play.about.ramp_bytes - 0.5;
}

/* What it would get if those still to be served shared evenly whatever it crosses. */
static double even_share(const flight *f, const double *room, const int *takers)
{
  double share = is_ramping(f) ? f->most / 2 : f->most;
  for (int i = 0; i < f->ncrossed; i++)
    share = fmin(share, room[f->crossed[i]] / takers[f->crossed[i]]);
  return share;
}

/* Serves the one with the smallest share; then there is more for the others. */
static void share_rates(void)
{
  double room[CROSSED];
  int takers[CROSSED] = {0}, served[GROVE_ORDER_STREAMS] = {0}, n = play.nflights;
  memcpy(room, play.room, sizeof room);
  for (int i = 0; i < n; i++) {
    flight *f = &play.flights[i];
    f->rate = 0;
    served[i] = !is_flying(f);
    for (int k = 0; k < f->ncrossed && !served[i]; k++) takers[f->crossed[k]]++;
  }
  for (;;) {
    int next = -1;
    double least = INFINITY;
    for (int i = 0; i < n; i++) {
      double share = served[i] ? INFINITY : even_share(&play.flights[i], room, takers);
      if (share < least) least = share, next = i;
    }
    if (next < 0) return;
    flight *f = &play.flights[next];
    served[next] = 1;
    f->rate = least;
    for (int k = 0; k < f->ncrossed; k++) {
      room[f->crossed[k]] = fmax(room[f->crossed[k]] - least, 0);
      takers[f->crossed[k]]--;
    }
  }
}

/* ---- what happens when ---- */

static double done_time(const grove_stream_point *p)
{
  if (p->stream->done - p->number >= REMEMBERED) return 0;
  return play.done_at[p->stream->slot][p->number % REMEMBERED];
}

/* When the first task of a stream may begin; infinite: nobody knows yet. */
static double begin_time(const grove_task *t)
{
  double at = t->at;
  for (int i = 0; i < t->npoints; i++) {
    if (!grove_stream_point_passed(&t->points[i])) return INFINITY;
    at = fmax(at, done_time(&t->points[i]) + play.about.wait);
  }
  return t->kind == GROVE_WORK_AWAIT && !grove_task_word_came(t) ? INFINITY : at;
}

static int is_under_way(const grove_task *t)
{
  for (int i = 0; i < play.nflights; i++)
    if (play.flights[i].task == t) return 1;
  return 0;
}

static int has_engine(const grove_task *t)
{
  int busy = 0;
  for (int i = 0; i < play.nflights; i++)
    busy += play.flights[i].task->stream->device == t->stream->device;
  return play.about.engines == 0 || busy < play.about.engines;
}

static void complete_task(grove_task *t)
{
  int slot = t->stream->slot;
  uint64_t number = t->number;
  grove_task_note(t);
  if (t->kind != GROVE_WORK_COPY || !play.about.moves_nothing) grove_task_perform(t);
  grove_task_retire(t);
  play.done_at[slot][number % REMEMBERED] = play.now;
}

/* Begins what may begin now, in the order of the calls. Returns whether there was something. */
static int begin_next(void)
{
  grove_task *next = NULL;
  for (int i = 0; i < grove_engine.nstreams; i++) {
    grove_task *t = grove_engine.streams[i]->first;
    if (!t || is_under_way(t) || begin_time(t) > play.now) continue;
    if (t->kind == GROVE_WORK_COPY && !has_engine(t)) continue;
    if (!next || t->ticket < next->ticket) next = t;
  }
  if (!next) return 0;
  if (next->kind == GROVE_WORK_COPY && next->bytes > 0)
    begin_flight(next);
  else
    complete_task(next);
  return 1;
}

static int land_next(void)
{
  for (int i = 0; i < play.nflights; i++) {
    flight *f = &play.flights[i];
    if (!is_flying(f) || f->left > 0.5) continue;
    grove_task *t = f->task;
    *f = play.flights[--play.nflights];
    complete_task(t);
    return 1;
  }
  return 0;
}

static double next_change(const flight *f)
{
  if (!is_flying(f)) return f->begins;
  double bytes = is_ramping(f) ? play.about.ramp_bytes - (f->total - f->left) : f->left;
  return play.now + fmin(bytes, f->left) / f->rate;
}

static double next_time(void)
{
  double next = INFINITY;
  for (int i = 0; i < grove_engine.nstreams; i++) {
    const grove_task *t = grove_engine.streams[i]->first;
    if (!t || is_under_way(t)) continue;
    double at = begin_time(t);
    if (at > play.now) next = fmin(next, at);
  }
  for (int i = 0; i < play.nflights; i++) next = fmin(next, next_change(&play.flights[i]));
  return next;
}

/* Goes on to the next change, or to `until` if that is before it. */
static void pass_time(double until)
{
  while (land_next() || begin_next()) continue;
  share_rates();
  double next = fmin(next_time(), until);
  if (next == INFINITY) return;
  for (int i = 0; i < play.nflights; i++)
    if (is_flying(&play.flights[i]))
      play.flights[i].left -= play.flights[i].rate * (next - play.now);
  play.now = next;
}

/* ---- the host ---- */

double grove_clock_call(void)
{
  play.host += play.about.call;
  while (play.now < play.host) pass_time(play.host);
  return play.host;
}

/* Where nothing can happen, another thread must do something. */
void grove_clock_wait(grove_stream_point p)
{
  while (!grove_stream_point_passed(&p)) {
    double before = play.now;
    pass_time(INFINITY);
    if (grove_stream_point_passed(&p) || play.now > before) continue;
    grove_engine_unlock();
    grove_engine_lock();
  }
  play.host = fmax(play.host, play.now);
}

int grove_clock_read(double *now)
{
  grove_engine_lock();
  int has_clock = grove_engine.has_clock;
  *now = play.host;
  grove_engine_unlock();
  return has_clock;
}

int grove_clock_has_link(int from, int to)
{
  grove_engine_lock();
  int has_link = !grove_engine.has_clock || grove_link_is_there(&play.about.links, from, to);
  grove_engine_unlock();
  return has_link;
}

void grove_clock_set(const grove_emulated_links *links)
{
  grove_engine_lock();
  grove_engine.has_clock = links != NULL;
  memset(&play, 0, sizeof play);
  if (links) play.about = *links;
  if (links) fill_room();
  grove_engine_unlock();
}
