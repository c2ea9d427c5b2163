/* Nodes and sockets from what was found and from the overrides, against a reference that compares
 * every rank with every other. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "check.h"
#include "random.h"
#include "topo/topo.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 60, MAP_BYTES = 1024 };

/* A made-up machine and what the options say of it. */
typedef struct machine {
  int nranks;
  int domain[MOST_RANKS], bound[MOST_RANKS];
  int node_size, socket_size;
  int mapped; /* label[] is the node_map */
  int label[MOST_RANKS];
} machine;

static int label_of(const machine *m, int rank)
{
  if (m->mapped) return m->label[rank];
  return m->node_size > 0 ? rank / m->node_size : m->domain[rank];
}

/* The lowest rank with the same label. */
static int first_like(const machine *m, int rank)
{
  int r = 0;
  while (label_of(m, r) != label_of(m, rank)) r++;
  return r;
}

/* Numbered by lowest rank: as many as there are first ranks before it. */
static int node_of(const machine *m, int rank)
{
  int first = first_like(m, rank), before = 0;
  for (int r = 0; r < first; r++) before += first_like(m, r) == r;
  return before;
}

static int socket_of(const machine *m, int rank)
{
  int before = 0;
  if (m->socket_size == 0) return m->bound[rank];
  for (int r = 0; r < rank; r++) before += label_of(m, r) == label_of(m, rank);
  return before / m->socket_size;
}

static void write_map(const machine *m, char text[MAP_BYTES])
{
  size_t used = 0;
  text[0] = '\0';
  for (int r = 0; m->mapped && r < m->nranks; r++)
    used += (size_t)snprintf(text + used, MAP_BYTES - used, "%s%d", r > 0 ? "," : "", m->label[r]);
}

/* The ranks of each node, in ascending order, with their numbers. */
static void check_nodes(const grove_topo *topo)
{
  for (int n = 0, all = 0; n < topo->nnodes; n++) {
    int local = 0;
    for (int r = 0; r < topo->nranks; r++) {
      if (topo->place[r].node != n) continue;
      CHECK(topo->place[r].local == local, "rank %d has number %d in its node, not %d", r,
            topo->place[r].local, local);
      CHECK(grove_topo_node_rank(topo, n, local) == r, "rank %d of node %d is %d, not %d", local, n,
            grove_topo_node_rank(topo, n, local), r);
      local++;
    }
    CHECK(grove_topo_node_size(topo, n) == local, "node %d has %d ranks, not %d", n,
          grove_topo_node_size(topo, n), local);
    CHECK(topo->place[n].node_begin == all, "node %d begins at %d, not %d", n,
          topo->place[n].node_begin, all);
    all += local;
  }
}

static void check_machine(const machine *m)
{
  grove_place place[MOST_RANKS];
  char map[MAP_BYTES];
  int nnodes = -1, most = 0;
  memset(place, 0x5a, sizeof place); /* what was there before does not matter */
  for (int r = 0; r < m->nranks; r++) {
    place[r].domain = m->domain[r];
    place[r].bound = m->bound[r];
  }
  write_map(m, map);
  CHECK_OK(grove_topo_assign(place, m->nranks, m->node_size, map, m->socket_size, &nnodes));
  for (int r = 0; r < m->nranks; r++) {
    CHECK(place[r].node == node_of(m, r), "rank %d of %d is on node %d, not %d (size %d, map '%s')",
          r, m->nranks, place[r].node, node_of(m, r), m->node_size, map);
    CHECK(place[r].socket == socket_of(m, r), "rank %d of %d is on socket %d, not %d", r, m->nranks,
          place[r].socket, socket_of(m, r));
    CHECK(place[r].domain == m->domain[r] && place[r].bound == m->bound[r],
          "what was found of rank %d has changed", r);
    if (place[r].node > most) most = place[r].node;
  }
  CHECK(nnodes == most + 1, "%d nodes, and the last is %d", nnodes, most);
  grove_topo topo = {.nranks = m->nranks, .nnodes = nnodes, .place = place};
  for (int a = 0; a < m->nranks; a++)
    for (int b = 0; b < m->nranks; b++)
      CHECK(grove_topo_same_node(&topo, a, b) == (label_of(m, a) == label_of(m, b)),
            "ranks %d and %d: same node %d", a, b, grove_topo_same_node(&topo, a, b));
  check_nodes(&topo);
}

static void draw(rng *r, machine *m)
{
  *m = (machine){.nranks = (int)rng_between(r, 1, MOST_RANKS)};
  int hosts = (int)rng_between(r, 1, m->nranks), labels = (int)rng_between(r, 1, m->nranks + 3);
  int step = rng_one_in(r, 2) ? 1 : (int)rng_between(r, 1, 1000000);
  for (int i = 0; i < m->nranks; i++) {
    m->domain[i] = (int)rng_below(r, hosts); /* scattered; numbers need not be dense */
    m->bound[i] = (int)rng_below(r, 4);
    m->label[i] = (int)rng_below(r, labels) * step;
  }
  m->node_size = rng_one_in(r, 3) ? 0 : (int)rng_between(r, 1, m->nranks + 2);
  m->socket_size = rng_one_in(r, 3) ? 0 : (int)rng_between(r, 1, 9);
  m->mapped = rng_one_in(r, 2);
}

/* ---- by hand: the reference may err too ---- */

static void check_text(const char *map, int node_size, int socket_size, const char *expected)
{
  grove_place place[16] = {{0}};
  char got[64] = "";
  int nranks = (int)(strlen(expected) + 1) / 6, nnodes = 0;
  for (int r = 0; r < nranks; r++) place[r] = (grove_place){.domain = r / 4, .bound = r % 2};
  CHECK_OK(grove_topo_assign(place, nranks, node_size, map, socket_size, &nnodes));
  for (int r = 0; r < nranks; r++)
    snprintf(got + strlen(got), sizeof got - strlen(got), "%s%02d.%02d", r > 0 ? " " : "",
             place[r].node, place[r].socket);
  CHECK(strcmp(got, expected) == 0, "map '%s', node_size %d, socket_size %d: %s, not %s", map,
        node_size, socket_size, got, expected);
}

/* node.socket of every rank, in two digits each. */
static void by_hand(void)
{
  check_text("", 0, 0, "00.00 00.01 00.00 00.01 01.00 01.01 01.00");
  check_text("", 2, 0, "00.00 00.01 01.00 01.01 02.00");
  check_text("", 3, 2, "00.00 00.00 00.01 01.00 01.00 01.01 02.00");
  check_text("", 100, 1, "00.00 00.01 00.02 00.03");
  check_text("", 1, 1, "00.00 01.00 02.00 03.00");
  check_text("7,3,7,0,3", 0, 1, "00.00 01.00 00.01 02.00 01.01");
  check_text("7,3,7,0,3", 2, 0, "00.00 01.01 00.00 02.01 01.00"); /* the map wins */
  check_text("2147483647,0,2147483647", 0, 1, "00.00 01.00 00.01");
  check_text("5", 0, 0, "00.00");
  check_text("", 4, 3, "00.00");
}

static void check_refused(const char *map, int nranks, int64_t named)
{
  grove_place place[8] = {{0}};
  int nnodes = -7;
  grove_status status = grove_topo_assign(place, nranks, 0, map, 0, &nnodes);
  CHECK(status == GROVE_ERR_OPTION, "the map '%s' for %d ranks: %s", map, nranks,
        grove_status_name(status));
  CHECK(nnodes == -7, "a refused map has set the number of nodes to %d", nnodes);
  CHECK(strstr(grove_last_error(), "node_map"), "'%s' does not name the option",
        grove_last_error());
  CHECK(number_in(grove_last_error(), named), "'%s' does not name %lld", grove_last_error(),
        (long long)named);
}

static void wrong_maps(void)
{
  check_refused("0,0", 3, 2); /* too short, too long: both numbers are in the sentence */
  check_refused("0,0", 3, 3);
  check_refused("0,0,0,0", 3, 4);
  check_refused("0", 2, 1);
  check_refused("0,1", 1, 2);
  check_refused("x", 1, 0); /* entry 0 */
  check_refused("0,x", 2, 1);
  check_refused("0,1x", 2, 1);
  check_refused("0,,1", 3, 1);
  check_refused("0,1,", 2, 2); /* as if another one were to come */
  check_refused(",0", 2, 0);
  check_refused("0,1,-1", 3, 2);
  check_refused("0;1", 2, 0);
  check_refused("2147483648", 1, 0);
  check_refused("0,99999999999999999999", 2, 1);
  check_refused("0,0.5", 2, 1);
}

/* ---- hosts ---- */

/* Ranks of one host have seats in the order of their ranks; hosts are numbered by their first. */
static void check_seats(rng *r)
{
  grove_fact facts[MOST_RANKS];
  grove_place place[MOST_RANKS];
  uint64_t host[MOST_RANKS];
  int n = (int)rng_between(r, 1, MOST_RANKS), hosts = (int)rng_between(r, 1, n), domains = 0;
  for (int i = 0; i < hosts; i++) host[i] = rng_next(r);
  for (int i = 0; i < n; i++)
    facts[i] = grove_fact_of(host[rng_below(r, hosts)], (int)rng_below(r, 4));
  CHECK_OK(grove_topo_seat(facts, n, place));
  for (int i = 0; i < n; i++) {
    int first = 0, seat = 0;
    while (!grove_fact_same_host(facts[first], facts[i])) first++;
    for (int k = 0; k < i; k++) seat += grove_fact_same_host(facts[k], facts[i]);
    int domain = first < i ? place[first].domain : domains++;
    CHECK(place[i].domain == domain, "rank %d: domain %d, not %d", i, place[i].domain, domain);
    CHECK(place[i].seat == seat, "rank %d: seat %d, not %d", i, place[i].seat, seat);
    CHECK(place[i].bound == (int)(facts[i] & 3), "rank %d: socket %d", i, place[i].bound);
  }
}

static int loads; /* of the machine's topology, which takes milliseconds */

int __real_hwloc_topology_load(void *topology);
GROVE_API int __wrap_hwloc_topology_load(void *topology); /* MPI knows it too */

int __wrap_hwloc_topology_load(void *topology)
{
  loads++;
  return __real_hwloc_topology_load(topology);
}

/* What is found on this host cannot be known here, but some things cannot be. */
static void looks(void)
{
  int socket = -1;
  grove_cores cores;
  for (int i = 0; i < 3; i++) {
    CHECK_OK(grove_topo_look(&socket, &cores));
    CHECK(socket >= 0 && grove_topo_count(&cores) >= 1, "socket %d, %d cores", socket,
          grove_topo_count(&cores));
  }
  CHECK(loads == 1, "the machine was looked at %d times", loads);
  CHECK(grove_topo_host() == grove_topo_host(), "this host has two numbers");
}

/* Bound to one processing unit after the other, as far as the system lets; MPI's threads stay where
 * they are, and count. */
static void is_bound(void)
{
#ifdef __linux__
  cpu_set_t before, one;
  int socket = -1, tried = 0;
  grove_cores cores, last;
  CHECK(sched_getaffinity(0, sizeof before, &before) == 0, "the system does not say where it is");
  for (int pu = 0; pu < CPU_SETSIZE && tried < 80; pu++) {
    CPU_ZERO(&one);
    CPU_SET(pu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) continue;
    tried++;
    CHECK_OK(grove_topo_look(&socket, &cores));
    CHECK(sched_setaffinity(0, sizeof before, &before) == 0, "not what it was before");
    CHECK_OK(grove_topo_recall(&socket, &last)); /* what was found, not what is */
    CHECK(memcmp(&last, &cores, sizeof last) == 0, "another binding is recalled");
    for (int i = 0; i < CPU_SETSIZE; i++) {
      int found = (int)(cores.word[i / 64] >> i % 64 & 1);
      CHECK(i == pu ? found : !found || CPU_ISSET(i, &before), "bound to %d: %d is %d", pu, i,
            found);
    }
  }
  CHECK(tried > 0, "bound to nothing");
#endif
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "topo/assigns_nodes");
  by_hand();
  wrong_maps();
  looks();
  is_bound();
  for (int64_t i = 0; i < test_samples(400); i++) {
    test_case(i);
    rng r = rng_from(test_seed(), (uint64_t)i);
    machine m;
    draw(&r, &m);
    check_machine(&m);
    check_seats(&r);
  }
  return test_end();
}
