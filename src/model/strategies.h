/* Compares ways to exchange irregular data between nodes, from six numbers of the exchange alone:
 * the strategies of Lockhart et al. 2023, Table 6 (the paper of forms.h).
 *
 * The six (Table 7; maxima over processes and nodes): messages and bytes of a process, m and s;
 * bytes that a node injects, S; bytes between two nodes, N; nodes to which a process sends, p;
 * messages between two nodes once they are gathered, q. A process stands for a GPU where there are
 * GPUs.
 *
 *     route     path     seconds are the sum of
 *     standard  staged   (2.2): alpha m + max(ppn s / R_N, beta s), and T_copy(s, s)
 *               device   alpha m + beta s
 *     3-step    staged   T_off(q, N) + 2 T_on(N) + T_copy(s, N)
 *               device   T_off-DA(q, N) + 2 T_on(N)
 *     2-step    staged   T_off(p, s) + T_on(s) + T_copy(s, N)          every process sends to every
 *               device   T_off-DA(p, s) + T_on(s)                      node: "2-Step All"
 *     2-step-1  both     as 2-step with ceil(p / ppn) for p: each destination node is served by one
 *                        process, so that the processes share the nodes; the best case
 *     split-md  staged   T_off(p, S / ranks) + 2 T_on-split(S, 1) + T_copy(s, N)
 *     split-dd  staged   T_off(p, S / ranks) + 2 T_on-split(S, 4) + T_copy(s, N), where four
 *                        processes copy from a GPU at a time
 *
 * T_off is (4.3), T_off-DA (4.4), T_on (4.1), T_on-split (4.2), T_copy (4.5). Split sends from
 * every rank of the machine's node, not from `ppn`. S in T_on-split is not divided by ppg.
 *
 * Unless one is forced, the protocol of a term follows from its own message size:
 *
 *     term                         message size
 *     (2.2), T_off, T_off-DA(m,s)  s / m, the mean of its messages (s for m = 0)
 *     T_on(s), T_on-split(s)       s, on socket and on node looked up separately
 *
 * Device data has the memory gpu, GPUDirect. A protocol that is not in use there (short, on Lassen)
 * is replaced by the next that is.
 *
 * Two places of the paper are read differently unless `as_published` is set. Table 6 has no copy
 * for Standard staged, which would make it look cheaper than it is: here it has T_copy(s, s). And
 * (4.5) pairs the sent bytes with H2D and the received with D2H: here it is the other way round.
 *
 * Duplicates. Node-aware routes send a value to a node once, however many of its processes need it.
 * `duplicates` is the fraction of the data that this saves. In all their terms s, S and N are
 * multiplied by 1 - duplicates. Message counts stay, and so does standard.
 *
 * Without GPUs. If a profile has no copies, none are priced: "staged" then means that the data is
 * already in host memory, and split-dd, whose point is the copy, is left out. A profile without
 * messages of gpu has no device paths. Half of a pair, alpha without beta, counts as missing.
 * Processes that hold data take the place of GPUs in T_on.
 */
#ifndef GROVE_MODEL_STRATEGIES_H
#define GROVE_MODEL_STRATEGIES_H

#include "model/forms.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grove_exchange {
  double messages_per_proc, bytes_per_proc, bytes_per_node, bytes_node_to_node, nodes_per_proc,
    messages_node_to_node;
  double ppn;             /* processes of a node that hold data; 0: the GPUs, else the ranks */
  double gpus_per_socket; /* 0: GPUs / sockets; without GPUs, ppn / sockets */
  double duplicates;      /* from 0 to 1 */
  int protocol;           /* one for every term, or GROVE_BY_SIZE */
  int as_published;
} grove_exchange;

enum { GROVE_STRATEGIES = 10 };

typedef struct grove_strategy {
  const char *route, *path;
  const char *left_out; /* why it has no price; NULL: it has one */
  double seconds;       /* the sum of the next three */
  double off_node, on_node, copy;
  double latency; /* the part of off_node that is alpha; the rest is bytes */
  int injection;  /* those bytes wait for the node's injection, not for their own process */
  int best_case;  /* 2-step-1: do not count on it */
  int replaced;   /* the forced protocol is not in use on this path */
} grove_strategy;

/* Fills in what `x` leaves to the machine. GROVE_ERR_ARG: neither tells the number of processes, or
 * a number makes no sense. */
grove_status grove_exchange_complete(const grove_machine *m, grove_exchange *x);

/* All strategies, in the order of the table; `x` is complete. GROVE_ERR_ARG: the profile has no
 * off-node messages at all. */
grove_status grove_strategies_price(const grove_machine *m, const grove_exchange *x,
                                    grove_strategy out[GROVE_STRATEGIES]);

/* The index of the fastest that has a price; best cases count only if asked for. */
int grove_strategies_best(const grove_strategy *list, int with_best_case);

#ifdef __cplusplus
}
#endif

#endif
