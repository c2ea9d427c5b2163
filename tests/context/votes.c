/* Votes: every rank gets the maxima, whenever each of them begins; several at once, begun in
 * different orders on different ranks; one after the other with the same tag; and while ranks are
 * in collective calls. Nobody waits for a rank that leaves in the middle. */
#include "check.h"
#include "context/vote.h"
#include "places.h"

#include <stdlib.h>
#include <string.h>

enum { VOTES = 5, TAG = GROVE_TAG_FIRST + 1000 };

typedef struct ballot {
  grove_vote vote;
  int over;
} ballot;

static void note(grove_vote *vote, grove_status status)
{
  ballot *b = (ballot *)vote;
  CHECK_OK(status);
  CHECK(b->over == 0, "over twice");
  b->over = 1;
}

/* What rank `rank` says for number i: negative ones too. */
static int64_t say(uint64_t seed, int rank, int i)
{
  return (int64_t)mix2(seed + (uint64_t)rank, (uint64_t)i);
}

static ballot *begin(const place *p, uint64_t seed, int number, int n)
{
  ballot *b = need(sizeof *b);
  memset(b, 0, sizeof *b);
  b->vote.rounds.tag = TAG + number;
  b->vote.rounds.n = n;
  b->vote.over = note;
  for (int i = 0; i < n; i++) b->vote.rounds.known[i] = say(seed, p->rank, i);
  grove_vote_begin(p->ctx, &b->vote);
  return b;
}

static void finish(const place *p, uint64_t seed, ballot *b)
{
  grove_pause pause;
  grove_pause_begin(&pause, 0);
  while (!b->over) {
    grove_context_progress(p->ctx);
    grove_pause_step(&pause);
  }
  for (int i = 0; i < b->vote.rounds.n; i++) {
    int64_t most = INT64_MIN;
    for (int r = 0; r < p->size; r++)
      if (say(seed, r, i) > most) most = say(seed, r, i);
    CHECK(b->vote.rounds.known[i] == most, "number %d is %lld, not %lld", i,
          (long long)b->vote.rounds.known[i], (long long)most);
  }
  free(b);
}

/* Begun and finished in an order of this rank's own, with steps of the context's between. */
static void several(const place *p, uint64_t seed, rng *mine)
{
  ballot *ballots[VOTES];
  int64_t order[VOTES];
  for (int k = 0; k < VOTES; k++) order[k] = k;
  rng_shuffle(mine, VOTES, order);
  for (int k = 0; k < VOTES; k++) {
    int number = (int)order[k];
    ballots[number] = begin(p, seed + (uint64_t)number, number, 1 + 7 * number);
    if (rng_one_in(mine, 3)) linger(1e-4);
    if (k == VOTES / 2) CHECK_OK(grove_context_agree(p->ctx, GROVE_OK, NULL, 0));
  }
  rng_shuffle(mine, VOTES, order);
  for (int k = 0; k < VOTES; k++) finish(p, seed + (uint64_t)order[k], ballots[order[k]]);
}

/* ---- a rank that leaves ---- */

enum { LEAVINGS = 20 };

/* What was sent to one that had left. */
static void take_rest(const place *p, int tag)
{
  int found = 1;
  int64_t value = 0;
  polite_barrier(MPI_COMM_WORLD);
  while (found) {
    MPI_Iprobe(MPI_ANY_SOURCE, tag, p->ctx->comm, &found, MPI_STATUS_IGNORE);
    if (found)
      MPI_Recv(&value, 1, MPI_INT64_T, MPI_ANY_SOURCE, tag, p->ctx->comm, MPI_STATUS_IGNORE);
  }
}

/* It leaves at once, or after a few tests. */
static void leave(grove_rounds *r, rng *mine)
{
  int done = 0;
  for (int k = (int)rng_below(mine, 4); k > 0 && !done; k--) CHECK_OK(grove_rounds_test(r, &done));
  if (!done) grove_rounds_leave(r);
}

static void with_one_who_leaves(const place *p, int number, int who, rng *mine)
{
  static grove_rounds all[LEAVINGS]; /* MPI may use them for ever */
  grove_rounds *r = &all[number];
  int done = 0, tag = TAG + VOTES + number;
  grove_pause pause;
  *r = (grove_rounds){.comm = p->ctx->comm, .tag = tag, .n = 1, .known = {p->rank == who}};
  grove_rounds_of_ranks(r, p->rank, p->size);
  CHECK_OK(grove_rounds_begin(r));
  if (p->rank == who) leave(r, mine);
  grove_pause_begin(&pause, 0);
  while (p->rank != who && !done) {
    CHECK_OK(grove_rounds_test(r, &done));
    grove_pause_step(&pause);
  }
  CHECK(p->rank == who || r->known[0] == 1, "rank %d is not heard", who);
  take_rest(p, tag);
}

static void leavings(const place *p)
{
  for (int i = 0; i < LEAVINGS; i++) {
    rng shared = rng_from(test_seed(), (uint64_t)i);
    rng mine = rng_from(test_seed() + (uint64_t)i, (uint64_t)world_rank());
    with_one_who_leaves(p, i, (int)rng_below(&shared, p->size), &mine);
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "context/votes");
  places all = places_create();
  for (int64_t i = 0; i < test_samples(60); i++) {
    test_case(i);
    const place *p = places_turn(&all, i);
    rng mine = rng_from(test_seed() + (uint64_t)i, (uint64_t)world_rank());
    uint64_t seed = test_seed() + 1000 * (uint64_t)i;
    several(p, seed, &mine);
    for (int k = 0; k < 3; k++) finish(p, seed, begin(p, seed, 0, GROVE_ROUNDS_VALUES));
  }
  leavings(places_turn(&all, 0));
  places_free(&all);
  return test_end();
}
