/* What the studies of copies over several paths share: places, loads, times, rows.
 *
 * A *place* is a number of devices with links between them: emulated ones, whose clock is their own
 * and whose times are the same on every machine; links of few blocks on one GPU; or the GPUs that
 * there are. A *load* is a window of copies of one size, one way or both ways. All of it goes
 * through a driver's table (src/device/driver.h) and the copier (src/device/copier.h).
 */
#ifndef BENCH_MULTIPATH_MULTIPATH_H
#define BENCH_MULTIPATH_MULTIPATH_H

#include "device/copier.h"
#include "device/emulated.h"
#include "kit/need.h"
#include "kit/stats.h"

enum { MB = 1000000, MIB = 1 << 20, MOST_STREAMS = 16 };

typedef struct bench_settings {
  int samples;  /* of what is timed by the host's clock */
  int sabotage; /* spoils a byte, so that a check must find it */
  int check;    /* small: values matter, and times do not */
  int quick;
  int tries;         /* of a search, at most */
  int blocks;        /* of a link on a GPU; 0: one, and two */
  const char *paths; /* on a GPU: one list; NULL: all */
  int wrong;         /* how many cases had wrong bytes */
} bench_settings;

typedef struct bench_place {
  bench_settings *s;
  const grove_driver *driver;
  int ndevices;
  char rung[16], node[40], links[16]; /* columns of its rows */
  int is_emulated;
  grove_emulated_links emulated;
  grove_machine *machine; /* emulated: what the links truly are; else: as they were measured */
} bench_place;

/* ---- places ---- */

/* The links of a profile: "ideal", "hard" (rates that ramp up, few engines, chance by the seed). */
void bench_place_emulate(bench_settings *s, const char *node, const char *links, uint64_t seed,
                         bench_place *out);
/* Links as they are in `l`. */
void bench_place_emulate_links(bench_settings *s, const grove_emulated_links *l, bench_place *out);
/* Links of so many blocks between devices that are parts of one GPU. 0, after a sentence: there is
 * no GPU. */
int bench_place_sm(bench_settings *s, int ndevices, int blocks, bench_place *out);
/* The GPUs of this machine. */
int bench_place_cuda(bench_settings *s, bench_place *out);
void bench_place_close(bench_place *p);

/* A copier that measures the links itself, as users have it; with a machine, one that is told. It
 * has the staging memory of the option's default. */
grove_copier *bench_copier(const bench_place *p, const grove_machine *m, const char *paths);
grove_copier *bench_copier_with(const bench_place *p, const grove_machine *m, const char *paths,
                                int64_t staging_bytes);

/* Do copies over emulated links move bytes, or does only their time pass? The clock begins anew. */
void bench_place_moves(const bench_place *p, int moves);

/* Seconds: of the device's own clock, or of the host's. */
double bench_place_clock(const bench_place *p);

/* ---- loads ---- */

typedef struct bench_load {
  const bench_place *p;
  int from, to;
  int64_t bytes;
  int window, nstreams; /* copies begun before one is waited for, and the streams of each way */
  int ways, nbuffers;
  char *src[2], *dst[2];
  grove_stream *streams[2][MOST_STREAMS];
  const grove_copy_decision *as; /* what copies do, if it is not for the copier to decide */
  double last_begin; /* how long the host took until it began to enqueue the last copy */
} bench_load;

void bench_load_open(const bench_place *p, int from, int to, int64_t bytes, int window, int ways,
                     bench_load *out);
void bench_load_close(bench_load *l);

/* Seconds of all copies of the load, once; by the driver's own copies if there is no copier. */
double bench_load_once(bench_load *l, grove_copier *c);
/* The median of several, where the clock is the host's. */
bench_interval bench_load_time(bench_load *l, grove_copier *c);
/* Fills the sources, copies, and compares. Returns how many copies arrived wrong. Emulated links
 * move bytes for this. */
int bench_load_check(bench_load *l, grove_copier *c);

/* ---- decisions ---- */

/* What the exact solver finds for the machine: seconds of the load, if the copies of each way come
 * one after the other, and those of both ways share what they meet. */
double bench_load_best(const bench_load *l, const grove_machine *m, const char *paths);
/* What the copier says of such a load, whose copies it decides as if each were alone. Two copies
 * are counted from when the host begins to enqueue the second: the load was run before. */
double bench_load_predict(const bench_load *l, grove_copier *c);

/* Shares and chunks for which the load is fastest, found by trying; nothing of the model is used.
 * Returns the seconds. */
double bench_search(bench_load *l, grove_copier *c, grove_copy_decision *out);

/* ---- rows: seconds are printed as microseconds, `value` as it is ---- */

void bench_row(const bench_place *p, const char *line, const char *name, int64_t bytes,
               const char *method, bench_interval seconds);
void bench_row_value(const bench_place *p, const char *line, const char *name, int64_t bytes,
                     const char *method, double value);
/* Counts a case with wrong bytes, and says so. */
void bench_judge(const bench_place *p, const char *line, const char *name, int64_t bytes,
                 const char *method, int64_t wrong);

static inline bench_interval bench_exactly(double seconds)
{
  return (bench_interval){seconds, seconds, seconds};
}

/* ---- the studies ---- */

void bench_sweep(bench_settings *s);       /* emulated: sizes, paths, windows, ways */
void bench_hard(bench_settings *s);        /* emulated: what the model does not know */
void bench_topologies(bench_settings *s);  /* emulated: any node */
void bench_cost(bench_settings *s);        /* what a call takes */
void bench_collectives(bench_settings *s); /* emulated: allreduce, alltoall */
void bench_sm_mesh(bench_settings *s);     /* on a GPU: links of few blocks */
void bench_sm_host(bench_settings *s);     /* on a GPU: by the host alone */
void bench_plain(bench_settings *s);       /* on a GPU: beside the driver's own copy */
void bench_gpus(bench_settings *s);        /* several GPUs */

#endif
