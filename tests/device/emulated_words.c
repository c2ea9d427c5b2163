/* Two processes, each of which puts data into memory that the other has exported, and tells it by a
 * word there: rounds, without any message of MPI in between. */
#include "random.h"
#include "rig.h"

#include <sched.h>

enum { N = 100, BYTES = N * sizeof(int32_t), ROUNDS = 20 };

/* What a rank exports. */
typedef struct page {
  int32_t data[N];
  uint32_t came, taken; /* words: the rounds that the other has put, and has taken from me */
} page;

static page *import_from(int other, page *mine)
{
  grove_handle handles[2];
  MPI_Request request;
  void *theirs = NULL;
  CHECK_OK(driver->export_memory(mine, &handles[1 - other]));
  MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, handles, sizeof *handles, MPI_BYTE,
                 MPI_COMM_WORLD, &request);
  polite_wait(&request);
  CHECK_OK(driver->import_memory(0, &handles[other], &theirs));
  grove_range range;
  CHECK(driver->find((char *)theirs + 5, &range) && range.bytes == sizeof(page),
        "what is imported is not found");
  CHECK_STATUS(driver->export_memory(theirs, &handles[0]), GROVE_ERR_DEVICE);
  return theirs;
}

static int32_t value_of(int rank, uint32_t round, int i)
{
  return (int32_t)(mix2((uint64_t)rank * 1000 + round, (uint64_t)i) & 0xffffff);
}

typedef struct side {
  page *mine, *theirs;
  grove_stream *put, *take;
  int32_t *out, *in; /* pinned */
  uint32_t *done;    /* pinned */
} side;

/* Nothing here waits; the streams do. */
static void enqueue_round(const side *s, uint32_t round)
{
  CHECK_OK(driver->await(0, s->put, &s->mine->taken, round - 1));
  CHECK_OK(driver->copy(0, s->put, s->theirs->data, s->out, BYTES));
  CHECK_OK(driver->write(0, s->put, &s->theirs->came, round));
  CHECK_OK(driver->await(0, s->take, &s->mine->came, round));
  CHECK_OK(driver->copy(0, s->take, s->in, s->mine->data, BYTES));
  CHECK_OK(driver->write(0, s->take, &s->theirs->taken, round));
  CHECK_OK(driver->write(0, s->take, s->done, round));
}

static void one_round(const side *s, uint32_t round)
{
  int me = world_rank();
  for (int i = 0; i < N; i++) s->out[i] = value_of(me, round, i);
  enqueue_round(s, round);
  while (look(s->done) != round) sched_yield();
  for (int i = 0; i < N; i++)
    CHECK(s->in[i] == value_of(1 - me, round, i), "round %u, %d: %d", round, i, s->in[i]);
  CHECK_OK(driver->finish(0, s->put)); /* `out` is free again */
}

static void exchange(void)
{
  static const page zero;
  side s = {.mine = new_device(sizeof(page)), .put = new_stream(), .take = new_stream()};
  CHECK_OK(driver->copy(0, NULL, s.mine, &zero, sizeof zero));
  s.out = new_pinned(BYTES);
  s.in = new_pinned(BYTES);
  s.done = new_pinned(sizeof *s.done);
  s.theirs = import_from(1 - world_rank(), s.mine);
  polite_barrier(MPI_COMM_WORLD);
  for (uint32_t round = 1; round <= ROUNDS; round++) one_round(&s, round);
  CHECK_OK(driver->finish(0, s.take));
  driver->let_go(s.theirs);
  grove_range range;
  CHECK(!driver->find(s.theirs, &range), "what was let go is found");
  polite_barrier(MPI_COMM_WORLD);
  driver->free(0, s.mine);
  driver->free_stream(0, s.put);
  driver->free_stream(0, s.take);
  free_pinned(s.out);
  free_pinned(s.in);
  free_pinned(s.done);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "device/emulated_words");
  for (int i = 0; i < (int)test_samples(8); i++) {
    test_case(i);
    grove_emulated_set_temper((grove_temper)((i + (i / 3) * world_rank()) % 3),
                              mix2(test_seed(), (uint64_t)(2 * i + world_rank())));
    exchange();
    CHECK(grove_emulated_conflicts() == 0, "%lld conflicts", (long long)grove_emulated_conflicts());
  }
  grove_emulated_reset();
  return test_end();
}
