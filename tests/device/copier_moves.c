/* Copies over several paths arrive whole: all sizes around the edges of chunks, slots and lines,
 * any alignment and choice of paths, many at once, from several threads. What is enqueued before
 * and after them on their streams is in order, whatever the temper. Every wait is needed: without
 * any one of them the order checker finds a conflict. */
#include "copier_rig.h"
#include "threads.h"

#include <stdio.h>

enum { DEVICES = 4, SLOT = 4096, STAGING = SLOT * GROVE_LANE_SLOTS * GROVE_LANES_STAGED };

static grove_copier *new_copier(const grove_driver *with, const grove_machine *m, const char *paths,
                                int64_t staging)
{
  grove_copier *c = NULL;
  CHECK_OK(grove_copier_open(with, DEVICES, m, paths, staging, &c));
  return c;
}

static void move_once(grove_copier *c, int from, int to, int64_t bytes, rng *r)
{
  trip t = new_trip(from, to, bytes, rng_below(r, 300), (int)rng_below(r, DEVICES), r);
  enqueue_head(&t);
  CHECK_OK(copy_trip(c, &t));
  enqueue_tail(&t);
  check_trip(&t, "one copy");
  free_trip(&t);
}

/* ---- sizes and paths ---- */

static void draw_paths(rng *r, char *out, size_t room)
{
  static const char *const names[] = {"direct", "gpu0", "gpu1", "gpu2", "gpu3", "host"};
  size_t used = 0;
  uint64_t chosen = 1 + (uint64_t)rng_below(r, 63);
  for (int i = 0; i < 6; i++)
    if (chosen >> i & 1)
      used += (size_t)snprintf(out + used, room - used, "%s%s", used ? "," : "", names[i]);
}

static void try_sizes(rng *r)
{
  static const int64_t edges[] = {1,
                                  GROVE_SPLIT_ALIGNMENT,
                                  4 * GROVE_SPLIT_ALIGNMENT,
                                  SLOT,
                                  3 * SLOT,
                                  4 * SLOT,
                                  12 * SLOT,
                                  60 * SLOT,
                                  1 << 20};
  grove_machine *m = even_machine(DEVICES, 1e-9, 10e9);
  grove_copier *c = new_copier(driver, m, NULL, STAGING);
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
    for (int64_t off = -1; off <= 1; off++)
      if (edges[i] + off > 0) {
        int from = (int)rng_below(r, DEVICES);
        move_once(c, from, (from + 1 + (int)rng_below(r, DEVICES - 1)) % DEVICES, edges[i] + off,
                  r);
      }
  CHECK_OK(grove_copier_free(&c));
  CHECK_OK(grove_machine_free(&m));
}

static void try_subsets(rng *r)
{
  char paths[64];
  grove_machine *m = even_machine(DEVICES, 1e-9, 10e9);
  for (int i = 0; i < 12; i++) {
    draw_paths(r, paths, sizeof paths);
    test_hint("paths %s", paths);
    grove_copier *c = new_copier(driver, m, paths, STAGING);
    for (int k = 0; k < 4; k++) {
      int from = (int)rng_below(r, DEVICES), to = (from + 1 + (int)rng_below(r, 3)) % DEVICES;
      move_once(c, from, to, 1 + rng_below(r, 1 << rng_between(r, 4, 19)), r);
    }
    CHECK_OK(grove_copier_free(&c));
  }
  CHECK_OK(grove_machine_free(&m));
}

/* The slots that users have, and a machine with latencies. By one path alone the edges are those of
 * its slots. */
static void try_large(rng *r)
{
  enum { USUAL = 64 << 20 };
  static const int64_t sizes[] = {2 << 20,  (4 << 20) + 1,    (8 << 20) - 1, (8 << 20) + 257,
                                  16 << 20, (32 << 20) - 255, 64 << 20};
  static const char *const paths[] = {"gpu2", "host"};
  const int64_t slot =
    USUAL / (GROVE_LANE_SLOTS * GROVE_LANES_STAGED) / GROVE_SPLIT_ALIGNMENT * GROVE_SPLIT_ALIGNMENT;
  grove_machine *m = named_machine("beluga");
  grove_copier *c = new_copier(driver, m, NULL, USUAL);
  for (int i = 0; i < 7; i++) move_once(c, i % 3, 3, sizes[i], r);
  CHECK_OK(grove_copier_free(&c));
  for (int i = 0; i < 2; i++) {
    c = new_copier(driver, m, paths[i], USUAL);
    for (int off = -1; off <= 1; off++)
      move_once(c, 0, 1, (off < 0 ? 1 : GROVE_LANE_SLOTS) * slot + off, r);
    CHECK_OK(grove_copier_free(&c));
  }
  CHECK_OK(grove_machine_free(&m));
}

/* ---- several at once ---- */

/* Rounds of 1 to 16 copies that are all enqueued before any is waited for; some share a stream. */
static void try_many(rng *r)
{
  grove_machine *m = even_machine(DEVICES, 1e-9, 10e9);
  grove_copier *c = new_copier(driver, m, NULL, 4 * STAGING);
  for (int n = 1; n <= 16; n += n < 4 ? 1 : 6) {
    trip trips[16];
    for (int i = 0; i < n; i++) {
      int from = i % 2, to = n > 8 ? (from + 1 + (int)rng_below(r, 3)) % DEVICES : 1 - from;
      trips[i] = new_trip(from, to, 1 + rng_below(r, 60000), rng_below(r, 300), from, r);
    }
    for (int i = 0; i < n; i++) {
      enqueue_head(&trips[i]);
      CHECK_OK(copy_trip(c, &trips[i]));
      if (i % 3 == 0) CHECK_OK(copy_trip(c, &trips[i])); /* again, behind it */
      enqueue_tail(&trips[i]);
    }
    for (int i = n - 1; i >= 0; i--) check_trip(&trips[i], "many at once");
    for (int i = 0; i < n; i++) free_trip(&trips[i]);
  }
  CHECK_OK(grove_copier_free(&c));
  CHECK_OK(grove_machine_free(&m));
}

static void copy_in_thread(int number, void *self)
{
  rng r = rng_from(test_seed(), (uint64_t)(100 + number));
  for (int i = 0; i < 6; i++) {
    int from = number % 2;
    move_once(self, from, 1 - from, 1 + rng_below(&r, 80000), &r);
  }
}

static void try_threads(void)
{
  grove_machine *m = even_machine(DEVICES, 1e-9, 10e9);
  grove_copier *c = new_copier(driver, m, NULL, STAGING);
  in_threads(4, copy_in_thread, c);
  CHECK_OK(grove_copier_free(&c));
  CHECK_OK(grove_machine_free(&m));
}

/* One stream is stuck until the host has seen what another has copied: nothing may make the second
 * wait for the first. */
static void try_independence(rng *r)
{
  grove_machine *m = even_machine(DEVICES, 1e-9, 10e9);
  grove_copier *c = new_copier(driver, m, NULL, STAGING);
  trip stuck = new_trip(0, 1, 50000, 0, 0, r), other = new_trip(0, 1, 50000, 0, 0, r);
  uint32_t *word = new_pinned(sizeof *word);
  CHECK_OK(driver->await(0, stuck.stream, word, 1));
  enqueue_head(&stuck);
  CHECK_OK(copy_trip(c, &stuck));
  enqueue_tail(&stuck);
  enqueue_head(&other);
  CHECK_OK(copy_trip(c, &other));
  enqueue_tail(&other);
  check_trip(&other, "the one that is free");
  __atomic_store_n(word, 1, __ATOMIC_RELEASE);
  check_trip(&stuck, "the one that was stuck");
  free_trip(&stuck);
  free_trip(&other);
  free_pinned(word);
  CHECK_OK(grove_copier_free(&c));
  CHECK_OK(grove_machine_free(&m));
}

/* ---- every wait is needed ---- */

static int64_t waits, dropped; /* of the driver below */

static grove_status wait_or_not(int device, grove_stream *stream, grove_event *event)
{
  return ++waits == dropped ? GROVE_OK : grove_driver_emulated.after(device, stream, event);
}

/* Work that is enqueued behind a gate cannot begin, whatever the time, until the gate is open. */
typedef struct gate {
  uint32_t *word;
  grove_stream *stream; /* its own: what waits for a word is not checked for its order */
  grove_event *event;
} gate;

static gate new_gate(void)
{
  gate g = {new_pinned(sizeof *g.word), stream_at(0), NULL};
  CHECK_OK(driver->create_event(0, &g.event));
  CHECK_OK(driver->await(0, g.stream, g.word, 1));
  CHECK_OK(driver->record(0, g.event, g.stream));
  return g;
}

static void open_gate(const gate *g)
{
  __atomic_store_n(g->word, 1, __ATOMIC_RELEASE);
}

static void free_gate(gate *g)
{
  CHECK_OK(driver->finish(0, g->stream));
  driver->free_event(g->event);
  driver->free_stream(0, g->stream);
  free_pinned(g->word);
}

/* Two copies on one stream, of which none begins before both are enqueued, so that lanes are used
 * again while they are busy. Returns whether a conflict was found. */
static int copy_without(int64_t which, const grove_driver *faulty, const grove_machine *m, rng *r)
{
  grove_copier *c = new_copier(faulty, m, "direct,gpu2,host", STAGING);
  trip t = new_trip(0, 1, 8 * 6 * SLOT, 0, 0, r);
  gate g = new_gate();
  waits = 0;
  dropped = which;
  CHECK_OK(driver->after(0, t.stream, g.event));
  enqueue_head(&t);
  grove_status status = copy_trip(c, &t);
  if (status == GROVE_OK) status = driver->copy(0, t.stream, trip_from(&t), t.in, t.bytes);
  if (status == GROVE_OK) status = copy_trip(c, &t);
  if (status == GROVE_OK) status = driver->copy(0, t.stream, t.out, t.dst, t.bytes + 2 * GUARD);
  CHECK(status == GROVE_OK || which > 0, "without a fault: %s", grove_last_error());
  dropped = 0;
  int is_found = grove_emulated_conflicts() > 0;
  grove_emulated_forget_conflicts();
  open_gate(&g);
  CHECK_OK(driver->finish(0, t.stream));
  CHECK_OK(grove_copier_free(&c)); /* first: the stream may not have waited for its lanes */
  free_trip(&t);
  free_gate(&g);
  return is_found;
}

/* That of a lane for what it carried before is for a stream whose name another one had: this stream
 * is behind that anyway. There are two lanes. */
static void try_waits(rng *r)
{
  grove_driver faulty = grove_driver_emulated;
  grove_machine *m = even_machine(DEVICES, 1e-9, 10e9);
  faulty.after = wait_or_not;
  grove_emulated_set_temper(GROVE_TEMPER_LAZY, 1);
  int64_t all = 1, found = 0;
  for (int64_t which = 0; which <= all; which++) {
    test_hint("wait %lld", (long long)which);
    found += copy_without(which, &faulty, m, r);
    if (which == 0) all = waits;
    CHECK(which > 0 || all > 20, "there are %lld waits", (long long)all);
  }
  CHECK(found == all - 2, "of %lld waits %lld are missed", (long long)all, (long long)found);
  CHECK_OK(grove_machine_free(&m));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "device/copier_moves");
  grove_emulated_set_devices(DEVICES);
  for (int temper = 0; temper < 3; temper++) {
    rng r = rng_from(test_seed(), (uint64_t)temper);
    test_case(temper);
    grove_emulated_set_temper((grove_temper)temper, test_seed());
    try_sizes(&r);
    try_subsets(&r);
    if (temper == 0) try_large(&r);
    try_many(&r);
    try_threads();
    try_independence(&r);
    check_conflicts();
  }
  rng r = rng_from(test_seed(), 3);
  try_waits(&r);
  grove_emulated_reset();
  return test_end();
}
