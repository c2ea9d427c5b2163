/* Set-up: the graph is judged, and every root learns of its leaves. Each rank sends, to every rank
 * that owns one of its roots, the list of their indices; the owners do not know from whom to expect
 * one, so this is a sparse exchange. Cost: the edges and the neighbours, and a logarithm of ranks.
 */
#include "base/group.h"
#include "forest/forest.h"

#include <stdlib.h>
#include <string.h>

/* A root that does not exist, as its would-be owner sees it. */
typedef struct complaint {
  int64_t source;   /* the rank of the leaf; -1: nothing to complain about */
  int64_t position; /* in the list that it sent */
  int64_t index;
  int64_t nroots;
} complaint;

/* What set-up builds, moved into the forest when all ranks succeeded. */
typedef struct draft {
  grove_groups groups; /* leaves by the rank of their root */
  grove_side leaves, roots;
  grove_index remote, order;
  int nsent, ncame;
  grove_parcel *sent, *came, own; /* lists of root indices, to and from other ranks */
  complaint complaint;
} draft;

static void free_draft(draft *d)
{
  grove_groups_free(&d->groups);
  grove_side_free(&d->leaves);
  grove_side_free(&d->roots);
  grove_index_free(&d->remote);
  grove_index_free(&d->order);
  grove_parcels_free(d->nsent, d->sent);
  grove_parcels_free(d->ncame, d->came);
  free(d->own.data);
}

/* ---- the leaf side: local ---- */

static grove_status group_leaves(const grove_graph *graph, draft *d)
{
  grove_status status = GROVE_OK;
  int *rank = NULL;
  GROVE_NEW(rank, graph->nleaves);
  for (int64_t i = 0; i < graph->nleaves; i++) rank[i] = graph->root[i].rank;
  GROVE_TRY(grove_groups_create(graph->nleaves, rank, &d->groups));
fail:
  free(rank);
  return status;
}

static int ascends(const grove_graph *graph)
{
  for (int64_t i = 1; graph->leaf_index && i < graph->nleaves; i++)
    if (graph->leaf_index[i] <= graph->leaf_index[i - 1]) return 0;
  return 1;
}

static grove_status build_leaf_side(const grove_graph *graph, draft *d)
{
  grove_status status = GROVE_OK;
  const grove_groups *groups = &d->groups;
  int64_t n = graph->nleaves, *list = NULL;
  GROVE_NEW(d->leaves.ranks, groups->count);
  GROVE_NEW(d->leaves.begin, groups->count + 1);
  d->leaves.count = groups->count;
  memcpy(d->leaves.ranks, groups->keys, (size_t)groups->count * sizeof *groups->keys);
  memcpy(d->leaves.begin, groups->begin, (size_t)(groups->count + 1) * sizeof *groups->begin);
  GROVE_NEW(list, n);
  for (int64_t i = 0; i < n; i++)
    list[i] = graph->leaf_index ? graph->leaf_index[groups->order[i]] : groups->order[i];
  GROVE_TRY(grove_index_create(n, list, &d->leaves.slots));
  for (int64_t i = 0; i < n; i++) list[i] = graph->root[groups->order[i]].index;
  GROVE_TRY(grove_index_create(n, list, &d->remote));
  if (!ascends(graph)) GROVE_TRY(grove_index_create(n, groups->order, &d->order));
fail:
  free(list);
  return status;
}

/* ---- the root side: told by the leaves ---- */

/* The indices of one group of roots, in 32 bits where they fit; the first word says which. */
static grove_status write_parcel(const draft *d, int g, grove_parcel *out)
{
  grove_status status = GROVE_OK;
  int64_t begin = d->leaves.begin[g], n = d->leaves.begin[g + 1] - begin, most = 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t index = grove_index_at(&d->remote, begin + i);
    if (index > most) most = index;
  }
  int64_t width = most <= INT32_MAX ? 4 : 8;
  int64_t *data = NULL;
  out->peer = d->leaves.ranks[g];
  out->bytes = (int64_t)sizeof width + n * width;
  GROVE_NEW(data, n + 1);
  data[0] = width;
  int32_t *narrow = (int32_t *)(data + 1);
  for (int64_t i = 0; i < n; i++) {
    if (width == 4)
      narrow[i] = (int32_t)grove_index_at(&d->remote, begin + i);
    else
      data[1 + i] = grove_index_at(&d->remote, begin + i);
  }
  out->data = data;
fail:
  return status;
}

static int64_t parcel_count(const grove_parcel *parcel)
{
  const int64_t *data = parcel->data;
  return (parcel->bytes - (int64_t)sizeof *data) / data[0];
}

/* All groups; the own one needs no message. */
static grove_status write_parcels(draft *d, int rank)
{
  grove_status status = GROVE_OK;
  GROVE_NEW(d->sent, d->leaves.count);
  for (int g = 0; g < d->leaves.count; g++)
    GROVE_TRY(write_parcel(d, g, d->leaves.ranks[g] == rank ? &d->own : &d->sent[d->nsent++]));
fail:
  return status;
}

/* Appends what one parcel says; a root that is not there is noted, not followed. */
static void read_parcel(const grove_parcel *parcel, int64_t nroots, int64_t *list, complaint *bad)
{
  const int64_t *data = parcel->data;
  const int32_t *narrow = (const int32_t *)(data + 1);
  for (int64_t i = 0, n = parcel_count(parcel); i < n; i++) {
    list[i] = data[0] == 4 ? narrow[i] : data[1 + i];
    if (list[i] >= nroots && bad->source < 0) *bad = (complaint){parcel->peer, i, list[i], nroots};
  }
}

static grove_status build_root_side(draft *d, int64_t nroots)
{
  grove_status status = GROVE_OK;
  int n = d->ncame;
  const grove_parcel *parcels = d->came, *own = &d->own;
  int64_t total = own->data ? parcel_count(own) : 0, *list = NULL;
  for (int i = 0; i < n; i++) total += parcel_count(&parcels[i]);
  GROVE_NEW(list, total);
  GROVE_NEW(d->roots.ranks, n + 1);
  GROVE_NEW(d->roots.begin, n + 2);
  int own_to_come = own->data != NULL;
  for (int i = 0; i < n || own_to_come;) {
    int take_own = own_to_come && (i == n || own->peer < parcels[i].peer);
    const grove_parcel *next = take_own ? own : &parcels[i];
    int g = d->roots.count++;
    d->roots.ranks[g] = next->peer;
    read_parcel(next, nroots, list + d->roots.begin[g], &d->complaint);
    d->roots.begin[g + 1] = d->roots.begin[g] + parcel_count(next);
    if (take_own)
      own_to_come = 0;
    else
      i++;
  }
  GROVE_TRY(grove_index_create(total, list, &d->roots.slots));
fail:
  free(list);
  return status;
}

/* All that can be done, and can fail, before the ranks talk. */
static grove_status prepare(const grove_forest *f, draft *d)
{
  grove_status status = GROVE_OK;
  GROVE_TRY(group_leaves(&f->graph, d));
  GROVE_TRY(build_leaf_side(&f->graph, d));
  GROVE_TRY(write_parcels(d, f->ctx->rank));
  GROVE_TRY(grove_parcels_check(f->ctx, d->nsent, d->sent));
fail:
  return status;
}

/* ---- agreement ---- */

/* Only the leaf's rank knows which leaf an owner complains about: it writes the sentence. */
static grove_status explain_complaint(const grove_forest *f, const draft *d, int owner)
{
  grove_status status = GROVE_OK, mine = GROVE_OK;
  grove_context *ctx = f->ctx;
  complaint bad = d->complaint;
  GROVE_TRY(grove_context_tell(ctx, &bad, sizeof bad, owner));
  if (bad.source == ctx->rank) {
    int64_t at = d->leaves.begin[grove_groups_find(&d->groups, owner)] + bad.position;
    mine = grove_error(GROVE_ERR_GRAPH, __FILE__, __LINE__,
                       "rank %d: leaf %lld (entry %lld of its list) is joined to root %lld of rank "
                       "%d, which owns %lld roots (forest '%.100s')",
                       ctx->rank, (long long)grove_index_at(&d->leaves.slots, at),
                       (long long)d->groups.order[at], (long long)bad.index, owner,
                       (long long)bad.nroots, grove_forest_label(f));
  }
  GROVE_TRY(grove_context_agree(ctx, mine, NULL, 0));
fail:
  return status;
}

/* The same kind of graph on every rank, each good (`mine`) as far as its own rank can see. */
static grove_status agree_on_form(const grove_forest *f, grove_status mine)
{
  grove_status status = GROVE_OK;
  const grove_graph *graph = &f->graph;
  int64_t form[4] = {graph->form, -graph->form, graph->n, -graph->n};
  GROVE_TRY(grove_context_agree(f->ctx, mine, form, 4));
  GROVE_CHECK(form[0] == -form[1], GROVE_ERR_GRAPH,
              "the ranks set the graph of forest '%.100s' in different ways: pairs, global numbers "
              "or a pattern must be the same on all",
              grove_forest_label(f));
  GROVE_CHECK(form[0] != GROVE_FORM_PATTERN + GROVE_ALLTOALL || form[2] == -form[3],
              GROVE_ERR_GRAPH,
              "GROVE_ALLTOALL needs the same n on every rank; here it goes from %lld to %lld",
              (long long)-form[3], (long long)form[2]);
fail:
  return status;
}

/* Adds the forest's name to the sentence of a failure. */
static grove_status named(const grove_forest *f, grove_status status)
{
  char sentence[GROVE_SENTENCE_BYTES];
  if (status == GROVE_OK) return GROVE_OK;
  snprintf(sentence, sizeof sentence, "%.800s (forest '%.100s')", grove_last_error(),
           grove_forest_label(f));
  return grove_error_set(status, sentence);
}

/* Everything up to the first exchange, in as few steps as can be: pairs need one. Agreed by all. */
static grove_status get_ready(grove_forest *f, draft *d)
{
  grove_status status = GROVE_OK;
  int pairs = f->graph.form == GROVE_FORM_PAIRS;
  grove_status mine = grove_graph_validate(&f->graph, f->ctx);
  if (mine == GROVE_OK && pairs) mine = prepare(f, d);
  GROVE_TRY(agree_on_form(f, named(f, mine)));
  if (pairs) return GROVE_OK;
  mine = grove_graph_resolve(&f->graph, f->ctx);
  if (mine == GROVE_OK) mine = prepare(f, d);
  GROVE_TRY(grove_context_agree(f->ctx, named(f, mine), NULL, 0));
fail:
  return status;
}

static void adopt(grove_forest *f, draft *d)
{
  f->nroots = f->graph.nroots;
  f->nleaves = f->graph.nleaves;
  f->listed = f->graph.leaf_index != NULL;
  f->leaves = d->leaves;
  f->roots = d->roots;
  f->remote = d->remote;
  f->order = d->order;
  d->leaves = d->roots = (grove_side){0};
  d->remote = d->order = (grove_index){0};
  for (int64_t i = 0; i < f->nleaves; i++) {
    int64_t slot = grove_index_at(&f->leaves.slots, i);
    if (i == 0 || slot < f->leaf_first) f->leaf_first = slot;
    if (slot >= f->leaf_end) f->leaf_end = slot + 1;
  }
  grove_graph_free(&f->graph);
  f->serial = f->ctx->forests++;
  f->ready = 1;
}

grove_status grove_forest_set_up(grove_forest *f)
{
  grove_status status = GROVE_OK;
  draft d = {.complaint = {.source = -1}};
  GROVE_CHECK(f, GROVE_ERR_ARG, "grove_forest_set_up: the forest is NULL");
  if (f->ready) return GROVE_OK;
  f->ctx->call = "grove_forest_set_up";
  GROVE_TRY(get_ready(f, &d));
  GROVE_TRY(grove_context_exchange(f->ctx, d.nsent, &d.sent, &d.ncame, &d.came));
  grove_status mine = build_root_side(&d, f->graph.nroots);
  /* The maximum over the ranks is the lowest rank that complains. */
  int64_t complaining = d.complaint.source >= 0 ? f->ctx->size - f->ctx->rank : 0;
  GROVE_TRY(grove_context_agree(f->ctx, mine, &complaining, 1));
  if (complaining > 0) GROVE_TRY(explain_complaint(f, &d, f->ctx->size - (int)complaining));
  adopt(f, &d);
fail:
  free_draft(&d);
  return status;
}
