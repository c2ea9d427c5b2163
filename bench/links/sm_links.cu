/* A link of SM links: few blocks copy, each thread with a few loads under way. */
#include "sm_links_kernel.h"

#include <stdint.h>

template <typename word>
static __device__ __forceinline__ void copy_words(char *to, const char *from, uint64_t bytes)
{
  const uint64_t n = bytes / sizeof(word), turn = (uint64_t)SM_LINKS_THREADS * SM_LINKS_WAYS;
  word *target = (word *)to;
  const word *source = (const word *)from;
  for (uint64_t i = blockIdx.x * turn + threadIdx.x; i < n; i += gridDim.x * turn) {
    word w[SM_LINKS_WAYS];
#pragma unroll
    for (int k = 0; k < SM_LINKS_WAYS; k++)
      if (i + k * SM_LINKS_THREADS < n) w[k] = source[i + k * SM_LINKS_THREADS];
#pragma unroll
    for (int k = 0; k < SM_LINKS_WAYS; k++)
      if (i + k * SM_LINKS_THREADS < n) target[i + k * SM_LINKS_THREADS] = w[k];
  }
}

/* The longest words that both ends allow; bytes before and after them one by one. */
template <typename word>
static __device__ __forceinline__ void copy_aligned(char *to, const char *from, uint64_t bytes)
{
  uint64_t head = (sizeof(word) - (uintptr_t)to % sizeof(word)) % sizeof(word);
  if (head > bytes) head = bytes;
  const uint64_t whole = (bytes - head) / sizeof(word) * sizeof(word), tail = head + whole;
  if (blockIdx.x == 0 && threadIdx.x < head) to[threadIdx.x] = from[threadIdx.x];
  if (blockIdx.x == 0 && threadIdx.x < bytes - tail)
    to[tail + threadIdx.x] = from[tail + threadIdx.x];
  copy_words<word>(to + head, from + head, whole);
}

extern "C" __global__ void __launch_bounds__(SM_LINKS_THREADS)
  sm_links_copy(char *to, const char *from, uint64_t bytes)
{
  const uintptr_t apart = (uintptr_t)to ^ (uintptr_t)from;
  if (apart % 16 == 0)
    copy_aligned<uint4>(to, from, bytes);
  else if (apart % 8 == 0)
    copy_aligned<uint64_t>(to, from, bytes);
  else if (apart % 4 == 0)
    copy_aligned<uint32_t>(to, from, bytes);
  else if (apart % 2 == 0)
    copy_aligned<uint16_t>(to, from, bytes);
  else
    copy_aligned<uint8_t>(to, from, bytes);
}
