#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

grove_status grove_plan_create(const char *route, int rank, int nstages, grove_plan **out)
{
  grove_status status = GROVE_OK;
  grove_plan *plan = NULL;
  GROVE_NEW(plan, 1);
  GROVE_NEW(plan->stages, nstages);
  plan->route = route;
  plan->rank = rank;
  plan->nstages = nstages;
  *out = plan;
  return GROVE_OK;
fail:
  grove_plan_free(&plan);
  return status;
}

grove_status grove_plan_stage(grove_plan *plan, int stage, int nsends, int nreceives)
{
  grove_stage *s = &plan->stages[stage];
  GROVE_PASS_NEW(s->sends, nsends);
  GROVE_PASS_NEW(s->receives, nreceives);
  s->nsends = nsends;
  s->nreceives = nreceives;
  return GROVE_OK;
}

void grove_plan_free(grove_plan **plan)
{
  if (!*plan) return;
  for (int s = 0; (*plan)->stages && s < (*plan)->nstages; s++) {
    free((*plan)->stages[s].sends);
    free((*plan)->stages[s].receives);
  }
  for (int i = 0; i < (*plan)->nlists; i++) grove_index_free(&(*plan)->lists[i]);
  free((*plan)->lists);
  free((*plan)->stages);
  free(*plan);
  *plan = NULL;
}

grove_status grove_plan_adopt(grove_plan *plan, grove_index *list)
{
  grove_status status = GROVE_OK;
  GROVE_GROW(plan->lists, plan->nlists, 1);
  plan->lists[plan->nlists++] = *list;
  return GROVE_OK;
fail:
  grove_index_free(list);
  return status;
}

/* Copies a stage to stage s of `to`, with the data going the same way or back. */
static grove_status copy_stage(const grove_stage *from, int back, grove_plan *to, int s)
{
  const grove_message *sends = back ? from->receives : from->sends;
  const grove_message *receives = back ? from->sends : from->receives;
  grove_stage *stage = &to->stages[s];
  GROVE_PASS(grove_plan_stage(to, s, back ? from->nreceives : from->nsends,
                              back ? from->nsends : from->nreceives));
  for (int i = 0; i < stage->nsends; i++) stage->sends[i] = sends[i];
  for (int i = 0; i < stage->nreceives; i++) stage->receives[i] = receives[i];
  stage->keep_from = back ? from->keep_to : from->keep_from;
  stage->keep_to = back ? from->keep_from : from->keep_to;
  return GROVE_OK;
}

grove_status grove_plan_reverse(const grove_plan *plan, grove_plan **out)
{
  grove_status status = GROVE_OK;
  grove_plan *reverse = NULL;
  GROVE_TRY(grove_plan_create(plan->route, plan->rank, plan->nstages, &reverse));
  reverse->hub = plan->hub;
  for (int s = 0; s < plan->nstages; s++)
    GROVE_TRY(copy_stage(&plan->stages[plan->nstages - 1 - s], 1, reverse, s));
  *out = reverse;
  return GROVE_OK;
fail:
  grove_plan_free(&reverse);
  return status;
}

static grove_status look_up_slots(grove_plan *plan, grove_array which, const grove_index *list,
                                  grove_slots *slots)
{
  grove_status status = GROVE_OK;
  grove_index found = {0};
  int64_t *entries = NULL, n = slots->index.count;
  if (slots->array != which || n == 0) return GROVE_OK;
  GROVE_ROOM(entries, n);
  for (int64_t i = 0; i < n; i++)
    entries[i] = grove_index_at(list, grove_index_at(&slots->index, i));
  GROVE_TRY(grove_index_create(n, entries, &found));
  GROVE_TRY(grove_plan_adopt(plan, &found));
  slots->index = found;
fail:
  free(entries);
  return status;
}

grove_status grove_plan_look_up(grove_plan *plan, grove_array which, const grove_index *list)
{
  for (grove_stage *s = plan->stages; s < plan->stages + plan->nstages; s++) {
    for (int i = 0; i < s->nsends; i++)
      GROVE_PASS(look_up_slots(plan, which, list, &s->sends[i].slots));
    for (int i = 0; i < s->nreceives; i++)
      GROVE_PASS(look_up_slots(plan, which, list, &s->receives[i].slots));
    GROVE_PASS(look_up_slots(plan, which, list, &s->keep_from));
    GROVE_PASS(look_up_slots(plan, which, list, &s->keep_to));
  }
  return GROVE_OK;
}

static void rename_stage(grove_stage *stage, grove_array from, grove_array to)
{
  grove_slots *keeps[] = {&stage->keep_from, &stage->keep_to};
  for (int i = 0; i < stage->nsends; i++)
    if (stage->sends[i].slots.array == from) stage->sends[i].slots.array = to;
  for (int i = 0; i < stage->nreceives; i++)
    if (stage->receives[i].slots.array == from) stage->receives[i].slots.array = to;
  for (int i = 0; i < 2; i++)
    if (keeps[i]->array == from) keeps[i]->array = to;
}

void grove_plan_rename(grove_plan *plan, grove_array from, grove_array to)
{
  for (int s = 0; s < plan->nstages; s++) rename_stage(&plan->stages[s], from, to);
}

grove_status grove_plan_round_trip(const grove_plan *plan, grove_plan **out)
{
  grove_status status = GROVE_OK;
  grove_plan *trip = NULL;
  int n = plan->nstages;
  GROVE_TRY(grove_plan_create(plan->route, plan->rank, 2 * n, &trip));
  trip->hub = plan->hub;
  for (int s = 0; s < 2 * n; s++) {
    int back = s < n; /* plans are written for data that comes from the roots */
    GROVE_TRY(copy_stage(&plan->stages[back ? n - 1 - s : s - n], back, trip, s));
    rename_stage(&trip->stages[s], GROVE_ARRAY_ROOT, GROVE_ARRAY_EDGE);
    if (!back) rename_stage(&trip->stages[s], GROVE_ARRAY_LEAF, GROVE_ARRAY_UPDATE);
  }
  *out = trip;
  return GROVE_OK;
fail:
  grove_plan_free(&trip);
  return status;
}

grove_counts grove_plan_count(const grove_plan *plan, const grove_topo *topo)
{
  grove_counts counts = {0};
  for (int s = 0; s < plan->nstages; s++) {
    const grove_stage *stage = &plan->stages[s];
    counts.kept_units += stage->keep_from.index.count;
    for (int i = 0; i < stage->nsends; i++) {
      int on_node = grove_topo_same_node(topo, plan->rank, stage->sends[i].peer);
      *(on_node ? &counts.on_node_messages : &counts.off_node_messages) += 1;
      *(on_node ? &counts.on_node_units : &counts.off_node_units) +=
        grove_message_units(&stage->sends[i]);
    }
  }
  return counts;
}

static void print_slots(const grove_slots *slots, int64_t most, FILE *file)
{
  const grove_index *x = &slots->index;
  static const char *const names[GROVE_ARRAYS] = {"root", "leaf",  "edge", "update",
                                                  "hub",  "place", "copy"};
  fprintf(file, "%s slots", names[slots->array]);
  if (grove_index_consecutive(x) && x->count > 2) {
    fprintf(file, " %lld to %lld", (long long)x->first, (long long)(x->first + x->count - 1));
    return;
  }
  for (int64_t i = 0; i < x->count && i < most; i++)
    fprintf(file, " %lld", (long long)grove_index_at(x, i));
  if (x->count > most) fprintf(file, " ... (%lld in all)", (long long)x->count);
}

void grove_plan_print(const grove_plan *plan, int64_t most, FILE *file)
{
  fprintf(file, "plan of rank %d, route %s\n", plan->rank, plan->route);
  for (int s = 0; s < plan->nstages; s++) {
    const grove_stage *stage = &plan->stages[s];
    fprintf(file, "  stage %d\n", s);
    for (int i = 0; i < stage->nsends; i++) {
      fprintf(file, "    send to %d: ", stage->sends[i].peer);
      print_slots(&stage->sends[i].slots, most, file);
      fputc('\n', file);
    }
    for (int i = 0; i < stage->nreceives; i++) {
      fprintf(file, "    receive from %d: ", stage->receives[i].peer);
      print_slots(&stage->receives[i].slots, most, file);
      fputc('\n', file);
    }
    if (stage->keep_from.index.count > 0) {
      fprintf(file, "    keep: ");
      print_slots(&stage->keep_from, most, file);
      fprintf(file, " -> ");
      print_slots(&stage->keep_to, most, file);
      fputc('\n', file);
    }
  }
}
