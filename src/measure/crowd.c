/* Ranks that outnumber cores. Then a rank that waits has to give up a core to the one it waits for,
 * and takes one back now and then to look: processor time stretches. By how much, all ranks at once
 * show: a ring inside every node over the library's own operations, and a ring from node to node as
 * messages, against the processor time that these are known to take.
 */
#include "measure/probe.h"

#include <math.h>
#include <stdlib.h>

enum { TAG = 3 };

/* The ranks of the same number on the next node and on the one before; those of a smaller node take
 * turns. 0 where there is one node. */
static int neighbours_off_node(const grove_probe *p, int *next, int *before)
{
  enum { MOST = 1024 };
  int ranks[MOST], nodes = p->ctx->topo.nnodes, node = p->ctx->topo.place[p->ctx->rank].node;
  int n = grove_probe_ranks(p, node, ranks, MOST), index = 0;
  while (index < n && ranks[index] != p->ctx->rank) index++;
  if (nodes < 2) return 0;
  n = grove_probe_ranks(p, (node + 1) % nodes, ranks, MOST);
  *next = index < n ? ranks[index] : -1;
  n = grove_probe_ranks(p, (node + nodes - 1) % nodes, ranks, MOST);
  *before = index < n ? ranks[index] : -1;
  return 1;
}

/* A message to each of the two, and one from each; n times. */
static grove_status exchange(grove_probe *p, const grove_pairing *part, int64_t bytes, int n,
                             double *seconds)
{
  grove_status status = GROVE_OK;
  int peer[2] = {-1, -1};
  double begin = grove_clock();
  (void)part;
  neighbours_off_node(p, &peer[0], &peer[1]);
  for (int k = 0; k < n; k++) {
    MPI_Request request[4];
    int used = 0;
    for (int i = 0; i < 4; i++) { /* with two nodes both are one rank: a tag for each way */
      int to = peer[i % 2];
      if (to < 0) continue;
      if (i < 2)
        GROVE_TRY_MPI(MPI_Irecv(p->receive + i * bytes, (int)bytes, MPI_BYTE, to, TAG + i, p->comm,
                                &request[used++]));
      else
        GROVE_TRY_MPI(
          MPI_Isend(p->send, (int)bytes, MPI_BYTE, to, TAG + 1 - i % 2, p->comm, &request[used++]));
    }
    GROVE_TRY(grove_probe_finish(p, used, request));
  }
  *seconds = grove_clock() - begin;
fail:
  return status;
}

/* Ranks of the fullest host, which waits most. */
static int most_ranks(const grove_topo *topo)
{
  int most = 0;
  for (int r = 0; r < topo->nranks; r++) {
    int n = topo->place[r].seat + 1;
    if (n > most) most = n;
  }
  return most;
}

grove_status grove_measure_crowd(grove_probe *p, double seconds)
{
  enum { BYTES = 8 };
  grove_status status = GROVE_OK;
  const grove_loggp *row = NULL;
  const grove_pairing all = {.partner = p->ctx->rank, .leads = 1}; /* everybody works */
  int ranks = most_ranks(&p->ctx->topo);
  grove_timing t;
  if (ranks <= p->machine->cores || p->ctx->topo.nnodes < 2) return GROVE_OK;
  grove_probe_announce(p, "a crowd", seconds);
  GROVE_TRY(grove_probe_time(p, &all, exchange, BYTES, seconds, &t, NULL));
  p->status = grove_machine_digest(p->machine);
  row = grove_machine_loggp(p->machine, GROVE_OFF_NODE, BYTES);
  if (p->status != GROVE_OK || !row) return GROVE_OK;
  double busy = ranks * 2 * (row->o_s + row->o_r) / p->machine->cores;
  grove_probe_row(p, "crowd", "off-node", "-", fmax(t.seconds / busy, 1), "1", t.samples, -1);
fail:
  return status;
}
