/* Rounds by the ten thousand, in a ring of ranks: marked in every order, looked at part by part or
 * all at once, and always the data of their own round. */
#include "channel.h"
#include "check.h"

/* This rank's two ends: c[1] sends to the next, c[0] receives from the one before. */
static void run_round(channel *c, rng *mine, int64_t round)
{
  int which = (int)(round % 5);
  for (int k = 0; k < 2; k++) channel_start(&c[(k + which) % 2]);
  if (which < 2)
    channel_ready_shuffled(&c[1], mine);
  else
    for (int i = c[1].parts; i > 0; i--) channel_ready(&c[1], i - 1, 1);
  if (which == 3) channel_await(&c[0], c[0].parts / 2, c[0].parts - c[0].parts / 2);
  if (which == 4) {
    channel_poll(&c[0]);
    channel_poll(&c[1]);
  } else {
    channel_wait(&c[which % 2]);
    channel_wait(&c[1 - which % 2]);
  }
}

int main(int argc, char **argv)
{
  static const struct {
    const char *unit[2];
    int parts[2];
    int64_t count[2];
    int share; /* of the rounds: one in so many */
  } shape[] = {
    {{"MPI_INT64_T", "MPI_INT64_T"}, {1, 1}, {1, 1}, 2},
    {{"MPI_INT", "MPI_INT64_T"}, {3, 4}, {8, 3}, 2},
    {{"MPI_DOUBLE", "int in 20 bytes"}, {5, 12}, {24, 20}, 20},
    {{"MPI_DOUBLE", "MPI_DOUBLE"}, {8, 4}, {1000, 2000}, 100},
  };
  test_begin(&argc, &argv, "partitioned/many_rounds");
  units *types = units_create();
  place p = place_create(split(0));
  int next = (p.rank + 1) % p.size, previous = (p.rank + p.size - 1) % p.size;
  int64_t rounds = test_samples(10000);
  for (int i = 0; i < 4; i++) {
    channel c[2];
    rng mine = rng_from(test_seed(), (uint64_t)p.rank);
    test_case(i);
    for (int k = 0; k < 2; k++) {
      c[k] = (channel){.ctx = p.ctx, .sends = k, .peer = k ? next : previous, .tag = i};
      c[k].parts = shape[i].parts[k];
      c[k].count = shape[i].count[k];
      c[k].u = units_find(types, shape[i].unit[k]);
      c[k].seed = mix2(test_seed(), (uint64_t)(k ? p.rank : previous));
      channel_open(&c[k]);
    }
    for (int64_t round = 0; round < rounds / shape[i].share; round++) {
      if (round % 1000 == 0) test_case(i * 1000000 + round);
      run_round(c, &mine, round);
    }
    for (int k = 0; k < 2; k++) channel_close(&c[k]);
  }
  place_free(&p);
  units_free(types);
  return test_end();
}
