/* Values that a message would carry several times are sent once. Sender and receiver know the same
 * names of its entries, in the same order. Both number the different names alike, by first
 * appearance. The sender's list becomes that of the different slots. The receiver's is sorted by
 * number, and `starts` says which of its slots share a value.
 */
#include "base/distinct.h"
#include "plan/plan.h"

#include <stdlib.h>

grove_status grove_message_send_once(grove_message *m, grove_plan *plan)
{
  grove_status status = GROVE_OK;
  const grove_index *slots = &m->slots.index;
  grove_index once = {0};
  int32_t *number = NULL;
  int64_t count = 0, *list = NULL;
  GROVE_NEW(number, slots->count);
  GROVE_NEW(list, slots->count);
  GROVE_TRY(grove_distinct_number(slots, number, &count));
  for (int64_t i = slots->count - 1; i >= 0; i--) list[number[i]] = grove_index_at(slots, i);
  GROVE_TRY(grove_index_create(count, list, &once));
  GROVE_TRY(grove_plan_adopt(plan, &once));
  m->slots.index = once;
fail:
  free(number);
  free(list);
  return status;
}

/* Stable: slots that share a value keep their order, in which they are combined on the way back. */
static void sort_by_number(const grove_index *slots, const int32_t *number, int64_t count,
                           int64_t *starts, int64_t *sorted)
{
  for (int64_t i = 0; i < slots->count; i++) starts[number[i] + 1]++;
  for (int64_t u = 0; u < count; u++) starts[u + 1] += starts[u];
  for (int64_t i = 0; i < slots->count; i++) sorted[starts[number[i]]++] = grove_index_at(slots, i);
  for (int64_t u = count; u > 0; u--) starts[u] = starts[u - 1];
  starts[0] = 0;
}

grove_status grove_message_receive_once(grove_message *m, const grove_index *names,
                                        grove_plan *plan)
{
  grove_status status = GROVE_OK;
  const grove_index *slots = &m->slots.index;
  grove_index ordered = {0}, bounds = {0};
  int32_t *number = NULL;
  int64_t count = 0, *starts = NULL, *sorted = NULL;
  GROVE_NEW(number, slots->count);
  GROVE_NEW(sorted, slots->count);
  GROVE_TRY(grove_distinct_number(names, number, &count));
  GROVE_NEW(starts, count + 1);
  sort_by_number(slots, number, count, starts, sorted);
  GROVE_TRY(grove_index_create(slots->count, sorted, &ordered));
  GROVE_TRY(grove_plan_adopt(plan, &ordered));
  GROVE_TRY(grove_index_create(count + 1, starts, &bounds));
  GROVE_TRY(grove_plan_adopt(plan, &bounds));
  m->slots.index = ordered;
  m->starts = bounds;
fail:
  free(number);
  free(sorted);
  free(starts);
  return status;
}
