#include "topo/topo.h"

#include <stdlib.h>
#include <string.h>

/* Reads a number and moves `at` to the comma behind it, or to the end. -1 if there is no number. */
static long next_number(const char **at)
{
  char *end = NULL;
  long number = strtol(*at, &end, 10);
  if (end == *at || (*end && *end != ',')) return -1;
  *at = end;
  return number;
}

/* With place == NULL, only checks. */
static grove_status read_map(grove_place *place, int nranks, const char *map)
{
  const char *at = map;
  int rank = 0;
  do {
    long node = next_number(&at);
    GROVE_PASS_CHECK(node >= 0 && node <= INT32_MAX, GROVE_ERR_OPTION,
                     "option node_map: entry %d of '%.100s' is not a node number", rank, map);
    if (place) place[rank].node = (int32_t)node;
    rank++;
  } while (*at++ == ',');
  GROVE_PASS_CHECK(rank == nranks, GROVE_ERR_OPTION,
                   "option node_map has %d entries; the communicator has %d ranks", rank, nranks);
  return GROVE_OK;
}

typedef struct labelled {
  int32_t label;
  int32_t rank;
} labelled;

static int by_label_then_rank(const void *a, const void *b)
{
  const labelled *x = a, *y = b;
  if (x->label != y->label) return x->label < y->label ? -1 : 1;
  return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Replaces arbitrary node labels by 0, 1, ... in the order of each node's lowest rank. */
static int renumber_nodes(grove_place *place, int nranks, labelled *sorted)
{
  for (int r = 0; r < nranks; r++) sorted[r] = (labelled){place[r].node, r};
  qsort(sorted, (size_t)nranks, sizeof *sorted, by_label_then_rank);
  /* Every rank's label becomes the lowest rank with the same label ... */
  for (int i = 0; i < nranks; i++)
    place[sorted[i].rank].node = i > 0 && sorted[i].label == sorted[i - 1].label
                                   ? place[sorted[i - 1].rank].node
                                   : sorted[i].rank;
  /* ... and that becomes a number: ranks are visited in order, so lowest ranks come first. */
  int count = 0;
  for (int r = 0; r < nranks; r++)
    place[r].node = place[r].node == r ? count++ : place[place[r].node].node;
  return count;
}

/* The table of nodes, and each rank's number within its node. */
static void list_nodes(grove_place *place, int nranks, int nnodes)
{
  for (int n = 0; n < nranks; n++) place[n].node_begin = 0;
  for (int r = 0; r < nranks; r++) place[r].local = place[place[r].node].node_begin++;
  for (int n = 0, begin = 0; n < nnodes; n++) {
    int size = place[n].node_begin;
    place[n].node_begin = begin;
    begin += size;
  }
  for (int r = 0; r < nranks; r++)
    place[place[place[r].node].node_begin + place[r].local].node_rank = r;
}

/* As found; or the k-th rank of a node sits on socket k / socket_size. */
static void fill_sockets(grove_place *place, int nranks, int socket_size)
{
  for (int r = 0; r < nranks; r++)
    place[r].socket = socket_size > 0 ? place[r].local / socket_size : place[r].bound;
}

/* ---- hosts ---- */

typedef struct guest {
  grove_fact fact;
  int32_t rank;
} guest;

static int by_host_then_rank(const void *a, const void *b)
{
  const guest *x = a, *y = b;
  if (!grove_fact_same_host(x->fact, y->fact)) return x->fact < y->fact ? -1 : 1;
  return (x->rank > y->rank) - (x->rank < y->rank);
}

grove_status grove_topo_seat(const grove_fact *facts, int nranks, grove_place *place)
{
  grove_status status = GROVE_OK;
  guest *sorted = NULL;
  int32_t first = 0, count = 0;
  GROVE_NEW(sorted, nranks);
  for (int r = 0; r < nranks; r++) sorted[r] = (guest){facts[r], r};
  qsort(sorted, (size_t)nranks, sizeof *sorted, by_host_then_rank);
  for (int i = 0, seat = 0; i < nranks; i++) {
    int32_t rank = sorted[i].rank;
    int same = i > 0 && grove_fact_same_host(sorted[i].fact, sorted[i - 1].fact);
    seat = same ? seat + 1 : 0;
    first = same ? first : rank;
    place[rank] = (grove_place){.domain = first, .seat = seat, .bound = (uint16_t)sorted[i].fact};
  }
  /* Numbers domains by their lowest rank, which is visited before the others. */
  for (int r = 0; r < nranks; r++)
    place[r].domain = place[r].domain == r ? count++ : place[place[r].domain].domain;
fail:
  free(sorted);
  return status;
}

int grove_topo_count(const grove_cores *cores)
{
  int count = 0;
  for (int i = 0; i < GROVE_CORE_WORDS; i++)
    for (uint64_t left = cores->word[i]; left; left &= left - 1) count++;
  return count;
}

grove_status grove_topo_assign(grove_place *place, int nranks, int node_size, const char *node_map,
                               int socket_size, int *nnodes)
{
  grove_status status = GROVE_OK;
  labelled *sorted = NULL;
  if (*node_map) GROVE_TRY(read_map(NULL, nranks, node_map));
  GROVE_NEW(sorted, nranks);
  /* From here on nothing fails, so the table is never half written. */
  for (int r = 0; r < nranks; r++) place[r].node = node_size > 0 ? r / node_size : place[r].domain;
  if (*node_map) read_map(place, nranks, node_map);
  *nnodes = renumber_nodes(place, nranks, sorted);
  list_nodes(place, nranks, *nnodes);
  fill_sockets(place, nranks, socket_size);
fail:
  free(sorted);
  return status;
}
