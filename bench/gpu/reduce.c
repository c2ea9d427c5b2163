/* Reduce on the device: the same bits as on the host, for every type and operation that kernels
 * know; and how long both take. */
#include "kernel.h"
#include "kit/clock.h"
#include "kit/random.h"

#include <stdlib.h>
#include <string.h>

enum { FEW_SLOTS = 1000 };

/* ---- the same work on both ---- */

typedef struct both {
  const bench_gpu *g;
  bench_kernel kernel;
  int64_t array_bytes, message_bytes;
  char *array, *message;                   /* on the host */
  char *there, *message_there, *came_back; /* on the device, and from it */
} both;

/* Bytes of which any type makes finite numbers, most of them neither 0 nor 1. */
static void draw_bytes(char *to, int64_t bytes, int logical, uint64_t *state)
{
  for (int64_t i = 0; i < bytes; i++) to[i] = (char)(bench_random(state) & (logical ? 0x01 : 0xbf));
}

/* Returns 0 if there is no such kernel. */
static int open_both(const bench_gpu *g, MPI_Datatype type, MPI_Op op, const int64_t *slots,
                     int64_t n, int64_t nslots, both *b)
{
  uint64_t state = 5;
  *b = (both){.g = g};
  if (!bench_kernel_open(g, type, op, slots, n, GROVE_MOTION_UNPACK, &b->kernel)) return 0;
  int logical = b->kernel.unit.kind == GROVE_KIND_LOGICAL;
  b->array_bytes = nslots * b->kernel.unit.extent;
  b->message_bytes = n * b->kernel.unit.bytes;
  b->array = bench_alloc((size_t)b->array_bytes, 1);
  b->message = bench_alloc((size_t)b->message_bytes, 1);
  b->came_back = bench_alloc((size_t)b->array_bytes, 1);
  draw_bytes(b->array, b->array_bytes, logical, &state);
  draw_bytes(b->message, b->message_bytes, logical, &state);
  b->there = bench_gpu_alloc(g, b->array_bytes);
  b->message_there = bench_gpu_alloc(g, b->message_bytes);
  bench_gpu_copy(g, b->there, b->array, b->array_bytes);
  bench_gpu_copy(g, b->message_there, b->message, b->message_bytes);
  return 1;
}

static void close_both(both *b)
{
  bench_gpu_free(b->g, b->there);
  bench_gpu_free(b->g, b->message_there);
  free(b->array);
  free(b->message);
  free(b->came_back);
  bench_kernel_close(b->g, &b->kernel);
}

static void reduce_there(const both *b)
{
  bench_kernel_enqueue(b->g, &b->kernel, b->g->stream, b->there, b->message_there);
}

static void reduce_here(const both *b)
{
  bench_need_grove(grove_unpack(&b->kernel.mover, &b->kernel.shape, b->message, b->array, 0,
                                b->kernel.slots.count));
}

/* Twice, so that results are combined again. */
static int are_equal(const both *b)
{
  for (int i = 0; i < 2; i++) {
    reduce_there(b);
    reduce_here(b);
  }
  bench_gpu_finish(b->g);
  bench_gpu_copy(b->g, b->came_back, b->there, b->array_bytes);
  if (b->g->sabotage) b->came_back[0]++;
  return memcmp(b->came_back, b->array, (size_t)b->array_bytes) == 0;
}

/* ---- all types and operations ---- */

/* Every slot twice, far apart in the list, in no order. */
static int64_t *draw_twice(int64_t nslots)
{
  uint64_t state = 6;
  int64_t *slots = bench_alloc(2 * (size_t)nslots, sizeof *slots);
  for (int64_t i = 0; i < 2 * nslots; i++) slots[i] = i % nslots;
  bench_shuffle(slots, 2 * nslots, &state);
  return slots;
}

static void compare_bits(bench_gpu *g)
{
  const MPI_Datatype types[] = {
    MPI_INT8_T,          MPI_INT16_T,          MPI_INT32_T,   MPI_INT64_T,
    MPI_UINT8_T,         MPI_UINT16_T,         MPI_UINT32_T,  MPI_UINT64_T,
    MPI_FLOAT,           MPI_DOUBLE,           MPI_C_BOOL,    MPI_BYTE,
    MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_SHORT_INT, MPI_2INT,
    MPI_LONG_INT,        MPI_FLOAT_INT,        MPI_DOUBLE_INT};
  const MPI_Op ops[] = {MPI_REPLACE, MPI_SUM,  MPI_PROD, MPI_MIN,  MPI_MAX,    MPI_LAND,  MPI_LOR,
                        MPI_LXOR,    MPI_BAND, MPI_BOR,  MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
  int64_t *slots = draw_twice(FEW_SLOTS);
  int compared = 0, equal = 0;
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
      both b;
      if (!open_both(g, types[t], ops[o], slots, 2 * FEW_SLOTS, FEW_SLOTS, &b)) continue;
      compared++;
      equal += are_equal(&b);
      close_both(&b);
    }
  free(slots);
  bench_gpu_print(g, "bits", "all", FEW_SLOTS, "compared", compared);
  bench_gpu_print(g, "bits", "all", FEW_SLOTS, "equal", equal);
  bench_gpu_judge(g, "bits", "all", FEW_SLOTS, "equal", compared - equal);
}

/* ---- rates ---- */

static double sample_reduce(void *about, int entrant, int round)
{
  const both *b = about;
  int repeats = entrant ? 1 : b->g->repeats;
  (void)round;
  double begin = bench_clock();
  for (int i = 0; i < repeats; i++) {
    if (entrant)
      reduce_here(b);
    else
      reduce_there(b);
  }
  if (!entrant) bench_gpu_finish(b->g);
  return (bench_clock() - begin) / repeats;
}

static void measure_reduce(bench_gpu *g, const char *name, MPI_Datatype type, MPI_Op op, int twice)
{
  both b;
  uint64_t state = 7;
  int64_t n = g->most / (int64_t)sizeof(double);
  int64_t *slots = bench_alloc((size_t)n, sizeof *slots);
  for (int64_t i = 0; i < n; i++)
    slots[i] = twice ? i / 2 : 2 * i + (int64_t)(bench_random(&state) & 1);
  bench_need(open_both(g, type, op, slots, n, 2 * n, &b), "there is no such kernel");
  bench_gpu_judge(g, "reduce", name, b.message_bytes, "grove", !are_equal(&b));
  bench_gpu_entrant entrants[] = {{.name = "grove"}, {.name = "host"}};
  bench_gpu_case row = {"reduce", name, b.message_bytes, 2, entrants};
  entrants[0].traffic = bench_kernel_traffic(&b.kernel);
  bench_gpu_run(g, &row, sample_reduce, &b);
  close_both(&b);
  free(slots);
}

void bench_gpu_reduce(bench_gpu *g)
{
  compare_bits(g);
  measure_reduce(g, "sum-double", MPI_DOUBLE, MPI_SUM, 0);
  measure_reduce(g, "sum-double-twice", MPI_DOUBLE, MPI_SUM, 1);
  measure_reduce(g, "max-int32", MPI_INT32_T, MPI_MAX, 0);
}
