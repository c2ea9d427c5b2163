/* Several devices in one process: ranks take them in turns, copies go from one to another, an
 * operation has arrays on both, and streams of either. The emulated device has two for this; what
 * has no order is found, whatever the temper. */
#include "grove_cuda.h"
#include "places.h"
#include "rig.h"
#include "threads.h"

enum { DEVICES = 2, N = 60, BYTES = N * sizeof(int64_t), ROUNDS = 4, HOST = DEVICES, PLACES };

/* An array on a device, or the host's. */
static int64_t *new_array(int where)
{
  void *memory = NULL;
  if (where == HOST) return need(BYTES);
  CHECK_OK(driver->allocate(where, BYTES, &memory));
  return memory;
}

static void free_array(int where, int64_t *array)
{
  if (where == HOST)
    free(array);
  else
    driver->free(where, array);
}

static void set_values(int64_t *values, int64_t from)
{
  for (int64_t i = 0; i < N; i++) values[i] = from + i;
}

static void check_values(const int64_t *values, int64_t from, const char *what)
{
  for (int64_t i = 0; i < N; i++)
    CHECK(values[i] == from + i, "%s: number %lld is %lld, not %lld", what, (long long)i,
          (long long)values[i], (long long)(from + i));
}

static void check_order(void)
{
  char sentence[512];
  grove_emulated_conflict(sentence, sizeof sentence);
  CHECK(grove_emulated_conflicts() == 0, "%s", sentence);
}

/* ---- memory ---- */

static int rank_on_host(const place *p)
{
  MPI_Comm host;
  int rank;
  MPI_Comm_split_type(p->comm, MPI_COMM_TYPE_SHARED, p->rank, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &rank);
  MPI_Comm_free(&host);
  return rank;
}

static void ranks_take_turns(const place *p)
{
  void *memory = NULL;
  grove_range range = {.device = -1};
  CHECK_OK(grove_alloc_device(p->ctx, BYTES, &memory));
  CHECK(driver->find(memory, &range), "the memory of no device");
  CHECK(range.device == rank_on_host(p) % DEVICES, "device %d", range.device);
  CHECK_OK(grove_dealloc(p->ctx, memory));
}

/* From every memory to every other, and behind what default streams have to do at either end. */
static void copies_go_everywhere(const place *p)
{
  int64_t *in = new_pinned(BYTES), out[N], *array[PLACES];
  for (int i = 0; i < PLACES; i++) array[i] = new_array(i);
  for (int from = 0; from < PLACES; from++)
    for (int to = 0; to < PLACES; to++) {
      int64_t *source = array[from], *target = from == to ? new_array(to) : array[to];
      set_values(in, 1000 * from + 100 * to);
      if (from == HOST)
        memcpy(source, in, BYTES);
      else
        CHECK_OK(driver->copy(from, NULL, source, in, BYTES));
      CHECK_OK(grove_copy(p->ctx, target, source, BYTES));
      CHECK_OK(grove_copy(p->ctx, out, target, BYTES));
      check_values(out, 1000 * from + 100 * to, "copied");
      if (from == to) free_array(to, target);
    }
  check_order();
  for (int i = 0; i < PLACES; i++) free_array(i, array[i]);
  free_pinned(in);
}

/* ---- operations ---- */

/* By which everybody gets what the next rank has, and adds it to what it had. */
typedef struct halo {
  const place *p;
  grove_forest *f;
  grove_op *get, *give;
  int root_is, leaf_is; /* where they are */
  int64_t *root, *leaf;
  int64_t *in, *out; /* pinned */
} halo;

static halo new_halo(const place *p, int root_is, int leaf_is)
{
  halo h = {.p = p, .root_is = root_is, .leaf_is = leaf_is};
  grove_root owner[N];
  for (int64_t i = 0; i < N; i++) owner[i] = (grove_root){(p->rank + 1) % p->size, i};
  h.root = new_array(root_is);
  h.leaf = new_array(leaf_is);
  h.in = new_pinned(BYTES);
  h.out = new_pinned(BYTES);
  CHECK_OK(grove_forest_create(p->ctx, &h.f));
  CHECK_OK(grove_forest_set_graph(h.f, N, N, NULL, owner));
  CHECK_OK(grove_forest_set_up(h.f));
  CHECK_OK(grove_bcast_init(h.f, MPI_INT64_T, h.root, h.leaf, MPI_REPLACE, &h.get));
  CHECK_OK(grove_reduce_init(h.f, MPI_INT64_T, h.leaf, h.root, MPI_SUM, &h.give));
  return h;
}

static void free_halo(halo *h)
{
  CHECK_OK(grove_op_free(&h->get));
  CHECK_OK(grove_op_free(&h->give));
  CHECK_OK(grove_forest_free(&h->f));
  for (int d = 0; d < DEVICES; d++) CHECK_OK(driver->finish(d, NULL));
  free_array(h->root_is, h->root);
  free_array(h->leaf_is, h->leaf);
  free_pinned(h->in);
  free_pinned(h->out);
}

/* On a stream of device `at`, which need not be that of the array. */
static void enqueue_copy(int at, grove_stream *stream, void *to, const void *from)
{
  CHECK_OK(driver->copy(at, stream, to, from, BYTES));
}

static void arrays_anywhere(const place *p, int root_is, int leaf_is)
{
  halo h = new_halo(p, root_is, leaf_is);
  int64_t next = 1000 * ((p->rank + 1) % p->size), own = 1000 * p->rank;
  for (int round = 0; round < ROUNDS; round++) {
    set_values(h.in, own + 100 * round);
    CHECK_OK(grove_copy(p->ctx, h.root, h.in, BYTES));
    CHECK_OK(grove_start(h.get));
    CHECK_OK(grove_wait(h.get));
    CHECK_OK(grove_copy(p->ctx, h.out, h.leaf, BYTES));
    check_values(h.out, next + 100 * round, "what came");
    CHECK_OK(grove_start(h.give));
    CHECK_OK(grove_wait(h.give));
    CHECK_OK(grove_copy(p->ctx, h.out, h.root, BYTES));
    for (int64_t i = 0; i < N; i++) h.out[i] /= 2; /* each had one leaf, with its own value */
    check_values(h.out, own + 100 * round, "what came back");
  }
  check_order();
  free_halo(&h);
}

/* The stream is of a device where the operation may have no array at all. */
static void streams_anywhere(const place *p, int at, int root_is, int leaf_is, int promises)
{
  halo h = new_halo(p, root_is, leaf_is);
  grove_stream *stream = NULL;
  CHECK_OK(driver->create_stream(at, &stream));
  CHECK_OK(grove_op_set_stream(h.get, stream));
  for (int round = 0; round < ROUNDS; round++) {
    set_values(h.in, 1000 * p->rank + round);
    enqueue_copy(at, stream, h.root, h.in);
    CHECK_OK(grove_start(h.get));
    CHECK_OK(promises ? grove_wait_on_stream(h.get) : grove_wait(h.get));
    enqueue_copy(at, stream, h.out, h.leaf);
    CHECK_OK(driver->finish(at, stream));
    check_values(h.out, 1000 * ((p->rank + 1) % p->size) + round, "behind the stream");
  }
  check_order();
  free_halo(&h);
  driver->free_stream(at, stream);
}

/* One operation, on streams of one device and of the other: a promise is where the stream is. */
static void streams_in_turn(const place *p)
{
  halo h = new_halo(p, 0, 1);
  grove_stream *stream[DEVICES] = {NULL};
  for (int d = 0; d < DEVICES; d++) CHECK_OK(driver->create_stream(d, &stream[d]));
  for (int round = 0; round < 2 * ROUNDS; round++) {
    int d = (round + p->rank) % DEVICES;
    CHECK_OK(grove_op_set_stream(h.get, stream[d]));
    set_values(h.in, 1000 * p->rank + round);
    enqueue_copy(d, stream[d], h.root, h.in);
    CHECK_OK(grove_start(h.get));
    CHECK_OK(grove_wait_on_stream(h.get));
    enqueue_copy(d, stream[d], h.out, h.leaf);
    CHECK_OK(driver->finish(d, stream[d]));
    check_values(h.out, 1000 * ((p->rank + 1) % p->size) + round, "by turns");
    CHECK_OK(grove_wait(h.get));
  }
  check_order();
  free_halo(&h);
  for (int d = 0; d < DEVICES; d++) driver->free_stream(d, stream[d]);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "device/several");
  grove_emulated_set_devices(DEVICES);
  place p = place_create(split(0));
  ranks_take_turns(&p); /* first: the option's temper */
  copies_go_everywhere(&p);
  for (int root_is = 0; root_is < PLACES; root_is++)
    for (int leaf_is = 0; leaf_is < PLACES; leaf_is++) {
      test_case(PLACES * root_is + leaf_is);
      arrays_anywhere(&p, (root_is + p.rank) % PLACES, leaf_is);
    }
  for (int promises = 0; promises < 1 + any_thread_may_call(); promises++) {
    if (promises) place_set(&p, "progress", "thread");
    for (int at = 0; at < DEVICES; at++)
      for (int root_is = 0; root_is < DEVICES; root_is++)
        for (int leaf_is = 0; leaf_is < DEVICES; leaf_is++)
          streams_anywhere(&p, at, root_is, leaf_is, promises);
    if (promises) streams_in_turn(&p);
  }
  place_free(&p);
  grove_emulated_reset();
  return test_end();
}
