/* A libcuda.so.1 for machines without a GPU, so that CUDA's driver is run there too: its memory is
 * the host's, each stream a thread, and kernels do nothing, except that of SM links. It has the
 * functions that cuda_parts.h lists, and refuses what CUDA refuses: calls without a context, copies
 * of memory that is registered in part, words in memory that is not registered, a handle in the
 * process that made it. It also refuses NULL, which may be either of two default streams. A capture
 * of a stream is spoiled by whatever is enqueued there, and by an allocation of the same time. */
#define _GNU_SOURCE
#include "device/driver.h"

#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { DEVICES = 2, UNITS = 512, MOST_LISTED = 1 << 15 };
static const size_t pool_bytes = (size_t)1 << 36;
static const size_t fatbin_magic = 0xba55ed50;

typedef struct range {
  char *begin, *end;
  int device, is_managed;
  unsigned long long number;
} range;

typedef struct ranges {
  range list[MOST_LISTED];
  int n;
} ranges;

typedef struct task {
  struct task *next;
  enum { COPY, WRITE, AWAIT, RECORD, AFTER } kind;
  void *to;
  const void *from;
  size_t bytes;
  uint32_t value;
  CUevent event;
  uint64_t ticket;
} task;

struct CUevent_st {
  uint64_t recorded, done;
  int device;
};

struct CUstream_st {
  struct CUstream_st *next;
  pthread_t thread;
  task *first, **last;
  int busy, ends;
  int device;
  int captures, spoiled; /* what was enqueued, or called, meanwhile, ends a capture badly */
};

typedef struct ipc_handle {
  int pid, fd;
  size_t offset, bytes;
} ipc_handle;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static ranges allocated, imported, registered;
static struct CUstream_st *streams, *legacy;
static char *pool;
static size_t pool_used;
static int pool_fd = -1, contexts[DEVICES], copying, broken, is_initialised;
static _Thread_local int stack[8], depth;

#define REFUSE_IF(condition, result)                                                               \
  do {                                                                                             \
    if (condition) return (result);                                                                \
  } while (0)
#define NEED_CONTEXT()                                                                             \
  do {                                                                                             \
    if (broken) return CUDA_ERROR_ILLEGAL_ADDRESS;                                                 \
    if (!depth) return CUDA_ERROR_INVALID_CONTEXT;                                                 \
  } while (0)

/* What is pushed is popped. */
__attribute__((destructor)) static void check_stack(void)
{
  if (depth) abort();
}

static void die(const char *why)
{
  fprintf(stderr, "played CUDA: %s\n", why);
  abort();
}

/* ---- lists of ranges; inside the mutex ---- */

static range *range_at(ranges *all, const void *address)
{
  for (int i = all->n - 1; i >= 0; i--)
    if (all->list[i].begin <= (char *)address && (char *)address < all->list[i].end)
      return &all->list[i];
  return NULL;
}

static void add_range(ranges *all, char *begin, size_t bytes)
{
  static unsigned long long number;
  if (all->n == MOST_LISTED) die("too many ranges");
  all->list[all->n++] = (range){begin, begin + bytes, depth ? stack[depth - 1] : 0, 0, ++number};
}

static int remove_range(ranges *all, const void *begin)
{
  range *r = range_at(all, begin);
  if (!r || r->begin != begin) return 0;
  *r = all->list[--all->n];
  return 1;
}

static int overlaps(const ranges *all, const char *begin, size_t bytes)
{
  for (int i = 0; i < all->n; i++)
    if (all->list[i].begin < begin + bytes && begin < all->list[i].end) return 1;
  return 0;
}

/* All of it, in one range or in several. */
static int is_covered(ranges *all, const char *begin, size_t bytes)
{
  for (const char *at = begin; at < begin + bytes;) {
    const range *r = range_at(all, at);
    if (!r) return 0;
    at = r->end;
  }
  return 1;
}

static int is_device_memory(const void *address)
{
  return range_at(&allocated, address) || range_at(&imported, address);
}

static int can_be_copied(const void *begin, size_t bytes)
{
  pthread_mutex_lock(&mutex);
  int good = is_device_memory(begin)
               ? is_covered(&allocated, begin, bytes) || is_covered(&imported, begin, bytes)
               : !overlaps(&registered, begin, bytes) || is_covered(&registered, begin, bytes);
  pthread_mutex_unlock(&mutex);
  return good;
}

static int can_be_word(const void *word)
{
  pthread_mutex_lock(&mutex);
  int good = is_device_memory(word) || range_at(&registered, word);
  pthread_mutex_unlock(&mutex);
  return good;
}

/* ---- devices ---- */

CUresult cuInit(unsigned int flags)
{
  is_initialised = 1;
  return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **out)
{
  static _Thread_local char name[40];
  snprintf(name, sizeof name, "CUDA_ERROR_%d", (int)error);
  *out = name;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **out)
{
  (void)error;
  *out = "so it is played";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *out)
{
  REFUSE_IF(!is_initialised, CUDA_ERROR_NOT_INITIALIZED);
  *out = DEVICES;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *out, int number)
{
  REFUSE_IF(number < 0 || number >= DEVICES, CUDA_ERROR_INVALID_DEVICE);
  *out = 100 + number; /* a device is no number */
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *out, CUdevice_attribute attribute, CUdevice device)
{
  (void)device;
  *out = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? 4 : device == 100;
  return CUDA_SUCCESS;
}

/* There are no links between its devices. */
CUresult cuDeviceCanAccessPeer(int *out, CUdevice device, CUdevice peer)
{
  (void)device, (void)peer;
  *out = 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext context, unsigned flags)
{
  (void)context, (void)flags;
  return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
  *out = (CUcontext)&contexts[device - 100];
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context)
{
  if (depth == 8) die("what is pushed is not popped");
  stack[depth++] = (int)((int *)context - contexts);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *out)
{
  if (!depth) die("there is no context to pop");
  depth--;
  if (out) *out = (CUcontext)&contexts[stack[depth]];
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *out)
{
  *out = depth > 0 ? (CUcontext)&contexts[stack[depth - 1]] : NULL;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *out)
{
  NEED_CONTEXT();
  *out = stack[depth - 1];
  return CUDA_SUCCESS;
}

/* ---- kernels ---- */

CUresult cuModuleLoadData(CUmodule *out, const void *image)
{
  NEED_CONTEXT();
  REFUSE_IF(*(const uint32_t *)image != fatbin_magic, CUDA_ERROR_INVALID_IMAGE);
  *out = (CUmodule)&contexts;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name)
{
  NEED_CONTEXT();
  int copies = strcmp(name, "sm_links_copy") == 0;
  REFUSE_IF(module != (CUmodule)&contexts || (strncmp(name, "grove_run_", 10) && !copies),
            CUDA_ERROR_NOT_FOUND);
  *out = copies ? (CUfunction)&copying : (CUfunction)&contexts;
  return CUDA_SUCCESS;
}

static CUresult enqueue(CUstream stream, task what);

/* Of bench/links/sm_links.cu. */
static CUresult launch_copying(CUstream stream, void **parameters)
{
  char *to = *(char **)parameters[0], *from = *(char **)parameters[1];
  uint64_t bytes = *(uint64_t *)parameters[2];
  pthread_mutex_lock(&mutex);
  int good = is_covered(&allocated, to, bytes) && is_covered(&allocated, from, bytes);
  pthread_mutex_unlock(&mutex);
  if (!good) die("a kernel copies what is no memory of the device");
  return enqueue(stream, (task){.kind = COPY, .to = to, .from = from, .bytes = bytes});
}

/* A recipe at the second page is one that breaks the device. */
CUresult cuLaunchKernel(CUfunction f, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z,
                        unsigned int shared, CUstream stream, void **parameters, void **extra)
{
  NEED_CONTEXT();
  const grove_launch *launch = parameters[0];
  int copies = f == (CUfunction)&copying;
  REFUSE_IF((f != (CUfunction)&contexts && !copies) || !grid_x ||
              grid_y * grid_z * block_y * block_z != 1 || block_x > 1024 || shared || extra ||
              !stream,
            CUDA_ERROR_INVALID_VALUE);
  if (copies) return launch_copying(stream, parameters);
  if (launch->jobs[0].end && launch->jobs[0].recipe == (void *)4096) broken = 1;
  return CUDA_SUCCESS;
}

/* ---- memory ---- */

static void open_pool(void)
{
  pool_fd = memfd_create("played_cuda", MFD_CLOEXEC);
  if (pool_fd < 0 || ftruncate(pool_fd, (off_t)pool_bytes)) die("no memory");
  pool = mmap(NULL, pool_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, pool_fd, 0);
  if (pool == MAP_FAILED) die("no addresses");
}

CUresult cuMemAlloc(CUdeviceptr *out, size_t bytes)
{
  NEED_CONTEXT();
  REFUSE_IF(!bytes, CUDA_ERROR_INVALID_VALUE);
  pthread_mutex_lock(&mutex);
  for (CUstream stream = streams; stream; stream = stream->next) stream->spoiled = 1;
  if (!pool) open_pool();
  int fits = bytes < pool_bytes - pool_used;
  if (fits) {
    add_range(&allocated, pool + pool_used, bytes);
    *out = (CUdeviceptr)(pool + pool_used);
    pool_used += (bytes + UNITS - 1) / UNITS * UNITS;
  }
  pthread_mutex_unlock(&mutex);
  return fits ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned int flags)
{
  REFUSE_IF(flags != CU_MEM_ATTACH_GLOBAL, CUDA_ERROR_INVALID_VALUE);
  CUresult result = cuMemAlloc(out, bytes);
  pthread_mutex_lock(&mutex);
  if (!result) range_at(&allocated, (void *)*out)->is_managed = 1;
  pthread_mutex_unlock(&mutex);
  return result;
}

CUresult cuMemFree(CUdeviceptr memory)
{
  NEED_CONTEXT();
  pthread_mutex_lock(&mutex);
  int was_there = remove_range(&allocated, (void *)memory);
  pthread_mutex_unlock(&mutex);
  return was_there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAddressRange(CUdeviceptr *begin, size_t *bytes, CUdeviceptr memory)
{
  NEED_CONTEXT();
  pthread_mutex_lock(&mutex);
  const range *r = range_at(&allocated, (void *)memory);
  if (r && begin) *begin = (CUdeviceptr)r->begin;
  if (r && bytes) *bytes = (size_t)(r->end - r->begin);
  pthread_mutex_unlock(&mutex);
  return r ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static void tell_attribute(CUpointer_attribute attribute, const range *r, int type, void *out)
{
  switch ((int)attribute) {
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *(unsigned *)out = (unsigned)type; break;
  case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned *)out = r && r->is_managed; break;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)out = r ? r->device : -2; break;
  case CU_POINTER_ATTRIBUTE_BUFFER_ID: *(unsigned long long *)out = r ? r->number : 0; break;
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(char **)out = r ? r->begin : NULL; break;
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)out = r ? (size_t)(r->end - r->begin) : 0; break;
  default: die("an attribute that is not played");
  }
}

CUresult cuPointerGetAttributes(unsigned int n, CUpointer_attribute *attributes, void **data,
                                CUdeviceptr address)
{
  pthread_mutex_lock(&mutex);
  const range *r = range_at(&allocated, (void *)address);
  if (!r) r = range_at(&imported, (void *)address);
  int type = r ? CU_MEMORYTYPE_DEVICE : 0;
  if (!r) r = range_at(&registered, (void *)address);
  if (r && !type) type = CU_MEMORYTYPE_HOST;
  for (unsigned i = 0; i < n; i++) tell_attribute(attributes[i], r, type, data[i]);
  pthread_mutex_unlock(&mutex);
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
  NEED_CONTEXT();
  if (attribute != CU_POINTER_ATTRIBUTE_DEVICE_POINTER) die("an attribute that is not played");
  REFUSE_IF(!can_be_word((void *)address), CUDA_ERROR_INVALID_VALUE);
  *(CUdeviceptr *)data = address;
  return CUDA_SUCCESS;
}

CUresult cuMemHostRegister(void *begin, size_t bytes, unsigned int flags)
{
  NEED_CONTEXT();
  REFUSE_IF(!(flags & CU_MEMHOSTREGISTER_PORTABLE), CUDA_ERROR_INVALID_VALUE);
  pthread_mutex_lock(&mutex);
  int already = overlaps(&registered, begin, bytes);
  if (!already) add_range(&registered, begin, bytes);
  pthread_mutex_unlock(&mutex);
  return already ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED : CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void *begin)
{
  NEED_CONTEXT();
  pthread_mutex_lock(&mutex);
  int was_there = remove_range(&registered, begin);
  pthread_mutex_unlock(&mutex);
  return was_there ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr memory)
{
  NEED_CONTEXT();
  pthread_mutex_lock(&mutex);
  const range *r = range_at(&allocated, (void *)memory);
  ipc_handle handle = {getpid(), pool_fd, r ? (size_t)(r->begin - pool) : 0,
                       r ? (size_t)(r->end - r->begin) : 0};
  pthread_mutex_unlock(&mutex);
  REFUSE_IF(!r, CUDA_ERROR_INVALID_VALUE);
  memset(out, 0, sizeof *out);
  memcpy(out, &handle, sizeof handle);
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle from, unsigned int flags)
{
  NEED_CONTEXT();
  ipc_handle handle;
  char path[64];
  memcpy(&handle, &from, sizeof handle);
  REFUSE_IF(flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, CUDA_ERROR_INVALID_VALUE);
  REFUSE_IF(handle.pid == getpid(), CUDA_ERROR_INVALID_CONTEXT);
  snprintf(path, sizeof path, "/proc/%d/fd/%d", handle.pid, handle.fd);
  FILE *file = fopen(path, "r+");
  REFUSE_IF(!file, CUDA_ERROR_INVALID_HANDLE);
  char *all =
    mmap(NULL, pool_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fileno(file), 0);
  fclose(file);
  REFUSE_IF(all == MAP_FAILED, CUDA_ERROR_MAP_FAILED);
  pthread_mutex_lock(&mutex);
  add_range(&imported, all + handle.offset, handle.bytes);
  pthread_mutex_unlock(&mutex);
  *out = (CUdeviceptr)(all + handle.offset);
  return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr memory)
{
  NEED_CONTEXT();
  pthread_mutex_lock(&mutex);
  int was_there = remove_range(&imported, (void *)memory);
  pthread_mutex_unlock(&mutex);
  return was_there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- streams: what is enqueued is done by a thread ---- */

static void doze(void)
{
  nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

static void do_task(const task *t)
{
  uint32_t *word = t->to;
  switch (t->kind) {
  case COPY: memcpy(t->to, t->from, t->bytes); break;
  case WRITE: __atomic_store_n(word, t->value, __ATOMIC_RELEASE); break;
  case AWAIT:
    while ((int32_t)(__atomic_load_n(word, __ATOMIC_ACQUIRE) - t->value) < 0) doze();
    break;
  case RECORD: __atomic_store_n(&t->event->done, t->ticket, __ATOMIC_RELEASE); break;
  case AFTER:
    while (__atomic_load_n(&t->event->done, __ATOMIC_ACQUIRE) < t->ticket) doze();
    break;
  }
}

static void *work_off(void *arg)
{
  CUstream stream = arg;
  pthread_mutex_lock(&mutex);
  while (!stream->ends || stream->first) {
    task *t = stream->first;
    if (!t) {
      pthread_cond_wait(&changed, &mutex);
      continue;
    }
    stream->first = t->next;
    if (!stream->first) stream->last = &stream->first;
    stream->busy = 1;
    pthread_mutex_unlock(&mutex);
    do_task(t);
    free(t);
    pthread_mutex_lock(&mutex);
    stream->busy = 0;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static CUstream new_stream(void)
{
  CUstream stream = calloc(1, sizeof *stream);
  if (!stream) die("no memory");
  stream->last = &stream->first;
  if (pthread_create(&stream->thread, NULL, work_off, stream)) die("no thread");
  stream->next = streams;
  streams = stream;
  return stream;
}

/* Inside the mutex. */
static CUstream real_stream(CUstream stream)
{
  if (stream != CU_STREAM_LEGACY) return stream;
  if (!legacy) legacy = new_stream();
  return legacy;
}

static CUresult enqueue(CUstream stream, task what)
{
  REFUSE_IF(!stream, CUDA_ERROR_INVALID_HANDLE);
  task *t = malloc(sizeof *t);
  if (!t) die("no memory");
  *t = what;
  t->next = NULL;
  pthread_mutex_lock(&mutex);
  stream = real_stream(stream);
  stream->spoiled = 1;
  if (t->kind == RECORD) t->ticket = ++t->event->recorded;
  if (t->kind == AFTER) t->ticket = t->event->recorded;
  *stream->last = t;
  stream->last = &t->next;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  return CUDA_SUCCESS;
}

static void drain(CUstream stream)
{
  pthread_mutex_lock(&mutex);
  while (stream->first || stream->busy) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
}

CUresult cuStreamCreate(CUstream *out, unsigned int flags)
{
  NEED_CONTEXT();
  REFUSE_IF(flags != CU_STREAM_NON_BLOCKING, CUDA_ERROR_INVALID_VALUE);
  pthread_mutex_lock(&mutex);
  *out = new_stream();
  (*out)->device = stack[depth - 1];
  pthread_mutex_unlock(&mutex);
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *out)
{
  REFUSE_IF(!stream || stream == CU_STREAM_LEGACY, CUDA_ERROR_INVALID_HANDLE);
  *out = (CUcontext)&contexts[stream->device];
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream stream)
{
  NEED_CONTEXT();
  pthread_mutex_lock(&mutex);
  struct CUstream_st **at = &streams;
  while (*at && *at != stream) at = &(*at)->next;
  if (!*at) die("no such stream");
  *at = stream->next;
  stream->ends = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  pthread_join(stream->thread, NULL);
  free(stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
  NEED_CONTEXT();
  drain(stream);
  NEED_CONTEXT();
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
  NEED_CONTEXT();
  for (CUstream stream = streams; stream; stream = stream->next) drain(stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *out)
{
  NEED_CONTEXT();
  REFUSE_IF(!stream, CUDA_ERROR_INVALID_HANDLE);
  int captures = stream != CU_STREAM_LEGACY && stream->captures;
  *out = captures ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
  NEED_CONTEXT();
  (void)mode;
  stream->captures = 1;
  stream->spoiled = 0;
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *out)
{
  NEED_CONTEXT();
  stream->captures = 0;
  *out = NULL;
  return stream->spoiled ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph)
{
  return graph ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
  NEED_CONTEXT();
  REFUSE_IF(!can_be_copied((void *)to, bytes) || !can_be_copied((void *)from, bytes),
            CUDA_ERROR_INVALID_VALUE);
  return enqueue(stream,
                 (task){.kind = COPY, .to = (void *)to, .from = (void *)from, .bytes = bytes});
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr word, cuuint32_t value, unsigned flags)
{
  NEED_CONTEXT();
  REFUSE_IF(!can_be_word((void *)word) || word % 4 || flags, CUDA_ERROR_INVALID_VALUE);
  return enqueue(stream, (task){.kind = WRITE, .to = (void *)word, .value = value});
}

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr word, cuuint32_t value, unsigned flags)
{
  NEED_CONTEXT();
  REFUSE_IF(!can_be_word((void *)word) || word % 4 || flags, CUDA_ERROR_INVALID_VALUE);
  return enqueue(stream, (task){.kind = AWAIT, .to = (void *)word, .value = value});
}

/* ---- events ---- */

CUresult cuEventCreate(CUevent *out, unsigned int flags)
{
  NEED_CONTEXT();
  REFUSE_IF(!(flags & CU_EVENT_DISABLE_TIMING), CUDA_ERROR_INVALID_VALUE);
  *out = calloc(1, sizeof **out);
  if (*out) (*out)->device = stack[depth - 1];
  return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuEventDestroy(CUevent event)
{
  NEED_CONTEXT();
  free(event);
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
  NEED_CONTEXT();
  int device = stream == CU_STREAM_LEGACY ? stack[depth - 1] : stream->device;
  REFUSE_IF(device != event->device, CUDA_ERROR_INVALID_HANDLE);
  return enqueue(stream, (task){.kind = RECORD, .event = event});
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
  NEED_CONTEXT();
  REFUSE_IF(flags, CUDA_ERROR_INVALID_VALUE);
  return enqueue(stream, (task){.kind = AFTER, .event = event});
}
