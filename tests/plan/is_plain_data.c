/* Plans made by hand: reversed, counted on a made-up topology, and printed. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "check.h"
#include "plan/plan.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

/* A plan and the lists that it borrows. */
typedef struct owner {
  grove_plan *plan;
  int nlists;
  grove_index list[32];
} owner;

static grove_slots slots(owner *o, grove_array which, int64_t n, const int64_t *values)
{
  CHECK(o->nlists < 32, "too many lists");
  CHECK_OK(grove_index_create(n, values, &o->list[o->nlists]));
  return (grove_slots){which, o->list[o->nlists++]};
}

/* The numbers in a text. */
static grove_slots read_slots(owner *o, grove_array which, const char *text)
{
  int64_t values[16], n = 0;
  for (char *end; *text; text = end) values[n++] = strtoll(text, &end, 10);
  return slots(o, which, n, values);
}

static grove_slots roots(owner *o, const char *text)
{
  return read_slots(o, GROVE_ARRAY_ROOT, text);
}

static grove_slots leaves(owner *o, const char *text)
{
  return read_slots(o, GROVE_ARRAY_LEAF, text);
}

static void owner_free(owner *o)
{
  grove_plan_free(&o->plan);
  CHECK(o->plan == NULL, "a freed plan is not NULL");
  grove_plan_free(&o->plan);
  for (int i = 0; i < o->nlists; i++) grove_index_free(&o->list[i]);
}

/* Two stages, with everything that a plan may have. */
static void write_plan(owner *o)
{
  *o = (owner){0};
  CHECK_OK(grove_plan_create("by hand", 2, 2, &o->plan));
  CHECK_OK(grove_plan_stage(o->plan, 0, 3, 1));
  grove_stage *first = &o->plan->stages[0];
  first->sends[0] = (grove_message){.peer = 0, .slots = roots(o, "0 4 7")};
  first->sends[1] = (grove_message){.peer = 1, .slots = roots(o, "4")};
  first->sends[2] = (grove_message){.peer = 4, .slots = roots(o, "10 11 12 13 14")};
  first->receives[0] = (grove_message){.peer = 3, .slots = leaves(o, "5 6")};
  first->keep_from = roots(o, "2 2 3");
  first->keep_to = leaves(o, "8 0 9");
  CHECK_OK(grove_plan_stage(o->plan, 1, 1, 2));
  grove_stage *second = &o->plan->stages[1];
  second->sends[0] = (grove_message){.peer = 3, .slots = leaves(o, "9 8 7 6 5 4")};
  second->receives[0] = (grove_message){.peer = 0, .slots = leaves(o, "3000000000 1")};
  second->receives[1] = (grove_message){.peer = 4, .slots = leaves(o, "2")};
}

/* ---- equality ---- */

static void check_slots(const grove_slots *a, const grove_slots *b)
{
  CHECK(a->array == b->array, "array %d, not %d", a->array, b->array);
  CHECK(a->index.count == b->index.count, "%lld slots, not %lld", (long long)a->index.count,
        (long long)b->index.count);
  for (int64_t i = 0; i < a->index.count; i++)
    CHECK(grove_index_at(&a->index, i) == grove_index_at(&b->index, i), "slot %lld differs",
          (long long)i);
}

static void check_messages(int n, const grove_message *a, int n_expected, const grove_message *b)
{
  CHECK(n == n_expected, "%d messages, not %d", n, n_expected);
  for (int i = 0; i < n; i++) {
    CHECK(a[i].peer == b[i].peer, "message %d is for %d, not %d", i, a[i].peer, b[i].peer);
    check_slots(&a[i].slots, &b[i].slots);
  }
}

static void check_head(const grove_plan *a, const grove_plan *b)
{
  CHECK(strcmp(a->route, b->route) == 0, "route '%s', not '%s'", a->route, b->route);
  CHECK(a->rank == b->rank, "rank %d, not %d", a->rank, b->rank);
  CHECK(a->nstages == b->nstages, "%d stages, not %d", a->nstages, b->nstages);
}

static void check_same(const grove_plan *a, const grove_plan *b)
{
  check_head(a, b);
  for (int s = 0; s < a->nstages; s++) {
    const grove_stage *x = &a->stages[s], *y = &b->stages[s];
    check_messages(x->nsends, x->sends, y->nsends, y->sends);
    check_messages(x->nreceives, x->receives, y->nreceives, y->receives);
    check_slots(&x->keep_from, &y->keep_from);
    check_slots(&x->keep_to, &y->keep_to);
  }
}

/* Stages from last to first, sends for receives, what was kept kept the other way. */
static void check_opposite(const grove_plan *a, const grove_plan *b)
{
  check_head(a, b);
  for (int s = 0; s < a->nstages; s++) {
    const grove_stage *x = &a->stages[s], *y = &b->stages[b->nstages - 1 - s];
    check_messages(x->nsends, x->sends, y->nreceives, y->receives);
    check_messages(x->nreceives, x->receives, y->nsends, y->sends);
    check_slots(&x->keep_from, &y->keep_to);
    check_slots(&x->keep_to, &y->keep_from);
  }
}

static void reverse(const grove_plan *plan)
{
  grove_plan *back = NULL, *again = NULL;
  CHECK_OK(grove_plan_reverse(plan, &back));
  check_opposite(back, plan);
  CHECK_OK(grove_plan_reverse(back, &again));
  check_same(again, plan);
  grove_plan_free(&back);
  check_same(again, plan); /* nothing of it hangs on the one between */
  grove_plan_free(&again);
}

/* ---- counting ---- */

static void check_counts(const grove_plan *plan, const grove_topo *topo, grove_counts expected)
{
  grove_counts got = grove_plan_count(plan, topo);
  const int64_t pair[][2] = {{got.on_node_messages, expected.on_node_messages},
                             {got.on_node_units, expected.on_node_units},
                             {got.off_node_messages, expected.off_node_messages},
                             {got.off_node_units, expected.off_node_units},
                             {got.kept_units, expected.kept_units}};
  for (int i = 0; i < 5; i++)
    CHECK(pair[i][0] == pair[i][1], "count %d is %lld, not %lld", i, (long long)pair[i][0],
          (long long)pair[i][1]);
}

static void count(void)
{
  grove_place place[5] = {{.node = 0}, {.node = 1}, {.node = 0}, {.node = 2}, {.node = 0}};
  grove_topo topo = {.nranks = 5, .rank = 2, .nnodes = 3, .place = place};
  owner o;
  grove_plan *back = NULL;
  write_plan(&o);
  check_counts(o.plan, &topo, (grove_counts){2, 8, 2, 7, 3}); /* to 0 and 4; to 1 and 3 */
  CHECK_OK(grove_plan_reverse(o.plan, &back));
  check_counts(back, &topo, (grove_counts){2, 3, 1, 2, 3});
  for (int r = 0; r < 5; r++) place[r].node = r; /* every rank its own node */
  check_counts(o.plan, &topo, (grove_counts){0, 0, 4, 15, 3});
  for (int r = 0; r < 5; r++) place[r].node = 0;
  check_counts(o.plan, &topo, (grove_counts){4, 15, 0, 0, 3});
  grove_plan_free(&back);
  owner_free(&o);
  CHECK_OK(grove_plan_create("nothing", 0, 0, &o.plan));
  check_counts(o.plan, &topo, (grove_counts){0});
  grove_plan_free(&o.plan);
}

/* ---- printing ---- */

static void check_print(const grove_plan *plan, int64_t most, const char *expected)
{
  char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  CHECK(file != NULL, "no memory for a text");
  grove_plan_print(plan, most, file);
  fclose(file);
  CHECK(strcmp(text, expected) == 0, "printed is\n%s, and not\n%s", text, expected);
  free(text);
}

static void print(void)
{
  owner o;
  write_plan(&o);
  check_print(o.plan, 100,
              "plan of rank 2, route by hand\n"
              "  stage 0\n"
              "    send to 0: root slots 0 4 7\n"
              "    send to 1: root slots 4\n"
              "    send to 4: root slots 10 to 14\n"
              "    receive from 3: leaf slots 5 6\n"
              "    keep: root slots 2 2 3 -> leaf slots 8 0 9\n"
              "  stage 1\n"
              "    send to 3: leaf slots 9 8 7 6 5 4\n"
              "    receive from 0: leaf slots 3000000000 1\n"
              "    receive from 4: leaf slots 2\n");
  check_print(o.plan, 2,
              "plan of rank 2, route by hand\n"
              "  stage 0\n"
              "    send to 0: root slots 0 4 ... (3 in all)\n"
              "    send to 1: root slots 4\n"
              "    send to 4: root slots 10 to 14\n"
              "    receive from 3: leaf slots 5 6\n"
              "    keep: root slots 2 2 ... (3 in all) -> leaf slots 8 0 ... (3 in all)\n"
              "  stage 1\n"
              "    send to 3: leaf slots 9 8 ... (6 in all)\n"
              "    receive from 0: leaf slots 3000000000 1\n"
              "    receive from 4: leaf slots 2\n");
  owner_free(&o);
  CHECK_OK(grove_plan_create("idle", 7, 1, &o.plan));
  CHECK_OK(grove_plan_stage(o.plan, 0, 0, 0));
  check_print(o.plan, 100, "plan of rank 7, route idle\n  stage 0\n");
  grove_plan_free(&o.plan);
}

/* ---- at random ---- */

static grove_slots draw_slots(rng *r, owner *o)
{
  int64_t values[6], n = rng_below(r, 7);
  for (int64_t i = 0; i < n; i++) values[i] = rng_below(r, 20);
  return slots(o, (grove_array)rng_below(r, 2), n, values);
}

static void draw(rng *r, owner *o)
{
  int nstages = (int)rng_below(r, 4);
  *o = (owner){0};
  CHECK_OK(grove_plan_create("random", (int)rng_below(r, 9), nstages, &o->plan));
  for (int s = 0; s < nstages; s++) {
    grove_stage *stage = &o->plan->stages[s];
    CHECK_OK(grove_plan_stage(o->plan, s, (int)rng_below(r, 4), (int)rng_below(r, 4)));
    for (int i = 0; i < stage->nsends; i++)
      stage->sends[i] = (grove_message){.peer = i, .slots = draw_slots(r, o)};
    for (int i = 0; i < stage->nreceives; i++)
      stage->receives[i] = (grove_message){.peer = 2 * i, .slots = draw_slots(r, o)};
    stage->keep_from = draw_slots(r, o);
    stage->keep_to = draw_slots(r, o);
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "plan/is_plain_data");
  owner o;
  write_plan(&o);
  reverse(o.plan);
  owner_free(&o);
  count();
  print();
  for (int64_t i = 0; i < test_samples(100); i++) {
    test_case(i);
    rng r = rng_from(test_seed(), (uint64_t)i);
    draw(&r, &o);
    reverse(o.plan);
    owner_free(&o);
  }
  return test_end();
}
