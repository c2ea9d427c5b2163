/* Do copies over SM links and by the host arrive? All lists of paths, sizes around the edges of
 * lines, slots and chunks, any alignment, both ways at once. */
#include "links/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, SLOT = 64 << 10, SMALL_STAGING = SLOT * GROVE_LANE_SLOTS * GROVE_LANES_STAGED };

/* A copy each way, from pinned memory by the devices back to it, with guards around the target. */
typedef struct checked_trip {
  const links_rig *rig;
  int64_t bytes, skew;
  unsigned char *in[2], *out[2];
  char *from[2], *to[2];
  grove_stream *streams[2];
} checked_trip;

static void *pinned_bytes(const links_rig *rig, int64_t bytes)
{
  void *memory = malloc((size_t)bytes);
  links_need(memory != NULL, "no memory");
  links_need_grove(rig->driver->pin(memory, bytes));
  return memory;
}

static void open_checked(const links_rig *rig, int64_t bytes, int64_t skew, checked_trip *t)
{
  uint64_t x = (uint64_t)bytes * 0x9e3779b97f4a7c15u + (uint64_t)skew;
  *t = (checked_trip){.rig = rig, .bytes = bytes, .skew = skew};
  for (int i = 0; i < 2; i++) {
    t->in[i] = pinned_bytes(rig, bytes);
    t->out[i] = pinned_bytes(rig, bytes + 2 * GUARD);
    for (int64_t k = 0; k < bytes; k++)
      t->in[i][k] = (unsigned char)((x += 0x9e3779b97f4a7c15u) >> 56);
    memset(t->out[i], 0xa5, (size_t)(bytes + 2 * GUARD));
    links_need_grove(rig->driver->allocate(i, bytes + skew, (void **)&t->from[i]));
    links_need_grove(rig->driver->allocate(1 - i, bytes + 2 * GUARD, (void **)&t->to[i]));
    links_need_grove(rig->driver->create_stream(i, &t->streams[i]));
  }
}

static void close_checked(checked_trip *t)
{
  const grove_driver *driver = t->rig->driver;
  for (int i = 0; i < 2; i++) {
    driver->free_stream(i, t->streams[i]);
    driver->free(i, t->from[i]);
    driver->free(1 - i, t->to[i]);
    driver->unpin(t->in[i]);
    driver->unpin(t->out[i]);
    free(t->in[i]);
    free(t->out[i]);
  }
}

static void enqueue_checked(const checked_trip *t, grove_copier *c, int i)
{
  const grove_driver *driver = t->rig->driver;
  grove_stream *stream = t->streams[i];
  char *from = t->from[i] + t->skew;
  links_need_grove(driver->copy(i, stream, t->to[i], t->out[i], t->bytes + 2 * GUARD));
  links_need_grove(driver->copy(i, stream, from, t->in[i], t->bytes));
  links_need_grove(grove_copier_copy(c, t->to[i] + GUARD, -1, from, -1, (size_t)t->bytes, stream));
  links_need_grove(driver->copy(i, stream, t->out[i], t->to[i], t->bytes + 2 * GUARD));
}

static int is_right(const checked_trip *t, int i)
{
  const unsigned char *out = t->out[i];
  for (int k = 0; k < GUARD; k++)
    if (out[k] != 0xa5 || out[GUARD + t->bytes + k] != 0xa5) return 0;
  return memcmp(out + GUARD, t->in[i], (size_t)t->bytes) == 0;
}

static int check_copy(const links_rig *rig, grove_copier *c, const char *paths, int64_t bytes,
                      int64_t skew)
{
  checked_trip t;
  int wrong = 0;
  open_checked(rig, bytes, skew, &t);
  for (int i = 0; i < 2; i++) enqueue_checked(&t, c, i);
  for (int i = 0; i < 2; i++) links_need_grove(rig->driver->finish(i, t.streams[i]));
  for (int i = 0; i < 2; i++)
    if (!is_right(&t, i)) {
      wrong++;
      printf("wrong: %lld bytes from %d to %d, paths %s, %lld bytes into an allocation\n",
             (long long)bytes, i, 1 - i, paths ? paths : "all", (long long)skew);
    }
  close_checked(&t);
  return wrong;
}

/* Links that are all alike, so that all paths are used, with slots of this size. */
static grove_copier *even_copier(const links_rig *rig, const char *paths, int64_t staging)
{
  links_rig even = *rig;
  even.staging = staging;
  links_need_grove(grove_machine_create("even", &even.machine));
  grove_links *l = &even.machine->links;
  grove_links_clear(l);
  l->devices = rig->devices;
  for (int from = 0; from < GROVE_ENDS; from++)
    for (int to = 0; to < GROVE_ENDS; to++)
      if (from != to && (from < l->devices || from == GROVE_HOST) &&
          (to < l->devices || to == GROVE_HOST))
        l->link[from][to] = (grove_link_cost){1e-8, 10e9};
  grove_copier *c = links_copier(&even, paths);
  grove_machine_free(&even.machine);
  return c;
}

static int check_paths(const links_rig *rig, const char *paths, int64_t staging, int *n)
{
  static const int64_t edges[] = {1, 16, 256, 4096, SLOT, 3 * SLOT, 1 << 20, 8 << 20, 64 << 20};
  static const int64_t skews[] = {0, 1, 4, 8, 256, 2};
  grove_copier *c = even_copier(rig, paths, staging);
  int wrong = 0, turn = 0;
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
    for (int off = -1; off <= 1; off++) {
      int64_t bytes = edges[i] + off;
      if (bytes < 1 || bytes > rig->most) continue;
      wrong += check_copy(rig, c, paths, bytes, skews[turn++ % 6]);
      *n += 2;
    }
  links_need_grove(grove_copier_free(&c));
  return wrong;
}

int links_check(const links_rig *rig)
{
  static const char *const paths[] = {"direct", "host", "direct,host", "direct,gpu2", "gpu2", NULL};
  int wrong = 0, n = 0;
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    if (paths[i] && strstr(paths[i], "gpu2") && rig->devices < 3) continue;
    wrong += check_paths(rig, paths[i], SMALL_STAGING, &n);
    wrong += check_paths(rig, paths[i], rig->staging, &n);
  }
  printf("data: %d of %d copies are right; links had %lld chunks\n", n - wrong, n,
         (long long)sm_links_copies());
  return wrong;
}
