/* Lines of the grid (bench/partitioned/grid.txt explains them), the cases they make, and how a case
 * is measured: a mode is a table of functions, an entrant a method with options.
 */
#ifndef BENCH_PARTITIONED_PART_CASE_H
#define BENCH_PARTITIONED_PART_CASE_H

#include "part_method.h"
#include "team.h"

enum { BENCH_LISTED = 16, BENCH_ENTRANTS = 40, BENCH_NAME = 64 };

/* Threads: as many as this rank has cores; one per part. */
enum { BENCH_OF_CORES = -1, BENCH_OF_PARTS = -2 };

typedef struct bench_part_mode bench_part_mode;

typedef struct bench_part_line {
  char name[24];
  const bench_part_mode *mode;
  int nparts, parts[BENCH_LISTED];
  int nbytes;
  int64_t bytes[BENCH_LISTED];
  int threads; /* or one of the two below */
  bench_noise noise;
  int nmethods;
  char methods[BENCH_ENTRANTS][BENCH_NAME];
} bench_part_line;

typedef struct bench_part_case {
  const bench_part_line *line;
  MPI_Comm comm;
  int rank;
  int parts, threads;
  int64_t bytes; /* of all parts */
  bench_team *team;
  char *memory;                  /* `bytes` long */
  const struct bench_rows *rows; /* of a forest's matrix, with `bytes` per row; or NULL */
} bench_part_case;

typedef struct bench_part_entrant {
  char name[BENCH_NAME]; /* "timer:delta=1e-5,progress=thread" */
  const bench_part_method *method;
  grove_context *ctx;
  void *state;     /* of the mode */
  int64_t wrong;   /* wrong values received here */
  int is_spoilt;   /* one value is broken on purpose */
  int batch;       /* rounds per sample */
  double *samples; /* seconds */
  bench_told told;
} bench_part_entrant;

struct bench_part_mode {
  const char *name;
  int ranks;     /* that it needs; 0: any number */
  int is_forest; /* not a channel: parts are blocks of rows, bytes are those of a row */
  int relays;    /* only where there are nodes of several ranks */
  int idle;      /* threads that mark nothing: 1 if the caller is one */
  int warm;      /* uncounted samples at the start: aggregators learn from rounds */
  void *(*open)(bench_part_case *c, bench_part_entrant *e);
  double (*sample)(void *state, int64_t round); /* seconds of a round, the same on every rank */
  void (*close)(void *state);
};

/* Reads the grid; returns the number of lines, or -1 after a sentence on standard error. */
int bench_part_grid_read(const char *path, bench_part_line **out);

const bench_part_mode *bench_part_mode_find(const char *name);

/* ---- what modes share ---- */

/* Opens the entrant's end of a channel in that memory, by its method. */
void *bench_open_end(const bench_part_case *c, const bench_part_entrant *e, int sends, int peer,
                     char *memory);

/* The parts of a thread: first .. end-1. */
void bench_share(const bench_part_case *c, int slot, int *first, int *end);

/* Makes the threads mark; the caller, in its own slot, does not. Each notes in `seconds` the time
 * it took by bench_thread_clock. Returns the sum, without the cost of reading the clock. */
double bench_mark_seconds(const bench_part_case *c, void (*mark)(void *about, int slot),
                          void *about, double *seconds);

/* Writes the data of a round, and counts wrong data, in `bytes` from `offset` on. */
void bench_fill(char *memory, int64_t offset, int64_t bytes, int64_t round);
int64_t bench_wrong(const char *memory, int64_t offset, int64_t bytes, int64_t round);

#endif
