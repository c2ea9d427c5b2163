#include "smpi.h"

#include "meeting.h"
#include "post.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

/* Globals are a rank's own: SMPI loads the program once for every rank. */

enum { STEP_TAG = -2 }; /* none of MPI's */

static int rank_of_me = -1, size_of_all;

static void give_up(const char *why)
{
  fprintf(stderr, "scale: %s\n", why);
  abort();
}

static void *room_for(size_t bytes)
{
  void *memory = malloc(bytes > 0 ? bytes : 1);
  if (!memory) give_up("no memory");
  return memory;
}

static int me(void)
{
  if (rank_of_me >= 0) return rank_of_me;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_of_me);
  MPI_Comm_size(MPI_COMM_WORLD, &size_of_all);
  post_open(size_of_all);
  return rank_of_me;
}

/* The communicator must be the context's, which is MPI_COMM_WORLD by another name. Messages do not
 * name their communicator, so there is only one. */
static void check_comm(MPI_Comm comm)
{
  static MPI_Comm only;
  if (comm == MPI_COMM_WORLD) return;
  if (only != MPI_COMM_NULL && only != comm) give_up("two contexts");
  only = comm;
}

static int bytes_of(int count, MPI_Datatype type)
{
  int size = 0;
  PMPI_Type_size(type, &size);
  return size * count;
}

/* ---- requests that were tested in vain ---- */

static post_request **watched;
static int nwatched, room;
static int expects; /* since the last yield: probed in vain for an unexpected message */
static int moved;   /* since the last yield: something completed */

static void watch(post_request *request)
{
  if (nwatched == room) {
    room = 2 * room + 64;
    watched = realloc(watched, (size_t)room * sizeof(post_request *));
    if (!watched) give_up("no memory");
  }
  watched[nwatched++] = request;
}

/* A caller that got something looks at the rest again before it waits. */
static int note_moved(void)
{
  moved = 1;
  nwatched = 0;
  return 1;
}

int scale_yield(void)
{
  if (!moved) {
    if (nwatched == 0 && !expects) give_up("a rank waits for nothing");
    post_sleep(me(), watched, nwatched, expects);
  }
  moved = nwatched = expects = 0;
  return 0;
}

double scale_meet(void)
{
  post_drain(me());
  meeting_wait(size_of_all);
  return MPI_Wtime();
}

/* ---- our own requests: collective steps ---- */

typedef struct step {
  int rank, size; /* in a bcast relative to its root */
  int root;
  int reach; /* distance to the partner of this round */
  char *data, *other;
  int count, bytes;
  MPI_Datatype type;
  MPI_Op op; /* MPI_OP_NULL: a bcast */
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

/* A round of a bcast: ranks below `reach` have the data, and each tells one that does not. */
static int tells(const step *s)
{
  return s->op != MPI_OP_NULL || (s->rank < s->reach && s->rank + s->reach < s->size);
}

static int hears(const step *s)
{
  return s->op != MPI_OP_NULL || (s->rank >= s->reach && s->rank < 2 * s->reach);
}

static void tell(const step *s)
{
  if (s->reach < s->size && tells(s))
    post_forget(post_send(me(), peer_of(s, s->rank + s->reach), STEP_TAG, s->data, s->bytes));
}

/* Advances as far as messages have arrived; true at the end. In every round a rank's data goes
 * `reach` ranks further, twice as far as before. */
static int advance(step *s)
{
  for (; s->reach < s->size; s->reach *= 2, tell(s)) {
    if (!hears(s)) continue;
    char *to = s->op == MPI_OP_NULL ? s->data : s->other;
    if (!post_take(me(), peer_of(s, s->rank - s->reach), STEP_TAG, to)) return 0;
    if (s->op != MPI_OP_NULL) PMPI_Reduce_local(s->other, s->data, s->count, s->type, s->op);
  }
  return 1;
}

static MPI_Request begin(step about, MPI_Comm comm)
{
  check_comm(comm);
  about.reach = 1;
  about.rank = (me() - about.root + size_of_all) % size_of_all;
  about.size = size_of_all;
  if (about.op != MPI_OP_NULL) about.other = room_for((size_t)about.bytes);
  tell(&about);
  step *s = room_for(sizeof *s);
  *s = about;
  return (MPI_Request)((uintptr_t)s | 1);
}

/* Ranks hear the same value more than once, so it must be a maximum or a minimum. */
int scale_iallreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm, MPI_Request *request)
{
  int bytes = bytes_of(count, type);
  if (op != MPI_MAX && op != MPI_MIN) give_up("MPI_Iallreduce of a sum");
  memcpy(out, in, (size_t)bytes);
  step about = {.data = out, .count = count, .bytes = bytes, .type = type, .op = op};
  *request = begin(about, comm);
  return MPI_SUCCESS;
}

int scale_ibcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm,
                 MPI_Request *request)
{
  step about = {.root = root, .data = data, .bytes = bytes_of(count, type), .op = MPI_OP_NULL};
  *request = begin(about, comm);
  return MPI_SUCCESS;
}

int scale_comm_idup(MPI_Comm comm, MPI_Comm *out, MPI_Request *request)
{
  *request = MPI_REQUEST_NULL;
  return MPI_Comm_dup(comm, out);
}

int scale_iallgather(const void *in, int n, MPI_Datatype type, void *out, int m,
                     MPI_Datatype out_type, MPI_Comm comm, MPI_Request *request)
{
  *request = MPI_REQUEST_NULL;
  return MPI_Allgather(in, n, type, out, m, out_type, comm);
}

static int end_step(step *s)
{
  if (!advance(s)) {
    expects = 1;
    return 0;
  }
  free(s->other);
  free(s);
  return 1;
}

/* ---- what the library calls ---- */

int scale_isend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                MPI_Request *request)
{
  check_comm(comm);
  *request = (MPI_Request)post_send(me(), peer, tag, data, bytes_of(count, type));
  return MPI_SUCCESS;
}

int scale_irecv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                MPI_Request *request)
{
  (void)count;
  (void)type;
  check_comm(comm);
  int from = source == MPI_ANY_SOURCE ? POST_ANY : source;
  *request = (MPI_Request)post_receive(me(), from, tag, data);
  return MPI_SUCCESS;
}

static void fill_status(MPI_Status *status, int source, int bytes)
{
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = source;
  status->count = bytes;
}

int scale_iprobe(int source, int tag, MPI_Comm comm, int *found, MPI_Status *status)
{
  int from = 0, bytes = 0;
  check_comm(comm);
  *found = post_look(me(), source == MPI_ANY_SOURCE ? POST_ANY : source,
                     tag == MPI_ANY_TAG ? POST_ANY : tag, &from, &bytes);
  expects |= !*found && source == MPI_ANY_SOURCE;
  if (!*found) return MPI_SUCCESS;
  fill_status(status, from, bytes);
  note_moved();
  return MPI_SUCCESS;
}

/* Frees it if it is. */
static int is_through(MPI_Request *request, MPI_Status *status)
{
  int source = 0, bytes = 0;
  if (*request == MPI_REQUEST_NULL) return 1;
  if (is_step(*request) ? !end_step(step_of(*request))
                        : !post_done((post_request *)*request, &source, &bytes))
    return 0;
  fill_status(status, source, bytes);
  *request = MPI_REQUEST_NULL;
  return note_moved();
}

static int ask(MPI_Request *request, MPI_Status *status)
{
  if (is_through(request, status)) return 1;
  if (!is_step(*request)) watch((post_request *)*request);
  return 0;
}

int scale_test(MPI_Request *request, int *done, MPI_Status *status)
{
  *done = ask(request, status);
  return MPI_SUCCESS;
}

int scale_testall(int n, MPI_Request *requests, int *done, MPI_Status *statuses)
{
  (void)statuses; /* nobody wants them */
  *done = 1;
  for (int i = 0; i < n && *done; i++) *done = ask(&requests[i], MPI_STATUS_IGNORE);
  return MPI_SUCCESS;
}

/* Of a stage's messages the rank sleeps on the first missing one: a stage needs them all. */
int scale_testsome(int n, MPI_Request *requests, int *count, int *which, MPI_Status *statuses)
{
  int active = 0, missing = -1;
  *count = 0;
  for (int i = 0; i < n; i++) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    active++;
    MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[*count];
    if (is_through(&requests[i], status))
      which[(*count)++] = i;
    else if (missing < 0)
      missing = i;
  }
  if (active == 0) *count = MPI_UNDEFINED;
  if (*count == 0) watch((post_request *)requests[missing]);
  return MPI_SUCCESS;
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

static int64_t size_of(void *memory)
{
  return memory ? (int64_t)malloc_usable_size(memory) : 0;
}

void *__wrap_malloc(size_t bytes)
{
  void *memory = __real_malloc(bytes);
  allocated += size_of(memory);
  return memory;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
  void *memory = __real_calloc(count, bytes);
  allocated += size_of(memory);
  return memory;
}

void *__wrap_realloc(void *memory, size_t bytes)
{
  int64_t before = size_of(memory);
  void *after = __real_realloc(memory, bytes);
  if (after) allocated += size_of(after) - before;
  return after;
}

void __wrap_free(void *memory)
{
  allocated -= size_of(memory);
  __real_free(memory);
}
