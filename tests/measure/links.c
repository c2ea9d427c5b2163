/* The links of a node, measured where they are known: emulated ones, on a clock of their own. Each
 * has another latency and rate; one is missing, one device has a port, and the way to the host is
 * shared. The rows of the profile say the same, whatever ranks there are. One device has no links,
 * and a device without rates has no rows. */
#include "copier_rig.h"
#include "measure/probe.h"
#include "places.h"

enum { DEVICES = 3, MISSING_FROM = 2, MISSING_TO = 0, WITH_PORT = 1 };

static const double CALL = 0.2e-6, WAIT = 2e-6, PORT = 40e9, UPLINK = 15e9;

static int is_there(int from, int to)
{
  return from != to && !(from == MISSING_FROM && to == MISSING_TO);
}

/* No two are alike, and none is hidden by the port or by what is shared. */
static grove_link_cost known_link(int from, int to)
{
  if (from == GROVE_HOST) return (grove_link_cost){(6 + to) * 1e-6, (11 + to) * 1e9};
  if (to == GROVE_HOST) return (grove_link_cost){(9 + from) * 1e-6, (8 + from) * 1e9};
  return (grove_link_cost){(2 + 3 * from + to) * 1e-6, (20 + 7 * from + 3 * to) * 1e9};
}

static grove_emulated_links known_links(void)
{
  grove_emulated_links l = {.call = CALL, .wait = WAIT, .moves_nothing = 1};
  grove_links_clear(&l.links);
  l.links.devices = DEVICES;
  for (int i = 0; i <= DEVICES; i++)
    for (int k = 0; k <= DEVICES; k++) {
      int from = i == DEVICES ? GROVE_HOST : i, to = k == DEVICES ? GROVE_HOST : k;
      if (is_there(from, to)) l.links.link[from][to] = known_link(from, to);
      if (from < DEVICES) l.links.shared[0].crossed[from] = (uint32_t)1 << GROVE_HOST;
    }
  l.links.port[GROVE_PORT_OUT][GROVE_PORT_PEERS][WITH_PORT] = PORT;
  l.links.nshared = 1;
  l.links.shared[0].rate = UPLINK;
  grove_copy_text(l.links.shared[0].name, sizeof l.links.shared[0].name, "uplink");
  return l;
}

typedef struct told_steps {
  int times;
  char what[40];
} told_steps;

static void note(void *self, const char *what, double share, double seconds_left)
{
  told_steps *t = self;
  (void)share, (void)seconds_left;
  t->times++;
  grove_copy_text(t->what, sizeof t->what, what);
}

/* The step alone, as grove_measure takes it. */
static grove_machine *measured_links(const place *p, int devices, told_steps *told)
{
  const grove_measuring how = {.effort = GROVE_MEASURE_QUICK, .progress = note, .self = told};
  grove_probe probe = {.ctx = p->ctx, .how = &how, .devices = devices, .planned = 1};
  snprintf(probe.source, sizeof probe.source, "measured");
  CHECK_OK(grove_machine_create("measured", &probe.machine));
  CHECK_OK(grove_machine_add(probe.machine, "gpus", "-", "node", "-", devices, "1", probe.source));
  CHECK_OK(grove_measure_links(&probe, 1));
  CHECK_OK(probe.status);
  CHECK_OK(grove_machine_digest(probe.machine));
  return probe.machine;
}

/* ---- what it found ---- */

static void check_near(double found, double known, double within, const char *what, int from,
                       int to)
{
  CHECK(fabs(found / known - 1) <= within, "%s of %d-%d is %g, not %g", what, from, to, found,
        known);
}

/* A chunk among others takes its latency and its bytes; calls are made meanwhile. */
static void check_link(const grove_links *l, int from, int to)
{
  const grove_link_cost known = known_link(from, to), *found = &l->link[from][to];
  CHECK(grove_link_is_there(l, from, to) == is_there(from, to), "link %d-%d", from, to);
  if (!is_there(from, to)) return;
  check_near(found->rate, known.rate, 0.01, "the rate", from, to);
  CHECK(fabs(found->alpha - known.alpha) <= CALL, "the latency of %d-%d is %g, not %g", from, to,
        found->alpha, known.alpha);
}

static void check_shared(const grove_links *l)
{
  double port = l->port[GROVE_PORT_OUT][GROVE_PORT_PEERS][WITH_PORT];
  check_near(port, PORT, 0.03, "the port", WITH_PORT, WITH_PORT);
  for (int i = 0; i < DEVICES; i++)
    CHECK(i == WITH_PORT || !(l->port[GROVE_PORT_OUT][GROVE_PORT_PEERS][i] > 0), "a port of %d", i);
  const grove_shared_thing *thing = NULL;
  for (int i = 0; i < l->nshared; i++)
    if (strcmp(l->shared[i].name, "to-host") == 0) thing = &l->shared[i];
  CHECK(thing, "what is shared on the way to the host was not found");
  check_near(thing->rate, UPLINK, 0.03, "what is shared", 0, GROVE_HOST);
  for (int i = 0; i < DEVICES; i++)
    CHECK(thing->crossed[i] == (uint32_t)1 << GROVE_HOST, "%d does not cross it", i);
}

static void check_known(const place *p)
{
  grove_emulated_links known = known_links();
  told_steps told = {0};
  grove_emulated_set_devices(DEVICES);
  grove_emulated_set_links(&known);
  grove_machine *m = measured_links(p, DEVICES, &told);
  const grove_links *l = &m->links;
  CHECK(l->devices == DEVICES, "%d devices", l->devices);
  for (int from = 0; from < DEVICES; from++) {
    for (int to = 0; to < DEVICES; to++)
      if (from != to) check_link(l, from, to);
    check_link(l, from, GROVE_HOST);
    check_link(l, GROVE_HOST, from);
  }
  double epsilon = l->epsilon[GROVE_HOST];
  CHECK(fabs(epsilon - WAIT) <= 3 * CALL, "a stop at the host takes %g s", epsilon);
  check_shared(l);
  CHECK(p->rank > 0 || (told.times == 1 && strstr(told.what, "links")), "%d times '%s'", told.times,
        told.what);
  CHECK_OK(grove_machine_free(&m));
}

static void check_nothing(const place *p, int devices)
{
  told_steps told = {0};
  grove_emulated_set_devices(devices);
  grove_emulated_set_links(NULL);
  grove_machine *m = measured_links(p, devices, &told);
  CHECK(m->nrows == 1 && m->links.devices == 0, "%d rows of %d devices", m->nrows, devices);
  CHECK(told.times == (devices > 1 && p->rank == 0), "%d steps", told.times);
  CHECK_OK(grove_machine_free(&m));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "measure/links");
  place p = place_create(split(0));
  place_set(&p, "device", "emulated");
  CHECK_OK(grove_spaces_open(p.ctx));
  check_known(&p);
  check_nothing(&p, 1);
  check_nothing(&p, 2);
  grove_emulated_reset();
  place_free(&p);
  return test_end();
}
