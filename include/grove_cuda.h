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

/* Memory of this rank's device: the one that is current in CUDA, else one chosen by the rank's
 * number on its host. Each rank chooses its own number of `bytes`. grove_dealloc frees the memory.
 * If one rank has no device, all ranks get GROVE_ERR_DEVICE. Collective. */
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

/* What copies from device to device over every path of a node at once: the direct link, other
 * devices, the memory of the host (docs/multipath.md). It needs neither MPI nor a context. Any
 * number of threads may use it at once. */
typedef struct grove_copier grove_copier;

/* `m`: a profile with the links of this node; NULL: they are measured now. `paths`: which may be
 * used, such as "direct,gpu2,host"; NULL: those of the option `copy_paths`, else all. Options are
 * read from the environment: `device`, `copy_paths`, `copy_staging`. Local. */
GROVE_API grove_status grove_copier_create(const grove_machine *m, const char *paths,
                                           grove_copier **out);

/* Copies `bytes` from src to dst, behind what was enqueued on the stream, and returns at once. What
 * is enqueued there later comes after the copy. NULL is the default stream of src's device. -1 for
 * a device: the driver is asked. Shares follow from the model; a copy that gains too little goes
 * directly, and so does what finds no staging memory, or is one too many at once (16 for a pair of
 * devices).
 *
 * GROVE_ERR_ARG: ranges that overlap, a device that there is not; GROVE_ERR_UNSUPPORTED: the stream
 * is captured. Then nothing was enqueued. A path that fails is not used again. The rest of its
 * share goes directly, and the status of the failure is returned, with a sentence that says so: if
 * it says that all is copied, it is. Local. */
GROVE_API grove_status grove_copier_copy(grove_copier *c, void *dst, int dst_device,
                                         const void *src, int src_device, size_t bytes,
                                         struct CUstream_st *stream);

/* Prints what such a copy would do: paths, shares, chunks, and the time by the model. Local. */
GROVE_API grove_status grove_copier_explain(grove_copier *c, int from, int to, size_t bytes,
                                            FILE *file);

/* Waits for its copies and gives it up. Local. */
GROVE_API grove_status grove_copier_free(grove_copier **c);

/* The same as grove_copier_copy, by the copier of the context, which the first such call makes: its
 * options and, if they have links, its profile's numbers. Local. */
GROVE_API grove_status grove_copy_async(grove_context *ctx, void *dst, int dst_device,
                                        const void *src, int src_device, size_t bytes,
                                        struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif

#endif
