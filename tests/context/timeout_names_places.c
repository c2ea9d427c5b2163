/* A collective call that times out says who has not come, and where all the others are. Half of the
 * ranks set up a forest, one sets an option, and the last makes no call at all. */
#include "check.h"
#include "places.h"

#include <string.h>

/* Also the ranks that gave up before this one are still told of. */
static void names_places(int rank, int size)
{
  const char *said = grove_last_error();
  char last[64], setter[64], missing[64];
  snprintf(last, sizeof last, "; rank %d is in no collective call", size - 1);
  snprintf(setter, sizeof setter, "; rank %d is in grove_context_set", size - 2);
  snprintf(missing, sizeof missing, "ranks %d, %d have not come", size - 2, size - 1);
  CHECK(strstr(said, last), "no '%s' in '%s'", last, said);
  CHECK(strstr(said, setter), "no '%s' in '%s'", setter, said);
  CHECK(strstr(said, "; ranks 0, 1"), "where are the first? '%s'", said);
  CHECK(strstr(said, " are in grove_forest_set_up;"), "where are the first? '%s'", said);
  CHECK(rank == size - 2 || strstr(said, missing), "no '%s' in '%s'", missing, said);
  CHECK(rank < size - 2 || strstr(said, "ranks 0, 1"), "who? '%s'", said);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "context/timeout_names_places");
  place p = place_create(split(0));
  grove_forest *f = NULL;
  if (p.size < 4) return test_skip("four ranks are in three places");
  CHECK_OK(grove_forest_create(p.ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, 0, 0, NULL, NULL));
  CHECK_OK(grove_context_set(p.ctx, "timeout", test_timeout()));
  polite_barrier(p.comm);
  if (p.rank < p.size - 1) {
    CHECK_STATUS(p.rank < p.size - 2 ? grove_forest_set_up(f)
                                     : grove_context_set(p.ctx, "check", "on"),
                 GROVE_ERR_TIMEOUT);
    names_places(p.rank, p.size);
    CHECK_STATUS(grove_forest_set_up(f), GROVE_ERR_STATE); /* and moves nobody */
  }
  polite_barrier(p.comm);
  CHECK_OK(grove_forest_free(&f));
  place_free(&p);
  return test_end();
}
