/* Host memory. */
#include "device/space.h"

#include <string.h>

static int owns_all(const grove_space_kind *kind, const void *array, int *device)
{
  (void)kind;
  (void)array;
  *device = 0;
  return 1;
}

static grove_status copy_host(const grove_space_kind *kind, int device, void *to, const void *from,
                              int64_t bytes)
{
  (void)kind;
  (void)device;
  memcpy(to, from, (size_t)bytes);
  return GROVE_OK;
}

static grove_status pack_host(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                              const void *array, int64_t begin, int64_t count, void *message)
{
  (void)lift;
  return grove_pack(mover, shape, array, begin, count, message);
}

static grove_status unpack_host(grove_lift *lift, const grove_mover *mover,
                                const grove_shape *shape, const void *message, void *array,
                                int64_t begin, int64_t count)
{
  (void)lift;
  return grove_unpack(mover, shape, message, array, begin, count);
}

static grove_status fetch_host(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                               void *array, int64_t begin, int64_t count, void *message)
{
  (void)lift;
  return grove_pack_fetch(mover, shape, array, begin, count, message);
}

const grove_space_kind grove_space_host = {
  .name = "host",
  .bit = GROVE_SPACE_HOST,
  .owns = owns_all,
  .copy = copy_host,
  .pack = pack_host,
  .unpack = unpack_host,
  .fetch = fetch_host,
};
