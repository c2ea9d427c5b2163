/* What a device does for Grove: a table of functions. CUDA has one (cuda.c), and so has the
 * emulated device (emulated.c), which runs without a GPU. One driver serves a process.
 *
 * Device memory belongs to the device: the host may not touch it. The driver has its own kind of
 * streams. A user's stream is one of them, and NULL is the default stream. What is enqueued on one
 * stream is done in that order, later. Events make an order between streams.
 *
 *     GROVE_TRY(driver->launch(device, stream, &launch, accesses, n));
 *     GROVE_TRY(driver->copy(device, stream, host, memory, bytes));      pinned host memory
 *     GROVE_TRY(driver->write(device, stream, &word, 7));
 *     ... later: the word is 7, and `host` has what was copied
 *
 * All functions may be called by any thread. A failure is GROVE_ERR_DEVICE with the driver's words,
 * or GROVE_ERR_MEMORY where the device has none left.
 */
#ifndef GROVE_DEVICE_DRIVER_H
#define GROVE_DEVICE_DRIVER_H

#include "base/status.h"
#include "pack/recipe.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st; /* a stream of any driver */
typedef struct CUstream_st grove_stream;
typedef struct grove_event grove_event;

/* Where an address lies. */
typedef struct grove_range {
  int device;
  char *begin;
  int64_t bytes;
  uint64_t number; /* of the allocation; it is not used again, as its address may be */
} grove_range;

/* What another process needs to reach an allocation. */
typedef struct grove_handle {
  char bytes[64];
} grove_handle;

/* What a launch or a copy reads or writes, for a driver that checks the order of accesses. */
typedef struct grove_access {
  const void *begin;
  int64_t bytes;
  int writes;
} grove_access;

typedef struct grove_driver {
  const char *name;
  int checks_order; /* it wants to know what launches touch, and needs no hurry */
  int has_no_rates; /* how long something takes there says nothing of any device */

  /* The number of devices: at least one, or GROVE_ERR_DEVICE, which says why there is none. Called
   * before all else, as often as one likes. */
  grove_status (*open)(int *ndevices);
  /* A clock of the driver's own, in seconds, by which what is enqueued takes its time. False, or
   * NULL: it has none, and the host's clock tells. */
  int (*own_clock)(double *now);
  /* May this process have memory of a device already? Then it has opened the driver, by this table
   * or by itself. */
  int (*is_in_use)(void);
  /* May copies go from one device to the other without the host's help? If so, they will. NULL: one
   * may take that for granted. */
  int (*has_link)(int from, int to);
  /* The device that the calling thread has chosen by other means; -1: none. */
  int (*current)(void);

  /* ---- memory ---- */

  /* Is it memory that only a device may touch? Pinned and managed memory are not. */
  int (*find)(const void *address, grove_range *out);
  grove_status (*allocate)(int device, int64_t bytes, void **out);
  /* Nothing that is enqueued may still use it. NULL is no memory. */
  void (*free)(int device, void *memory);
  /* Makes host memory fit for copies that go on while the host does something else, and for words.
   * `begin` and `bytes` may be anything; unpin has the same `begin`. */
  grove_status (*pin)(void *begin, int64_t bytes);
  void (*unpin)(void *begin);
  /* The address by which kernels of the device reach pinned memory; NULL: they do not. */
  void *(*reach)(int device, void *pinned);
  /* For memory that this driver allocated. Another process of this host may import it, and must let
   * go of it before it is freed. */
  grove_status (*export_memory)(void *memory, grove_handle *out);
  grove_status (*import_memory)(int device, const grove_handle *handle, void **out);
  void (*let_go)(void *imported);

  /* ---- streams ---- */

  grove_status (*create_stream)(int device, grove_stream **out);
  void (*free_stream)(int device, grove_stream *stream); /* all of it is done */
  grove_status (*copy)(int device, grove_stream *stream, void *to, const void *from, int64_t bytes);
  /* With a word, it is written at the end, as `write` does it, in less time. */
  grove_status (*launch)(int device, grove_stream *stream, const grove_launch *launch,
                         const grove_access *accesses, int naccesses);
  /* Writes a word, in pinned host memory or in a device's, after all that was enqueued before.
   * Whoever sees it sees that too. */
  grove_status (*write)(int device, grove_stream *stream, uint32_t *word, uint32_t value);
  /* The stream goes on when (int32_t)(*word - value) >= 0. */
  grove_status (*await)(int device, grove_stream *stream, uint32_t *word, uint32_t value);
  /* The host waits until all that was enqueued is done; for NULL, on any stream. */
  grove_status (*finish)(int device, grove_stream *stream);
  int (*is_capturing)(int device, grove_stream *stream);
  /* Whose a user's stream is; of NULL, or where nobody can tell: `otherwise`. */
  int (*device_of)(grove_stream *stream, int otherwise);

  grove_status (*create_event)(int device, grove_event **out);
  void (*free_event)(grove_event *event);
  /* What is enqueued so far on one stream, of the event's device, comes before what is enqueued on
   * another from now on, of any device. */
  grove_status (*record)(int device, grove_event *event, grove_stream *stream);
  grove_status (*after)(int device, grove_stream *stream, grove_event *event);
} grove_driver;

extern const grove_driver grove_driver_emulated;
#ifdef GROVE_CUDA
extern const grove_driver grove_driver_cuda;
#endif

#ifdef __cplusplus
}
#endif

#endif
