/* Which of the user's data letters wait for. A letter that carries such data has one more input,
 * and a count of the slots that are not final yet. The mark of the last slot makes the letter
 * *due*. A mark looks up its range in the slots of each letter, which ascend here.
 *
 * Groups. Some carriers let a letter leave in parts. For these, the context's aggregator may cut
 * the slots of a large letter into groups, and the first groups leave when they are complete. They
 * leave in the order of the letter: then the messages follow each other, and the receiver need not
 * be told where they belong.
 */
#include "exec/partial.h"

#include "parts/aggregator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A letter, or the self edges of a stage, that waits for slots of the user's. */
typedef struct grove_watch {
  grove_bound_letter *bound;
  grove_index slots; /* ascending */
  int owned;         /* the list is not the plan's */
  int64_t least, most;
  int shift;        /* from the least slot on, 2 to this power slots are a span, and ... */
  int64_t *entries; /* ... this many entries precede each span; NULL: slots are consecutive */
  int ngroups;
  int64_t *ends; /* of each group: slots */
  int64_t *left; /* slots of each group that are not final yet; atomic */
  int64_t unit_bytes;
  int open; /* for whoever drives: the first groups, as far as they are complete */
} watch;

/* ---- making it ---- */

/* A letter is taken to have at most this many parts, which the aggregator makes into groups. Nobody
 * knows how the user will mark it. */
enum { PARTS_OF_LETTER = 16 };

static grove_status follow_plan(watch *w, const grove_part_plan *plan, int64_t parts)
{
  w->ngroups = (int)plan->ngroups;
  GROVE_PASS_NEW_ALL(GROVE_WISH(w->ends, w->ngroups), GROVE_WISH(w->left, w->ngroups));
  for (int g = 0; g < w->ngroups; g++) w->ends[g] = plan->first[g + 1] * w->slots.count / parts;
  return GROVE_OK;
}

static int64_t parts_of(const watch *w)
{
  return w->slots.count < PARTS_OF_LETTER ? w->slots.count : PARTS_OF_LETTER;
}

/* May letter i leave in parts? Then its units are its slots, in ascending order. */
static int is_cut(const grove_transfer *op, const grove_bound_stage *s, int i, const watch *w)
{
  const grove_letter *letter = &s->wired->letters[i];
  const grove_carrier_kind *kind = op->wiring->carriers[s->wired->links[i].carrier];
  if (w->owned || letter->sections->shape.starts.count > 0) return 0;
  if (op->wiring->staged || op->nspaces > 0 || letter->inputs > 0) return 0;
  if (kind->fast)
    return s->wired->way[i] == GROVE_SHM_COPIED && letter->bytes > op->wiring->fragment;
  if (!kind->takes_parts) return 0;
  return letter->bytes <= s->wired->hauls[s->wired->links[i].carrier].carriage->chunk;
}

static grove_status cut_letter(const grove_transfer *op, const grove_bound_stage *s, int i,
                               watch *w, const char **aggregator)
{
  grove_status status = GROVE_OK;
  const grove_context *ctx = op->base.ctx;
  const grove_letter *letter = &s->wired->letters[i];
  grove_part_plan plan = {0};
  int64_t parts = parts_of(w);
  const grove_part_question question = {.parts = parts,
                                        .part_bytes = letter->data / parts,
                                        .where =
                                          grove_price_locality(&ctx->topo, ctx->rank, letter->peer),
                                        .machine = ctx->machine,
                                        .options = &ctx->options};
  GROVE_TRY(grove_aggregator_of(ctx->options.aggregator)->plan(&question, &plan));
  GROVE_TRY(follow_plan(w, &plan, parts));
  *aggregator = plan.aggregator;
fail:
  grove_part_plan_free(&plan);
  return status;
}

/* The letter leaves at once. */
static grove_status keep_whole(watch *w)
{
  int64_t ends[2] = {0, 1};
  return follow_plan(w, &(grove_part_plan){.ngroups = 1, .first = ends}, 1);
}

/* A binary search would wait for several loads, one after the other. Spans leave few. */
enum { SLOTS_OF_SPAN = 16 };

static grove_status measure_watch(watch *w)
{
  w->least = grove_index_at(&w->slots, 0);
  w->most = grove_index_at(&w->slots, w->slots.count - 1);
  if (grove_index_consecutive(&w->slots)) return GROVE_OK;
  int64_t range = w->most + 1 - w->least, wanted = w->slots.count / SLOTS_OF_SPAN + 1;
  while (range >> w->shift > wanted) w->shift++;
  int64_t spans = (range >> w->shift) + 1;
  GROVE_PASS_NEW(w->entries, spans + 1);
  for (int64_t i = 0; i < w->slots.count; i++)
    w->entries[((grove_index_at(&w->slots, i) - w->least) >> w->shift) + 1]++;
  for (int64_t k = 0; k < spans; k++) w->entries[k + 1] += w->entries[k];
  return GROVE_OK;
}

static grove_status add_watch(grove_readying *r, watch **out)
{
  GROVE_PASS_GROW(r->watches, r->n, 1);
  *out = &r->watches[r->n++];
  **out = (watch){0};
  return GROVE_OK;
}

static grove_status watch_letter(grove_transfer *op, grove_bound_stage *s, int i, grove_readying *r)
{
  watch *w = NULL;
  GROVE_PASS(add_watch(r, &w));
  const grove_section *p = s->wired->letters[i].sections;
  w->bound = grove_bound_letter_of(s, i);
  w->bound->single = 0; /* it waits for something */
  w->unit_bytes = p->unit_bytes;
  GROVE_PASS(grove_index_ascend(&p->shape.slots, &w->slots, &w->owned));
  GROVE_PASS(measure_watch(w));
  GROVE_PASS(is_cut(op, s, i, w) ? cut_letter(op, s, i, w, &r->aggregator) : keep_whole(w));
  r->messages += w->ngroups;
  return GROVE_OK;
}

/* How many slots the self edges of a stage take from the array; with `list`, also which ones. */
static int64_t list_kept(const grove_wired_stage *w, grove_array source, int64_t *list)
{
  int64_t n = 0;
  for (int k = 0; k < w->nkeeps; k++) {
    const grove_section *from = &w->keeps[2 * k];
    for (int64_t i = 0; from->array == source && i < from->shape.slots.count; i++, n++)
      if (list) list[n] = grove_index_at(&from->shape.slots, i);
  }
  return n;
}

/* Watches self edges into this rank's hub, share by share. */
static grove_status watch_gathering(const grove_transfer *op, int stage, grove_readying *r)
{
  grove_gathering **g = &r->gatherings[r->ngatherings++];
  GROVE_PASS(grove_gathering_create(op, stage, g));
  for (int k = 0; k < grove_gathering_size(*g); k++) {
    watch *w = NULL;
    GROVE_PASS(add_watch(r, &w));
    w->bound = grove_gathering_marks(*g, k);
    GROVE_PASS(grove_index_ascend(grove_gathering_slots(*g, k), &w->slots, &w->owned));
    GROVE_PASS(measure_watch(w));
    GROVE_PASS(keep_whole(w));
  }
  return GROVE_OK;
}

static grove_status watch_own(grove_bound_stage *s, grove_array source, grove_readying *r)
{
  grove_status status = GROVE_OK;
  watch *w = NULL;
  int64_t *list = NULL, n = list_kept(s->wired, source, NULL);
  grove_index slots = {0};
  GROVE_TRY(add_watch(r, &w));
  w->bound = &s->own;
  GROVE_ROOM(list, n);
  list_kept(s->wired, source, list);
  GROVE_TRY(grove_index_create(n, list, &slots));
  GROVE_TRY(grove_index_ascend(&slots, &w->slots, &w->owned));
  if (w->owned)
    grove_index_free(&slots);
  else
    w->owned = 1;
  GROVE_TRY(measure_watch(w));
  GROVE_TRY(keep_whole(w));
fail:
  free(list);
  return status;
}

/* Does a send of this number read the array? */
static int reads_source(const grove_wired_stage *w, const grove_haul *haul, int j,
                        grove_array source)
{
  return w->letters[haul->letters[j]].sections->array == source;
}

static grove_status watch_stage(grove_transfer *op, grove_bound_stage *s, grove_readying *r)
{
  grove_array source = grove_readying_source(op);
  for (int c = 0; c < s->nhauls; c++) {
    const grove_haul *haul = s->hauls[c].wired;
    for (int j = haul->nreceives; j < grove_haul_size(haul); j++)
      if (reads_source(s->wired, haul, j, source))
        GROVE_PASS(watch_letter(op, s, haul->letters[j], r));
  }
  int stage = (int)(s - op->stages);
  if (grove_gathering_is_possible(op, stage))
    GROVE_PASS(watch_gathering(op, stage, r));
  else if (list_kept(s->wired, source, NULL) > 0)
    GROVE_PASS(watch_own(s, source, r));
  return GROVE_OK;
}

/* Roots, places of the multi-root array, or leaves. */
static grove_status find_marked_places(const grove_transfer *op, grove_readying *r)
{
  const grove_request *request = &op->fields[0].request;
  const grove_forest *f = request->forest;
  if (grove_readying_source(op) == GROVE_ARRAY_LEAF)
    return grove_index_ascend(&f->leaves.slots, &r->places, &r->places_owned);
  r->places.count = request->operation == GROVE_BCAST ? f->nroots : f->roots.slots.count;
  return GROVE_OK;
}

/* MPI sends longer messages only after asking the receiver, or in fragments, and rings have room
 * for this much. A rank that computes neither takes what comes nor goes on with what leaves,
 * unless somebody calls. */
enum { LONG_LETTER = 4096 };

static int has_long_letters(const grove_transfer *op)
{
  for (int k = 0; k < op->nstages; k++)
    for (int i = 0; i < op->stages[k].wired->nletters; i++)
      if (op->stages[k].wired->letters[i].bytes > LONG_LETTER) return 1;
  return 0;
}

void grove_readying_free(grove_readying **pointer)
{
  grove_readying *r = *pointer;
  if (!r) return;
  for (int k = 0; k < r->n; k++) {
    if (r->watches[k].owned) grove_index_free(&r->watches[k].slots);
    free(r->watches[k].entries);
    free(r->watches[k].ends); /* and left */
  }
  for (int k = 0; r->gatherings && k < r->ngatherings; k++) grove_gathering_free(&r->gatherings[k]);
  free(r->gatherings);
  free(r->watches);
  if (r->places_owned) grove_index_free(&r->places);
  grove_claims_free(&r->claims);
  free(r);
  *pointer = NULL;
}

grove_status grove_readying_create(grove_transfer *op)
{
  grove_status status = GROVE_OK;
  grove_readying *r = NULL;
  GROVE_NEW(r, 1);
  GROVE_NEW(r->gatherings, op->nstages);
  GROVE_TRY(find_marked_places(op, r));
  GROVE_TRY(grove_claims_create(r->places.count, &r->claims));
  for (int k = 0; k < op->nstages; k++) GROVE_TRY(watch_stage(op, &op->stages[k], r));
  r->needs_calls = has_long_letters(op);
  if (r->needs_calls) grove_context_expect_deadlines(op->base.ctx);
  op->readying = r;
  op->plain = 0;
  return GROVE_OK;
fail:
  grove_readying_free(&r);
  return status;
}

/* ---- a start ---- */

void grove_readying_begin(grove_transfer *op)
{
  grove_readying *r = op->readying;
  r->by_parts = r->asked;
  r->due = 0;
  for (int k = 0; k < r->n; k++) r->watches[k].bound->open = r->watches[k].bound->gone = 0;
  if (!r->by_parts) return;
  grove_claims_begin(r->claims);
  for (int k = 0; k < r->ngatherings; k++) grove_gathering_begin(op, r->gatherings[k]);
  for (int k = 0; k < r->n; k++) {
    watch *w = &r->watches[k];
    w->bound->missing++;
    w->open = 0;
    for (int g = 0; g < w->ngroups; g++)
      __atomic_store_n(&w->left[g], w->ends[g] - (g > 0 ? w->ends[g - 1] : 0), __ATOMIC_RELAXED);
  }
}

/* ---- marks ---- */

/* How many slots are less than `value`, which is at most one more than the last slot. */
static int64_t count_slots_below(const watch *w, int64_t value)
{
  if (!w->entries || value <= w->least) return grove_index_below(&w->slots, value);
  int64_t span = (value - w->least) >> w->shift, begin = w->entries[span];
  const grove_index of_span = grove_index_slice(&w->slots, begin, w->entries[span + 1] - begin);
  return begin + grove_index_below(&of_span, value);
}

/* Slots first .. end-1 are final. Is a group complete? */
static int note_final(watch *w, int64_t first, int64_t end)
{
  int news = 0, g = 0;
  if (end <= w->least || first > w->most) return 0;
  int64_t at = count_slots_below(w, first),
          stop = count_slots_below(w, end <= w->most ? end : w->most + 1);
  while (at < stop) {
    while (w->ends[g] <= at) g++;
    int64_t n = (w->ends[g] < stop ? w->ends[g] : stop) - at;
    news |= __atomic_fetch_sub(&w->left[g], n, __ATOMIC_ACQ_REL) == n;
    at += n;
  }
  return news;
}

int grove_readying_note_final(grove_readying *r, int64_t first, int64_t end)
{
  int news = 0;
  for (int k = 0; k < r->n; k++) news |= note_final(&r->watches[k], first, end);
  return news;
}

/* ---- leaving ---- */

/* Opens the first groups, as far as they are complete. */
static void open_watch_groups(watch *w)
{
  int before = w->open;
  while (w->open < w->ngroups && __atomic_load_n(&w->left[w->open], __ATOMIC_ACQUIRE) == 0)
    w->open++;
  if (w->open == before) return;
  if (w->open == w->ngroups)
    w->bound->missing--;
  else
    w->bound->open = w->ends[w->open - 1] * w->unit_bytes;
}

void grove_readying_take(grove_transfer *op)
{
  grove_readying *r = op->readying;
  if (!r->by_parts) return;
  if (r->needs_calls && op->base.state == GROVE_OP_ACTIVE) op->base.ctx->look_again = 1;
  int due = __atomic_exchange_n(&r->due, 0, __ATOMIC_ACQ_REL);
  for (int k = 0; k < r->n && due; k++)
    if (r->watches[k].open < r->watches[k].ngroups) open_watch_groups(&r->watches[k]);
  for (int k = 0; k < r->ngatherings; k++) grove_gathering_take(op, r->gatherings[k]);
}

int grove_readying_is_quiet(const grove_transfer *op)
{
  return __atomic_load_n(&op->readying->inside, __ATOMIC_ACQUIRE) == 0;
}

/* ---- what is missing ---- */

enum { RUNS_NAMED = 4 };

/* Is it unmarked, and does somebody wait for it? */
static int is_awaited(const grove_readying *r, int64_t place)
{
  int64_t slot = grove_index_at(&r->places, place);
  if (grove_claims_has(r->claims, place)) return 0;
  for (int k = 0; k < r->n; k++) {
    const grove_index *slots = &r->watches[k].slots;
    int64_t at = grove_index_below(slots, slot);
    if (at < slots->count && grove_index_at(slots, at) == slot) return 1;
  }
  return 0;
}

void grove_readying_tell_missing(const grove_transfer *op, char *text, size_t room)
{
  const grove_readying *r = op->readying;
  int runs = 0;
  for (int64_t k = 0; r->by_parts && k < r->places.count; k++) {
    if (!is_awaited(r, k)) continue;
    int64_t end = k + 1;
    while (end < r->places.count && is_awaited(r, end) &&
           grove_index_at(&r->places, end) == grove_index_at(&r->places, end - 1) + 1)
      end++;
    size_t used = strlen(text);
    long long first = (long long)grove_index_at(&r->places, k);
    long long last = (long long)grove_index_at(&r->places, end - 1);
    if (runs == 0)
      snprintf(text + used, room - used, "; not ready: %ss %lld", grove_readying_noun(op), first);
    else if (runs < RUNS_NAMED)
      snprintf(text + used, room - used, ", %lld", first);
    used = strlen(text);
    if (runs < RUNS_NAMED && last > first) snprintf(text + used, room - used, " to %lld", last);
    if (++runs > RUNS_NAMED) break;
    k = end - 1;
  }
  size_t used = strlen(text);
  if (runs > RUNS_NAMED) snprintf(text + used, room - used, " and more");
}
