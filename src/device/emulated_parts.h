/* What the files of the emulated device know of each other. emulated.c has the table, and what can
 * go wrong on purpose; below it are work (emulated_work.c), streams (emulated_stream.c) and their
 * engine (emulated_engine.c), a clock for links (emulated_links.c), and below those tasks
 * (emulated_task.c), order, launches and memory. */
#ifndef GROVE_DEVICE_EMULATED_PARTS_H
#define GROVE_DEVICE_EMULATED_PARTS_H

#include "device/emulated.h"

#ifdef __cplusplus
extern "C" {
#endif

/* splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t grove_emulated_draw(uint64_t *state)
{
  uint64_t x = *state += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static inline int grove_emulated_overlap(const void *a, int64_t abytes, const void *b,
                                         int64_t bbytes)
{
  return (const char *)a < (const char *)b + bbytes && (const char *)b < (const char *)a + abytes;
}

/* ---- memory (emulated_memory.c) ---- */

int grove_store_find(const void *address, grove_range *out);
grove_status grove_store_allocate(int device, int64_t bytes, void **out);
grove_status grove_store_export(void *memory, grove_handle *out);
grove_status grove_store_import(int device, const grove_handle *handle, void **out);
/* From now on new memory need not be filled: no copy reads it. */
void grove_store_set_unread(int is_unread);
/* Of either kind. */
void grove_store_free(void *memory);
grove_status grove_store_pin(void *begin, int64_t bytes);
/* Returns how many bytes were pinned there. */
int64_t grove_store_unpin(void *begin);
int grove_store_is_pinned(const void *begin, int64_t bytes);
/* Is it in the part of the address space that device memory is in, allocated or not? */
int grove_store_is_given(const void *address);
/* Checks that it is device memory, all of it in one allocation. */
grove_status grove_store_check(const char *what, const void *begin, int64_t bytes);

/* ---- launches (emulated_launch.c); by the engine's thread alone ---- */

int grove_launcher_is_able(void); /* there is something that runs items */
void grove_launcher_run(const grove_launch *launch, uint64_t seed);
void grove_launcher_stop(void);

/* ---- order (emulated_order.c); with the engine's lock ---- */

enum { GROVE_ORDER_STREAMS = 256 };

/* What came before something: for each stream, everything up to a number. */
typedef struct grove_order {
  uint64_t of[GROVE_ORDER_STREAMS];
} grove_order;

/* Who does something: its stream, its number there, and what it is. */
typedef struct grove_actor {
  const char *what;
  int stream;
  int is_default; /* of its device */
  uint64_t number;
} grove_actor;

void grove_order_join(grove_order *to, const grove_order *from);
/* Somebody behind `before` does this. */
void grove_order_access(const grove_actor *who, const grove_order *before,
                        const grove_access *accesses, int naccesses);
/* The host, likewise. */
void grove_order_host(const grove_access *access);
/* The host has waited for what came before. All that it does and enqueues later comes after that,
 * so that need not be known any more. The same holds for memory that is gone. */
void grove_order_forget(const grove_order *before);
void grove_order_gone(const void *begin, int64_t bytes);
/* Something came after `before` when it wrote the word. Then: the host saw that. */
void grove_order_wrote(const uint32_t *word, uint32_t value, const grove_order *before);
void grove_order_saw(const uint32_t *word, uint32_t value);
/* Was it written by a stream of this process, not long ago? */
int grove_order_is_written(const uint32_t *word);

/* Works without the lock too. */
void grove_order_tell(const char *format, ...)
#if defined(__GNUC__)
  __attribute__((format(printf, 1, 2)))
#endif
  ;
int64_t grove_order_told(char *sentence, size_t bytes);
void grove_order_reset(void);

/* ---- a clock of its own (emulated_links.c) ---- */

int grove_clock_read(double *now);
int grove_clock_has_link(int from, int to);
/* Nothing is enqueued. */
void grove_clock_set(const grove_emulated_links *links);

/* ---- streams, and what is enqueued there (emulated_stream.c, emulated_work.c) ---- */

void grove_engine_set_temper(grove_temper temper, uint64_t seed);
void grove_engine_set_strict(int strict);
void grove_engine_host_saw(const uint32_t *word, uint32_t value);
void grove_engine_host_access(const grove_access *access);
/* Waits for all that is enqueued on the device. It makes no order: nobody should count on it. */
void grove_engine_drain(int device);
/* The memory is about to go. Is nothing enqueued that uses it? Else that is told. */
int grove_engine_release(const void *begin, int64_t bytes);

grove_status grove_engine_create(int device, grove_stream **out);
void grove_engine_free(grove_stream *stream);
int grove_engine_device_of(grove_stream *stream, int otherwise);
grove_status grove_engine_copy(int device, grove_stream *stream, void *to, const void *from,
                               int64_t bytes);
grove_status grove_engine_launch(int device, grove_stream *stream, const grove_launch *launch,
                                 const grove_access *accesses, int naccesses);
grove_status grove_engine_write(int device, grove_stream *stream, uint32_t *word, uint32_t value);
grove_status grove_engine_await(int device, grove_stream *stream, uint32_t *word, uint32_t value);
grove_status grove_engine_finish(int device, grove_stream *stream);
grove_status grove_engine_record(int device, grove_event *event, grove_stream *stream);
grove_status grove_engine_after(int device, grove_stream *stream, grove_event *event);
grove_status grove_engine_create_event(int device, grove_event **out);
void grove_engine_free_event(grove_event *event);

#ifdef __cplusplus
}
#endif

#endif
