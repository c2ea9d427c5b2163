/* All ranks, or those of a node: what their stages take if each waits for those before it. */
#include "model/price.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALL_NODES = -1 };

/* How far a rank has come. Times are prices: what has been paid since the start, by term. */
typedef struct progress {
  grove_price free;  /* it has sent what it had to */
  grove_price ready; /* it has received what it will pass on */
  grove_price done;  /* it has received all */
  /* In this stage: */
  grove_price begun;   /* it begins to send */
  grove_price arrived; /* the last of that is there */
  grove_price here;    /* all that is sent to it has come */
  grove_price first;   /* when the first rank that sends to it begins; no time: nobody does */
} progress;

/* What pricing stages needs; tables with a row per rank, node or host that is priced. */
typedef struct stages {
  const grove_machine *m;
  const grove_topo *topo;
  const grove_pricing *how;
  grove_pricing pricing; /* which that is */
  int node;              /* the only one that is priced, or ALL_NODES */
  int nstages;
  int nranks, nnodes, ndomains;
  grove_load *load;            /* by rank */
  grove_load *passed;          /* by rank: what it receives and passes on later */
  int *inside;                 /* by rank: has it messages inside its node? */
  int (*last)[2];              /* by rank: its last stage with sends on node, and off; or -1 */
  int (*fed)[2];               /* by rank: first stage that brings something, on node and off */
  double *owed;                /* by rank: bytes of its array on a device that it will send */
  progress *at;                /* by rank */
  progress elsewhere;          /* begun and arrived: means over what the one node sends */
  grove_neighbourhood *nodes;  /* by node */
  grove_neighbourhood *domain; /* by host: only what its cores do */
} stages;

/* The row of a rank; -1: it is not priced. */
static int row_of_rank(const stages *s, int rank)
{
  const grove_place *place = &s->topo->place[rank];
  if (s->node == ALL_NODES) return rank;
  return place->node == s->node ? place->local : -1;
}

static const grove_place *place_in_node(const stages *s, int row)
{
  int all = s->node == ALL_NODES;
  return &s->topo->place[all ? row : grove_topo_node_rank(s->topo, s->node, row)];
}

static int node_of_rank(const stages *s, int row)
{
  return s->node == ALL_NODES ? place_in_node(s, row)->node : 0;
}

static int domain_of(const stages *s, int row)
{
  return s->node == ALL_NODES ? place_in_node(s, row)->domain : 0;
}

static grove_status open_stages(stages *s)
{
  int all = s->node == ALL_NODES;
  s->nranks = all ? s->topo->nranks : grove_topo_node_size(s->topo, s->node);
  s->nnodes = all ? s->topo->nnodes : 1;
  s->ndomains = all ? s->topo->nranks : 1;
  GROVE_PASS_NEW(s->load, s->nranks);
  GROVE_PASS_NEW(s->passed, s->nranks);
  GROVE_PASS_NEW(s->inside, s->nranks);
  GROVE_PASS_NEW(s->last, s->nranks);
  GROVE_PASS_NEW(s->fed, s->nranks);
  GROVE_PASS_NEW(s->owed, s->nranks);
  GROVE_PASS_NEW(s->at, s->nranks);
  GROVE_PASS_NEW(s->nodes, s->nnodes);
  GROVE_PASS_NEW(s->domain, s->ndomains);
  return GROVE_OK;
}

static void close_stages(stages *s)
{
  free(s->load);
  free(s->passed);
  free(s->inside);
  free(s->last);
  free(s->fed);
  free(s->owed);
  free(s->at);
  free(s->nodes);
  free(s->domain);
}

static void clear_times(stages *s)
{
  memset(s->load, 0, (size_t)s->nranks * sizeof *s->load);
  memset(s->passed, 0, (size_t)s->nranks * sizeof *s->passed);
  memset(s->inside, 0, (size_t)s->nranks * sizeof *s->inside);
  memset(s->nodes, 0, (size_t)s->nnodes * sizeof *s->nodes);
  memset(s->domain, 0, (size_t)s->ndomains * sizeof *s->domain);
}

/* ---- what each rank has to do ---- */

/* The ranks of each node that use shared memory. Counted first: the rate depends on it. */
static void count_active(stages *s, const grove_shipment *first, const grove_shipment *end)
{
  for (const grove_shipment *x = first; x < end; x++) {
    int from = row_of_rank(s, x->from), to = row_of_rank(s, x->to);
    if (from >= 0 && to >= 0 && grove_topo_same_node(s->topo, x->from, x->to))
      s->inside[from] = s->inside[to] = 1;
  }
  for (int r = 0; r < s->nranks; r++) s->nodes[node_of_rank(s, r)].active += s->inside[r];
}

/* What goes between nodes in a later stage comes from a hub, where it is consecutive. What goes on
 * inside a node in the last of several stages is read in the hub by the rank that needs it. */
static int is_packed(const stages *s, const grove_shipment *x, grove_locality where)
{
  return x->stage == 0 || (where != GROVE_OFF_NODE && x->stage < s->nstages - 1);
}

/* Is it of the sender's own array? What comes from another node goes on inside, and the other way
 * round: a rank to which nothing has come so passes nothing on. */
static int is_own(const stages *s, const grove_shipment *x, grove_locality where, int row)
{
  return is_packed(s, x, where) || s->fed[row][where != GROVE_OFF_NODE] >= x->stage;
}

/* Does the receiver send this on? What comes from another node goes on inside, and the other way
 * round; everything else has reached its destination. */
static int is_passed_on(const stages *s, const grove_shipment *x, int row)
{
  int off = !grove_topo_same_node(s->topo, x->from, x->to);
  return s->last[row][!off] > x->stage;
}

/* What leaves a rank's array, and what comes to it. A rank copies all that it will send to the host
 * before it first sends some of it. */
static void note_lifted(stages *s, const grove_shipment *x, grove_locality where, int from, int to)
{
  if (from >= 0 && is_own(s, x, where, from)) s->load[from].lifted[GROVE_D2H] = s->owed[from];
  if (to >= 0 && s->how->lifted_in > 0 && !is_passed_on(s, x, to))
    s->load[to].lifted[GROVE_H2D] += (double)(x->units * s->how->unit_bytes);
}

static void add_shipment(stages *s, const grove_shipment *x)
{
  grove_locality where = grove_price_locality(s->topo, x->from, x->to);
  int64_t bytes = x->units * s->how->unit_bytes;
  int from = row_of_rank(s, x->from), to = row_of_rank(s, x->to), row = from >= 0 ? from : to;
  if (row < 0) return;
  note_lifted(s, x, where, from, to);
  int active = s->nodes[node_of_rank(s, row)].active;
  if (from >= 0) {
    grove_load_add(&s->load[from], s->m, s->how, where, bytes, active, 0);
    if (is_packed(s, x, where)) grove_load_pack(&s->load[from], s->m, s->how, bytes, 0);
  }
  if (to < 0) return;
  grove_load_add(&s->load[to], s->m, s->how, where, bytes, active, 1);
  if (is_passed_on(s, x, to)) grove_load_add(&s->passed[to], s->m, s->how, where, bytes, active, 1);
}

/* What the ranks of a node, and of a host, do together. A node that shares its host with others
 * counts as one of several alike; so does a part of a node that lies on several hosts. */
static void add_neighbours(stages *s)
{
  int all = s->node == ALL_NODES;
  double alike = all ? 1 : (double)s->topo->domain_size / s->nranks;
  for (int r = 0; r < s->nranks; r++) {
    const grove_load *load = &s->load[r];
    grove_neighbourhood *node = &s->nodes[node_of_rank(s, r)];
    node->interface_sent += load->sent.interface;
    node->interface_received += load->received.interface;
    grove_neighbourhood *domain = &s->domain[domain_of(s, r)];
    domain->processor += alike * load->processor;
    domain->packing += alike * load->packing;
    for (int i = 0; i < 2; i++) {
      domain->messages[i] += alike * load->messages[i];
      domain->bytes[i] += alike * load->bytes[i];
    }
    for (int way = 0; way < GROVE_DIRECTIONS; way++)
      domain->copying[way] += load->lifted[way] > 0 ? alike : 0;
    domain->ranks++;
  }
  if (!all) s->domain[0].ranks = s->topo->domain_size;
}

/* ---- when ---- */

static grove_price later_of(const grove_price *a, const grove_price *b)
{
  return grove_price_exceeds(b, a) ? *b : *a;
}

static grove_price time_after(const grove_price *time, const grove_price *more)
{
  grove_price p = *time;
  for (int t = 0; t < GROVE_TERMS; t++) p.term[t] += more->term[t];
  p.seconds += more->seconds;
  return p;
}

static grove_neighbourhood surroundings_of(const stages *s, int row)
{
  const grove_neighbourhood *node = &s->nodes[node_of_rank(s, row)];
  grove_neighbourhood n = s->domain[domain_of(s, row)];
  n.interface_sent = node->interface_sent;
  n.interface_received = node->interface_received;
  n.cores = s->m->cores;
  return n;
}

/* What is copied between a device and the host in this stage. */
static grove_price price_of_lift(const stages *s, int row, grove_direction way)
{
  double share = way == GROVE_D2H ? s->how->lifted_out : s->how->lifted_in;
  double ranks = s->domain[domain_of(s, row)].copying[way];
  double seconds = share * grove_price_lift(s->m, way, ranks, s->load[row].lifted[way]);
  grove_price p = {.seconds = seconds};
  p.term[GROVE_TERM_COPY] = seconds;
  return p;
}

/* A rank sends when it has finished earlier stages, has what it passes on, and has copied its own
 * data to the host since the start. */
static void send_messages(stages *s, int row)
{
  progress *at = &s->at[row];
  grove_neighbourhood n = surroundings_of(s, row);
  grove_price lift = price_of_lift(s, row, GROVE_D2H);
  grove_price sent = grove_load_sent(&s->load[row], s->m, s->how, &n);
  grove_price busy = grove_load_busy(&s->load[row], s->m, &n);
  at->begun = later_of(&at->free, &at->ready);
  at->begun = later_of(&at->begun, &lift); /* which waited for nothing */
  at->here = (grove_price){0};
  at->arrived = time_after(&at->begun, &sent);
  at->free = time_after(&at->begun, &busy);
  at->first.seconds = INFINITY;
}

static void divide_stages(grove_price *p, int n)
{
  for (int t = 0; t < GROVE_TERMS; t++) p->term[t] /= n;
  p->seconds /= n;
}

/* Nobody here knows how far other nodes are. They count as far as the ranks of this node that send
 * to other nodes. If none does, they are at the start: then the price is too low, if anything. */
static void look_elsewhere(stages *s)
{
  int senders = 0;
  progress *mean = &s->elsewhere;
  mean->begun = mean->arrived = (grove_price){0};
  for (int r = 0; r < s->nranks; r++) {
    if (!s->load[r].sent.crosses) continue;
    mean->begun = time_after(&mean->begun, &s->at[r].begun);
    mean->arrived = time_after(&mean->arrived, &s->at[r].arrived);
    senders++;
  }
  if (senders == 0) return;
  divide_stages(&mean->begun, senders);
  divide_stages(&mean->arrived, senders);
}

static void arrive_at(stages *s, const grove_shipment *x)
{
  int from = row_of_rank(s, x->from), to = row_of_rank(s, x->to);
  if (to < 0) return;
  const progress *sender = from >= 0 ? &s->at[from] : &s->elsewhere;
  progress *at = &s->at[to];
  if (grove_price_exceeds(&at->first, &sender->begun)) at->first = sender->begun;
  at->here = later_of(&at->here, &sender->arrived);
  if (is_passed_on(s, x, to)) at->ready = later_of(&at->ready, &sender->arrived);
}

/* What comes takes a rank its time, however many send at once. */
static void receive_messages(stages *s, int row)
{
  progress *at = &s->at[row];
  grove_neighbourhood n = surroundings_of(s, row);
  grove_price all = grove_load_price(&s->load[row], s->m, s->how, &n);
  all = time_after(&at->begun, &all);
  at->here = later_of(&at->here, &all);
  if (at->first.seconds == INFINITY) return;
  grove_price came = grove_load_received(&s->load[row], s->m, s->how, &n);
  came = time_after(&at->first, &came);
  at->here = later_of(&at->here, &came);
  if (s->passed[row].messages[0] + s->passed[row].messages[1] == 0) return;
  grove_price passed = grove_load_received(&s->passed[row], s->m, s->how, &n);
  passed = time_after(&at->first, &passed);
  at->ready = later_of(&at->ready, &passed);
}

/* What stays here is copied on when all of it has come. */
static void finish_stage(stages *s, int row)
{
  progress *at = &s->at[row];
  grove_price land = price_of_lift(s, row, GROVE_H2D);
  grove_price over = time_after(&at->here, &land);
  at->done = later_of(&at->done, &over);
  if (s->load[row].lifted[GROVE_D2H] > 0) s->owed[row] = 0;
}

static void price_stage(stages *s, const grove_shipment *first, const grove_shipment *end)
{
  clear_times(s);
  count_active(s, first, end);
  for (const grove_shipment *x = first; x < end; x++) add_shipment(s, x);
  add_neighbours(s);
  for (int r = 0; r < s->nranks; r++) send_messages(s, r);
  if (s->node != ALL_NODES) look_elsewhere(s);
  for (const grove_shipment *x = first; x < end; x++) arrive_at(s, x);
  for (int r = 0; r < s->nranks; r++) receive_messages(s, r);
  for (int r = 0; r < s->nranks; r++) finish_stage(s, r);
}

/* ---- all stages ---- */

static int by_stage(const void *a, const void *b)
{
  const grove_shipment *x = a, *y = b;
  if (x->stage != y->stage) return x->stage < y->stage ? -1 : 1;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return (x->to > y->to) - (x->to < y->to);
}

static int stages_ascend(const grove_manifest *manifest)
{
  for (int64_t i = 1; i < manifest->count; i++)
    if (manifest->shipments[i].stage < manifest->shipments[i - 1].stage) return 0;
  return 1;
}

static void find_last(stages *s, const grove_manifest *manifest)
{
  for (int r = 0; r < s->nranks; r++) s->last[r][0] = s->last[r][1] = -1;
  for (int64_t i = 0; i < manifest->count; i++) {
    const grove_shipment *x = &manifest->shipments[i];
    int row = row_of_rank(s, x->from), off = !grove_topo_same_node(s->topo, x->from, x->to);
    if (row >= 0 && x->stage > s->last[row][off]) s->last[row][off] = x->stage;
  }
}

static void find_fed(stages *s, const grove_manifest *manifest)
{
  for (int r = 0; r < s->nranks; r++) s->fed[r][0] = s->fed[r][1] = manifest->nstages;
  for (int64_t i = 0; i < manifest->count; i++) {
    const grove_shipment *x = &manifest->shipments[i];
    int row = row_of_rank(s, x->to), off = !grove_topo_same_node(s->topo, x->from, x->to);
    if (row >= 0 && x->stage < s->fed[row][off]) s->fed[row][off] = x->stage;
  }
}

static void find_owed(stages *s, const grove_manifest *manifest)
{
  find_fed(s, manifest);
  for (int64_t i = 0; i < manifest->count && s->how->lifted_out > 0; i++) {
    const grove_shipment *x = &manifest->shipments[i];
    int row = row_of_rank(s, x->from);
    if (row >= 0 && is_own(s, x, grove_price_locality(s->topo, x->from, x->to), row))
      s->owed[row] += (double)(x->units * s->how->unit_bytes);
  }
}

static grove_status price_stages(stages *s, const grove_manifest *manifest, grove_price *out)
{
  grove_status status = GROVE_OK;
  grove_shipment *sorted = NULL;
  grove_price price = {0};
  const grove_shipment *all = manifest->shipments;
  s->nstages = manifest->nstages;
  GROVE_TRY(open_stages(s));
  find_last(s, manifest);
  find_owed(s, manifest);
  if (!stages_ascend(manifest)) {
    GROVE_ROOM(sorted, manifest->count);
    memcpy(sorted, all, (size_t)manifest->count * sizeof *sorted);
    qsort(sorted, (size_t)manifest->count, sizeof *sorted, by_stage);
    all = sorted;
  }
  for (int64_t i = 0, end; i < manifest->count; i = end) {
    for (end = i; end < manifest->count && all[end].stage == all[i].stage; end++) continue;
    price_stage(s, all + i, all + end);
  }
  for (int r = 0; r < s->nranks; r++) price = later_of(&price, &s->at[r].done);
  *out = price;
fail:
  free(sorted);
  close_stages(s);
  return status;
}

/* Without the cost of copies all data counts as the host's. */
static stages stages_for(const grove_machine *m, const grove_topo *topo, int node,
                         const grove_pricing *how)
{
  stages s = {.m = m, .topo = topo, .pricing = *how, .node = node};
  if (!grove_machine_has_copies(m)) s.pricing.lifted_out = s.pricing.lifted_in = 0;
  return s;
}

grove_status grove_price_manifest(const grove_machine *m, const grove_topo *topo,
                                  const grove_manifest *manifest, const grove_pricing *how,
                                  grove_price *out)
{
  stages s = stages_for(m, topo, ALL_NODES, how);
  s.how = &s.pricing;
  return price_stages(&s, manifest, out);
}

grove_status grove_price_node(const grove_machine *m, const grove_topo *topo, int node,
                              const grove_manifest *manifest, const grove_pricing *how,
                              grove_price *out)
{
  stages s = stages_for(m, topo, node, how);
  s.how = &s.pricing;
  return price_stages(&s, manifest, out);
}
