/* Copies between devices by whatever driver there is, on one device or several: data of all sizes
 * around the edges of chunks and alignment, inside a device and between any two, with slots of any
 * size, many at once, by a copier and by a context. TEST_DRIVER names the driver: `cuda`, or
 * `emulated`, the default; TEST_LARGEST the most bytes of a copy. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#define TEST_ANY_DRIVER
#include "copier_rig.h"
#include "places.h"

#include <dlfcn.h>
#include <stdio.h>

enum { SLOT = 4096, STAGING = SLOT * GROVE_LANE_SLOTS * GROVE_LANES_STAGED, MANY = 12 };

static int ndevices;
static int64_t largest = 4 << 20;

static const grove_driver *named_driver(const char *name)
{
#ifdef GROVE_CUDA
  if (strcmp(name, "cuda") == 0) return &grove_driver_cuda;
#endif
  return strcmp(name, "emulated") == 0 ? &grove_driver_emulated : NULL;
}

static void move_once(grove_copier *c, int from, int to, int64_t bytes, int64_t skew, rng *r)
{
  trip t = new_trip(from, to, bytes, skew, (int)rng_below(r, ndevices), r);
  enqueue_head(&t);
  CHECK_OK(copy_trip(c, &t));
  enqueue_tail(&t);
  check_trip(&t, "one copy");
  free_trip(&t);
}

/* ---- sizes ---- */

/* All around the powers of two, and what the slots of a copier are made of. */
static void move_sizes(grove_copier *c, rng *r)
{
  int turn = 0;
  int64_t slot = c->staging_bytes / (GROVE_LANE_SLOTS * GROVE_LANES_STAGED);
  const int64_t edges[] = {1, 16, 256, 4096, 65536, 1 << 20, 8 << 20, 64 << 20, slot, 3 * slot};
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
    for (int off = -1; off <= 1; off++, turn++) {
      int64_t bytes = edges[i] + off * (edges[i] > 1 << 20 ? 77 : 1);
      if (bytes < 1 || bytes > largest) continue;
      int from = turn % ndevices, to = (from + turn / ndevices) % ndevices;
      test_hint("%lld bytes from %d to %d", (long long)bytes, from, to);
      move_once(c, from, to, bytes, rng_one_in(r, 2) ? 0 : rng_below(r, 300), r);
    }
}

/* As users have it: links measured, or none to measure. */
static void check_as_found(rng *r)
{
  grove_copier *c = NULL;
  CHECK_OK(grove_copier_create(NULL, NULL, &c));
  CHECK(c->driver == driver && c->ndevices == ndevices, "%d devices of %s", c->ndevices,
        c->driver->name);
  CHECK(ndevices > 1 || !(c->found.own[0][0].rate > 0), "one device has no links to measure");
  move_sizes(c, r);
  CHECK_OK(grove_copier_free(&c));
}

/* Links that are all alike are all used, whatever this node has: with slots of a few kilobytes, and
 * with those of users. */
static void check_all_paths(rng *r)
{
  static const int64_t staging[] = {STAGING, 64 << 20};
  static const char *const paths[] = {NULL, "host", "direct,host"};
  grove_machine *m = even_machine(ndevices, 1e-8, 10e9);
  for (int i = 0; i < 3; i++) {
    grove_copier *c = NULL;
    CHECK_OK(grove_copier_open(driver, ndevices, m, paths[i], staging[i % 2], &c));
    move_sizes(c, r);
    CHECK_OK(grove_copier_free(&c));
  }
  CHECK_OK(grove_machine_free(&m));
}

/* ---- several at once, both ways ---- */

static void check_many(rng *r)
{
  grove_machine *m = even_machine(ndevices, 1e-8, 10e9);
  grove_copier *c = NULL;
  trip trips[MANY];
  CHECK_OK(grove_copier_open(driver, ndevices, m, NULL, 4 * STAGING, &c));
  for (int i = 0; i < MANY; i++) {
    int from = i % ndevices, to = (from + 1) % ndevices;
    trips[i] =
      new_trip(from, to, 1 + rng_below(r, 300000), rng_below(r, 300), i % 3 ? from : to, r);
  }
  for (int i = 0; i < MANY; i++) {
    enqueue_head(&trips[i]);
    CHECK_OK(copy_trip(c, &trips[i]));
    if (i % 3 == 0) CHECK_OK(copy_trip(c, &trips[i])); /* again, behind it */
    enqueue_tail(&trips[i]);
  }
  for (int i = MANY - 1; i >= 0; i--) check_trip(&trips[i], "many at once");
  for (int i = 0; i < MANY; i++) free_trip(&trips[i]);
  CHECK_OK(grove_copier_free(&c));
  CHECK_OK(grove_machine_free(&m));
}

/* ---- what is refused; the default stream ---- */

static void check_refusals(void)
{
  grove_copier *c = NULL;
  CHECK_OK(grove_copier_create(NULL, NULL, &c));
  char *a = memory_at(0, 1000), here[16];
  CHECK_STATUS(grove_copier_copy(c, a + 10, 0, a, 0, 11, NULL), GROVE_ERR_ARG);
  CHECK_STATUS(grove_copier_copy(c, a + 10, 0, a, ndevices, 10, NULL), GROVE_ERR_ARG);
  CHECK_STATUS(grove_copier_copy(c, a, -1, here, -1, 10, NULL), GROVE_ERR_ARG);
  CHECK_OK(grove_copier_copy(c, a + 10, -1, a, -1, 10, NULL));
  CHECK_OK(driver->finish(0, NULL));
  driver->free(0, a);
  CHECK_OK(grove_copier_free(&c));
}

/* An operation on device memory, with this stream. */
static grove_op *operation_on(const place *p, char *a, char *b, grove_stream *stream,
                              grove_forest **f)
{
  const grove_root self = {p->rank, 0};
  grove_op *op = NULL;
  CHECK_OK(grove_forest_create(p->ctx, f));
  CHECK_OK(grove_forest_set_graph(*f, 1, 1, NULL, &self));
  CHECK_OK(grove_forest_set_up(*f));
  CHECK_OK(grove_bcast_init(*f, MPI_DOUBLE, a, b, MPI_REPLACE, &op));
  CHECK_OK(grove_op_set_stream(op, stream));
  return op;
}

/* CUDA's functions for that are not in the driver's table; a stream is begun to be captured, and
 * the graph thrown away. */
typedef int (*stream_function)(void *stream, void *out);

static void check_capture(void)
{
  void *cuda = strcmp(driver->name, "cuda") == 0 ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
  union {
    void *symbol;
    int (*begin)(void *stream, int mode);
    stream_function ask;
    int (*end)(void *what);
  } begin = {0}, ask = {0}, push = {0}, pop = {0}, end = {0}, drop = {0};
  if (cuda) begin.symbol = dlsym(cuda, "cuStreamBeginCapture_v2");
  if (!begin.symbol) return;
  ask.symbol = dlsym(cuda, "cuStreamGetCtx");
  push.symbol = dlsym(cuda, "cuCtxPushCurrent_v2");
  pop.symbol = dlsym(cuda, "cuCtxPopCurrent_v2");
  end.symbol = dlsym(cuda, "cuStreamEndCapture");
  drop.symbol = dlsym(cuda, "cuGraphDestroy");
  enum { GLOBAL = 0, BYTES = 1000 };
  grove_copier *c = NULL;
  place p = place_create(split(0));
  place_set(&p, "device", driver->name);
  void *context = NULL, *graph = NULL;
  grove_stream *stream = stream_at(0);
  char *a = memory_at(0, BYTES), *b = memory_at(ndevices - 1, BYTES);
  grove_forest *f = NULL;
  grove_op *op = operation_on(&p, a, b, stream, &f);
  CHECK_OK(grove_copier_create(NULL, NULL, &c));
  CHECK(!ask.ask(stream, &context) && !push.end(context), "no context");
  CHECK(!begin.begin(stream, GLOBAL), "the stream cannot be captured");
  CHECK_STATUS(grove_copier_copy(c, b, -1, a, -1, BYTES, stream), GROVE_ERR_UNSUPPORTED);
  CHECK_STATUS(grove_copy_async(p.ctx, b, -1, a, -1, BYTES, stream), GROVE_ERR_UNSUPPORTED);
  CHECK(!p.ctx->copier, "a copier was made, which allocates");
  CHECK_STATUS(grove_start(op), GROVE_ERR_UNSUPPORTED);
  CHECK(!end.ask(stream, &graph), "the capture was broken");
  CHECK(!graph || !drop.end(graph), "no graph");
  pop.end(&context);
  CHECK_OK(grove_copier_copy(c, b, -1, a, -1, BYTES, stream));
  CHECK_OK(grove_copy_async(p.ctx, b, -1, a, -1, BYTES, stream));
  CHECK_OK(driver->finish(0, stream));
  driver->free_stream(0, stream);
  driver->free(0, a);
  driver->free(ndevices - 1, b);
  CHECK_OK(grove_copier_free(&c));
  CHECK_OK(grove_op_free(&op));
  CHECK_OK(grove_forest_free(&f));
  place_free(&p);
}

/* ---- without MPI ---- */

/* MPI has not begun yet, and nothing here needs it. */
static void copy_without_mpi(void)
{
  rng r = rng_from(1, 0);
  grove_copier *c = NULL;
  int has_begun = 1;
  CHECK(!MPI_Initialized(&has_begun) && !has_begun, "MPI has begun");
  CHECK_OK(driver->open(&ndevices));
  if (ndevices > GROVE_DEVICES) ndevices = GROVE_DEVICES;
  CHECK_OK(grove_copier_create(NULL, NULL, &c));
  move_once(c, 0, ndevices - 1, 2 << 20, 1, &r);
  FILE *file = tmpfile();
  if (ndevices > 1 && file) CHECK_OK(grove_copier_explain(c, 0, 1, 2 << 20, file));
  if (file) fclose(file);
  CHECK_STATUS(grove_copier_copy(c, NULL, 0, NULL, 0, 1, NULL), GROVE_ERR_ARG);
  CHECK_OK(grove_copier_free(&c));
}

/* ---- a context ---- */

static void check_context(rng *r)
{
  static const int64_t sizes[] = {1, 4097, (1 << 20) + 1, 9 << 20};
  place p = place_create(split(0));
  place_set(&p, "device", driver->name);
  for (int i = 0; i < 4 && sizes[i] <= largest; i++) {
    trip t = new_trip(0, ndevices - 1, sizes[i], i, 0, r);
    enqueue_head(&t);
    CHECK_OK(
      grove_copy_async(p.ctx, trip_to(&t), -1, trip_from(&t), -1, (size_t)t.bytes, t.stream));
    enqueue_tail(&t);
    check_trip(&t, "by the context");
    free_trip(&t);
  }
  place_free(&p);
}

static void check_all(uint64_t seed)
{
  rng r = rng_from(test_seed(), seed);
  CHECK_OK(driver->open(&ndevices));
  if (ndevices > GROVE_DEVICES) ndevices = GROVE_DEVICES;
  check_as_found(&r);
  check_all_paths(&r);
  check_many(&r);
  check_refusals();
  check_capture();
  check_context(&r);
}

int main(int argc, char **argv)
{
  const char *name = getenv("TEST_DRIVER"), *most = getenv("TEST_LARGEST");
  driver = named_driver(name ? name : "emulated");
  int is_emulated = driver == &grove_driver_emulated, is_there = 0;
  if (driver) setenv("GROVE_DEVICE", driver->name, 1);
  if (is_emulated) grove_emulated_set_devices(3);
  if (driver) is_there = driver->open(&ndevices) == GROVE_OK;
  if (is_there) copy_without_mpi();
  test_begin(&argc, &argv, "device/copier_any");
  if (!driver) return test_skip("the library has no such driver");
  if (!is_there) return test_skip(grove_last_error());
  largest = most ? atoll(most) : is_emulated ? 4 << 20 : 65 << 20;
  for (int n = 1; is_emulated && n <= 3; n += 2) {
    test_case(n);
    grove_emulated_set_devices(n);
    check_all((uint64_t)n);
  }
  if (!is_emulated) check_all(0);
  check_conflicts();
  if (is_emulated) grove_emulated_reset();
  unsetenv("GROVE_DEVICE");
  return test_end();
}
