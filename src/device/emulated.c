/* The emulated device's table. Every call that can fail enters here. It fails if that was planned,
 * or if the order of accesses was found wanting before. */
#include "device/emulated_parts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
  pthread_mutex_t lock;
  grove_emulated_call call;
  int64_t left; /* calls until it fails; < 0: it does not */
  int64_t met;
  grove_status with;
} plan = {.lock = PTHREAD_MUTEX_INITIALIZER, .left = -1};

static int device_count = 1; /* atomic */

static const char *const call_names[] = {
  "allocate", "pin",   "export", "import",       "create_stream", "copy",  "launch",
  "write",    "await", "finish", "create_event", "record",        "after",
};

/* ---- on entry ---- */

static int fails_by_plan(grove_emulated_call call, grove_status *with)
{
  int fails = 0;
  pthread_mutex_lock(&plan.lock);
  if (plan.call == call || plan.call == GROVE_EMULATED_ANY) {
    plan.met++;
    fails = plan.left == 0;
    if (plan.left >= 0) plan.left--;
    *with = plan.with;
  }
  pthread_mutex_unlock(&plan.lock);
  return fails;
}

static grove_status enter_call(grove_emulated_call call)
{
  grove_status with = GROVE_ERR_DEVICE;
  char sentence[GROVE_SENTENCE_BYTES];
  if (grove_order_told(sentence, sizeof sentence) > 0)
    return grove_error_set(GROVE_ERR_DEVICE, sentence);
  GROVE_PASS_CHECK(!fails_by_plan(call, &with), with,
                   "the emulated device fails at this %s, as planned", call_names[call]);
  return GROVE_OK;
}

static grove_status enter_device(grove_emulated_call call, int device)
{
  grove_status status = GROVE_OK;
  int n = __atomic_load_n(&device_count, __ATOMIC_RELAXED);
  GROVE_PASS_CHECK(device >= 0 && device < n, GROVE_ERR_DEVICE,
                   "there is no device %d, only 0 to %d", device, n - 1);
  status = enter_call(call);
  return status;
}

static grove_status open_devices(int *ndevices)
{
  *ndevices = __atomic_load_n(&device_count, __ATOMIC_RELAXED);
  return GROVE_OK;
}

/* There is memory from the first allocation on. */
static int has_memory(void)
{
  return __atomic_load_n(&grove_device_offset, __ATOMIC_RELAXED) != 0;
}

static int no_choice(void)
{
  return -1;
}

/* ---- memory ---- */

static grove_status allocate_memory(int device, int64_t bytes, void **out)
{
  grove_status status = enter_device(GROVE_EMULATED_ALLOCATE, device);
  return status == GROVE_OK ? grove_store_allocate(device, bytes, out) : status;
}

/* What is still used stays, so that the program lives to hear of it. As with CUDA, all that is
 * enqueued on the device comes first, whatever it is about. */
static void release_memory(void *memory)
{
  grove_range range;
  if (!grove_store_find(memory, &range)) return;
  if (!grove_engine_release(range.begin, range.bytes)) return;
  grove_engine_drain(range.device);
  grove_store_free(memory);
}

static void free_memory(int device, void *memory)
{
  (void)device;
  release_memory(memory);
}

static grove_status pin_memory(void *begin, int64_t bytes)
{
  grove_status status = enter_call(GROVE_EMULATED_PIN);
  return status == GROVE_OK ? grove_store_pin(begin, bytes) : status;
}

static void unpin_memory(void *begin)
{
  int64_t bytes = grove_store_unpin(begin);
  if (bytes > 0) grove_engine_release(begin, bytes);
}

static grove_emulated_reach reach_rule; /* atomic */

void grove_emulated_set_reach(grove_emulated_reach rule)
{
  __atomic_store_n(&reach_rule, rule, __ATOMIC_RELAXED);
}

/* Kernels add the offset to every address. */
static void *reach_memory(int device, void *pinned)
{
  static unsigned asked;
  (void)device;
  int reaches = __atomic_add_fetch(&asked, 1, __ATOMIC_RELAXED) % 2;
  grove_emulated_reach rule = __atomic_load_n(&reach_rule, __ATOMIC_RELAXED);
  if (rule != GROVE_REACH_BY_TURNS) reaches = rule == GROVE_REACH_ALWAYS;
  return reaches ? (char *)pinned - grove_device_offset : NULL;
}

static grove_status export_memory(void *memory, grove_handle *out)
{
  grove_status status = enter_call(GROVE_EMULATED_EXPORT);
  return status == GROVE_OK ? grove_store_export(memory, out) : status;
}

static grove_status import_memory(int device, const grove_handle *handle, void **out)
{
  grove_status status = enter_device(GROVE_EMULATED_IMPORT, device);
  return status == GROVE_OK ? grove_store_import(device, handle, out) : status;
}

/* ---- streams ---- */

static grove_status create_stream(int device, grove_stream **out)
{
  grove_status status = enter_device(GROVE_EMULATED_CREATE_STREAM, device);
  return status == GROVE_OK ? grove_engine_create(device, out) : status;
}

static void free_stream(int device, grove_stream *stream)
{
  (void)device;
  grove_engine_free(stream);
}

static grove_status copy_bytes(int device, grove_stream *stream, void *to, const void *from,
                               int64_t bytes)
{
  grove_status status = enter_device(GROVE_EMULATED_COPY, device);
  return status == GROVE_OK ? grove_engine_copy(device, stream, to, from, bytes) : status;
}

static grove_status write_emulated(int device, grove_stream *stream, uint32_t *word, uint32_t value)
{
  grove_status status = enter_device(GROVE_EMULATED_WRITE, device);
  return status == GROVE_OK ? grove_engine_write(device, stream, word, value) : status;
}

/* The host's address of a word that kernels reach. */
static uint32_t *host_word(uint32_t *reached)
{
  return (uint32_t *)((char *)reached + grove_device_offset);
}

static grove_status launch_jobs(int device, grove_stream *stream, const grove_launch *launch,
                                const grove_access *accesses, int naccesses)
{
  grove_status status = enter_device(GROVE_EMULATED_LAUNCH, device);
  if (status != GROVE_OK) return status;
  GROVE_PASS(grove_engine_launch(device, stream, launch, accesses, naccesses));
  if (!launch->word) return GROVE_OK;
  return write_emulated(device, stream, host_word(launch->word), launch->value);
}

static grove_status await_emulated(int device, grove_stream *stream, uint32_t *word, uint32_t value)
{
  grove_status status = enter_device(GROVE_EMULATED_AWAIT, device);
  return status == GROVE_OK ? grove_engine_await(device, stream, word, value) : status;
}

static grove_status finish_work(int device, grove_stream *stream)
{
  grove_status status = enter_device(GROVE_EMULATED_FINISH, device);
  return status == GROVE_OK ? grove_engine_finish(device, stream) : status;
}

static int is_capturing(int device, grove_stream *stream)
{
  (void)device;
  (void)stream;
  return 0;
}

static grove_status create_event(int device, grove_event **out)
{
  grove_status status = enter_device(GROVE_EMULATED_CREATE_EVENT, device);
  return status == GROVE_OK ? grove_engine_create_event(device, out) : status;
}

static grove_status record_event(int device, grove_event *event, grove_stream *stream)
{
  grove_status status = enter_device(GROVE_EMULATED_RECORD, device);
  return status == GROVE_OK ? grove_engine_record(device, event, stream) : status;
}

static grove_status after_event(int device, grove_stream *stream, grove_event *event)
{
  grove_status status = enter_device(GROVE_EMULATED_AFTER, device);
  return status == GROVE_OK ? grove_engine_after(device, stream, event) : status;
}

const grove_driver grove_driver_emulated = {
  .name = "emulated",
  .checks_order = 1,
  .has_no_rates = 1,
  .open = open_devices,
  .own_clock = grove_clock_read,
  .has_link = grove_clock_has_link,
  .is_in_use = has_memory,
  .current = no_choice,
  .find = grove_store_find,
  .allocate = allocate_memory,
  .free = free_memory,
  .pin = pin_memory,
  .unpin = unpin_memory,
  .reach = reach_memory,
  .export_memory = export_memory,
  .import_memory = import_memory,
  .let_go = release_memory,
  .create_stream = create_stream,
  .free_stream = free_stream,
  .copy = copy_bytes,
  .launch = launch_jobs,
  .write = write_emulated,
  .await = await_emulated,
  .finish = finish_work,
  .is_capturing = is_capturing,
  .device_of = grove_engine_device_of,
  .create_event = create_event,
  .free_event = grove_engine_free_event,
  .record = record_event,
  .after = after_event,
};

/* ---- for tests, and for the layer above ---- */

void grove_emulated_set_temper(grove_temper temper, uint64_t seed)
{
  grove_engine_set_temper(temper, seed);
}

grove_status grove_emulated_set_temper_by_name(const char *text)
{
  static const char *const names[] = {"eager", "lazy", "random"};
  const char *colon = strchr(text, ':');
  size_t bytes = colon ? (size_t)(colon - text) : strlen(text);
  char *end = NULL;
  uint64_t seed = colon ? strtoull(colon + 1, &end, 10) : 0;
  GROVE_PASS_CHECK(!colon || (end != colon + 1 && *end == '\0'), GROVE_ERR_OPTION,
                   "'%s' does not end with a number", text);
  for (int i = 0; i < 3; i++)
    if (strlen(names[i]) == bytes && strncmp(names[i], text, bytes) == 0) {
      grove_emulated_set_temper((grove_temper)i, seed);
      return GROVE_OK;
    }
  GROVE_PASS_CHECK(0, GROVE_ERR_OPTION, "'%s' is no temper: eager, lazy or random, then :SEED",
                   text);
  return GROVE_OK;
}

void grove_emulated_set_links(const grove_emulated_links *links)
{
  for (int i = 0; i < GROVE_EMULATED_DEVICES; i++) grove_engine_drain(i);
  grove_clock_set(links);
  grove_store_set_unread(links && links->moves_nothing);
}

void grove_emulated_set_devices(int n)
{
  __atomic_store_n(&device_count, n, __ATOMIC_RELAXED);
}

void grove_emulated_fail_at(grove_emulated_call call, int64_t n, grove_status with)
{
  pthread_mutex_lock(&plan.lock);
  plan.call = call;
  plan.left = n;
  plan.met = 0;
  plan.with = with;
  pthread_mutex_unlock(&plan.lock);
}

int64_t grove_emulated_calls(void)
{
  pthread_mutex_lock(&plan.lock);
  int64_t met = plan.met;
  pthread_mutex_unlock(&plan.lock);
  return met;
}

int64_t grove_emulated_conflicts(void)
{
  char sentence[GROVE_SENTENCE_BYTES];
  return grove_order_told(sentence, sizeof sentence);
}

void grove_emulated_conflict(char *sentence, size_t bytes)
{
  grove_order_told(sentence, bytes);
}

void grove_emulated_forget_conflicts(void)
{
  grove_order_reset();
}

void grove_emulated_set_strict(int strict)
{
  grove_engine_set_strict(strict);
}

void grove_emulated_host_saw(const uint32_t *word, uint32_t value)
{
  grove_engine_host_saw(word, value);
}

void grove_emulated_host_reads(const void *begin, int64_t bytes)
{
  grove_engine_host_access(&(grove_access){begin, bytes, 0});
}

void grove_emulated_host_writes(const void *begin, int64_t bytes)
{
  grove_engine_host_access(&(grove_access){begin, bytes, 1});
}

void grove_emulated_reset(void)
{
  grove_emulated_set_temper(GROVE_TEMPER_EAGER, 0);
  grove_emulated_set_strict(0);
  grove_emulated_set_links(NULL);
  grove_emulated_set_limit(INT64_MAX);
  grove_emulated_set_devices(1);
  grove_emulated_set_runner(NULL);
  grove_emulated_fail_at(GROVE_EMULATED_ANY, -1, GROVE_OK);
  grove_emulated_forget_conflicts();
}
