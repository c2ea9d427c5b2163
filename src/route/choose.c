#include "route/choose.h"

#include <math.h>
#include <stdlib.h>

/* By how much another route must beat standard in the model: with numbers of another machine or of
 * a kind of machine, and with measured ones. Standard has no stages that wait for each other. Where
 * the numbers are not even this machine's, small gains may be none. */
static const double GAIN_NOT_MEASURED = 1.3, GAIN_MEASURED = 1.05;

/* For when nobody says at which size messages turn to rendezvous: as on Lassen
 * (node-aware-strategies, 2.3.3 and Table 2). */
enum { USUAL_CAP_BYTES = 8192 };

/* ---- what can be said without talking ---- */

const char *grove_route_alone(const grove_topo *topo, int off_node)
{
  if (topo->nnodes == 1) return "all ranks are on one node";
  if (topo->nnodes == topo->nranks) return "every node has one rank";
  if (!grove_off_node_relays(off_node)) return "only standard has this transport between nodes";
  return NULL;
}

int grove_route_can_help(const grove_context *ctx)
{
  return !grove_route_alone(&ctx->topo, ctx->options.transport_off_node);
}

int64_t grove_split_cap(const grove_machine *m, int message_cap, int64_t unit_bytes)
{
  int64_t bytes = message_cap;
  if (bytes < 0) bytes = m ? m->from[GROVE_CPU][GROVE_OFF_NODE][GROVE_REND] : 0;
  if (bytes == INT64_MAX || (message_cap < 0 && bytes == 0)) bytes = USUAL_CAP_BYTES;
  int64_t units = bytes / (unit_bytes > 0 ? unit_bytes : 1);
  return units > 0 ? units : 1;
}

int64_t grove_route_cap(const grove_context *ctx, int64_t unit_bytes)
{
  return grove_split_cap(ctx->machine, ctx->options.message_cap, unit_bytes);
}

/* ---- what a route takes ---- */

/* Counts what the ranks of a node send, or all ranks. */
static void count_traffic(const grove_manifest *manifest, const grove_topo *topo, int node,
                          int64_t unit_bytes, grove_estimate *out)
{
  for (int64_t i = 0; i < manifest->count; i++) {
    const grove_shipment *s = &manifest->shipments[i];
    int off = !grove_topo_same_node(topo, s->from, s->to);
    if (node >= 0 && topo->place[s->from].node != node) continue;
    out->messages[off]++;
    out->bytes[off] += s->units * unit_bytes;
  }
}

grove_status grove_route_estimate(const grove_manifest *manifest, const grove_machine *m,
                                  const grove_topo *topo, int node, const grove_pricing *how,
                                  grove_estimate *out)
{
  grove_estimate e = {.price = {.seconds = NAN}, .stages = manifest->nstages};
  count_traffic(manifest, topo, node, how->unit_bytes, &e);
  if (m && node >= 0)
    GROVE_PASS(grove_price_node(m, topo, node, manifest, how, &e.price));
  else if (m)
    GROVE_PASS(grove_price_manifest(m, topo, manifest, how, &e.price));
  *out = e;
  return GROVE_OK;
}

static void double_estimate(grove_estimate *e)
{
  e->price.seconds *= 2;
  e->stages *= 2;
  for (int t = 0; t < GROVE_TERMS; t++) e->price.term[t] *= 2;
  for (int i = 0; i < 2; i++) {
    e->messages[i] *= 2;
    e->bytes[i] *= 2;
  }
}

grove_status grove_route_count(const grove_survey *survey, const grove_question *question,
                               const grove_route *route, grove_manifest *out,
                               grove_pricing *pricing)
{
  const grove_context *ctx = survey->ctx;
  grove_build how = {.share = survey->share,
                     .back = question->backward || question->both,
                     .cap = grove_route_cap(ctx, question->unit_bytes)};
  *pricing = (grove_pricing){.unit_bytes = question->unit_bytes,
                             .shared_memory = ctx->shares_node &&
                                              ctx->options.transport_on_node == GROVE_ON_NODE_SHM,
                             .order = GROVE_QUEUE_TYPICAL,
                             .lifted_out = question->lifted / 3 * 0.5,
                             .lifted_in = question->lifted % 3 * 0.5};
  GROVE_PASS(route->count(&survey->demand, &ctx->topo, &how, out));
  if (question->backward) grove_manifest_reverse(out);
  return GROVE_OK;
}

/* On a leader: what a route costs its node. */
static grove_status estimate_route(const grove_survey *survey, const grove_question *question,
                                   const grove_route *route, grove_estimate *out)
{
  grove_status status = GROVE_OK;
  const grove_context *ctx = survey->ctx;
  const grove_topo *topo = &ctx->topo;
  grove_manifest manifest = {0};
  grove_pricing pricing;
  GROVE_TRY(grove_route_count(survey, question, route, &manifest, &pricing));
  GROVE_TRY(grove_route_estimate(&manifest, ctx->machine, topo, topo->place[ctx->rank].node,
                                 &pricing, out));
  if (question->both) double_estimate(out);
fail:
  grove_manifest_free(&manifest);
  return status;
}

static const grove_route *candidate_route(const grove_question *question, int i)
{
  return question->only ? question->only : grove_routes[i];
}

static grove_status estimate_all(const grove_survey *survey, const grove_question *question, int n,
                                 grove_estimate *out)
{
  grove_status status = survey->failure;
  for (int i = 0; i < n && survey->leader && status == GROVE_OK; i++)
    GROVE_PASS(estimate_route(survey, question, candidate_route(question, i), &out[i]));
  return status;
}

/* ---- the choice ---- */

/* The cheapest candidate with a price that is not `but_not`; -1: none. */
static int find_cheapest(const grove_choice *choice, double but_not)
{
  int best = -1;
  for (int i = 0; i < choice->n; i++) {
    double seconds = choice->candidates[i].seconds;
    if (isnan(seconds) || seconds == but_not) continue;
    if (best < 0 || seconds < choice->candidates[best].seconds) best = i;
  }
  return best;
}

void grove_choice_decide(grove_choice *choice, const grove_machine *m)
{
  double standard = choice->candidates[0].seconds;
  int best = find_cheapest(choice, NAN);
  choice->needed = m && grove_machine_is_measured(m) ? GAIN_MEASURED : GAIN_NOT_MEASURED;
  choice->chosen =
    best > 0 && standard > choice->needed * choice->candidates[best].seconds ? best : 0;
  choice->runner_up = find_cheapest(choice, choice->candidates[choice->chosen].seconds);
}

static int count_candidates(const grove_context *ctx, const grove_question *question)
{
  return grove_route_can_help(ctx) && !question->only ? GROVE_ROUTES : 1;
}

static void list_prices(int n, const grove_estimate *estimates, int64_t *out)
{
  for (int i = 0; i < n; i++) out[i] = grove_price_picoseconds(estimates[i].price.seconds);
}

/* Settles the choice from the prices that all ranks agreed upon. */
static void settle_choice(const grove_context *ctx, const grove_question *question, int n,
                          const int64_t *prices, grove_choice *out)
{
  *out = (grove_choice){.n = n};
  for (int i = 0; i < n; i++)
    out->candidates[i] = (grove_candidate){.route = candidate_route(question, i),
                                           .seconds = grove_price_seconds(prices[i])};
  grove_choice_decide(out, ctx->machine);
}

/* ---- the terms of a price ---- */

static void list_terms(const grove_price *price, int64_t *out)
{
  for (int t = 0; t < GROVE_TERMS; t++) out[t] = grove_price_picoseconds(price->term[t]);
}

/* Seconds; NaN if one of them is. */
static double add_terms(const int64_t *picoseconds)
{
  double sum = 0;
  for (int t = 0; t < GROVE_TERMS; t++) sum += grove_price_seconds(picoseconds[t]);
  return sum;
}

/* If several nodes are the most expensive their terms are mixed; they still add up to the price. */
static void settle_terms(const int64_t *picoseconds, grove_candidate *out)
{
  double sum = add_terms(picoseconds);
  for (int t = 0; t < GROVE_TERMS; t++)
    out->term[t] = sum > 0 ? out->seconds * grove_price_seconds(picoseconds[t]) / sum : 0;
  out->explained = 1;
}

/* The agreed price was rounded to whole picoseconds. */
static int is_dearest(const grove_price *price, double agreed)
{
  int64_t most = grove_price_picoseconds(agreed), own = grove_price_picoseconds(price->seconds);
  return own >= most - 1;
}

grove_status grove_route_terms(const grove_survey *survey, const grove_question *question,
                               grove_candidate *candidate)
{
  grove_status mine = survey->failure;
  grove_estimate e = {0};
  int64_t terms[GROVE_TERMS] = {0};
  if (survey->leader && mine == GROVE_OK)
    mine = estimate_route(survey, question, candidate->route, &e);
  if (is_dearest(&e.price, candidate->seconds)) list_terms(&e.price, terms);
  GROVE_PASS(grove_context_agree(survey->ctx, mine, terms, GROVE_TERMS));
  settle_terms(terms, candidate);
  return GROVE_OK;
}

/* On one node there is one leader, and its terms are the price: one step saved. Agreed by all. */
static grove_status price_one(const grove_survey *survey, const grove_question *question,
                              grove_choice *out)
{
  grove_estimate e = {0};
  int64_t terms[GROVE_TERMS] = {0};
  grove_status mine = estimate_all(survey, question, 1, &e);
  if (survey->leader) list_terms(&e.price, terms);
  if (isnan(e.price.seconds)) terms[0] = grove_price_picoseconds(NAN);
  GROVE_PASS(grove_context_agree(survey->ctx, mine, terms, GROVE_TERMS));
  *out = (grove_choice){.n = 1, .runner_up = -1};
  out->candidates[0] = (grove_candidate){.route = question->only, .seconds = add_terms(terms)};
  settle_terms(terms, &out->candidates[0]);
  return GROVE_OK;
}

grove_status grove_route_choose(const grove_survey *survey, const grove_question *question,
                                grove_choice *out)
{
  if (question->only && survey->ctx->topo.nnodes == 1) return price_one(survey, question, out);
  grove_estimate estimates[GROVE_ROUTES] = {0};
  int64_t prices[GROVE_ROUTES];
  int n = count_candidates(survey->ctx, question);
  grove_status mine = estimate_all(survey, question, n, estimates);
  list_prices(n, estimates, prices);
  GROVE_PASS(grove_context_agree(survey->ctx, mine, prices, n));
  settle_choice(survey->ctx, question, n, prices, out);
  return GROVE_OK;
}

/* ---- the choice with its reasons ---- */

/* Adds another node's estimates. */
static void join_estimates(const grove_estimate *more, grove_candidate *out)
{
  grove_estimate *e = &out->estimate;
  if (e->stages == 0 || grove_price_exceeds(&more->price, &e->price)) e->price = more->price;
  e->stages = more->stages > e->stages ? more->stages : e->stages;
  for (int i = 0; i < 2; i++) {
    e->messages[i] += more->messages[i];
    e->bytes[i] += more->bytes[i];
  }
}

/* A leader's estimates, for rank 0. */
static grove_status write_estimates(const grove_survey *survey, const grove_estimate *estimates,
                                    grove_packet_exchange *exchange)
{
  grove_estimate *copy = NULL;
  if (!survey->leader || survey->ctx->rank == 0) return GROVE_OK;
  GROVE_PASS_NEW(exchange->sent, 1);
  GROVE_PASS_ROOM(copy, GROVE_ROUTES);
  for (int i = 0; i < GROVE_ROUTES; i++) copy[i] = estimates[i];
  exchange->sent[exchange->nsent++] =
    (grove_packet){.peer = 0, .bytes = GROVE_ROUTES * (int64_t)sizeof *copy, .data = copy};
  return GROVE_OK;
}

grove_status grove_route_explain(const grove_survey *survey, const grove_question *question,
                                 grove_choice *out)
{
  grove_status status = GROVE_OK;
  grove_context *ctx = survey->ctx;
  grove_estimate estimates[GROVE_ROUTES] = {0};
  int64_t prices[GROVE_ROUTES];
  grove_packet_exchange exchange = {0};
  int n = count_candidates(ctx, question);
  grove_status mine = estimate_all(survey, question, n, estimates);
  if (mine == GROVE_OK) mine = write_estimates(survey, estimates, &exchange);
  list_prices(n, estimates, prices);
  GROVE_TRY(grove_context_exchange(ctx, mine, prices, n, &exchange));
  settle_choice(ctx, question, n, prices, out);
  for (int i = 0; i < n && ctx->rank == 0; i++) {
    join_estimates(&estimates[i], &out->candidates[i]);
    for (int k = 0; k < exchange.ncame; k++)
      join_estimates((const grove_estimate *)exchange.came[k].data + i, &out->candidates[i]);
  }
fail:
  grove_packet_list_free(exchange.nsent, exchange.sent);
  grove_packet_list_free(exchange.ncame, exchange.came);
  return status;
}
