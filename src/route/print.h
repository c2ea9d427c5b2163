/* Prints a choice between routes for users, part by part: the table of candidates with their prices
 * by term and what they send, the choice and its reason, and where the numbers came from.
 */
#ifndef GROVE_ROUTE_PRINT_H
#define GROVE_ROUTE_PRINT_H

#include "route/choose.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All candidates must have their estimates. */
void grove_choice_print_table(const grove_choice *choice, const grove_machine *m,
                              int64_t unit_bytes, FILE *file);

/* What the price of data on devices has in it. */
void grove_choice_print_lifts(const grove_machine *m, FILE *file);

/* `alone`: why no route but standard can help; NULL: one could. */
void grove_choice_print_reason(const grove_choice *choice, const grove_machine *m,
                               const char *alone, FILE *file);

/* Which terms of the profile were measured, which come from elsewhere, which are missing. */
void grove_choice_print_inputs(const grove_machine *m, FILE *file);

/* Why standard has no price: "the profile lacks ...". */
enum { GROVE_LACKS_BYTES = 400 };
void grove_choice_lacks(const grove_choice *choice, const grove_machine *m,
                        char out[GROVE_LACKS_BYTES]);

/* The runner-up's time divided by that of the choice. NaN: there is none, or nothing is sent. */
double grove_choice_gain(const grove_choice *choice);

#ifdef __cplusplus
}
#endif

#endif
