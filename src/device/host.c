/* Host memory, and which space an array is in. */
#include "device/space.h"

#include <stdlib.h>
#include <string.h>

static int owns(const void *array, int *device)
{
  (void)array;
  *device = 0;
  return 1;
}

static grove_status allocate(int64_t bytes, int device, void **out)
{
  grove_status status = GROVE_OK;
  (void)device;
  *out = grove_room((size_t)bytes, 1);
  GROVE_CHECK(*out, GROVE_ERR_MEMORY, "no memory for %lld bytes", (long long)bytes);
fail:
  return status;
}

static void release(void *memory, int device)
{
  (void)device;
  free(memory);
}

static grove_status copy(void *to, const void *from, int64_t bytes, int device)
{
  (void)device;
  memcpy(to, from, (size_t)bytes);
  return GROVE_OK;
}

static grove_status pack(const grove_mover *mover, const grove_shape *shape, const void *array,
                         int64_t begin, int64_t count, void *message, int device)
{
  (void)device;
  return grove_pack(mover, shape, array, begin, count, message);
}

static grove_status unpack(const grove_mover *mover, const grove_shape *shape, const void *message,
                           void *array, int64_t begin, int64_t count, int device)
{
  (void)device;
  return grove_unpack(mover, shape, message, array, begin, count);
}

static grove_status fetch(const grove_mover *mover, const grove_shape *shape, void *array,
                          int64_t begin, int64_t count, void *message, int device)
{
  (void)device;
  return grove_pack_fetch(mover, shape, array, begin, count, message);
}

/* Nothing is ever under way. */
static int64_t none(int device)
{
  (void)device;
  return 0;
}

const grove_space_kind grove_space_host = {
  .name = "host",
  .bit = GROVE_SPACE_HOST,
  .owns = owns,
  .allocate = allocate,
  .free = release,
  .copy = copy,
  .pack = pack,
  .unpack = unpack,
  .fetch = fetch,
  .begun = none,
  .passed = none,
};

grove_space grove_space_of(const grove_context *ctx, const void *array)
{
  int device = 0;
  for (const grove_space_kind *const *kind = ctx->spaces; kind && *kind; kind++)
    if (array && (*kind)->owns(array, &device)) return (grove_space){*kind, device};
  return (grove_space){&grove_space_host, 0};
}
