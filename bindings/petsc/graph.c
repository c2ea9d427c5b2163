/* From PETSc's graph to a forest, and from the forest to PETSc's lists by rank. PETSc's own set-up
 * of ranks does not run: Grove has found them already.
 */
#include "sf.h"

#include <assert.h>

/* ---- the forest ---- */

/* Is a slot a leaf several times, which is legal in a scatter? PetscSFSetGraph has sorted them. */
static PetscBool has_repeats(const PetscSF sf)
{
  if (!sf->allow_multi_leaves) return PETSC_FALSE;
  for (PetscInt i = 1; sf->mine && i < sf->nleaves; i++)
    if (sf->mine[i] == sf->mine[i - 1]) return PETSC_TRUE;
  return PETSC_FALSE;
}

typedef struct placed {
  PetscInt rank, leaf;
} placed;

static int compare_placed(const void *a, const void *b)
{
  const placed *x = a, *y = b;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  return x->leaf < y->leaf ? -1 : x->leaf > y->leaf;
}

/* The order in which `basic` writes leaves: this rank's own roots first, then by rank. Grove writes
 * a slot that is several leaves in the order of the list. */
static PetscErrorCode order_leaves(PetscSF sf, placed *order)
{
  PetscMPIInt rank;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)sf), &rank));
  for (PetscInt i = 0; i < sf->nleaves; i++) {
    order[i].rank = sf->remote[i].rank == rank ? -1 : sf->remote[i].rank;
    order[i].leaf = i;
  }
  qsort(order, (size_t)sf->nleaves, sizeof *order, compare_placed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The edges in that order. */
static PetscErrorCode copy_in_order(PetscSF sf, PetscInt *slot, PetscSFNode *root)
{
  placed *order;
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(sf->nleaves, &order));
  PetscCall(order_leaves(sf, order));
  for (PetscInt i = 0; i < sf->nleaves; i++) {
    slot[i] = sf->mine[order[i].leaf];
    root[i] = sf->remote[order[i].leaf];
  }
  PetscCall(PetscFree(order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's lists as they lie in memory, if its integers have 32 bits. `slot` is NULL where leaves
 * are consecutive. */
static PetscErrorCode set_graph(grove_forest *forest, PetscInt nroots, PetscInt nleaves,
                                const PetscInt *slot, const PetscSFNode *root)
{
  PetscFunctionBegin;
#if defined(PETSC_USE_64BIT_INDICES)
  grove_root *copy;
  PetscCall(PetscMalloc1(nleaves, &copy));
  for (PetscInt i = 0; i < nleaves; i++) {
    copy[i].rank = (int)root[i].rank;
    copy[i].index = root[i].index;
  }
  GROVE_SF_CALL(grove_forest_set_graph(forest, nroots, nleaves, slot, copy));
  PetscCall(PetscFree(copy));
#else
  static_assert(sizeof(PetscSFNode) == sizeof(grove_root32), "both have a rank and an index");
  GROVE_SF_CALL(
    grove_forest_set_graph32(forest, nroots, nleaves, slot, (const grove_root32 *)root));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many roots of this rank the leaves of all ranks refer to. Of ranks and roots that cannot be,
 * Grove tells. */
static PetscErrorCode count_used_roots(PetscSF sf, PetscInt *out)
{
  MPI_Comm comm = PetscObjectComm((PetscObject)sf);
  PetscMPIInt size;
  PetscInt *used;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscCalloc1(size, &used));
  for (PetscInt i = 0; i < sf->nleaves; i++) {
    PetscSFNode root = sf->remote[i];
    if (root.rank >= 0 && root.rank < size && root.index >= used[root.rank] &&
        root.index < PETSC_MAX_INT)
      used[root.rank] = root.index + 1;
  }
  PetscCallMPI(MPI_Reduce_scatter_block(used, out, 1, MPIU_INT, MPI_MAX, comm));
  PetscCall(PetscFree(used));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc does not look whether a leaf's root was declared, and its hierarchical partitioner declares
 * fewer roots than there are. So if Grove refuses a graph, all roots that leaves refer to count as
 * declared. All ranks come here alike. */
static PetscErrorCode set_up_forest(PetscSF sf, const PetscInt *slot, const PetscSFNode *root)
{
  grove_sf *g = sf->data;
  PetscInt nroots = sf->nroots, used;
  PetscFunctionBegin;
  PetscCall(set_graph(g->forest, nroots, sf->nleaves, slot, root));
  grove_status status = grove_forest_set_up(g->forest);
  if (status == GROVE_ERR_GRAPH) {
    PetscCall(count_used_roots(sf, &used));
    if (used > nroots) {
      PetscCall(
        PetscInfo(sf, "declares %" PetscInt_FMT " roots, but leaves refer to %" PetscInt_FMT "\n",
                  nroots, used));
      nroots = used;
    }
    PetscCall(set_graph(g->forest, nroots, sf->nleaves, slot, root));
    status = grove_forest_set_up(g->forest);
  }
  GROVE_SF_CALL(status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static grove_status set_of_forest(void *forest, const char *key, const char *value)
{
  return grove_forest_set(forest, key, value);
}

/* An SF with a prefix may have options of its own: -halo_sf_grove_set route=3-step. */
static PetscErrorCode set_own_options(PetscSF sf)
{
  grove_sf *g = sf->data;
  const char *prefix = ((PetscObject)sf)->prefix;
  PetscFunctionBegin;
  if (prefix) PetscCall(grove_sf_read_settings(prefix, set_of_forest, g->forest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode create_forest(PetscSF sf)
{
  grove_sf *g = sf->data;
  grove_context *ctx;
  PetscSFNode *root = NULL;
  PetscInt *slot = NULL;
  PetscBool repeats = has_repeats(sf);
  PetscFunctionBegin;
  PetscCall(grove_sf_context(PetscObjectComm((PetscObject)sf), &ctx));
  if (repeats) {
    PetscCall(PetscMalloc2(sf->nleaves, &slot, sf->nleaves, &root));
    PetscCall(copy_in_order(sf, slot, root));
  }
  GROVE_SF_CALL(grove_forest_create(ctx, &g->forest));
  if (sf->allow_multi_leaves) GROVE_SF_CALL(grove_forest_allow_duplicates(g->forest));
  const char *name = ((PetscObject)sf)->name;
  if (name) GROVE_SF_CALL(grove_forest_set_name(g->forest, name));
  PetscCall(set_own_options(sf));
  PetscCall(set_up_forest(sf, repeats ? slot : sf->mine, repeats ? root : sf->remote));
  PetscCall(PetscFree2(slot, root));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- lists by rank, this rank first, as PETSc has them ---- */

/* Which of Grove's neighbours is PETSc's i-th; `own` is this rank among Grove's, or -1. */
static int own_first(int i, int own)
{
  if (own < 0) return i;
  return i == 0 ? own : i <= own ? i - 1 : i;
}

static PetscErrorCode find_own(PetscSF sf, int n, const int *ranks, int *own)
{
  PetscMPIInt rank;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)sf), &rank));
  *own = n - 1;
  while (*own >= 0 && ranks[*own] != rank) --*own;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The number of this rank in PETSc's list. */
static PetscInt find_rank(PetscSF sf, PetscInt rank)
{
  PetscInt low = sf->ndranks, high = sf->nranks; /* ascending, but for this rank */
  if (sf->ndranks && sf->ranks[0] == rank) return 0;
  while (high - low > 1) {
    PetscInt middle = (low + high) / 2;
    if (sf->ranks[middle] <= rank)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* The leaves of each rank in the order of the list. Neighbours of a leaf mostly have their roots on
 * the same rank. */
static void group_leaves(PetscSF sf, PetscInt *next)
{
  PetscInt group = 0;
  for (PetscInt i = 0; i <= sf->nranks; i++) sf->roffset[i] = 0;
  for (PetscInt i = 0; i < sf->nleaves; i++) {
    if (sf->ranks[group] != sf->remote[i].rank) group = find_rank(sf, sf->remote[i].rank);
    sf->roffset[group + 1]++;
  }
  for (PetscInt i = 0; i < sf->nranks; i++) {
    next[i] = sf->roffset[i];
    sf->roffset[i + 1] += sf->roffset[i];
  }
  for (PetscInt i = 0; i < sf->nleaves; i++) {
    if (sf->ranks[group] != sf->remote[i].rank) group = find_rank(sf, sf->remote[i].rank);
    sf->rmine[next[group]] = sf->mine ? sf->mine[i] : i;
    sf->rremote[next[group]++] = sf->remote[i].index;
  }
}

/* PetscSFView and PetscSFGetGroups read these fields of the SF. Grove knows the ranks; the lists
 * are PETSc's own in another order. */
static PetscErrorCode set_root_ranks(PetscSF sf)
{
  grove_sf *g = sf->data;
  PetscInt *next;
  int n, own;
  const int *ranks;
  PetscFunctionBegin;
  GROVE_SF_CALL(grove_forest_root_ranks(g->forest, &n, &ranks));
  PetscCall(PetscFree4(sf->ranks, sf->roffset, sf->rmine, sf->rremote));
  PetscCall(PetscMalloc4(n, &sf->ranks, n + 1, &sf->roffset, sf->nleaves, &sf->rmine, sf->nleaves,
                         &sf->rremote));
  PetscCall(find_own(sf, n, ranks, &own));
  sf->nranks = n;
  sf->ndranks = own >= 0;
  for (int i = 0; i < n; i++) sf->ranks[i] = ranks[own_first(i, own)];
  PetscCall(PetscMalloc1(n, &next));
  group_leaves(sf, next);
  PetscCall(PetscFree(next));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode make_leaf_ranks(PetscSF sf)
{
  grove_sf *g = sf->data;
  PetscInt at = 0;
  int n, own;
  const int *ranks;
  const int64_t *offset, *root;
  PetscFunctionBegin;
  GROVE_SF_CALL(grove_forest_leaf_lists(g->forest, &n, &ranks, &offset, &root));
  PetscCall(PetscMalloc3(n, &g->iranks, n + 1, &g->ioffset, n ? offset[n] : 0, &g->irootloc));
  PetscCall(find_own(sf, n, ranks, &own));
  for (int i = 0; i < n; i++) {
    int from = own_first(i, own);
    g->iranks[i] = ranks[from];
    g->ioffset[i] = at;
    for (int64_t e = offset[from]; e < offset[from + 1]; e++) g->irootloc[at++] = (PetscInt)root[e];
  }
  g->ioffset[n] = at;
  g->niranks = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode grove_sf_leaf_ranks(PetscSF sf, grove_sf_rank_count *n, const PetscMPIInt **ranks,
                                   const PetscInt **offset, const PetscInt **root)
{
  grove_sf *g = sf->data;
  PetscFunctionBegin;
  if (g->niranks < 0) PetscCall(make_leaf_ranks(sf));
  if (n) *n = g->niranks;
  if (ranks) *ranks = g->iranks;
  if (offset) *offset = g->ioffset;
  if (root) *root = g->irootloc;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- set up and reset ---- */

PetscErrorCode grove_sf_set_up(PetscSF sf)
{
  PetscFunctionBegin;
  PetscCall(create_forest(sf));
  PetscCall(set_root_ranks(sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode grove_sf_forget_graph(PetscSF sf)
{
  grove_sf *g = sf->data;
  PetscFunctionBegin;
  PetscCall(grove_sf_flights_free(&g->flights));
  GROVE_SF_CALL(grove_forest_free(&g->forest));
  PetscCall(PetscFree3(g->iranks, g->ioffset, g->irootloc));
  g->niranks = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- graphs from others ---- */

/* PETSc has types of its own for patterns, without a list of edges. Where such an SF becomes one of
 * type `grove`, it gets the list. */
PetscErrorCode grove_sf_expand_pattern(PetscSF sf)
{
  PetscMPIInt rank, size;
  const PetscInt *first = NULL;
  PetscInt n = 0;
  PetscFunctionBegin;
  if (sf->pattern == PETSCSF_PATTERN_GENERAL || !sf->graphset) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)sf), &rank));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)sf), &size));
  PetscCall(PetscFree(sf->remote_alloc));
  PetscCall(PetscMalloc1(sf->nleaves, &sf->remote_alloc));
  if (sf->pattern != PETSCSF_PATTERN_ALLTOALL) PetscCall(PetscLayoutGetRanges(sf->map, &first));
  for (PetscMPIInt r = 0; r < size && n < sf->nleaves; r++) {
    PetscInt count = first ? first[r + 1] - first[r] : 1;
    for (PetscInt i = 0; i < count; i++, n++) {
      sf->remote_alloc[n].rank = r;
      sf->remote_alloc[n].index = first ? i : rank;
    }
  }
  sf->remote = sf->remote_alloc;
  sf->pattern = PETSCSF_PATTERN_GENERAL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The edges of the selected roots, edge by edge: of a slot that is a leaf several times, those
 * edges alone. */
PetscErrorCode grove_sf_embed_roots(PetscSF sf, PetscInt n, const PetscInt *selected, PetscSF *out)
{
  grove_sf *g = sf->data;
  grove_forest *embedded;
  int64_t *wanted, nleaves;
  const int64_t *leaf;
  const grove_root *root;
  PetscInt *slot;
  PetscSFNode *node;
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &wanted));
  for (PetscInt i = 0; i < n; i++) wanted[i] = selected[i];
  GROVE_SF_CALL(grove_forest_embed_roots(g->forest, n, wanted, &embedded));
  PetscCall(PetscFree(wanted));
  GROVE_SF_CALL(grove_forest_graph(embedded, NULL, &nleaves, &leaf, &root));
  PetscCall(PetscMalloc1(nleaves, &slot));
  PetscCall(PetscMalloc1(nleaves, &node));
  for (int64_t i = 0; i < nleaves; i++) {
    slot[i] = (PetscInt)(leaf ? leaf[i] : i);
    node[i].rank = root[i].rank;
    node[i].index = (PetscInt)root[i].index;
  }
  GROVE_SF_CALL(grove_forest_free(&embedded));
  PetscCall(PetscSFDuplicate(sf, PETSCSF_DUPLICATE_CONFONLY, out));
  PetscCall(PetscSFSetGraph(*out, sf->nroots, (PetscInt)nleaves, slot, PETSC_OWN_POINTER, node,
                            PETSC_OWN_POINTER));
  PetscFunctionReturn(PETSC_SUCCESS);
}
