/* Which ranks share a node, as found, or set by node_size and node_map, and seen through what a
 * report counts as on node and off node. */
#include "check.h"
#include "places.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 256 };

/* Everybody sends one number to everybody: node[i] tells how they must be counted. The forest is
 * older than the option: what is made from it from now on obeys. */
static void check_nodes(const place *p, grove_forest *f, const int *node)
{
  grove_op *op = NULL;
  grove_report got = {.struct_size = sizeof got};
  int x = p->rank, *all = need((size_t)p->size * sizeof *all), on = 0;
  for (int i = 0; i < p->size; i++) on += i != p->rank && node[i] == node[p->rank];
  CHECK_OK(grove_bcast_init(f, MPI_INT, &x, all, MPI_REPLACE, &op));
  CHECK_OK(grove_op_report(op, &got));
  CHECK(got.on_node_messages == on, "%lld messages on node, not %d",
        (long long)got.on_node_messages, on);
  CHECK(got.off_node_messages == p->size - 1 - on, "%lld messages off node, not %d",
        (long long)got.off_node_messages, p->size - 1 - on);
  CHECK_OK(grove_start(op));
  CHECK_OK(grove_wait(op));
  for (int i = 0; i < p->size; i++) CHECK(all[i] == i, "from rank %d came %d", i, all[i]);
  CHECK_OK(grove_op_free(&op));
  free(all);
}

/* A node is a host, as long as nothing else is said. */
static void as_found(const place *p, grove_forest *f, int *node)
{
  char name[MPI_MAX_PROCESSOR_NAME] = "", *all = need((size_t)p->size * sizeof name);
  int length = 0, nhosts = 0, nnodes = 0;
  MPI_Request request;
  MPI_Get_processor_name(name, &length);
  MPI_Iallgather(name, sizeof name, MPI_CHAR, all, sizeof name, MPI_CHAR, p->comm, &request);
  polite_wait(&request);
  for (int i = 0; i < p->size; i++) {
    int first = 0, found = -1;
    while (strcmp(all + sizeof name * (size_t)first, all + sizeof name * (size_t)i) != 0) first++;
    node[i] = first < i ? node[first] : nhosts++;
    CHECK_OK(grove_context_node(p->ctx, i, &found, &nnodes));
    CHECK(found == node[i], "rank %d is on node %d, not %d", i, found, node[i]);
  }
  CHECK(nnodes == nhosts, "%d nodes, not %d", nnodes, nhosts);
  check_nodes(p, f, node);
  free(all);
}

static void by_size(const place *p, grove_forest *f, int *node)
{
  for (int size = 1; size <= p->size + 1; size++) {
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%d", size);
    CHECK_OK(grove_context_set(p->ctx, "node_size", text));
    for (int i = 0; i < p->size; i++) node[i] = i / size;
    check_nodes(p, f, node);
  }
  CHECK_OK(grove_context_set(p->ctx, "node_size", "0"));
}

static void write_map(char *text, const int *node, int n)
{
  text[0] = '\0';
  for (int i = 0; i < n; i++)
    snprintf(text + strlen(text), TEXT_BYTES - strlen(text), "%s%d", i > 0 ? "," : "", node[i]);
}

/* Numbers need be neither dense nor ascending. */
static void by_map(const place *p, grove_forest *f, int *node, int64_t number)
{
  rng r = rng_from(test_seed(), (uint64_t)number);
  char text[TEXT_BYTES];
  int64_t most = rng_between(&r, 1, p->size + 2), step = rng_between(&r, 1, 5);
  for (int i = 0; i < p->size; i++) node[i] = (int)(step * rng_below(&r, most));
  write_map(text, node, p->size);
  CHECK_OK(grove_context_set(p->ctx, "node_map", text));
  check_nodes(p, f, node);
}

/* A map of the wrong length is refused, and the one before stays. */
static void wrong_lengths(const place *p, grove_forest *f, const int *node)
{
  char text[TEXT_BYTES];
  int longer[64] = {0};
  for (int n = 1; n <= p->size + 2; n++) {
    if (n == p->size) continue;
    write_map(text, longer, n);
    grove_status status = grove_context_set(p->ctx, "node_map", text);
    CHECK(status == GROVE_ERR_OPTION, "a map '%s' for %d ranks: %s", text, p->size,
          grove_status_name(status));
    CHECK_SAME_ERROR(p->comm, status);
  }
  check_nodes(p, f, node);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "context/nodes");
  place p = place_create(split(0));
  CHECK_OK(grove_context_set(p.ctx, "route", "standard")); /* a message a pair of ranks */
  int *node = need((size_t)p.size * sizeof *node);
  grove_forest *f = NULL;
  CHECK_OK(grove_forest_create(p.ctx, &f));
  CHECK_OK(grove_forest_set_pattern(f, GROVE_ALLGATHER, 1));
  CHECK_OK(grove_forest_set_up(f));
  as_found(&p, f, node);
  by_size(&p, f, node);
  int64_t cases = test_samples(6);
  for (int64_t i = 0; i < cases; i++) {
    test_case(i);
    by_map(&p, f, node, i);
  }
  wrong_lengths(&p, f, node);
  CHECK_OK(grove_forest_free(&f));
  free(node);
  place_free(&p);
  return test_end();
}
