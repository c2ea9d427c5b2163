#include "links/rig.h"

#include <stdio.h>
#include <stdlib.h>

void links_need(int ok, const char *sentence)
{
  if (ok) return;
  fprintf(stderr, "grove_bench_links: %s\n", sentence);
  exit(3);
}

grove_copier *links_copier(const links_rig *rig, const char *paths)
{
  grove_copier *c = NULL;
  links_need_grove(
    grove_copier_open(rig->driver, rig->devices, rig->machine, paths, rig->staging, &c));
  return c;
}
