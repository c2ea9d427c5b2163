/* The links between the devices of a node and its host: each alone, and together those that may
 * share something, as copies over several paths need them (device/copier_links.c). One rank
 * measures, as a process that has all devices. The others sleep.
 */
#include "device/copier.h"
#include "measure/probe.h"

#include <stdio.h>

/* Do copies take time there? */
static int has_rates(const grove_driver *driver)
{
  double now = 0;
  return !driver->has_no_rates || (driver->own_clock && driver->own_clock(&now));
}

static grove_status survey_node(grove_probe *p, grove_links *out)
{
  grove_machine *m = NULL;
  grove_copy_findings found = {0};
  const grove_driver *driver = p->ctx->spaces ? (*p->ctx->spaces)->driver : NULL;
  if (!driver || !has_rates(driver)) return GROVE_OK;
  GROVE_PASS(grove_copy_links_measure(driver, p->devices, &found, &m));
  *out = m->links;
  grove_machine_free(&m);
  return GROVE_OK;
}

/* ---- rows ---- */

static void write_link_row(grove_probe *p, const char *term, const char *where, const char *range,
                           double value, const char *unit)
{
  grove_probe_device_row(p, term, where, range, value, unit, GROVE_LINK_SAMPLES, -1);
}

static void write_links(grove_probe *p, const grove_links *l)
{
  char where[20], a[8], b[8];
  for (int from = 0; from < GROVE_ENDS; from++)
    for (int to = 0; to < GROVE_ENDS; to++) {
      if (!grove_link_is_there(l, from, to)) continue;
      snprintf(where, sizeof where, "%s-%s", grove_end_name(from, a), grove_end_name(to, b));
      write_link_row(p, "link-alpha", where, "-", l->link[from][to].alpha, "s");
      write_link_row(p, "link-beta", where, "-", l->link[from][to].rate, "B/s");
    }
  for (int i = 0; i < GROVE_ENDS; i++)
    if (l->epsilon[i] > 0)
      write_link_row(p, "link-epsilon", grove_end_name(i, a), "-", l->epsilon[i], "s");
}

static void write_ports(grove_probe *p, const grove_links *l)
{
  static const char *const terms[GROVE_PORT_WAYS] = {"port-out", "port-in"};
  static const char *const kinds[GROVE_PORT_KINDS] = {"peers", "all"};
  char end[8];
  for (int way = 0; way < GROVE_PORT_WAYS; way++)
    for (int kind = 0; kind < GROVE_PORT_KINDS; kind++)
      for (int i = 0; i < l->devices; i++)
        if (l->port[way][kind][i] > 0)
          write_link_row(p, terms[way], grove_end_name(i, end), kinds[kind], l->port[way][kind][i],
                         "B/s");
}

static void write_things(grove_probe *p, const grove_links *l)
{
  char where[20], a[8], b[8];
  for (int i = 0; i < l->nshared; i++) {
    const grove_shared_thing *thing = &l->shared[i];
    for (int from = 0; from < GROVE_ENDS; from++)
      for (int to = 0; to < GROVE_ENDS; to++) {
        if (!(thing->crossed[from] >> to & 1)) continue;
        snprintf(where, sizeof where, "%s-%s", grove_end_name(from, a), grove_end_name(to, b));
        write_link_row(p, "link-share", where, thing->name, thing->rate, "B/s");
      }
  }
}

/* ---- the step ---- */

/* Its links are rank 0's too, which writes the profile. */
grove_status grove_measure_links(grove_probe *p, double seconds)
{
  int measurer = grove_probe_first_copier(p);
  grove_links l;
  MPI_Request request;
  if (p->devices < 2 || p->devices > GROVE_DEVICES) return GROVE_OK;
  grove_probe_announce(p, "links between devices", seconds);
  grove_links_clear(&l);
  if (p->ctx->rank == measurer && p->status == GROVE_OK) p->status = survey_node(p, &l);
  GROVE_PASS_MPI(MPI_Ibcast(&l, (int)sizeof l, MPI_BYTE, measurer, p->ctx->comm, &request));
  GROVE_PASS(grove_probe_doze(p, 1, &request));
  write_links(p, &l);
  write_ports(p, &l);
  write_things(p, &l);
  return GROVE_OK;
}
