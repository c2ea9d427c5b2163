/* CUDA's library and the devices that it finds. libcuda.so.1 is opened when it is first asked for,
 * so that a program with Grove in it runs where there is none. A device is set up by the first call
 * that names it: its primary context, which the CUDA runtime uses too, is retained, and the kernels
 * are loaded, which are a fatbin in the library (cuda_kernels.cu). Nothing is loaded later, because
 * loading would wait for streams that wait themselves.
 */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "device/cuda_kernels.h"
#include "device/cuda_parts.h"

#ifdef GROVE_CUDA

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_OF(name)   #name
#define SYMBOL_OF(name) {TEXT_OF(name), offsetof(grove_cuda_functions, name)},

static const struct {
  const char *name;
  size_t offset;
} symbols[] = {GROVE_CUDA_FUNCTIONS(SYMBOL_OF)};

/* One driver serves a process: it has no handle. */
grove_cuda_functions grove_cuda;
static int ndevices; /* 0: not opened, or it could not be */
static grove_cuda_unit *units;

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
  if (grove_cuda.cuGetErrorName(result, &name) != CUDA_SUCCESS || !name) name = "an unknown error";
  return name;
}

static const char *words_of_result(CUresult result)
{
  const char *words = NULL;
  if (grove_cuda.cuGetErrorString(result, &words) != CUDA_SUCCESS || !words) words = "failed";
  return words;
}

/* Keeps the first sentence. An error may be that of an earlier launch. */
static grove_status break_unit(grove_cuda_unit *unit, CUresult result, const char *asked)
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
static grove_status repeat_sentence(const grove_cuda_unit *unit)
{
  return grove_error_set(GROVE_ERR_DEVICE, unit->broken);
}

static grove_status explain_result(grove_cuda_unit *unit, CUresult result, const char *format,
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

grove_status grove_cuda_judge(grove_cuda_unit *unit, CUresult result, const char *format, ...)
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
    memcpy((char *)&grove_cuda + symbols[i].offset, &symbol, sizeof symbol);
  }
  return GROVE_OK;
}

static grove_status try_driver(void)
{
  int n = 0;
  GROVE_PASS(find_symbols());
  GROVE_PASS(grove_cuda_judge(NULL, grove_cuda.cuInit(0), "no CUDA driver here: cuInit"));
  GROVE_PASS(grove_cuda_judge(NULL, grove_cuda.cuDeviceGetCount(&n),
                              "no CUDA driver here: cuDeviceGetCount"));
  GROVE_PASS_CHECK(n > 0, GROVE_ERR_DEVICE, "no CUDA device here: its driver finds none");
  GROVE_PASS_NEW(units, n);
  for (int i = 0; i < n; i++) units[i].number = i;
  __atomic_store_n(&ndevices, n, __ATOMIC_RELEASE);
  return GROVE_OK;
}

/* Tries once. */
grove_status grove_cuda_open(int *out)
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

int grove_cuda_is_open(void)
{
  return __atomic_load_n(&ndevices, __ATOMIC_ACQUIRE) > 0;
}

/* If libcuda is not in the process, no memory of a device is. Here is how many libraries had come
 * and gone when they were last looked through, and whether it was among them. To ask the loader for
 * one that is not there makes it search its whole path, in files, which takes longer than all else
 * that making an operation does. */
static _Atomic unsigned long long changes_seen;
static atomic_int was_there;

/* Not 0 ends the search: 1 it is there, -1 nothing has changed. */
static int look_at_library(struct dl_phdr_info *info, size_t bytes, void *out)
{
  const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;
  unsigned long long *changes = out;
  (void)bytes;
  *changes = (unsigned long long)info->dlpi_adds + (unsigned long long)info->dlpi_subs;
  if (*changes == atomic_load(&changes_seen)) return -1;
  return strncmp(name, "libcuda.so", strlen("libcuda.so")) == 0;
}

int grove_cuda_is_loaded(void)
{
  unsigned long long changes = 0;
  int found = dl_iterate_phdr(look_at_library, &changes);
  if (found < 0) return atomic_load(&was_there);
  atomic_store(&was_there, found);
  atomic_store(&changes_seen, changes);
  return found;
}

int grove_cuda_current(void)
{
  CUcontext context = NULL;
  CUdevice device = -1;
  if (!ndevices || grove_cuda.cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context) return -1;
  return grove_cuda.cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : -1;
}

/* Runs a kernel once, so that nothing of it is loaded later. */
static grove_status load_kernel(grove_cuda_unit *unit, CUmodule module, CUstream stream,
                                const char *name, CUfunction *out)
{
  grove_launch nothing = {.njobs = 1};
  void *parameters[] = {&nothing};
  int n = unit->number;
  GROVE_PASS(grove_cuda_judge(unit, grove_cuda.cuModuleGetFunction(out, module, name),
                              "finding %s for device %d", name, n));
  return grove_cuda_judge(
    unit, grove_cuda.cuLaunchKernel(*out, 1, 1, 1, GROVE_BLOCK, 1, 1, 0, stream, parameters, NULL),
    "launching %s for the first time on device %d", name, n);
}

static grove_status load_kernels(grove_cuda_unit *unit)
{
  grove_status status = GROVE_OK;
  CUmodule module = NULL;
  CUstream stream = NULL;
  int n = unit->number;
  GROVE_TRY(grove_cuda_judge(unit, grove_cuda.cuModuleLoadData(&module, grove_cuda_fatbin),
                             "loading kernels for device %d", n));
  GROVE_TRY(grove_cuda_judge(unit, grove_cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                             "making a stream of device %d", n));
  GROVE_TRY(load_kernel(unit, module, stream, "grove_run_any", &unit->run_any));
  GROVE_TRY(load_kernel(unit, module, stream, "grove_run_moves", &unit->run_moves));
  GROVE_TRY(grove_cuda_judge(unit, grove_cuda.cuStreamSynchronize(stream),
                             "finishing the first launch on device %d", n));
fail:
  if (stream) grove_cuda.cuStreamDestroy(stream);
  return status;
}

static grove_status ask_attribute(grove_cuda_unit *unit, CUdevice_attribute attribute,
                                  CUdevice device, int *out)
{
  return grove_cuda_judge(unit, grove_cuda.cuDeviceGetAttribute(out, attribute, device),
                          "asking for attribute %d of device %d", (int)attribute, unit->number);
}

static grove_status retain_context(grove_cuda_unit *unit)
{
  CUdevice device;
  int processors = 0;
  GROVE_PASS(grove_cuda_judge(unit, grove_cuda.cuDeviceGet(&device, unit->number),
                              "asking for device %d", unit->number));
  GROVE_PASS(ask_attribute(unit, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device, &processors));
  GROVE_PASS(ask_attribute(unit, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM,
                           device, &unit->has_host_pointers));
  unit->processors = processors;
  if (!unit->context) /* a failed attempt has left it */
    GROVE_PASS(grove_cuda_judge(unit, grove_cuda.cuDevicePrimaryCtxRetain(&unit->context, device),
                                "retaining the primary context of device %d", unit->number));
  return GROVE_OK;
}

static grove_status set_up_unit(grove_cuda_unit *unit)
{
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  grove_status status = GROVE_OK;
  pthread_mutex_lock(&mutex);
  if (unit->is_ready) goto fail;
  GROVE_TRY(retain_context(unit));
  GROVE_TRY(grove_cuda_judge(unit, grove_cuda.cuCtxPushCurrent(unit->context), "entering device %d",
                             unit->number));
  status = load_kernels(unit);
  grove_cuda.cuCtxPopCurrent(NULL);
  if (status == GROVE_OK) __atomic_store_n(&unit->is_ready, 1, __ATOMIC_RELEASE);
fail:
  pthread_mutex_unlock(&mutex);
  return status;
}

grove_status grove_cuda_enter(int device, grove_cuda_unit **out)
{
  int n = __atomic_load_n(&ndevices, __ATOMIC_ACQUIRE);
  if (!n) GROVE_PASS(grove_cuda_open(&n));
  GROVE_PASS_CHECK(device >= 0 && device < n, GROVE_ERR_DEVICE,
                   "there is no device %d; there are %d", device, n);
  grove_cuda_unit *unit = &units[device];
  if (!__atomic_load_n(&unit->is_ready, __ATOMIC_ACQUIRE)) GROVE_PASS(set_up_unit(unit));
  if (__atomic_load_n(&unit->is_broken, __ATOMIC_ACQUIRE)) return repeat_sentence(unit);
  GROVE_PASS(grove_cuda_judge(unit, grove_cuda.cuCtxPushCurrent(unit->context),
                              "entering device %d", device));
  *out = unit;
  return GROVE_OK;
}

grove_status grove_cuda_leave(grove_cuda_unit *unit, CUresult result, const char *format, ...)
{
  grove_cuda.cuCtxPopCurrent(NULL);
  if (result == CUDA_SUCCESS) return GROVE_OK;
  va_list facts;
  va_start(facts, format);
  grove_status status = explain_result(unit, result, format, facts);
  va_end(facts);
  return status;
}

/* Lets `from` reach the memory of `to`, whose context is set up by that. */
static int enable_peer(int from, int to)
{
  grove_cuda_unit *there, *here;
  CUdevice device = 0, peer = 0;
  int can = 0;
  if (grove_cuda_enter(to, &there) != GROVE_OK) return 0;
  grove_cuda_leave(there, CUDA_SUCCESS, "");
  if (grove_cuda_enter(from, &here) != GROVE_OK) return 0;
  CUresult result = grove_cuda.cuDeviceGet(&device, from);
  if (!result) result = grove_cuda.cuDeviceGet(&peer, to);
  if (!result) result = grove_cuda.cuDeviceCanAccessPeer(&can, device, peer);
  if (!result && can) result = grove_cuda.cuCtxEnablePeerAccess(there->context, 0);
  grove_cuda_leave(here, CUDA_SUCCESS, "");
  return can && (result == CUDA_SUCCESS || result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
}

int grove_cuda_has_link(int from, int to)
{
  grove_sentence kept;
  grove_error_keep(&kept);
  int has_link = enable_peer(from, to) && enable_peer(to, from);
  grove_error_restore(&kept);
  return has_link;
}

int grove_cuda_any(void)
{
  for (int i = 0; i < ndevices; i++)
    if (__atomic_load_n(&units[i].is_ready, __ATOMIC_ACQUIRE)) return i;
  return 0;
}

int grove_cuda_of_context(CUcontext context)
{
  for (int i = 0; i < ndevices; i++)
    if (__atomic_load_n(&units[i].is_ready, __ATOMIC_ACQUIRE) && units[i].context == context)
      return i;
  return -1;
}

int grove_cuda_has_host_pointers(int device)
{
  return units[device].has_host_pointers;
}

#endif
