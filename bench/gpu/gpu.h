/* What the studies of device memory share: the device, its memory, rows of results.
 *
 * All of it goes through a driver's table (src/device/driver.h), so that the emulated device can
 * show that the studies are right. Its times mean nothing.
 */
#ifndef BENCH_GPU_GPU_H
#define BENCH_GPU_GPU_H

#include "device/driver.h"
#include "kit/need.h"

typedef struct bench_gpu {
  MPI_Comm comm;
  int rank, nranks;
  const grove_driver *driver;
  int device;
  grove_stream *stream;
  int64_t most;   /* bytes of the largest message */
  int samples;    /* at most, of each entrant */
  double seconds; /* for a case, once it has 7 samples */
  int repeats;    /* launches or copies that are timed together */
  int sabotage;   /* spoils a value, so that a check must find it */
  int wrong;      /* how many cases had a wrong value */
} bench_gpu;

/* The driver of this name, `cuda` or `emulated`; ends the job if there is no such device. */
void bench_gpu_open(MPI_Comm comm, const char *driver, bench_gpu *out);
void bench_gpu_close(bench_gpu *g);

/* Instead of a device's: arrays are the host's, and every call is done when it returns (host.c).
 * Enough for exchanges. */
extern const grove_driver bench_host_driver;

void *bench_gpu_alloc(const bench_gpu *g, int64_t bytes);
void bench_gpu_free(const bench_gpu *g, void *memory);
void *bench_gpu_alloc_pinned(const bench_gpu *g, int64_t bytes);
void bench_gpu_free_pinned(const bench_gpu *g, void *memory);

/* On the stream of the device, behind what is there. */
void bench_gpu_enqueue_copy(const bench_gpu *g, void *to, const void *from, int64_t bytes);
/* Waits for that stream. */
void bench_gpu_finish(const bench_gpu *g);
/* Between any two memories; done when it returns. */
void bench_gpu_copy(const bench_gpu *g, void *to, const void *from, int64_t bytes);

/* ---- rows ---- */

/* One entrant of a case. */
typedef struct bench_gpu_entrant {
  char name[40];
  int64_t traffic; /* bytes that a device's memory moves for it; 0: not counted */
  double *sample;  /* seconds, the same number of every entrant */
} bench_gpu_entrant;

typedef struct bench_gpu_case {
  const char *line, *name;
  int64_t bytes;
  int nentrants;
  bench_gpu_entrant *entrants;
} bench_gpu_case;

/* Takes samples of all entrants in turns, and prints a row for each. `sample` returns the seconds
 * of this rank, of which the greatest counts. Collective. */
void bench_gpu_run(const bench_gpu *g, bench_gpu_case *c,
                   double (*sample)(void *about, int entrant, int round), void *about);

/* A single figure as a row. */
void bench_gpu_print(const bench_gpu *g, const char *line, const char *name, int64_t bytes,
                     const char *method, double value);

/* Counts a case with wrong values on any rank, and says so. Collective. */
void bench_gpu_judge(bench_gpu *g, const char *line, const char *name, int64_t bytes,
                     const char *method, int64_t wrong);

/* ---- the studies ---- */

/* Kernels alone, without messages: pack and unpack beside a copy; reduce beside the host. */
void bench_gpu_kernels(bench_gpu *g);
void bench_gpu_reduce(bench_gpu *g);
/* Ping-pong of ranks 0 and 1. */
void bench_gpu_pair(bench_gpu *g);
/* Halos of matrices, named in a list with commas between them; then the same on the host. */
void bench_gpu_matrices(bench_gpu *g, const char *matrices);
/* Several exchanges begun before one is waited for. */
void bench_gpu_begun(bench_gpu *g);
/* Kernels behind an exchange, and who waits for it. Needs MPI_THREAD_MULTIPLE. */
void bench_gpu_launches(bench_gpu *g);

#endif
