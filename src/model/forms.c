#include "model/forms.h"

#include <math.h>
#include <stdlib.h>

/* ---- messages ---- */

double grove_form_postal(grove_postal p, double bytes)
{
  return p.alpha + p.beta * bytes;
}

/* Seconds that the node's bytes keep its interface busy; an unknown limit is none. Does not use
 * fmax, whose treatment of NaN differs on some processors, real or emulated. */
static double injecting_rate(double node_bytes, double injection)
{
  return isnan(injection) ? 0 : node_bytes * injection;
}

double grove_form_max_rate(grove_postal p, double injection, double ppn, double messages,
                           double bytes)
{
  return p.alpha * messages + fmax(injecting_rate(ppn * bytes, injection), p.beta * bytes);
}

double grove_form_max_rate_one(grove_postal p, double injection, double ppn, double bytes)
{
  double node_rate = injection > 0 ? 1 / injection : INFINITY;
  double own_rate = p.beta > 0 ? 1 / p.beta : INFINITY;
  if (ppn < 1) ppn = 1; /* the caller is one of them */
  return p.alpha + ppn * bytes / fmin(node_rate, ppn * own_rate);
}

/* Whole bytes for the table of protocols, whose limits are whole. */
static int64_t whole_part(double bytes)
{
  return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

int grove_postal_is_known(grove_postal p)
{
  return !isnan(p.alpha) && !isnan(p.beta);
}

grove_picked grove_form_pick(const grove_machine *m, grove_memory_kind memory, grove_locality where,
                             int protocol, double bytes)
{
  int used = protocol;
  if (protocol == GROVE_BY_SIZE) used = grove_machine_protocol(m, memory, where, whole_part(bytes));
  const grove_postal *costs = m->postal[memory][where];
  while (used < GROVE_REND && !grove_postal_is_known(costs[used])) used++;
  while (used > GROVE_SHORT && !grove_postal_is_known(costs[used])) used--;
  return (grove_picked){
    .protocol = (grove_protocol)used,
    .cost = costs[used],
    .injection = m->injection[memory][used],
    .replaced = protocol != GROVE_BY_SIZE && used != protocol,
  };
}

int grove_form_has_messages(const grove_machine *m, grove_memory_kind memory, grove_locality where)
{
  return grove_postal_is_known(grove_form_pick(m, memory, where, GROVE_BY_SIZE, 0).cost);
}

double grove_form_message(const grove_machine *m, grove_memory_kind memory, grove_locality where,
                          int protocol, double ppn, double bytes)
{
  grove_picked p = grove_form_pick(m, memory, where, protocol, bytes);
  if (where != GROVE_OFF_NODE) return grove_form_postal(p.cost, bytes);
  return grove_form_max_rate_one(p.cost, p.injection, ppn, bytes);
}

/* ---- queues and contention ---- */

double grove_form_queue(double gamma, double n, grove_queue_order order)
{
  switch (order) {
  case GROVE_QUEUE_BEST: return gamma * n;
  case GROVE_QUEUE_TYPICAL: return gamma * n * n / 3;
  case GROVE_QUEUE_WORST: break;
  }
  return gamma * n * n;
}

double grove_form_contention(double delta, double link_bytes)
{
  return delta * link_bytes;
}

double grove_form_cube_bytes(double hops, double bytes, double ppn)
{
  return 2 * hops * hops * hops * bytes * ppn;
}

/* Steps from a to b along one dimension: negative is downwards. */
static int count_steps(const grove_torus *t, int dim, int64_t a, int64_t b)
{
  int n = t->dims[dim], d = (int)(b - a);
  if (!t->wraps) return d;
  if (d < 0) d += n;
  return 2 * d <= n ? d : d - n;
}

/* Adds the bytes to every link on the way and returns the number of links. A router has one link up
 * and one down in every dimension. */
static int64_t travel_time(const grove_torus *t, const grove_traffic *e, double *link)
{
  int64_t at = e->from / t->nodes_per_router, to = e->to / t->nodes_per_router;
  int64_t stride = 1, hops = 0;
  for (int d = 0; d < t->ndims; d++) {
    int n = t->dims[d];
    int64_t here = at / stride % n, there = to / stride % n;
    int left = count_steps(t, d, here, there), way = left < 0 ? -1 : 1;
    for (; left != 0; left -= way) {
      link[(at * t->ndims + d) * 2 + (way < 0)] += e->bytes;
      int64_t next = (here + way + n) % n;
      at += (next - here) * stride;
      here = next;
      hops++;
    }
    stride *= n;
  }
  return hops;
}

static grove_status check_torus(const grove_torus *t, int64_t *routers)
{
  GROVE_PASS_CHECK(t->ndims >= 1 && t->ndims <= GROVE_TORUS_DIMENSIONS, GROVE_ERR_ARG,
                   "a torus has 1 to %d dimensions, not %d", GROVE_TORUS_DIMENSIONS, t->ndims);
  GROVE_PASS_CHECK(t->nodes_per_router >= 1, GROVE_ERR_ARG, "a router has %d nodes; 1 is the least",
                   t->nodes_per_router);
  *routers = 1;
  for (int d = 0; d < t->ndims; d++) {
    GROVE_PASS_CHECK(t->dims[d] >= 1 && t->dims[d] <= 100000000 / *routers, GROVE_ERR_ARG,
                     "dimension %d of the torus is %d: from 1 up to 100 million routers in all", d,
                     t->dims[d]);
    *routers *= t->dims[d];
  }
  return GROVE_OK;
}

grove_status grove_form_torus(const grove_torus *torus, int64_t n, const grove_traffic *traffic,
                              grove_contended *out)
{
  grove_status status = GROVE_OK;
  grove_contended found = {0};
  double *link = NULL, bytes = 0;
  int64_t routers = 0;
  GROVE_TRY(check_torus(torus, &routers));
  GROVE_NEW(link, routers * torus->ndims * 2);
  for (int64_t i = 0; i < n; i++) {
    const grove_traffic *e = &traffic[i];
    int64_t most = routers * torus->nodes_per_router;
    GROVE_CHECK(e->from >= 0 && e->from < most && e->to >= 0 && e->to < most, GROVE_ERR_ARG,
                "entry %lld goes from node %lld to %lld, and there are %lld", (long long)i,
                (long long)e->from, (long long)e->to, (long long)most);
    GROVE_CHECK(e->bytes >= 0, GROVE_ERR_ARG, "entry %lld has %g bytes", (long long)i, e->bytes);
    found.hops += (double)travel_time(torus, e, link) * e->bytes;
    bytes += e->bytes;
  }
  if (bytes > 0) found.hops /= bytes;
  for (int64_t i = 0; i < routers * torus->ndims * 2; i++)
    found.link_bytes = fmax(found.link_bytes, link[i]);
  *out = found;
fail:
  free(link);
  return status;
}

/* ---- parts of node-aware strategies ---- */

double grove_form_on(grove_postal on_socket, grove_postal on_node, grove_holders gpus, double bytes)
{
  return grove_form_on_split(on_socket, on_node, gpus, 1, bytes);
}

double grove_form_on_split(grove_postal on_socket, grove_postal on_node, grove_holders processes,
                           double ppg, double bytes)
{
  double near = fmax(processes.per_socket / ppg - 1, 0);
  double far = processes.per_socket / ppg * fmax(processes.sockets - 1, 0);
  double seconds = 0;
  if (near > 0) seconds += near * grove_form_postal(on_socket, bytes);
  if (far > 0) seconds += far * grove_form_postal(on_node, bytes);
  return seconds;
}

double grove_form_off(grove_postal off_node, double injection, double messages, double bytes,
                      double node_bytes)
{
  return off_node.alpha * messages +
         fmax(injecting_rate(node_bytes, injection), off_node.beta * bytes);
}

double grove_form_off_device(grove_postal off_node, double messages, double bytes)
{
  return off_node.alpha * messages + off_node.beta * bytes;
}

double grove_form_copy(grove_postal d2h, grove_postal h2d, double sent, double received,
                       int as_published)
{
  double down = as_published ? received : sent, up = as_published ? sent : received;
  return grove_form_postal(d2h, down) + grove_form_postal(h2d, up);
}
