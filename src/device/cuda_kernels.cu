/* What CUDA runs: threads that share the items of a launch. Parameters stay where the driver puts
 * them: a thread would copy four kilobytes for the few of them that it reads. */
#include "pack/kernel.inc"

#include "device/cuda_kernels.h"

/* With as many threads as items, each has one. */
static __device__ __forceinline__ grove_pace find_pace(const grove_launch *launch, int64_t *first)
{
  const uint32_t thread = blockIdx.x * GROVE_BLOCK + threadIdx.x;
  const uint32_t threads = gridDim.x * GROVE_BLOCK;
  const int spread = threads >= grove_launch_end(launch);
  *first = spread ? thread : grove_pace_first(blockIdx.x, threadIdx.x, GROVE_BLOCK);
  return spread ? grove_pace_of(1, threads) : grove_pace_of(gridDim.x, GROVE_BLOCK);
}

/* The last block writes the word. Whoever sees it sees what all threads have written. */
static __device__ __forceinline__ void tell_end(const grove_launch *launch)
{
  if (!launch->word) return;
  __syncthreads();
  if (threadIdx.x > 0) return;
  __threadfence_system();
  if (atomicAdd(launch->counter, 1u) + 1 < gridDim.x) return;
  *launch->counter = 0;
  __threadfence_system();
  *(volatile uint32_t *)launch->word = launch->value;
}

extern "C" __global__ void __launch_bounds__(GROVE_BLOCK, GROVE_RESIDENT)
  grove_run_moves(const __grid_constant__ grove_launch launch)
{
  int64_t first;
  const grove_pace pace = find_pace(&launch, &first);
  grove_thread_move(&launch, first, &pace);
  tell_end(&launch);
}

extern "C" __global__ void __launch_bounds__(GROVE_BLOCK)
  grove_run_any(const __grid_constant__ grove_launch launch)
{
  int64_t first;
  const grove_pace pace = find_pace(&launch, &first);
  grove_thread_combine(&launch, first, &pace);
  tell_end(&launch);
}
