/* grove_cuda.h: memory of devices, copies between any two memories, and the stream of a context. */
#include "grove_cuda.h"

#include "device/station.h"

#include <string.h>

/* ---- grove_alloc_device ---- */

/* Gives it to the driver that knows it. */
static void give_back_memory(void *memory)
{
  static const grove_driver *const drivers[] = {
    &grove_driver_emulated,
#ifdef GROVE_CUDA
    &grove_driver_cuda,
#endif
  };
  grove_range range;
  for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
    if (drivers[i]->find(memory, &range)) {
      drivers[i]->free(range.device, memory);
      return;
    }
}

/* This rank's part. Every allocation has an address of its own. */
static grove_status make_device_part(grove_context *ctx, size_t bytes, void **out)
{
  grove_status status = GROVE_OK;
  void *memory = NULL;
  int device = 0;
  GROVE_PASS_CHECK(out, GROVE_ERR_ARG, "rank %d: grove_alloc_device: out is NULL", ctx->rank);
  GROVE_PASS_CHECK(bytes <= INT64_MAX / 2, GROVE_ERR_MEMORY, "rank %d: no memory for %zu bytes",
                   ctx->rank, bytes);
  GROVE_PASS(grove_spaces_open(ctx));
  const grove_driver *driver = (*ctx->spaces)->driver;
  device = grove_spaces_device(ctx);
  GROVE_PASS(driver->allocate(device, bytes > 0 ? (int64_t)bytes : 1, &memory));
  status = grove_context_keep_memory(ctx, memory, bytes, give_back_memory);
  if (status != GROVE_OK) driver->free(device, memory);
  *out = memory;
  return status;
}

grove_status grove_alloc_device(grove_context *ctx, size_t bytes, void **out)
{
  grove_status status = GROVE_OK, mine = GROVE_OK;
  void *memory = NULL;
  GROVE_CHECK(ctx, GROVE_ERR_ARG, "grove_alloc_device: the context is NULL");
  mine = grove_station_settle(ctx); /* what is made may wait for streams */
  GROVE_TRY(grove_context_enter_call(ctx, "grove_alloc_device"));
  if (mine == GROVE_OK) mine = make_device_part(ctx, bytes, out ? &memory : NULL);
  status = grove_context_agree(ctx, mine, NULL, 0);
  if (status == GROVE_OK)
    *out = memory;
  else if (mine == GROVE_OK)
    grove_context_drop_memory(ctx, memory);
  grove_context_leave_call(ctx);
fail:
  return grove_verdict(ctx, status);
}

/* ---- grove_copy ---- */

/* On a stream of Grove's own at `here`, behind that of the context, which is a default stream at
 * either end where there is none. */
static grove_status copy_behind(grove_context *ctx, grove_space here, grove_space there, void *to,
                                const void *from, int64_t bytes)
{
  grove_station *station = NULL;
  const grove_driver *driver = here.kind->driver;
  GROVE_PASS(grove_station_find(ctx, driver, here.device, &station));
  GROVE_PASS(grove_station_follow(station, ctx->stream));
  if (!ctx->stream && there.kind == here.kind && there.device != here.device)
    GROVE_PASS(grove_station_follow_default(station, there.device));
  grove_stream *stream = station->tracks[GROVE_IN].stream;
  GROVE_PASS(driver->copy(here.device, stream, to, from, bytes));
  return driver->finish(here.device, stream);
}

grove_status grove_copy(grove_context *ctx, void *dst, const void *src, size_t bytes)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(ctx, GROVE_ERR_ARG, "grove_copy: the context is NULL");
  GROVE_CHECK((dst && src) || bytes == 0, GROVE_ERR_ARG, "rank %d: grove_copy: %s is NULL",
              ctx->rank, dst ? "src" : "dst");
  GROVE_CHECK(bytes <= INT64_MAX, GROVE_ERR_ARG, "rank %d: grove_copy: %zu bytes", ctx->rank,
              bytes);
  if (bytes == 0) return GROVE_OK;
  GROVE_TRY(grove_station_settle(ctx));
  grove_context_enter(ctx);
  grove_spaces_look(ctx);
  grove_space to = grove_space_found(ctx, dst), from = grove_space_found(ctx, src);
  if (to.kind != &grove_space_host)
    status = copy_behind(ctx, to, from, dst, src, (int64_t)bytes);
  else if (from.kind != &grove_space_host)
    status = copy_behind(ctx, from, to, dst, src, (int64_t)bytes);
  else
    memmove(dst, src, bytes);
  grove_context_leave(ctx);
fail:
  return grove_verdict(ctx, status);
}

/* ---- streams ---- */

grove_status grove_context_set_stream(grove_context *ctx, struct CUstream_st *stream)
{
  grove_status status = GROVE_OK;
  GROVE_CHECK(ctx, GROVE_ERR_ARG, "grove_context_set_stream: the context is NULL");
  grove_context_enter(ctx);
  ctx->stream = stream;
  grove_context_leave(ctx);
fail:
  return grove_verdict(ctx, status);
}
