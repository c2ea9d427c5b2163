/* What cannot be made is refused, with the same status and sentence on every rank, also where one
 * rank alone is wrong: the sentence has the facts, no output is set, the forests given stay as they
 * are, and the context goes on working. */
#include "check.h"
#include "sources.h"

#include <string.h>

/* ---- the forests ---- */

/* Leaf j is slot 2 j, joined to root 2 j of the next rank: the odd ones are free. */
enum { ROOTS = 20, LEAVES = 9, ODD_ROOT = 13, ODD_SLOT = 5, LAST_SLOT = 2 * LEAVES - 2 };

typedef struct stage {
  place p;
  int bad; /* the rank that is wrong */
  graph *g;
  grove_forest *oak;     /* nothing is wrong with it */
  grove_forest *twin;    /* ODD_ROOT of the bad rank has two leaves */
  grove_forest *broad;   /* the bad rank has a root more */
  grove_forest *sapling; /* not set up */
  grove_forest *exotic;  /* of another context */
} stage;

static graph *ring_graph(int nranks)
{
  graph *g = graph_empty(nranks);
  for (int i = 0; i < nranks; i++) {
    part *p = &g->part[i];
    part_resize(p, ROOTS, LEAVES + 2);
    p->nleaves = LEAVES;
    p->leaf_index = need((LEAVES + 2) * sizeof *p->leaf_index);
    for (int64_t j = 0; j < LEAVES; j++) {
      p->leaf_index[j] = 2 * j;
      p->root[j] = (grove_root){(i + 1) % nranks, 2 * j};
    }
  }
  return g;
}

static grove_forest *planted(grove_context *ctx, const graph *g, int rank, const char *name)
{
  grove_forest *f = graph_forest_raw(ctx, g, rank);
  CHECK_OK(grove_forest_set_name(f, name));
  CHECK_OK(grove_forest_set_up(f));
  return f;
}

static void stage_open(stage *s, const place *p, grove_context *elsewhere, int bad)
{
  *s = (stage){.p = *p, .bad = bad, .g = ring_graph(p->size)};
  s->oak = planted(p->ctx, s->g, p->rank, "quercus");
  s->exotic = planted(elsewhere, s->g, p->rank, "quercus");
  s->sapling = graph_forest_raw(p->ctx, s->g, p->rank);
  part *wrong = &s->g->part[bad];
  wrong->nroots++;
  s->broad = planted(p->ctx, s->g, p->rank, "quercus latifolia");
  wrong->nroots--;
  for (int k = 0; k < 2; k++) {
    wrong->leaf_index[LEAVES + k] = LAST_SLOT + 2 + k;
    wrong->root[LEAVES + k] = (grove_root){bad, ODD_ROOT};
  }
  wrong->nleaves += 2;
  s->twin = planted(p->ctx, s->g, p->rank, "quercus gemella");
  wrong->nleaves -= 2;
}

static void stage_close(stage *s)
{
  CHECK_OK(grove_forest_free(&s->oak));
  CHECK_OK(grove_forest_free(&s->twin));
  CHECK_OK(grove_forest_free(&s->broad));
  CHECK_OK(grove_forest_free(&s->sapling));
  CHECK_OK(grove_forest_free(&s->exotic));
  graph_free(s->g);
}

static int is_bad(const stage *s)
{
  return s->p.rank == s->bad;
}

/* ---- what must hold after every refusal ---- */

static int guard;

/* What an output is before a call that fails. */
static grove_forest *untouched(void)
{
  return (grove_forest *)&guard;
}

static void still_works(const stage *s)
{
  int64_t root[ROOTS], leaf[2 * LEAVES];
  int next = (s->p.rank + 1) % s->p.size;
  for (int i = 0; i < ROOTS; i++) root[i] = 100 * s->p.rank + i;
  for (int i = 0; i < 2 * LEAVES; i++) leaf[i] = -1;
  graph_check(s->oak, &s->g->part[s->p.rank], "after a refusal");
  CHECK_OK(grove_bcast(s->oak, MPI_INT64_T, root, leaf, MPI_REPLACE));
  for (int i = 0; i < 2 * LEAVES; i++)
    CHECK(leaf[i] == (i % 2 ? -1 : 100 * next + i), "leaf %d is %lld", i, (long long)leaf[i]);
  grove_forest *inverse = NULL;
  CHECK_OK(grove_forest_inverse(s->oak, &inverse));
  CHECK_OK(grove_forest_free(&inverse));
}

/* ---- mistakes of one rank ---- */

static grove_status inverse_of_twins(const stage *s, grove_forest **out)
{
  return grove_forest_inverse(s->twin, out);
}

static grove_status back_along_twins(const stage *s, grove_forest **out)
{
  return grove_forest_compose_inverse(s->oak, s->twin, out);
}

/* Names `wrong` after some that are right. */
static grove_status embed(const stage *s, int leaves, int64_t wrong, grove_forest **out)
{
  int64_t named[3] = {4, 4, is_bad(s) ? wrong : 6};
  return leaves ? grove_forest_embed_leaves(s->oak, 3, named, out)
                : grove_forest_embed_roots(s->oak, 3, named, out);
}

static grove_status root_too_large(const stage *s, grove_forest **out)
{
  return embed(s, 0, ROOTS, out);
}

static grove_status root_far_too_large(const stage *s, grove_forest **out)
{
  return embed(s, 0, (int64_t)1 << 40, out);
}

static grove_status root_negative(const stage *s, grove_forest **out)
{
  return embed(s, 0, -7, out);
}

static grove_status slot_in_a_gap(const stage *s, grove_forest **out)
{
  return embed(s, 1, ODD_SLOT, out);
}

static grove_status slot_too_large(const stage *s, grove_forest **out)
{
  return embed(s, 1, LAST_SLOT + 1, out);
}

static grove_status slot_far_too_large(const stage *s, grove_forest **out)
{
  return embed(s, 1, INT64_MAX, out);
}

static grove_status slot_negative(const stage *s, grove_forest **out)
{
  return embed(s, 1, -7, out);
}

static grove_status few_roots(const stage *s, grove_forest **out)
{
  static const int64_t named[1] = {4};
  return grove_forest_embed_roots(s->oak, is_bad(s) ? -5 : 1, named, out);
}

static grove_status few_slots(const stage *s, grove_forest **out)
{
  static const int64_t named[1] = {4};
  return grove_forest_embed_leaves(s->oak, is_bad(s) ? -5 : 1, named, out);
}

static grove_status roots_missing(const stage *s, grove_forest **out)
{
  static const int64_t named[1] = {4};
  return grove_forest_embed_roots(s->oak, 1, is_bad(s) ? NULL : named, out);
}

static grove_status slots_missing(const stage *s, grove_forest **out)
{
  static const int64_t named[1] = {4};
  return grove_forest_embed_leaves(s->oak, 1, is_bad(s) ? NULL : named, out);
}

static grove_status shared_but_different(const stage *s, grove_forest **out)
{
  grove_forest *f[3] = {s->oak, s->oak, s->broad};
  return grove_forest_concatenate(3, f, GROVE_ROOTS_SHARED, out);
}

static grove_status no_such_mode(const stage *s, grove_forest **out)
{
  grove_forest *f[2] = {s->oak, s->twin};
  return grove_forest_concatenate(2, f, is_bad(s) ? (grove_roots)77 : GROVE_ROOTS_LOCAL, out);
}

/* One rank passes a mode of its own, before or behind that of the others; or another number. */
static grove_status concatenate(const stage *s, grove_roots mode, grove_roots own, int n,
                                grove_forest **out)
{
  grove_forest *f[4] = {s->oak, s->oak, s->oak, s->oak};
  return grove_forest_concatenate(is_bad(s) ? n : 3, f, is_bad(s) ? own : mode, out);
}

static grove_status mode_higher(const stage *s, grove_forest **out)
{
  return concatenate(s, GROVE_ROOTS_LOCAL, GROVE_ROOTS_GLOBAL, 3, out);
}

static grove_status mode_lower(const stage *s, grove_forest **out)
{
  return concatenate(s, GROVE_ROOTS_GLOBAL, GROVE_ROOTS_SHARED, 3, out);
}

static grove_status forests_more(const stage *s, grove_forest **out)
{
  return concatenate(s, GROVE_ROOTS_LOCAL, GROVE_ROOTS_LOCAL, 4, out);
}

static grove_status forests_fewer(const stage *s, grove_forest **out)
{
  return concatenate(s, GROVE_ROOTS_SHARED, GROVE_ROOTS_SHARED, 2, out);
}

static grove_status merge_of_different(const stage *s, grove_forest **out)
{
  return grove_forest_merge(s->oak, s->broad, out);
}

static grove_status few_values(const stage *s, grove_forest **out)
{
  return grove_forest_strided(s->oak, is_bad(s) ? -2 : 2, 0, 0, out);
}

static grove_status other_values(const stage *s, grove_forest **out)
{
  return grove_forest_strided(s->oak, is_bad(s) ? 3 : 2, 0, 0, out);
}

static grove_status root_stride_negative(const stage *s, grove_forest **out)
{
  return grove_forest_strided(s->oak, 2, is_bad(s) ? -9 : 0, 0, out);
}

static grove_status leaf_stride_negative(const stage *s, grove_forest **out)
{
  return grove_forest_strided(s->oak, 2, 0, is_bad(s) ? -9 : 0, out);
}

static grove_status strides_meet(const stage *s, grove_forest **out)
{
  return grove_forest_strided(s->oak, 2, 0, is_bad(s) ? 2 : 0, out);
}

static grove_status stride_overflows(const stage *s, grove_forest **out)
{
  return grove_forest_strided(s->oak, 2, 0, is_bad(s) ? INT64_MAX - 1 : 0, out);
}

/* The sizes, root offsets and leaf offsets of points, one of them wrong. */
static grove_status expand(const stage *s, int which, int64_t at, int64_t wrong, grove_forest **out)
{
  int64_t numbers[3][ROOTS];
  for (int i = 0; i < ROOTS; i++) {
    numbers[0][i] = 2;
    numbers[1][i] = numbers[2][i] = 2 * i;
  }
  if (is_bad(s)) numbers[which][at] = wrong;
  return grove_forest_expand(s->oak, numbers[0], numbers[1], numbers[2], out);
}

static grove_status size_negative(const stage *s, grove_forest **out)
{
  return expand(s, 0, ODD_ROOT, -4, out);
}

static grove_status root_offset_negative(const stage *s, grove_forest **out)
{
  return expand(s, 1, ODD_ROOT, -6, out);
}

static grove_status leaf_offset_negative(const stage *s, grove_forest **out)
{
  return expand(s, 2, LAST_SLOT, -8, out);
}

static grove_status values_meet(const stage *s, grove_forest **out)
{
  return expand(s, 2, LAST_SLOT, 1, out); /* where slot 0 has its second value */
}

static grove_status size_overflows(const stage *s, grove_forest **out)
{
  return expand(s, 0, ODD_ROOT, INT64_MAX, out);
}

static grove_status offset_overflows(const stage *s, grove_forest **out)
{
  return expand(s, 2, LAST_SLOT, INT64_MAX, out);
}

static grove_status root_offset_overflows(const stage *s, grove_forest **out)
{
  return expand(s, 1, ODD_ROOT, INT64_MAX - 4, out);
}

static grove_status sizes_missing(const stage *s, grove_forest **out)
{
  int64_t size[ROOTS] = {0};
  return grove_forest_expand(s->oak, is_bad(s) ? NULL : size, NULL, NULL, out);
}

/* Names of which two may be the same: `name` on one rank, or on this one and the next. */
static grove_status match(const stage *s, int64_t name, int on_next, grove_forest **out)
{
  int64_t own[ROOTS];
  for (int i = 0; i < ROOTS; i++) own[i] = 5000 + 100 * s->p.rank + i;
  if (is_bad(s)) own[ODD_ROOT] = name;
  if (s->p.rank == (s->bad + on_next) % s->p.size) own[1] = name;
  return grove_forest_match(s->p.ctx, ROOTS, own, ROOTS, own, out);
}

static grove_status name_twice(const stage *s, grove_forest **out)
{
  return match(s, 777, 0, out);
}

static grove_status name_elsewhere(const stage *s, grove_forest **out)
{
  return match(s, -888, 1, out);
}

static grove_status few_names(const stage *s, grove_forest **out)
{
  int64_t own = s->p.rank;
  return grove_forest_match(s->p.ctx, is_bad(s) ? -3 : 1, &own, 1, &own, out);
}

static grove_status few_sought(const stage *s, grove_forest **out)
{
  int64_t own = s->p.rank;
  return grove_forest_match(s->p.ctx, 1, &own, is_bad(s) ? -3 : 1, &own, out);
}

static grove_status names_missing(const stage *s, grove_forest **out)
{
  int64_t own = s->p.rank;
  return grove_forest_match(s->p.ctx, 1, is_bad(s) ? NULL : &own, 1, &own, out);
}

static grove_status sought_missing(const stage *s, grove_forest **out)
{
  int64_t own = s->p.rank;
  return grove_forest_match(s->p.ctx, 1, &own, 1, is_bad(s) ? NULL : &own, out);
}

static grove_status forest_missing(const stage *s, grove_forest **out)
{
  return grove_forest_compose(s->oak, is_bad(s) ? NULL : s->oak, out);
}

static grove_status merge_nowhere(const stage *s, grove_forest **out)
{
  return grove_forest_merge(s->oak, s->oak, is_bad(s) ? NULL : out);
}

/* ROOTS numbers on every rank, and a list with one of them wrong. */
static grove_status ghosts(const stage *s, int64_t nowned, int64_t n, int64_t wrong,
                           grove_forest **out)
{
  enum { MARK = -123 };
  int64_t list[ROOTS], local[ROOTS], ghost[ROOTS], nghosts = MARK;
  for (int i = 0; i < ROOTS; i++) {
    list[i] = i;
    local[i] = ghost[i] = MARK;
  }
  if (is_bad(s)) list[ODD_ROOT] = wrong;
  grove_status status = grove_ghosts(s->p.ctx, is_bad(s) ? nowned : ROOTS, is_bad(s) ? n : ROOTS,
                                     list, local, &nghosts, ghost, out);
  for (int i = 0; i < ROOTS; i++)
    CHECK(nghosts == MARK && local[i] == MARK && ghost[i] == MARK,
          "an output of a call that failed");
  return status;
}

static grove_status number_too_large(const stage *s, grove_forest **out)
{
  return ghosts(s, ROOTS, ROOTS, (int64_t)ROOTS * s->p.size, out);
}

static grove_status number_far_too_large(const stage *s, grove_forest **out)
{
  return ghosts(s, ROOTS, ROOTS, INT64_MAX, out);
}

static grove_status number_negative(const stage *s, grove_forest **out)
{
  return ghosts(s, ROOTS, ROOTS, -7, out);
}

static grove_status few_owned(const stage *s, grove_forest **out)
{
  return ghosts(s, -4, ROOTS, 0, out);
}

static grove_status far_too_many_owned(const stage *s, grove_forest **out)
{
  return ghosts(s, INT64_MAX, ROOTS, 0, out);
}

static grove_status few_numbers(const stage *s, grove_forest **out)
{
  return ghosts(s, ROOTS, -3, 0, out);
}

static grove_status numbers_missing(const stage *s, grove_forest **out)
{
  const int64_t own = s->p.rank;
  return grove_ghosts(s->p.ctx, 1, 1, is_bad(s) ? NULL : &own, NULL, NULL, NULL, out);
}

static grove_status ghosts_nowhere(const stage *s, grove_forest **out)
{
  const int64_t own = s->p.rank;
  return grove_ghosts(s->p.ctx, 1, 1, &own, NULL, NULL, NULL, is_bad(s) ? NULL : out);
}

/* A box that is right, but for one argument of one rank. */
typedef struct box {
  int dims;
  int64_t size[2];
  int procs[2], periodic[2], width[2], corners;
} box;

static box good_box(const stage *s)
{
  return (box){2, {12, 13}, {s->p.size, 1}, {0, 1}, {1, 2}, 0};
}

static grove_status make_box(const stage *s, const box *b, grove_forest **out)
{
  return grove_forest_box(s->p.ctx, b->dims, b->size, b->procs, b->periodic, b->width, b->corners,
                          out);
}

static grove_status few_dims(const stage *s, grove_forest **out)
{
  box b = good_box(s);
  if (is_bad(s)) b.dims = 0;
  return make_box(s, &b, out);
}

static grove_status many_dims(const stage *s, grove_forest **out)
{
  box b = good_box(s);
  if (is_bad(s)) b.dims = 9;
  return make_box(s, &b, out);
}

static grove_status size_of_box_negative(const stage *s, grove_forest **out)
{
  box b = good_box(s);
  if (is_bad(s)) b.size[1] = -66;
  return make_box(s, &b, out);
}

static grove_status width_negative(const stage *s, grove_forest **out)
{
  box b = good_box(s);
  if (is_bad(s)) b.width[0] = -66;
  return make_box(s, &b, out);
}

static grove_status procs_negative(const stage *s, grove_forest **out)
{
  box b = good_box(s);
  if (is_bad(s)) b.procs[0] = -66;
  return make_box(s, &b, out);
}

static grove_status procs_too_many(const stage *s, grove_forest **out)
{
  box b = good_box(s);
  if (is_bad(s)) b.procs[1] = 66;
  return make_box(s, &b, out);
}

static grove_status procs_do_not_divide(const stage *s, grove_forest **out)
{
  box b = good_box(s);
  if (is_bad(s)) {
    b.procs[0] = 66;
    b.procs[1] = 0;
  }
  return make_box(s, &b, out);
}

static grove_status too_many_cells(const stage *s, grove_forest **out)
{
  box b = good_box(s);
  if (is_bad(s)) b.size[1] = INT64_MAX / 2;
  return make_box(s, &b, out);
}

static grove_status sizes_of_box_missing(const stage *s, grove_forest **out)
{
  box b = good_box(s);
  return grove_forest_box(s->p.ctx, b.dims, is_bad(s) ? NULL : b.size, NULL, NULL, NULL, 0, out);
}

static grove_status box_nowhere(const stage *s, grove_forest **out)
{
  box b = good_box(s);
  return make_box(s, &b, is_bad(s) ? NULL : out);
}

/* ... and for one that differs from the other ranks'. */
static grove_status size_differs(const stage *s, grove_forest **out)
{
  box b = good_box(s);
  if (is_bad(s)) b.size[1] = 66;
  return make_box(s, &b, out);
}

static grove_status procs_differ(const stage *s, grove_forest **out)
{
  box b = good_box(s);
  if (is_bad(s)) {
    b.procs[1] = b.procs[0];
    b.procs[0] = 1;
  }
  return make_box(s, &b, out);
}

static grove_status periodic_differs(const stage *s, grove_forest **out)
{
  box b = good_box(s);
  if (is_bad(s)) b.periodic[0] = 1;
  return make_box(s, &b, out);
}

static grove_status width_differs(const stage *s, grove_forest **out)
{
  box b = good_box(s);
  if (is_bad(s)) b.width[1] = 66;
  return make_box(s, &b, out);
}

static grove_status corners_differ(const stage *s, grove_forest **out)
{
  box b = good_box(s);
  if (is_bad(s)) b.corners = 1;
  return make_box(s, &b, out);
}

static grove_status dims_differ(const stage *s, grove_forest **out)
{
  box b = good_box(s);
  if (is_bad(s)) b.dims = 1;
  return make_box(s, &b, out);
}

static grove_status match_nowhere(const stage *s, grove_forest **out)
{
  int64_t own = s->p.rank;
  return grove_forest_match(s->p.ctx, 1, &own, 1, &own, is_bad(s) ? NULL : out);
}

/* ---- mistakes of all ranks ---- */

/* More values than 64 bits count; and than any machine has memory for. */
static grove_status far_too_many_values(const stage *s, grove_forest **out)
{
  return grove_forest_strided(s->oak, INT64_MAX / 2, 0, 0, out);
}

static grove_status too_many_values(const stage *s, grove_forest **out)
{
  return grove_forest_strided(s->oak, (int64_t)1 << 50, 0, 0, out);
}

static grove_status no_forests(const stage *s, grove_forest **out)
{
  grove_forest *f[1] = {s->oak};
  return grove_forest_concatenate(0, f, GROVE_ROOTS_LOCAL, out);
}

static grove_status less_than_no_forests(const stage *s, grove_forest **out)
{
  grove_forest *f[1] = {s->oak};
  return grove_forest_concatenate(-1, f, GROVE_ROOTS_LOCAL, out);
}

static grove_status list_missing(const stage *s, grove_forest **out)
{
  (void)s;
  return grove_forest_concatenate(1, NULL, GROVE_ROOTS_LOCAL, out);
}

/* ---- all of them ---- */

enum { NO_NUMBER = -1000 };

typedef struct mistake {
  const char *function;
  grove_status (*call)(const stage *s, grove_forest **out);
  grove_status status; /* GROVE_OK: any failure */
  int64_t number;      /* what is wrong, and must be in the sentence; or NO_NUMBER */
  int of_all;          /* no rank is to be named */
  int least;           /* it takes so many ranks */
} mistake;

static const mistake mistakes[] = {
  {"grove_forest_inverse", inverse_of_twins, GROVE_ERR_GRAPH, ODD_ROOT, 0, 1},
  {"grove_forest_compose", forest_missing, GROVE_ERR_ARG, NO_NUMBER, 0, 1},
  {"grove_forest_compose_inverse", back_along_twins, GROVE_ERR_GRAPH, ODD_ROOT, 0, 1},
  {"grove_forest_embed_roots", root_too_large, GROVE_ERR_ARG, ROOTS, 0, 1},
  {"grove_forest_embed_roots", root_far_too_large, GROVE_ERR_ARG, (int64_t)1 << 40, 0, 1},
  {"grove_forest_embed_roots", root_negative, GROVE_ERR_ARG, -7, 0, 1},
  {"grove_forest_embed_roots", few_roots, GROVE_ERR_ARG, -5, 0, 1},
  {"grove_forest_embed_roots", roots_missing, GROVE_ERR_ARG, NO_NUMBER, 0, 1},
  {"grove_forest_embed_leaves", slot_in_a_gap, GROVE_ERR_ARG, ODD_SLOT, 0, 1},
  {"grove_forest_embed_leaves", slot_too_large, GROVE_ERR_ARG, LAST_SLOT + 1, 0, 1},
  {"grove_forest_embed_leaves", slot_far_too_large, GROVE_ERR_ARG, INT64_MAX, 0, 1},
  {"grove_forest_embed_leaves", slot_negative, GROVE_ERR_ARG, -7, 0, 1},
  {"grove_forest_embed_leaves", few_slots, GROVE_ERR_ARG, -5, 0, 1},
  {"grove_forest_embed_leaves", slots_missing, GROVE_ERR_ARG, NO_NUMBER, 0, 1},
  {"grove_forest_concatenate", shared_but_different, GROVE_ERR_ARG, ROOTS + 1, 0, 1},
  {"grove_forest_concatenate", no_such_mode, GROVE_ERR_ARG, 77, 0, 1},
  {"grove_forest_concatenate", mode_higher, GROVE_ERR_ARG, GROVE_ROOTS_GLOBAL, 0, 2},
  {"grove_forest_concatenate", mode_lower, GROVE_ERR_ARG, GROVE_ROOTS_SHARED, 0, 2},
  {"grove_forest_concatenate", forests_more, GROVE_ERR_ARG, 4, 0, 2},
  {"grove_forest_concatenate", forests_fewer, GROVE_ERR_ARG, 2, 0, 2},
  {"grove_forest_concatenate", no_forests, GROVE_ERR_ARG, NO_NUMBER, 1, 1},
  {"grove_forest_concatenate", less_than_no_forests, GROVE_ERR_ARG, NO_NUMBER, 1, 1},
  {"grove_forest_concatenate", list_missing, GROVE_ERR_ARG, NO_NUMBER, 1, 1},
  {"grove_forest_merge", merge_of_different, GROVE_ERR_ARG, ROOTS + 1, 0, 1},
  {"grove_forest_merge", merge_nowhere, GROVE_ERR_ARG, NO_NUMBER, 0, 1},
  {"grove_forest_strided", few_values, GROVE_ERR_ARG, -2, 0, 1},
  {"grove_forest_strided", other_values, GROVE_ERR_ARG, 3, 0, 2},
  {"grove_forest_strided", root_stride_negative, GROVE_ERR_ARG, -9, 0, 1},
  {"grove_forest_strided", leaf_stride_negative, GROVE_ERR_ARG, -9, 0, 1},
  {"grove_forest_strided", strides_meet, GROVE_ERR_GRAPH, NO_NUMBER, 0, 1},
  {"grove_forest_strided", stride_overflows, GROVE_OK, NO_NUMBER, 0, 1},
  {"grove_forest_strided", far_too_many_values, GROVE_OK, NO_NUMBER, 1, 1},
  {"grove_forest_strided", too_many_values, GROVE_OK, NO_NUMBER, 1, 1},
  {"grove_forest_expand", size_negative, GROVE_ERR_ARG, ODD_ROOT, 0, 1},
  {"grove_forest_expand", root_offset_negative, GROVE_ERR_ARG, ODD_ROOT, 0, 1},
  {"grove_forest_expand", leaf_offset_negative, GROVE_ERR_ARG, LAST_SLOT, 0, 1},
  {"grove_forest_expand", values_meet, GROVE_ERR_GRAPH, NO_NUMBER, 0, 1},
  {"grove_forest_expand", size_overflows, GROVE_OK, NO_NUMBER, 0, 1},
  {"grove_forest_expand", offset_overflows, GROVE_OK, NO_NUMBER, 0, 1},
  {"grove_forest_expand", root_offset_overflows, GROVE_ERR_ARG, ODD_ROOT, 0, 1},
  {"grove_forest_expand", sizes_missing, GROVE_ERR_ARG, NO_NUMBER, 0, 1},
  {"grove_forest_match", name_twice, GROVE_ERR_GRAPH, 777, 0, 1},
  {"grove_forest_match", name_elsewhere, GROVE_ERR_GRAPH, -888, 0, 2},
  {"grove_forest_match", few_names, GROVE_ERR_ARG, -3, 0, 1},
  {"grove_forest_match", few_sought, GROVE_ERR_ARG, -3, 0, 1},
  {"grove_forest_match", names_missing, GROVE_ERR_ARG, NO_NUMBER, 0, 1},
  {"grove_forest_match", sought_missing, GROVE_ERR_ARG, NO_NUMBER, 0, 1},
  {"grove_forest_match", match_nowhere, GROVE_ERR_ARG, NO_NUMBER, 0, 1},
  {"grove_ghosts", number_too_large, GROVE_ERR_ARG, ODD_ROOT, 0, 1},
  {"grove_ghosts", number_far_too_large, GROVE_ERR_ARG, INT64_MAX, 0, 1},
  {"grove_ghosts", number_negative, GROVE_ERR_ARG, -7, 0, 1},
  {"grove_ghosts", few_owned, GROVE_ERR_ARG, -4, 0, 1},
  {"grove_ghosts", far_too_many_owned, GROVE_ERR_UNSUPPORTED, INT64_MAX, 0, 1},
  {"grove_ghosts", few_numbers, GROVE_ERR_ARG, -3, 0, 1},
  {"grove_ghosts", numbers_missing, GROVE_ERR_ARG, NO_NUMBER, 0, 1},
  {"grove_ghosts", ghosts_nowhere, GROVE_ERR_ARG, NO_NUMBER, 0, 1},
  {"grove_forest_box", few_dims, GROVE_ERR_ARG, 0, 0, 1},
  {"grove_forest_box", many_dims, GROVE_ERR_ARG, 9, 0, 1},
  {"grove_forest_box", size_of_box_negative, GROVE_ERR_ARG, -66, 0, 1},
  {"grove_forest_box", width_negative, GROVE_ERR_ARG, -66, 0, 1},
  {"grove_forest_box", procs_negative, GROVE_ERR_ARG, -66, 0, 1},
  {"grove_forest_box", procs_too_many, GROVE_ERR_ARG, 66, 0, 1},
  {"grove_forest_box", procs_do_not_divide, GROVE_ERR_ARG, 66, 0, 1},
  {"grove_forest_box", too_many_cells, GROVE_ERR_UNSUPPORTED, NO_NUMBER, 0, 1},
  {"grove_forest_box", sizes_of_box_missing, GROVE_ERR_ARG, NO_NUMBER, 0, 1},
  {"grove_forest_box", box_nowhere, GROVE_ERR_ARG, NO_NUMBER, 0, 1},
  {"grove_forest_box", size_differs, GROVE_ERR_ARG, 66, 0, 2},
  {"grove_forest_box", procs_differ, GROVE_ERR_ARG, NO_NUMBER, 0, 2},
  {"grove_forest_box", periodic_differs, GROVE_ERR_ARG, 0, 0, 2},
  {"grove_forest_box", width_differs, GROVE_ERR_ARG, 66, 0, 2},
  {"grove_forest_box", corners_differ, GROVE_ERR_ARG, 0, 0, 2},
  {"grove_forest_box", dims_differ, GROVE_ERR_ARG, 2, 0, 2},
};

/* Twice: a refusal leaves nothing behind. */
static void check_refused(const stage *s, const mistake *m)
{
  for (int again = 0; again < 2; again++) {
    grove_forest *out = untouched();
    grove_status status = m->call(s, &out);
    const char *text = grove_last_error();
    CHECK(status != GROVE_OK && (m->status == GROVE_OK || m->status == status),
          "%s, mistake %d: %s, %s", m->function, (int)(m - mistakes), grove_status_name(status),
          text);
    CHECK_SAME_ERROR(s->p.comm, status);
    CHECK(out == untouched(), "an output was set by a call that failed: %s", text);
    CHECK(status == GROVE_ERR_MEMORY || strstr(text, m->function) != NULL ||
            strstr(text, "quercus") != NULL,
          "neither %s nor a forest in '%s'", m->function, text);
    if (m->number != NO_NUMBER) CHECK_NUMBER_IN(text, m->number);
    if (!m->of_all) CHECK_NUMBER_IN(text, s->bad);
  }
  still_works(s);
}

/* ---- forests that are no good, on all ranks ---- */

typedef grove_status construction(grove_forest *a, grove_forest *b, grove_forest **out);

static grove_status with_multi(grove_forest *a, grove_forest *b, grove_forest **out)
{
  (void)b;
  return grove_forest_multi(a, out);
}

static grove_status with_inverse(grove_forest *a, grove_forest *b, grove_forest **out)
{
  (void)b;
  return grove_forest_inverse(a, out);
}

static grove_status with_embed_roots(grove_forest *a, grove_forest *b, grove_forest **out)
{
  (void)b;
  return grove_forest_embed_roots(a, 0, NULL, out);
}

static grove_status with_embed_leaves(grove_forest *a, grove_forest *b, grove_forest **out)
{
  (void)b;
  return grove_forest_embed_leaves(a, 0, NULL, out);
}

static grove_status with_concatenate(grove_forest *a, grove_forest *b, grove_forest **out)
{
  grove_forest *f[2] = {a, b};
  return grove_forest_concatenate(2, f, GROVE_ROOTS_GLOBAL, out);
}

static grove_status with_strided(grove_forest *a, grove_forest *b, grove_forest **out)
{
  (void)b;
  return grove_forest_strided(a, 2, 0, 0, out);
}

static grove_status with_expand(grove_forest *a, grove_forest *b, grove_forest **out)
{
  static const int64_t size[ROOTS] = {1, 2, 3};
  (void)b;
  return grove_forest_expand(a, size, NULL, NULL, out);
}

static const struct {
  construction *make;
  int takes_two;
} constructions[] = {
  {with_multi, 0},           {with_inverse, 0},
  {grove_forest_compose, 1}, {grove_forest_compose_inverse, 1},
  {with_embed_roots, 0},     {with_embed_leaves, 0},
  {with_concatenate, 1},     {grove_forest_merge, 1},
  {with_strided, 0},         {with_expand, 0},
};

static void check_no_good(const stage *s, construction *make, grove_forest *a, grove_forest *b,
                          grove_status expected)
{
  grove_forest *out = untouched();
  grove_status status = make(a, b, &out);
  CHECK(status == expected, "%s, not %s: %s", grove_status_name(status),
        grove_status_name(expected), grove_last_error());
  CHECK_SAME_ERROR(s->p.comm, status);
  CHECK(out == untouched(), "an output was set by a call that failed");
}

static void check_construction(const stage *s, construction *make, int takes_two)
{
  grove_forest *out = NULL;
  check_no_good(s, make, NULL, s->oak, GROVE_ERR_ARG);
  check_no_good(s, make, s->sapling, s->oak, GROVE_ERR_STATE);
  CHECK_STATUS(make(s->oak, s->oak, NULL), GROVE_ERR_ARG);
  if (takes_two) {
    check_no_good(s, make, s->oak, NULL, GROVE_ERR_ARG);
    check_no_good(s, make, s->oak, s->sapling, GROVE_ERR_STATE);
    check_no_good(s, make, s->oak, s->exotic, GROVE_ERR_ARG);
    check_no_good(s, make, s->exotic, s->oak, GROVE_ERR_ARG);
  }
  CHECK_OK(make(s->oak, s->oak, &out)); /* which is right */
  CHECK_STATUS(grove_forest_set_graph(out, 0, 0, NULL, NULL), GROVE_ERR_STATE);
  CHECK_OK(grove_forest_free(&out));
  still_works(s);
}

static void check_without_context(const stage *s)
{
  int64_t own = s->p.rank;
  grove_forest *out = untouched();
  CHECK_STATUS(grove_ghosts(NULL, 1, 1, &own, NULL, NULL, NULL, &out), GROVE_ERR_ARG);
  CHECK_STATUS(grove_forest_box(NULL, 1, &own, NULL, NULL, NULL, 0, &out), GROVE_ERR_ARG);
  CHECK(out == untouched(), "an output was set by a call that failed");
}

static void check_match(const stage *s)
{
  int64_t own = s->p.rank;
  grove_forest *out = untouched();
  CHECK_STATUS(grove_forest_match(NULL, 1, &own, 1, &own, &out), GROVE_ERR_ARG);
  CHECK(out == untouched(), "an output was set by a call that failed");
  CHECK_STATUS(grove_forest_match(s->p.ctx, 1, &own, 1, &own, NULL), GROVE_ERR_ARG);
  still_works(s);
}

/* A root with a leaf on every rank: two of these are named. */
static void names_both_leaves(const place *p)
{
  const grove_root root = {0, 0};
  grove_forest *f = NULL, *out = untouched();
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, 1, 1, NULL, &root));
  CHECK_OK(grove_forest_set_up(f));
  grove_status status = grove_forest_inverse(f, &out);
  CHECK(status == (p->size > 1 ? GROVE_ERR_GRAPH : GROVE_OK), "%s", grove_status_name(status));
  CHECK(p->size == 1 || strstr(grove_last_error(), "on ranks 0 and 1:"), "'%s'",
        grove_last_error());
  if (status == GROVE_OK) CHECK_OK(grove_forest_free(&out));
  CHECK_OK(grove_forest_free(&f));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "algebra/refuses");
  place p = place_create(split(0)), other = place_create(split(0));
  for (int bad = 0; bad<p.size; bad += p.size> 3 ? p.size / 2 : 1) {
    stage s;
    stage_open(&s, &p, other.ctx, bad);
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
      test_case((int64_t)i);
      if (p.size >= mistakes[i].least) check_refused(&s, &mistakes[i]);
    }
    for (size_t i = 0; i < sizeof constructions / sizeof *constructions; i++)
      check_construction(&s, constructions[i].make, constructions[i].takes_two);
    check_match(&s);
    check_without_context(&s);
    stage_close(&s);
  }
  names_both_leaves(&p);
  place_free(&p);
  place_free(&other);
  return test_end();
}
