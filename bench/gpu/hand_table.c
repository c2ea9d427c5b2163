/* By hand on any driver, with Grove's kernels: where CUDA's runtime is not at hand, and on the
 * emulated device. */
#include "hand.h"

#include "kernel.h"

#include <stdlib.h>

static const bench_gpu *gpu; /* one process has one */

static int open_table(const bench_gpu *g)
{
  gpu = g;
  return 1;
}

static void *pinned_by_table(int64_t bytes)
{
  return bench_gpu_alloc_pinned(gpu, bytes);
}

static void free_pinned_by_table(void *memory)
{
  bench_gpu_free_pinned(gpu, memory);
}

static void *list_by_table(const int32_t *slots, int64_t n, int scatters)
{
  bench_kernel *k = bench_alloc(1, sizeof *k);
  int64_t *wide = bench_alloc((size_t)n, sizeof *wide);
  for (int64_t i = 0; i < n; i++) wide[i] = slots[i];
  bench_kernel_open(gpu, MPI_DOUBLE, MPI_REPLACE, wide, n,
                    scatters ? GROVE_MOTION_UNPACK : GROVE_MOTION_PACK, k);
  free(wide);
  return k;
}

static void free_list_by_table(void *list)
{
  bench_kernel_close(gpu, list);
  free(list);
}

static void gather_by_table(void *list, double *message, const double *array)
{
  bench_kernel_enqueue(gpu, list, gpu->stream, (void *)array, message);
}

static void scatter_by_table(void *list, double *array, const double *message)
{
  bench_kernel_enqueue(gpu, list, gpu->stream, array, (void *)message);
}

static void copy_by_table(void *to, const void *from, int64_t bytes)
{
  bench_gpu_enqueue_copy(gpu, to, from, bytes);
}

static void finish_by_table(void)
{
  bench_gpu_finish(gpu);
}

const bench_hand_device bench_hand_table = {
  .about = "Grove's driver and kernels",
  .open = open_table,
  .pinned = pinned_by_table,
  .free_pinned = free_pinned_by_table,
  .list = list_by_table,
  .free_list = free_list_by_table,
  .gather = gather_by_table,
  .scatter = scatter_by_table,
  .copy = copy_by_table,
  .finish = finish_by_table,
};
