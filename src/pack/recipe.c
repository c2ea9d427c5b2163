#include "pack/kernel.inc"

int64_t grove_device_offset = 0;

int64_t grove_launch_size(const grove_launch *launch)
{
  return launch->njobs > 0 ? launch->jobs[launch->njobs - 1].end : 0;
}

void grove_launch_items(const grove_launch *launch, const int64_t *items, int64_t count)
{
  grove_seat seat = grove_seat_none();
  for (int64_t k = 0; k < count; k++) grove_item_do(launch, items[k], &seat);
}
