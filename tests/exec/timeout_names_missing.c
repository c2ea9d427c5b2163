/* One rank does not start. With the option `timeout` the others are told which rank, operation and
 * forest they wait for; when it does start, waiting again gives them their data. */
#include "check.h"
#include "exercise.h"
#include "places.h"

#include <string.h>

/* Every rank needs something from every other, both ways. */
static graph *everybody_needs_everybody(int nranks)
{
  graph *g = graph_empty(nranks);
  for (int i = 0; i < nranks; i++) {
    part_resize(&g->part[i], nranks, nranks);
    for (int j = 0; j < nranks; j++) g->part[i].root[j] = (grove_root){j, i};
  }
  g->kind = GRAPH_ALL_TO_ALL;
  return g;
}

/* Where values pass through others, only those that deal with the missing rank can name it. */
static void check_somebody_named_it(const place *p, int named)
{
  int any = 0;
  MPI_Request request;
  MPI_Iallreduce(&named, &any, 1, MPI_INT, MPI_MAX, p->comm, &request);
  polite_wait(&request);
  CHECK(any, "nobody names the missing rank");
}

/* Whether it names the rank. */
static int check_sentence(const exercise *e, int missing)
{
  char sentence[2048];
  snprintf(sentence, sizeof sentence, "%s", grove_last_error());
  const char *operation = kind_name(e->kind);
  char peer[32];
  snprintf(peer, sizeof peer, "rank %d", missing);
  CHECK(strstr(sentence, operation) != NULL, "no '%s' in '%s'", operation, sentence);
  CHECK(strstr(sentence, "the-late-one") != NULL, "no name of a forest in '%s'", sentence);
  if (op_relays(e->op)) return number_in(strstr(sentence, "); "), missing);
  CHECK(strstr(sentence, peer) != NULL, "no '%s' in '%s'", peer, sentence);
  if (e->kind == KIND_FETCH) return 1; /* others may wait for the missing one before they answer */
  for (int i = 0; i < e->g->nranks; i++) { /* and nobody else is accused */
    snprintf(peer, sizeof peer, "from rank %d", i);
    CHECK(i == missing || strstr(sentence, peer) == NULL, "'%s' in '%s'", peer, sentence);
  }
  return 1;
}

/* What completes an operation, persistent or one shot. */
static grove_status finish(exercise *e, int one_shot)
{
  return one_shot ? grove_end(&e->op) : grove_wait(e->op);
}

static void start(exercise *e, int one_shot)
{
  if (one_shot)
    exercise_begin(e);
  else
    CHECK_OK(grove_start(e->op));
}

static void try_missing(const place *p, exercise e, int missing, int one_shot)
{
  exercise_open(&e);
  polite_barrier(p->comm); /* the timeout holds for collective calls too */
  if (one_shot)
    exercise_block(&e); /* the first of its kind is collective: out of the way */
  else
    exercise_init(&e);
  exercise_renew(&e, 1);
  polite_barrier(p->comm);
  int named = 0;
  if (p->rank != missing) {
    start(&e, one_shot);
    CHECK_STATUS(finish(&e, one_shot), GROVE_ERR_TIMEOUT);
    named = check_sentence(&e, missing);
    CHECK(e.op != NULL, "an operation that is still active is gone");
  }
  check_somebody_named_it(p, named);
  if (p->rank == missing) start(&e, one_shot);
  grove_status status;
  do status = finish(&e, one_shot); /* a slow machine may need more than one timeout */
  while (status == GROVE_ERR_TIMEOUT);
  CHECK_OK(status);
  exercise_check(&e);
  polite_barrier(p->comm);
  exercise_close(&e);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "exec/timeout_names_missing");
  if (world_size() < 2) return test_skip("one rank waits for nobody");
  units *types = units_create();
  place p = place_create(split(0));
  rng r = rng_from(test_seed(), 0);
  graph *g = everybody_needs_everybody(p.size);
  exercise e = {.g = g, .me = p.rank, .u = units_find(types, "MPI_INT64_T")};
  e.f = graph_forest_raw(p.ctx, g, p.rank);
  CHECK_OK(grove_forest_set_name(e.f, "the-late-one"));
  CHECK_OK(grove_forest_set_up(e.f));
  e.r = unit_reduction(e.u, "SUM");
  polite_barrier(p.comm);
  CHECK_OK(grove_context_set(p.ctx, "timeout", test_timeout()));
  for (int i = 0; i < OP_KINDS; i++) {
    test_case(i);
    e.kind = (op_kind)i;
    e.seed = rng_next(&r);
    try_missing(&p, e, (int)rng_below(&r, p.size), i % 2);
  }
  polite_barrier(p.comm);
  CHECK_OK(grove_context_set(p.ctx, "timeout", "0"));
  CHECK_OK(grove_forest_free(&e.f));
  graph_free(g);
  place_free(&p);
  units_free(types);
  return test_end();
}
