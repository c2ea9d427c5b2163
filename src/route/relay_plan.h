/* The stages of a relay's plan, one file each: what these files share. relay_plan.c has the first
 * stage, and puts all together.
 */
#ifndef GROVE_ROUTE_RELAY_PLAN_H
#define GROVE_ROUTE_RELAY_PLAN_H

#include "route/relay_state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A plan in the making. */
typedef struct grove_relay_maker {
  const grove_relay_state *state;
  grove_plan *plan;
  const grove_topo *topo;
  int rank, node, node_size;
  int64_t sent;      /* hub slots of what is sent; what is received follows */
  int64_t own_first; /* arrivals through this rank itself: the first, and one past the last */
  int64_t own_end;
  int64_t own_leaves;
} grove_relay_maker;

/* Fill in one stage each (relay_cross.c, relay_spread.c). */
grove_status grove_relay_cross(const grove_relay_maker *m, int stage);
grove_status grove_relay_spread(const grove_relay_maker *m, int stage);

/* Slots that the plan now owns. */
grove_status grove_relay_slots(const grove_relay_maker *m, grove_array which, int64_t n,
                               const int64_t *slots, grove_slots *out);

/* The slots that a receiver has for its units. `starts` says which belong to which unit, and is
 * kept if a unit has several. */
grove_status grove_relay_units(const grove_relay_maker *m, grove_array which, int64_t units,
                               const int64_t *starts, const int64_t *slots, grove_message *out);

/* The roots of the legs first .. end-1 of this rank's blocks. */
grove_status grove_relay_roots(const grove_relay_maker *m, int64_t first, int64_t end,
                               grove_slots *out);

/* One past the legs from `i` on that have the same sender; with `both`, the same receiver too. */
int64_t grove_relay_next_leg(const grove_legs *legs, int64_t i, int both);

/* Consecutive hub slots. */
static inline grove_slots grove_relay_run(int64_t first, int64_t count)
{
  grove_slots run = {GROVE_ARRAY_HUB, {count, first, NULL, NULL}};
  return run;
}

/* Hub slots of a rank of the node, by its local number, if each rank has its own. */
static inline int64_t grove_relay_slots_for(const grove_relay_maker *m, int local)
{
  int own = m->topo->place[m->rank].local == local;
  return own ? m->own_leaves : m->state->needed[local];
}

#ifdef __cplusplus
}
#endif

#endif
