/* Operations that were freed while active may stay until their context goes; they keep no copy of
 * their datatype, of which an MPI may have room for few. copies.h counts them. */
#include "check.h"
#include "copies.h"
#include "places.h"

#include <stdlib.h>

enum { ABANDONED = 40, SLOTS = 40, WIDTH = 4 };

/* ---- operations ---- */

typedef struct arrays {
  int root[WIDTH * SLOTS], leaf[WIDTH * SLOTS], update[WIDTH * SLOTS];
} arrays;

/* Rank 1 has leaves of rank 0's roots. */
static grove_forest *make_forest(const place *p)
{
  grove_root root[SLOTS];
  grove_forest *f = NULL;
  for (int i = 0; i < SLOTS; i++) root[i] = (grove_root){0, SLOTS - 1 - i};
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(
    grove_forest_set_graph(f, p->rank == 0 ? SLOTS : 0, p->rank == 1 ? SLOTS : 0, NULL, root));
  CHECK_OK(grove_forest_set_up(f));
  return f;
}

/* Pairs of ints, with an int between them that stays as it is. */
static MPI_Datatype make_pairs(void)
{
  MPI_Datatype two, pairs;
  MPI_Type_vector(2, 1, 2, MPI_INT, &two);
  MPI_Type_create_resized(two, 0, WIDTH * (MPI_Aint)sizeof(int), &pairs);
  MPI_Type_commit(&pairs);
  MPI_Type_free(&two);
  return pairs;
}

static void fill(arrays *a, int first)
{
  for (int i = 0; i < WIDTH * SLOTS; i++) {
    a->root[i] = first + i;
    a->leaf[i] = a->update[i] = -1;
  }
}

typedef enum kind { BCAST, REDUCE, FETCH, KINDS } kind;

static grove_op *make_op(grove_forest *f, MPI_Datatype type, kind k, arrays *a)
{
  grove_op *op = NULL;
  if (k == BCAST) CHECK_OK(grove_bcast_init(f, type, a->root, a->leaf, MPI_REPLACE, &op));
  if (k == REDUCE) CHECK_OK(grove_reduce_init(f, type, a->leaf, a->root, MPI_SUM, &op));
  if (k == FETCH) CHECK_OK(grove_fetch_init(f, type, a->root, a->leaf, a->update, MPI_SUM, &op));
  return op;
}

/* Who waits for the other starts, and frees; the other one never starts. */
static void abandon_many(const place *p, grove_forest *f, MPI_Datatype type, kind k)
{
  static arrays a;
  int waits = k == BCAST ? p->rank == 1 : p->rank == 0;
  for (int i = 0; i < ABANDONED; i++) {
    grove_op *op = make_op(f, type, k, &a);
    if (waits) CHECK_OK(grove_start(op));
    CHECK_OK(grove_op_free(&op));
  }
}

static void still_right(const place *p, grove_forest *f, MPI_Datatype type)
{
  static arrays a;
  fill(&a, 1000 * p->rank);
  CHECK_OK(grove_bcast(f, type, a.root, a.leaf, MPI_REPLACE));
  for (int i = 0; i < WIDTH * SLOTS; i++) {
    int expected = p->rank == 0 || i % 2 ? -1 : WIDTH * (SLOTS - 1 - i / WIDTH) + i % WIDTH;
    CHECK(a.leaf[i] == expected, "int %d is %d, not %d", i, a.leaf[i], expected);
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/abandoned_types");
  for (kind k = 0; k < KINDS; k++) {
    MPI_Datatype type = make_pairs();
    place p = place_create(split(0));
    grove_forest *f = make_forest(&p);
    int before = copies.n, made = copies.made;
    test_case(k);
    abandon_many(&p, f, type, k);
    CHECK(copies.n - before <= 8, "%d copies of a datatype are left", copies.n - before);
    CHECK(copies.made - made >= ABANDONED, "only %d copies were made", copies.made - made);
    still_right(&p, f, type);
    CHECK_OK(grove_forest_free(&f));
    place_free(&p);
    MPI_Type_free(&type);
  }
  return test_end();
}
