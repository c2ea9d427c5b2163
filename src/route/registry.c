#include "route/route.h"

#include <string.h>

const grove_route *const grove_routes[GROVE_ROUTES] = {
  &grove_route_standard,
  &grove_route_two_step,
  &grove_route_three_step,
  &grove_route_split,
};

const grove_route *grove_route_find(const char *name)
{
  for (int i = 0; i < GROVE_ROUTES; i++)
    if (strcmp(grove_routes[i]->name, name) == 0) return grove_routes[i];
  return NULL;
}
