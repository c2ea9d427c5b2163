/* One of Grove's kernels on one array and one message, without an operation around it. */
#ifndef BENCH_GPU_KERNEL_H
#define BENCH_GPU_KERNEL_H

#include "device/recipes.h"
#include "gpu.h"

typedef struct bench_kernel {
  grove_unit unit;
  grove_mover mover;
  grove_index slots;
  grove_shape shape;
  grove_motion motion;
  grove_prepared prepared;
} bench_kernel;

/* Units of `type` from or into these slots; slots NULL: 0, 1, ... Returns 0 where there is no such
 * kernel: the operation has no meaning on the type, or the host must do it. */
int bench_kernel_open(const bench_gpu *g, MPI_Datatype type, MPI_Op op, const int64_t *slots,
                      int64_t n, grove_motion motion, bench_kernel *out);
void bench_kernel_close(const bench_gpu *g, bench_kernel *k);

/* Enqueues it: a launch, or a copy where that does. */
void bench_kernel_enqueue(const bench_gpu *g, const bench_kernel *k, grove_stream *stream,
                          void *array, void *message);

/* The bytes that a device's memory has to move for it, if every 32-byte sector of the array that it
 * touches is moved once: those, lists of slots, and the message. */
int64_t bench_kernel_traffic(const bench_kernel *k);

#endif
