#include "algebra/singles.h"

#include <stdlib.h>

/* The ranks of the first two leaves of a root. */
static void find_leaves(const grove_forest *f, int64_t root, int rank[2])
{
  int found = 0;
  for (int g = 0; g < f->roots.count; g++)
    for (int64_t e = f->roots.begin[g]; e < f->roots.begin[g + 1] && found < 2; e++)
      if (grove_index_at(&f->roots.slots, e) == root) rank[found++] = f->roots.ranks[g];
}

static grove_status refuse_root(const grove_making *m, const grove_forest *f, int64_t root)
{
  int rank[2] = {0};
  find_leaves(f, root, rank);
  return grove_error(
    GROVE_ERR_GRAPH, __FILE__, __LINE__,
    "rank %d: root %lld of forest '%.100s' has more than one leaf, on ranks %d and %d: "
    "%s needs roots with one at most",
    m->ctx->rank, (long long)root, grove_forest_label(f), rank[0], rank[1], m->call);
}

grove_status grove_singles_create(const grove_making *m, const grove_forest *f, grove_singles *out)
{
  const grove_index *slots = &f->roots.slots;
  out->forest = f;
  GROVE_PASS_NEW(out->has, f->nroots);
  GROVE_PASS_ROOM(out->code, slots->count);
  for (int64_t e = 0; e < slots->count; e++) {
    int64_t root = grove_index_at(slots, e);
    if (out->has[root]) GROVE_PASS(refuse_root(m, f, root));
    out->has[root] = 1;
  }
  return GROVE_OK;
}

void grove_singles_free(grove_singles *s)
{
  free(s->has);
  free(s->code);
}

void grove_singles_collect(const grove_making *m, const grove_singles *s, grove_edges *edges)
{
  grove_edges list = *edges; /* a local copy, which no list aliases */
  int bits = m->bits;
  const int64_t *code = s->code, nroots = s->forest->nroots;
  for (int64_t r = 0; r < nroots; r++)
    if (s->has[r]) {
      grove_edges_add_if(&list, *code >= 0, r, grove_code_root(bits, *code));
      code++;
    }
  edges->count = list.count;
}
