/* The price of a plan on a machine: seconds, by term, from its manifest (plan/manifest.h).
 *
 * In a stage a rank pays for the messages that it sends or for those that it receives, whichever is
 * more. Each message is priced by locality and protocol. The first costs what a ping-pong measured.
 * Each further one costs what it does in a train: LogGP's g and G where it is sent, o_r where it is
 * received, if the profile has them; else the same as the first, which is the papers' alpha m +
 * beta s. Added to that are
 *
 *     injection    what a node's bytes need beyond the rank's own, when they share the interface
 *     queue        gamma for every step along the queue of receives that the plan really makes
 *     contention   delta for every byte of the busiest link, where the caller knows it
 *     on-node      messages inside the node: a flag each in shared memory, or MPI's alpha and beta
 *     copy         bytes through shared memory, bytes that are packed before they travel, copies
 *                  between a device and the host with the kernels that pack and unpack
 *
 * Messages are priced by the rows of the memory that both their ends lie in. What profiles know
 * only about the host's memory (shared memory, packing and LogGP) applies to no other.
 *
 * Data on a device may be staged in the host's memory. Then a rank first brings there what it sends
 * of its arrays: a launch, and one copy by as many processes at once as share the device. What
 * reaches its destination is copied back in the same way, when all of the stage has come. A profile
 * without such copies prices it as the host's data.
 *
 * A stage takes at least the processor time of a host divided by its cores. If ranks outnumber
 * cores and the profile knows crowds, it takes at least as long as an exchange in a crowd. The term
 * `cores` is what that adds.
 *
 * A rank enters a stage when it has sent what it had to in earlier ones and what it passes on has
 * come. So a plan takes as long as its longest chain of messages, whose terms are the price
 * (price_stages.c).
 *
 * A profile may have a factor for each term, found from exchanges of many ranks at once
 * (measure/exchanges.c). Copies between a device and the host have none.
 */
#ifndef GROVE_MODEL_PRICE_H
#define GROVE_MODEL_PRICE_H

#include "model/machine.h"
#include "plan/manifest.h"
#include "topo/topo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `seconds` is the sum of the terms. */
typedef struct grove_price {
  double seconds;
  double term[GROVE_TERMS];
} grove_price;

/* The order in which messages meet the receives posted for them (irregular-models, 4.1, 5). */
typedef enum grove_queue_order {
  GROVE_QUEUE_BEST,
  GROVE_QUEUE_TYPICAL,
  GROVE_QUEUE_WORST
} grove_queue_order;

typedef struct grove_pricing {
  int64_t unit_bytes;
  grove_memory_kind memory; /* that the data lies in */
  int shared_memory;        /* if in the host's: inside a node only flags and copies, no messages */
  grove_queue_order order;  /* typical: n^2 / 3 */
  double link_bytes;        /* over the busiest link, for contention; 0: unknown */
  /* What share of the arrays that are read, and of those that are written, lies on a device, with
   * messages in the host's memory: 0 to 1. */
  double lifted_out, lifted_in;
} grove_pricing;

/* The price of all ranks' messages. Sent data is packed first, except out of a hub; received data
 * is written in place: the usual halo, with ghosts at the end. Ranks sit as `topo` says:
 * place[].node and .socket say where messages go, .domain who shares cores. */
grove_status grove_price_manifest(const grove_machine *m, const grove_topo *topo,
                                  const grove_manifest *manifest, const grove_pricing *how,
                                  grove_price *out);

/* ---- the same for one node or one rank, where nobody knows all ---- */

/* The price of a node, from a manifest that has all messages of its ranks; others do not count.
 * `topo` must be that of a rank of this node. Memory: proportional to its ranks. */
grove_status grove_price_node(const grove_machine *m, const grove_topo *topo, int node,
                              const grove_manifest *manifest, const grove_pricing *how,
                              grove_price *out);

/* What one rank sends, or receives, in a stage. */
typedef struct grove_half {
  double term[GROVE_TERMS]; /* with every message as one of a train */
  double head[GROVE_TERMS]; /* what the message that travels longest takes beyond that */
  double head_seconds;
  double interface; /* seconds that the network interface is busy */
  int crosses;      /* something leaves the node, or comes from another */
} grove_half;

typedef struct grove_load {
  grove_half sent, received;
  double processor;                /* seconds that the rank itself is busy */
  double packing;                  /* of these, for packing */
  double messages[2], bytes[2];    /* sent and received, on node and off */
  int64_t posted;                  /* receives that MPI has to match */
  double lifted[GROVE_DIRECTIONS]; /* bytes out of the arrays, and into them, if on a device */
} grove_load;

/* What ranks that share something do together. */
typedef struct grove_neighbourhood {
  double interface_sent, interface_received; /* of the node */
  double cores;                              /* of its host; 0: one per rank */
  int ranks;                                 /* that share them; their totals: */
  double processor, packing, messages[2], bytes[2];
  int active;                       /* ranks of the node that use shared memory */
  double copying[GROVE_DIRECTIONS]; /* ranks of the host that copy from, or to, a device */
} grove_neighbourhood;

/* Adds a message of this rank to or from a rank that is `where`. */
void grove_load_add(grove_load *load, const grove_machine *m, const grove_pricing *how,
                    grove_locality where, int64_t bytes, int active, int receives);

/* A message whose values are not consecutive: its bytes are packed, or unpacked. And values that
 * are moved locally while others are waited for. */
void grove_load_pack(grove_load *load, const grove_machine *m, const grove_pricing *how,
                     int64_t bytes, int receives);
void grove_load_keep(grove_load *load, const grove_machine *m, const grove_pricing *how,
                     int64_t bytes);

/* A copy between a device and the host, with its kernel, while so many ranks of a host copy. */
double grove_price_lift(const grove_machine *m, grove_direction way, double ranks, double bytes);

/* A rank's price of a stage; `seconds` is NaN if the machine lacks numbers for it. */
grove_price grove_load_price(const grove_load *load, const grove_machine *m,
                             const grove_pricing *how, const grove_neighbourhood *around);

/* Parts of that: until what it sends has arrived, until what is sent to it has come, and until it
 * could send more. */
grove_price grove_load_sent(const grove_load *load, const grove_machine *m,
                            const grove_pricing *how, const grove_neighbourhood *around);
grove_price grove_load_received(const grove_load *load, const grove_machine *m,
                                const grove_pricing *how, const grove_neighbourhood *around);
grove_price grove_load_busy(const grove_load *load, const grove_machine *m,
                            const grove_neighbourhood *around);

/* How far apart two ranks are. */
grove_locality grove_price_locality(const grove_topo *topo, int a, int b);

/* Prices as whole numbers, which ranks can compare; an unknown price exceeds all others. */
int64_t grove_price_picoseconds(double seconds);
double grove_price_seconds(int64_t picoseconds);

/* Is `a` the larger price? NaN exceeds all. */
int grove_price_exceeds(const grove_price *a, const grove_price *b);

#ifdef __cplusplus
}
#endif

#endif
