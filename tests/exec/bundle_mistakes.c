/* Bundles that cannot be made are refused with one status and one sentence on every rank, and leave
 * everything as it was; bundles used at the wrong time, abandoned, or short of a rank are like any
 * other operation. */
#include "check.h"
#include "ring.h"

#include <string.h>

enum { MEMBERS = 3 };

/* Three operations of different kinds, and one of the first's kind on another forest. */
typedef struct team {
  ring member[MEMBERS], other;
} team;

static team team_open(const place *p, int64_t n)
{
  static const op_kind k[MEMBERS] = {KIND_BCAST, KIND_FETCH, KIND_GATHER};
  team t = {.other = ring_open(p, n, RING_NOBODY, KIND_BCAST)};
  ring_init(&t.other);
  for (int i = 0; i < MEMBERS; i++) {
    t.member[i] = ring_open(p, n, RING_NOBODY, k[i]);
    ring_init(&t.member[i]);
  }
  return t;
}

static void team_close(team *t)
{
  for (int i = 0; i < MEMBERS; i++) ring_close(&t->member[i]);
  ring_close(&t->other);
}

static void team_list(const team *t, grove_op *list[MEMBERS])
{
  for (int i = 0; i < MEMBERS; i++) list[i] = t->member[i].op;
}

static grove_op *team_bundle(const team *t)
{
  grove_op *list[MEMBERS], *op = NULL;
  team_list(t, list);
  CHECK_OK(grove_op_bundle(MEMBERS, list, &op));
  return op;
}

static void team_start(team *t, grove_op *op, int round)
{
  for (int i = 0; i < MEMBERS; i++) ring_fill(&t->member[i], round + i);
  CHECK_OK(grove_start(op));
}

static void team_check(const team *t, int round)
{
  for (int i = 0; i < MEMBERS; i++) ring_check(&t->member[i], round + i);
}

static void still_works(team *t)
{
  grove_op *op = team_bundle(t);
  for (int round = 0; round < 2; round++) {
    team_start(t, op, round);
    CHECK_OK(grove_wait(op));
    team_check(t, round);
  }
  CHECK_OK(grove_op_free(&op));
}

static void use_members(team *t)
{
  for (int i = 0; i < MEMBERS; i++) {
    ring_fill(&t->member[i], 9);
    CHECK_OK(grove_start(t->member[i].op));
    CHECK_OK(grove_wait(t->member[i].op));
    ring_check(&t->member[i], 9);
  }
}

/* ---- what cannot be bundled ---- */

static void refused(const place *p, int n, grove_op *const *list, grove_status expected)
{
  grove_op *op = NULL;
  grove_status status = grove_op_bundle(n, list, &op);
  CHECK(status == expected, "%s: %s", grove_status_name(status), grove_last_error());
  CHECK(op == NULL, "an output was set by a call that failed");
  CHECK_SAME_ERROR(p->comm, status);
}

static void bad_arguments(const place *p, team *t)
{
  grove_op *list[MEMBERS];
  team_list(t, list);
  refused(p, 2, NULL, GROVE_ERR_ARG);
  refused(p, -1, list, GROVE_ERR_ARG);
  CHECK_STATUS(grove_op_bundle(MEMBERS, list, NULL), GROVE_ERR_ARG);
  CHECK_STATUS(grove_op_bundle(0, NULL, NULL), GROVE_ERR_ARG);
  for (int i = 0; i < MEMBERS; i++) {
    team_list(t, list);
    list[i] = NULL;
    refused(p, MEMBERS, list, GROVE_ERR_ARG);
  }
  for (int bad = 0; bad < p->size; bad++) /* on one rank, which has others to be known by */
    for (int i = 0; i < MEMBERS; i++) {
      team_list(t, list);
      if (p->rank == bad) list[i] = NULL;
      refused(p, MEMBERS, list, GROVE_ERR_ARG);
    }
  still_works(t);
}

static void another_context(const place *p, team *t)
{
  place q = place_create(split(0));
  team far = team_open(&q, RING_SMALL);
  grove_op *list[MEMBERS];
  for (int bad = -1; bad < p->size; bad++) {
    team_list(t, list);
    if (bad < 0 || p->rank == bad) list[1] = far.member[1].op;
    refused(p, MEMBERS, list, GROVE_ERR_ARG);
  }
  still_works(t);
  still_works(&far);
  team_close(&far);
  place_free(&q);
}

/* Started everywhere, or so far on one rank only. */
static void under_way(const place *p, team *t)
{
  for (int early = -1; early < p->size; early++) {
    ring *x = &t->member[(early + 1) % MEMBERS];
    grove_op *list[MEMBERS];
    int first = early < 0 || p->rank == early;
    team_list(t, list);
    ring_fill(x, 5);
    if (first) CHECK_OK(grove_start(x->op));
    refused(p, MEMBERS, list, GROVE_ERR_STATE);
    if (!first) CHECK_OK(grove_start(x->op));
    CHECK_OK(grove_wait(x->op));
    ring_check(x, 5);
  }
  still_works(t);
}

/* A bundle as a member: refused while it is under way, on any rank; then its members are meant,
 * which other ranks may as well name one by one. */
static void bundle_of_bundle(const place *p, team *t)
{
  grove_op *inner = team_bundle(t), *outer = NULL, *list[MEMBERS];
  for (int early = -1; early < p->size; early++) {
    int first = early < 0 || p->rank == early;
    if (first) team_start(t, inner, 6);
    refused(p, 1, &inner, GROVE_ERR_STATE);
    if (!first) team_start(t, inner, 6);
    CHECK_OK(grove_wait(inner));
    team_check(t, 6);
  }
  team_list(t, list);
  CHECK_OK(p->rank == 0 ? grove_op_bundle(1, &inner, &outer)
                        : grove_op_bundle(MEMBERS, list, &outer));
  CHECK_OK(grove_op_free(&inner));
  team_start(t, outer, 7);
  CHECK_OK(grove_wait(outer));
  team_check(t, 7);
  CHECK_OK(grove_op_free(&outer));
  still_works(t);
}

static void begun(const place *p, team *t)
{
  ring x = ring_sibling(&t->member[0]);
  grove_op *list[MEMBERS];
  team_list(t, list);
  ring_begin(&x);
  list[2] = x.op;
  refused(p, MEMBERS, list, GROVE_ERR_STATE);
  CHECK_OK(grove_end(&x.op));
  ring_check(&x, 0);
  still_works(t);
  ring_close(&x);
}

/* One rank has another order, another operation, or fewer. */
static void different_members(const place *p, team *t)
{
  for (int bad = 0; bad < p->size && p->size > 1; bad++)
    for (int mistake = 0; mistake < 4; mistake++) {
      grove_op *list[MEMBERS], *op = NULL;
      int n = MEMBERS;
      team_list(t, list);
      if (p->rank == bad && mistake == 0) list[1] = t->member[2].op, list[2] = t->member[1].op;
      if (p->rank == bad && mistake == 1) list[2] = t->member[1].op;
      if (p->rank == bad && mistake == 2) list[0] = t->other.op;
      if (p->rank == bad && mistake == 3) n--;
      grove_status status = grove_op_bundle(n, list, &op);
      CHECK(status != GROVE_OK && op == NULL, "mistake %d of rank %d was accepted", mistake, bad);
      CHECK_SAME_ERROR(p->comm, status);
    }
  still_works(t);
}

/* ---- wrong times ---- */

static void wrong_times(team *t)
{
  int done = 0;
  grove_op *op = team_bundle(t);
  CHECK_STATUS(grove_wait(op), GROVE_ERR_STATE);
  CHECK_STATUS(grove_test(op, &done), GROVE_ERR_STATE);
  CHECK_STATUS(grove_end(&op), GROVE_ERR_STATE);
  team_start(t, op, 3);
  CHECK_STATUS(grove_start(op), GROVE_ERR_STATE);
  CHECK_STATUS(grove_test(op, NULL), GROVE_ERR_ARG);
  CHECK_OK(grove_wait(op));
  team_check(t, 3);
  CHECK_STATUS(grove_wait(op), GROVE_ERR_STATE);
  team_start(t, op, 4);
  polite_finish(op);
  team_check(t, 4);
  team_start(t, op, 5); /* the test was the end of it */
  CHECK_OK(grove_wait(op));
  team_check(t, 5);
  CHECK_OK(grove_op_free(&op));
}

/* Freed while active, everywhere: nothing is written any more, and others are right. */
static void abandoned(int64_t n)
{
  place p = place_create(split(0));
  team left = team_open(&p, n), next = team_open(&p, n);
  int64_t *then[MEMBERS];
  grove_op *op = team_bundle(&left);
  team_start(&left, op, 1);
  CHECK_OK(grove_op_free(&op));
  for (int i = 0; i < MEMBERS; i++) then[i] = ring_snapshot(&left.member[i]);
  polite_barrier(p.comm);
  still_works(&next);
  polite_barrier(p.comm);
  for (int i = 0; i < MEMBERS; i++) ring_check_unchanged(&left.member[i], then[i]);
  use_members(&left);
  place_free(&p);
  polite_barrier(MPI_COMM_WORLD); /* nobody sends from these arrays any more */
  team_close(&left);
  team_close(&next);
}

/* Forests and context are given up first. */
static void owners_first(void)
{
  place p = place_create(split(0));
  team t = team_open(&p, RING_SMALL);
  grove_op *op = team_bundle(&t);
  for (int i = 0; i < MEMBERS; i++) {
    CHECK_OK(grove_op_free(&t.member[i].op));
    CHECK_OK(grove_forest_free(&t.member[i].forest));
  }
  team_start(&t, op, 1);
  place_free(&p);
  CHECK_OK(grove_wait(op));
  team_check(&t, 1);
  team_start(&t, op, 2);
  CHECK_OK(grove_wait(op));
  team_check(&t, 2);
  CHECK_OK(grove_op_free(&op));
  team_close(&t);
}

/* One rank starts late: the others hear which one. */
static void short_of_a_rank(const place *p, team *t)
{
  int late = p->size - 1;
  char peer[32];
  grove_op *op = team_bundle(t);
  polite_barrier(p->comm);
  CHECK_OK(grove_context_set(p->ctx, "timeout", test_timeout()));
  if (p->rank != late) team_start(t, op, 1);
  if (p->rank == 0) { /* in the ring, it needs the last one */
    CHECK_STATUS(grove_wait(op), GROVE_ERR_TIMEOUT);
    snprintf(peer, sizeof peer, "rank %d", late);
    CHECK(op_relays(op) || strstr(grove_last_error(), peer) != NULL, "no '%s' in '%s'", peer,
          grove_last_error());
  }
  polite_barrier(p->comm);
  if (p->rank == late) team_start(t, op, 1);
  grove_status status;
  do status = grove_wait(op);
  while (status == GROVE_ERR_TIMEOUT);
  CHECK_OK(status);
  team_check(t, 1);
  polite_barrier(p->comm);
  CHECK_OK(grove_context_set(p->ctx, "timeout", "0"));
  CHECK_OK(grove_op_free(&op));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/bundle_mistakes");
  place p = place_create(split(0));
  team t = team_open(&p, RING_SMALL);
  still_works(&t);
  bad_arguments(&p, &t);
  another_context(&p, &t);
  under_way(&p, &t);
  bundle_of_bundle(&p, &t);
  begun(&p, &t);
  different_members(&p, &t);
  wrong_times(&t);
  if (p.size > 1) short_of_a_rank(&p, &t);
  team_close(&t);
  place_free(&p);
  abandoned(RING_SMALL);
  abandoned(RING_MIDDLE);
  owners_first();
  return test_end();
}
