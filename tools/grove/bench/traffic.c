/* Who sends how much to whom, from the edges alone. The values that one rank needs from another,
 * each counted once, are a message.
 */
#include "grove/bench/bench.h"
#include "kit/need.h"

#include <stdlib.h>

enum { FIELDS = 3 }; /* of a record that travels: from, to, values */

static int by_rank_and_index(const void *a, const void *b)
{
  const grove_root *x = a, *y = b;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

/* Makes a record for each rank that this one needs something from; returns how many. */
static int count_needed(const bench *b, const pattern *edges, int64_t *records)
{
  int n = 0;
  int64_t *last = NULL;
  grove_root *root = bench_alloc((size_t)edges->nleaves, sizeof *root);
  for (int64_t i = 0; i < edges->nleaves; i++) root[i] = edges->root[i];
  qsort(root, (size_t)edges->nleaves, sizeof *root, by_rank_and_index);
  for (int64_t i = 0; i < edges->nleaves; i++) {
    if (root[i].rank == b->rank) continue;
    if (i > 0 && by_rank_and_index(&root[i - 1], &root[i]) == 0) continue;
    if (!last || last[0] != root[i].rank) {
      last = &records[FIELDS * n++];
      last[0] = root[i].rank;
      last[1] = b->rank;
    }
    last[2]++;
  }
  free(root);
  return n;
}

/* All ranks' records, `total` of them, on rank 0. */
static int64_t *gather(const bench *b, const int64_t *mine, int n, int *total)
{
  int *count = bench_alloc(2 * (size_t)b->size + 1, sizeof *count), *start = count + b->size;
  int numbers = FIELDS * n;
  MPI_Gather(&numbers, 1, MPI_INT, count, 1, MPI_INT, 0, b->comm);
  for (int r = 0; r < b->size && b->rank == 0; r++) start[r + 1] = start[r] + count[r];
  int64_t *all = bench_alloc((size_t)start[b->size], sizeof *all);
  *total = start[b->size] / FIELDS;
  MPI_Gatherv(mine, numbers, MPI_INT64_T, all, count, start, MPI_INT64_T, 0, b->comm);
  free(count);
  return all;
}

void bench_traffic_collect(const bench *b, const pattern *edges, bench_traffic *out)
{
  int64_t *mine = bench_alloc(FIELDS * (size_t)b->size, sizeof *mine);
  int n = count_needed(b, edges, mine), total = 0;
  int64_t *all = gather(b, mine, n, &total);
  *out = (bench_traffic){.node = bench_alloc((size_t)b->size, sizeof *out->node)};
  for (int r = 0; r < b->size; r++) grove_context_node(b->ctx, r, &out->node[r], NULL);
  out->count = total;
  out->flows = bench_alloc((size_t)total, sizeof *out->flows);
  for (int i = 0; i < total; i++) {
    const int64_t *record = &all[FIELDS * i];
    out->flows[i] = (bench_flow){.from = (int)record[0],
                                 .to = (int)record[1],
                                 .messages = 1,
                                 .bytes = record[2] * b->set.unit_bytes};
  }
  free(mine);
  free(all);
}

static int by_ends(const void *a, const void *b)
{
  const bench_flow *x = a, *y = b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return (x->to > y->to) - (x->to < y->to);
}

void bench_traffic_of_nodes(const bench_traffic *ranks, bench_traffic *out)
{
  bench_flow *flows = bench_alloc((size_t)ranks->count, sizeof *flows);
  int n = 0;
  for (int i = 0; i < ranks->count; i++) {
    flows[i] = ranks->flows[i];
    flows[i].from = ranks->node[flows[i].from];
    flows[i].to = ranks->node[flows[i].to];
  }
  qsort(flows, (size_t)ranks->count, sizeof *flows, by_ends);
  for (int i = 0; i < ranks->count; i++) {
    if (n > 0 && by_ends(&flows[n - 1], &flows[i]) == 0) {
      flows[n - 1].messages += flows[i].messages;
      flows[n - 1].bytes += flows[i].bytes;
    } else {
      flows[n++] = flows[i];
    }
  }
  *out = (bench_traffic){.count = n, .flows = flows};
}

void bench_traffic_free(bench_traffic *t)
{
  free(t->flows);
  free(t->node);
  *t = (bench_traffic){0};
}
