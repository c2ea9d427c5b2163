/* Ends that were freed while active may stay until their context goes; they keep no copy of their
 * datatype: an MPI may have room for few (with MPICH 4.0.2 some 770 copies of one have made
 * MPI_Pack put wrong bytes into messages). So after 1500 receivers that nobody ever sent to, and as
 * many senders with some parts marked, no copy is left, and later operations of such a type are
 * right. copies.h counts them. And a receiver that nobody sent to keeps one buffer, not two. */
#include "channel.h"
#include "check.h"
#include "copies.h"

#include <malloc.h>

enum { ABANDONED = 1500, PARTS = 4, SLOTS = 50, UNITS = 3, MANY_UNITS = 200000 };
enum { TAG_RECEIVED = 1, TAG_SENT, TAG_LATER, TAG_LARGE };

/* ---- channels ---- */

static channel open_end(const place *p, const unit *u, int sends, int tag, int64_t count)
{
  int next = (p->rank + 1) % p->size, previous = (p->rank + p->size - 1) % p->size;
  channel c = {.ctx = p->ctx, .sends = sends, .peer = sends ? next : previous, .tag = tag};
  c.parts = PARTS;
  c.count = count;
  c.u = u;
  c.seed = mix2(test_seed(), (uint64_t)(sends ? p->rank : previous));
  channel_open(&c);
  return c;
}

static void abandon_many(const place *p, const unit *u)
{
  for (int i = 0; i < ABANDONED; i++) {
    channel c = open_end(p, u, 0, TAG_RECEIVED, UNITS);
    channel_start(&c);
    channel_close(&c);
    c = open_end(p, u, 1, TAG_SENT, UNITS);
    channel_start(&c);
    channel_ready(&c, i % PARTS, 1);
    channel_close(&c); /* what was marked is in memory of the library's */
  }
}

/* Of the allocator; nothing where a checker has its own. */
static size_t bytes_in_use(void)
{
  struct mallinfo2 m = mallinfo2();
  return m.uordblks + m.hblkhd;
}

static void abandon_large(const place *p, const unit *u)
{
  size_t before = bytes_in_use();
  channel c = open_end(p, u, 0, TAG_LARGE, MANY_UNITS);
  int bytes = 0;
  MPI_Type_size(u->type, &bytes);
  size_t message = (size_t)PARTS * MANY_UNITS * (size_t)bytes;
  channel_start(&c);
  channel_close(&c);
  size_t left = bytes_in_use() - before;
  CHECK(left < message + message / 2, "%zu bytes are left of a message of %zu", left, message);
}

/* ---- later ---- */

static void later_channels(const place *p, const unit *u)
{
  channel c[2];
  for (int k = 0; k < 2; k++) c[k] = open_end(p, u, k, TAG_LATER, UNITS);
  for (int round = 0; round < 3; round++) {
    for (int k = 0; k < 2; k++) channel_start(&c[k]);
    channel_ready(&c[1], 0, PARTS);
    for (int k = 0; k < 2; k++) channel_wait(&c[k]);
  }
  for (int k = 0; k < 2; k++) channel_close(&c[k]);
}

/* Pairs of ints, with an int between them that stays as it is. */
static void later_bcast(const place *p)
{
  MPI_Datatype two, pairs;
  grove_forest *f = NULL;
  grove_root root[SLOTS];
  int from[4 * SLOTS], to[4 * SLOTS];
  MPI_Type_vector(2, 1, 2, MPI_INT, &two);
  MPI_Type_create_resized(two, 0, 4 * (MPI_Aint)sizeof(int), &pairs);
  MPI_Type_commit(&pairs);
  for (int i = 0; i < SLOTS; i++) root[i] = (grove_root){(p->rank + 1) % p->size, SLOTS - 1 - i};
  for (int i = 0; i < 4 * SLOTS; i++) {
    from[i] = 1000 * p->rank + i;
    to[i] = -1;
  }
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, SLOTS, SLOTS, NULL, root));
  CHECK_OK(grove_forest_set_up(f));
  CHECK_OK(grove_bcast(f, pairs, from, to, MPI_REPLACE));
  for (int i = 0; i < 4 * SLOTS; i++) {
    int slot = SLOTS - 1 - i / 4;
    int expected = i % 2 ? -1 : 1000 * ((p->rank + 1) % p->size) + 4 * slot + i % 4;
    CHECK(to[i] == expected, "int %d is %d, not %d", i, to[i], expected);
  }
  CHECK_OK(grove_forest_free(&f));
  MPI_Type_free(&pairs);
  MPI_Type_free(&two);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "partitioned/abandoned_types");
  units *types = units_create();
  const unit *u = units_find(types, "vector of ints with gaps");
  place p = place_create(split(0));
  int before = copies.n;
  abandon_many(&p, u);
  CHECK(copies.n == before, "%d copies of a datatype are left", copies.n - before);
  abandon_large(&p, u);
  CHECK(copies.made >= 2 * ABANDONED, "only %d copies were ever made", copies.made);
  later_channels(&p, u);
  later_channels(&p, units_find(types, "struct of char and double"));
  later_bcast(&p);
  place_free(&p);
  units_free(types);
  return test_end();
}
