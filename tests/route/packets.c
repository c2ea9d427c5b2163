/* Packets: what ranks write to each other, and to themselves, comes as it was written, by ascending
 * rank; to leaders, straight or by proxies, as well; a rank that fails is known to all; and who
 * reads too much gets zeros and is told. */
#include "check.h"
#include "places.h"
#include "route/leaders.h"

#include <stdlib.h>

typedef enum way { TO_ALL, TO_LEADERS, BY_PROXIES, WAYS } way;

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
static void write(const place *p, way how, uint64_t number, grove_packets *packets)
{
  int left = 1;
  for (int64_t done = 0; left; done += 7) {
    left = 0;
    for (int to = p->size - 1; to >= 0; to--) {
      int64_t n = words_of(p, how, number, p->rank, to) - done, *words = NULL;
      if (n <= 0) continue;
      if (n > 7) n = 7;
      CHECK_OK(grove_packets_write(packets, to, n, &words));
      for (int64_t i = 0; i < n; i++) words[i] = word(p->rank, to, done + i);
      left = 1;
    }
  }
}

static grove_status deliver(const place *p, way how, grove_status mine, grove_packets *packets)
{
  if (how == TO_ALL) return grove_packets_exchange(p->ctx, mine, packets);
  grove_status status = how == TO_LEADERS ? grove_leaders_exchange(p->ctx, &mine, packets)
                                          : grove_proxies_exchange(p->ctx, &mine, packets);
  if (status == GROVE_OK) CHECK_OK(mine);
  return status;
}

static void check_packet(const place *p, int from, grove_reader r, int64_t n)
{
  CHECK(r.from == from && r.end - r.at == n, "a packet of %d with %lld words, not of %d with %lld",
        r.from, (long long)(r.end - r.at), from, (long long)n);
  for (int64_t i = 0; i < n; i++) {
    int64_t got = grove_reader_next(&r);
    CHECK(got == word(from, p->rank, i), "word %lld of %d is %lld", (long long)i, from,
          (long long)got);
  }
  CHECK(!r.torn, "a packet is torn too early");
  CHECK(grove_reader_take(&r, 0) != NULL && !r.torn, "nothing cannot be taken");
  CHECK(grove_reader_next(&r) == 0 && r.torn, "a packet has no end");
  r.torn = 0;
  CHECK(grove_reader_take(&r, 1) == NULL && r.torn, "a packet has no end");
  r.torn = 0;
  CHECK(grove_reader_take(&r, -1) == NULL && r.torn, "words can be put back");
}

static void at_random(const place *p, way how, uint64_t number)
{
  grove_packets packets = {0};
  int count = 0;
  write(p, how, number, &packets);
  CHECK_OK(deliver(p, how, GROVE_OK, &packets));
  for (int from = 0; from < p->size; from++) {
    int64_t n = words_of(p, how, number, from, p->rank);
    if (n == 0) continue;
    CHECK(count < grove_packets_count(&packets), "only %d packets", grove_packets_count(&packets));
    check_packet(p, from, grove_packets_read(&packets, count++), n);
  }
  CHECK(count == grove_packets_count(&packets), "%d packets, not %d", grove_packets_count(&packets),
        count);
  grove_packets_free(&packets);
  grove_packets_free(&packets);
}

static void one_fails(const place *p, way how, uint64_t number)
{
  grove_packets packets = {0};
  int bad = (int)(number % (uint64_t)p->size);
  write(p, how, number, &packets);
  grove_status mine = GROVE_OK;
  if (p->rank == bad) mine = grove_error_set(GROVE_ERR_MEMORY, "no memory to speak of");
  grove_status status = deliver(p, how, mine, &packets);
  CHECK(status == GROVE_ERR_MEMORY, "%s", grove_status_name(status));
  CHECK_SAME_ERROR(p->comm, status);
  grove_packets_free(&packets);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "route/packets");
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
