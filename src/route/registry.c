#include "route/route.h"

static const grove_route *const routes[] = {&grove_route_standard};

const grove_route *grove_route_choose(const grove_forest *f)
{
  int wanted = f->ctx->options.route;
  /* The choices of the option are `auto` and then the routes, in the order of the registry. */
  return wanted == GROVE_ROUTE_AUTO ? &grove_route_standard : routes[wanted - 1];
}
