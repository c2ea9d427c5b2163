/* Groups of neighbouring parts, as aggregators make them.
 */
#ifndef GROVE_PARTS_GROUPS_H
#define GROVE_PARTS_GROUPS_H

#include "parts/aggregator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most messages that the options allow: each has at least min_message bytes, and there are at
 * most max_messages. At least 1. */
int64_t grove_part_most(const grove_part_question *question);

/* That many groups, or as many as the options allow, as even as possible: sizes differ by at most
 * one part. No parts, no groups. */
grove_status grove_part_plan_even(const grove_part_question *question, int64_t ngroups,
                                  grove_part_plan *out);

/* As many groups as the model finds fastest, if one part is late by `delay`. */
grove_status grove_part_plan_model(const grove_part_question *question, double delay,
                                   grove_part_plan *out);

/* What the model says of that many even groups, from the last mark on, which is late by `delay`;
 * NaN if the profile lacks numbers for it. */
double grove_part_seconds(const grove_part_question *question, int64_t ngroups, double delay);

/* How long ready parts wait for others of their group, where the largest group has `largest` parts:
 * the option `delta`, or what timer.c says. */
double grove_part_delta(const grove_part_question *question, int64_t largest);

#ifdef __cplusplus
}
#endif

#endif
