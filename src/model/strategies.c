#include "model/strategies.h"

#include <math.h>
#include <string.h>

enum { HOST_PROCESSES_DD = 4 }; /* that share a GPU in split-dd (section 4.4) */

/* ---- what the exchange leaves to the machine ---- */

static grove_status check_exchange(const grove_exchange *x)
{
  const double number[] = {x->messages_per_proc,
                           x->bytes_per_proc,
                           x->bytes_per_node,
                           x->bytes_node_to_node,
                           x->nodes_per_proc,
                           x->messages_node_to_node,
                           x->ppn,
                           x->gpus_per_socket};
  for (size_t i = 0; i < sizeof number / sizeof *number; i++)
    GROVE_PASS_CHECK(number[i] >= 0 && number[i] < INFINITY, GROVE_ERR_ARG,
                     "a number of the exchange is %g; it must not be negative", number[i]);
  GROVE_PASS_CHECK(x->duplicates >= 0 && x->duplicates <= 1, GROVE_ERR_ARG,
                   "the fraction of duplicates is %g; it is from 0 to 1", x->duplicates);
  GROVE_PASS_CHECK(x->protocol >= GROVE_BY_SIZE && x->protocol < GROVE_PROTOCOLS, GROVE_ERR_ARG,
                   "there is no protocol number %d", x->protocol);
  return GROVE_OK;
}

static double sockets_of(const grove_machine *m)
{
  return m->sockets > 0 ? m->sockets : 1;
}

grove_status grove_exchange_complete(const grove_machine *m, grove_exchange *x)
{
  GROVE_PASS(check_exchange(x));
  if (x->ppn == 0) x->ppn = m->gpus > 0 ? m->gpus : m->ranks;
  GROVE_PASS_CHECK(x->ppn > 0, GROVE_ERR_ARG,
                   "the profile %s does not say how many ranks a node has: say it with ppn",
                   m->name ? m->name : "given");
  if (x->gpus_per_socket == 0)
    x->gpus_per_socket = ceil((m->gpus > 0 ? m->gpus : x->ppn) / sockets_of(m));
  return GROVE_OK;
}

/* ---- terms ---- */

/* What a strategy is priced with. The bytes are those it really sends. */
typedef struct inputs {
  const grove_machine *m;
  const grove_exchange *x;
  double proc_bytes, node_bytes, pair_bytes; /* s, S, N */
  grove_memory_kind memory;
  grove_strategy *out;
} inputs;

static grove_picked pick_form(const inputs *in, grove_locality where, double bytes)
{
  grove_picked p = grove_form_pick(in->m, in->memory, where, in->x->protocol, bytes);
  if (p.replaced) in->out->replaced = 1;
  return p;
}

/* T_off from the host, T_off-DA from devices; `node_bytes` are injected meanwhile. */
static void add_off(const inputs *in, double messages, double bytes, double node_bytes)
{
  grove_picked p = pick_form(in, GROVE_OFF_NODE, messages > 0 ? bytes / messages : bytes);
  if (in->memory == GROVE_CPU) {
    in->out->off_node = grove_form_off(p.cost, p.injection, messages, bytes, node_bytes);
    in->out->injection = node_bytes * p.injection > bytes * p.cost.beta;
  } else {
    in->out->off_node = grove_form_off_device(p.cost, messages, bytes);
  }
  in->out->latency = p.cost.alpha * messages;
}

static void add_on(const inputs *in, double times, double bytes)
{
  grove_postal near = pick_form(in, GROVE_ON_SOCKET, bytes).cost,
               far = pick_form(in, GROVE_ON_NODE, bytes).cost;
  grove_holders gpus = {sockets_of(in->m), in->x->gpus_per_socket};
  in->out->on_node = times * grove_form_on(near, far, gpus, bytes);
}

/* All ranks of the node; if the profile does not tell, those that hold data. */
static double all_ranks(const inputs *in)
{
  return in->m->ranks > 0 ? in->m->ranks : in->x->ppn;
}

static void add_on_split(const inputs *in, double ppg)
{
  double bytes = in->node_bytes;
  grove_postal near = pick_form(in, GROVE_ON_SOCKET, bytes).cost,
               far = pick_form(in, GROVE_ON_NODE, bytes).cost;
  grove_holders processes = {sockets_of(in->m), all_ranks(in) / sockets_of(in->m)};
  in->out->on_node = 2 * grove_form_on_split(near, far, processes, ppg, bytes);
}

/* For all strategies or for none, since they are compared with each other. */
static int has_copies(const grove_machine *m)
{
  static const int processes[] = {1, HOST_PROCESSES_DD};
  for (int i = 0; i < 2; i++)
    for (int way = 0; way < GROVE_DIRECTIONS; way++)
      if (!grove_postal_is_known(grove_machine_copying(m, way, processes[i]))) return 0;
  return 1;
}

static void add_copy(const inputs *in, int processes, double received)
{
  if (in->memory != GROVE_CPU || !has_copies(in->m)) return;
  grove_postal d2h = grove_machine_copying(in->m, GROVE_D2H, processes);
  grove_postal h2d = grove_machine_copying(in->m, GROVE_H2D, processes);
  in->out->copy = grove_form_copy(d2h, h2d, in->proc_bytes, received, in->x->as_published);
}

/* ---- strategies ---- */

static void price_standard(const inputs *in)
{
  const grove_exchange *x = in->x;
  add_off(in, x->messages_per_proc, in->proc_bytes, x->ppn * in->proc_bytes);
  if (!x->as_published) add_copy(in, 1, in->proc_bytes);
}

static void three_step(const inputs *in)
{
  add_off(in, in->x->messages_node_to_node, in->pair_bytes, in->node_bytes);
  add_on(in, 2, in->pair_bytes);
  add_copy(in, 1, in->pair_bytes);
}

static void two_step_to(const inputs *in, double nodes)
{
  add_off(in, nodes, in->proc_bytes, in->node_bytes);
  add_on(in, 1, in->proc_bytes);
  add_copy(in, 1, in->pair_bytes);
}

static void two_step(const inputs *in)
{
  two_step_to(in, in->x->nodes_per_proc);
}

static void two_step_1(const inputs *in)
{
  two_step_to(in, ceil(in->x->nodes_per_proc / in->x->ppn));
}

static void price_split(const inputs *in, int host_processes)
{
  add_off(in, in->x->nodes_per_proc, in->node_bytes / all_ranks(in), in->node_bytes);
  add_on_split(in, host_processes);
  add_copy(in, host_processes, in->pair_bytes);
}

static void split_md(const inputs *in)
{
  price_split(in, 1);
}

static void split_dd(const inputs *in)
{
  price_split(in, HOST_PROCESSES_DD);
}

static const struct kind {
  const char *route;
  grove_memory_kind memory;
  int node_aware, best_case, needs_copies;
  void (*price)(const inputs *in);
} kinds[GROVE_STRATEGIES] = {
  {"standard", GROVE_CPU, 0, 0, 0, price_standard},
  {"standard", GROVE_GPU, 0, 0, 0, price_standard},
  {"3-step", GROVE_CPU, 1, 0, 0, three_step},
  {"3-step", GROVE_GPU, 1, 0, 0, three_step},
  {"2-step", GROVE_CPU, 1, 0, 0, two_step},
  {"2-step", GROVE_GPU, 1, 0, 0, two_step},
  {"2-step-1", GROVE_CPU, 1, 1, 0, two_step_1},
  {"2-step-1", GROVE_GPU, 1, 1, 0, two_step_1},
  {"split-md", GROVE_CPU, 1, 0, 0, split_md},
  {"split-dd", GROVE_CPU, 1, 0, 1, split_dd},
};

static const char *left_out(const grove_machine *m, const struct kind *k)
{
  if (!grove_form_has_messages(m, k->memory, GROVE_OFF_NODE))
    return "the profile has no messages between devices";
  if (k->needs_copies && !has_copies(m)) return "the profile has no copies between host and device";
  if (k->node_aware && (!grove_form_has_messages(m, k->memory, GROVE_ON_SOCKET) ||
                        (m->sockets > 1 && !grove_form_has_messages(m, k->memory, GROVE_ON_NODE))))
    return "the profile has no messages inside a node";
  return NULL;
}

static void price_strategy(const grove_machine *m, const grove_exchange *x, const struct kind *k,
                           grove_strategy *out)
{
  double kept = k->node_aware ? 1 - x->duplicates : 1;
  const inputs in = {
    .m = m,
    .x = x,
    .proc_bytes = kept * x->bytes_per_proc,
    .node_bytes = kept * x->bytes_per_node,
    .pair_bytes = kept * x->bytes_node_to_node,
    .memory = k->memory,
    .out = out,
  };
  k->price(&in);
  out->seconds = out->off_node + out->on_node + out->copy;
}

grove_status grove_strategies_price(const grove_machine *m, const grove_exchange *x,
                                    grove_strategy out[GROVE_STRATEGIES])
{
  GROVE_PASS_CHECK(grove_form_has_messages(m, GROVE_CPU, GROVE_OFF_NODE), GROVE_ERR_ARG,
                   "the profile %s has no alpha and beta of messages between nodes",
                   m->name ? m->name : "given");
  GROVE_PASS_CHECK(x->ppn > 0, GROVE_ERR_ARG, "no process of a node holds data: ppn is %g", x->ppn);
  for (int i = 0; i < GROVE_STRATEGIES; i++) {
    const struct kind *k = &kinds[i];
    out[i] = (grove_strategy){
      .route = k->route,
      .path = k->memory == GROVE_CPU ? "staged" : "device",
      .left_out = left_out(m, k),
      .best_case = k->best_case,
    };
    if (!out[i].left_out) price_strategy(m, x, k, &out[i]);
  }
  return GROVE_OK;
}

int grove_strategies_best(const grove_strategy *list, int with_best_case)
{
  int best = 0; /* standard staged always has a price */
  for (int i = 1; i < GROVE_STRATEGIES; i++)
    if (!list[i].left_out && (with_best_case || !list[i].best_case) &&
        list[i].seconds < list[best].seconds)
      best = i;
  return best;
}
