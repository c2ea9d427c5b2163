/* A program that forgets to wait goes wrong under the lazy temper, unless it is held up meanwhile;
 * the right one never, under any temper. */
#include "random.h"
#include "rig.h"

#include <sched.h>

enum { N = 32, BYTES = N * sizeof(int32_t) };

typedef enum way { BY_FINISH, BY_WORD, FORGOTTEN } way;

typedef struct bench {
  grove_stream *one, *two;
  grove_event *event;
  int32_t *a, *b;    /* the device's */
  int32_t *in, *out; /* pinned */
  uint32_t *word;
} bench;

static bench set_up(void)
{
  bench s = {new_stream(),      new_stream(),      new_event(),       new_device(BYTES),
             new_device(BYTES), new_pinned(BYTES), new_pinned(BYTES), new_pinned(sizeof(uint32_t))};
  return s;
}

static void take_down(bench *s)
{
  CHECK_OK(driver->finish(0, NULL));
  driver->free_stream(0, s->one);
  driver->free_stream(0, s->two);
  driver->free_event(s->event);
  driver->free(0, s->a);
  driver->free(0, s->b);
  free_pinned(s->in);
  free_pinned(s->out);
  free_pinned(s->word);
}

static void wait_for(const bench *s, grove_stream *stream, way how, uint32_t round)
{
  if (how == BY_FINISH) CHECK_OK(driver->finish(0, stream));
  if (how == BY_WORD) CHECK_OK(driver->write(0, stream, s->word, round));
  while (how == BY_WORD && look(s->word) != round) sched_yield();
}

/* With a mistake another thread writes it meanwhile. */
static int32_t first_of(const int32_t *host)
{
  return __atomic_load_n(host, __ATOMIC_RELAXED);
}

/* Does the host read what was copied, or what was there before? */
static int host_reads(const bench *s, way how, uint32_t round)
{
  int32_t value = (int32_t)round * 10;
  s->in[0] = value;
  CHECK_OK(driver->copy(0, s->one, s->a, s->in, BYTES));
  CHECK_OK(launch_add(s->one, s->b, s->a, N));
  CHECK_OK(driver->copy(0, s->one, s->out, s->b, BYTES));
  wait_for(s, s->one, how, round);
  int right = first_of(s->out) == value + 1;
  CHECK_OK(driver->finish(0, NULL));
  return right;
}

/* Does the host write into what is still to be copied? */
static int host_writes(const bench *s, way how, uint32_t round)
{
  int32_t value = (int32_t)round * 10;
  s->in[0] = value;
  CHECK_OK(driver->copy(0, s->one, s->a, s->in, BYTES));
  wait_for(s, s->one, how, round);
  s->in[0] = -1;
  CHECK_OK(driver->finish(0, NULL));
  return read_device(s->a) == value;
}

/* Does another stream read what the first one has written? */
static int stream_reads(const bench *s, int event, uint32_t round)
{
  int32_t value = (int32_t)round * 10;
  fill_device(s->a, value);
  fill_device(s->b, -1);
  CHECK_OK(launch_add(s->one, s->b, s->a, 1));
  if (event) CHECK_OK(driver->record(0, s->event, s->one));
  if (event) CHECK_OK(driver->after(0, s->two, s->event));
  CHECK_OK(driver->copy(0, s->two, s->out, s->b, 4));
  grove_emulated_forget_conflicts(); /* the checker of order knows already */
  CHECK_OK(driver->finish(0, s->two));
  int right = s->out[0] == value + 1;
  CHECK_OK(driver->finish(0, NULL));
  return right;
}

static void right_ones_are_right(const bench *s, uint32_t *round)
{
  for (way how = BY_FINISH; how <= BY_WORD; how++) {
    CHECK(host_reads(s, how, ++*round), "the host read too early");
    CHECK(host_writes(s, how, ++*round), "the host wrote too early");
  }
  CHECK(stream_reads(s, 1, ++*round), "a stream read too early");
  CHECK(grove_emulated_conflicts() == 0, "a conflict");
}

typedef enum mistake { READS_EARLY, WRITES_EARLY, STREAM_READS_EARLY } mistake;

static int goes_well(const bench *s, mistake which, uint32_t round)
{
  if (which == READS_EARLY) return host_reads(s, FORGOTTEN, round);
  if (which == WRITES_EARLY) return host_writes(s, FORGOTTEN, round);
  return stream_reads(s, 0, round);
}

/* The engine goes on by itself when the host is held up: a mistake may go well then. */
static void must_go_wrong(const bench *s, mistake which, uint32_t *round)
{
  int left = 20;
  while (left > 0 && goes_well(s, which, ++*round)) left--;
  CHECK(left > 0, "mistake %d went well every time", (int)which);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "device/emulated_tempers");
  uint32_t round = 0;
  grove_emulated_set_runner(add_one);
  bench s = set_up();
  for (int i = 0; i < (int)test_samples(60); i++) {
    test_case(i);
    grove_emulated_set_temper((grove_temper)(i % 3), mix2(test_seed(), (uint64_t)i));
    right_ones_are_right(&s, &round);
    grove_emulated_set_temper(GROVE_TEMPER_LAZY, (uint64_t)i);
#ifndef __SANITIZE_THREAD__ /* which would rightly see the race */
    must_go_wrong(&s, READS_EARLY, &round);
    must_go_wrong(&s, WRITES_EARLY, &round);
#endif
    must_go_wrong(&s, STREAM_READS_EARLY, &round);
  }
  take_down(&s);
  grove_emulated_reset();
  return test_end();
}
