#include "smpi.h"

#include <malloc.h>
#include <string.h>

/* Globals are a rank's own: SMPI loads the program once for every rank. */

enum { PROBE_NANOSECONDS = 200 }; /* simulated, between two looks for messages of unknown senders */
enum { STEP_TAG = 999999 };       /* SMPI's largest; Grove hands tags out from below */

/* Ranks that meet have all heard of it by then. */
static const double MEETING_SECONDS = 0.01;

int smpi_nanosleep(const struct timespec *time, struct timespec *left);

/* ---- requests that were asked for in vain ---- */

static MPI_Request **watched; /* where the caller keeps them */
static MPI_Request *copies;
static int nwatched, room;
static int probed; /* since the last yield: for messages of unknown senders, in vain */
static int moved;  /* since the last yield: something was complete */

/* What a request becomes that completed while the rank slept, until it is asked for again. */
static const MPI_Request THROUGH = (MPI_Request)(uintptr_t)2;

static void watch(MPI_Request *request)
{
  if (nwatched == room) {
    room = 2 * room + 64;
    watched = realloc(watched, (size_t)room * sizeof *watched);
    copies = realloc(copies, (size_t)room * sizeof *copies);
    if (!watched || !copies) abort();
  }
  watched[nwatched++] = request;
}

/* A caller that was given something looks at the rest again before it waits. */
static int note_moved(void)
{
  moved = 1;
  nwatched = 0;
  return 1;
}

int scale_yield(void)
{
  const struct timespec a_moment = {0, PROBE_NANOSECONDS};
  int which = MPI_UNDEFINED;
  if (!moved && !probed && nwatched > 0) {
    for (int i = 0; i < nwatched; i++) copies[i] = *watched[i];
    PMPI_Waitany(nwatched, copies, &which, MPI_STATUS_IGNORE);
  }
  if (which != MPI_UNDEFINED)
    *watched[which] = THROUGH;
  else if (!moved)
    smpi_nanosleep(&a_moment, NULL);
  moved = probed = nwatched = 0;
  return 0;
}

double scale_meet(void)
{
  double now = MPI_Wtime(), latest = 0;
  PMPI_Allreduce(&now, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  double left = latest + MEETING_SECONDS - MPI_Wtime();
  const struct timespec rest = {(time_t)left, (long)(1e9 * (left - (double)(time_t)left))};
  smpi_nanosleep(&rest, NULL);
  return MPI_Wtime();
}

/* ---- collective steps ---- */

typedef struct step {
  MPI_Comm comm;
  int rank, size; /* in a bcast counted from its root */
  int root;
  int reach; /* how far away the partner of this round is */
  char *data, *other;
  int count, bytes;
  MPI_Datatype type;
  MPI_Op op; /* MPI_OP_NULL: a bcast */
  MPI_Request requests[2];
} step;

static int is_step(MPI_Request request)
{
  return ((uintptr_t)request & 1) != 0;
}

static step *step_of(MPI_Request request)
{
  return (step *)((uintptr_t)request & ~(uintptr_t)1);
}

static int peer_of(const step *s, int rank)
{
  return ((rank + s->size) % s->size + s->root) % s->size;
}

/* A round of an agreement: what this rank knows goes `reach` ranks on. */
static void post_agreement(step *s)
{
  PMPI_Irecv(s->other, s->bytes, MPI_BYTE, peer_of(s, s->rank - s->reach), STEP_TAG, s->comm,
             &s->requests[0]);
  PMPI_Isend(s->data, s->bytes, MPI_BYTE, peer_of(s, s->rank + s->reach), STEP_TAG, s->comm,
             &s->requests[1]);
}

/* A round of a bcast: ranks below `reach` have the data, and each tells one that is not. */
static void post_bcast(step *s)
{
  int to = s->rank + s->reach, from = s->rank - s->reach;
  if (s->rank < s->reach && to < s->size)
    PMPI_Isend(s->data, s->bytes, MPI_BYTE, peer_of(s, to), STEP_TAG, s->comm, &s->requests[1]);
  else if (from >= 0 && from < s->reach)
    PMPI_Irecv(s->data, s->bytes, MPI_BYTE, peer_of(s, from), STEP_TAG, s->comm, &s->requests[0]);
}

static void post_round(step *s)
{
  if (s->reach >= s->size) return;
  if (s->op == MPI_OP_NULL)
    post_bcast(s);
  else
    post_agreement(s);
}

static int is_through(MPI_Request *request, MPI_Status *status);

/* Goes on as far as messages are here; true at the end. */
static int advance(step *s)
{
  while (s->reach < s->size) {
    int received = is_through(&s->requests[0], MPI_STATUS_IGNORE);
    int sent = is_through(&s->requests[1], MPI_STATUS_IGNORE);
    if (!received || !sent) return 0;
    if (s->op != MPI_OP_NULL) PMPI_Reduce_local(s->other, s->data, s->count, s->type, s->op);
    s->reach *= 2;
    post_round(s);
  }
  return 1;
}

static MPI_Request begin(step about, MPI_Comm comm)
{
  step *s = malloc(sizeof *s);
  if (!s) abort();
  *s = about;
  s->comm = comm;
  s->reach = 1;
  s->requests[0] = s->requests[1] = MPI_REQUEST_NULL;
  MPI_Comm_rank(comm, &s->rank);
  MPI_Comm_size(comm, &s->size);
  s->rank = (s->rank - s->root + s->size) % s->size;
  if (s->op != MPI_OP_NULL) s->other = malloc((size_t)s->bytes + 1);
  post_round(s);
  return (MPI_Request)((uintptr_t)s | 1);
}

/* Ranks hear the same value more than once, so it must be a maximum or a minimum. */
int scale_iallreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm, MPI_Request *request)
{
  int size = 0;
  if (op != MPI_MAX && op != MPI_MIN)
    return PMPI_Iallreduce(in, out, count, type, op, comm, request);
  PMPI_Type_size(type, &size);
  memcpy(out, in, (size_t)size * (size_t)count);
  step about = {.data = out, .count = count, .bytes = size * count, .type = type, .op = op};
  *request = begin(about, comm);
  return MPI_SUCCESS;
}

int scale_ibcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm,
                 MPI_Request *request)
{
  int size = 0;
  PMPI_Type_size(type, &size);
  step about = {.root = root, .data = data, .bytes = size * count, .op = MPI_OP_NULL};
  *request = begin(about, comm);
  return MPI_SUCCESS;
}

/* ---- asking ---- */

static int end_step(MPI_Request *request)
{
  step *s = step_of(*request);
  if (!advance(s)) return 0;
  free(s->other);
  free(s);
  *request = MPI_REQUEST_NULL;
  return note_moved();
}

static int is_through(MPI_Request *request, MPI_Status *status)
{
  int done = 0;
  if (*request == MPI_REQUEST_NULL) return 1;
  if (is_step(*request)) return end_step(request);
  if (*request == THROUGH) {
    *request = MPI_REQUEST_NULL;
    return note_moved();
  }
  PMPI_Test(request, &done, status);
  if (done) return note_moved();
  watch(request);
  return 0;
}

int scale_test(MPI_Request *request, int *done, MPI_Status *status)
{
  *done = is_through(request, status);
  return MPI_SUCCESS;
}

int scale_testall(int n, MPI_Request *requests, int *done, MPI_Status *statuses)
{
  (void)statuses; /* nobody wants them */
  *done = 1;
  for (int i = 0; i < n && *done; i++) *done = is_through(&requests[i], MPI_STATUS_IGNORE);
  return MPI_SUCCESS;
}

/* SMPI's own asks the simulator for every request, every time: this one reports what the sleep
 * ended with, and leaves the others to the next. */
int scale_testsome(int n, MPI_Request *requests, int *count, int *which, MPI_Status *statuses)
{
  int active = 0;
  (void)statuses;
  *count = 0;
  for (int i = 0; i < n; i++) {
    active += requests[i] != MPI_REQUEST_NULL;
    if (requests[i] != THROUGH) continue;
    requests[i] = MPI_REQUEST_NULL;
    which[(*count)++] = i;
  }
  if (active == 0) *count = MPI_UNDEFINED;
  if (*count > 0) note_moved();
  for (int i = 0; i < n && *count == 0; i++)
    if (requests[i] != MPI_REQUEST_NULL) watch(&requests[i]);
  return MPI_SUCCESS;
}

int scale_iprobe(int source, int tag, MPI_Comm comm, int *found, MPI_Status *status)
{
  int result = PMPI_Iprobe(source, tag, comm, found, status);
  if (*found) note_moved();
  probed |= !*found && source == MPI_ANY_SOURCE;
  return result;
}

/* ---- memory ---- */

static int64_t allocated;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void __wrap_free(void *memory);

int64_t scale_allocated(void)
{
  return allocated;
}

static int64_t bytes_of(void *memory)
{
  return memory ? (int64_t)malloc_usable_size(memory) : 0;
}

void *__wrap_malloc(size_t bytes)
{
  void *memory = __real_malloc(bytes);
  allocated += bytes_of(memory);
  return memory;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
  void *memory = __real_calloc(count, bytes);
  allocated += bytes_of(memory);
  return memory;
}

void *__wrap_realloc(void *memory, size_t bytes)
{
  int64_t before = bytes_of(memory);
  void *after = __real_realloc(memory, bytes);
  if (after) allocated += bytes_of(after) - before;
  return after;
}

void __wrap_free(void *memory)
{
  allocated -= bytes_of(memory);
  __real_free(memory);
}
