/* Groups of neighbouring parts, as aggregators make them.
 */
#ifndef GROVE_PARTS_GROUPS_H
#define GROVE_PARTS_GROUPS_H

#include "parts/aggregator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most messages that the options allow: each has min_message bytes, and they are not more than
 * max_messages. 1 at least. */
int64_t grove_part_most(const grove_part_question *question);

/* That many groups, or as many as the options allow, as even as they can be: no two differ by more
 * than a part. No parts, no groups. */
grove_status grove_part_plan_even(const grove_part_question *question, int64_t ngroups,
                                  grove_part_plan *out);

/* As many as the model finds fastest, if one part is late by `delay`. */
grove_status grove_part_plan_model(const grove_part_question *question, double delay,
                                   grove_part_plan *out);

/* What the model says of that many even groups, from the last mark on, which is late by `delay`;
 * NaN where the profile does not tell what it takes. */
double grove_part_seconds(const grove_part_question *question, int64_t ngroups, double delay);

/* How long ready parts wait for others of their group, of which the largest has so many: the option
 * `delta`, or what timer.c says. */
double grove_part_delta(const grove_part_question *question, int64_t largest);

#ifdef __cplusplus
}
#endif

#endif
