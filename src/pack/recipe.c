#include "pack/kernel.inc"

int64_t grove_device_offset = 0;

int64_t grove_launch_size(const grove_launch *launch)
{
  return grove_launch_end(launch);
}

void grove_launch_threads(const grove_launch *launch, const int64_t *threads, int64_t count,
                          int64_t step)
{
  for (int64_t k = 0; k < count; k++)
    if (launch->moves_only)
      grove_thread_move(launch, threads[k], step);
    else
      grove_thread_combine(launch, threads[k], step);
}
