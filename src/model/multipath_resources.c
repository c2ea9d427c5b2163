/* What paths share. A resource gives no more than its rate. Direct paths take first, then paths
 * through GPUs, then those through the host, because a byte on the direct path crosses the fewest
 * things. Paths of one kind rise together until something is used up. */
#include "model/multipath_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { A_LINK, A_PORT, A_THING };

void grove_resource_name(const grove_copies *set, int resource, char *out, size_t room)
{
  const grove_path_resource *r = &set->resource[resource];
  char a[8], b[8];
  if (r->kind == A_LINK)
    snprintf(out, room, "the link %s-%s", grove_end_name(r->from, a), grove_end_name(r->to, b));
  else if (r->kind == A_PORT)
    snprintf(out, room, "the port %s GPU %d",
             r->to / GROVE_PORT_KINDS == GROVE_PORT_OUT ? "out of" : "into", r->from);
  else
    snprintf(out, room, "%s", set->m->links.shared[r->from].name);
}

/* ---- what a path crosses ---- */

static int find_resource(grove_copies *set, int kind, int from, int to, double rate)
{
  int i = 0;
  for (; i < set->nresources; i++) {
    const grove_path_resource *r = &set->resource[i];
    if (r->kind == kind && r->from == from && r->to == to) return i;
  }
  if (i == GROVE_RESOURCES) return -1;
  set->resource[set->nresources++] = (grove_path_resource){kind, from, to, rate};
  return i;
}

/* Notes that the path crosses it, on its first link or its second. */
static grove_status cross_resource(grove_copy_paths *copy, int path, int second, int r)
{
  grove_crossing *list = copy->crossing[path];
  int *n = &copy->ncrossings[path], i = 0;
  GROVE_PASS_CHECK(r >= 0, GROVE_ERR_ARG, "copies share more than %d things", GROVE_RESOURCES);
  while (i < *n && list[i].resource != r) i++;
  GROVE_PASS_CHECK(i < GROVE_CROSSINGS, GROVE_ERR_ARG, "a path crosses more than %d things",
                   GROVE_CROSSINGS);
  if (i == *n) list[(*n)++] = (grove_crossing){(short)r, 0, (unsigned char)second};
  list[i].times++;
  return GROVE_OK;
}

static grove_status cross_link(grove_copies *set, grove_copy_paths *copy, int path, int second,
                               int from, int to)
{
  const grove_links *l = &set->m->links;
  int peers = from != GROVE_HOST && to != GROVE_HOST;
  GROVE_PASS(cross_resource(copy, path, second,
                            find_resource(set, A_LINK, from, to, l->link[from][to].rate)));
  for (int way = 0; way < GROVE_PORT_WAYS; way++)
    for (int kind = peers ? GROVE_PORT_PEERS : GROVE_PORT_ALL; kind < GROVE_PORT_KINDS; kind++) {
      int end = way == GROVE_PORT_OUT ? from : to;
      if (end == GROVE_HOST || isnan(l->port[way][kind][end])) continue;
      GROVE_PASS(cross_resource(
        copy, path, second,
        find_resource(set, A_PORT, end, way * GROVE_PORT_KINDS + kind, l->port[way][kind][end])));
    }
  for (int i = 0; i < l->nshared; i++)
    if (l->shared[i].crossed[from] >> to & 1)
      GROVE_PASS(
        cross_resource(copy, path, second, find_resource(set, A_THING, i, 0, l->shared[i].rate)));
  return GROVE_OK;
}

/* Limits a path by itself to the rates of what it crosses. */
static void limit_alone(const grove_copies *set, grove_copy_paths *copy, int i)
{
  grove_path *p = &copy->path[i];
  for (int k = 0; k < copy->ncrossings[i]; k++) {
    const grove_crossing *x = &copy->crossing[i][k];
    double rate = set->resource[x->resource].rate / x->times;
    if (rate >= grove_path_rate(p)) continue;
    copy->limited[i] = x->resource;
    if (!x->behind) p->beta = fmin(p->beta, rate);
    if (x->behind || x->times > 1) p->beta2 = fmin(p->beta2, rate);
  }
}

/* A path is useless if earlier paths leave nothing of what it crosses. */
static void find_useless(const grove_copies *set, grove_copy_paths *copy)
{
  grove_copies one;
  double rates[GROVE_COPIES][GROVE_PATHS];
  int stopped[GROVE_COPIES][GROVE_PATHS];
  one = *set;
  one.count = 1;
  one.copy[0] = *copy;
  grove_resources_rates(&one, rates, stopped);
  for (int i = 0; i < copy->npaths; i++)
    if (rates[0][i] <= 1e-9 * grove_path_rate(&copy->path[i])) copy->useless[i] = stopped[0][i];
}

grove_status grove_resources_add(grove_copies *set, grove_copy_paths *copy)
{
  for (int i = 0; i < copy->npaths; i++) {
    const grove_path *p = &copy->path[i];
    int stop = p->kind == GROVE_PATH_HOST ? GROVE_HOST : p->via;
    copy->limited[i] = copy->useless[i] = -1;
    GROVE_PASS(cross_link(set, copy, i, 0, copy->from, stop < 0 ? copy->to : stop));
    if (stop >= 0) GROVE_PASS(cross_link(set, copy, i, 1, stop, copy->to));
    if (!set->alone) limit_alone(set, copy, i);
  }
  if (!set->alone) find_useless(set, copy);
  return GROVE_OK;
}

/* ---- who gets how much ---- */

/* Paths that rise together. */
typedef struct risers {
  int n;
  struct {
    int copy, path;
  } at[GROVE_COPIES * GROVE_PATHS];
} risers;

static risers of_kind(const grove_copies *set, double most[][GROVE_PATHS], int kind)
{
  risers out = {.n = 0};
  for (int c = 0; c < set->count; c++)
    for (int i = 0; i < set->copy[c].npaths; i++)
      if ((int)set->copy[c].path[i].kind == kind && most[c][i] > 0) {
        out.at[out.n].copy = c;
        out.at[out.n++].path = i;
      }
  return out;
}

static int crosses_resource(const grove_copy_paths *copy, int path, int resource)
{
  for (int k = 0; k < copy->ncrossings[path]; k++)
    if (copy->crossing[path][k].resource == resource) return 1;
  return 0;
}

/* What all rising paths would take of each resource. */
static void sum_demand(const grove_copies *set, const risers *up, double most[][GROVE_PATHS],
                       double *demand)
{
  memset(demand, 0, (size_t)set->nresources * sizeof *demand);
  for (int j = 0; j < up->n; j++) {
    const grove_copy_paths *copy = &set->copy[up->at[j].copy];
    int i = up->at[j].path;
    for (int k = 0; k < copy->ncrossings[i]; k++)
      demand[copy->crossing[i][k].resource] += copy->crossing[i][k].times * most[up->at[j].copy][i];
  }
}

/* Stops the paths that cross what is used up. */
static void stop_crossing(const grove_copies *set, risers *up, int resource,
                          int stopped[][GROVE_PATHS])
{
  int kept = 0;
  for (int j = 0; j < up->n; j++) {
    if (crosses_resource(&set->copy[up->at[j].copy], up->at[j].path, resource))
      stopped[up->at[j].copy][up->at[j].path] = resource;
    else
      up->at[kept++] = up->at[j];
  }
  up->n = kept;
}

/* Stops the paths of a copy that has all it needs. */
static void stop_copy(risers *up, int copy)
{
  int kept = 0;
  for (int j = 0; j < up->n; j++)
    if (up->at[j].copy != copy) up->at[kept++] = up->at[j];
  up->n = kept;
}

/* What is left of each resource, and of what each copy needs. */
typedef struct remains {
  double resource[GROVE_RESOURCES], copy[GROVE_COPIES];
} remains;

static void rise_rates(const grove_copies *set, risers up, double most[][GROVE_PATHS],
                       remains *left, double out[][GROVE_PATHS], int stopped[][GROVE_PATHS])
{
  double demand[GROVE_RESOURCES], risen = 0;
  while (up.n > 0) {
    double step = 1 - risen, wanted[GROVE_COPIES] = {0};
    int full = -1, done = -1;
    sum_demand(set, &up, most, demand);
    for (int j = 0; j < up.n; j++) wanted[up.at[j].copy] += most[up.at[j].copy][up.at[j].path];
    for (int r = 0; r < set->nresources && !set->alone; r++)
      if (demand[r] > 0 && left->resource[r] < step * demand[r]) {
        step = left->resource[r] / demand[r];
        full = r;
      }
    for (int c = 0; c < set->count; c++)
      if (wanted[c] > 0 && left->copy[c] < step * wanted[c]) {
        step = left->copy[c] / wanted[c];
        done = c;
      }
    for (int j = 0; j < up.n; j++)
      out[up.at[j].copy][up.at[j].path] += step * most[up.at[j].copy][up.at[j].path];
    for (int r = 0; r < set->nresources; r++)
      left->resource[r] = fmax(left->resource[r] - step * demand[r], 0);
    for (int c = 0; c < set->count; c++) left->copy[c] = fmax(left->copy[c] - step * wanted[c], 0);
    risen += step;
    if (done >= 0)
      stop_copy(&up, done);
    else if (full >= 0)
      stop_crossing(set, &up, full, stopped);
    else
      return;
  }
}

void grove_resources_fill(const grove_copies *set, double most[][GROVE_PATHS], const double *room,
                          const double *need, double out[][GROVE_PATHS], int stopped[][GROVE_PATHS])
{
  remains left;
  memcpy(left.resource, room, (size_t)set->nresources * sizeof *left.resource);
  for (int c = 0; c < set->count; c++) {
    left.copy[c] = need ? need[c] : INFINITY;
    for (int i = 0; i < set->copy[c].npaths; i++) {
      out[c][i] = 0;
      stopped[c][i] = -1;
    }
  }
  for (int kind = 0; kind < GROVE_PATH_KINDS; kind++)
    rise_rates(set, of_kind(set, most, kind), most, &left, out, stopped);
}

void grove_resources_rates(const grove_copies *set, double out[][GROVE_PATHS],
                           int stopped[][GROVE_PATHS])
{
  double most[GROVE_COPIES][GROVE_PATHS], room[GROVE_RESOURCES];
  for (int r = 0; r < set->nresources; r++) room[r] = set->resource[r].rate;
  for (int c = 0; c < set->count; c++)
    for (int i = 0; i < set->copy[c].npaths; i++)
      most[c][i] = set->copy[c].useless[i] >= 0 ? 0 : grove_path_rate(&set->copy[c].path[i]);
  grove_resources_fill(set, most, room, NULL, out, stopped);
}

/* ---- what a split really takes ---- */

double grove_crossing_begins(const grove_path *p, const grove_crossing *x, double launch)
{
  return launch + p->alpha + (x->behind ? p->epsilon + p->alpha2 : 0);
}

double grove_resources_check(const grove_copies *set, const grove_split *splits, int *binds)
{
  double begins[GROVE_RESOURCES], crossed[GROVE_RESOURCES], last = 0;
  for (int r = 0; r < set->nresources; r++) {
    begins[r] = INFINITY;
    crossed[r] = 0;
  }
  *binds = -1;
  for (int c = 0; c < set->count; c++)
    for (int i = 0; i < set->copy[c].npaths; i++) {
      const grove_copy_paths *copy = &set->copy[c];
      const grove_path_load *load = &splits[c].load[i];
      double bytes = load->share * copy->bytes;
      if (!(bytes > 0)) continue;
      last =
        fmax(last, load->launch + grove_path_seconds(&copy->path[i], bytes, (double)load->chunks));
      for (int k = 0; k < copy->ncrossings[i]; k++) {
        const grove_crossing *x = &copy->crossing[i][k];
        crossed[x->resource] += x->times * bytes;
        begins[x->resource] =
          fmin(begins[x->resource], grove_crossing_begins(&copy->path[i], x, load->launch));
      }
    }
  for (int r = 0; r < set->nresources; r++) {
    double ends = crossed[r] > 0 ? begins[r] + crossed[r] / set->resource[r].rate : 0;
    if (ends > last * (1 + 1e-12)) {
      last = ends;
      *binds = r;
    }
  }
  return last;
}
