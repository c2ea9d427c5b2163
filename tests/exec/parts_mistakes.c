/* Wrong calls about parts of operations on forests get a status and a sentence with this rank, and
 * what is wrong about which roots or slots; they change nothing: outputs stay as they were, the
 * round goes on, and the data is right. And what looks wrong but is not is taken. */
#include "calls.h"
#include "check.h"
#include "places.h"

#include <stdint.h>
#include <string.h>

/* Leaves are slots FIRST .. FIRST + LEAVES - 1 but for one between, of roots with the same numbers
 * of the next rank. */
enum { ROOTS = 12, FIRST = 3, GAP = 6, END = 10, LEAVES = END - FIRST - 1, NOTHING = -7 };

typedef struct scene {
  const place *p;
  op_kind kind;
  grove_forest *f;
  int64_t out[ROOTS], in[ROOTS];
  int64_t update[ROOTS]; /* of a fetch */
  int64_t nsent, ntold;  /* numbers that there are: 0, any */
  grove_op *op;
  int round;
} scene;

static int is_leaf(int64_t i)
{
  return i >= FIRST && i < END && i != GAP;
}

static grove_forest *make_forest(const place *p)
{
  grove_forest *f = NULL;
  grove_root root[LEAVES];
  int64_t slot[LEAVES];
  for (int64_t i = 0, n = 0; i < ROOTS; i++) {
    if (!is_leaf(i)) continue;
    root[n] = (grove_root){(p->rank + 1) % p->size, i};
    slot[n++] = i;
  }
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, ROOTS, LEAVES, slot, root));
  CHECK_OK(grove_forest_set_up(f));
  return f;
}

static op_call call_of(scene *s)
{
  int up = kind_goes_to_roots(s->kind);
  return (op_call){.kind = s->kind,
                   .f = s->f,
                   .unit = MPI_INT64_T,
                   .op = MPI_REPLACE,
                   .root = up ? s->in : s->out,
                   .leaf = up ? s->out : s->in,
                   .update = s->update};
}

static void scene_open(scene *s, const place *p, op_kind k)
{
  *s = (scene){.p = p, .kind = k, .f = make_forest(p)};
  s->nsent = k == KIND_BCAST ? ROOTS : k == KIND_SCATTER ? LEAVES : 0;
  s->ntold = kind_goes_to_roots(k) ? ROOTS : 0;
  op_call c = call_of(s);
  CHECK_OK(call_init(&c, &s->op));
}

static void scene_close(scene *s)
{
  CHECK_OK(grove_op_free(&s->op));
  CHECK_OK(grove_forest_free(&s->f));
}

/* ---- values: of the i-th that is marked ---- */

static int64_t value_of(const scene *s, int rank, int64_t i)
{
  return 10000 * (s->round + 1) + 100 * rank + i;
}

/* Places of multiroots are numbers among the leaves. */
static int64_t place_of(int64_t i)
{
  return i - FIRST - (i > GAP);
}

static void renew(scene *s)
{
  s->round++;
  for (int64_t i = 0; i < ROOTS; i++) s->in[i] = NOTHING;
  for (int64_t i = 0; i < ROOTS; i++) s->out[i] = value_of(s, s->p->rank, i);
}

static void check_in(const scene *s)
{
  int from = s->p->rank + (kind_goes_to_roots(s->kind) ? s->p->size - 1 : 1);
  for (int64_t i = 0; i < ROOTS; i++) {
    if (!is_leaf(i)) continue;
    int64_t got = s->in[s->kind == KIND_GATHER ? place_of(i) : i];
    int64_t expected = value_of(s, from % s->p->size, s->kind == KIND_SCATTER ? place_of(i) : i);
    CHECK(got == expected, "%s: %lld came as number %lld, not %lld", kind_name(s->kind),
          (long long)got, (long long)i, (long long)expected);
  }
}

/* ---- sentences ---- */

static void refused(const scene *s, grove_status got, grove_status expected, const char *call)
{
  const char *text = grove_last_error();
  CHECK(got == expected, "%s of a %s: %s, not %s: '%s'", call, kind_name(s->kind),
        grove_status_name(got), grove_status_name(expected), text);
  CHECK(strstr(text, "rank") != NULL, "no rank in '%s'", text);
  CHECK_NUMBER_IN(text, s->p->rank);
  CHECK(strstr(text, kind_name(s->kind)) != NULL, "no '%s' in '%s'", kind_name(s->kind), text);
}

/* ---- the wrong time ---- */

static void no_marks(scene *s, const char *when)
{
  refused(s, grove_ready(s->op, FIRST, 1), GROVE_ERR_STATE, when);
  refused(s, grove_ready(s->op, 0, 0), GROVE_ERR_STATE, when);
}

static void before_the_first_start(scene *s)
{
  int yes = 77;
  int64_t first = 77, count = 78;
  no_marks(s, "a mark before the first start");
  refused(s, grove_arrived(s->op, 0, 1, &yes), GROVE_ERR_STATE, "arrived before the first start");
  refused(s, grove_arrivals(s->op, &first, &count), GROVE_ERR_STATE,
          "arrivals before the first start");
  CHECK(yes == 77 && first == 77 && count == 78, "an output was set by a call that failed");
}

/* Under way already, whichever way. */
static void started_again(scene *s)
{
  CHECK_STATUS(grove_start_parts(s->op), GROVE_ERR_STATE);
  CHECK_STATUS(grove_start(s->op), GROVE_ERR_STATE);
}

static void started_as_a_whole(scene *s)
{
  int yes = 0;
  renew(s);
  CHECK_OK(grove_start(s->op));
  started_again(s);
  no_marks(s, "a mark of what was started as a whole");
  while (!yes) {
    CHECK_OK(grove_arrived(s->op, 0, s->nsent > 0 ? 1000 : ROOTS, &yes));
    linger(0);
  }
  no_marks(s, "a mark of what was started as a whole, and has come");
  CHECK_OK(grove_wait(s->op));
  check_in(s);
  no_marks(s, "a mark behind the wait");
}

/* ---- the wrong numbers ---- */

static void wrong_numbers(scene *s)
{
  int64_t n = s->nsent;
  const int64_t range[][2] = {{-1, 1},    {0, -1}, {-5, 20},       {n, 1},        {0, n + 1},
                              {n - 1, 2}, {40, 5}, {INT64_MAX, 1}, {1, INT64_MAX}};
  for (int i = 0; i < (n > 0 ? 9 : 3); i++) {
    refused(s, grove_ready(s->op, range[i][0], range[i][1]), GROVE_ERR_ARG, "ready");
    const char *text = grove_last_error();
    int names = number_in(text, range[i][0]) || number_in(text, range[i][1]);
    CHECK(names, "neither %lld nor %lld in '%s'", (long long)range[i][0], (long long)range[i][1],
          text);
    CHECK(n == 0 || i < 3 || number_in(text, n) || number_in(text, n - 1),
          "not how many there are, in '%s'", text);
  }
}

static void wrong_questions(scene *s)
{
  int64_t n = s->ntold, first = 77, count = 78;
  int yes = 77;
  const int64_t range[][2] = {{-1, 1},    {0, -1}, {-5, 20},       {n, 1},        {0, n + 1},
                              {n - 1, 2}, {40, 5}, {INT64_MAX, 1}, {1, INT64_MAX}};
  for (int i = 0; i < (n > 0 ? 9 : 3); i++)
    refused(s, grove_arrived(s->op, range[i][0], range[i][1], &yes), GROVE_ERR_ARG, "arrived");
  CHECK_STATUS(grove_arrived(s->op, 0, 1, NULL), GROVE_ERR_ARG);
  CHECK_STATUS(grove_arrivals(s->op, NULL, &count), GROVE_ERR_ARG);
  CHECK_STATUS(grove_arrivals(s->op, &first, NULL), GROVE_ERR_ARG);
  CHECK(yes == 77 && first == 77 && count == 78, "an output was set by a call that failed");
}

/* Nothing is a range too; and so are slots far away, where there could be leaves. */
static void right_numbers(scene *s)
{
  int yes = 0;
  CHECK_OK(grove_ready(s->op, 0, 0));
  CHECK_OK(grove_ready(s->op, s->nsent, 0));
  CHECK_OK(grove_arrived(s->op, FIRST, 0, &yes));
  CHECK(yes == 1, "nothing has not arrived");
  yes = 0;
  CHECK_OK(grove_arrived(s->op, 0, FIRST, &yes));
  CHECK(yes == 1, "what nothing comes for has not arrived");
  yes = 0;
  if (s->ntold == 0) CHECK_OK(grove_arrived(s->op, END, INT64_MAX - END, &yes));
  CHECK(yes == 1 || s->ntold > 0, "slots that are no leaves have not arrived");
  if (s->nsent > 0) return;
  for (int i = 0; i < 3; i++) CHECK_OK(grove_ready(s->op, GAP, 1));
  CHECK_OK(grove_ready(s->op, 0, FIRST));
  CHECK_OK(grove_ready(s->op, 1, FIRST - 1));
  CHECK_OK(grove_ready(s->op, END, 5));
  CHECK_OK(grove_ready(s->op, END, INT64_MAX - END));
  CHECK_OK(grove_ready(s->op, INT64_MAX - 1, 1));
}

/* ---- twice ---- */

static void twice(scene *s, int64_t first, int64_t count, int64_t which)
{
  refused(s, grove_ready(s->op, first, count), GROVE_ERR_STATE, "a mark of what was marked");
  CHECK_NUMBER_IN(grove_last_error(), which);
}

/* A call that is refused marks nothing: what it named beside the one can be marked still. */
static void marks_and_mistakes(scene *s)
{
  if (s->kind == KIND_SCATTER) {
    CHECK_OK(grove_ready(s->op, 2, 2));
    twice(s, 2, 1, 2);
    twice(s, 3, 1, 3);
    twice(s, 0, 3, 2);
    twice(s, 0, LEAVES, 2);
    twice(s, 3, LEAVES - 3, 3);
    CHECK_OK(grove_ready(s->op, 4, LEAVES - 4));
    twice(s, 1, LEAVES - 1, 2);
    CHECK_OK(grove_ready(s->op, 0, 2));
  } else {
    CHECK_OK(grove_ready(s->op, 4, 1));
    twice(s, 4, 1, 4);
    twice(s, 3, 3, 4);
    twice(s, 0, ROOTS, 4);
    CHECK_OK(grove_ready(s->op, 7, 2));
    twice(s, 5, 6, 7);
    twice(s, 8, 4, 8);
    CHECK_OK(grove_ready(s->op, 3, 1));
    twice(s, 3, 6, 3);
    CHECK_OK(grove_ready(s->op, 9, 1));
    CHECK_OK(grove_ready(s->op, 5, 1));
  }
}

static int64_t count_told(scene *s)
{
  int64_t first = -1, count = -1;
  CHECK_OK(grove_arrivals(s->op, &first, &count));
  for (int64_t i = first; i < first + count; i++)
    CHECK(is_leaf(i), "%lld is told, and nothing comes for it", (long long)i);
  return count;
}

/* All is marked: a mark that nobody waits for is none too many, a second one of the others is. */
static void when_it_has_come(scene *s)
{
  int yes = 0;
  while (!yes) {
    CHECK_OK(grove_arrived(s->op, FIRST, END - FIRST, &yes));
    linger(0);
  }
  if (s->kind == KIND_BCAST) {
    CHECK_OK(grove_ready(s->op, 0, FIRST));
    CHECK_OK(grove_ready(s->op, GAP, 1));
    CHECK_OK(grove_ready(s->op, END, ROOTS - END));
  }
  twice(s, s->kind == KIND_SCATTER ? LEAVES - 1 : END - 1, 1,
        s->kind == KIND_SCATTER ? LEAVES - 1 : END - 1);
}

static void behind_the_wait(scene *s)
{
  int64_t told = 0, n;
  int yes = 0;
  no_marks(s, "a mark behind the wait");
  CHECK_OK(grove_arrived(s->op, 0, ROOTS, &yes));
  CHECK(yes == 1, "not all has come behind the wait");
  while ((n = count_told(s)) > 0) told += n;
  CHECK(told == LEAVES, "%lld were told, not %d", (long long)told, LEAVES);
}

static void try_kind(const place *p, op_kind k)
{
  scene s;
  scene_open(&s, p, k);
  before_the_first_start(&s);
  for (int round = 0; round < 3; round++) {
    renew(&s);
    CHECK_OK(grove_start_parts(s.op));
    started_again(&s);
    wrong_numbers(&s);
    wrong_questions(&s);
    right_numbers(&s);
    marks_and_mistakes(&s);
    wrong_numbers(&s);
    if (round > 0) when_it_has_come(&s);
    CHECK_OK(grove_wait(s.op));
    check_in(&s);
    behind_the_wait(&s);
    started_as_a_whole(&s);
  }
  scene_close(&s);
}

/* ---- what does not leave by parts ---- */

static void unsupported(const scene *s, grove_op *op, const char *name)
{
  char rank[32];
  snprintf(rank, sizeof rank, "rank %d", s->p->rank);
  CHECK_STATUS(grove_start_parts(op), GROVE_ERR_UNSUPPORTED);
  CHECK(strstr(grove_last_error(), name) != NULL, "no '%s' in '%s'", name, grove_last_error());
  CHECK(strstr(grove_last_error(), rank) != NULL, "no '%s' in '%s'", rank, grove_last_error());
}

/* It is not started by that, and can be as a whole. */
static void fetches(const place *p)
{
  int yes = 77;
  int64_t first = 77, count = 78;
  scene s;
  scene_open(&s, p, KIND_FETCH);
  for (int round = 0; round < 2; round++) {
    unsupported(&s, s.op, "fetch");
    renew(&s);
    CHECK_OK(grove_start(s.op));
    refused(&s, grove_ready(s.op, FIRST, 1), GROVE_ERR_UNSUPPORTED, "ready");
    refused(&s, grove_arrived(s.op, FIRST, 1, &yes), GROVE_ERR_UNSUPPORTED, "arrived");
    refused(&s, grove_arrivals(s.op, &first, &count), GROVE_ERR_UNSUPPORTED, "arrivals");
    CHECK(yes == 77 && first == 77 && count == 78, "an output was set by a call that failed");
    CHECK_OK(grove_wait(s.op));
    check_in(&s);
  }
  scene_close(&s);
}

/* Its members still can be. */
static void bundles(const place *p)
{
  scene s[2];
  grove_op *bundle = NULL;
  scene_open(&s[0], p, KIND_BCAST);
  scene_open(&s[1], p, KIND_REDUCE);
  CHECK_OK(grove_op_bundle(2, (grove_op *[2]){s[0].op, s[1].op}, &bundle));
  unsupported(&s[0], bundle, "bundle");
  for (int i = 0; i < 2; i++) renew(&s[i]);
  CHECK_OK(grove_start(bundle));
  CHECK_STATUS(grove_ready(bundle, 0, 1), GROVE_ERR_UNSUPPORTED);
  CHECK_OK(grove_wait(bundle));
  for (int i = 0; i < 2; i++) check_in(&s[i]);
  for (int i = 0; i < 2; i++) {
    renew(&s[i]);
    CHECK_OK(grove_start_parts(s[i].op));
    CHECK_OK(grove_ready(s[i].op, 0, ROOTS));
    CHECK_OK(grove_wait(s[i].op));
    check_in(&s[i]);
  }
  CHECK_OK(grove_op_free(&bundle));
  for (int i = 0; i < 2; i++) scene_close(&s[i]);
}

/* What was begun is under way. */
static void one_shots(const place *p)
{
  scene s;
  grove_op *op = NULL;
  scene_open(&s, p, KIND_BCAST);
  op_call c = call_of(&s);
  renew(&s);
  CHECK_OK(call_begin(&c, &op));
  CHECK_STATUS(grove_start_parts(op), GROVE_ERR_STATE);
  CHECK_STATUS(grove_ready(op, FIRST, 1), GROVE_ERR_STATE);
  CHECK_OK(grove_end(&op));
  check_in(&s);
  scene_close(&s);
}

/* Of a channel it is a start. */
static void channels(const place *p)
{
  int out[4], in[4] = {0}, next = (p->rank + 1) % p->size, before = p->rank + p->size - 1;
  grove_op *send = NULL, *receive = NULL;
  CHECK_OK(grove_psend_init(p->ctx, out, 4, 1, MPI_INT, next, 5, &send));
  CHECK_OK(grove_precv_init(p->ctx, in, 4, 1, MPI_INT, before % p->size, 5, &receive));
  for (int round = 0; round < 3; round++) {
    CHECK_OK(round % 2 ? grove_start(receive) : grove_start_parts(receive));
    CHECK_OK(grove_start_parts(send));
    CHECK_STATUS(grove_start_parts(send), GROVE_ERR_STATE);
    for (int i = 3; i >= 0; i--) {
      out[i] = 100 * round + 10 * p->rank + i;
      CHECK_OK(grove_ready(send, i, 1));
    }
    CHECK_OK(grove_wait(receive));
    CHECK_OK(grove_wait(send));
    for (int i = 0; i < 4; i++)
      CHECK(in[i] == 100 * round + 10 * (before % p->size) + i, "part %d is %d", i, in[i]);
  }
  CHECK_OK(grove_op_free(&send));
  CHECK_OK(grove_op_free(&receive));
}

int main(int argc, char **argv)
{
  static const op_kind kinds[] = {KIND_BCAST, KIND_REDUCE, KIND_SCATTER, KIND_GATHER};
  test_begin(&argc, &argv, "exec/parts_mistakes");
  place p = place_create(split(0));
  CHECK_STATUS(grove_start_parts(NULL), GROVE_ERR_ARG);
  for (int i = 0; i < 4; i++) {
    test_case(i);
    try_kind(&p, kinds[i]);
  }
  fetches(&p);
  bundles(&p);
  one_shots(&p);
  channels(&p);
  place_free(&p);
  return test_end();
}
