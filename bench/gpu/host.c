/* The same exchanges on arrays of the host: what is left of them when the device is taken away. */
#include "hand.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory, as far as exchanges of doubles need a driver ---- */

static grove_status allocate_on_host(int device, int64_t bytes, void **out)
{
  (void)device;
  *out = bench_alloc((size_t)bytes, 1);
  return GROVE_OK;
}

static void free_on_host(int device, void *memory)
{
  (void)device;
  free(memory);
}

static grove_status pin_nothing(void *begin, int64_t bytes)
{
  (void)begin, (void)bytes;
  return GROVE_OK;
}

static void unpin_nothing(void *begin)
{
  (void)begin;
}

static grove_status copy_on_host(int device, grove_stream *stream, void *to, const void *from,
                                 int64_t bytes)
{
  (void)device, (void)stream;
  memcpy(to, from, (size_t)bytes);
  return GROVE_OK;
}

static grove_status finish_nothing(int device, grove_stream *stream)
{
  (void)device, (void)stream;
  return GROVE_OK;
}

const grove_driver bench_host_driver = {
  .name = "host",
  .allocate = allocate_on_host,
  .free = free_on_host,
  .pin = pin_nothing,
  .unpin = unpin_nothing,
  .copy = copy_on_host,
  .finish = finish_nothing,
};

/* ---- by hand ---- */

typedef struct host_list {
  int64_t n;
  int32_t slots[];
} host_list;

static int open_host(const bench_gpu *g)
{
  return g->driver == &bench_host_driver;
}

static void *alloc_host(int64_t bytes)
{
  return bench_alloc((size_t)bytes, 1);
}

static void *list_of_host(const int32_t *slots, int64_t n, int scatters)
{
  host_list *list = bench_alloc(sizeof *list + (size_t)n * sizeof *slots, 1);
  (void)scatters;
  list->n = n;
  memcpy(list->slots, slots, (size_t)n * sizeof *slots);
  return list;
}

static void gather_on_host(void *about, double *message, const double *array)
{
  const host_list *list = about;
  for (int64_t i = 0; i < list->n; i++) message[i] = array[list->slots[i]];
}

static void scatter_on_host(void *about, double *array, const double *message)
{
  const host_list *list = about;
  for (int64_t i = 0; i < list->n; i++) array[list->slots[i]] = message[i];
}

static void copy_by_host(void *to, const void *from, int64_t bytes)
{
  memcpy(to, from, (size_t)bytes);
}

static void finish_host(void) {}

const bench_hand_device bench_hand_host = {
  .about = "the host",
  .open = open_host,
  .pinned = alloc_host,
  .free_pinned = free,
  .list = list_of_host,
  .free_list = free,
  .gather = gather_on_host,
  .scatter = scatter_on_host,
  .copy = copy_by_host,
  .finish = finish_host,
};
