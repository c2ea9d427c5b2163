/* Streams, events and words of the emulated device, in one process, under all tempers. */
#include "random.h"
#include "rig.h"

#include <sched.h>

enum { N = 64, BYTES = N * sizeof(int32_t) };

/* a -> b -> c -> ... by launches and copies on one stream. */
static void keeps_order(void)
{
  enum { LONG = 50 };
  grove_stream *stream = new_stream();
  int32_t *host = new_pinned(BYTES), *a = new_device(BYTES), *b = new_device(BYTES);
  uint32_t *word = new_pinned(sizeof *word);
  for (int i = 0; i < N; i++) host[i] = i;
  CHECK_OK(driver->copy(0, stream, a, host, BYTES));
  for (int i = 0; i < LONG; i++) {
    CHECK_OK(launch_add(stream, b, a, N));
    CHECK_OK(driver->copy(0, stream, a, b, BYTES));
  }
  CHECK_OK(driver->copy(0, stream, host, a, BYTES));
  CHECK_OK(driver->write(0, stream, word, 3));
  while (look(word) != 3) sched_yield();
  for (int i = 0; i < N; i++) CHECK(host[i] == i + LONG, "%d is %d", i, host[i]);
  CHECK_OK(driver->finish(0, stream));
  driver->free_stream(0, stream);
  driver->free(0, a);
  driver->free(0, b);
  free_pinned(host);
  free_pinned(word);
}

/* Every item once, whatever their number and that of the jobs. */
static void launches_all_items(void)
{
  rng r = rng_from(test_seed(), 2);
  grove_stream *stream = new_stream();
  for (int sample = 0; sample < 20; sample++) {
    int64_t sizes[GROVE_JOBS], n = 0;
    grove_launch *launch = need(sizeof *launch);
    launch->word = NULL;
    launch->njobs = (int32_t)rng_below(&r, sample < 10 ? 4 : GROVE_JOBS + 1);
    for (int j = 0; j < launch->njobs; j++) n += sizes[j] = rng_below(&r, 40);
    int64_t bytes = (n + 1) * (int64_t)sizeof(int32_t), at = 0;
    int32_t *host = new_pinned((size_t)bytes), *array = new_device(bytes);
    CHECK_OK(driver->copy(0, stream, array, host, bytes));
    for (int j = 0; j < launch->njobs; j++) {
      char *here = (char *)(array + at);
      launch->jobs[j] = (grove_job){.recipe = (const grove_recipe *)array,
                                    .array = here,
                                    .message = here,
                                    .end = at += sizes[j]};
    }
    const grove_access access = {array, bytes, 1};
    CHECK_OK(driver->launch(0, stream, launch, &access, 1));
    free(launch); /* it was copied */
    CHECK_OK(driver->copy(0, stream, host, array, bytes));
    CHECK_OK(driver->finish(0, stream));
    for (int64_t i = 0; i < n; i++) CHECK(host[i] == 1, "item %lld: %d", (long long)i, host[i]);
    CHECK(host[n] == 0, "beyond the end: %d", host[n]);
    driver->free(0, array);
    free_pinned(host);
  }
  driver->free_stream(0, stream);
}

/* A stream that waits for a word lets the others go on, until an event binds them. */
static void events_bind(void)
{
  grove_stream *one = new_stream(), *two = new_stream();
  grove_event *event = new_event(), *never = new_event();
  uint32_t *words = new_pinned(4 * sizeof *words);
  int32_t *memory = new_device(BYTES), *other = new_device(BYTES);
  fill_device(memory, 1);
  CHECK_OK(driver->await(0, one, &words[0], 1));
  CHECK_OK(driver->after(0, two, never));
  CHECK_OK(driver->write(0, two, &words[1], 1));
  CHECK_OK(driver->finish(0, two));
  CHECK(look(&words[1]) == 1, "it waited for another stream");

  CHECK_OK(launch_add(one, memory, memory, 1));
  CHECK_OK(driver->record(0, event, one));
  CHECK_OK(driver->after(0, two, event));
  CHECK_OK(driver->record(0, event, two)); /* `two` stays behind what was recorded then */
  CHECK_OK(driver->copy(0, two, other, memory, 4));
  CHECK_OK(driver->write(0, two, &words[2], 1));
  linger(2e-3);
  CHECK(look(&words[2]) == 0, "it did not wait for the event");
  __atomic_store_n(&words[0], 1, __ATOMIC_RELEASE);
  CHECK_OK(driver->finish(0, two));
  CHECK(look(&words[2]) == 1, "finish came too early");
  driver->free_stream(0, one);
  driver->free_event(never);
  CHECK(read_device(other) == 2, "it is %d", read_device(other));
  CHECK_OK(driver->after(0, two, event));
  driver->free_event(event);
  CHECK_OK(driver->finish(0, two));
  driver->free_stream(0, two);
  driver->free(0, memory);
  driver->free(0, other);
  free_pinned(words);
}

/* The default stream waits for all, and all for it. */
static void default_stream_binds(void)
{
  grove_stream *one = new_stream(), *two = new_stream();
  uint32_t *words = new_pinned(4 * sizeof *words);
  int32_t *memory = new_device(BYTES), *host = new_pinned(BYTES);
  fill_device(memory, 10);
  CHECK_OK(driver->await(0, one, &words[0], 1));
  CHECK_OK(launch_add(one, memory, memory, 1));
  CHECK_OK(launch_add(NULL, memory, memory, 1));
  CHECK_OK(driver->copy(0, two, host, memory, 4));
  CHECK_OK(driver->write(0, two, &words[1], 1));
  linger(2e-3);
  CHECK(look(&words[1]) == 0, "the default stream did not wait, or not for it");
  __atomic_store_n(&words[0], 1, __ATOMIC_RELEASE);
  CHECK_OK(driver->finish(0, NULL));
  CHECK(look(&words[1]) == 1, "finish waits for no other stream");
  CHECK(host[0] == 12, "it is %d", host[0]);
  driver->free_stream(0, one);
  driver->free_stream(0, two);
  driver->free(0, memory);
  free_pinned(host);
  free_pinned(words);
}

/* Behind an event of the default stream is what the default stream waited for. */
static void default_event_binds(void)
{
  grove_stream *one = new_stream(), *two = NULL;
  grove_event *event = new_event();
  uint32_t *words = new_pinned(2 * sizeof *words);
  CHECK_OK(driver->await(0, one, &words[0], 1));
  CHECK_OK(driver->record(0, event, NULL));
  two = new_stream();
  CHECK_OK(driver->after(0, two, event));
  CHECK_OK(driver->write(0, two, &words[1], 1));
  linger(2e-3);
  CHECK(look(&words[1]) == 0, "the event did not wait");
  __atomic_store_n(&words[0], 1, __ATOMIC_RELEASE);
  CHECK_OK(driver->finish(0, two));
  driver->free_stream(0, one);
  driver->free_stream(0, two);
  driver->free_event(event);
  free_pinned(words);
}

/* Copies of memory that is not pinned are done when they return, behind what was before. */
static void pageable_is_done(void)
{
  grove_stream *stream = new_stream();
  int32_t *memory = new_device(BYTES), host = 5;
  CHECK_OK(driver->copy(0, stream, memory, &host, sizeof host));
  host = 0;
  for (int i = 0; i < 5; i++) CHECK_OK(launch_add(stream, memory, memory, 1));
  CHECK_OK(driver->copy(0, stream, &host, memory, sizeof host));
  CHECK(host == 10, "it is %d", host);
  driver->free_stream(0, stream);
  driver->free(0, memory);
}

static void words_have_their_places(void)
{
  grove_stream *stream = new_stream();
  uint32_t on_stack = 0, *word = new_device(2 * sizeof *word), back[2];
  CHECK_STATUS(driver->write(0, stream, &on_stack, 1), GROVE_ERR_DEVICE);
  CHECK(strstr(grove_last_error(), "pinned"), "%s", grove_last_error());
  CHECK_STATUS(driver->await(0, stream, &on_stack, 1), GROVE_ERR_DEVICE);
  CHECK_STATUS(driver->write(0, stream, (uint32_t *)((char *)word + 1), 1), GROVE_ERR_DEVICE);
  CHECK_OK(driver->write(0, stream, &word[0], UINT32_MAX));
  CHECK_OK(driver->await(0, stream, &word[0], UINT32_MAX - 5)); /* it went round */
  CHECK_OK(driver->write(0, stream, &word[0], 3));
  CHECK_OK(driver->await(0, stream, &word[0], UINT32_MAX));
  CHECK_OK(driver->write(0, stream, &word[1], 8));
  CHECK_OK(driver->copy(0, stream, back, word, sizeof back));
  CHECK(back[0] == 3 && back[1] == 8, "%u %u", back[0], back[1]);
  driver->free_stream(0, stream);
  driver->free(0, word);
}

/* Two streams in turns, by words; the host is asleep in finish. */
static void words_between_streams(void)
{
  enum { TURNS = 20 };
  grove_stream *one = new_stream(), *two = new_stream();
  uint32_t *words = new_device(2 * sizeof *words), zeros[2] = {0};
  CHECK_OK(driver->copy(0, NULL, words, zeros, sizeof zeros));
  for (uint32_t i = 1; i <= TURNS; i++) {
    CHECK_OK(driver->write(0, one, &words[0], i));
    CHECK_OK(driver->await(0, two, &words[0], i));
    CHECK_OK(driver->write(0, two, &words[1], i));
    CHECK_OK(driver->await(0, one, &words[1], i));
  }
  CHECK_OK(driver->finish(0, one));
  CHECK_OK(driver->finish(0, two));
  driver->free_stream(0, one);
  driver->free_stream(0, two);
  driver->free(0, words);
}

static void knows_its_streams(void)
{
  grove_stream *stream = new_stream();
  uint32_t *word = new_pinned(sizeof *word);
  driver->free_stream(0, stream);
  CHECK_STATUS(driver->write(0, stream, word, 1), GROVE_ERR_DEVICE);
  CHECK_STATUS(driver->finish(0, (grove_stream *)word), GROVE_ERR_DEVICE);
  CHECK(!driver->is_capturing(0, NULL), "it cannot capture");
  free_pinned(word);
}

static void reads_tempers(void)
{
  CHECK_OK(grove_emulated_set_temper_by_name("lazy"));
  CHECK_OK(grove_emulated_set_temper_by_name("random:17"));
  CHECK_OK(grove_emulated_set_temper_by_name("eager"));
  const char *const wrong[] = {"", "slow", "rand", "random:", "random:x", "lazy:3x", "lazyness"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    CHECK_STATUS(grove_emulated_set_temper_by_name(wrong[i]), GROVE_ERR_OPTION);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "device/emulated_streams");
  for (int i = 0; i < (int)test_samples(12); i++) {
    test_case(i);
    grove_emulated_reset();
    grove_emulated_set_runner(add_one);
    grove_emulated_set_temper((grove_temper)(i % 3), mix2(test_seed(), (uint64_t)i));
    keeps_order();
    launches_all_items();
    events_bind();
    default_stream_binds();
    default_event_binds();
    pageable_is_done();
    words_have_their_places();
    words_between_streams();
    knows_its_streams();
    CHECK(grove_emulated_conflicts() == 0, "%lld conflicts", (long long)grove_emulated_conflicts());
  }
  reads_tempers();
  grove_emulated_reset();
  return test_end();
}
