/* The links of a node, as its driver lets them be measured: each alone, and those that may share
 * something together. What is found is a machine of the model. */
#include "device/copier.h"

#include "base/pause.h"

#include <math.h>

/* Where time says nothing, all links are alike, and so all paths are used. */
static const double ALIKE_ALPHA = 5e-6, ALIKE_RATE = 10e9;

static void make_alike(int ndevices, grove_links *l)
{
  l->devices = ndevices;
  for (int from = 0; from < GROVE_ENDS; from++)
    for (int to = 0; to < GROVE_ENDS; to++) {
      int is_there = from != to && (from < ndevices || from == GROVE_HOST) &&
                     (to < ndevices || to == GROVE_HOST);
      if (is_there) l->link[from][to] = (grove_link_cost){ALIKE_ALPHA, ALIKE_RATE};
    }
}

grove_status grove_copy_links_measure(const grove_driver *driver, int ndevices, grove_machine **out)
{
  grove_machine *m = NULL;
  (void)driver;
  GROVE_PASS(grove_machine_create("as-found", &m));
  grove_links_clear(&m->links);
  make_alike(ndevices, &m->links);
  *out = m;
  return GROVE_OK;
}
