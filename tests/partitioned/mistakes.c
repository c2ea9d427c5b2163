/* Wrong calls get a status and a sentence with part, round, peer and tag; they change nothing: the
 * outputs stay as they were, the round goes on, and the data is right. */
#include "channel.h"
#include "check.h"
#include "grove_cuda.h"

#include <stdint.h>
#include <string.h>

enum { TAG = 4711, PARTS = 40 };

/* ---- sentences ---- */

/* The call fails so. */
static void refused(grove_status got, grove_status expected, const char *call)
{
  const char *sentence = grove_last_error();
  CHECK(got == expected, "%s: %s, not %s: '%s'", call, grove_status_name(got),
        grove_status_name(expected), sentence);
  CHECK(strlen(sentence) > 10, "%s: '%s' is no sentence", call, sentence);
}

static void says_word(const char *word)
{
  CHECK(strstr(grove_last_error(), word) != NULL, "no '%s' in '%s'", word, grove_last_error());
}

static void says_whose(int peer)
{
  char text[32];
  snprintf(text, sizeof text, "rank %d", peer);
  says_word(text);
  says_word("tag");
  CHECK_NUMBER_IN(grove_last_error(), TAG);
}

static void says_where(int peer, int64_t number)
{
  says_whose(peer);
  says_word("round");
  says_word("part");
  CHECK_NUMBER_IN(grove_last_error(), number);
}

/* ---- arguments of the inits ---- */

typedef struct arguments {
  grove_context *ctx;
  void *buf;
  int parts;
  int64_t count;
  MPI_Datatype type;
  int peer, tag;
} arguments;

/* Both calls refuse these, and leave the output alone. */
static void no_channel(const arguments *a, const char *what)
{
  int anything;
  grove_op *untouched = (grove_op *)&anything, *op = untouched;
  refused(grove_psend_init(a->ctx, a->buf, a->parts, a->count, a->type, a->peer, a->tag, &op),
          GROVE_ERR_ARG, what);
  refused(grove_precv_init(a->ctx, a->buf, a->parts, a->count, a->type, a->peer, a->tag, &op),
          GROVE_ERR_ARG, what);
  CHECK(op == untouched, "%s: an output was set by a call that failed", what);
}

static void bad_arguments(const place *p)
{
  int x[8];
  const arguments good = {p->ctx, x, 4, 2, MPI_INT, p->rank, TAG};
  arguments a = good;
  MPI_Datatype raw;
  MPI_Type_contiguous(2, MPI_INT, &raw); /* not committed */
  refused(grove_psend_init(a.ctx, x, 4, 2, MPI_INT, p->rank, TAG, NULL), GROVE_ERR_ARG, "out");
  refused(grove_precv_init(a.ctx, x, 4, 2, MPI_INT, p->rank, TAG, NULL), GROVE_ERR_ARG, "out");
  a.ctx = NULL;
  no_channel(&a, "no context");
  a = good, a.buf = NULL;
  no_channel(&a, "no buffer");
  a = good, a.parts = -1;
  no_channel(&a, "parts");
  CHECK_NUMBER_IN(grove_last_error(), -1);
  a = good, a.count = -7;
  no_channel(&a, "units of a part");
  a = good, a.type = MPI_DATATYPE_NULL;
  no_channel(&a, "no type");
  a = good, a.type = raw;
  no_channel(&a, "a type that was not committed");
  for (int i = 0; i < 4; i++) {
    const int peer[] = {-1, p->size, MPI_PROC_NULL, MPI_ANY_SOURCE};
    a = good, a.peer = peer[i];
    no_channel(&a, "a rank that is none");
  }
  a = good, a.tag = -1;
  no_channel(&a, "a tag below 0");
  a = good, a.parts = INT32_MAX, a.count = INT64_MAX / 2;
  no_channel(&a, "more bytes than there are numbers");
  MPI_Type_free(&raw);
}

/* Memory of a device is known as such, also inside an allocation, and by a context that did not
 * make it; what has no bytes lies nowhere. Streams are refused where they make no sense. */
static void on_a_device(const place *p)
{
  int host[8] = {1, 2, 3, 4, 5, 6, 7, 8}, come[6] = {0}, *memory = NULL;
  grove_op *send = NULL, *receive = NULL, *other = NULL;
  grove_context *ctx;
  CHECK_OK(grove_context_create(MPI_COMM_WORLD, &ctx));
  CHECK_OK(grove_context_set(ctx, "device", "emulated"));
  CHECK_OK(grove_context_set(p->ctx, "device", "emulated"));
  CHECK_OK(grove_alloc_device(ctx, sizeof host, (void **)&memory));
  CHECK_OK(grove_copy(ctx, memory, host, sizeof host));
  CHECK_OK(grove_psend_init(ctx, memory + 2, 3, 2, MPI_INT, p->rank, TAG, &send));
  CHECK_OK(grove_precv_init(ctx, come, 2, 3, MPI_INT, p->rank, TAG, &receive));
  CHECK_OK(grove_precv_init(p->ctx, memory + 4, 2, 2, MPI_INT, p->rank, TAG + 1, &other));
  CHECK_OK(grove_op_free(&other));
  CHECK_OK(grove_psend_init(ctx, memory, 4, 0, MPI_INT, p->rank, TAG + 1, &other));
  CHECK_OK(grove_op_free(&other));
  CHECK_OK(grove_start(receive));
  CHECK_OK(grove_start(send));
  refused(grove_op_set_stream(send, NULL), GROVE_ERR_STATE, "a stream of an active channel");
  refused(grove_wait_on_stream(receive), GROVE_ERR_UNSUPPORTED, "nobody to move its messages");
  says_word("progress=thread");
  CHECK_OK(grove_ready(send, 0, 2));
  refused(grove_ready(send, 1, 2), GROVE_ERR_STATE, "a part of a device's memory twice");
  CHECK_OK(grove_ready(send, 2, 1));
  CHECK_OK(grove_wait(receive));
  CHECK_OK(grove_wait(send));
  for (int i = 0; i < 6; i++) CHECK(come[i] == i + 3, "number %d is %d", i, come[i]);
  CHECK_OK(grove_op_free(&send));
  CHECK_OK(grove_op_free(&receive));
  CHECK_OK(grove_dealloc(ctx, memory));
  CHECK_OK(grove_context_free(&ctx));
}

/* ---- a pair of ends on every rank: this rank's own, or with the next and the previous one ---- */

typedef struct pair {
  channel send, receive;
} pair;

static pair pair_open(const place *p, const units *types)
{
  pair x;
  int next = (p->rank + 1) % p->size, previous = (p->rank + p->size - 1) % p->size;
  channel c = {.ctx = p->ctx, .tag = TAG, .parts = PARTS, .count = 3};
  c.u = units_find(types, "MPI_INT");
  x.send = x.receive = c;
  x.send.sends = 1;
  x.send.peer = next;
  x.receive.peer = previous;
  x.send.seed = mix2(test_seed(), (uint64_t)p->rank);
  x.receive.seed = mix2(test_seed(), (uint64_t)previous);
  channel_open(&x.send);
  channel_open(&x.receive);
  return x;
}

static void pair_close(pair *x)
{
  channel_close(&x->send);
  channel_close(&x->receive);
}

/* Nothing of this may be called in this state. */
static void not_started(pair *x)
{
  int yes = 77, done = 77;
  int64_t first = 77, count = 78;
  refused(grove_ready(x->send.op, 3, 1), GROVE_ERR_STATE, "ready before start");
  says_whose(x->send.peer);
  refused(grove_wait(x->send.op), GROVE_ERR_STATE, "wait before start");
  refused(grove_wait(x->receive.op), GROVE_ERR_STATE, "wait before start");
  refused(grove_test(x->receive.op, &done), GROVE_ERR_STATE, "test before start");
  if (x->receive.round == 0) { /* behind a wait: what is there is there */
    refused(grove_arrived(x->receive.op, 0, 1, &yes), GROVE_ERR_STATE, "arrived before start");
    refused(grove_arrivals(x->receive.op, &first, &count), GROVE_ERR_STATE,
            "arrivals before start");
  }
  CHECK(yes == 77 && done == 77 && first == 77 && count == 78,
        "an output was set by a call that failed");
}

static void bad_ranges(pair *x)
{
  static const int64_t range[][2] = {
    {-1, 1}, {0, -1}, {PARTS, 1}, {0, PARTS + 1}, {PARTS - 1, 2}, {INT64_MAX, 1}, {1, INT64_MAX},
  };
  int yes = 77;
  for (int i = 0; i < 7; i++) {
    refused(grove_ready(x->send.op, range[i][0], range[i][1]), GROVE_ERR_ARG, "ready");
    says_whose(x->send.peer);
    CHECK_NUMBER_IN(grove_last_error(), PARTS - 1);
    refused(grove_arrived(x->receive.op, range[i][0], range[i][1], &yes), GROVE_ERR_ARG, "arrived");
    says_whose(x->receive.peer);
    CHECK_NUMBER_IN(grove_last_error(), PARTS - 1);
  }
  CHECK(yes == 77, "an output was set by a call that failed");
}

/* A sender is asked what only a receiver knows, and the other way round. */
static void wrong_end(pair *x)
{
  int yes = 77;
  int64_t first = 77, count = 78;
  refused(grove_ready(x->receive.op, 0, 1), GROVE_ERR_STATE, "ready of a receive");
  says_whose(x->receive.peer);
  refused(grove_arrived(x->send.op, 0, 1, &yes), GROVE_ERR_STATE, "arrived of a send");
  says_whose(x->send.peer);
  refused(grove_arrivals(x->send.op, &first, &count), GROVE_ERR_STATE, "arrivals of a send");
  says_whose(x->send.peer);
  CHECK(yes == 77 && first == 77 && count == 78, "an output was set by a call that failed");
}

/* A call that names a part twice marks none of its parts. */
static void twice(pair *x)
{
  channel *c = &x->send;
  channel_ready(c, 17, 1);
  refused(grove_ready(c->op, 17, 1), GROVE_ERR_STATE, "a part twice");
  says_where(c->peer, 17);
  refused(grove_ready(c->op, 12, 20), GROVE_ERR_STATE, "a part twice");
  says_where(c->peer, 17);
  channel_ready(c, 18, 3);
  refused(grove_ready(c->op, 15, 2 * 16), GROVE_ERR_ARG, "too many");
  refused(grove_ready(c->op, 0, PARTS), GROVE_ERR_STATE, "a part twice");
  channel_ready(c, 0, 17);
  channel_ready(c, 21, PARTS - 21);
  refused(grove_ready(c->op, 0, 1), GROVE_ERR_STATE, "a part twice");
  says_where(c->peer, 0);
}

static void missing_outputs(pair *x)
{
  int64_t first = 0, count = 0;
  refused(grove_arrived(x->receive.op, 0, 1, NULL), GROVE_ERR_ARG, "arrived without yes");
  refused(grove_arrivals(x->receive.op, NULL, &count), GROVE_ERR_ARG, "arrivals without first");
  refused(grove_arrivals(x->receive.op, &first, NULL), GROVE_ERR_ARG, "arrivals without count");
  refused(grove_op_part_times(x->send.op, 0, 1, NULL), GROVE_ERR_ARG, "part_times without out");
}

/* No parts are no mistake. */
static void no_parts(pair *x)
{
  int yes = 0;
  CHECK_OK(grove_ready(x->send.op, 0, 0));
  CHECK_OK(grove_ready(x->send.op, PARTS, 0));
  CHECK_OK(grove_arrived(x->receive.op, 5, 0, &yes));
  CHECK(yes == 1, "no part has not arrived");
}

static void wrong_times(const place *p, const units *types)
{
  pair x = pair_open(p, types);
  for (int round = 0; round < 3; round++) {
    not_started(&x);
    channel_start(&x.send);
    channel_start(&x.receive);
    refused(grove_start(x.send.op), GROVE_ERR_STATE, "start twice");
    refused(grove_start(x.receive.op), GROVE_ERR_STATE, "start twice");
    bad_ranges(&x);
    wrong_end(&x);
    missing_outputs(&x);
    no_parts(&x);
    refused(grove_end(&x.send.op), GROVE_ERR_STATE, "end of what was not begun");
    refused(grove_op_part_times(x.send.op, 0, 1, (grove_part_time[1]){{0}}), GROVE_ERR_STATE,
            "part_times without profile");
    says_word("profile");
    if (round == 1)
      channel_ready(&x.send, 0, PARTS);
    else
      twice(&x);
    if (round == 2) { /* a wait behind a test that said done: legal, once */
      channel_poll(&x.receive);
      channel_poll(&x.send);
    }
    channel_wait(&x.receive);
    channel_wait(&x.send);
  }
  not_started(&x);
  pair_close(&x);
}

/* ---- other operations ---- */

/* Some leave by parts (exec/parts_mistakes); none has times of them, and a fetch has no parts. */
static void forest_operations(const place *p)
{
  grove_forest *f = NULL;
  grove_op *op = NULL;
  int x[3] = {1, 2, 3}, yes = 77;
  int64_t first = 77, count = 78;
  grove_root root = {p->rank, 0};
  CHECK_OK(grove_forest_create(p->ctx, &f));
  CHECK_OK(grove_forest_set_graph(f, 1, 1, NULL, &root));
  CHECK_OK(grove_forest_set_up(f));
  CHECK_OK(grove_fetch_init(f, MPI_INT, x, x + 1, x + 2, MPI_SUM, &op));
  for (int started = 0; started < 2; started++) {
    refused(grove_ready(op, 0, 1), GROVE_ERR_UNSUPPORTED, "ready");
    refused(grove_arrived(op, 0, 1, &yes), GROVE_ERR_UNSUPPORTED, "arrived");
    refused(grove_arrivals(op, &first, &count), GROVE_ERR_UNSUPPORTED, "arrivals");
    refused(grove_op_part_times(op, 0, 1, (grove_part_time[1]){{0}}), GROVE_ERR_UNSUPPORTED,
            "part_times");
    if (!started) CHECK_OK(grove_start(op));
  }
  CHECK(yes == 77 && first == 77 && count == 78, "an output was set by a call that failed");
  CHECK_OK(grove_wait(op));
  CHECK(x[0] == 3 && x[2] == 1, "%d and %d came, not 3 and 1", x[0], x[2]);
  CHECK_OK(grove_op_free(&op));
  CHECK_OK(grove_forest_free(&f));
}

static void no_operations(void)
{
  int yes = 77;
  int64_t first = 77, count = 78;
  grove_part_time t = {0};
  refused(grove_ready(NULL, 0, 1), GROVE_ERR_ARG, "ready");
  refused(grove_arrived(NULL, 0, 1, &yes), GROVE_ERR_ARG, "arrived");
  refused(grove_arrivals(NULL, &first, &count), GROVE_ERR_ARG, "arrivals");
  refused(grove_op_part_times(NULL, 0, 1, &t), GROVE_ERR_ARG, "part_times");
  CHECK(yes == 77 && first == 77 && count == 78, "an output was set by a call that failed");
}

/* Channels are no members of bundles, on all ranks alike; and work as before. */
static void in_a_bundle(const place *p, const units *types)
{
  pair x = pair_open(p, types);
  int anything;
  grove_op *untouched = (grove_op *)&anything, *bundle = untouched;
  grove_op *list[2] = {x.send.op, x.receive.op};
  refused(grove_op_bundle(2, list, &bundle), GROVE_ERR_UNSUPPORTED, "a bundle of channels");
  CHECK(bundle == untouched, "an output was set by a call that failed");
  channel_start(&x.send);
  channel_start(&x.receive);
  channel_ready(&x.send, 0, PARTS);
  channel_wait(&x.receive);
  channel_wait(&x.send);
  pair_close(&x);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "partitioned/mistakes");
  units *types = units_create();
  place p = place_create(split(0));
  bad_arguments(&p);
  no_operations();
  forest_operations(&p);
  wrong_times(&p, types);
  in_a_bundle(&p, types);
  on_a_device(&p);
  place_free(&p);
  units_free(types);
  return test_end();
}
