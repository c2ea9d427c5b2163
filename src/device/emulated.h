/* The emulated device, as tests and the layer above may set it. It does what a GPU does, in memory
 * that the host cannot touch, at a time of its own choosing. It says nothing about speed.
 *
 *     grove_emulated_set_temper(GROVE_TEMPER_LAZY, 0);
 *     ... a program that forgot to wait now goes wrong every time ...
 *     grove_emulated_reset();
 *
 * Device memory is a file without a name, mapped twice. Where the program is told that it lies, any
 * access faults. The engine's view is `grove_device_offset` bytes behind that. All that is here
 * belongs to this process, and any thread may call it.
 */
#ifndef GROVE_DEVICE_EMULATED_H
#define GROVE_DEVICE_EMULATED_H

#include "device/driver.h"
#include "model/links.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- when the work is done ---- */

typedef enum grove_temper {
  GROVE_TEMPER_EAGER, /* as soon as possible, in the order of the calls */
  /* As late as possible: when `finish`, or a copy of pageable memory, needs it. A stream that is
   * asked for last comes first. The host also looks at words that the device writes, and nobody can
   * see it look. So what nobody asked for is done all the same when the thread that enqueued it has
   * computed for some 50 us since then, or when 20 ms have passed. By then a host that forgot to
   * wait is far away, and a host that polls is not kept waiting. */
  GROVE_TEMPER_LAZY,
  GROVE_TEMPER_RANDOM /* streams take turns at random, with random short delays */
} grove_temper;

/* Do kernels reach pinned memory? By turns, so that programs meet both. */
typedef enum grove_emulated_reach {
  GROVE_REACH_BY_TURNS,
  GROVE_REACH_ALWAYS,
  GROVE_REACH_NEVER
} grove_emulated_reach;

void grove_emulated_set_reach(grove_emulated_reach rule);

/* For what is enqueued from now on. The seed also decides the order of the items of launches,
 * whatever the temper. */
void grove_emulated_set_temper(grove_temper temper, uint64_t seed);

/* The same from the text of an option: "eager", "lazy" or "random", perhaps with ":SEED". */
grove_status grove_emulated_set_temper_by_name(const char *text);

/* ---- what there is ---- */

enum { GROVE_EMULATED_DEVICES = 8 };

/* One, unless this says otherwise. Call it before devices are used. */
void grove_emulated_set_devices(int n);

/* The most bytes of all allocations together. More than that is GROVE_ERR_MEMORY. */
void grove_emulated_set_limit(int64_t bytes);

/* Where the engine sees an address; host memory is where it is. */
void *grove_emulated_alias(const void *address);

/* Does what some of `all` threads of a device do for a launch, in this order. Two threads of the
 * host call it at once. Addresses in the launch are those that were given out. */
typedef void grove_item_runner(const grove_launch *launch, const int64_t *threads, int64_t count,
                               int64_t all);

/* NULL: the built-in one. */
void grove_emulated_set_runner(grove_item_runner *run);

/* ---- links, on a clock of the device's own ----
 *
 * With links, copies take the time that these would take. No real time is waited for: a clock of
 * the device's own goes on when the host waits, and a little with every call. What happens is the
 * same each time, as long as one thread makes the calls. A copy waits for the latency of its link
 * and then shares everything that it crosses fairly with others. The rest takes no time. Nobody may
 * poll words meanwhile, since only calls let time pass. Tempers mean nothing. */

typedef struct grove_emulated_links {
  grove_links links; /* `epsilon` is not looked at */
  double call;       /* seconds of the host for each call that enqueues something */
  double wait;       /* from an event to the stream that waits for it */
  /* What the model does not know: */
  double ramp_bytes; /* so many bytes of a copy go at half the rate */
  int engines;       /* the most copies at once on streams of a device; 0: any number */
  double jitter;     /* latencies and rates of copies are off by up to this share */
  uint64_t seed;
  int moves_nothing; /* only time passes, for copies of sizes that would take too long */
} grove_emulated_links;

/* Waits for all that is enqueued. NULL: no links, no clock. The clock begins at 0. */
void grove_emulated_set_links(const grove_emulated_links *links);

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
  GROVE_EMULATED_ANY /* any of these */
} grove_emulated_call;

/* After n more of these calls the next one fails, and does nothing else. Later ones work. One
 * failure can be planned at a time; n < 0 takes the plan back. */
void grove_emulated_fail_at(grove_emulated_call call, int64_t n, grove_status with);

/* How many of the planned calls there have been since then, with the one that failed. */
int64_t grove_emulated_calls(void);

/* ---- order ----
 *
 * For every copy and launch it is known what it reads and writes, and what comes before it: earlier
 * work of its stream, events that its stream waited for, what the default stream makes wait, and
 * what the host had waited for when it enqueued it. Two accesses to the same bytes, one of them a
 * write, must be in some order. If they are not, the first such pair is kept as a sentence, and all
 * calls of the driver fail with it from then on.
 *
 * The host has waited for a stream by `finish`. It may also look at a word. The word counts as seen
 * once it is written, or, if strict, when grove_emulated_host_saw says so. A word makes no order
 * between streams (nor does it with CUDA), and none between processes. A stream that waits for a
 * word of the host's comes after whatever the host knew then. So nothing more is found about such a
 * stream until the host waits for it. */

int64_t grove_emulated_conflicts(void);                     /* how many so far */
void grove_emulated_conflict(char *sentence, size_t bytes); /* the first; "" if there is none */
void grove_emulated_forget_conflicts(void);

void grove_emulated_set_strict(int strict);
void grove_emulated_host_saw(const uint32_t *word, uint32_t value);

/* The host is about to read, or to write, memory that copies use too. */
void grove_emulated_host_reads(const void *begin, int64_t bytes);
void grove_emulated_host_writes(const void *begin, int64_t bytes);

/* Sets all of this back to the beginning. Memory, streams and events stay. */
void grove_emulated_reset(void);

#ifdef __cplusplus
}
#endif

#endif
