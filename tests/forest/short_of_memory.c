/* A rank that runs out of memory, at each of its allocations in turn. In set_graph, which is local,
 * it gets GROVE_ERR_MEMORY and may set the graph again. In set-up all ranks get it and nobody is
 * left waiting; with enough memory the same forest is set up after all. The same for the
 * multi-forest. The lists of the rank in trouble are long, those of the others short, so that it
 * takes and sends both. */
#include "check.h"
#include "places.h"
#include "scarce.h"

#include <stdlib.h>

/* ---- graphs: one rank has many leaves, all others one ---- */

typedef enum form { PAIRS, UNSORTED, GLOBAL, GLOBAL_UNSORTED, GATHER, ALLGATHER, FORMS } form;

static grove_root root_of(const place *p, int64_t i)
{
  return (grove_root){(int)(i % p->size), i * 7 % LEAVES};
}

static grove_status call_set_graph(grove_forest *f, form how, int64_t n, const int64_t *slot,
                                   const grove_root *root, const int64_t *number)
{
  switch (how) {
  case PAIRS: return grove_forest_set_graph(f, LEAVES, n, NULL, root);
  case UNSORTED: return grove_forest_set_graph(f, LEAVES, n, slot, root);
  case GLOBAL: return grove_forest_set_graph_global(f, LEAVES, n, NULL, number);
  case GLOBAL_UNSORTED: return grove_forest_set_graph_global(f, LEAVES, n, slot, number);
  case GATHER: return grove_forest_set_pattern(f, GROVE_GATHER, n);
  default: return grove_forest_set_pattern(f, GROVE_ALLGATHER, n);
  }
}

/* If there is not enough memory, then at the second attempt. */
static void set_graph(const place *p, grove_forest *f, form how, int bad)
{
  int64_t n = p->rank == bad ? LEAVES : 1, *slot = need((size_t)n * sizeof *slot);
  int64_t *number = need((size_t)n * sizeof *number);
  grove_root *root = need((size_t)n * sizeof *root);
  for (int64_t i = 0; i < n; i++) {
    slot[i] = 2 * (n - i);
    root[i] = root_of(p, i);
    number[i] = LEAVES * root[i].rank + root[i].index;
  }
  scarce.armed = p->rank == bad;
  grove_status status = call_set_graph(f, how, n, slot, root, number);
  scarce.armed = 0;
  if (p->rank == bad && scarce.met > scarce.fail) {
    CHECK(status == GROVE_ERR_MEMORY, "%s: %s", grove_status_name(status), grove_last_error());
    status = call_set_graph(f, how, n, slot, root, number);
  }
  CHECK_OK(status);
  free(slot);
  free(number);
  free(root);
}

/* Whether this rank, short of memory as it was, met a failure. */
static int on_any_rank(const place *p, int here)
{
  int any = 0;
  MPI_Request request;
  MPI_Iallreduce(&here, &any, 1, MPI_INT, MPI_MAX, p->comm, &request);
  polite_wait(&request);
  return any;
}

/* Returns 0 if there is no allocation of this number. */
static int fail_one(const place *p, form how, int bad, int64_t number)
{
  grove_forest *f = NULL;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  scarce.met = 0;
  scarce.fail = number;
  set_graph(p, f, how, bad);
  int early = on_any_rank(p, scarce.met > number);
  scarce.armed = p->rank == bad;
  grove_status status = grove_forest_set_up(f);
  scarce.armed = 0;
  int failed = on_any_rank(p, scarce.met > number);
  if (failed && !early) {
    CHECK(status == GROVE_ERR_MEMORY, "allocation %lld: %s: %s", (long long)number,
          grove_status_name(status), grove_last_error());
    CHECK_SAME_ERROR(p->comm, status);
    CHECK_NUMBER_IN(grove_last_error(), bad);
    CHECK_OK(grove_forest_set_up(f));
  } else {
    CHECK_OK(status);
  }
  CHECK_OK(grove_forest_free(&f));
  return failed;
}

/* The same for its multi-forest; small allocations too. */
static int fail_multi(const place *p, grove_forest *f, int bad, int64_t number)
{
  grove_forest *multi = NULL;
  scarce.met = 0;
  scarce.fail = number;
  scarce.armed = p->rank == bad;
  grove_status status = grove_forest_multi(f, &multi);
  scarce.armed = 0;
  int failed = on_any_rank(p, scarce.met > number);
  CHECK(status == (failed ? GROVE_ERR_MEMORY : GROVE_OK), "allocation %lld: %s: %s",
        (long long)number, grove_status_name(status), grove_last_error());
  CHECK(!multi == (status != GROVE_OK), "a forest, and %s", grove_status_name(status));
  if (failed) {
    CHECK_SAME_ERROR(p->comm, status);
    CHECK_NUMBER_IN(grove_last_error(), bad);
  }
  CHECK_OK(grove_forest_free(&multi));
  return failed;
}

static void try_multi(const place *p)
{
  for (int bad = 0; bad < p->size; bad++) {
    int64_t number = 0;
    grove_forest *f = NULL;
    CHECK_OK(grove_forest_create(p->ctx, &f));
    scarce.met = 0;
    scarce.fail = INT64_MAX;
    set_graph(p, f, PAIRS, bad);
    CHECK_OK(grove_forest_set_up(f));
    while (fail_multi(p, f, bad, number)) number++;
    CHECK(number > 3, "%lld allocations failed", (long long)number);
    CHECK_OK(grove_forest_free(&f));
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "forest/short_of_memory");
  place p = place_create(split(0));
  for (int how = 0; how < FORMS; how++) {
    int64_t failures = 0;
    test_case(how);
    for (int bad = 0; bad < p.size; bad++) {
      int64_t number = 0;
      if (bad != how % p.size && !test_exhaustive()) continue;
      while (fail_one(&p, (form)how, bad, number)) number++;
      failures += number;
    }
    CHECK(failures > 0, "no allocation failed in form %d", how);
  }
  try_multi(&p);
  place_free(&p);
  return test_end();
}
