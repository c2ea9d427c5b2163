/* A method is one way to send a buffer that is filled part by part: Grove with some aggregator,
 * MPI's own partitioned calls, messages by hand. (Methods of forests are names: bench/parts.) It
 * has two ends, on two ranks, used like this:
 *
 *     sender                                   receiver
 *     end = open(about)                        end = open(about)
 *     start(end)                               start(end)             \
 *     ready(end, part)   from any thread                              |  a round
 *     wait(end)                                wait(end)              /
 *     close(end)                               close(end)
 */
#ifndef BENCH_PARTITIONED_PART_METHOD_H
#define BENCH_PARTITIONED_PART_METHOD_H

#include <grove.h>

/* Description of an end. */
typedef struct bench_end {
  MPI_Comm comm;
  grove_context *ctx; /* with the options of the method; NULL without Grove */
  int sends, peer, tag;
  int parts;
  int64_t part_bytes;
  char *memory; /* parts * part_bytes */
} bench_end;

/* What a sender's end reports. */
typedef struct bench_told {
  int messages;     /* of the last round; 0: unknown */
  double predicted; /* seconds; 0: unknown */
  double share;     /* for a forest's line; the mode defines it */
} bench_told;

typedef struct bench_part_method {
  const char *name;
  const char *about; /* a line for --list */
  int is_grove;      /* it wants a context, with the option `aggregator` set to its name */
  int is_forest;     /* no channel: a context; the mode does the rest */
  int sends_one;     /* only the last part travels */
  void *(*open)(const bench_end *about);
  void (*start)(void *end);
  void (*ready)(void *end, int part);
  void (*wait)(void *end);
  bench_told (*tell)(void *end);
  void (*close)(void *end);
} bench_part_method;

/* NULL where this build has no method of that name. */
const bench_part_method *bench_part_method_find(const char *name);

/* All of them, ending with NULL. */
extern const bench_part_method *const bench_part_methods[];

#endif
