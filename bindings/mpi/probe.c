/* Calls that return a request end when the program asks for it, so that their times are nothing to
 * compare. Grove and MPI are compared beforehand: blocks of the same sizes, as bytes, between
 * memories of the pattern's own, begun and waited for, in turn.
 */
#include "own_init.h"

#include <limits.h>
#include <stdlib.h>

enum { TURNS = 15 };

static const double worth = 0.97; /* as in choice.c */

/* What MPI is given. */
typedef struct blocks {
  int *sent, *sent_at, *received, *received_at;
} blocks;

static int *as_ints(int n, const int64_t *from, int *fits)
{
  int *list = calloc((size_t)n + 1, sizeof *list);
  if (!list) *fits = 0;
  for (int i = 0; list && i < n; i++) {
    if (from[i] > INT_MAX) *fits = 0;
    list[i] = (int)from[i];
  }
  return list;
}

static blocks get_blocks(const grove_pre_pattern *p, int *fits)
{
  return (blocks){as_ints(p->outputs, p->output_bytes, fits),
                  as_ints(p->outputs, p->output_at, fits), as_ints(p->inputs, p->input_bytes, fits),
                  as_ints(p->inputs, p->input_at, fits)};
}

static void free_blocks(blocks *b)
{
  free(b->sent);
  free(b->sent_at);
  free(b->received);
  free(b->received_at);
}

/* ---- the two sides: `lasting` are those made once; else each turn begins anew ---- */

typedef struct sides {
  grove_pre_held *h;
  const grove_pre_pattern *p;
  blocks b;
  int persistent;
  grove_op *op;
  MPI_Request request;
} sides;

static grove_status begin_lasting(sides *s)
{
#ifdef GROVE_PRE_OWN
  int error = GROVE_PRE_OWN(alltoallv)(s->p->output_stage, s->b.sent, s->b.sent_at, MPI_BYTE,
                                       s->p->input_stage, s->b.received, s->b.received_at, MPI_BYTE,
                                       s->h->comm, MPI_INFO_NULL, &s->request);
  if (grove_pre_any(s->h->comm, error)) return GROVE_ERR_MPI;
#endif
  return grove_pre_bcast_init(s->h, s->p, s->p->output_stage, s->p->input_stage, &s->op);
}

static double time_mpi(sides *s)
{
  double before = PMPI_Wtime();
  if (s->persistent)
    PMPI_Start(&s->request);
  else
    PMPI_Ineighbor_alltoallv(s->p->output_stage, s->b.sent, s->b.sent_at, MPI_BYTE,
                             s->p->input_stage, s->b.received, s->b.received_at, MPI_BYTE,
                             s->h->comm, &s->request);
  PMPI_Wait(&s->request, MPI_STATUS_IGNORE);
  return PMPI_Wtime() - before;
}

static double time_grove(sides *s, grove_status *status)
{
  double before = PMPI_Wtime();
  grove_status failed;
  if (s->persistent) {
    failed = grove_start(s->op);
    if (!failed) failed = grove_wait(s->op);
  } else {
    failed =
      grove_bcast(s->p->forest, s->p->unit, s->p->output_stage, s->p->input_stage, MPI_REPLACE);
  }
  if (failed) *status = failed;
  return PMPI_Wtime() - before;
}

static int ascending(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Medians of the slowest rank; the first turns do not count. */
static grove_status compare(sides *s, double median[2])
{
  double times[2][TURNS + 2];
  grove_status status = GROVE_OK;
  for (int i = 0; i < TURNS + 2; i++) {
    times[0][i] = time_mpi(s);
    times[1][i] = time_grove(s, &status);
  }
  for (int i = 0; i < 2; i++) {
    qsort(times[i] + 2, TURNS, sizeof times[i][0], ascending);
    median[i] = times[i][2 + TURNS / 2];
  }
  PMPI_Allreduce(MPI_IN_PLACE, median, 2, MPI_DOUBLE, MPI_MAX, s->h->comm);
  return grove_pre_any(s->h->comm, (int)status) ? GROVE_ERR_SYSTEM : GROVE_OK;
}

static int decide(sides *s, char why[256])
{
  double median[2];
  grove_status status = s->persistent ? begin_lasting(s) : GROVE_OK;
  if (!status) status = compare(s, median);
  if (s->persistent && s->request != MPI_REQUEST_NULL) PMPI_Request_free(&s->request);
  grove_op_free(&s->op);
  if (status) {
    snprintf(why, 256, "%s", grove_last_error());
    return 0;
  }
  snprintf(why, 256, "tried: MPI %.1f us, Grove %.1f us", 1e6 * median[0], 1e6 * median[1]);
  return median[1] <= worth * median[0];
}

int grove_pre_probe(grove_pre_held *h, grove_pre_call call, grove_pre_pattern *p, char why[256])
{
  int fits = grove_pre_stages(p), yes = 0;
  sides s = {.h = h,
             .p = p,
             .b = get_blocks(p, &fits),
             .persistent = call >= CALL_INIT_ALLTOALL,
             .request = MPI_REQUEST_NULL};
  if (grove_pre_any(h->comm, !fits))
    snprintf(why, 256, "too much memory for a trial");
  else
    yes = decide(&s, why);
  free_blocks(&s.b);
  grove_pre_stages_free(p);
  return yes;
}
