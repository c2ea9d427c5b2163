/* grove_forest_box against a serial reference, on 1 to all ranks of the job: boxes of 1 to 8
 * dimensions, periodic or not, with frames of any width, also wider than blocks or the whole box,
 * and blocks without cells. Then what users rely on: the update in place, and laws. */
#include "algebra.h"
#include "boxes.h"
#include "check.h"
#include "sources.h"

#include <stdlib.h>

enum { LONGEST = 9, NOWHERE = -77 };

/* ---- boxes ---- */

/* Puts every prime factor of the ranks somewhere. */
static void draw_procs(rng *r, int nranks, box *b)
{
  for (int d = 0; d < b->dims; d++) b->procs[d] = 1;
  for (int factor = 2; nranks > 1; factor++)
    for (; nranks % factor == 0; nranks /= factor) b->procs[rng_below(r, b->dims)] *= factor;
}

static box draw_box(rng *r, int nranks)
{
  static const int longest[BOX_DIMS + 1] = {0, 40, LONGEST, 6, 4, 3, 3, 2, 2};
  static const int widest[BOX_DIMS + 1] = {0, 4, 4, 2, 2, 1, 1, 1, 1};
  box b = {.dims = (int)(rng_one_in(r, 5) ? rng_between(r, 5, BOX_DIMS) : rng_between(r, 1, 4)),
           .corners = rng_one_in(r, 2)};
  draw_procs(r, nranks, &b);
  for (int d = 0; d < b.dims; d++) {
    b.size[d] = rng_one_in(r, 12) ? 0 : rng_between(r, 1, longest[b.dims]);
    b.periodic[d] = rng_one_in(r, 2);
    b.width[d] = (int)(rng_one_in(r, 4) ? 0 : rng_between(r, 1, widest[b.dims]));
  }
  return b;
}

static grove_forest *make_box(const place *p, const box *b)
{
  grove_forest *f = NULL;
  CHECK_OK(
    grove_forest_box(p->ctx, b->dims, b->size, b->procs, b->periodic, b->width, b->corners, &f));
  return f;
}

/* ---- what must hold ---- */

static int64_t number_of(const box *b, const int64_t *cell)
{
  int64_t number = 0;
  for (int d = 0; d < b->dims; d++) number = number * b->size[d] + cell[d];
  return number;
}

/* Every cell has its number; the frame gets the right ones, and nothing else is touched. */
static void check_update(const place *p, const box *b, grove_forest *f)
{
  block own = box_block(b, p->rank);
  int64_t *x = need((size_t)own.cells * sizeof *x), cell[BOX_DIMS];
  int outside, is_there;
  for (int64_t i = 0; i < own.cells; i++) {
    is_there = box_cell(b, &own, i, cell, &outside);
    x[i] = is_there && outside == 0 ? number_of(b, cell) : NOWHERE;
  }
  CHECK_OK(grove_bcast(f, MPI_INT64_T, x, x, MPI_REPLACE));
  for (int64_t i = 0; i < own.cells && !own.is_empty; i++) {
    is_there = box_cell(b, &own, i, cell, &outside);
    int64_t expected = is_there && (outside < 2 || b->corners) ? number_of(b, cell) : NOWHERE;
    CHECK(x[i] == expected, "place %lld has %lld, not %lld", (long long)i, (long long)x[i],
          (long long)expected);
  }
  free(x);
}

/* Leaves come by ascending slot, so that messages are runs of memory. */
static void check_ascending(grove_forest *f)
{
  int64_t n = 0, *slot = slots_of(f, &n);
  for (int64_t i = 1; i < n; i++)
    CHECK(slot[i - 1] < slot[i], "leaf %lld is slot %lld", (long long)i, (long long)slot[i]);
  free(slot);
}

/* Without corners it is with corners, less the leaves outside in two dimensions. */
static void corners_are_more(const place *p, const box *b)
{
  box with = *b, without = *b;
  with.corners = 1;
  without.corners = 0;
  grove_forest *all = make_box(p, &with), *sides = make_box(p, &without);
  int64_t n = 0, *slot = slots_of(all, &n), kept = 0, cell[BOX_DIMS];
  block own = box_block(b, p->rank);
  for (int64_t i = 0; i < n; i++) {
    int outside;
    box_cell(b, &own, slot[i], cell, &outside);
    if (outside == 1) slot[kept++] = slot[i];
  }
  grove_forest *some = with_leaves(all, kept, slot);
  sketch_check_same(some, sides, "the sides of a frame with corners");
  forests_free(3, (grove_forest *[]){all, sides, some});
  free(slot);
}

/* NULL and zeros are what the header says. */
static void defaults(const place *p, const box *given)
{
  box b = {.dims = given->dims, .corners = given->corners};
  int some[BOX_DIMS] = {0};
  grove_forest *f = NULL;
  for (int d = 0; d < b.dims; d++) {
    b.size[d] = given->size[d];
    b.width[d] = 1;
  }
  CHECK(MPI_Dims_create(p->size, b.dims, b.procs) == MPI_SUCCESS, "no grid");
  grove_forest *expected = make_box(p, &b);
  CHECK_OK(grove_forest_box(p->ctx, b.dims, b.size, NULL, NULL, NULL, b.corners ? 17 : 0, &f));
  sketch_check_same(f, expected, "NULL");
  CHECK_OK(grove_forest_free(&f));
  CHECK_OK(grove_forest_free(&expected));
  b.procs[0] = some[0] = given->procs[0];
  for (int d = 1; d < b.dims; d++) b.procs[d] = 0;
  if (b.dims > 1) CHECK(MPI_Dims_create(p->size, b.dims, b.procs) == MPI_SUCCESS, "no grid");
  expected = make_box(p, &b);
  CHECK_OK(grove_forest_box(p->ctx, b.dims, b.size, some, NULL, NULL, b.corners, &f));
  sketch_check_same(f, expected, "some of the process grid");
  forests_free(2, (grove_forest *[]){f, expected});
}

/* ---- boxes that have to be tried ---- */

/* Along a line, the frame is made of ghosts. */
static void line_is_ghosts(const place *p)
{
  enum { CELLS = 23, WIDTH = 3 };
  box b = {.dims = 1, .size = {CELLS}, .procs = {p->size}, .width = {WIDTH}};
  block own = box_block(&b, p->rank);
  int64_t used[2 * WIDTH], n = 0;
  for (int64_t k = 1; k <= WIDTH && !own.is_empty; k++) {
    if (own.first[0] >= k) used[n++] = own.first[0] - k;
    if (own.first[0] + own.count[0] - 1 + k < CELLS)
      used[n++] = own.first[0] + own.count[0] - 1 + k;
  }
  grove_forest *frame = make_box(p, &b), *ghosts = NULL;
  int64_t nghosts = 0, ghost[2 * WIDTH], x[CELLS + 2 * WIDTH], y[CELLS + 2 * WIDTH];
  CHECK_OK(grove_ghosts(p->ctx, own.count[0], n, used, NULL, &nghosts, ghost, &ghosts));
  CHECK(nghosts == n, "%lld ghosts, and %lld cells of the frame", (long long)nghosts, (long long)n);
  for (int64_t i = 0; i < own.count[0]; i++) x[WIDTH + i] = y[i] = 100 + own.first[0] + i;
  CHECK_OK(grove_bcast(frame, MPI_INT64_T, x, x, MPI_REPLACE));
  CHECK_OK(grove_bcast(ghosts, MPI_INT64_T, y, y, MPI_REPLACE));
  for (int64_t k = 0; k < nghosts; k++) {
    int64_t at = WIDTH + ghost[k] - own.first[0];
    CHECK(x[at] == 100 + ghost[k] && y[own.count[0] + k] == 100 + ghost[k], "cell %lld",
          (long long)ghost[k]);
  }
  forests_free(2, (grove_forest *[]){frame, ghosts});
}

/* One cell, a frame wider than the box: all of it is that cell. */
static void one_cell(const place *p)
{
  box b = {.dims = 2, .corners = 1, .size = {1, 1}, .procs = {1, p->size}, .periodic = {1, 1}};
  b.width[0] = b.width[1] = 3;
  sketch *s = serial_box(&b, p->size);
  grove_forest *f = make_box(p, &b);
  sketch_check(f, s, p->rank, "one cell");
  CHECK_OK(grove_forest_free(&f));
  sketch_free(s);
}

/* Far more cells than could be walked through: the frame alone is. */
static void large_box(const place *p)
{
  enum { BITS = 28, DIMS = 8 };
  int64_t large = (int64_t)1 << BITS, size[2] = {large * p->size, large}, n = 0, nroots = 0;
  int procs[2] = {p->size, 1}, width[2] = {1, 0};
  grove_forest *f = NULL;
  int64_t thin[2] = {large * p->size, 3};
  CHECK_OK(grove_forest_box(p->ctx, 2, thin, procs, NULL, width, 0, &f));
  CHECK_OK(grove_forest_sizes(f, &nroots, &n));
  int64_t sides = (p->rank > 0) + (p->rank < p->size - 1);
  CHECK(nroots == 3 * (large + 2) && n == 3 * sides, "%lld roots, %lld leaves", (long long)nroots,
        (long long)n);
  CHECK_OK(grove_forest_free(&f));
  width[0] = 0;
  CHECK_OK(grove_forest_box(p->ctx, 2, size, procs, NULL, width, 1, &f));
  CHECK_OK(grove_forest_sizes(f, &nroots, &n));
  CHECK(nroots == large * large && n == 0, "%lld roots, %lld leaves", (long long)nroots,
        (long long)n);
  CHECK_OK(grove_forest_free(&f));
  int64_t ones[DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
  int around[DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
  CHECK_OK(grove_forest_box(p->ctx, DIMS, ones, NULL, around, NULL, 1, &f));
  CHECK_OK(grove_forest_sizes(f, NULL, &n));
  CHECK(n == 0 || n == 6560, "%lld leaves, not 3^8 - 1", (long long)n);
  CHECK_OK(grove_forest_free(&f));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "forest/box");
  places all = places_create();
  int64_t cases = test_samples(60);
  for (int64_t i = 0; i < cases; i++) {
    test_case(i);
    trial t = trial_begin(places_turn(&all, i), i);
    box b = draw_box(&t.r, t.p->size);
    sketch *s = serial_box(&b, t.p->size);
    grove_forest *f = make_box(t.p, &b);
    sketch_check(f, s, t.p->rank, "box");
    check_update(t.p, &b, f);
    check_ascending(f);
    corners_are_more(t.p, &b);
    defaults(t.p, &b);
    CHECK_OK(grove_forest_free(&f));
    sketch_free(s);
  }
  for (int i = 0; i < all.n; i++) {
    line_is_ghosts(&all.place[i]);
    one_cell(&all.place[i]);
    large_box(&all.place[i]);
  }
  places_free(&all);
  return test_end();
}
