/* The links of a node, as its driver lets them be measured: each alone, then together those that
 * may share something. What is found is a machine of the model.
 *
 * A link alone: a copy of two sizes gives its rate, and a train of copies what each adds to that.
 * Together: all that leave a device, all that come to one, all to the host and from it, with as
 * many bytes as let them end at once. This too is done with two sizes, because the host begins one
 * copy after the other, however long they are. Where they are clearly slower than the links
 * promise, they share a port or a thing of that rate.
 */
#include "device/copier.h"

#include "base/pause.h"

#include <math.h>
#include <stdlib.h>

/* MEDIUM: several of them together still take longer than the host takes to begin them. */
enum { SMALL = GROVE_LEAST_SPLIT, MEDIUM = 2 << 20, LARGE = 8 << 20 };
enum { TIMES = GROVE_LINK_SAMPLES, TRAIN = 9 };

/* Less than this share of what the links promise: they share something. Less than that of what
 * fewer of them had: they took turns, for want of copy engines. */
static const double CLEARLY = 0.95, LOST = 0.9;

/* Where time says nothing, all links are alike, and so all paths are used. */
static const double ALIKE_ALPHA = 5e-6, ALIKE_RATE = 10e9;

typedef struct surveyor {
  const grove_driver *driver;
  int nends; /* devices, and then the host */
  grove_links *l;
  grove_copy_findings *found;
  char *from[GROVE_ENDS], *to[GROVE_ENDS]; /* `to` has room for a copy from each end */
  grove_stream *streams[GROVE_ENDS][GROVE_ENDS];
  grove_event *events[GROVE_DEVICES], *marks[GROVE_DEVICES];
  double shorter[GROVE_ENDS][GROVE_ENDS], longer[GROVE_ENDS][GROVE_ENDS]; /* 0: not timed yet */
  double alone[GROVE_ENDS][GROVE_ENDS]; /* latencies of one copy, until the host knows of its end */
} surveyor;

typedef struct measured_link {
  int from, to;
  double rate; /* that it should have together with others */
} measured_link;

static int survey_end(const surveyor *s, int i)
{
  return i == s->nends - 1 ? GROVE_HOST : i;
}

/* Whose stream carries it. */
static int carrier_of(int from, int to)
{
  return from == GROVE_HOST ? to : from;
}

static int read_clock(const grove_driver *driver, double *now)
{
  if (driver->own_clock && driver->own_clock(now)) return 1;
  *now = grove_clock();
  return !driver->has_no_rates;
}

/* ---- copies that are timed ---- */

static grove_status begin_measured(surveyor *s, measured_link link, int64_t bytes)
{
  int from = link.from, to = link.to, slot = from == GROVE_HOST ? s->nends - 1 : from;
  return s->driver->copy(carrier_of(from, to), s->streams[from][to],
                         s->to[to] + (int64_t)slot * LARGE, s->from[from], bytes);
}

static grove_status await_measured(surveyor *s, measured_link link)
{
  return s->driver->finish(carrier_of(link.from, link.to), s->streams[link.from][link.to]);
}

static grove_status time_copies(surveyor *s, const measured_link *links, const int64_t *bytes,
                                int n, double *seconds)
{
  double begin = 0, end = 0;
  read_clock(s->driver, &begin);
  for (int i = 0; i < n; i++) GROVE_PASS(begin_measured(s, links[i], bytes[i]));
  for (int i = 0; i < n; i++) GROVE_PASS(await_measured(s, links[i]));
  read_clock(s->driver, &end);
  *seconds = end - begin;
  return GROVE_OK;
}

static int compare_seconds(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median, after one that does not count. */
static grove_status time_often(surveyor *s, const measured_link *links, const int64_t *bytes, int n,
                               double *seconds)
{
  double all[TIMES + 1];
  for (int i = 0; i <= TIMES; i++) GROVE_PASS(time_copies(s, links, bytes, n, &all[i]));
  qsort(all + 1, TIMES, sizeof *all, compare_seconds);
  *seconds = all[1 + TIMES / 2];
  return GROVE_OK;
}

/* ---- each alone ---- */

/* `n` chunks behind each other, each with the events of a staged path. What it waits for is long
 * done. */
static grove_status time_chunks(surveyor *s, measured_link link, int n, double *seconds)
{
  const grove_driver *driver = s->driver;
  int device = carrier_of(link.from, link.to);
  grove_stream *stream = s->streams[link.from][link.to];
  double begin = 0, end = 0, all[TIMES + 1];
  GROVE_PASS(driver->record(device, s->events[device], stream));
  GROVE_PASS(driver->finish(device, stream));
  for (int i = 0; i <= TIMES; i++) {
    read_clock(driver, &begin);
    for (int k = 0; k < n; k++) {
      GROVE_PASS(driver->after(device, stream, s->events[device]));
      GROVE_PASS(begin_measured(s, link, SMALL));
      GROVE_PASS(driver->record(device, s->marks[device], stream));
    }
    GROVE_PASS(await_measured(s, link));
    read_clock(driver, &end);
    all[i] = end - begin;
  }
  qsort(all + 1, TIMES, sizeof *all, compare_seconds);
  *seconds = all[1 + TIMES / 2];
  return GROVE_OK;
}

/* What a chunk among others takes besides its bytes; never more than `alone`. */
static grove_status measure_chunk(surveyor *s, measured_link link, double per_byte, double alone,
                                  double *alpha)
{
  double one = 0, many = 0;
  GROVE_PASS(time_chunks(s, link, 1, &one));
  GROVE_PASS(time_chunks(s, link, TRAIN, &many));
  *alpha = fmin(fmax((many - one) / (TRAIN - 1) - SMALL * per_byte, 1e-9), alone);
  return GROVE_OK;
}

/* Of two turns the faster one: something else may have been in the way of all copies of one. */
static grove_status time_alone(surveyor *s, int from, int to)
{
  const measured_link link = {from, to, 0};
  const int64_t sizes[] = {SMALL, LARGE};
  double *best[] = {&s->shorter[from][to], &s->longer[from][to]};
  for (int i = 0; i < 2; i++) {
    double seconds = 0;
    GROVE_PASS(time_often(s, &link, &sizes[i], 1, &seconds));
    if (*best[i] == 0 || seconds < *best[i]) *best[i] = seconds;
  }
  return GROVE_OK;
}

static grove_status measure_alone(surveyor *s, int from, int to)
{
  const measured_link link = {from, to, 0};
  double shorter = s->shorter[from][to], longer = s->longer[from][to];
  double per_byte = fmax(longer - shorter, 1e-12) / (LARGE - SMALL);
  double alone = fmax(shorter - SMALL * per_byte, 1e-9);
  s->alone[from][to] = alone;
  s->l->link[from][to].rate = 1 / per_byte;
  if (from < GROVE_HOST && to < GROVE_HOST)
    s->found->own[from][to] = (grove_link_cost){alone, 1 / per_byte};
  return measure_chunk(s, link, per_byte, alone, &s->l->link[from][to].alpha);
}

/* What a chunk waits for at a stop: from one device to the next behind an event, less the copies.
 */
static grove_status measure_stop(surveyor *s, int from, int stop, int to)
{
  enum { BYTES = 4096 };
  const grove_driver *driver = s->driver;
  int second = carrier_of(stop, to);
  grove_stream *in = s->streams[from][stop], *out = s->streams[stop][to];
  double begin = 0, end = 0, all[TIMES + 1];
  char *memory = s->to[stop] + (int64_t)from * LARGE;
  for (int i = 0; i <= TIMES; i++) {
    read_clock(driver, &begin);
    GROVE_PASS(driver->copy(from, in, memory, s->from[from], BYTES));
    GROVE_PASS(driver->record(from, s->events[from], in));
    GROVE_PASS(driver->after(second, out, s->events[from]));
    GROVE_PASS(driver->copy(second, out, s->to[to] + (int64_t)from * LARGE, memory, BYTES));
    GROVE_PASS(driver->finish(second, out));
    read_clock(driver, &end);
    all[i] = end - begin;
  }
  qsort(all + 1, TIMES, sizeof *all, compare_seconds);
  const grove_link_cost *one = &s->l->link[from][stop], *two = &s->l->link[stop][to];
  double copies = s->alone[from][stop] + BYTES / one->rate + two->alpha + BYTES / two->rate;
  s->l->epsilon[stop] = fmax(all[1 + TIMES / 2] - copies, 0);
  return GROVE_OK;
}

static int has_link(const surveyor *s, int from, int to)
{
  return !s->driver->has_link || s->driver->has_link(from, to);
}

/* Some drivers use a link only if they were asked for it before. */
static void ask_for_all_links(const surveyor *s)
{
  for (int from = 0; from < s->nends - 1; from++)
    for (int to = 0; to < s->nends - 1; to++)
      if (from != to) (void)has_link(s, from, to);
}

/* What goes by the host is no link. The driver can still copy so, and what that takes is kept. */
static void drop_unlinked(surveyor *s)
{
  for (int from = 0; from < s->nends - 1; from++)
    for (int to = 0; to < s->nends - 1; to++)
      if (from != to && !has_link(s, from, to)) s->l->link[from][to] = (grove_link_cost){NAN, NAN};
}

static grove_status do_for_links(surveyor *s, grove_status (*action)(surveyor *, int from, int to))
{
  for (int i = 0; i < s->nends; i++)
    for (int k = 0; k < s->nends; k++)
      if (i != k) GROVE_PASS(action(s, survey_end(s, i), survey_end(s, k)));
  return GROVE_OK;
}

static grove_status measure_links(surveyor *s)
{
  ask_for_all_links(s);
  for (int turn = 0; turn < 2; turn++) GROVE_PASS(do_for_links(s, time_alone));
  GROVE_PASS(do_for_links(s, measure_alone));
  drop_unlinked(s);
  for (int i = 0; i < s->nends && s->nends > 2; i++) {
    int from = i == 0 ? 1 : 0, to = i <= 1 ? 2 : 1;
    int stop = survey_end(s, i);
    if (s->nends == 3 && i <= 1) continue; /* two devices have no third one */
    if (!grove_link_is_there(s->l, from, stop) || !grove_link_is_there(s->l, stop, to)) continue;
    GROVE_PASS(measure_stop(s, from, stop, to));
  }
  return GROVE_OK;
}

/* ---- together ---- */

/* How long it takes to copy so many bytes over the fastest of them, and over the others as many as
 * let them end at the same time. */
static grove_status time_together(surveyor *s, const measured_link *links, int n, int64_t most,
                                  double *seconds, double *all)
{
  int64_t bytes[GROVE_ENDS * 2];
  double fastest = 0;
  *all = 0;
  for (int i = 0; i < n; i++) fastest = fmax(fastest, links[i].rate);
  for (int i = 0; i < n; i++) {
    bytes[i] = (int64_t)((double)most * (links[i].rate / fastest));
    *all += (double)bytes[i];
  }
  return time_often(s, links, bytes, n, seconds);
}

/* The rate of all, and the sum of what each should have. */
static grove_status measure_at_once(surveyor *s, const measured_link *links, int n, double *rate,
                                    double *sum)
{
  double shorter = 0, longer = 0, fewer = 0, more = 0;
  *sum = 0;
  for (int i = 0; i < n; i++) *sum += links[i].rate;
  GROVE_PASS(time_together(s, links, n, MEDIUM, &shorter, &fewer));
  GROVE_PASS(time_together(s, links, n, LARGE, &longer, &more));
  *rate = (more - fewer) / fmax(longer - shorter, 1e-9);
  return GROVE_OK;
}

/* The same. Where they share something, each may get as much of it as any other: then they end at
 * once with as many bytes each, and none of it is unused at the end. */
static grove_status measure_limit(surveyor *s, const measured_link *links, int n, double *rate,
                                  double *sum)
{
  measured_link even[GROVE_ENDS * 2];
  double together = 0, all = 0;
  GROVE_PASS(measure_at_once(s, links, n, rate, sum));
  if (*rate >= CLEARLY * *sum) return GROVE_OK;
  for (int i = 0; i < n; i++) even[i] = (measured_link){links[i].from, links[i].to, 1};
  GROVE_PASS(measure_at_once(s, even, n, &together, &all));
  *rate = fmax(*rate, together);
  return GROVE_OK;
}

static measured_link expect_link(const surveyor *s, int from, int to)
{
  return (measured_link){from, to, s->l->link[from][to].rate};
}

static measured_link port_link(const surveyor *s, grove_port_way way, int here, int there)
{
  return way == GROVE_PORT_OUT ? expect_link(s, here, there) : expect_link(s, there, here);
}

static int compare_rates(const void *a, const void *b)
{
  double x = ((const measured_link *)a)->rate, y = ((const measured_link *)b)->rate;
  return (x < y) - (x > y);
}

/* Links that go well together, and the highest rate that was seen of some: with one that did not go
 * well with the others, if there is one. */
typedef struct link_group {
  measured_link links[GROVE_ENDS + 1];
  int n;
  double most;
  measured_link last;
} link_group;

/* Keeps the link if it makes the whole faster by what it should. */
static grove_status try_link(surveyor *s, link_group *g, measured_link link, int *fits)
{
  double rate = 0, sum = 0;
  g->links[g->n++] = link;
  GROVE_PASS(measure_limit(s, g->links, g->n, &rate, &sum));
  *fits = rate >= CLEARLY * sum;
  if (!*fits) g->n--;
  if (!*fits && rate > g->most) g->last = link;
  g->most = fmax(g->most, fmax(rate, g->links[0].rate));
  return GROVE_OK;
}

/* Adds the link that fills up what the others leave of the highest rate. */
static void fill_group(link_group *g)
{
  double left = g->most;
  for (int i = 0; i < g->n; i++) left -= g->links[i].rate;
  if (!(left > (1 - CLEARLY) * g->most && g->last.rate > 0)) return;
  g->links[g->n] = g->last;
  g->links[g->n++].rate = fmin(left, g->last.rate);
}

/* How many copies may leave the device at once, before they take turns. The host's is the third: a
 * slow one among fast ones shows it best. */
static grove_status measure_engines(surveyor *s, int device, const measured_link *links, int n)
{
  measured_link all[GROVE_ENDS];
  double rate = 0, sum = 0, most = 0;
  for (int i = 0; i < n; i++) all[i < 2 ? i : i + 1] = links[i];
  all[2] = expect_link(s, device, GROVE_HOST);
  for (int k = 2; k <= n + 1; k++) {
    GROVE_PASS(measure_at_once(s, all, k, &rate, &sum));
    if (rate < LOST * most) {
      s->found->engines[device] = k - 1;
      break;
    }
    most = fmax(most, rate);
  }
  return GROVE_OK;
}

/* All links to other devices, the fastest first; then the host's. */
static grove_status measure_port(surveyor *s, grove_port_way way, int device)
{
  measured_link links[GROVE_ENDS];
  link_group g = {.n = 0};
  int n = 0, all_fit = 1, fits = 1;
  for (int i = 0; i < s->nends - 1; i++) {
    measured_link link = port_link(s, way, device, i);
    if (i != device && link.rate > 0) links[n++] = link;
  }
  qsort(links, (size_t)n, sizeof *links, compare_rates);
  for (int i = 0; i < n; i++) {
    GROVE_PASS(try_link(s, &g, links[i], &fits));
    all_fit &= fits;
  }
  if (!all_fit) s->l->port[way][GROVE_PORT_PEERS][device] = g.most;
  fill_group(&g);
  GROVE_PASS(try_link(s, &g, port_link(s, way, device, GROVE_HOST), &fits));
  if (!fits) s->l->port[way][GROVE_PORT_ALL][device] = g.most;
  return way == GROVE_PORT_OUT && n > 1 ? measure_engines(s, device, links, n) : GROVE_OK;
}

static void add_thing(surveyor *s, const char *name, double rate, const measured_link *links, int n)
{
  grove_shared_thing *thing = &s->l->shared[s->l->nshared++];
  *thing = (grove_shared_thing){.rate = rate};
  grove_copy_text(thing->name, sizeof thing->name, name);
  for (int i = 0; i < n; i++) thing->crossed[links[i].from] |= (uint32_t)1 << links[i].to;
}

/* All to the host, all from it, and both at once. */
static grove_status measure_host(surveyor *s)
{
  measured_link links[2 * GROVE_ENDS] = {{0}};
  int n = s->nends - 1;
  double in = 0, out = 0, both = 0, sum = 0;
  for (int i = 0; i < n; i++) {
    links[i] = expect_link(s, i, GROVE_HOST);
    links[n + i] = expect_link(s, GROVE_HOST, i);
  }
  GROVE_PASS(measure_limit(s, links, n, &in, &sum));
  if (n > 1 && in < CLEARLY * sum) add_thing(s, "to-host", in, links, n);
  GROVE_PASS(measure_limit(s, links + n, n, &out, &sum));
  if (n > 1 && out < CLEARLY * sum) add_thing(s, "from-host", out, links + n, n);
  GROVE_PASS(measure_limit(s, links, 2 * n, &both, &sum));
  if (both < CLEARLY * (in + out)) add_thing(s, "host-memory", both, links, 2 * n);
  return GROVE_OK;
}

static grove_status measure_shared(surveyor *s)
{
  for (int way = 0; way < GROVE_PORT_WAYS; way++)
    for (int i = 0; i < s->nends - 1; i++) GROVE_PASS(measure_port(s, way, i));
  return measure_host(s);
}

/* ---- what that needs ---- */

static grove_status furnish_host(surveyor *s)
{
  int64_t bytes = (int64_t)(s->nends + 1) * LARGE;
  char *memory = malloc((size_t)bytes);
  GROVE_PASS_CHECK(memory, GROVE_ERR_MEMORY, "no memory to measure links with");
  grove_status status = s->driver->pin(memory, bytes);
  if (status != GROVE_OK) free(memory);
  if (status != GROVE_OK) return status;
  s->from[GROVE_HOST] = memory;
  s->to[GROVE_HOST] = memory + LARGE;
  return GROVE_OK;
}

static grove_status furnish_surveyor(surveyor *s)
{
  GROVE_PASS(furnish_host(s));
  for (int i = 0; i < s->nends - 1; i++) {
    GROVE_PASS(s->driver->allocate(i, LARGE, (void **)&s->from[i]));
    GROVE_PASS(s->driver->allocate(i, (int64_t)s->nends * LARGE, (void **)&s->to[i]));
    GROVE_PASS(s->driver->create_event(i, &s->events[i]));
    GROVE_PASS(s->driver->create_event(i, &s->marks[i]));
  }
  for (int i = 0; i < s->nends; i++)
    for (int k = 0; k < s->nends; k++) {
      int from = survey_end(s, i), to = survey_end(s, k);
      if (i != k) GROVE_PASS(s->driver->create_stream(carrier_of(from, to), &s->streams[from][to]));
    }
  return GROVE_OK;
}

static void dismiss_surveyor(surveyor *s)
{
  grove_sentence before;
  grove_error_keep(&before);
  for (int from = 0; from < GROVE_ENDS; from++)
    for (int to = 0; to < GROVE_ENDS; to++)
      if (s->streams[from][to] && await_measured(s, (measured_link){from, to, 0}) == GROVE_OK)
        s->driver->free_stream(carrier_of(from, to), s->streams[from][to]);
  for (int i = 0; i < s->nends - 1; i++) {
    if (s->events[i]) s->driver->free_event(s->events[i]);
    if (s->marks[i]) s->driver->free_event(s->marks[i]);
    s->driver->free(i, s->from[i]);
    s->driver->free(i, s->to[i]);
  }
  if (s->from[GROVE_HOST]) s->driver->unpin(s->from[GROVE_HOST]);
  free(s->from[GROVE_HOST]);
  grove_error_restore(&before);
}

static void make_alike(int ndevices, grove_links *l)
{
  for (int from = 0; from < GROVE_ENDS; from++)
    for (int to = 0; to < GROVE_ENDS; to++) {
      int is_there = from != to && (from < ndevices || from == GROVE_HOST) &&
                     (to < ndevices || to == GROVE_HOST);
      if (is_there) l->link[from][to] = (grove_link_cost){ALIKE_ALPHA, ALIKE_RATE};
    }
}

static grove_status survey_links(const grove_driver *driver, int ndevices, grove_links *l,
                                 grove_copy_findings *found)
{
  grove_status status = GROVE_OK;
  surveyor s = {.driver = driver, .nends = ndevices + 1, .l = l, .found = found};
  GROVE_TRY(furnish_surveyor(&s));
  GROVE_TRY(measure_links(&s));
  GROVE_TRY(measure_shared(&s));
fail:
  dismiss_surveyor(&s);
  return status;
}

grove_status grove_copy_links_measure(const grove_driver *driver, int ndevices,
                                      grove_copy_findings *found, grove_machine **out)
{
  grove_status status = GROVE_OK;
  grove_machine *m = NULL;
  double now = 0;
  GROVE_TRY(grove_machine_create("as-found", &m));
  grove_links_clear(&m->links);
  m->links.devices = ndevices;
  if (ndevices > 1 && read_clock(driver, &now))
    GROVE_TRY(survey_links(driver, ndevices, &m->links, found));
  else
    make_alike(ndevices, &m->links);
  *out = m;
  return GROVE_OK;
fail:
  grove_machine_free(&m);
  return status;
}
