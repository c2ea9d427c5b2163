/* An exchange as one writes it by hand for arrays of doubles on a device: one kernel that packs all
 * messages, one copy into pinned memory, persistent requests of MPI, one copy back, one kernel that
 * unpacks. Where the slots are consecutive there is no kernel.
 */
#ifndef BENCH_GPU_HAND_H
#define BENCH_GPU_HAND_H

#include "gpu.h"
#include "kit/lists.h"

#include <stdint.h>

/* What it asks of a device, on one stream. `cuda`: the runtime and kernels of its own
 * (hand_cuda.cu). For any driver: Grove's table and kernels (hand_table.c). For arrays of the host:
 * plain loops (host.c). */
typedef struct bench_hand_device {
  const char *about;
  int (*open)(const bench_gpu *g); /* whether it can be used; any number of times */
  void *(*pinned)(int64_t bytes);
  void (*free_pinned)(void *memory);
  /* A list of slots there, to gather from or to scatter into. */
  void *(*list)(const int32_t *slots, int64_t n, int scatters);
  void (*free_list)(void *list);
  void (*gather)(void *list, double *message, const double *array);
  void (*scatter)(void *list, double *array, const double *message);
  void (*copy)(void *to, const void *from, int64_t bytes);
  void (*finish)(void);
} bench_hand_device;

extern const bench_hand_device bench_hand_table, bench_hand_host;
#ifdef BENCH_HAVE_CUDART
extern const bench_hand_device bench_hand_cuda;
#endif

/* The first of them that can be used with the driver. */
const bench_hand_device *bench_hand_device_for(const bench_gpu *g);

typedef struct bench_hand bench_hand;

/* Of a bcast on the graph, from these arrays to those. Collective. */
bench_hand *bench_hand_open(const bench_gpu *g, const bench_graph *graph, double *roots,
                            double *leaves);
void bench_hand_close(bench_hand *h);

/* Some exchanges at once: all are packed before the first is waited for. */
void bench_hand_exchange(bench_hand *const *list, int n);

#endif
