/* Some ranks free an operation while it is active. The others get what they would have got without
 * that, and nothing is written to the arrays of those who freed: for every set of ranks that free,
 * before or after the others start, on every route, in both forms, alone and in a bundle. */
#include "check.h"
#include "exercise.h"
#include "places.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- graphs in which every rank needs something of every other ---- */

/* Leaves of a rank by turns on the roots of all ranks, so that two of them share a root, and with
 * several leaves for each root of its own. */
enum { ROOTS = 3, LEAVES = 5 };

static graph *graph_by_turns(int nranks)
{
  graph *g = graph_empty(nranks);
  for (int i = 0; i < nranks; i++) {
    part *p = &g->part[i];
    part_resize(p, ROOTS, LEAVES * nranks);
    for (int j = 0; j < LEAVES * nranks; j++)
      p->root[j] = (grove_root){(i + j) % nranks, j / nranks * 2 % ROOTS};
  }
  return g;
}

/* The same with fewer slots: most are several leaves. */
static graph *graph_repeated(int nranks)
{
  graph *g = graph_by_turns(nranks);
  g->kind = GRAPH_REPEATED;
  for (int i = 0; i < nranks; i++) {
    part *p = &g->part[i];
    p->leaf_index = need((size_t)p->nleaves * sizeof *p->leaf_index);
    for (int64_t j = 0; j < p->nleaves; j++) p->leaf_index[j] = j * 3 % (p->nleaves / 2);
  }
  return g;
}

/* Only the first rank owns anything, and only others need it. */
static graph *graph_of_one(int nranks)
{
  graph *g = graph_empty(nranks);
  for (int i = 0; i < nranks; i++) {
    part_resize(&g->part[i], i == 0 ? ROOTS : 0, i == 0 ? 0 : LEAVES);
    for (int j = 0; j < g->part[i].nleaves; j++) g->part[i].root[j] = (grove_root){0, j % ROOTS};
  }
  return g;
}

/* ---- one operation, or several in a bundle ---- */

enum { MOST_MEMBERS = 4, GRAPHS = 4 };

/* What is tried in one context. */
typedef struct stand {
  place p;
  grove_op *idle;
  const units *types;
  graph *g[GRAPHS];
  grove_forest *forest[GRAPHS];
  rng r;
  int64_t kept, room; /* exercises whose arrays must outlive the context */
  exercise *keep;
} stand;

typedef struct trial {
  int n;
  exercise member[MOST_MEMBERS];
  grove_op *op;
} trial;

static exercise draw(stand *s, op_kind k, int g)
{
  exercise e = {.g = s->g[g], .f = s->forest[g], .me = s->p.rank};
  exercise_draw_of(&e, k, s->types, &s->r);
  return e;
}

static exercise of_numbers(stand *s, op_kind k, const char *operation, int g)
{
  exercise e = {.g = s->g[g], .f = s->forest[g], .me = s->p.rank};
  exercise_choose(&e, k, s->types, "MPI_INT64_T", operation, &s->r);
  return e;
}

static void make(trial *t, op_form how)
{
  grove_op *list[MOST_MEMBERS] = {NULL};
  for (int i = 0; i < t->n; i++) exercise_open(&t->member[i]);
  if (how == FORM_BEGIN) return;
  for (int i = 0; i < t->n; i++) {
    exercise_init(&t->member[i]);
    list[i] = t->member[i].op;
  }
  if (t->n > 1) {
    CHECK_OK(grove_op_bundle(t->n, list, &t->op));
    for (int i = 0; i < t->n; i++) CHECK_OK(grove_op_free(&t->member[i].op));
  } else {
    t->op = list[0];
    t->member[0].op = NULL;
  }
}

static void start(trial *t, op_form how)
{
  if (how == FORM_INIT) {
    CHECK_OK(grove_start(t->op));
    return;
  }
  exercise_begin(&t->member[0]);
  t->op = t->member[0].op;
  t->member[0].op = NULL;
}

static void finish(trial *t, op_form how)
{
  CHECK_OK(how == FORM_INIT ? grove_wait(t->op) : grove_end(&t->op));
  CHECK_OK(grove_op_free(&t->op));
  for (int i = 0; i < t->n; i++) exercise_check(&t->member[i]);
}

/* ---- freeing it ---- */

/* Arrays that are only written may be used for something else at once; so may the roots of a fetch,
 * of which there is a copy. Those that are sent from stay as they are. */
static void use_arrays_otherwise(exercise *e)
{
  int to_roots = e->kind == KIND_REDUCE || e->kind == KIND_FETCH || e->kind == KIND_GATHER;
  if (to_roots) array_fill(&e->root, e->u, e->r, ~e->seed);
  if (!to_roots) array_fill(&e->leaf, e->u, e->r, ~e->seed);
  if (e->kind == KIND_FETCH && !e->in_place) array_fill(&e->update, e->u, e->r, ~e->seed);
  array_assign(&e->all.root[e->me], &e->root);
  array_assign(&e->all.leaf[e->me], &e->leaf);
  if (!e->in_place) array_assign(&e->all.update[e->me], &e->update);
}

static void drop(trial *t)
{
  CHECK_OK(grove_op_free(&t->op));
  CHECK(t->op == NULL, "a freed operation is not NULL");
  for (int i = 0; i < t->n; i++) use_arrays_otherwise(&t->member[i]);
}

static void check_untouched(const exercise *e)
{
  char what[160];
  exercise_name(e, what);
  array_check(e->u, &e->root, &e->all.root[e->me], "root after a free", what);
  array_check(e->u, &e->leaf, &e->all.leaf[e->me], "leaf after a free", what);
  if (!e->in_place)
    array_check(e->u, &e->update, &e->all.update[e->me], "update after a free", what);
}

static void set_aside(stand *s, const trial *t)
{
  if (s->kept + t->n > s->room) {
    s->room = 2 * (s->kept + t->n);
    s->keep = realloc(s->keep, (size_t)s->room * sizeof *s->keep);
    CHECK(s->keep != NULL, "no memory for %lld exercises", (long long)s->room);
  }
  for (int i = 0; i < t->n; i++) s->keep[s->kept++] = t->member[i];
}

/* `freers` is a set of ranks. They start and free before any other rank starts, or after all others
 * have. */
static void try_set(stand *s, trial t, op_form how, unsigned freers, int early)
{
  int frees = (int)(freers >> s->p.rank & 1), first = frees == early;
  make(&t, how);
  if (!first) place_meet(&s->p, s->idle);
  start(&t, how);
  if (frees) drop(&t);
  if (first) place_meet(&s->p, s->idle);
  if (!frees) finish(&t, how);
  place_meet(&s->p, s->idle);
  for (int i = 0; frees && i < t.n; i++) check_untouched(&t.member[i]);
  set_aside(s, &t);
}

/* ---- all of it ---- */

typedef struct setting {
  const char *route, *node_size, *transport, *check;
} setting;

/* With these graphs, which it takes over. */
static stand stand_open(const units *types, const setting *how, int64_t number, graph *const *g)
{
  stand s = {.p = place_create(split(0)), .types = types};
  s.r = rng_from(test_seed(), (uint64_t)number);
  place_set_route(&s.p, how->route);
  place_set(&s.p, "node_size", how->node_size);
  place_set(&s.p, "message_cap", "64");
  place_set(&s.p, "transport_on_node", how->transport);
  place_set(&s.p, "check", how->check);
  for (int i = 0; i < GRAPHS; i++) {
    s.g[i] = g[i];
    s.forest[i] = graph_forest(s.p.ctx, s.g[i], s.p.rank);
  }
  s.idle = place_idle(&s.p);
  return s;
}

/* Arrays go after the context of all ranks: somebody may read them until then. */
static void stand_close(stand *s)
{
  for (int i = 0; i < GRAPHS; i++) CHECK_OK(grove_forest_free(&s->forest[i]));
  CHECK_OK(grove_op_free(&s->idle));
  place_free(&s->p);
  polite_barrier(MPI_COMM_WORLD);
  for (int64_t i = 0; i < s->kept; i++) exercise_close(&s->keep[i]);
  for (int i = 0; i < GRAPHS; i++) graph_free(s->g[i]);
  free(s->keep);
}

/* The first begin of a kind is collective. */
static void begin_once(stand *s, exercise e)
{
  trial t = {.n = 1, .member[0] = e};
  make(&t, FORM_BEGIN);
  start(&t, FORM_BEGIN);
  finish(&t, FORM_BEGIN);
  set_aside(s, &t);
}

static void every_set_of_fetches(stand *s)
{
  exercise e = of_numbers(s, KIND_FETCH, "SUM", 0);
  begin_once(s, e);
  for (unsigned freers = 0; freers < 1u << s->p.size; freers++)
    for (op_form how = FORM_INIT; how <= FORM_BEGIN; how++) {
      int early = (int)rng_below(&s->r, 2);
      e.seed = rng_next(&s->r);
      e.in_place = (int)rng_below(&s->r, 2);
      try_set(s, (trial){.n = 1, .member[0] = e}, how, freers, early);
    }
}

/* Other kinds, any types and operations, and bundles of all kinds. */
static void random_sets(stand *s, int64_t samples)
{
  for (int64_t i = 0; i < samples; i++) {
    unsigned freers = (unsigned)rng_below(&s->r, 1 << s->p.size);
    trial t = {.n = 1 + (int)rng_below(&s->r, MOST_MEMBERS)};
    for (int k = 0; k < t.n; k++)
      t.member[k] = draw(s, (op_kind)((i + k) % OP_KINDS), (int)rng_below(&s->r, GRAPHS));
    op_form how = t.n == 1 && rng_one_in(&s->r, 2) ? FORM_BEGIN : FORM_INIT;
    if (how == FORM_BEGIN) begin_once(s, t.member[0]);
    try_set(s, t, how, freers, (int)rng_below(&s->r, 2));
  }
}

/* ---- before its turn ---- */

/* More than shared memory has room for at once. */
enum { LARGE = 1 << 18 };

/* The whole of one rank's roots is wanted by another rank. */
static graph *graph_of_pair(int nranks, int64_t n, int owner, int user)
{
  graph *g = graph_empty(nranks);
  for (int i = 0; i < nranks; i++) {
    part_resize(&g->part[i], i == owner ? n : 0, i == user ? n : 0);
    for (int64_t j = 0; j < g->part[i].nleaves; j++) g->part[i].root[j] = (grove_root){owner, j};
  }
  return g;
}

/* Rank 1 frees a bundle in which rank 2 sends it much, and rank 0 a number to be combined first. It
 * makes room for what rank 2 sends although rank 0 has not started, and not in its array. */
static void large_one_before_its_turn(const units *types)
{
  const setting how = {"standard", "0", "shm", "0"};
  graph *const graphs[] = {graph_of_pair(world_size(), LARGE, 2, 1),
                           graph_of_pair(world_size(), 1, 1, 0), graph_of_one(world_size()),
                           graph_empty(world_size())};
  stand s = stand_open(types, &how, 0, graphs);
  trial t = {.n = 2};
  t.member[0] = of_numbers(&s, KIND_BCAST, "REPLACE", 0);
  t.member[1] = of_numbers(&s, KIND_REDUCE, "SUM", 1);
  make(&t, FORM_INIT);
  if (s.p.rank == 1) {
    start(&t, FORM_INIT);
    drop(&t);
  }
  place_meet(&s.p, s.idle);
  if (s.p.rank == 2) {
    start(&t, FORM_INIT);
    finish(&t, FORM_INIT);
  }
  place_meet(&s.p, s.idle);
  if (s.p.rank != 1 && s.p.rank != 2) {
    start(&t, FORM_INIT);
    finish(&t, FORM_INIT);
  }
  place_meet(&s.p, s.idle);
  for (int i = 0; s.p.rank == 1 && i < t.n; i++) check_untouched(&t.member[i]);
  set_aside(&s, &t);
  stand_close(&s);
}

int main(int argc, char **argv)
{
  static const setting settings[] = {{"standard", "0", "shm", "0"}, {"2-step", "0", "shm", "0"},
                                     {"3-step", "0", "shm", "0"},   {"split", "0", "shm", "0"},
                                     {"2-step", "2", "shm", "0"},   {"3-step", "2", "shm", "0"},
                                     {"split", "2", "shm", "0"},    {"3-step", "2", "mpi", "0"},
                                     {"split", "2", "shm", "1"},    {"standard", "1", "shm", "1"}};
  test_begin(&argc, &argv, "exec/freed_by_some");
  units *types = units_create();
  int64_t n = sizeof settings / sizeof *settings;
  for (int64_t i = 0; i < n; i++) {
    test_case(i);
    int size = world_size();
    graph *const graphs[] = {graph_by_turns(size), graph_in_rows(size, ROOTS), graph_of_one(size),
                             graph_repeated(size)};
    stand s = stand_open(types, &settings[i], i, graphs);
    every_set_of_fetches(&s);
    random_sets(&s, test_samples(20));
    stand_close(&s);
  }
  test_case(n);
  large_one_before_its_turn(types);
  units_free(types);
  return test_end();
}
