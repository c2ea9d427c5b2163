/* The ends of letters over libfabric meet when a carriage is made. Two ranks that have a message
 * for each other, in either direction, say *hello* over MPI: where a rank can be reached, and
 * which tag its messages shall have. Then they *greet* each other over libfabric, with one byte
 * each. So all connections are there before the first letter, and a network that does not reach a
 * rank is found when the operation is made.
 */
#ifdef GROVE_LIBFABRIC

#include "transport/ofi_meet.h"

#include "transport/ofi_desk.h"
#include "transport/ofi_tagged.h"

#include <limits.h>
#include <stdlib.h>

/* What one rank tells another over MPI. */
typedef struct hello {
  grove_fabric_address address;
  uint64_t tag;      /* of messages to who says this, */
  uint64_t greeting; /* and of the greeting */
  int64_t chunk;
} hello;

/* A byte to a rank, or from there. */
typedef struct greeting {
  grove_fabric_tagged t;
  int is_taken, has_ended, error;
  char byte;
} greeting;

typedef struct neighbour {
  int rank, receive, send; /* numbers of messages, or -1 */
  grove_fabric *f;
  grove_fabric_peer *peer;
  hello mine, theirs;
  greeting in, out;
  struct fid_mr *mr; /* of this, if the provider must know what it sends from */
  void *describes;
  grove_status refusal;
  MPI_Request requests[2];
} neighbour;

static void end_greeting(grove_fabric_tagged *t, int error, int64_t bytes)
{
  greeting *g = (greeting *)t;
  (void)bytes;
  g->has_ended = 1;
  g->error = error;
}

/* ---- who ---- */

static grove_status prepare_hello(const grove_carriage *a, neighbour *k)
{
  const grove_fabric_about *about = grove_fabric_describe(k->f);
  grove_fabric_tell_address(k->f, &k->mine.address);
  k->mine.tag = grove_fabric_take_tag(k->f);
  k->mine.greeting = grove_fabric_take_tag(k->f);
  k->mine.chunk = about->largest < a->chunk ? about->largest : a->chunk;
  k->in.t.ended = k->out.t.ended = end_greeting;
  k->requests[0] = k->requests[1] = MPI_REQUEST_NULL;
  if (!about->registers_sources) return GROVE_OK;
  GROVE_PASS(
    grove_fabric_register_at(k->f, &k->f->ends[0], k, sizeof *k, FI_SEND | FI_RECV, &k->mr));
  k->describes = fi_mr_desc(k->mr);
  return GROVE_OK;
}

/* Both lists of messages ascend. */
static grove_status list_neighbours(const grove_carriage *a, grove_fabric *f, neighbour **out,
                                    int *n)
{
  int in = 0, to = a->nreceives;
  neighbour *list = NULL;
  GROVE_PASS_NEW(list, a->n);
  *out = list;
  while (in < a->nreceives || to < a->n) {
    int from = in < a->nreceives ? a->messages[in].peer : INT_MAX;
    int next = to < a->n ? a->messages[to].peer : INT_MAX;
    neighbour *k = &list[(*n)++];
    k->f = f;
    k->rank = from < next ? from : next;
    k->receive = from <= next ? in++ : -1;
    k->send = next <= from ? to++ : -1;
    GROVE_PASS(prepare_hello(a, k));
  }
  return GROVE_OK;
}

/* ---- hello ---- */

static grove_status exchange_hellos(const grove_carriage *a, neighbour *list, int n)
{
  MPI_Comm comm = a->ctx->comm;
  for (neighbour *k = list; k < list + n; k++) {
    GROVE_PASS_MPI(
      MPI_Irecv(&k->theirs, sizeof k->theirs, MPI_BYTE, k->rank, a->tag, comm, &k->requests[0]));
    GROVE_PASS_MPI(
      MPI_Isend(&k->mine, sizeof k->mine, MPI_BYTE, k->rank, a->tag, comm, &k->requests[1]));
  }
  for (neighbour *k = list; k < list + n; k++)
    for (int i = 0; i < 2; i++) GROVE_PASS(grove_context_wait(a->ctx, &k->requests[i]));
  return GROVE_OK;
}

static grove_status keep_end(const grove_carriage *a, neighbour *k, grove_ofi_end *ends)
{
  int64_t chunk = k->mine.chunk < k->theirs.chunk ? k->mine.chunk : k->theirs.chunk;
  grove_status status = grove_fabric_reach(k->f, &k->theirs.address, &k->peer);
  if (status != GROVE_OK) {
    char why[GROVE_SENTENCE_BYTES / 2];
    grove_copy_text(why, sizeof why, grove_last_error());
    return grove_error(status, __FILE__, __LINE__, "rank %d, to rank %d: %s", a->ctx->rank, k->rank,
                       why);
  }
  if (k->receive >= 0) ends[k->receive] = (grove_ofi_end){k->peer, k->mine.tag, chunk};
  if (k->send >= 0) ends[k->send] = (grove_ofi_end){k->peer, k->theirs.tag, chunk};
  return GROVE_OK;
}

/* ---- greetings ---- */

/* How long to wait for them, where the option `timeout` does not say. */
static const double GREETING_SECONDS = 60;

/* Hands over what libfabric would not take before. */
static grove_status offer_greetings(neighbour *k)
{
  greeting *in = &k->in, *out = &k->out;
  if (!in->is_taken)
    GROVE_PASS(grove_fabric_receive(k->f, k->mine.greeting, &in->byte, 1, k->describes, &in->t,
                                    &in->is_taken));
  if (!out->is_taken)
    GROVE_PASS(grove_fabric_send(k->f, k->peer, k->theirs.greeting, &out->byte, 1, k->describes,
                                 &out->t, &out->is_taken));
  int error = in->error ? in->error : out->error;
  GROVE_PASS_CHECK(!error, GROVE_ERR_SYSTEM, "libfabric's %s does not reach rank %d: %s",
                   grove_fabric_describe(k->f)->provider, k->rank, grove_ofi.fi_strerror(error));
  return GROVE_OK;
}

static int is_silent(const neighbour *k)
{
  return k->refusal == GROVE_OK && !(k->in.has_ended && k->out.has_ended);
}

/* How many have not answered; `missing` names them. */
static int count_silent(const neighbour *list, int n, grove_rank_list *missing)
{
  *missing = (grove_rank_list){0};
  for (const neighbour *k = list; k < list + n; k++)
    if (is_silent(k)) grove_rank_list_add(missing, k->rank);
  return missing->n;
}

/* One that cannot be reached does not keep the others from being greeted. */
static grove_status exchange_greetings(const grove_carriage *a, neighbour *list, int n)
{
  grove_context *ctx = a->ctx;
  grove_status status = GROVE_OK;
  grove_rank_list missing;
  grove_pause pause;
  double limit = ctx->options.timeout_seconds > 0 ? ctx->options.timeout_seconds : GREETING_SECONDS;
  grove_pause_begin(&pause, ctx->spins);
  while (count_silent(list, n, &missing) > 0) {
    for (neighbour *k = list; k < list + n; k++) {
      if (is_silent(k)) k->refusal = offer_greetings(k);
      if (k->refusal != GROVE_OK) status = k->refusal;
    }
    grove_fabrics_poll(ctx);
    GROVE_PASS_CHECK(!grove_pause_expired(&pause, limit), GROVE_ERR_TIMEOUT,
                     "rank %d: in %g s libfabric's %s has not reached rank%s %s", ctx->rank, limit,
                     grove_fabric_describe(list->f)->provider, missing.n > 1 ? "s" : "",
                     missing.text);
    grove_context_progress(ctx);
    grove_context_nudge(ctx);
    grove_context_pause(ctx, &pause);
  }
  return status;
}

/* ---- the whole ---- */

/* What MPI or libfabric may still write to stays. */
static void free_neighbours(neighbour *list, int n)
{
  for (const neighbour *k = list; k < list + n; k++) {
    if (k->requests[0] != MPI_REQUEST_NULL || k->requests[1] != MPI_REQUEST_NULL) return;
    if (k->in.is_taken != k->in.has_ended || k->out.is_taken != k->out.has_ended) return;
  }
  for (neighbour *k = list; k < list + n; k++) grove_fabric_unregister_at(&k->mr);
  free(list);
}

grove_status grove_ofi_meet(const grove_carriage *a, grove_status mine, grove_fabric *f,
                            grove_ofi_end *ends)
{
  grove_status status = GROVE_OK;
  neighbour *list = NULL;
  int n = 0, nknown = 0;
  if (mine == GROVE_OK && a->n > 0) mine = list_neighbours(a, f, &list, &n);
  GROVE_TRY(grove_context_agree(a->ctx, mine, NULL, 0));
  mine = exchange_hellos(a, list, n);
  while (mine == GROVE_OK && nknown < n) mine = keep_end(a, &list[nknown++], ends);
  GROVE_TRY(grove_context_agree(a->ctx, mine, NULL, 0));
  mine = exchange_greetings(a, list, n);
  GROVE_TRY(grove_context_agree(a->ctx, mine, NULL, 0));
fail:
  free_neighbours(list, n);
  return status;
}

#endif
