/* Operations and the user's streams: what is enqueued before a start is final for the exchange, and
 * what is enqueued behind the wait, or behind grove_wait_on_stream, sees the result. The checker of
 * the emulated device finds what has no order, whatever the temper; GROVE_DEVICE has the temper. */
#include "device/space.h"
#include "grove_cuda.h"
#include "places.h"
#include "rig.h"
#include "threads.h"

enum { N = 200, ROUNDS = 12, BYTES = N * sizeof(int64_t) };

/* An operation by which everybody gets what the next rank has, on the device. */
typedef struct halo {
  const place *p;
  grove_forest *f;
  grove_op *op;
  int64_t *x, *y;    /* roots and leaves, */
  int64_t *in, *out; /* what is copied to the roots, and from the leaves, in each round */
} halo;

static grove_forest *ring_forest(const place *p)
{
  grove_forest *f = NULL;
  int64_t slot[N];
  grove_root root[N];
  for (int64_t i = 0; i < N; i++) {
    slot[i] = i;
    root[i] = (grove_root){(p->rank + 1) % p->size, (7 * i) % N};
  }
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, N, N, slot, root));
  CHECK_OK(grove_forest_set_up(f));
  return f;
}

static halo new_halo(const place *p)
{
  halo h = {.p = p, .f = ring_forest(p), .x = new_device(BYTES), .y = new_device(BYTES)};
  h.in = new_pinned(ROUNDS * BYTES);
  h.out = new_pinned(ROUNDS * BYTES);
  CHECK_OK(grove_bcast_init(h.f, MPI_INT64_T, h.x, h.y, MPI_REPLACE, &h.op));
  return h;
}

static void free_halo(halo *h)
{
  CHECK_OK(grove_op_free(&h->op));
  CHECK_OK(grove_forest_free(&h->f));
  CHECK_OK(driver->finish(0, NULL));
  driver->free(0, h->x);
  driver->free(0, h->y);
  free_pinned(h->in);
  free_pinned(h->out);
}

static int64_t value_of(int rank, int round, int64_t i)
{
  return 100000 * round + 1000 * rank + i;
}

/* Work on the stream before the start: new values for the roots. */
static void enqueue_before(const halo *h, grove_stream *stream, int round)
{
  int64_t *in = h->in + (int64_t)round * N;
  for (int64_t i = 0; i < N; i++) in[i] = value_of(h->p->rank, round, i);
  CHECK_OK(driver->copy(0, stream, h->x, in, BYTES));
}

/* And behind: somebody takes the result. */
static void enqueue_behind(const halo *h, grove_stream *stream, int round)
{
  CHECK_OK(driver->copy(0, stream, h->out + (int64_t)round * N, h->y, BYTES));
}

static void check_round(const halo *h, int round)
{
  int next = (h->p->rank + 1) % h->p->size;
  const int64_t *out = h->out + (int64_t)round * N;
  for (int64_t i = 0; i < N; i++)
    CHECK(out[i] == value_of(next, round, (7 * i) % N), "round %d: number %lld is %lld", round,
          (long long)i, (long long)out[i]);
}

static void check_order(void)
{
  char sentence[512];
  grove_emulated_conflict(sentence, sizeof sentence);
  CHECK(grove_emulated_conflicts() == 0, "%s", sentence);
}

/* ---- starts and waits ---- */

typedef enum whose { OPERATIONS, CONTEXTS, NOBODYS, DEFAULT_OF_OPERATION, STREAMS } whose;

/* Which stream is meant by an operation's, a context's, none, or NULL where the context has one. */
static grove_stream *choose_stream(const halo *h, whose stream_is, grove_stream *stream)
{
  CHECK_OK(grove_context_set_stream(h->p->ctx, NULL));
  if (stream_is == OPERATIONS) CHECK_OK(grove_op_set_stream(h->op, stream));
  if (stream_is == CONTEXTS || stream_is == DEFAULT_OF_OPERATION)
    CHECK_OK(grove_context_set_stream(h->p->ctx, stream));
  if (stream_is == DEFAULT_OF_OPERATION) CHECK_OK(grove_op_set_stream(h->op, NULL));
  return stream_is == OPERATIONS || stream_is == CONTEXTS ? stream : NULL;
}

static void follows_the_stream(const place *p, whose stream_is)
{
  halo h = new_halo(p);
  grove_stream *own = new_stream(), *stream = choose_stream(&h, stream_is, own);
  for (int round = 0; round < ROUNDS; round++) {
    enqueue_before(&h, stream, round);
    CHECK_OK(grove_start(h.op));
    CHECK_OK(grove_wait(h.op));
    enqueue_behind(&h, stream, round);
  }
  CHECK_OK(driver->finish(0, stream));
  for (int round = 0; round < ROUNDS; round++) check_round(&h, round);
  check_order();
  CHECK_OK(grove_context_set_stream(p->ctx, NULL));
  free_halo(&h);
  driver->free_stream(0, own);
}

/* One shots, blocking calls and copies have the context's. */
static void follow_the_contexts(const place *p)
{
  halo h = new_halo(p);
  grove_stream *stream = new_stream();
  CHECK_OK(grove_context_set_stream(p->ctx, stream));
  for (int round = 0; round < ROUNDS; round++) {
    grove_op *op = NULL;
    enqueue_before(&h, stream, round);
    if (round % 2) {
      CHECK_OK(grove_bcast(h.f, MPI_INT64_T, h.x, h.y, MPI_REPLACE));
    } else {
      CHECK_OK(grove_bcast_begin(h.f, MPI_INT64_T, h.x, h.y, MPI_REPLACE, &op));
      CHECK_OK(grove_end(&op));
    }
    CHECK_OK(grove_copy(p->ctx, h.out + round * N, h.y, BYTES));
    check_round(&h, round);
    CHECK_OK(driver->copy(0, stream, h.x, h.out, BYTES));
    CHECK_OK(grove_copy(p->ctx, h.out, h.x, BYTES));
    if (round == 0) check_round(&h, round);
  }
  check_order();
  CHECK_OK(grove_context_set_stream(p->ctx, NULL));
  free_halo(&h);
  driver->free_stream(0, stream);
}

/* A stream that was given to a one shot is not the next one's. */
static void streams_of_one_shots(const place *p)
{
  halo h = new_halo(p);
  grove_stream *gone = new_stream();
  for (int round = 0; round < 3; round++) {
    grove_op *op = NULL;
    int done = 0;
    enqueue_before(&h, NULL, round);
    CHECK_OK(grove_bcast_begin(h.f, MPI_INT64_T, h.x, h.y, MPI_REPLACE, &op));
    while (!done) CHECK_OK(grove_test(op, &done));
    if (round == 0) CHECK_OK(grove_op_set_stream(op, gone));
    CHECK_OK(grove_end(&op));
    if (round == 0) driver->free_stream(0, gone);
    CHECK_OK(grove_copy(p->ctx, h.out + round * N, h.y, BYTES));
    check_round(&h, round);
  }
  free_halo(&h);
}

/* ---- what is refused ---- */

static void check_says(const char *word)
{
  CHECK(strstr(grove_last_error(), word), "'%s' does not have %s", grove_last_error(), word);
}

static void refuses_streams(const place *p)
{
  halo h = new_halo(p);
  grove_stream *stream = new_stream();
  grove_op *send = NULL, *receive = NULL;
  int64_t a = 1, b = 0;
  CHECK_STATUS(grove_op_set_stream(NULL, stream), GROVE_ERR_ARG);
  CHECK_STATUS(grove_context_set_stream(NULL, stream), GROVE_ERR_ARG);
  CHECK_STATUS(grove_wait_on_stream(NULL), GROVE_ERR_ARG);
  check_says("grove_wait_on_stream");
  CHECK_STATUS(grove_wait_on_stream(h.op), GROVE_ERR_STATE);
  check_says("grove_wait_on_stream");
  CHECK_OK(grove_psend_init(p->ctx, &a, 1, 1, MPI_INT64_T, p->rank, 3, &send));
  CHECK_OK(grove_precv_init(p->ctx, &b, 1, 1, MPI_INT64_T, p->rank, 3, &receive));
  CHECK_OK(grove_op_set_stream(send, stream)); /* host arrays take no notice of it */
  CHECK_OK(grove_op_set_stream(receive, NULL));
  CHECK_OK(grove_start(receive));
  CHECK_STATUS(grove_wait_on_stream(receive), GROVE_ERR_UNSUPPORTED);
  CHECK_OK(grove_start(send));
  CHECK_OK(grove_ready(send, 0, 1));
  CHECK_OK(grove_wait(receive));
  CHECK_OK(grove_wait(send));
  CHECK(b == 1, "the channel brought %lld", (long long)b);
  CHECK_OK(grove_op_free(&send));
  CHECK_OK(grove_op_free(&receive));
  free_halo(&h);
  driver->free_stream(0, stream);
}

/* While it is active; that it is, a rank can only know that waits for another's start. */
static void refuses_while_active(const place *p)
{
  halo h = new_halo(p);
  grove_stream *stream = new_stream();
  enqueue_before(&h, NULL, 0);
  polite_barrier(p->comm);
  if (p->rank == 0 && p->size > 1) {
    CHECK_OK(grove_start(h.op));
    CHECK_STATUS(grove_op_set_stream(h.op, stream), GROVE_ERR_STATE);
    check_says("active");
  }
  polite_barrier(p->comm);
  if (p->rank > 0 || p->size == 1) CHECK_OK(grove_start(h.op));
  CHECK_OK(grove_wait(h.op));
  CHECK_OK(grove_op_set_stream(h.op, stream));
  enqueue_behind(&h, NULL, 0);
  CHECK_OK(driver->finish(0, NULL));
  check_round(&h, 0);
  free_halo(&h);
  driver->free_stream(0, stream);
}

/* Whether it is complete already or not, without a thread that moves messages. */
static void refuses_promises(const place *p)
{
  halo h = new_halo(p);
  for (int round = 0; round < 2; round++) {
    int done = 0;
    enqueue_before(&h, NULL, round);
    CHECK_OK(grove_start(h.op));
    while (round == 1 && !done) CHECK_OK(grove_test(h.op, &done));
    CHECK_STATUS(grove_wait_on_stream(h.op), GROVE_ERR_UNSUPPORTED);
    check_says("progress=thread");
    CHECK_OK(grove_wait(h.op));
    enqueue_behind(&h, NULL, round);
    CHECK_OK(driver->finish(0, NULL));
    check_round(&h, round);
  }
  free_halo(&h);
}

/* Arrays of the host's: a stream is taken no notice of. */
static void host_arrays(const place *p)
{
  grove_forest *f = ring_forest(p);
  grove_stream *stream = new_stream();
  grove_op *op = NULL;
  int64_t x[N], y[N];
  for (int64_t i = 0; i < N; i++) x[i] = value_of(p->rank, 0, i);
  CHECK_OK(grove_bcast_init(f, MPI_INT64_T, x, y, MPI_REPLACE, &op));
  CHECK_OK(grove_op_set_stream(op, stream));
  CHECK_OK(grove_start(op));
  CHECK_OK(grove_wait(op));
  CHECK(y[1] == value_of((p->rank + 1) % p->size, 0, 7), "it is %lld", (long long)y[1]);
  CHECK_OK(grove_op_free(&op));
  CHECK_OK(grove_forest_free(&f));
  driver->free_stream(0, stream);
}

/* ---- promises ---- */

/* The host enqueues round after round, and looks at nothing. */
static void host_goes_on(const place *p, whose stream_is)
{
  halo h = new_halo(p);
  grove_stream *own = new_stream(), *stream = choose_stream(&h, stream_is, own);
  for (int times = 0; times < 4; times++) {
    for (int round = 0; round < ROUNDS; round++) {
      enqueue_before(&h, stream, round);
      CHECK_OK(grove_start(h.op));
      CHECK_OK(grove_wait_on_stream(h.op));
      if (round % 3 == 1) CHECK_OK(grove_wait_on_stream(h.op)); /* twice is once */
      enqueue_behind(&h, stream, round);
      if (round % 4 == 2) CHECK_OK(grove_wait(h.op));
    }
    CHECK_OK(driver->finish(0, stream));
    for (int round = 0; round < ROUNDS; round++) check_round(&h, round);
    memset(h.out, 0, ROUNDS * BYTES);
  }
  check_order();
  CHECK_OK(grove_wait(h.op));
  CHECK_STATUS(grove_wait_on_stream(h.op), GROVE_ERR_STATE); /* not started again */
  CHECK_OK(grove_context_set_stream(p->ctx, NULL));
  free_halo(&h);
  driver->free_stream(0, own);
}

/* All others would wait with it, those of Grove too. */
static void refuses_default_stream(const place *p, whose stream_is)
{
  halo h = new_halo(p);
  grove_stream *own = new_stream();
  choose_stream(&h, stream_is, own);
  enqueue_before(&h, NULL, 0);
  CHECK_OK(grove_start(h.op));
  CHECK_STATUS(grove_wait_on_stream(h.op), GROVE_ERR_UNSUPPORTED);
  check_says("default stream");
  CHECK_OK(grove_wait(h.op));
  CHECK_OK(grove_copy(p->ctx, h.out, h.y, BYTES));
  check_round(&h, 0);
  CHECK_OK(grove_context_set_stream(p->ctx, NULL));
  free_halo(&h);
  driver->free_stream(0, own);
}

/* One that is complete already can still be waited for, or started. */
static void promised_when_complete(const place *p)
{
  halo h = new_halo(p);
  grove_stream *stream = new_stream();
  CHECK_OK(grove_op_set_stream(h.op, stream));
  for (int round = 0; round < 4; round++) {
    int done = 0;
    enqueue_before(&h, stream, round);
    CHECK_OK(grove_start(h.op));
    while (!done) CHECK_OK(grove_test(h.op, &done));
    CHECK_OK(grove_wait_on_stream(h.op));
    CHECK_OK(grove_wait_on_stream(h.op));
    enqueue_behind(&h, stream, round);
    if (round % 2) CHECK_OK(grove_wait(h.op));
  }
  CHECK_OK(driver->finish(0, stream));
  for (int round = 0; round < 4; round++) check_round(&h, round);
  free_halo(&h);
  driver->free_stream(0, stream);
}

static void one_shots_promise(const place *p)
{
  halo h = new_halo(p);
  grove_stream *stream = new_stream();
  CHECK_OK(grove_context_set_stream(p->ctx, stream));
  for (int round = 0; round < ROUNDS; round++) {
    grove_op *op = NULL;
    enqueue_before(&h, stream, round);
    CHECK_OK(grove_bcast_begin(h.f, MPI_INT64_T, h.x, h.y, MPI_REPLACE, &op));
    CHECK_OK(grove_wait_on_stream(op));
    enqueue_behind(&h, stream, round);
    CHECK_OK(grove_end(&op));
  }
  CHECK_OK(driver->finish(0, stream));
  for (int round = 0; round < ROUNDS; round++) check_round(&h, round);
  check_order();
  CHECK_OK(grove_context_set_stream(p->ctx, NULL));
  free_halo(&h);
  driver->free_stream(0, stream);
}

/* The other ranks come later; the stream goes on all the same. */
static void freed_while_promised(const place *p)
{
  halo h = new_halo(p);
  grove_stream *stream = new_stream();
  grove_op *idle = place_idle(p);
  CHECK_OK(grove_op_set_stream(h.op, stream));
  enqueue_before(&h, stream, 0);
  if (p->rank > 0) polite_barrier(p->comm);
  CHECK_OK(grove_start(h.op));
  if (p->rank == 0) {
    CHECK_OK(grove_wait_on_stream(h.op));
    enqueue_behind(&h, stream, 0);
    CHECK_OK(grove_op_free(&h.op));
    CHECK_OK(driver->finish(0, stream));
    polite_barrier(p->comm);
  } else {
    CHECK_OK(grove_wait(h.op));
    CHECK_OK(grove_copy(p->ctx, h.out, h.y, BYTES));
    check_round(&h, 0);
  }
  place_meet(p, idle);
  CHECK_OK(grove_op_free(&idle));
  free_halo(&h);
  driver->free_stream(0, stream);
}

/* To free memory of a device waits for all its streams, and one of them waits for an operation that
 * the others have yet to start. What has to do with the device goes when they have. */
static void frees_behind_a_promise(const place *p)
{
  halo h = new_halo(p), other = new_halo(p);
  grove_stream *stream = new_stream();
  grove_op *one_shot = NULL;
  void *memory = NULL;
  CHECK_OK(grove_alloc_device(p->ctx, BYTES, &memory));
  CHECK_OK(grove_op_set_stream(h.op, stream));
  enqueue_before(&h, stream, 0);
  CHECK_OK(grove_bcast_begin(other.f, MPI_INT64_T, other.x, other.y, MPI_REPLACE, &one_shot));
  CHECK_OK(grove_end(&one_shot));
  if (p->rank == 0) {
    CHECK_OK(grove_start(h.op));
    CHECK_OK(grove_wait_on_stream(h.op));
    enqueue_behind(&h, stream, 0);
  }
  CHECK_OK(grove_op_free(&other.op));
  CHECK_OK(grove_forest_free(&other.f)); /* and the one shot */
  CHECK_OK(grove_dealloc(p->ctx, memory));
  if (p->rank > 0) {
    CHECK_OK(grove_start(h.op));
    CHECK_OK(grove_wait(h.op));
    enqueue_behind(&h, stream, 0);
  }
  CHECK_OK(driver->finish(0, stream));
  check_round(&h, 0);
  check_order();
  if (p->rank == 0) CHECK_OK(grove_wait(h.op));
  grove_context_enter(p->ctx); /* whoever has kept the promise is through */
  CHECK(p->ctx->graveyard == NULL, "something is left that should be gone");
  grove_context_leave(p->ctx);
  free_halo(&h);
  free_halo(&other);
  driver->free_stream(0, stream);
}

/* The same with memory of another context: nothing of it keeps this one's promise, and whoever
 * waited for the stream there would not get to where the others wait. */
static void frees_in_another_context(const place *p)
{
  place q = place_create(split(0));
  halo h = new_halo(p), other = new_halo(&q);
  grove_op *idle = place_idle(&q);
  grove_stream *stream = new_stream();
  CHECK_OK(grove_op_set_stream(h.op, stream));
  enqueue_before(&h, stream, 0);
  if (p->rank == 0) {
    CHECK_OK(grove_start(h.op));
    CHECK_OK(grove_wait_on_stream(h.op));
  }
  CHECK_OK(grove_op_free(&other.op));
  CHECK(p->rank > 0 || p->size == 1 || q.ctx->graveyard, "it has gone");
  polite_barrier(p->comm);
  if (p->rank > 0) {
    CHECK_OK(grove_start(h.op));
    CHECK_OK(grove_wait(h.op));
  }
  enqueue_behind(&h, stream, 0);
  CHECK_OK(driver->finish(0, stream));
  check_round(&h, 0);
  check_order();
  if (p->rank == 0) CHECK_OK(grove_wait(h.op));
  place_meet(&q, idle);
  CHECK(!q.ctx->graveyard, "something is left that should be gone");
  CHECK_OK(grove_op_free(&idle));
  free_halo(&other);
  free_halo(&h);
  place_free(&q);
  driver->free_stream(0, stream);
}

/* Two on two streams, which ranks start and promise in different orders. */
static void two_streams(const place *p)
{
  halo h[2] = {new_halo(p), new_halo(p)};
  grove_stream *stream[2] = {new_stream(), new_stream()};
  for (int i = 0; i < 2; i++) CHECK_OK(grove_op_set_stream(h[i].op, stream[i]));
  for (int round = 0; round < ROUNDS; round++) {
    int first = (p->rank + round) % 2, second = (p->rank + round / 2) % 2;
    for (int k = 0; k < 2; k++) {
      int i = first ^ k;
      enqueue_before(&h[i], stream[i], round);
      CHECK_OK(grove_start(h[i].op));
    }
    for (int k = 0; k < 2; k++) {
      int i = second ^ k;
      CHECK_OK(grove_wait_on_stream(h[i].op));
      enqueue_behind(&h[i], stream[i], round);
    }
  }
  for (int i = 0; i < 2; i++) {
    CHECK_OK(driver->finish(0, stream[i]));
    for (int round = 0; round < ROUNDS; round++) check_round(&h[i], round);
  }
  check_order();
  for (int i = 0; i < 2; i++) {
    free_halo(&h[i]);
    driver->free_stream(0, stream[i]);
  }
}

/* Two on one stream: what the second sends is final when the first has come. */
static void one_behind_the_other(const place *p)
{
  halo h[2] = {new_halo(p), new_halo(p)};
  grove_stream *stream = new_stream();
  for (int i = 0; i < 2; i++) CHECK_OK(grove_op_set_stream(h[i].op, stream));
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < 2; i++) {
      enqueue_before(&h[i], stream, round);
      CHECK_OK(grove_start(h[i].op));
      CHECK_OK(grove_wait_on_stream(h[i].op));
      enqueue_behind(&h[i], stream, round);
    }
  CHECK_OK(driver->finish(0, stream));
  for (int i = 0; i < 2; i++)
    for (int round = 0; round < ROUNDS; round++) check_round(&h[i], round);
  check_order();
  for (int i = 0; i < 2; i++) free_halo(&h[i]);
  driver->free_stream(0, stream);
}

/* The context ends while a stream has not got to the wait for it. */
static void context_ends_first(void)
{
  place p = place_create(split(0));
  place_set(&p, "progress", "thread");
  halo h = new_halo(&p);
  grove_stream *stream = new_stream();
  uint32_t *word = new_pinned(sizeof *word);
  CHECK_OK(grove_op_set_stream(h.op, stream));
  enqueue_before(&h, stream, 0);
  CHECK_OK(grove_start(h.op));
  CHECK_OK(grove_wait_on_stream(h.op));
  enqueue_behind(&h, stream, 0);
  CHECK_OK(grove_wait(h.op));
  CHECK_OK(grove_op_free(&h.op));
  CHECK_OK(grove_forest_free(&h.f));
  place then = p;
  place_free(&p);
  CHECK_OK(driver->finish(0, stream));
  h.p = &then;
  check_round(&h, 0);
  check_order();
  free_halo(&h);
  driver->free_stream(0, stream);
  free_pinned(word);
}

static void with_a_thread(const place *p)
{
  place_set(p, "progress", "thread");
  host_goes_on(p, OPERATIONS);
  host_goes_on(p, CONTEXTS);
  refuses_default_stream(p, NOBODYS);
  refuses_default_stream(p, DEFAULT_OF_OPERATION);
  promised_when_complete(p);
  one_shots_promise(p);
  freed_while_promised(p);
  frees_behind_a_promise(p);
  frees_in_another_context(p);
  two_streams(p);
  one_behind_the_other(p);
  for (int i = 0; i < 10; i++) context_ends_first();
  place_set(p, "progress", "calls");
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "device/streams");
  place p = place_create(split(0));
  void *memory = NULL;
  CHECK_OK(grove_alloc_device(p.ctx, 8, &memory)); /* the option's temper */
  for (int nodes = 0; nodes < 2; nodes++) {
    test_case(nodes);
    place_set(&p, "node_size", nodes ? "1" : "0");
    for (whose s = 0; s < STREAMS; s++) follows_the_stream(&p, s);
    follow_the_contexts(&p);
    streams_of_one_shots(&p);
    refuses_streams(&p);
    refuses_while_active(&p);
    refuses_promises(&p);
    host_arrays(&p);
    if (any_thread_may_call()) with_a_thread(&p);
  }
  CHECK_OK(grove_dealloc(p.ctx, memory));
  place_free(&p);
  grove_emulated_reset();
  return test_end();
}
