/* A machine on paper: ranks, nodes, a network and cores whose numbers a test chooses, so that what
 * is measured on it can be held against them. No time passes but what these numbers say, so the
 * outcome is the same on every computer.
 *
 *     virtual_machine v = {.nodes = "0011", .hosts = "0011", .sockets = "0000", .link = {...}};
 *     grove_machine *m = virtual_step(&v, measure_postal, NULL);    what that step found
 *
 * Ranks are threads that run one at a time, the one whose clock is least. The clocks, MPI and the
 * library's own operations stand in virtual.c in the place of the real ones (--wrap): what is
 * tested is all of src/measure but for trial.c.
 */
#ifndef TEST_VIRTUAL_H
#define TEST_VIRTUAL_H

#include "measure/measure.h"
#include "measure/probe.h"

enum { VIRTUAL_RANKS = 12 };

/* Messages of `from` bytes and more: how long one takes, how far apart those of a stream are. */
typedef struct virtual_range {
  double from;
  grove_postal one_way, stream;
} virtual_range;

typedef struct virtual_link {
  int ranges;
  virtual_range range[3];
  double o_s, o_r; /* how long a message keeps the processor of each end busy */
} virtual_link;

typedef struct virtual_machine {
  const char *nodes, *hosts, *sockets; /* a digit a rank */
  int system_cores;                    /* of a host, as its operating system counts them */
  double cores;                        /* that it really has */
  virtual_link link[GROVE_LOCALITIES];
  double step;                /* seconds from one receive to the next along the queue */
  double injection;           /* seconds a byte of a node that sends to others */
  double delta;               /* seconds a byte of all, where two pairs of nodes send at once */
  double flag[2];             /* a small message through shared memory: on-socket, on-node */
  double shared;              /* a byte, for each rank that is at it */
  double pack[3];             /* a byte: of less than 32 KiB, of less than 512 KiB, of more */
  grove_crowd crowd[2];       /* on node and off */
  int devices;                /* of a host; what a copy takes, for each process that is at it: */
  grove_postal copy[2];       /* out of the device, and into it */
  double launch, device_pack; /* of a kernel before it: the same, and a byte */
  int not_pinned, emulated, last_has_none; /* host memory; the device; the last rank's */
  int without_memory;                      /* the last rank cannot share memory with its node */
} virtual_machine;

/* Runs one step on all ranks; returns the profile of it, which is the same on every rank. `points`
 * may be NULL. */
grove_machine *virtual_step(const virtual_machine *v, grove_effort effort,
                            grove_status step(grove_probe *p), grove_points *points);

/* The whole of grove_measure. */
grove_machine *virtual_measure(const virtual_machine *v, const grove_measuring *how,
                               grove_points *points);

/* How long the last of these took on the machine on paper. */
double virtual_seconds(void);

#endif
