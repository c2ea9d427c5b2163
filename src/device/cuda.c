/* CUDA, as a driver: see driver.h. Only the driver's own interface is used. libcuda.so.1 is opened
 * when it is first asked for, so that a program with Grove in it runs where there is none. The
 * kernels are a fatbin in the library (cuda_kernels.cu).
 *
 * A device is set up by the first call that names it: its primary context, which the CUDA runtime
 * uses too, is retained, and the kernels are loaded. Nothing is loaded later, because loading would
 * wait for streams that wait themselves. Every call pushes the context and pops it, so what is
 * current in the calling thread stays as it is.
 *
 * cuMemFree waits for all that is enqueued on the device. So may cuMemHostRegister, and whatever
 * creates or frees. Whoever has streams that wait for others calls these before or after. */
#include "device/cuda_kernels.h"
#include "device/driver.h"

#ifdef GROVE_CUDA

#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* cuda.h turns most names into macros for the version that belongs to the prototype: cuMemAlloc is
 * cuMemAlloc_v2. Fields and symbols get these names too. */
#define ALL_FUNCTIONS(X)                                                                           \
  X(cuInit)                                                                                        \
  X(cuGetErrorName)                                                                                \
  X(cuGetErrorString)                                                                              \
  X(cuDeviceGetCount)                                                                              \
  X(cuDeviceGet)                                                                                   \
  X(cuDeviceGetAttribute)                                                                          \
  X(cuDevicePrimaryCtxRetain)                                                                      \
  X(cuCtxPushCurrent)                                                                              \
  X(cuCtxPopCurrent)                                                                               \
  X(cuCtxGetCurrent)                                                                               \
  X(cuCtxGetDevice)                                                                                \
  X(cuCtxSynchronize)                                                                              \
  X(cuModuleLoadData)                                                                              \
  X(cuModuleGetFunction)                                                                           \
  X(cuPointerGetAttribute)                                                                         \
  X(cuPointerGetAttributes)                                                                        \
  X(cuMemAlloc)                                                                                    \
  X(cuMemFree)                                                                                     \
  X(cuMemGetAddressRange)                                                                          \
  X(cuMemHostRegister)                                                                             \
  X(cuMemHostUnregister)                                                                           \
  X(cuIpcGetMemHandle)                                                                             \
  X(cuIpcOpenMemHandle)                                                                            \
  X(cuIpcCloseMemHandle)                                                                           \
  X(cuStreamCreate)                                                                                \
  X(cuStreamDestroy)                                                                               \
  X(cuStreamSynchronize)                                                                           \
  X(cuStreamIsCapturing)                                                                           \
  X(cuStreamGetCtx)                                                                                \
  X(cuStreamWaitEvent)                                                                             \
  X(cuStreamWriteValue32)                                                                          \
  X(cuStreamWaitValue32)                                                                           \
  X(cuMemcpyAsync)                                                                                 \
  X(cuLaunchKernel)                                                                                \
  X(cuEventCreate)                                                                                 \
  X(cuEventDestroy)                                                                                \
  X(cuEventRecord)
#define FIELD_OF(name)  __typeof__(name) *name;
#define TEXT_OF(name)   #name
#define SYMBOL_OF(name) {TEXT_OF(name), offsetof(cuda_functions, name)},

typedef struct cuda_functions {
  ALL_FUNCTIONS(FIELD_OF)
} cuda_functions;

static const struct {
  const char *name;
  size_t offset;
} symbols[] = {ALL_FUNCTIONS(SYMBOL_OF)};

enum { THREADS_PER_PROCESSOR = 2048 };

/* A device that is used. */
typedef struct cuda_unit {
  int number, is_ready, is_broken;
  CUcontext context;
  CUfunction run_any, run_moves;
  int processors;
  int has_host_pointers; /* pinned memory has the same address there */
  char broken[GROVE_SENTENCE_BYTES];
} cuda_unit;

/* Pages that were registered together, and how many pins have some of them. */
typedef struct cuda_pages {
  struct cuda_pages *next;
  char *begin, *end;
  int64_t pins;
  int is_foreign; /* others had registered them */
} cuda_pages;

typedef struct cuda_pin {
  struct cuda_pin *next;
  void *named; /* as the caller gave it */
  char *begin, *end;
} cuda_pin;

typedef struct cuda_import {
  struct cuda_import *next;
  void *memory;
  int device;
} cuda_import;

typedef struct cuda_event {
  CUevent event;
  int device;
} cuda_event;

/* One driver serves a process: it has no handle. */
static cuda_functions cuda;
static int ndevices; /* 0: not opened, or it could not be */
static cuda_unit *units;

static pthread_mutex_t lists = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static cuda_pages *all_pages;
static cuda_pin *all_pins;
static cuda_import *all_imports;

/* Made by cmake/fatbin.cmake. */
extern const unsigned long long grove_cuda_fatbin[];

/* ---- errors ---- */

/* After these nothing works any more in the context. */
static int is_fatal(CUresult result)
{
  switch (result) {
#if CUDA_VERSION >= 13000
  case CUDA_ERROR_CONTAINED:
  case CUDA_ERROR_TENSOR_MEMORY_LEAK:
#endif
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_NVLINK_UNCORRECTABLE:
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_CONTEXT_IS_DESTROYED:
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_LAUNCH_FAILED:
  case CUDA_ERROR_MPS_CLIENT_TERMINATED:
  case CUDA_ERROR_EXTERNAL_DEVICE: return 1;
  default: return 0;
  }
}

static const char *name_of_result(CUresult result)
{
  const char *name = NULL;
  if (cuda.cuGetErrorName(result, &name) != CUDA_SUCCESS || !name) name = "an unknown error";
  return name;
}

static const char *words_of_result(CUresult result)
{
  const char *words = NULL;
  if (cuda.cuGetErrorString(result, &words) != CUDA_SUCCESS || !words) words = "failed";
  return words;
}

/* Keeps the first sentence. An error may be that of an earlier launch. */
static grove_status break_unit(cuda_unit *unit, CUresult result, const char *asked)
{
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  grove_status status = grove_error(
    GROVE_ERR_DEVICE, __FILE__, __LINE__,
    "%s: %s (%s), by this or by what was enqueued before; device %d is of no use any more", asked,
    words_of_result(result), name_of_result(result), unit->number);
  pthread_mutex_lock(&mutex);
  if (!unit->is_broken) {
    grove_copy_text(unit->broken, sizeof unit->broken, grove_last_error());
    __atomic_store_n(&unit->is_broken, 1, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&mutex);
  return status;
}

/* The first sentence of a broken unit, whoever asks. */
static grove_status repeat_sentence(const cuda_unit *unit)
{
  return grove_error_set(GROVE_ERR_DEVICE, unit->broken);
}

static grove_status explain_result(cuda_unit *unit, CUresult result, const char *format,
                                   va_list facts)
{
  char asked[256];
  vsnprintf(asked, sizeof asked, format, facts);
  if (unit && __atomic_load_n(&unit->is_broken, __ATOMIC_ACQUIRE)) return repeat_sentence(unit);
  if (unit && is_fatal(result)) return break_unit(unit, result, asked);
  return grove_error(
    result == CUDA_ERROR_OUT_OF_MEMORY ? GROVE_ERR_MEMORY : GROVE_ERR_DEVICE, __FILE__, __LINE__,
    "%s: %s (%s)%s", asked, words_of_result(result), name_of_result(result),
    result == CUDA_ERROR_NOT_SUPPORTED ? "; this device or its driver cannot" : "");
}

/* `format` says what was asked. */
static grove_status judge_result(cuda_unit *unit, CUresult result, const char *format, ...)
{
  if (result == CUDA_SUCCESS) return GROVE_OK;
  va_list facts;
  va_start(facts, format);
  grove_status status = explain_result(unit, result, format, facts);
  va_end(facts);
  return status;
}

/* ---- the driver and its devices ---- */

static grove_status find_symbols(void)
{
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const char *said = library ? NULL : dlerror();
  GROVE_PASS_CHECK(library, GROVE_ERR_DEVICE, "no CUDA driver here: %s",
                   said ? said : "no libcuda.so.1");
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *symbol = dlsym(library, symbols[i].name);
    GROVE_PASS_CHECK(symbol, GROVE_ERR_DEVICE,
                     "no CUDA driver here that is new enough: libcuda.so.1 has no %s",
                     symbols[i].name);
    memcpy((char *)&cuda + symbols[i].offset, &symbol, sizeof symbol);
  }
  return GROVE_OK;
}

static grove_status try_driver(void)
{
  int n = 0;
  GROVE_PASS(find_symbols());
  GROVE_PASS(judge_result(NULL, cuda.cuInit(0), "no CUDA driver here: cuInit"));
  GROVE_PASS(
    judge_result(NULL, cuda.cuDeviceGetCount(&n), "no CUDA driver here: cuDeviceGetCount"));
  GROVE_PASS_CHECK(n > 0, GROVE_ERR_DEVICE, "no CUDA device here: its driver finds none");
  GROVE_PASS_NEW(units, n);
  for (int i = 0; i < n; i++) units[i].number = i;
  __atomic_store_n(&ndevices, n, __ATOMIC_RELEASE);
  return GROVE_OK;
}

/* Tries once. */
static grove_status open_cuda(int *out)
{
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static int is_tried;
  static char refusal[GROVE_SENTENCE_BYTES];
  pthread_mutex_lock(&mutex);
  if (!is_tried) {
    is_tried = 1;
    if (try_driver() != GROVE_OK) grove_copy_text(refusal, sizeof refusal, grove_last_error());
  }
  pthread_mutex_unlock(&mutex);
  if (!ndevices) return grove_error_set(GROVE_ERR_DEVICE, refusal);
  *out = ndevices;
  return GROVE_OK;
}

/* If the library is not in the process, no memory of a device is. */
static int is_loaded(void)
{
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library) dlclose(library);
  return library != NULL;
}

static int current_device(void)
{
  CUcontext context = NULL;
  CUdevice device = -1;
  if (!ndevices || cuda.cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context) return -1;
  return cuda.cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : -1;
}

/* Runs a kernel once, so that nothing of it is loaded later. */
static grove_status load_kernel(cuda_unit *unit, CUmodule module, CUstream stream, const char *name,
                                CUfunction *out)
{
  grove_launch nothing = {.njobs = 1};
  void *parameters[] = {&nothing};
  int n = unit->number;
  GROVE_PASS(judge_result(unit, cuda.cuModuleGetFunction(out, module, name),
                          "finding %s for device %d", name, n));
  return judge_result(
    unit, cuda.cuLaunchKernel(*out, 1, 1, 1, GROVE_BLOCK, 1, 1, 0, stream, parameters, NULL),
    "launching %s for the first time on device %d", name, n);
}

static grove_status load_kernels(cuda_unit *unit)
{
  grove_status status = GROVE_OK;
  CUmodule module = NULL;
  CUstream stream = NULL;
  int n = unit->number;
  GROVE_TRY(judge_result(unit, cuda.cuModuleLoadData(&module, grove_cuda_fatbin),
                         "loading kernels for device %d", n));
  GROVE_TRY(judge_result(unit, cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                         "making a stream of device %d", n));
  GROVE_TRY(load_kernel(unit, module, stream, "grove_run_any", &unit->run_any));
  GROVE_TRY(load_kernel(unit, module, stream, "grove_run_moves", &unit->run_moves));
  GROVE_TRY(judge_result(unit, cuda.cuStreamSynchronize(stream),
                         "finishing the first launch on device %d", n));
fail:
  if (stream) cuda.cuStreamDestroy(stream);
  return status;
}

static grove_status ask_attribute(cuda_unit *unit, CUdevice_attribute attribute, CUdevice device,
                                  int *out)
{
  return judge_result(unit, cuda.cuDeviceGetAttribute(out, attribute, device),
                      "asking for attribute %d of device %d", (int)attribute, unit->number);
}

static grove_status retain_context(cuda_unit *unit)
{
  CUdevice device;
  int processors = 0;
  GROVE_PASS(judge_result(unit, cuda.cuDeviceGet(&device, unit->number), "asking for device %d",
                          unit->number));
  GROVE_PASS(ask_attribute(unit, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device, &processors));
  GROVE_PASS(ask_attribute(unit, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM,
                           device, &unit->has_host_pointers));
  unit->processors = processors;
  if (!unit->context) /* a failed attempt has left it */
    GROVE_PASS(judge_result(unit, cuda.cuDevicePrimaryCtxRetain(&unit->context, device),
                            "retaining the primary context of device %d", unit->number));
  return GROVE_OK;
}

static grove_status set_up_unit(cuda_unit *unit)
{
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  grove_status status = GROVE_OK;
  pthread_mutex_lock(&mutex);
  if (unit->is_ready) goto fail;
  GROVE_TRY(retain_context(unit));
  GROVE_TRY(
    judge_result(unit, cuda.cuCtxPushCurrent(unit->context), "entering device %d", unit->number));
  status = load_kernels(unit);
  cuda.cuCtxPopCurrent(NULL);
  if (status == GROVE_OK) __atomic_store_n(&unit->is_ready, 1, __ATOMIC_RELEASE);
fail:
  pthread_mutex_unlock(&mutex);
  return status;
}

/* Makes its context current in this thread, until leave_unit. */
static grove_status enter_unit(int device, cuda_unit **out)
{
  int n = __atomic_load_n(&ndevices, __ATOMIC_ACQUIRE);
  if (!n) GROVE_PASS(open_cuda(&n));
  GROVE_PASS_CHECK(device >= 0 && device < n, GROVE_ERR_DEVICE,
                   "there is no device %d; there are %d", device, n);
  cuda_unit *unit = &units[device];
  if (!__atomic_load_n(&unit->is_ready, __ATOMIC_ACQUIRE)) GROVE_PASS(set_up_unit(unit));
  if (__atomic_load_n(&unit->is_broken, __ATOMIC_ACQUIRE)) return repeat_sentence(unit);
  GROVE_PASS(
    judge_result(unit, cuda.cuCtxPushCurrent(unit->context), "entering device %d", device));
  *out = unit;
  return GROVE_OK;
}

/* Takes the result of what was done inside. `format` says what was asked. */
static grove_status leave_unit(cuda_unit *unit, CUresult result, const char *format, ...)
{
  cuda.cuCtxPopCurrent(NULL);
  if (result == CUDA_SUCCESS) return GROVE_OK;
  va_list facts;
  va_start(facts, format);
  grove_status status = explain_result(unit, result, format, facts);
  va_end(facts);
  return status;
}

/* For calls that name no device: one that is in use anyway, since each context takes memory. */
static int any_device(void)
{
  for (int i = 0; i < ndevices; i++)
    if (__atomic_load_n(&units[i].is_ready, __ATOMIC_ACQUIRE)) return i;
  return 0;
}

static CUstream stream_of(grove_stream *stream)
{
  return stream ? stream : CU_STREAM_LEGACY;
}

/* ---- memory ---- */

static int find_on_device(const void *address, grove_range *out)
{
  enum { ATTRIBUTES = 6 };
  CUpointer_attribute asked[ATTRIBUTES] = {
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_IS_MANAGED,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,   CU_POINTER_ATTRIBUTE_BUFFER_ID,
    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
  };
  unsigned int type = 0, is_managed = 0;
  int device = 0;
  unsigned long long number = 0;
  CUdeviceptr begin = 0;
  size_t bytes = 0;
  void *answers[ATTRIBUTES] = {&type, &is_managed, &device, &number, &begin, &bytes};
  if (!__atomic_load_n(&ndevices, __ATOMIC_ACQUIRE)) return 0;
  if (cuda.cuPointerGetAttributes(ATTRIBUTES, asked, answers, (CUdeviceptr)address)) return 0;
  if (type != CU_MEMORYTYPE_DEVICE || is_managed) return 0;
  *out = (grove_range){device, (char *)begin, (int64_t)bytes, number};
  return 1;
}

static grove_status allocate_on_device(int device, int64_t bytes, void **out)
{
  grove_status status = GROVE_OK;
  cuda_unit *unit;
  CUdeviceptr memory = 0;
  GROVE_PASS_CHECK(bytes >= 0, GROVE_ERR_ARG, "%lld bytes are no size", (long long)bytes);
  GROVE_PASS(enter_unit(device, &unit));
  CUresult result = cuda.cuMemAlloc(&memory, bytes ? (size_t)bytes : 1);
  status = leave_unit(unit, result, "allocating %lld bytes on device %d", (long long)bytes, device);
  GROVE_PASS_CHECK(result != CUDA_ERROR_OUT_OF_MEMORY, GROVE_ERR_MEMORY,
                   "no memory for %lld bytes on device %d", (long long)bytes, device);
  if (status == GROVE_OK) *out = (void *)memory;
  return status;
}

/* Whoever frees cannot be told of a failure, so no sentence is left behind. The next call knows of
 * a fatal one. */
static void free_on_device(int device, void *memory)
{
  grove_sentence kept;
  cuda_unit *unit;
  if (!memory) return;
  grove_error_keep(&kept);
  if (enter_unit(device, &unit) == GROVE_OK)
    leave_unit(unit, cuda.cuMemFree((CUdeviceptr)memory), "freeing memory of device %d", device);
  grove_error_restore(&kept);
}

/* ---- pinned memory ---- */

/* The pages with this address, or else the next ones behind it. NULL: none. */
static cuda_pages *pages_from(const char *address)
{
  cuda_pages *best = NULL;
  for (cuda_pages *p = all_pages; p; p = p->next)
    if (p->end > address && (!best || p->begin < best->begin)) best = p;
  return best;
}

static grove_status register_pages(cuda_unit *unit, char *begin, char *end)
{
  cuda_pages *pages = NULL;
  GROVE_PASS_NEW(pages, 1);
  *pages = (cuda_pages){.begin = begin, .end = end};
  CUresult result = cuda.cuMemHostRegister(
    begin, (size_t)(end - begin), CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  if (result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
    pages->is_foreign = 1;
    result = CUDA_SUCCESS;
  }
  if (result != CUDA_SUCCESS) free(pages);
  GROVE_PASS(judge_result(unit, result, "pinning %lld bytes", (long long)(end - begin)));
  pages->next = all_pages;
  all_pages = pages;
  return GROVE_OK;
}

/* Registers what of begin .. end is not registered yet. */
static grove_status register_gaps(cuda_unit *unit, char *begin, char *end)
{
  while (begin < end) {
    const cuda_pages *next = pages_from(begin);
    if (next && next->begin <= begin) {
      begin = next->end;
      continue;
    }
    char *until = next && next->begin < end ? next->begin : end;
    GROVE_PASS(register_pages(unit, begin, until));
    begin = until;
  }
  return GROVE_OK;
}

/* Counts one pin more, or less, for begin .. end. Pages without a pin are let go. */
static void count_pins(const char *begin, const char *end, int64_t more)
{
  for (cuda_pages **at = &all_pages; *at;) {
    cuda_pages *p = *at;
    if (p->begin < end && p->end > begin) p->pins += more;
    if (p->pins > 0) {
      at = &p->next;
      continue;
    }
    if (!p->is_foreign) cuda.cuMemHostUnregister(p->begin);
    *at = p->next;
    free(p);
  }
}

/* Pins whole pages. Pages that two pins share are registered once, and stay until both are gone. */
static grove_status pin_pages(void *named, int64_t bytes)
{
  grove_status status = GROVE_OK;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)named / page * page;
  uintptr_t to = ((uintptr_t)named + (uintptr_t)(bytes > 0 ? bytes : 1) + page - 1) / page * page;
  cuda_unit *unit;
  cuda_pin *pin = NULL;
  GROVE_NEW(pin, 1);
  *pin = (cuda_pin){.named = named, .begin = (char *)from, .end = (char *)to};
  GROVE_TRY(enter_unit(any_device(), &unit));
  pthread_mutex_lock(&lists);
  status = register_gaps(unit, pin->begin, pin->end);
  count_pins(pin->begin, pin->end, status == GROVE_OK);
  if (status == GROVE_OK) {
    pin->next = all_pins;
    all_pins = pin;
    pin = NULL;
  }
  pthread_mutex_unlock(&lists);
  leave_unit(unit, CUDA_SUCCESS, "");
fail:
  free(pin);
  return status;
}

static void unpin_pages(void *named)
{
  grove_sentence kept;
  cuda_unit *unit;
  grove_error_keep(&kept);
  int is_inside = enter_unit(any_device(), &unit) == GROVE_OK;
  pthread_mutex_lock(&lists);
  cuda_pin **at = &all_pins;
  while (*at && (*at)->named != named) at = &(*at)->next;
  cuda_pin *pin = *at;
  if (pin) {
    *at = pin->next;
    count_pins(pin->begin, pin->end, -1);
    free(pin);
  }
  pthread_mutex_unlock(&lists);
  if (is_inside) leave_unit(unit, CUDA_SUCCESS, "");
  grove_error_restore(&kept);
}

static void *reach_pages(int device, void *pinned)
{
  return units[device].has_host_pointers ? pinned : NULL;
}

/* ---- memory of other processes ---- */

_Static_assert(sizeof(CUipcMemHandle) == sizeof(grove_handle), "a handle is CUDA's, as it is");

/* A handle belongs to an allocation, and has no room for an offset: `memory` must begin one. */
static grove_status export_allocation(void *memory, grove_handle *out)
{
  cuda_unit *unit;
  CUipcMemHandle handle;
  CUdeviceptr begin = 0;
  grove_range range;
  GROVE_PASS_CHECK(find_on_device(memory, &range), GROVE_ERR_DEVICE,
                   "%p cannot be exported: it is no memory of a device", memory);
  GROVE_PASS(enter_unit(range.device, &unit));
  CUresult result = cuda.cuMemGetAddressRange(&begin, NULL, (CUdeviceptr)memory);
  if (!result) result = cuda.cuIpcGetMemHandle(&handle, (CUdeviceptr)memory);
  GROVE_PASS(leave_unit(unit, result, "exporting memory of device %d", range.device));
  GROVE_PASS_CHECK((void *)begin == memory, GROVE_ERR_DEVICE,
                   "%p cannot be exported: it is inside an allocation, which begins at %p", memory,
                   (void *)begin);
  memcpy(out, &handle, sizeof handle);
  return GROVE_OK;
}

/* What was imported is closed in the context that opened it. The list knows which that was. */
static grove_status import_allocation(int device, const grove_handle *from, void **out)
{
  grove_status status = GROVE_OK;
  cuda_unit *unit;
  cuda_import *import = NULL;
  CUipcMemHandle handle;
  CUdeviceptr memory = 0;
  memcpy(&handle, from, sizeof handle);
  GROVE_NEW(import, 1);
  GROVE_TRY(enter_unit(device, &unit));
  GROVE_TRY(leave_unit(unit,
                       cuda.cuIpcOpenMemHandle(&memory, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
                       "importing another process's memory on device %d", device));
  pthread_mutex_lock(&lists);
  *import = (cuda_import){.next = all_imports, .memory = (void *)memory, .device = device};
  all_imports = import;
  pthread_mutex_unlock(&lists);
  *out = (void *)memory;
  return GROVE_OK;
fail:
  free(import);
  return status;
}

static void let_go_of_import(void *memory)
{
  grove_sentence kept;
  cuda_unit *unit;
  pthread_mutex_lock(&lists);
  cuda_import **at = &all_imports;
  while (*at && (*at)->memory != memory) at = &(*at)->next;
  cuda_import *import = *at;
  if (import) *at = import->next;
  pthread_mutex_unlock(&lists);
  if (!import) return;
  grove_error_keep(&kept);
  if (enter_unit(import->device, &unit) == GROVE_OK)
    leave_unit(unit, cuda.cuIpcCloseMemHandle((CUdeviceptr)memory), "letting go of an import");
  grove_error_restore(&kept);
  free(import);
}

/* ---- streams ---- */

static grove_status create_cuda_stream(int device, grove_stream **out)
{
  cuda_unit *unit;
  CUstream stream = NULL;
  GROVE_PASS(enter_unit(device, &unit));
  GROVE_PASS(leave_unit(unit, cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                        "making a stream of device %d", device));
  *out = stream;
  return GROVE_OK;
}

static void free_cuda_stream(int device, grove_stream *stream)
{
  grove_sentence kept;
  cuda_unit *unit;
  if (!stream) return;
  grove_error_keep(&kept);
  if (enter_unit(device, &unit) == GROVE_OK)
    leave_unit(unit, cuda.cuStreamDestroy(stream), "freeing a stream of device %d", device);
  grove_error_restore(&kept);
}

/* How many bytes from here on are registered together, or not at all. */
static int64_t bytes_alike(const char *address, int64_t bytes)
{
  pthread_mutex_lock(&lists);
  const cuda_pages *p = pages_from(address);
  const char *end = !p ? address + bytes : p->begin > address ? p->begin : p->end;
  pthread_mutex_unlock(&lists);
  return end - address < bytes ? end - address : bytes;
}

/* CUDA refuses to copy what is partly registered, or registered in parts. */
static CUresult copy_by_parts(char *to, const char *from, int64_t bytes, grove_stream *stream)
{
  CUresult result = CUDA_SUCCESS;
  while (bytes > 0 && result == CUDA_SUCCESS) {
    int64_t n = bytes_alike(from, bytes_alike(to, bytes));
    result = cuda.cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, (size_t)n, stream_of(stream));
    to += n;
    from += n;
    bytes -= n;
  }
  return result;
}

static grove_status copy_on_stream(int device, grove_stream *stream, void *to, const void *from,
                                   int64_t bytes)
{
  cuda_unit *unit;
  if (bytes == 0) return GROVE_OK;
  GROVE_PASS(enter_unit(device, &unit));
  CUresult result =
    cuda.cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, (size_t)bytes, stream_of(stream));
  if (result == CUDA_ERROR_INVALID_VALUE) result = copy_by_parts(to, from, bytes, stream);
  return leave_unit(unit, result, "copying %lld bytes from %p to %p on device %d", (long long)bytes,
                    from, to, device);
}

/* Few items have a thread each. Of many, a thread has several, and all blocks are there at once. */
static int64_t count_blocks(const cuda_unit *unit, int64_t items)
{
  int64_t turn = (int64_t)GROVE_BLOCK * GROVE_WAYS, most = unit->processors * GROVE_RESIDENT;
  if (items <= (int64_t)unit->processors * THREADS_PER_PROCESSOR)
    return (items + GROVE_BLOCK - 1) / GROVE_BLOCK;
  return (items + turn - 1) / turn < most ? (items + turn - 1) / turn : most;
}

static grove_status launch_on_stream(int device, grove_stream *stream, const grove_launch *launch,
                                     const grove_access *accesses, int naccesses)
{
  cuda_unit *unit;
  void *parameters[] = {(void *)launch}; /* copied by the call */
  int64_t items = launch->njobs > 0 ? launch->jobs[launch->njobs - 1].end : 0;
  (void)accesses, (void)naccesses;
  if (items == 0) return GROVE_OK;
  GROVE_PASS(enter_unit(device, &unit));
  return leave_unit(unit,
                    cuda.cuLaunchKernel(launch->moves_only ? unit->run_moves : unit->run_any,
                                        (unsigned)count_blocks(unit, items), 1, 1, GROVE_BLOCK, 1,
                                        1, 0, stream_of(stream), parameters, NULL),
                    "launching %d jobs of %lld items on device %d", (int)launch->njobs,
                    (long long)items, device);
}

/* The address of a word, as streams need it. CUDA refuses memory that it does not know. */
static CUdeviceptr word_on_device(const cuda_unit *unit, uint32_t *word)
{
  CUdeviceptr there = (CUdeviceptr)word;
  if (!unit->has_host_pointers &&
      cuda.cuPointerGetAttribute(&there, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, (CUdeviceptr)word))
    return (CUdeviceptr)word;
  return there;
}

/* By default a write comes with a fence: whoever sees it sees all that came before. */
static grove_status write_word(int device, grove_stream *stream, uint32_t *word, uint32_t value)
{
  cuda_unit *unit;
  GROVE_PASS(enter_unit(device, &unit));
  return leave_unit(unit,
                    cuda.cuStreamWriteValue32(stream_of(stream), word_on_device(unit, word), value,
                                              CU_STREAM_WRITE_VALUE_DEFAULT),
                    "writing the word %p on a stream of device %d", (void *)word, device);
}

static grove_status await_word(int device, grove_stream *stream, uint32_t *word, uint32_t value)
{
  cuda_unit *unit;
  GROVE_PASS(enter_unit(device, &unit));
  return leave_unit(unit,
                    cuda.cuStreamWaitValue32(stream_of(stream), word_on_device(unit, word), value,
                                             CU_STREAM_WAIT_VALUE_GEQ),
                    "awaiting the word %p on a stream of device %d", (void *)word, device);
}

static grove_status finish_on_host(int device, grove_stream *stream)
{
  cuda_unit *unit;
  GROVE_PASS(enter_unit(device, &unit));
  CUresult result = stream ? cuda.cuStreamSynchronize(stream) : cuda.cuCtxSynchronize();
  return leave_unit(unit, result, "finishing %s of device %d", stream ? "a stream" : "all streams",
                    device);
}

/* Of NULL an error says that another stream is, and that the default stream must be let alone. */
static int is_captured(int device, grove_stream *stream)
{
  CUstreamCaptureStatus state = CU_STREAM_CAPTURE_STATUS_NONE;
  grove_sentence kept;
  cuda_unit *unit;
  CUresult result = CUDA_SUCCESS;
  grove_error_keep(&kept);
  if (enter_unit(device, &unit) == GROVE_OK) {
    result = cuda.cuStreamIsCapturing(stream_of(stream), &state);
    leave_unit(unit, CUDA_SUCCESS, "");
  }
  grove_error_restore(&kept);
  return result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || state != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* By its context, which need not be the one that Grove uses. */
static int device_of_stream(grove_stream *stream, int otherwise)
{
  CUcontext context = NULL;
  CUdevice device = otherwise;
  if (!stream || !ndevices || cuda.cuStreamGetCtx(stream, &context) || !context) return otherwise;
  if (cuda.cuCtxPushCurrent(context)) return otherwise;
  if (cuda.cuCtxGetDevice(&device)) device = otherwise;
  cuda.cuCtxPopCurrent(NULL);
  return device;
}

/* ---- events ---- */

static grove_status create_cuda_event(int device, grove_event **out)
{
  grove_status status = GROVE_OK;
  cuda_unit *unit;
  cuda_event *event = NULL;
  GROVE_NEW(event, 1);
  event->device = device;
  GROVE_TRY(enter_unit(device, &unit));
  GROVE_TRY(leave_unit(unit, cuda.cuEventCreate(&event->event, CU_EVENT_DISABLE_TIMING),
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
  cuda_unit *unit;
  if (!event) return;
  grove_error_keep(&kept);
  if (enter_unit(event->device, &unit) == GROVE_OK)
    leave_unit(unit, cuda.cuEventDestroy(event->event), "freeing an event");
  grove_error_restore(&kept);
  free(event);
}

static grove_status record_on_stream(int device, grove_event *event, grove_stream *stream)
{
  cuda_unit *unit;
  GROVE_PASS(enter_unit(device, &unit));
  return leave_unit(unit, cuda.cuEventRecord(((cuda_event *)event)->event, stream_of(stream)),
                    "recording an event on a stream of device %d", device);
}

static grove_status wait_for_event(int device, grove_stream *stream, grove_event *event)
{
  cuda_unit *unit;
  GROVE_PASS(enter_unit(device, &unit));
  return leave_unit(unit,
                    cuda.cuStreamWaitEvent(stream_of(stream), ((cuda_event *)event)->event, 0),
                    "letting a stream of device %d wait for an event", device);
}

const grove_driver grove_driver_cuda = {
  .name = "cuda",
  .open = open_cuda,
  .is_in_use = is_loaded,
  .current = current_device,
  .find = find_on_device,
  .allocate = allocate_on_device,
  .free = free_on_device,
  .pin = pin_pages,
  .unpin = unpin_pages,
  .reach = reach_pages,
  .export_memory = export_allocation,
  .import_memory = import_allocation,
  .let_go = let_go_of_import,
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
