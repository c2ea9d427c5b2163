/* From the blocks of all ranks to a forest. A rank tells each receiver where its block lies among
 * its roots. It does so by MPI's own collective, on the user's communicator: so a block goes where
 * MPI would have brought it, also where a rank is a neighbour several times.
 */
#include "preload.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_UNITS = 1 << 22 }; /* the lists of a forest take some 40 bytes for each */

/* What a sender says of a block. */
typedef struct note {
  int64_t rank, slot, at, bytes;
} note;

/* ---- memory ---- */

static void *list(int n, size_t size)
{
  return calloc((size_t)n + 1, size);
}

static grove_pre_pattern *allocate(int inputs, int outputs)
{
  grove_pre_pattern *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  p->users = 1;
  p->unit = MPI_DATATYPE_NULL;
  p->inputs = inputs;
  p->outputs = outputs;
  p->input_bytes = list(inputs, sizeof *p->input_bytes);
  p->input_at = list(inputs, sizeof *p->input_at);
  p->input_rank = list(inputs, sizeof *p->input_rank);
  p->input_slot = list(inputs, sizeof *p->input_slot);
  p->output_bytes = list(outputs, sizeof *p->output_bytes);
  p->output_at = list(outputs, sizeof *p->output_at);
  if (!p->input_bytes || !p->input_at || !p->input_rank || !p->input_slot || !p->output_bytes ||
      !p->output_at)
    grove_pre_pattern_free(&p);
  return p;
}

void grove_pre_pattern_free(grove_pre_pattern **p)
{
  grove_pre_pattern *q = *p;
  *p = NULL;
  if (!q || --q->users > 0) return;
  grove_forest_free(&q->forest);
  if (q->unit != MPI_DATATYPE_NULL) PMPI_Type_free(&q->unit);
  free(q->input_bytes);
  free(q->input_at);
  free(q->input_rank);
  free(q->input_slot);
  free(q->output_bytes);
  free(q->output_at);
  free(q->input_stage);
  free(q->output_stage);
  grove_pre_side_free(&q->input);
  grove_pre_side_free(&q->output);
  free(q);
}

/* ---- where blocks lie ---- */

/* As in the buffer, from the lowest block on. */
static void lay_out_plain(const grove_pre_side *s, const int64_t *bytes, int64_t *at, MPI_Aint *low,
                          int64_t *span)
{
  int any = 0;
  for (int i = 0; i < s->n; i++) {
    at[i] = grove_pre_side_offset(s, i);
    if (bytes[i] == 0) continue;
    if (!any || at[i] < *low) *low = (MPI_Aint)at[i];
    any = 1;
  }
  for (int i = 0; i < s->n; i++) {
    at[i] = bytes[i] ? at[i] - *low : 0;
    if (at[i] + bytes[i] > *span) *span = at[i] + bytes[i];
  }
}

/* One after the other; blocks that are all the same one, once. */
static void lay_out_packed(const grove_pre_side *s, const int64_t *bytes, int64_t *at,
                           int64_t *span)
{
  for (int i = 0; i < s->n; i++) {
    at[i] = s->one_block ? 0 : *span;
    if (!s->one_block || i == 0) *span += bytes[i];
  }
}

/* Returns the arguments to compare with, if blocks stay where they are. */
static grove_pre_side *lay_out(const grove_pre_side *s, int64_t *bytes, int64_t *at, MPI_Aint *low,
                               int64_t *span)
{
  grove_pre_side *copy = NULL;
  for (int i = 0; i < s->n; i++) bytes[i] = grove_pre_side_bytes(s, i);
  if (grove_pre_side_plain(s)) copy = grove_pre_side_copy(s);
  if (copy)
    lay_out_plain(s, bytes, at, low, span);
  else
    lay_out_packed(s, bytes, at, span);
  return copy;
}

/* ---- the unit: the largest that all blocks and distances are made of ---- */

static int64_t divisor(int64_t a, int64_t b)
{
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* What ranks agree on: the first entry is a common divisor, the second a maximum. */
static void combine(void *in, void *inout, int *n, MPI_Datatype *type)
{
  int64_t *a = in, *b = inout;
  (void)type;
  for (int i = 0; i < 2 * *n; i += 2) {
    b[i] = divisor(a[i], b[i]);
    if (a[i + 1] > b[i + 1]) b[i + 1] = a[i + 1];
  }
}

static void agree_on_unit(MPI_Comm comm, int64_t *unit, int64_t *failed)
{
  int64_t own[2] = {*unit, *failed}, all[2] = {0, 0};
  MPI_Datatype pair; /* MPI may cut an array between two elements */
  MPI_Op op;
  PMPI_Type_contiguous(2, MPI_INT64_T, &pair);
  PMPI_Type_commit(&pair);
  PMPI_Op_create(combine, 1, &op);
  PMPI_Allreduce(own, all, 1, pair, op, comm);
  PMPI_Op_free(&op);
  PMPI_Type_free(&pair);
  *unit = all[0];
  *failed = all[1];
}

int grove_pre_any(MPI_Comm comm, int mine)
{
  int one = mine;
  PMPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_MAX, comm);
  return one;
}

static int64_t own_unit(const grove_pre_pattern *p)
{
  int64_t unit = 0;
  for (int i = 0; i < p->outputs; i++)
    unit = divisor(divisor(unit, p->output_bytes[i]), p->output_at[i]);
  for (int i = 0; i < p->inputs; i++)
    unit = divisor(divisor(unit, p->input_bytes[i]), p->input_at[i]);
  return unit;
}

static int64_t units_received(const grove_pre_pattern *p, int64_t unit)
{
  int64_t bytes = 0;
  for (int i = 0; i < p->inputs; i++) bytes += p->input_bytes[i];
  return bytes / unit;
}

/* MPI packs at most so many bytes at once. */
static int too_large(const grove_pre_pattern *p)
{
  for (int i = 0; i < p->outputs; i++)
    if (p->output_bytes[i] > INT_MAX) return 1;
  for (int i = 0; i < p->inputs; i++)
    if (p->input_bytes[i] > INT_MAX) return 1;
  return 0;
}

/* ---- who sends what ---- */

/* By the function whose calls the pattern is for: where a rank is a neighbour several times, MPICH
 * 4.0 does not join the same blocks in all of them. In a gather these are all the same. */
static int pass_on(grove_pre_call call, const note *mine, note *theirs, int outputs, int inputs,
                   MPI_Comm comm)
{
  int most = outputs > inputs ? outputs : inputs;
  int *four = list(2 * most, sizeof *four), *steps = four + most;
  MPI_Aint *offsets = list(most, sizeof *offsets);
  MPI_Datatype *types = list(most, sizeof *types);
  int failed = grove_pre_any(comm, !four || !offsets || !types);
  if (failed) goto end;
  for (int i = 0; i < most; i++) {
    four[i] = 4;
    steps[i] = 4 * i;
    offsets[i] = (MPI_Aint)((size_t)i * sizeof *mine);
    types[i] = MPI_INT64_T;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  switch (call) {
  case CALL_ALLTOALLV: PMPI_Alltoall(mine, 4, MPI_INT64_T, theirs, 4, MPI_INT64_T, comm); break;
  case CALL_NEIGHBOR_ALLTOALLV:
    PMPI_Neighbor_alltoallv(mine, four, steps, MPI_INT64_T, theirs, four, steps, MPI_INT64_T, comm);
    break;
  case CALL_NEIGHBOR_ALLTOALLW:
    PMPI_Neighbor_alltoallw(mine, four, offsets, types, theirs, four, offsets, types, comm);
    break;
  case CALL_INEIGHBOR_ALLTOALLV:
  case CALL_INIT_ALLTOALLV:
    PMPI_Ineighbor_alltoallv(mine, four, steps, MPI_INT64_T, theirs, four, steps, MPI_INT64_T, comm,
                             &request);
    break;
  case CALL_INEIGHBOR_ALLTOALLW:
  case CALL_INIT_ALLTOALLW:
    PMPI_Ineighbor_alltoallw(mine, four, offsets, types, theirs, four, offsets, types, comm,
                             &request);
    break;
  case CALL_NEIGHBOR_ALLTOALL:
  case CALL_NEIGHBOR_ALLGATHER:
  case CALL_NEIGHBOR_ALLGATHERV:
    PMPI_Neighbor_alltoall(mine, 4, MPI_INT64_T, theirs, 4, MPI_INT64_T, comm);
    break;
  default:
    PMPI_Ineighbor_alltoall(mine, 4, MPI_INT64_T, theirs, 4, MPI_INT64_T, comm, &request);
    break;
  }
  PMPI_Wait(&request, MPI_STATUS_IGNORE);
end:
  free(four);
  free(offsets);
  free(types);
  return !failed;
}

/* Fills in `theirs`, a note for each input. Collective, and so is a failure. */
static int exchange(grove_pre_held *h, grove_pre_call call, grove_pre_pattern *p, note *mine,
                    note *theirs)
{
  for (int i = 0; i < p->outputs; i++)
    mine[i] = (note){h->rank, i, p->output_at[i], p->output_bytes[i]};
  for (int i = 0; i < p->inputs; i++) theirs[i].rank = -1; /* from MPI_PROC_NULL comes nothing */
  if (!pass_on(call, mine, theirs, p->outputs, p->inputs, h->comm)) return 0;
  for (int i = 0; i < p->inputs; i++) {
    p->input_rank[i] = (int)theirs[i].rank;
    p->input_slot[i] = (int)theirs[i].slot;
  }
  return 1;
}

static int same_bytes(const grove_pre_pattern *p, const note *theirs, int size)
{
  for (int i = 0; i < p->inputs; i++)
    if (theirs[i].rank != -1 &&
        (theirs[i].rank < 0 || theirs[i].rank >= size || theirs[i].bytes != p->input_bytes[i]))
      return 0;
  return 1;
}

static grove_status make_forest(grove_pre_held *h, grove_pre_pattern *p, const note *theirs,
                                int64_t unit)
{
  int64_t n = units_received(p, unit), leaf = 0;
  int64_t *slot = malloc(((size_t)n + 1) * sizeof *slot);
  grove_root *root = malloc(((size_t)n + 1) * sizeof *root);
  grove_status status = GROVE_ERR_MEMORY;
  if (grove_pre_any(h->comm, !slot || !root)) goto done;
  for (int i = 0; i < p->inputs; i++)
    for (int64_t k = 0; theirs[i].rank >= 0 && k < p->input_bytes[i] / unit; k++, leaf++) {
      slot[leaf] = p->input_at[i] / unit + k;
      root[leaf] = (grove_root){(int)theirs[i].rank, theirs[i].at / unit + k};
    }
  status = grove_forest_create(h->ctx, &p->forest);
  if (!status) status = grove_forest_set_graph(p->forest, p->output_span / unit, leaf, slot, root);
  if (grove_pre_any(h->comm, status)) goto done;
  status = grove_forest_set_up(p->forest);
done:
  free(slot);
  free(root);
  return status;
}

static int make_unit(grove_pre_pattern *p, int64_t unit)
{
  return PMPI_Type_contiguous((int)unit, MPI_BYTE, &p->unit) == MPI_SUCCESS &&
         PMPI_Type_commit(&p->unit) == MPI_SUCCESS;
}

/* What a rank finds out by itself, before any agreement. */
static grove_pre_pattern *begin(grove_pre_held *h, grove_pre_call call, const grove_pre_side *send,
                                const grove_pre_side *receive)
{
  if (!grove_pre_side_valid(send) || !grove_pre_side_valid(receive)) return NULL;
  grove_pre_pattern *p = allocate(receive->n, send->n);
  if (!p) return NULL;
  p->output_rank = call == CALL_ALLTOALLV ? NULL : h->output_rank;
  p->output = lay_out(send, p->output_bytes, p->output_at, &p->output_low, &p->output_span);
  p->input = lay_out(receive, p->input_bytes, p->input_at, &p->input_low, &p->input_span);
  return p;
}

/* The forest, from a pattern of which this rank knows its own part. Collective. */
static int finish(grove_pre_held *h, grove_pre_call call, grove_pre_pattern *p, int64_t unit,
                  char why[256])
{
  note *mine = list(p->outputs, sizeof *mine), *theirs = list(p->inputs, sizeof *theirs);
  int done = 0;
  if (grove_pre_any(h->comm, !mine || !theirs || !make_unit(p, unit)) ||
      !exchange(h, call, p, mine, theirs)) {
    snprintf(why, 256, "a rank has no memory");
    goto end;
  }
  if (grove_pre_any(h->comm, !same_bytes(p, theirs, h->size))) {
    snprintf(why, 256, "a rank sends another number of bytes than is received");
    goto end;
  }
  if (grove_pre_held_context(h) || make_forest(h, p, theirs, unit))
    snprintf(why, 256, "%s", grove_last_error());
  else
    done = 1;
end:
  free(mine);
  free(theirs);
  return done;
}

grove_pre_pattern *grove_pre_pattern_create(grove_pre_held *h, grove_pre_call call,
                                            const grove_pre_side *send,
                                            const grove_pre_side *receive, int *again,
                                            char why[256])
{
  grove_pre_pattern *p = begin(h, call, send, receive);
  int64_t unit = p ? own_unit(p) : 0, failed = !p || too_large(p);
  agree_on_unit(h->comm, &unit, &failed);
  if (failed) {
    snprintf(why, 256, "a rank has no memory, blocks of 2 GiB, or arguments that MPI refuses");
    goto fail;
  }
  if (unit == 0) {
    snprintf(why, 256, "nothing is sent");
    *again = 1;
    goto fail;
  }
  if (grove_pre_any(h->comm, units_received(p, unit) > MOST_UNITS)) {
    snprintf(why, 256, "a forest of more than %d units of %d bytes", MOST_UNITS, (int)unit);
    goto fail;
  }
  if (finish(h, call, p, unit, why)) return p;
fail:
  grove_pre_pattern_free(&p);
  return NULL;
}
