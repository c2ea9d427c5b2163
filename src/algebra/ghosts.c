/* Ghosts: from the global numbers that a rank uses to local ones. Every rank owns consecutive
 * numbers, so a scan of their counts tells it which are its own. The others, sorted and each once,
 * are its ghosts; they become the leaves of a forest by global number, which finds their owners.
 */
#include "algebra/algebra.h"
#include "base/distinct.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

typedef struct work {
  int64_t nowned, n;
  const int64_t *global;
  int64_t first;  /* of the numbers that this rank owns */
  int64_t *ghost; /* ascending */
  grove_edges edges;
} work;

static grove_status check_given(const grove_making *m, const work *w)
{
  GROVE_PASS_CHECK(w->nowned >= 0 && w->n >= 0, GROVE_ERR_ARG,
                   "rank %d: %s: nowned is %lld and n is %lld; neither may be negative",
                   m->ctx->rank, m->call, (long long)w->nowned, (long long)w->n);
  GROVE_PASS_CHECK(w->global || w->n == 0, GROVE_ERR_ARG,
                   "rank %d: %s: the list of %lld global numbers is NULL", m->ctx->rank, m->call,
                   (long long)w->n);
  /* So that sums over the ranks fit. */
  GROVE_PASS_CHECK(w->nowned <= INT64_MAX / 2 / m->ctx->size, GROVE_ERR_UNSUPPORTED,
                   "rank %d: %s: %lld numbers on each of %d ranks are more than 2^62", m->ctx->rank,
                   m->call, (long long)w->nowned, m->ctx->size);
  return GROVE_OK;
}

static int is_owned(const work *w, int64_t number)
{
  return number >= w->first && number - w->first < w->nowned;
}

/* Counts the numbers of other ranks; they may repeat. */
static grove_status count_foreign(const grove_making *m, const work *w, int64_t total, int64_t *out)
{
  *out = 0;
  for (int64_t i = 0; i < w->n; i++) {
    GROVE_PASS_CHECK(w->global[i] >= 0 && w->global[i] < total, GROVE_ERR_ARG,
                     "rank %d: %s: entry %lld of the list is global number %lld, but there are "
                     "%lld numbers on all ranks together",
                     m->ctx->rank, m->call, (long long)i, (long long)w->global[i],
                     (long long)total);
    *out += !is_owned(w, w->global[i]);
  }
  return GROVE_OK;
}

/* Sorts them; ghost k is leaf slot nowned + k. */
static grove_status collect_ghosts(const grove_making *m, work *w, int64_t total)
{
  int64_t count = 0, nforeign = 0;
  GROVE_PASS(count_foreign(m, w, total, &nforeign));
  GROVE_PASS_ROOM(w->ghost, nforeign);
  for (int64_t i = 0; count < nforeign; i++)
    if (!is_owned(w, w->global[i])) w->ghost[count++] = w->global[i];
  GROVE_PASS(grove_distinct_sort(&count, w->ghost));
  GROVE_PASS_ROOM(w->edges.leaf, count);
  for (int64_t k = 0; k < count; k++) w->edges.leaf[k] = w->nowned + k;
  w->edges.nroots = w->nowned;
  w->edges.count = count;
  return GROVE_OK;
}

/* `local` may be `global`, and `ghost` too: nothing of that is read after it was written. */
static void tell_numbers(const work *w, int64_t *local, int64_t *nghosts, int64_t *ghost)
{
  int64_t count = w->edges.count;
  for (int64_t i = 0; local && i < w->n; i++) {
    int64_t number = w->global[i];
    local[i] = is_owned(w, number) ? number - w->first
                                   : w->nowned + grove_order_below(count, w->ghost, number);
  }
  if (nghosts) *nghosts = count;
  if (ghost && count > 0) memcpy(ghost, w->ghost, (size_t)count * sizeof *ghost);
}

static grove_status find_first(grove_making *m, work *w, int64_t *total)
{
  GROVE_PASS(grove_context_enter_call(m->ctx, m->call));
  grove_status status = grove_context_offsets(m->ctx, w->nowned, &w->first, total);
  grove_context_leave_call(m->ctx);
  return status;
}

grove_status grove_ghosts(grove_context *ctx, int64_t nowned, int64_t n, const int64_t *global,
                          int64_t *local, int64_t *nghosts, int64_t *ghost, grove_forest **out)
{
  grove_status status = GROVE_OK;
  grove_making m = {0};
  int64_t total = 0;
  work w = {.nowned = nowned, .n = n, .global = global};
  grove_status mine = grove_making_open_on(&m, "grove_ghosts", ctx, out);
  if (mine == GROVE_OK) mine = check_given(&m, &w);
  if (mine == GROVE_OK) mine = grove_forest_set_name(m.forest, "ghosts");
  GROVE_TRY(grove_making_agree(&m, mine, NULL, 0));
  GROVE_TRY(find_first(&m, &w, &total));
  mine = collect_ghosts(&m, &w, total);
  GROVE_TRY(grove_making_close_global(&m, mine, &w.edges, w.ghost, out));
  tell_numbers(&w, local, nghosts, ghost);
fail:
  grove_making_drop(&m);
  grove_edges_free(&w.edges);
  free(w.ghost);
  return grove_verdict(m.ctx, status);
}
