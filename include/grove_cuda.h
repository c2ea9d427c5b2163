/* Grove on GPUs: arrays in the memory of devices.
 *
 * No header of CUDA is needed: `struct CUstream_st *` is what cudaStream_t and CUstream both are.
 *
 * Wherever grove.h expects an array it may lie in a device's memory: that of cudaMalloc, of
 * grove_alloc_device, of any CUDA library. Root, leaf and update arrays may lie in different
 * memories, and ranks may differ. Managed and pinned memory is the host's.
 *
 *     double *x;
 *     grove_alloc_device(ctx, n * sizeof *x, (void **)&x);
 *     grove_copy(ctx, x, values, n * sizeof *x);
 *     grove_bcast_init(forest, MPI_DOUBLE, x, x, MPI_REPLACE, &op);
 *     grove_start(op);
 *     grove_wait(op);
 *
 * Which device that is the option `device` says: `cuda`, or `emulated`, a device without hardware
 * on which all of this runs as well, more slowly, in memory that the host cannot touch. `auto` is
 * CUDA where there is a driver for it.
 *
 * Streams. What is enqueued before grove_start on the stream of an operation is done before its
 * arrays are read; without a stream that is the default stream. After grove_wait the result may be
 * used by the host and by everything that is enqueued from then on.
 *
 * What the arrays of an operation need (buffers, pinned memory, streams, kernels) is made by its
 * _init. A failure of the device is GROVE_ERR_DEVICE, with the words of its driver; where it has no
 * memory left, GROVE_ERR_MEMORY on all ranks, and after some is freed the call may be repeated.
 */
#ifndef GROVE_CUDA_H
#define GROVE_CUDA_H

#include "grove.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

/* ---- memory -------------------------------------------------------------------------------- */

/* Memory of this rank's device, `bytes` of this rank's own choice: the device that is current in
 * CUDA, else one by the rank's number on its host. grove_dealloc gives it back. GROVE_ERR_DEVICE
 * on all ranks if one has no device. Collective. */
GROVE_API grove_status grove_alloc_device(grove_context *ctx, size_t bytes, void **out);

/* Copies `bytes` between any two memories, behind what was enqueued on the stream of the context,
 * and returns when it is done. Local. */
GROVE_API grove_status grove_copy(grove_context *ctx, void *dst, const void *src, size_t bytes);

/* ---- streams ------------------------------------------------------------------------------- */

/* The stream behind which the arrays of an operation are final, from the next start on; NULL: the
 * default stream. An operation whose arrays are the host's takes no notice of it. Of a channel: a
 * part is final when what was enqueued before grove_ready is done. Not while the operation is
 * active. Local. */
GROVE_API grove_status grove_op_set_stream(grove_op *op, struct CUstream_st *stream);

/* The same for all operations of the context that have no stream of their own: those of _begin,
 * blocking calls and grove_copy too. Local. */
GROVE_API grove_status grove_context_set_stream(grove_context *ctx, struct CUstream_st *stream);

/* Instead of grove_wait: what is enqueued on the operation's stream from now on is done behind the
 * exchange, and the host goes on. Then the operation may be started again, or waited for. Since the
 * host moves its messages, that needs the option `progress=thread`, and a stream that is not the
 * default stream, else it is GROVE_ERR_UNSUPPORTED. The next start or grove_copy of the context
 * waits for the exchange, and so does the next grove_ready of a channel. Local. */
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
