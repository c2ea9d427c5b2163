/* The links of the rig, as they were measured. */
#include "links/rig.h"

#include <stdio.h>

static void show_link(const links_rig *rig, int from, int to)
{
  char a[8], b[8];
  const grove_link_cost *l = &rig->machine->links.link[from][to];
  printf("link %4s-%-4s %8.2f us %8.1f GB/s\n", grove_end_name(from, a), grove_end_name(to, b),
         1e6 * l->alpha, 1e-9 * l->rate);
}

/* The first few: all are alike. */
void links_show_links(const links_rig *rig)
{
  const grove_links *l = &rig->machine->links;
  char end[8];
  int shown = rig->devices < 3 ? rig->devices : 3;
  printf("\n%d devices on one GPU, %d blocks a link\n", rig->devices, rig->blocks);
  for (int i = 1; i < shown; i++) show_link(rig, 0, i), show_link(rig, i, 0);
  for (int i = 0; i < 2; i++) show_link(rig, i, GROVE_HOST), show_link(rig, GROVE_HOST, i);
  for (int i = 0; i < GROVE_ENDS; i++)
    if (l->epsilon[i] > 0)
      printf("stop %-4s      %8.2f us\n", grove_end_name(i, end), 1e6 * l->epsilon[i]);
  for (int i = 0; i < shown; i++)
    for (int kind = 0; kind < GROVE_PORT_KINDS; kind++)
      printf("ports of %d, %s: out %.1f, in %.1f GB/s; engines %d\n", i,
             kind == GROVE_PORT_ALL ? "all" : "peers", 1e-9 * l->port[GROVE_PORT_OUT][kind][i],
             1e-9 * l->port[GROVE_PORT_IN][kind][i], rig->found.engines[i]);
  for (int i = 0; i < l->nshared; i++)
    printf("shared: %s %.1f GB/s\n", l->shared[i].name, 1e-9 * l->shared[i].rate);
}
