/* Votes: every rank gets the maxima, whenever each of them begins; several at once, begun in
 * different orders on different ranks; one after the other with the same tag; and while ranks are
 * in collective calls. */
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
  places_free(&all);
  return test_end();
}
