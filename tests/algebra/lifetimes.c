/* A forest made from others needs nothing of them, nor of the context's owner; it has a name, shows
 * in the reports, and what it takes to make it does not get between a user's own operations. */
#define _XOPEN_SOURCE 700 /* mkstemp */
#include "algebra.h"
#include "capture.h"
#include "check.h"
#include "json.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENTRIES = 7 };

/* ---- who is freed first ---- */

static void owners_first(void)
{
  place p = place_create(split(0));
  grove_forest *a = turn(&p, ENTRIES, 1), *b = turn(&p, ENTRIES, 2), *ab = composed(a, b);
  grove_op *op = NULL;
  int64_t root[ENTRIES], leaf[ENTRIES];
  int far = (p.rank + 3) % p.size;
  CHECK_OK(grove_bcast_init(ab, MPI_INT64_T, root, leaf, MPI_REPLACE, &op));
  for (int i = 0; i < ENTRIES; i++) root[i] = 1000 * p.rank + i;
  forests_free(3, (grove_forest *[]){a, b, ab});
  place_free(&p);
  CHECK_OK(grove_start(op));
  CHECK_OK(grove_wait(op));
  for (int i = 0; i < ENTRIES; i++)
    CHECK(leaf[i] == 1000 * far + i, "leaf %d is %lld", i, (long long)leaf[i]);
  CHECK_OK(grove_op_free(&op));
}

/* The forest that is replaced is freed. */
static void replace(grove_forest **f, grove_forest *by)
{
  CHECK_OK(grove_forest_free(f));
  *f = by;
}

static void results_of_results(const place *p)
{
  enum { TIMES = 12 };
  grove_forest *f = turn(p, ENTRIES, 1), *step = turn(p, ENTRIES, 1);
  for (int k = 2; k <= TIMES; k++) {
    replace(&f, composed(f, step));
    turn_check(p, f, k);
  }
  replace(&f, inverse_of(f));
  turn_check(p, f, -TIMES);
  replace(&f, strided(f, 2, 0, 0));
  replace(&f, strided(f, 3, roots_of(f), end_of(f)));
  turn_check(p, f, -TIMES);
  replace(&f, composed_inverse(f, f));
  turn_check(p, f, 0);
  replace(&f, merged(f, f));
  replace(&f, side_by_side(f, f, GROVE_ROOTS_LOCAL));
  replace(&f, with_roots(f, 0, NULL));
  CHECK(roots_of(f) == 12 * ENTRIES && end_of(f) == 0, "%lld roots, leaves up to %lld",
        (long long)roots_of(f), (long long)end_of(f));
  forests_free(2, (grove_forest *[]){f, step});
}

/* Many at once, freed in another order than they were made. */
static void many_alive(const place *p)
{
  enum { ALIVE = 30 };
  grove_forest *step = turn(p, ENTRIES, 1), *f[ALIVE];
  for (int i = 0; i < ALIVE; i++) f[i] = i < 2 ? turn(p, ENTRIES, i) : composed(f[i - 1], step);
  for (int i = 0; i < ALIVE; i += 2) CHECK_OK(grove_forest_free(&f[i]));
  for (int i = 1; i < ALIVE; i += 2) turn_check(p, f[i], i);
  for (int i = ALIVE - 1; i > 0; i -= 2) CHECK_OK(grove_forest_free(&f[i]));
  CHECK_OK(grove_forest_free(&step));
}

/* ---- names and reports ---- */

/* Every root has two leaves. */
static grove_forest *named(const place *p, const char *name)
{
  grove_forest *f = turn(p, ENTRIES, 1), *twice = side_by_side(f, f, GROVE_ROOTS_SHARED);
  CHECK_OK(grove_forest_set_name(twice, name));
  CHECK_OK(grove_forest_free(&f));
  return twice;
}

static void names(const place *p)
{
  grove_forest *f = named(p, "acer"), *out = NULL;
  CHECK_STATUS(grove_forest_inverse(f, &out), GROVE_ERR_GRAPH);
  CHECK(strstr(grove_last_error(), "'acer'") != NULL, "no 'acer' in '%s'", grove_last_error());
  CHECK_STATUS(grove_forest_set_graph(f, 0, 0, NULL, NULL), GROVE_ERR_STATE);
  CHECK(strstr(grove_last_error(), "'acer'") != NULL, "no 'acer' in '%s'", grove_last_error());
  CHECK_OK(grove_forest_free(&f));
}

static void use(const place *p, const char *name)
{
  grove_forest *f = named(p, name);
  int64_t root[ENTRIES] = {0}, leaf[2 * ENTRIES];
  CHECK_OK(grove_bcast(f, MPI_INT64_T, root, leaf, MPI_REPLACE));
  CHECK_OK(grove_forest_free(&f));
}

static void summary_shows_it(void)
{
  char text[CAPTURE_BYTES];
  place p = place_create(split(0));
  place_set(&p, "log", "summary");
  use(&p, "acer");
  capture c = capture_begin();
  CHECK_OK(grove_context_free(&p.ctx));
  capture_end(&c, text);
  CHECK((strstr(text, "\nacer ") != NULL) == (p.rank == 0), "the summary is '%s'", text);
  MPI_Comm_free(&p.comm);
}

/* The same on every rank: a file of rank 0's. */
static void make_file(char path[200])
{
  const char *above = getenv("TMPDIR");
  snprintf(path, 200, "%.150s/grove-algebra-XXXXXX", above != NULL ? above : "/tmp");
  if (world_rank() == 0) {
    int file = mkstemp(path);
    CHECK(file >= 0, "no file %s", path);
    close(file);
  }
  MPI_Request request;
  MPI_Ibcast(path, 200, MPI_CHAR, 0, MPI_COMM_WORLD, &request);
  polite_wait(&request);
}

static int spans_of(const json *all, const char *forest)
{
  int found = 0;
  const json *events = json_find(all, "traceEvents");
  CHECK(events != NULL && events->kind == JSON_LIST, "no list of events");
  for (int i = 0; i < events->n; i++) {
    const json *arguments = json_find(&events->items[i], "args");
    const json *name = arguments != NULL ? json_find(arguments, "forest") : NULL;
    found += name != NULL && strcmp(name->text, forest) == 0;
  }
  return found;
}

static void trace_shows_it(void)
{
  char path[200];
  make_file(path);
  place p = place_create(split(0));
  place_set(&p, "trace", path);
  use(&p, "acer");
  place_free(&p);
  if (world_rank() > 0) return;
  char *text = read_whole(path);
  json *all = json_read(text);
  int spans = spans_of(all, "acer");
  CHECK(spans >= world_size(), "%d spans of %d ranks", spans, world_size());
  json_free(all);
  free(text);
  unlink(path);
}

/* ---- a user's operations meanwhile ---- */

/* One shots of a kind that has been made before are local, and matched in their order. Some ranks
 * begin one before a forest is made from theirs, the others after: no other may get between. */
static void begun_around(const place *p, grove_forest *make(grove_forest *, grove_forest *), int k)
{
  grove_forest *a = turn(p, ENTRIES, 2), *b = turn(p, ENTRIES, 1), *made = NULL;
  int64_t root[ENTRIES] = {0}, leaf[ENTRIES] = {0}, back[ENTRIES] = {0};
  grove_op *op[2] = {NULL, NULL};
  int next = (p->rank + 1) % p->size, previous = (p->rank + p->size - 1) % p->size;
  CHECK_OK(grove_bcast(b, MPI_INT64_T, root, leaf, MPI_REPLACE));
  CHECK_OK(grove_reduce(b, MPI_INT64_T, leaf, back, MPI_REPLACE));
  for (int i = 0; i < ENTRIES; i++) {
    root[i] = -1000 * p->rank - i;
    leaf[i] = back[i] = 5;
  }
  for (int turns = 0; turns < 2; turns++) {
    if (turns == p->rank % 2) made = make(a, b);
    if (turns == 0) CHECK_OK(grove_bcast_begin(b, MPI_INT64_T, root, leaf, MPI_REPLACE, &op[0]));
    if (turns == 0) CHECK_OK(grove_reduce_begin(b, MPI_INT64_T, root, back, MPI_REPLACE, &op[1]));
  }
  CHECK_OK(grove_end(&op[0]));
  CHECK_OK(grove_end(&op[1]));
  for (int i = 0; i < ENTRIES; i++) {
    CHECK(leaf[i] == -1000 * next - i, "leaf %d is %lld", i, (long long)leaf[i]);
    CHECK(back[i] == -1000 * previous - i, "root %d is %lld", i, (long long)back[i]);
  }
  turn_check(p, made, k);
  forests_free(3, (grove_forest *[]){a, b, made});
}

static grove_forest *second_inverse(grove_forest *a, grove_forest *b)
{
  (void)a;
  return inverse_of(b);
}

static grove_forest *second_part(grove_forest *a, grove_forest *b)
{
  int64_t all[ENTRIES];
  (void)a;
  for (int i = 0; i < ENTRIES; i++) all[i] = i;
  return with_roots(b, ENTRIES, all);
}

static grove_forest *second_copy(grove_forest *a, grove_forest *b)
{
  int64_t sizes[ENTRIES];
  (void)a;
  for (int i = 0; i < ENTRIES; i++) sizes[i] = 1;
  return expanded(b, sizes, NULL, NULL);
}

static void nothing_gets_between(const place *p)
{
  begun_around(p, composed, 3);
  begun_around(p, composed_inverse, 1);
  begun_around(p, second_inverse, -1);
  begun_around(p, second_part, 1);
  begun_around(p, second_copy, 1);
}

/* Persistent ones are under way while forests are made. */
static void others_under_way(const place *p)
{
  grove_forest *a = turn(p, ENTRIES, 1), *b = turn(p, ENTRIES, 2);
  int64_t root[ENTRIES], leaf[ENTRIES];
  grove_op *op = NULL;
  int next = (p->rank + 1) % p->size;
  CHECK_OK(grove_bcast_init(a, MPI_INT64_T, root, leaf, MPI_REPLACE, &op));
  for (int i = 0; i < ENTRIES; i++) root[i] = 1000 * p->rank + i;
  CHECK_OK(grove_start(op));
  grove_forest *ab = composed(a, b), *back = inverse_of(ab);
  CHECK_OK(grove_wait(op));
  for (int i = 0; i < ENTRIES; i++)
    CHECK(leaf[i] == 1000 * next + i, "leaf %d is %lld", i, (long long)leaf[i]);
  turn_check(p, back, -3);
  CHECK_OK(grove_op_free(&op));
  forests_free(4, (grove_forest *[]){a, b, ab, back});
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "algebra/lifetimes");
  place p = place_create(split(0));
  owners_first();
  results_of_results(&p);
  many_alive(&p);
  names(&p);
  summary_shows_it();
  trace_shows_it();
  others_under_way(&p);
  test_case(1);
  nothing_gets_between(&p);
  place_free(&p);
  return test_end();
}
