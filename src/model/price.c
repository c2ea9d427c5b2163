#include "model/price.h"

#include "model/forms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const grove_term_names[GROVE_TERMS] = {
  [GROVE_TERM_LATENCY] = "latency",
  [GROVE_TERM_BANDWIDTH] = "bandwidth",
  [GROVE_TERM_INJECTION] = "injection",
  [GROVE_TERM_QUEUE] = "queue",
  [GROVE_TERM_CONTENTION] = "contention",
  [GROVE_TERM_ON_NODE] = "on_node",
  [GROVE_TERM_COPY] = "copy",
  [GROVE_TERM_CORES] = "cores",
};

/* ---- one message ---- */

/* The nearest locality that the profile knows: one host's profile has no other node, a machine with
 * one socket no other socket. */
static grove_locality known_locality(const grove_machine *m, grove_locality where)
{
  if (where == GROVE_OFF_NODE) return where;
  grove_locality other = where == GROVE_ON_NODE ? GROVE_ON_SOCKET : GROVE_ON_NODE;
  int known = !isnan(grove_machine_postal(m, GROVE_CPU, where, 0).alpha);
  return known ? where : other;
}

/* LogGP's overheads grow with the size inside a row's range too: linear from row to row. */
static void overheads(const grove_machine *m, grove_locality where, int64_t bytes, double *o_s,
                      double *o_r)
{
  const grove_loggp *row = grove_machine_loggp(m, where, bytes);
  if (!row || isnan(row->o_s) || isnan(row->o_r)) {
    /* Half of the latency at each end; bytes move by themselves. */
    *o_s = *o_r = grove_machine_postal(m, GROVE_CPU, where, bytes).alpha / 2;
    return;
  }
  *o_s = row->o_s;
  *o_r = row->o_r;
  const grove_loggp *first = m->loggp[where], *last = first + m->nloggp[where] - 1;
  if (row == last && row == first) return;
  /* Beyond the last row as between the last two. */
  const grove_loggp *a = row == last ? row - 1 : row, *b = a + 1;
  double share = (double)(bytes - a->from_bytes) / (double)(b->from_bytes - a->from_bytes);
  *o_s = fmax(a->o_s + share * (b->o_s - a->o_s), 0);
  *o_r = fmax(a->o_r + share * (b->o_r - a->o_r), 0);
}

/* What a message costs alone, and as one of many. */
typedef struct passage {
  grove_postal alone, stream; /* alpha: latency; beta times the bytes: bandwidth */
} passage;

static passage passage_of(const grove_machine *m, grove_locality where, int64_t bytes)
{
  passage p;
  p.alone = p.stream = grove_machine_postal(m, GROVE_CPU, where, bytes);
  const grove_loggp *row = grove_machine_loggp(m, where, bytes);
  if (row && !isnan(row->g) && !isnan(row->G)) p.stream = (grove_postal){row->g, row->G};
  return p;
}

static void add_head(grove_half *side, const passage *p, grove_term latency, grove_term bandwidth,
                     double bytes)
{
  double a = p->alone.alpha - p->stream.alpha, b = (p->alone.beta - p->stream.beta) * bytes;
  if (!(a + b > side->head_seconds)) return;
  side->head_seconds = a + b;
  for (int t = 0; t < GROVE_TERMS; t++) side->head[t] = 0;
  side->head[latency] += a;
  side->head[bandwidth] += b;
}

/* A flag in shared memory; NaN where the profile knows none. */
static double flag_of(const grove_machine *m, grove_locality where)
{
  int k = where == GROVE_ON_SOCKET ? 0 : 1;
  return isnan(m->flag_seconds[k]) ? m->flag_seconds[1 - k] : m->flag_seconds[k];
}

/* A message through shared memory: a flag, and its bytes copied in and out at once. */
static void add_shared(grove_load *load, grove_half *side, const grove_machine *m,
                       grove_locality where, double bytes, int active)
{
  double flag = flag_of(m, where);
  side->term[GROVE_TERM_ON_NODE] += flag;
  side->term[GROVE_TERM_COPY] += bytes * grove_machine_shared(m, active);
  load->processor += flag / 2 + bytes * grove_machine_shared(m, 2);
}

static void add_message(grove_load *load, grove_half *side, const grove_machine *m,
                        grove_locality where, int64_t bytes, int receives)
{
  int off = where == GROVE_OFF_NODE;
  grove_term latency = off ? GROVE_TERM_LATENCY : GROVE_TERM_ON_NODE;
  grove_term bandwidth = off ? GROVE_TERM_BANDWIDTH : GROVE_TERM_ON_NODE;
  passage p = passage_of(m, where, bytes);
  double o_s, o_r;
  overheads(m, where, bytes, &o_s, &o_r);
  side->term[latency] += p.stream.alpha;
  side->term[bandwidth] += p.stream.beta * (double)bytes;
  add_head(side, &p, latency, bandwidth, (double)bytes);
  load->processor += receives ? o_r : o_s;
  load->posted += receives;
  if (!off) return;
  side->crosses = 1;
  double injection = m->injection[GROVE_CPU][grove_machine_protocol(m, GROVE_CPU, where, bytes)];
  if (!isnan(injection)) side->interface += (double)bytes * injection;
}

void grove_load_add(grove_load *load, const grove_machine *m, const grove_pricing *how,
                    grove_locality where, int64_t bytes, int active, int receives)
{
  grove_half *side = receives ? &load->received : &load->sent;
  int on_node = where != GROVE_OFF_NODE;
  load->messages[!on_node]++;
  load->bytes[!on_node] += (double)bytes;
  /* A profile that knows nothing of shared memory has the cost of messages at least. */
  if (on_node && how->shared_memory && !isnan(flag_of(m, where)))
    add_shared(load, side, m, where, (double)bytes, active);
  else
    add_message(load, side, m, known_locality(m, where), bytes, receives);
}

void grove_load_pack(grove_load *load, const grove_machine *m, int64_t bytes, int receives)
{
  double seconds = (double)bytes * grove_machine_packing(m, bytes);
  (receives ? &load->received : &load->sent)->term[GROVE_TERM_COPY] += seconds;
  load->processor += seconds;
  load->packing += seconds;
}

void grove_load_keep(grove_load *load, const grove_machine *m, int64_t bytes)
{
  double seconds = (double)bytes * grove_machine_packing(m, bytes);
  load->processor += seconds;
  load->packing += seconds;
}

/* ---- one rank ---- */

static double sum(const double *term)
{
  double seconds = 0;
  for (int t = 0; t < GROVE_TERMS; t++) seconds += term[t];
  return seconds;
}

static grove_price price_of_half(const grove_half *side, double interface)
{
  grove_price p = {0};
  for (int t = 0; t < GROVE_TERMS; t++) p.term[t] = side->term[t] + side->head[t];
  if (side->interface > 0)
    p.term[GROVE_TERM_INJECTION] = fmax(interface - p.term[GROVE_TERM_BANDWIDTH], 0);
  p.seconds = sum(p.term);
  return p;
}

int grove_price_exceeds(const grove_price *a, const grove_price *b)
{
  return isnan(a->seconds) || a->seconds > b->seconds;
}

/* An exchange in a crowd; every message counts at both of its ends. */
static double crowd_seconds(const grove_machine *m, const grove_neighbourhood *around)
{
  double turn = 0, rest = 0;
  for (int i = 0; i < 2; i++) {
    const grove_crowd *c = &m->crowd[i];
    if (around->messages[i] == 0) continue;
    turn = fmax(turn, c->turn);
    rest += (around->messages[i] * c->message + around->bytes[i] * c->byte) / (2 * around->ranks);
  }
  return turn + rest + around->packing / around->cores;
}

/* How long the rank's own processor is busy, or those of all who share cores. */
static double busy_seconds(const grove_load *load, const grove_machine *m,
                           const grove_neighbourhood *around)
{
  if (!(around->cores > 0)) return load->processor;
  double busy = fmax(load->processor, around->processor / around->cores);
  if (around->ranks <= around->cores) return busy;
  double crowd = crowd_seconds(m, around); /* NaN where the profile knows none */
  return crowd > busy ? crowd : busy;
}

grove_price grove_load_price(const grove_load *load, const grove_machine *m,
                             const grove_pricing *how, const grove_neighbourhood *around)
{
  const grove_price nothing = {0};
  if (load->messages[0] + load->messages[1] == 0 && load->processor == 0) return nothing;
  grove_price sent = price_of_half(&load->sent, around->interface_sent);
  grove_price received = price_of_half(&load->received, around->interface_received);
  grove_price p = grove_price_exceeds(&received, &sent) ? received : sent;
  /* What a profile does not say of queues and links is taken for nothing. */
  if (load->posted > 0 && !isnan(m->gamma))
    p.term[GROVE_TERM_QUEUE] = grove_form_queue(m->gamma, (double)load->posted,
                                                load->posted > 1 ? how->order : GROVE_QUEUE_BEST);
  if ((load->sent.crosses || load->received.crosses) && !isnan(m->delta))
    p.term[GROVE_TERM_CONTENTION] = grove_form_contention(m->delta, how->link_bytes);
  p.term[GROVE_TERM_CORES] = fmax(busy_seconds(load, m, around) - sum(p.term), 0);
  p.seconds = sum(p.term);
  return p;
}

grove_locality grove_price_locality(const grove_topo *topo, int a, int b)
{
  if (!grove_topo_same_node(topo, a, b)) return GROVE_OFF_NODE;
  return topo->place[a].socket == topo->place[b].socket ? GROVE_ON_SOCKET : GROVE_ON_NODE;
}

int64_t grove_price_picoseconds(double seconds)
{
  return seconds < 1e6 ? (int64_t)(1e12 * seconds) : INT64_MAX;
}

double grove_price_seconds(int64_t picoseconds)
{
  return picoseconds == INT64_MAX ? NAN : 1e-12 * (double)picoseconds;
}

/* ---- all ranks, or those of a node ---- */

enum { ALL_NODES = -1 };

/* What a stage needs to be priced; tables with a row a rank, a node and a host that is priced. */
typedef struct stage {
  const grove_machine *m;
  const grove_topo *topo;
  const grove_pricing *how;
  int node; /* the only one that is priced, or ALL_NODES */
  int nstages;
  int nranks, nnodes, ndomains;
  grove_load *load;            /* a rank */
  int *inside;                 /* a rank: has it messages inside its node? */
  grove_neighbourhood *nodes;  /* a node */
  grove_neighbourhood *domain; /* a host: only what its cores do */
  grove_price *most;           /* a node: of its slowest rank */
  grove_price *total;          /* a node: of the stages so far */
} stage;

/* The row of a rank; -1: it is not priced. */
static int row_of(const stage *s, int rank)
{
  const grove_place *place = &s->topo->place[rank];
  if (s->node == ALL_NODES) return rank;
  return place->node == s->node ? place->local : -1;
}

static const grove_place *place_of(const stage *s, int row)
{
  int all = s->node == ALL_NODES;
  return &s->topo->place[all ? row : grove_topo_node_rank(s->topo, s->node, row)];
}

static int node_of(const stage *s, int row)
{
  return s->node == ALL_NODES ? place_of(s, row)->node : 0;
}

static int domain_of(const stage *s, int row)
{
  return s->node == ALL_NODES ? place_of(s, row)->domain : 0;
}

static grove_status open_stage(stage *s)
{
  grove_status status = GROVE_OK;
  int all = s->node == ALL_NODES;
  s->nranks = all ? s->topo->nranks : grove_topo_node_size(s->topo, s->node);
  s->nnodes = all ? s->topo->nnodes : 1;
  s->ndomains = all ? s->topo->nranks : 1;
  GROVE_NEW(s->load, s->nranks);
  GROVE_NEW(s->inside, s->nranks);
  GROVE_NEW(s->nodes, s->nnodes);
  GROVE_NEW(s->domain, s->ndomains);
  GROVE_NEW(s->most, s->nnodes);
  GROVE_NEW(s->total, s->nnodes);
fail:
  return status;
}

static void close_stage(stage *s)
{
  free(s->load);
  free(s->inside);
  free(s->nodes);
  free(s->domain);
  free(s->most);
  free(s->total);
}

static void clear(stage *s)
{
  memset(s->load, 0, (size_t)s->nranks * sizeof *s->load);
  memset(s->inside, 0, (size_t)s->nranks * sizeof *s->inside);
  memset(s->nodes, 0, (size_t)s->nnodes * sizeof *s->nodes);
  memset(s->domain, 0, (size_t)s->ndomains * sizeof *s->domain);
  memset(s->most, 0, (size_t)s->nnodes * sizeof *s->most);
}

/* How many ranks of each node use shared memory: first, since the rate depends on it. */
static void count_active(stage *s, const grove_shipment *first, const grove_shipment *end)
{
  for (const grove_shipment *x = first; x < end; x++) {
    int from = row_of(s, x->from), to = row_of(s, x->to);
    if (from >= 0 && to >= 0 && grove_topo_same_node(s->topo, x->from, x->to))
      s->inside[from] = s->inside[to] = 1;
  }
  for (int r = 0; r < s->nranks; r++) s->nodes[node_of(s, r)].active += s->inside[r];
}

/* What goes between nodes in a later stage comes from a hub, where it lies in a row; what goes on
 * inside a node in the last of several is read in the hub by who needs it. */
static int is_packed(const stage *s, const grove_shipment *x, grove_locality where)
{
  return x->stage == 0 || (where != GROVE_OFF_NODE && x->stage < s->nstages - 1);
}

static void add_shipment(stage *s, const grove_shipment *x)
{
  grove_locality where = grove_price_locality(s->topo, x->from, x->to);
  int64_t bytes = x->units * s->how->unit_bytes;
  int from = row_of(s, x->from), to = row_of(s, x->to), row = from >= 0 ? from : to;
  if (row < 0) return;
  int active = s->nodes[node_of(s, row)].active;
  if (from >= 0) {
    grove_load_add(&s->load[from], s->m, s->how, where, bytes, active, 0);
    if (is_packed(s, x, where)) grove_load_pack(&s->load[from], s->m, bytes, 0);
  }
  if (to >= 0) grove_load_add(&s->load[to], s->m, s->how, where, bytes, active, 1);
}

/* What the ranks of a node, and of a host, do together. A node that shares its host with others is
 * taken to be one of several alike; so is a part of a node that lies on several hosts. */
static void add_neighbours(stage *s)
{
  int all = s->node == ALL_NODES;
  double alike = all ? 1 : (double)s->topo->domain_size / s->nranks;
  for (int r = 0; r < s->nranks; r++) {
    const grove_load *load = &s->load[r];
    grove_neighbourhood *node = &s->nodes[node_of(s, r)];
    node->interface_sent += load->sent.interface;
    node->interface_received += load->received.interface;
    grove_neighbourhood *domain = &s->domain[domain_of(s, r)];
    domain->processor += alike * load->processor;
    domain->packing += alike * load->packing;
    for (int i = 0; i < 2; i++) {
      domain->messages[i] += alike * load->messages[i];
      domain->bytes[i] += alike * load->bytes[i];
    }
    domain->ranks++;
  }
  if (!all) s->domain[0].ranks = s->topo->domain_size;
}

/* Adds what the slowest rank of each node takes. */
static void add_prices(stage *s)
{
  for (int r = 0; r < s->nranks; r++) {
    const grove_neighbourhood *node = &s->nodes[node_of(s, r)];
    grove_neighbourhood around = s->domain[domain_of(s, r)];
    around.interface_sent = node->interface_sent;
    around.interface_received = node->interface_received;
    around.cores = s->m->cores;
    grove_price p = grove_load_price(&s->load[r], s->m, s->how, &around);
    grove_price *most = &s->most[node_of(s, r)];
    if (grove_price_exceeds(&p, most)) *most = p;
  }
  for (int n = 0; n < s->nnodes; n++) {
    for (int t = 0; t < GROVE_TERMS; t++) s->total[n].term[t] += s->most[n].term[t];
    s->total[n].seconds = sum(s->total[n].term);
  }
}

static void price_stage(stage *s, const grove_shipment *first, const grove_shipment *end)
{
  clear(s);
  count_active(s, first, end);
  for (const grove_shipment *x = first; x < end; x++) add_shipment(s, x);
  add_neighbours(s);
  add_prices(s);
}

static int by_stage(const void *a, const void *b)
{
  const grove_shipment *x = a, *y = b;
  if (x->stage != y->stage) return x->stage < y->stage ? -1 : 1;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return (x->to > y->to) - (x->to < y->to);
}

static int ascends(const grove_manifest *manifest)
{
  for (int64_t i = 1; i < manifest->count; i++)
    if (manifest->shipments[i].stage < manifest->shipments[i - 1].stage) return 0;
  return 1;
}

static grove_status price_stages(stage *s, const grove_manifest *manifest, grove_price *out)
{
  grove_status status = GROVE_OK;
  grove_shipment *sorted = NULL;
  grove_price price = {0};
  const grove_shipment *all = manifest->shipments;
  s->nstages = manifest->nstages;
  GROVE_TRY(open_stage(s));
  if (!ascends(manifest)) {
    GROVE_ROOM(sorted, manifest->count);
    memcpy(sorted, all, (size_t)manifest->count * sizeof *sorted);
    qsort(sorted, (size_t)manifest->count, sizeof *sorted, by_stage);
    all = sorted;
  }
  for (int64_t i = 0, end; i < manifest->count; i = end) {
    for (end = i; end < manifest->count && all[end].stage == all[i].stage; end++) continue;
    price_stage(s, all + i, all + end);
  }
  for (int n = 0; n < s->nnodes; n++)
    if (grove_price_exceeds(&s->total[n], &price)) price = s->total[n];
  *out = price;
fail:
  free(sorted);
  close_stage(s);
  return status;
}

grove_status grove_price_manifest(const grove_machine *m, const grove_topo *topo,
                                  const grove_manifest *manifest, const grove_pricing *how,
                                  grove_price *out)
{
  stage s = {.m = m, .topo = topo, .how = how, .node = ALL_NODES};
  return price_stages(&s, manifest, out);
}

grove_status grove_price_node(const grove_machine *m, const grove_topo *topo, int node,
                              const grove_manifest *manifest, const grove_pricing *how,
                              grove_price *out)
{
  stage s = {.m = m, .topo = topo, .how = how, .node = node};
  return price_stages(&s, manifest, out);
}
