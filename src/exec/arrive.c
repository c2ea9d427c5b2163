/* Which slots have come. Slots that the same letters bring come together: they are a *batch*. In a
 * bcast, the slots of one letter are a batch. In a reduce, the roots that the same ranks contribute
 * to are a batch. They have come when the last contribution is combined.
 *
 * Whoever drives notes what has been unpacked, and appends complete batches to a list. Whoever
 * looks reads the list without a lock. A position in the list says how much was told.
 */
#include "exec/partial.h"

#include <stdlib.h>
#include <string.h>

typedef struct batch {
  grove_index slots; /* ascending; a view into the slots of all batches */
  int feeders;       /* letters that bring it, ... */
  int left;          /* ... and those that have not come */
  int here;          /* atomic */
} batch;

struct grove_arriving {
  int nfeeders;
  int *first_feeder; /* of each stage: its receives, then its self edges */
  int *feed_begin;   /* by feeder: ... */
  int *feeds;        /* ... its batches */
  int n;
  batch *batches;
  grove_index slots;
  int *order;    /* complete batches, in the order of completion */
  int64_t *ends; /* of each of those: slots of it and of all before it */
  int complete;  /* how many; atomic, and so is: */
  int64_t told;  /* slots of them that were told */
};

/* ---- what comes for whom ---- */

/* One slot that one feeder brings. */
typedef struct delivery {
  int64_t slot;
  int feeder;
} delivery;

/* A slot, and all feeders that bring it. */
typedef struct target {
  int64_t slot;
  const delivery *by;
  int feeders;
} target;

typedef struct collection {
  const grove_transfer *op;
  grove_array array;
  int64_t *roots; /* of a gather: the root of each place; NULL: places are slots */
  int64_t n;
  delivery *list; /* NULL: only count */
} collection;

static void collect_slots(collection *c, const grove_index *slots, int feeder)
{
  for (int64_t i = 0; i < slots->count; i++, c->n++) {
    if (!c->list) continue;
    int64_t slot = grove_index_at(slots, i);
    c->list[c->n] = (delivery){c->roots ? c->roots[slot] : slot, feeder};
  }
}

static void collect_section(collection *c, const grove_section *p, int feeder)
{
  if (p->array == c->array) collect_slots(c, &p->shape.slots, feeder);
}

static void collect_arrivals(collection *c, const grove_arriving *a)
{
  c->n = 0;
  for (int s = 0; s < c->op->nstages; s++) {
    const grove_wired_stage *w = &c->op->wiring->stages[s];
    for (int i = 0; i < w->nreceives; i++)
      for (int k = 0; k < w->letters[i].nsections; k++)
        collect_section(c, &w->letters[i].sections[k], a->first_feeder[s] + i);
    for (int k = 0; k < w->nkeeps; k++)
      collect_section(c, &w->keeps[2 * k + 1], a->first_feeder[s] + w->nreceives);
  }
  const grove_lane *lane = &c->op->wiring->lanes[0];
  if (lane->whole && lane->key.unit_bytes > 0)
    collect_slots(c, &lane->fetched.slots, a->nfeeders - 1);
  collect_slots(c, &lane->landing.slots, a->nfeeders - 1);
}

static int by_slot(const void *a, const void *b)
{
  const delivery *x = a, *y = b;
  if (x->slot != y->slot) return (x->slot > y->slot) - (x->slot < y->slot);
  return (x->feeder > y->feeder) - (x->feeder < y->feeder);
}

static int compare_feeders(const target *x, const target *y)
{
  if (x->feeders != y->feeders) return (x->feeders > y->feeders) - (x->feeders < y->feeders);
  for (int k = 0; k < x->feeders; k++)
    if (x->by[k].feeder != y->by[k].feeder) return x->by[k].feeder > y->by[k].feeder ? 1 : -1;
  return 0;
}

static int by_feeders(const void *a, const void *b)
{
  const target *x = a, *y = b;
  int differs = compare_feeders(x, y);
  return differs ? differs : (x->slot > y->slot) - (x->slot < y->slot);
}

/* Slots with all their feeders, sorted by these; returns how many. Drops doubles from the list. */
static int64_t find_targets(collection *c, target *targets)
{
  int64_t n = 0, kept = 0;
  qsort(c->list, (size_t)c->n, sizeof *c->list, by_slot);
  for (int64_t i = 0; i < c->n; i++)
    if (i == 0 || by_slot(&c->list[i], &c->list[i - 1]) != 0) c->list[kept++] = c->list[i];
  c->n = kept;
  for (int64_t i = 0; i < c->n; i++) {
    if (i == 0 || c->list[i].slot != c->list[i - 1].slot)
      targets[n++] = (target){c->list[i].slot, &c->list[i], 0};
    targets[n - 1].feeders++;
  }
  qsort(targets, (size_t)n, sizeof *targets, by_feeders);
  return n;
}

/* ---- batches ---- */

static int64_t count_batches(const target *targets, int64_t n)
{
  int64_t batches = 0;
  for (int64_t i = 0; i < n; i++)
    batches += i == 0 || compare_feeders(&targets[i], &targets[i - 1]) != 0;
  return batches;
}

/* From targets in their order: batch b has those from begin[b] on. */
static grove_status make_batches(grove_arriving *a, const target *targets, int64_t n,
                                 int64_t *begin)
{
  int64_t most = 0;
  for (int64_t i = 0; i < n; i++)
    if (targets[i].slot > most) most = targets[i].slot;
  GROVE_PASS(grove_index_reserve(n, 0, most, &a->slots));
  for (int64_t i = 0; i < n; i++) {
    grove_index_put(&a->slots, i, targets[i].slot);
    if (i == 0 || compare_feeders(&targets[i], &targets[i - 1]) != 0) begin[a->n++] = i;
  }
  begin[a->n] = n;
  for (int b = 0; b < a->n; b++) {
    a->batches[b].slots = grove_index_view(&a->slots, begin[b], begin[b + 1] - begin[b]);
    a->batches[b].feeders = targets[begin[b]].feeders;
  }
  return GROVE_OK;
}

/* By feeder, its batches. */
static void make_feeds(grove_arriving *a, const target *targets, const int64_t *begin)
{
  int *at = a->feed_begin;
  for (int b = 0; b < a->n; b++)
    for (int k = 0; k < a->batches[b].feeders; k++) at[targets[begin[b]].by[k].feeder + 2]++;
  for (int f = 2; f < a->nfeeders + 2; f++) at[f] += at[f - 1];
  for (int b = 0; b < a->n; b++)
    for (int k = 0; k < a->batches[b].feeders; k++)
      a->feeds[at[targets[begin[b]].by[k].feeder + 1]++] = b;
}

static grove_status sort_batches(grove_arriving *a, collection *c)
{
  grove_status status = GROVE_OK;
  target *targets = NULL;
  int64_t *begin = NULL, feeds = 0;
  GROVE_ROOM(targets, c->n);
  int64_t n = find_targets(c, targets), batches = count_batches(targets, n);
  for (int64_t i = 0; i < n; i++)
    if (i == 0 || compare_feeders(&targets[i], &targets[i - 1]) != 0) feeds += targets[i].feeders;
  GROVE_ROOM(begin, batches + 1);
  GROVE_NEW_ALL(GROVE_WISH(a->batches, batches), GROVE_WISH(a->ends, batches),
                GROVE_WISH(a->order, batches), GROVE_WISH(a->feed_begin, a->nfeeders + 2),
                GROVE_WISH(a->feeds, feeds));
  GROVE_TRY(make_batches(a, targets, n, begin));
  make_feeds(a, targets, begin);
fail:
  free(targets);
  free(begin);
  return status;
}

/* The root of each place of a multi-root array. */
static grove_status find_roots(const grove_forest *f, int64_t **out)
{
  grove_status status = GROVE_OK;
  const grove_index *slots = &f->roots.slots;
  int64_t *degree = NULL, *roots = NULL, n = 0;
  GROVE_NEW(degree, f->nroots);
  GROVE_ROOM(roots, slots->count);
  for (int64_t e = 0; e < slots->count; e++) degree[grove_index_at(slots, e)]++;
  for (int64_t r = 0; r < f->nroots; r++)
    for (int64_t k = 0; k < degree[r]; k++) roots[n++] = r;
  *out = roots;
fail:
  free(degree);
  return status;
}

static void count_feeders(const grove_transfer *op, grove_arriving *a)
{
  for (int s = 0; s < op->nstages; s++) {
    a->first_feeder[s] = a->nfeeders;
    a->nfeeders += op->stages[s].nreceives + 1;
  }
  a->nfeeders++; /* edges that all meet their roots at once, or places their slots */
}

static grove_status make_arriving(const grove_transfer *op, grove_arriving **out)
{
  grove_status status = GROVE_OK;
  grove_arriving *a = NULL;
  const grove_request *r = &op->fields[0].request;
  int forward = r->operation == GROVE_BCAST || r->operation == GROVE_DISTRIBUTE;
  collection c = {.op = op, .array = forward ? GROVE_ARRAY_LEAF : GROVE_ARRAY_ROOT};
  GROVE_NEW(a, 1);
  GROVE_NEW(a->first_feeder, op->nstages);
  count_feeders(op, a);
  if (r->operation == GROVE_COLLECT) GROVE_TRY(find_roots(r->forest, &c.roots));
  collect_arrivals(&c, a);
  GROVE_ROOM(c.list, c.n);
  collect_arrivals(&c, a);
  GROVE_TRY(sort_batches(a, &c));
  *out = a;
  a = NULL;
fail:
  grove_arriving_free(&a);
  free(c.roots);
  free(c.list);
  return status;
}

void grove_arriving_free(grove_arriving **pointer)
{
  grove_arriving *a = *pointer;
  if (!a) return;
  grove_index_free(&a->slots);
  free(a->first_feeder);
  free(a->batches); /* and the other arrays */
  free(a);
  *pointer = NULL;
}

/* ---- under way ---- */

static void note_feeder(grove_arriving *a, int feeder)
{
  for (int k = a->feed_begin[feeder]; k < a->feed_begin[feeder + 1]; k++) {
    batch *b = &a->batches[a->feeds[k]];
    if (--b->left > 0) continue;
    int64_t before = a->complete > 0 ? a->ends[a->complete - 1] : 0;
    a->order[a->complete] = a->feeds[k];
    a->ends[a->complete] = before + b->slots.count;
    __atomic_store_n(&b->here, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&a->complete, a->complete + 1, __ATOMIC_RELEASE);
  }
}

static void note_come(grove_arriving *a, int stage, int i)
{
  note_feeder(a, a->first_feeder[stage] + i);
}

void grove_arriving_note(grove_transfer *op, int stage, int i)
{
  note_come(op->arriving, stage, i);
}

void grove_arriving_note_met(grove_transfer *op)
{
  note_feeder(op->arriving, op->arriving->nfeeders - 1);
}

static void forget_arrivals(grove_arriving *a)
{
  for (int b = 0; b < a->n; b++) {
    a->batches[b].left = a->batches[b].feeders;
    __atomic_store_n(&a->batches[b].here, 0, __ATOMIC_RELAXED);
  }
  __atomic_store_n(&a->complete, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&a->told, 0, __ATOMIC_RELAXED);
}

void grove_arriving_begin(grove_transfer *op)
{
  forget_arrivals(op->arriving);
}

/* What came of the current or the last start before anybody asked. */
static void catch_up(const grove_transfer *op, grove_arriving *a)
{
  int over = grove_op_state_of(&op->base) != GROVE_OP_ACTIVE;
  for (int k = 0; k < op->nstages; k++) {
    const grove_bound_stage *s = &op->stages[k];
    int entered = over || k <= op->current;
    for (int i = 0; i < s->nreceives && entered; i++)
      if (over || grove_bound_letter_of(s, i)->state == GROVE_LETTER_DONE) note_come(a, k, i);
    if (entered && (over || s->own.state == GROVE_LETTER_DONE)) note_come(a, k, s->nreceives);
  }
  const grove_lane *lane = &op->wiring->lanes[0];
  int last = lane->landing.units > 0 ? op->nstages - 1 : lane->meets_at;
  if (over || (!op->plain && op->met > last)) note_feeder(a, a->nfeeders - 1);
}

grove_status grove_arriving_create(grove_transfer *op)
{
  grove_arriving *a = NULL;
  GROVE_PASS(make_arriving(op, &a));
  forget_arrivals(a);
  if (op->sequence > 0) catch_up(op, a);
  for (int k = 0; k < op->nstages; k++) op->stages[k].tells = 1;
  if (op->plain) op->plain = op->met = op->meeting = 0;
  op->starter = grove_this_thread();
  __atomic_store_n(&op->arriving, a, __ATOMIC_RELEASE); /* threads may look without the lock */
  return GROVE_OK;
}

/* ---- looking ---- */

/* May this thread advance an operation whose starting thread is unknown? */
static int is_only_caller(void)
{
  int level = MPI_THREAD_SINGLE, is_main = 1;
  if (MPI_Query_thread(&level) != MPI_SUCCESS || level > MPI_THREAD_FUNNELED) return 0;
  if (level == MPI_THREAD_FUNNELED && MPI_Is_thread_main(&is_main) != MPI_SUCCESS) return 0;
  return is_main;
}

/* From now on, what has come is told, if this thread may do so. After the wait, one thread at a
 * time may. */
static grove_status begin_telling(grove_transfer *op)
{
  grove_status status = GROVE_OK;
  grove_context *ctx = op->base.ctx;
  grove_op_state state = grove_op_state_of(&op->base);
  int over = state == GROVE_OP_IDLE || state == GROVE_OP_TOLD;
  if (__atomic_load_n(&op->arriving, __ATOMIC_ACQUIRE)) return GROVE_OK;
  if (!ctx->lock && !over && !is_only_caller()) return GROVE_OK;
  grove_context_enter(ctx);
  if (!op->arriving) status = grove_arriving_create(op);
  grove_context_leave(ctx);
  return status;
}

static void poll_arriving(grove_transfer *op)
{
  grove_context *ctx = op->base.ctx;
  if (grove_op_state_of(&op->base) != GROVE_OP_ACTIVE || !grove_transfer_try(op)) return;
  grove_context_progress(ctx);
  if (++op->looks % GROVE_NUDGE_EVERY == 0) grove_context_nudge(ctx);
  grove_context_leave(ctx);
}

static grove_status check_places_asked(const grove_transfer *op, const char *call)
{
  const grove_op *base = &op->base;
  if (op->fields[0].request.operation == GROVE_FETCH) return grove_op_no_parts(base, call);
  GROVE_PASS_CHECK(op->sequence > 0, GROVE_ERR_STATE, "rank %d: %s: this %s was not started",
                   base->ctx->rank, call, grove_op_label(base));
  GROVE_PASS_CHECK(!grove_context_outlives_mpi(base->ctx), GROVE_ERR_STATE,
                   "rank %d: %s: MPI_Finalize was called while this %s was under way",
                   base->ctx->rank, call, grove_op_label(base));
  return GROVE_OK;
}

static int have_come(const grove_transfer *op, int64_t first, int64_t end)
{
  const grove_arriving *a = op->arriving;
  if (grove_op_state_of(&op->base) != GROVE_OP_ACTIVE) return 1;
  if (!a) return 0;
  for (int b = 0; b < a->n; b++) {
    const batch *of = &a->batches[b];
    if (__atomic_load_n(&of->here, __ATOMIC_ACQUIRE)) continue;
    if (grove_index_below(&of->slots, first) < grove_index_below(&of->slots, end)) return 0;
  }
  return 1;
}

static grove_status check_places(const grove_transfer *op, int64_t first, int64_t count)
{
  const grove_request *r = &op->fields[0].request;
  int forward = r->operation == GROVE_BCAST || r->operation == GROVE_DISTRIBUTE;
  int64_t most = forward ? INT64_MAX : r->forest->nroots;
  GROVE_PASS_CHECK(
    first >= 0 && count >= 0 && count <= most && first <= most - count, GROVE_ERR_ARG,
    "rank %d: grove_arrived: %lld %ss from %lld on, of this %s, which has %lld", op->base.ctx->rank,
    (long long)count, forward ? "leaf slot" : "root", (long long)first, grove_op_label(&op->base),
    (long long)(forward ? r->forest->nleaves : r->forest->nroots));
  return GROVE_OK;
}

grove_status grove_transfer_arrived(grove_op *base, int64_t first, int64_t count, int *yes)
{
  grove_transfer *op = (grove_transfer *)base;
  GROVE_PASS(check_places_asked(op, "grove_arrived"));
  GROVE_PASS(check_places(op, first, count));
  GROVE_PASS(begin_telling(op));
  if (!have_come(op, first, first + count)) poll_arriving(op);
  *yes = have_come(op, first, first + count);
  return GROVE_OK;
}

/* The next run that nobody was told of; 0 if there is none. */
static int claim_run(grove_arriving *a, int64_t *first, int64_t *count)
{
  int64_t from = __atomic_load_n(&a->told, __ATOMIC_RELAXED);
  for (;;) {
    int complete = __atomic_load_n(&a->complete, __ATOMIC_ACQUIRE), k = 0;
    while (k < complete && a->ends[k] <= from) k++;
    if (k == complete) return 0;
    const grove_index *slots = &a->batches[a->order[k]].slots;
    int64_t at = from - (a->ends[k] - slots->count), end = at + 1;
    if (grove_index_consecutive(slots)) end = slots->count;
    while (end < slots->count && grove_index_at(slots, end) == grove_index_at(slots, end - 1) + 1)
      end++;
    *first = grove_index_at(slots, at);
    *count = end - at;
    if (__atomic_compare_exchange_n(&a->told, &from, from + *count, 0, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
      return 1;
  }
}

grove_status grove_transfer_arrivals(grove_op *base, int64_t *first, int64_t *count)
{
  grove_transfer *op = (grove_transfer *)base;
  GROVE_PASS(check_places_asked(op, "grove_arrivals"));
  GROVE_PASS(begin_telling(op));
  *first = *count = 0;
  if (!op->arriving || claim_run(op->arriving, first, count)) return GROVE_OK;
  poll_arriving(op);
  if (!claim_run(op->arriving, first, count)) *first = *count = 0;
  return GROVE_OK;
}
