/* The routes by name.
 */
#include "route/route.h"

#include <string.h>

#define POINTER(name, word) &grove_route_##name,
const grove_route *const grove_routes[GROVE_ROUTES] = {GROVE_ROUTE_ROWS(POINTER)};

const grove_route *grove_route_find(const char *name)
{
  for (int i = 0; i < GROVE_ROUTES; i++)
    if (strcmp(grove_routes[i]->name, name) == 0) return grove_routes[i];
  return NULL;
}

const grove_route *grove_route_told(int option)
{
#define WORD(name, word) word,
  static const char *const words[] = {"auto", GROVE_ROUTE_ROWS(WORD)};
  return grove_route_find(words[option]);
}
