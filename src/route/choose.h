/* The choice between routes: the model's price of what each would send.
 *
 * Nobody knows all edges of a forest. Every rank tells the first rank of its node, its *clerk*, what
 * its ranks need and have, in numbers, and the clerks of other nodes what it has for them: one
 * sparse exchange, once for a forest. A clerk then knows the demand (demand.h) of its node, counts
 * and prices every route for it, and the dearest node's price counts: one small reduction for each
 * size of unit, all ranks with the same outcome.
 *
 *     GROVE_TRY(grove_survey_create(f, share, &survey));            collective, once
 *     GROVE_TRY(grove_route_choose(survey, &question, &choice));    collective, for each size
 */
#ifndef GROVE_ROUTE_CHOOSE_H
#define GROVE_ROUTE_CHOOSE_H

#include "model/price.h"
#include "route/route.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_survey {
  grove_context *ctx; /* not held */
  int share;
  int clerk;           /* this rank is its node's */
  grove_demand demand; /* of the node; empty on other ranks */
} grove_survey;

/* Agreed by all. */
grove_status grove_survey_create(const grove_forest *f, int share, grove_survey **out);
void grove_survey_free(grove_survey **survey);

/* What is to be moved along the forest. */
typedef struct grove_question {
  int64_t unit_bytes; /* of all fields together */
  int backward;       /* from the leaves to the roots */
  int both;           /* there and back: twice the stages */
} grove_question;

typedef struct grove_candidate {
  const grove_route *route;
  double seconds; /* of the dearest node; NaN: the machine does not say */
} grove_candidate;

typedef struct grove_choice {
  int n;
  grove_candidate candidates[GROVE_ROUTES]; /* in the order of the registry */
  int chosen, runner_up; /* of the candidates; runner-up -1: there is only one */
  double needed; /* how much faster than standard another route must be to be taken */
} grove_choice;

/* Units of a message of the route split, from the option message_cap and the machine. */
int64_t grove_route_cap(const grove_context *ctx, int64_t unit_bytes);

/* Agreed by all. */
grove_status grove_route_choose(const grove_survey *survey, const grove_question *question,
                                grove_choice *out);

/* Chosen and runner-up, from the candidates' prices. */
void grove_choice_settle(grove_choice *choice);

/* Can any route but standard help here? Not on one node, nor where every node has one rank; and not
 * with transports that only standard has. The same on every rank, and without talking. */
int grove_route_can_help(const grove_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
