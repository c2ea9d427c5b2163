/* LogGP between nodes over libfabric: trains as in loggp.c, of writes straight into the other
 * rank's memory, as channels are sent. What such a message costs the processor is not told apart.
 * So these numbers are compared with MPI's as a whole.
 *
 * Ranks must not leave a step that others are in. So a network that fails is only noted, and from
 * then on nothing is sent. Then the profile has no rows of it.
 */
#include "measure/probe.h"

#include "transport/ofi_library.h"

#ifdef GROVE_LIBFABRIC

#include "base/pause.h"
#include "transport/ofi_desk.h"

#include <stdlib.h>
#include <string.h>

/* When nothing comes, the network does not work. */
static const double PATIENCE_SECONDS = 10;

struct grove_wire {
  grove_fabric *f;
  grove_fabric_peer *peer;
  grove_fabric_region *into, *from;
  grove_fabric_target target;
  grove_fabric_listener listener;
  uint32_t theirs;
  int64_t wanted;       /* bytes of a message */
  int64_t come, bytes;  /* messages, and bytes of the next one */
  int64_t due;          /* messages that should have come */
  int64_t under_way;    /* bytes */
  grove_status failure; /* from now on nothing is sent */
};

/* What one side tells the other over MPI. */
typedef struct card {
  grove_fabric_address address;
  grove_fabric_target target;
  uint32_t base;
} card;

/* ---- what comes and goes ---- */

static void count_come_message(void *self, int64_t index)
{
  (void)index;
  ((grove_wire *)self)->come++;
}

/* Of providers without writes: the bytes travel in messages, and only count here. */
static void count_come_bytes(void *self, int64_t index, const grove_fabric_note *note,
                             const char *data)
{
  grove_wire *w = self;
  (void)index, (void)data;
  if (note->kind != GROVE_FABRIC_BYTES) return;
  w->bytes += note->word[1];
  if (w->bytes < w->wanted) return;
  w->bytes -= w->wanted;
  w->come++;
}

static void end_wire_write(void *self, grove_status status, int64_t bytes)
{
  grove_wire *w = self;
  w->under_way -= bytes;
  if (status != GROVE_OK) w->failure = status;
}

static grove_status poll_wire(grove_probe *p, grove_pause *pause)
{
  GROVE_PASS(grove_fabric_poll(p->wire->f));
  GROVE_PASS(p->wire->failure);
  GROVE_PASS_CHECK(!grove_pause_expired(pause, PATIENCE_SECONDS), GROVE_ERR_TIMEOUT,
                   "nothing came over libfabric in %g s", PATIENCE_SECONDS);
  grove_context_pause(p->ctx, pause);
  return GROVE_OK;
}

static grove_status write_message(grove_probe *p, int64_t bytes, grove_pause *pause)
{
  grove_wire *w = p->wire;
  int64_t most = grove_fabric_describe(w->f)->largest;
  for (int64_t at = 0, taken; at < bytes; at += taken) {
    const grove_fabric_put put = {.peer = w->peer,
                                  .from = p->send + at,
                                  .source = w->from,
                                  .bytes = bytes - at < most ? bytes - at : most,
                                  .target = &w->target,
                                  .offset = at,
                                  .number = w->theirs,
                                  .done = end_wire_write,
                                  .self = w};
    GROVE_PASS(grove_fabric_write(w->f, &put, &taken));
    w->under_way += taken;
    if (taken == 0) GROVE_PASS(poll_wire(p, pause));
  }
  return GROVE_OK;
}

static grove_status write_train(grove_probe *p, int64_t bytes, int n)
{
  grove_pause pause;
  grove_pause_begin(&pause, p->ctx->spins);
  for (int i = 0; i < n; i++) GROVE_PASS(write_message(p, bytes, &pause));
  while (p->wire->under_way > 0) GROVE_PASS(poll_wire(p, &pause));
  return GROVE_OK;
}

static grove_status await_train(grove_probe *p, int n)
{
  grove_wire *w = p->wire;
  grove_pause pause;
  grove_pause_begin(&pause, p->ctx->spins);
  for (w->due += n; w->come < w->due;) GROVE_PASS(poll_wire(p, &pause));
  return GROVE_OK;
}

/* ---- trains ---- */

static grove_status exchange_trains(grove_probe *p, const grove_pairing *part, int64_t bytes, int n,
                                    int length)
{
  p->wire->wanted = bytes;
  for (int i = 0; i < n; i++) {
    if (part->leads) GROVE_PASS(write_train(p, bytes, length));
    GROVE_PASS(await_train(p, part->leads ? 1 : length));
    if (!part->leads) GROVE_PASS(write_train(p, bytes, 1));
  }
  return GROVE_OK;
}

static grove_status time_fabric_trains(grove_probe *p, const grove_pairing *part, int64_t bytes,
                                       int n, int length, double *seconds)
{
  double begin = grove_clock();
  if (p->wire->failure == GROVE_OK) p->wire->failure = exchange_trains(p, part, bytes, n, length);
  *seconds = grove_clock() - begin;
  return GROVE_OK;
}

static grove_status time_fabric_single(grove_probe *p, const grove_pairing *part, int64_t bytes,
                                       int n, double *seconds)
{
  return time_fabric_trains(p, part, bytes, n, 1, seconds);
}

static grove_status time_fabric_train(grove_probe *p, const grove_pairing *part, int64_t bytes,
                                      int n, double *seconds)
{
  return time_fabric_trains(p, part, bytes, n, GROVE_TRAIN, seconds);
}

/* ---- the two ends ---- */

static grove_status open_wire(grove_probe *p, card *mine)
{
  grove_wire *w = p->wire;
  GROVE_PASS(grove_fabric_of_all(p->ctx, &w->f));
  GROVE_PASS(grove_fabric_register(w->f, p->receive, GROVE_PROBE_BYTES, 1, &w->into));
  GROVE_PASS(grove_fabric_register(w->f, p->send, GROVE_PROBE_BYTES, 0, &w->from));
  w->listener =
    (grove_fabric_listener){.come = count_come_message, .hear = count_come_bytes, .self = w};
  GROVE_PASS(grove_fabric_listen(w->f, &w->listener, 1));
  grove_fabric_tell_address(w->f, &mine->address);
  grove_fabric_tell_region(w->into, &mine->target);
  mine->base = w->listener.base;
  return GROVE_OK;
}

static grove_status exchange_wire_cards(grove_probe *p, int partner, card *mine, card *theirs)
{
  MPI_Request request[2];
  GROVE_PASS_MPI(
    MPI_Irecv(theirs, sizeof *theirs, MPI_BYTE, partner, p->tag, p->ctx->comm, &request[0]));
  GROVE_PASS_MPI(
    MPI_Isend(mine, sizeof *mine, MPI_BYTE, partner, p->tag, p->ctx->comm, &request[1]));
  return grove_probe_finish(p, 2, request);
}

static grove_status reach_wire(grove_wire *w, const card *theirs)
{
  GROVE_PASS(grove_fabric_reach(w->f, &theirs->address, &w->peer));
  w->target = theirs->target;
  w->theirs = theirs->base;
  return GROVE_OK;
}

static void close_wire(grove_wire *w)
{
  if (!w->f) return;
  grove_fabric_leave(w->f, &w->listener);
  grove_fabric_forget(w->f, w);
  grove_fabric_unregister(w->f, &w->into);
  grove_fabric_unregister(w->f, &w->from);
}

/* The first message makes the connection. All ranks learn whether it does. */
static grove_status connect_wire(grove_probe *p, const grove_pairing *part, int *well)
{
  card mine, theirs;
  grove_wire *w = p->wire;
  double failed = 0, seconds;
  memset(&mine, 0, sizeof mine);
  if (part->partner >= 0) w->failure = open_wire(p, &mine);
  if (part->partner >= 0) GROVE_PASS(exchange_wire_cards(p, part->partner, &mine, &theirs));
  failed = w->failure != GROVE_OK;
  GROVE_PASS(grove_probe_meet(p, &failed, 1));
  if (failed == 0 && part->partner >= 0) {
    w->failure = reach_wire(w, &theirs);
    grove_fabric_hurry(w->f, 1);
    GROVE_PASS(time_fabric_single(p, part, 1, 1, &seconds));
    grove_fabric_hurry(w->f, -1);
  }
  failed = failed > 0 || w->failure != GROVE_OK;
  GROVE_PASS(grove_probe_meet(p, &failed, 1));
  *well = failed == 0;
  return GROVE_OK;
}

/* Rows of a network that failed meanwhile go again, and what was said of its times. */
static grove_status measure_wire(grove_probe *p, const grove_pairing *part, double seconds)
{
  const grove_trains trains = {.where = GROVE_OFF_NODE,
                               .L = "fabric-L",
                               .g = "fabric-g",
                               .G = "fabric-G",
                               .whole = 1,
                               .one = time_fabric_single,
                               .many = time_fabric_train};
  int well = 0, before = p->machine->nrows, dropped = p->dropped;
  size_t doubts = strlen(p->doubt);
  double failed = 0;
  GROVE_PASS(connect_wire(p, part, &well));
  if (well) GROVE_PASS(grove_measure_trains(p, part, &trains, seconds));
  failed = !well || p->wire->failure != GROVE_OK;
  GROVE_PASS(grove_probe_meet(p, &failed, 1));
  if (failed == 0) return GROVE_OK;
  grove_machine_cut(p->machine, before);
  p->dropped = dropped;
  p->doubt[doubts] = '\0';
  grove_probe_doubt(p, "libfabric failed");
  return GROVE_OK;
}

grove_status grove_probe_open_fabric(grove_probe *p)
{
  grove_fabric *f = NULL;
  int wanted = p->how->fabric && p->ctx->topo.nnodes > 1;
  return wanted ? grove_fabric_of_all(p->ctx, &f) : GROVE_OK;
}

grove_status grove_measure_fabric(grove_probe *p, double seconds)
{
  grove_status status = GROVE_OK;
  grove_wire w = {0};
  grove_fabric *f = NULL;
  char source[sizeof p->source];
  int one, other;
  if (!p->how->fabric || !grove_probe_pair(p, GROVE_OFF_NODE, &one, &other)) return GROVE_OK;
  grove_probe_announce(p, "libfabric", seconds);
  GROVE_PASS(grove_fabric_of_all(p->ctx, &f)); /* it is open */
  memcpy(source, p->source, sizeof source);
  snprintf(p->source, sizeof p->source, "%.20s over %.36s", source,
           grove_fabric_describe(f)->provider);
  grove_pairing part = grove_probe_only(p, one, other);
  p->wire = &w;
  status = measure_wire(p, &part, seconds);
  close_wire(&w);
  p->wire = NULL;
  memcpy(p->source, source, sizeof source);
  return status;
}

#else

grove_status grove_probe_open_fabric(grove_probe *p)
{
  return p->how->fabric ? grove_ofi_open() : GROVE_OK;
}

grove_status grove_measure_fabric(grove_probe *p, double seconds)
{
  (void)p, (void)seconds;
  return GROVE_OK;
}

#endif
