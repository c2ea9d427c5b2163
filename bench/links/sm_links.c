/* SM links: see sm_links.h. The table is CUDA's, with other numbers of devices, and with copies
 * between these by kernels.
 *
 * A copy over a link is launched on the caller's own stream. If another stream had the link before,
 * it first waits for an event behind that copy. So links are used in the order of the calls, and a
 * stream that has its link to itself waits for nothing.
 */
#include "links/sm_links.h"

#ifdef GROVE_CUDA

#include "device/cuda_parts.h"
#include "links/sm_links_kernel.h"

#include <pthread.h>
#include <stdlib.h>

/* Made by cmake/fatbin.cmake. */
extern const unsigned long long sm_links_fatbin[];

typedef struct sm_region {
  char *begin;
  int64_t bytes;
  int device;
} sm_region;

typedef struct sm_stream {
  grove_stream *stream;
  int device;
} sm_stream;

/* One direction. */
typedef struct sm_link {
  grove_event *last; /* behind its last copy */
  grove_stream *stream;
  int is_used;
} sm_link;

static struct {
  pthread_mutex_t lock; /* of all that follows */
  int ndevices, blocks;
  CUfunction kernel;
  sm_region *regions;
  sm_stream *streams;
  int nregions, room_for_regions, nstreams, room_for_streams;
  sm_link links[SM_LINKS_DEVICES][SM_LINKS_DEVICES];
  int64_t copies;
} sm = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const grove_driver *const gpu = &grove_driver_cuda;

/* ---- who is where; inside the lock ---- */

static sm_region *region_of(const char *address)
{
  for (int i = 0; i < sm.nregions; i++) {
    sm_region *r = &sm.regions[i];
    if (r->begin <= address && address < r->begin + r->bytes) return r;
  }
  return NULL;
}

static int device_at(const void *address)
{
  const sm_region *r = region_of(address);
  return r ? r->device : -1;
}

/* Room for one more. */
static grove_status make_room(void **list, size_t size, int n, int *room)
{
  if (n < *room) return GROVE_OK;
  void *larger = realloc(*list, (size_t)(2 * n + 16) * size);
  GROVE_PASS_CHECK(larger, GROVE_ERR_MEMORY, "SM links: no memory for a list of %d", 2 * n + 16);
  *list = larger;
  *room = 2 * n + 16;
  return GROVE_OK;
}

/* ---- memory ---- */

static int find_in_region(const void *address, grove_range *out)
{
  pthread_mutex_lock(&sm.lock);
  int device = device_at(address);
  pthread_mutex_unlock(&sm.lock);
  if (device < 0 || !gpu->find(address, out)) return 0;
  out->device = device;
  return 1;
}

static grove_status allocate_region(int device, int64_t bytes, void **out)
{
  grove_status status = GROVE_OK;
  GROVE_PASS_CHECK(device >= 0 && device < sm.ndevices, GROVE_ERR_DEVICE,
                   "there is no device %d; there are %d", device, sm.ndevices);
  GROVE_PASS(gpu->allocate(0, bytes, out));
  pthread_mutex_lock(&sm.lock);
  status = make_room((void **)&sm.regions, sizeof *sm.regions, sm.nregions, &sm.room_for_regions);
  if (status == GROVE_OK)
    sm.regions[sm.nregions++] = (sm_region){*out, bytes > 0 ? bytes : 1, device};
  pthread_mutex_unlock(&sm.lock);
  if (status != GROVE_OK) gpu->free(0, *out);
  return status;
}

static void free_region(int device, void *memory)
{
  (void)device;
  pthread_mutex_lock(&sm.lock);
  sm_region *r = memory ? region_of(memory) : NULL;
  if (r) *r = sm.regions[--sm.nregions];
  pthread_mutex_unlock(&sm.lock);
  gpu->free(0, memory);
}

static void *reach_pinned(int device, void *pinned)
{
  (void)device;
  return gpu->reach(0, pinned);
}

/* ---- streams ---- */

static grove_status create_sm_stream(int device, grove_stream **out)
{
  grove_status status = GROVE_OK;
  GROVE_PASS(gpu->create_stream(0, out));
  pthread_mutex_lock(&sm.lock);
  status = make_room((void **)&sm.streams, sizeof *sm.streams, sm.nstreams, &sm.room_for_streams);
  if (status == GROVE_OK) sm.streams[sm.nstreams++] = (sm_stream){*out, device};
  pthread_mutex_unlock(&sm.lock);
  if (status != GROVE_OK) gpu->free_stream(0, *out);
  return status;
}

/* No link waits for it any more: all that it had is done. */
static void free_sm_stream(int device, grove_stream *stream)
{
  (void)device;
  pthread_mutex_lock(&sm.lock);
  for (int i = 0; i < sm.nstreams; i++)
    if (sm.streams[i].stream == stream) sm.streams[i--] = sm.streams[--sm.nstreams];
  for (int i = 0; i < SM_LINKS_DEVICES * SM_LINKS_DEVICES; i++) {
    sm_link *link = &sm.links[i / SM_LINKS_DEVICES][i % SM_LINKS_DEVICES];
    if (link->stream == stream) link->is_used = 0;
  }
  pthread_mutex_unlock(&sm.lock);
  gpu->free_stream(0, stream);
}

static int device_of_sm_stream(grove_stream *stream, int otherwise)
{
  int device = otherwise;
  pthread_mutex_lock(&sm.lock);
  for (int i = 0; i < sm.nstreams; i++)
    if (sm.streams[i].stream == stream) device = sm.streams[i].device;
  pthread_mutex_unlock(&sm.lock);
  return device;
}

static grove_status launch_copy(grove_stream *stream, void *to, const void *from, int64_t bytes)
{
  grove_cuda_unit *unit;
  void *parameters[] = {&to, &from, &bytes};
  GROVE_PASS(grove_cuda_enter(0, &unit));
  CUresult result =
    grove_cuda.cuLaunchKernel(sm.kernel, (unsigned)sm.blocks, 1, 1, SM_LINKS_THREADS, 1, 1, 0,
                              stream ? stream : CU_STREAM_LEGACY, parameters, NULL);
  return grove_cuda_leave(unit, result, "copying %lld bytes from %p to %p over a link of SMs",
                          (long long)bytes, from, to);
}

/* Inside the lock: between the wait and the record no other copy may come. */
static grove_status copy_over_link(sm_link *link, grove_stream *stream, void *to, const void *from,
                                   int64_t bytes)
{
  if (!link->last) GROVE_PASS(gpu->create_event(0, &link->last));
  if (link->is_used && link->stream != stream) GROVE_PASS(gpu->after(0, stream, link->last));
  GROVE_PASS(launch_copy(stream, to, from, bytes));
  sm.copies++;
  link->is_used = 1;
  link->stream = stream;
  return gpu->record(0, link->last, stream);
}

static grove_status copy_on_sm_stream(int device, grove_stream *stream, void *to, const void *from,
                                      int64_t bytes)
{
  grove_status status = GROVE_OK;
  (void)device;
  if (bytes == 0) return GROVE_OK;
  pthread_mutex_lock(&sm.lock);
  int source = device_at(from), target = device_at(to);
  int is_link = source >= 0 && target >= 0 && source != target;
  if (is_link) status = copy_over_link(&sm.links[source][target], stream, to, from, bytes);
  pthread_mutex_unlock(&sm.lock);
  return is_link ? status : gpu->copy(0, stream, to, from, bytes);
}

static grove_status launch_on_sm_stream(int device, grove_stream *stream,
                                        const grove_launch *launch, const grove_access *accesses,
                                        int naccesses)
{
  (void)device;
  return gpu->launch(0, stream, launch, accesses, naccesses);
}

static grove_status write_on_sm_stream(int device, grove_stream *stream, uint32_t *word,
                                       uint32_t value)
{
  (void)device;
  return gpu->write(0, stream, word, value);
}

static grove_status await_on_sm_stream(int device, grove_stream *stream, uint32_t *word,
                                       uint32_t value)
{
  (void)device;
  return gpu->await(0, stream, word, value);
}

static grove_status finish_sm_stream(int device, grove_stream *stream)
{
  (void)device;
  return gpu->finish(0, stream);
}

static int is_sm_stream_captured(int device, grove_stream *stream)
{
  (void)device;
  return gpu->is_capturing(0, stream);
}

/* ---- events ---- */

static grove_status create_sm_event(int device, grove_event **out)
{
  (void)device;
  return gpu->create_event(0, out);
}

static void free_sm_event(grove_event *event)
{
  gpu->free_event(event);
}

static grove_status record_on_sm_stream(int device, grove_event *event, grove_stream *stream)
{
  (void)device;
  return gpu->record(0, event, stream);
}

static grove_status wait_on_sm_stream(int device, grove_stream *stream, grove_event *event)
{
  (void)device;
  return gpu->after(0, stream, event);
}

/* ---- the driver ---- */

static int has_sm_link(int from, int to)
{
  return from != to && from >= 0 && to >= 0 && from < sm.ndevices && to < sm.ndevices;
}

/* One copy of nothing, so that nothing is loaded later. */
static grove_status load_copy_kernel(void)
{
  grove_cuda_unit *unit;
  CUmodule module = NULL;
  char *nowhere = NULL;
  if (sm.kernel) return GROVE_OK;
  GROVE_PASS(grove_cuda_enter(0, &unit));
  CUresult result = grove_cuda.cuModuleLoadData(&module, sm_links_fatbin);
  if (!result) result = grove_cuda.cuModuleGetFunction(&sm.kernel, module, "sm_links_copy");
  GROVE_PASS(grove_cuda_leave(unit, result, "loading the kernel of SM links"));
  GROVE_PASS(launch_copy(NULL, nowhere, nowhere, 0));
  return gpu->finish(0, NULL);
}

static grove_status open_sm_links(int *ndevices)
{
  int n = 0;
  GROVE_PASS(gpu->open(&n));
  *ndevices = sm.ndevices;
  return GROVE_OK;
}

static int no_current_device(void)
{
  return -1;
}

static const grove_driver driver_of_sm_links = {
  .name = "sm-links",
  .open = open_sm_links,
  .is_in_use = grove_cuda_is_loaded,
  .current = no_current_device,
  .has_link = has_sm_link,
  .find = find_in_region,
  .allocate = allocate_region,
  .free = free_region,
  .pin = grove_cuda_pin,
  .unpin = grove_cuda_unpin,
  .reach = reach_pinned,
  .create_stream = create_sm_stream,
  .free_stream = free_sm_stream,
  .copy = copy_on_sm_stream,
  .launch = launch_on_sm_stream,
  .write = write_on_sm_stream,
  .await = await_on_sm_stream,
  .finish = finish_sm_stream,
  .is_capturing = is_sm_stream_captured,
  .device_of = device_of_sm_stream,
  .create_event = create_sm_event,
  .free_event = free_sm_event,
  .record = record_on_sm_stream,
  .after = wait_on_sm_stream,
};

int64_t sm_links_copies(void)
{
  pthread_mutex_lock(&sm.lock);
  int64_t copies = sm.copies;
  pthread_mutex_unlock(&sm.lock);
  return copies;
}

/* Streams that share a hardware queue hold each other up. CUDA has 8 unless it is told before it is
 * opened. */
grove_status sm_links_open(int ndevices, int blocks, const grove_driver **out)
{
  int n = 0;
  GROVE_PASS_CHECK(ndevices >= 1 && ndevices <= SM_LINKS_DEVICES, GROVE_ERR_ARG,
                   "SM links: %d devices; there can be 1 to %d", ndevices, (int)SM_LINKS_DEVICES);
  GROVE_PASS_CHECK(blocks >= 1 && blocks <= SM_LINKS_BLOCKS, GROVE_ERR_ARG,
                   "SM links: %d blocks a link; there can be 1 to %d", blocks,
                   (int)SM_LINKS_BLOCKS);
  GROVE_PASS_CHECK(sm.nregions == 0, GROVE_ERR_ARG, "SM links: %d allocations are in use",
                   sm.nregions);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  GROVE_PASS(gpu->open(&n));
  sm.ndevices = ndevices;
  sm.blocks = blocks;
  sm.copies = 0;
  GROVE_PASS(load_copy_kernel());
  *out = &driver_of_sm_links;
  return GROVE_OK;
}

#else

grove_status sm_links_open(int ndevices, int blocks, const grove_driver **out)
{
  (void)ndevices, (void)blocks, (void)out;
  GROVE_PASS_CHECK(0, GROVE_ERR_DEVICE, "SM links: this was built without CUDA");
  return GROVE_OK;
}

int64_t sm_links_copies(void)
{
  return 0;
}

#endif
