/* CUDA's memory: of devices, pinned memory of the host, and memory that other processes have
 * allocated. cuMemFree waits for all that is enqueued on the device. So may cuMemHostRegister, and
 * whatever creates or frees. Whoever has streams that wait for others calls these before or after.
 */
#include "device/cuda_parts.h"

#ifdef GROVE_CUDA

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static pthread_mutex_t lists = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static cuda_pages *all_pages;
static cuda_pin *all_pins;
static cuda_import *all_imports;

/* ---- memory ---- */

int grove_cuda_find(const void *address, grove_range *out)
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
  if (!grove_cuda_is_open()) return 0;
  if (grove_cuda.cuPointerGetAttributes(ATTRIBUTES, asked, answers, (CUdeviceptr)address)) return 0;
  if (type != CU_MEMORYTYPE_DEVICE || is_managed) return 0;
  *out = (grove_range){device, (char *)begin, (int64_t)bytes, number};
  return 1;
}

grove_status grove_cuda_allocate(int device, int64_t bytes, void **out)
{
  grove_status status = GROVE_OK;
  grove_cuda_unit *unit;
  CUdeviceptr memory = 0;
  GROVE_PASS_CHECK(bytes >= 0, GROVE_ERR_ARG, "%lld bytes are no size", (long long)bytes);
  GROVE_PASS(grove_cuda_enter(device, &unit));
  CUresult result = grove_cuda.cuMemAlloc(&memory, bytes ? (size_t)bytes : 1);
  status =
    grove_cuda_leave(unit, result, "allocating %lld bytes on device %d", (long long)bytes, device);
  GROVE_PASS_CHECK(result != CUDA_ERROR_OUT_OF_MEMORY, GROVE_ERR_MEMORY,
                   "no memory for %lld bytes on device %d", (long long)bytes, device);
  if (status == GROVE_OK) *out = (void *)memory;
  return status;
}

/* Whoever frees cannot be told of a failure, so no sentence is left behind. The next call knows of
 * a fatal one. */
void grove_cuda_free(int device, void *memory)
{
  grove_sentence kept;
  grove_cuda_unit *unit;
  if (!memory) return;
  grove_error_keep(&kept);
  if (grove_cuda_enter(device, &unit) == GROVE_OK)
    grove_cuda_leave(unit, grove_cuda.cuMemFree((CUdeviceptr)memory), "freeing memory of device %d",
                     device);
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

static grove_status register_pages(grove_cuda_unit *unit, char *begin, char *end)
{
  cuda_pages *pages = NULL;
  GROVE_PASS_NEW(pages, 1);
  *pages = (cuda_pages){.begin = begin, .end = end};
  CUresult result = grove_cuda.cuMemHostRegister(
    begin, (size_t)(end - begin), CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  if (result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
    pages->is_foreign = 1;
    result = CUDA_SUCCESS;
  }
  if (result != CUDA_SUCCESS) free(pages);
  GROVE_PASS(grove_cuda_judge(unit, result, "pinning %lld bytes", (long long)(end - begin)));
  pages->next = all_pages;
  all_pages = pages;
  return GROVE_OK;
}

/* Registers what of begin .. end is not registered yet. */
static grove_status register_gaps(grove_cuda_unit *unit, char *begin, char *end)
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
    if (!p->is_foreign) grove_cuda.cuMemHostUnregister(p->begin);
    *at = p->next;
    free(p);
  }
}

/* Pins whole pages. Pages that two pins share are registered once, and stay until both are gone. */
grove_status grove_cuda_pin(void *named, int64_t bytes)
{
  grove_status status = GROVE_OK;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)named / page * page;
  uintptr_t to = ((uintptr_t)named + (uintptr_t)(bytes > 0 ? bytes : 1) + page - 1) / page * page;
  grove_cuda_unit *unit;
  cuda_pin *pin = NULL;
  GROVE_NEW(pin, 1);
  *pin = (cuda_pin){.named = named, .begin = (char *)from, .end = (char *)to};
  GROVE_TRY(grove_cuda_enter(grove_cuda_any(), &unit));
  pthread_mutex_lock(&lists);
  status = register_gaps(unit, pin->begin, pin->end);
  count_pins(pin->begin, pin->end, status == GROVE_OK);
  if (status == GROVE_OK) {
    pin->next = all_pins;
    all_pins = pin;
    pin = NULL;
  }
  pthread_mutex_unlock(&lists);
  grove_cuda_leave(unit, CUDA_SUCCESS, "");
fail:
  free(pin);
  return status;
}

void grove_cuda_unpin(void *named)
{
  grove_sentence kept;
  grove_cuda_unit *unit;
  grove_error_keep(&kept);
  int is_inside = grove_cuda_enter(grove_cuda_any(), &unit) == GROVE_OK;
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
  if (is_inside) grove_cuda_leave(unit, CUDA_SUCCESS, "");
  grove_error_restore(&kept);
}

void *grove_cuda_reach(int device, void *pinned)
{
  return grove_cuda_has_host_pointers(device) ? pinned : NULL;
}

int64_t grove_cuda_bytes_alike(const char *address, int64_t bytes)
{
  pthread_mutex_lock(&lists);
  const cuda_pages *p = pages_from(address);
  const char *end = !p ? address + bytes : p->begin > address ? p->begin : p->end;
  pthread_mutex_unlock(&lists);
  return end - address < bytes ? end - address : bytes;
}

/* ---- memory of other processes ---- */

_Static_assert(sizeof(CUipcMemHandle) == sizeof(grove_handle), "a handle is CUDA's, as it is");

/* A handle belongs to an allocation, and has no room for an offset: `memory` must begin one. */
grove_status grove_cuda_export(void *memory, grove_handle *out)
{
  grove_cuda_unit *unit;
  CUipcMemHandle handle;
  CUdeviceptr begin = 0;
  grove_range range;
  GROVE_PASS_CHECK(grove_cuda_find(memory, &range), GROVE_ERR_DEVICE,
                   "%p cannot be exported: it is no memory of a device", memory);
  GROVE_PASS(grove_cuda_enter(range.device, &unit));
  CUresult result = grove_cuda.cuMemGetAddressRange(&begin, NULL, (CUdeviceptr)memory);
  if (!result) result = grove_cuda.cuIpcGetMemHandle(&handle, (CUdeviceptr)memory);
  GROVE_PASS(grove_cuda_leave(unit, result, "exporting memory of device %d", range.device));
  GROVE_PASS_CHECK((void *)begin == memory, GROVE_ERR_DEVICE,
                   "%p cannot be exported: it is inside an allocation, which begins at %p", memory,
                   (void *)begin);
  memcpy(out, &handle, sizeof handle);
  return GROVE_OK;
}

/* What was imported is closed in the context that opened it. The list knows which that was. */
grove_status grove_cuda_import(int device, const grove_handle *from, void **out)
{
  grove_status status = GROVE_OK;
  grove_cuda_unit *unit;
  cuda_import *import = NULL;
  CUipcMemHandle handle;
  CUdeviceptr memory = 0;
  memcpy(&handle, from, sizeof handle);
  GROVE_NEW(import, 1);
  GROVE_TRY(grove_cuda_enter(device, &unit));
  GROVE_TRY(grove_cuda_leave(
    unit, grove_cuda.cuIpcOpenMemHandle(&memory, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
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

void grove_cuda_let_go(void *memory)
{
  grove_sentence kept;
  grove_cuda_unit *unit;
  pthread_mutex_lock(&lists);
  cuda_import **at = &all_imports;
  while (*at && (*at)->memory != memory) at = &(*at)->next;
  cuda_import *import = *at;
  if (import) *at = import->next;
  pthread_mutex_unlock(&lists);
  if (!import) return;
  grove_error_keep(&kept);
  if (grove_cuda_enter(import->device, &unit) == GROVE_OK)
    grove_cuda_leave(unit, grove_cuda.cuIpcCloseMemHandle((CUdeviceptr)memory),
                     "letting go of an import");
  grove_error_restore(&kept);
  free(import);
}

#endif
