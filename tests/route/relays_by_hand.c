/* The node-aware routes on a few blocks that one can follow by hand: who sends, who receives, and
 * how large the slices of a split are. No communication. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "check.h"
#include "route/route.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_EDGES = 64 };

/* Edges in the making: rank `to` needs roots first .. first+n-1 of rank `from`. */
typedef struct sketch {
  int64_t n;
  grove_edge edges[MOST_EDGES];
} sketch;

static void needs(sketch *s, int to, int from, int64_t first, int64_t n)
{
  for (int64_t i = 0; i < n; i++)
    s->edges[s->n++] = (grove_edge){.leaf_rank = to, .root_rank = from, .root = first + i};
}

/* The messages, stage by stage, as text: from>to:units. */
static char *count(const sketch *s, const grove_route *route, const char *map,
                   const grove_build *how)
{
  grove_place place[16] = {{0}};
  grove_topo topo = {.nranks = 1, .place = place};
  grove_demand demand = {0};
  grove_manifest m = {0};
  char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  for (const char *c = map; *c; c++) topo.nranks += *c == ',';
  CHECK_OK(grove_topo_assign(place, topo.nranks, 0, map, 0, &topo.nnodes));
  CHECK_OK(grove_demand_create(s->edges, s->n, &topo, how, &demand));
  CHECK_OK(route->count(&demand, &topo, how, &m));
  for (int stage = 0; stage < m.nstages; stage++) {
    fprintf(file, "%d:", stage);
    for (int64_t i = 0; i < m.count; i++)
      if (m.shipments[i].stage == stage)
        fprintf(file, " %d>%d:%lld", (int)m.shipments[i].from, (int)m.shipments[i].to,
                (long long)m.shipments[i].units);
    fputc('\n', file);
  }
  fclose(file);
  grove_manifest_free(&m);
  grove_demand_free(&demand);
  return text;
}

static void check(const sketch *s, const grove_route *route, const char *map, grove_build how,
                  const char *expected)
{
  char *text = count(s, route, map, &how);
  CHECK(strcmp(text, expected) == 0, "route %s on %s makes\n%s, and not\n%s", route->name, map,
        text, expected);
  free(text);
}

/* Three nodes of two. Rank 0 has roots 0 to 2 for both ranks of node 1 and root 5 for rank 4; rank
 * 1 has root 7 for rank 3. */
static void steps(void)
{
  sketch s = {0};
  needs(&s, 2, 0, 0, 3);
  needs(&s, 3, 0, 1, 2);
  needs(&s, 4, 0, 5, 1);
  needs(&s, 3, 1, 7, 1);
  const char *map = "0,0,1,1,2,2";
  grove_build once = {.share = 1}, each = {.share = 0};
  /* Node 0 sends to node 1 by its last rank, to node 2 by the one before; node 1 receives node 0's
   * by its second rank, node 2 by its first. */
  check(&s, &grove_route_three_step, map, once, "0: 0>1:3\n1: 0>4:1 1>3:4\n2: 3>2:3\n");
  check(&s, &grove_route_three_step, map, each, "0: 0>1:5\n1: 0>4:1 1>3:6\n2: 3>2:3\n");
  /* Rank 0 is the first of its node, and sends to first ranks. */
  check(&s, &grove_route_two_step, map, once, "0: 0>2:3 0>4:1 1>3:1\n1: 2>3:2\n");
  check(&s, &grove_route_two_step, map, each, "0: 0>2:5 0>4:1 1>3:1\n1: 2>3:2\n");
  /* Node 0 has ranks 0, 2, 4, 5, node 1 rank 1, node 2 rank 3: node 2 is the second of those that
   * node 0 can send to, and rank 4 the last but one of its ranks. */
  check(&s, &grove_route_three_step, "0,1,0,2,0,0", once,
        "0: 0>4:2\n1: 0>2:3 0>4:1 1>3:1 4>3:2\n2:\n");
}

/* Node 0 has ranks 0 to 3, node 1 ranks 4 to 7, which need 10 values: 4 of rank 0, 3 of rank 1, 3
 * of rank 3. */
static void slice_sizes(void)
{
  sketch s = {0};
  needs(&s, 4, 0, 0, 4);
  needs(&s, 5, 1, 0, 3);
  needs(&s, 6, 3, 0, 3);
  const char *map = "0,0,0,0,1,1,1,1";
  /* Pieces of 3, 3, 3 and 1: by rank 3 to 4, 2 to 5, 1 to 6, 0 to 7. */
  const char *four = "0: 0>2:1 0>3:3 1>2:2 3>0:1 3>1:2\n"
                     "1: 0>7:1 1>6:3 2>5:3 3>4:3\n"
                     "2: 5>4:1 6>5:1 7>6:1\n";
  check(&s, &grove_route_split, map, (grove_build){.share = 1, .cap = 3}, four);
  /* Pieces of 2 would be five for four ranks, and of 1 ten: so they are made larger. */
  check(&s, &grove_route_split, map, (grove_build){.share = 1, .cap = 2}, four);
  check(&s, &grove_route_split, map, (grove_build){.share = 1, .cap = 0}, four);
  const char *one = "0: 0>3:4 1>3:3\n1: 3>4:10\n2: 4>5:3 4>6:3\n";
  check(&s, &grove_route_split, map, (grove_build){.share = 1, .cap = 10}, one);
  check(&s, &grove_route_split, map, (grove_build){.share = 1, .cap = 1000}, one);
  /* Pieces of 6 and 4. */
  check(&s, &grove_route_split, map, (grove_build){.share = 1, .cap = 6},
        "0: 0>3:4 1>2:1 1>3:2 3>2:3\n1: 2>5:4 3>4:6\n2: 4>5:2 5>6:3\n");
}

/* Node 0 of two ranks receives from two nodes: slices of 2, 1 and 1. The largest comes first,
 * whichever node it is from, and the third is the first rank's again: in one message with the
 * first, as both come from rank 3. */
static void turns(void)
{
  sketch s = {0};
  needs(&s, 0, 2, 0, 1);
  needs(&s, 1, 3, 0, 3);
  check(&s, &grove_route_split, "0,0,1,2", (grove_build){.share = 1, .cap = 2},
        "0:\n1: 2>1:1 3>0:3\n2: 0>1:3 1>0:1\n");
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "route/relays_by_hand");
  steps();
  slice_sizes();
  turns();
  return test_end();
}
