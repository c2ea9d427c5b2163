/* Operations that leave by parts move the same values: all kinds, types and routes, on random
 * forests and nodes, whatever carries the messages. What is sent has its values only right before
 * it is marked, in any order, by one thread or several; some ranks start as a whole. What is told
 * is there, and is told once; at the end all arrays equal the serial oracle's in every byte.
 *
 * THREADS, if set: MPI_THREAD_MULTIPLE, and up to eight threads mark. */
#include "by_parts.h"
#include "check.h"
#include "places.h"
#include "threads.h"

#include <string.h>

/* Where two routes are tried, the choice falls at start 85. */
enum { MOST_THREADS = 8, ROUNDS = 3, MANY_ROUNDS = 90 };

/* Those that come more often stand there more often; the first are the defaults. */
static const struct {
  const char *name;
  const char *value[8];
} options[] = {
  {"message_cap", {"auto", "40"}},
  {"transport_on_node", {"shm", "shm", "mpi"}},
#ifdef TEST_FABRIC
  {"transport_off_node", {"p2p", "p2p", "p2p", "neighbor", "rma", "ofi"}},
#else
  {"transport_off_node", {"p2p", "p2p", "p2p", "neighbor", "rma"}},
#endif
  {"p2p", {"persistent", "reposted"}},
  {"chunk", {"1073741824", "1073741824", "256"}},
  {"aggregator", {"auto", "none", "ploggp", "timer", "adaptive"}},
  {"deterministic", {"off", "on"}},
  {"check", {"off", "off", "off", "on"}},
  {"effort", {"estimate", "estimate", "estimate", "measure"}},
};

static const char *drawn(const char *const value[8], rng *r)
{
  int n = 0;
  while (n < 8 && value[n] != NULL) n++;
  return value[rng_below(r, n)];
}

typedef struct setting {
  int ordered;   /* sums that depend on their order are as the oracle has them */
  int measured;  /* two routes are tried */
  char text[96]; /* what is not as usual */
} setting;

static setting set_options(const place *p, rng *r)
{
  setting s = {0};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    const char *value = drawn(options[i].value, r);
    size_t used = strlen(s.text);
    place_set(p, options[i].name, value);
    if (strcmp(value, options[i].value[0]) != 0)
      snprintf(s.text + used, sizeof s.text - used, " %s=%s", options[i].name, value);
    if (strcmp(options[i].name, "deterministic") == 0) s.ordered = strcmp(value, "on") == 0;
    if (strcmp(options[i].name, "effort") == 0) s.measured = strcmp(value, "measure") == 0;
  }
  return s;
}

static void try_operation(exercise e, int rounds, rng *mine)
{
  exercise_open(&e);
  exercise_init(&e);
  by_parts x = by_parts_of(&e);
  for (int round = 0; round < rounds; round++) {
    int nthreads = any_thread_may_call() ? (int)rng_between(mine, 0, MOST_THREADS) : 0;
    by_parts_round(&x, round, nthreads, mine);
  }
  if (any_thread_may_call()) by_parts_last_round(&x, rounds, MOST_THREADS, mine);
  by_parts_free(&x);
  exercise_close(&e);
}

static void try_case(const units *types, const place *p, int64_t number, graph_kind kind)
{
  static const char *const routes[8] = {"standard", "standard", "2-step", "3-step",
                                        "3-step",   "split",    "split",  "auto"};
  rng r = rng_from(test_seed() + (uint64_t)p->side, (uint64_t)number);
  rng mine = rng_from(r.state, (uint64_t)world_rank());
  graph *g = graph_random(&r, kind, p->size);
  place_draw_nodes(p, &r);
  setting s = set_options(p, &r);
  exercise e = {.g = g, .f = graph_forest(p->ctx, g, p->rank), .me = p->rank};
  for (op_kind k = 0; k < OP_KINDS; k++) {
    if (k == KIND_FETCH) continue;
    const char *route = drawn(routes, &r);
    place_set_route(p, route);
    test_hint("%s, route=%s%s\n", kind_name(k), route, s.text);
    exercise_draw_of(&e, k, types, &r);
    e.rough = e.r->code == OP_SUM && (k != KIND_REDUCE || s.ordered);
    try_operation(e, s.measured && (int)k == number % OP_KINDS ? MANY_ROUNDS : ROUNDS, &mine);
  }
  CHECK_OK(grove_forest_free(&e.f));
  graph_free(g);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/parts_match_oracle");
  units *types = units_create();
  places all = places_create();
  for (int64_t i = 0; i < test_samples(any_thread_may_call() ? 36 : 60); i++) {
    test_case(i);
    try_case(types, places_turn(&all, i), i, (graph_kind)(i / all.n % GRAPH_KINDS_AND_REPEATED));
  }
  places_free(&all);
  units_free(types);
  return test_end();
}
