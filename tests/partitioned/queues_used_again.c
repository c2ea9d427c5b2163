/* Channels over shared memory that do not live long have few queues between them, however many
 * there are: what one leaves the next one takes, to the same rank or to another, and no data of the
 * one is ever seen by the other. What lies idle is limited, and nothing is left at the end. */
#include "channel.h"
#include "check.h"
#include "shared.h"

/* What a rank keeps idle at most: as src/partitioned/shelf.h has it. */
enum { MOST_IDLE = 1 << 21, SHORT_LIVED = 300, ALIVE = 20 };

static int64_t all_bytes(const place *p)
{
  polite_barrier(p->comm);
  int64_t bytes = shared_bytes();
  polite_barrier(p->comm);
  return bytes;
}

/* c[1] sends to the rank that is `step` on, c[0] receives from the one that is so far behind. */
static void open_pair(const place *p, channel *c, const unit *u, int step, int64_t count, int tag)
{
  int next = (p->rank + step) % p->size;
  int previous = (p->rank + p->size - step % p->size) % p->size;
  for (int k = 0; k < 2; k++) {
    c[k] = (channel){.ctx = p->ctx, .sends = k, .peer = k ? next : previous, .tag = tag};
    c[k].parts = k ? 4 : 2;
    c[k].count = k ? count : 2 * count;
    c[k].u = u;
    c[k].seed = mix2(mix2(test_seed(), (uint64_t)(k ? p->rank : previous)), (uint64_t)tag);
    channel_open(&c[k]);
  }
}

static void run_pair(channel *c)
{
  for (int k = 0; k < 2; k++) channel_start(&c[k]);
  channel_ready(&c[1], 0, c[1].parts);
  for (int k = 0; k < 2; k++) channel_wait(&c[k]);
}

static void close_pair(channel *c)
{
  for (int k = 0; k < 2; k++) channel_close(&c[k]);
}

/* A sender meets a receiver that has freed the last channel: two queues for each are enough. */
static void short_lived(const place *p, const unit *u)
{
  channel c[2];
  int64_t before = all_bytes(p), one = 0;
  int pieces = shared_pieces();
  for (int i = 0; i < SHORT_LIVED; i++) {
    open_pair(p, c, u, 1, 100, 0);
    run_pair(c);
    close_pair(c);
    if (i == 0) one = all_bytes(p) - before;
  }
  int64_t more = all_bytes(p) - before;
  CHECK(one > 0, "no queue in shared memory");
  CHECK(more <= 2 * one, "%lld bytes after %d channels, %lld after one", (long long)more,
        SHORT_LIVED, (long long)one);
  CHECK(shared_pieces() <= pieces + 4, "%d pieces are mapped, %d before", shared_pieces(), pieces);
}

static void many_alive(const place *p, const unit *u)
{
  channel c[ALIVE][2];
  int64_t before = all_bytes(p);
  for (int i = 0; i < ALIVE; i++) open_pair(p, c[i], u, 1 + i, 20000, i);
  for (int i = 0; i < ALIVE; i++) run_pair(c[i]);
  int64_t most = all_bytes(p) - before;
  for (int i = 0; i < ALIVE; i++) close_pair(c[i]);
  polite_barrier(p->comm);
  open_pair(p, c[0], u, 1, 100, 0); /* its ranks see that the others have left */
  run_pair(c[0]);
  close_pair(c[0]);
  int64_t after = all_bytes(p) - before;
  CHECK(most > p->size * (int64_t)MOST_IDLE, "only %lld bytes in use", (long long)most);
  CHECK(after <= p->size * (int64_t)(MOST_IDLE + (1 << 17)), "%lld of %lld bytes are kept",
        (long long)after, (long long)most);
}

/* Receivers go before, while or after something lies in the queue, which the next channel has. */
static void left_early(const place *p, const unit *u)
{
  channel c[2];
  for (int i = 0; i < 100; i++) {
    test_case(1000 + i);
    open_pair(p, c, u, 1 + i % 2, 100, i);
    for (int k = 0; k < 2; k++) channel_start(&c[k]);
    channel_ready(&c[1], 0, i % 4);
    for (int tests = i % 3, ignored; tests > 0; tests--) CHECK_OK(grove_test(c[0].op, &ignored));
    if (i % 4 == 2) linger(1e-5);
    channel_close(&c[0]);
    channel_abandon(&c[1]);
    open_pair(p, c, u, 1 + i % 3, 100, i);
    run_pair(c);
    if (i % 2) run_pair(c);
    close_pair(c);
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "partitioned/queues_used_again");
  units *types = units_create();
  const unit *u = units_find(types, "MPI_DOUBLE");
  int64_t before = shared_bytes(); /* other programs of the suite may have left some */
  for (int i = 0; i < 2; i++) {
    place p = place_create(split(0));
    test_case(i);
    if (i == 0) short_lived(&p, u);
    if (i == 0) many_alive(&p, u);
    if (i == 1) left_early(&p, u);
    place_free(&p);
    polite_barrier(MPI_COMM_WORLD);
    channels_sweep();
    CHECK(i == 1 || shared_bytes() <= before, "a freed context has shared memory");
  }
  units_free(types);
  return test_end();
}
