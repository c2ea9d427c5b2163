/* Mistakes with the arrays of channels that are under way, which the option `check` finds: a part
 * is changed after its mark, or two operations want the same memory. Each is told to the rank that
 * made it, and to no other, with status, rank, channel and part (told.h). What is allowed is not
 * told off: parts that are not marked, and parts that have arrived. Afterwards everything works.
 *
 * Each rank sends to the next one, and receives from the previous one.
 */
#include "ring.h"
#include "told.h"

#include <string.h>

enum { PARTS = 6, WIDE = 3, ROOM = PARTS * WIDE, TAG = 40, TAGS = 2 };

/* A send and a receive of this rank with one tag; both ends of other ranks look the same. */
typedef struct pair {
  int64_t sent[ROOM], got[ROOM];
  grove_op *send, *receive;
} pair;

static void fill(const place *p, pair *x, int round)
{
  for (int i = 0; i < ROOM; i++) x->sent[i] = 10000 * p->rank + 100 * round + i;
}

/* Entries between the units of a type with gaps do not travel. */
static void check_got(const place *p, const int64_t *got, int round, int gap)
{
  int64_t previous = (p->rank + p->size - 1) % p->size;
  for (int i = 0; i < ROOM; i++)
    if (!gap || i % WIDE != 1)
      CHECK(got[i] == 10000 * previous + 100 * round + i, "entry %d: %lld", i, (long long)got[i]);
}

static void open_send(const place *p, pair *x, int tag, MPI_Datatype type, int64_t count)
{
  CHECK_OK(
    grove_psend_init(p->ctx, x->sent, PARTS, count, type, (p->rank + 1) % p->size, tag, &x->send));
}

static void open_receive(const place *p, int64_t *got, int tag, MPI_Datatype type, int64_t count,
                         grove_op **out)
{
  int previous = (p->rank + p->size - 1) % p->size;
  CHECK_OK(grove_precv_init(p->ctx, got, PARTS, count, type, previous, tag, out));
}

static void open_pair(const place *p, pair *x, int tag, MPI_Datatype type, int64_t count)
{
  open_send(p, x, tag, type, count);
  open_receive(p, x->got, tag, type, count, &x->receive);
}

static void close_pair(pair *x)
{
  CHECK_OK(grove_op_free(&x->send));
  CHECK_OK(grove_op_free(&x->receive));
}

static void start_and_mark(const place *p, pair *x, int round)
{
  fill(p, x, round);
  CHECK_OK(grove_start(x->send));
  CHECK_OK(grove_ready(x->send, 0, PARTS));
}

/* ---- a part changes after its mark ---- */

static void check_names(const place *p, int culprit, const char *one, const char *other)
{
  const char *said = grove_last_error();
  if (p->rank == culprit)
    CHECK(strstr(said, one) && strstr(said, other), "no '%s' and '%s' in '%s'", one, other, said);
}

/* Parts 4 and 2; the lower is told. Before the marks everything may change, and gaps always. */
static void changed(const place *p, MPI_Datatype type, int64_t count, int gap, int culprit)
{
  pair x = {.send = NULL};
  char name[64];
  snprintf(name, sizeof name, "psend to rank %d, tag %d (round ", (culprit + 1) % p->size, TAG);
  open_pair(p, &x, TAG, type, count);
  for (int round = 0; round < 2 * WAIT_WAYS; round++) {
    int bad = round % 2 == 0;
    fill(p, &x, round + 1);
    CHECK_OK(grove_start(x.receive));
    CHECK_OK(grove_start(x.send));
    CHECK_OK(grove_ready(x.send, 5, 1));
    fill(p, &x, round);
    x.sent[5 * WIDE + 2] += 100; /* that one was marked */
    x.sent[5 * WIDE + 1] += 100;
    x.sent[5 * WIDE] += 100;
    CHECK_OK(grove_ready(x.send, 0, 5));
    if (gap) x.sent[3 * WIDE + 1]--;
    if (bad && p->rank == culprit) x.sent[4 * WIDE + 2]++, x.sent[2 * WIDE]--;
    if (bad) {
      told_one(p, see_through(x.send, round / 2), GROVE_ERR_CORRUPT, culprit,
               "part 2 was changed before the wait");
      check_names(p, culprit, name, "mark it when it is final");
    } else {
      CHECK_OK(see_through(x.send, round / 2));
    }
    if (bad && (round / 2 == BY_TEST || round / 2 == BY_SOME)) /* a wait tells it again */
      told_one(p, grove_wait(x.send), GROVE_ERR_CORRUPT, culprit, "part 2");
    CHECK_OK(grove_wait(x.receive));
    for (int i = 5 * WIDE; i < ROOM; i++) x.got[i] -= 100;
    if (!bad) check_got(p, x.got, round, gap);
  }
  close_pair(&x);
}

static void changed_with_every_type(const place *p)
{
  MPI_Datatype part, gap;
  MPI_Type_vector(2, 1, 2, MPI_INT64_T, &part);
  MPI_Type_create_resized(part, 0, WIDE * (MPI_Aint)sizeof(int64_t), &gap);
  MPI_Type_commit(&gap);
  for (int culprit = 0; culprit < p->size; culprit++) {
    changed(p, MPI_INT64_T, WIDE, 0, culprit);
    changed(p, gap, 1, 1, culprit);
  }
  MPI_Type_free(&part);
  MPI_Type_free(&gap);
}

/* ---- two operations want the same memory ---- */

/* The second receive has, on the culprit, the last parts of the first one's array. */
static void two_receives(const place *p, int culprit)
{
  pair x[TAGS] = {{.send = NULL}};
  static int64_t wide[2 * ROOM];
  char one[64], other[96];
  int previous = (culprit + p->size - 1) % p->size;
  snprintf(one, sizeof one, "writes part 0 of the precv from rank %d, tag %d", previous, TAG + 1);
  snprintf(other, sizeof other, "part 4 of the precv from rank %d, tag %d, which is under way and",
           previous, TAG);
  int64_t *late = wide + (p->rank == culprit ? 4 * WIDE : ROOM);
  for (int k = 0; k < TAGS; k++) open_send(p, &x[k], TAG + k, MPI_INT64_T, WIDE);
  open_receive(p, wide, TAG, MPI_INT64_T, WIDE, &x[0].receive);
  open_receive(p, late, TAG + 1, MPI_INT64_T, WIDE, &x[1].receive);
  for (int round = 0; round < 3; round++) {
    for (int k = 0; k < TAGS; k++) start_and_mark(p, &x[k], round);
    CHECK_OK(grove_start(x[0].receive));
    told_one(p, grove_start(x[1].receive), GROVE_ERR_STATE, culprit, one);
    check_names(p, culprit, other, "wait for that one first");
    CHECK_OK(grove_wait(x[0].receive));
    check_got(p, wide, round, 0);
    if (p->rank == culprit) CHECK_OK(grove_start(x[1].receive));
    CHECK_OK(grove_wait(x[1].receive));
    check_got(p, late, round, 0);
    for (int k = 0; k < TAGS; k++) CHECK_OK(grove_wait(x[k].send));
  }
  for (int k = 0; k < TAGS; k++) close_pair(&x[k]);
}

/* A receive writes what a bcast on the culprit reads or writes, of another context too. */
static void a_receive_and_a_forest(const place *p, ring *r, int writes, int culprit)
{
  pair x = {.send = NULL};
  op_call c = ring_call(r);
  char other[96];
  snprintf(other, sizeof other, "part 1 of the precv from rank %d, tag %d%s, which is",
           (culprit + p->size - 1) % p->size, TAG, " of another context");
  if (p->rank == culprit && writes) c.leaf = x.got + WIDE;
  if (p->rank == culprit && !writes) c.root = x.got + WIDE;
  open_pair(p, &x, TAG, MPI_INT64_T, WIDE);
  CHECK_OK(call_init(&c, &r->op));
  CHECK_OK(grove_start(x.receive));
  told_one(p, grove_start(r->op), GROVE_ERR_STATE, culprit,
           writes ? "writes leaf 0 of the bcast on forest 'quercus'"
                  : "reads root 0 of the bcast on forest 'quercus'");
  check_names(p, culprit, other, "under way and writes it");
  start_and_mark(p, &x, 1);
  CHECK_OK(grove_wait(x.receive));
  CHECK_OK(grove_wait(x.send)); /* a wait in another context would not move it on */
  if (p->rank == culprit) CHECK_OK(grove_start(r->op));
  told_one(p, grove_start(x.receive), GROVE_ERR_STATE, culprit, "this start writes part 1 of the");
  CHECK_OK(grove_wait(r->op));
  if (p->rank == culprit) CHECK_OK(grove_start(x.receive));
  start_and_mark(p, &x, 2);
  CHECK_OK(grove_wait(x.receive));
  CHECK_OK(grove_wait(x.send));
  check_got(p, x.got, 2, 0);
  CHECK_OK(grove_op_free(&r->op));
  close_pair(&x);
}

/* ---- what is allowed ---- */

/* Waits for `op`, while the parts of a send of another context go on. */
static void wait_beside(grove_op *op, grove_op *send)
{
  int done = 0, sent = 0;
  while (!done) {
    CHECK_OK(grove_test(op, &done));
    CHECK_OK(grove_test(send, &sent));
  }
}

/* What has arrived goes on from where it lies; and a bcast reads it while the rest is missing. */
static void passed_on_part_by_part(const place *p, ring *r)
{
  pair x = {.send = NULL}, y = x;
  op_call c = ring_call(r);
  c.root = x.got;
  open_pair(p, &x, TAG, MPI_INT64_T, WIDE);
  CHECK_OK(grove_psend_init(p->ctx, x.got, PARTS, WIDE, MPI_INT64_T, (p->rank + 1) % p->size,
                            TAG + 1, &y.send));
  open_receive(p, y.got, TAG + 1, MPI_INT64_T, WIDE, &y.receive);
  CHECK_OK(call_init(&c, &r->op));
  for (int round = 1; round < 3; round++) {
    fill(p, &x, round);
    for (int k = 0; k < TAGS; k++) CHECK_OK(grove_start(k ? y.receive : x.receive));
    for (int k = 0; k < TAGS; k++) CHECK_OK(grove_start(k ? y.send : x.send));
    for (int part = 0; part < PARTS; part++) {
      int yes = 0;
      CHECK_OK(grove_ready(x.send, part, 1));
      while (!yes) CHECK_OK(grove_arrived(x.receive, part, 1, &yes));
      CHECK_OK(grove_ready(y.send, part, 1));
      if (part != 2) continue; /* 9 entries are there, and a bcast reads 5 */
      CHECK_OK(grove_start(r->op));
      wait_beside(r->op, x.send);
    }
    CHECK_OK(grove_wait(x.send));
    CHECK_OK(grove_wait(x.receive));
    CHECK_OK(grove_wait(y.send));
    CHECK_OK(grove_wait(y.receive));
    check_got(p, x.got, round, 0);
  }
  CHECK_OK(grove_op_free(&r->op));
  close_pair(&x);
  close_pair(&y);
}

/* An abandoned receive no longer wants its array; and one without the option is not told. */
static void not_told(const place *p)
{
  int64_t got[ROOM];
  grove_op *first = NULL, *second = NULL, *unchecked = NULL;
  open_receive(p, got, TAG + 3, MPI_INT64_T, WIDE, &first);
  open_receive(p, got, TAG + 4, MPI_INT64_T, WIDE, &second);
  CHECK_OK(grove_context_set(p->ctx, "check", "off"));
  open_receive(p, got, TAG + 5, MPI_INT64_T, WIDE, &unchecked);
  CHECK_OK(grove_context_set(p->ctx, "check", "on"));
  CHECK_OK(grove_start(first));
  CHECK_OK(grove_start(unchecked));
  told_alone(p, grove_start(second), GROVE_ERR_STATE, "which is under way and writes it");
  CHECK_OK(grove_op_free(&first));
  CHECK_OK(grove_start(second));
  CHECK_OK(grove_op_free(&second));
  CHECK_OK(grove_op_free(&unchecked));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "mistakes/channels");
  place p = place_create(split(0)), q = place_create(p.comm);
  ring r = ring_open(&q, RING_SMALL, RING_NOBODY, KIND_BCAST);
  CHECK_OK(grove_forest_set_name(r.forest, "quercus"));
  CHECK_OK(grove_context_set(p.ctx, "aggregator", "none")); /* each part travels alone */
  CHECK_OK(grove_context_set(p.ctx, "check", "on"));
  CHECK_OK(grove_context_set(q.ctx, "check", "on"));
  changed_with_every_type(&p);
  two_receives(&p, 0);
  two_receives(&p, p.size - 1);
  a_receive_and_a_forest(&p, &r, 0, p.size - 1);
  a_receive_and_a_forest(&p, &r, 1, 0);
  passed_on_part_by_part(&p, &r);
  not_told(&p);
  CHECK(mistakes >= 15, "only %d mistakes", mistakes);
  ring_close(&r);
  CHECK_OK(grove_context_free(&q.ctx));
  place_free(&p);
  return test_end();
}
