/* Letters: what ranks write to each other, and to themselves, comes as it was written, by ascending
 * rank; to clerks, straight or by deputies, as well; a rank that fails is known to all; and who
 * reads too much gets zeros and is told. */
#include "check.h"
#include "places.h"
#include "route/clerks.h"

#include <stdlib.h>

typedef enum way { TO_ALL, TO_CLERKS, BY_DEPUTIES, WAYS } way;

/* What `from` writes to `to` in one case: so many words. */
static int64_t words_of(const place *p, way how, uint64_t number, int from, int to)
{
  if (how != TO_ALL && p->ctx->topo.place[to].local != 0) return 0;
  rng r = rng_from(test_seed(), mix2(number, (uint64_t)from * 1000 + (uint64_t)to));
  return rng_one_in(&r, 3) ? 0 : rng_below(&r, rng_one_in(&r, 4) ? 3000 : 9);
}

static int64_t word(int from, int to, int64_t i)
{
  return (int64_t)mix2((uint64_t)from * 1000 + (uint64_t)to, (uint64_t)i);
}

/* To all ranks in turn, a few words at a time. */
static void write(const place *p, way how, uint64_t number, grove_post *post)
{
  int left = 1;
  for (int64_t done = 0; left; done += 7) {
    left = 0;
    for (int to = p->size - 1; to >= 0; to--) {
      int64_t n = words_of(p, how, number, p->rank, to) - done, *words = NULL;
      if (n <= 0) continue;
      if (n > 7) n = 7;
      CHECK_OK(grove_post_write(post, to, n, &words));
      for (int64_t i = 0; i < n; i++) words[i] = word(p->rank, to, done + i);
      left = 1;
    }
  }
}

static grove_status deliver(const place *p, way how, grove_status mine, grove_post *post)
{
  if (how == TO_ALL) return grove_post_exchange(p->ctx, mine, post);
  grove_status status = how == TO_CLERKS ? grove_clerks_exchange(p->ctx, &mine, post)
                                         : grove_deputies_exchange(p->ctx, &mine, post);
  if (status == GROVE_OK) CHECK_OK(mine);
  return status;
}

static void check_letter(const place *p, int from, grove_reader r, int64_t n)
{
  CHECK(r.from == from && r.end - r.at == n, "a letter of %d with %lld words, not of %d with %lld",
        r.from, (long long)(r.end - r.at), from, (long long)n);
  for (int64_t i = 0; i < n; i++) {
    int64_t got = grove_reader_next(&r);
    CHECK(got == word(from, p->rank, i), "word %lld of %d is %lld", (long long)i, from,
          (long long)got);
  }
  CHECK(!r.torn, "a letter is torn too early");
  CHECK(grove_reader_take(&r, 0) != NULL && !r.torn, "nothing cannot be taken");
  CHECK(grove_reader_next(&r) == 0 && r.torn, "a letter has no end");
  r.torn = 0;
  CHECK(grove_reader_take(&r, 1) == NULL && r.torn, "a letter has no end");
  r.torn = 0;
  CHECK(grove_reader_take(&r, -1) == NULL && r.torn, "words can be put back");
}

static void at_random(const place *p, way how, uint64_t number)
{
  grove_post post = {0};
  int count = 0;
  write(p, how, number, &post);
  CHECK_OK(deliver(p, how, GROVE_OK, &post));
  for (int from = 0; from < p->size; from++) {
    int64_t n = words_of(p, how, number, from, p->rank);
    if (n == 0) continue;
    CHECK(count < grove_post_count(&post), "only %d letters", grove_post_count(&post));
    check_letter(p, from, grove_post_read(&post, count++), n);
  }
  CHECK(count == grove_post_count(&post), "%d letters, not %d", grove_post_count(&post), count);
  grove_post_free(&post);
  grove_post_free(&post);
}

static void one_fails(const place *p, way how, uint64_t number)
{
  grove_post post = {0};
  int bad = (int)(number % (uint64_t)p->size);
  write(p, how, number, &post);
  grove_status mine = GROVE_OK;
  if (p->rank == bad) mine = grove_error_set(GROVE_ERR_MEMORY, "no memory to speak of");
  grove_status status = deliver(p, how, mine, &post);
  CHECK(status == GROVE_ERR_MEMORY, "%s", grove_status_name(status));
  CHECK_SAME_ERROR(p->comm, status);
  grove_post_free(&post);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "route/letters");
  places all = places_create();
  for (int64_t i = 0; i < test_samples(60); i++) {
    test_case(i);
    const place *p = places_turn(&all, i);
    for (way how = 0; how < WAYS; how++) {
      at_random(p, how, (uint64_t)i);
      if (i % 5 == 0) one_fails(p, how, (uint64_t)i);
    }
  }
  places_free(&all);
  return test_end();
}
