/* Timing on a machine where other ranks must keep out of the way.
 *
 * A measurement is a step that all ranks of the context take together. Ranks with a partner work,
 * polling. All others sleep, so that they take no processor time from those being measured (with
 * more ranks than cores they would be all that is measured). A step ends when all have met, and has
 * the same result on every rank. So decisions from results are the same everywhere, too.
 */
#ifndef GROVE_MEASURE_PROBE_H
#define GROVE_MEASURE_PROBE_H

#include "context/context.h"
#include "device/driver.h"
#include "device/space.h"
#include "measure/fit.h"
#include "measure/measure.h"
#include "model/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest message ever measured. */
enum { GROVE_PROBE_BYTES = 4 << 20 };

/* The most messages under way at once, each with its own tag. */
enum { GROVE_PROBE_TAGS = 10000 };

typedef struct grove_bench grove_bench;
typedef struct grove_wire grove_wire;

/* What the processors of this rank have done since the system began, in seconds of all of them. */
typedef struct grove_usage {
  int group;        /* of ranks that have the same processors */
  double busy, all; /* at work; and all in all */
  double own;       /* by this process */
} grove_usage;

typedef struct grove_probe {
  grove_context *ctx;
  int tag; /* the first of GROVE_PROBE_TAGS that no operation uses */
  const grove_measuring *how;
  char *send, *receive;  /* GROVE_PROBE_BYTES each */
  MPI_Request *requests; /* GROVE_PROBE_TAGS */
  grove_points *points;  /* the measured points; NULL: not wanted */
  grove_machine *machine;
  double began, planned; /* for the progress: when it began, and how long it will take */
  double promised;       /* planned seconds of the finished steps */
  char source[64];       /* the source of rows: "measured <date>" */
  int devices;           /* that the ranks found; 0: none, or not all that would copy found some */
  char on_device[96];    /* what rows about these say behind their source */
  grove_bench *bench;    /* of a step: what this rank works with */
  grove_wire *wire;      /* the same, over libfabric */
  grove_usage before;    /* when measuring began */
  int misfits;           /* rows that are far off what was measured */
  char misfit[96];       /* the first of them */
  int dropped;           /* points that made no sense */
  char doubt[400];       /* why the profile is not to be trusted; "": it is */
  grove_status status;   /* of this rank's own work: agreed upon at the end, since a rank that left
                          * in the middle would leave the others waiting */
} grove_probe;

/* This rank's part in a step. */
typedef struct grove_pairing {
  int partner; /* -1: sleeps */
  int leads;   /* begins; the partner answers */
} grove_pairing;

/* Two ranks at distance `where`, the same on every rank; 0 if there are none. */
int grove_probe_pair(const grove_probe *p, grove_locality where, int *a, int *b);

/* This rank's part if only `a`, which leads, and `b`, which answers, work. */
grove_pairing grove_probe_only(const grove_probe *p, int a, int b);

/* The node with the most ranks, the first of several. */
int grove_probe_fullest(const grove_probe *p);

/* Ranks of a node, ascending, at most `room`; returns their number. */
int grove_probe_ranks(const grove_probe *p, int node, int *ranks, int room);

/* All ranks meet, sleeping until the last have come. values[i] becomes the maximum. */
grove_status grove_probe_meet(grove_probe *p, double *values, int n);

/* One way of doing something `n` times. Reports the seconds that it took on this rank. */
typedef grove_status grove_repeat(grove_probe *p, const grove_pairing *part, int64_t bytes, int n,
                                  double *seconds);

typedef struct grove_timing {
  double seconds; /* for one repetition: the slowest pair's median over batches */
  int samples;    /* batches */
} grove_timing;

/* Repeats `once` in batches for about `budget` seconds. The time spent, on the slowest rank, is
 * added to `spent` if that is not NULL. */
grove_status grove_probe_time(grove_probe *p, const grove_pairing *part, grove_repeat *once,
                              int64_t bytes, double budget, grove_timing *out, double *spent);

/* A message there and one back; the seconds cover both. */
grove_status grove_probe_ping_pong(grove_probe *p, const grove_pairing *part, int64_t bytes, int n,
                                   double *seconds);

/* Polls until all requests are complete, yielding now and then. */
grove_status grove_probe_finish(grove_probe *p, int n, MPI_Request *requests);

/* The same, sleeping between polls: waiting uses no processor time. */
grove_status grove_probe_doze(grove_probe *p, int n, MPI_Request *requests);

/* Says what is being measured, and for how many seconds. Only rank 0 reports it. */
void grove_probe_announce(grove_probe *p, const char *what, double seconds);

/* Keeps a point for the picture. */
void grove_probe_keep(grove_probe *p, const char *series, double x, double y);

/* Adds a row to the profile: "measured <date>, <samples> samples, residual <r> %"; without the
 * residual if it is negative. */
void grove_probe_row(grove_probe *p, const char *term, const char *locality, const char *range,
                     double value, const char *unit, int samples, double residual);

/* The same for a row about a device's memory. */
void grove_probe_device_row(grove_probe *p, const char *term, const char *locality,
                            const char *range, double value, const char *unit, int samples,
                            double residual);

/* Says why the profile is not to be trusted, behind what was said before. */
void grove_probe_doubt(grove_probe *p, const char *format, ...)
  __attribute__((format(printf, 2, 3)));

/* Before anything is measured; see grove_measure_others. (others.c) */
void grove_others_begin(grove_probe *p);

/* Looks for devices; before anything is planned. (device.c) */
grove_status grove_probe_find_device(grove_probe *p);
/* With `fabric`: opens libfabric, before anything is measured. This rank's failure. (fabric.c) */
grove_status grove_probe_open_fabric(grove_probe *p);
/* The first of the ranks that copy between devices and the host. (device.c) */
int grove_probe_first_copier(const grove_probe *p);

/* What sends messages one way and one back: one message, and GROVE_TRAIN of them. */
enum { GROVE_TRAIN = 17 };
typedef struct grove_trains {
  grove_locality where;
  const char *series;    /* of the points; NULL: they are not kept */
  const char *L, *g, *G; /* the terms of its rows */
  int whole;             /* no overheads: L has all of a message */
  grove_repeat *one, *many;
} grove_trains;

/* Rows of LogGP by size. (loggp.c) */
grove_status grove_measure_trains(grove_probe *p, const grove_pairing *part,
                                  const grove_trains *trains, double seconds);

/* ---- the steps, each in a file of its own ---- */
grove_status grove_measure_cores(grove_probe *p, double seconds);
grove_status grove_measure_postal(grove_probe *p, grove_locality where, double seconds);
grove_status grove_measure_loggp(grove_probe *p, grove_locality where, double seconds);
grove_status grove_measure_fabric(grove_probe *p, double seconds);
grove_status grove_measure_queue(grove_probe *p, double seconds);
grove_status grove_measure_injection(grove_probe *p, double seconds);
grove_status grove_measure_contention(grove_probe *p, double seconds);
grove_status grove_measure_pack(grove_probe *p, double seconds);
grove_status grove_measure_shared(grove_probe *p, double seconds);
grove_status grove_measure_crowd(grove_probe *p, double seconds);
grove_status grove_measure_device(grove_probe *p, double seconds);
grove_status grove_measure_links(grove_probe *p, double seconds);
grove_status grove_measure_exchanges(grove_probe *p, double seconds);
/* At the end: did other programs use the machine meanwhile? */
grove_status grove_measure_others(grove_probe *p);

#ifdef __cplusplus
}
#endif

#endif
