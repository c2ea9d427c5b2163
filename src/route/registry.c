#include "route/route.h"

#include <stddef.h>

static const grove_route *const routes[] = {&grove_route_standard};

const grove_route *grove_route_number(int i)
{
  return i >= 0 && i < (int)(sizeof routes / sizeof *routes) ? routes[i] : NULL;
}

const grove_route *grove_route_choose(const grove_forest *f)
{
  int wanted = f->ctx->options.route;
  /* The choices of the option are `auto` and then the routes, in the order of the registry. */
  return wanted == GROVE_ROUTE_AUTO ? &grove_route_standard : routes[wanted - 1];
}
