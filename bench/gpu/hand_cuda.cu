/* By hand with CUDA's runtime: what a program does without Grove. */
#include "hand_cuda.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 256 };

struct slot_list {
  int32_t *slots; /* in the device's memory */
  int32_t n;
};

static cudaStream_t stream;

static void need_cuda(cudaError_t result)
{
  if (result == cudaSuccess) return;
  fprintf(stderr, "bench: CUDA by hand: %s\n", cudaGetErrorString(result));
  exit(3);
}

static __global__ void gather_doubles(double *message, const double *array, const int32_t *slots,
                                      int32_t n)
{
  int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) message[i] = array[slots[i]];
}

static __global__ void scatter_doubles(double *array, const double *message, const int32_t *slots,
                                       int32_t n)
{
  int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) array[slots[i]] = message[i];
}

static unsigned blocks_for(const slot_list *list)
{
  return (unsigned)((list->n + BLOCK - 1) / BLOCK);
}

int bench_cuda_open(int device)
{
  if (cudaSetDevice(device) != cudaSuccess) return 0;
  return stream || cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess;
}

void *bench_cuda_pinned(int64_t bytes)
{
  void *memory = NULL;
  need_cuda(cudaHostAlloc(&memory, (size_t)bytes, cudaHostAllocDefault));
  return memory;
}

void bench_cuda_free_pinned(void *memory)
{
  need_cuda(cudaFreeHost(memory));
}

void *bench_cuda_list(const int32_t *slots, int64_t n, int)
{
  slot_list *list = (slot_list *)malloc(sizeof *list);
  if (!list) need_cuda(cudaErrorMemoryAllocation);
  list->n = (int32_t)n;
  need_cuda(cudaMalloc(&list->slots, (size_t)n * sizeof *slots));
  need_cuda(cudaMemcpy(list->slots, slots, (size_t)n * sizeof *slots, cudaMemcpyHostToDevice));
  return list;
}

void bench_cuda_free_list(void *given)
{
  slot_list *list = (slot_list *)given;
  need_cuda(cudaFree(list->slots));
  free(list);
}

void bench_cuda_gather(void *given, double *message, const double *array)
{
  const slot_list *list = (const slot_list *)given;
  gather_doubles<<<blocks_for(list), BLOCK, 0, stream>>>(message, array, list->slots, list->n);
}

void bench_cuda_scatter(void *given, double *array, const double *message)
{
  const slot_list *list = (const slot_list *)given;
  scatter_doubles<<<blocks_for(list), BLOCK, 0, stream>>>(array, message, list->slots, list->n);
}

void bench_cuda_copy(void *to, const void *from, int64_t bytes)
{
  need_cuda(cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDefault, stream));
}

/* Also what launches had to say. */
void bench_cuda_finish(void)
{
  need_cuda(cudaStreamSynchronize(stream));
  need_cuda(cudaGetLastError());
}
