/* The arena: blocks of this rank never overlap, join when they are free, and come back when the
 * others have left them; regions go back to the system; every rank reaches what another one has
 * posted, step after step. */
#include "context/arena.h"

#include "check.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum { REST_BYTES = 1000, FIRST_REGION = 1 << 16 };

/* ---- an arena of all ranks ---- */

typedef struct scene {
  grove_arena *arena;
  int file; /* behind the segment */
} scene;

static scene open_scene(void)
{
  char name[GROVE_SEGMENT_NAME] = "";
  size_t bytes = (size_t)grove_arena_head_bytes(world_size()) + REST_BYTES;
  grove_segment segment = {0};
  scene s = {0};
  MPI_Request request;
  if (world_rank() == 0) {
    CHECK_OK(grove_segment_create(bytes, name, &segment));
    CHECK_OK(grove_arena_create(&segment, world_size(), 0, &s.arena));
  }
  MPI_Ibcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD, &request);
  polite_wait(&request);
  if (world_rank() != 0) {
    CHECK_OK(grove_segment_attach(name, bytes, &segment));
    CHECK_OK(grove_arena_create(&segment, world_size(), world_rank(), &s.arena));
  }
  polite_barrier(MPI_COMM_WORLD);
  if (world_rank() == 0) grove_segment_unlink(name);
  s.file = segment.file;
  return s;
}

static void close_scene(scene *s)
{
  polite_barrier(MPI_COMM_WORLD);
  grove_arena_free(&s->arena);
  CHECK(!s->arena, "a freed arena is not NULL");
  grove_arena_free(&s->arena);
}

/* Memory that the segment takes from the system. */
static int64_t real_bytes(const scene *s)
{
  struct stat about;
  CHECK(fstat(s->file, &about) == 0, "the segment's file is closed");
  return (int64_t)about.st_blocks * 512;
}

/* ---- blocks with a pattern ---- */

static void fill(void *memory, int64_t bytes, uint64_t salt)
{
  unsigned char *m = memory;
  for (int64_t i = 0; i < bytes; i++) m[i] = (unsigned char)(salt * 31 + (uint64_t)i * 7);
}

static void check_filled(const void *memory, int64_t bytes, uint64_t salt)
{
  const unsigned char *m = memory;
  for (int64_t i = 0; i < bytes; i++)
    CHECK(m[i] == (unsigned char)(salt * 31 + (uint64_t)i * 7), "byte %lld of block %llu is wrong",
          (long long)i, (unsigned long long)salt);
}

static grove_block *alloc(const scene *s, int64_t bytes)
{
  grove_block *b = NULL;
  void *reached = NULL;
  CHECK_OK(grove_arena_alloc(s->arena, bytes, &b));
  CHECK(b->bytes >= bytes, "%lld bytes, not %lld", (long long)b->bytes, (long long)bytes);
  CHECK((uintptr_t)b->memory % 128 == 0 && b->bytes % 128 == 0, "not on lines of its own");
  CHECK(b->spot.offset >= 0 && b->spot.offset + b->bytes <= b->spot.region_bytes,
        "the block is not in its region");
  CHECK_OK(grove_arena_reach(s->arena, &b->spot, &reached));
  CHECK(reached == b->memory, "the spot of an own block leads somewhere else");
  return b;
}

/* ---- one rank's blocks ---- */

enum { LIVE = 60 };

/* Takes and gives back at random. What is taken keeps its content until it is given back. */
static void random_blocks(const scene *s, int64_t steps)
{
  grove_block *block[LIVE] = {NULL};
  uint64_t salt[LIVE];
  rng r = rng_from(test_seed(), (uint64_t)world_rank());
  for (int64_t i = 0; i < steps; i++) {
    int at = (int)rng_below(&r, LIVE);
    if (block[at]) {
      check_filled(block[at]->memory, block[at]->bytes, salt[at]);
      grove_arena_release(s->arena, block[at]);
      block[at] = NULL;
    } else {
      int64_t bytes = rng_below(&r, rng_one_in(&r, 10) ? 200000 : 5000);
      block[at] = alloc(s, bytes);
      salt[at] = rng_next(&r);
      fill(block[at]->memory, block[at]->bytes, salt[at]);
    }
  }
  for (int at = 0; at < LIVE; at++) {
    if (!block[at]) continue;
    check_filled(block[at]->memory, block[at]->bytes, salt[at]);
    grove_arena_release(s->arena, block[at]);
  }
}

/* Blocks that fill the first region, given back in any order, are one large block again. */
static void neighbours_join(void)
{
  enum { BLOCKS = 32, BYTES = FIRST_REGION / BLOCKS };
  scene s = open_scene();
  for (int again = 0; again < 20; again++) {
    grove_block *block[BLOCKS];
    int64_t order[BLOCKS];
    rng r = rng_from(test_seed(), (uint64_t)again);
    for (int i = 0; i < BLOCKS; i++) {
      block[i] = alloc(&s, BYTES);
      order[i] = i;
      CHECK(block[i]->fresh == (again == 0 && i == 0), "block %d of round %d: fresh is %d", i,
            again, block[i]->fresh);
    }
    rng_shuffle(&r, BLOCKS, order);
    for (int i = 0; i < BLOCKS; i++) grove_arena_release(s.arena, block[order[i]]);
    grove_block *whole = alloc(&s, FIRST_REGION);
    CHECK(!whole->fresh, "round %d: what was given back did not join", again);
    grove_arena_release(s.arena, whole);
  }
  close_scene(&s);
}

/* ---- blocks that others still read ---- */

static int is_idle(const void *memory)
{
  return *(const int *)memory != 0;
}

/* Somebody reads it: it must stay until he has left, and then it is used before more is taken. */
static void retired_blocks_come_back(void)
{
  enum { BLOCKS = 4, BYTES = FIRST_REGION / BLOCKS };
  scene s = open_scene();
  grove_block *block[BLOCKS];
  void *memory[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) {
    block[i] = alloc(&s, BYTES);
    memory[i] = block[i]->memory;
    *(int *)memory[i] = 0;
  }
  for (int i = 0; i < BLOCKS; i++) grove_arena_retire(s.arena, block[i], is_idle);
  grove_block *next = alloc(&s, BYTES);
  CHECK(next->fresh, "a block was given away while somebody reads it");
  fill(next->memory, next->bytes, 1);
  for (int i = 0; i < BLOCKS; i++) CHECK(*(int *)memory[i] == 0, "block %d was written", i);
  grove_arena_release(s.arena, next);
  *(int *)memory[1] = *(int *)memory[2] = 1;   /* they left, side by side */
  grove_block *rest = alloc(&s, FIRST_REGION); /* the second region, whole again */
  grove_block *pair = alloc(&s, 2 * BYTES);
  CHECK(pair->memory == memory[1], "what was left is not used");
  CHECK(!rest->fresh && !pair->fresh, "more was taken than needed");
  *(int *)memory[0] = *(int *)memory[3] = 1;
  grove_arena_release(s.arena, pair);
  grove_block *whole = alloc(&s, FIRST_REGION);
  CHECK(whole->memory == memory[0] && !whole->fresh, "the first region is not whole again");
  *(int *)whole->memory = 1;
  grove_arena_retire(s.arena, whole, is_idle); /* idle already */
  whole = alloc(&s, FIRST_REGION);
  CHECK(whole->memory == memory[0], "an idle block is not free at once");
  close_scene(&s);
}

/* ---- regions ---- */

/* A fresh block that others could not map goes with its region; the rest works on. */
static void withdrawn_regions_are_gone(void)
{
  scene s = open_scene();
  int64_t before = real_bytes(&s);
  polite_barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 50; i++) {
    grove_block *b = alloc(&s, 1000 + 3000 * i);
    CHECK(b->fresh, "nothing is left, and the block is not fresh");
    fill(b->memory, b->bytes, (uint64_t)i);
    grove_arena_withdraw(s.arena, b);
  }
  polite_barrier(MPI_COMM_WORLD);
  CHECK(real_bytes(&s) == before, "%lld bytes are still there", (long long)real_bytes(&s) - before);
  polite_barrier(MPI_COMM_WORLD);
  grove_block *kept = alloc(&s, 5000);
  fill(kept->memory, kept->bytes, 7);
  grove_block *large = alloc(&s, 10 * FIRST_REGION);
  CHECK(large->fresh, "no room for it, and it is not fresh");
  grove_arena_withdraw(s.arena, large);
  check_filled(kept->memory, kept->bytes, 7);
  random_blocks(&s, 100);
  check_filled(kept->memory, kept->bytes, 7);
  close_scene(&s);
}

/* A region of its own is real memory at once, zeroed, and gone when it is given back. */
static void regions_come_and_go(void)
{
  enum { REGIONS = 10 };
  scene s = open_scene();
  grove_block *region[REGIONS];
  int64_t before = real_bytes(&s);
  polite_barrier(MPI_COMM_WORLD);
  for (int again = 0; again < 5; again++) {
    int64_t total = 0;
    for (int i = 0; i < REGIONS; i++) {
      int64_t bytes = 1 + 10007 * i;
      CHECK_OK(grove_arena_alloc_region(s.arena, bytes, &region[i]));
      CHECK(region[i]->bytes >= bytes && (uintptr_t)region[i]->memory % 4096 == 0, "a bad region");
      for (int64_t k = 0; k < bytes; k++)
        CHECK(((char *)region[i]->memory)[k] == 0, "byte %lld is not 0", (long long)k);
      fill(region[i]->memory, region[i]->bytes, (uint64_t)i);
      total += region[i]->bytes;
    }
    polite_barrier(MPI_COMM_WORLD);
    CHECK(real_bytes(&s) == before + total * world_size(), "%lld bytes are real, not %lld",
          (long long)(real_bytes(&s) - before), (long long)total * world_size());
    polite_barrier(MPI_COMM_WORLD);
    for (int i = 0; i < REGIONS; i++) {
      check_filled(region[(3 * i) % REGIONS]->memory, region[(3 * i) % REGIONS]->bytes,
                   (uint64_t)((3 * i) % REGIONS));
      grove_arena_release_region(s.arena, region[(3 * i) % REGIONS]);
    }
    polite_barrier(MPI_COMM_WORLD);
    CHECK(real_bytes(&s) == before, "%lld bytes stay", (long long)(real_bytes(&s) - before));
    polite_barrier(MPI_COMM_WORLD);
  }
  close_scene(&s);
}

/* More than there can be is refused, and changes nothing. A mount without a limit is left in peace:
 * it would take all memory of the machine. */
static void too_much_is_refused(void)
{
  const int64_t too_much = (int64_t)1 << 46;
  struct statvfs shm;
  if (statvfs("/dev/shm", &shm) != 0 || shm.f_blocks == 0) return;
  scene s = open_scene();
  grove_block *b = NULL, *kept = alloc(&s, 100);
  fill(kept->memory, kept->bytes, 3);
  polite_barrier(MPI_COMM_WORLD);
  int64_t before = real_bytes(&s);
  polite_barrier(MPI_COMM_WORLD);
  for (int again = 0; again < 10; again++) {
    CHECK_STATUS(grove_arena_alloc(s.arena, too_much, &b), GROVE_ERR_MEMORY);
    CHECK_STATUS(grove_arena_alloc_region(s.arena, too_much, &b), GROVE_ERR_MEMORY);
  }
  CHECK(!b, "a block that there is not");
  polite_barrier(MPI_COMM_WORLD);
  CHECK(real_bytes(&s) == before, "a refusal has taken memory");
  polite_barrier(MPI_COMM_WORLD);
  check_filled(kept->memory, kept->bytes, 3);
  grove_arena_withdraw(s.arena, alloc(&s, 10 * FIRST_REGION)); /* there is still what there was */
  close_scene(&s);
}

/* ---- between the ranks ---- */

/* What a rank says at a step: all ranks can tell. */
static grove_notice_kind kind_at(int64_t step, int seat)
{
  return (grove_notice_kind)(mix2(test_seed() + (uint64_t)step, (uint64_t)seat) % 3);
}

static uint64_t salt_at(int64_t step, int seat)
{
  return mix2((uint64_t)step, (uint64_t)seat + 17);
}

static grove_block *post(const scene *s, int64_t step)
{
  grove_notice_kind kind = kind_at(step, world_rank());
  grove_block *b = NULL;
  if (kind == GROVE_NOTICE_SPOT) {
    int64_t bytes = (int64_t)(salt_at(step, world_rank()) % 30000);
    if (step % 3 == 0)
      CHECK_OK(grove_arena_alloc_region(s->arena, bytes + 1, &b));
    else
      b = alloc(s, bytes);
    fill(b->memory, b->bytes, salt_at(step, world_rank()));
    *(int64_t *)b->memory = b->bytes;
  }
  grove_arena_post(s->arena, kind, b ? &b->spot : NULL);
  return b;
}

static void check_notice(const scene *s, int64_t step, int seat)
{
  grove_spot spot = {0};
  void *memory = NULL;
  grove_notice_kind kind = grove_arena_read(s->arena, seat, &spot);
  CHECK(kind == kind_at(step, seat), "seat %d said %d at step %lld", seat, (int)kind,
        (long long)step);
  if (kind != GROVE_NOTICE_SPOT) return;
  CHECK_OK(grove_arena_reach(s->arena, &spot, &memory));
  int64_t bytes = *(int64_t *)memory;
  CHECK(bytes >= 128 && bytes <= spot.region_bytes - spot.offset, "%lld bytes", (long long)bytes);
  uint64_t salt = salt_at(step, seat);
  for (int64_t i = 8; i < bytes; i++)
    CHECK(((unsigned char *)memory)[i] == (unsigned char)(salt * 31 + (uint64_t)i * 7),
          "byte %lld of what seat %d posted at step %lld is wrong", (long long)i, seat,
          (long long)step);
  if (step % 3 == 0 && seat != world_rank()) grove_arena_forget(s->arena, spot.region);
}

/* Ranks are up to one step apart: there is one barrier a step. The block of a step is given back
 * when the next one is over. */
static void notices(int64_t steps)
{
  scene s = open_scene();
  grove_block *last = NULL, *now = NULL;
  rng mine = rng_from(test_seed() + 5, (uint64_t)world_rank());
  for (int64_t step = 1; step <= steps; step++) {
    test_case(step);
    if (rng_one_in(&mine, 20)) linger(1e-4);
    now = post(&s, step);
    polite_barrier(MPI_COMM_WORLD); /* the collective step */
    for (int seat = 0; seat < world_size(); seat++) check_notice(&s, step, seat);
    if (last && (step - 1) % 3 == 0)
      grove_arena_release_region(s.arena, last);
    else if (last)
      grove_arena_release(s.arena, last);
    last = now;
  }
  polite_barrier(MPI_COMM_WORLD); /* all have read the last ones */
  if (last && steps % 3 == 0) grove_arena_release_region(s.arena, last);
  close_scene(&s);
}

/* A rank that says nothing at a step is not taken by what it said two steps before. */
static void old_notices_do_not_count(void)
{
  scene s = open_scene();
  grove_block *b = alloc(&s, 100);
  grove_spot spot = {0};
  for (int step = 1; step <= 2; step++) grove_arena_post(s.arena, GROVE_NOTICE_SPOT, &b->spot);
  polite_barrier(MPI_COMM_WORLD);
  if (world_rank() == 0) grove_arena_post(s.arena, GROVE_NOTICE_SPOT, &b->spot);
  polite_barrier(MPI_COMM_WORLD);
  for (int seat = 0; seat < world_size() && world_rank() == 0; seat++) {
    grove_notice_kind kind = grove_arena_read(s.arena, seat, &spot);
    CHECK(kind == (seat == 0 ? GROVE_NOTICE_SPOT : GROVE_NOTICE_NOTHING), "seat %d said %d", seat,
          (int)kind);
  }
  polite_barrier(MPI_COMM_WORLD);
  close_scene(&s);
}

/* All ranks take memory at once: nobody gets another one's. */
static void ranks_do_not_meet(void)
{
  enum { BLOCKS = 30 };
  scene s = open_scene();
  grove_block *block[BLOCKS];
  uint64_t salt = (uint64_t)world_rank() * 1000;
  CHECK((char *)grove_arena_rest(s.arena) != NULL, "nothing behind the head");
  memset(grove_arena_rest(s.arena), 0x77, REST_BYTES);
  for (int i = 0; i < BLOCKS; i++) {
    block[i] = alloc(&s, 1 + 3000 * i);
    fill(block[i]->memory, block[i]->bytes, salt + (uint64_t)i);
  }
  polite_barrier(MPI_COMM_WORLD);
  for (int i = 0; i < BLOCKS; i++)
    check_filled(block[i]->memory, block[i]->bytes, salt + (uint64_t)i);
  for (int i = 0; i < REST_BYTES; i++)
    CHECK(((char *)grove_arena_rest(s.arena))[i] == 0x77, "byte %d behind the head", i);
  close_scene(&s);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "context/arena_shares");
  neighbours_join();
  retired_blocks_come_back();
  withdrawn_regions_are_gone();
  regions_come_and_go();
  too_much_is_refused();
  ranks_do_not_meet();
  old_notices_do_not_count();
  scene s = open_scene();
  random_blocks(&s, test_samples(2000));
  close_scene(&s);
  notices(test_samples(300));
  return test_end();
}
