/* Options from the environment: rank 0's count, on every rank; a bad one fails create everywhere.
 * Seen through the report: with nodes of one rank every message goes off node. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "check.h"
#include "places.h"

#include <stdlib.h>
#include <string.h>

static int64_t off_node_messages(const place *p)
{
  grove_forest *f = NULL;
  grove_op *op = NULL;
  grove_report report = {.struct_size = sizeof report};
  int x = 0, *all = need((size_t)p->size * sizeof *all);
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_pattern(f, GROVE_ALLGATHER, 1));
  CHECK_OK(grove_forest_set_up(f));
  CHECK_OK(grove_bcast_init(f, MPI_INT, &x, all, MPI_REPLACE, &op));
  CHECK_OK(grove_op_report(op, &report));
  CHECK_OK(grove_op_free(&op));
  CHECK_OK(grove_forest_free(&f));
  free(all);
  return report.off_node_messages;
}

static void rank_0_counts(void)
{
  setenv("GROVE_NODE_SIZE", world_rank() == 0 ? "1" : "1000", 1);
  place p = place_create(split(0));
  CHECK(off_node_messages(&p) == p.size - 1, "%lld messages off node",
        (long long)off_node_messages(&p));
  place_free(&p);
  setenv("GROVE_NODE_SIZE", world_rank() == 0 ? "1000" : "1", 1);
  p = place_create(split(0));
  CHECK(off_node_messages(&p) == 0, "messages off the one node");
  CHECK_OK(grove_context_set(p.ctx, "node_size", "1")); /* set wins over the environment */
  CHECK(off_node_messages(&p) == p.size - 1, "%lld messages off node",
        (long long)off_node_messages(&p));
  place_free(&p);
  unsetenv("GROVE_NODE_SIZE");
}

static void bad_values(void)
{
  static const char *const bad[][2] = {
    {"GROVE_CHECK", "perhaps"}, {"GROVE_NODE_MAP", "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0"}};
  for (int i = 0; i < 2; i++) {
    grove_context *ctx = NULL;
    if (world_rank() == 0) setenv(bad[i][0], bad[i][1], 1);
    grove_status status = grove_context_create(MPI_COMM_WORLD, &ctx);
    CHECK(status == GROVE_ERR_OPTION, "%s: '%s'", grove_status_name(status), grove_last_error());
    CHECK(ctx == NULL, "an output was set by a call that failed");
    CHECK_SAME_ERROR(MPI_COMM_WORLD, status);
    if (world_rank() == 0) unsetenv(bad[i][0]);
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "context/environment");
  rank_0_counts();
  bad_values();
  place p = place_create(split(0));
  place_free(&p);
  return test_end();
}
