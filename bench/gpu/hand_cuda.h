/* The functions of hand_cuda.cu, as bench_hand_device has them (hand.h). nvcc sees no MPI, so the
 * device is a number here. */
#ifndef BENCH_GPU_HAND_CUDA_H
#define BENCH_GPU_HAND_CUDA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int bench_cuda_open(int device);
void *bench_cuda_pinned(int64_t bytes);
void bench_cuda_free_pinned(void *memory);
void *bench_cuda_list(const int32_t *slots, int64_t n, int scatters);
void bench_cuda_free_list(void *list);
void bench_cuda_gather(void *list, double *message, const double *array);
void bench_cuda_scatter(void *list, double *array, const double *message);
void bench_cuda_copy(void *to, const void *from, int64_t bytes);
void bench_cuda_finish(void);

#ifdef __cplusplus
}
#endif

#endif
