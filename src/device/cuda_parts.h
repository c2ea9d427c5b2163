/* What the files of CUDA's driver know of each other: its functions, as libcuda has them, and the
 * devices that are used. cuda_unit.c opens the library and sets devices up, cuda_memory.c has their
 * memory, and cuda.c the rest and the table.
 *
 * Every call enters a device and leaves it: what is current in the calling thread stays as it is.
 */
#ifndef GROVE_DEVICE_CUDA_PARTS_H
#define GROVE_DEVICE_CUDA_PARTS_H

#include "device/driver.h"

#ifdef GROVE_CUDA

#include <cuda.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cuda.h turns most names into macros for the version that belongs to the prototype: cuMemAlloc is
 * cuMemAlloc_v2. Fields and symbols get these names too. */
#define GROVE_CUDA_FUNCTIONS(X)                                                                    \
  X(cuInit)                                                                                        \
  X(cuGetErrorName)                                                                                \
  X(cuGetErrorString)                                                                              \
  X(cuDeviceGetCount)                                                                              \
  X(cuDeviceGet)                                                                                   \
  X(cuDeviceGetAttribute)                                                                          \
  X(cuDeviceCanAccessPeer)                                                                         \
  X(cuCtxEnablePeerAccess)                                                                         \
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
#define GROVE_CUDA_FIELD(name) __typeof__(name) *name;

typedef struct grove_cuda_functions {
  GROVE_CUDA_FUNCTIONS(GROVE_CUDA_FIELD)
} grove_cuda_functions;

extern grove_cuda_functions grove_cuda;

/* A device that is used. */
typedef struct grove_cuda_unit {
  int number, is_ready, is_broken;
  CUcontext context;
  CUfunction run_any, run_moves;
  int processors;
  int has_host_pointers; /* pinned memory has the same address there */
  char broken[GROVE_SENTENCE_BYTES];
} grove_cuda_unit;

/* ---- the library and its devices (cuda_unit.c) ---- */

grove_status grove_cuda_open(int *out);
int grove_cuda_is_open(void);
int grove_cuda_is_loaded(void);
int grove_cuda_current(void);
int grove_cuda_has_link(int from, int to);
/* Makes its context current in this thread, until grove_cuda_leave. */
grove_status grove_cuda_enter(int device, grove_cuda_unit **out);
/* Takes the result of what was done inside. `format` says what was asked. */
grove_status grove_cuda_leave(grove_cuda_unit *unit, CUresult result, const char *format, ...);
/* The same, inside. */
grove_status grove_cuda_judge(grove_cuda_unit *unit, CUresult result, const char *format, ...);
/* For calls that name no device: one that is in use anyway, since each context takes memory. */
int grove_cuda_any(void);
int grove_cuda_has_host_pointers(int device);
/* The device that has this context as the one that is used; -1: none. */
int grove_cuda_of_context(CUcontext context);

/* ---- memory (cuda_memory.c): see driver.h ---- */

int grove_cuda_find(const void *address, grove_range *out);
grove_status grove_cuda_allocate(int device, int64_t bytes, void **out);
void grove_cuda_free(int device, void *memory);
grove_status grove_cuda_pin(void *named, int64_t bytes);
void grove_cuda_unpin(void *named);
void *grove_cuda_reach(int device, void *pinned);
grove_status grove_cuda_export(void *memory, grove_handle *out);
grove_status grove_cuda_import(int device, const grove_handle *from, void **out);
void grove_cuda_let_go(void *memory);
/* How many bytes from here on are registered together, or not at all. */
int64_t grove_cuda_bytes_alike(const char *address, int64_t bytes);

#ifdef __cplusplus
}
#endif

#endif

#endif
