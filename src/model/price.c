#include "model/price.h"

#include "model/forms.h"

#include <math.h>

/* ---- one message ---- */

/* The nearest locality that the profile knows: a profile of one host has no other node, one of a
 * single socket no other socket. */
static grove_locality known_locality(const grove_machine *m, grove_memory_kind memory,
                                     grove_locality where)
{
  if (where == GROVE_OFF_NODE) return where;
  grove_locality other = where == GROVE_ON_NODE ? GROVE_ON_SOCKET : GROVE_ON_NODE;
  int known = !isnan(grove_machine_postal(m, memory, where, 0).alpha);
  return known ? where : other;
}

/* LogGP of the host's memory; NULL: another memory, or not told. */
static const grove_loggp *loggp_of(const grove_machine *m, grove_memory_kind memory,
                                   grove_locality where, int64_t bytes)
{
  return memory == GROVE_CPU ? grove_machine_loggp(m, where, bytes) : NULL;
}

/* LogGP's overheads also grow with the size within a row's range: linear from row to row. */
static void overheads_of(const grove_machine *m, grove_memory_kind memory, grove_locality where,
                         int64_t bytes, double *o_s, double *o_r)
{
  const grove_loggp *row = loggp_of(m, memory, where, bytes);
  if (!row || isnan(row->o_s) || isnan(row->o_r)) {
    /* Half of the latency at each end; moving bytes takes no processor time. */
    *o_s = *o_r = grove_machine_postal(m, memory, where, bytes).alpha / 2;
    return;
  }
  *o_s = row->o_s;
  *o_r = row->o_r;
  const grove_loggp *first = m->loggp[where], *last = first + m->nloggp[where] - 1;
  if (row == last && row == first) return;
  /* Beyond the last row, extrapolates from the last two. */
  const grove_loggp *a = row == last ? row - 1 : row, *b = a + 1;
  double share = (double)(bytes - a->from_bytes) / (double)(b->from_bytes - a->from_bytes);
  *o_s = fmax(a->o_s + share * (b->o_s - a->o_s), 0);
  *o_r = fmax(a->o_r + share * (b->o_r - a->o_r), 0);
}

/* What a message costs alone, and as one of many. */
typedef struct passage {
  grove_postal alone, train; /* alpha: latency; beta times the bytes: bandwidth */
} passage;

/* Messages that leave a rank are g apart, since it makes them. */
static passage passage_out(const grove_machine *m, grove_memory_kind memory, grove_locality where,
                           int64_t bytes)
{
  passage p;
  p.alone = p.train = grove_machine_postal(m, memory, where, bytes);
  const grove_loggp *row = loggp_of(m, memory, where, bytes);
  if (row && !isnan(row->g) && !isnan(row->G)) p.train = (grove_postal){row->g, row->G};
  return p;
}

/* Messages to a rank come from several senders at once. Their distance is at most the time that the
 * rank is busy with each, if the profile tells, plus what the interface needs for the bytes. The
 * latter is in `injection` or else, between nodes, in G. */
static passage passage_in(const grove_machine *m, grove_memory_kind memory, grove_locality where,
                          int64_t bytes, double o_r, double injection)
{
  passage p = passage_out(m, memory, where, bytes);
  const grove_loggp *row = loggp_of(m, memory, where, bytes);
  if (!row || isnan(row->o_r)) return p;
  double beta = where == GROVE_OFF_NODE && isnan(injection) ? p.train.beta : 0;
  double seconds = p.train.alpha + p.train.beta * (double)bytes;
  if (o_r + beta * (double)bytes < seconds) p.train = (grove_postal){o_r, beta};
  return p;
}

static void add_head(grove_half *side, const passage *p, grove_term latency, grove_term bandwidth,
                     double bytes)
{
  double a = p->alone.alpha - p->train.alpha, b = (p->alone.beta - p->train.beta) * bytes;
  if (!(a + b > side->head_seconds)) return;
  side->head_seconds = a + b;
  for (int t = 0; t < GROVE_TERMS; t++) side->head[t] = 0;
  side->head[latency] += a;
  side->head[bandwidth] += b;
}

/* A flag in shared memory; NaN if the profile has none. */
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
                        grove_memory_kind memory, grove_locality where, int64_t bytes, int receives)
{
  int off = where == GROVE_OFF_NODE;
  grove_term latency = off ? GROVE_TERM_LATENCY : GROVE_TERM_ON_NODE;
  grove_term bandwidth = off ? GROVE_TERM_BANDWIDTH : GROVE_TERM_ON_NODE;
  double o_s, o_r;
  overheads_of(m, memory, where, bytes, &o_s, &o_r);
  double injection = m->injection[memory][grove_machine_protocol(m, memory, where, bytes)];
  passage p = receives ? passage_in(m, memory, where, bytes, o_r, injection)
                       : passage_out(m, memory, where, bytes);
  side->term[latency] += p.train.alpha;
  side->term[bandwidth] += p.train.beta * (double)bytes;
  add_head(side, &p, latency, bandwidth, (double)bytes);
  load->processor += receives ? o_r : o_s;
  load->posted += receives;
  if (!off) return;
  side->crosses = 1;
  if (!isnan(injection)) side->interface += (double)bytes * injection;
}

void grove_load_add(grove_load *load, const grove_machine *m, const grove_pricing *how,
                    grove_locality where, int64_t bytes, int active, int receives)
{
  grove_half *side = receives ? &load->received : &load->sent;
  int on_node = where != GROVE_OFF_NODE;
  load->messages[!on_node]++;
  load->bytes[!on_node] += (double)bytes;
  /* A profile that knows nothing of shared memory at least has the cost of messages. */
  int shared = how->shared_memory && how->memory == GROVE_CPU;
  if (on_node && shared && !isnan(flag_of(m, where)))
    add_shared(load, side, m, where, (double)bytes, active);
  else
    add_message(load, side, m, how->memory, known_locality(m, how->memory, where), bytes, receives);
}

static double packing_seconds(const grove_machine *m, const grove_pricing *how, int64_t bytes)
{
  return how->memory == GROVE_CPU ? (double)bytes * grove_machine_packing(m, bytes) : 0;
}

void grove_load_pack(grove_load *load, const grove_machine *m, const grove_pricing *how,
                     int64_t bytes, int receives)
{
  double seconds = packing_seconds(m, how, bytes) * (receives ? 1 : 1 - how->lifted_out);
  (receives ? &load->received : &load->sent)->term[GROVE_TERM_COPY] += seconds;
  load->processor += seconds;
  load->packing += seconds;
}

void grove_load_keep(grove_load *load, const grove_machine *m, const grove_pricing *how,
                     int64_t bytes)
{
  double seconds = packing_seconds(m, how, bytes);
  load->processor += seconds;
  load->packing += seconds;
}

double grove_price_lift(const grove_machine *m, grove_direction way, double ranks, double bytes)
{
  if (!(bytes > 0)) return 0;
  int processes = (int)ceil(ranks / (m->gpus > 0 ? m->gpus : 1));
  grove_postal copy = grove_machine_copying(m, way, processes);
  double kernel =
    grove_machine_launching(m, processes) + grove_machine_device_packing(m, (int64_t)bytes) * bytes;
  return kernel + copy.alpha + copy.beta * bytes;
}

/* ---- one rank ---- */

static double sum_terms(const double *term)
{
  double seconds = 0;
  for (int t = 0; t < GROVE_TERMS; t++) seconds += term[t];
  return seconds;
}

static grove_price price_of_half(const grove_half *side, double interface, const grove_machine *m)
{
  grove_price p = {0};
  for (int t = 0; t < GROVE_TERMS; t++) p.term[t] = side->term[t] + side->head[t];
  if (side->interface > 0)
    p.term[GROVE_TERM_INJECTION] = fmax(interface - p.term[GROVE_TERM_BANDWIDTH], 0);
  for (int t = 0; t < GROVE_TERMS; t++) p.term[t] *= m->factor[t];
  p.seconds = sum_terms(p.term);
  return p;
}

int grove_price_exceeds(const grove_price *a, const grove_price *b)
{
  return isnan(a->seconds) || a->seconds > b->seconds;
}

/* An exchange in a crowd; every message counts at both ends. */
static double crowd_seconds(const grove_machine *m, const grove_neighbourhood *around)
{
  const double *factor = m->factor;
  double turn = 0, messages = 0, bytes = 0, ends = 2 * around->ranks;
  for (int i = 0; i < 2; i++) {
    const grove_crowd *c = &m->crowd[i];
    if (around->messages[i] == 0) continue;
    turn = fmax(turn, c->turn);
    messages += around->messages[i] / ends * c->message;
    bytes += around->bytes[i] / ends * c->byte;
  }
  return factor[GROVE_FACTOR_TURN] * turn + factor[GROVE_FACTOR_MESSAGE] * messages +
         factor[GROVE_FACTOR_BYTE] * bytes + around->packing / around->cores;
}

/* How long this rank's processor is busy, or those of all ranks that share cores. */
static double busy_seconds(const grove_load *load, const grove_machine *m,
                           const grove_neighbourhood *around)
{
  if (!(around->cores > 0)) return load->processor;
  double busy = fmax(load->processor, around->processor / around->cores);
  if (around->ranks <= around->cores) return busy;
  double crowd = crowd_seconds(m, around); /* NaN if the profile has none */
  return crowd > busy ? crowd : busy;
}

/* What a profile does not say of queues and links counts as 0. */
static void add_queue(grove_price *p, int64_t posted, const grove_machine *m,
                      const grove_pricing *how)
{
  if (posted > 0 && !isnan(m->gamma))
    p->term[GROVE_TERM_QUEUE] =
      m->factor[GROVE_TERM_QUEUE] *
      grove_form_queue(m->gamma, (double)posted, posted > 1 ? how->order : GROVE_QUEUE_BEST);
}

static void add_contention(grove_price *p, int crosses, const grove_machine *m,
                           const grove_pricing *how)
{
  if (crosses && !isnan(m->delta))
    p->term[GROVE_TERM_CONTENTION] =
      m->factor[GROVE_TERM_CONTENTION] * grove_form_contention(m->delta, how->link_bytes);
}

/* A stage takes at least as long as the processors are busy. */
static void add_cores(grove_price *p, double busy, const grove_machine *m)
{
  p->term[GROVE_TERM_CORES] = fmax(m->factor[GROVE_TERM_CORES] * busy - sum_terms(p->term), 0);
  p->seconds = sum_terms(p->term);
}

static int is_idle(const grove_load *load)
{
  return load->messages[0] + load->messages[1] == 0 && load->processor == 0;
}

grove_price grove_load_price(const grove_load *load, const grove_machine *m,
                             const grove_pricing *how, const grove_neighbourhood *around)
{
  if (is_idle(load)) return (grove_price){0};
  grove_price sent = price_of_half(&load->sent, around->interface_sent, m);
  grove_price received = price_of_half(&load->received, around->interface_received, m);
  grove_price p = grove_price_exceeds(&received, &sent) ? received : sent;
  add_queue(&p, load->posted, m, how);
  add_contention(&p, load->sent.crosses || load->received.crosses, m, how);
  add_cores(&p, busy_seconds(load, m, around), m);
  return p;
}

/* One side by itself; `posted`: the receives on that side. */
static grove_price price_side(const grove_load *load, const grove_half *side, double interface,
                              int64_t posted, const grove_machine *m, const grove_pricing *how,
                              const grove_neighbourhood *around)
{
  if (is_idle(load)) return (grove_price){0};
  grove_price p = price_of_half(side, interface, m);
  add_queue(&p, posted, m, how);
  add_contention(&p, side->crosses, m, how);
  add_cores(&p, busy_seconds(load, m, around), m);
  return p;
}

grove_price grove_load_sent(const grove_load *load, const grove_machine *m,
                            const grove_pricing *how, const grove_neighbourhood *around)
{
  return price_side(load, &load->sent, around->interface_sent, 0, m, how, around);
}

grove_price grove_load_received(const grove_load *load, const grove_machine *m,
                                const grove_pricing *how, const grove_neighbourhood *around)
{
  return price_side(load, &load->received, around->interface_received, load->posted, m, how,
                    around);
}

grove_price grove_load_busy(const grove_load *load, const grove_machine *m,
                            const grove_neighbourhood *around)
{
  if (is_idle(load)) return (grove_price){0};
  grove_price p = {0};
  for (int t = 0; t < GROVE_TERMS; t++) p.term[t] = m->factor[t] * load->sent.term[t];
  add_cores(&p, busy_seconds(load, m, around), m);
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
