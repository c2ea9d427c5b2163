/* The choice between routes: the model's price of what each would send.
 *
 * Nobody knows all edges of a forest. Every rank tells the first rank of its node, its *leader*,
 * and the leaders of the nodes that need something of it, what it has for whom, in numbers: a
 * sparse exchange, or two (leaders.h), once for a forest. A leader then knows the demand (demand.h)
 * of its node, counts and prices every route for it, and the dearest node's price counts: one small
 * reduction for each size of unit, all ranks with the same outcome.
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
  grove_status failure; /* of a leader that could not read what it was told: the choice fails */
} grove_survey;

/* Agreed by all, but for `failure`. */
grove_status grove_survey_create(const grove_forest *f, int share, grove_survey **out);
void grove_survey_free(grove_survey **survey);

/* What is to be moved along the forest. The same on every rank. */
typedef struct grove_question {
  int64_t unit_bytes; /* of all fields together */
  int backward;       /* from the leaves to the roots */
  int both;           /* there and back: twice the stages */
  const grove_route
    *only; /* this one's price is asked for, and no choice; NULL: all that can help */
} grove_question;

/* What a route takes: its price, of the dearest node or, where all edges are known, of the longest
 * chain of all (model/price.h); and what all ranks send inside and between nodes. */
typedef struct grove_estimate {
  grove_price price; /* NaN: the machine does not say */
  int64_t stages, messages[2], bytes[2];
} grove_estimate;

typedef struct grove_candidate {
  const grove_route *route;
  double seconds;           /* its price; NaN: the machine does not say */
  int explained;            /* then: */
  double term[GROVE_TERMS]; /* how that comes about, on the dearest node */
  grove_estimate estimate;  /* after grove_route_explain, on rank 0: how that comes about */
} grove_candidate;

typedef struct grove_choice {
  int n;                                    /* 1: no other route can help, or is asked for */
  grove_candidate candidates[GROVE_ROUTES]; /* in the order of the registry */
  int chosen;
  int runner_up; /* the cheapest of those with another price (the same price is the same messages);
                  * -1: there is none */
  double needed; /* how much faster than standard another route must be to be taken */
} grove_choice;

/* Agreed by all. */
grove_status grove_route_choose(const grove_survey *survey, const grove_question *question,
                                grove_choice *out);

/* The terms of a candidate of that choice. Agreed by all. */
grove_status grove_route_terms(const grove_survey *survey, const grove_question *question,
                               grove_candidate *candidate);

/* As grove_route_choose, and rank 0 gets the estimates. Agreed by all. */
grove_status grove_route_explain(const grove_survey *survey, const grove_question *question,
                                 grove_choice *out);

/* ---- the parts of it, for who knows all edges ---- */

/* What the messages of a route take: those of all ranks (node -1), or of a node's, of which the
 * manifest then has all. */
grove_status grove_route_estimate(const grove_manifest *manifest, const grove_machine *m,
                                  const grove_topo *topo, int node, const grove_pricing *how,
                                  grove_estimate *out);

/* Chooses by the seconds of the candidates: the least; but a model is not always right, and
 * standard is never far off. */
void grove_choice_decide(grove_choice *choice, const grove_machine *m);

/* Units of a message of the route split. `message_cap`: bytes; -1: as the machine says. */
int64_t grove_split_cap(const grove_machine *m, int message_cap, int64_t unit_bytes);

/* The same from the options and the machine of a context. */
int64_t grove_route_cap(const grove_context *ctx, int64_t unit_bytes);

/* Why no route but standard can help, as the end of a sentence; NULL: one can. Not on one node, nor
 * where every node has one rank; and not with transports that only standard has (`off_node`: the
 * option transport_off_node). */
const char *grove_route_alone(const grove_topo *topo, int off_node);

/* Can one? The same on every rank, and without talking. */
int grove_route_can_help(const grove_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
