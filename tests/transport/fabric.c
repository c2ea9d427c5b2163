/* Writes between two ranks over libfabric: by every manner, from several endpoints, more of them
 * than are allowed under way, to all places of a region, with the bytes checked and every number
 * counted. At the end nothing is registered.
 */
#include "check.h"

#ifndef GROVE_LIBFABRIC

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "transport/fabric");
  CHECK(grove_ofi_open() == GROVE_ERR_UNSUPPORTED, "there is no libfabric");
  return test_end();
}

#else

#include "transport/ofi.h"

#include <stdlib.h>
#include <string.h>

enum { ENDPOINTS = 3, BLOCKS = 100, LONGEST = 40000 };

typedef struct side {
  grove_fabric *f;
  grove_fabric_peer *peer;
  grove_fabric_target target;
  uint32_t base;
  char *memory;
  int64_t block;
  int come[BLOCKS], ncome, nwritten;
  int64_t done;
  int notes;
} side;

static void count_block(void *self, int64_t index)
{
  side *s = self;
  CHECK(index >= 0 && index < BLOCKS, "index %lld", (long long)index);
  s->come[index]++;
  s->ncome++;
}

static void hear_block(void *self, int64_t index, const grove_fabric_note *note, const char *data)
{
  side *s = self;
  if (note->kind == GROVE_FABRIC_OWN) {
    CHECK(note->word[0] == 42 && index == 0, "word %lld", (long long)note->word[0]);
    s->notes++;
    return;
  }
  CHECK(note->kind == GROVE_FABRIC_BYTES || note->kind == GROVE_FABRIC_RUN, "kind %u", note->kind);
  if (note->kind == GROVE_FABRIC_BYTES)
    memcpy(s->memory + note->word[0], data, (size_t)note->word[1]);
  if ((note->word[0] + note->word[1]) % s->block == 0) count_block(self, note->word[0] / s->block);
}

static void count_done(void *self, grove_status status, int64_t bytes)
{
  side *s = self;
  CHECK_OK(status);
  s->done += bytes;
}

static char byte_of(int rank, int64_t at)
{
  return (char)(at * 7 + at / 256 + rank);
}

/* The other rank's address, region and base. */
static void meet(side *s, const grove_fabric_region *region, uint32_t base)
{
  struct {
    grove_fabric_address address;
    grove_fabric_target target;
    uint32_t base;
  } mine, theirs;
  memset(&mine, 0, sizeof mine);
  grove_fabric_tell_address(s->f, &mine.address);
  grove_fabric_tell_region(region, &mine.target);
  mine.base = base;
  MPI_Request requests[2];
  int other = 1 - world_rank();
  MPI_Irecv(&theirs, sizeof theirs, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&mine, sizeof mine, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 2; i++) polite_wait(&requests[i]);
  s->target = theirs.target;
  s->base = theirs.base;
  CHECK_OK(grove_fabric_reach(s->f, &theirs.address, &s->peer));
  grove_fabric_peer *again = NULL;
  CHECK_OK(grove_fabric_reach(s->f, &theirs.address, &again));
  CHECK(again == s->peer, "the same process is known twice");
}

/* One round of all blocks, in an order of its own. The last goes as a run. */
static void write_blocks(side *s, const char *from, const grove_fabric_region *source)
{
  int64_t part = 0, begun = 0;
  for (int k = 0; k < BLOCKS;) {
    int64_t block = (k * 37) % BLOCKS, taken = 0;
    grove_fabric_put put = {.peer = s->peer,
                            .endpoint = k,
                            .from = from + block * s->block + part,
                            .source = source,
                            .bytes = s->block - part,
                            .target = &s->target,
                            .offset = block * s->block + part,
                            .number = s->base + (uint32_t)(k % 10 == 9 ? 0 : block),
                            .is_run = k % 10 == 9,
                            .done = count_done,
                            .self = s};
    CHECK_OK(grove_fabric_write(s->f, &put, &taken));
    part += taken;
    begun += taken;
    CHECK(begun - s->done <= ENDPOINTS * GROVE_FABRIC_DEEP * s->block,
          "more than %d writes are under way from an endpoint", GROVE_FABRIC_DEEP);
    if (part == s->block) part = 0, k++;
    if (taken == 0) CHECK_OK(grove_fabric_poll(s->f));
  }
}

static void check_blocks(const side *s)
{
  for (int k = 0; k < BLOCKS; k++) CHECK(s->come[k] == 1, "block %d came %d times", k, s->come[k]);
  for (int64_t i = 0; i < BLOCKS * s->block; i++)
    CHECK(s->memory[i] == byte_of(1 - world_rank(), i), "byte %lld", (long long)i);
}

static void try_fabric(const char *provider, grove_fabric_manner manner, int64_t block)
{
  side s = {.block = block};
  grove_fabric_wish wish = {.provider = provider, .endpoints = ENDPOINTS, .manner = manner};
  grove_fabric_region *region = NULL, *source = NULL, *nothing = NULL;
  char *from = malloc((size_t)(BLOCKS * block));
  CHECK_OK(grove_fabric_open(&wish, &s.f));
  s.memory = calloc(BLOCKS, (size_t)block);
  for (int64_t i = 0; i < BLOCKS * block; i++) from[i] = byte_of(world_rank(), i);
  grove_fabric_listener first = {0}, l = {.come = count_block, .hear = hear_block, .self = &s};
  CHECK_OK(grove_fabric_listen(s.f, &first, 1000));
  CHECK_OK(grove_fabric_listen(s.f, &l, BLOCKS));
  CHECK(l.base == 1000, "the base is %u", l.base);
  CHECK_OK(grove_fabric_register(s.f, s.memory, BLOCKS * block, 1, &region));
  CHECK_OK(grove_fabric_register(s.f, from, BLOCKS * block, 0, &source));
  CHECK_OK(grove_fabric_register(s.f, from, 0, 1, &nothing));
  CHECK(!nothing, "no bytes are registered");
  meet(&s, region, l.base);
  int taken = 0;
  grove_fabric_note note = {.number = s.base, .kind = GROVE_FABRIC_OWN, .word = {42}};
  while (!taken) {
    CHECK_OK(grove_fabric_tell(s.f, s.peer, 1, &note, &taken));
    CHECK_OK(grove_fabric_poll(s.f));
  }
  write_blocks(&s, from, source);
  while (s.ncome < BLOCKS || !s.notes || !grove_fabric_is_quiet(s.f)) {
    CHECK_OK(grove_fabric_poll(s.f));
    linger(0);
  }
  CHECK(s.done == BLOCKS * block, "%lld bytes are done", (long long)s.done);
  check_blocks(&s);
  polite_barrier(MPI_COMM_WORLD);
  grove_fabric_leave(s.f, &l);
  grove_fabric_unregister(s.f, &source);
  grove_fabric_close(&s.f);
  CHECK(grove_fabric_regions() == 0, "%lld regions", (long long)grove_fabric_regions());
  free(from);
  free(s.memory);
}

static void try_numbers(void)
{
  enum { MANY = 50 };
  grove_fabric *f = NULL;
  grove_fabric_wish wish = {.provider = "tcp;ofi_rxm@lo", .endpoints = 1};
  grove_fabric_listener l[MANY], whole = {0};
  CHECK_OK(grove_fabric_open(&wish, &f));
  memset(l, 0, sizeof l);
  for (int k = 0; k < 4 * MANY; k++) { /* those that left are not soon given again */
    grove_fabric_leave(f, &l[k % MANY]);
    CHECK_OK(grove_fabric_listen(f, &l[k % MANY], 10 + k));
    CHECK(k == 0 || l[k % MANY].base == l[(k - 1) % MANY].base + 10 + k - 1, "base %d", k);
  }
  CHECK(grove_fabric_listen(f, &whole, INT64_C(1) << 31) == GROVE_ERR_UNSUPPORTED, "all numbers");
  CHECK(strstr(grove_last_error(), "2147483648"), "%s", grove_last_error());
  for (int k = 0; k < MANY; k++) grove_fabric_leave(f, &l[k]);
  CHECK_OK(grove_fabric_listen(f, &whole, (INT64_C(1) << 31) - 5));
  CHECK(whole.base == 0, "base %u", whole.base);
  CHECK(grove_fabric_listen(f, &l[0], 6) == GROVE_ERR_UNSUPPORTED, "6 of 5 numbers");
  CHECK_OK(grove_fabric_listen(f, &l[0], 5));
  grove_fabric_leave(f, &whole);
  CHECK_OK(grove_fabric_listen(f, &l[1], 6)); /* from the beginning again */
  CHECK(l[1].base == 0, "base %u", l[1].base);
  grove_fabric_close(&f);
}

static void try_refusals(void)
{
  grove_fabric *f = NULL;
  grove_fabric_wish unknown = {.provider = "nosuch", .endpoints = 1};
  CHECK(grove_fabric_open(&unknown, &f) == GROVE_ERR_UNSUPPORTED && !f,
        "there is no such provider");
  CHECK(strstr(grove_last_error(), "'nosuch'"), "%s", grove_last_error());
  grove_fabric_wish nowhere = {.provider = "tcp;ofi_rxm@nosuch0", .endpoints = 1};
  CHECK(grove_fabric_open(&nowhere, &f) == GROVE_ERR_UNSUPPORTED && !f, "there is no such domain");
  CHECK(strstr(grove_last_error(), "nosuch0"), "%s", grove_last_error());
}

int main(int argc, char **argv)
{
  static const int64_t blocks[] = {1, 1000, LONGEST};
  test_begin(&argc, &argv, "transport/fabric");
  try_refusals();
  try_numbers();
  for (int m = GROVE_FABRIC_AUTO; m <= GROVE_FABRIC_MESSAGE; m++)
    for (int k = 0; k < 3; k++) {
      test_case(3 * m + k);
      try_fabric("tcp;ofi_rxm@lo", (grove_fabric_manner)m, blocks[k]);
      try_fabric("shm", (grove_fabric_manner)m, blocks[k]);
    }
  return test_end();
}

#endif
