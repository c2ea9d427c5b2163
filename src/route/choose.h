/* The choice between routes: the model's price of what each would send.
 *
 * Nobody knows all edges of a forest. Every rank tells the first rank of its node, its *leader*,
 * what it has for whom, in numbers. It also tells the leaders of the nodes that need something from
 * it. This takes a sparse exchange, or two (leaders.h), once per forest. A leader then knows the
 * demand (demand.h) of its node, and counts and prices every route for it. The most expensive
 * node's price counts: one small reduction for each size of unit, with the same outcome on all
 * ranks.
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
  int leader;           /* this rank is its node's */
  grove_demand demand;  /* of the node, without places; empty on other ranks */
  grove_status failure; /* of a leader that could not read its packets: the choice fails */
} grove_survey;

/* Agreed by all, except `failure`. */
grove_status grove_survey_create(const grove_forest *f, int share, grove_survey **out);
void grove_survey_free(grove_survey **survey);

/* How much of what an operation reads and writes lies on devices, in halves: 2 is all of it, 1 one
 * way of a round trip. One number, so that ranks that differ can agree on the largest. */
#define GROVE_LIFTED(out, in) (3 * (out) + (in))
enum { GROVE_ALL_LIFTED = GROVE_LIFTED(2, 2) };

/* For a machine without them. */
#define GROVE_LACKS_COPIES                                                                         \
  "The profile lacks copies between host and device: this is the price of arrays in the host's "   \
  "memory."

/* What will be moved along the forest. The same on every rank. */
typedef struct grove_question {
  int64_t unit_bytes; /* of all fields together */
  int backward;       /* from the leaves to the roots */
  int both;           /* there and back: twice the stages */
  int lifted;         /* whether arrays lie on devices: GROVE_LIFTED; 0: they do not */
  const grove_route
    *only; /* price this one alone, and choose nothing; NULL: price all that can help */
} grove_question;

/* What a route costs, and what all ranks send inside and between nodes. The price is the most
 * expensive node's or, if all edges are known, that of the longest chain (model/price.h). */
typedef struct grove_estimate {
  grove_price price; /* NaN: the machine does not say */
  int64_t stages, messages[2], bytes[2];
} grove_estimate;

typedef struct grove_candidate {
  const grove_route *route;
  double seconds;           /* its price; NaN: the machine does not say */
  int explained;            /* then: */
  double term[GROVE_TERMS]; /* its terms, on the most expensive node */
  grove_estimate estimate;  /* after grove_route_explain, on rank 0: the details */
} grove_candidate;

typedef struct grove_choice {
  int n;                                    /* 1: no other route can help, or is asked for */
  grove_candidate candidates[GROVE_ROUTES]; /* in the order of the registry */
  int chosen;
  int runner_up; /* the cheapest with another price (the same price means the same messages); -1:
                  * none */
  double needed; /* another route must be this much faster than standard to be chosen */
} grove_choice;

/* Agreed by all. */
grove_status grove_route_choose(const grove_survey *survey, const grove_question *question,
                                grove_choice *out);

/* The terms of a candidate of that choice. Agreed by all. */
grove_status grove_route_terms(const grove_survey *survey, const grove_question *question,
                               grove_candidate *candidate);

/* As grove_route_choose, and gives rank 0 the estimates. Agreed by all. */
grove_status grove_route_explain(const grove_survey *survey, const grove_question *question,
                                 grove_choice *out);

/* ---- the parts of it ---- */

/* On a leader, for one route: the messages of its node, and what else their price depends on. */
grove_status grove_route_count(const grove_survey *survey, const grove_question *question,
                               const grove_route *route, grove_manifest *out,
                               grove_pricing *pricing);

/* For who knows all edges: */

/* What the messages of a route cost: those of all ranks (node -1), or those of one node, all of
 * which the manifest must have. */
grove_status grove_route_estimate(const grove_manifest *manifest, const grove_machine *m,
                                  const grove_topo *topo, int node, const grove_pricing *how,
                                  grove_estimate *out);

/* Chooses the candidate with the fewest seconds. But a model is not always right and standard is
 * never far off, so others need a margin. */
void grove_choice_decide(grove_choice *choice, const grove_machine *m);

/* The most units of a message of the route split. `message_cap`: bytes; -1: as the machine says. */
int64_t grove_split_cap(const grove_machine *m, int message_cap, int64_t unit_bytes);

/* The same from the options and the machine of a context. */
int64_t grove_route_cap(const grove_context *ctx, int64_t unit_bytes);

/* Why no route but standard can help, as the end of a sentence; NULL: one can. None can on one
 * node, where every node has one rank, or with transports that only standard supports (`off_node`:
 * the option transport_off_node). */
const char *grove_route_alone(const grove_topo *topo, int off_node);

/* Can one? The same on every rank, without communication. */
int grove_route_can_help(const grove_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
