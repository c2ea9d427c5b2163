/* Exchanges of all ranks at once: what measuring ends with. The rows so far are of pings, streams
 * and pairs, each on a machine that does nothing else. So the prices made with them are held
 * against some thirty real exchanges, of few large to many small messages, on every route. What the
 * terms of the price must be multiplied by to meet these times are the rows `factor` (factors.h).
 *
 * The forests are none that `grove bench` makes. Before each exchange the owners rewrite what they
 * send, as programs do.
 */
#include "measure/factors.h"
#include "measure/trial.h"

#include <math.h>
#include <stdlib.h>

/* ---- which exchanges ---- */

/* How many ranks another rank may need something from. */
enum { NEIGHBOURS = 12 };

/* Writes the ranks that this one needs something from, at most NEIGHBOURS; returns their number. */
typedef int list_needed(const grove_probe *p, int *from);

/* The k-th rank after this one, on this node or on another. */
static int rank_after(const grove_probe *p, int k)
{
  return (int)(((int64_t)p->ctx->rank + k) % p->ctx->size);
}

/* Those of its own node. */
static int list_inside(const grove_probe *p, int *from)
{
  int n = 0;
  for (int k = 1; k < p->ctx->size && n < NEIGHBOURS; k++)
    if (grove_topo_same_node(&p->ctx->topo, p->ctx->rank, rank_after(p, k)))
      from[n++] = rank_after(p, k);
  return n;
}

/* The first rank of another node: few messages. */
static int list_next(const grove_probe *p, int *from)
{
  for (int k = 1; k < p->ctx->size; k++)
    if (!grove_topo_same_node(&p->ctx->topo, p->ctx->rank, rank_after(p, k))) {
      from[0] = rank_after(p, k);
      return 1;
    }
  return 0;
}

/* Ranks of other nodes, as many as there may be: many messages, and what one node's ranks need is
 * the same. */
static int list_far(const grove_probe *p, int *from)
{
  int n = 0;
  for (int k = 1; k < p->ctx->size && n < NEIGHBOURS; k++)
    if (!grove_topo_same_node(&p->ctx->topo, p->ctx->rank, rank_after(p, k)))
      from[n++] = rank_after(p, k);
  return n;
}

/* The same for one rank of each node; the others need nothing. */
static int list_for_first(const grove_probe *p, int *from)
{
  return p->ctx->topo.place[p->ctx->rank].local == 0 ? list_far(p, from) : 0;
}

/* A few of its own node and of others. */
static int list_around(const grove_probe *p, int *from)
{
  int inside[NEIGHBOURS], far[NEIGHBOURS], n = 0;
  int ninside = list_inside(p, inside), nfar = list_far(p, far);
  for (int i = 0; i < 2 && i < ninside; i++) from[n++] = inside[i];
  for (int i = 0; i < 3 && i < nfar; i++) from[n++] = far[i];
  return n;
}

enum { SIZES = 3 };

typedef struct pattern {
  list_needed *list;
  int relays;           /* on all routes, not on standard alone */
  int64_t bytes[SIZES]; /* of a message; the first are measured even if it must be quick */
  const char *series[GROVE_ROUTES];
} pattern;

#define FAR(name, word)    "exchange far " word,
#define FIRST(name, word)  "exchange first " word,
#define AROUND(name, word) "exchange around " word,
static const pattern patterns[] = {
  {list_inside, 0, {1024, 64, 32768}, {"exchange inside standard"}},
  {list_next, 0, {4096, 64, 65536}, {"exchange next standard"}},
  {list_far, 1, {1024, 64, 16384}, {GROVE_ROUTE_ROWS(FAR)}},
  {list_for_first, 1, {2048, 256, 8192}, {GROVE_ROUTE_ROWS(FIRST)}},
  {list_around, 1, {512, 4096, 32768}, {GROVE_ROUTE_ROWS(AROUND)}},
};
enum { PATTERNS = sizeof patterns / sizeof *patterns, MOST = PATTERNS * SIZES * GROVE_ROUTES };

typedef struct exchange {
  const pattern *what;
  int route;
  int64_t bytes;
  int round;    /* sizes of a pattern: the first of all patterns come before the second of any */
  int backward; /* a reduce; else a bcast */
  double seconds;
  grove_manifest manifest; /* on the first rank of a node: its messages */
  grove_pricing pricing;
} exchange;

typedef struct exchanges {
  grove_probe *p;
  int count;
  exchange at[MOST];
  double room[MOST * (GROVE_FACTOR_SETS + 1)]; /* of the fit, */
  double since, patience;                      /* when it began, and how long it may take */
  int is_over;
} exchanges;

static int can_relay(const grove_probe *p)
{
  return grove_route_can_help(p->ctx);
}

/* Every second one is a reduce. */
static void list_exchanges(grove_probe *p, exchanges *all)
{
  int sizes = p->how->effort == GROVE_MEASURE_QUICK ? 1 : SIZES;
  *all = (exchanges){.p = p};
  for (int i = 0; i < PATTERNS; i++)
    for (int r = 0; r < (patterns[i].relays && can_relay(p) ? GROVE_ROUTES : 1); r++)
      for (int k = 0; k < sizes; k++)
        all->at[all->count++] = (exchange){.what = &patterns[i],
                                           .route = r,
                                           .bytes = patterns[i].bytes[k],
                                           .round = k,
                                           .backward = (i + k) % 2};
}

/* ---- one exchange ---- */

static grove_status open_pattern(grove_probe *p, const exchange *x, grove_trial *t)
{
  int from[NEIGHBOURS];
  int64_t n = x->bytes / (int64_t)sizeof(double);
  int64_t leaves = n * x->what->list(p, from);
  GROVE_PASS(grove_context_set(p->ctx, "route", grove_routes[x->route]->name));
  GROVE_PASS(grove_trial_open(p, n, leaves, t));
  t->backward = x->backward;
  for (int64_t i = 0; i < leaves; i++) t->root[i] = (grove_root){from[i / n], i % n};
  return grove_trial_connect(p, t);
}

/* An exchange in which nobody needs anything keeps no time, and counts for nothing. */
static grove_status measure_exchange(grove_probe *p, exchange *x, double budget)
{
  grove_status status = GROVE_OK;
  grove_trial t = {0};
  GROVE_TRY(open_pattern(p, x, &t));
  double messages = (double)t.nleaves;
  GROVE_TRY(grove_probe_meet(p, &messages, 1));
  GROVE_TRY(grove_trial_count(p, &t, grove_routes[x->route], &x->manifest, &x->pricing));
  if (messages > 0) GROVE_TRY(grove_trial_time(p, &t, budget, &x->seconds));
fail:
  grove_trial_close(&t);
  return status;
}

/* ---- their prices ---- */

/* What a machine makes of them, on this rank's node; 0 on ranks that count for nobody. */
static void price_here(exchanges *all, const grove_machine *m, double *seconds)
{
  const grove_topo *topo = &all->p->ctx->topo;
  int rank = all->p->ctx->rank, leads = topo->place[rank].local == 0;
  for (int i = 0; i < all->count; i++) {
    const exchange *x = &all->at[i];
    grove_price price = {0};
    if (leads) {
      grove_status status =
        grove_price_node(m, topo, topo->place[rank].node, &x->manifest, &x->pricing, &price);
      if (status != GROVE_OK) all->p->status = status;
    }
    seconds[i] = isnan(price.seconds) ? INFINITY : price.seconds;
  }
}

/* The dearest node counts, as in a choice. Nodes of many ranks take long to price. */
static grove_status price_sets(void *self, int n, double (*factor)[GROVE_FACTORS], double *seconds)
{
  exchanges *all = self;
  grove_machine *m = all->p->machine;
  for (int k = 0; k < n; k++) {
    for (int i = 0; i < GROVE_FACTORS; i++) m->factor[i] = factor[k][i];
    price_here(all, m, seconds + (size_t)k * (size_t)all->count);
  }
  GROVE_PASS(grove_probe_meet(all->p, seconds, n * all->count));
  double spent = grove_clock() - all->since;
  GROVE_PASS(grove_probe_meet(all->p, &spent, 1));
  all->is_over = spent > all->patience;
  return GROVE_OK;
}

/* ---- the step ---- */

/* Of one or two exchanges any times can be explained. */
static grove_status find_factors(exchanges *all, double seconds)
{
  enum { FEWEST = 3, SAME = 2 }; /* exchanges; per cent: not worth a row */
  double measured[MOST], factor[GROVE_FACTORS], residual = 0;
  int count = 0;
  for (int i = 0; i < all->count; i++) {
    measured[i] = all->at[i].seconds;
    count += measured[i] > 0;
  }
  if (count < FEWEST) return GROVE_OK;
  const grove_factors f = {all->count, measured, price_sets, all, all->room, &all->is_over};
  all->since = grove_clock();
  all->patience = seconds;
  GROVE_PASS(grove_factors_fit(&f, factor, &residual));
  for (int i = 0; i < GROVE_FACTORS; i++)
    if (100 * fabs(factor[i] - 1) >= SAME)
      grove_probe_row(all->p, "factor", "any", grove_term_names[i], factor[i], "1", count,
                      residual);
  return GROVE_OK;
}

/* What the new profile says of each or, if rank 0 has one to check, that one. */
static grove_status price_for_points(exchanges *all, double *seconds)
{
  grove_probe *p = all->p;
  grove_machine *against = NULL;
  double checks = p->how->against != NULL;
  GROVE_PASS(grove_context_agree(p->ctx, grove_machine_digest(p->machine), NULL, 0));
  GROVE_PASS(grove_probe_meet(p, &checks, 1));
  if (checks > 0)
    GROVE_PASS(grove_context_share_machine(p->ctx, GROVE_OK, p->how->against, &against));
  price_here(all, against ? against : p->machine, seconds);
  grove_machine_free(&against);
  return grove_probe_meet(p, seconds, all->count);
}

static grove_status keep_exchanges(exchanges *all)
{
  grove_probe *p = all->p;
  double seconds[MOST];
  GROVE_PASS(price_for_points(all, seconds));
  for (int i = 0; i < all->count; i++) {
    const exchange *x = &all->at[i];
    if (!(x->seconds > 0)) continue;
    grove_probe_keep(p, x->what->series[x->route], (double)x->bytes, x->seconds);
    if (p->points && p->points->count > 0)
      p->points->point[p->points->count - 1].predicted = isfinite(seconds[i]) ? seconds[i] : NAN;
  }
  return GROVE_OK;
}

/* A machine that is much slower than planned, or shared with others, has the first size of every
 * pattern all the same, and then as many as there is time for. */
static grove_status time_exchanges(exchanges *all, double seconds)
{
  const double patience = 1.5;
  double begin = grove_clock(), spent = 0;
  for (int k = 0; k < SIZES; k++)
    for (int i = 0; i < all->count; i++) {
      if (all->at[i].round != k || (k > 0 && spent > patience * seconds)) continue;
      GROVE_PASS(measure_exchange(all->p, &all->at[i], seconds / all->count));
      spent = grove_clock() - begin;
      GROVE_PASS(grove_probe_meet(all->p, &spent, 1));
    }
  return GROVE_OK;
}

static grove_status run_exchanges(exchanges *all, double seconds)
{
  GROVE_PASS(time_exchanges(all, seconds));
  GROVE_PASS(find_factors(all, seconds));
  return keep_exchanges(all);
}

/* The option `route` is set for each exchange. Between nodes all of them go by messages of MPI,
 * which prices are about. */
static const char *const keys[] = {"route", "transport_off_node"};
enum { KEYS = sizeof keys / sizeof *keys, VALUE = 64 };

static grove_status note_options(grove_context *ctx, char before[KEYS][VALUE])
{
  for (int i = 0; i < KEYS; i++) GROVE_PASS(grove_context_get(ctx, keys[i], before[i], VALUE));
  return GROVE_OK;
}

/* After a failure, of which others may not have heard: without them. */
static void take_options_back(grove_context *ctx, char before[KEYS][VALUE])
{
  grove_sentence sentence;
  grove_error_keep(&sentence);
  for (int i = 0; i < KEYS; i++) (void)grove_options_set(&ctx->options, keys[i], before[i]);
  ctx->generation++;
  grove_error_restore(&sentence);
}

static grove_status run_with_options(exchanges *all, double seconds, char before[KEYS][VALUE])
{
  grove_context *ctx = all->p->ctx;
  GROVE_PASS(grove_context_set(ctx, "transport_off_node", "p2p"));
  list_exchanges(all->p, all);
  GROVE_PASS(run_exchanges(all, seconds));
  for (int i = 0; i < KEYS; i++) GROVE_PASS(grove_context_set(ctx, keys[i], before[i]));
  return GROVE_OK;
}

/* The profile so far takes the place of the context's: split cuts its messages by it. Afterwards
 * that and the options are what they were. */
static grove_status run_on_profile(exchanges *all, double seconds)
{
  grove_context *ctx = all->p->ctx;
  grove_machine *before = ctx->machine;
  char options[KEYS][VALUE];
  GROVE_PASS(note_options(ctx, options));
  ctx->machine = all->p->machine;
  grove_status status = run_with_options(all, seconds, options);
  if (status != GROVE_OK) take_options_back(ctx, options);
  ctx->machine = before;
  return status;
}

static void free_exchanges(exchanges *all)
{
  for (int i = 0; i < all->count; i++) grove_manifest_free(&all->at[i].manifest);
  free(all);
}

grove_status grove_measure_exchanges(grove_probe *p, double seconds)
{
  grove_status status = GROVE_OK;
  exchanges *all = NULL;
  if (p->ctx->size == 1) return GROVE_OK;
  grove_probe_announce(p, "exchanges", seconds);
  grove_status mine = grove_machine_digest(p->machine);
  all = grove_memory(1, sizeof *all);
  if (mine == GROVE_OK && !all) mine = GROVE_NO_MEMORY(all, 1);
  GROVE_TRY(grove_context_agree(p->ctx, mine, NULL, 0));
  all->p = p;
  status = run_on_profile(all, seconds);
fail:
  if (all) free_exchanges(all);
  return status;
}
