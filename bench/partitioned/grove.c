/* Channels of Grove, one method per aggregator; the ways to use an operation on a forest, which
 * modes know by name; and the table of all methods. */
#include "part_method.h"

#include "kit/need.h"

#include <string.h>

static void *open_channel(const bench_end *a)
{
  grove_op *op;
  if (a->sends)
    bench_need_grove(
      grove_psend_init(a->ctx, a->memory, a->parts, a->part_bytes, MPI_BYTE, a->peer, a->tag, &op));
  else
    bench_need_grove(
      grove_precv_init(a->ctx, a->memory, a->parts, a->part_bytes, MPI_BYTE, a->peer, a->tag, &op));
  return op;
}

static void start(void *end)
{
  bench_need_grove(grove_start(end));
}

static void ready(void *end, int part)
{
  bench_need_grove(grove_ready(end, part, 1));
}

static void await(void *end)
{
  bench_need_grove(grove_wait(end));
}

static bench_told tell(void *end)
{
  grove_report report = {.struct_size = sizeof report};
  bench_need_grove(grove_op_report(end, &report));
  return (bench_told){.messages = (int)report.messages, .predicted = report.predicted_seconds};
}

static void close_channel(void *end)
{
  grove_op *op = end;
  bench_need_grove(grove_op_free(&op));
}

/* Common to all of them. */
#define CHANNEL                                                                                    \
  .is_grove = 1, .open = open_channel, .start = start, .ready = ready, .wait = await,              \
  .tell = tell, .close = close_channel

static const bench_part_method channels[] = {
  {"none", "Grove, every part alone", CHANNEL},
  {"table", "Grove, by the table GROVE_PART_TABLE", CHANNEL},
  {"ploggp", "Grove, by the model", CHANNEL},
  {"timer", "Grove, what is ready after a while", CHANNEL},
  {"adaptive", "Grove, by earlier rounds", CHANNEL},
};

extern const bench_part_method bench_mpi_isend, bench_mpi_persistent, bench_mpi_limit,
  bench_mpi_parts, bench_mpi_psend;

static const bench_part_method forests[] = {
  {"end", "forests: grove_start when all is final", .is_forest = 1},
  {"start", "forests: grove_start", .is_forest = 1},
  {"parts", "forests: grove_start_parts, then marks", .is_forest = 1},
  {"wait", "rows: multiplied when all ghosts are there", .is_forest = 1},
  {"arrivals", "rows: each when its ghosts are there", .is_forest = 1},
  {"work", "rows: those that need none of the late rank, alone", .is_forest = 1},
};

const bench_part_method *const bench_part_methods[] = {
  &bench_mpi_isend, &bench_mpi_persistent, &bench_mpi_limit, &bench_mpi_parts,
#ifdef BENCH_HAVE_PSEND
  &bench_mpi_psend,
#endif
  &channels[0],     &channels[1],          &channels[2],     &channels[3],
  &channels[4],     &forests[0],           &forests[1],      &forests[2],
  &forests[3],      &forests[4],           &forests[5],      NULL,
};

const bench_part_method *bench_part_method_find(const char *name)
{
  for (int i = 0; bench_part_methods[i]; i++)
    if (strcmp(bench_part_methods[i]->name, name) == 0) return bench_part_methods[i];
  return NULL;
}
