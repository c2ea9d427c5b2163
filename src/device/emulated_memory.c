/* Memory of the emulated device. One part of the address space is given out, and nothing is ever
 * mapped there. The part behind it, of the same size, has the bytes, in a file without a name. So
 * the way from one to the other is an addition. One file serves all allocations: a process cannot
 * have many open.
 */
#define _GNU_SOURCE /* memfd_create, fallocate */
#include "device/emulated_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of each of the two parts. Some systems give less. */
static const int64_t MOST_SPACE = (int64_t)8 << 30, LEAST_SPACE = (int64_t)64 << 20;

/* As with CUDA. */
enum { ALIGNMENT = 256 };

/* New memory is full of these, so that nobody takes it for zeros. A large block is filled only in
 * part: else all its pages would be there. */
enum { JUNK = 0xcb, JUNK_BYTES = 1 << 20 };

typedef struct allocation {
  char *place; /* its pages, in the part that is given out */
  int64_t span;
  char *begin; /* what the program knows: it ends with the pages, so that what overruns it faults */
  int64_t bytes;
  int device;
  int imported;
  uint64_t number;
} allocation;

typedef struct pinned {
  char *begin;
  int64_t bytes;
} pinned;

static struct {
  pthread_mutex_t lock;
  char *base;
  int64_t space;
  int file;
  int64_t file_bytes;
  allocation *all; /* by address */
  int64_t count;
  uint64_t numbers;
  int64_t used, limit;
  int is_unread; /* nobody looks at what is in new memory */
  pinned *pins;
  int64_t npins;
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER, .file = -1, .limit = INT64_MAX};

/* ---- the two parts ---- */

static grove_status reserve_space(void)
{
  if (memory.base) return GROVE_OK;
  void *base = MAP_FAILED;
  int64_t space = MOST_SPACE;
  for (; base == MAP_FAILED && space >= LEAST_SPACE; space /= 2)
    base = mmap(NULL, (size_t)(2 * space), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                -1, 0);
  GROVE_PASS_CHECK(base != MAP_FAILED, GROVE_ERR_MEMORY,
                   "no part of the address space is free for the emulated device: %s",
                   strerror(errno));
  space *= 2; /* what the loop did last */
  memory.file = memfd_create("grove-device", MFD_CLOEXEC);
  if (memory.file < 0) munmap(base, (size_t)(2 * space));
  GROVE_PASS_CHECK(memory.file >= 0, GROVE_ERR_DEVICE,
                   "no file for the emulated device's memory: %s", strerror(errno));
  memory.space = space;
  __atomic_store_n(&grove_device_offset, space, __ATOMIC_RELAXED);
  __atomic_store_n(&memory.base, (char *)base, __ATOMIC_RELEASE);
  return GROVE_OK;
}

/* Without the lock: programs ask this of all their memory. */
int grove_store_is_given(const void *address)
{
  const char *base = __atomic_load_n(&memory.base, __ATOMIC_ACQUIRE), *a = address;
  return base && a >= base && a < base + memory.space;
}

void *grove_emulated_alias(const void *address)
{
  return (char *)address + (grove_store_is_given(address) ? grove_device_offset : 0);
}

static int64_t page_bytes(void)
{
  return sysconf(_SC_PAGESIZE);
}

static grove_status map_pages(char *place, int64_t span, int file, int64_t offset)
{
  void *seen = mmap(place + memory.space, (size_t)span, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_FIXED, file, (off_t)offset);
  GROVE_PASS_CHECK(seen != MAP_FAILED, GROVE_ERR_MEMORY,
                   "cannot map %lld bytes of the emulated device: %s", (long long)span,
                   strerror(errno));
  return GROVE_OK;
}

static void unmap_pages(char *place, int64_t span)
{
  (void)!mmap(place + memory.space, (size_t)span, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* ---- the table of allocations ---- */

/* The number of allocations that begin at or below the address. */
static int64_t allocations_below(const char *address)
{
  int64_t low = 0, high = memory.count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (memory.all[middle].place <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static allocation *find_allocation(const void *address)
{
  int64_t n = allocations_below(address);
  if (n == 0) return NULL;
  allocation *a = &memory.all[n - 1];
  int64_t bytes = a->bytes > 0 ? a->bytes : 1;
  return grove_emulated_overlap(address, 1, a->begin, bytes) ? a : NULL;
}

/* The first gap that has room for it and for a page that faults. */
static grove_status find_gap(int64_t span, char **place, int64_t *at)
{
  int64_t page = page_bytes();
  char *from = memory.base + page; /* what lies before the first one faults too */
  for (int64_t i = 0; i <= memory.count; i++) {
    char *end = i < memory.count ? memory.all[i].place : memory.base + memory.space;
    if (end - from >= span + page) {
      *place = from;
      *at = i;
      return GROVE_OK;
    }
    if (i < memory.count) from = memory.all[i].place + memory.all[i].span + page;
  }
  GROVE_PASS_CHECK(0, GROVE_ERR_MEMORY, "the emulated device has no room for %lld bytes in a row",
                   (long long)span);
  return GROVE_OK;
}

static allocation *insert_allocation(int64_t at, allocation a)
{
  a.number = ++memory.numbers;
  memmove(&memory.all[at + 1], &memory.all[at], (size_t)(memory.count - at) * sizeof a);
  memory.all[at] = a;
  memory.count++;
  return &memory.all[at];
}

/* Finds pages for this many bytes, which are the last of them. */
static grove_status place_bytes(int64_t bytes, allocation *out, int64_t *at)
{
  GROVE_PASS(reserve_space());
  GROVE_PASS_GROW(memory.all, memory.count, 1);
  int64_t whole = grove_round_up(bytes > 0 ? bytes : 1, ALIGNMENT);
  out->span = grove_round_up(whole, page_bytes());
  GROVE_PASS(find_gap(out->span, &out->place, at));
  out->begin = out->place + out->span - whole;
  out->bytes = bytes;
  return GROVE_OK;
}

/* ---- allocate and free ---- */

static grove_status grow_file(int64_t end)
{
  if (end <= memory.file_bytes) return GROVE_OK;
  GROVE_PASS_CHECK(ftruncate(memory.file, (off_t)end) == 0, GROVE_ERR_MEMORY,
                   "the emulated device's memory cannot grow to %lld bytes: %s", (long long)end,
                   strerror(errno));
  memory.file_bytes = end;
  return GROVE_OK;
}

static grove_status make_allocation(int device, int64_t bytes, void **out)
{
  allocation a = {.device = device};
  int64_t at = 0;
  GROVE_PASS_CHECK(
    bytes >= 0 && bytes <= MOST_SPACE && bytes <= memory.limit - memory.used, GROVE_ERR_MEMORY,
    "the emulated device has no memory for %lld bytes: %lld of at most %lld are in use",
    (long long)bytes, (long long)memory.used, (long long)memory.limit);
  GROVE_PASS(place_bytes(bytes, &a, &at));
  GROVE_PASS(grow_file(a.place - memory.base + a.span));
  GROVE_PASS(map_pages(a.place, a.span, memory.file, a.place - memory.base));
  if (!memory.is_unread)
    memset(a.begin + memory.space, JUNK, (size_t)(bytes < JUNK_BYTES ? bytes : JUNK_BYTES));
  *out = insert_allocation(at, a)->begin;
  memory.used += bytes;
  return GROVE_OK;
}

grove_status grove_store_allocate(int device, int64_t bytes, void **out)
{
  pthread_mutex_lock(&memory.lock);
  grove_status status = make_allocation(device, bytes, out);
  pthread_mutex_unlock(&memory.lock);
  return status;
}

static void drop_allocation(allocation *a)
{
  unmap_pages(a->place, a->span);
  if (!a->imported) {
    (void)!fallocate(memory.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                     (off_t)(a->place - memory.base), (off_t)a->span);
    memory.used -= a->bytes;
  }
  int64_t behind = &memory.all[--memory.count] - a;
  memmove(a, a + 1, (size_t)behind * sizeof *a);
}

void grove_store_free(void *begin)
{
  pthread_mutex_lock(&memory.lock);
  allocation *a = find_allocation(begin);
  if (a) drop_allocation(a);
  pthread_mutex_unlock(&memory.lock);
}

int grove_store_find(const void *address, grove_range *out)
{
  if (!grove_store_is_given(address)) return 0;
  pthread_mutex_lock(&memory.lock);
  const allocation *a = find_allocation(address);
  if (a) *out = (grove_range){a->device, a->begin, a->bytes, a->number};
  pthread_mutex_unlock(&memory.lock);
  return a != NULL;
}

grove_status grove_store_check(const char *what, const void *begin, int64_t bytes)
{
  grove_range range = {0};
  GROVE_PASS_CHECK(grove_store_find(begin, &range), GROVE_ERR_DEVICE,
                   "%s: %p is not in the device's memory", what, begin);
  GROVE_PASS_CHECK((const char *)begin + bytes <= range.begin + range.bytes, GROVE_ERR_DEVICE,
                   "%s: %lld bytes at %p, of an allocation that ends after %lld of them", what,
                   (long long)bytes, begin,
                   (long long)(range.begin + range.bytes - (const char *)begin));
  return GROVE_OK;
}

void grove_store_set_unread(int is_unread)
{
  pthread_mutex_lock(&memory.lock);
  memory.is_unread = is_unread;
  pthread_mutex_unlock(&memory.lock);
}

void grove_emulated_set_limit(int64_t bytes)
{
  pthread_mutex_lock(&memory.lock);
  memory.limit = bytes;
  pthread_mutex_unlock(&memory.lock);
}

/* ---- other processes' ---- */

typedef struct passport {
  int32_t process, file;
  uint64_t inode; /* of the file: processes' numbers are used again */
  int64_t offset, span, bytes;
} passport;

_Static_assert(sizeof(passport) <= sizeof(grove_handle), "a handle has room for it");

grove_status grove_store_export(void *begin, grove_handle *out)
{
  grove_status status = GROVE_OK;
  struct stat about = {0};
  pthread_mutex_lock(&memory.lock);
  const allocation *a = find_allocation(begin);
  GROVE_CHECK(a && !a->imported, GROVE_ERR_DEVICE, "%p is no memory of this process's device",
              begin);
  GROVE_CHECK(fstat(memory.file, &about) == 0, GROVE_ERR_DEVICE,
              "the device's memory cannot be exported: %s", strerror(errno));
  passport p = {.process = (int32_t)getpid(),
                .file = memory.file,
                .inode = (uint64_t)about.st_ino,
                .offset = a->place - memory.base,
                .span = a->span,
                .bytes = a->bytes};
  memset(out, 0, sizeof *out);
  memcpy(out->bytes, &p, sizeof p);
fail:
  pthread_mutex_unlock(&memory.lock);
  return status;
}

static grove_status open_exporter(const passport *p, int *file)
{
  struct stat about = {0};
  char path[64];
  GROVE_PASS_CHECK(p->process != (int32_t)getpid(), GROVE_ERR_DEVICE,
                   "a process cannot import memory of its own");
  snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)p->process, p->file);
  *file = open(path, O_RDWR | O_CLOEXEC);
  GROVE_PASS_CHECK(*file >= 0, GROVE_ERR_DEVICE, "the memory of process %ld cannot be imported: %s",
                   (long)p->process, strerror(errno));
  GROVE_PASS_CHECK(fstat(*file, &about) == 0 && (uint64_t)about.st_ino == p->inode &&
                     (int64_t)about.st_size >= p->offset + p->span,
                   GROVE_ERR_DEVICE, "the memory of process %ld is gone", (long)p->process);
  return GROVE_OK;
}

static grove_status map_import(int device, const passport *p, int file, void **out)
{
  allocation a = {.device = device, .imported = 1};
  int64_t at = 0;
  GROVE_PASS(place_bytes(p->bytes, &a, &at));
  GROVE_PASS(map_pages(a.place, a.span, file, p->offset));
  *out = insert_allocation(at, a)->begin;
  return GROVE_OK;
}

grove_status grove_store_import(int device, const grove_handle *handle, void **out)
{
  grove_status status = GROVE_OK;
  passport p;
  int file = -1;
  memcpy(&p, handle->bytes, sizeof p);
  GROVE_TRY(open_exporter(&p, &file));
  pthread_mutex_lock(&memory.lock);
  status = map_import(device, &p, file, out);
  pthread_mutex_unlock(&memory.lock);
fail:
  if (file >= 0) close(file);
  return status;
}

/* ---- host memory that is pinned ---- */

static grove_status add_pinned(void *begin, int64_t bytes)
{
  GROVE_PASS_CHECK(begin && bytes >= 0 && !grove_store_is_given(begin), GROVE_ERR_DEVICE,
                   "%p is no host memory that could be pinned", begin);
  for (const pinned *p = memory.pins; p < memory.pins + memory.npins; p++)
    GROVE_PASS_CHECK(p->begin != begin && !grove_emulated_overlap(p->begin, p->bytes, begin, bytes),
                     GROVE_ERR_DEVICE, "%lld bytes at %p: pinned already, with %lld bytes at %p",
                     (long long)bytes, begin, (long long)p->bytes, (void *)p->begin);
  GROVE_PASS_GROW(memory.pins, memory.npins, 1);
  memory.pins[memory.npins++] = (pinned){begin, bytes};
  return GROVE_OK;
}

grove_status grove_store_pin(void *begin, int64_t bytes)
{
  pthread_mutex_lock(&memory.lock);
  grove_status status = add_pinned(begin, bytes);
  pthread_mutex_unlock(&memory.lock);
  return status;
}

int64_t grove_store_unpin(void *begin)
{
  int64_t bytes = 0;
  pthread_mutex_lock(&memory.lock);
  for (pinned *p = memory.pins; p < memory.pins + memory.npins; p++)
    if (p->begin == begin) {
      bytes = p->bytes;
      *p = memory.pins[--memory.npins];
      break;
    }
  pthread_mutex_unlock(&memory.lock);
  return bytes;
}

int grove_store_is_pinned(const void *begin, int64_t bytes)
{
  int found = 0;
  const char *a = begin;
  pthread_mutex_lock(&memory.lock);
  for (const pinned *p = memory.pins; p < memory.pins + memory.npins && !found; p++)
    found = a >= p->begin && a + bytes <= p->begin + p->bytes;
  pthread_mutex_unlock(&memory.lock);
  return found;
}
