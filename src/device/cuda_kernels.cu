/* What CUDA runs: threads that share the items of a launch. Parameters stay where the driver puts
 * them: a thread would copy four kilobytes for the few of them that it reads. */
#include "pack/kernel.inc"

extern "C" __global__ void grove_run(const __grid_constant__ grove_launch launch)
{
  const int64_t n = launch.njobs > 0 ? launch.jobs[launch.njobs - 1].end : 0;
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  grove_seat seat = grove_seat_none();
  for (int64_t item = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; item < n; item += step)
    grove_item_do(&launch, item, &seat);
}
