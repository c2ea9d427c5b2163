/* A rank that runs out of memory while it builds a plan, at each of its larger allocations in turn:
 * it says so, nobody is left waiting, and with enough memory the plan is built after all. Others
 * get the same error, or have their part if the failure came after all was said. The linker puts
 * the allocations below in the place of Grove's. */
#include "check.h"
#include "places.h"
#include "route/leaders.h"
#include "route/route.h"

#include <stdlib.h>

/* Lists as long as these take at least so many bytes. */
enum { LEAVES = 6000, ROOTS = 1500, LARGE_BYTES = 2500 };

static struct {
  int armed;
  int64_t met;  /* larger allocations so far */
  int64_t fail; /* the number of the one that fails */
} scarce;

void *__real_calloc(size_t count, size_t bytes);
void *__real_malloc(size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static int runs_out(size_t bytes)
{
  return scarce.armed && bytes >= LARGE_BYTES && scarce.met++ == scarce.fail;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
  return runs_out(count * bytes) ? NULL : __real_calloc(count, bytes);
}

void *__wrap_malloc(size_t bytes)
{
  return runs_out(bytes) ? NULL : __real_malloc(bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
  return runs_out(bytes) ? NULL : __real_realloc(old, bytes);
}

/* All ranks need many values of all others, some several times. */
static grove_forest *make_forest(const place *p)
{
  grove_forest *f = NULL;
  grove_root *root = need(LEAVES * sizeof *root);
  for (int i = 0; i < LEAVES; i++)
    root[i] = (grove_root){i % p->size, (i * 7 + p->rank * 31) % ROOTS};
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, ROOTS, LEAVES, NULL, root));
  CHECK_OK(grove_forest_set_up(f));
  free(root);
  return f;
}

static int most(const place *p, int mine)
{
  int all = 0;
  MPI_Request request;
  MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_MAX, p->comm, &request);
  polite_wait(&request);
  return all;
}

/* Returns 0 if there is no allocation of this number. */
static int fail_one(const place *p, const grove_route *route, const grove_build *how, int bad,
                    int64_t number)
{
  grove_forest *f = make_forest(p);
  grove_plan *plan = NULL;
  scarce.met = 0;
  scarce.fail = number;
  scarce.armed = p->rank == bad;
  grove_status status = route->build(f, how, &plan);
  scarce.armed = 0;
  int failed = most(p, scarce.met > number);
  CHECK((status == GROVE_OK) == (plan != NULL), "a plan, or none, with %s",
        grove_status_name(status));
  CHECK(status == GROVE_OK || status == GROVE_ERR_MEMORY, "%s: %s", grove_status_name(status),
        grove_last_error());
  if (p->rank == bad)
    CHECK(failed == (status != GROVE_OK), "route %s, allocation %lld: %s", route->name,
          (long long)number, grove_status_name(status));
  CHECK(failed || status == GROVE_OK, "%s", grove_last_error());
  grove_plan_free(&plan);
  CHECK_OK(route->build(f, how, &plan));
  grove_plan_free(&plan);
  CHECK_OK(grove_forest_free(&f));
  return failed;
}

/* Packets to all leaders, by proxies. A leader's failure to open them is its own. Returns 0 if
 * there is no allocation of this number. */
static int fail_packets(const place *p, int bad, int64_t number)
{
  const grove_topo *topo = &p->ctx->topo;
  grove_packets packets = {0};
  grove_status mine = GROVE_OK;
  scarce.met = 0;
  scarce.fail = number;
  scarce.armed = p->rank == bad;
  for (int node = 0; node < topo->nnodes && mine == GROVE_OK; node++) {
    int64_t *words = NULL;
    mine = grove_packets_write(&packets, grove_leader(topo, node), LARGE_BYTES / 8 + 1, &words);
    for (int i = 0; mine == GROVE_OK && i <= LARGE_BYTES / 8; i++) words[i] = i;
  }
  grove_status status = grove_proxies_exchange(p->ctx, &mine, &packets);
  scarce.armed = 0;
  int failed = most(p, scarce.met > number);
  CHECK(most(p, status != GROVE_OK) == (status != GROVE_OK), "one has %s",
        grove_status_name(status));
  CHECK(most(p, status != GROVE_OK || mine != GROVE_OK) == failed, "allocation %lld: %s",
        (long long)number, grove_status_name(status));
  if (status == GROVE_OK && mine == GROVE_OK)
    CHECK(grove_packets_count(&packets) == (topo->place[p->rank].local == 0 ? p->size : 0),
          "%d packets", grove_packets_count(&packets));
  grove_packets_free(&packets);
  return failed;
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "route/short_of_memory");
  place p = place_create(split(0));
  for (int way = 0; way < 4; way++) {
    grove_build how = {.share = way & 1, .back = way >> 1, .cap = 700};
    for (int i = 0; i < GROVE_ROUTES; i++)
      for (int bad = 0; bad < p.size; bad += p.size - 1) {
        int64_t number = 0;
        test_case(way * GROVE_ROUTES + i);
        while (fail_one(&p, grove_routes[i], &how, bad, number)) number++;
        CHECK(number > 0 || !grove_routes[i]->relays, "no allocation failed");
      }
  }
  for (int bad = 0; bad < p.size; bad++) {
    int64_t number = 0;
    while (fail_packets(&p, bad, number)) number++;
    CHECK(number > 2, "only %lld allocations failed", (long long)number);
  }
  place_free(&p);
  return test_end();
}
