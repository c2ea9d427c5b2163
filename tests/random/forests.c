/* Forests as steps describe them: their graphs, worked out serially from the seed, for all ranks.
 * What a rank passes to a derivation is drawn for each rank alone, so that it stays the same when
 * ranks are left out. */
#include "forests.h"

#include "boxes.h"
#include "check.h"
#include "oracle.h"

#include <stdlib.h>

/* ---- from graphs ---- */

/* Leaves without a list of slots move up. */
static void keep_leaves(part *p, const char *keep)
{
  int64_t n = 0;
  for (int64_t j = 0; j < p->nleaves; j++) {
    if (!keep[j]) continue;
    if (p->leaf_index != NULL) p->leaf_index[n] = p->leaf_index[j];
    p->root[n++] = p->root[j];
  }
  p->nleaves = n;
}

/* Leaves out ranks from `nranks` on, and of every rank all leaves but the first `most`; with
 * `like`, ranks get as many roots as they have there. */
static void simplify(graph *g, int nranks, int64_t most, const sketch *like)
{
  for (int i = 0; i < nranks; i++) {
    part *p = &g->part[i];
    char *keep = need((size_t)p->nleaves);
    int64_t kept = 0;
    if (like != NULL) p->nroots = like->part[i].nroots;
    for (int64_t j = 0; j < p->nleaves; j++) {
      grove_root *r = &p->root[j];
      keep[j] = kept < most && r->rank < nranks && (!like || like->part[r->rank].nroots > 0);
      if (keep[j] && like != NULL) r->index %= like->part[r->rank].nroots;
      kept += keep[j];
    }
    keep_leaves(p, keep);
    free(keep);
  }
  for (int i = nranks; i < g->nranks; i++) {
    free(g->part[i].leaf_index);
    free(g->part[i].root);
  }
  g->nranks = nranks;
}

int64_t pattern_count(const program *p, const step *st, int rank)
{
  uint64_t n = mix2(st->seed, st->detail == GROVE_ALLTOALL ? 0 : (uint64_t)rank) % 5;
  return p->most_leaves < 8 && n > 1 ? 1 : (int64_t)n;
}

graph *forest_graph(const scene *s, const step *st)
{
  const program *p = s->p;
  if (st->way == FROM_PATTERN) {
    int64_t n[MOST_RANKS];
    for (int i = 0; i < p->nranks; i++) n[i] = pattern_count(p, st, i);
    return graph_pattern((grove_pattern)st->detail, p->nranks, n);
  }
  rng r = rng_from(st->seed, 0);
  graph *g = graph_random(&r, (graph_kind)st->detail, p->drawn_for);
  simplify(g, p->nranks, p->most_leaves, st->nof > 0 ? s->forest[st->of[0]].s : NULL);
  return g;
}

/* ---- what ranks pass to derivations ---- */

static const sketch *input(const scene *s, const step *st, int k)
{
  return s->forest[st->of[k]].s;
}

/* Some of the roots or leaf slots of every rank, in random order, some of them again. */
static list *draw_named(const sketch *f, const step *st, int leaves)
{
  list *named = lists_create(f->nranks);
  for (int i = 0; i < f->nranks; i++) {
    const sketch_part *p = &f->part[i];
    rng r = rng_from(st->seed, (uint64_t)i);
    int64_t n = leaves ? p->nslots : p->nroots,
            count = rng_one_in(&r, 4) ? 0 : rng_below(&r, n + 2);
    if (n == 0 || (leaves && p->nslots == 0)) count = 0;
    if (count == 0 && rng_one_in(&r, 2)) continue; /* NULL */
    list_resize(&named[i], count);
    named[i].n = 0;
    for (int64_t k = 0; k < count; k++) {
      int64_t at = rng_below(&r, n);
      if (!leaves || sketch_is_leaf(p, at)) named[i].item[named[i].n++] = at;
    }
  }
  return named;
}

/* Whether values of two leaves fall on one slot: those of leaf j are j, j + stride, ... */
static int collide(const sketch_part *p, int64_t n, int64_t stride)
{
  for (int64_t j = 0; j < p->nslots; j++)
    for (int64_t k = 1; sketch_is_leaf(p, j) && k < n; k++)
      if (sketch_is_leaf(p, j + k * stride)) return 1;
  return 0;
}

static int64_t draw_stride(rng *r, int64_t length)
{
  int64_t how = rng_below(r, 3);
  return how == 0 ? 0 : how == 1 ? rng_between(r, 1, 6) : length + 1 + rng_below(r, 3);
}

static strides draw_strides(const sketch *f, const step *st)
{
  strides d = {.n = 1 + (int64_t)(st->seed % 3)};
  for (int i = 0; i < f->nranks; i++) {
    rng r = rng_from(st->seed, (uint64_t)i);
    d.root[i] = draw_stride(&r, f->part[i].nroots);
    d.leaf[i] = draw_stride(&r, f->part[i].nslots);
    if (d.leaf[i] > 0 && collide(&f->part[i], d.n, d.leaf[i])) d.leaf[i] = 0;
  }
  return d;
}

/* Offsets of blocks of these sizes, with gaps; or none, for side by side. */
static void draw_offsets(rng *r, const list *size, list *offset)
{
  int64_t at = rng_below(r, 4);
  if (rng_one_in(r, 2)) return;
  list_resize(offset, size->n);
  for (int64_t k = 0; k < size->n; k++) {
    offset->item[k] = at;
    at += (size->item[k] > 0 ? size->item[k] : 0) + rng_below(r, 3);
  }
}

static points draw_points(const sketch *f, const step *st)
{
  points p = {lists_create(f->nranks), lists_create(f->nranks), lists_create(f->nranks)};
  rng r[MOST_RANKS];
  for (int i = 0; i < f->nranks; i++) {
    r[i] = rng_from(st->seed, (uint64_t)i);
    list_resize(&p.size[i], f->part[i].nroots);
    for (int64_t k = 0; k < p.size[i].n; k++) p.size[i].item[k] = rng_below(&r[i], 4);
    draw_offsets(&r[i], &p.size[i], &p.root_offset[i]);
  }
  for (int i = 0; i < f->nranks; i++) {
    const sketch_part *own = &f->part[i];
    list size = {0};
    list_resize(&size, own->nslots);
    for (int64_t j = 0; j < own->nslots; j++)
      size.item[j] =
        sketch_is_leaf(own, j) ? p.size[own->slot[j].rank].item[own->slot[j].index] : 0;
    draw_offsets(&r[i], &size, &p.leaf_offset[i]);
    free(size.item);
  }
  return p;
}

static void points_free(points *p, int nranks)
{
  lists_free(p->size, nranks);
  lists_free(p->root_offset, nranks);
  lists_free(p->leaf_offset, nranks);
}

/* Names of all sizes and signs; no two roots have the same. */
static int64_t root_name(const step *st, int rank, int64_t k)
{
  return st->seed % 2 ? 1000 * rank + 7 * k - 500
                      : (int64_t)mix2(st->seed, (uint64_t)(4096 * rank + k));
}

static names draw_names(const scene *s, const step *st)
{
  int nranks = s->p->nranks;
  names d = {lists_create(nranks), lists_create(nranks)};
  for (int i = 0; i < nranks; i++) {
    rng r = rng_from(st->seed, (uint64_t)i);
    list_resize(&d.root[i], rng_one_in(&r, 4) ? 0 : rng_below(&r, 20));
    for (int64_t k = 0; k < d.root[i].n; k++) d.root[i].item[k] = root_name(st, i, k);
  }
  for (int i = 0; i < nranks; i++) {
    rng r = rng_from(st->seed + 1, (uint64_t)i);
    int64_t n = rng_one_in(&r, 4) ? 0 : rng_below(&r, 40);
    list_resize(&d.sought[i], n < s->p->most_leaves ? n : s->p->most_leaves);
    for (int64_t k = 0; k < d.sought[i].n; k++) { /* some of them are no root's */
      int rank = (int)rng_below(&r, s->p->drawn_for);
      d.sought[i].item[k] = root_name(st, rank, rng_below(&r, 20));
    }
  }
  return d;
}

/* Consecutive numbers on every rank, and some of those of others behind them, ascending. */
static names draw_ghosts(const scene *s, const step *st)
{
  enum { OWN = -1 };
  int nranks = s->p->nranks;
  names d = {lists_create(nranks), lists_create(nranks)};
  int64_t total = 0;
  for (int i = 0; i < nranks; i++) {
    rng r = rng_from(st->seed, (uint64_t)i);
    list_resize(&d.root[i], rng_one_in(&r, 4) ? 0 : rng_below(&r, 12));
    for (int64_t k = 0; k < d.root[i].n; k++) d.root[i].item[k] = total++;
  }
  for (int i = 0; i < nranks; i++) {
    rng r = rng_from(st->seed + 1, (uint64_t)i);
    list *sought = &d.sought[i];
    list_resize(sought, d.root[i].n + total);
    sought->n = d.root[i].n;
    for (int64_t k = 0; k < sought->n; k++) sought->item[k] = OWN;
    for (int64_t g = 0; g < total; g++)
      if (rng_one_in(&r, 4) && !list_has(&d.root[i], g) &&
          sought->n - d.root[i].n < s->p->most_leaves)
        sought->item[sought->n++] = g;
  }
  return d;
}

/* On all ranks in a row, or as MPI has it. */
static box draw_box(const scene *s, const step *st)
{
  rng r = rng_from(st->seed, 0);
  box b = {.dims = (int)rng_between(&r, 1, 2), .corners = rng_one_in(&r, 2)};
  for (int d = 0; d < b.dims; d++) {
    b.size[d] = rng_below(&r, b.dims > 1 ? 7 : 30);
    b.periodic[d] = rng_one_in(&r, 2);
    b.width[d] = (int)rng_below(&r, 3);
  }
  b.procs[0] = rng_one_in(&r, 2) ? s->p->nranks : 0;
  CHECK(MPI_Dims_create(s->p->nranks, b.dims, b.procs) == MPI_SUCCESS, "no process grid");
  return b;
}

static void names_free(names *d, int nranks)
{
  lists_free(d->root, nranks);
  lists_free(d->sought, nranks);
}

/* ---- what derivations make, serially ---- */

static int is_single(const sketch *f)
{
  int single = 1;
  for (int i = 0; single && i < f->nranks; i++) {
    char *taken = calloc((size_t)f->part[i].nroots + 1, 1);
    CHECK(taken != NULL, "no memory for %lld roots", (long long)f->part[i].nroots);
    for (int k = 0; k < f->nranks; k++)
      for (int64_t j = 0; j < f->part[k].nslots; j++) {
        grove_root r = f->part[k].slot[j];
        if (r.rank == i && taken[r.index]++) single = 0;
      }
    free(taken);
  }
  return single;
}

static int same_roots(const sketch *a, const sketch *b)
{
  for (int i = 0; i < a->nranks; i++)
    if (a->part[i].nroots != b->part[i].nroots) return 0;
  return 1;
}

static sketch *multi_sketch(const graph *g)
{
  if (g == NULL) return NULL; /* depends on the order of the leaves */
  int64_t **place = oracle_places(g);
  sketch *out = sketch_create(g->nranks);
  for (int i = 0; i < g->nranks; i++) {
    out->part[i].nroots = graph_edges_to(g, i);
    for (int64_t j = 0; j < g->part[i].nleaves; j++)
      sketch_join(out, i, part_slot(&g->part[i], j),
                  (grove_root){g->part[i].root[j].rank, place[i][j]});
  }
  oracle_places_free(g, place);
  return out;
}

static sketch *concatenated_sketch(const scene *s, const step *st)
{
  sketch *f[MOST_OF];
  for (int k = 0; k < st->nof; k++) {
    f[k] = s->forest[st->of[k]].s;
    if (st->detail == GROVE_ROOTS_SHARED && !same_roots(f[0], f[k])) return NULL;
  }
  return serial_concatenate(st->nof, f, (grove_roots)st->detail);
}

static sketch *embedded_sketch(const sketch *f, const step *st, int leaves)
{
  list *named = draw_named(f, st, leaves);
  sketch *out = leaves ? serial_embed_leaves(f, named) : serial_embed_roots(f, named);
  lists_free(named, f->nranks);
  return out;
}

static sketch *strided_sketch(const sketch *f, const step *st)
{
  strides d = draw_strides(f, st);
  return serial_strided(f, d.n, d.root, d.leaf);
}

static sketch *expanded_sketch(const sketch *f, const step *st)
{
  points p = draw_points(f, st);
  sketch *out = serial_expand(f, p.size, p.root_offset, p.leaf_offset);
  points_free(&p, f->nranks);
  return out;
}

static sketch *matched_sketch(const scene *s, const step *st)
{
  names d = draw_names(s, st);
  sketch *out = serial_match(s->p->nranks, d.root, d.sought);
  names_free(&d, s->p->nranks);
  return out;
}

static sketch *ghosts_sketch(const scene *s, const step *st)
{
  names d = draw_ghosts(s, st);
  sketch *out = serial_match(s->p->nranks, d.root, d.sought);
  names_free(&d, s->p->nranks);
  return out;
}

static sketch *box_sketch(const scene *s, const step *st)
{
  box b = draw_box(s, st);
  return serial_box(&b, s->p->nranks);
}

sketch *derived_sketch(const scene *s, const step *st)
{
  const sketch *a = st->nof > 0 ? input(s, st, 0) : NULL, *b = st->nof > 1 ? input(s, st, 1) : NULL;
  switch ((derivation)st->way) {
  case DERIVE_MULTI: return multi_sketch(s->forest[st->of[0]].order);
  case DERIVE_INVERSE: return is_single(a) ? serial_inverse(a) : NULL;
  case DERIVE_COMPOSE: return serial_compose(a, b);
  case DERIVE_COMPOSE_INVERSE: return is_single(b) ? serial_compose_inverse(a, b) : NULL;
  case DERIVE_EMBED_ROOTS: return embedded_sketch(a, st, 0);
  case DERIVE_EMBED_LEAVES: return embedded_sketch(a, st, 1);
  case DERIVE_CONCATENATE: return concatenated_sketch(s, st);
  case DERIVE_MERGE: return same_roots(a, b) ? serial_merge(a, b) : NULL;
  case DERIVE_STRIDED: return strided_sketch(a, st);
  case DERIVE_EXPAND: return expanded_sketch(a, st);
  case DERIVE_GHOSTS: return ghosts_sketch(s, st);
  case DERIVE_BOX: return box_sketch(s, st);
  default: return matched_sketch(s, st);
  }
}

static graph *ascending(const sketch *f)
{
  graph *g = graph_empty(f->nranks);
  for (int i = 0; i < f->nranks; i++) {
    const sketch_part *from = &f->part[i];
    part *p = &g->part[i];
    part_resize(p, from->nroots, from->nslots);
    p->leaf_index = need((size_t)from->nslots * sizeof *p->leaf_index);
    p->nleaves = 0;
    for (int64_t j = 0; j < from->nslots; j++) {
      if (!sketch_is_leaf(from, j)) continue;
      p->leaf_index[p->nleaves] = j;
      p->root[p->nleaves++] = from->slot[j];
    }
  }
  return g;
}

/* The multi-forest has the leaves of its forest, in their order. */
static graph *multi_order(const graph *g, const sketch *result)
{
  graph *out = graph_empty(g->nranks);
  for (int i = 0; i < g->nranks; i++) {
    const part *from = &g->part[i];
    part *p = &out->part[i];
    part_resize(p, result->part[i].nroots, from->nleaves);
    p->nslots = from->nslots;
    p->leaf_index = need((size_t)from->nleaves * sizeof *p->leaf_index);
    for (int64_t j = 0; j < from->nleaves; j++) {
      p->leaf_index[j] = part_slot(from, j);
      p->root[j] = result->part[i].slot[p->leaf_index[j]];
    }
  }
  return out;
}

graph *derived_order(const scene *s, const step *st, const sketch *result)
{
  if (st->way == DERIVE_MULTI) return multi_order(s->forest[st->of[0]].order, result);
  if (st->way == DERIVE_INVERSE || st->way == DERIVE_MERGE || st->way >= DERIVE_GHOSTS)
    return ascending(result);
  return NULL;
}

/* ---- the same by the library ---- */

static int64_t *numbers_of(const graph *g, const part *own)
{
  int64_t *number = need((size_t)own->nleaves * sizeof *number);
  for (int64_t j = 0; j < own->nleaves; j++) {
    number[j] = own->root[j].index;
    for (int i = 0; i < own->root[j].rank; i++) number[j] += g->part[i].nroots;
  }
  return number;
}

/* Rank 0 names a root that nobody has; the others nothing. */
static void refuse_bad_graph(grove_forest *f, const graph *g, int me)
{
  grove_root nowhere = {g->nranks - 1, g->part[g->nranks - 1].nroots};
  CHECK_OK(grove_forest_set_graph(f, g->part[me].nroots, me == 0, NULL, &nowhere));
  CHECK_STATUS(grove_forest_set_up(f), GROVE_ERR_GRAPH);
}

grove_forest *forest_made(const scene *s, int id, grove_context *ctx, int me)
{
  const step *st = &s->p->step[id];
  const graph *g = s->forest[id].order;
  const part *own = &g->part[me];
  grove_forest *f = NULL;
  CHECK_OK(grove_forest_create(ctx, &f));
  if (st->flags & FLAG_BAD_FIRST) refuse_bad_graph(f, g, me);
  if (st->way == FROM_PATTERN) {
    CHECK_OK(grove_forest_set_pattern(f, (grove_pattern)st->detail, pattern_count(s->p, st, me)));
  } else if (st->way == FROM_NUMBERS) {
    int64_t *number = numbers_of(g, own);
    CHECK_OK(grove_forest_set_graph_global(f, own->nroots, own->nleaves, own->leaf_index, number));
    free(number);
  } else {
    CHECK_OK(grove_forest_set_graph(f, own->nroots, own->nleaves, own->leaf_index, own->root));
  }
  CHECK_OK(grove_forest_set_name(f, source_name(st)));
  CHECK_OK(grove_forest_set_up(f));
  return f;
}

static void embed(const sketch *f, const step *st, int me, grove_forest *from, grove_forest **out)
{
  int leaves = st->way == DERIVE_EMBED_LEAVES;
  list *named = draw_named(f, st, leaves);
  CHECK_OK((leaves ? grove_forest_embed_leaves : grove_forest_embed_roots)(from, named[me].n,
                                                                           named[me].item, out));
  lists_free(named, f->nranks);
}

static void expand(const sketch *f, const step *st, int me, grove_forest *from, grove_forest **out)
{
  points p = draw_points(f, st);
  CHECK_OK(grove_forest_expand(from, p.size[me].item, p.root_offset[me].item,
                               p.leaf_offset[me].item, out));
  points_free(&p, f->nranks);
}

static void match(const scene *s, const step *st, int me, grove_context *ctx, grove_forest **out)
{
  names d = draw_names(s, st);
  CHECK_OK(
    grove_forest_match(ctx, d.root[me].n, d.root[me].item, d.sought[me].n, d.sought[me].item, out));
  names_free(&d, s->p->nranks);
}

/* Ghosts twice and backwards, and all own numbers between. */
static void ghosts(const scene *s, const step *st, int me, grove_context *ctx, grove_forest **out)
{
  names d = draw_ghosts(s, st);
  int64_t nowned = d.root[me].n, slots = d.sought[me].n, n = 0, nghosts = 0;
  int64_t *number = need((size_t)(2 * slots) * sizeof *number);
  int64_t *place = need((size_t)(2 * slots) * sizeof *place);
  int64_t *ghost = need((size_t)(2 * slots) * sizeof *ghost);
  for (int again = 0; again < 2; again++)
    for (int64_t k = slots - 1; k >= (again ? nowned : 0); k--) {
      place[n] = k;
      number[n++] = k < nowned ? d.root[me].item[k] : d.sought[me].item[k];
    }
  CHECK_OK(grove_ghosts(ctx, nowned, n, number, number, &nghosts, ghost, out));
  CHECK(nghosts == slots - nowned, "%lld ghosts, not %lld", (long long)nghosts,
        (long long)(slots - nowned));
  for (int64_t i = 0; i < n; i++) CHECK(number[i] == place[i], "entry %lld", (long long)i);
  free(number);
  free(place);
  free(ghost);
  names_free(&d, s->p->nranks);
}

grove_forest *forest_derived(const scene *s, int id, grove_context *ctx, grove_forest *const *made,
                             int me)
{
  const step *st = &s->p->step[id];
  const sketch *sa = st->nof > 0 ? input(s, st, 0) : NULL;
  grove_forest *f[MOST_OF] = {NULL}, *out = NULL;
  for (int k = 0; k < st->nof; k++) f[k] = made[st->of[k]];
  strides d = st->way == DERIVE_STRIDED ? draw_strides(sa, st) : (strides){0};
  box b = st->way == DERIVE_BOX ? draw_box(s, st) : (box){0};
  switch ((derivation)st->way) {
  case DERIVE_MULTI: CHECK_OK(grove_forest_multi(f[0], &out)); break;
  case DERIVE_INVERSE: CHECK_OK(grove_forest_inverse(f[0], &out)); break;
  case DERIVE_COMPOSE: CHECK_OK(grove_forest_compose(f[0], f[1], &out)); break;
  case DERIVE_COMPOSE_INVERSE: CHECK_OK(grove_forest_compose_inverse(f[0], f[1], &out)); break;
  case DERIVE_EMBED_ROOTS:
  case DERIVE_EMBED_LEAVES: embed(sa, st, me, f[0], &out); break;
  case DERIVE_CONCATENATE:
    CHECK_OK(grove_forest_concatenate(st->nof, f, (grove_roots)st->detail, &out));
    break;
  case DERIVE_MERGE: CHECK_OK(grove_forest_merge(f[0], f[1], &out)); break;
  case DERIVE_STRIDED:
    CHECK_OK(grove_forest_strided(f[0], d.n, d.root[me], d.leaf[me], &out));
    break;
  case DERIVE_EXPAND: expand(sa, st, me, f[0], &out); break;
  case DERIVE_GHOSTS: ghosts(s, st, me, ctx, &out); break;
  case DERIVE_BOX:
    CHECK_OK(grove_forest_box(ctx, b.dims, b.size, b.procs, b.periodic, b.width, b.corners, &out));
    break;
  default: match(s, st, me, ctx, &out); break;
  }
  return out;
}

/* ---- names ---- */

const char *source_name(const step *st)
{
  static const char *const pattern[] = {"allgather", "gather", "alltoall"};
  return st->way == FROM_PATTERN ? pattern[st->detail] : graph_kind_name((graph_kind)st->detail);
}

const char *derivation_name(const step *st)
{
  static const char *const mode[] = {"concatenate local", "concatenate shared",
                                     "concatenate global"};
  static const char *const name[DERIVATIONS] = {
    "multi", "inverse", "compose", "compose_inverse", "embed_roots", "embed_leaves", "concatenate",
    "merge", "strided", "expand",  "match",           "ghosts",      "box"};
  return st->way == DERIVE_CONCATENATE ? mode[st->detail] : name[st->way];
}
