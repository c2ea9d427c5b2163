#define _POSIX_C_SOURCE 200809L /* setenv */
#include "apart.h"

#include "check.h"
#include "grove_cuda.h"
#include "random.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, BLOCKS = 4096 };
static const size_t POOL = (size_t)192 << 20;

/* What is taken, by ascending address. */
typedef struct taken {
  size_t begin, end;
} taken;

static struct {
  grove_context *ctx;
  char *memory;
  int mixed, chosen;    /* the device, by this file */
  pthread_mutex_t lock; /* for these two: */
  int n;
  taken blocks[BLOCKS];
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *device_for(const char *wanted)
{
  static const char *const devices[][2] = {{"device", "emulated"},
                                           {"lazy", "emulated-lazy"},
                                           {"random", "emulated-random"},
                                           {"mixed", "emulated-random"}};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
    if (strcmp(wanted, devices[i][0]) == 0) return devices[i][1];
  CHECK(0, "TEST_ARRAYS=%s", wanted);
  return NULL;
}

void apart_open(void)
{
  const char *wanted = getenv("TEST_ARRAYS");
  if (!wanted) return;
  pool.mixed = strcmp(wanted, "mixed") == 0;
  pool.chosen = getenv("GROVE_DEVICE") == NULL;
  if (pool.chosen) setenv("GROVE_DEVICE", device_for(wanted), 1);
  CHECK_OK(grove_context_create(MPI_COMM_WORLD, &pool.ctx));
  CHECK_OK(grove_alloc_device(pool.ctx, POOL, (void **)&pool.memory));
}

void apart_close(void)
{
  if (!pool.ctx) return;
  CHECK(pool.n == 0, "%d arrays are still in the device's memory", pool.n);
  CHECK_OK(grove_dealloc(pool.ctx, pool.memory));
  CHECK_OK(grove_context_free(&pool.ctx));
  if (pool.chosen) unsetenv("GROVE_DEVICE"); /* other tests run in the same process */
}

/* The first gap that is large enough; `at` becomes its place in the list. */
static size_t find_gap(size_t bytes, int *at)
{
  size_t begin = 0;
  for (*at = 0; *at < pool.n; (*at)++) {
    if (pool.blocks[*at].begin - begin >= bytes) break;
    begin = pool.blocks[*at].end;
  }
  CHECK(begin + bytes <= POOL && pool.n < BLOCKS, "the device's memory is used up");
  return begin;
}

void *apart_take(size_t bytes, uint64_t lot)
{
  int at = 0;
  if (!pool.ctx || bytes == 0 || (pool.mixed && mix(lot) % 3 == 0)) return NULL;
  bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  pthread_mutex_lock(&pool.lock);
  size_t begin = find_gap(bytes, &at);
  memmove(&pool.blocks[at + 1], &pool.blocks[at], (size_t)(pool.n - at) * sizeof *pool.blocks);
  pool.blocks[at] = (taken){begin, begin + bytes};
  pool.n++;
  pthread_mutex_unlock(&pool.lock);
  return pool.memory + begin;
}

void apart_return(void *memory)
{
  if (!memory) return;
  size_t begin = (size_t)((char *)memory - pool.memory);
  int at = 0;
  pthread_mutex_lock(&pool.lock);
  while (at < pool.n && pool.blocks[at].begin != begin) at++;
  CHECK(at < pool.n, "this memory was not taken");
  pool.n--;
  memmove(&pool.blocks[at], &pool.blocks[at + 1], (size_t)(pool.n - at) * sizeof *pool.blocks);
  pthread_mutex_unlock(&pool.lock);
}

void apart_copy(void *memory, void *host, size_t bytes, int there)
{
  if (!memory) return;
  CHECK_OK(there ? grove_copy(pool.ctx, memory, host, bytes)
                 : grove_copy(pool.ctx, host, memory, bytes));
}
