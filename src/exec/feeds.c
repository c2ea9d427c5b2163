/* What waits for what. A letter that is sent out of a hub waits for the receives that bring its
 * slots, and for no others. The answer to a fetch waits for the letter that it answers, or, where
 * all edges meet their roots at once, for that meeting. Self edges that pass through a hub wait
 * likewise.
 *
 * Every slot of a hub, and every edge, has a writer in the stage that brings it. So the search goes
 * through the stages in order, with a chart of who wrote each slot last.
 */
#include "exec/wiring.h"

#include <stdlib.h>
#include <string.h>

/* The feeder of each hub slot and each edge of a lane, or -1. */
typedef struct chart {
  int *hub, *edges;
} chart;

typedef struct search {
  grove_wiring *wiring;
  chart *charts;  /* one for each lane */
  int *seen;      /* by feeder: the latest target that has it as an input */
  int targets;    /* so far */
  int n;          /* of the feeds that were found: */
  int *feeders;   /* each feeder ... */
  grove_feed *to; /* ... and its target */
} search;

static int *chart_of(const search *x, const grove_section *p)
{
  if (p->array == GROVE_ARRAY_HUB) return x->charts[p->field].hub;
  return p->array == GROVE_ARRAY_EDGE ? x->charts[p->field].edges : NULL;
}

/* Do all its edges meet their roots at once? */
static int is_whole_lane(const search *x, const grove_section *p)
{
  return p->array == GROVE_ARRAY_EDGE && x->wiring->lanes[p->field].whole;
}

/* Tells sets of feeders apart: their mixed numbers are summed up. */
static uint64_t mix_feeder(int feeder)
{
  uint64_t x = ((uint64_t)feeder + 1) * UINT64_C(0x9e3779b97f4a7c15);
  return (x ^ x >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* Makes `feeder` an input of the target, if it is not one already. */
static grove_status add_input(search *x, int feeder, grove_feed to, grove_letter *target)
{
  if (feeder < 0 || x->seen[feeder] == x->targets) return GROVE_OK;
  GROVE_PASS_GROW(x->feeders, x->n, 1);
  GROVE_PASS_GROW(x->to, x->n, 1);
  x->seen[feeder] = x->targets;
  x->feeders[x->n] = feeder;
  x->to[x->n++] = to;
  target->inputs++;
  target->sources += mix_feeder(feeder);
  return GROVE_OK;
}

/* Finds the inputs of all that a section takes. */
static grove_status find_inputs(search *x, const grove_section *p, grove_feed to,
                                grove_letter *target)
{
  const int *writers = chart_of(x, p);
  if (is_whole_lane(x, p)) return add_input(x, x->wiring->lanes[p->field].feeder, to, target);
  for (int64_t i = 0, last = -1; writers && i < p->shape.slots.count; i++) {
    int feeder = writers[grove_index_at(&p->shape.slots, i)];
    if (feeder != last) GROVE_PASS(add_input(x, feeder, to, target));
    last = feeder;
  }
  return GROVE_OK;
}

/* Notes the feeder of all that a section brings. */
static void note_writer(search *x, const grove_section *p, int feeder)
{
  int *writers = chart_of(x, p);
  if (is_whole_lane(x, p)) return;
  for (int64_t i = 0; writers && i < p->shape.slots.count; i++)
    writers[grove_index_at(&p->shape.slots, i)] = feeder;
}

static grove_status search_stage(search *x, int s)
{
  grove_wired_stage *w = &x->wiring->stages[s];
  grove_letter own = {0};
  for (int i = w->nreceives; i < w->nletters; i++, x->targets++)
    for (int k = 0; k < w->letters[i].nsections; k++)
      GROVE_PASS(find_inputs(x, &w->letters[i].sections[k], (grove_feed){s, i}, &w->letters[i]));
  for (int k = 0; k < w->nkeeps; k++)
    GROVE_PASS(find_inputs(x, &w->keeps[2 * k], (grove_feed){s, w->nletters}, &own));
  x->targets++;
  w->keep_inputs = own.inputs;
  for (int i = 0; i < w->nreceives; i++)
    for (int k = 0; k < w->letters[i].nsections; k++)
      note_writer(x, &w->letters[i].sections[k], w->feeder + i);
  for (int k = 0; k < w->nkeeps; k++)
    note_writer(x, &w->keeps[2 * k + 1], w->feeder + w->nreceives);
  return GROVE_OK;
}

/* Numbers the feeders; returns how many there are. */
static int number_feeders(grove_wiring *wiring)
{
  int n = 0;
  for (int s = 0; s < wiring->nstages; s++) {
    wiring->stages[s].feeder = n;
    n += wiring->stages[s].nreceives + 1;
  }
  for (int k = 0; k < wiring->nlanes; k++) wiring->lanes[k].feeder = n++;
  return n;
}

static grove_status make_chart(int64_t slots, int **out)
{
  GROVE_PASS_ROOM(*out, slots);
  memset(*out, -1, (size_t)slots * sizeof **out);
  return GROVE_OK;
}

static grove_status make_charts(search *x)
{
  const grove_wiring *wiring = x->wiring;
  for (int k = 0; k < wiring->nlanes; k++) {
    const grove_lane *lane = &wiring->lanes[k];
    if (lane->plan->hub > 0) GROVE_PASS(make_chart(lane->plan->hub, &x->charts[k].hub));
    if (lane->fetched.units > 0 && !lane->whole)
      GROVE_PASS(make_chart(lane->fetched.units, &x->charts[k].edges));
  }
  return GROVE_OK;
}

/* Sorts what was found by feeder. */
static grove_status sort_feeds(search *x, int nfeeders)
{
  grove_wiring *wiring = x->wiring;
  GROVE_PASS_NEW_ALL(GROVE_WISH(wiring->feed_begin, nfeeders + 2), GROVE_WISH(wiring->feeds, x->n));
  int *begin = wiring->feed_begin;
  for (int i = 0; i < x->n; i++) begin[x->feeders[i] + 2]++;
  for (int f = 2; f < nfeeders + 2; f++) begin[f] += begin[f - 1];
  for (int i = 0; i < x->n; i++) wiring->feeds[begin[x->feeders[i] + 1]++] = x->to[i];
  return GROVE_OK;
}

grove_status grove_wiring_find_feeds(grove_wiring *wiring)
{
  grove_status status = GROVE_OK;
  search x = {.wiring = wiring};
  if (wiring->nstages == 1) return GROVE_OK;
  int nfeeders = number_feeders(wiring);
  GROVE_NEW(x.charts, wiring->nlanes);
  GROVE_ROOM(x.seen, nfeeders);
  memset(x.seen, -1, (size_t)nfeeders * sizeof *x.seen);
  GROVE_TRY(make_charts(&x));
  for (int s = 0; s < wiring->nstages; s++) GROVE_TRY(search_stage(&x, s));
  GROVE_TRY(sort_feeds(&x, nfeeders));
fail:
  for (int k = 0; x.charts && k < wiring->nlanes; k++) {
    free(x.charts[k].hub);
    free(x.charts[k].edges);
  }
  free(x.charts);
  free(x.seen);
  free(x.feeders);
  free(x.to);
  return status;
}
