/* A slot that is a leaf several times: only where it is allowed, in the order of the list, and only
 * in the constructions that do not ask which root a slot has. */
#include "check.h"
#include "places.h"

#include <string.h>

/* Every rank has two roots, and three edges: slot 1 twice, to the next rank and to its own, and
 * slot 0 between them. */
enum { LEAVES = 3, ROOTS = 2 };
static const int64_t slots[LEAVES] = {1, 0, 1};

static void list_roots(const place *p, grove_root *root)
{
  int next = (p->rank + 1) % p->size;
  root[0] = (grove_root){next, 0};
  root[1] = (grove_root){next, 1};
  root[2] = (grove_root){p->rank, 1};
}

static grove_forest *make(const place *p, int allowed)
{
  grove_forest *f = NULL;
  grove_root root[LEAVES];
  list_roots(p, root);
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_name(f, "twice"));
  if (allowed) CHECK_OK(grove_forest_allow_duplicates(f));
  CHECK_OK(grove_forest_set_graph(f, ROOTS, LEAVES, slots, root));
  return f;
}

static void refused(grove_status status, grove_status expected, const char *words)
{
  CHECK(status == expected && strstr(grove_last_error(), words) != NULL, "%s, not %s: %s",
        grove_status_name(status), grove_status_name(expected), grove_last_error());
}

static void refuses_without(const place *p)
{
  grove_forest *f = make(p, p->rank > 0);
  refused(grove_forest_set_up(f), GROVE_ERR_GRAPH,
          "rank 0: leaf 1 is there twice: entry 0 of its list");
  CHECK(strstr(grove_last_error(), "grove_forest_allow_duplicates") != NULL, "it says: %s",
        grove_last_error());
  refused(grove_forest_allow_duplicates(f), GROVE_ERR_STATE, "has a graph already");
  CHECK_OK(grove_forest_free(&f));
  refused(grove_forest_allow_duplicates(NULL), GROVE_ERR_ARG, "the forest is NULL");
}

static void keeps_the_order(const place *p, grove_forest *f)
{
  const int next = (p->rank + 1) % p->size, before = (p->rank + p->size - 1) % p->size;
  double root[ROOTS] = {10 * p->rank, 10 * p->rank + 1}, leaf[2] = {0.5, 0.25};
  CHECK_OK(grove_bcast(f, MPI_DOUBLE, root, leaf, MPI_REPLACE));
  CHECK(leaf[0] == 10 * next + 1 && leaf[1] == 10 * p->rank + 1, "leaves %g and %g", leaf[0],
        leaf[1]); /* the last entry of slot 1 is the own root */
  leaf[1] = 0;
  CHECK_OK(grove_bcast(f, MPI_DOUBLE, root, leaf, MPI_SUM));
  CHECK(leaf[1] == 10 * next + 10 * p->rank + 1, "the sum is %g", leaf[1]);
  leaf[0] = 1;
  leaf[1] = 100;
  CHECK_OK(grove_reduce(f, MPI_DOUBLE, leaf, root, MPI_SUM));
  CHECK(root[0] == 10 * p->rank + 100 && root[1] == 10 * p->rank + 1 + 100 + 1,
        "rank %d: roots %g and %g; leaves of rank %d", p->rank, root[0], root[1], before);
}

/* Those that keep every edge, and those that cannot. */
static void derives(grove_forest *f)
{
  grove_forest *made = NULL, *back = NULL;
  const int64_t one = 1, *leaf = NULL;
  int64_t n = 0, nroots = 0;
  CHECK_OK(grove_forest_multi(f, &made));
  CHECK_OK(grove_forest_sizes(made, &nroots, &n));
  CHECK(nroots == LEAVES && n == LEAVES, "the multi-forest: %lld roots, %lld leaves",
        (long long)nroots, (long long)n);
  CHECK_OK(grove_forest_inverse(made, &back));
  CHECK_OK(grove_forest_sizes(back, &nroots, &n));
  CHECK(nroots == 2 && n == LEAVES, "its inverse: %lld roots, %lld leaves", (long long)nroots,
        (long long)n);
  CHECK_OK(grove_forest_free(&back));
  CHECK_OK(grove_forest_free(&made));
  CHECK_OK(grove_forest_embed_leaves(f, 1, &one, &made));
  CHECK_OK(grove_forest_graph(made, NULL, &n, &leaf, NULL));
  CHECK(n == 2 && leaf[0] == 1 && leaf[1] == 1, "slot 1 has %lld edges", (long long)n);
  CHECK_OK(grove_forest_free(&made));
  CHECK_OK(grove_forest_embed_roots(f, 1, &one, &made));
  CHECK_OK(grove_forest_sizes(made, NULL, &n));
  CHECK(n == 2, "root 1 of all ranks has %lld leaves here", (long long)n);
  CHECK_OK(grove_forest_free(&made));
  refused(grove_forest_compose(f, f, &made), GROVE_ERR_UNSUPPORTED,
          "a slot of forest 'twice' is a leaf several times");
  refused(grove_forest_merge(f, f, &made), GROVE_ERR_UNSUPPORTED, "several times");
  refused(grove_forest_strided(f, 2, 0, 0, &made), GROVE_ERR_UNSUPPORTED, "several times");
  refused(grove_forest_concatenate(1, &f, GROVE_ROOTS_LOCAL, &made), GROVE_ERR_UNSUPPORTED,
          "several times");
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "forest/duplicates");
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  place p = place_create(comm);
  refuses_without(&p);
  grove_forest *f = make(&p, 1);
  CHECK_OK(grove_forest_set_up(f));
  keeps_the_order(&p, f);
  derives(f);
  CHECK_OK(grove_forest_free(&f));
  place_free(&p);
  return test_end();
}
