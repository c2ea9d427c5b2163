/* What a GPU's memory allows: doubles moved between an array and a message by plain kernels, in
 * several ways. It says which way Grove's kernels should take, and how far a pattern can come.
 * Nothing of Grove is needed:
 *
 *     nvcc -O3 -std=c++17 -arch=native -o /tmp/variants bench/gpu/variants.cu && /tmp/variants
 *
 * A row: pattern, motion, way, microseconds, rate over that of a copy. The rate counts what
 * METRICS.md counts: sectors of the array once, the message, and 4 bytes per entry of a list.
 *
 * Ways: wN: a thread has N entries at once, all of one block side by side; -all: as many blocks as
 * there is work for. wN-step: entries are a whole grid apart. fetch: a sector is brought into the
 * cache before a part of it is written. once: loads and stores say that they are used once.
 * order-N: entries are in the order of slots within each N Mi entries of the message, and their
 * units are listed too (4 bytes more, not counted). l2-N: the cache is asked to fetch N bytes at
 * least. Rows of 128 bytes, of which one begins every 256, are moved by words of 16 bytes without a
 * list; pN: N blocks of a processor at once. */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <numeric>
#include <random>
#include <string>
#include <vector>

enum { BLOCK = 256, REPEATS = 20, SAMPLES = 7 };

static const int64_t n = 8 << 20;

static void need(cudaError_t result)
{
  if (result == cudaSuccess) return;
  fprintf(stderr, "variants: %s\n", cudaGetErrorString(result));
  exit(3);
}

/* ---- kernels ---- */

struct task {
  double *array, *message;
  const int32_t *slot, *unit; /* unit NULL: entry k is unit k */
  int32_t n, in;
};

enum { PLAIN = 0, STEP = 1, FETCH = 2, ONCE = 4 };

template <int MODE> __device__ double load(const double *from)
{
  return MODE & ONCE ? __ldcs(from) : *from;
}

template <int MODE> __device__ void store(double *to, double x)
{
  if (MODE & ONCE)
    __stcs(to, x);
  else
    *to = x;
}

template <int WAYS, int MODE> __global__ void __launch_bounds__(BLOCK) move_entries(task t)
{
  const int32_t threads = (int32_t)gridDim.x * BLOCK, near = MODE & STEP ? threads : BLOCK;
  int32_t first = MODE & STEP ? (int32_t)blockIdx.x * BLOCK + (int32_t)threadIdx.x
                              : (int32_t)blockIdx.x * BLOCK * WAYS + (int32_t)threadIdx.x;
  for (; first + (WAYS - 1) * near < t.n; first += threads * WAYS) {
    double x[WAYS], *to[WAYS];
#pragma unroll
    for (int u = 0; u < WAYS; u++) {
      const int32_t k = first + u * near, slot = __ldg(t.slot + k);
      double *unit = t.message + (t.unit ? __ldg(t.unit + k) : k);
      if (t.in && MODE & FETCH) asm volatile("prefetch.global.L2 [%0];" ::"l"(t.array + slot));
      x[u] = load<MODE>(t.in ? unit : t.array + slot);
      to[u] = t.in ? t.array + slot : unit;
    }
#pragma unroll
    for (int u = 0; u < WAYS; u++) store<MODE>(to[u], x[u]);
  }
}

/* Word k of a message of rows is word k % ROW of row k / ROW. */
enum { ROW = 8, ROW_STRIDE = 16 };

template <int WAYS, int MODE> __global__ void __launch_bounds__(BLOCK) move_rows(task t)
{
  uint4 *array = (uint4 *)t.array, *message = (uint4 *)t.message;
  const uint32_t threads = gridDim.x * BLOCK, words = (uint32_t)t.n / 2;
  for (uint32_t first = blockIdx.x * BLOCK * WAYS + threadIdx.x; first + (WAYS - 1) * BLOCK < words;
       first += threads * WAYS) {
    uint4 x[WAYS];
#pragma unroll
    for (int u = 0; u < WAYS; u++) {
      const uint32_t k = first + u * BLOCK;
      const uint4 *from = t.in ? message + k : array + k / ROW * ROW_STRIDE + k % ROW;
      x[u] = MODE & ONCE ? __ldcs(from) : *from;
    }
#pragma unroll
    for (int u = 0; u < WAYS; u++) {
      const uint32_t k = first + u * BLOCK;
      uint4 *to = t.in ? array + k / ROW * ROW_STRIDE + k % ROW : message + k;
      if (MODE & ONCE)
        __stcs(to, x[u]);
      else
        *to = x[u];
    }
  }
}

/* ---- one way of one task ---- */

struct way {
  const char *name;
  void (*kernel)(task);
  int ways, blocks; /* blocks of a processor at once; 0: as many as there is work for */
};

static const way all_ways[] = {
  {"w1-all", move_entries<1, PLAIN>, 1, 0},    {"w4-all", move_entries<4, PLAIN>, 4, 0},
  {"w8-all", move_entries<8, PLAIN>, 8, 0},    {"w4", move_entries<4, PLAIN>, 4, 4},
  {"w8", move_entries<8, PLAIN>, 8, 4},        {"w4-step", move_entries<4, STEP>, 4, 4},
  {"w1-fetch", move_entries<1, FETCH>, 1, 0},  {"w4-fetch", move_entries<4, FETCH>, 4, 4},
  {"w8-fetch", move_entries<8, FETCH>, 8, 4},  {"w4-once", move_entries<4, ONCE>, 4, 4},
  {"w1-all-once", move_entries<1, ONCE>, 1, 0}};

static const way row_ways[] = {
  {"w1-all", move_rows<1, PLAIN>, 1, 0},     {"w2-all", move_rows<2, PLAIN>, 2, 0},
  {"w4-all", move_rows<4, PLAIN>, 4, 0},     {"w8-all", move_rows<8, PLAIN>, 8, 0},
  {"w2-p4", move_rows<2, PLAIN>, 2, 4},      {"w2-p8", move_rows<2, PLAIN>, 2, 8},
  {"w4-p4", move_rows<4, PLAIN>, 4, 4},      {"w4-p8", move_rows<4, PLAIN>, 4, 8},
  {"w8-p4", move_rows<8, PLAIN>, 8, 4},      {"w8-p8", move_rows<8, PLAIN>, 8, 8},
  {"w1-all-once", move_rows<1, ONCE>, 1, 0}, {"w2-all-once", move_rows<2, ONCE>, 2, 0},
  {"w4-all-once", move_rows<4, ONCE>, 4, 0}, {"w4-p8-once", move_rows<4, ONCE>, 4, 8},
  {"w2-p8-once", move_rows<2, ONCE>, 2, 8}};

static int processors;
static double copy_rate; /* bytes per microsecond */

template <typename F> static double median_time(F enqueue)
{
  std::vector<double> times;
  cudaEvent_t begin, end;
  need(cudaEventCreate(&begin));
  need(cudaEventCreate(&end));
  for (int i = 0; i < SAMPLES; i++) {
    float ms = 0;
    need(cudaEventRecord(begin));
    for (int k = 0; k < REPEATS; k++) enqueue();
    need(cudaEventRecord(end));
    need(cudaEventSynchronize(end));
    need(cudaEventElapsedTime(&ms, begin, end));
    times.push_back(1e3 * ms / REPEATS);
  }
  need(cudaGetLastError());
  need(cudaEventDestroy(begin));
  need(cudaEventDestroy(end));
  std::sort(times.begin(), times.end());
  return times[SAMPLES / 2];
}

static void measure_way(const char *pattern, const std::string &note, const way &w, const task &t,
                        double traffic)
{
  unsigned blocks = (unsigned)((t.slot ? n : n / 2) / BLOCK / w.ways);
  if (w.blocks > 0) blocks = std::min(blocks, (unsigned)(processors * w.blocks));
  double us = median_time([&] { w.kernel<<<blocks, BLOCK>>>(t); });
  printf("%-12s %-6s %-24s %8.1f us  %.3f\n", pattern, t.in ? "unpack" : "pack",
         (w.name + note).c_str(), us, traffic / us / copy_rate);
}

/* ---- patterns ---- */

typedef std::vector<int32_t> list;

static list face(int32_t stride)
{
  list s((size_t)n);
  for (int64_t i = 0; i < n; i++) s[(size_t)i] = (int32_t)i * stride;
  return s;
}

static list sorted()
{
  std::mt19937_64 draw(3);
  list s = face(2);
  for (int32_t &x : s) x += (int32_t)(draw() & 1);
  return s;
}

static list shuffled()
{
  std::mt19937_64 draw(4);
  list s = face(4);
  std::shuffle(s.begin(), s.end(), draw);
  for (int32_t &x : s) x += (int32_t)(draw() & 3);
  return s;
}

static int64_t sectors_of(list s)
{
  for (int32_t &x : s) x /= 4;
  std::sort(s.begin(), s.end());
  return std::unique(s.begin(), s.end()) - s.begin();
}

static int32_t *on_device(const list &values)
{
  int32_t *there;
  need(cudaMalloc(&there, values.size() * 4));
  need(cudaMemcpy(there, values.data(), values.size() * 4, cudaMemcpyHostToDevice));
  return there;
}

static void measure_pattern(const char *pattern, const list &slots, const std::string &note,
                            int64_t window, double traffic, double *array, double *message)
{
  list units((size_t)n), ordered((size_t)n);
  std::iota(units.begin(), units.end(), 0);
  for (int64_t at = 0; window > 0 && at < n; at += window)
    std::sort(units.begin() + at, units.begin() + std::min(at + window, n),
              [&](int32_t a, int32_t b) { return slots[(size_t)a] < slots[(size_t)b]; });
  for (size_t i = 0; i < (size_t)n; i++) ordered[i] = slots[(size_t)units[i]];
  int32_t *slot = on_device(ordered), *unit = window > 0 ? on_device(units) : NULL;
  for (int in = 0; in < 2; in++)
    for (const way &w : all_ways)
      if (window == 0 || w.ways == 4 || w.ways == 8 || in)
        measure_way(pattern, note, w, {array, message, slot, unit, (int32_t)n, in}, traffic);
  need(cudaFree(slot));
  need(cudaFree(unit));
}

static void measure_rows(const std::string &note, double *array, double *message)
{
  for (int in = 0; in < 2; in++)
    for (const way &w : row_ways)
      measure_way("rows-128", note, w, {array, message, NULL, NULL, (int32_t)n, in}, 16.0 * n);
}

static double *array, *message, *other;

static void measure_all(size_t granularity, bool windows)
{
  struct {
    const char *name;
    list slots;
  } patterns[] = {
    {"rows-8", face(16)}, {"rows-8-close", face(4)}, {"sorted", sorted()}, {"random", shuffled()}};
  if (granularity) need(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, granularity));
  std::string note = granularity ? " l2-" + std::to_string(granularity) : "";
  copy_rate = 2.0 * n * 8 / median_time([&] {
                need(cudaMemcpyAsync(other, message, n * 8, cudaMemcpyDeviceToDevice));
              });
  printf("copy%s: %.0f GB/s\n", note.c_str(), copy_rate / 1e3);
  measure_rows(note, array, message);
  for (auto &p : patterns) {
    double traffic = 32.0 * (double)sectors_of(p.slots) + 12.0 * n;
    measure_pattern(p.name, p.slots, note, 0, traffic, array, message);
    for (int64_t mi : {1, 2, 4, 8})
      if (windows && p.name == std::string("random"))
        measure_pattern(p.name, p.slots, " order-" + std::to_string(mi) + note, mi << 20, traffic,
                        array, message);
  }
}

int main()
{
  cudaDeviceProp about;
  size_t granularity = 0;
  need(cudaGetDeviceProperties(&about, 0));
  processors = about.multiProcessorCount;
  need(cudaDeviceGetLimit(&granularity, cudaLimitMaxL2FetchGranularity));
  printf("%s, %d processors, L2 of %d MiB that fetches %zu bytes\n", about.name, processors,
         about.l2CacheSize >> 20, granularity);
  need(cudaMalloc(&array, 16 * n * 8));
  need(cudaMalloc(&message, n * 8));
  need(cudaMalloc(&other, n * 8));
  need(cudaMemset(array, 0, 16 * n * 8));
  need(cudaMemset(message, 0, n * 8));
  measure_all(0, true);
  measure_all(32, true);
  measure_all(128, false);
  return 0;
}
