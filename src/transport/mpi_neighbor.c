/* Neighbourhood collectives. All messages of a start are one call of MPI_Ineighbor_alltoallw, on a
 * communicator made with the graph of the wiring's messages. MPI sees the whole exchange at once
 * and may route it as it likes. It only says when all of it is through.
 *
 * The graph is symmetric: a rank that only receives from another also sends to it, zero bytes.
 * MPICH 4.0 uses the number of a rank's sources as the number of its destinations (its issue 6233).
 * In a symmetric graph that does no harm.
 *
 * Calls on one communicator match in the order in which they are made. So every wiring has its own
 * communicator, and every rank takes part in every start. A message longer than a chunk on any rank
 * makes all ranks call several times.
 *
 * Making a communicator takes long (MPICH, 4 ranks on 2 cores: tens of milliseconds), and nobody
 * may free one while others use it. So a communicator that all ranks have let go of, after the same
 * number of starts, serves the next wiring with the same graph. When there are many, a collective
 * call frees those.
 */
#include "transport/mpi_neighbor.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- communicators ---- */

typedef struct graph {
  MPI_Comm comm;
  int npeers;
  int *peers; /* all ranks that send to this one or receive from it, ascending */
  int64_t starts;
  int returned; /* its carriage is gone */
} graph;

static void free_graph(graph *one)
{
  if (one) free(one->peers);
  free(one);
}

struct grove_graphs {
  int n;
  int due; /* with this many, check which are free */
  graph **list;
  int64_t *votes; /* four for each */
};

enum { FEW = 16 };

int grove_graphs_count(const struct grove_graphs *graphs)
{
  return graphs ? graphs->n : 0;
}

/* Room for one more. This rank's failure. */
static grove_status make_graph_room(grove_depot *depot)
{
  struct grove_graphs *g = depot->graphs;
  if (!g) {
    GROVE_PASS_NEW(g, 1);
    g->due = FEW;
    depot->graphs = g;
  }
  GROVE_PASS_GROW(g->list, g->n, 1);
  GROVE_PASS_GROW(g->votes, 4 * (int64_t)g->n, 4);
  return GROVE_OK;
}

/* Is it free everywhere? Not if it was started more often on one rank than on another: then a
 * message may be under way that nobody will take. */
static int is_free(const int64_t least[2])
{
  return least[0] >= 0 && least[0] == -least[1];
}

static void drop_free(struct grove_graphs *g, const int64_t *least)
{
  int kept = 0;
  for (int i = 0; i < g->n; i++) {
    if (!is_free(&least[2 * i])) {
      g->list[kept++] = g->list[i];
      continue;
    }
    MPI_Comm_free(&g->list[i]->comm);
    free_graph(g->list[i]);
  }
  g->n = kept;
  g->due = 2 * kept + FEW;
}

grove_status grove_graphs_sweep(grove_context *ctx, struct grove_graphs *g)
{
  int64_t *mine = g->votes, *least = mine + 2 * (int64_t)g->n;
  MPI_Request request;
  if (g->n == 0) return GROVE_OK;
  for (int i = 0; i < g->n; i++) {
    mine[2 * i] = g->list[i]->returned ? g->list[i]->starts : -1;
    mine[2 * i + 1] = -mine[2 * i];
  }
  g->votes = NULL; /* only MPI's, if the step does not end */
  GROVE_PASS_MPI(MPI_Iallreduce(mine, least, 2 * g->n, MPI_INT64_T, MPI_MIN, ctx->comm, &request));
  GROVE_PASS(grove_context_wait(ctx, &request));
  g->votes = mine;
  drop_free(g, least);
  return GROVE_OK;
}

void grove_graphs_free(struct grove_graphs **pointer)
{
  struct grove_graphs *g = *pointer;
  if (!g) return;
  for (int i = 0; i < g->n; i++)
    if (g->list[i]->returned) free_graph(g->list[i]);
  free(g->list);
  free(g->votes);
  free(g);
  *pointer = NULL;
}

/* ---- carriages ---- */

typedef struct shared {
  graph *graph;
  int listed;  /* the depot has it */
  int rounds;  /* calls per start */
  int *places; /* by message: its place among those from all peers, then to all */
  int *ones;
} shared;

static int64_t rounds_of(const grove_carriage *a)
{
  int64_t most = 1;
  for (int i = 0; i < a->n; i++) {
    int64_t rounds = (a->messages[i].bytes + a->chunk - 1) / a->chunk;
    if (rounds > most) most = rounds;
  }
  return most;
}

/* Finds the peers: both lists of messages ascend. */
static void list_peers(const grove_carriage *a, int *places, graph *out)
{
  int in = 0, to_come = a->nreceives;
  for (int next = to_come; in < to_come || next < a->n; out->npeers++) {
    int from = in < to_come ? a->messages[in].peer : INT_MAX;
    int to = next < a->n ? a->messages[next].peer : INT_MAX;
    if (from <= to) places[in++] = out->npeers;
    if (to <= from) places[next++] = out->npeers;
    out->peers[out->npeers] = from < to ? from : to;
  }
  for (int i = to_come; i < a->n; i++) places[i] += out->npeers;
}

/* Everything that can fail on one rank alone. */
static grove_status prepare_neighbor(grove_carriage *a)
{
  grove_depot *depot = NULL;
  shared *s = NULL;
  GROVE_PASS_NEW(s, 1);
  a->shared = s;
  GROVE_PASS_NEW(s->graph, 1);
  GROVE_PASS_NEW(s->graph->peers, a->n);
  GROVE_PASS_NEW(s->places, a->n);
  GROVE_PASS_NEW(s->ones, a->n);
  for (int i = 0; i < a->n; i++) s->ones[i] = 1;
  list_peers(a, s->places, s->graph);
  GROVE_PASS(grove_depot_open(a->ctx, &depot));
  return make_graph_room(depot);
}

/* The first graph from `from` on that could serve as this one; else the number of graphs. */
static int64_t find_alike(const struct grove_graphs *g, const graph *like, int64_t from)
{
  int64_t i = from;
  for (; i < g->n; i++) {
    const graph *one = g->list[i];
    size_t bytes = (size_t)like->npeers * sizeof *like->peers;
    if (one->returned && one->npeers == like->npeers && memcmp(one->peers, like->peers, bytes) == 0)
      break;
  }
  return i;
}

/* Agrees on a graph that can serve, and on the number of rounds. As with tags, the highest proposal
 * is taken if all ranks made it; else all propose again from there on. `found` is NULL if there is
 * none. Agreed by all. */
static grove_status find_graph(grove_carriage *a, grove_status mine, graph **found)
{
  for (int64_t from = 0;;) {
    const struct grove_graphs *g = mine == GROVE_OK ? a->ctx->depot->graphs : NULL;
    int64_t i = g ? find_alike(g, ((shared *)a->shared)->graph, from) : from;
    int64_t starts = g && i < g->n ? g->list[i]->starts : 0;
    int64_t all[5] = {i, -i, starts, -starts, rounds_of(a)};
    GROVE_PASS(grove_context_agree(a->ctx, mine, all, 5));
    GROVE_PASS_CHECK(all[4] <= INT_MAX, GROVE_ERR_UNSUPPORTED,
                     "messages in %lld chunks of %d bytes: choose a larger chunk",
                     (long long)all[4], a->chunk);
    ((shared *)a->shared)->rounds = (int)all[4];
    from = all[0];
    if (all[0] != -all[1]) continue;
    *found = from < g->n ? g->list[from] : NULL;
    if (all[2] == -all[3]) return GROVE_OK;
    from++; /* started more often on some ranks: never again */
  }
  return GROVE_OK;
}

/* Blocking: all ranks are here. */
static grove_status make_graph(const grove_carriage *a, const shared *s)
{
  graph *one = s->graph;
  GROVE_PASS_MPI(MPI_Dist_graph_create_adjacent(a->ctx->comm, one->npeers, one->peers, s->ones,
                                                one->npeers, one->peers, s->ones, MPI_INFO_NULL, 0,
                                                &one->comm));
  GROVE_PASS_MPI(MPI_Comm_set_errhandler(one->comm, MPI_ERRORS_RETURN));
  return GROVE_OK;
}

/* If it fails on some ranks only, the others' communicators are left to MPI. Agreed by all. */
static grove_status add_graph(const grove_carriage *a, const shared *s)
{
  struct grove_graphs *g = a->ctx->depot->graphs;
  if (g->n >= g->due) GROVE_PASS(grove_graphs_sweep(a->ctx, g));
  GROVE_PASS(grove_context_agree(a->ctx, make_graph(a, s), NULL, 0));
  g->list[g->n++] = s->graph;
  return GROVE_OK;
}

static grove_status open_neighbor(grove_carriage *a)
{
  graph *found = NULL;
  GROVE_PASS(find_graph(a, prepare_neighbor(a), &found));
  shared *s = a->shared;
  if (found) {
    free_graph(s->graph);
    s->graph = found;
    found->returned = 0;
  } else {
    GROVE_PASS(add_graph(a, s));
  }
  s->listed = 1;
  return GROVE_OK;
}

static void shut_neighbor(grove_carriage *a)
{
  shared *s = a->shared;
  if (!s) return;
  if (s->listed)
    s->graph->returned = 1;
  else
    free_graph(s->graph);
  free(s->places);
  free(s->ones);
  free(s);
}

/* ---- carriers ---- */

typedef struct exchange {
  int posted;
  MPI_Request *requests; /* one per round */
  MPI_Datatype *types;   /* bytes, for each peer */
  int *counts;           /* by round: from each peer, then to each */
  MPI_Aint *addresses;   /* likewise */
  int *all;              /* the numbers of all messages */
} exchange;

/* The bytes of message i in round k. */
static int count_of_peer(const grove_carriage *a, int k, int i)
{
  int64_t rest = a->messages[i].bytes - (int64_t)k * a->chunk;
  return (int)(rest < 0 ? 0 : rest < a->chunk ? rest : a->chunk);
}

/* The index of message i in round k. */
static int64_t place_of_peer(const shared *s, int k, int i)
{
  return (int64_t)k * 2 * s->graph->npeers + s->places[i];
}

static grove_status create_neighbor(grove_carrier *c)
{
  const grove_carriage *a = c->carriage;
  const shared *s = a->shared;
  int64_t numbers = (int64_t)s->rounds * 2 * s->graph->npeers;
  exchange *e = NULL;
  GROVE_PASS_NEW(e, 1);
  c->self = e;
  GROVE_PASS_NEW(e->requests, s->rounds);
  GROVE_PASS_NEW(e->types, s->graph->npeers);
  GROVE_PASS_NEW(e->counts, numbers);
  GROVE_PASS_NEW(e->addresses, numbers);
  GROVE_PASS_NEW(e->all, a->n);
  for (int p = 0; p < s->graph->npeers; p++) e->types[p] = MPI_BYTE;
  for (int i = 0; i < a->n; i++) {
    e->all[i] = i;
    for (int k = 0; k < s->rounds; k++) e->counts[place_of_peer(s, k, i)] = count_of_peer(a, k, i);
  }
  return GROVE_OK;
}

static grove_status bind_neighbor(grove_carrier *c, int i, void *buffer)
{
  const shared *s = c->carriage->shared;
  exchange *e = c->self;
  MPI_Aint address, chunk = c->carriage->chunk;
  GROVE_PASS_MPI(MPI_Get_address(buffer, &address));
  for (int k = 0; k < s->rounds; k++)
    e->addresses[place_of_peer(s, k, i)] = MPI_Aint_add(address, k * chunk);
  return GROVE_OK;
}

static grove_status start_neighbor(grove_carrier *c, int i)
{
  (void)c; /* with all others */
  (void)i;
  return GROVE_OK;
}

static grove_status post_neighbor(const shared *s, exchange *e, int k)
{
  int n = s->graph->npeers, *from = e->counts + (int64_t)k * 2 * n;
  MPI_Aint *in = e->addresses + (int64_t)k * 2 * n;
  GROVE_PASS_MPI(MPI_Ineighbor_alltoallw(MPI_BOTTOM, from + n, in + n, e->types, MPI_BOTTOM, from,
                                         in, e->types, s->graph->comm, &e->requests[k]));
  return GROVE_OK;
}

static grove_status go_neighbor(grove_carrier *c)
{
  shared *s = c->carriage->shared;
  exchange *e = c->self;
  for (int k = 0; k < s->rounds; k++) e->requests[k] = MPI_REQUEST_NULL;
  s->graph->starts++;
  e->posted = 1;
  for (int k = 0; k < s->rounds; k++) GROVE_PASS(post_neighbor(s, e, k));
  return GROVE_OK;
}

static grove_status poll_neighbor(grove_carrier *c, int *n, const int **which)
{
  const shared *s = c->carriage->shared;
  exchange *e = c->self;
  int done = 0;
  *n = 0;
  *which = e->all;
  if (!e->posted) return GROVE_OK;
  GROVE_PASS_MPI(MPI_Testall(s->rounds, e->requests, &done, MPI_STATUSES_IGNORE));
  if (!done) return GROVE_OK;
  e->posted = 0;
  *n = c->carriage->n;
  return GROVE_OK;
}

static int pending_neighbor(const grove_carrier *c, int i)
{
  (void)i; /* MPI does not say which ones have come */
  return ((exchange *)c->self)->posted;
}

static int busy_neighbor(const grove_carrier *c)
{
  return ((exchange *)c->self)->posted;
}

static void free_exchange(grove_carrier *c)
{
  exchange *e = c->self;
  if (!e) return;
  free(e->requests);
  free(e->types);
  free(e->counts);
  free(e->addresses);
  free(e->all);
  free(e);
}

const grove_carrier_kind grove_carrier_neighbor = {
  .name = "neighbor",
  .reach = GROVE_REACHES_ALL,
  .collective = 1,
  .together = 1,
  .memories = GROVE_SPACE_HOST,
  .open = open_neighbor,
  .close = shut_neighbor,
  .create = create_neighbor,
  .bind = bind_neighbor,
  .start = start_neighbor,
  .start_part = grove_carrier_no_part,
  .go = go_neighbor,
  .poll = poll_neighbor,
  .pending = pending_neighbor,
  .busy = busy_neighbor,
  .forgo = grove_carrier_let_come,
  .withdraw = grove_carrier_no_withdraw,
  .repost = grove_carrier_no_repost,
  .free = free_exchange,
};
