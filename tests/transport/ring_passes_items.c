/* A ring between processes: every reader gets every item, in order and unharmed, however large the
 * items, however few the slots, whoever lags and whoever leaves. Its functions are tried in
 * all interleavings by ring_model.c; here they run in shared memory. */
#include "transport/ring.h"

#include "check.h"
#include "random.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 20000, MOST_SLOTS = 64, CANARY = 0x5a, CANARIES = 4 * GROVE_RING_LINE };

/* ---- memory that all ranks see ---- */

static char *share(size_t bytes, MPI_Win *window)
{
  MPI_Aint size = world_rank() == 0 ? (MPI_Aint)bytes : 0;
  int unit = 1;
  char *memory = NULL;
  MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, window);
  MPI_Win_shared_query(*window, 0, &size, &unit, &memory);
  return memory;
}

/* ---- one case, which all ranks draw from the same numbers ---- */

typedef struct scene {
  grove_ring_size size;
  int64_t bytes; /* of an item, at most */
  int64_t items;
  int writer;
  uint64_t seed;
  char *memory;
} scene;

static grove_ring *ring_of(const scene *s)
{
  return (grove_ring *)(void *)(s->memory + CANARIES);
}

/* Readers are numbered without the writer. */
static int reader_of(const scene *s, int rank)
{
  return rank < s->writer ? rank : rank - 1;
}

static int64_t item_bytes(const scene *s, int64_t k)
{
  return (int64_t)(mix2(s->seed, (uint64_t)k) % (uint64_t)(s->bytes + 1));
}

static unsigned char item_byte(const scene *s, int64_t k, int64_t i)
{
  return (unsigned char)(s->seed + (uint64_t)(k * 131 + i * 7 + i / 251));
}

/* How many items reader r takes before it leaves: most readers all, some few, some none. */
static int64_t reads(const scene *s, int reader)
{
  rng r = rng_from(s->seed + 1, (uint64_t)reader);
  if (rng_one_in(&r, 4)) return rng_below(&r, s->items + 1);
  return rng_one_in(&r, 8) ? 0 : s->items;
}

static scene draw(int64_t number, char *memory)
{
  static const int64_t bytes[] = {0, 1, 8, 47, 48, 49, 112, 113, 1000, MOST_BYTES};
  rng r = rng_from(test_seed(), (uint64_t)number);
  scene s = {.memory = memory, .seed = rng_next(&r)};
  s.writer = (int)rng_below(&r, world_size());
  s.bytes = bytes[rng_below(&r, sizeof bytes / sizeof *bytes)];
  int64_t slots = (int64_t)1 << rng_below(&r, 7);
  s.items = rng_between(&r, 0, 40 + 10 * slots);
  s.size = grove_ring_size_of(s.bytes, slots, world_size() - 1);
  return s;
}

/* ---- writing and reading ---- */

static int all_are(const char *memory, int64_t n, unsigned char value)
{
  for (int64_t i = 0; i < n; i++)
    if ((unsigned char)memory[i] != value) return 0;
  return 1;
}

/* The memory holds anything, and what is around it is not touched. */
static grove_ring_writer make(const scene *s)
{
  size_t bytes = (size_t)grove_ring_bytes(&s->size);
  memset(s->memory, 0xff, bytes + 2 * CANARIES);
  memset(s->memory, CANARY, CANARIES);
  memset(s->memory + CANARIES + bytes, CANARY, CANARIES);
  return grove_ring_make(ring_of(s), &s->size);
}

static void write_item(const scene *s, grove_ring_writer *w, grove_slot *slot, int64_t k)
{
  unsigned char *data = grove_slot_data(slot);
  int64_t n = item_bytes(s, k);
  slot->kind = (uint64_t)(k % 2);
  for (int64_t i = 0; i < n; i++) data[i] = item_byte(s, k, i);
  grove_ring_post(w, slot);
}

static void check_item(const scene *s, const grove_slot *slot, int64_t k)
{
  const unsigned char *data = grove_slot_data(slot);
  int64_t n = item_bytes(s, k);
  CHECK(slot->number == (uint64_t)k + 1, "item %lld has number %llu", (long long)k,
        (unsigned long long)slot->number);
  CHECK(slot->kind == (uint64_t)(k % 2), "item %lld is of kind %llu", (long long)k,
        (unsigned long long)slot->kind);
  for (int64_t i = 0; i < n; i++)
    CHECK(data[i] == item_byte(s, k, i), "byte %lld of item %lld (%lld bytes) is wrong",
          (long long)i, (long long)k, (long long)n);
}

static void write_all(const scene *s, grove_ring_writer *w, rng *mine)
{
  for (int64_t k = 0; k < s->items;) {
    grove_slot *slot = grove_ring_claim(w);
    if (!slot) {
      sched_yield();
      continue;
    }
    CHECK(grove_ring_claim(w) == slot, "a slot that was claimed is not the next one any more");
    write_item(s, w, slot, k++);
    if (rng_one_in(mine, 100)) sched_yield();
    CHECK(grove_ring_consumed(w) <= (uint64_t)k, "more is consumed than was written");
  }
}

/* One reader in three lags: it sleeps now and then. */
static void read_some(const scene *s, grove_ring_reader *r, int64_t n, rng *mine)
{
  int lags = rng_one_in(mine, 3);
  for (int64_t k = 0; k < n;) {
    const grove_slot *slot = grove_ring_peek(r);
    if (!slot) {
      sched_yield();
      continue;
    }
    if (lags && rng_one_in(mine, 20)) linger(1e-4);
    check_item(s, slot, k++);
    CHECK(grove_ring_peek(r) == slot, "an item vanished while it was read");
    grove_ring_pass(r);
  }
}

static void check_end(const scene *s, const grove_ring_writer *w)
{
  int64_t bytes = grove_ring_bytes(&s->size);
  CHECK(grove_ring_is_left(ring_of(s)), "all readers have left, and it is not seen");
  CHECK(grove_ring_consumed(w) == w->next, "what nobody waits for counts as not consumed");
  CHECK(all_are(s->memory, CANARIES, CANARY) &&
          all_are(s->memory + CANARIES + bytes, CANARIES, CANARY),
        "something was written beside the ring");
}

static void pass_items(const scene *s)
{
  rng mine = rng_from(s->seed + 2, (uint64_t)world_rank());
  grove_ring_writer w;
  if (world_rank() == s->writer) {
    w = make(s);
    CHECK(!grove_ring_is_left(ring_of(s)), "nobody has come, and all have left");
  }
  polite_barrier(MPI_COMM_WORLD);
  if (world_rank() == s->writer) {
    write_all(s, &w, &mine);
  } else {
    int me = reader_of(s, world_rank());
    grove_ring_reader r = grove_ring_join(ring_of(s), me);
    read_some(s, &r, reads(s, me), &mine);
    grove_ring_leave(&r);
  }
  polite_barrier(MPI_COMM_WORLD);
  if (world_rank() == s->writer) check_end(s, &w);
  polite_barrier(MPI_COMM_WORLD);
}

/* ---- step by step ---- */

/* The writer fills the ring while nobody reads: exactly as many items as slots. */
static void fill(const scene *s, grove_ring_writer *w, int64_t expected, int64_t *k)
{
  int64_t n = 0;
  for (grove_slot *slot; (slot = grove_ring_claim(w)); n++) write_item(s, w, slot, (*k)++);
  CHECK(n == expected, "%lld items had room, not %lld", (long long)n, (long long)expected);
}

static void take(const scene *s, grove_ring_reader *r, int64_t *k)
{
  const grove_slot *slot = grove_ring_peek(r);
  CHECK(slot, "item %lld is not there", (long long)*k);
  check_item(s, slot, (*k)++);
  grove_ring_pass(r);
}

/* Reader 0 has taken so many items: does the writer wait for it? */
static void check_lag(const grove_ring_writer *w, int64_t taken, int expected)
{
  CHECK(grove_ring_lags(w, 0, 0) == expected, "after %lld items reader 0 %s", (long long)taken,
        expected ? "keeps the writer waiting, and it is not seen" : "is waited for");
  int short_of_last = taken > 0 && grove_ring_lags(w, 0, (uint64_t)taken);
  CHECK(!short_of_last && grove_ring_lags(w, 0, (uint64_t)taken + 1),
        "reader 0 has taken %lld items, and that is not what is seen", (long long)taken);
}

/* The writer has room for what the slowest reader has taken; a reader that left counts no more.
 * Reader 0 takes one item a step, the others two, if there are any; then reader 0 leaves. */
static void in_steps(int64_t slots, char *memory)
{
  scene s = {.bytes = 100, .items = INT64_MAX, .seed = (uint64_t)slots, .memory = memory};
  int writes = world_rank() == s.writer, me = reader_of(&s, world_rank());
  s.size = grove_ring_size_of(s.bytes, slots, world_size() - 1);
  grove_ring_writer w;
  grove_ring_reader r;
  int64_t k = 0;
  if (writes) w = make(&s);
  polite_barrier(MPI_COMM_WORLD);
  if (!writes) r = grove_ring_join(ring_of(&s), me);
  for (int step = 0; step < 3 * slots; step++) {
    if (writes) {
      if (step == 0) check_lag(&w, 0, 0);
      fill(&s, &w, step == 0 ? slots : 1, &k);
      check_lag(&w, step, 1);
    }
    polite_barrier(MPI_COMM_WORLD);
    if (!writes && me == 0) {
      CHECK(grove_ring_is_full(&r), "the writer has no room, and it is not seen");
      take(&s, &r, &k);
      CHECK(!grove_ring_is_full(&r), "there is room, and it is not seen");
    }
    for (int i = 0; !writes && me > 0 && i < 2 && grove_ring_peek(&r); i++) take(&s, &r, &k);
    polite_barrier(MPI_COMM_WORLD);
    if (writes && step + 1 < 3 * slots) check_lag(&w, step + 1, 0); /* then reader 0 leaves */
  }
  if (!writes && me == 0) grove_ring_leave(&r);
  while (!writes && me > 0 && grove_ring_peek(&r)) take(&s, &r, &k);
  polite_barrier(MPI_COMM_WORLD);
  if (writes) {
    CHECK(grove_ring_is_left(ring_of(&s)) == (world_size() == 2), "who has left?");
    if (world_size() > 2) fill(&s, &w, slots, &k);
  }
  polite_barrier(MPI_COMM_WORLD);
  if (!writes && me > 0) grove_ring_leave(&r);
  polite_barrier(MPI_COMM_WORLD);
  if (writes) check_end(&s, &w);
  polite_barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "transport/ring_passes_items");
  if (world_size() < 2) return test_skip("a ring without readers");
  grove_ring_size most = grove_ring_size_of(MOST_BYTES, MOST_SLOTS, world_size() - 1);
  MPI_Win window;
  char *memory = share((size_t)grove_ring_bytes(&most) + 2 * CANARIES, &window);
  for (int64_t slots = 1; slots <= 16; slots *= 2) in_steps(slots, memory);
  for (int64_t i = 0; i < test_samples(60); i++) {
    test_case(i);
    scene s = draw(i, memory);
    pass_items(&s);
  }
  MPI_Win_free(&window);
  return test_end();
}
