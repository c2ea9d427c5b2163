/* transport_parts=auto and transport_off_node=auto take libfabric where its price is clearly lower
 * by the profile, which then also says what is predicted; else MPI: where it is higher or nearly
 * the same, where the profile has none, inside a node, and where libfabric or its provider is not
 * here. All ranks take the same, and the data is right.
 */
#include "channel.h"
#include "check.h"
#include "profile.h"
#include "ring.h"

#include <math.h>
#include <string.h>

#ifdef TEST_FABRIC
enum { HAS_FABRIC = 1 };
#else
enum { HAS_FABRIC = 0 };
#endif

/* Also inside a node. */
#define OVER_MPI     "L cpu any 0.. 1e-4 s m\ng cpu any 0.. 1e-5 s m\nG cpu any 0.. 1e-9 s/B m\n"
#define FABRIC_BYTES "fabric-g cpu off-node 0.. 1e-6 s m\nfabric-G cpu off-node 0.. 1e-9 s/B m\n"

/* Over libfabric small messages are cheap, and those from 10000 bytes on are dear. */
static const char BY_SIZE[] = OVER_MPI
  "fabric-L cpu off-node 0..9999 1e-5 s m\nfabric-L cpu off-node 10000.. 1e-3 s m\n" FABRIC_BYTES;

/* A channel over libfabric must be predicted to take half the time, a letter a third. By the first
 * profile they take 1/1.8 and 1/2.4, by the second 1/2.2 and 1/3.4. */
#define ALIKE "fabric-g cpu off-node 0.. 1e-5 s m\nfabric-G cpu off-node 0.. 1e-9 s/B m\n"
static const char TOO_DEAR[] = OVER_MPI "fabric-L cpu off-node 0.. 4.2e-5 s m\n" ALIKE;
static const char CHEAP[] = OVER_MPI "fabric-L cpu off-node 0.. 2.9e-5 s m\n" ALIKE;

enum { PARTS = 4, SMALL = 100, LARGE = 20000 };

static void use_profile(const place *p, const char *rows)
{
  grove_machine *m = machine_of(rows);
  CHECK_OK(grove_context_use_machine(p->ctx, m));
  CHECK_OK(grove_machine_free(&m));
}

/* From each rank to the next. */
static void try_channel(const place *p, const unit *u, int64_t bytes, const char *expected,
                        double seconds)
{
  channel c[2];
  for (int k = 0; k < 2; k++) {
    int previous = (p->rank + p->size - 1) % p->size;
    c[k] = (channel){.ctx = p->ctx, .sends = k, .tag = 1, .parts = PARTS, .count = bytes, .u = u};
    c[k].peer = k ? (p->rank + 1) % p->size : previous;
    c[k].seed = mix2(test_seed(), (uint64_t)(k ? p->rank : previous));
    channel_open(&c[k]);
  }
  for (int round = 0; round < 3; round++) {
    for (int k = 0; k < 2; k++) channel_start(&c[k]);
    for (int i = PARTS; i > 0; i--) channel_ready(&c[1], i - 1, 1);
    for (int k = 0; k < 2; k++) channel_wait(&c[k]);
  }
  for (int k = 0; k < 2; k++) {
    grove_report r = {.struct_size = sizeof r};
    CHECK_OK(grove_op_report(c[k].op, &r));
    CHECK(strcmp(r.transport, expected) == 0, "%lld bytes: '%s', not '%s'", (long long)bytes,
          r.transport, expected);
    if (k && seconds > 0)
      CHECK(fabs(r.predicted_seconds - seconds) < 1e-9, "%lld bytes: predicted %g s, not %g",
            (long long)bytes, r.predicted_seconds, seconds);
    channel_close(&c[k]);
  }
}

static void try_forest(const place *p, int64_t entries, int left_out, const char *expected)
{
  grove_report r = {.struct_size = sizeof r};
  ring x = ring_open(p, entries, left_out, KIND_BCAST);
  ring_init(&x);
  CHECK_OK(grove_op_report(x.op, &r));
  CHECK(strcmp(r.transport, expected) == 0, "%lld entries: '%s', not '%s'", (long long)entries,
        r.transport, expected);
  CHECK_OK(grove_op_free(&x.op));
  ring_run(&x, 2);
  ring_close(&x);
}

/* One message over libfabric is cheap here, and each further one is dear. */
static const char BY_COUNT[] = OVER_MPI "fabric-L cpu off-node 0.. 1e-5 s m\n"
                                        "fabric-g cpu off-node 0.. 3e-4 s m\n"
                                        "fabric-G cpu off-node 0.. 1e-9 s/B m\n";

/* Rank 0 has what `leaves` other ranks need. Messages of a rank follow each other: what rank 0
 * takes, which has most of them, counts, whether it sends or receives. */
static void try_star(const place *p, int leaves, int backward, const char *expected)
{
  grove_report r = {.struct_size = sizeof r};
  grove_forest *f = NULL;
  grove_op *op = NULL;
  const grove_root root = {0, 0};
  int64_t value = p->rank == 0 && !backward ? 7 : p->rank, leaf = p->rank;
  int needs = p->rank > 0 && p->rank <= leaves;
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, p->rank == 0, needs, NULL, &root));
  CHECK_OK(grove_forest_set_up(f));
  if (backward)
    CHECK_OK(grove_reduce_init(f, MPI_INT64_T, &leaf, &value, MPI_SUM, &op));
  else
    CHECK_OK(grove_bcast_init(f, MPI_INT64_T, &value, &leaf, MPI_REPLACE, &op));
  CHECK_OK(grove_op_report(op, &r));
  CHECK(strcmp(r.transport, expected) == 0, "%d messages, backward %d: '%s', not '%s'", leaves,
        backward, r.transport, expected);
  CHECK_OK(grove_start(op));
  CHECK_OK(grove_wait(op));
  if (backward && p->rank == 0) CHECK(value == leaves * (leaves + 1) / 2, "the sum is off");
  if (!backward && needs) CHECK(leaf == 7, "leaf %lld", (long long)leaf);
  CHECK_OK(grove_op_free(&op));
  CHECK_OK(grove_forest_free(&f));
}

/* The same of all sizes. */
static void try_all(const place *p, const unit *u, const char *channels, const char *forests)
{
  try_channel(p, u, SMALL, channels, 0);
  try_forest(p, RING_SMALL, RING_NOBODY, forests);
}

int main(int argc, char **argv)
{
  const char *fabric = HAS_FABRIC ? "ofi" : "mpi", *letters = HAS_FABRIC ? "ofi" : "p2p";
  test_begin(&argc, &argv, "transport/fabric_by_price");
  units *types = units_create();
  const unit *u = units_find(types, "MPI_BYTE");
  place p = place_create(split(0));
  place_set(&p, "aggregator", "none");
  place_set(&p, "transport_off_node", "auto");
  use_profile(&p, OVER_MPI);
  try_all(&p, u, "mpi", "p2p");
  use_profile(&p, BY_SIZE);
  place_set(&p, "fabric", "pigeon");
  try_all(&p, u, "mpi", "p2p");
  place_set(&p, "fabric", "tcp@lo");
  use_profile(&p, TOO_DEAR);
  try_all(&p, u, "mpi", "p2p");
  use_profile(&p, CHEAP);
  try_all(&p, u, fabric, letters);
  use_profile(&p, BY_SIZE);
  /* Those marked before are gone when the last one is marked: its own bytes, and four messages. */
  try_channel(&p, u, SMALL, fabric, HAS_FABRIC ? 1e-5 + 3 * 1e-6 + 99e-9 : 1e-4 + 3e-5 + 99e-9);
  try_channel(&p, u, LARGE, "mpi", 1e-4 + 3e-5 + 19999e-9);
  try_forest(&p, RING_SMALL, RING_NOBODY, letters);
  try_forest(&p, RING_SMALL, 1, letters);
  try_forest(&p, LARGE / 8, RING_NOBODY, "p2p");
  use_profile(&p, BY_COUNT);
  for (int backward = 0; backward < 2; backward++) {
    try_star(&p, 1, backward, letters);
    try_star(&p, 2, backward, "p2p");
  }
  use_profile(&p, BY_SIZE);
  if (HAS_FABRIC) {
    place_set(&p, "transport_parts", "ofi"); /* the price is that of what carries it */
    try_channel(&p, u, LARGE, "ofi", 1e-3 + 3e-6 + 19999e-9);
  }
  place_set(&p, "transport_parts", "mpi");
  place_set(&p, "transport_off_node", "p2p");
  try_all(&p, u, "mpi", "p2p");
  place_set(&p, "transport_parts", "auto");
  place_set(&p, "transport_off_node", "auto");
  place_set(&p, "node_size", "0"); /* one node */
  place_set(&p, "transport_on_node", "mpi");
  try_all(&p, u, "mpi", "p2p");
  place_free(&p);
  units_free(types);
  return test_end();
}
