/* Several threads of a program use the emulated device at once, each with streams and memory of its
 * own, while others come and go. */
#include "random.h"
#include "rig.h"
#include "threads.h"

enum { THREADS = 3, TURNS = 30, N = 50, BYTES = N * sizeof(int32_t) };

static grove_status launch_own(grove_launch *launch, grove_stream *stream, void *to, void *from)
{
  launch->njobs = 1;
  launch->jobs[0] = (grove_job){(const grove_recipe *)to, from, to, N, 0, 0, 0};
  const grove_access accesses[] = {{from, BYTES, 0}, {to, BYTES, 1}};
  return driver->launch(0, stream, launch, accesses, 2);
}

static void work(int number, void *unused)
{
  (void)unused;
  grove_launch *launch = need(sizeof *launch);
  launch->word = NULL;
  uint32_t *word = new_pinned(sizeof *word);
  int32_t *host = new_pinned(BYTES);
  for (int turn = 1; turn <= TURNS; turn++) {
    grove_stream *one = new_stream(), *two = new_stream();
    grove_event *event = new_event();
    int32_t *a = new_device(BYTES), *b = new_device(BYTES);
    for (int i = 0; i < N; i++) host[i] = 1000 * number + i;
    CHECK_OK(driver->copy(0, one, a, host, BYTES));
    CHECK_OK(launch_own(launch, one, b, a));
    CHECK_OK(driver->record(0, event, one));
    CHECK_OK(driver->after(0, two, event));
    CHECK_OK(driver->copy(0, two, host, b, BYTES));
    CHECK_OK(driver->write(0, two, word, (uint32_t)turn));
    if (turn % 2 == 0) CHECK_OK(driver->finish(0, two));
    while (look(word) != (uint32_t)turn) linger(1e-5);
    for (int i = 0; i < N; i++) CHECK(host[i] == 1000 * number + i + 1, "%d: %d", i, host[i]);
    CHECK_OK(driver->finish(0, two));
    driver->free_event(event);
    driver->free(0, a);
    driver->free(0, b);
    driver->free_stream(0, one);
    driver->free_stream(0, two);
  }
  free_pinned(host);
  free_pinned(word);
  free(launch);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "device/emulated_threads");
  for (int i = 0; i < 3; i++) {
    test_case(i);
    grove_emulated_set_runner(add_one);
    grove_emulated_set_temper((grove_temper)i, test_seed());
    in_threads(THREADS, work, NULL);
    CHECK(grove_emulated_conflicts() == 0, "%lld conflicts", (long long)grove_emulated_conflicts());
  }
  grove_emulated_reset();
  return test_end();
}
