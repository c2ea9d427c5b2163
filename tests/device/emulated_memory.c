/* Memory of the emulated device: the host cannot touch it, it is found by any address in it, and it
 * runs out. */
#define _POSIX_C_SOURCE 200809L
#include "random.h"
#include "rig.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void is_nowhere(const void *address, const char *what)
{
  grove_range range;
  CHECK(!driver->find(address, &range), "%s is found in allocation %lld", what,
        (long long)range.number);
}

static void finds_all_of_it(void)
{
  int on_stack = 0;
  void *on_heap = need(16);
  is_nowhere(&on_stack, "a variable");
  is_nowhere(on_heap, "memory of malloc");
  is_nowhere(NULL, "NULL");
  for (int64_t bytes = 1; bytes < 100000; bytes = 3 * bytes + 1) {
    char *memory = new_device(bytes);
    CHECK((uintptr_t)memory % 256 == 0, "%p is not aligned", (void *)memory);
    const int64_t at[] = {0, bytes / 2, bytes - 1};
    for (int i = 0; i < 3; i++) {
      grove_range r = {.device = -1};
      CHECK(driver->find(memory + at[i], &r), "byte %lld is not found", (long long)at[i]);
      CHECK(r.begin == memory && r.bytes == bytes && r.device == 0, "%p has %lld bytes",
            (void *)r.begin, (long long)r.bytes);
    }
    is_nowhere(memory - 1, "what is before it");
    is_nowhere(memory + bytes, "what is behind it");
    driver->free(0, memory);
    is_nowhere(memory, "what was freed");
  }
  driver->free(0, NULL);
  driver->free(0, new_device(0));
  free(on_heap);
}

/* Among many, some of which go and come again. */
static void finds_among_many(void)
{
  enum { MANY = 200, TURNS = 2000 };
  char *all[MANY] = {0};
  int64_t bytes[MANY] = {0};
  uint64_t last = 0;
  rng r = rng_from(test_seed(), 1);
  for (int turn = 0; turn < TURNS; turn++) {
    int i = (int)rng_below(&r, MANY);
    grove_range range;
    if (all[i]) {
      CHECK(driver->find(all[i] + rng_below(&r, bytes[i]), &range), "%d is not found", i);
      CHECK(range.begin == all[i] && range.bytes == bytes[i], "another one is found for %d", i);
      driver->free(0, all[i]);
      all[i] = NULL;
    } else {
      all[i] = new_device(bytes[i] = rng_between(&r, 1, 20000));
      CHECK(driver->find(all[i], &range), "%d is not found", i);
      CHECK(range.number > last, "%lld is used again", (long long)range.number);
      last = range.number;
    }
  }
  for (int i = 0; i < MANY; i++) driver->free(0, all[i]);
}

/* A child reads or writes a byte, and dies of it. */
static void faults(char *address, int writes)
{
  pid_t child = fork();
  CHECK(child >= 0, "no child");
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL); /* sanitizers have their own */
    signal(SIGBUS, SIG_DFL);
    if (writes) *(volatile char *)address = 1;
    volatile char byte = *(volatile char *)address;
    (void)byte;
    _exit(0);
  }
  int how = 0;
  CHECK(waitpid(child, &how, 0) == child, "the child is lost");
  CHECK(WIFSIGNALED(how) && WTERMSIG(how) == SIGSEGV, "a stray %s ends with %x",
        writes ? "write" : "read", how);
}

static void strays_fault(void)
{
  char *memory = new_device(5000);
  fill_device(memory, 7);
  faults(memory, 0);
  faults(memory + 4999, 1);
  faults(memory - 1, 0);
  faults((char *)grove_emulated_alias(memory) + 5000 + 256,
         1); /* an engine that runs over the end */
  CHECK(read_device(memory) == 7, "it is %d", read_device(memory));
  driver->free(0, memory);
  faults((char *)grove_emulated_alias(memory), 0);
}

static void is_not_zero(void)
{
  void *memory = new_device(64);
  CHECK(read_device(memory) != 0, "new memory is zero");
  driver->free(0, memory);
}

static void says(const char *part)
{
  CHECK(strstr(grove_last_error(), part), "'%s' does not say '%s'", grove_last_error(), part);
}

static void runs_out(void)
{
  void *memory = NULL, *other = NULL;
  grove_emulated_set_limit(1000);
  CHECK_OK(driver->allocate(0, 600, &memory));
  CHECK_STATUS(driver->allocate(0, 401, &other), GROVE_ERR_MEMORY);
  CHECK(other == NULL, "memory that there is not");
  says("401 bytes");
  says("1000");
  CHECK_OK(driver->allocate(0, 400, &other));
  driver->free(0, memory);
  CHECK_OK(driver->allocate(0, 600, &memory));
  driver->free(0, memory);
  driver->free(0, other);
  grove_emulated_reset();
  CHECK_STATUS(driver->allocate(0, INT64_MAX / 2, &other), GROVE_ERR_MEMORY);
  CHECK_STATUS(driver->allocate(0, -1, &other), GROVE_ERR_MEMORY);
  CHECK_STATUS(driver->allocate(1, 8, &other), GROVE_ERR_DEVICE);
  says("no device 1");
}

static void refuses_what_is_outside(void)
{
  char *memory = new_device(100), host[200] = {0};
  CHECK_STATUS(driver->copy(0, NULL, memory, host, 101), GROVE_ERR_DEVICE);
  says("101 bytes");
  CHECK_STATUS(driver->copy(0, NULL, host, memory + 60, 41), GROVE_ERR_DEVICE);
  CHECK_OK(driver->copy(0, NULL, host, memory + 60, 40));
  driver->free(0, memory);
  CHECK_STATUS(driver->copy(0, NULL, host, memory, 1), GROVE_ERR_DEVICE);
}

static void pins_once(void)
{
  char *host = need(1000), *memory = new_device(10);
  CHECK_OK(driver->pin(host + 3, 500));
  CHECK_STATUS(driver->pin(host + 502, 10), GROVE_ERR_DEVICE);
  says("pinned already");
  CHECK_OK(driver->pin(host + 503, 10));
  CHECK_STATUS(driver->pin(memory, 10), GROVE_ERR_DEVICE);
  driver->unpin(host + 503);
  driver->unpin(host + 3);
  CHECK_OK(driver->pin(host, 1000));
  is_nowhere(host, "pinned memory");
  driver->unpin(host);
  driver->free(0, memory);
  free(host);
}

static void exports_its_own(void)
{
  grove_handle handle;
  void *memory = new_device(100), *out = NULL;
  int host = 0;
  CHECK_STATUS(driver->export_memory(&host, &handle), GROVE_ERR_DEVICE);
  CHECK_OK(driver->export_memory(memory, &handle));
  CHECK_STATUS(driver->import_memory(0, &handle, &out), GROVE_ERR_DEVICE);
  says("of its own");
  driver->free(0, memory);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "device/emulated_memory");
  int n = 0;
  CHECK_OK(driver->open(&n));
  CHECK(n == 1, "%d devices", n);
  finds_all_of_it();
  finds_among_many();
  strays_fault();
  is_not_zero();
  runs_out();
  refuses_what_is_outside();
  pins_once();
  exports_its_own();
  return test_end();
}
