/* Timing on a machine where other ranks must keep out of the way.
 *
 * A measurement is a step that all ranks of the context take together. Those that have a partner
 * work, polling; all others sleep, so that they take no processor from the ones that are measured
 * (with more ranks than cores that would be the measurement). A step ends when all have met, and
 * has the same result on every rank: what is decided from results is then decided alike.
 */
#ifndef GROVE_MEASURE_PROBE_H
#define GROVE_MEASURE_PROBE_H

#include "context/context.h"
#include "measure/fit.h"
#include "measure/measure.h"
#include "model/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest message that is ever measured. */
enum { GROVE_PROBE_BYTES = 4 << 20 };

/* The most messages that are under way at once, each with its tag. */
enum { GROVE_PROBE_TAGS = 10000 };

typedef struct grove_probe {
  grove_context *ctx;
  int tag; /* the first of GROVE_PROBE_TAGS that no operation has */
  const grove_measuring *how;
  char *send, *receive;  /* GROVE_PROBE_BYTES each */
  MPI_Request *requests; /* GROVE_PROBE_TAGS */
  grove_points *points;  /* what was seen; NULL: not wanted */
  grove_machine *machine;
  double began, planned; /* for the progress: when, and how long it will take */
  double promised;       /* planned seconds of the steps that are over */
  char source[64];       /* what rows say of their origin: "measured <date>" */
  grove_status status;   /* of this rank's own doings: agreed upon at the end, since a rank that
                          * left in the middle would leave the others waiting */
} grove_probe;

/* This rank's part in a step. */
typedef struct grove_pairing {
  int partner; /* -1: sleeps */
  int leads;   /* begins; its partner answers */
} grove_pairing;

/* Two ranks that are `where` from each other, the same on every rank; 0 if there are none. */
int grove_probe_pair(const grove_probe *p, grove_locality where, int *a, int *b);

/* This rank's part when `a` leads and `b` answers and nobody else works. */
grove_pairing grove_probe_only(const grove_probe *p, int a, int b);

/* The node that has most ranks, the first of several. */
int grove_probe_fullest(const grove_probe *p);

/* Ranks of a node, ascending: at most `room`; returns how many. */
int grove_probe_ranks(const grove_probe *p, int node, int *ranks, int room);

/* All ranks meet: asleep but for those who come last. values[i] becomes the maximum. */
grove_status grove_probe_meet(grove_probe *p, double *values, int n);

/* One way of doing something `n` times; returns the seconds that it took on this rank. */
typedef grove_status grove_repeat(grove_probe *p, const grove_pairing *part, int64_t bytes, int n,
                                  double *seconds);

typedef struct grove_timing {
  double seconds; /* once: the slowest pair's median over batches */
  int samples;    /* batches */
} grove_timing;

/* Repeats `once` in batches for about `budget` seconds. The time spent, on the slowest rank, is
 * added to `spent` if that is not NULL. */
grove_status grove_probe_time(grove_probe *p, const grove_pairing *part, grove_repeat *once,
                              int64_t bytes, double budget, grove_timing *out, double *spent);

/* A message there and one back; the seconds are for both. */
grove_status grove_probe_ping_pong(grove_probe *p, const grove_pairing *part, int64_t bytes, int n,
                                   double *seconds);

/* Polls until all requests are complete, giving the processor away now and then. */
grove_status grove_probe_finish(grove_probe *p, int n, MPI_Request *requests);

/* The same asleep between polls: whoever waits uses no processor. */
grove_status grove_probe_doze(grove_probe *p, int n, MPI_Request *requests);

/* Says what is measured now, and for how many seconds. Only rank 0 tells anybody. */
void grove_probe_announce(grove_probe *p, const char *what, double seconds);

/* Keeps a point for the picture. */
void grove_probe_keep(grove_probe *p, const char *series, double x, double y);

/* A row of the profile: "measured <date>, <samples> samples, residual <r> %"; without the latter
 * where it is negative. */
void grove_probe_row(grove_probe *p, const char *term, const char *locality, const char *range,
                     double value, const char *unit, int samples, double residual);

/* ---- the steps, each in a file of its own ---- */
grove_status grove_measure_cores(grove_probe *p, double seconds);
grove_status grove_measure_postal(grove_probe *p, grove_locality where, double seconds);
grove_status grove_measure_loggp(grove_probe *p, grove_locality where, double seconds);
grove_status grove_measure_queue(grove_probe *p, double seconds);
grove_status grove_measure_injection(grove_probe *p, double seconds);
grove_status grove_measure_contention(grove_probe *p, double seconds);
grove_status grove_measure_pack(grove_probe *p, double seconds);
grove_status grove_measure_shared(grove_probe *p, double seconds);
grove_status grove_measure_crowd(grove_probe *p, double seconds);

#ifdef __cplusplus
}
#endif

#endif
