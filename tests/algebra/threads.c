/* With MPI_THREAD_MULTIPLE threads make forests from forests at once, each on a context of its own;
 * and on one context one makes them while another moves data on the same forests. */
#include "threads.h"
#include "algebra.h"
#include "check.h"

#include <stdlib.h>

enum { THREADS = 2, ENTRIES = 7, TIMES = 10 };

/* ---- a context each ---- */

static void make_many(int number, void *self)
{
  const place *p = &((const place *)self)[number];
  for (int i = 0; i < TIMES; i++) {
    grove_forest *a = turn(p, ENTRIES + number, 1), *b = turn(p, ENTRIES + number, i);
    grove_forest *ab = composed(a, b), *back = inverse_of(ab), *blocks = strided(back, 2, 0, 0);
    turn_check(p, blocks, -1 - i);
    forests_free(5, (grove_forest *[]){a, b, ab, back, blocks});
  }
}

/* ---- one context ---- */

typedef struct meeting {
  place p;
  grove_forest *a, *b;
} meeting;

/* One shots on b, of a kind that was made before. */
static void move_many(const meeting *m)
{
  int64_t root[ENTRIES], leaf[ENTRIES];
  int far = (m->p.rank + 2) % m->p.size;
  for (int i = 0; i < 20 * TIMES; i++) {
    for (int k = 0; k < ENTRIES; k++) root[k] = 1000 * m->p.rank + k + i;
    CHECK_OK(grove_bcast(m->b, MPI_INT64_T, root, leaf, MPI_REPLACE));
    for (int k = 0; k < ENTRIES; k++)
      CHECK(leaf[k] == 1000 * far + k + i, "leaf %d is %lld", k, (long long)leaf[k]);
  }
}

/* All that is collective, by this thread alone. */
static void make_beside(const meeting *m)
{
  for (int i = 0; i < TIMES; i++) {
    grove_forest *ab = composed(m->a, m->b), *back = composed_inverse(ab, m->b);
    turn_check(&m->p, ab, 3);
    turn_check(&m->p, back, 1);
    forests_free(2, (grove_forest *[]){ab, back});
  }
}

static void meet(int number, void *self)
{
  if (number == 0)
    make_beside(self);
  else
    move_many(self);
}

static void on_one_context(void)
{
  meeting m = {.p = place_create(split(0))};
  m.a = turn(&m.p, ENTRIES, 1);
  m.b = turn(&m.p, ENTRIES, 2);
  turn_check(&m.p, m.b, 2);
  in_threads(2, meet, &m);
  forests_free(2, (grove_forest *[]){m.a, m.b});
  place_free(&m.p);
}

int main(int argc, char **argv)
{
  if (!test_begin_threads(&argc, &argv, "algebra/threads"))
    return test_skip("this MPI does not provide MPI_THREAD_MULTIPLE");
  place p[THREADS];
  for (int i = 0; i < THREADS; i++) p[i] = place_create(split(0));
  in_threads(THREADS, make_many, p);
  for (int i = 0; i < THREADS; i++) place_free(&p[i]);
  on_one_context();
  return test_end();
}
