/* What CUDA runs: threads that share the items of a launch. Parameters stay where the driver puts
 * them: a thread would copy four kilobytes for the few of them that it reads. */
#include "pack/kernel.inc"

#define FIRST ((int64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define STEP  ((int64_t)gridDim.x * blockDim.x)

extern "C" __global__ void grove_run_moves(const __grid_constant__ grove_launch launch)
{
  grove_thread_move(&launch, FIRST, STEP);
}

extern "C" __global__ void grove_run_any(const __grid_constant__ grove_launch launch)
{
  grove_thread_combine(&launch, FIRST, STEP);
}
