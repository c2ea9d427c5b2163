/* The papers' formulas, one function per equation: how long messages take, from a few numbers.
 *
 * Arguments are counts and bytes (as doubles: a share of a message need not be whole), and the
 * machine's parameters. Only grove_form_message and grove_form_pick look anything up. Equations 2.1
 * to 4.5 are those of "Characterizing the performance of node-aware strategies for irregular
 * point-to-point communication on heterogeneous architectures" (Lockhart, Bienz, Gropp, Olson,
 * 2023), (1) to (7) those of "Improving performance models for irregular point-to-point
 * communication" (Bienz, Gropp, Olson, 2018).
 *
 *     grove_postal off = m->postal[GROVE_CPU][GROVE_OFF_NODE][GROVE_REND];
 *     seconds = grove_form_max_rate(off, m->injection[GROVE_CPU][GROVE_REND], 4, 8, 1e6);
 *
 * An injection limit is given as 1 / R_N, in seconds per byte; 0 and NaN mean no limit.
 */
#ifndef GROVE_MODEL_FORMS_H
#define GROVE_MODEL_FORMS_H

#include "model/machine.h"
#include "model/price.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- messages ---- */

/* Are both known? Half of a pair is no price. */
int grove_postal_is_known(grove_postal p);

/* (2.1), (1): one message. */
double grove_form_postal(grove_postal p, double bytes);

/* (2.2): `messages` of a process that sends `bytes` in all, one of `ppn` senders of its node. */
double grove_form_max_rate(grove_postal p, double injection, double ppn, double messages,
                           double bytes);

/* (2): the same for one message, as the older paper writes it:
 * alpha + ppn s / min(R_N, ppn R_b). */
double grove_form_max_rate_one(grove_postal p, double injection, double ppn, double bytes);

/* The cost of a message. GROVE_BY_SIZE: the protocol follows from its size. */
enum { GROVE_BY_SIZE = -1 };
typedef struct grove_picked {
  grove_protocol protocol;
  grove_postal cost; /* NaN: the profile has none */
  double injection;
  int replaced; /* the profile lacks the protocol asked for: this is the next that it has */
} grove_picked;
grove_picked grove_form_pick(const grove_machine *m, grove_memory_kind memory, grove_locality where,
                             int protocol, double bytes);

/* Does the profile know both alpha and beta of such messages, for some protocol? If not, no message
 * there has a price. */
int grove_form_has_messages(const grove_machine *m, grove_memory_kind memory, grove_locality where);

/* One message by place and protocol. Between nodes: max-rate with `ppn` senders. Inside a node,
 * where nothing is injected: postal (the older paper, section 3). */
double grove_form_message(const grove_machine *m, grove_memory_kind memory, grove_locality where,
                          int protocol, double ppn, double bytes);

/* ---- queues and contention ---- */

/* (3): a queue of n messages. The paper measured receives in the worst order and divided by n^2 to
 * get gamma. So worst is gamma n^2 as printed, though n (n + 1) / 2 elements are looked at: a step
 * really costs 2 gamma n / (n + 1). Best, in matching order: gamma n. Typical, as seen in
 * applications (section 5): gamma n^2 / 3. */
double grove_form_queue(double gamma, double n, grove_queue_order order);

/* (5): `link_bytes` over the busiest link. */
double grove_form_contention(double delta, double link_bytes);

/* (7): bytes over a link in a cube of routers with two nodes each, if bytes travel `hops` links on
 * average and a process sends `bytes`: 2 h^3 b ppn. */
double grove_form_cube_bytes(double hops, double bytes, double ppn);

enum { GROVE_TORUS_DIMENSIONS = 5 };

/* Routers in a grid; with `wraps`, its ends are joined. Nodes are numbered router by router,
 * routers with the first dimension running fastest. */
typedef struct grove_torus {
  int ndims, dims[GROVE_TORUS_DIMENSIONS];
  int wraps;            /* a torus; 0: a mesh */
  int nodes_per_router; /* 2 on a Gemini */
} grove_torus;

/* Bytes from one node to another. */
typedef struct grove_traffic {
  int64_t from, to;
  double bytes;
} grove_traffic;

typedef struct grove_contended {
  double link_bytes; /* over the busiest link, in its busier direction */
  double hops;       /* links that a byte travels, averaged over all bytes; 0 without bytes */
} grove_contended;

/* Routes each entry through the dimensions in order, the shorter way round in each (upwards if both
 * are equal). */
grove_status grove_form_torus(const grove_torus *torus, int64_t n, const grove_traffic *traffic,
                              grove_contended *out);

/* ---- parts of node-aware strategies ---- */

/* The processes, or GPUs, of a node that hold data. The paper has two sockets. */
typedef struct grove_holders {
  double sockets, per_socket;
} grove_holders;

/* (4.1): one GPU sends `bytes` to every other of its node, one message each. In general per_socket
 * (sockets - 1) GPUs are off socket. */
double grove_form_on(grove_postal on_socket, grove_postal on_node, grove_holders gpus,
                     double bytes);

/* (4.2): one GPU's data, held by `ppg` processes, goes to all processes of the node. */
double grove_form_on_split(grove_postal on_socket, grove_postal on_node, grove_holders processes,
                           double ppg, double bytes);

/* (4.3): a process sends `bytes` in `messages`, while its node injects `node_bytes`. */
double grove_form_off(grove_postal off_node, double injection, double messages, double bytes,
                      double node_bytes);

/* (4.4): the same from devices, which do not reach the limit. */
double grove_form_off_device(grove_postal off_node, double messages, double bytes);

/* (4.5): sent data is copied to the host, received data to the device. As printed it is the other
 * way round: H2D with the sent data. */
double grove_form_copy(grove_postal d2h, grove_postal h2d, double sent, double received,
                       int as_published);

#ifdef __cplusplus
}
#endif

#endif
