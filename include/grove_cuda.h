/* Grove on GPUs: arrays in the memory of devices.
 *
 * No header of CUDA is needed: `struct CUstream_st *` is what cudaStream_t and CUstream both are.
 *
 * Wherever grove.h expects an array, that array may lie in the memory of a device: memory of
 * cudaMalloc, of grove_alloc_device, or of any CUDA library. Root, leaf and update arrays may lie
 * in different memories, and ranks may differ. Managed and pinned memory count as host memory.
 *
 *     double *x;
 *     grove_alloc_device(ctx, n * sizeof *x, (void **)&x);
 *     grove_copy(ctx, x, values, n * sizeof *x);
 *     grove_bcast_init(forest, MPI_DOUBLE, x, x, MPI_REPLACE, &op);
 *     grove_start(op);
 *     grove_wait(op);
 *
 * The option `device` says which kind of device that is: `cuda`, or `emulated`. The emulated device
 * needs no hardware. All of this runs on it too, more slowly, in memory that the host cannot touch.
 * `auto` means CUDA where there is a driver for it.
 *
 * Streams. What is enqueued before grove_start on the stream of an operation is done before its
 * arrays are read; without a stream that is the default stream. After grove_wait the result may be
 * used by the host and by everything that is enqueued from then on.
 *
 * The _init of an operation makes what its arrays need: buffers, pinned memory, streams, kernels. A
 * failure of the device is GROVE_ERR_DEVICE, with the words of its driver. If the device has no
 * memory left, all ranks get GROVE_ERR_MEMORY; the call may be repeated after some has been freed.
 */
#ifndef GROVE_CUDA_H
#define GROVE_CUDA_H

#include "grove.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

/* ---- memory -------------------------------------------------------------------------------- */

/* Memory of this rank's device: that of the option `device_number`, else the one that is current in
 * CUDA, else one chosen by the rank's number on its host. Each rank chooses its own number of
 * `bytes`. grove_dealloc frees the memory. If one rank has no device, all ranks get
 * GROVE_ERR_DEVICE. Collective. */
GROVE_API grove_status grove_alloc_device(grove_context *ctx, size_t bytes, void **out);

/* Copies `bytes` between any two memories, after the work that was enqueued on the stream of the
 * context, and returns when the copy is complete. Local. */
GROVE_API grove_status grove_copy(grove_context *ctx, void *dst, const void *src, size_t bytes);

/* ---- streams ------------------------------------------------------------------------------- */

/* Sets the stream of an operation. From the next start on its arrays are final when the work on
 * this stream is done. NULL is the default stream. If all arrays lie in host memory, the stream has
 * no effect. A part of a channel is final when the work that was enqueued before grove_ready is
 * done. The operation must not be active. Local. */
GROVE_API grove_status grove_op_set_stream(grove_op *op, struct CUstream_st *stream);

/* The same for all operations of the context that have no stream of their own, including those of
 * _begin, blocking calls and grove_copy. Local. */
GROVE_API grove_status grove_context_set_stream(grove_context *ctx, struct CUstream_st *stream);

/* Instead of grove_wait: work that is enqueued on the operation's stream from now on is done after
 * the exchange, and the host goes on. Afterwards the operation may be started again, or waited for.
 * The host has to move its messages, so this requires the option `progress=thread`, and a stream
 * that is not the default stream. Otherwise it is GROVE_ERR_UNSUPPORTED. The next start or
 * grove_copy of the context waits for the exchange, and so does the next grove_ready of a channel.
 * Local. */
GROVE_API grove_status grove_wait_on_stream(grove_op *op);

/* ---- copies over several paths --------------------------------------------------------------- */

/* A copier copies from device to device over several paths of a node at once: the direct link,
 * other devices, and the memory of the host (docs/multipath.md). It needs neither MPI nor a
 * context. Any number of threads may use it at once. */
typedef struct grove_copier grove_copier;

/* Makes a copier. `m` is a profile with the links of this node; if it is NULL, the links are
 * measured now. `paths` lists the paths that may be used, such as "direct,gpu2,host"; if it is
 * NULL, the option `copy_paths` counts, which allows all by default. A path that this node cannot
 * have, or that is named twice, is GROVE_ERR_ARG. The options `device`, `copy_paths` and
 * `copy_staging` are read from the environment. Local. */
GROVE_API grove_status grove_copier_create(const grove_machine *m, const char *paths,
                                           grove_copier **out);

/* Copies `bytes` from src to dst and returns at once. The copy begins after the work that was
 * enqueued on the stream, and work that is enqueued there later begins after the copy. NULL is the
 * default stream of the device of src. If a device is given as -1, the driver is asked. The model
 * decides which share goes over which path. A copy takes the direct path alone if splitting gains
 * too little, if there is no staging memory left, or if 16 copies between the two devices are
 * already split.
 *
 * Ranges that overlap, or a device that does not exist, are GROVE_ERR_ARG. A stream that is being
 * captured is GROVE_ERR_UNSUPPORTED. In these cases nothing was enqueued. When a path fails, the
 * rest of its share takes the direct path; if that works, the other one is not used again. The call
 * then returns the status of the failure, and the sentence says whether everything is copied all
 * the same. Local. */
GROVE_API grove_status grove_copier_copy(grove_copier *c, void *dst, int dst_device,
                                         const void *src, int src_device, size_t bytes,
                                         struct CUstream_st *stream);

/* Prints how such a copy would be split: paths, shares, chunks, and the predicted time. Local. */
GROVE_API grove_status grove_copier_explain(grove_copier *c, int from, int to, size_t bytes,
                                            FILE *file);

/* Waits for the copies of the copier and frees it. Local. */
GROVE_API grove_status grove_copier_free(grove_copier **c);

/* The same as grove_copier_copy, by a copier of the context. The first call makes this copier, with
 * the options of the context, and with its profile if that has links. Local. */
GROVE_API grove_status grove_copy_async(grove_context *ctx, void *dst, int dst_device,
                                        const void *src, int src_device, size_t bytes,
                                        struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif

#endif
