/* What the steps of an exchange cost when several processes share a GPU. It says why Grove lets
 * kernels write small messages straight into pinned memory, and how fast large copies can be.
 * Nothing of Grove or MPI is needed:
 *
 *     nvcc -O3 -std=c++17 -arch=native -o /tmp/steps bench/gpu/steps.cu -lcuda && /tmp/steps 1 2 16
 *
 * Each argument is a number of processes; all begin every sample together. With a server of MPS the
 * processes share the GPU, without one they take turns.
 *
 * small: 4 KiB by a list, from the launch until the host knows that they have come: microseconds,
 * the median of the slowest process of each sample. A mirror is memory of the device, out of which
 * the message is copied. A word is one in pinned memory that the host looks at.
 *
 * large: 64 MiB in chunks, out of the device in even processes and into it in odd ones: GB/s of
 * each. */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

enum { MOST = 64, ENTRIES = 512, BLOCK = 256, SAMPLES = 201, LARGE_SAMPLES = 15 };
static const size_t large = 64 << 20;

static void need(cudaError_t result)
{
  if (result == cudaSuccess) return;
  fprintf(stderr, "steps: %s\n", cudaGetErrorString(result));
  exit(3);
}

/* ---- processes that begin together ---- */

struct meeting {
  std::atomic<int> come, round;
  double seconds[MOST];
};

static meeting *shared;
static int processes, me;

static void meet()
{
  int round = shared->round;
  if (++shared->come == processes) {
    shared->come = 0;
    shared->round++;
  }
  while (shared->round == round) sched_yield();
}

static double now()
{
  using clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

/* The median over samples; of each sample the longest time of any process, or this one's. */
template <typename F> static double median_seconds(int samples, bool longest, F once)
{
  std::vector<double> all;
  for (int i = 0; i < samples; i++) {
    meet();
    double begin = now();
    once();
    shared->seconds[me] = now() - begin;
    meet();
    all.push_back(longest ? *std::max_element(shared->seconds, shared->seconds + processes)
                          : shared->seconds[me]);
    meet();
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

/* ---- small messages ---- */

struct places {
  double *array, *mirror, *pinned;
  int32_t *slots;
  volatile uint32_t *word; /* pinned */
  uint32_t *counter;
  cudaStream_t stream;
  cudaEvent_t event;
};

static __global__ void pack(const double *array, const int32_t *slots, double *message)
{
  int k = (int)(blockIdx.x * BLOCK + threadIdx.x);
  message[k] = array[slots[k]];
}

static __global__ void pack_and_tell(const double *array, const int32_t *slots, double *message,
                                     uint32_t *counter, volatile uint32_t *word, uint32_t value)
{
  int k = (int)(blockIdx.x * BLOCK + threadIdx.x);
  message[k] = array[slots[k]];
  __syncthreads();
  if (threadIdx.x > 0) return;
  __threadfence_system();
  if (atomicAdd(counter, 1u) + 1 < gridDim.x) return;
  *counter = 0;
  __threadfence_system();
  *word = value;
}

static uint32_t last_value;

static void write_word(const places &p)
{
  CUdeviceptr there;
  last_value++;
  if (cuMemHostGetDevicePointer(&there, (void *)p.word, 0) != CUDA_SUCCESS ||
      cuStreamWriteValue32(p.stream, there, last_value, 0) != CUDA_SUCCESS)
    exit(3);
}

static void await_word(const places &p)
{
  while (*p.word != last_value) {
  }
}

static void small_messages(const places &p)
{
  const int blocks = ENTRIES / BLOCK;
  auto mirror = [&] {
    pack<<<blocks, BLOCK, 0, p.stream>>>(p.array, p.slots, p.mirror);
    need(cudaMemcpyAsync(p.pinned, p.mirror, ENTRIES * 8, cudaMemcpyDeviceToHost, p.stream));
  };
  auto straight = [&] { pack<<<blocks, BLOCK, 0, p.stream>>>(p.array, p.slots, p.pinned); };
  auto tell = [&](cudaStream_t stream) {
    pack_and_tell<<<blocks, BLOCK, 0, stream>>>(p.array, p.slots, p.pinned, p.counter, p.word,
                                                ++last_value);
    await_word(p);
  };
  double us[] = {
    median_seconds(SAMPLES, true, [&] { mirror(), write_word(p), await_word(p); }),
    median_seconds(SAMPLES, true, [&] { straight(), write_word(p), await_word(p); }),
    median_seconds(SAMPLES, true, [&] { tell(p.stream); }),
    median_seconds(SAMPLES, true, [&] { tell(cudaStreamLegacy); }),
    median_seconds(SAMPLES, true,
                   [&] {
                     need(cudaEventRecord(p.event, cudaStreamLegacy));
                     need(cudaStreamWaitEvent(p.stream, p.event, 0));
                     tell(p.stream);
                   }),
    median_seconds(SAMPLES, true, [&] { straight(), need(cudaStreamSynchronize(p.stream)); }),
    median_seconds(SAMPLES, true, [&] { mirror(), need(cudaStreamSynchronize(p.stream)); }),
  };
  const char *names[] = {"mirror, copy, word",
                         "pinned, word",
                         "pinned, kernel writes the word",
                         "the same, on the default stream",
                         "the same, behind the default stream",
                         "pinned, host waits for the stream",
                         "mirror, copy, host waits"};
  if (me > 0) return;
  for (size_t i = 0; i < sizeof us / sizeof *us; i++)
    printf("small  %2d processes  %-34s %8.1f us\n", processes, names[i], 1e6 * us[i]);
}

/* ---- large copies ---- */

static void large_copies(const places &p, char *device, char *host)
{
  const int out = me % 2 == 0;
  for (size_t chunk : {large, (size_t)8 << 20, (size_t)2 << 20})
    for (int words = 0; words < 2; words++) {
      double seconds = median_seconds(LARGE_SAMPLES, false, [&] {
        for (size_t at = 0; at < large; at += chunk) {
          need(
            out ? cudaMemcpyAsync(host + at, device + at, chunk, cudaMemcpyDeviceToHost, p.stream)
                : cudaMemcpyAsync(device + at, host + at, chunk, cudaMemcpyHostToDevice, p.stream));
          if (words) write_word(p);
        }
        need(cudaStreamSynchronize(p.stream));
      });
      shared->seconds[me] = seconds;
      meet();
      for (int k = 0; k < std::min(processes, 2) && me == 0; k++)
        printf("large  %2d processes  %s, chunks of %2zu MiB%-12s %8.1f GB/s\n", processes,
               k ? "H2D" : "D2H", chunk >> 20, words ? ", words" : "",
               large / shared->seconds[k] / 1e9);
      meet();
    }
}

/* ---- one process ---- */

static void run()
{
  places p = {};
  char *device, *host;
  std::vector<int32_t> slots(ENTRIES);
  for (int k = 0; k < ENTRIES; k++) slots[(size_t)k] = 2 * k + (k * 7 % 3 == 0);
  alarm(120); /* if one ends early, the others would wait for it */
  need(cudaSetDevice(0));
  need(cudaMalloc(&p.array, 4 * ENTRIES * 8));
  need(cudaMalloc(&p.mirror, ENTRIES * 8));
  need(cudaMalloc(&p.slots, ENTRIES * 4));
  need(cudaMalloc(&p.counter, 4));
  need(cudaMemset(p.counter, 0, 4));
  need(cudaMemcpy(p.slots, slots.data(), ENTRIES * 4, cudaMemcpyHostToDevice));
  need(cudaMallocHost(&p.pinned, ENTRIES * 8));
  need(cudaMallocHost((void **)&p.word, 64));
  *p.word = 0;
  need(cudaStreamCreateWithFlags(&p.stream, cudaStreamNonBlocking));
  need(cudaEventCreateWithFlags(&p.event, cudaEventDisableTiming));
  need(cudaMalloc(&device, large));
  need(cudaMallocHost(&host, large));
  small_messages(p);
  if (processes <= 2) large_copies(p, device, host);
  fflush(stdout);
}

int main(int argc, char **argv)
{
  void *memory =
    mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 3;
  shared = (meeting *)memory;
  int failed = 0;
  for (int i = 1; i < argc; i++) {
    processes = std::min(std::max(atoi(argv[i]), 1), (int)MOST);
    for (me = 0; me < processes; me++)
      if (fork() == 0) {
        run();
        _exit(0);
      }
    for (int k = 0, status; k < processes; k++) failed |= wait(&status) < 0 || status != 0;
  }
  return failed ? 3 : 0;
}
