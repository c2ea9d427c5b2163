/* What tests of the copier begin with: machines, memory with guards around it, copies that are
 * checked. */
#ifndef TEST_COPIER_RIG_H
#define TEST_COPIER_RIG_H

#include "device/copier.h"
#include "grove_cuda.h"
#include "random.h"
#include "rig.h"

#include <math.h>

enum { GUARD = 64 };

/* All links alike. */
static inline grove_machine *even_machine(int devices, double alpha, double rate)
{
  grove_machine *m = NULL;
  CHECK_OK(grove_machine_create("even", &m));
  grove_links_clear(&m->links);
  m->links.devices = devices;
  for (int from = 0; from < GROVE_ENDS; from++)
    for (int to = 0; to < GROVE_ENDS; to++)
      if (from != to && (from < devices || from == GROVE_HOST) &&
          (to < devices || to == GROVE_HOST))
        m->links.link[from][to] = (grove_link_cost){alpha, rate};
  return m;
}

static inline grove_machine *named_machine(const char *name)
{
  grove_machine *m = NULL;
  CHECK_OK(grove_machine_open(name, &m));
  return m;
}

static inline grove_stream *stream_at(int device)
{
  grove_stream *stream = NULL;
  CHECK_OK(driver->create_stream(device, &stream));
  return stream;
}

static inline void *memory_at(int device, int64_t bytes)
{
  void *memory = NULL;
  CHECK_OK(driver->allocate(device, bytes, &memory));
  return memory;
}

static inline void check_conflicts(void)
{
  char sentence[512];
  grove_emulated_conflict(sentence, sizeof sentence);
  CHECK(grove_emulated_conflicts() == 0, "%s", sentence);
}

/* A copy whose source is written, and whose target is read, on the same stream: pinned host memory
 * at either end, with guards around the target. */
typedef struct trip {
  int from, to;
  int64_t bytes, skew; /* the source begins so many bytes into its memory */
  unsigned char *in, *out;
  char *src, *dst;
  int device; /* of the stream */
  grove_stream *stream;
} trip;

static inline trip new_trip(int from, int to, int64_t bytes, int64_t skew, int device, rng *r)
{
  trip t = {.from = from, .to = to, .bytes = bytes, .skew = skew, .device = device};
  t.in = new_pinned((size_t)bytes);
  t.out = new_pinned((size_t)(bytes + 2 * GUARD));
  t.src = memory_at(from, bytes + skew);
  t.dst = memory_at(to, bytes + 2 * GUARD);
  t.stream = stream_at(device);
  uint64_t x = rng_next(r);
  for (int64_t i = 0; i < bytes; i++) t.in[i] = (unsigned char)((x += 0x9e3779b97f4a7c15u) >> 56);
  memset(t.out, 0xa5, (size_t)(bytes + 2 * GUARD));
  return t;
}

static inline char *trip_from(const trip *t)
{
  return t->src + t->skew;
}

static inline char *trip_to(const trip *t)
{
  return t->dst + GUARD;
}

static inline void enqueue_head(const trip *t)
{
  CHECK_OK(driver->copy(t->device, t->stream, t->dst, t->out, t->bytes + 2 * GUARD));
  CHECK_OK(driver->copy(t->device, t->stream, trip_from(t), t->in, t->bytes));
}

static inline void enqueue_tail(const trip *t)
{
  CHECK_OK(driver->copy(t->device, t->stream, t->out, t->dst, t->bytes + 2 * GUARD));
}

static inline void check_trip(const trip *t, const char *what)
{
  CHECK_OK(driver->finish(t->device, t->stream));
  CHECK(memcmp(t->out + GUARD, t->in, (size_t)t->bytes) == 0, "%s: %lld bytes from %d to %d differ",
        what, (long long)t->bytes, t->from, t->to);
  for (int i = 0; i < GUARD; i++)
    CHECK(t->out[i] == 0xa5 && t->out[GUARD + t->bytes + i] == 0xa5, "%s: a guard at %d", what, i);
}

static inline void free_trip(trip *t)
{
  driver->free_stream(t->device, t->stream);
  driver->free(t->from, t->src);
  driver->free(t->to, t->dst);
  free_pinned(t->in);
  free_pinned(t->out);
}

static inline grove_status copy_trip(grove_copier *c, const trip *t)
{
  return grove_copier_copy(c, trip_to(t), t->to, trip_from(t), t->from, (size_t)t->bytes,
                           t->stream);
}

#endif
