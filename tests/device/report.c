/* grove_op_report of operations on device arrays: where arrays lie, how values travel, what the
 * host does for kernels and why, and what that takes. */
#include "check.h"
#include "device/emulated.h"
#include "grove_cuda.h"
#include "places.h"

#include <stdlib.h>
#include <string.h>

/* Units of one message, and their bytes: whole pages, and more than kernels reach in the host's
 * memory. */
enum { N = 1 << 18, BYTES = N * 8, PAGE = 4096 };

/* Everybody has the N roots of the next rank; in the same order, or all mixed up. */
static grove_forest *next_forest(const place *p, int64_t n, int mixed)
{
  grove_forest *f = NULL;
  grove_root *root = need((size_t)n * sizeof *root);
  for (int64_t i = 0; i < n; i++)
    root[i] = (grove_root){(p->rank + 1) % p->size, mixed ? 7 * i % n : i};
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, n, n, NULL, root));
  CHECK_OK(grove_forest_set_up(f));
  free(root);
  return f;
}

static void *allocate(const place *p, size_t bytes)
{
  void *memory = NULL;
  CHECK_OK(grove_alloc_device(p->ctx, bytes, &memory));
  return memory;
}

static grove_report report_of(grove_op *op)
{
  grove_report r = {.struct_size = sizeof r};
  CHECK_OK(grove_op_report(op, &r));
  return r;
}

static void check_words(const grove_report *r, const char *memory, const char *path,
                        const char *by_host)
{
  CHECK(strcmp(r->memory, memory) == 0, "the memory is '%s', not '%s'", r->memory, memory);
  CHECK(strcmp(r->path, path) == 0, "the path is '%s', not '%s'", r->path, path);
  CHECK(strcmp(r->by_host, by_host) == 0, "by host: '%s', not '%s'", r->by_host, by_host);
}

/* Bit 0: the roots are the device's, bit 1: the leaves. */
static void places_of_arrays(const place *p, grove_forest *f, void *there, int where)
{
  static const char *const memory[] = {"host", "host, emulated device 0", "host, emulated device 0",
                                       "emulated device 0"};
  char *here = need(2 * BYTES);
  void *root = where & 1 ? there : (void *)here;
  void *leaf = where & 2 ? (char *)there + BYTES : here + BYTES;
  grove_op *op = NULL;
  CHECK_OK(grove_bcast_init(f, MPI_INT64_T, root, leaf, MPI_REPLACE, &op));
  grove_report r = report_of(op);
  check_words(&r, memory[where], where ? "staged" : "host", "");
  CHECK((*r.price_note != '\0') == (where != 0), "tcp-10g has no copies: '%s'", r.price_note);
  int letters = p->size == 1 ? where != 0 : !!(where & 1) + !!(where & 2);
  int64_t least = (int64_t)letters * BYTES, most = letters == 0 ? 0 : least + PAGE;
  CHECK(r.device_bytes >= least && r.device_bytes <= most, "%lld bytes of the device, %d messages",
        (long long)r.device_bytes, letters);
  CHECK(r.pinned == (where != 0), "pinned: %lld", (long long)r.pinned);
  CHECK_OK(grove_op_free(&op));
  free(here);
}

/* Lists of slots lie on the device as well. */
static void takes_lists(const place *p, grove_forest *f, void *there)
{
  grove_op *op = NULL;
  CHECK_OK(grove_bcast_init(f, MPI_INT64_T, there, (char *)there + BYTES, MPI_REPLACE, &op));
  grove_report r = report_of(op);
  int64_t messages = (p->size == 1 ? 1 : 2) * BYTES;
  CHECK(r.device_bytes > messages + 4 * N && r.device_bytes < messages + 8 * N + PAGE,
        "%lld bytes of the device for %lld of messages and a list of %d", (long long)r.device_bytes,
        (long long)messages, N);
  CHECK_OK(grove_op_free(&op));
}

static void add_units(void *in, void *inout, int *len, MPI_Datatype *type)
{
  (void)type;
  for (int i = 0; i < *len; i++) ((int64_t *)inout)[i] += ((int64_t *)in)[i];
}

static void check_reduce(grove_forest *f, MPI_Datatype unit, MPI_Op sum, char *root, char *leaf,
                         const char *by_host)
{
  grove_op *op = NULL;
  CHECK_OK(grove_reduce_init(f, unit, leaf, root, sum, &op));
  grove_report r = report_of(op);
  check_words(&r, "emulated device 0", "staged", by_host);
  CHECK_OK(grove_op_free(&op));
}

static void what_goes_by_host(const place *p)
{
  enum { FEW = 3, STRIDE = 1 << 18 };
  MPI_Op own = MPI_OP_NULL;
  MPI_Datatype pair = MPI_DATATYPE_NULL, wide = MPI_DATATYPE_NULL;
  const size_t bytes = (size_t)FEW * 2 * STRIDE * sizeof(double);
  char *memory = allocate(p, 2 * bytes);
  grove_forest *f = next_forest(p, FEW, 1);
  MPI_Op_create(add_units, 1, &own);
  MPI_Type_vector(2, 1, STRIDE, MPI_DOUBLE, &pair);
  MPI_Type_create_resized(pair, 0, 2 * STRIDE * (MPI_Aint)sizeof(double), &wide);
  MPI_Type_commit(&wide);
  check_reduce(f, MPI_INT64_T, MPI_SUM, memory, memory + bytes, "");
  check_reduce(f, MPI_INT64_T, own, memory, memory + bytes, "a user's operation");
  check_reduce(f, MPI_LONG_DOUBLE, MPI_SUM, memory, memory + bytes, "long double");
  check_reduce(f, MPI_LONG_DOUBLE, MPI_REPLACE, memory, memory + bytes, "");
  check_reduce(f, MPI_LONG_DOUBLE_INT, MPI_MAXLOC, memory, memory + bytes, "long double");
  check_reduce(f, wide, MPI_SUM, memory, memory + bytes, "a type that only MPI can walk");
  grove_op *both[2], *bundle = NULL;
  CHECK_OK(grove_reduce_init(f, MPI_INT64_T, memory + bytes, memory, own, &both[0]));
  CHECK_OK(
    grove_reduce_init(f, MPI_LONG_DOUBLE, memory + bytes + 4096, memory + 4096, MPI_SUM, &both[1]));
  CHECK_OK(grove_op_bundle(2, both, &bundle));
  grove_report r = report_of(bundle);
  check_words(&r, "emulated device 0", "staged", "a user's operation, long double");
  CHECK_OK(grove_op_free(&bundle));
  for (int i = 0; i < 2; i++) CHECK_OK(grove_op_free(&both[i]));
  MPI_Op_free(&own);
  MPI_Type_free(&pair);
  MPI_Type_free(&wide);
  CHECK_OK(grove_forest_free(&f));
  CHECK_OK(grove_dealloc(p->ctx, memory));
}

static void not_pinned(const place *p, grove_forest *f, char *there)
{
  grove_op *op = NULL;
  if (p->rank == 0) grove_emulated_fail_at(GROVE_EMULATED_PIN, 0, GROVE_ERR_DEVICE);
  CHECK_OK(grove_bcast_init(f, MPI_INT64_T, there, there + BYTES, MPI_REPLACE, &op));
  grove_report r = report_of(op);
  CHECK(r.pinned == (p->rank != 0), "pinned: %lld", (long long)r.pinned);
  CHECK_OK(grove_op_free(&op));
  grove_emulated_fail_at(GROVE_EMULATED_PIN, -1, GROVE_OK);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "device/report");
  place p = place_create(split(0));
  for (int nodes = 1; nodes <= 2; nodes++) {
    place_set(&p, "node_size", nodes == 1 ? "0" : "1");
    grove_forest *plain = next_forest(&p, N, 0), *mixed = next_forest(&p, N, 1);
    char *there = allocate(&p, 2 * BYTES);
    for (int where = 0; where < 4; where++) places_of_arrays(&p, plain, there, where);
    takes_lists(&p, mixed, there);
    not_pinned(&p, plain, there);
    what_goes_by_host(&p);
    CHECK_OK(grove_dealloc(p.ctx, there));
    CHECK_OK(grove_forest_free(&mixed));
    CHECK_OK(grove_forest_free(&plain));
  }
  place_free(&p);
  return test_end();
}
