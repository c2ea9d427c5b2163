/* Where ranks sit. A *memory domain* is a set of ranks that can share memory (one host). A *logical
 * node* is what routes and prices call a node: the domain, or what `node_size` / `node_map` say.
 *
 * The table rank -> node has an entry for every rank of the communicator. So it is kept once per
 * domain, in shared memory, and the topology only points at it.
 */
#ifndef GROVE_TOPO_TOPO_H
#define GROVE_TOPO_TOPO_H

#include "base/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One row per rank; written by one rank of the domain, read by all. */
typedef struct grove_place {
  int32_t domain; /* where its memory is, numbered by lowest rank */
  int32_t node;   /* its logical node, numbered by lowest rank */
  int32_t socket; /* within its node */
  int32_t bound;  /* the socket of its host that it is bound to, by hwloc */
  int32_t seat;   /* its number among the ranks of its domain */
  int32_t local;  /* its number among the ranks of its node */
  /* A table of its own, by nodes. Row n says where node n begins among all ranks sorted by node.
   * Row i says which rank is the i-th of those. */
  int32_t node_begin, node_rank;
} grove_place;

typedef struct grove_topo {
  int nranks, rank;
  int nnodes;
  int cores;                /* processing units that the ranks of this domain may use */
  int domain_size;          /* ranks in this domain */
  const grove_place *place; /* nranks rows, borrowed */
} grove_topo;

static inline int grove_topo_same_node(const grove_topo *topo, int a, int b)
{
  return topo->place[a].node == topo->place[b].node;
}

/* The ranks of a node, in ascending order. */
static inline int grove_topo_node_size(const grove_topo *topo, int node)
{
  int end = node + 1 < topo->nnodes ? topo->place[node + 1].node_begin : topo->nranks;
  return end - topo->place[node].node_begin;
}

static inline int grove_topo_node_rank(const grove_topo *topo, int node, int local)
{
  return topo->place[topo->place[node].node_begin + local].node_rank;
}

/* What a rank tells all others about itself: its host in the upper 48 bits, and the socket it is
 * bound to. It is small, because each rank holds all of them while a context is made. */
typedef uint64_t grove_fact;

static inline grove_fact grove_fact_of(uint64_t host, int socket)
{
  return host << 16 | (uint16_t)socket;
}

static inline int grove_fact_same_host(grove_fact a, grove_fact b)
{
  return a >> 16 == b >> 16;
}

/* Fills .domain, .seat and .bound of all ranks: ranks of one host are a domain. */
grove_status grove_topo_seat(const grove_fact *facts, int nranks, grove_place *place);

/* Fills .node, .local, the table of nodes and .socket of all ranks from .domain, .bound and the
 * overrides. Returns the number of nodes. `node_map` "" and sizes 0 mean: as found. A failure
 * changes nothing. */
grove_status grove_topo_assign(grove_place *place, int nranks, int node_size, const char *node_map,
                               int socket_size, int *nnodes);

/* A set of processing units of one host, by the operating system's numbers. Those beyond the last
 * word are not counted. */
enum { GROVE_CORE_WORDS = 64 };
typedef struct grove_cores {
  uint64_t word[GROVE_CORE_WORDS];
} grove_cores;

int grove_topo_count(const grove_cores *cores);

/* A number that is the same for processes of one host, and different for different hosts. It is
 * made from MPI's name of the host and from the system's boot id. (hardware.c) */
uint64_t grove_topo_host(void);

/* What hwloc knows of this process: the socket it is bound to (0 if it is bound to several) and the
 * processing units it may use. */
grove_status grove_topo_look(int *socket, grove_cores *cores);
/* The same as it was when somebody in this process looked last. */
grove_status grove_topo_recall(int *socket, grove_cores *cores);

/* The hardware of this host (hardware.c): the name of its processor, and the kind of its fastest
 * network ("slingshot", "infiniband" or "tcp"), as far as the system tells. */
void grove_topo_processor(char *out, size_t room);
const char *grove_topo_network(void);

#ifdef __cplusplus
}
#endif

#endif
