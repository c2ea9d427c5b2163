#include "kit/rounds.h"

#include "kit/random.h"

#include <math.h>
#include <stdlib.h>

/* Where spinning ranks share cores an exchange takes milliseconds, and a case minutes. */
static int has_time(const bench_rounds *r, double begin, int round)
{
  enum { LEAST_ROUNDS = 7 };
  if (isinf(r->seconds)) return 1;
  int more = round < LEAST_ROUNDS || MPI_Wtime() - begin < r->seconds;
  MPI_Bcast(&more, 1, MPI_INT, 0, r->comm);
  return more;
}

int bench_rounds_run(const bench_rounds *r)
{
  int round = 0;
  uint64_t state = 1;
  int64_t *order = bench_shuffled(r->entrants, &state);
  double begin = MPI_Wtime();
  for (; round < r->most && has_time(r, begin, round); round++) {
    if (r->begin) r->begin(r->about, round);
    bench_shuffle(order, r->entrants, &state);
    for (int i = 0; i < r->entrants; i++) r->sample(r->about, (int)order[i], round);
  }
  if (r->begin) r->begin(r->about, round);
  free(order);
  return round;
}
