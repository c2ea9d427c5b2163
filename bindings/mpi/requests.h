/* Requests that are Grove's. Each has a request of MPI's for a handle: a persistent one that is
 * never started, so that it is inactive for MPI, and no other has its value. A table leads from
 * there to the operation. Functions on requests look there only while some are in use.
 */
#ifndef GROVE_MPI_REQUESTS_H
#define GROVE_MPI_REQUESTS_H

#include "preload.h"

#include <stdatomic.h>

struct grove_pre_flight;

typedef struct grove_pre_request {
  MPI_Request handle;
  atomic_int used;
  grove_op *op;                    /* NULL: of MPI_PROC_NULL */
  struct grove_pre_flight *flight; /* of a collective: what it does beside the operation, or NULL */
  grove_pre_held *held;            /* NULL: its communicator has gone */
  MPI_Comm comm;
  int persistent, polled; /* it goes on only if somebody polls */
  grove_pre_call call;
  int64_t starts;
  int parts, receives, peer, tag;
  int64_t bytes;
  int active, moved, complete; /* started; its operation is through; it is done, and not yet told */
  struct grove_pre_request *next, *spare_next;
  struct grove_pre_request *active_next, **active_at; /* of those that are active */
} grove_pre_request;

/* How many there are: 0 in programs that make none. */
extern atomic_int grove_pre_request_count;

/* Takes over the operation. NULL where memory lacks. Local. */
grove_pre_request *grove_pre_request_add(grove_pre_held *h, grove_op *op, MPI_Request *handle);
/* NULL: it is MPI's. Any thread. */
grove_pre_request *grove_pre_request_find(MPI_Request handle);
/* The same, for functions on requests: NULL also where the caller is Grove. */
grove_pre_request *grove_pre_request_mine(MPI_Request handle);
/* Whether a list needs a look: one is Grove's, or Grove must be polled meanwhile. */
int grove_pre_any_mine(int n, const MPI_Request *handles);

/* Its operation was started. */
void grove_pre_request_begun(grove_pre_request *r);
/* Whether it is done, without telling: it stays active. */
int grove_pre_request_look(grove_pre_request *r, int *error);
/* It is done: tells so. If it is not persistent it goes. */
void grove_pre_request_finish(grove_pre_request *r, MPI_Request *handle, MPI_Status *status);

/* Whether some are active that go on only if somebody polls: then functions that wait must do so.
 * Not with MPI_THREAD_MULTIPLE, where Grove has a thread for it. */
int grove_pre_busy(void);
void grove_pre_poll(void);
/* A rank that has waited for a while may keep the core from the one that it waits for. */
void grove_pre_give_way(int turn);
/* Waits for a request of MPI's, and polls. */
int grove_pre_wait(MPI_Request *request, MPI_Status *status);
/* The same from where no function of Grove is under way, though grove_pre_inside is set. */
void grove_pre_wait_between(MPI_Request *request);

/* ---- flight.c ---- */

/* Before the operation starts: packs. */
void grove_pre_flight_start(struct grove_pre_flight *f);
/* After the operation is done: unpacks, when all that does not go with it is there too. Returns
 * whether it is. */
int grove_pre_flight_land(struct grove_pre_flight *f);
void grove_pre_flight_free(struct grove_pre_flight **f);

#endif
