/* CUDA, as a driver: see driver.h. Only the driver's own interface is used. Here are streams, what
 * is enqueued on them, and the table; cuda_parts.h has the rest.
 */
#include "device/cuda_kernels.h"
#include "device/cuda_parts.h"

#ifdef GROVE_CUDA

#include <stdlib.h>

enum { THREADS_PER_PROCESSOR = 2048 };

typedef struct cuda_event {
  CUevent event;
  int device;
} cuda_event;

static CUstream stream_of(grove_stream *stream)
{
  return stream ? stream : CU_STREAM_LEGACY;
}

/* ---- streams ---- */

static grove_status create_cuda_stream(int device, grove_stream **out)
{
  grove_cuda_unit *unit;
  CUstream stream = NULL;
  GROVE_PASS(grove_cuda_enter(device, &unit));
  GROVE_PASS(grove_cuda_leave(unit, grove_cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                              "making a stream of device %d", device));
  *out = stream;
  return GROVE_OK;
}

static void free_cuda_stream(int device, grove_stream *stream)
{
  grove_sentence kept;
  grove_cuda_unit *unit;
  if (!stream) return;
  grove_error_keep(&kept);
  if (grove_cuda_enter(device, &unit) == GROVE_OK)
    grove_cuda_leave(unit, grove_cuda.cuStreamDestroy(stream), "freeing a stream of device %d",
                     device);
  grove_error_restore(&kept);
}

/* CUDA refuses to copy what is partly registered, or registered in parts. */
static CUresult copy_by_parts(char *to, const char *from, int64_t bytes, grove_stream *stream)
{
  CUresult result = CUDA_SUCCESS;
  while (bytes > 0 && result == CUDA_SUCCESS) {
    int64_t n = grove_cuda_bytes_alike(from, grove_cuda_bytes_alike(to, bytes));
    result =
      grove_cuda.cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, (size_t)n, stream_of(stream));
    to += n;
    from += n;
    bytes -= n;
  }
  return result;
}

static grove_status copy_on_stream(int device, grove_stream *stream, void *to, const void *from,
                                   int64_t bytes)
{
  grove_cuda_unit *unit;
  if (bytes == 0) return GROVE_OK;
  GROVE_PASS(grove_cuda_enter(device, &unit));
  CUresult result =
    grove_cuda.cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, (size_t)bytes, stream_of(stream));
  if (result == CUDA_ERROR_INVALID_VALUE) result = copy_by_parts(to, from, bytes, stream);
  return grove_cuda_leave(unit, result, "copying %lld bytes from %p to %p on device %d",
                          (long long)bytes, from, to, device);
}

/* Few items have a thread each. Of many, a thread has one turn: blocks that come and go keep the
 * memory busier than blocks that stay (bench/gpu/variants.cu). With more items than 31 bits can
 * count, it has several. */
static int64_t count_blocks(const grove_cuda_unit *unit, int64_t items)
{
  const int64_t turn = (int64_t)GROVE_BLOCK * GROVE_WAYS, most = INT32_MAX / turn;
  if (items <= (int64_t)unit->processors * THREADS_PER_PROCESSOR)
    return (items + GROVE_BLOCK - 1) / GROVE_BLOCK;
  return (items + turn - 1) / turn < most ? (items + turn - 1) / turn : most;
}

static grove_status launch_on_stream(int device, grove_stream *stream, const grove_launch *launch,
                                     const grove_access *accesses, int naccesses)
{
  grove_cuda_unit *unit;
  void *parameters[] = {(void *)launch}; /* copied by the call */
  int64_t items = launch->njobs > 0 ? launch->jobs[launch->njobs - 1].end : 0;
  (void)accesses, (void)naccesses;
  if (items == 0) return GROVE_OK;
  GROVE_PASS(grove_cuda_enter(device, &unit));
  return grove_cuda_leave(
    unit,
    grove_cuda.cuLaunchKernel(launch->moves_only ? unit->run_moves : unit->run_any,
                              (unsigned)count_blocks(unit, items), 1, 1, GROVE_BLOCK, 1, 1, 0,
                              stream_of(stream), parameters, NULL),
    "launching %d jobs of %lld items on device %d", (int)launch->njobs, (long long)items, device);
}

/* The address of a word, as streams need it. CUDA refuses memory that it does not know. */
static CUdeviceptr word_on_device(const grove_cuda_unit *unit, uint32_t *word)
{
  CUdeviceptr there = (CUdeviceptr)word;
  if (!unit->has_host_pointers && grove_cuda.cuPointerGetAttribute(
                                    &there, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, (CUdeviceptr)word))
    return (CUdeviceptr)word;
  return there;
}

/* By default a write comes with a fence: whoever sees it sees all that came before. */
static grove_status write_word(int device, grove_stream *stream, uint32_t *word, uint32_t value)
{
  grove_cuda_unit *unit;
  GROVE_PASS(grove_cuda_enter(device, &unit));
  return grove_cuda_leave(unit,
                          grove_cuda.cuStreamWriteValue32(stream_of(stream),
                                                          word_on_device(unit, word), value,
                                                          CU_STREAM_WRITE_VALUE_DEFAULT),
                          "writing the word %p on a stream of device %d", (void *)word, device);
}

static grove_status await_word(int device, grove_stream *stream, uint32_t *word, uint32_t value)
{
  grove_cuda_unit *unit;
  GROVE_PASS(grove_cuda_enter(device, &unit));
  return grove_cuda_leave(unit,
                          grove_cuda.cuStreamWaitValue32(stream_of(stream),
                                                         word_on_device(unit, word), value,
                                                         CU_STREAM_WAIT_VALUE_GEQ),
                          "awaiting the word %p on a stream of device %d", (void *)word, device);
}

static grove_status finish_on_host(int device, grove_stream *stream)
{
  grove_cuda_unit *unit;
  GROVE_PASS(grove_cuda_enter(device, &unit));
  CUresult result = stream ? grove_cuda.cuStreamSynchronize(stream) : grove_cuda.cuCtxSynchronize();
  return grove_cuda_leave(unit, result, "finishing %s of device %d",
                          stream ? "a stream" : "all streams", device);
}

/* Of NULL an error says that another stream is, and that the default stream must be let alone. */
static int is_captured(int device, grove_stream *stream)
{
  CUstreamCaptureStatus state = CU_STREAM_CAPTURE_STATUS_NONE;
  grove_sentence kept;
  grove_cuda_unit *unit;
  CUresult result = CUDA_SUCCESS;
  grove_error_keep(&kept);
  if (grove_cuda_enter(device, &unit) == GROVE_OK) {
    result = grove_cuda.cuStreamIsCapturing(stream_of(stream), &state);
    grove_cuda_leave(unit, CUDA_SUCCESS, "");
  }
  grove_error_restore(&kept);
  return result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || state != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* By its context, which need not be the one that Grove uses. */
static int device_of_stream(grove_stream *stream, int otherwise)
{
  CUcontext context = NULL;
  CUdevice device = otherwise;
  if (!stream || !grove_cuda_is_open() || grove_cuda.cuStreamGetCtx(stream, &context) || !context)
    return otherwise;
  int known = grove_cuda_of_context(context);
  if (known >= 0) return known;
  if (grove_cuda.cuCtxPushCurrent(context)) return otherwise;
  if (grove_cuda.cuCtxGetDevice(&device)) device = otherwise;
  grove_cuda.cuCtxPopCurrent(NULL);
  return device;
}

/* ---- events ---- */

static grove_status create_cuda_event(int device, grove_event **out)
{
  grove_status status = GROVE_OK;
  grove_cuda_unit *unit;
  cuda_event *event = NULL;
  GROVE_NEW(event, 1);
  event->device = device;
  GROVE_TRY(grove_cuda_enter(device, &unit));
  GROVE_TRY(grove_cuda_leave(unit, grove_cuda.cuEventCreate(&event->event, CU_EVENT_DISABLE_TIMING),
                             "making an event of device %d", device));
  *out = (grove_event *)event;
  return GROVE_OK;
fail:
  free(event);
  return status;
}

static void free_cuda_event(grove_event *given)
{
  cuda_event *event = (cuda_event *)given;
  grove_sentence kept;
  grove_cuda_unit *unit;
  if (!event) return;
  grove_error_keep(&kept);
  if (grove_cuda_enter(event->device, &unit) == GROVE_OK)
    grove_cuda_leave(unit, grove_cuda.cuEventDestroy(event->event), "freeing an event");
  grove_error_restore(&kept);
  free(event);
}

static grove_status record_on_stream(int device, grove_event *event, grove_stream *stream)
{
  grove_cuda_unit *unit;
  GROVE_PASS(grove_cuda_enter(device, &unit));
  return grove_cuda_leave(unit,
                          grove_cuda.cuEventRecord(((cuda_event *)event)->event, stream_of(stream)),
                          "recording an event on a stream of device %d", device);
}

static grove_status wait_for_event(int device, grove_stream *stream, grove_event *event)
{
  grove_cuda_unit *unit;
  GROVE_PASS(grove_cuda_enter(device, &unit));
  return grove_cuda_leave(
    unit, grove_cuda.cuStreamWaitEvent(stream_of(stream), ((cuda_event *)event)->event, 0),
    "letting a stream of device %d wait for an event", device);
}

const grove_driver grove_driver_cuda = {
  .name = "cuda",
  .open = grove_cuda_open,
  .is_in_use = grove_cuda_is_loaded,
  .current = grove_cuda_current,
  .has_link = grove_cuda_has_link,
  .find = grove_cuda_find,
  .allocate = grove_cuda_allocate,
  .free = grove_cuda_free,
  .pin = grove_cuda_pin,
  .unpin = grove_cuda_unpin,
  .reach = grove_cuda_reach,
  .export_memory = grove_cuda_export,
  .import_memory = grove_cuda_import,
  .let_go = grove_cuda_let_go,
  .create_stream = create_cuda_stream,
  .free_stream = free_cuda_stream,
  .copy = copy_on_stream,
  .launch = launch_on_stream,
  .write = write_word,
  .await = await_word,
  .finish = finish_on_host,
  .is_capturing = is_captured,
  .device_of = device_of_stream,
  .create_event = create_cuda_event,
  .free_event = free_cuda_event,
  .record = record_on_stream,
  .after = wait_for_event,
};

#endif
