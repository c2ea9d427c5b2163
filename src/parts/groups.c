#include "parts/groups.h"

#include "model/loggp.h"

#include <stdlib.h>

void grove_part_plan_free(grove_part_plan *plan)
{
  free(plan->first);
  *plan = (grove_part_plan){0};
}

int64_t grove_part_most(const grove_part_question *question)
{
  int64_t parts = question->parts, bytes = question->part_bytes;
  int64_t least = question->options->min_message, most = question->options->max_messages;
  int64_t together = least <= bytes ? 1 : bytes > 0 ? (least + bytes - 1) / bytes : parts + 1;
  int64_t messages = parts / together;
  if (most > 0 && messages > most) messages = most;
  return messages > 1 ? messages : 1;
}

grove_status grove_part_plan_even(const grove_part_question *question, int64_t ngroups,
                                  grove_part_plan *out)
{
  int64_t *first = NULL, parts = question->parts, most = grove_part_most(question);
  if (ngroups > most) ngroups = most;
  if (parts == 0) ngroups = 0;
  GROVE_PASS_NEW(first, ngroups + 1);
  for (int64_t g = 0; g < ngroups; g++)
    first[g + 1] = first[g] + parts / ngroups + (g < parts % ngroups);
  *out = (grove_part_plan){.ngroups = ngroups, .first = first};
  return GROVE_OK;
}

static grove_part_cut cut_of(const grove_part_question *question, double delay)
{
  return (grove_part_cut){.where = question->where,
                          .form = GROVE_COVERED,
                          .bytes = question->parts * question->part_bytes,
                          .parts = question->parts,
                          .most = grove_part_most(question),
                          .delay = delay};
}

double grove_part_seconds(const grove_part_question *question, int64_t ngroups, double delay)
{
  const grove_part_cut cut = cut_of(question, delay);
  return ngroups > 0 ? grove_loggp_price(question->machine, &cut, ngroups).seconds - delay : 0;
}

grove_status grove_part_plan_model(const grove_part_question *question, double delay,
                                   grove_part_plan *out)
{
  const grove_part_cut cut = cut_of(question, delay);
  grove_part_choice best = grove_loggp_best(question->machine, &cut);
  grove_status status = grove_part_plan_even(question, best.messages, out);
  if (status == GROVE_OK) out->seconds = grove_part_seconds(question, out->ngroups, delay);
  return status;
}
