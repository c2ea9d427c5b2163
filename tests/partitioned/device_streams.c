/* Channels between arrays on devices, and the user's streams. What is enqueued before a part is
 * marked is final for it, whatever is enqueued later; a receiver's array is not written before what
 * was enqueued when it was started; a part has arrived when it is in the array. The checker of the
 * emulated device finds what has no order, whatever the temper; GROVE_DEVICE has the temper. */
#include "check.h"
#include "grove_cuda.h"
#include "places.h"
#include "rig.h"
#include "threads.h"

/* More parts than events. */
enum { PARTS = 44, COARSE = 4, LENGTH = 5, N = PARTS * LENGTH, ROUNDS = 6 };
enum { BYTES = N * sizeof(int64_t), PART_BYTES = LENGTH * sizeof(int64_t), THREADS = 4, TAG = 3 };

/* Both ends of this rank: to the next one, and from the one before. */
typedef struct ends {
  const place *p;
  grove_stream *stream;
  grove_op *send, *receive;
  int64_t *x, *y;    /* on the device: what is sent, and where it comes */
  int64_t *in, *out; /* pinned: what is copied to x, and from y, in each round */
  int round;
} ends;

static void open_send(ends *e, const place *p)
{
  int next = (p->rank + 1) % p->size;
  CHECK_OK(grove_psend_init(p->ctx, e->x, PARTS, LENGTH, MPI_INT64_T, next, TAG, &e->send));
  CHECK_OK(grove_op_set_stream(e->send, e->stream));
}

static void open_receive(ends *e, const place *p)
{
  int previous = (p->rank + p->size - 1) % p->size;
  CHECK_OK(
    grove_precv_init(p->ctx, e->y, COARSE, N / COARSE, MPI_INT64_T, previous, TAG, &e->receive));
  CHECK_OK(grove_op_set_stream(e->receive, e->stream));
}

static ends open_arrays(const place *p, grove_stream *stream)
{
  return (ends){.p = p,
                .stream = stream,
                .x = new_device(BYTES),
                .y = new_device(BYTES),
                .in = new_pinned(ROUNDS * BYTES),
                .out = new_pinned(ROUNDS * BYTES)};
}

static ends open_ends(const place *p, grove_stream *stream)
{
  ends e = open_arrays(p, stream);
  open_send(&e, p);
  open_receive(&e, p);
  return e;
}

static void close_ends(ends *e)
{
  CHECK_OK(grove_op_free(&e->send));
  CHECK_OK(grove_op_free(&e->receive));
  CHECK_OK(driver->finish(0, NULL));
  driver->free(0, e->x);
  driver->free(0, e->y);
  free_pinned(e->in);
  free_pinned(e->out);
}

static int64_t value_of(int rank, int round, int64_t i)
{
  return 100000 * (round + 1) + 1000 * rank + i;
}

/* New values for some parts, on the stream, and the mark: the host waits for nothing. */
static void make_ready(ends *e, int64_t first, int64_t count)
{
  int64_t *in = e->in + (int64_t)e->round * N;
  for (int64_t i = first * LENGTH; i < (first + count) * LENGTH; i++)
    in[i] = value_of(e->p->rank, e->round, i);
  CHECK_OK(
    driver->copy(0, e->stream, e->x + first * LENGTH, in + first * LENGTH, count * PART_BYTES));
  CHECK_OK(grove_ready(e->send, first, count));
}

/* Somebody takes part of the result. */
static void enqueue_behind(ends *e, int64_t first, int64_t count)
{
  int64_t at = first * (N / COARSE), bytes = count * (N / COARSE) * (int64_t)sizeof(int64_t);
  CHECK_OK(driver->copy(0, e->stream, e->out + (int64_t)e->round * N + at, e->y + at, bytes));
}

static void check_rounds(ends *e, int rounds)
{
  int previous = (e->p->rank + e->p->size - 1) % e->p->size;
  char sentence[512];
  CHECK_OK(driver->finish(0, e->stream));
  for (int64_t k = 0; k < (int64_t)rounds * N; k++) {
    int64_t expected = value_of(previous, (int)(k / N), k % N);
    CHECK(e->out[k] == expected, "round %lld: number %lld is %lld, not %lld", (long long)(k / N),
          (long long)(k % N), (long long)e->out[k], (long long)expected);
  }
  grove_emulated_conflict(sentence, sizeof sentence);
  CHECK(grove_emulated_conflicts() == 0, "%s", sentence);
}

/* ---- who marks ---- */

static void mark_some(int number, void *self)
{
  for (int64_t part = number; part < PARTS; part += THREADS) make_ready(self, part, 1);
}

/* One thread in random order, several at once, or all in one call. */
static void mark_all(ends *e, rng *r)
{
  int64_t order[PARTS];
  for (int64_t i = 0; i < PARTS; i++) order[i] = i;
  rng_shuffle(r, PARTS, order);
  switch (e->round % 3) {
  case 0:
    for (int64_t i = 0; i < PARTS; i++) make_ready(e, order[i], 1);
    break;
  case 1: in_threads(THREADS, mark_some, e); break;
  default: make_ready(e, 0, PARTS);
  }
}

/* ---- who takes ---- */

static void take_as_it_comes(ends *e)
{
  int64_t first = 0, count = 0;
  for (int64_t left = COARSE; left > 0; left -= count) {
    CHECK_OK(grove_arrivals(e->receive, &first, &count));
    if (count > 0) enqueue_behind(e, first, count);
  }
  CHECK_OK(grove_wait(e->receive));
}

static void take_all(ends *e)
{
  CHECK_OK(grove_wait(e->receive));
  enqueue_behind(e, 0, COARSE);
}

static void follow_streams(const place *p, grove_stream *stream, rng *r)
{
  ends e = open_ends(p, stream);
  for (e.round = 0; e.round < ROUNDS; e.round++) {
    CHECK_OK(grove_start(e.receive)); /* the last round's copy out of the array is enqueued */
    CHECK_OK(grove_start(e.send));
    mark_all(&e, r);
    if (e.round % 2)
      take_as_it_comes(&e);
    else
      take_all(&e);
    CHECK_OK(grove_wait(e.send));
  }
  check_rounds(&e, ROUNDS);
  close_ends(&e);
}

static void await_first(const ends *e)
{
  for (int arrived = 0; !arrived;) CHECK_OK(grove_arrived(e->receive, 0, 1, &arrived));
}

static void check_no_more(const ends *e)
{
  int arrived = 0;
  for (int i = 0; i < 200; i++) {
    CHECK_OK(grove_arrived(e->receive, 1, COARSE - 1, &arrived));
    CHECK(!arrived, "parts have arrived that were not there yet");
  }
}

/* A part that is marked with the stream far behind does not hold up those that were marked before:
 * the stream waits for the host, which waits for these. With `unmet` all of them are marked before
 * their receiver is there. */
static void late_part(const place *p, int unmet)
{
  grove_stream *stream = new_stream(), *other = new_stream();
  grove_op *idle = place_idle(p);
  ends e = open_arrays(p, stream);
  uint32_t *gate = new_pinned(sizeof *gate);
  open_send(&e, p);
  CHECK_OK(grove_start(e.send));
  make_ready(&e, 0, PARTS / COARSE);
  if (unmet) CHECK_OK(driver->await(0, stream, gate, 1));
  if (unmet) make_ready(&e, PARTS / COARSE, PARTS - PARTS / COARSE);
  place_meet(p, idle);
  open_receive(&e, p);
  CHECK_OK(grove_op_set_stream(e.receive, other));
  CHECK_OK(grove_start(e.receive));
  await_first(&e);
  if (!unmet) CHECK_OK(driver->await(0, stream, gate, 1));
  if (!unmet) make_ready(&e, PARTS / COARSE, PARTS - PARTS / COARSE);
  check_no_more(&e);
  place_meet(p, idle);
  __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
  take_all(&e);
  CHECK_OK(grove_wait(e.send));
  check_rounds(&e, 1);
  close_ends(&e);
  CHECK_OK(grove_op_free(&idle));
  free_pinned(gate);
  driver->free_stream(0, stream);
  driver->free_stream(0, other);
}

/* ---- the host goes on ---- */

static void promise_rounds(const place *p)
{
  grove_stream *stream = new_stream();
  ends e = open_ends(p, stream);
  for (e.round = 0; e.round < ROUNDS; e.round++) {
    CHECK_OK(grove_start(e.receive));
    CHECK_OK(grove_start(e.send));
    make_ready(&e, 0, PARTS);
    CHECK_OK(grove_wait_on_stream(e.send));
    CHECK_OK(grove_wait_on_stream(e.receive));
    enqueue_behind(&e, 0, COARSE);
  }
  check_rounds(&e, ROUNDS);
  close_ends(&e);
  driver->free_stream(0, stream);
}

/* What is enqueued on a stream that waits for the channel is not final before it. */
static void marked_too_late(const place *p)
{
  grove_stream *stream = new_stream();
  ends e = open_ends(p, stream);
  grove_op *idle = place_idle(p);
  CHECK_OK(grove_start(e.send));
  make_ready(&e, 0, PARTS - 1);
  CHECK_OK(grove_wait_on_stream(e.send));
  CHECK_STATUS(grove_ready(e.send, PARTS - 1, 1), GROVE_ERR_STATE);
  CHECK(strstr(grove_last_error(), "grove_wait_on_stream"), "'%s'", grove_last_error());
  CHECK_OK(grove_op_free(&e.send));
  CHECK_OK(driver->finish(0, stream)); /* it goes on */
  place_meet(p, idle);
  close_ends(&e);
  CHECK_OK(grove_op_free(&idle));
  driver->free_stream(0, stream);
}

/* ---- what kernels cannot do ---- */

/* Units too large for Grove to walk: they go by the host, as operations have it. */
static void walked_by_mpi(const place *p)
{
  enum { STRIDE = 1 << 17, ALL = 4 * STRIDE };
  int64_t *x = new_device(ALL * 8), *y = new_device(ALL * 8), *here = need(ALL * 8);
  int next = (p->rank + 1) % p->size, previous = (p->rank + p->size - 1) % p->size;
  MPI_Datatype far, unit;
  grove_op *send = NULL, *receive = NULL;
  MPI_Type_vector(2, 1, STRIDE, MPI_INT64_T, &far);
  MPI_Type_create_resized(far, 0, (MPI_Aint)2 * STRIDE * 8, &unit);
  MPI_Type_commit(&unit);
  for (int64_t i = 0; i < ALL; i++) here[i] = value_of(p->rank, 0, i);
  CHECK_OK(grove_copy(p->ctx, x, here, ALL * 8));
  CHECK_OK(grove_psend_init(p->ctx, x, 2, 1, unit, next, TAG, &send));
  CHECK_OK(grove_precv_init(p->ctx, y, 2, 1, unit, previous, TAG, &receive));
  CHECK_OK(grove_start(receive));
  CHECK_OK(grove_start(send));
  for (int64_t part = 1; part >= 0; part--) CHECK_OK(grove_ready(send, part, 1));
  CHECK_OK(grove_wait(receive));
  CHECK_OK(grove_wait(send));
  CHECK_OK(grove_copy(p->ctx, here, y, ALL * 8));
  for (int64_t i = 0; i < ALL; i += STRIDE)
    CHECK(here[i] == value_of(previous, 0, i), "number %lld is %lld", (long long)i,
          (long long)here[i]);
  CHECK_OK(grove_op_free(&send));
  CHECK_OK(grove_op_free(&receive));
  driver->free(0, x);
  driver->free(0, y);
  free(here);
  MPI_Type_free(&far);
  MPI_Type_free(&unit);
}

/* ---- all of it ---- */

static void try_options(const char *aggregator, const char *transport, rng *r)
{
  place p = place_create(split(0));
  grove_stream *stream = new_stream();
  place_set(&p, "aggregator", aggregator);
  place_set(&p, "delta", "0.00005");
  place_set(&p, "transport_parts", transport);
  follow_streams(&p, stream, r);
  follow_streams(&p, NULL, r);
  place_set(&p, "max_messages", "3");
  follow_streams(&p, stream, r);
  if (any_thread_may_call()) {
    place_set(&p, "progress", "thread");
    promise_rounds(&p);
    marked_too_late(&p);
  }
  driver->free_stream(0, stream);
  place_free(&p);
}

int main(int argc, char **argv)
{
  static const char *const aggregators[] = {"none", "ploggp", "timer", "adaptive"};
  static const char *const transports[] = {"auto", "mpi"};
  test_begin(&argc, &argv, "partitioned/device_streams");
  place first = place_create(split(0));
  void *memory = NULL;
  rng r = rng_from(test_seed(), (uint64_t)first.rank);
  CHECK_OK(grove_alloc_device(first.ctx, 8, &memory)); /* the option's temper */
  for (int i = 0; i < 8; i++) {
    test_case(i);
    try_options(aggregators[i / 2], transports[i % 2], &r);
  }
  test_case(8);
  place_set(&first, "aggregator", "none");
  for (int t = 0; t < 2; t++) {
    place_set(&first, "transport_parts", transports[t]);
    late_part(&first, 0);
    late_part(&first, 1);
  }
  walked_by_mpi(&first);
  CHECK_OK(grove_dealloc(first.ctx, memory));
  place_free(&first);
  grove_emulated_reset();
  return test_end();
}
