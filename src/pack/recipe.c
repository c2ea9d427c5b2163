#include "pack/kernel.inc"

int64_t grove_device_offset = 0;

int64_t grove_launch_size(const grove_launch *launch)
{
  return grove_launch_end(launch);
}

/* Of a block. A power of two that divides the number of threads. */
static int64_t choose_width(int64_t threads)
{
  int64_t width = 16;
  while (threads % width != 0) width /= 2;
  return width;
}

void grove_launch_threads(const grove_launch *launch, const int64_t *threads, int64_t count,
                          int64_t all)
{
  const int64_t width = choose_width(all);
  const grove_pace pace = grove_pace_of(all / width, width);
  for (int64_t k = 0; k < count; k++) {
    int64_t first = grove_pace_first(threads[k] / width, threads[k] % width, width);
    if (launch->moves_only)
      grove_thread_move(launch, first, &pace);
    else
      grove_thread_combine(launch, first, &pace);
  }
}

grove_divisor grove_divisor_make(int64_t by)
{
  grove_divisor d = {.by = (uint64_t)by};
  if (by > INT32_MAX) return d; /* what it can be used for is 0 */
  for (d.shift = 31; by > (int64_t)1 << (d.shift - 31); d.shift++) {
  }
  d.magic = (uint32_t)((((uint64_t)1 << d.shift) + d.by - 1) / d.by);
  return d;
}
