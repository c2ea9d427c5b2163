/* Pairs of devices, the routes that copies between them may take, and crews that carry them. */
#include "device/copier.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Splitting must gain so much by the model: it takes more calls than a plain copy. */
static const double LEAST_GAIN = 1.05;

enum { WORD_PAGE = 4096 };

/* ---- routes ---- */

int grove_copy_path_stop(const grove_path *p)
{
  return p->kind == GROVE_PATH_HOST ? GROVE_HOST : p->via;
}

static int may_use(const grove_copier *c, const grove_copy_pair *pair, const grove_path *p)
{
  int stop = grove_copy_path_stop(p);
  if (p->kind == GROVE_PATH_GPU && stop >= c->ndevices) return 0;
  return (c->wanted >> (stop + 1) & 1) && !(stop >= 0 && pair->struck >> stop & 1);
}

/* How many of the others come before path i: the direct one, and those that are faster. */
static int rank_of_path(const grove_copier *c, const grove_copy_pair *pair,
                        const grove_copy_paths *all, int i)
{
  int before = 0;
  double rate = grove_path_rate(&all->path[i]);
  for (int k = 0; k < all->npaths && all->path[i].kind != GROVE_PATH_DIRECT; k++) {
    const grove_path *p = &all->path[k];
    double other = p->kind == GROVE_PATH_DIRECT ? INFINITY : grove_path_rate(p);
    before += may_use(c, pair, p) && (other > rate || (other == rate && k < i));
  }
  return before;
}

/* The paths of the pair that are wanted and have not failed, as "direct,gpu2,host"; "": none. No
 * more than there are engines for. */
static void list_paths(const grove_copier *c, const grove_copy_pair *pair,
                       const grove_copy_paths *all, int without_host, char *out, size_t room)
{
  size_t used = 0;
  int engines = c->found.engines[pair->from];
  out[0] = '\0';
  for (int i = 0; i < all->npaths && used + 16 < room; i++) {
    const grove_path *p = &all->path[i];
    if (!may_use(c, pair, p) || (without_host && p->kind == GROVE_PATH_HOST)) continue;
    if (engines > 0 && rank_of_path(c, pair, all, i) >= engines) continue;
    if (used > 0) out[used++] = ',';
    if (p->kind == GROVE_PATH_GPU)
      used += (size_t)snprintf(out + used, room - used, "gpu%d", p->via);
    else
      used += (size_t)snprintf(out + used, room - used, "%s", grove_path_kind_names[p->kind]);
  }
}

static void free_route(grove_copy_route *route)
{
  while (route) {
    grove_copy_route *older = route->older;
    free_route(route->apart);
    grove_copy_cache_free(&route->cache);
    free(route);
    route = older;
  }
}

/* A driver may have to be asked for a link before it uses it. */
static void ask_for_links(const grove_copier *c, const grove_copy_pair *pair,
                          const grove_copy_route *route)
{
  for (int i = 0; i < route->npaths && c->driver->has_link; i++) {
    const grove_path *p = &route->path[i];
    if (p->kind == GROVE_PATH_DIRECT) (void)c->driver->has_link(pair->from, pair->to);
    if (p->kind != GROVE_PATH_GPU) continue;
    (void)c->driver->has_link(pair->from, p->via);
    (void)c->driver->has_link(p->via, pair->to);
  }
}

/* The direct path meets a link with this other end at a port. A port is fair to both: it gives the
 * link half of itself, or what the direct path leaves. The model gives it what is left, all the
 * time. */
static double slowed_at(const grove_links *l, grove_port_way way, int device, int other,
                        double direct)
{
  double seconds = 0;
  double rate = way == GROVE_PORT_OUT ? l->link[device][other].rate : l->link[other][device].rate;
  int first = other == GROVE_HOST ? GROVE_PORT_ALL : GROVE_PORT_PEERS;
  for (int kind = first; kind < GROVE_PORT_KINDS; kind++) {
    double port = l->port[way][kind][device];
    if (!(port > 0)) continue;
    double taken = fmin(rate, fmax(port / 2, port - direct));
    seconds = fmax(seconds, (1 - fmin(direct, port - taken) / direct) / taken);
  }
  return seconds;
}

static void find_slowed(const grove_copy_pair *pair, const grove_links *l, grove_copy_route *route)
{
  double direct = l->link[pair->from][pair->to].rate;
  for (int i = 0; i < route->npaths && direct > 0; i++) {
    int stop = grove_copy_path_stop(&route->path[i]);
    if (stop < 0) continue;
    route->slowed[i] = slowed_at(l, GROVE_PORT_OUT, pair->from, stop, direct) +
                       slowed_at(l, GROVE_PORT_IN, pair->to, stop, direct);
  }
}

/* A machine that does not tell of these devices leaves the driver's own copy. */
static grove_status make_route_with(const grove_copier *c, const grove_copy_pair *pair,
                                    int without_host, grove_copy_route **out)
{
  grove_status status = GROVE_OK;
  grove_copies *set = NULL;
  grove_copy_route *route = NULL;
  int most = pair->from > pair->to ? pair->from : pair->to;
  GROVE_NEW(route, 1);
  route->own = c->found.own[pair->from][pair->to];
  if (most < c->machine->links.devices) {
    GROVE_NEW(set, 2);
    if (grove_copies_add(&set[0], c->machine, pair->from, pair->to, 1, NULL) == GROVE_OK)
      list_paths(c, pair, &set[0].copy[0], without_host, route->list, sizeof route->list);
    if (route->list[0]) {
      GROVE_TRY(grove_copies_add(&set[1], c->machine, pair->from, pair->to, 1, route->list));
      route->npaths = set[1].copy[0].npaths;
      memcpy(route->path, set[1].copy[0].path, sizeof route->path);
      ask_for_links(c, pair, route);
      find_slowed(pair, &c->machine->links, route);
      GROVE_TRY(grove_copy_cache_create(c->machine, pair->from, pair->to, route->list,
                                        GROVE_SOLVER_EXACT, LEAST_GAIN, &route->cache));
    }
  }
  free(set);
  *out = route;
  return GROVE_OK;
fail:
  free(set);
  free_route(route);
  return status;
}

static int goes_by_host(const grove_copy_route *route)
{
  for (int i = 0; i < route->npaths; i++)
    if (route->path[i].kind == GROVE_PATH_HOST) return 1;
  return 0;
}

static grove_status make_route(const grove_copier *c, const grove_copy_pair *pair,
                               grove_copy_route **out)
{
  grove_copy_route *route = NULL;
  GROVE_PASS(make_route_with(c, pair, 0, &route));
  if (goes_by_host(route) && route->npaths > 1) {
    grove_status status = make_route_with(c, pair, 1, &route->apart);
    if (status != GROVE_OK) {
      free_route(route);
      return status;
    }
  }
  *out = route;
  return GROVE_OK;
}

/* Whoever uses the route that was there may go on, so it stays. Without memory for another one, the
 * path is tried again by the next copy. */
void grove_copy_pair_strike(grove_copier *c, grove_copy_pair *pair, int stop)
{
  grove_copy_route *route = NULL;
  pthread_mutex_lock(&c->lock);
  __atomic_or_fetch(&pair->struck, (uint32_t)1 << stop, __ATOMIC_RELAXED);
  if (make_route(c, pair, &route) == GROVE_OK) {
    route->older = pair->route;
    __atomic_store_n(&pair->route, route, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&c->lock);
}

/* Of a split without a direct part: the time of its slowest path, or of all by the model, which
 * knows what they share. */
static double relayed_seconds(const grove_copy_route *route, const grove_copy_decision *d,
                              int64_t bytes)
{
  double seconds = d->seconds * (double)bytes / grove_size_class_centre(grove_size_class(bytes));
  for (int i = 0; i < d->npaths; i++)
    seconds = fmax(seconds, grove_path_seconds(&route->path[d->path[i]],
                                               d->share[i] * (double)bytes, (double)d->chunks[i]));
  return seconds;
}

/* Of one with a direct part: what that takes with others in its way at ports, or by the model. */
static double direct_seconds(const grove_copy_route *route, const grove_copy_decision *d,
                             int64_t bytes, double own)
{
  double seconds = own;
  for (int i = 0; i < d->npaths; i++)
    if (route->path[d->path[i]].kind != GROVE_PATH_DIRECT)
      seconds += d->share[i] * (double)bytes * (route->slowed[d->path[i]] - 1 / route->own.rate);
  return fmax(seconds, own / d->gain);
}

/* The model does not know what it takes to bring the paths together again. So a split must save as
 * much as the slowest of their launches takes. */
static int saves_enough(const grove_copy_route *route, const grove_copy_decision *d, int64_t bytes)
{
  double launch = route->own.alpha, own = launch + (double)bytes / route->own.rate;
  if (!(route->own.rate > 0)) return 1;
  if (bytes < GROVE_LEAST_SPLIT) return 0;
  double split = route->path[0].kind == GROVE_PATH_DIRECT ? direct_seconds(route, d, bytes, own)
                                                          : relayed_seconds(route, d, bytes);
  for (int i = 0; i < d->npaths; i++) launch = fmax(launch, route->path[d->path[i]].alpha);
  return own - split >= launch && own >= LEAST_GAIN * split;
}

const grove_copy_decision *grove_copy_route_decide(const grove_copy_route *route, int64_t bytes)
{
  const grove_copy_decision *d = route->cache ? grove_copy_decide(route->cache, bytes) : NULL;
  if (!d || (d->npaths == 1 && route->path[d->path[0]].kind == GROVE_PATH_DIRECT)) return NULL;
  return saves_enough(route, d, bytes) ? d : NULL;
}

/* What the host takes to begin a copy and to see its end, beside the latency of its link. */
static double time_around(const grove_copier *c, const grove_copy_pair *pair)
{
  const grove_link_cost *own = &c->found.own[pair->from][pair->to];
  const grove_link_cost *link = &c->machine->links.link[pair->from][pair->to];
  return own->rate > 0 && link->rate > 0 ? fmax(own->alpha - link->alpha, 0) : 0;
}

int grove_copy_pair_is_by_host(const grove_copy_pair *pair)
{
  for (int i = 0; i < GROVE_CREWS; i++) {
    uint32_t number = __atomic_load_n(&pair->by_host[i], __ATOMIC_ACQUIRE);
    if (number == 0) continue; /* never yet */
    if (__atomic_load_n(&pair->words[i * GROVE_ENDS + GROVE_HOST], __ATOMIC_ACQUIRE) != number)
      return 1;
  }
  return 0;
}

static int decides_by_host(const grove_copy_route *route, const grove_copy_decision *d)
{
  for (int i = 0; d && i < d->npaths; i++)
    if (route->path[d->path[i]].kind == GROVE_PATH_HOST) return 1;
  return 0;
}

const grove_copy_route *grove_copy_pair_route(const grove_copier *c, const grove_copy_pair *pair,
                                              int64_t bytes)
{
  const grove_copy_route *route = __atomic_load_n(&pair->route, __ATOMIC_ACQUIRE);
  const grove_copy_pair *back = __atomic_load_n(&c->pairs[pair->to][pair->from], __ATOMIC_ACQUIRE);
  if (!route->apart || !back || !grove_copy_pair_is_by_host(back)) return route;
  return decides_by_host(route, grove_copy_route_decide(route, bytes)) ? route->apart : route;
}

grove_status grove_copy_pair_predict(const grove_copier *c, const grove_copy_pair *pair,
                                     int64_t bytes, double *seconds, double *single)
{
  grove_status status = GROVE_OK;
  grove_copies *set = NULL;
  grove_split split;
  const grove_copy_route *route = __atomic_load_n(&pair->route, __ATOMIC_ACQUIRE);
  GROVE_NEW(set, 1);
  GROVE_TRY(grove_copies_add(set, c->machine, pair->from, pair->to, (double)bytes, route->list));
  GROVE_TRY(grove_multipath_solve(set, GROVE_SOLVER_EXACT, &split));
  *single = grove_multipath_single(set, NULL, NULL);
  if (route->own.rate > 0) *single = route->own.alpha + (double)bytes / route->own.rate;
  *seconds = grove_copy_route_decide(route, bytes) ? split.checked + time_around(c, pair) : *single;
fail:
  free(set);
  return status;
}

/* ---- pairs ---- */

/* Its lanes wait for what they carry. */
static void free_crew(grove_copier *c, grove_copy_crew *crew)
{
  if (!crew) return;
  for (int i = 0; i < GROVE_ENDS; i++) grove_copy_lane_free(c, crew->lanes[i]);
  for (int i = 0; i < GROVE_DEVICES; i++)
    if (crew->begin[i]) c->driver->free_event(crew->begin[i]);
  free(crew);
}

void grove_copy_pair_free(grove_copier *c, grove_copy_pair *pair)
{
  if (!pair) return;
  for (int i = 0; i < GROVE_CREWS; i++) free_crew(c, pair->crews[i]);
  if (pair->words) c->driver->unpin(pair->words);
  free(pair->words);
  free_route(pair->route);
  free(pair);
}

static grove_status pin_words(const grove_copier *c, grove_copy_pair *pair)
{
  _Static_assert(GROVE_CREWS * GROVE_ENDS * sizeof(uint32_t) <= WORD_PAGE, "a page is enough");
  uint32_t *words = aligned_alloc(WORD_PAGE, WORD_PAGE);
  GROVE_PASS_CHECK(words, GROVE_ERR_MEMORY, "no memory for the words of a copier");
  memset(words, 0, WORD_PAGE);
  grove_status status = c->driver->pin(words, WORD_PAGE);
  if (status == GROVE_OK)
    pair->words = words;
  else
    free(words);
  return status;
}

static grove_status make_pair(grove_copier *c, int from, int to, grove_copy_pair **out)
{
  grove_status status = GROVE_OK;
  grove_copy_pair *pair = NULL;
  GROVE_NEW(pair, 1);
  pair->from = from;
  pair->to = to;
  GROVE_TRY(make_route(c, pair, &pair->route));
  GROVE_TRY(pin_words(c, pair));
  *out = pair;
  return GROVE_OK;
fail:
  grove_copy_pair_free(c, pair);
  return status;
}

grove_status grove_copy_pair_find(grove_copier *c, int from, int to, grove_copy_pair **out)
{
  grove_status status = GROVE_OK;
  grove_copy_pair **place = &c->pairs[from][to], *pair = __atomic_load_n(place, __ATOMIC_ACQUIRE);
  if (!pair) {
    pthread_mutex_lock(&c->lock);
    pair = *place;
    if (!pair) status = make_pair(c, from, to, &pair);
    if (status == GROVE_OK) __atomic_store_n(place, pair, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&c->lock);
  }
  *out = pair;
  return status;
}

/* ---- crews ---- */

static grove_copy_crew *add_crew(grove_copy_pair *pair, int i)
{
  grove_copy_crew *crew = calloc(1, sizeof *crew), *none = NULL;
  if (!crew) return NULL;
  crew->taken = crew->was_idle = 1;
  crew->number = i;
  if (__atomic_compare_exchange_n(&pair->crews[i], &none, crew, 0, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE))
    return crew;
  free(crew);
  return NULL;
}

/* The same stream comes behind what the crew has carried in any case. */
static int may_serve(grove_copy_crew *crew, grove_stream *stream, int device)
{
  crew->was_idle = grove_copy_crew_is_idle(crew);
  return crew->was_idle || (crew->stream == stream && crew->device == device);
}

/* Never waits. */
grove_copy_crew *grove_copy_crew_take(grove_copy_pair *pair, grove_stream *stream, int device)
{
  for (int i = 0; i < GROVE_CREWS; i++) {
    grove_copy_crew *crew = __atomic_load_n(&pair->crews[i], __ATOMIC_ACQUIRE);
    if (!crew) {
      crew = add_crew(pair, i);
      if (crew) return crew;
      continue; /* another thread was faster */
    }
    if (__atomic_exchange_n(&crew->taken, 1, __ATOMIC_ACQ_REL)) continue;
    if (may_serve(crew, stream, device)) return crew;
    grove_copy_crew_give(crew);
  }
  return NULL;
}
