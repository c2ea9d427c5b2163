#include "transport/carrier.h"

#include "transport/mpi_neighbor.h"
#include "transport/mpi_p2p.h"
#include "transport/mpi_rma.h"

#include <stdlib.h>
#include <string.h>

/* ---- point to point ---- */

static grove_status p2p_open(grove_carriage *carriage)
{
  (void)carriage; /* the operations share nothing but the tag */
  return GROVE_OK;
}

static void p2p_close(grove_carriage *carriage)
{
  (void)carriage;
}

static grove_status p2p_create(grove_carrier *c)
{
  const grove_carriage *a = c->carriage;
  grove_p2p *p2p = NULL;
  grove_status status = grove_p2p_create(a->ctx->comm, a->tag, a->persistent, a->chunk,
                                         a->nreceives, a->n - a->nreceives, &p2p);
  c->self = p2p;
  return status;
}

static grove_status p2p_bind(grove_carrier *c, int i, void *buffer)
{
  const grove_carried *m = &c->carriage->messages[i];
  return grove_p2p_bind(c->self, i, m->peer, buffer, m->bytes);
}

static grove_status p2p_start(grove_carrier *c, int i)
{
  return grove_p2p_start(c->self, i);
}

static grove_status p2p_go(grove_carrier *c)
{
  (void)c; /* each message went by itself */
  return GROVE_OK;
}

static grove_status p2p_poll(grove_carrier *c, int *n, const int **which)
{
  return grove_p2p_poll(c->self, n, which);
}

static int p2p_pending(const grove_carrier *c, int i)
{
  return grove_p2p_pending(c->self, i);
}

static int p2p_busy(const grove_carrier *c)
{
  return grove_p2p_busy(c->self);
}

static void p2p_free(grove_carrier *c)
{
  grove_p2p *p2p = c->self;
  grove_p2p_free(&p2p);
}

static const grove_carrier_kind grove_carrier_p2p = {
  .name = "p2p",
  .open = p2p_open,
  .close = p2p_close,
  .create = p2p_create,
  .bind = p2p_bind,
  .start = p2p_start,
  .go = p2p_go,
  .poll = p2p_poll,
  .pending = p2p_pending,
  .busy = p2p_busy,
  .free = p2p_free,
};

/* MPI itself has a place for what the other kinds receive. */
grove_status grove_carrier_forgo(grove_carrier *c, int i, double timeout)
{
  return c->kind == &grove_carrier_rma ? grove_rma_forgo(c, i, timeout) : GROVE_OK;
}

grove_status grove_carrier_discard(grove_carrier *c, int i)
{
  grove_status status = GROVE_OK;
  if (c->kind == &grove_carrier_p2p) return grove_p2p_discard(c->self, i);
  GROVE_TRY(grove_carrier_start(c, i));
  GROVE_TRY(grove_carrier_forgo(c, i, 0));
fail:
  return status;
}

grove_status grove_carrier_withdraw(grove_carrier *c, int i, double timeout, int *withdrawn)
{
  return grove_p2p_withdraw(c->self, i, timeout, withdrawn);
}

grove_status grove_carrier_repost(grove_carrier *c, int i, int discard)
{
  return grove_p2p_repost(c->self, i, discard);
}

/* ---- all kinds ---- */

static const grove_carrier_kind *kind_of(int option)
{
  switch (option) {
  case GROVE_OFF_NODE_NEIGHBOR: return &grove_carrier_neighbor;
  case GROVE_OFF_NODE_RMA: return &grove_carrier_rma;
  default: return &grove_carrier_p2p;
  }
}

const char *grove_carrier_name(int kind)
{
  return kind_of(kind)->name;
}

static grove_status make(grove_context *ctx, const grove_carriage_request *about,
                         grove_carriage **out)
{
  grove_status status = GROVE_OK;
  grove_carriage *a = NULL;
  GROVE_NEW(a, 1);
  *out = a;
  *a = (grove_carriage){.ctx = ctx,
                        .kind = kind_of(about->kind),
                        .tag = about->tag,
                        .answer_tag = about->answer_tag,
                        .persistent = about->persistent,
                        .chunk = about->chunk,
                        .nreceives = about->nreceives,
                        .n = about->nreceives + about->nsends};
  GROVE_NEW(a->messages, a->n);
  memcpy(a->messages, about->messages, (size_t)a->n * sizeof *a->messages);
fail:
  return status;
}

grove_status grove_carriage_create(grove_context *ctx, const grove_carriage_request *about,
                                   grove_carriage **out)
{
  grove_status status = GROVE_OK;
  grove_carriage *a = NULL;
  grove_status mine = make(ctx, about, &a);
  if (grove_carrier_is_collective(about->kind))
    GROVE_TRY(grove_context_agree(ctx, mine, NULL, 0));
  else
    GROVE_TRY(mine);
  GROVE_TRY(a->kind->open(a));
  *out = a;
  return GROVE_OK;
fail:
  grove_carriage_free(&a);
  return status;
}

void grove_carriage_free(grove_carriage **pointer)
{
  grove_carriage *a = *pointer;
  if (!a) return;
  a->kind->close(a);
  free(a->messages);
  free(a);
  *pointer = NULL;
}

grove_status grove_carrier_create(grove_carriage *carriage, grove_carrier **out)
{
  grove_status status = GROVE_OK;
  grove_carrier *c = NULL;
  GROVE_NEW(c, 1);
  c->kind = carriage->kind;
  c->carriage = carriage;
  GROVE_TRY(c->kind->create(c));
  *out = c;
  return GROVE_OK;
fail:
  grove_carrier_free(&c);
  return status;
}

void grove_carrier_free(grove_carrier **pointer)
{
  grove_carrier *c = *pointer;
  if (!c) return;
  c->kind->free(c);
  free(c);
  *pointer = NULL;
}

/* ---- what is left at the end ---- */

/* Ranks that do not give their context up so soon after this one are not waited for. */
static const double PATIENCE_SECONDS = 10;

/* Are all ranks here, and nothing under way? What MPI may still write to after the patience is at
 * an end is left alone. */
static int all_are_idle(grove_context *ctx)
{
  grove_pause pause;
  MPI_Request request;
  int done = 0, *votes = grove_memory(2, sizeof *votes);
  if (!votes) return 0;
  votes[0] = ctx->abandoned == 0;
  if (MPI_Iallreduce(&votes[0], &votes[1], 1, MPI_INT, MPI_MIN, ctx->comm, &request)) return 0;
  grove_pause_begin(&pause, 0);
  while (!done && !grove_pause_expired(&pause, PATIENCE_SECONDS)) {
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE)) return 0;
    grove_pause_step(&pause);
  }
  int idle = done && votes[1];
  if (done) free(votes);
  return idle;
}

static void close_depot(grove_context *ctx)
{
  grove_depot *depot = ctx->depot;
  int many = grove_graphs_count(depot->graphs) + grove_windows_count(depot->windows);
  if (many > 0 && !grove_mpi_is_gone() && !ctx->broken && all_are_idle(ctx)) {
    if (depot->graphs) grove_graphs_sweep(ctx, depot->graphs);
    grove_windows_free(&depot->windows);
  }
  grove_windows_leave(&depot->windows);
  grove_graphs_free(&depot->graphs);
  free(depot);
  ctx->depot = NULL;
}

grove_status grove_depot_open(grove_context *ctx, grove_depot **out)
{
  grove_status status = GROVE_OK;
  if (!ctx->depot) {
    GROVE_NEW(ctx->depot, 1);
    ctx->close_depot = close_depot;
  }
  *out = ctx->depot;
fail:
  return status;
}
