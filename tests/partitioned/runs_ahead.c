/* A sender that is as far ahead as it gets: between its wait and its next start a receiver's buffer
 * is its own, and stays as it is, whatever has come for it meanwhile. */
#include "channel.h"
#include "check.h"

#include <sched.h>

enum { AHEAD = 50 };

/* Rank 0 sends to all others. Before they start again they call the library for a while, which must
 * not let the next round in. */
static void try_shape(const place *p, grove_op *idle, channel like, int64_t rounds)
{
  channel c[16];
  int n = p->rank == 0 ? p->size - 1 : 1;
  rng mine = rng_from(test_seed(), (uint64_t)p->rank);
  for (int i = 0; i < n; i++) {
    c[i] = like;
    c[i].ctx = p->ctx;
    c[i].sends = p->rank == 0;
    c[i].peer = p->rank == 0 ? i + 1 : 0;
    c[i].seed = mix2(test_seed(), (uint64_t)(p->rank == 0 ? i + 1 : p->rank));
    if (p->rank != 0 && rng_one_in(&mine, 2)) { /* the same bytes, cut otherwise */
      c[i].parts = 1;
      c[i].count *= like.parts;
    }
    channel_open(&c[i]);
  }
  for (int64_t round = 0; round < rounds; round++)
    for (int i = 0; i < n; i++) {
      int ignored;
      channel_start(&c[i]);
      if (p->rank == 0) channel_ready_shuffled(&c[i], &mine);
      channel_wait(&c[i]);
      for (int k = 0; p->rank != 0 && k < 30; k++) { /* the last round's data, all of it */
        CHECK_OK(grove_test(idle, &ignored));
        sched_yield();
      }
      if (p->rank != 0) channel_check(&c[i]);
    }
  for (int i = 0; i < n; i++) channel_close(&c[i]);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *unit;
    int parts;
    int64_t count;
  } shape[] = {
    {"MPI_INT", 1, 1},        {"MPI_INT64_T", 8, 5},    {"vector of ints with gaps", 6, 20},
    {"MPI_DOUBLE", 16, 1000}, {"MPI_DOUBLE", 4, 30000},
  };
  test_begin(&argc, &argv, "partitioned/runs_ahead");
  if (world_size() < 2) return test_skip("nobody is ahead of itself");
  units *types = units_create();
  place p = place_create(split(0));
  grove_op *idle = place_idle(&p);
  for (int i = 0; i < 5; i++) {
    test_case(i);
    channel like = {.tag = i, .parts = shape[i].parts, .count = shape[i].count};
    like.u = units_find(types, shape[i].unit);
    try_shape(&p, idle, like, i < 4 ? AHEAD : AHEAD / 5);
  }
  CHECK_OK(grove_op_free(&idle));
  place_free(&p);
  units_free(types);
  return test_end();
}
