#include "grove/machine/pairs.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

static void add(pairs *p, kind what, const char *unit, double a, double b, const char *format, ...)
#if defined(__GNUC__)
  __attribute__((format(printf, 6, 7)))
#endif
  ;

static void add(pairs *p, kind what, const char *unit, double a, double b, const char *format, ...)
{
  va_list arguments;
  if (p->failed || (isnan(a) && isnan(b))) return;
  p->failed = !grove_grow(&p->at, p->n, 1, sizeof *p->at);
  if (p->failed) return;
  pair *x = &p->at[p->n++];
  *x = (pair){.kind = what, .unit = unit, .a = a, .b = b};
  va_start(arguments, format);
  vsnprintf(x->name, sizeof x->name, format, arguments);
  va_end(arguments);
}

/* ---- the numbers to compare ---- */

static double known(double number)
{
  return number > 0 ? number : NAN;
}

static double size(int64_t from)
{
  return from == INT64_MAX ? NAN : (double)from;
}

static void add_shape(pairs *p, const grove_machine *a, const grove_machine *b)
{
  add(p, SHAPE, "1", known(a->sockets), known(b->sockets), "sockets");
  add(p, SHAPE, "1", known(a->ranks), known(b->ranks), "ranks");
  add(p, SHAPE, "1", known(a->cores), known(b->cores), "cores");
  add(p, SHAPE, "1", known(a->gpus), known(b->gpus), "gpus");
}

static void add_messages(pairs *p, const grove_machine *a, const grove_machine *b)
{
  for (int m = 0; m < GROVE_MEMORIES; m++)
    for (int l = 0; l < GROVE_LOCALITIES; l++)
      for (int k = 0; k < GROVE_PROTOCOLS; k++) {
        const char *const memory = grove_memory_names[m], *const where = grove_locality_names[l];
        const char *const by = grove_protocol_names[k];
        const grove_postal x = a->postal[m][l][k], y = b->postal[m][l][k];
        double from = size(a->from[m][l][k]), begin = size(b->from[m][l][k]);
        if (from > 0 || begin > 0)
          add(p, LIMIT, "B", from, begin, "from %s %s %s", memory, where, by);
        add(p, PARAMETER, "s", x.alpha, y.alpha, "alpha %s %s %s", memory, where, by);
        add(p, PARAMETER, "s/B", x.beta, y.beta, "beta %s %s %s", memory, where, by);
        if (l == GROVE_OFF_NODE)
          add(p, PARAMETER, "s/B", a->injection[m][k], b->injection[m][k], "injection %s %s",
              memory, by);
      }
}

static double copies_of(const grove_machine *m, int way, int processes, int beta)
{
  for (int i = 0; i < m->ncopies[way]; i++)
    if (m->copies[way][i].processes == processes)
      return beta ? m->copies[way][i].cost.beta : m->copies[way][i].cost.alpha;
  return NAN;
}

/* Calls `visit` once for every number in the union of two ascending lists. */
static void unite(int n, const int64_t *a, int m, const int64_t *b, pairs *p,
                  void (*visit)(pairs *, int64_t, const void *), const void *context)
{
  for (int i = 0, k = 0; i < n || k < m;) {
    int64_t next = k == m || (i < n && a[i] <= b[k]) ? a[i] : b[k];
    visit(p, next, context);
    while (i < n && a[i] == next) i++;
    while (k < m && b[k] == next) k++;
  }
}

typedef struct both {
  const grove_machine *a, *b;
  int which; /* direction, or locality */
} both;

static void visit_copies(pairs *p, int64_t processes, const void *context)
{
  const both *x = context;
  const char *way = grove_direction_names[x->which];
  int n = (int)processes;
  add(p, PARAMETER, "s", copies_of(x->a, x->which, n, 0), copies_of(x->b, x->which, n, 0),
      "copy-alpha %s %d", way, n);
  add(p, PARAMETER, "s/B", copies_of(x->a, x->which, n, 1), copies_of(x->b, x->which, n, 1),
      "copy-beta %s %d", way, n);
}

static double launch_of(const grove_machine *m, int processes)
{
  for (int i = 0; i < m->nlaunches; i++)
    if (m->launches[i].processes == processes) return m->launches[i].cost.alpha;
  return NAN;
}

static void visit_launches(pairs *p, int64_t processes, const void *context)
{
  const both *x = context;
  int n = (int)processes;
  add(p, PARAMETER, "s", launch_of(x->a, n), launch_of(x->b, n), "launch %d", n);
}

static void visit_shared(pairs *p, int64_t ranks, const void *context)
{
  const both *x = context;
  add(p, PARAMETER, "s/B", grove_machine_shared(x->a, (int)ranks),
      grove_machine_shared(x->b, (int)ranks), "shared %lld", (long long)ranks);
}

static void visit_loggp(pairs *p, int64_t from, const void *context)
{
  static const grove_loggp none = {0, NAN, NAN, NAN, NAN, NAN};
  const both *x = context;
  const grove_loggp *a = grove_machine_loggp(x->a, x->which, from);
  const grove_loggp *b = grove_machine_loggp(x->b, x->which, from);
  if (!a) a = &none;
  if (!b) b = &none;
  const char *const where = grove_locality_names[x->which];
  long long first = from;
  add(p, PARAMETER, "s", a->L, b->L, "L %s %lld..", where, first);
  add(p, PARAMETER, "s", a->o_s, b->o_s, "o_s %s %lld..", where, first);
  add(p, PARAMETER, "s", a->o_r, b->o_r, "o_r %s %lld..", where, first);
  add(p, PARAMETER, "s", a->g, b->g, "g %s %lld..", where, first);
  add(p, PARAMETER, "s/B", a->G, b->G, "G %s %lld..", where, first);
}

static int starts(const grove_copy_rate *list, int n, int64_t *out)
{
  for (int i = 0; i < n; i++) out[i] = list[i].processes;
  return n;
}

static int loggp_starts(const grove_machine *m, int l, int64_t *out)
{
  for (int i = 0; i < m->nloggp[l]; i++) out[i] = m->loggp[l][i].from_bytes;
  return m->nloggp[l];
}

static void add_lists(pairs *p, const grove_machine *a, const grove_machine *b)
{
  int64_t x[GROVE_LISTED], y[GROVE_LISTED];
  both c = {a, b, 0};
  for (c.which = 0; c.which < GROVE_DIRECTIONS; c.which++) {
    int n = starts(a->copies[c.which], a->ncopies[c.which], x);
    unite(n, x, starts(b->copies[c.which], b->ncopies[c.which], y), y, p, visit_copies, &c);
  }
  int launches = starts(a->launches, a->nlaunches, x);
  unite(launches, x, starts(b->launches, b->nlaunches, y), y, p, visit_launches, &c);
  if (a->ndevice_pack > 0 || b->ndevice_pack > 0)
    add(p, PARAMETER, "s/B", a->ndevice_pack > 0 ? grove_machine_device_packing(a, 1 << 20) : NAN,
        b->ndevice_pack > 0 ? grove_machine_device_packing(b, 1 << 20) : NAN, "pack gpu 1 MiB");
  add(p, PARAMETER, "s", a->flag_seconds[0], b->flag_seconds[0], "flag on-socket");
  add(p, PARAMETER, "s", a->flag_seconds[1], b->flag_seconds[1], "flag on-node");
  for (int i = 0; i < 2; i++) {
    const grove_crowd *u = &a->crowd[i], *v = &b->crowd[i];
    const char *where = grove_locality_names[GROVE_ON_NODE + i];
    add(p, PARAMETER, "s", u->turn, v->turn, "crowd-turn %s", where);
    add(p, PARAMETER, "s", u->message, v->message, "crowd-message %s", where);
    add(p, PARAMETER, "s/B", u->byte, v->byte, "crowd-byte %s", where);
  }
  for (int i = 0; i < GROVE_FACTORS; i++)
    if (a->factor[i] != 1 || b->factor[i] != 1)
      add(p, PARAMETER, "1", a->factor[i], b->factor[i], "factor %s", grove_term_names[i]);
  if (a->npack > 0 || b->npack > 0)
    for (int64_t bytes = 4096; bytes <= 1 << 20; bytes *= 16)
      add(p, PARAMETER, "s/B", a->npack > 0 ? grove_machine_packing(a, bytes) : NAN,
          b->npack > 0 ? grove_machine_packing(b, bytes) : NAN, "pack %lld B", (long long)bytes);
  int n = starts(a->shared, a->nshared, x);
  unite(n, x, starts(b->shared, b->nshared, y), y, p, visit_shared, &c);
  for (c.which = 0; c.which < GROVE_LOCALITIES; c.which++) {
    n = loggp_starts(a, c.which, x);
    unite(n, x, loggp_starts(b, c.which, y), y, p, visit_loggp, &c);
  }
}

/* Links that at least one of them has, in seconds per byte like all rates here. */
static void add_links(pairs *p, const grove_links *a, const grove_links *b)
{
  char from[8], to[8];
  for (int i = 0; i < GROVE_ENDS; i++)
    for (int j = 0; j < GROVE_ENDS; j++) {
      grove_end_name(i, from);
      grove_end_name(j, to);
      add(p, PARAMETER, "s", a->link[i][j].alpha, b->link[i][j].alpha, "link-alpha %s-%s", from,
          to);
      add(p, PARAMETER, "s/B", 1 / a->link[i][j].rate, 1 / b->link[i][j].rate, "link-beta %s-%s",
          from, to);
    }
  for (int i = 0; i < GROVE_ENDS; i++)
    if (a->epsilon[i] > 0 || b->epsilon[i] > 0)
      add(p, PARAMETER, "s", known(a->epsilon[i]), known(b->epsilon[i]), "link-epsilon %s",
          grove_end_name(i, from));
}

/* The resulting times: alpha and beta may differ where the times do not. */
static void add_times(pairs *p, const grove_machine *a, const grove_machine *b)
{
  static const int64_t sizes[] = {8, 1024, 32768, 1 << 20};
  for (int m = 0; m < GROVE_MEMORIES; m++)
    for (int l = 0; l < GROVE_LOCALITIES; l++)
      for (int i = 0; i < 4; i++) {
        const grove_postal x = grove_machine_postal(a, m, l, sizes[i]);
        const grove_postal y = grove_machine_postal(b, m, l, sizes[i]);
        double s = (double)sizes[i], one = x.alpha + x.beta * s, other = y.alpha + y.beta * s;
        if (isnan(one) || isnan(other)) continue;
        add(p, MESSAGE, "s", one, other, "%s %s %lld B", grove_memory_names[m],
            grove_locality_names[l], (long long)sizes[i]);
      }
}

pairs pair_up(const grove_machine *a, const grove_machine *b)
{
  pairs p = {0};
  add_shape(&p, a, b);
  add_messages(&p, a, b);
  add(&p, PARAMETER, "s", a->gamma, b->gamma, "gamma");
  add(&p, PARAMETER, "s/B", a->delta, b->delta, "delta");
  add_lists(&p, a, b);
  add_links(&p, &a->links, &b->links);
  add_times(&p, a, b);
  return p;
}
