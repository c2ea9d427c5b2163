/* How many cores the ranks of a host really have. The operating system's number does not tell if
 * hosts, containers or hardware threads share cores. So this compares how much work one rank does
 * alone in a given time with how much all do at once in the same time.
 */
#include "measure/probe.h"

#include <math.h>

/* Arithmetic that a compiler cannot leave out; returns the rounds done until `end`. */
static double work_until(double end)
{
  volatile double x = 1;
  double rounds = 0;
  while (grove_clock() < end) {
    for (int i = 0; i < 2000; i++) x = x * 1.0000001 + 1e-9;
    rounds++;
  }
  return rounds;
}

static int count_memories(const grove_topo *topo)
{
  int most = 0;
  for (int r = 0; r < topo->nranks; r++)
    if (topo->place[r].domain > most) most = topo->place[r].domain;
  return most + 1;
}

static grove_status add_seconds(grove_probe *p, double mine, double *all)
{
  MPI_Request request;
  GROVE_PASS_MPI(MPI_Iallreduce(&mine, all, 1, MPI_DOUBLE, MPI_SUM, p->ctx->comm, &request));
  return grove_probe_doze(p, 1, &request);
}

grove_status grove_measure_cores(grove_probe *p, double seconds)
{
  enum { ROUNDS = 3 };
  double ratio[ROUNDS];
  const grove_topo *topo = &p->ctx->topo;
  grove_probe_announce(p, "cores", seconds);
  for (int i = 0; i < ROUNDS; i++) {
    double span = fmax(seconds / (2 * ROUNDS), 0.05), alone = 0, together = 0;
    if (p->ctx->rank == 0) alone = work_until(grove_clock() + span);
    GROVE_PASS(grove_probe_meet(p, &alone, 1));
    GROVE_PASS(add_seconds(p, work_until(grove_clock() + span), &together));
    ratio[i] = together / alone;
  }
  double cores = grove_median(ratio, ROUNDS) / count_memories(topo);
  double fewest = -topo->cores; /* hosts may differ; all ranks must get the same number */
  GROVE_PASS(grove_probe_meet(p, &fewest, 1));
  double ranks = (double)topo->nranks / count_memories(topo);
  /* If every rank had a core there may be more cores; the system knows. */
  cores = fmin(cores, -fewest);
  if (cores > 0.85 * ranks) cores = -fewest;
  p->machine->cores = round(100 * cores) / 100;
  grove_status status =
    grove_machine_add(p->machine, "cores", "-", "node", "-", p->machine->cores, "1", p->source);
  if (status != GROVE_OK) p->status = status;
  return GROVE_OK;
}
