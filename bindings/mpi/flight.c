/* A call that has begun. What it does beside Grove's operation: it packs and unpacks, where blocks
 * are not plain or are not those of the pattern, and it has messages of MPI's between two ranks for
 * blocks with other numbers of bytes (see move.c).
 */
#include "requests.h"

#include <stdlib.h>

typedef struct grove_pre_flight {
  grove_pre_pattern *pattern;     /* it is one of its users */
  grove_pre_side *send, *receive; /* NULL: as in the pattern, where they lie */
  char *output_stage, *input_stage;
  MPI_Request *others;
  int nothers;
} flight;

static void out_of_memory(void)
{
  fputs("libgrove_mpi: no memory for a call that begins\n", stderr);
  PMPI_Abort(MPI_COMM_WORLD, 1); /* the others wait for this rank's blocks */
}

void grove_pre_flight_free(flight **f)
{
  flight *g = *f;
  if (!g) return;
  for (int i = 0; i < g->nothers; i++)
    if (g->others[i] != MPI_REQUEST_NULL) PMPI_Request_free(&g->others[i]);
  free(g->others);
  free(g->output_stage);
  free(g->input_stage);
  grove_pre_side_release(&g->send);
  grove_pre_side_release(&g->receive);
  grove_pre_pattern_free(&g->pattern);
  free(g);
  *f = NULL;
}

void grove_pre_flight_start(flight *f)
{
  if (f->send) grove_pre_pack(f->pattern, f->send, f->output_stage);
}

int grove_pre_flight_land(flight *f)
{
  int all = 1;
  if (f->nothers > 0) PMPI_Testall(f->nothers, f->others, &all, MPI_STATUSES_IGNORE);
  if (all && f->receive) grove_pre_unpack(f->pattern, f->receive, f->input_stage);
  return all;
}

/* With stages for the sides that are not plain. */
static flight *create(grove_pre_pattern *p, const grove_pre_side *send, int send_plain,
                      const grove_pre_side *receive, int receive_plain)
{
  flight *f = calloc(1, sizeof *f);
  if (!f) return NULL;
  f->pattern = p;
  if (!send_plain) {
    f->send = grove_pre_side_keep(send);
    f->output_stage = calloc((size_t)p->output_span + 1, 1);
    if (!f->send || !f->output_stage) goto fail;
  }
  if (!receive_plain) {
    f->receive = grove_pre_side_keep(receive);
    f->input_stage = malloc((size_t)p->input_span + 1);
    if (!f->receive || !f->input_stage) goto fail;
  }
  return f;
fail:
  f->pattern = NULL;
  grove_pre_flight_free(&f);
  return NULL;
}

static const void *roots_of(const flight *f, const grove_pre_side *send)
{
  return f->send ? f->output_stage : (const char *)send->buffer + f->pattern->output_low;
}

static void *leaves_of(const flight *f, const grove_pre_side *receive)
{
  return f->receive ? f->input_stage : (char *)receive->buffer + f->pattern->input_low;
}

static void begin_others(grove_pre_held *h, flight *f, const grove_pre_side *send,
                         const grove_pre_side *receive)
{
  f->others = malloc(((size_t)send->n + (size_t)receive->n + 1) * sizeof *f->others);
  if (!f->others) out_of_memory();
  f->nothers = grove_pre_receive_others(h, f->pattern, receive, f->others);
  f->nothers += grove_pre_send_others(h, f->pattern, send, f->others + f->nothers);
}

int grove_pre_fly(grove_pre_held *h, grove_pre_pattern *p, const grove_pre_side *send,
                  const grove_pre_side *receive, int *other, MPI_Request *request)
{
  int send_plain = p->output && grove_pre_side_same(send, p->output);
  int receive_plain = p->input && grove_pre_side_same(receive, p->input);
  grove_op *op = NULL;
  flight *f = create(p, send, send_plain, receive, receive_plain);
  if (!f) out_of_memory();
  p->users++;
  *other = (p->output && !send_plain) || (p->input && !receive_plain) ||
           !grove_pre_side_same_bytes(send, p->output_bytes) ||
           !grove_pre_side_same_bytes(receive, p->input_bytes);
  if (*other) begin_others(h, f, send, receive);
  grove_pre_flight_start(f);
  grove_status status = grove_bcast_begin(p->forest, p->unit, roots_of(f, send),
                                          leaves_of(f, receive), MPI_REPLACE, &op);
  if (status) {
    grove_pre_flight_free(&f);
    return grove_pre_error(h->comm, "a neighbourhood collective");
  }
  grove_pre_request *r = grove_pre_request_add(h, op, request);
  if (!r) out_of_memory();
  r->flight = f;
  r->polled = 1;
  grove_pre_request_begun(r);
  return MPI_SUCCESS;
}

/* ---- at every start ---- */

/* What makes a start of MPI's requests alone: no other rank has to do anything but start. */
static const char *const by_mpi[][2] = {{"route", "standard"},
                                        {"transport_on_node", "mpi"},
                                        {"transport_off_node", "p2p"},
                                        {"effort", "estimate"}};

enum { KEYS = sizeof by_mpi / sizeof by_mpi[0], LONGEST = 64 };

grove_status grove_pre_bcast_init(grove_pre_held *h, const grove_pre_pattern *p, const void *roots,
                                  void *leaves, grove_op **op)
{
  char old[KEYS][LONGEST];
  int set = 0;
  grove_status status = GROVE_OK;
  if (grove_pre_polite())
    return grove_bcast_init(p->forest, p->unit, roots, leaves, MPI_REPLACE, op);
  for (; !status && set < KEYS; set++) {
    status = grove_context_get(h->ctx, by_mpi[set][0], old[set], LONGEST);
    if (!status) status = grove_context_set(h->ctx, by_mpi[set][0], by_mpi[set][1]);
    if (status) break;
  }
  if (!status) status = grove_bcast_init(p->forest, p->unit, roots, leaves, MPI_REPLACE, op);
  while (set-- > 0) grove_context_set(h->ctx, by_mpi[set][0], old[set]);
  return status;
}

int grove_pre_fly_often(grove_pre_held *h, grove_pre_call call, grove_pre_pattern **p,
                        const grove_pre_side *send, const grove_pre_side *receive,
                        MPI_Request *request)
{
  grove_op *op = NULL;
  grove_pre_pattern *q = *p;
  flight *f = create(q, send, q->output != NULL, receive, q->input != NULL);
  if (!f) out_of_memory();
  *p = NULL;
  if (grove_pre_bcast_init(h, q, roots_of(f, send), leaves_of(f, receive), &op)) {
    grove_pre_flight_free(&f);
    return grove_pre_error(h->comm, grove_pre_call_name[call]);
  }
  grove_pre_request *r = grove_pre_request_add(h, op, request);
  if (!r) out_of_memory();
  r->flight = f;
  r->call = call;
  r->starts = 0;
  r->persistent = 1;
  r->polled = grove_pre_polite();
  return MPI_SUCCESS;
}
