/* Self edges of a rank into its own hub, out of which later stages send. As a whole they would wait
 * for the last mark, and so would every letter that they feed. So in a start by parts, the self
 * edges that the same letters take form a *share*. A share moves when it is marked, and is an input
 * of those letters only.
 *
 * Until the first share has moved, all self edges may still move together, as usual. They do if all
 * is marked before the stage is entered.
 */
#include "exec/partial.h"

#include <stdlib.h>
#include <string.h>

/* Self edges that go into the same letters. */
typedef struct share {
  grove_index slots; /* of the user's array */
  grove_section from, to;
  grove_index to_slots;
  int *targets; /* its letters, as indices into `targets` of the gathering */
  int ntargets;
  int moved;
  grove_bound_letter marks; /* missing: some slots are not marked (watch.c) */
} share;

/* A letter fed by shares. The number after a stage's last letter stands for its self edges. */
typedef struct target {
  grove_feed of;
  int shares; /* ... shares that feed it, and ... */
  int left;   /* ... those that have not moved */
} target;

struct grove_gathering {
  int stage;
  int ntargets, nshares;
  target *targets;
  share *shares;
  int *lists;   /* the targets of all shares */
  int nmoved;   /* shares that have moved */
  int together; /* all moved, or will move, in the usual way */
};

/* ---- who takes what ---- */

/* Self edge `edge` goes into a letter that takes its slot of the hub. */
typedef struct taking {
  int64_t edge;
  int target;
} taking;

typedef struct search {
  const grove_transfer *op;
  const grove_wired_stage *w;
  grove_gathering *g;
  int64_t *edge_of; /* of each slot of the hub; -1: none */
  int64_t n;
  taking *list; /* NULL: only count */
} search;

static void list_section(search *x, const grove_section *p, int t)
{
  for (int64_t i = 0; p->array == GROVE_ARRAY_HUB && i < p->shape.slots.count; i++) {
    int64_t edge = x->edge_of[grove_index_at(&p->shape.slots, i)];
    if (edge < 0) continue;
    if (x->list) x->list[x->n] = (taking){edge, t};
    x->n++;
  }
}

static void list_takings(search *x)
{
  x->n = 0;
  for (int t = 0; t < x->g->ntargets; t++) {
    grove_feed of = x->g->targets[t].of;
    const grove_wired_stage *w = &x->op->wiring->stages[of.stage];
    if (of.letter < w->nletters) list_section(x, w->letters[of.letter].sections, t);
    for (int k = 0; of.letter == w->nletters && k < w->nkeeps; k++)
      list_section(x, &w->keeps[2 * k], t);
  }
}

static int by_edge(const void *a, const void *b)
{
  const taking *x = a, *y = b;
  if (x->edge != y->edge) return (x->edge > y->edge) - (x->edge < y->edge);
  return (x->target > y->target) - (x->target < y->target);
}

/* Each taking once. */
static void sort_takings(search *x)
{
  int64_t kept = 0;
  qsort(x->list, (size_t)x->n, sizeof *x->list, by_edge);
  for (int64_t i = 0; i < x->n; i++)
    if (i == 0 || by_edge(&x->list[i], &x->list[i - 1]) != 0) x->list[kept++] = x->list[i];
  x->n = kept;
}

/* An edge, and all letters that take it. */
typedef struct taken {
  int64_t edge;
  const taking *by;
  int n;
} taken;

static int compare_takers(const taken *x, const taken *y)
{
  if (x->n != y->n) return (x->n > y->n) - (x->n < y->n);
  for (int k = 0; k < x->n; k++)
    if (x->by[k].target != y->by[k].target) return x->by[k].target > y->by[k].target ? 1 : -1;
  return 0;
}

static int by_takers(const void *a, const void *b)
{
  const taken *x = a, *y = b;
  int differs = compare_takers(x, y);
  return differs ? differs : (x->edge > y->edge) - (x->edge < y->edge);
}

/* ---- shares ---- */

static grove_status make_share_section(const grove_section *of, const int64_t *edges, int64_t n,
                                       grove_index *slots, grove_section *out)
{
  const grove_index none = {0}, *all = &of->shape.slots;
  int64_t most = all->wide ? INT64_MAX : all->narrow ? INT32_MAX : all->first + all->count;
  GROVE_PASS(grove_index_reserve(n, 0, most, slots));
  for (int64_t i = 0; i < n; i++) grove_index_put(slots, i, grove_index_at(all, edges[i]));
  grove_index_settle(slots);
  *out = (grove_section){.field = of->field, .array = of->array, .unit_bytes = of->unit_bytes};
  GROVE_PASS(grove_shape_create(slots, &none, of->unit_bytes, &out->shape));
  out->bytes = out->shape.units * out->unit_bytes;
  return GROVE_OK;
}

/* From edges begin .. end-1, which the same letters take. */
static grove_status make_share(search *x, const taken *begin, const taken *end, int **lists)
{
  grove_status status = GROVE_OK;
  share *s = &x->g->shares[x->g->nshares++];
  int64_t n = end - begin, *edges = NULL;
  GROVE_ROOM(edges, n);
  for (int64_t i = 0; i < n; i++) edges[i] = begin[i].edge;
  GROVE_TRY(make_share_section(&x->w->keeps[0], edges, n, &s->slots, &s->from));
  GROVE_TRY(make_share_section(&x->w->keeps[1], edges, n, &s->to_slots, &s->to));
  s->targets = *lists;
  s->ntargets = begin->n;
  for (int k = 0; k < begin->n; k++) {
    s->targets[k] = begin->by[k].target;
    x->g->targets[s->targets[k]].shares++;
  }
  *lists += begin->n;
fail:
  free(edges);
  return status;
}

static grove_status make_shares(search *x)
{
  grove_status status = GROVE_OK;
  int64_t edges = x->w->keeps[0].shape.slots.count, at = 0;
  taken *all = NULL;
  GROVE_NEW(all, edges);
  sort_takings(x);
  for (int64_t e = 0; e < edges; e++) {
    all[e] = (taken){e, &x->list[at], 0};
    for (; at < x->n && x->list[at].edge == e; at++) all[e].n++;
  }
  qsort(all, (size_t)edges, sizeof *all, by_takers);
  int64_t nshares = 0, nlists = 0;
  for (int64_t e = 0; e < edges; e++)
    if (e == 0 || compare_takers(&all[e], &all[e - 1]) != 0) nshares++, nlists += all[e].n;
  GROVE_NEW(x->g->shares, nshares);
  GROVE_ROOM(x->g->lists, nlists);
  int *lists = x->g->lists;
  for (int64_t e = 0, end = 0; e < edges; e = end) {
    for (end = e + 1; end < edges && compare_takers(&all[end], &all[e]) == 0;) end++;
    GROVE_TRY(make_share(x, &all[e], &all[end], &lists));
  }
fail:
  free(all);
  return status;
}

/* ---- making it ---- */

int grove_gathering_is_possible(const grove_transfer *op, int stage)
{
  const grove_wired_stage *w = &op->wiring->stages[stage];
  return op->wiring->feeds && op->nspaces == 0 && w->nkeeps == 1 &&
         w->keeps[0].array == grove_readying_source(op) && w->keeps[1].array == GROVE_ARRAY_HUB &&
         w->keeps[0].shape.starts.count == 0 && w->keeps[1].shape.starts.count == 0 &&
         w->keep_inputs == 0;
}

grove_status grove_gathering_create(const grove_transfer *op, int stage, grove_gathering **out)
{
  grove_status status = GROVE_OK;
  const grove_wiring *wiring = op->wiring;
  search x = {.op = op, .w = &wiring->stages[stage]};
  const int *begin = &wiring->feed_begin[x.w->feeder + x.w->nreceives];
  int64_t hub = wiring->lanes[0].plan->hub;
  GROVE_NEW(x.g, 1);
  x.g->stage = stage;
  x.g->ntargets = begin[1] - begin[0];
  GROVE_NEW(x.g->targets, x.g->ntargets);
  for (int t = 0; t < x.g->ntargets; t++) x.g->targets[t].of = wiring->feeds[begin[0] + t];
  GROVE_ROOM(x.edge_of, hub);
  memset(x.edge_of, -1, (size_t)hub * sizeof *x.edge_of);
  const grove_index *to = &x.w->keeps[1].shape.slots;
  for (int64_t e = 0; e < to->count; e++) x.edge_of[grove_index_at(to, e)] = e;
  list_takings(&x);
  GROVE_ROOM(x.list, x.n);
  list_takings(&x);
  GROVE_TRY(make_shares(&x));
  *out = x.g;
  x.g = NULL;
fail:
  grove_gathering_free(&x.g);
  free(x.edge_of);
  free(x.list);
  return status;
}

void grove_gathering_free(grove_gathering **pointer)
{
  grove_gathering *g = *pointer;
  if (!g) return;
  for (int k = 0; g->shares && k < g->nshares; k++) {
    share *s = &g->shares[k];
    grove_shape_free(&s->from.shape);
    grove_shape_free(&s->to.shape);
    grove_index_free(&s->slots);
    grove_index_free(&s->to_slots);
  }
  free(g->shares);
  free(g->lists);
  free(g->targets);
  free(g);
  *pointer = NULL;
}

int grove_gathering_size(const grove_gathering *g)
{
  return g->nshares;
}

const grove_index *grove_gathering_slots(const grove_gathering *g, int k)
{
  return &g->shares[k].slots;
}

grove_bound_letter *grove_gathering_marks(grove_gathering *g, int k)
{
  return &g->shares[k].marks;
}

/* ---- under way ---- */

void grove_gathering_begin(grove_transfer *op, grove_gathering *g)
{
  op->stages[g->stage].own.missing++;
  g->nmoved = g->together = 0;
  for (int k = 0; k < g->nshares; k++) {
    g->shares[k].moved = 0;
    g->shares[k].marks.missing = 0;
  }
  for (int t = 0; t < g->ntargets; t++) g->targets[t].left = g->targets[t].shares;
}

static grove_bound_letter *letter_of_feed(grove_transfer *op, grove_feed of)
{
  grove_bound_stage *s = &op->stages[of.stage];
  return of.letter == s->wired->nletters ? &s->own : grove_bound_letter_of(s, of.letter);
}

static void move_share(grove_transfer *op, grove_gathering *g, share *s)
{
  grove_op_note(&op->base, grove_transfer_move(op, &s->from, &s->to));
  s->moved = 1;
  g->nmoved++;
  for (int k = 0; k < s->ntargets; k++) {
    target *t = &g->targets[s->targets[k]];
    if (--t->left == 0) letter_of_feed(op, t->of)->missing--;
  }
}

void grove_gathering_take(grove_transfer *op, grove_gathering *g)
{
  grove_bound_letter *own = &op->stages[g->stage].own;
  int marked = 0;
  if (g->together || g->nmoved == g->nshares || grove_op_is_freed(&op->base)) return;
  for (int k = 0; k < g->nshares; k++) marked += g->shares[k].marks.missing == 0;
  if (g->nmoved == 0 && marked == g->nshares) {
    g->together = 1;
    own->missing--;
    return;
  }
  for (int k = 0; k < g->nshares && g->stage <= op->current; k++)
    if (!g->shares[k].moved && g->shares[k].marks.missing == 0) move_share(op, g, &g->shares[k]);
  if (g->nmoved == g->nshares) own->state = GROVE_LETTER_DONE;
}
