/* The links of a node, as its driver lets them be measured: each alone, then together those that
 * may share something. What is found is a machine of the model.
 *
 * A link alone: a copy of two sizes gives latency and rate. Together: all that leave a device, all
 * that come to one, all to the host and from it, with as many bytes as let them end at once. Where
 * that is clearly slower than the links promise, they share a port or a thing of that rate.
 */
#include "device/copier.h"

#include "base/pause.h"

#include <math.h>
#include <stdlib.h>

enum { SMALL = GROVE_LEAST_SPLIT, LARGE = 8 << 20, TIMES = 5 };

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
  grove_event *events[GROVE_DEVICES];
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

static grove_status measure_alone(surveyor *s, int from, int to)
{
  const measured_link link = {from, to, 0};
  const int64_t small = SMALL, large = LARGE;
  double shorter = 0, longer = 0;
  GROVE_PASS(time_often(s, &link, &small, 1, &shorter));
  GROVE_PASS(time_often(s, &link, &large, 1, &longer));
  double per_byte = fmax(longer - shorter, 1e-12) / (LARGE - SMALL);
  s->l->link[from][to] = (grove_link_cost){fmax(shorter - SMALL * per_byte, 1e-9), 1 / per_byte};
  return GROVE_OK;
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
  double copies = one->alpha + BYTES / one->rate + two->alpha + BYTES / two->rate;
  s->l->epsilon[stop] = fmax(all[1 + TIMES / 2] - copies, 0);
  return GROVE_OK;
}

/* What goes by the host is no link. The driver can still copy so, and what that takes is kept. */
static void drop_unlinked(surveyor *s)
{
  for (int from = 0; from < s->nends - 1; from++)
    for (int to = 0; to < s->nends - 1; to++) {
      s->found->own[from][to] = s->l->link[from][to];
      if (from != to && s->driver->has_link && !s->driver->has_link(from, to))
        s->l->link[from][to] = (grove_link_cost){NAN, NAN};
    }
}

static grove_status measure_links(surveyor *s)
{
  for (int i = 0; i < s->nends; i++)
    for (int k = 0; k < s->nends; k++)
      if (i != k) GROVE_PASS(measure_alone(s, survey_end(s, i), survey_end(s, k)));
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

/* The rate of all, and the sum of what each should have. */
static grove_status measure_at_once(surveyor *s, const measured_link *links, int n, double *rate,
                                    double *sum)
{
  int64_t bytes[GROVE_ENDS * 2];
  double fastest = 0, alpha = 0, all = 0, seconds = 0;
  *sum = 0;
  for (int i = 0; i < n; i++) fastest = fmax(fastest, links[i].rate);
  for (int i = 0; i < n; i++) {
    bytes[i] = (int64_t)(LARGE * (links[i].rate / fastest));
    all += (double)bytes[i];
    alpha = fmax(alpha, s->l->link[links[i].from][links[i].to].alpha);
    *sum += links[i].rate;
  }
  GROVE_PASS(time_often(s, links, bytes, n, &seconds));
  *rate = all / fmax(seconds - alpha, 1e-9);
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

/* Links that go well together, and the highest rate that was seen of some. */
typedef struct link_group {
  measured_link links[GROVE_ENDS];
  int n;
  double most;
} link_group;

/* Keeps the link if it makes the whole faster by what it should. */
static grove_status try_link(surveyor *s, link_group *g, measured_link link, int *fits)
{
  double rate = 0, sum = 0;
  g->links[g->n++] = link;
  GROVE_PASS(measure_at_once(s, g->links, g->n, &rate, &sum));
  *fits = rate >= CLEARLY * sum;
  if (!*fits) g->n--;
  g->most = fmax(g->most, fmax(rate, g->links[0].rate));
  return GROVE_OK;
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
  GROVE_PASS(measure_at_once(s, links, n, &in, &sum));
  if (n > 1 && in < CLEARLY * sum) add_thing(s, "to-host", in, links, n);
  GROVE_PASS(measure_at_once(s, links + n, n, &out, &sum));
  if (n > 1 && out < CLEARLY * sum) add_thing(s, "from-host", out, links + n, n);
  GROVE_PASS(measure_at_once(s, links, 2 * n, &both, &sum));
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
