/* What driver.h promises, of any driver. TEST_DRIVER names it: `cuda`, or `emulated`, the default.
 * With TEST_BREAK a launch reads what is no memory, and the device is broken from then on: of CUDA
 * alone, and last. */
#include "device/driver.h"
#include "check.h"
#include "random.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const grove_driver *driver;
static int device;

static const grove_driver *named_driver(const char *name)
{
#ifdef TEST_EMULATED
  if (strcmp(name, "emulated") == 0) return &grove_driver_emulated;
#endif
#ifdef GROVE_CUDA
  if (strcmp(name, "cuda") == 0) return &grove_driver_cuda;
#endif
  (void)name;
  return NULL;
}

/* ---- what the cases have in common ---- */

static void *new_memory(int64_t bytes)
{
  void *memory = NULL;
  CHECK_OK(driver->allocate(device, bytes, &memory));
  CHECK(memory != NULL, "%lld bytes", (long long)bytes);
  return memory;
}

/* Whole pages: nothing else is on them. */
static void *new_pinned(int64_t bytes)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE), all = ((size_t)bytes + page - 1) / page * page;
  void *memory = aligned_alloc(page, all);
  CHECK(memory, "no memory for %zu bytes", all);
  memset(memory, 0, all);
  CHECK_OK(driver->pin(memory, (int64_t)all));
  return memory;
}

static void free_pinned(void *memory)
{
  driver->unpin(memory);
  free(memory);
}

static grove_stream *new_stream(void)
{
  grove_stream *stream = NULL;
  CHECK_OK(driver->create_stream(device, &stream));
  CHECK(stream != NULL, "the default stream is none that one makes");
  return stream;
}

static grove_event *new_event(void)
{
  grove_event *event = NULL;
  CHECK_OK(driver->create_event(device, &event));
  return event;
}

static void copy_and_finish(grove_stream *stream, void *to, const void *from, int64_t bytes)
{
  CHECK_OK(driver->copy(device, stream, to, from, bytes));
  CHECK_OK(driver->finish(device, stream));
}

static void fill(unsigned char *bytes, int64_t n, uint64_t seed)
{
  for (int64_t i = 0; i < n; i++) bytes[i] = (unsigned char)mix2(seed, (uint64_t)i);
}

static void check_filled(const unsigned char *bytes, int64_t n, uint64_t seed)
{
  for (int64_t i = 0; i < n; i++) {
    unsigned char right = (unsigned char)mix2(seed, (uint64_t)i);
    CHECK(bytes[i] == right, "byte %lld of %lld of %llu is %d, not %d", (long long)i, (long long)n,
          (unsigned long long)seed, bytes[i], right);
  }
}

static uint32_t look_at(const uint32_t *word)
{
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void set_word(uint32_t *word, uint32_t value)
{
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* The watchdog ends what never comes. */
static void wait_until(const uint32_t *word, uint32_t value)
{
  while (look_at(word) != value) linger(1e-5);
}

/* It would have come, had it not to wait. */
static void check_unchanged(const uint32_t *word, uint32_t value)
{
  linger(0.03);
  CHECK(look_at(word) == value, "the word is %u, not %u", look_at(word), value);
}

/* ---- memory ---- */

static void check_is_there(char *memory, int64_t bytes, uint64_t *number)
{
  const int64_t places[] = {0, bytes / 2, bytes - 1};
  for (int i = 0; i < 3; i++) {
    grove_range range = {-1, NULL, 0, 0};
    CHECK(driver->find(memory + places[i], &range), "byte %lld of %lld", (long long)places[i],
          (long long)bytes);
    CHECK(range.device == device, "on device %d", range.device);
    CHECK(range.begin == memory, "%lld bytes too early", (long long)(memory - range.begin));
    CHECK(range.bytes >= bytes, "%lld bytes of %lld", (long long)range.bytes, (long long)bytes);
    CHECK(i == 0 || range.number == *number, "one allocation has two numbers");
    *number = range.number;
  }
}

static void check_is_host(const void *address, const char *what)
{
  grove_range range;
  CHECK(!driver->find(address, &range), "%s at %p is not a device's", what, address);
}

static void check_memory(void)
{
  const int64_t sizes[] = {1, 100, 4096, 1 << 20, (1 << 24) + 3};
  char *memory[5];
  uint64_t number[5];
  for (int i = 0; i < 5; i++) memory[i] = new_memory(sizes[i]);
  for (int i = 0; i < 5; i++) {
    check_is_there(memory[i], sizes[i], &number[i]);
    for (int j = 0; j < i; j++) CHECK(number[i] != number[j], "allocations %d and %d", i, j);
  }
  for (int i = 0; i < 5; i++) driver->free(device, memory[i]);
  for (int i = 0; i < 5; i++) check_is_host(memory[i], "freed memory");
  driver->free(device, NULL);
  driver->free(device, new_memory(0));
}

static void check_host_memory(void)
{
  static const int constant = 3;
  char here = 0, *heap = need(1 << 20), *pinned = new_pinned(1 << 16);
  check_is_host(&here, "the stack");
  check_is_host(&constant, "the program");
  check_is_host(heap + 77, "the heap");
  check_is_host(pinned, "pinned memory");
  check_is_host(pinned + (1 << 16) - 1, "pinned memory");
  check_is_host(NULL, "nothing");
  free_pinned(pinned);
  free(heap);
}

/* CUDA's managed memory is the host's, for it may touch it. The table has no call that makes some,
 * so CUDA itself does; other devices have none. */
static void check_managed(void)
{
  enum { BYTES = 3000, EVERYWHERE = 1 };
  void *cuda = strcmp(driver->name, "cuda") == 0 ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
  union {
    void *symbol;
    int (*ask)(void *stream, void **context);
    int (*push)(void *context);
    int (*make)(void **out, size_t bytes, unsigned flags);
    int (*pop)(void **context);
    int (*drop)(void *memory);
  } ask, push, make, pop, drop;
  if (!cuda) return;
  ask.symbol = dlsym(cuda, "cuStreamGetCtx");
  push.symbol = dlsym(cuda, "cuCtxPushCurrent_v2");
  make.symbol = dlsym(cuda, "cuMemAllocManaged");
  pop.symbol = dlsym(cuda, "cuCtxPopCurrent_v2");
  drop.symbol = dlsym(cuda, "cuMemFree_v2");
  void *context = NULL, *managed = NULL;
  grove_stream *stream = new_stream();
  unsigned char *memory = new_memory(BYTES);
  CHECK(!ask.ask(stream, &context) && !push.push(context), "no context");
  CHECK(!make.make(&managed, BYTES, EVERYWHERE), "no managed memory");
  check_is_host(managed, "managed memory");
  fill(managed, BYTES, 7);
  CHECK_OK(driver->copy(device, stream, memory, managed, BYTES));
  CHECK_OK(driver->finish(device, stream));
  memset(managed, 0, BYTES);
  CHECK_OK(driver->copy(device, stream, managed, memory, BYTES));
  CHECK_OK(driver->finish(device, stream));
  check_filled(managed, BYTES, 7);
  CHECK(!drop.drop(managed) && !pop.pop(&context), "managed memory cannot be freed");
  driver->free(device, memory);
  driver->free_stream(device, stream);
}

/* An address comes again, its number never. */
static void check_numbers(void)
{
  uint64_t before = 0, number = 0;
  for (int i = 0; i < 20; i++) {
    char *memory = new_memory(1 << 16);
    check_is_there(memory, 1 << 16, &number);
    CHECK(i == 0 || number != before, "%llu, twice", (unsigned long long)number);
    before = number;
    driver->free(device, memory);
  }
}

static int by_value(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void check_many(void)
{
  enum { MANY = 10000 };
  char **memory = need(MANY * sizeof *memory);
  uint64_t *number = need(MANY * sizeof *number);
  rng random = rng_from(test_seed(), 7);
  for (int i = 0; i < MANY; i++) {
    int64_t bytes = 1 + rng_below(&random, 2000);
    memory[i] = new_memory(bytes);
    check_is_there(memory[i], bytes, &number[i]);
  }
  qsort(number, MANY, sizeof *number, by_value);
  for (int i = 1; i < MANY; i++) CHECK(number[i] != number[i - 1], "allocations share a number");
  for (int i = 0; i < MANY; i++) {
    int64_t j = i + rng_below(&random, MANY - i);
    driver->free(device, memory[j]);
    memory[j] = memory[i];
  }
  free(memory);
  free(number);
}

static void check_out_of_memory(void)
{
  void *memory = NULL;
  int64_t bytes = (int64_t)1 << 50;
  CHECK_STATUS(driver->allocate(device, bytes, &memory), GROVE_ERR_MEMORY);
  CHECK(memory == NULL, "it is %p", memory);
  CHECK(strstr(grove_last_error(), "no memory for "), "'%s'", grove_last_error());
  CHECK_NUMBER_IN(grove_last_error(), bytes);
  CHECK_NUMBER_IN(grove_last_error(), device);
  driver->free(device, new_memory(1000));
}

/* ---- copies ---- */

/* Out and back, by way of a second place on the device. */
static void check_copy(grove_stream *stream, unsigned char *out, unsigned char *back, int64_t bytes,
                       int64_t shift)
{
  uint64_t seed = (uint64_t)(bytes + shift);
  char *first = new_memory(bytes + shift), *second = new_memory(bytes + 3);
  fill(out, bytes, seed);
  memset(back, 0, (size_t)bytes);
  CHECK_OK(driver->copy(device, stream, first + shift, out, bytes));
  CHECK_OK(driver->copy(device, stream, second + 3, first + shift, bytes));
  copy_and_finish(stream, back, second + 3, bytes);
  check_filled(back, bytes, seed);
  driver->free(device, first);
  driver->free(device, second);
}

static void check_copies(void)
{
  const int64_t sizes[] = {0, 1, 7, 4096, (1 << 20) + 5, 1 << 23};
  const int64_t most = 1 << 23;
  unsigned char *out = new_pinned(most), *back = new_pinned(most);
  unsigned char *heap = need((size_t)most), *heap_too = need((size_t)most);
  grove_stream *stream = new_stream();
  for (int i = 0; i < 6; i++) {
    check_copy(stream, out, back, sizes[i], 1);
    check_copy(stream, heap, heap_too, sizes[i], 5);
    check_copy(NULL, out, back, sizes[i], 0);
  }
  driver->free_stream(device, stream);
  free_pinned(out);
  free_pinned(back);
  free(heap);
  free(heap_too);
}

/* One place is used again and again; what is copied out of it in between is what it was then. */
static void check_order(void)
{
  enum { ROUNDS = 64, BYTES = 4096 };
  unsigned char *out = new_pinned(ROUNDS * BYTES), *back = new_pinned(ROUNDS * BYTES);
  char *place = new_memory(BYTES), *log = new_memory(ROUNDS * BYTES);
  grove_stream *stream = new_stream();
  for (int i = 0; i < ROUNDS; i++) {
    fill(out + i * BYTES, BYTES, (uint64_t)i);
    CHECK_OK(driver->copy(device, stream, place, out + i * BYTES, BYTES));
    CHECK_OK(driver->copy(device, stream, log + i * BYTES, place, BYTES));
  }
  copy_and_finish(stream, back, log, ROUNDS * BYTES);
  for (int i = 0; i < ROUNDS; i++) check_filled(back + i * BYTES, BYTES, (uint64_t)i);
  driver->free_stream(device, stream);
  driver->free(device, place);
  driver->free(device, log);
  free_pinned(out);
  free_pinned(back);
}

/* ---- pins ---- */

/* Other libraries pin too, so that CUDA may be asked for what is pinned already. */
static void check_pins(void)
{
  enum { BYTES = 100001 };
  int counts = strcmp(driver->name, "cuda") == 0;
  unsigned char *heap = need(3 * BYTES), *back = new_pinned(2 * BYTES);
  char *memory = new_memory(2 * BYTES);
  grove_stream *stream = new_stream();
  fill(heap, 2 * BYTES, 1);
  CHECK_OK(driver->pin(heap + BYTES, BYTES));
  CHECK_OK(driver->pin(heap, BYTES)); /* they share a page */
  if (counts) CHECK_OK(driver->pin(heap, BYTES));
  if (counts) CHECK_OK(driver->pin(heap + 10, 5));
  CHECK_OK(driver->copy(device, stream, memory, heap, 2 * BYTES));
  copy_and_finish(stream, back, memory, 2 * BYTES);
  check_filled(back, 2 * BYTES, 1);
  driver->unpin(heap);
  driver->unpin(heap + BYTES);
  fill(heap, BYTES, 2);
  CHECK_OK(driver->copy(device, stream, memory, heap, BYTES)); /* still pinned, if it was twice */
  copy_and_finish(stream, back, memory, BYTES);
  check_filled(back, BYTES, 2);
  if (counts) driver->unpin(heap + 10);
  if (counts) driver->unpin(heap);
  fill(heap, BYTES, 3);
  copy_and_finish(stream, memory, heap, BYTES);
  copy_and_finish(stream, back, memory, BYTES);
  check_filled(back, BYTES, 3);
  driver->free_stream(device, stream);
  driver->free(device, memory);
  free_pinned(back);
  free(heap);
}

/* ---- events and words ---- */

/* One stream is held back by a word; another comes behind it by an event. */
static void check_events(void)
{
  enum { BYTES = 1 << 16 };
  unsigned char *out = new_pinned(BYTES), *back = new_pinned(BYTES);
  uint32_t *words = new_pinned(64);
  char *memory = new_memory(BYTES);
  grove_stream *first = new_stream(), *second = new_stream();
  grove_event *event = new_event(), *never = new_event();
  for (uint32_t i = 1; i <= 5; i++) {
    fill(out, BYTES, i);
    CHECK_OK(driver->await(device, first, &words[0], i));
    CHECK_OK(driver->copy(device, first, memory, out, BYTES));
    CHECK_OK(driver->record(device, event, first));
    CHECK_OK(driver->after(device, second, event));
    CHECK_OK(driver->after(device, second, never));
    CHECK_OK(driver->copy(device, second, back, memory, BYTES));
    CHECK_OK(driver->write(device, second, &words[1], i));
    check_unchanged(&words[1], i - 1);
    set_word(&words[0], i);
    CHECK_OK(driver->finish(device, second));
    CHECK(look_at(&words[1]) == i, "it is %u", look_at(&words[1]));
    check_filled(back, BYTES, i);
  }
  CHECK_OK(driver->finish(device, first));
  driver->free_event(event);
  driver->free_event(never);
  driver->free_stream(device, first);
  driver->free_stream(device, second);
  driver->free(device, memory);
  free_pinned(out);
  free_pinned(back);
  free_pinned(words);
}

/* The host sees a word, and with it what was copied before. */
static void check_words_seen(void)
{
  enum { BYTES = 1 << 14 };
  unsigned char *out = new_pinned(BYTES), *back = new_pinned(BYTES);
  uint32_t *word = new_pinned(4);
  char *memory = new_memory(BYTES);
  grove_stream *stream = new_stream();
  for (uint32_t i = 1; i <= 100; i++) {
    fill(out, BYTES, i);
    CHECK_OK(driver->copy(device, stream, memory, out, BYTES));
    CHECK_OK(driver->copy(device, stream, back, memory, BYTES));
    CHECK_OK(driver->write(device, stream, word, i));
    wait_until(word, i);
    check_filled(back, BYTES, i);
  }
  CHECK_OK(driver->finish(device, stream));
  driver->free_stream(device, stream);
  driver->free(device, memory);
  free_pinned(out);
  free_pinned(back);
  free_pinned(word);
}

/* Streams pass a word in the device's memory on. It comes round: 5 is more than 0xfffffff0. */
static void check_words_awaited(void)
{
  uint32_t *words = new_pinned(16), *there = new_memory(64);
  grove_stream *first = new_stream(), *second = new_stream();
  CHECK_OK(driver->write(device, first, &there[1], 0xfffffff0u));
  CHECK_OK(driver->finish(device, first));
  CHECK_OK(driver->await(device, second, &there[1], 5));
  CHECK_OK(driver->write(device, second, &words[1], 1));
  check_unchanged(&words[1], 0);
  CHECK_OK(driver->write(device, first, &there[1], 4));
  CHECK_OK(driver->finish(device, first));
  check_unchanged(&words[1], 0);
  CHECK_OK(driver->write(device, first, &there[1], 6));
  wait_until(&words[1], 1);
  CHECK_OK(driver->await(device, second, &there[1], 6)); /* it is there already */
  CHECK_OK(driver->await(device, second, &there[1], 0xfffffff5u));
  CHECK_OK(driver->finish(device, second));
  driver->free_stream(device, first);
  driver->free_stream(device, second);
  driver->free(device, there);
  free_pinned(words);
}

/* Who finishes no stream in particular finishes all. */
static void check_finish(void)
{
  enum { STREAMS = 4 };
  uint32_t *words = new_pinned(64);
  grove_stream *streams[STREAMS];
  for (int i = 0; i < STREAMS; i++) streams[i] = new_stream();
  for (int i = 0; i < STREAMS; i++) {
    CHECK_OK(driver->await(device, streams[i], &words[0], 1));
    CHECK_OK(driver->write(device, streams[i], &words[1 + i], 1));
    CHECK(!driver->is_capturing(0, streams[i]), "stream %d", i);
  }
  check_unchanged(&words[STREAMS], 0);
  set_word(&words[0], 1);
  CHECK_OK(driver->finish(device, NULL));
  for (int i = 0; i < STREAMS; i++) CHECK(look_at(&words[1 + i]) == 1, "stream %d", i);
  CHECK(!driver->is_capturing(0, NULL), "the default stream");
  for (int i = 0; i < STREAMS; i++) driver->free_stream(device, streams[i]);
  free_pinned(words);
}

static void check_empty_launch(void)
{
  static grove_launch launch;
  CHECK_OK(driver->launch(device, NULL, &launch, NULL, 0));
  launch.njobs = 3;
  CHECK_OK(driver->launch(device, NULL, &launch, NULL, 0));
  CHECK_OK(driver->finish(device, NULL));
}

/* ---- threads ---- */

static void *copy_in_thread(void *seed)
{
  enum { BYTES = 5000 };
  unsigned char *out = new_pinned(BYTES), *back = new_pinned(BYTES);
  grove_stream *stream = new_stream();
  for (int i = 0; i < 20; i++) {
    char *memory = new_memory(BYTES);
    fill(out, BYTES, *(uint64_t *)seed);
    CHECK_OK(driver->copy(device, stream, memory, out, BYTES));
    copy_and_finish(stream, back, memory, BYTES);
    check_filled(back, BYTES, *(uint64_t *)seed);
    driver->free(device, memory);
  }
  driver->free_stream(device, stream);
  free_pinned(out);
  free_pinned(back);
  return NULL;
}

static void check_threads(void)
{
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  uint64_t seeds[THREADS];
  for (int i = 0; i < THREADS; i++) {
    seeds[i] = (uint64_t)i;
    CHECK(pthread_create(&threads[i], NULL, copy_in_thread, &seeds[i]) == 0, "thread %d", i);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

/* ---- other processes ---- */

/* Memory of the next rank, twice: one comes to an end before the other. */
static char *import_next(const grove_handle *mine, void **twin)
{
  grove_handle next;
  int n = world_size(), rank = world_rank();
  void *memory = NULL;
  MPI_Sendrecv(mine, (int)sizeof *mine, MPI_BYTE, (rank + n - 1) % n, 5, &next, (int)sizeof next,
               MPI_BYTE, (rank + 1) % n, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK_OK(driver->import_memory(device, &next, &memory));
  CHECK_OK(driver->import_memory(device, &next, twin));
  return memory;
}

/* Each rank writes to the next one's memory, and then its word; that one's stream awaits it. */
static void check_exports(void)
{
  enum { BYTES = 1 << 16, ALL = BYTES + 64 };
  int n = world_size(), rank = world_rank();
  if (n == 1) return;
  grove_handle handle;
  void *twin = NULL;
  unsigned char *out = new_pinned(BYTES), *back = new_pinned(ALL);
  char *mine = new_memory(ALL), *small = new_memory(100);
  grove_stream *puts = new_stream(), *takes = new_stream();
  copy_and_finish(puts, mine, back, ALL);          /* zeros */
  CHECK_OK(driver->export_memory(small, &handle)); /* of one that is not alone, perhaps */
  CHECK_OK(driver->export_memory(mine, &handle));
  char *theirs = import_next(&handle, &twin);
  driver->let_go(twin);
  polite_barrier(MPI_COMM_WORLD);
  for (uint32_t i = 1; i <= 10; i++) {
    fill(out, BYTES, mix2(i, (uint64_t)rank));
    CHECK_OK(driver->copy(device, puts, theirs, out, BYTES));
    CHECK_OK(driver->write(device, puts, (uint32_t *)(theirs + BYTES), i));
    CHECK_OK(driver->await(device, takes, (uint32_t *)(mine + BYTES), i));
    CHECK_OK(driver->copy(device, takes, back, mine, BYTES));
    CHECK_OK(driver->finish(device, takes));
    check_filled(back, BYTES, mix2(i, (uint64_t)((rank + n - 1) % n)));
    CHECK_OK(driver->finish(device, puts));
    polite_barrier(MPI_COMM_WORLD);
  }
  driver->let_go(theirs);
  polite_barrier(MPI_COMM_WORLD);
  driver->free(device, small);
  driver->free(device, mine);
  driver->free_stream(device, puts);
  driver->free_stream(device, takes);
  free_pinned(out);
  free_pinned(back);
}

/* ---- failures ---- */

static void check_failures(int ndevices)
{
  void *memory = NULL;
  grove_stream *stream = NULL;
  grove_handle handle;
  char sentence[1024];
  CHECK_STATUS(driver->allocate(ndevices + 3, 8, &memory), GROVE_ERR_DEVICE);
  CHECK_NUMBER_IN(grove_last_error(), ndevices + 3);
  CHECK_STATUS(driver->create_stream(-1, &stream), GROVE_ERR_DEVICE);
  memory = need(100);
  CHECK_STATUS(driver->export_memory(memory, &handle), GROVE_ERR_DEVICE);
  free(memory);
  memset(&handle, 0x5a, sizeof handle);
  memory = NULL;
  CHECK_STATUS(driver->import_memory(device, &handle, &memory), GROVE_ERR_DEVICE);
  CHECK(memory == NULL && stream == NULL, "what failed has a result");

  /* Who frees leaves the last sentence alone. */
  snprintf(sentence, sizeof sentence, "%s", grove_last_error());
  CHECK(strlen(sentence) > 10, "'%s' says nothing", sentence);
  driver->free(device, new_memory(10));
  free_pinned(new_pinned(10));
  driver->free(ndevices + 3, &handle);
  CHECK(strcmp(sentence, grove_last_error()) == 0, "'%s' was '%s'", grove_last_error(), sentence);
}

/* A broken device says so in the same words to everybody. */
static void check_broken(void)
{
  static grove_launch launch = {.njobs = 1};
  char first[1024];
  void *memory = NULL, *before = new_memory(100);
  grove_stream *stream = new_stream();
  launch.jobs[0] = (grove_job){.recipe = (void *)4096, .end = 1};
  CHECK_OK(driver->launch(device, stream, &launch, NULL, 0));
  CHECK_STATUS(driver->finish(device, stream), GROVE_ERR_DEVICE);
  snprintf(first, sizeof first, "%s", grove_last_error());
  CHECK_STATUS(driver->allocate(device, 100, &memory), GROVE_ERR_DEVICE);
  CHECK(strcmp(first, grove_last_error()) == 0, "'%s' was '%s'", grove_last_error(), first);
  CHECK_STATUS(driver->finish(device, NULL), GROVE_ERR_DEVICE);
  CHECK(strcmp(first, grove_last_error()) == 0, "'%s' was '%s'", grove_last_error(), first);
  driver->free(device, before);
  driver->free_stream(device, stream);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "device/driver");
  const char *name = getenv("TEST_DRIVER");
  int ndevices = 0;
  driver = named_driver(name ? name : "emulated");
  if (!driver) return test_skip("the library has no such driver");
  if (driver->open(&ndevices) != GROVE_OK) return test_skip(grove_last_error());
  CHECK(ndevices > 0, "%d devices", ndevices);
  CHECK_OK(driver->open(&ndevices));
  device = world_rank() % ndevices;
  if (getenv("TEST_BREAK")) {
    if (strcmp(driver->name, "cuda") != 0) return test_skip("only CUDA survives this");
    check_broken();
    return test_end();
  }
  void (*const cases[])(void) = {
    check_memory, check_managed,       check_host_memory, check_numbers,
    check_many,   check_out_of_memory, check_copies,      check_order,
    check_pins,   check_events,        check_words_seen,  check_words_awaited,
    check_finish, check_empty_launch,  check_threads,     check_exports,
  };
  for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
    test_case(i);
    cases[i]();
  }
  check_failures(ndevices);
  return test_end();
}
