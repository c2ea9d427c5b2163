/* The emulated device fails at the call that was planned, once, and with the status that was asked
 * for; what was refused is not done. And a process may end while much is enqueued. */
#define _POSIX_C_SOURCE 200809L
#include "rig.h"

#include <sys/wait.h>
#include <unistd.h>

/* A small program that uses all that can fail; it goes on whatever happens. */
typedef struct outcome {
  int failures;
  grove_status last;
} outcome;

static void note(outcome *o, grove_status status)
{
  if (status == GROVE_OK) return;
  o->failures++;
  o->last = status;
}

static outcome use_all(void)
{
  outcome o = {0};
  void *memory = NULL, *host = need(64);
  grove_stream *stream = NULL;
  grove_event *event = NULL;
  grove_handle handle;
  memset(host, 0, 64);
  note(&o, driver->allocate(0, 64, &memory));
  note(&o, driver->pin(host, 64));
  note(&o, driver->create_stream(0, &stream));
  note(&o, driver->create_event(0, &event));
  if (memory) {
    note(&o, driver->export_memory(memory, &handle));
    note(&o, driver->copy(0, stream, memory, host, 64));
    note(&o, launch_add(stream, memory, memory, 16));
  }
  if (event) note(&o, driver->record(0, event, stream));
  if (event) note(&o, driver->after(0, stream, event));
  if (memory) note(&o, driver->write(0, stream, memory, 9));
  if (memory) note(&o, driver->await(0, stream, memory, 0)); /* true with or without that */
  grove_status done = driver->finish(0, stream);
  note(&o, done);
  if (done != GROVE_OK) CHECK_OK(driver->finish(0, stream));
  if (memory) read_device(memory);
  driver->free(0, memory);
  free_pinned(host);
  if (stream) driver->free_stream(0, stream);
  driver->free_event(event);
  return o;
}

static void every_call_fails_once(void)
{
  grove_emulated_fail_at(GROVE_EMULATED_ANY, -1, GROVE_OK);
  outcome o = use_all();
  CHECK(o.failures == 0, "%d failures that were not planned: %s", o.failures, grove_last_error());
  int64_t all = grove_emulated_calls();
  CHECK(all >= 12, "only %lld calls", (long long)all);
  for (int64_t n = 0; n < 12; n++) {
    grove_status with = n % 2 ? GROVE_ERR_MEMORY : GROVE_ERR_DEVICE;
    test_case(n);
    grove_emulated_fail_at(GROVE_EMULATED_ANY, n, with);
    o = use_all();
    CHECK(o.failures == 1 && o.last == with, "call %lld: %d failures", (long long)n, o.failures);
  }
}

static void every_kind_fails(void)
{
  for (int call = GROVE_EMULATED_ALLOCATE; call < GROVE_EMULATED_ANY; call++) {
    if (call == GROVE_EMULATED_IMPORT) continue; /* of another process */
    grove_emulated_fail_at((grove_emulated_call)call, 0, GROVE_ERR_DEVICE);
    CHECK(use_all().failures == 1, "%d does not fail", call);
    CHECK(strstr(grove_last_error(), "as planned"), "'%s'", grove_last_error());
    CHECK(grove_emulated_calls() >= 1, "none counted");
    CHECK(use_all().failures == 0, "%d fails for ever", call);
  }
  grove_handle handle = {{0}};
  void *out = NULL;
  grove_emulated_fail_at(GROVE_EMULATED_IMPORT, 0, GROVE_ERR_MEMORY);
  CHECK_STATUS(driver->import_memory(0, &handle, &out), GROVE_ERR_MEMORY);
  CHECK_STATUS(driver->import_memory(0, &handle, &out), GROVE_ERR_DEVICE); /* what it is */
}

static void refused_is_not_done(void)
{
  int32_t *memory = new_device(8);
  fill_device(memory, 1);
  grove_emulated_fail_at(GROVE_EMULATED_LAUNCH, 1, GROVE_ERR_DEVICE);
  CHECK_OK(launch_add(NULL, memory, memory, 1));
  CHECK_STATUS(launch_add(NULL, memory, memory, 1), GROVE_ERR_DEVICE);
  CHECK_OK(launch_add(NULL, memory, memory, 1));
  CHECK(read_device(memory) == 3, "it is %d", read_device(memory));
  driver->free(0, memory);
}

/* Without kernels, and with what no kernel may be given. */
static void refuses_launches(void)
{
  int32_t *memory = new_device(64), *host = new_pinned(64);
  CHECK_STATUS(launch_add(NULL, memory, memory, 17), GROVE_ERR_DEVICE);
  CHECK_STATUS(launch_add(NULL, memory, host, 4), GROVE_ERR_DEVICE);
  CHECK_STATUS(launch_add(NULL, host, memory, 4), GROVE_ERR_DEVICE);
  driver->free(0, memory);
  free_pinned(host);
}

/* In a child that has never known MPI: it leaves behind what can never be done. */
static void leave_with_work(int temper)
{
  grove_emulated_set_temper((grove_temper)temper, 1);
  grove_emulated_set_runner(add_one);
  grove_stream *stuck = NULL, *busy = NULL;
  uint32_t *word = calloc(1, sizeof *word);
  void *memory = NULL;
  int ok = word && driver->pin(word, sizeof *word) == GROVE_OK &&
           driver->allocate(0, 1 << 20, &memory) == GROVE_OK &&
           driver->create_stream(0, &stuck) == GROVE_OK &&
           driver->create_stream(0, &busy) == GROVE_OK &&
           driver->await(0, stuck, word, 1) == GROVE_OK &&
           driver->copy(0, stuck, memory, word, 4) == GROVE_OK;
  for (int i = 0; i < 50 && ok; i++)
    ok = launch_add(busy, (char *)memory + 64, (char *)memory + 64, 10000) == GROVE_OK;
  free(ok ? NULL : word);
  exit(ok ? 0 : 1);
}

static void ends_with_work(void)
{
  for (int temper = 0; temper < 3; temper++) {
    pid_t child = fork();
    if (child == 0) leave_with_work(temper);
    int how = -1;
    if (child < 0 || waitpid(child, &how, 0) != child || how != 0) {
      fprintf(stderr, "a process with work enqueued ended with %x\n", (unsigned)how);
      exit(1);
    }
  }
}

int main(int argc, char **argv)
{
  ends_with_work();
  test_begin(&argc, &argv, "device/emulated_failures");
  grove_emulated_set_runner(add_one);
  every_call_fails_once();
  every_kind_fails();
  refused_is_not_done();
  refuses_launches();
  grove_emulated_reset();
  return test_end();
}
