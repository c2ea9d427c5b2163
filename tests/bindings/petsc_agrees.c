/* SF type `grove` does what `basic` does, on random graphs: every operation, several in flight,
 * slots that are leaves several times, ranks without roots or leaves. PETSc loads the type:
 *
 *     tools/launch 4 build/tests/bindings/petsc_agrees -dll_append build/lib/libgrove_petsc.so
 *
 * All values are small integers, so that sums do not depend on their order. Where the order of
 * leaves is open in PETSc, what is compared does not depend on it.
 */
#include "check.h"
#include "random.h"

#include <petsc/private/sfimpl.h>
#include <petscsf.h>
#include <stdlib.h>
#include <string.h>

#define CALL(call) PetscCallAbort(MPI_COMM_WORLD, call)

enum { MOST_ROOTS = 30, MOST_FLIGHTS = 40, WIDEST = 3 };

static rng all, own; /* all: the same numbers on every rank */

/* ---- a random graph in two SFs ---- */

typedef struct graph {
  PetscInt nroots, nleaves, nslots; /* nslots: of a leaf array */
  PetscInt *slot;
  PetscSFNode *root;
  PetscBool repeats;
  int any_order; /* which leaf of a slot is the last is open */
  PetscSF basic, grove;
} graph;

static PetscSF create_sf(const graph *g, const char *type)
{
  PetscSF sf;
  CALL(PetscSFCreate(PETSC_COMM_WORLD, &sf));
  CALL(PetscSFSetType(sf, type));
  sf->allow_multi_leaves = g->repeats;
  CALL(PetscSFSetGraph(sf, g->nroots, g->nleaves, g->slot, PETSC_COPY_VALUES, g->root,
                       PETSC_COPY_VALUES));
  return sf;
}

/* Slots in random order, with gaps; some again where repeats are wanted. */
static void draw_slots(graph *g)
{
  int64_t slot[2 * MOST_ROOTS + 1];
  for (int64_t i = 0; i < g->nslots; i++) slot[i] = i;
  rng_shuffle(&own, g->nslots, slot);
  for (PetscInt i = 0; i < g->nleaves; i++) {
    int64_t from = g->repeats && rng_one_in(&own, 3) ? rng_below(&own, i + 1) : i;
    g->slot[i] = (PetscInt)slot[from];
  }
}

/* PETSc receives values that lie in a row straight into their slots, while it copies its own: which
 * comes last there is a matter of time. */
static int meets_own(const graph *g)
{
  int meets = 0;
  for (PetscInt i = 0; i < g->nleaves; i++)
    for (PetscInt k = 0; k < i; k++)
      meets |= g->slot[k] == g->slot[i] &&
               (g->root[k].rank == world_rank()) != (g->root[i].rank == world_rank());
  MPI_Allreduce(MPI_IN_PLACE, &meets, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return meets;
}

static graph draw_graph(void)
{
  graph g = {0};
  PetscInt nroots[64];
  int64_t total = 0;
  for (int r = 0; r < world_size(); r++) {
    nroots[r] = rng_one_in(&all, 4) ? 0 : (PetscInt)rng_below(&all, MOST_ROOTS) + 1;
    total += nroots[r];
  }
  g.repeats = rng_one_in(&all, 3) ? PETSC_TRUE : PETSC_FALSE;
  g.nroots = nroots[world_rank()];
  g.nleaves = total == 0 || rng_one_in(&own, 4) ? 0 : (PetscInt)rng_below(&own, 2 * MOST_ROOTS);
  g.nslots = g.nleaves + (PetscInt)rng_below(&own, 2 * MOST_ROOTS - g.nleaves + 1);
  g.slot = need(sizeof *g.slot * (size_t)(g.nleaves + 1));
  g.root = need(sizeof *g.root * (size_t)(g.nleaves + 1));
  draw_slots(&g);
  for (PetscInt i = 0; i < g.nleaves; i++) {
    int r = (int)rng_below(&own, world_size());
    while (nroots[r] == 0) r = (r + 1) % world_size();
    g.root[i].rank = r;
    g.root[i].index = (PetscInt)rng_below(&own, nroots[r]);
  }
  g.any_order = meets_own(&g);
  g.basic = create_sf(&g, PETSCSFBASIC);
  g.grove = create_sf(&g, "grove");
  return g;
}

static void free_graph(graph *g)
{
  CALL(PetscSFDestroy(&g->basic));
  CALL(PetscSFDestroy(&g->grove));
  free(g->slot);
  free(g->root);
}

/* ---- units and arrays ---- */

typedef enum base { OF_CHAR, OF_INT, OF_REAL, BASES } base;

typedef struct unit {
  MPI_Datatype type;
  base base;
  int n; /* of the base type */
  size_t bytes;
} unit;

static unit draw_unit(base first)
{
  unit u = {MPI_DATATYPE_NULL, first + (base)rng_below(&all, BASES - first), 1, 0};
  MPI_Datatype of[BASES] = {MPI_SIGNED_CHAR, MPIU_INT, MPIU_REAL};
  size_t bytes[BASES] = {1, sizeof(PetscInt), sizeof(PetscReal)};
  u.n = (int)rng_below(&all, WIDEST) + 1;
  u.bytes = bytes[u.base] * (size_t)u.n;
  MPI_Type_contiguous(u.n, of[u.base], &u.type);
  if (u.n == 1) {
    MPI_Type_free(&u.type);
    u.type = of[u.base];
  } else
    MPI_Type_commit(&u.type);
  return u;
}

static void free_unit(unit *u)
{
  if (u->n > 1) MPI_Type_free(&u->type);
}

static void store(const unit *u, void *array, int64_t i, int value)
{
  if (u->base == OF_CHAR) ((signed char *)array)[i] = (signed char)value;
  if (u->base == OF_INT) ((PetscInt *)array)[i] = value;
  if (u->base == OF_REAL) ((PetscReal *)array)[i] = value;
}

/* Units with small values; NULL for none. */
static void *draw_array(const unit *u, int64_t n)
{
  void *array = n ? need((size_t)n * u->bytes) : NULL;
  for (int64_t i = 0; i < n * u->n; i++) store(u, array, i, (int)rng_below(&own, 4));
  return array;
}

static void *copy_array(const unit *u, const void *array, int64_t n)
{
  void *copy = n ? need((size_t)n * u->bytes) : NULL;
  if (n) memcpy(copy, array, (size_t)n * u->bytes);
  return copy;
}

static void check_equal(const unit *u, const void *basic, const void *grove, int64_t n,
                        const char *what)
{
  for (int64_t i = 0; i < n; i++)
    CHECK(memcmp((const char *)basic + (size_t)i * u->bytes,
                 (const char *)grove + (size_t)i * u->bytes, u->bytes) == 0,
          "%s: entry %lld differs", what, (long long)i);
}

static MPI_Op draw_op(void)
{
  MPI_Op ops[] = {MPI_REPLACE, MPI_SUM, MPI_MAX, MPI_MIN};
  return ops[rng_below(&all, 4)];
}

/* ---- bcast and reduce, several in flight ---- */

typedef struct move {
  unit unit;
  MPI_Op op;
  int is_reduce;
  void *root[2], *leaf[2]; /* of basic, of grove */
} move;

/* The last of several leaves wins, and which one that is is open: they all have the same value. */
static void level_leaves(const graph *g, move *m)
{
  for (int64_t i = 0; i < g->nroots * m->unit.n; i++) store(&m->unit, m->root[0], i, (int)(i % 9));
  CALL(PetscSFBcastBegin(g->basic, m->unit.type, m->root[0], m->leaf[0], MPI_REPLACE));
  CALL(PetscSFBcastEnd(g->basic, m->unit.type, m->root[0], m->leaf[0], MPI_REPLACE));
}

static move draw_move(const graph *g)
{
  move m = {.unit = draw_unit(OF_CHAR), .op = draw_op(), .is_reduce = (int)rng_below(&all, 2)};
  m.root[0] = draw_array(&m.unit, g->nroots);
  m.leaf[0] = draw_array(&m.unit, g->nslots);
  if (g->repeats && m.op == MPI_REPLACE && (m.is_reduce || g->any_order)) m.op = MPI_SUM;
  if (m.is_reduce && m.op == MPI_REPLACE) level_leaves(g, &m);
  m.root[1] = copy_array(&m.unit, m.root[0], g->nroots);
  m.leaf[1] = copy_array(&m.unit, m.leaf[0], g->nslots);
  return m;
}

static void begin_move(PetscSF sf, const move *m, int which)
{
  if (m->is_reduce)
    CALL(PetscSFReduceBegin(sf, m->unit.type, m->leaf[which], m->root[which], m->op));
  else
    CALL(PetscSFBcastBegin(sf, m->unit.type, m->root[which], m->leaf[which], m->op));
}

static void end_move(PetscSF sf, const move *m, int which)
{
  if (m->is_reduce)
    CALL(PetscSFReduceEnd(sf, m->unit.type, m->leaf[which], m->root[which], m->op));
  else
    CALL(PetscSFBcastEnd(sf, m->unit.type, m->root[which], m->leaf[which], m->op));
}

static void free_move(move *m)
{
  for (int i = 0; i < 2; i++) {
    free(m->root[i]);
    free(m->leaf[i]);
  }
  free_unit(&m->unit);
}

/* Each rank ends them in an order of its own. */
static void compare_moves(const graph *g, int n)
{
  move moves[MOST_FLIGHTS];
  int64_t order[MOST_FLIGHTS];
  for (int i = 0; i < n; i++) {
    moves[i] = draw_move(g);
    order[i] = i;
    begin_move(g->basic, &moves[i], 0);
    end_move(g->basic, &moves[i], 0);
  }
  for (int i = 0; i < n; i++) begin_move(g->grove, &moves[i], 1);
  rng_shuffle(&own, n, order);
  for (int i = 0; i < n; i++) end_move(g->grove, &moves[order[i]], 1);
  for (int i = 0; i < n; i++) {
    move *m = &moves[i];
    check_equal(&m->unit, m->root[0], m->root[1], g->nroots, m->is_reduce ? "reduce" : "bcast's");
    check_equal(&m->unit, m->leaf[0], m->leaf[1], g->nslots, m->is_reduce ? "reduce's" : "bcast");
    free_move(m);
  }
}

/* ---- fetch, gather, scatter ---- */

static int compare_ints(const void *a, const void *b)
{
  PetscInt x = *(const PetscInt *)a, y = *(const PetscInt *)b;
  return x < y ? -1 : x > y;
}

/* What the leaves have, at their roots, sorted for each root. */
static PetscInt *gathered(const graph *g, PetscSF sf, const PetscInt *leaf, PetscInt *n)
{
  const PetscInt *degree;
  CALL(PetscSFComputeDegreeBegin(sf, &degree));
  CALL(PetscSFComputeDegreeEnd(sf, &degree));
  *n = 0;
  for (PetscInt i = 0; i < g->nroots; i++) *n += degree[i];
  PetscInt *multi = need(sizeof *multi * (size_t)(*n + 1));
  CALL(PetscSFGatherBegin(sf, MPIU_INT, leaf, multi));
  CALL(PetscSFGatherEnd(sf, MPIU_INT, leaf, multi));
  PetscInt *back = need(sizeof *back * (size_t)(g->nslots + 1));
  if (leaf) memcpy(back, leaf, sizeof *back * (size_t)g->nslots);
  CALL(PetscSFScatterBegin(sf, MPIU_INT, multi, back));
  CALL(PetscSFScatterEnd(sf, MPIU_INT, multi, back));
  CHECK(!leaf || memcmp(back, leaf, sizeof *back * (size_t)g->nslots) == 0, "scatter after gather");
  free(back);
  for (PetscInt i = 0, first = 0; i < g->nroots; first += degree[i++])
    qsort(multi + first, (size_t)degree[i], sizeof *multi, compare_ints);
  return multi;
}

/* Not with repeats: PETSc's gather counts a place for each slot. */
static void compare_gathers(const graph *g)
{
  unit u = {MPIU_INT, OF_INT, 1, sizeof(PetscInt)};
  PetscInt n[2], *leaf = draw_array(&u, g->nslots), *multi[2];
  if (!g->repeats) {
    multi[0] = gathered(g, g->basic, leaf, &n[0]);
    multi[1] = gathered(g, g->grove, leaf, &n[1]);
    CHECK(n[0] == n[1], "%d leaves, and %d", (int)n[0], (int)n[1]);
    check_equal(&u, multi[0], multi[1], n[0], "gather");
    free(multi[0]);
    free(multi[1]);
  }
  free(leaf);
}

static void fetch(PetscSF sf, PetscInt *root, const PetscInt *leaf, PetscInt *update)
{
  CALL(PetscSFFetchAndOpBegin(sf, MPIU_INT, root, leaf, update, MPI_SUM));
  CALL(PetscSFFetchAndOpEnd(sf, MPIU_INT, root, leaf, update, MPI_SUM));
}

/* All leaves are one: whatever the order, a root gives the same values to its leaves. With repeats
 * they are zero: a root gives the same to all, and the last leaf of a slot counts. */
static void compare_fetches(const graph *g)
{
  unit u = {MPIU_INT, OF_INT, 1, sizeof(PetscInt)};
  PetscInt *root[2], *update[2], *multi[2], n;
  PetscInt *leaf = draw_array(&u, g->nslots);
  for (PetscInt i = 0; i < g->nslots; i++) leaf[i] = !g->repeats;
  root[0] = draw_array(&u, g->nroots);
  root[1] = copy_array(&u, root[0], g->nroots);
  for (int i = 0; i < 2; i++) {
    update[i] = copy_array(&u, leaf, g->nslots);
    fetch(i ? g->grove : g->basic, root[i], leaf, update[i]);
  }
  check_equal(&u, root[0], root[1], g->nroots, "fetch");
  if (g->repeats) {
    if (!g->any_order) check_equal(&u, update[0], update[1], g->nslots, "fetched");
  } else {
    for (int i = 0; i < 2; i++) multi[i] = gathered(g, g->basic, update[i], &n);
    check_equal(&u, multi[0], multi[1], n, "fetched");
    free(multi[0]);
    free(multi[1]);
  }
  for (int i = 0; i < 2; i++) {
    free(root[i]);
    free(update[i]);
  }
  free(leaf);
}

/* ---- queries, and SFs from SFs ---- */

static void check_list(PetscInt n, const PetscInt *a, const PetscInt *b, const char *what)
{
  CHECK(n == 0 || memcmp(a, b, sizeof *a * (size_t)n) == 0, "%s differ", what);
}

static void compare_root_ranks(const graph *g)
{
  PetscInt n[2];
  const PetscMPIInt *ranks[2];
  const PetscInt *offset[2], *slot[2], *root[2];
  for (int i = 0; i < 2; i++)
    CALL(PetscSFGetRootRanks(i ? g->grove : g->basic, &n[i], &ranks[i], &offset[i], &slot[i],
                             &root[i]));
  CHECK(n[0] == n[1], "%d root ranks, and %d", (int)n[0], (int)n[1]);
  CHECK(n[0] == 0 || memcmp(ranks[0], ranks[1], sizeof(PetscMPIInt) * (size_t)n[0]) == 0, "ranks");
  check_list(n[0] + 1, offset[0], offset[1], "offsets of leaves");
  check_list(offset[0][n[0]], slot[0], slot[1], "slots");
  check_list(offset[0][n[0]], root[0], root[1], "roots of leaves");
}

static void compare_leaf_ranks(const graph *g)
{
  PetscInt n[2];
  const PetscMPIInt *ranks[2];
  const PetscInt *offset[2], *root[2];
  for (int i = 0; i < 2; i++)
    CALL(PetscSFGetLeafRanks(i ? g->grove : g->basic, &n[i], &ranks[i], &offset[i], &root[i]));
  CHECK(n[0] == n[1], "%d leaf ranks, and %d", (int)n[0], (int)n[1]);
  CHECK(n[0] == 0 || memcmp(ranks[0], ranks[1], sizeof(PetscMPIInt) * (size_t)n[0]) == 0, "ranks");
  check_list(n[0] + 1, offset[0], offset[1], "offsets of roots");
  check_list(offset[0][n[0]], root[0], root[1], "roots");
}

static void compare_groups(const graph *g)
{
  MPI_Group in[2], out[2];
  int same;
  for (int i = 0; i < 2; i++) CALL(PetscSFGetGroups(i ? g->grove : g->basic, &in[i], &out[i]));
  MPI_Group_compare(in[0], in[1], &same);
  CHECK(same != MPI_UNEQUAL, "incoming groups differ");
  MPI_Group_compare(out[0], out[1], &same);
  CHECK(same == MPI_IDENT, "outgoing groups differ");
}

/* A graph that both made; its arrays are those of `g`. */
static void compare_made(const graph *g, PetscSF basic, PetscSF grove)
{
  graph made = *g;
  PetscSFType type;
  CALL(PetscSFGetType(grove, &type));
  CHECK(strcmp(type, "grove") == 0, "made an SF of type %s", type);
  made.basic = basic;
  made.grove = grove;
  compare_moves(&made, 2);
  CALL(PetscSFDestroy(&basic));
  CALL(PetscSFDestroy(&grove));
}

static PetscBool is_selected(PetscInt rank, PetscInt root)
{
  return mix2(all.state, (uint64_t)(rank * MOST_ROOTS + root)) % 2 ? PETSC_TRUE : PETSC_FALSE;
}

/* PETSc's own embeds no slot that is a leaf several times, so the expected SF is made by hand. */
static void compare_embedded_roots(const graph *g)
{
  PetscInt selected[MOST_ROOTS], n = 0;
  graph left = *g;
  PetscSF made;
  for (PetscInt i = 0; i < g->nroots; i++)
    if (is_selected(world_rank(), i)) selected[n++] = i;
  CALL(PetscSFCreateEmbeddedRootSF(g->grove, n, selected, &made));
  left.slot = need(sizeof *left.slot * (size_t)(g->nleaves + 1));
  left.root = need(sizeof *left.root * (size_t)(g->nleaves + 1));
  left.nleaves = 0;
  for (PetscInt i = 0; i < g->nleaves; i++)
    if (is_selected(g->root[i].rank, g->root[i].index)) {
      left.slot[left.nleaves] = g->slot[i];
      left.root[left.nleaves++] = g->root[i];
    }
  left.any_order = 1; /* PETSc's sort is not stable */
  compare_made(&left, create_sf(&left, PETSCSFBASIC), made);
  free(left.slot);
  free(left.root);
}

static void compare_embedded_leaves(const graph *g)
{
  PetscInt selected[2 * MOST_ROOTS], n = 0;
  PetscSF made[2];
  for (PetscInt i = 0; i < g->nleaves; i++)
    if (rng_one_in(&own, 2)) selected[n++] = i;
  for (int i = 0; i < 2; i++)
    CALL(PetscSFCreateEmbeddedLeafSF(i ? g->grove : g->basic, n, selected, &made[i]));
  compare_made(g, made[0], made[1]);
}

static void compare_copies(const graph *g)
{
  PetscSF made[2];
  for (int i = 0; i < 2; i++)
    CALL(PetscSFDuplicate(i ? g->grove : g->basic, PETSCSF_DUPLICATE_GRAPH, &made[i]));
  compare_made(g, made[0], made[1]);
}

/* An SF may change its type, also when it has been set up. */
static void change_types(graph *g)
{
  CALL(PetscSFSetType(g->grove, PETSCSFBASIC));
  compare_moves(g, 1);
  CALL(PetscSFSetType(g->grove, "grove"));
  compare_moves(g, 1);
}

/* PETSc takes types of its own for patterns; the user may change that. */
static void compare_pattern(PetscSFPattern pattern)
{
  graph g = {0};
  PetscLayout map;
  CALL(PetscLayoutCreate(PETSC_COMM_WORLD, &map));
  CALL(PetscLayoutSetLocalSize(map, (PetscInt)rng_below(&own, 4) + 1));
  CALL(PetscLayoutSetUp(map));
  for (int i = 0; i < 2; i++) {
    PetscSF *sf = i ? &g.grove : &g.basic;
    CALL(PetscSFCreate(PETSC_COMM_WORLD, sf));
    CALL(PetscSFSetGraphWithPattern(*sf, map, pattern));
    if (i) CALL(PetscSFSetType(*sf, "grove"));
  }
  CALL(PetscSFGetGraph(g.grove, &g.nroots, &g.nleaves, NULL, NULL));
  g.nslots = g.nleaves;
  unit u = draw_unit(OF_INT);
  void *root = draw_array(&u, g.nroots), *leaf[2];
  for (int i = 0; i < 2; i++) {
    leaf[i] = need(u.bytes * (size_t)g.nslots + 1);
    CALL(PetscSFBcastBegin(i ? g.grove : g.basic, u.type, root, leaf[i], MPI_REPLACE));
    CALL(PetscSFBcastEnd(i ? g.grove : g.basic, u.type, root, leaf[i], MPI_REPLACE));
  }
  check_equal(&u, leaf[0], leaf[1], g.nslots, "pattern");
  free(leaf[0]);
  free(leaf[1]);
  free(root);
  free_unit(&u);
  free_graph(&g);
  CALL(PetscLayoutDestroy(&map));
}

/* ---- mistakes ---- */

static char sentence[1000];

static PetscErrorCode keep_sentence(MPI_Comm comm, int line, const char *function, const char *file,
                                    PetscErrorCode code, PetscErrorType type, const char *text,
                                    void *context)
{
  (void)comm, (void)line, (void)function, (void)file, (void)context;
  if (type == PETSC_ERROR_INITIAL) snprintf(sentence, sizeof sentence, "%s", text);
  return code;
}

/* A root that nobody can have: Grove's sentence, and the same on every rank. */
static void check_mistakes(void)
{
  PetscSF sf;
  PetscSFNode root = {world_size() + 7, 0};
  int value = 0;
  CALL(PetscPushErrorHandler(keep_sentence, NULL));
  CALL(PetscSFCreate(PETSC_COMM_WORLD, &sf));
  CALL(PetscSFSetType(sf, "grove"));
  CALL(
    PetscSFSetGraph(sf, 1, world_rank() == 0, NULL, PETSC_COPY_VALUES, &root, PETSC_COPY_VALUES));
  PetscErrorCode code = PetscSFSetUp(sf);
  CHECK(code == PETSC_ERR_ARG_OUTOFRANGE, "code %d", (int)code);
  CHECK(strstr(sentence, "GROVE_ERR_GRAPH") && number_in(sentence, world_size() + 7), "'%s'",
        sentence);
  CALL(PetscSFDestroy(&sf));
  CALL(PetscSFCreate(PETSC_COMM_WORLD, &sf));
  CALL(PetscSFSetType(sf, "grove"));
  CALL(PetscSFSetGraph(sf, 1, 0, NULL, PETSC_COPY_VALUES, NULL, PETSC_COPY_VALUES));
  CALL(PetscSFSetUp(sf));
  code = PetscSFBcastEnd(sf, MPI_INT, &value, &value, MPI_REPLACE);
  CHECK(code == PETSC_ERR_ARG_WRONGSTATE, "an end without a beginning: code %d", (int)code);
  CALL(PetscSFDestroy(&sf));
  CALL(PetscPopErrorHandler());
}

/* PETSc does not look whether a leaf's root was declared. */
static void compare_undeclared(PetscInt nroots)
{
  int root[2][4] = {{0}}, leaf[2] = {-1, -1};
  PetscSFNode node = {world_size() - 1, 3};
  for (int i = 0; i < 2; i++) {
    PetscSF sf;
    CALL(PetscSFCreate(PETSC_COMM_WORLD, &sf));
    CALL(PetscSFSetType(sf, i ? "grove" : PETSCSFBASIC));
    CALL(PetscSFSetGraph(sf, nroots, 1, NULL, PETSC_COPY_VALUES, &node, PETSC_COPY_VALUES));
    root[i][3] = world_rank() + 1;
    CALL(PetscSFBcastBegin(sf, MPI_INT, root[i], &leaf[i], MPI_REPLACE));
    CALL(PetscSFBcastEnd(sf, MPI_INT, root[i], &leaf[i], MPI_REPLACE));
    CALL(PetscSFReduceBegin(sf, MPI_INT, &leaf[i], root[i], MPI_SUM));
    CALL(PetscSFReduceEnd(sf, MPI_INT, &leaf[i], root[i], MPI_SUM));
    CALL(PetscSFDestroy(&sf));
  }
  CHECK(leaf[0] == leaf[1], "%d instead of %d", leaf[1], leaf[0]);
  CHECK(root[0][3] == root[1][3], "%d instead of %d", root[1][3], root[0][3]);
}

static void compare_all(void)
{
  graph g = draw_graph();
  compare_moves(&g, 1);
  compare_root_ranks(&g);
  compare_leaf_ranks(&g);
  compare_groups(&g);
  compare_moves(&g, rng_one_in(&all, 5) ? MOST_FLIGHTS : 5);
  compare_fetches(&g);
  compare_gathers(&g);
  compare_embedded_roots(&g);
  compare_embedded_leaves(&g);
  compare_copies(&g);
  change_types(&g);
  free_graph(&g);
  compare_pattern((PetscSFPattern)(PETSCSF_PATTERN_ALLGATHER + rng_below(&all, 3)));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "bindings/petsc_agrees");
  CALL(PetscInitialize(&argc, &argv, NULL, NULL));
  for (int i = 0; i < test_samples(5); i++) {
    test_case(i);
    all = rng_from(test_seed(), (uint64_t)i);
    own = rng_from(test_seed() + 1, (uint64_t)(i * world_size() + world_rank()));
    compare_all();
  }
  compare_undeclared(0);
  compare_undeclared(2);
  check_mistakes();
  CALL(PetscFinalize());
  return test_end();
}
