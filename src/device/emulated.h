/* The emulated device, as tests and the layer above may set it. It does what a GPU does, in memory
 * that the host cannot touch, at a time of its own choosing; it says nothing about speed.
 *
 *     grove_emulated_set_temper(GROVE_TEMPER_LAZY, 0);
 *     ... a program that forgot to wait now goes wrong every time ...
 *     grove_emulated_reset();
 *
 * Device memory is a file without a name, mapped twice: where the program is told that it lies any
 * access faults, and the engine's view is `grove_device_offset` bytes behind that. All that is here
 * is of this process, and may be called by any thread.
 */
#ifndef GROVE_DEVICE_EMULATED_H
#define GROVE_DEVICE_EMULATED_H

#include "device/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- when the work is done ---- */

typedef enum grove_temper {
  GROVE_TEMPER_EAGER, /* as soon as possible, in the order of the calls */
  /* As late as possible: when `finish`, or a copy of pageable memory, needs it; a stream that is
   * asked for last comes first. The host also looks at words that the device writes, and nobody can
   * see it look. So what nobody asked for is done after all when the thread that enqueued it has
   * computed for some 50 us since then (a host that forgot to wait is far away by then, and a host
   * that polls is not kept waiting), or when 20 ms have passed. */
  GROVE_TEMPER_LAZY,
  GROVE_TEMPER_RANDOM /* streams take turns at random, with random short delays */
} grove_temper;

/* Of what is enqueued from now on. The seed also decides in which order items of launches are done,
 * whatever the temper. */
void grove_emulated_set_temper(grove_temper temper, uint64_t seed);

/* The same from the text of an option: "eager", "lazy" or "random", and ":SEED" if one likes. */
grove_status grove_emulated_set_temper_by_name(const char *text);

/* ---- what there is ---- */

enum { GROVE_EMULATED_DEVICES = 8 };

/* One, unless told otherwise. Before they are used. */
void grove_emulated_set_devices(int n);

/* Bytes of all allocations together; more than that is GROVE_ERR_MEMORY. */
void grove_emulated_set_limit(int64_t bytes);

/* Where the engine sees an address; host memory is where it is. */
void *grove_emulated_alias(const void *address);

/* Does these items of a launch, in this order; called by two threads at once. Addresses in the
 * launch are those that were given out. */
typedef void grove_item_runner(const grove_launch *launch, const int64_t *items, int64_t count);

/* NULL: the built-in one. */
void grove_emulated_set_runner(grove_item_runner *run);

/* ---- failures ---- */

typedef enum grove_emulated_call {
  GROVE_EMULATED_ALLOCATE,
  GROVE_EMULATED_PIN,
  GROVE_EMULATED_EXPORT,
  GROVE_EMULATED_IMPORT,
  GROVE_EMULATED_CREATE_STREAM,
  GROVE_EMULATED_COPY,
  GROVE_EMULATED_LAUNCH,
  GROVE_EMULATED_WRITE,
  GROVE_EMULATED_AWAIT,
  GROVE_EMULATED_FINISH,
  GROVE_EMULATED_CREATE_EVENT,
  GROVE_EMULATED_RECORD,
  GROVE_EMULATED_AFTER,
  GROVE_EMULATED_ANY /* of these */
} grove_emulated_call;

/* After n more of these calls the next one fails, and does nothing else; those behind it work. One
 * failure can be planned at a time; n < 0 takes the plan back. */
void grove_emulated_fail_at(grove_emulated_call call, int64_t n, grove_status with);

/* How many of the planned calls there were since then, the one that failed among them. */
int64_t grove_emulated_calls(void);

/* ---- order ----
 *
 * Of every copy and launch is known what it reads and writes, and what comes before it: what is
 * before it in its stream, behind which events its stream is, what the default stream makes wait,
 * what the host had waited for when it enqueued it. Two that touch the same bytes, one of them
 * writing, must be in some order. If they are not, the first such pair is kept as a sentence, with
 * which all calls of the driver fail from then on.
 *
 * The host has waited for a stream by `finish`. It may also look at a word; the word counts as seen
 * once it is written, or, if strict, when grove_emulated_host_saw says so. A word makes no order
 * between streams (nor does it with CUDA), and none between processes. A stream that waits for a
 * word of the host's is behind whatever the host knew then: nothing is found about such a stream
 * any more, until the host waits for it. */

int64_t grove_emulated_conflicts(void);                     /* how many so far */
void grove_emulated_conflict(char *sentence, size_t bytes); /* the first; "" if there is none */
void grove_emulated_forget_conflicts(void);

void grove_emulated_set_strict(int strict);
void grove_emulated_host_saw(const uint32_t *word, uint32_t value);

/* The host is about to read, or to write, memory that copies use too. */
void grove_emulated_host_reads(const void *begin, int64_t bytes);
void grove_emulated_host_writes(const void *begin, int64_t bytes);

/* All of this as it was at the beginning; memory, streams and events stay. */
void grove_emulated_reset(void);

#ifdef __cplusplus
}
#endif

#endif
