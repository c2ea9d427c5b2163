#define _GNU_SOURCE /* memfd_create */
#include "behind.h"

#include "check.h"
#include "device/space.h"
#include "random.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DEVICE = 3, REGIONS = 1024 };

/* Questions of Grove's until a job is done; one in so many takes much longer. */
enum { SOON = 2, LATER = 40, LATER_ONE_IN = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the memory ---- */

typedef struct region {
  char *seen, *given;
  size_t bytes;
} region;

static region regions[REGIONS];

static int is_in(const void *address, const char *memory, size_t bytes)
{
  return memory && (const char *)address >= memory && (const char *)address < memory + bytes;
}

/* The region of an address that Grove was given; NULL: of other memory. */
static region *region_of(const void *given)
{
  for (region *r = regions; r < regions + REGIONS; r++)
    if (is_in(given, r->given, r->bytes)) return r;
  return NULL;
}

static region *region_seen(const void *seen)
{
  for (region *r = regions; r < regions + REGIONS; r++)
    if (is_in(seen, r->seen, r->bytes)) return r;
  return NULL;
}

/* Where the table's functions find what Grove has given them. */
static char *seen_of(const void *given)
{
  const region *r = region_of(given);
  CHECK(r, "memory that is gone, or is not this table's");
  return r->seen + ((const char *)given - r->given);
}

static region map(size_t bytes)
{
  region r = {.bytes = (bytes + 8191) / 4096 * 4096}; /* a page more: slot 0 may lie at the end */
  int file = memfd_create("behind", 0);
  CHECK(file >= 0 && ftruncate(file, (off_t)r.bytes) == 0, "no memory of %zu bytes", r.bytes);
  r.seen = mmap(NULL, r.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  r.given = mmap(NULL, r.bytes, PROT_NONE, MAP_SHARED, file, 0);
  CHECK(r.seen != MAP_FAILED && r.given != MAP_FAILED, "mmap of %zu bytes", r.bytes);
  close(file);
  return r;
}

static const region *add_region(size_t bytes)
{
  region *r = regions;
  pthread_mutex_lock(&lock);
  while (r->seen) CHECK(++r < regions + REGIONS, "too many regions");
  *r = map(bytes);
  pthread_mutex_unlock(&lock);
  return r;
}

static void remove_region(region *r)
{
  munmap(r->seen, r->bytes);
  munmap(r->given, r->bytes);
  *r = (region){0};
}

/* ---- what is under way in it ---- */

typedef enum task { PACK, UNPACK, FETCH } task;

typedef struct job {
  task task;
  const grove_mover *mover;
  grove_shape shape; /* a copy: the caller\'s may change */
  void *slots, *message;
  int64_t begin, count;
  int64_t due; /* at this question */
} job;

/* Jobs in the order in which they were begun. */
static struct {
  job *list; /* from number `first` on */
  int64_t room, first;
  int64_t begun, done;
  int64_t asked, deferred;
} queue;

static void make_room(void)
{
  if (queue.done == queue.begun) queue.first = queue.begun;
  if (queue.begun - queue.first < queue.room) return;
  queue.room = 2 * queue.room + 64;
  queue.list = realloc(queue.list, (size_t)queue.room * sizeof *queue.list);
  CHECK(queue.list, "no memory");
}

static grove_status add(job j)
{
  pthread_mutex_lock(&lock);
  CHECK(region_of(j.slots), "an array that is not in this memory");
  make_room();
  j.due = queue.asked + (mix((uint64_t)queue.begun) % LATER_ONE_IN == 0 ? LATER : SOON);
  queue.list[queue.begun++ - queue.first] = j;
  pthread_mutex_unlock(&lock);
  return GROVE_OK;
}

static void run_job(const job *j)
{
  char *slots = seen_of(j->slots);
  switch (j->task) {
  case PACK:
    CHECK_OK(grove_pack(j->mover, &j->shape, slots, j->begin, j->count, j->message));
    break;
  case UNPACK:
    CHECK_OK(grove_unpack(j->mover, &j->shape, j->message, slots, j->begin, j->count));
    break;
  default: CHECK_OK(grove_pack_fetch(j->mover, &j->shape, slots, j->begin, j->count, j->message));
  }
}

/* ---- the table ---- */

static int owns(const grove_space_kind *kind, const void *array, int *device)
{
  (void)kind;
  pthread_mutex_lock(&lock);
  int found = region_of(array) != NULL;
  pthread_mutex_unlock(&lock);
  *device = DEVICE;
  return found;
}

static grove_status copy(const grove_space_kind *kind, int device, void *to, const void *from,
                         int64_t bytes)
{
  (void)kind;
  CHECK(device == DEVICE, "device %d", device);
  pthread_mutex_lock(&lock);
  if (region_of(to))
    memcpy(seen_of(to), from, (size_t)bytes);
  else
    memcpy(to, seen_of(from), (size_t)bytes);
  pthread_mutex_unlock(&lock);
  return GROVE_OK;
}

/* All operations share one. */
struct grove_lift {
  int opened;
};

static grove_status open_lift(const grove_space_kind *kind, grove_context *ctx, int device,
                              grove_lift **out)
{
  static grove_lift only;
  (void)kind;
  (void)ctx;
  CHECK(device == DEVICE, "device %d", device);
  *out = &only;
  return GROVE_OK;
}

static void close_lift(grove_lift *lift)
{
  (void)lift;
}

static grove_status cover(grove_lift *lift, void *memory, int64_t bytes)
{
  (void)lift;
  CHECK(memory || bytes == 0, "no memory is covered");
  return GROVE_OK;
}

static void share(grove_lift *lift, void *memory, int64_t bytes)
{
  (void)lift;
  CHECK(memory && bytes > 0, "no memory is shared");
}

static void liken(grove_lift *lift, const void *place, int64_t bytes, const void *message)
{
  (void)lift;
  CHECK(place && bytes > 0 && message, "nothing is like nothing");
}

static grove_status prepare(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                            int64_t begin, int64_t count, grove_motion motion)
{
  (void)lift;
  (void)motion;
  CHECK(mover && begin >= 0 && begin + count <= shape->units, "prepared is what there is not");
  return GROVE_OK;
}

static grove_status merge(grove_lift *lift, const grove_mover *mover, grove_motion motion, int n,
                          const grove_window *windows)
{
  for (const grove_window *w = windows; w < windows + n; w++)
    CHECK_OK(prepare(lift, mover, w->shape, w->begin, w->count, motion));
  return GROVE_OK;
}

/* Its messages are the host's, but what is done in this memory is done in one order. */
static grove_status keep_inside(grove_lift *lift, void *memory, int64_t bytes)
{
  return cover(lift, memory, bytes);
}

static grove_status begin(grove_lift *lift, struct CUstream_st *stream)
{
  (void)lift;
  (void)stream;
  return GROVE_OK;
}

static grove_status flush(grove_lift *lift)
{
  (void)lift;
  return GROVE_OK;
}

static grove_status pack(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                         const void *array, int64_t begin, int64_t count, void *message)
{
  (void)lift;
  return add((job){PACK, mover, *shape, (void *)(uintptr_t)array, message, begin, count, 0});
}

static grove_status unpack(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                           const void *message, void *array, int64_t begin, int64_t count)
{
  (void)lift;
  return add((job){UNPACK, mover, *shape, array, (void *)(uintptr_t)message, begin, count, 0});
}

static grove_status fetch(grove_lift *lift, const grove_mover *mover, const grove_shape *shape,
                          void *array, int64_t begin, int64_t count, void *message)
{
  (void)lift;
  return add((job){FETCH, mover, *shape, array, message, begin, count, 0});
}

static int64_t begun(grove_lift *lift, grove_heading heading)
{
  (void)lift;
  (void)heading;
  pthread_mutex_lock(&lock);
  int64_t n = queue.begun;
  pthread_mutex_unlock(&lock);
  return n;
}

static int64_t passed(grove_lift *lift, grove_heading heading)
{
  (void)lift;
  (void)heading;
  pthread_mutex_lock(&lock);
  queue.asked++;
  while (queue.done < queue.begun && queue.list[queue.done - queue.first].due <= queue.asked)
    run_job(&queue.list[queue.done++ - queue.first]);
  queue.deferred += queue.begun - queue.done;
  int64_t n = queue.done;
  pthread_mutex_unlock(&lock);
  return n;
}

static const grove_space_kind behind = {.name = "behind",
                                        .bit = GROVE_SPACE_DEVICE,
                                        .owns = owns,
                                        .copy = copy,
                                        .pack = pack,
                                        .unpack = unpack,
                                        .fetch = fetch,
                                        .open = open_lift,
                                        .close = close_lift,
                                        .cover = cover,
                                        .mirror = cover,
                                        .share = share,
                                        .liken = liken,
                                        .prepare = prepare,
                                        .merge = merge,
                                        .keep_inside = keep_inside,
                                        .begin = begin,
                                        .flush = flush,
                                        .proceed = flush,
                                        .begun = begun,
                                        .passed = passed};

/* ---- for tests ---- */

void behind_use(grove_context *ctx)
{
  static const grove_space_kind *const spaces[] = {&behind, NULL};
  ctx->spaces = spaces;
}

void *behind_create(size_t bytes)
{
  return add_region(bytes)->seen;
}

void behind_free(void *seen)
{
  pthread_mutex_lock(&lock);
  if (seen) remove_region(region_seen(seen));
  pthread_mutex_unlock(&lock);
}

void *behind_given(void *seen)
{
  pthread_mutex_lock(&lock);
  const region *r = region_seen(seen);
  void *given = r ? r->given + ((char *)seen - r->seen) : seen;
  pthread_mutex_unlock(&lock);
  return given;
}

int64_t behind_deferred(void)
{
  pthread_mutex_lock(&lock);
  int64_t n = queue.deferred;
  pthread_mutex_unlock(&lock);
  return n;
}

int64_t behind_under_way(void)
{
  pthread_mutex_lock(&lock);
  int64_t n = queue.begun - queue.done;
  pthread_mutex_unlock(&lock);
  return n;
}

void behind_reset(void)
{
  free(queue.list);
  memset(&queue, 0, sizeof queue);
}
