#include "grove/explain/communication.h"

#include "route/pairs.h"

#include <stdlib.h>

/* ---- the edges ---- */

void communication_free(communication *c)
{
  free(c->edges);
  *c = (communication){0};
}

/* The columns of entries whose row and column belong to different ranks, by the rank of the row:
 * those of rank r are col[first[r]] .. col[first[r+1]-1]. */
typedef struct needs {
  int64_t *first;
  int32_t *col;
} needs;

static grove_status needs_create(const matrix_market *m, const partition *p, needs *out)
{
  grove_status status = GROVE_OK;
  int64_t *next = NULL;
  GROVE_NEW(out->first, p->nparts + 1);
  for (int64_t k = 0; k < m->count; k++) {
    int rank = partition_of(p, m->row[k]);
    out->first[rank + 1] += rank != partition_of(p, m->col[k]);
  }
  for (int r = 0; r < p->nparts; r++) out->first[r + 1] += out->first[r];
  GROVE_ROOM(out->col, out->first[p->nparts]);
  GROVE_ROOM(next, p->nparts);
  for (int r = 0; r < p->nparts; r++) next[r] = out->first[r];
  for (int64_t k = 0; k < m->count; k++) {
    int rank = partition_of(p, m->row[k]);
    if (rank != partition_of(p, m->col[k])) out->col[next[rank]++] = (int32_t)m->col[k];
  }
fail:
  free(next);
  return status;
}

/* Keeps each column of a rank once; `seen[j] - 1` is the last rank that had j. Returns how many are
 * left in all. */
static int64_t drop_repetition(needs *n, int nparts, int32_t *seen)
{
  int64_t used = 0, begin = 0;
  for (int r = 0; r < nparts; r++) {
    int64_t end = n->first[r + 1];
    n->first[r] = used;
    for (int64_t k = begin; k < end; k++) {
      int32_t j = n->col[k];
      if (seen[j] == r + 1) continue;
      seen[j] = r + 1;
      n->col[used++] = j;
    }
    begin = end;
  }
  n->first[nparts] = used;
  return used;
}

grove_status communication_create(const matrix_market *m, const partition *p, communication *out)
{
  grove_status status = GROVE_OK;
  communication c = {0};
  needs n = {0};
  int32_t *seen = NULL;
  GROVE_TRY(needs_create(m, p, &n));
  GROVE_NEW(seen, m->cols);
  c.count = drop_repetition(&n, p->nparts, seen);
  GROVE_ROOM(c.edges, c.count);
  for (int r = 0; r < p->nparts; r++)
    for (int64_t k = n.first[r]; k < n.first[r + 1]; k++)
      c.edges[k] =
        (grove_edge){.leaf_rank = r, .root_rank = partition_of(p, n.col[k]), .root = n.col[k]};
  *out = c;
  c = (communication){0};
fail:
  communication_free(&c);
  free(n.first);
  free(n.col);
  free(seen);
  return status;
}

/* ---- where ranks are ---- */

grove_status communication_topo(int nodes, int ppn, int sockets, grove_topo *out)
{
  int64_t nranks = (int64_t)nodes * ppn, per_node = sockets > 0 ? sockets : 1;
  grove_place *place = NULL;
  GROVE_PASS_NEW(place, nranks);
  for (int64_t r = 0; r < nranks; r++) {
    int32_t node = (int32_t)(r / ppn), seat = (int32_t)(r % ppn);
    int32_t socket = (int32_t)(seat * per_node / ppn);
    place[r] = (grove_place){.domain = node,
                             .node = node,
                             .socket = socket,
                             .bound = socket,
                             .seat = seat,
                             .local = seat,
                             .node_begin = (int32_t)(r < nodes ? r * ppn : 0),
                             .node_rank = (int32_t)r};
  }
  *out = (grove_topo){
    .nranks = (int)nranks, .nnodes = nodes, .cores = ppn, .domain_size = ppn, .place = place};
  return GROVE_OK;
}

/* ---- counting ---- */

/* Values that cross to a node, each once. Edges ascend by needing rank, hence by node. */
static grove_status count_values(const communication *c, const partition *p, const grove_topo *topo,
                                 communication_counts *out)
{
  grove_status status = GROVE_OK;
  int32_t *seen = NULL; /* the last node that needed it, plus 1 */
  GROVE_NEW(seen, p->rows);
  out->values = c->count;
  for (int64_t k = 0; k < c->count; k++) {
    const grove_edge *e = &c->edges[k];
    int32_t node = topo->place[e->leaf_rank].node;
    if (node == topo->place[e->root_rank].node) continue;
    out->off_node_values++;
    out->off_node_values_dedup += seen[e->root] != node + 1;
    seen[e->root] = node + 1;
  }
fail:
  free(seen);
  return status;
}

static int64_t largest(int64_t n, const int64_t *list)
{
  int64_t most = 0;
  for (int64_t i = 0; i < n; i++) most = list[i] > most ? list[i] : most;
  return most;
}

/* Pairs ascend by needing rank too. */
static grove_status count_messages(const grove_pairs *pairs, const grove_topo *topo,
                                   communication_counts *out)
{
  grove_status status = GROVE_OK;
  int64_t *sent = NULL, *sent_off = NULL, *reached = NULL; /* reached: nodes that a node sends to */
  int32_t *seen = NULL;                                    /* the last of them, plus 1 */
  GROVE_NEW(sent, topo->nranks);
  GROVE_NEW(sent_off, topo->nranks);
  GROVE_NEW(reached, topo->nnodes);
  GROVE_NEW(seen, topo->nnodes);
  out->messages = pairs->count;
  for (int64_t p = 0; p < pairs->count; p++) {
    int from = topo->place[pairs->root_rank[p]].node, to = topo->place[pairs->leaf_rank[p]].node;
    sent[pairs->root_rank[p]]++;
    if (from == to) continue;
    sent_off[pairs->root_rank[p]]++;
    out->off_node_messages++;
    reached[from] += seen[from] != to + 1;
    seen[from] = to + 1;
  }
  out->max_messages_per_rank = largest(topo->nranks, sent);
  out->max_off_node_messages_per_rank = largest(topo->nranks, sent_off);
  out->max_nodes_per_node = largest(topo->nnodes, reached);
fail:
  free(sent);
  free(sent_off);
  free(reached);
  free(seen);
  return status;
}

grove_status communication_count(const communication *c, const partition *p, const grove_topo *topo,
                                 communication_counts *out)
{
  grove_status status = GROVE_OK;
  communication_counts counts = {0};
  grove_pairs pairs = {0};
  GROVE_TRY(grove_pairs_create(c->edges, c->count, topo->nranks, &pairs));
  GROVE_TRY(count_values(c, p, topo, &counts));
  GROVE_TRY(count_messages(&pairs, topo, &counts));
  *out = counts;
fail:
  grove_pairs_free(&pairs);
  return status;
}
