/* Host memory, and which space an array is in. */
#include "device/space.h"

#include <stdlib.h>
#include <string.h>

static int host_owns(const void *array, int *device)
{
  (void)array;
  *device = 0;
  return 1;
}

static grove_status allocate_host(int64_t bytes, int device, void **out)
{
  (void)device;
  *out = grove_room((size_t)bytes, 1);
  GROVE_PASS_CHECK(*out, GROVE_ERR_MEMORY, "no memory for %lld bytes", (long long)bytes);
  return GROVE_OK;
}

static void release_host(void *memory, int device)
{
  (void)device;
  free(memory);
}

static grove_status copy_host(void *to, const void *from, int64_t bytes, int device)
{
  (void)device;
  memcpy(to, from, (size_t)bytes);
  return GROVE_OK;
}

static grove_status pack_host(const grove_mover *mover, const grove_shape *shape, const void *array,
                              int64_t begin, int64_t count, void *message, int device)
{
  (void)device;
  return grove_pack(mover, shape, array, begin, count, message);
}

static grove_status unpack_host(const grove_mover *mover, const grove_shape *shape,
                                const void *message, void *array, int64_t begin, int64_t count,
                                int device)
{
  (void)device;
  return grove_unpack(mover, shape, message, array, begin, count);
}

static grove_status fetch_host(const grove_mover *mover, const grove_shape *shape, void *array,
                               int64_t begin, int64_t count, void *message, int device)
{
  (void)device;
  return grove_pack_fetch(mover, shape, array, begin, count, message);
}

/* Nothing is ever under way. */
static int64_t nothing_begun(int device)
{
  (void)device;
  return 0;
}

const grove_space_kind grove_space_host = {
  .name = "host",
  .bit = GROVE_SPACE_HOST,
  .owns = host_owns,
  .allocate = allocate_host,
  .free = release_host,
  .copy = copy_host,
  .pack = pack_host,
  .unpack = unpack_host,
  .fetch = fetch_host,
  .begun = nothing_begun,
  .passed = nothing_begun,
};

grove_space grove_space_of(const grove_context *ctx, const void *array)
{
  int device = 0;
  for (const grove_space_kind *const *kind = ctx->spaces; kind && *kind; kind++)
    if (array && (*kind)->owns(array, &device)) return (grove_space){*kind, device};
  return (grove_space){&grove_space_host, 0};
}
