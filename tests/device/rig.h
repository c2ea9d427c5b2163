/* What tests of the emulated device begin with: memory of either kind, and a small kernel. */
#ifndef TEST_RIG_H
#define TEST_RIG_H

#include "check.h"
#include "device/emulated.h"

#include <stdlib.h>
#include <string.h>

#ifdef TEST_ANY_DRIVER
static const grove_driver *driver; /* the one that the test is told */
#else
static const grove_driver *const driver = &grove_driver_emulated;
#endif

static inline void *new_device(int64_t bytes)
{
  void *memory = NULL;
  CHECK_OK(driver->allocate(0, bytes, &memory));
  return memory;
}

static inline void *new_pinned(size_t bytes)
{
  void *memory = need(bytes);
  memset(memory, 0, bytes);
  CHECK_OK(driver->pin(memory, (int64_t)bytes));
  return memory;
}

static inline void free_pinned(void *memory)
{
  driver->unpin(memory);
  free(memory);
}

static inline grove_stream *new_stream(void)
{
  grove_stream *stream = NULL;
  CHECK_OK(driver->create_stream(0, &stream));
  return stream;
}

static inline grove_event *new_event(void)
{
  grove_event *event = NULL;
  CHECK_OK(driver->create_event(0, &event));
  return event;
}

/* Copies of host memory that is not pinned, which are done when they return. */
static inline void fill_device(void *memory, int32_t value)
{
  CHECK_OK(driver->copy(0, NULL, memory, &value, sizeof value));
}

static inline int32_t read_device(const void *memory)
{
  int32_t value = 0;
  CHECK_OK(driver->copy(0, NULL, &value, memory, sizeof value));
  return value;
}

static inline uint32_t look(const uint32_t *word)
{
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* ---- a kernel: message[i] = array[i] + 1, for 32-bit numbers ---- */

static inline int32_t *reach(const void *address)
{
  return (int32_t *)((char *)address + grove_device_offset);
}

static inline void add_one(const grove_launch *launch, const int64_t *threads, int64_t count,
                           int64_t step)
{
  int64_t end = launch->jobs[launch->njobs - 1].end;
  for (int64_t k = 0; k < count; k++)
    for (int64_t item = threads[k]; item < end; item += step) {
      int j = 0;
      while (launch->jobs[j].end <= item) j++;
      const grove_job *job = &launch->jobs[j];
      int64_t i = item - (j > 0 ? launch->jobs[j - 1].end : 0);
      reach(job->message)[i] = reach(job->array)[i] + 1;
    }
}

/* to = from + 1 on a stream, in one job. Its recipe is not looked at. */
static inline grove_status launch_add(grove_stream *stream, void *to, void *from, int64_t n)
{
  static grove_launch launch;
  launch.njobs = 1;
  launch.jobs[0] = (grove_job){(const grove_recipe *)to, from, to, n, 0, 0, 0};
  int64_t bytes = n * (int64_t)sizeof(int32_t);
  const grove_access accesses[] = {{from, bytes, 0}, {to, bytes, 1}};
  return driver->launch(0, stream, &launch, accesses, 2);
}

#endif
