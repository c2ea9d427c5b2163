/* Which route an operation takes, and its plans. Both are settled before anything is wired, because
 * ranks must talk about them. The forest keeps them: a further operation of the same kind and size
 * asks nobody.
 */
#include "exec/plans.h"

#include <math.h>
#include <string.h>

/* By the model, a route that is tried takes at most this many times as long as the best. */
static const double WORTH_A_CONTEST = 2;

/* ---- earlier choices ---- */

static int same_question(const grove_question *a, const grove_question *b)
{
  return a->unit_bytes == b->unit_bytes && a->backward == b->backward && a->both == b->both &&
         a->only == b->only && a->lifted == b->lifted;
}

static grove_decision *find_decision(grove_compiled *c, const grove_decision *wanted)
{
  for (int i = 0; i < GROVE_DECISIONS; i++) {
    grove_decision *d = &c->decisions[i];
    if (d->choice.n > 0 && d->generation == wanted->generation && d->share == wanted->share &&
        same_question(&d->question, &wanted->question))
      return d;
  }
  return NULL;
}

/* ---- choosing ---- */

static int goes_back(grove_operation operation)
{
  return operation == GROVE_REDUCE || operation == GROVE_COLLECT;
}

/* A survey holds for one set of nodes. Agreed by all. */
static grove_status survey_forest(grove_forest *f, grove_compiled *c, int share)
{
  if (c->surveyed[share] != f->ctx->generation) grove_survey_free(&c->surveys[share]);
  if (!c->surveys[share]) GROVE_PASS(grove_survey_create(f, share, &c->surveys[share]));
  c->surveyed[share] = f->ctx->generation;
  return GROVE_OK;
}

/* The decision for such an operation, made now or before. `only` is the route that is asked for, or
 * NULL. Agreed by all. */
static grove_status decide_route(grove_forest *f, const grove_wiring_key *key, int64_t bytes,
                                 int lifted, const grove_route *only, grove_decision **out)
{
  grove_status status = GROVE_OK;
  grove_compiled *c = f->compiled; /* made when the request was looked at */
  grove_decision made = {.generation = key->generation,
                         .share = key->merges,
                         .question = {.unit_bytes = bytes,
                                      .backward = goes_back(key->operation),
                                      .both = key->operation == GROVE_FETCH,
                                      .lifted = lifted,
                                      .only = only}};
  *out = find_decision(c, &made);
  if (*out) return GROVE_OK;
  GROVE_TRY(survey_forest(f, c, made.share));
  GROVE_TRY(grove_route_choose(c->surveys[made.share], &made.question, &made.choice));
  *out = &c->decisions[c->decided++ % GROVE_DECISIONS];
  **out = made;
  return GROVE_OK;
fail:
  grove_survey_free(&c->surveys[made.share]); /* one of its leaders may have failed */
  return status;
}

/* Fields of one forest that go the same way are one question. Returns the bytes of all of them, or
 * 0 if an earlier field has asked. */
static int64_t bytes_together(int n, const grove_request *requests, const grove_wiring_key *keys,
                              int k)
{
  int64_t bytes = 0;
  for (int i = 0; i < n; i++) {
    int together = requests[i].forest == requests[k].forest && keys[i].merges == keys[k].merges &&
                   keys[i].operation == keys[k].operation;
    if (together && i < k) return 0;
    if (together) bytes += keys[i].unit_bytes;
  }
  return bytes;
}

/* Answers all questions together, by adding up the prices of each route. */
static grove_status choose_route(int n, const grove_request *requests, const grove_wiring_key *keys,
                                 int lifted, grove_choice *out)
{
  for (int k = 0, asked = 0; k < n; k++) {
    grove_decision *decision = NULL;
    int64_t bytes = bytes_together(n, requests, keys, k);
    if (bytes == 0) continue;
    GROVE_PASS(decide_route(requests[k].forest, &keys[k], bytes, lifted, NULL, &decision));
    grove_choice choice = decision->choice;
    for (int i = 0; i < choice.n && asked > 0; i++)
      choice.candidates[i].seconds += out->candidates[i].seconds;
    *out = choice;
    if (asked++ > 0) grove_choice_decide(out, requests[k].forest->ctx->machine);
  }
  return GROVE_OK;
}

/* ---- the whole ---- */

static int64_t unit_bytes_of(int n, const grove_wiring_key *keys)
{
  int64_t bytes = 0;
  for (int k = 0; k < n; k++) bytes += keys[k].unit_bytes;
  return bytes;
}

/* There is no forest where the members could not be listed, which is a failure already. */
grove_settings grove_routing_settings(const grove_context *ctx, int n,
                                      const grove_request *requests)
{
  return n > 0 ? grove_forest_settings_of(requests[0].forest) : grove_context_settings(ctx);
}

/* Do ranks have to talk? All of them know this alike. */
static int needs_talk(const grove_context *ctx, const grove_settings *settings)
{
  const grove_route *told = grove_route_told(settings->route);
  if (!grove_off_node_relays(ctx->options.transport_off_node)) return 0;
  return told ? told->relays : grove_route_can_help(ctx);
}

/* Can the options be followed? Not every transport serves a route that passes data on. Options are
 * set one by one, and may not fit in between: what counts is what they are when something is made.
 * All ranks find the same. */
static grove_status check_told(const grove_context *ctx, const grove_settings *settings)
{
  const grove_route *told = grove_route_told(settings->route);
  const char *transport = NULL;
  if (!told || !told->relays || grove_off_node_relays(ctx->options.transport_off_node))
    return GROVE_OK;
  GROVE_PASS(grove_options_get(&ctx->options, "transport_off_node", &transport));
  return grove_error(GROVE_ERR_OPTION, __FILE__, __LINE__,
                     "rank %d: route=%s does not go with transport_off_node=%s, which serves the "
                     "standard route alone; set route to auto or standard, or transport_off_node "
                     "to p2p",
                     ctx->rank, told->name, transport);
}

/* One operation is made in one way. All ranks find the same. */
static grove_status check_alike(int n, const grove_request *requests,
                                const grove_settings *settings)
{
  for (int k = 1; k < n; k++) {
    grove_settings other = grove_forest_settings_of(requests[k].forest);
    GROVE_PASS_CHECK(memcmp(settings, &other, sizeof other) == 0, GROVE_ERR_OPTION,
                     "grove_op_bundle: forest '%.100s' and forest '%.100s' have options of their "
                     "own that differ (grove_forest_set); a bundle is made by one set of them",
                     grove_forest_label(requests[0].forest),
                     grove_forest_label(requests[k].forest));
  }
  return GROVE_OK;
}

/* Before ranks talk about plans, all must be known to make the same operation, and where its arrays
 * lie. Agreed by all. */
static grove_status agree_on_purpose(grove_context *ctx, grove_status mine,
                                     const grove_purpose *purpose, int *lifted)
{
  int64_t all[3] = {purpose->signature, -purpose->signature, *lifted};
  GROVE_PASS(grove_context_agree(ctx, mine, all, 3));
  GROVE_PASS(grove_context_compare(ctx, purpose, all));
  *lifted = (int)all[2];
  return GROVE_OK;
}

/* The plans of all fields on this route. A failure may be this rank's own. A route that cannot
 * serve a forest says so on every rank. */
static grove_status build_plans(int n, const grove_request *requests, const grove_wiring_key *keys,
                                const grove_routing *routing)
{
  grove_status status = GROVE_OK;
  for (int k = 0; k < n; k++) {
    grove_plans *plans = NULL;
    grove_status outcome = grove_plans_get(requests[k].forest, &keys[k], routing, &plans);
    if (status == GROVE_OK) status = outcome;
  }
  return status;
}

static grove_status find_route(grove_context *ctx, int n, const grove_request *requests,
                               const grove_wiring_key *keys, grove_routing *out)
{
  const grove_route *told = grove_route_told(grove_routing_settings(ctx, n, requests).route);
  int64_t bytes = unit_bytes_of(n, keys);
  if (told) {
    out->route = told;
  } else if (bytes > 0) {
    GROVE_PASS(choose_route(n, requests, keys, out->lifted, &out->choice));
    GROVE_PASS(grove_wisdom_ask(ctx, n, requests, keys, out));
    out->route = out->choice.candidates[out->choice.chosen].route;
    out->chosen = 1;
  }
  out->cap = grove_route_cap(ctx, bytes > 0 ? bytes : 1);
  return GROVE_OK;
}

grove_status grove_routing_find(grove_context *ctx, grove_status mine, const grove_purpose *purpose,
                                int n, const grove_request *requests, const grove_wiring_key *keys,
                                grove_routing *routing)
{
  grove_status status = GROVE_OK;
  grove_sentence before;
  grove_settings settings = grove_routing_settings(ctx, n, requests);
  int given = routing->route != NULL;
  if (!given) *routing = (grove_routing){.route = &grove_route_standard, .lifted = routing->lifted};
  if (mine == GROVE_OK) mine = check_told(ctx, &settings);
  if (mine == GROVE_OK) mine = check_alike(n, requests, &settings);
  if (!needs_talk(ctx, &settings)) return mine;
  GROVE_PASS(agree_on_purpose(ctx, mine, purpose, &routing->lifted));
  if (!given) GROVE_PASS(find_route(ctx, n, requests, keys, routing));
  grove_error_keep(&before);
  if (routing->route->relays) status = build_plans(n, requests, keys, routing);
  if (status == GROVE_ERR_UNSUPPORTED) { /* on every rank */
    grove_error_restore(&before);
    routing->route = &grove_route_standard;
    status = GROVE_OK;
  }
  return status;
}

/* ---- the price ---- */

/* Are all routes asked for prices at once? Not if there is nothing to choose. */
int grove_routing_chooses(const grove_forest *f)
{
  grove_settings settings = grove_forest_settings_of(f);
  return settings.route == GROVE_ROUTE_AUTO && needs_talk(f->ctx, &settings);
}

int grove_routing_may_wait(const grove_forest *f)
{
  grove_settings settings = grove_forest_settings_of(f);
  const grove_route *told = grove_route_told(settings.route);
  return settings.choose_after > 0 && !(told && told->relays);
}

/* Adds the price of one question. Agreed by all. */
static grove_status add_price(grove_forest *f, const grove_wiring_key *key, int64_t bytes,
                              int lifted, const grove_route *route, grove_price *sum)
{
  grove_compiled *c = f->compiled;
  grove_decision *d = NULL;
  int i = 0;
  GROVE_PASS(decide_route(f, key, bytes, lifted, grove_routing_chooses(f) ? NULL : route, &d));
  while (d->choice.candidates[i].route != route) i++;
  grove_candidate *candidate = &d->choice.candidates[i];
  if (!candidate->explained) {
    GROVE_PASS(survey_forest(f, c, d->share));
    GROVE_PASS(grove_route_terms(c->surveys[d->share], &d->question, candidate));
  }
  sum->seconds += candidate->seconds;
  for (int t = 0; t < GROVE_TERMS; t++) sum->term[t] += candidate->term[t];
  return GROVE_OK;
}

grove_status grove_routing_price(grove_context *ctx, int n, const grove_request *requests,
                                 const grove_wiring_key *keys, grove_routing *routing)
{
  routing->price = (grove_price){.seconds = ctx->machine ? 0 : NAN};
  for (int k = 0; k < n && ctx->machine; k++) {
    int64_t bytes = bytes_together(n, requests, keys, k);
    if (bytes == 0) continue;
    GROVE_PASS(add_price(requests[k].forest, &keys[k], bytes, routing->lifted, routing->route,
                         &routing->price));
  }
  return GROVE_OK;
}

int grove_routing_has_rival(const grove_settings *settings, const grove_routing *best,
                            grove_routing *rival)
{
  const grove_choice *choice = &best->choice;
  if (settings->effort != GROVE_EFFORT_MEASURE || !best->chosen) return 0;
  if (choice->runner_up < 0 || best->known) return 0;
  const grove_candidate *first = &choice->candidates[choice->chosen];
  const grove_candidate *second = &choice->candidates[choice->runner_up];
  *rival = (grove_routing){.route = second->route, .cap = best->cap};
  return first->route == best->route && second->seconds <= WORTH_A_CONTEST * first->seconds;
}
