/* The table of requests that are Grove's, and MPI's functions on one of them. */
#include "requests.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1024 };

atomic_int grove_pre_request_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of those who add and remove */
static _Atomic(grove_pre_request *) buckets[BUCKETS];    /* what is in a chain stays in it */
static grove_pre_request *active; /* those that must be polled; of the one thread that may */
static grove_pre_request *spare;  /* of no call, with a handle to give */

/* ---- the table ---- */

static uintptr_t key_of(MPI_Request handle)
{
  uintptr_t key = 0;
  memcpy(&key, &handle, sizeof handle);
  return key;
}

static _Atomic(grove_pre_request *) *bucket_of(uintptr_t key)
{
  return &buckets[(key >> 4 ^ key) * 2654435761u % BUCKETS];
}

static int in_use(const grove_pre_request *r)
{
  return atomic_load_explicit(&r->used, memory_order_acquire);
}

grove_pre_request *grove_pre_request_find(MPI_Request handle)
{
  uintptr_t key = key_of(handle);
  grove_pre_request *r = atomic_load_explicit(bucket_of(key), memory_order_acquire);
  while (r && (r->handle != handle || !in_use(r))) r = r->next;
  return r;
}

/* With a handle that it keeps until the end: MPI gives it to nobody else. */
static grove_pre_request *make(void)
{
  grove_pre_request *r = calloc(1, sizeof *r);
  if (!r) return NULL;
  if (PMPI_Recv_init(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &r->handle)) {
    free(r);
    return NULL;
  }
  _Atomic(grove_pre_request *) *bucket = bucket_of(key_of(r->handle));
  r->next = atomic_load(bucket);
  atomic_store_explicit(bucket, r, memory_order_release);
  return r;
}

grove_pre_request *grove_pre_request_add(grove_pre_held *h, grove_op *op, MPI_Request *handle)
{
  pthread_mutex_lock(&lock);
  grove_pre_request *r = spare;
  if (r)
    spare = r->spare_next;
  else
    r = make();
  if (r) {
    r->op = op;
    r->held = h;
    r->comm = h->comm;
    r->active = r->complete = r->persistent = r->polled = r->parts = r->receives = 0;
    r->flight = NULL;
    *handle = r->handle;
    atomic_store_explicit(&r->used, 1, memory_order_release);
    atomic_fetch_add(&grove_pre_request_count, 1);
  }
  pthread_mutex_unlock(&lock);
  return r;
}

static void take_away(grove_pre_request *r)
{
  pthread_mutex_lock(&lock);
  atomic_store(&r->used, 0);
  r->spare_next = spare;
  spare = r;
  atomic_fetch_sub(&grove_pre_request_count, 1);
  pthread_mutex_unlock(&lock);
}

void grove_pre_requests_free(void)
{
  for (; spare; spare = spare->spare_next) PMPI_Request_free(&spare->handle);
}

/* They may outlive their communicator. Errors then are those of the process. */
void grove_pre_requests_leave(grove_pre_held *h)
{
  if (atomic_load(&grove_pre_request_count) == 0) return;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < BUCKETS; i++)
    for (grove_pre_request *r = atomic_load(&buckets[i]); r; r = r->next)
      if (in_use(r) && r->held == h) {
        r->held = NULL;
        r->comm = MPI_COMM_SELF;
      }
  pthread_mutex_unlock(&lock);
}

grove_pre_request *grove_pre_request_mine(MPI_Request handle)
{
  if (atomic_load_explicit(&grove_pre_request_count, memory_order_relaxed) == 0 || grove_pre_inside)
    return NULL;
  return handle == MPI_REQUEST_NULL ? NULL : grove_pre_request_find(handle);
}

int grove_pre_busy(void)
{
  return active && !grove_pre_inside;
}

int grove_pre_any_mine(int n, const MPI_Request *handles)
{
  if (atomic_load_explicit(&grove_pre_request_count, memory_order_relaxed) == 0 || grove_pre_inside)
    return 0;
  if (active) return 1;
  for (int i = 0; i < n; i++)
    if (grove_pre_request_mine(handles[i])) return 1;
  return 0;
}

/* ---- one request ---- */

static int fail(const grove_pre_request *r, const char *call)
{
  return grove_pre_error(r->comm, call);
}

static void put_among_active(grove_pre_request *r)
{
  r->active = 1;
  if (!r->polled) return;
  r->active_next = active;
  r->active_at = &active;
  if (active) active->active_at = &r->active_next;
  active = r;
}

static void take_from_active(grove_pre_request *r)
{
  if (!r->active) return;
  r->active = 0;
  if (!r->polled) return;
  *r->active_at = r->active_next;
  if (r->active_next) r->active_next->active_at = r->active_at;
}

void grove_pre_request_begun(grove_pre_request *r)
{
  r->starts++;
  put_among_active(r);
  r->moved = 0;
  r->complete = !r->op;
}

static int start(grove_pre_request *r)
{
  grove_status status = GROVE_OK;
  grove_pre_inside++;
  if (r->flight) grove_pre_flight_start(r->flight);
  if (r->op) status = grove_start(r->op);
  grove_pre_inside--;
  if (status) return fail(r, "MPI_Start");
  grove_pre_request_begun(r);
  return MPI_SUCCESS;
}

int grove_pre_request_look(grove_pre_request *r, int *error)
{
  grove_status status = GROVE_OK;
  if (!r->active || r->complete) return 1;
  grove_pre_inside++;
  if (!r->moved) status = grove_test(r->op, &r->moved);
  if (status) *error = fail(r, "MPI_Test");
  r->complete = status || (r->moved && (!r->flight || grove_pre_flight_land(r->flight)));
  grove_pre_inside--;
  return r->complete;
}

static void set_status(const grove_pre_request *r, int told, MPI_Status *status)
{
  if (status == MPI_STATUS_IGNORE) return;
  int received = told && r->receives;
  status->MPI_SOURCE = received ? r->peer : MPI_ANY_SOURCE;
  status->MPI_TAG = received ? r->tag : MPI_ANY_TAG;
  status->MPI_ERROR = MPI_SUCCESS;
  PMPI_Status_set_elements_x(status, MPI_BYTE, received ? (MPI_Count)r->bytes : 0);
  PMPI_Status_set_cancelled(status, 0);
}

/* What it has is freed, and its handle is null. */
static int end(grove_pre_request *r, MPI_Request *handle)
{
  grove_pre_inside++;
  grove_status failed = r->persistent ? grove_op_free(&r->op) : grove_end(&r->op);
  if (failed && !r->persistent) grove_op_free(&r->op);
  grove_pre_flight_free(&r->flight);
  grove_pre_inside--;
  int error = failed ? fail(r, "MPI_Request_free") : MPI_SUCCESS;
  take_from_active(r);
  take_away(r);
  *handle = MPI_REQUEST_NULL;
  return error;
}

void grove_pre_request_finish(grove_pre_request *r, MPI_Request *handle, MPI_Status *status)
{
  set_status(r, r->active, status);
  take_from_active(r);
  r->complete = 0;
  if (!r->persistent) end(r, handle);
}

void grove_pre_poll(void)
{
  int error; /* the handler was called */
  if (!grove_pre_inside)
    for (grove_pre_request *r = active; r; r = r->active_next) grove_pre_request_look(r, &error);
}

void grove_pre_give_way(int turn)
{
  if (turn > 100) sched_yield();
}

int grove_pre_wait(MPI_Request *request, MPI_Status *status)
{
  int flag = 0, error = MPI_SUCCESS;
  for (int turn = 0; !flag && error == MPI_SUCCESS; turn++) {
    grove_pre_poll();
    error = PMPI_Test(request, &flag, status);
    grove_pre_give_way(turn);
  }
  return error;
}

void grove_pre_wait_between(MPI_Request *request)
{
  int inside = grove_pre_inside;
  grove_pre_inside = 0;
  grove_pre_wait(request, MPI_STATUS_IGNORE);
  grove_pre_inside = inside;
}

int grove_pre_bcast(grove_pre_held *h, const grove_pre_pattern *p, const void *roots, void *leaves)
{
  grove_op *op = NULL;
  int done = 0;
  if (!active) {
    if (!grove_bcast(p->forest, p->unit, roots, leaves, MPI_REPLACE)) return MPI_SUCCESS;
    return grove_pre_error(h->comm, "a neighbourhood collective");
  }
  grove_status status = grove_bcast_begin(p->forest, p->unit, roots, leaves, MPI_REPLACE, &op);
  for (int turn = 0; !status && !done; turn++) {
    int error; /* the handler was called */
    status = grove_test(op, &done);
    for (grove_pre_request *r = active; r; r = r->active_next) grove_pre_request_look(r, &error);
    grove_pre_give_way(turn);
  }
  if (op) status = grove_end(&op);
  return status ? grove_pre_error(h->comm, "a neighbourhood collective") : MPI_SUCCESS;
}

void grove_pre_agree(MPI_Comm comm, void *values, int n, MPI_Datatype type)
{
  MPI_Request request;
  if (!grove_pre_polite()) {
    PMPI_Allreduce(MPI_IN_PLACE, values, n, type, MPI_MAX, comm);
    return;
  }
  PMPI_Iallreduce(MPI_IN_PLACE, values, n, type, MPI_MAX, comm, &request);
  grove_pre_wait_between(&request);
}

/* Grove's own wait advances one context. Others may wait for what goes through another one. */
static int wait_for(grove_pre_request *r, MPI_Request *handle, MPI_Status *status)
{
  int error = MPI_SUCCESS;
  int alone = !active || (r == active && !r->active_next);
  if (r->active && !r->complete && !r->moved && alone) {
    grove_pre_inside++;
    grove_status failed = grove_wait(r->op);
    grove_pre_inside--;
    if (failed) error = fail(r, "MPI_Wait");
    r->moved = 1;
    r->complete = failed != GROVE_OK;
  }
  for (int turn = 0; !grove_pre_request_look(r, &error); turn++) {
    grove_pre_poll();
    grove_pre_give_way(turn);
  }
  grove_pre_request_finish(r, handle, status);
  return error;
}

/* ---- start, wait, test ---- */

GROVE_API int MPI_Start(MPI_Request *request)
{
  grove_pre_request *r = grove_pre_request_mine(*request);
  return r ? start(r) : PMPI_Start(request);
}

GROVE_API int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
  grove_pre_request *r = grove_pre_request_mine(*request);
  if (!r) return grove_pre_busy() ? grove_pre_wait(request, status) : PMPI_Wait(request, status);
  return wait_for(r, request, status);
}

GROVE_API int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
  grove_pre_request *r = grove_pre_request_mine(*request);
  int error = MPI_SUCCESS;
  grove_pre_poll();
  if (!r) return PMPI_Test(request, flag, status);
  *flag = grove_pre_request_look(r, &error);
  if (*flag) grove_pre_request_finish(r, request, status);
  return error;
}

GROVE_API int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
  grove_pre_request *r = grove_pre_request_mine(request);
  int error = MPI_SUCCESS;
  grove_pre_poll();
  if (!r) return PMPI_Request_get_status(request, flag, status);
  *flag = grove_pre_request_look(r, &error);
  if (*flag) set_status(r, r->active, status);
  return error;
}

GROVE_API int MPI_Request_free(MPI_Request *request)
{
  grove_pre_request *r = grove_pre_request_mine(*request);
  if (!r) return PMPI_Request_free(request);
  if (r->persistent && r->flight && r->held) grove_pre_init_freed(r->held, r->call, r->starts);
  return end(r, request);
}

/* Neither a collective nor a partitioned message can be taken back. */
GROVE_API int MPI_Cancel(MPI_Request *request)
{
  return grove_pre_request_mine(*request) ? MPI_SUCCESS : PMPI_Cancel(request);
}
