/* Who owns global number g? A table of every rank's first number would take memory proportional to
 * the ranks, on each rank. Instead the numbers 0 .. N-1 are cut into as many equal blocks as there
 * are ranks, and rank d keeps the directory of block d (the assumed partition of Baker, Falgout and
 * Yang). Every owner announces its first number to the directory in whose block the number lies. A
 * scan gives each directory the owner that reaches into its block from below. A rank that needs g
 * asks directory g / block. Messages: one announcement, and a question and an answer for every
 * directory that this rank's leaves touch.
 */
#include "base/group.h"
#include "forest/forest.h"

#include <stdlib.h>
#include <string.h>

typedef struct owner {
  int64_t first; /* its first global number */
  int64_t rank;
} owner;

/* This rank's directory: owners by ascending first number. Ranks that own nothing are left out. */
typedef struct directory {
  int count;
  owner *owners;
} directory;

/* A question is this header and then `count` global numbers. */
typedef struct question {
  int64_t announces; /* 1: `first` is the sender's first number, announced here */
  int64_t first;
  int64_t count;
} question;

static int by_first(const void *a, const void *b)
{
  const owner *x = a, *y = b;
  return (x->first > y->first) - (x->first < y->first);
}

/* Leaves grouped by the directory to ask. */
typedef struct sorted_leaves {
  grove_groups groups;
  int64_t *order; /* the leaves of each group, in the order of the list */
} sorted_leaves;

static grove_status sort_leaves(const grove_graph *graph, int64_t block, sorted_leaves *out)
{
  const int64_t *number = graph->global_root;
  GROVE_PASS(grove_groups_create(&out->groups));
  for (int64_t i = 0; i < graph->nleaves; i++)
    GROVE_PASS(grove_groups_count(&out->groups, (int)(number[i] / block)));
  GROVE_PASS(grove_groups_arrange(&out->groups));
  GROVE_PASS_ROOM(out->order, graph->nleaves);
  for (int64_t i = 0; i < graph->nleaves; i++)
    out->order[out->groups.next[grove_groups_find(&out->groups, (int)(number[i] / block))]++] = i;
  return GROVE_OK;
}

static grove_status write_question(const grove_graph *graph, const sorted_leaves *leaves, int g,
                                   int peer, const question *header, grove_packet *out)
{
  const int64_t *begin = leaves->groups.begin;
  question q = *header;
  q.count = g >= 0 ? begin[g + 1] - begin[g] : 0;
  out->peer = peer;
  out->bytes = (int64_t)sizeof q + q.count * (int64_t)sizeof(int64_t);
  char *data = NULL;
  GROVE_PASS_ROOM(data, out->bytes);
  out->data = data;
  memcpy(data, &q, sizeof q);
  int64_t *number = (int64_t *)(data + sizeof q);
  for (int64_t i = 0; i < q.count; i++) number[i] = graph->global_root[leaves->order[begin[g] + i]];
  return GROVE_OK;
}

/* One packet per directory: questions, and in one packet the announcement. */
static grove_status write_questions(const grove_graph *graph, const sorted_leaves *leaves,
                                    int64_t first, int64_t block, grove_packet_exchange *exchange)
{
  const grove_groups *groups = &leaves->groups;
  int home = graph->nroots > 0 ? (int)(first / block) : -1, announced = home < 0;
  GROVE_PASS_NEW(exchange->sent, groups->count + 1);
  for (int g = 0; g < groups->count; g++) {
    question q = {.announces = groups->keys[g] == home, .first = first};
    announced = announced || q.announces;
    GROVE_PASS(
      write_question(graph, leaves, g, groups->keys[g], &q, &exchange->sent[exchange->nsent++]));
  }
  if (!announced) {
    question q = {.announces = 1, .first = first};
    GROVE_PASS(write_question(graph, leaves, -1, home, &q, &exchange->sent[exchange->nsent++]));
  }
  return GROVE_OK;
}

/* The owners that announced themselves here. */
static grove_status list_announced(int n, const grove_packet *questions, directory *out)
{
  GROVE_PASS_NEW(out->owners, n + 1);
  for (int i = 0; i < n; i++) {
    question q;
    memcpy(&q, questions[i].data, sizeof q);
    if (q.announces) out->owners[out->count++] = (owner){q.first, questions[i].peer};
  }
  qsort(out->owners, (size_t)out->count, sizeof *out->owners, by_first);
  return GROVE_OK;
}

/* Puts the owner that reaches into the block from below before them. Collective. */
static grove_status add_from_below(grove_context *ctx, directory *d)
{
  int64_t last[2] = {-1, -1}, below[2];
  if (d->count > 0) {
    last[0] = d->owners[d->count - 1].first;
    last[1] = d->owners[d->count - 1].rank;
  }
  /* First numbers and ranks of owners ascend together, so both maxima belong to the same owner. */
  GROVE_PASS(grove_context_scan_max(ctx, last, 2, below));
  if (below[1] >= 0 && d->owners) {
    memmove(d->owners + 1, d->owners, (size_t)d->count * sizeof *d->owners);
    d->owners[0] = (owner){below[0], below[1]};
    d->count++;
  }
  return GROVE_OK;
}

/* The last owner whose first number is not above `number`. */
static grove_root look_up_roots(const directory *d, int64_t number)
{
  int low = 0, high = d->count;
  while (high - low > 1) {
    int middle = low + (high - low) / 2;
    if (d->owners[middle].first <= number)
      low = middle;
    else
      high = middle;
  }
  return (grove_root){(int)d->owners[low].rank, number - d->owners[low].first};
}

static grove_status write_answers(const directory *d, int n, const grove_packet *questions,
                                  grove_packet_exchange *exchange)
{
  GROVE_PASS_NEW(exchange->sent, n);
  for (int i = 0; i < n; i++) {
    question q;
    memcpy(&q, questions[i].data, sizeof q);
    if (q.count == 0) continue;
    const int64_t *number = (const int64_t *)((const char *)questions[i].data + sizeof q);
    grove_root *answer = NULL;
    GROVE_PASS_ROOM(answer, q.count);
    for (int64_t k = 0; k < q.count; k++) answer[k] = look_up_roots(d, number[k]);
    exchange->sent[exchange->nsent++] = (grove_packet){
      .peer = questions[i].peer, .bytes = q.count * (int64_t)sizeof *answer, .data = answer};
  }
  return GROVE_OK;
}

static grove_status read_answers(grove_graph *graph, const sorted_leaves *leaves,
                                 const grove_packet_exchange *exchange)
{
  const int64_t *begin = leaves->groups.begin;
  GROVE_PASS_ROOM(graph->root, graph->nleaves);
  for (int i = 0; i < exchange->ncame; i++) {
    int g = grove_groups_find(&leaves->groups, exchange->came[i].peer);
    const grove_root *answer = exchange->came[i].data;
    for (int64_t k = begin[g]; k < begin[g + 1]; k++)
      graph->root[leaves->order[k]] = answer[k - begin[g]];
  }
  return GROVE_OK;
}

static grove_status check_numbers(const grove_graph *graph, int rank, int64_t total)
{
  for (int64_t i = 0; i < graph->nleaves; i++)
    GROVE_PASS_CHECK(
      graph->global_root[i] >= 0 && graph->global_root[i] < total, GROVE_ERR_GRAPH,
      "rank %d: leaf %lld (entry %lld of its list) is joined to global root %lld, but "
      "there are %lld roots",
      rank, (long long)(graph->leaf_index ? graph->leaf_index[i] : i), (long long)i,
      (long long)graph->global_root[i], (long long)total);
  return GROVE_OK;
}

typedef struct inquiry {
  sorted_leaves leaves;
  directory directory;
  grove_packet_exchange questions, answers;
} inquiry;

static void free_packets(grove_packet_exchange *exchange)
{
  grove_packet_list_free(exchange->nsent, exchange->sent);
  grove_packet_list_free(exchange->ncame, exchange->came);
}

static void free_inquiry(inquiry *q)
{
  grove_groups_free(&q->leaves.groups);
  free(q->leaves.order);
  free(q->directory.owners);
  free_packets(&q->questions);
  free_packets(&q->answers);
}

static grove_status ask_directories(const grove_graph *graph, const grove_context *ctx,
                                    int64_t first, int64_t total, inquiry *q)
{
  int64_t block = total / ctx->size + 1;
  GROVE_PASS(check_numbers(graph, ctx->rank, total));
  GROVE_PASS(sort_leaves(graph, block, &q->leaves));
  return write_questions(graph, &q->leaves, first, block, &q->questions);
}

static grove_status resolve_global(grove_graph *graph, grove_context *ctx)
{
  grove_status status = GROVE_OK, mine = GROVE_OK;
  int64_t first = 0, total = 0;
  inquiry q = {0};
  GROVE_TRY(grove_context_offsets(ctx, graph->nroots, &first, &total));
  mine = ask_directories(graph, ctx, first, total, &q);
  GROVE_TRY(grove_context_exchange(ctx, mine, NULL, 0, &q.questions));
  mine = list_announced(q.questions.ncame, q.questions.came, &q.directory);
  GROVE_TRY(add_from_below(ctx, &q.directory));
  if (mine == GROVE_OK)
    mine = write_answers(&q.directory, q.questions.ncame, q.questions.came, &q.answers);
  GROVE_TRY(grove_context_exchange(ctx, mine, NULL, 0, &q.answers));
  GROVE_TRY(read_answers(graph, &q.leaves, &q.answers));
fail:
  free_inquiry(&q);
  return status;
}

/* A leaf for every root of every rank, in rank order, on all ranks or on rank 0 only. The user
 * asked for lists of that length. */
static grove_status list_all_roots(grove_graph *graph, grove_context *ctx, int on_all)
{
  grove_status status = GROVE_OK;
  int wanted = on_all || ctx->rank == 0;
  int64_t *n = grove_memory(wanted ? (size_t)ctx->size : 0, sizeof *n), total = 0;
  grove_status mine =
    n ? GROVE_OK
      : grove_error(GROVE_ERR_MEMORY, __FILE__, __LINE__, "no memory for %d numbers", ctx->size);
  GROVE_TRY(grove_context_agree(ctx, mine, NULL, 0));
  GROVE_TRY(grove_context_collect(ctx, graph->n, on_all, &n));
  for (int r = 0; r < ctx->size && wanted; r++) total += n[r];
  graph->nroots = graph->n;
  graph->nleaves = total;
  GROVE_ROOM(graph->root, total);
  for (int64_t r = 0, k = 0; r < ctx->size && wanted; r++)
    for (int64_t i = 0; i < n[r]; i++) graph->root[k++] = (grove_root){(int)r, i};
fail:
  free(n);
  return status;
}

static grove_status list_announcements(grove_graph *graph, const grove_context *ctx)
{
  graph->nroots = graph->nleaves = graph->n * ctx->size;
  GROVE_PASS_ROOM(graph->root, graph->nleaves);
  for (int64_t k = 0; k < graph->nleaves; k++)
    graph->root[k] = (grove_root){(int)(k / graph->n), ctx->rank * graph->n + k % graph->n};
  return GROVE_OK;
}

grove_status grove_graph_resolve(grove_graph *graph, grove_context *ctx)
{
  if (graph->form != GROVE_FORM_PAIRS) { /* left from an attempt that failed */
    free(graph->root);
    graph->root = NULL;
  }
  switch (graph->form) {
  case GROVE_FORM_GLOBAL: return resolve_global(graph, ctx);
  case GROVE_FORM_PATTERN + GROVE_ALLGATHER: return list_all_roots(graph, ctx, 1);
  case GROVE_FORM_PATTERN + GROVE_GATHER: return list_all_roots(graph, ctx, 0);
  case GROVE_FORM_PATTERN + GROVE_ALLTOALL: return list_announcements(graph, ctx);
  default: return GROVE_OK; /* pairs already */
  }
}
