/* hand_cuda.cu as a table; it sees no MPI. */
#include "hand.h"

#ifdef BENCH_HAVE_CUDART

#include "hand_cuda.h"

static int open_device(const bench_gpu *g)
{
  return bench_cuda_open(g->device);
}

const bench_hand_device bench_hand_cuda = {
  .about = "CUDA's runtime",
  .open = open_device,
  .pinned = bench_cuda_pinned,
  .free_pinned = bench_cuda_free_pinned,
  .list = bench_cuda_list,
  .free_list = bench_cuda_free_list,
  .gather = bench_cuda_gather,
  .scatter = bench_cuda_scatter,
  .copy = bench_cuda_copy,
  .finish = bench_cuda_finish,
};

#endif
