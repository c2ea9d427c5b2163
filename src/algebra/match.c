/* Match: roots and leaves find each other by name. Each name has a *directory* rank, which hears of
 * all roots and leaves of that name and tells the leaves where their root is. This takes one forest
 * from all names to the directory, with a gather and a scatter on it. Dense names, such as global
 * numbers, are dealt out in blocks, so that a rank asks few others. Other names are hashed, so that
 * no directory rank gets more than its share.
 */
#include "algebra/algebra.h"

#include <stdlib.h>

/* What a rank tells the directory. */
typedef struct entry {
  int64_t name;
  int64_t code; /* of a root; -1: a leaf asks */
} entry;

typedef struct names {
  int64_t nroots, nleaves;
  const int64_t *root, *leaf;
} names;

/* Which rank knows a name. */
typedef struct dealing {
  int64_t least;
  uint64_t block; /* names per rank; 0: hashed */
  int ranks;
} dealing;

typedef struct work {
  names given;
  entry *told;     /* of this rank's roots, then of its leaves */
  int64_t *answer; /* to each of these: the code of a root of that name, or -1 */
  grove_forest *directory;
  entry *heard; /* what this directory rank was told */
  int64_t *reply;
  grove_edges edges;
  MPI_Datatype unit;
} work;

static void free_match(work *w)
{
  if (w->unit != MPI_DATATYPE_NULL) MPI_Type_free(&w->unit);
  grove_forest_free(&w->directory);
  free(w->told);
  free(w->answer);
  free(w->heard);
  free(w->reply);
  grove_edges_free(&w->edges);
}

/* Spreads neighbouring names: the finalizer of splitmix64. */
static uint64_t mix_name(uint64_t x)
{
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/* ---- this rank's names ---- */

static grove_status check_names(const grove_making *m, const names *given)
{
  GROVE_PASS_CHECK(given->nroots >= 0 && given->nleaves >= 0, GROVE_ERR_ARG,
                   "rank %d: %s: there are %lld roots and %lld leaves", m->ctx->rank, m->call,
                   (long long)given->nroots, (long long)given->nleaves);
  GROVE_PASS_CHECK((given->root || given->nroots == 0) && (given->leaf || given->nleaves == 0),
                   GROVE_ERR_ARG, "rank %d: %s: the names of %lld roots or %lld leaves are NULL",
                   m->ctx->rank, m->call, (long long)given->nroots, (long long)given->nleaves);
  return GROVE_OK;
}

static grove_status prepare_match(const grove_making *m, work *w)
{
  const names *given = &w->given;
  GROVE_PASS(check_names(m, given));
  GROVE_PASS_ROOM(w->told, given->nroots + given->nleaves);
  GROVE_PASS_ROOM(w->answer, given->nroots + given->nleaves);
  GROVE_PASS(grove_edges_reserve(&w->edges, given->nroots + given->nleaves));
  entry *told = w->told;
  for (int64_t i = 0; i < given->nroots; i++)
    *told++ = (entry){given->root[i], grove_code(m->bits, m->ctx->rank, i)};
  for (int64_t i = 0; i < given->nleaves; i++) *told++ = (entry){given->leaf[i], -1};
  GROVE_PASS(grove_forest_create(m->ctx, &w->directory));
  GROVE_PASS(grove_forest_set_name(w->directory, "directory of grove_forest_match"));
  GROVE_PASS_MPI(MPI_Type_contiguous(2, MPI_INT64_T, &w->unit));
  GROVE_PASS_MPI(MPI_Type_commit(&w->unit));
  return GROVE_OK;
}

/* Uses blocks if the range of names is about as large as their number. Agreed by all. */
static grove_status deal_names(grove_making *m, grove_status mine, const work *w, dealing *out)
{
  int64_t n = mine == GROVE_OK ? w->given.nroots + w->given.nleaves : 0;
  int64_t most[3] = {INT64_MIN, INT64_MIN, n}; /* greatest name, least one, names on a rank */
  for (int64_t i = 0; i < n; i++) {
    int64_t name = w->told[i].name;
    if (name > most[0]) most[0] = name;
    if (~name > most[1]) most[1] = ~name;
  }
  GROVE_PASS(grove_making_agree(m, mine, most, 3));
  *out = (dealing){.least = ~most[1], .ranks = m->ctx->size};
  uint64_t block = ((uint64_t)most[0] - (uint64_t)out->least) / (uint64_t)out->ranks + 1;
  if (block / 4 <= (uint64_t)most[2]) out->block = block;
  return GROVE_OK;
}

static int owner_of(const dealing *d, int64_t name)
{
  uint64_t place = (uint64_t)name - (uint64_t)d->least;
  return (int)(d->block > 0 ? place / d->block : mix_name(place) % (uint64_t)d->ranks);
}

/* ---- the directory's part ---- */

/* The roots by name: a hash table of entry numbers, -1 where empty. */
typedef struct table {
  int64_t *at;
  uint64_t last; /* 2^k - 1, where 2^k places are at least twice the entries */
} table;

static grove_status create_table(int64_t n, table *t)
{
  t->last = 1;
  while (t->last < 2 * (uint64_t)n) t->last = 2 * t->last + 1;
  return grove_codes_create((int64_t)t->last + 1, &t->at);
}

/* The place of the root of this name, or the free place for it. */
static int64_t *find_name(const table *t, const entry *entries, int64_t name)
{
  uint64_t place = mix_name((uint64_t)name) & t->last;
  while (t->at[place] >= 0 && entries[t->at[place]].name != name) place = (place + 1) & t->last;
  return &t->at[place];
}

static grove_status refuse_twice(const grove_making *m, const entry *first, const entry *second)
{
  grove_root a = grove_code_root(m->bits, first->code), b = grove_code_root(m->bits, second->code);
  return grove_error(GROVE_ERR_GRAPH, __FILE__, __LINE__,
                     "rank %d: %s: its root %lld is called %lld, and so is root %lld of rank %d",
                     a.rank, m->call, (long long)a.index, (long long)first->name,
                     (long long)b.index, b.rank);
}

static grove_status look_up_name(const grove_making *m, int64_t n, work *w)
{
  grove_status status = GROVE_OK;
  table t = {0};
  GROVE_TRY(create_table(n, &t));
  for (int64_t i = 0; i < n; i++) {
    if (w->heard[i].code < 0) continue;
    int64_t *place = find_name(&t, w->heard, w->heard[i].name);
    if (*place >= 0) GROVE_TRY(refuse_twice(m, &w->heard[*place], &w->heard[i]));
    *place = i;
  }
  for (int64_t i = 0; i < n; i++) {
    int64_t found = *find_name(&t, w->heard, w->heard[i].name);
    w->reply[i] = found >= 0 ? w->heard[found].code : -1;
  }
fail:
  free(t.at);
  return status;
}

/* ---- together ---- */

/* Every name is a leaf of the single root on its directory rank. Agreed by all. */
static grove_status make_directory(const dealing *d, work *w)
{
  int64_t n = w->given.nroots + w->given.nleaves;
  for (int64_t i = 0; i < n; i++) w->edges.root[i] = (grove_root){owner_of(d, w->told[i].name), 0};
  grove_status mine = grove_forest_set_graph(w->directory, 1, n, NULL, w->edges.root);
  return grove_forest_complete(w->directory, mine);
}

/* Sends all names to the directory, and its answers back. Agreed by all. */
static grove_status ask_directory(grove_making *m, work *w)
{
  int64_t n = w->directory->roots.slots.count;
  w->heard = grove_room((size_t)n, sizeof *w->heard);
  w->reply = grove_room((size_t)n, sizeof *w->reply);
  grove_status mine = GROVE_OK;
  if (!w->heard || !w->reply)
    mine =
      grove_error(GROVE_ERR_MEMORY, __FILE__, __LINE__, "no memory for %lld names", (long long)n);
  GROVE_PASS(grove_making_agree(m, mine, NULL, 0));
  GROVE_PASS(grove_gather(w->directory, w->unit, w->told, w->heard));
  GROVE_PASS(grove_making_agree(m, look_up_name(m, n, w), NULL, 0));
  return grove_scatter(w->directory, MPI_INT64_T, w->reply, w->answer);
}

static void collect_matches(const grove_making *m, work *w)
{
  const int64_t *answer = w->answer + w->given.nroots;
  w->edges.nroots = w->given.nroots;
  for (int64_t i = 0; i < w->given.nleaves; i++)
    if (answer[i] >= 0) grove_edges_add(&w->edges, i, grove_code_root(m->bits, answer[i]));
}

grove_status grove_forest_match(grove_context *ctx, int64_t nroots, const int64_t *root_global,
                                int64_t nleaves, const int64_t *leaf_global, grove_forest **out)
{
  grove_status status = GROVE_OK;
  grove_making m = {0};
  dealing d;
  work w = {.given = {nroots, nleaves, root_global, leaf_global}, .unit = MPI_DATATYPE_NULL};
  grove_status mine = grove_making_open_on(&m, "grove_forest_match", ctx, out);
  if (mine == GROVE_OK) mine = prepare_match(&m, &w);
  GROVE_TRY(deal_names(&m, mine, &w, &d));
  GROVE_TRY(make_directory(&d, &w));
  GROVE_TRY(ask_directory(&m, &w));
  collect_matches(&m, &w);
  GROVE_TRY(grove_making_close(&m, GROVE_OK, &w.edges, out));
fail:
  grove_making_drop(&m);
  free_match(&w);
  return grove_verdict(m.ctx, status);
}
