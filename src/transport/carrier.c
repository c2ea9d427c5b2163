#include "transport/carrier.h"

#include "transport/mpi_neighbor.h"
#include "transport/mpi_p2p.h"
#include "transport/mpi_rma.h"
#include "transport/ofi_letters.h"
#include "transport/shm.h"

#include <stdlib.h>
#include <string.h>

/* ---- the kinds ---- */

static const grove_carrier_kind *const off_node[] = {
  [GROVE_OFF_NODE_AUTO] = &grove_carrier_p2p,          [GROVE_OFF_NODE_P2P] = &grove_carrier_p2p,
  [GROVE_OFF_NODE_NEIGHBOR] = &grove_carrier_neighbor, [GROVE_OFF_NODE_RMA] = &grove_carrier_rma,
  [GROVE_OFF_NODE_OFI] = &grove_carrier_ofi,
};

int grove_carrier_kinds(const grove_context *ctx, const grove_carrier_kind **kinds)
{
  int n = 0;
  if (ctx->shares_node && ctx->options.transport_on_node == GROVE_ON_NODE_SHM)
    kinds[n++] = &grove_carrier_shm;
  kinds[n++] = off_node[ctx->options.transport_off_node];
  return n;
}

/* ---- for kinds that do not need a function ---- */

grove_status grove_carrier_go_nowhere(grove_carrier *c)
{
  (void)c;
  return GROVE_OK;
}

grove_status grove_carrier_let_come(grove_carrier *c, int i, double timeout)
{
  (void)c, (void)i, (void)timeout;
  return GROVE_OK;
}

static grove_status refuse_message(const grove_carrier *c, const char *what)
{
  return grove_error(GROVE_ERR_UNSUPPORTED, __FILE__, __LINE__, "a message by %s cannot be %s",
                     c->kind->name, what);
}

grove_status grove_carrier_no_part(grove_carrier *c, int i, int64_t begin, int64_t end)
{
  (void)i, (void)begin, (void)end;
  return refuse_message(c, "sent in parts");
}

grove_status grove_carrier_no_withdraw(grove_carrier *c, int i, double timeout, int *withdrawn)
{
  (void)i, (void)timeout, (void)withdrawn;
  return refuse_message(c, "withdrawn");
}

grove_status grove_carrier_no_repost(grove_carrier *c, int i)
{
  (void)i;
  return refuse_message(c, "posted again");
}

/* ---- all kinds ---- */

static grove_status make_common(grove_context *ctx, const grove_carriage_request *about,
                                grove_carriage **out)
{
  grove_carriage *a = NULL;
  GROVE_PASS_CHECK(!about->kind->fast, GROVE_ERR_UNSUPPORTED, "%s has rings, and no carriage",
                   about->kind->name);
  GROVE_PASS_CHECK(about->messages, GROVE_ERR_MEMORY, "no memory for %d messages",
                   about->nreceives + about->nsends);
  GROVE_PASS_NEW(a, 1);
  *out = a;
  *a = (grove_carriage){.ctx = ctx,
                        .kind = about->kind,
                        .tag = about->tag,
                        .answer_tag = about->answer_tag,
                        .persistent = about->persistent,
                        .chunk = about->chunk,
                        .nreceives = about->nreceives,
                        .n = about->nreceives + about->nsends};
  GROVE_PASS_NEW_ALL(GROVE_WISH(a->messages, a->n), GROVE_WISH(a->turns, a->n));
  for (int i = 0; i < a->n; i++) a->turns[i] = 1;
  memcpy(a->messages, about->messages, (size_t)a->n * sizeof *a->messages);
  return GROVE_OK;
}

grove_status grove_carriage_create(grove_context *ctx, const grove_carriage_request *about,
                                   grove_carriage **out)
{
  grove_status status = GROVE_OK;
  grove_carriage *a = NULL;
  grove_status mine = make_common(ctx, about, &a);
  if (about->kind->collective)
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
  free(a->messages); /* and turns */
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

/* How long to wait for ranks that give up their context later than this one. */
static const double PATIENCE_SECONDS = 10;

/* Are all ranks here, with nothing under way? When the patience ends, memory that MPI may still
 * write to is left alone. */
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
    if (ctx->depot->has_letters) grove_letters_poll(ctx);
    grove_pause_step(&pause);
  }
  ctx->broken |= !done; /* the communicator has to stay, with what the others may yet send */
  int idle = done && votes[1];
  if (done) free(votes);
  return idle;
}

static void close_depot(grove_context *ctx)
{
  grove_depot *depot = ctx->depot;
  int many =
    grove_graphs_count(depot->graphs) + grove_windows_count(depot->windows) + depot->has_letters;
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
  if (!ctx->depot) {
    GROVE_PASS_NEW(ctx->depot, 1);
    ctx->close_depot = close_depot;
  }
  *out = ctx->depot;
  return GROVE_OK;
}
